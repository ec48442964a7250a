/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How walks and lists represent cells. */
#ifndef GPU_CELLS_CUH
#define GPU_CELLS_CUH
#include "gpu/tree/tree.cuh"
#include "tree/mac.h"

/* Cells are point masses; have second moments; are point masses with second moments in local expansions and their trace in hard forces. */
enum { CELLS_MONOPOLE, CELLS_QUADRUPOLE, CELLS_MIXED };

/* The representation for a criterion: one of CELLS_*. */
static inline int cells_of(const struct device *d, const struct mac *mac)
{
  if (d->config.quadrupole) return CELLS_QUADRUPOLE;
  return mac->kind == MAC_ACCELERATION ? CELLS_MIXED : CELLS_MONOPOLE;
}

/* Factor on the criterion's distance from which on cells are accepted for hard forces. */
static inline float hard_reach(const struct device *d, const struct mac *mac)
{
  return cells_of(d, mac) == CELLS_MONOPOLE ? HARD_REACH : HARD_REACH_EXTENT;
}

/* The walk's unit in user lengths: the power of two above the softening. */
static inline double unit_of(const struct device *d)
{
  int exponent;
  frexp(d->config.softening, &exponent);
  return ldexp(1, exponent);
}
#endif
