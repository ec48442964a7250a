/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points in space: read from a file, and written with what was computed at them. All functions are local. */
#ifndef POINTS_H
#define POINTS_H
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"

struct points {
  int64_t n;
  double (*at)[3]; /* in the user's frame and units; owner: the reader's caller (points_free) */
};

/* Read points: text with three columns x y z ('#' begins a comment), or a dataset of shape [n][3] in an HDF5 file,
 * "FILE:DATASET", without ":DATASET" that of the name Coordinates. At least one point, finite numbers. 0, or -1 with a
 * fault and nothing allocated. */
int points_read(const char *name, struct points *points, struct fault *fault);
void points_free(struct points *points);

/* Write an HDF5 file with the datasets Coordinates [n][3], Acceleration [n][3] and Potential [n] in double precision,
 * and the attributes Time, InitCondFile and Method of the root, to a file that is open for writing. 0 or -1 with a
 * fault. */
int points_write_hdf5(FILE *out, const struct points *points, const double (*acc)[3], const double *pot, double time,
                      const char *input, const char *method, struct fault *fault);
#endif
