/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inner loops of the hard part, compiled once per instruction set: they stand in the table of walk_isa.h. Private
 * to src/cpu. */
#ifndef CPU_LIST_ISA_H
#define CPU_LIST_ISA_H
#include <stdint.h>

#include "gravity/pair_steps.h"

/* What a hard force reads. */
struct list_sources {
  const struct hermite_motion *motion; /* [n + 1]: loads of the last one may reach beyond it */
  const double *gm;                    /* [n] */
  const float *factor;                 /* [n] of split_factor */
  const int32_t *tick;                 /* [n] */
  const double *eps2_of;               /* [n] squared softenings; NULL: eps2 for all */
  double tick_length, eps2, r1, r2;    /* radii for factor 1 */
  int kernel;
};

/* A target at `now`. */
struct list_target {
  double x[3], v[3];
  int32_t now;
  float factor;
  double eps2; /* of the target, where the sources have eps2_of */
};

#define LIST_ISA_FUNCTIONS(isa)                                                                                       \
  /* The hard force on a target of the sources entry[n], predicted to its time (gravity/hermite.h). */                \
  void list_force_##isa(const struct list_sources *sources, const struct list_target *target, const int32_t *entry,   \
                        int64_t n, struct hermite_force *force);                                                      \
  /* The same, and the least distance squared of a source with mass. Without softenings of their own. */              \
  void list_force_nearest_##isa(const struct list_sources *sources, const struct list_target *target,                 \
                                const int32_t *entry, int64_t n, struct hermite_force *force, double *nearest2);      \
  /* The acceleration of a target of mass kick->gm, and the largest rate of its pairs (gravity/pair_steps.h). */      \
  void list_kick_##isa(const struct list_sources *sources, const struct list_target *target, const int32_t *entry,    \
                       int64_t n, struct pair_kick *kick);                                                            \
  /* Those of the points [0, n) that are within sqrt(reach2) of a point, ascending; returns their number. near[n]. */ \
  int64_t list_near_##isa(const float *x, const float *y, const float *z, int64_t n, const float at[3], float reach2, \
                          int32_t *near);
LIST_ISA_FUNCTIONS(generic)
LIST_ISA_FUNCTIONS(avx2)
LIST_ISA_FUNCTIONS(avx512)
#endif
