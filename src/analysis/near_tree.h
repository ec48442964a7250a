/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nearest neighbours of points in memory, from a k-d tree. All functions are local. */
#ifndef NEAR_TREE_H
#define NEAR_TREE_H
#include <stdint.h>

enum { NEAR_MAX = 8 };

struct near_node {
  double low[3], high[3]; /* box of its points */
  int32_t first, count;   /* its points */
  int32_t right;          /* the second child; the first one follows the node; 0: a leaf */
};

/* A point as the tree stores it; `index` is that of the caller. */
struct near_point {
  double pos[3];
  int32_t index;
};

struct near_tree {
  struct near_point *point; /* in the order of the tree */
  struct near_node *node;
  int32_t points, nodes;
};

/* Neighbours by distance; of equal distances the lower index comes first. */
struct near_list {
  int wanted;              /* 1 to NEAR_MAX */
  int32_t index[NEAR_MAX]; /* of the caller; -1: there are no more */
  double square[NEAR_MAX]; /* of the distance; HUGE_VAL where index is -1 */
};

/* Build the tree of `points` points; number i is at pos[3 * stride * i] with `stride` triples from point to point. Free
 * with near_tree_close. */
void near_tree_open(struct near_tree *tree, const double *pos, int32_t points, int64_t stride);
void near_tree_close(struct near_tree *tree);
/* Find the `wanted` points that are nearest to `at`, but for that of index `skip` (-1: none). Several threads may call
 * it. */
void near_tree_find(const struct near_tree *tree, const double at[3], int32_t skip, int wanted, struct near_list *list);
#endif
