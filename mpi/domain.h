/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Domains: P = px * py * pz cuboids, cut from sampled particles by x, then y, then z (Watanabe & Nakasato 2014, III-B;
 * Makino 2004). The outer faces are at infinity, so every position has a home. */
#ifndef DOMAIN_H
#define DOMAIN_H
#include "backend.h"
#include "comm.h"
#include "cuboids.h"

/* Near-cubic numbers of domains for so many ranks; no cuts yet. */
void domain_open(struct domain *d, int ranks);
void domain_close(struct domain *d);

/* A sampled particle and the work that it stands for. */
struct weighted {
  double pos[3], weight;
  uint64_t id;
};

/* Cut so that the domains share the weight of the samples evenly; `samples` is reordered. Pure: the result depends on
 * the set of samples alone. */
void domain_cut(struct domain *d, struct weighted *samples, int64_t count);

/* Sample the particles of all ranks (a fraction `rate`, at least enough for sensible cuts), give each the weight
 * `work` / (particles of its rank), cut on rank 0 and broadcast. Collective. */
void domain_decompose(struct domain *d, const struct comm *c, const struct backend *be, struct device *device, double rate,
                      double work);

/* Send every particle to its home. Returns how many this rank sent. Collective. */
int64_t domain_exchange(const struct domain *d, const struct comm *c, const struct backend *be, struct device *device);
#endif
