/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs in comoving coordinates (gravity/cosmology.h): what changes in time with the expansion. s->time is the expansion
 * factor a, the time of the user; lengths of soft steps and ticks are in supercomoving time. Where s->expansion.on is 0
 * these functions do nothing, or what they say. */
#ifndef EXPANSION_H
#define EXPANSION_H
#include "step/sim.h"

/* Make the tables of a run with these parameters. Not collective. 0; -1 with a fault. */
int expansion_open(struct sim *sim, struct fault *fault);
void expansion_close(struct sim *sim);
/* Set the gravitational constant G a of all forces, that of the criterion, and the background for the expansion factor
 * a. Before the forces of a synchronisation. Local. */
void expansion_at(struct sim *sim, double a);
/* The same for the forces of a substep at `tick` of the soft step under way; the criterion stays that of its begin, so
 * that LETs and lists stay valid. Local. */
void expansion_at_tick(struct sim *sim, int32_t tick, double tick_length);
/* Add the background to the forces of a walk. `split`: 1: forces are split, and the background is part of the soft
 * ones. Local. */
void expansion_add(struct sim *sim, enum walk_kind kind, int split, int32_t tick);
/* Add the acceleration of the background at x, as for the forces of a synchronisation. Local. */
void expansion_add_at(const struct sim *sim, const double x[3], double acc[3]);
/* The field that is part of the potential energy: the external one, or the background. */
const struct field *expansion_field(const struct sim *sim);
/* Add the constant to the potential energy in sim->now by which a uniform sphere of the mean density has none. After
 * each measurement. */
void expansion_measured(struct sim *sim);
/* Add to the integral of W da with the potential energy in sim->now, which must be measured, and make sim->now.total
 * the conserved quantity T + a W - (integral of W da). At each synchronisation; a repeated call at the same time
 * replaces W. Local. */
void expansion_account(struct sim *sim);
/* The same for the correction of the potential energy that was measured. Local. */
void expansion_account_correction(struct sim *sim);
/* The plan of the next soft step to the output time `target` (plan_next). Local. */
struct plan expansion_plan(const struct sim *sim, double target);
/* The time (a) at the end of a soft step that begins now. Local. */
double expansion_end(const struct sim *sim, const struct plan *plan);
/* The same without a system, for a soft step that begins at `time` in a run with these parameters. Local. */
double expansion_end_of(const struct params *params, double time, const struct plan *plan);
/* The time that positions of the frame of the centre of mass follow: sim->time, or supercomoving time. */
double expansion_frame_time(const struct sim *sim, double time);
/* The factor of velocities of files, u = v_pec / sqrt(a), to those of the run, v = a v_pec. Without expansion 1. */
double expansion_velocity(const struct params *params, double time);
#endif
