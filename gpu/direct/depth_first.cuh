/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of single particles, depth-first along links (Nakasato & Oh 2009), for comparison with the walk of
 * groups. */
#ifndef GPU_DEPTH_FIRST_CUH
#define GPU_DEPTH_FIRST_CUH
#include "gpu/tree/tree.cuh"

/* The verb `walk` along these links. Needs links and moments. Adds seconds and counts to `tally`. The host waits. */
void depth_first_walk(struct device *d, const struct walk_request *request, struct tally *tally);
#endif
