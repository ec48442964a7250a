/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STEP_H
#define STEP_H
#include "plan.h"
#include "sim.h"

/* Carry out one soft step (scheme S4a of doc/numerics.md), from a synchronisation with forces to the next, in two parts:
 * step_open ends behind the substeps, step_close begins with the drift to the end and makes everything anew that is not in the
 * particles: domains, order, tree, groups, LETs, forces. So what stands between the two (particles, s, plan) is all that the run
 * depends on, and that is where checkpoints are taken. `potential` asks for the potential at the end. Collective. */
void step_open(struct sim *s, const struct plan *plan);
void step_close(struct sim *s, const struct plan *plan, int potential);
#endif
