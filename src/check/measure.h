/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurement of the numbers that check/physics.h judges. */
#ifndef MEASURE_H
#define MEASURE_H
#include "check/physics.h"
#include "step/plan.h"
#include "step/sim.h"

/* Measure a system after its first forces (settings_first_force), without a change of it. `plan`: of the first soft
 * step. Fills all members but softening.is_default, run.steps_max, and those of `seconds` but `walk`, which become 0
 * (run.steps_max: -1). Costs a copy of the particles from a device, and the neighbours of about 512 particles.
 * Collective; the result is the same on all ranks. */
void measure_physics(struct sim *sim, const struct plan *plan, struct physics *physics);
#endif
