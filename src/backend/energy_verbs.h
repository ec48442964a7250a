/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verbs of a backend for energies to trust: optional table of struct backend.
 *
 * The potentials of forces have the error of the forces' criterion, which is alike for all particles, so that it does
 * not cancel in their sum. A walk of kind WALK_POTENTIAL computes those of some groups again by a finer criterion, and
 * `sums` compares the two. Heavy particles, whose own potentials are large terms of the sum, are named to the host,
 * which has them summed directly (`direct` of backend/probe.h).
 *
 * Order of verbs, after the walk of a synchronisation with potentials and before particles move:
 *   heavy, set; moments with the finer criterion, [let verbs], walk (WALK_POTENTIAL), sums
 * With WALK_SOFT: keep, walk (WALK_SOFT with add_potential), then the same. No verb but `set` changes a field of the
 * particles. Verbs are local and follow the rules of backend/backend.h. */
#ifndef ENERGY_VERBS_H
#define ENERGY_VERBS_H
#include <stdint.h>

#include "particles/particles.h"
#ifdef __cplusplus
extern "C" {
#endif

struct device;

enum { ENERGY_BATCHES = 16, HEAVY_MAX = 64 };

/* Sums over the particles of the groups of a WALK_POTENTIAL; those of one batch are spread over the whole rank. */
struct potential_sums {
  double difference[ENERGY_BATCHES][PARTICLE_TYPES]; /* of m (finer potential - pot), with G */
  double mass[ENERGY_BATCHES][PARTICLE_TYPES];
};

struct heavy_particle {
  double pos[3];
  uint64_t id;
  int64_t at; /* place on the device, until particles are sorted */
  float mass;
  int32_t type;
};

struct backend_energy {
  /* Keep pot as it is, the hard part, until `sums`. Before a WALK_SOFT with add_potential. */
  void (*keep)(struct device *d);
  /* The sums of the last WALK_POTENTIAL, without particles of more mass than `limit`. All are 0 where the potentials of
   * forces are direct sums, which no criterion makes finer. */
  void (*sums)(struct device *d, double limit, struct potential_sums *sums);
  /* Write the particles of this rank of more mass than `limit`, which are at most HEAVY_MAX, in the order of their
   * places. Returns their number. */
  int (*heavy)(struct device *d, double limit, struct heavy_particle heavy[HEAVY_MAX]);
  /* Set pot of n particles. */
  void (*set)(struct device *d, int n, const struct heavy_particle *heavy, const double *pot);
};

#ifdef __cplusplus
}
#endif
#endif
