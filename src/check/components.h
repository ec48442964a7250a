/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurement of the components of a system: the particles of each type. */
#ifndef COMPONENTS_H
#define COMPONENTS_H
#include "check/physics.h"
#include "step/sim.h"

/* Measure the particles of each type about their own centre, from about a thousand of them; where they are several
 * bodies, as in two galaxies of the same types, those of the densest one. Types
 * without mass, or with few particles, have no component. Collective; the result is the same on all ranks. */
void components_measure(const struct sim *sim, struct component component[PHYSICS_COMPONENTS]);
#endif
