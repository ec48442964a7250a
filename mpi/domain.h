/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Domains: P = px * py * pz cuboids, cut from sampled particles by x, then y, then z (Watanabe & Nakasato 2014, III-B;
 * Makino 2004). The outer faces are at infinity, so every position has a home. */
#ifndef DOMAIN_H
#define DOMAIN_H
#include "backend.h"
#include "comm.h"
#include "cuboids.h"
#include "lattice.h"
#include "transport.h"

/* Near-cubic numbers of domains for so many ranks; no cuts yet. */
void domain_open(struct domain *d, int ranks);
/* The lattice for what is in the box (low, then high): that to which the cuts are aligned, where they are. */
struct lattice domain_lattice(const struct domain *d, const double box[6], double softening);
/* So many domains along each axis; zeros: numbers that make `ranks` in all, as near to cubic as can be. */
void domain_open_grid(struct domain *d, int ranks, const int grid[3]);
void domain_close(struct domain *d);

/* The cuboid of a rank; faces at infinity are 1e300 away. */
void domain_cuboid(const struct domain *d, int rank, double low[3], double high[3]);

/* A sampled particle and the work that it stands for. */
struct weighted {
  double pos[3], weight;   /* finite; the weight not negative */
};

/* Cut so that the domains share the weight of all ranks' samples evenly; `c` NULL: of these alone. Pure: the result depends on
 * the set of samples alone, not on their order, nor on who has them. A cut is the middle between the two neighbouring
 * coordinates that share the weight best; samples with the same coordinate stay together. With d->align it is the coarsest face
 * of the lattice's cells within 1/128 of a domain's weight on either side, the middle cut within 1/32, if there is one: a cell that lies across a cut is there on both
 * sides, in two parts, which both must be walked. Samples of no weight matter where
 * there are no others: then by their number. Weights below 2^-60 n of the largest are none, with n samples in all; a rank has
 * fewer than 2^31. Collective. */
void domain_cut(struct domain *d, const struct comm *c, const struct weighted *samples, int64_t count);

/* The load of a rank, which its samples share out between them. */
struct domain_load {
  int by_work;       /* share it by the particles' work, where there is any yet; else evenly */
  double per_work;   /* by_work: the load is this times the work of all particles of the rank */
  double extra;      /* else: the load is the number of particles of the rank, and this */
};

/* Sample the particles of all ranks (a fraction `rate`, at least enough for sensible cuts and at most for good ones), weigh the samples so that those
 * of a rank sum to its load, and cut. The paper takes from rank i a number of samples in proportion to
 * f_samp,i = (N_local,i + N_hard,i) / N (eqs 12-13); the same samples with weights in that proportion have the same sums,
 * and a rank with a small load is sampled as finely. There may be more or fewer domains than ranks. Collective. */
void domain_decompose(struct domain *d, const struct comm *c, const struct backend *be, struct device *device, double rate,
                      const struct domain_load *load);

/* Send every particle to its home, by a transport (NULL: staged): that of its place at `tick`, or at a synchronisation (0) of its own.
 * Returns how many this rank sent. Collective. */
int64_t domain_exchange(const struct domain *d, const struct comm *c, const struct backend *be, struct device *device, struct transport *t,
                        int32_t tick, double tick_length);
#endif
