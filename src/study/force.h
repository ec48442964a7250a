/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FORCE_H
#define FORCE_H
#include <stdint.h>

#include "mpi/comm.h"
#include "params/params.h"

enum { FORCE_DELTAS = 128, FORCE_DIRECT_MAX = 10000000 };

struct force_options {
  int64_t direct;      /* number of particles compared with the direct sum, spread evenly over the ids; 0: none */
  int bench;           /* two warm-ups, median of five */
  double delta[FORCE_DELTAS];   /* [delta_count] values of the criterion's parameter; acceleration criterion: Delta = 2^-delta */
  int delta_count;              /* 0: one force, no curve (curve.h) */
  const char *output;  /* file for accelerations and potentials (HDF5; of points also CSV) or, of a curve, a table (CSV); or NULL */
  const char *at;      /* file of points (at.h); or NULL */
  int exact;           /* with `at`: by direct sums in double precision */
  int overwrite;       /* an existing file may be replaced */
};

/* Compute the forces of the initial state and print a table about them. Collective. Returns the exit status (0 or 1). */
int force(const struct comm *c, const struct params *par, const struct force_options *options);
#endif
