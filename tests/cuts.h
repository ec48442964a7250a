/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of samples, and the plain method to cut them: sort, then scan. */
#ifndef CUTS_H
#define CUTS_H
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "chance.h"
#include "mpi/domain.h"

enum shape { BALL, CUSP, PLANE, LINE, POINT, TWO_POINTS, RASTER, FAR_ONE, SHAPES };
static const char *const shape_names[] = {"a ball",    "a cusp",     "a plane",  "a line",
                                          "one point", "two points", "a raster", "one far away"};
enum burden { ANY, SAME, WHOLE, NONE, SOME_NONE, ONE_HAS_ALL, BURDENS };
static const char *const burden_names[] = {"any weights", "one weight",          "small whole weights",
                                           "no weight",   "some without weight", "one has all weight"};

static inline double some_weight(enum burden burden, int64_t i, struct random *random)
{
  double w = random_between(random, 0.2, 5);
  switch (burden) {
  case ANY: return w;
  case SAME: return 1;
  case WHOLE: return ceil(w);
  case NONE: return 0;
  case SOME_NONE: return w < 2.5 ? 0 : w;
  default: return i == 7 ? 1e9 : 0;
  }
}

static inline void fill(struct weighted *weighted, int64_t n, enum shape shape, enum burden burden,
                        struct random *random)
{
  for (int64_t i = 0; i < n; i++) {
    double length = shape == BALL || shape == RASTER ? cbrt(random_unit(random)) : random_log(random, 1e-8, 1);
    random_direction(random, length, weighted[i].pos);
    if (shape == PLANE) weighted[i].pos[1] = 0.25;
    if (shape == LINE) weighted[i].pos[0] = weighted[i].pos[2] = -3;
    if (shape == POINT || shape == TWO_POINTS)
      weighted[i].pos[0] = weighted[i].pos[1] = weighted[i].pos[2] = shape == TWO_POINTS ? (double)(i % 2) : 0.1;
    /* with zeros of both signs */
    for (int c = 0; c < 3 && shape == RASTER; c++) weighted[i].pos[c] = rint(4 * weighted[i].pos[c]) / 4;
    if (shape == FAR_ONE && i == n / 2) weighted[i].pos[0] = weighted[i].pos[1] = weighted[i].pos[2] = 1e300;
    weighted[i].weight = some_weight(burden, i, random);
  }
}

/* --- the plain method --------------------------------------------------------------------------------------------- */

static int plain_axis;

static int plain_order(const void *a, const void *b)
{
  double x = ((const struct weighted *)a)->pos[plain_axis], y = ((const struct weighted *)b)->pos[plain_axis];
  return (x > y) - (x < y);
}

static double plain_between(const struct weighted *weighted, int64_t count, int64_t at)
{
  if (count == 0) return 0;
  if (at == 0) return weighted[0].pos[plain_axis] + 0.0;
  double low = weighted[at - 1].pos[plain_axis],
         high = at < count ? weighted[at].pos[plain_axis] : nextafter(low, HUGE_VAL), middle = 0.5 * low + 0.5 * high;
  return middle > low ? middle : high;
}

/* Samples with the same coordinate cannot be separated: the end of their run that is nearer to the aim. `below` is the
 * weight before `at`. */
static int64_t plain_end(const struct weighted *weighted, int64_t count, int64_t at, double below, double aim,
                         double each)
{
  int64_t first = at, end = at;
  double before = below, after = below;
  if (at == 0 || at == count || weighted[at - 1].pos[plain_axis] != weighted[at].pos[plain_axis]) return at;
  while (first > 0 && weighted[first - 1].pos[plain_axis] == weighted[at].pos[plain_axis])
    before -= weighted[--first].weight + each;
  while (end < count && weighted[end].pos[plain_axis] == weighted[at].pos[plain_axis])
    after += weighted[end++].weight + each;
  return aim - before <= after - aim ? first : end;
}

static void plain_cut_axis(struct weighted *weighted, int64_t count, int axis, int parts, double *cut, int64_t *begin)
{
  double sum = 0, running = 0;
  int64_t at = 0;
  begin[0] = 0;
  begin[parts] = count;
  if (parts == 1) return;
  plain_axis = axis;
  qsort(weighted, (size_t)count, sizeof *weighted, plain_order);
  for (int64_t i = 0; i < count; i++) sum += weighted[i].weight;
  double each = sum > 0 ? 0 : 1;
  if (each > 0) sum = (double)count;
  for (int p = 1; p < parts; p++) {
    double aim = sum * p / parts;
    while (at < count && running + 0.5 * (weighted[at].weight + each) < aim) running += weighted[at++].weight + each;
    begin[p] = plain_end(weighted, count, at, running, aim, each);
    cut[p - 1] = plain_between(weighted, count, begin[p]);
  }
}

/* The cuts that domain_cut should find; sorts `weighted`. Sums of weights are rounded, so where two cuts share the
 * weight equally well domain_cut may choose the other one, except with whole weights. */
static inline void plain_cut(struct domain *domain, struct weighted *weighted, int64_t count)
{
  int64_t *bx = memory_alloc("test", sizeof *bx * (size_t)(domain->px + domain->py + domain->pz + 3)),
          *by = bx + domain->px + 1, *bz = by + domain->py + 1;
  plain_cut_axis(weighted, count, 0, domain->px, domain->x, bx);
  for (int i = 0; i < domain->px; i++) {
    struct weighted *slab = weighted + bx[i];
    plain_cut_axis(slab, bx[i + 1] - bx[i], 1, domain->py, domain->y + i * (domain->py - 1), by);
    for (int j = 0; j < domain->py; j++)
      plain_cut_axis(slab + by[j], by[j + 1] - by[j], 2, domain->pz,
                     domain->z + (i * domain->py + j) * (domain->pz - 1), bz);
  }
  memory_free(bx);
}

/* Whether two sets of cuts are the same, bit by bit. */
static inline int same_cuts(const struct domain *a, const struct domain *b)
{
  return memcmp(a->x, b->x, sizeof *a->x * ((size_t)a->px * (size_t)a->py * (size_t)a->pz - 1)) == 0;
}

/* --- time -------------------------------------------------------------------------------------------------------- */

static inline double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Smallest time of a cut in milliseconds, since other processes may use the processor (for measurements, not a
 * test). */
static inline double time_cut(struct domain *domain, const struct comm *comm, const struct weighted *weighted,
                              int64_t n)
{
  double shortest = HUGE_VAL;
  for (int k = 0; k < 40; k++) {
    if (comm) comm_barrier(comm);
    double begun = now();
    domain_cut(domain, comm, weighted, n);
    shortest = fmin(shortest, 1e3 * (now() - begun));
  }
  return shortest;
}
#endif
