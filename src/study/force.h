/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FORCE_H
#define FORCE_H
#include <stdint.h>

#include "mpi/comm.h"
#include "params/params.h"

enum { FORCE_DELTAS = 128, FORCE_DIRECT_MAX = 10000000 };

struct force_options {
  int64_t direct; /* number of particles compared with the direct sum, spread evenly over the ids; 0: none */
  int bench;      /* 1: times are medians of five forces, after two that do not count */
  /* [delta_count] values of the criterion's parameter; acceleration criterion: Delta = 2^-delta */
  double delta[FORCE_DELTAS];
  int delta_count; /* 0: one force, no curve (force_curve) */
  /* file for accelerations and potentials (HDF5; of points also CSV) or, of a curve, a table (CSV); or NULL */
  const char *output;
  const char *at; /* file of points (force_at); or NULL */
  int exact;      /* with `at`: by direct sums in double precision */
  int overwrite;  /* an existing file may be replaced */
};

/* Compute the forces of the initial state and print a table about them. Collective. Returns the exit status (0 or
 * 1). */
int force(const struct comm *comm, const struct params *par, const struct force_options *options);
/* Print a table with one row per value of the criterion's parameter (options->delta): errors, times by phase,
 * interactions; also write it to options->output (CSV), if given. Collective. Returns the exit status (0 or 1). */
int force_curve(const struct comm *comm, const struct params *par, const struct force_options *options);
/* Compute the acceleration and the potential of the initial state's particles at the points of options->at, and write
 * them to options->output (HDF5 where its name ends in .hdf5 or .h5, else CSV) or, without a name, to stdout. The
 * points are particles without mass, so they have the forces of a run. Collective. Returns the exit status (0 or 1). */
int force_at(const struct comm *comm, const struct params *par, const struct force_options *options);
#endif
