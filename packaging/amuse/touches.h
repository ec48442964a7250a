/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stars that touch: pairs whose distance is at most the sum of their radii, and when orbits bring them so near. All of
 * it is local, on the rank that has the store. */
#ifndef TOUCHES_H
#define TOUCHES_H
#include "store.h"

struct touch {
  int index[2]; /* in AMUSE, the lower one first */
};

/* Pairs in ascending order of their indices. */
struct touches {
  struct touch *pair; /* [n] */
  int64_t n, room;
};

/* The pairs that touch now, to *now. */
void touches_now(const struct store *s, struct touches *now);
/* Whether a pair is in the list. */
int touches_have(const struct touches *list, const struct touch *pair);
/* Those of `now` that are not in `last`, to *fresh. */
void touches_new(const struct touches *now, const struct touches *last, struct touches *fresh);
/* A step of the length `step` ends with the store; before[n][6] has positions and velocities of its bodies at its
 * begin. The time since the begin at which a pair that is not in `known` first touches, a little late, by the orbit of
 * the two before or after the step, where `before` is NULL after it; HUGE_VAL: none does. */
double touches_first(const struct store *s, const double *before, double step, double softening, double gravity,
                     const struct touches *known);
/* The longest step in which orbits of two say enough: a tenth of the time in which a star goes as far as its neighbour
 * is; HUGE_VAL where no star has a radius. */
double touches_step(const struct store *s);
void touches_free(struct touches *list);
#endif
