/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces of few particles: direct sums over all pairs in float32, without a tree. */
#ifndef GPU_PAIRWISE_CUH
#define GPU_PAIRWISE_CUH
#include "gpu/tree/tree.cuh"

/* List the particles whose step ends at `tick`, ascending; their number is d->active.count. Returns a device array.
 * Queued. */
int32_t *pairwise_list_active(struct device *d, int32_t tick);
/* The verb `walk` for particles without a tree. Adds seconds and counts to `tally`. The host waits. */
void pairwise_walk(struct device *d, const struct walk_request *request, struct tally *tally);
#endif
