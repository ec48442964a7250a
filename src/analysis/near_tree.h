/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nearest neighbours of points in memory, from a k-d tree. All functions are local. */
#ifndef NEAR_TREE_H
#define NEAR_TREE_H
#include <stdint.h>

enum { NEAR_MAX = 8, NEAR_LEAF = 16, NEAR_NONE = INT32_MAX };

struct near_node {
  double low[3], high[3]; /* box of its points */
  double split;           /* points of the first child are not above it along the axis, others not below */
  int32_t axis;
  int32_t right;       /* the second child; the first one follows the node; 0: a leaf */
  int32_t leaf, count; /* of a leaf: its number; its points */
};

/* Points side by side, so that distances are computed together; places without a point are at infinity. */
struct near_leaf {
  double x[NEAR_LEAF], y[NEAR_LEAF], z[NEAR_LEAF];
  int32_t index[NEAR_LEAF];
};

struct near_tree {
  struct near_node *node;
  struct near_leaf *leaf;
  int32_t points, nodes, leaves;
};

/* Neighbours by distance; of equal distances the lower index comes first. */
struct near_list {
  int wanted; /* 1 to NEAR_MAX */
  int32_t index[NEAR_MAX];
  double square[NEAR_MAX]; /* of the distance; HUGE_VAL of NEAR_NONE */
};

/* Build the tree of `points` points; number i is at pos[3 * stride * i], with `stride` triples from point to point, and
 * has the index first + i. Free with near_tree_close. */
void near_tree_open(struct near_tree *tree, const double *pos, int32_t points, int64_t stride, int32_t first);
void near_tree_close(struct near_tree *tree);
/* A list of `wanted` entries that are NEAR_NONE. */
void near_list_open(struct near_list *list, int wanted);
/* Insert a point at `pos` where it is nearer to `at` than an entry of the list and not in it. */
void near_list_add(struct near_list *list, const double at[3], const double pos[3], int32_t index);
/* Insert those points of the tree that are nearer to `at` than entries of the list, but for that of index `skip`
 * (NEAR_NONE: none) and those with gone[index] (NULL: none), so that a list may be that of several trees, and may have
 * points of them before. Several threads may call it. */
void near_tree_find(const struct near_tree *tree, const double at[3], const char *gone, int32_t skip,
                    struct near_list *list);
#endif
