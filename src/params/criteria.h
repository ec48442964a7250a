/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The multipole acceptance criteria of TypeOfOpeningCriterion: one line each; tree/mac.h has their formulas. */
#ifndef CRITERIA_H
#define CRITERIA_H

/* Kind; name in parameter files; its tolerance as an expression of `params`; the name of the tolerance in tables, and
 * with the criterion in texts; what `espalier force --delta` takes: 1: powers x for the tolerance 2^-x, 0: values up to
 * `most`, and the words for it. */
#define MAC_CRITERIA(X)                                                                         \
  X(ACCELERATION, "acceleration", params_delta(params), "Delta", "acceleration, Delta", 1, 60,  \
    "powers from 0 to 60 (Delta = 2^-POWER)")                                                   \
  X(MULTIPOLE, "multipole", params->ErrTolMultipole, "Delta_mul", "multipole, Delta", 0, 1e300, \
    "accelerations above 0")                                                                    \
  X(ANGLE, "angle", params->ErrTolTheta, "theta", "opening angle, theta", 0, 1, "angles above 0, at most 1")

#define MAC_KIND(kind, ...) MAC_##kind,
enum { MAC_CRITERIA(MAC_KIND) MAC_KINDS };
#endif
