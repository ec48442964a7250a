/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard part of a soft step from neighbour lists (Integrator = hermite, or Criterion = pairs): what the step asks of the table `hard` of a
 * backend. */
#ifndef STEP_HARD_H
#define STEP_HARD_H
#include "step/sim.h"

/* 1: this run integrates its hard part from neighbour lists. Local. */
int hard_used(const struct sim *s);
/* Note the masses of the run, from the particles of this rank, before they move to the device. Collective. */
void hard_note_masses(struct sim *s, const struct particles *p);
/* 1: radii are in proportion to the cube root of masses (RadiiByMass). Local. */
int hard_radii_by_mass(const struct sim *s);
/* What a soft step of length `soft_step` asks of the table `hard`. Local. */
struct hard_request hard_request_of(const struct sim *s, double soft_step);
/* Integrate the hard part over a soft step of length `soft_step`, after the opening soft kick. Collective. */
void hard_advance(struct sim *s, double soft_step);
/* Add the hard part to the potential, and set the hard accelerations, at a synchronisation. Collective. */
void hard_potential(struct sim *s);
/* Sum the tally of the soft step over ranks; the extremes are those of all ranks. Collective. */
struct hard_tally hard_total(const struct sim *s);
#endif
