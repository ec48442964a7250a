/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard part of a soft step from neighbour lists, on the CPU: the particles that it works on, and its lists. Private
 * to src/cpu. */
#ifndef CPU_HERMITE_H
#define CPU_HERMITE_H
#include "backend/hard_verbs.h"
#include "cpu/bound_pairs.h"
#include "gravity/pair_steps.h"

/* Own particles, then those of the halo, in double precision, with neighbour lists. */
struct hard_set {
  const struct walk_isa *isa;
  int64_t n, own;
  struct hermite_motion *motion; /* [n] at the particle's own tick */
  double *gm;                    /* [n] G m */
  float *factor;                 /* [n] of split_factor */
  double *eps2;                  /* [n] squared softenings; NULL: all alike */
  uint64_t *id;                  /* [n] */
  uint8_t *level;                /* [n] */
  int32_t *tick;                 /* [n] */
  int32_t *steps;                /* [n] steps taken in this soft step */
  /* [n + 1] neighbours of particle i: entry[first[i]] up to entry[first[i + 1]], ascending */
  int64_t *first;
  int32_t *entry;
};

/* Fill `set` with the particles of the device and the halo at tick 0: positions, velocities, masses, ids; no lists. */
void hard_set_open(struct hard_set *set, struct device *d, const struct hard_request *request, int64_t n,
                   const struct halo_particle *halo);
void hard_set_close(struct hard_set *set);
/* Make the neighbour lists, in place of those that there are: pairs that come, on straight lines within `horizon`,
 * within NEIGHBOUR_MARGIN R2. */
void hard_set_lists(struct hard_set *set, const struct hard_request *request, double horizon);
/* Before the first forces, with lists: replace isolated bound pairs by their centres of mass, with lists for these, and
 * kick them by the tides. At the end: put the members back, with level LEVEL_UNKNOWN. */
void hard_set_begin_pairs(struct hard_set *set, const struct hard_request *request, double softening,
                          struct bound_pairs *pairs, struct hard_tally *tally);
void hard_set_end_pairs(struct hard_set *set, const struct hard_request *request, struct bound_pairs *pairs);
#endif
