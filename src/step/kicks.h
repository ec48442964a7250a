/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kicks in external fields (external/external.h), and what such a field adds to the sums of a synchronisation. Kicks of
 * soft steps are the only place where it acts. s->field is the field at the time of the next kick; where no parameter
 * gives a field, nothing here changes it. */
#ifndef KICKS_H
#define KICKS_H
#include "step/sim.h"

/* Open the field of the parameters. 0, or -1 with a fault, on all ranks. Call kicks_close in both cases. Collective. */
int kicks_open(struct sim *sim, const struct params *par, struct fault *fault);
void kicks_close(struct sim *sim);
/* Make sim->field that of a time. Local. */
void kicks_field_at(struct sim *sim, double time);
/* Kick all particles in `field`, and in what the host computes, at `time` by dt. Where the host computes: half of its
 * kick, the kick of the device, the other half. Local. */
void kicks_apply(struct sim *sim, const struct field *field, double time, double dt);
/* Kick the velocity that the centre of mass should have (sim->frame.v_com) by dt with the mean acceleration of the
 * field in sim->now: what the centre has beyond that comes from forces between particles, which add up to zero.
 * Local. */
void kicks_centre(struct sim *sim, double dt);
/* Add to sim->now what the host computes, and note the step that orbits in the field need. At a synchronisation, after
 * diagnostics_measure. Collective. */
void kicks_measure(struct sim *sim);
/* Potential energy of the particles in the field, of all ranks, by a sum in double precision; 0 without a field. At a
 * synchronisation. Collective. */
double kicks_energy(const struct sim *sim);
#endif
