/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs in comoving coordinates (gravity/cosmology.h): what changes in time with the expansion. sim->time is the
 * expansion factor a, the time of the user; the clock, in which lengths of soft steps and ticks are, is supercomoving
 * time. */
#ifndef EXPANSION_H
#define EXPANSION_H
#include "gravity/cosmology.h"
#include "gravity/field.h"
#include "step/effects.h"

/* An integral of y da by trapezoids: the sum so far, the last expansion factor (0: none yet) and y there. */
struct expansion_integral {
  double sum, a, y;
};

/* The state of effect_expansion. */
struct expansion {
  struct cosmology c;
  double density;          /* the comoving mean density */
  double offset;           /* comoving potential energy by which a uniform sphere of this density has none */
  struct field background; /* takes out the attraction of the mean density, at the present time */
  struct expansion_integral potential, correction; /* of W da: potentials of forces, and what the finer ones add */
};
#endif
