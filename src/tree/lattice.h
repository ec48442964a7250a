/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lattice coordinates: the root cube has 2^31 points along a side, a position is three int32. Differences of lattice
 * coordinates are exact, so pair arithmetic in float32 resolves 2^-31 of the cube. For host and device. */
#ifndef LATTICE_H
#define LATTICE_H
#include <math.h>
#include <stdint.h>

#include "base/hd.h"

#define LATTICE_SIDE 2147483648.0 /* points along a side */
#define LATTICE_WIDER 4           /* largest ratio of the side of lattice_about to that of lattice_cover */

struct lattice {
  double corner[3]; /* position of the point (0, 0, 0) */
  double spacing;   /* length between neighbouring points */
  double inverse;   /* 1 / spacing */
};

/* The cube about the middle of the box [low, high] (lengths). Its side is the longest side of the box times 1 + 2
 * `margin`, and at least `min_side`, so that coincident particles have a lattice too;
 * 1 where both are 0. */
HD struct lattice lattice_cover(const double low[3], const double high[3], double margin, double min_side)
{
  struct lattice l;
  double side = min_side;
  for (int c = 0; c < 3; c++) {
    double extent = (high[c] - low[c]) * (1 + 2 * margin);
    if (extent > side) side = extent;
  }
  if (!(side > 0)) side = 1; /* coincident particles without softening have no length */
  l.spacing = side / (LATTICE_SIDE - 1);
  l.inverse = 1 / l.spacing;
  for (int c = 0; c < 3; c++) l.corner[c] = 0.5 * (low[c] + high[c]) - 0.5 * side;
  return l;
}

/* The same about `centre` (per axis; NAN: the middle of the box), which is a face of cells of all levels below the
 * root. The side is a power of two, so the distances of cell faces from the centre are multiples of powers of two for
 * every side. */
static inline struct lattice lattice_about(const double centre[3], const double low[3], const double high[3],
                                           double margin, double min_side)
{
  struct lattice l = lattice_cover(low, high, margin, min_side);
  double half = 0.5 * l.spacing * LATTICE_SIDE, longest = 0, at[3];
  int exponent;
  for (int c = 0; c < 3; c++) longest = fmax(longest, high[c] - low[c]);
  for (int c = 0; c < 3; c++) {
    at[c] = isnan(centre[c]) ? 0.5 * (low[c] + high[c]) : centre[c];
    half = fmax(half, fmax(high[c] - at[c], at[c] - low[c]) + margin * longest);
  }
  frexp(half, &exponent);
  l.spacing = ldexp(2 / LATTICE_SIDE, exponent);
  l.inverse = 1 / l.spacing;
  for (int c = 0; c < 3; c++) l.corner[c] = at[c] - ldexp(1, exponent);
  return l;
}

/* The lattice coordinate nearest to position x along axis c, clamped to the cube. Sets *outside to 1 where it is
 * clamped. */
HD int32_t lattice_of(const struct lattice *lattice, int c, double x, int *outside)
{
  double u = (x - lattice->corner[c]) * lattice->inverse + 0.5;
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

/* Round a real lattice coordinate to the nearest one within the cube. */
HD int32_t lattice_clamp(double u) { return u + 0.5 >= LATTICE_SIDE ? INT32_MAX : u > 0 ? (int32_t)(u + 0.5) : 0; }

/* The position (length) of a real lattice coordinate along axis c. */
HD double lattice_position(const struct lattice *lattice, int c, double u)
{
  return lattice->corner[c] + lattice->spacing * u;
}
#endif
