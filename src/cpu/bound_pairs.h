/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Isolated bound pairs of the hard part on the host: their search, and their replacement by centres of mass for a soft
 * step (gravity/bound_pair.h). On plain arrays, so any engine can use it. Local.
 *
 * Order within a soft step: lists of all particles; find; where it found pairs, lists again (without the absorbed
 * particles); kick; the Hermite scheme over the soft step; advance; kick; restore. */
#ifndef BOUND_PAIRS_H
#define BOUND_PAIRS_H
#include <stdint.h>

#include "backend/hard_verbs.h"
#include "gravity/bound_pair.h"

/* The particles of an engine at one time: own ones, then copies from other ranks. Component c of particle i is x[i *
 * stride + c]. */
struct bound_view {
  int64_t n, own;
  double *x, *v;
  int64_t stride;
  double *m;     /* G m */
  float *factor; /* split_factor */
  const uint64_t *id;
  const double *eps2; /* squared softenings; NULL: all alike */
};

/* Neighbours of particle i: index[start[i]] ... index[start[i + 1] - 1], in any order. */
struct bound_lists {
  const int64_t *start;
  const int32_t *index;
};

struct bound_pair {
  int32_t first, second; /* their places; `first` has the lower id, and holds the centre of mass */
  double d[3], u[3];     /* position and velocity of the second relative to the first */
  double m1, m2;
  float factor1, factor2;
};

struct bound_pairs {
  int64_t n;
  struct bound_pair *pair; /* by the id of `first` */
};

/* Find the pairs that go by Kepler's equation, and replace each by its centre of mass: `first` has its position,
 * velocity, mass and the larger factor; `second` has the factor BOUND_ABSORBED, and is neither source nor target until
 * bound_pairs_restore. Pairs are mutual nearest neighbours. The choice depends on the two particles and their
 * neighbours alone, so ranks agree on it. Adds to the counts of pairs in *tally. Without pair_limit there are none.
 * Owner of *pairs: caller (bound_pairs_free). */
void bound_pairs_find(struct bound_pairs *pairs, struct bound_view *view, const struct bound_lists *lists,
                      const struct hard_request *request, double softening, struct hard_tally *tally);
/* Kick by the tides of the neighbours of centres of mass for the time dt: relative motions, centres of mass, and
 * neighbours. */
void bound_pairs_kick(struct bound_pairs *pairs, struct bound_view *view, const struct bound_lists *lists,
                      const struct split *split, double dt);
/* Advance the relative motions by dt. */
void bound_pairs_advance(struct bound_pairs *pairs, double dt);
/* Put the members back at their places about the centres of mass. */
void bound_pairs_restore(struct bound_pairs *pairs, struct bound_view *view);
void bound_pairs_free(struct bound_pairs *pairs);
#endif
