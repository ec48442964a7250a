/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct sums in double precision, the reference for all forces; and distances of nearest neighbours. */
#include <config.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cpu/device.h"

#define PAIR_REAL double
#define PAIR_SUFFIX _d
#define PAIR_INVERSE_ROOT(x) (1 / sqrt(x))
#include "gravity/pair.h"

/* Sum over all local particles at one point. */
static void direct_one(const struct device *d, const double at[3], uint64_t skip, int class_, const struct split *split,
                       double *acc, double *hard, double *pot)
{
  const struct particles *p = &d->p;
  double g = d->config.gravity;
  const struct softening *e = &d->softening;
  const struct pair_target_d target = {at[0], at[1], at[2], e->eps[class_] * e->eps[class_]};
  double a[3] = {0}, h[3] = {0}, phi = 0;
  for (int64_t j = 0; j < p->n; j++) {
    if (p->id[j] == skip || !(p->mass[j] > 0)) continue;
    const struct pair_source_d source = {p->pos[3 * j], p->pos[3 * j + 1], p->pos[3 * j + 2], p->mass[j]};
    const double eps = e->eps[e->class_of[p->type[j]]];
    const struct pair_d pair = pair_between_unlike_d(source, eps * eps, target);
    double r2 = pair_r2_d(pair);
    if (!(pair_rho2_of_d(pair, r2) > 0)) continue; /* without softening, coincident particles */
    const struct pair_point_d f = pair_point_d(pair, pair_rho2_of_d(pair, r2));
    phi -= f.psi;
    a[0] += f.w * pair.x;
    a[1] += f.w * pair.y;
    a[2] += f.w * pair.z;
    if (!split) continue;
    double k = split_hard(split, (float)sqrt(r2)), w = k * f.w;
    h[0] += w * pair.x;
    h[1] += w * pair.y;
    h[2] += w * pair.z;
  }
  for (int c = 0; c < 3; c++) {
    acc[c] += g * a[c];
    if (split) hard[c] += g * h[c];
  }
  *pot += g * phi;
}

void cpu_direct(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, const uint8_t *type,
                const struct split *split, double (*acc)[3], double (*hard)[3], double *pot)
{
#pragma omp parallel for schedule(dynamic, 4)
  for (int64_t i = 0; i < n; i++)
    direct_one(d, at[i], skip[i], type ? d->softening.class_of[type[i]] : 0, split, acc[i], split ? hard[i] : NULL,
               &pot[i]);
}

/* --- neighbours -------------------------------------------------------------------------------------------------- */

/* The k smallest distances so far, ascending. */
static void insert(double *nearest, int k, double r)
{
  if (r >= nearest[k - 1]) return;
  int at = k - 1;
  for (; at > 0 && nearest[at - 1] > r; at--) nearest[at] = nearest[at - 1];
  nearest[at] = r;
}

static double node_distance(const struct device *d, int32_t i, const double at[3])
{
  const struct node *n = &d->tree.node[i];
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double x = lattice_position(&d->lattice, c, n->x[c]) - at[c];
    r2 += x * x;
  }
  return sqrt(r2) - n->b - 2 * d->lattice.spacing;
}

static void search(const struct device *d, int32_t i, const double at[3], uint64_t skip, int k, double *nearest)
{
  const struct node *n = &d->tree.node[i];
  const struct particles *p = &d->p;
  int32_t end = n->first + (int32_t)(n->info & NODE_COUNT);
  if (n->info & NODE_LEAF) {
    for (int32_t j = n->first; j < end; j++) {
      if (p->id[j] == skip) continue;
      double dx = p->pos[3 * (int64_t)j] - at[0], dy = p->pos[3 * (int64_t)j + 1] - at[1],
             dz = p->pos[3 * (int64_t)j + 2] - at[2];
      insert(nearest, k, sqrt(dx * dx + dy * dy + dz * dz));
    }
    return;
  }
  /* nearest child first, so that more distant ones can be skipped */
  double distance[8];
  int32_t child[8];
  int count = 0;
  for (int32_t c = n->first; c < end; c++) {
    double r = node_distance(d, c, at);
    int place = count++;
    for (; place > 0 && distance[place - 1] > r; place--) {
      distance[place] = distance[place - 1];
      child[place] = child[place - 1];
    }
    distance[place] = r;
    child[place] = c;
  }
  for (int c = 0; c < count && distance[c] < nearest[k - 1]; c++) search(d, child[c], at, skip, k, nearest);
}

void cpu_nearest(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, int k, double *distance)
{
#pragma omp parallel for schedule(dynamic, 4)
  for (int64_t i = 0; i < n; i++) {
    for (int m = 0; m < k; m++) distance[i * k + m] = 1e300;
    if (d->tree.nodes > 0) search(d, 0, at[i], skip[i], k, distance + i * k);
  }
}
