/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/near_tree.h"

#include <math.h>

#include "base/memory.h"

/* --- the tree ---------------------------------------------------------------------------------------------------- */

/* A point before it is in a leaf. */
struct near_point {
  double pos[3];
  int32_t index;
};

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

static void bound(struct near_node *node, const struct near_point *point, int32_t count)
{
  for (int c = 0; c < 3; c++) {
    node->low[c] = node->high[c] = point[0].pos[c];
    for (int32_t i = 1; i < count; i++) {
      if (point[i].pos[c] < node->low[c]) node->low[c] = point[i].pos[c];
      if (point[i].pos[c] > node->high[c]) node->high[c] = point[i].pos[c];
    }
  }
}

static void fill(struct near_leaf *leaf, const struct near_point *point, int32_t count)
{
  for (int i = 0; i < NEAR_LEAF; i++) {
    leaf->x[i] = i < count ? point[i].pos[0] : HUGE_VAL;
    leaf->y[i] = i < count ? point[i].pos[1] : HUGE_VAL;
    leaf->z[i] = i < count ? point[i].pos[2] : HUGE_VAL;
    leaf->index[i] = i < count ? point[i].index : NEAR_NONE;
  }
}

static void build(struct near_tree *tree, struct near_point *point, int32_t count)
{
  struct near_node *node = &tree->node[tree->nodes++];
  *node = (struct near_node){.count = count};
  bound(node, point, count);
  if (count <= NEAR_LEAF) {
    node->leaf = tree->leaves++;
    fill(&tree->leaf[node->leaf], point, count);
    return;
  }
  int axis = 0;
  for (int c = 1; c < 3; c++)
    if (node->high[c] - node->low[c] > node->high[axis] - node->low[axis]) axis = c;
  select_middle(point, count, count / 2, axis);
  node->axis = axis;
  node->split = point[count / 2].pos[axis];
  build(tree, point, count / 2);
  node->right = tree->nodes;
  build(tree, point + count / 2, count - count / 2);
}

void near_tree_open(struct near_tree *tree, const double *pos, int32_t points, int64_t stride, int32_t first)
{
  struct near_point *point = memory_alloc("neighbours", sizeof *point * (size_t)(points + 1));
  /* halves of more than NEAR_LEAF points have at least half as many */
  size_t leaves = (size_t)(points / (NEAR_LEAF / 2) + 1);
  *tree = (struct near_tree){.points = points};
  tree->node = memory_alloc("neighbours", sizeof *tree->node * 2 * leaves);
  tree->leaf = memory_alloc("neighbours", sizeof *tree->leaf * leaves);
  for (int32_t i = 0; i < points; i++) {
    for (int c = 0; c < 3; c++) point[i].pos[c] = pos[3 * stride * i + c];
    point[i].index = first + i;
  }
  if (points) build(tree, point, points);
  memory_free(point);
}

void near_tree_close(struct near_tree *tree)
{
  memory_free(tree->node);
  memory_free(tree->leaf);
  *tree = (struct near_tree){0};
}

/* --- distances --------------------------------------------------------------------------------------------------- */

static double square_to(const double a[3], const double b[3])
{
  double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return x * x + y * y + z * z;
}

/* The same to all points of a leaf. */
static void squares_to(const struct near_leaf *leaf, double x, double y, double z, double square[NEAR_LEAF])
{
  for (int j = 0; j < NEAR_LEAF; j++) {
    double dx = x - leaf->x[j], dy = y - leaf->y[j], dz = z - leaf->z[j];
    square[j] = dx * dx + dy * dy + dz * dz;
  }
}

static double outside(double low, double high, double x) { return x < low ? low - x : x > high ? x - high : 0; }

/* Not above the squared distance of any point of the box, also when both are rounded. */
static double square_to_box(const struct near_node *node, const double at[3])
{
  double x = outside(node->low[0], node->high[0], at[0]), y = outside(node->low[1], node->high[1], at[1]),
         z = outside(node->low[2], node->high[2], at[2]);
  return x * x + y * y + z * z;
}

/* --- the search -------------------------------------------------------------------------------------------------- */

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

/* Insert a point where it is among the nearest, and not in the list. */
static void offer(struct near_list *list, double square, int32_t index)
{
  int k = list->wanted;
  for (int i = 0; i < k; i++)
    if (list->index[i] == index) return;
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

void near_list_add(struct near_list *list, const double at[3], const double pos[3], int32_t index)
{
  offer(list, square_to(at, pos), index);
}

/* The points of a leaf. */
static void look_into(const struct search *search, const struct near_node *node)
{
  const struct near_leaf *leaf = &search->tree->leaf[node->leaf];
  struct near_list *list = search->list;
  double square[NEAR_LEAF];
  squares_to(leaf, search->at[0], search->at[1], search->at[2], square);
  for (int j = 0; j < node->count; j++) {
    int32_t index = leaf->index[j];
    if (square[j] > list->square[list->wanted - 1] || index == search->skip) continue;
    if (!(search->gone && search->gone[index])) offer(list, square[j], index);
  }
}

/* `away`: how far the place is from the part of space that belongs to the node, along each axis. */
static void visit(const struct search *search, int32_t at, const double away[3])
{
  const struct near_node *node = &search->tree->node[at];
  if (!node->right) {
    look_into(search, node);
    return;
  }
  double beyond = search->at[node->axis] - node->split, further[3] = {away[0], away[1], away[2]};
  visit(search, beyond > 0 ? node->right : at + 1, away);
  further[node->axis] = beyond;
  if (further[0] * further[0] + further[1] * further[1] + further[2] * further[2] <=
      search->list->square[search->list->wanted - 1])
    visit(search, beyond > 0 ? at + 1 : node->right, further);
}

void near_tree_find(const struct near_tree *tree, const double at[3], const char *gone, int32_t skip,
                    struct near_list *list)
{
  const struct search search = {tree, at, gone, skip, list};
  if (tree->points && square_to_box(&tree->node[0], at) <= list->square[list->wanted - 1])
    visit(&search, 0, (const double[3]){0, 0, 0});
}
