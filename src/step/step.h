/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STEP_H
#define STEP_H
#include "step/plan.h"
#include "step/sim.h"

/* One soft step (scheme S4a of doc/numerics.md), from one synchronisation with forces to the next, in two parts, with
 * substeps between them. step_close begins with the drift to the end and recomputes everything that is not stored with
 * the particles: domains, order, tree, groups, LETs, forces. Between the two parts the particles, `sim` and `plan` are
 * the whole state of the run, so checkpoints are taken there. `potential`: 1: compute potentials at the end.
 * Collective. Between them step_substeps is called until it returns STEP_SUBSTEPS_ENDED. Where it returns
 * STEP_AT_CHECKPOINT_TICK, a checkpoint may be taken too; a restart continues there with step_continue in place of
 * step_open. With sim->substeps.foreign domains and schedule are computed again. `until`: as in substeps_advance.
 * Collective. */
void step_open(struct sim *sim, const struct plan *plan);
void step_continue(struct sim *sim, const struct plan *plan);
enum step_state step_substeps(struct sim *sim, const struct plan *plan, double until);
void step_close(struct sim *sim, const struct plan *plan, int potential);
/* The criterion by which particles choose their steps within a soft step of length `soft_step`, at a synchronisation
 * (sim->now). Local. */
struct step_rule step_rule_of(const struct sim *sim, double soft_step);
/* The opening kick of a soft step of length `soft_step`, with which step_open begins. Local. */
void step_opening_kick(struct sim *sim, double soft_step);
#endif
