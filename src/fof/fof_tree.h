/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A k-d tree of points, and a union-find on them. Two points are linked where their distance is at most the linking
 * length. Boxes decide for many points at once: a box whose diagonal is not longer is one component, two boxes are
 * linked or not where their farthest or nearest points are. So one group of all points costs as little as none, and
 * many points at one place are one. All functions are local. */
#ifndef FOF_TREE_H
#define FOF_TREE_H
#include <stdint.h>

struct fof_point {
  double pos[3];
  uint64_t id;
  int64_t at; /* index in the caller's order */
};

struct fof_box {
  double low[3], high[3];
};
extern const struct fof_box fof_empty;

struct fof_node {
  struct fof_box box;
  int64_t first, count; /* its points */
  int64_t right;        /* the second child; the first one follows the node; 0: a leaf */
  int joined;           /* 1: all its points are in one component */
};

struct fof_tree {
  int64_t points, nodes;
  struct fof_point *point; /* [points] in the order of the tree */
  struct fof_node *node;
  int64_t *up;    /* union-find: points, then further elements */
  double length2; /* square of the linking length */
};

/* Build the tree of the points, which it takes over and sorts. Free with fof_tree_close. */
void fof_tree_open(struct fof_tree *tree, struct fof_point *point, int64_t points, double length);
void fof_tree_close(struct fof_tree *tree);
/* Join all linked points. */
void fof_tree_link(struct fof_tree *tree);
/* Add `count` elements to the union-find. Returns the first one. */
int64_t fof_tree_grow(struct fof_tree *tree, int64_t elements, int64_t count);
/* Join an element with all points that are linked with the position. */
void fof_tree_attach(struct fof_tree *tree, const double pos[3], int64_t element);
/* The component of an element: its smallest element. */
int64_t fof_tree_root(struct fof_tree *tree, int64_t element);

/* The nearest point so far; `id` decides between equal distances. */
struct fof_nearest {
  double distance2;
  uint64_t id;
  int64_t point; /* its index in the tree; -1: none yet */
};
/* Replace *best by a nearer point of the tree within the linking length. */
void fof_tree_nearest(const struct fof_tree *tree, const double pos[3], struct fof_nearest *best);

/* Call `take` for points such that every point of `box` is linked with a component of the tree where it is linked with
 * one of these. Needs fof_tree_link. Elements that were joined since then count as links. */
void fof_tree_export(struct fof_tree *tree, const struct fof_box *box, void (*take)(void *to, int64_t point), void *to);

/* Squares of the smallest distance of a position to a box, and of the smallest and largest distances of points of two
 * boxes. */
double fof_near(const struct fof_box *a, const struct fof_box *b);
double fof_far(const struct fof_box *a, const struct fof_box *b);
void fof_extend(struct fof_box *box, const double pos[3]);
static inline struct fof_box fof_box_of(const double x[3])
{
  return (struct fof_box){{x[0], x[1], x[2]}, {x[0], x[1], x[2]}};
}
#endif
