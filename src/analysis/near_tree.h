/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nearest neighbours of points in memory, from a k-d tree. All functions are local. */
#ifndef NEAR_TREE_H
#define NEAR_TREE_H
#include <stdint.h>

enum { NEAR_MAX = 8, NEAR_NONE = INT32_MAX };

struct near_node {
  double low[3], high[3]; /* box of its points */
  int32_t first, count;   /* its points */
  int32_t right;          /* the second child; the first one follows the node; 0: a leaf */
};

/* A point as the tree stores it. */
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
  int wanted; /* 1 to NEAR_MAX */
  int32_t index[NEAR_MAX];
  double square[NEAR_MAX]; /* of the distance; HUGE_VAL of NEAR_NONE */
};

/* Build the tree of `points` points; number i is at pos[3 * stride * i], with `stride` triples from point to point, and
 * has the index first + i. Free with near_tree_close. */
void near_tree_open(struct near_tree *tree, const double *pos, int32_t points, int64_t stride, int32_t first);
void near_tree_close(struct near_tree *tree);
/* Find the nearest other point of each point, index[points], and the square of its distance, square[points], in the
 * order of pos. By all threads. */
void near_tree_all(const struct near_tree *tree, int32_t first, int32_t *index, double *square);

/* A list of `wanted` entries that are NEAR_NONE. */
void near_list_open(struct near_list *list, int wanted);
/* Insert those points of the tree that are nearer to `at` than entries of the list, but for that of index `skip`
 * (NEAR_NONE: none) and those with gone[index] (NULL: none), so that a list may be that of several trees. Several
 * threads may call it. */
void near_tree_find(const struct near_tree *tree, const double at[3], const char *gone, int32_t skip,
                    struct near_list *list);
#endif
