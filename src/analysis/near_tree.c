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

void near_tree_open(struct near_tree *tree, const double *pos, int32_t points, int64_t stride, int32_t first)
{
  *tree = (struct near_tree){.points = points};
  /* halves of more than LEAF points have at least LEAF / 2 */
  tree->node = memory_alloc("neighbours", sizeof *tree->node * (size_t)(2 * (points / (LEAF / 2)) + 1));
  tree->point = memory_alloc("neighbours", sizeof *tree->point * (size_t)(points + 1));
  for (int32_t i = 0; i < points; i++) {
    for (int c = 0; c < 3; c++) tree->point[i].pos[c] = pos[3 * stride * i + c];
    tree->point[i].index = first + i;
  }
  if (points) build(tree, 0, points);
}

void near_tree_close(struct near_tree *tree)
{
  memory_free(tree->node);
  memory_free(tree->point);
  *tree = (struct near_tree){0};
}

/* --- distances --------------------------------------------------------------------------------------------------- */

static double square_to(const double a[3], const double b[3])
{
  double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return x * x + y * y + z * z;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Not above the squared distance of any points of the two boxes, also when both are rounded. */
static double square_between(const struct near_node *node, const double low[3], const double high[3])
{
  double x = larger(0, larger(node->low[0] - high[0], low[0] - node->high[0])),
         y = larger(0, larger(node->low[1] - high[1], low[1] - node->high[1])),
         z = larger(0, larger(node->low[2] - high[2], low[2] - node->high[2]));
  return x * x + y * y + z * z;
}

/* --- neighbours of all points ------------------------------------------------------------------------------------ */

/* The search for the points of a leaf under way. */
struct leaf {
  const struct near_tree *tree;
  const struct near_node *node;
  double square[LEAF], most; /* of the nearest so far; the largest of these */
  int32_t index[LEAF];
};

static void take(struct leaf *leaf, int i, const struct near_point *other, double square)
{
  if (square > leaf->square[i] || (square == leaf->square[i] && other->index > leaf->index[i])) return;
  leaf->square[i] = square;
  leaf->index[i] = other->index;
}

static void compare_leaves(struct leaf *leaf, const struct near_node *node)
{
  const struct near_point *mine = leaf->tree->point + leaf->node->first, *other = leaf->tree->point + node->first;
  leaf->most = 0;
  for (int32_t i = 0; i < leaf->node->count; i++) {
    if (square_between(node, mine[i].pos, mine[i].pos) <= leaf->square[i])
      for (int32_t j = 0; j < node->count; j++)
        if (&other[j] != &mine[i]) take(leaf, i, &other[j], square_to(mine[i].pos, other[j].pos));
    leaf->most = larger(leaf->most, leaf->square[i]);
  }
}

static void visit_for_leaf(struct leaf *leaf, int32_t at)
{
  const struct near_node *node = &leaf->tree->node[at], *own = leaf->node;
  if (!node->right) {
    if (node != own) compare_leaves(leaf, node);
    return;
  }
  int32_t child[2] = {at + 1, node->right};
  double square[2] = {square_between(&leaf->tree->node[child[0]], own->low, own->high),
                      square_between(&leaf->tree->node[child[1]], own->low, own->high)};
  int near = square[1] < square[0];
  for (int k = 0; k < 2; k++, near = !near)
    if (square[near] <= leaf->most) visit_for_leaf(leaf, child[near]);
}

void near_tree_all(const struct near_tree *tree, int32_t first, int32_t *index, double *square)
{
#pragma omp parallel for schedule(dynamic, 64)
  for (int32_t n = 0; n < tree->nodes; n++) {
    struct leaf leaf = {.tree = tree, .node = &tree->node[n]};
    if (tree->node[n].right) continue;
    for (int i = 0; i < LEAF; i++) {
      leaf.square[i] = HUGE_VAL;
      leaf.index[i] = NEAR_NONE;
    }
    compare_leaves(&leaf, leaf.node);
    visit_for_leaf(&leaf, 0);
    for (int32_t i = 0; i < leaf.node->count; i++) {
      int32_t of = tree->point[leaf.node->first + i].index - first;
      index[of] = leaf.index[i];
      square[of] = leaf.square[i];
    }
  }
}

/* --- neighbours of a place --------------------------------------------------------------------------------------- */

struct search {
  const struct near_tree *tree;
  const double *at;
  const char *gone;
  int32_t skip;
  struct near_list *list;
};

void near_list_open(struct near_list *list, int wanted)
{
  list->wanted = wanted;
  for (int k = 0; k < wanted; k++) {
    list->square[k] = HUGE_VAL;
    list->index[k] = NEAR_NONE;
  }
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
      if (p->index != search->skip && !(search->gone && search->gone[p->index]))
        offer(list, square_to(search->at, p->pos), p->index);
    return;
  }
  int32_t child[2] = {at + 1, node->right};
  double square[2] = {square_between(&tree->node[child[0]], search->at, search->at),
                      square_between(&tree->node[child[1]], search->at, search->at)};
  int near = square[1] < square[0];
  for (int k = 0; k < 2; k++, near = !near)
    if (square[near] <= list->square[list->wanted - 1]) visit(search, child[near]);
}

void near_tree_find(const struct near_tree *tree, const double at[3], const char *gone, int32_t skip,
                    struct near_list *list)
{
  const struct search search = {tree, at, gone, skip, list};
  if (tree->points && square_between(&tree->node[0], at, at) <= list->square[list->wanted - 1]) visit(&search, 0);
}
