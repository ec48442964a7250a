/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RADIUS_H
#define RADIUS_H
#include "backend/backend.h"
#include "mpi/comm.h"

enum { RADIUS_NEIGHBOURS = 28 };

/* Measure R2 for R1 = 2 R0: the quantile `quantile` (0.5: the median) of the distance to the 28th nearest neighbour,
 * over particles sampled by id. With fewer particles the farthest one counts as the 28th. In a Plummer sphere this
 * gives R0 = 1.03 N^(-1/3) Henon units. Needs a built tree with moments. Only particles with mass count, `sources` of
 * all ranks. The result does not depend on the number of ranks. Collective. */
double radius_by_rule(const struct comm *comm, const struct backend *be, struct device *d, double sources,
                      double quantile);
/* The same for several quantiles: radius[quantiles]. Collective. */
void radius_quantiles(const struct comm *comm, const struct backend *be, struct device *d, double sources,
                      int quantiles, const double *quantile, double *radius);
/* As radius_by_rule, but with fewer than 28 others the one in the middle by distance counts, since the farthest one may
 * be far from all. Collective. */
double radius_of_middle(const struct comm *comm, const struct backend *be, struct device *d, double sources,
                        double quantile);
/* Sample about 512 of the `sources` particles with mass by id (all, where there are fewer) and gather the samples of
 * all ranks on every rank: (*all)[return value], in rank order, equal on all ranks. Owner: caller (memory_free).
 * Collective. */
int64_t radius_samples(const struct comm *comm, const struct backend *be, struct device *d, double sources,
                       struct sample **all);
#endif
