/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The substeps of a soft step: hard forces with block steps. */
#ifndef SUBSTEPS_H
#define SUBSTEPS_H
#include "step/schedule.h"
#include "step/sim.h"

/* The schedule of the soft step that begins. Needs the opening kick, block levels (sim->counts.level_max) and groups.
 * Collective. */
struct schedule substeps_schedule(struct sim *sim);
/* What it depends on, without fast_density. Collective. */
struct schedule_input substeps_input(struct sim *sim);
/* Begin the substeps after the opening soft kick, or continue them at the checkpoint tick sim->substeps.paused from the
 * particles, domains and lattice of a checkpoint. Needs block levels, and a lattice that covers the soft step
 * (sim_reserve). `shared`: as in the verb `levels`. Collective. */
void substeps_begin(struct sim *sim, const struct step_rule *rule, int shared);
void substeps_continue(struct sim *sim);
/* Integrate up to the next checkpoint tick, or to the last tick before the end of the soft step. Every rank advances
 * through the ticks of its own particles and waits only for LET updates that it needs. A rank also returns, alone,
 * after the first block step that ends later than `until` (timer_clock; HUGE_VAL: never). To go on, call again.
 * Collective. */
enum step_state substeps_advance(struct sim *sim, const struct step_rule *rule, double until);
#endif
