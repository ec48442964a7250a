/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard forces, where the split is on: from neighbour lists, or by a walk. */
#ifndef GPU_HARD_CUH
#define GPU_HARD_CUH
#include "gpu/walk/walk.cuh"

/* Queue acc_hard of all particles (WALK_TOTAL) or of the active ones (WALK_HARD) at the request's tick from a forest.
 * The first part of the forest overwrites acc_hard, and the others add to it. Interactions are added to `work`; pairs
 * and tests are added to d->device_results. For WALK_HARD the first part adds targets and groups as well; for
 * WALK_TOTAL the full walk has counted these. The host waits if neighbour lists are constructed or if some groups have
 * no lists and need a walk. */
void hard_forces(struct device *d, const struct walk_request *request, const struct forest *forest);
#endif
