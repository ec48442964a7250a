/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lattice coordinates: the root cube is 2^31 points a side, a position is three int32.
 * Differences of lattice coordinates are exact, so pair arithmetic in float32 keeps 2^-31 of the box in resolution. */
#ifndef LATTICE_H
#define LATTICE_H
#include <stdint.h>

#include "hd.h"

#define LATTICE_SIDE 2147483648.0   /* points a side */

struct lattice {
  double corner[3];   /* position of the point (0, 0, 0) */
  double spacing;     /* length between points */
  double inverse;     /* 1 / spacing */
};

/* The cube that covers the box [low, high] with a margin of `margin` times its longest side on every side; its side is at
 * least `least_side`, so that coincident particles have a lattice too. */
HD struct lattice lattice_cover(const double low[3], const double high[3], double margin, double least_side)
{
  struct lattice l;
  double side = least_side;
  for (int c = 0; c < 3; c++) {
    double extent = (high[c] - low[c]) * (1 + 2 * margin);
    if (extent > side) side = extent;
  }
  l.spacing = side / (LATTICE_SIDE - 1);
  l.inverse = 1 / l.spacing;
  for (int c = 0; c < 3; c++) l.corner[c] = 0.5 * (low[c] + high[c]) - 0.5 * side;
  return l;
}

/* The nearest lattice coordinate along axis c, clamped to the cube; *outside is raised when it had to be. */
HD int32_t lattice_of(const struct lattice *l, int c, double x, int *outside)
{
  double u = (x - l->corner[c]) * l->inverse + 0.5;
  if (!(u >= 0)) {
    *outside = 1;
    return 0;
  }
  if (u >= LATTICE_SIDE) {
    *outside = 1;
    return INT32_MAX;
  }
  return (int32_t)u;
}

/* The nearest point to a coordinate in lattice units that may lie between points, or a little outside. */
HD int32_t lattice_round(double u) { return u <= 0 ? 0 : u >= LATTICE_SIDE - 1 ? INT32_MAX : (int32_t)(u + 0.5); }

HD double lattice_position(const struct lattice *l, int c, double u) { return l->corner[c] + l->spacing * u; }
#endif
