/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a walk over a group, private to walk.c and walk_results.c. */
#ifndef CPU_WALK_PARTS_H
#define CPU_WALK_PARTS_H
#include "cpu/device.h"

enum { STACK = 8 * (KEY_LEVELS + 2) }; /* every level leaves at most seven siblings behind */

/* A thread's lists and targets. */
struct workspace {
  struct finds finds;
  struct list particles[2]; /* far, near */
  struct list pruned;
  struct targets targets, sub;
  int32_t member[GROUP_MAX]; /* particles behind the targets */
  int32_t stack[STACK + CELL_PAD];
  struct tally tally;
  char *memory;
};

/* Parameters of one walk over a group. */
struct visit {
  const struct device *d;
  const struct octree *tree;
  struct workspace *w;
  struct view view;
  struct pair_job plain, split; /* beyond R2, and within */
  int quad;
  int pruned; /* hard part only: target blocks prune the near lists again */
  int soft;   /* WALK_SOFT: near particles have the weight 1 - K; all cells are beyond R2 */
};

/* The groups of a walk: the active ones, or all. */
int32_t walk_group_count(const struct device *d, const struct walk_request *request);
const struct group *walk_group_of(const struct device *d, const struct walk_request *request, int32_t k);
/* Room for the sums that are kept between the parts of a forest which is walked in parts; give it back after the last
 * one. */
void walk_need_sums(struct device *d, const struct walk_request *request);
void walk_free_sums(struct device *d, const struct walk_request *request);
/* Room for the potentials of a WALK_POTENTIAL, which begins. */
void walk_need_potentials(struct device *d, const struct walk_request *request);
/* Keep the sums of the targets of group k, and the group's interactions; take them back (returns the interactions). */
void walk_keep_sums(struct device *d, const struct visit *visit, const struct walk_request *request, int32_t k,
                    int64_t pairs);
int64_t walk_take_sums(const struct device *d, const struct visit *visit, const struct walk_request *request,
                       int32_t k);
/* Store forces, potential and work of the targets. `pairs`: interactions of the group. */
void walk_store(struct device *d, const struct visit *visit, const struct walk_request *request, int64_t pairs);
#endif
