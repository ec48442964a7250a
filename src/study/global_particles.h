/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All particles of a system on every process, with the trees and domains that studies build from them.
 * Their devices are of the CPU backend, whose messages are in host memory. */
#ifndef GLOBAL_PARTICLES_H
#define GLOBAL_PARTICLES_H
#include "step/sim.h"

/* All particles at the start of the substeps, before the soft kick, and what else the selection of LETs depends on.
 * Code units. */
struct global_particles {
  const struct params *par;
  double gravity;
  /* with accelerations; in the order of the ids, so results do not depend on the real ranks */
  struct particles all;
  struct lattice lattice;
  struct mac mac;
  double a_floor, a_typical; /* see struct let_request */
  double cutoff;             /* R2 of the split; negative without one */
  double soft_step;
  struct softening softening;
  int as_device; /* 1: trees, LETs and their bytes are those of the CUDA backend */
};

/* Gather the particles of a system with forces; `soft_step`: length of the soft step that LETs must last.
 * Collective. */
void global_particles_gather(struct global_particles *world, const struct sim *sim, double soft_step);
/* Free the particles. */
void global_particles_free(struct global_particles *world);
/* The request of a receiver to a sender at the start of the substeps, without its boxes. */
struct let_request global_particles_request(const struct global_particles *world, enum let_kind kind);

/* A device without particles, configured for `ranks` ranks; owner: caller (close). */
struct device *global_particles_open_device(const struct global_particles *world, int ranks);
/* Build the tree, moments and groups of the device's particles, which are those of `rank` in `domain`. */
void global_particles_build_tree(const struct global_particles *world, struct device *d, const struct domain *domain,
                                 int rank);
/* The same at a tick within the soft step, on the device's present lattice: the particles have times of their own
 * before `tick`, and those whose steps end there become active. */
void global_particles_rebuild_tree(const struct global_particles *world, struct device *d, const struct domain *domain,
                                   int rank, int32_t tick);
/* Sort the device's particles by id, the order of virtual ranks: a later sort by key keeps the order of equal keys. */
void global_particles_sort_by_id(struct device *d);
/* Open a domain decomposition for `ranks` ranks. DomainGrid applies only where its product is this number. Owner:
 * caller. */
void global_particles_open_domain(const struct global_particles *world, int ranks, struct domain *domain);
/* Cut space into the domains that real ranks get when one of them has all particles at first, and set world->lattice.
 * Collective. */
void global_particles_cut(const struct comm *comm, struct global_particles *world, struct domain *domain);
#endif
