/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/near_tree.h"

#include <math.h>

#include "base/memory.h"

enum { LEAF = 8 };

/* --- the tree ---------------------------------------------------------------------------------------------------- */

static void swap(struct near_point *a, struct near_point *b)
{
  struct near_point keep = *a;
  *a = *b;
  *b = keep;
}

/* Sort partly: point[middle] gets its place in sorted order, those before it are not above it, those after it not below
 * it (Hoare's selection). */
static void select_middle(struct near_point *point, int32_t count, int32_t middle, int axis)
{
  for (int32_t low = 0, high = count - 1; low < high;) {
    int32_t i = low, j = high;
    double a = point[low].pos[axis], b = point[low + (high - low) / 2].pos[axis], c = point[high].pos[axis];
    double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c));
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

static void bound(struct near_node *node, const struct near_point *point)
{
  for (int c = 0; c < 3; c++) {
    node->low[c] = node->high[c] = point[0].pos[c];
    for (int32_t i = 1; i < node->count; i++) {
      if (point[i].pos[c] < node->low[c]) node->low[c] = point[i].pos[c];
      if (point[i].pos[c] > node->high[c]) node->high[c] = point[i].pos[c];
    }
  }
}

static void build(struct near_tree *tree, int32_t first, int32_t count)
{
  struct near_node *node = &tree->node[tree->nodes++];
  *node = (struct near_node){.first = first, .count = count};
  bound(node, tree->point + first);
  if (count <= LEAF) return;
  int axis = 0;
  for (int c = 1; c < 3; c++)
    if (node->high[c] - node->low[c] > node->high[axis] - node->low[axis]) axis = c;
  select_middle(tree->point + first, count, count / 2, axis);
  build(tree, first, count / 2);
  node->right = tree->nodes;
  build(tree, first + count / 2, count - count / 2);
}

void near_tree_open(struct near_tree *tree, const double *pos, int32_t points, int64_t stride)
{
  *tree = (struct near_tree){.points = points};
  /* halves of more than LEAF points have at least LEAF / 2 */
  tree->node = memory_alloc("neighbours", sizeof *tree->node * (size_t)(2 * (points / (LEAF / 2)) + 1));
  tree->point = memory_alloc("neighbours", sizeof *tree->point * (size_t)(points + 1));
  for (int32_t i = 0; i < points; i++) {
    for (int c = 0; c < 3; c++) tree->point[i].pos[c] = pos[3 * stride * i + c];
    tree->point[i].index = i;
  }
  if (points) build(tree, 0, points);
}

void near_tree_close(struct near_tree *tree)
{
  memory_free(tree->node);
  memory_free(tree->point);
  *tree = (struct near_tree){0};
}

/* --- the search -------------------------------------------------------------------------------------------------- */

/* A search under way. An index that is not yet known is INT32_MAX, so that every point comes before it. */
struct search {
  const struct near_tree *tree;
  const double *at;
  int32_t skip;
  struct near_list *list;
};

static double square_to(const double a[3], const double b[3])
{
  double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return x * x + y * y + z * z;
}

static double outside(double low, double high, double x) { return x < low ? low - x : x > high ? x - high : 0; }

/* Not above the squared distance of any point in the box, also when both are rounded. */
static double square_to_box(const struct near_node *node, const double at[3])
{
  double x = outside(node->low[0], node->high[0], at[0]), y = outside(node->low[1], node->high[1], at[1]),
         z = outside(node->low[2], node->high[2], at[2]);
  return x * x + y * y + z * z;
}

/* Insert a point where it is among the nearest. */
static void offer(struct near_list *list, double square, int32_t index)
{
  int k = list->wanted;
  for (; k > 0; k--) {
    double other = list->square[k - 1];
    if (!(square < other || (square == other && index < list->index[k - 1]))) break;
    if (k == list->wanted) continue;
    list->square[k] = other;
    list->index[k] = list->index[k - 1];
  }
  if (k == list->wanted) return;
  list->square[k] = square;
  list->index[k] = index;
}

static void visit(const struct search *search, int32_t at)
{
  const struct near_tree *tree = search->tree;
  const struct near_node *node = &tree->node[at];
  struct near_list *list = search->list;
  if (!node->right) {
    for (const struct near_point *p = tree->point + node->first, *end = p + node->count; p < end; p++)
      if (p->index != search->skip) offer(list, square_to(search->at, p->pos), p->index);
    return;
  }
  int32_t child[2] = {at + 1, node->right};
  double square[2] = {square_to_box(&tree->node[child[0]], search->at),
                      square_to_box(&tree->node[child[1]], search->at)};
  int near = square[1] < square[0];
  for (int k = 0; k < 2; k++, near = !near)
    if (square[near] <= list->square[list->wanted - 1]) visit(search, child[near]);
}

void near_tree_find(const struct near_tree *tree, const double at[3], int32_t skip, int wanted, struct near_list *list)
{
  const struct search search = {tree, at, skip, list};
  list->wanted = wanted;
  for (int k = 0; k < wanted; k++) {
    list->square[k] = HUGE_VAL;
    list->index[k] = INT32_MAX;
  }
  if (tree->points) visit(&search, 0);
  for (int k = 0; k < wanted; k++)
    if (list->index[k] == INT32_MAX) list->index[k] = -1;
}
