/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of every particle by itself, depth-first along links (Nakasato & Oh 2009), for comparison with that of groups. */
#ifndef GPU_DEPTH_FIRST_CUH
#define GPU_DEPTH_FIRST_CUH
#include "device.cuh"

/* The links of a tree that was built: where to go on behind every node. Queued. */
void depth_first_links(struct device *d);
/* The verb `walk` with these links; needs moments. */
void depth_first_walk(struct device *d, const struct walk_request *request, struct tally *tally);
#endif
