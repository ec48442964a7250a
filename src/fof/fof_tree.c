/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two trees walked together, as in Feng & Modi 2017 (Astronomy and Computing 20, 44), with components that end the walk early. */
#include <config.h>
#include "fof/fof_tree.h"

#include <float.h>
#include <string.h>

#include "base/memory.h"

enum { LEAF = 16 };

const struct fof_box fof_empty = {{DBL_MAX, DBL_MAX, DBL_MAX}, {-DBL_MAX, -DBL_MAX, -DBL_MAX}};

/* Every operation is monotonic, also when it is rounded, and all distances are computed by this function. So a box decides what each pair
 * of its points would decide. */
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

void fof_extend(struct fof_box *b, const double pos[3])
{
  for (int c = 0; c < 3; c++) {
    if (pos[c] < b->low[c]) b->low[c] = pos[c];
    if (pos[c] > b->high[c]) b->high[c] = pos[c];
  }
}

/* --- the tree ---------------------------------------------------------------------------------------------------- */

static void swap(struct fof_point *a, struct fof_point *b)
{
  struct fof_point keep = *a;
  *a = *b;
  *b = keep;
}

/* Sort partly: p[middle] gets the value that it has in sorted order, smaller or equal ones are before it (Hoare's selection). */
static void select_middle(struct fof_point *p, int64_t n, int64_t middle, int axis)
{
  for (int64_t low = 0, high = n - 1; low < high;) {
    int64_t i = low, j = high, k = low + (high - low) / 2;
    double a = p[low].pos[axis], b = p[k].pos[axis], c = p[high].pos[axis];
    double pivot = a < b ? (b < c ? b : larger(a, c)) : (a < c ? a : larger(b, c));
    while (i <= j) {
      while (p[i].pos[axis] < pivot) i++;
      while (p[j].pos[axis] > pivot) j--;
      if (i <= j) swap(&p[i++], &p[j--]);
    }
    if (middle <= j) high = j;
    else if (middle >= i) low = i;
    else return;
  }
}

static int widest(const struct fof_box *b)
{
  int axis = 0;
  for (int c = 1; c < 3; c++)
    if (b->high[c] - b->low[c] > b->high[axis] - b->low[axis]) axis = c;
  return axis;
}

static void build(struct fof_tree *t, int64_t first, int64_t count)
{
  int64_t at = t->nodes++;
  struct fof_node *node = &t->node[at];
  *node = (struct fof_node){fof_empty, first, count, 0, 0};
  for (int64_t i = first; i < first + count; i++) fof_extend(&node->box, t->point[i].pos);
  int axis = widest(&node->box);
  if (count <= LEAF || node->box.low[axis] == node->box.high[axis]) return;
  select_middle(t->point + first, count, count / 2, axis);
  build(t, first, count / 2);
  node->right = t->nodes;
  build(t, first + count / 2, count - count / 2);
}

void fof_tree_open(struct fof_tree *t, struct fof_point *point, int64_t points, double length)
{
  *t = (struct fof_tree){.points = points, .point = point, .length2 = length * length};
  /* halves of more than LEAF points have at least LEAF / 2 */
  t->node = memory_alloc("fof", sizeof *t->node * (size_t)(2 * (points / (LEAF / 2)) + 1));
  t->up = memory_alloc("fof", sizeof *t->up * (size_t)(points + 1));
  for (int64_t i = 0; i < points; i++) t->up[i] = i;
  if (points) build(t, 0, points);
}

void fof_tree_close(struct fof_tree *t)
{
  memory_free(t->up);
  memory_free(t->node);
  memory_free(t->point);
  *t = (struct fof_tree){0};
}

/* --- components -------------------------------------------------------------------------------------------------- */

int64_t fof_tree_root(struct fof_tree *t, int64_t i)
{
  while (t->up[i] != i) i = t->up[i] = t->up[t->up[i]];
  return i;
}

static int together(struct fof_tree *t, int64_t a, int64_t b) { return fof_tree_root(t, a) == fof_tree_root(t, b); }

static void unite(struct fof_tree *t, int64_t a, int64_t b)
{
  a = fof_tree_root(t, a), b = fof_tree_root(t, b);
  if (a < b) t->up[b] = a;
  else t->up[a] = b;
}

int64_t fof_tree_grow(struct fof_tree *t, int64_t elements, int64_t count)
{
  t->up = memory_resize("fof", t->up, sizeof *t->up * (size_t)(elements + count + 1));
  for (int64_t i = elements; i < elements + count; i++) t->up[i] = i;
  return elements;
}

static void join(struct fof_tree *t, struct fof_node *n)
{
  for (int64_t i = 1; i < n->count && !n->joined; i++) unite(t, n->first, n->first + i);
  n->joined = 1;
}

/* A child of a node: its points are in one component where those of the node are. */
static struct fof_node *child(struct fof_tree *t, struct fof_node *n, int second)
{
  struct fof_node *of = second ? &t->node[n->right] : n + 1;
  of->joined |= n->joined;
  return of;
}

/* Note that all points of a node are together, where they have become so. */
static void refresh(struct fof_tree *t, struct fof_node *n)
{
  if (n->joined) return;
  if (n->right) {
    const struct fof_node *a = child(t, n, 0), *b = child(t, n, 1);
    n->joined = a->joined && b->joined && together(t, a->first, b->first);
    return;
  }
  int64_t i = 1;
  while (i < n->count && together(t, n->first, n->first + i)) i++;
  n->joined = i == n->count;
}

/* Number of points of a leaf to be looked at: those at one place are one. */
static int64_t distinct(const struct fof_node *n) { return n->count > LEAF ? 1 : n->count; }

static void link_leaves(struct fof_tree *t, struct fof_node *a, struct fof_node *b)
{
  int64_t na = distinct(a), nb = distinct(b);
  for (int64_t i = a->first; i < a->first + na; i++) {
    struct fof_box here = fof_box_of(t->point[i].pos);
    if (fof_near(&here, &b->box) > t->length2) continue;
    for (int64_t j = b->first; j < b->first + nb; j++) {
      if (pair(t->point[i].pos, t->point[j].pos) > t->length2) continue;
      unite(t, i, j);
      if (a->joined && b->joined) return;
    }
  }
  refresh(t, a);
  refresh(t, b);
}

static void link_nodes(struct fof_tree *t, struct fof_node *a, struct fof_node *b)
{
  if (fof_near(&a->box, &b->box) > t->length2) return;
  if (a->joined && b->joined && together(t, a->first, b->first)) return;
  if (fof_far(&a->box, &b->box) <= t->length2) {
    join(t, a);
    join(t, b);
    unite(t, a->first, b->first);
  } else if (!a->right && !b->right) {
    link_leaves(t, a, b);
  } else {
    struct fof_node *large = !b->right || (a->right && a->count >= b->count) ? a : b, *other = large == a ? b : a;
    link_nodes(t, child(t, large, 0), other);
    link_nodes(t, child(t, large, 1), other);
    refresh(t, large);
  }
}

static void link_within(struct fof_tree *t, struct fof_node *n)
{
  if (fof_far(&n->box, &n->box) <= t->length2) {
    join(t, n);
  } else if (n->right) {
    link_within(t, child(t, n, 0));
    link_within(t, child(t, n, 1));
    link_nodes(t, child(t, n, 0), child(t, n, 1));
    refresh(t, n);
  } else {
    for (int64_t i = n->first; i < n->first + n->count; i++)
      for (int64_t j = n->first; j < i; j++)
        if (pair(t->point[i].pos, t->point[j].pos) <= t->length2) unite(t, i, j);
    refresh(t, n);
  }
}

void fof_tree_link(struct fof_tree *t)
{
  if (t->points) link_within(t, t->node);
}

/* --- single positions -------------------------------------------------------------------------------------------- */

static void attach(struct fof_tree *t, struct fof_node *n, const struct fof_box *here, int64_t element)
{
  if (fof_near(here, &n->box) > t->length2) return;
  if (n->joined && together(t, n->first, element)) return;
  if (fof_far(here, &n->box) <= t->length2) {
    join(t, n);
    unite(t, n->first, element);
  } else if (n->right) {
    attach(t, child(t, n, 0), here, element);
    attach(t, child(t, n, 1), here, element);
    refresh(t, n);
  } else {
    for (int64_t i = n->first; i < n->first + n->count; i++)
      if (pair(here->low, t->point[i].pos) <= t->length2) unite(t, i, element);
    refresh(t, n);
  }
}

void fof_tree_attach(struct fof_tree *t, const double pos[3], int64_t element)
{
  struct fof_box here = fof_box_of(pos);
  if (t->points) attach(t, t->node, &here, element);
}

static void nearest(const struct fof_tree *t, const struct fof_node *n, const struct fof_box *here, struct fof_nearest *best)
{
  double near = fof_near(here, &n->box);
  if (near > t->length2 || (best->point >= 0 && near > best->distance2)) return;
  if (n->right) {
    const struct fof_node *a = n + 1, *b = &t->node[n->right];
    int second = fof_near(here, &b->box) < fof_near(here, &a->box);
    nearest(t, second ? b : a, here, best);
    nearest(t, second ? a : b, here, best);
    return;
  }
  for (int64_t i = n->first; i < n->first + n->count; i++) {
    double d = pair(here->low, t->point[i].pos);
    if (d > t->length2 || (best->point >= 0 && (d > best->distance2 || (d == best->distance2 && t->point[i].id > best->id)))) continue;
    *best = (struct fof_nearest){d, t->point[i].id, i};
  }
}

void fof_tree_nearest(const struct fof_tree *t, const double pos[3], struct fof_nearest *best)
{
  struct fof_box here = fof_box_of(pos);
  if (t->points) nearest(t, t->node, &here, best);
}

static void export(struct fof_tree *t, struct fof_node *n, const struct fof_box *box, void (*take)(void *to, int64_t point), void *to)
{
  if (fof_near(&n->box, box) > t->length2) return;
  if (n->joined && fof_far(&n->box, box) <= t->length2) {
    take(to, n->first);   /* every point of the box is linked with every point here */
  } else if (n->right) {
    export(t, child(t, n, 0), box, take, to);
    export(t, child(t, n, 1), box, take, to);
  } else {
    for (int64_t i = n->first; i < n->first + n->count; i++) {
      struct fof_box here = fof_box_of(t->point[i].pos);
      if (fof_near(&here, box) <= t->length2) take(to, i);
    }
  }
}

void fof_tree_export(struct fof_tree *t, const struct fof_box *box, void (*take)(void *to, int64_t point), void *to)
{
  if (t->points && box->low[0] <= box->high[0]) export(t, t->node, box, take, to);
}
