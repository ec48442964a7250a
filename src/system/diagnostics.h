/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef DIAGNOSTICS_H
#define DIAGNOSTICS_H
#include <stdio.h>

#include "backend/backend.h"
#include "mpi/comm.h"

/* Global sums at a synchronisation, in the run's frame. */
struct diagnostics {
  double mass, count;
  double kinetic, potential, total;
  double kinetic_type[PARTICLE_TYPES], potential_type[PARTICLE_TYPES];
  double momentum[3], angular[3], com[3]; /* com: position */
  /* mass-weighted; v_rms about v_com; a_rms: of the soft part where the hard one is from neighbour lists */
  double v_com[3], v_rms, a_rms;
  double v_rms_plain, a_rms_plain; /* weighted by number; v_rms_plain about v_com too */
  double bad;                      /* number of particles with a value that is not finite */
  /* not in checkpoints, whose soft step has its plan already */
  double virial;   /* sum of m x a about the centre of mass; a as in a_rms */
  double speed;    /* mean of |v| by number, not about v_com */
  double massless; /* how many of `count` have no mass; set by the caller (hard_note_masses) */
  /* of the external field, the Coriolis force included: sum of m x f about the centre of mass, of m f */
  double virial_field, force_field[3];
  /* sums of m |v| and m |x * v| about the centre of mass, in its frame (diagnostics_scales) */
  double momentum_scale, angular_scale;
  /* root of the mean squared rate at which it changes for the particles, weighted by m v^2 */
  double rate_field;
  double pair_kinetic; /* part of `kinetic` that is motion within bound pairs, as far as it is known; by the caller */
};

/* Measure the sums over all ranks at a synchronisation. `field`: external field, part of the potential energy.
 * Collective. */
void diagnostics_measure(struct diagnostics *diagnostics, const struct comm *comm, const struct backend *be,
                         struct device *device, const struct field *field);

/* Set the scales of changes of momentum and angular momentum from this rank's particles, at the same time as the rest.
 * Collective. */
void diagnostics_scales(struct diagnostics *diagnostics, const struct comm *comm, const struct particles *particles);

/* Columns of energy.csv: time,kinetic,potential,total,... `place` and `motion` are added to the centre of mass and its
 * velocity (sim_shift); `gained`: the velocity of the centre of mass that was taken out (sim_gained); `known`: the
 * correction of the potential energy, which `d` has, the noise of the total, the energy that mergers of stars have
 * taken out of it, and that which changes of masses and velocities have put in. */
void diagnostics_header(FILE *out);
void diagnostics_row(FILE *out, double time, const struct diagnostics *diagnostics, const double place[3],
                     const double motion[3], const double gained[3], const double known[4]);
#endif
