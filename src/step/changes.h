/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of masses and velocities from outside, at a synchronisation between two soft steps, and the energy that they
 * put into the system.
 *
 * A mass that changes by dm at the potential phi changes the energy by phi dm, and pairs of changed particles by half
 * of their own term too. phi is that of direct sums in double precision for a few masses, else of the forces' walk.
 *
 * A scheme with the trait renews_hard_forces needs no new forces after small changes of masses: its hard forces have
 * them at once, and the opening kick keeps the soft forces of the masses before. Both halves of this kick are then
 * alike, so soft forces have the change in the middle between this synchronisation and the next one; the energy is that
 * of the places there (changes_complete). After large changes, or where the trait is missing, forces are computed
 * again. */
#ifndef CHANGES_H
#define CHANGES_H
#include "step/sim.h"

struct change {
  uint64_t id;
  double mass;    /* the new one; NAN: it stays */
  double kick[3]; /* is added to the velocity */
};

/* Find the particles of list[n], which is the same on all ranks; each id is in it once. The first one that no rank has
 * becomes *missing. Returns 1 where there is one, else 0. Collective. */
int changes_missing(const struct sim *sim, const struct change *list, int64_t n, uint64_t *missing);
/* The mass of all particles after the changes. Collective. */
double changes_mass(const struct sim *sim, const struct change *list, int64_t n);
/* Make the changes list[n] of particles that there are; the same on all ranks. *potential: 1 where potentials are those
 * of the present, before and after. Returns 1 where masses have changed, so that sim->energy has to be measured again.
 * At a synchronisation with forces. Collective. */
int changes_make(struct sim *sim, const struct change *list, int64_t n, int *potential);
/* Measure a system in which velocities alone have changed: what is known of the energies of its places stays.
 * Collective. */
void changes_measure(struct sim *sim);
/* Compute forces and potentials of the present masses. Collective. */
void changes_renew_forces(struct sim *sim);
/* After a soft step: complete the energy of changes that soft forces had late. Collective. */
void changes_complete(struct sim *sim);
/* Forget changes that soft forces do not have yet: the system closes, or has new forces. Local. */
void changes_forget(struct sim *sim);
#endif
