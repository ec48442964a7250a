/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Domains: P = px * py * pz cuboids, cut from sampled particles by x, then y, then z (Watanabe & Nakasato 2014, III-B;
 * Makino 2004). The outer faces are at infinity, so every position has an owner rank. */
#ifndef DOMAIN_H
#define DOMAIN_H
#include "backend/backend.h"
#include "mpi/comm.h"
#include "mpi/transport.h"
#include "tree/cuboids.h"
#include "tree/lattice.h"

/* Open near-cubic numbers of domains for `ranks`; without cuts. Owner: caller (domain_close). Local. */
void domain_open(struct domain *domain, int ranks);
/* Returns the lattice for particles in `box` (low[3], high[3]): the one that the cuts are aligned to, where they
 * are. */
struct lattice domain_lattice(const struct domain *domain, const double box[6], double softening);
/* Open grid[3] domains along the axes; zeros are replaced by near-cubic numbers that make `ranks` in all. */
void domain_open_grid(struct domain *domain, int ranks, const int grid[3]);
void domain_close(struct domain *domain);

/* Write the cuboid low[3], high[3] of a rank; faces at infinity are at +-1e300. */
void domain_cuboid(const struct domain *domain, int rank, double low[3], double high[3]);

/* A sampled particle and the work that it stands for. */
struct weighted {
  double pos[3], weight; /* finite; the weight not negative */
};

/* Cut so that all domains have equal shares of the weight of all ranks' samples; c NULL: of samples[count] alone. Pure:
 * the result depends on the set of samples, not on their order or ranks. A cut is the middle between the two
 * neighbouring coordinates that divide the weight best; samples with the same coordinate stay together. With
 * domain->align a cut is moved to the coarsest face of the lattice's cells within 1/128 of a domain's weight on either
 * side (the middle cut: 1/32), if there is one: a cell that a cut divides exists on both sides, and both parts must be
 * walked. Without any weight, samples count equally. Of n samples, weights below 2^-60 n of the largest are zero; a
 * rank has fewer than 2^31 samples. Collective. */
void domain_cut(struct domain *domain, const struct comm *comm, const struct weighted *samples, int64_t count);

/* Load of a rank, distributed over its samples. */
struct domain_load {
  int by_work;     /* 1: in proportion to the particles' work, where it is known; else evenly */
  double per_work; /* by_work: the load is this times the work of all particles of the rank */
  double extra;    /* else: the load is the number of particles of the rank, and this */
};

/* Sample the particles of all ranks (a fraction `rate`, within bounds on the number of samples), weigh the samples so
 * that those of a rank sum to its load, and cut. Watanabe & Nakasato 2014, eqs 12-13, take numbers of samples in
 * proportion to f_samp,i = (N_local,i + N_hard,i) / N from rank i; weights in that proportion have the same sums, and a
 * rank with a small load is sampled as finely. The number of domains may differ from the number of ranks.
 * Collective. */
void domain_decompose(struct domain *domain, const struct comm *comm, const struct backend *be, struct device *device,
                      double rate, const struct domain_load *load);

/* Migrate particles to their owner ranks, by their positions predicted to `tick` (0: at a synchronisation). t NULL:
 * staged. Returns the number of particles that this rank sent. Collective. */
int64_t domain_exchange(const struct domain *domain, const struct comm *comm, const struct backend *be,
                        struct device *device, struct transport *transport, int32_t tick, double tick_length);
#endif
