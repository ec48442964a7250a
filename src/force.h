/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FORCE_H
#define FORCE_H
#include <stdint.h>

#include "comm.h"
#include "params.h"

enum { FORCE_DELTAS = 128, FORCE_DIRECT_MOST = 10000000 };

struct force_options {
  int64_t direct;      /* compare with the direct sum on so many particles, spread evenly over the ids; 0: do not */
  int bench;           /* two warm-ups, median of five */
  double delta[FORCE_DELTAS];   /* a curve over these values of the criterion's own parameter; the acceleration criterion: */
  int delta_count;              /* over Delta = 2^-delta. 0: no curve */
  const char *output;  /* file for accelerations and potentials, or, of a curve, a table (CSV); or NULL */
  int overwrite;       /* the file may be there */
};

/* Forces of the initial state, once, and a table about them. Collective. Returns the exit status (0 or 1). */
int force(const struct comm *c, const struct params *par, const struct force_options *options);
#endif
