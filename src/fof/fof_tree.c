/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two trees walked together, as in Feng & Modi 2017 (Astronomy and Computing 20, 44), with components that end the walk
 * early. */
#include <config.h>
#include "fof/fof_tree.h"

#include <float.h>
#include <string.h>

#include "base/memory.h"

enum { LEAF = 16 };

const struct fof_box fof_empty = {{DBL_MAX, DBL_MAX, DBL_MAX}, {-DBL_MAX, -DBL_MAX, -DBL_MAX}};

/* Every operation is monotonic, also when it is rounded, and all distances are computed by this function. So a box
 * decides what each pair of its points would decide. */
static double square(const double d[3]) { return d[0] * d[0] + d[1] * d[1] + d[2] * d[2]; }

static double pair(const double a[3], const double b[3])
{
  const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
  return square(d);
}

static double larger(double a, double b) { return a > b ? a : b; }

double fof_near(const struct fof_box *a, const struct fof_box *b)
{
  double d[3];
  for (int c = 0; c < 3; c++) d[c] = larger(0, larger(a->low[c] - b->high[c], b->low[c] - a->high[c]));
  return square(d);
}

double fof_far(const struct fof_box *a, const struct fof_box *b)
{
  double d[3];
  for (int c = 0; c < 3; c++) d[c] = larger(a->high[c] - b->low[c], b->high[c] - a->low[c]);
  return square(d);
}

void fof_extend(struct fof_box *box, const double pos[3])
{
  for (int c = 0; c < 3; c++) {
    if (pos[c] < box->low[c]) box->low[c] = pos[c];
    if (pos[c] > box->high[c]) box->high[c] = pos[c];
  }
}

/* --- the tree ---------------------------------------------------------------------------------------------------- */

static void swap(struct fof_point *a, struct fof_point *b)
{
  struct fof_point keep = *a;
  *a = *b;
  *b = keep;
}

/* Sort partly: p[middle] gets the value that it has in sorted order, smaller or equal ones are before it (Hoare's
 * selection). */
static void select_middle(struct fof_point *point, int64_t n, int64_t middle, int axis)
{
  for (int64_t low = 0, high = n - 1; low < high;) {
    int64_t i = low, j = high, k = low + (high - low) / 2;
    double a = point[low].pos[axis], b = point[k].pos[axis], c = point[high].pos[axis];
    double pivot = a < b ? (b < c ? b : larger(a, c)) : (a < c ? a : larger(b, c));
    while (i <= j) {
      while (point[i].pos[axis] < pivot) i++;
      while (point[j].pos[axis] > pivot) j--;
      if (i <= j) swap(&point[i++], &point[j--]);
    }
    if (middle <= j) high = j;
    else if (middle >= i) low = i;
    else return;
  }
}

static int widest(const struct fof_box *box)
{
  int axis = 0;
  for (int c = 1; c < 3; c++)
    if (box->high[c] - box->low[c] > box->high[axis] - box->low[axis]) axis = c;
  return axis;
}

static void build(struct fof_tree *tree, int64_t first, int64_t count)
{
  int64_t at = tree->nodes++;
  struct fof_node *node = &tree->node[at];
  *node = (struct fof_node){fof_empty, first, count, 0, 0};
  for (int64_t i = first; i < first + count; i++) fof_extend(&node->box, tree->point[i].pos);
  int axis = widest(&node->box);
  if (count <= LEAF || node->box.low[axis] == node->box.high[axis]) return;
  select_middle(tree->point + first, count, count / 2, axis);
  build(tree, first, count / 2);
  node->right = tree->nodes;
  build(tree, first + count / 2, count - count / 2);
}

void fof_tree_open(struct fof_tree *tree, struct fof_point *point, int64_t points, double length)
{
  *tree = (struct fof_tree){.points = points, .point = point, .length2 = length * length};
  /* halves of more than LEAF points have at least LEAF / 2 */
  tree->node = memory_alloc("fof", sizeof *tree->node * (size_t)(2 * (points / (LEAF / 2)) + 1));
  tree->up = memory_alloc("fof", sizeof *tree->up * (size_t)(points + 1));
  for (int64_t i = 0; i < points; i++) tree->up[i] = i;
  if (points) build(tree, 0, points);
}

void fof_tree_close(struct fof_tree *tree)
{
  memory_free(tree->up);
  memory_free(tree->node);
  memory_free(tree->point);
  *tree = (struct fof_tree){0};
}

/* --- components -------------------------------------------------------------------------------------------------- */

int64_t fof_tree_root(struct fof_tree *tree, int64_t i)
{
  while (tree->up[i] != i) i = tree->up[i] = tree->up[tree->up[i]];
  return i;
}

static int together(struct fof_tree *tree, int64_t a, int64_t b)
{
  return fof_tree_root(tree, a) == fof_tree_root(tree, b);
}

static void unite(struct fof_tree *tree, int64_t a, int64_t b)
{
  a = fof_tree_root(tree, a);
  b = fof_tree_root(tree, b);
  if (a < b) tree->up[b] = a;
  else tree->up[a] = b;
}

int64_t fof_tree_grow(struct fof_tree *tree, int64_t elements, int64_t count)
{
  tree->up = memory_resize("fof", tree->up, sizeof *tree->up * (size_t)(elements + count + 1));
  for (int64_t i = elements; i < elements + count; i++) tree->up[i] = i;
  return elements;
}

static void join(struct fof_tree *tree, struct fof_node *node)
{
  for (int64_t i = 1; i < node->count && !node->joined; i++) unite(tree, node->first, node->first + i);
  node->joined = 1;
}

/* A child of a node: its points are in one component where those of the node are. */
static struct fof_node *child(struct fof_tree *tree, struct fof_node *node, int second)
{
  struct fof_node *of = second ? &tree->node[node->right] : node + 1;
  of->joined |= node->joined;
  return of;
}

/* Note that all points of a node are together, where they have become so. */
static void refresh(struct fof_tree *tree, struct fof_node *node)
{
  if (node->joined) return;
  if (node->right) {
    const struct fof_node *a = child(tree, node, 0), *b = child(tree, node, 1);
    node->joined = a->joined && b->joined && together(tree, a->first, b->first);
    return;
  }
  int64_t i = 1;
  while (i < node->count && together(tree, node->first, node->first + i)) i++;
  node->joined = i == node->count;
}

/* Number of points of a leaf to be looked at: those at one place are one. */
static int64_t distinct(const struct fof_node *node) { return node->count > LEAF ? 1 : node->count; }

static void link_leaves(struct fof_tree *tree, struct fof_node *a, struct fof_node *b)
{
  int64_t na = distinct(a), nb = distinct(b);
  for (int64_t i = a->first; i < a->first + na; i++) {
    struct fof_box here = fof_box_of(tree->point[i].pos);
    if (fof_near(&here, &b->box) > tree->length2) continue;
    for (int64_t j = b->first; j < b->first + nb; j++) {
      if (pair(tree->point[i].pos, tree->point[j].pos) > tree->length2) continue;
      unite(tree, i, j);
      if (a->joined && b->joined) return;
    }
  }
  refresh(tree, a);
  refresh(tree, b);
}

static void link_nodes(struct fof_tree *tree, struct fof_node *a, struct fof_node *b)
{
  if (fof_near(&a->box, &b->box) > tree->length2) return;
  if (a->joined && b->joined && together(tree, a->first, b->first)) return;
  if (fof_far(&a->box, &b->box) <= tree->length2) {
    join(tree, a);
    join(tree, b);
    unite(tree, a->first, b->first);
  } else if (!a->right && !b->right) {
    link_leaves(tree, a, b);
  } else {
    struct fof_node *large = !b->right || (a->right && a->count >= b->count) ? a : b, *other = large == a ? b : a;
    link_nodes(tree, child(tree, large, 0), other);
    link_nodes(tree, child(tree, large, 1), other);
    refresh(tree, large);
  }
}

static void link_within(struct fof_tree *tree, struct fof_node *node)
{
  if (fof_far(&node->box, &node->box) <= tree->length2) {
    join(tree, node);
  } else if (node->right) {
    link_within(tree, child(tree, node, 0));
    link_within(tree, child(tree, node, 1));
    link_nodes(tree, child(tree, node, 0), child(tree, node, 1));
    refresh(tree, node);
  } else {
    for (int64_t i = node->first; i < node->first + node->count; i++)
      for (int64_t j = node->first; j < i; j++)
        if (pair(tree->point[i].pos, tree->point[j].pos) <= tree->length2) unite(tree, i, j);
    refresh(tree, node);
  }
}

void fof_tree_link(struct fof_tree *tree)
{
  if (tree->points) link_within(tree, tree->node);
}

/* --- single positions -------------------------------------------------------------------------------------------- */

static void attach(struct fof_tree *tree, struct fof_node *node, const struct fof_box *here, int64_t element)
{
  if (fof_near(here, &node->box) > tree->length2) return;
  if (node->joined && together(tree, node->first, element)) return;
  if (fof_far(here, &node->box) <= tree->length2) {
    join(tree, node);
    unite(tree, node->first, element);
  } else if (node->right) {
    attach(tree, child(tree, node, 0), here, element);
    attach(tree, child(tree, node, 1), here, element);
    refresh(tree, node);
  } else {
    for (int64_t i = node->first; i < node->first + node->count; i++)
      if (pair(here->low, tree->point[i].pos) <= tree->length2) unite(tree, i, element);
    refresh(tree, node);
  }
}

void fof_tree_attach(struct fof_tree *tree, const double pos[3], int64_t element)
{
  struct fof_box here = fof_box_of(pos);
  if (tree->points) attach(tree, tree->node, &here, element);
}

static void nearest(const struct fof_tree *tree, const struct fof_node *node, const struct fof_box *here,
                    struct fof_nearest *best)
{
  double near = fof_near(here, &node->box);
  if (near > tree->length2 || (best->point >= 0 && near > best->distance2)) return;
  if (node->right) {
    const struct fof_node *a = node + 1, *b = &tree->node[node->right];
    int second = fof_near(here, &b->box) < fof_near(here, &a->box);
    nearest(tree, second ? b : a, here, best);
    nearest(tree, second ? a : b, here, best);
    return;
  }
  for (int64_t i = node->first; i < node->first + node->count; i++) {
    double d = pair(here->low, tree->point[i].pos);
    if (d > tree->length2 ||
        (best->point >= 0 && (d > best->distance2 || (d == best->distance2 && tree->point[i].id > best->id))))
      continue;
    *best = (struct fof_nearest){d, tree->point[i].id, i};
  }
}

void fof_tree_nearest(const struct fof_tree *tree, const double pos[3], struct fof_nearest *best)
{
  struct fof_box here = fof_box_of(pos);
  if (tree->points) nearest(tree, tree->node, &here, best);
}

static void export(struct fof_tree *tree, struct fof_node *node, const struct fof_box *box,
                   void (*take)(void *to, int64_t point), void *to)
{
  if (fof_near(&node->box, box) > tree->length2) return;
  if (node->joined && fof_far(&node->box, box) <= tree->length2) {
    take(to, node->first); /* every point of the box is linked with every point here */
  } else if (node->right) {
    export(tree, child(tree, node, 0), box, take, to);
    export(tree, child(tree, node, 1), box, take, to);
  } else {
    for (int64_t i = node->first; i < node->first + node->count; i++) {
      struct fof_box here = fof_box_of(tree->point[i].pos);
      if (fof_near(&here, box) <= tree->length2) take(to, i);
    }
  }
}

void fof_tree_export(struct fof_tree *tree, const struct fof_box *box, void (*take)(void *to, int64_t point), void *to)
{
  if (tree->points && box->low[0] <= box->high[0]) export(tree, tree->node, box, take, to);
}
