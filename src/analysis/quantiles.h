/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantiles over the particles of all ranks by counting, without a sort and without sending particles. */
#ifndef QUANTILES_H
#define QUANTILES_H
#include "mpi/comm.h"

enum { QUANTILES_MAX = 8 };

/* The key of element i, finite, at least 0, always the same; and its weight, at least 0. Called by several threads. */
typedef double quantile_key(const void *of, int64_t i);
typedef int64_t quantile_weight(const void *of, int64_t i);

/* For each fraction[count] (ascending, above 0, at most 1) the smallest key whose predecessors and itself have at least
 * this fraction of the weight of all keys, rounded up by at most 2^-26 of itself: value[count]. So the keys <= value
 * have the fraction (keys below 1e-315 are 0). Weights are whole numbers, and the result does not depend on ranks.
 * Keys are computed three times, not stored.
 * \param n       elements of this rank
 * \param weight  NULL: 1 each
 * \param total   weight of all ranks, below 2^62
 * With `total` 0 the values are 0. Collective. */
void quantiles(const struct comm *comm, int64_t n, quantile_key *key, quantile_weight *weight, const void *of,
               int64_t total, int count, const double *fraction, double *value);
#endif
