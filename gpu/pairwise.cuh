/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces of few particles: direct sums over all pairs, in float32, with no tree. */
#ifndef GPU_PAIRWISE_CUH
#define GPU_PAIRWISE_CUH
#include "device.cuh"

/* Whether the device's particles, of which there are so many now, have their forces by direct sums: then build, moments
 * and groups make no tree, and walks come here. */
bool pairwise_serves(const struct device *d);
/* Groups without a tree: consecutive particles. Queued. */
void pairwise_groups(struct device *d);
/* The particles whose step ends at `tick`, in order; d->actives is their number. Queued. */
int32_t *pairwise_list_active(struct device *d, int32_t tick);
/* The verb `walk` for particles without a tree. */
void pairwise_walk(struct device *d, const struct walk_request *request, struct tally *tally);
#endif
