/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard forces, where the split is on: from neighbour lists, or by a walk. */
#ifndef GPU_HARD_CUH
#define GPU_HARD_CUH
#include "let.cuh"

/* Queue acc_hard of all particles (WALK_TOTAL) or of the active ones (WALK_HARD) at the request's tick from a forest, whose
 * first part begins them and whose others are added. Their interactions are added to `work`, pairs and tests to d->answers;
 * of the first part targets and groups as well where the walk is WALK_HARD, for a walk of all has counted them. */
void hard_forces(struct device *d, const struct walk_request *r, const struct forest *f);
#endif
