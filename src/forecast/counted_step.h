/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A soft step of virtual ranks with all that the event model needs of it. */
#ifndef COUNTED_STEP_H
#define COUNTED_STEP_H
#include "forecast/event_model.h"
#include "study/study_system.h"

struct counted_step {
  int ranks;
  struct soft_step step;
  int64_t *local;                    /* [ranks] particles */
  int64_t (*level)[SCHEDULE_LEVELS]; /* [ranks] particles of each block level */
  struct soft_step_let *let;         /* [lets] sorted by class; on rank 0 */
  int64_t lets;
};

/* Count the soft step of a system on `ranks` ranks. Owner: caller (counted_step_free). Collective. */
void counted_step_make(const struct comm *comm, struct study_system *system, int ranks, struct counted_step *counted);
/* The input of the event model, which points into `counted`. `more`: how many more interactions full forces have than
 * on one rank. Local. */
struct event_input counted_step_input(const struct counted_step *counted, const struct study_system *system,
                                      double more);
void counted_step_free(struct counted_step *counted);
#endif
