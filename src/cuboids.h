/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cuboids of a decomposition, and whose a position is; for host and device. mpi/domain.h makes them. */
#ifndef CUBOIDS_H
#define CUBOIDS_H
#include "hd.h"

struct domain {
  int px, py, pz;
  double *x;   /* [px - 1] cuts; y and z stand behind them: P - 1 in all */
  double *y;   /* [px][py - 1] */
  double *z;   /* [px][py][pz - 1] */
  int align;          /* cuts may give way a little to stand on faces of cells of a lattice about `centre` */
  double centre[3];   /* made with the cuts: on an axis without any not a number */
};

/* How many of the ascending cuts lie at or below x. */
HD int domain_slot(const double *cut, int cuts, double x)
{
  int slot = 0;
  while (cuts > 8) {   /* slot + cuts always bounds the answer */
    int half = cuts / 2;
    if (x >= cut[slot + half]) slot += half + 1, cuts -= half + 1;
    else cuts = half;
  }
  for (int last = slot + cuts; slot < last && x >= cut[slot];) slot++;
  return slot;
}

/* The rank that owns a position. */
HD int domain_home(const struct domain *d, const double pos[3])
{
  int i = domain_slot(d->x, d->px - 1, pos[0]);
  int j = domain_slot(d->y + i * (d->py - 1), d->py - 1, pos[1]);
  int k = domain_slot(d->z + (i * d->py + j) * (d->pz - 1), d->pz - 1, pos[2]);
  return (i * d->py + j) * d->pz + k;
}
#endif
