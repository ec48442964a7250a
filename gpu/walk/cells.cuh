/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How walks and lists represent cells. */
#ifndef GPU_CELLS_CUH
#define GPU_CELLS_CUH
#include "gpu/tree/tree.cuh"
#include "tree/mac.h"

/* Cells are point masses; have second moments; are point masses with second moments in local expansions and their trace
 * in hard forces. */
enum { CELLS_MONOPOLE, CELLS_QUADRUPOLE, CELLS_MIXED };

/* The representation for a criterion: one of CELLS_*. */
static inline int cells_of(const struct device *d, const struct mac *mac)
{
  (void)d;
  if (mac->order == 2) return CELLS_QUADRUPOLE;
  return mac_mixes_cells(mac) ? CELLS_MIXED : CELLS_MONOPOLE;
}

/* Factor on the criterion's distance from which on cells are accepted for hard forces. */
static inline float hard_reach(const struct device *d, const struct mac *mac)
{
  return cells_of(d, mac) == CELLS_MONOPOLE ? HARD_REACH : HARD_REACH_EXTENT;
}

/* The walk's unit in user lengths: the power of two above the softening. Without softening the
 * lattice spacing is 2^-16 to 2^-17 of it, whose seventh power is within float32. */
static inline double unit_of(const struct device *d)
{
  int exponent;
  frexp(d->config.softening > 0 ? d->config.softening : ldexp(d->lattice.spacing, 16), &exponent);
  return ldexp(1, exponent);
}

/* The softening of walks in user lengths. Without softening it is the lattice spacing, to which positions are rounded:
 * so a particle has no force on itself, and all forces are finite. A potential must leave out pairs at distance 0. */
static inline double softening_of(const struct device *d)
{
  return d->config.softening > 0 ? d->config.softening : d->lattice.spacing;
}

/* The distance from targets within which all nodes are opened where nodes move (user lengths): without softening some
 * lattice spacings, since a cell must not come upon a target that is part of it by the rounding of positions. */
static inline double clearance_of(const struct device *d)
{
  return d->config.softening > 0 ? 0 : 4 * d->lattice.spacing;
}
#endif
