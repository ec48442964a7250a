/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schemes of trees: one step for all particles or block steps, without the split or with hard forces by walks
 * within R2. */
#ifndef TREE_STEPS_H
#define TREE_STEPS_H
#include "step/schedule.h"
#include "step/plan.h"
#include "step/sim.h"

/* Apply the opening kick of the soft step that `plan` describes, choose block levels, and return what its schedule
 * depends on; step_substeps must not follow. Needs forces. Collective. */
struct schedule_input tree_steps_preview(struct sim *sim, const struct plan *plan);
/* Print on rank 0 the schedule of the soft step that `plan` describes. This applies the opening kick, so the system
 * cannot be used for a run afterwards. Needs forces. Collective. */
void tree_steps_print_schedule(struct sim *sim, const struct plan *plan, FILE *out);
#endif
