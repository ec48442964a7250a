/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Domains as cuboids, and the owner rank of a position; for host and device. mpi/domain.h chooses the cuts. */
#ifndef CUBOIDS_H
#define CUBOIDS_H
#include "base/hd.h"

/* px py pz cuboids: space is cut along x, each slab along y, each column along z. Cuts are ascending, in units of
 * length; the outer faces are at infinity. */
struct domain {
  int px, py, pz;
  double *x;        /* [px - 1] cuts; owns the memory of y and z too, px py pz - 1 cuts in all */
  double *y;        /* [px][py - 1] */
  double *z;        /* [px][py][pz - 1] */
  int align;        /* 1: cuts are moved a little to faces of cells of a lattice about `centre` */
  double centre[3]; /* set with the cuts; NAN on an axis without cuts */
};

/* Number of ascending cuts cut[cuts] that are <= x. */
HD int domain_slot(const double *cut, int cuts, double x)
{
  int slot = 0;
  while (cuts > 8) { /* the answer is in [slot, slot + cuts] */
    int half = cuts / 2;
    if (x >= cut[slot + half]) {
      slot += half + 1;
      cuts -= half + 1;
    } else cuts = half;
  }
  for (int last = slot + cuts; slot < last && x >= cut[slot];) slot++;
  return slot;
}

/* The owner rank of a position. */
HD int domain_owner(const struct domain *domain, const double pos[3])
{
  int i = domain_slot(domain->x, domain->px - 1, pos[0]);
  int j = domain_slot(domain->y + i * (domain->py - 1), domain->py - 1, pos[1]);
  int k = domain_slot(domain->z + (i * domain->py + j) * (domain->pz - 1), domain->pz - 1, pos[2]);
  return (i * domain->py + j) * domain->pz + k;
}
#endif
