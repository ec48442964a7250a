/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/near_tree.h"
#include "base/memory.h"

/* A cell is one point for a body at more than OPENING times the distance of its farthest corner from its centre of
 * mass. A walk of the tree costs about as much as WALK pairs. */
enum { OPENING = 3, WALK = 8000, DEPTH = 64 };

/* Points side by side. */
struct points {
  int32_t count;
  double *x, *y, *z, *mass;
};

/* A tree of points, with the centre of mass and the square of the opening distance of each node. */
struct well {
  struct near_tree tree;
  struct points points, cell;
  double *open2, *mass; /* of nodes; of the places of leaves */
};

struct search {
  const struct bound_body *body;
  int32_t count;
  double gravity, eps2;
  char *bound;
  double *potential; /* sum of m / r over bound bodies [count] */
  const struct bound_tide *tide;
  struct far *far; /* by ascending r [count]; NULL: there is no tide */
};

struct far {
  double r; /* of a body from the centre of the tide */
  int32_t body;
};

/* --- sums -------------------------------------------------------------------------------------------------------- */

static struct points points_of(int32_t most)
{
  double *all = memory_alloc("bound stars", 4 * sizeof *all * (size_t)(most + 1));
  return (struct points){0, all, all + most, all + 2 * (size_t)most, all + 3 * (size_t)most};
}

static void add_point(struct points *points, const double pos[3], double mass)
{
  int32_t k = points->count++;
  points->x[k] = pos[0];
  points->y[k] = pos[1];
  points->z[k] = pos[2];
  points->mass[k] = mass;
}

/* Points with bound[i] == wanted. Free points.x. */
static struct points select_bodies(const struct search *search, char wanted)
{
  struct points points = points_of(search->count);
  for (int32_t i = 0; i < search->count; i++)
    if (search->bound[i] == wanted) add_point(&points, search->body[i].pos, search->body[i].mass);
  return points;
}

static double pull(double dx, double dy, double dz, double mass, double eps2)
{
  double r2 = dx * dx + dy * dy + dz * dz;
  return r2 > 0 ? mass / sqrt(r2 + eps2) : 0;
}

static double sum_points(const struct points *points, const double at[3], double eps2)
{
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int32_t k = 0; k < points->count; k++)
    sum += pull(points->x[k] - at[0], points->y[k] - at[1], points->z[k] - at[2], points->mass[k], eps2);
  return sum;
}

/* --- the tree ---------------------------------------------------------------------------------------------------- */

static void sum_leaf(struct well *well, const struct near_node *node, double moment[4])
{
  const struct near_leaf *leaf = &well->tree.leaf[node->leaf];
  for (int32_t k = 0; k < node->count; k++) {
    double m = well->points.mass[leaf->index[k]];
    well->mass[(int64_t)node->leaf * NEAR_LEAF + k] = m;
    moment[0] += m * leaf->x[k];
    moment[1] += m * leaf->y[k];
    moment[2] += m * leaf->z[k];
    moment[3] += m;
  }
}

static void add_child(const struct points *cell, int32_t k, double moment[4])
{
  moment[0] += cell->mass[k] * cell->x[k];
  moment[1] += cell->mass[k] * cell->y[k];
  moment[2] += cell->mass[k] * cell->z[k];
  moment[3] += cell->mass[k];
}

/* Children come after their node. */
static void set_moments(struct well *well)
{
  for (int32_t k = well->tree.nodes - 1; k >= 0; k--) {
    const struct near_node *node = &well->tree.node[k];
    double moment[4] = {0}, far2 = 0;
    if (node->right == 0) sum_leaf(well, node, moment);
    else {
      add_child(&well->cell, k + 1, moment);
      add_child(&well->cell, node->right, moment);
    }
    double centre[3] = {moment[0] / moment[3], moment[1] / moment[3], moment[2] / moment[3]};
    for (int c = 0; c < 3; c++) {
      double corner = fmax(node->high[c] - centre[c], centre[c] - node->low[c]);
      far2 += corner * corner;
    }
    well->cell.x[k] = centre[0];
    well->cell.y[k] = centre[1];
    well->cell.z[k] = centre[2];
    well->cell.mass[k] = moment[3];
    well->open2[k] = OPENING * OPENING * far2;
  }
}

static struct well open_well(const struct search *search)
{
  struct well well = {.points = select_bodies(search, 1)};
  size_t count = (size_t)well.points.count;
  double *pos = memory_alloc("bound stars", 3 * sizeof *pos * (count + 1));
  for (size_t i = 0; i < count; i++) {
    pos[3 * i] = well.points.x[i];
    pos[3 * i + 1] = well.points.y[i];
    pos[3 * i + 2] = well.points.z[i];
  }
  near_tree_open(&well.tree, pos, well.points.count, 1, 0);
  memory_free(pos);
  well.cell = points_of(well.tree.nodes);
  well.open2 = memory_alloc("bound stars", sizeof *well.open2 * (size_t)(well.tree.nodes + 1));
  well.mass = memory_alloc("bound stars", sizeof *well.mass * NEAR_LEAF * (size_t)(well.tree.leaves + 1));
  set_moments(&well);
  return well;
}

static void close_well(struct well *well)
{
  memory_free(well->mass);
  memory_free(well->open2);
  memory_free(well->cell.x);
  memory_free(well->points.x);
  near_tree_close(&well->tree);
}

static double sum_well(const struct well *well, const double at[3], double eps2)
{
  const struct points *cell = &well->cell;
  int32_t stack[DEPTH], depth = 0;
  double sum = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    int32_t k = stack[--depth];
    const struct near_node *node = &well->tree.node[k];
    double dx = cell->x[k] - at[0], dy = cell->y[k] - at[1], dz = cell->z[k] - at[2];
    double r2 = dx * dx + dy * dy + dz * dz;
    if (r2 > well->open2[k]) {
      sum += cell->mass[k] / sqrt(r2 + eps2);
    } else if (node->right == 0) {
      const struct near_leaf *leaf = &well->tree.leaf[node->leaf];
      const double *mass = &well->mass[(int64_t)node->leaf * NEAR_LEAF];
      for (int32_t i = 0; i < node->count; i++)
        sum += pull(leaf->x[i] - at[0], leaf->y[i] - at[1], leaf->z[i] - at[2], mass[i], eps2);
    } else {
      stack[depth++] = node->right;
      stack[depth++] = k + 1;
    }
  }
  return sum;
}

/* --- the search -------------------------------------------------------------------------------------------------- */

/* The potentials of all bodies that are bound. */
static void sum_all(const struct search *search, int32_t members)
{
  int direct = members <= BOUND_DIRECT;
  struct points points = {0};
  struct well well = {.mass = NULL};
  if (direct) points = select_bodies(search, 1);
  else well = open_well(search);
#pragma omp parallel for schedule(dynamic, 64)
  for (int32_t i = 0; i < search->count; i++) {
    const double *at = search->body[i].pos;
    if (search->bound[i])
      search->potential[i] = direct ? sum_points(&points, at, search->eps2) : sum_well(&well, at, search->eps2);
  }
  if (direct) memory_free(points.x);
  else close_well(&well);
}

/* Take those that leave now, bound[i] = 2, out of the potentials of the others. */
static void subtract(const struct search *search)
{
  struct points points = select_bodies(search, 2);
#pragma omp parallel for schedule(dynamic, 64)
  for (int32_t i = 0; i < search->count; i++)
    if (search->bound[i] == 1) search->potential[i] -= sum_points(&points, search->body[i].pos, search->eps2);
  memory_free(points.x);
}

static int by_radius(const void *one, const void *other)
{
  const struct far *near = one, *far = other;
  return near->r != far->r ? (near->r > far->r) - (near->r < far->r) : near->body - far->body;
}

/* The bodies by their distance from the centre of the tide. Owner: caller (memory_free). */
static struct far *sort_bodies(const struct bound_body *body, int32_t count, const struct bound_tide *tide)
{
  struct far *far = memory_alloc("bound stars", sizeof *far * (size_t)(count + 1));
  for (int32_t i = 0; i < count; i++) {
    double r2 = 0;
    for (int c = 0; c < 3; c++) r2 += (body[i].pos[c] - tide->centre[c]) * (body[i].pos[c] - tide->centre[c]);
    far[i] = (struct far){sqrt(r2), i};
  }
  qsort(far, (size_t)count, sizeof *far, by_radius);
  return far;
}

double bound_jacobi(const struct bound_shell *shell, int32_t count, double factor, int32_t *within)
{
  int32_t k = count;
  while (k > 0 && shell[k - 1].r * shell[k - 1].r * shell[k - 1].r > factor * shell[k - 1].mass) k--;
  *within = k;
  return k > 0 ? cbrt(factor * shell[k - 1].mass) : 0;
}

/* Mark those beyond the Jacobi radius of the bound mass with 2. Returns their number. */
static int32_t mark_outer(const struct search *search)
{
  struct bound_shell *shell = memory_alloc("bound stars", sizeof *shell * (size_t)(search->count + 1));
  double mass = 0;
  int32_t members = 0, within, leave = 0;
  for (int32_t k = 0; k < search->count; k++) {
    const struct far *far = &search->far[k];
    if (!search->bound[far->body]) continue;
    mass += search->body[far->body].mass;
    shell[members++] = (struct bound_shell){far->r, mass};
  }
  if (bound_jacobi(shell, members, search->tide->factor, &within) < search->tide->reach) leave = members - within;
  for (int32_t k = search->count - 1, left = leave; left > 0; k--) {
    if (!search->bound[search->far[k].body]) continue;
    search->bound[search->far[k].body] = 2;
    left--;
  }
  memory_free(shell);
  return leave;
}

/* Mark those that leave with 2. Returns their number. */
static int32_t mark(const struct search *search, const double motion[3])
{
  int32_t leave = search->far ? mark_outer(search) : 0;
  for (int32_t i = 0; i < search->count; i++) {
    const struct bound_body *one = &search->body[i];
    double v2 = 0;
    if (search->bound[i] != 1) continue;
    for (int c = 0; c < 3; c++) v2 += (one->vel[c] - motion[c]) * (one->vel[c] - motion[c]);
    if (0.5 * v2 < search->gravity * search->potential[i]) continue;
    search->bound[i] = 2;
    leave++;
  }
  return leave;
}

/* The mean velocity of those that remain; returns whether it has changed. */
static int follow(const struct search *search, double motion[3])
{
  double sum[4] = {0};
  int changes = 0;
  for (int32_t i = 0; i < search->count; i++) {
    const struct bound_body *one = &search->body[i];
    if (search->bound[i] != 1) continue;
    sum[3] += one->mass;
    for (int c = 0; c < 3; c++) sum[c] += one->mass * one->vel[c];
  }
  for (int c = 0; c < 3 && sum[3] > 0; c++) {
    changes |= motion[c] != sum[c] / sum[3];
    motion[c] = sum[c] / sum[3];
  }
  return changes;
}

int32_t bound_find(const struct bound_body *body, int32_t count, double gravity, double softening,
                   const struct bound_tide *tide, double motion[3], char *bound)
{
  double *potential = memory_alloc("bound stars", sizeof *potential * (size_t)(count + 1));
  struct far *far = tide && tide->factor > 0 ? sort_bodies(body, count, tide) : NULL;
  const struct search search = {body, count, gravity, softening * softening, bound, potential, tide, far};
  int32_t members = count;
  memset(bound, 1, (size_t)count);
  sum_all(&search, members);
  while (members > 0) {
    int32_t leave = mark(&search, motion);
    members -= leave;
    int moves = follow(&search, motion);
    if (leave == 0 && !moves) break;
    double again = members <= BOUND_DIRECT ? members : WALK;
    if (leave > 0 && leave < again) subtract(&search);
    for (int32_t i = 0; i < count; i++) bound[i] = bound[i] == 1;
    if (leave >= again) sum_all(&search, members);
  }
  memory_free(far);
  memory_free(potential);
  return members;
}
