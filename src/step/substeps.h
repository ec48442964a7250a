/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The substeps of a soft step: hard forces with block steps. */
#ifndef SUBSTEPS_H
#define SUBSTEPS_H
#include "step/schedule.h"
#include "step/sim.h"

/* The schedule of the soft step that begins. Needs the opening kick, block levels (s->counts.level_max) and groups. Collective. */
struct schedule substeps_schedule(struct sim *s);
/* Integrate from the opening soft kick to the last tick before the end of the soft step. Every rank advances through the ticks of its own
 * particles and waits only for LET updates that it needs. Needs block levels, and a lattice that covers the soft step (sim_make_room).
 * `shared`: as in the verb `levels`. Collective. */
void substeps(struct sim *s, const struct step_rule *rule, int shared);
#endif
