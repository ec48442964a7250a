/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of cells in walks and lists. */
#ifndef GPU_CELLS_CUH
#define GPU_CELLS_CUH
#include "device.cuh"
#include "mac.h"

/* Point masses; with second moments; point masses, but second moments in local expansions, and their trace in hard parts. */
enum { CELLS_MONOPOLE, CELLS_QUADRUPOLE, CELLS_MIXED };

static inline int cells_of(const struct device *d, const struct mac *mac)
{
  if (d->config.quadrupole) return CELLS_QUADRUPOLE;
  return mac->kind == MAC_ACCELERATION ? CELLS_MIXED : CELLS_MONOPOLE;
}

/* At how many times the criterion's distance cells are accepted for the hard part. */
static inline float hard_reach(const struct device *d, const struct mac *mac)
{
  return cells_of(d, mac) == CELLS_MONOPOLE ? HARD_REACH : HARD_REACH_EXTENT;
}

/* The unit of lengths in walks: the power of two above the softening. */
static inline double unit_of(const struct device *d)
{
  int exponent;
  frexp(d->config.softening, &exponent);
  return ldexp(1, exponent);
}
#endif
