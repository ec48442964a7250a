/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STEP_H
#define STEP_H
#include "step/plan.h"
#include "step/sim.h"

/* One soft step (scheme S4a of doc/numerics.md), from one synchronisation with forces to the next, in two parts. step_open ends after the
 * substeps. step_close begins with the drift to the end and recomputes everything that is not stored with the particles: domains, order,
 * tree, groups, LETs, forces. Between the two parts the particles, `s` and `plan` are the whole state of the run, so checkpoints are taken
 * there. `potential`: 1: compute potentials at the end. Collective. */
void step_open(struct sim *s, const struct plan *plan);
void step_close(struct sim *s, const struct plan *plan, int potential);
/* Print on rank 0 the schedule of the soft step that `plan` describes. This applies the opening kick, so the system cannot be used for a
 * run afterwards. Needs forces. Collective. */
void step_print_schedule(struct sim *s, const struct plan *plan, FILE *out);
#endif
