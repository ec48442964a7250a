/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/reach.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "tree/essential.h"

/* Cuboids of which the pairs to be joined are sought among all: the search takes the square of their number. They are at most RUNS, and half
 * as many as all where these are more than 2 RUNS_MIN. */
enum { RUNS = 96, RUNS_MIN = 32 };

/* --- cuboids at rest --------------------------------------------------------------------------------------------- */

struct cuboid cuboid_of(const struct let_box *b, const struct let_request *r)
{
  struct cuboid a;
  double deviation = essential_deviation(b->a_spread, r->a_typical, r->horizon);
  for (int c = 0; c < 3; c++) {
    double displacement = b->v[c] * r->horizon;
    a.low[c] = b->low[c] + fmin(displacement, 0) - deviation;
    a.high[c] = b->high[c] + fmax(displacement, 0) + deviation;
  }
  return a;
}

/* As fmin and fmax, which are calls; bounds are numbers. */
static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }

static inline struct cuboid around(const struct cuboid *a, const struct cuboid *b)
{
  struct cuboid u;
  for (int c = 0; c < 3; c++) u.low[c] = smaller(a->low[c], b->low[c]), u.high[c] = larger(a->high[c], b->high[c]);
  return u;
}

/* Distance of two cuboids, the square of it. */
static double apart2(const struct cuboid *a, const struct cuboid *b)
{
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double gap = fmax(fmax(b->low[c] - a->high[c], a->low[c] - b->high[c]), 0);
    r2 += gap * gap;
  }
  return r2;
}

/* Volume of the points that are within `margin` of a cuboid, along the axes. */
static double volume(const struct cuboid *a, double margin)
{
  double v = 1;
  for (int c = 0; c < 3; c++) v *= a->high[c] - a->low[c] + 2 * margin;
  return v;
}

/* --- reach ------------------------------------------------------------------------------------------------------- */

/* Cuboids that are being joined: the volume that joining two of them adds, and the best partner of each. */
struct joining {
  struct cuboid *at;
  double *volume, (*added)[RUNS];
  int *partner, count;
  double margin;
};

static void find_partner(struct joining *j, int k)
{
  const double *added = j->added[k];
  int best = k == 0 && j->count > 1;
  for (int i = best + 1; i < j->count; i++)
    if (added[i] < added[best] && i != k) best = i;
  j->partner[k] = best;
}

/* Measure a cuboid, alone and with those before `end`. */
static void measure(struct joining *j, int k, int end)
{
  j->volume[k] = volume(&j->at[k], j->margin);
  for (int i = 0; i < end; i++) {
    struct cuboid both = around(&j->at[i], &j->at[k]);
    j->added[k][i] = j->added[i][k] = i == k ? HUGE_VAL : volume(&both, j->margin) - j->volume[i] - j->volume[k];
  }
}

/* Join two cuboids, those whose union adds the smallest volume. The last one takes the place that becomes free. */
static void join_two(struct joining *j)
{
  int a = 0;
  for (int k = 1; k < j->count; k++)
    if (j->added[k][j->partner[k]] < j->added[a][j->partner[a]]) a = k;
  int b = j->partner[a], last = j->count - 1;
  if (b < a) {
    b = a;
    a = j->partner[a];
  }
  j->at[a] = around(&j->at[a], &j->at[b]);
  j->at[b] = j->at[last], j->volume[b] = j->volume[last], j->partner[b] = j->partner[last];
  for (int i = 0; i <= last; i++) j->added[b][i] = j->added[i][b] = j->added[i][last];
  j->added[b][b] = HUGE_VAL;
  j->count = last;
  measure(j, a, last);
  for (int k = 0; k < last; k++) {
    int was = j->partner[k];
    if (k == a || was == a || was == b || was >= last) find_partner(j, k);
  }
}

/* Join cuboids until at most `most` are left; returns their number. At most RUNS. Margin: half the distance from which cuboids are apart. */
static int join(struct cuboid *at, int count, int most, double margin)
{
  if (count <= most) return count;
  struct joining j = {.at = at, .count = count, .margin = margin};
  j.volume = memory_alloc("let", sizeof *j.volume * (size_t)count);
  j.added = memory_alloc("let", sizeof *j.added * (size_t)count);
  j.partner = memory_alloc("let", sizeof *j.partner * (size_t)count);
  for (int k = 0; k < count; k++) measure(&j, k, k + 1);
  for (int k = 0; k < count; k++) find_partner(&j, k);
  while (j.count > most) join_two(&j);
  memory_free(j.partner);
  memory_free(j.added);
  memory_free(j.volume);
  return j.count;
}

/* Join runs of cuboids of equal lengths, neighbours along the curve; returns their number. */
static int join_runs(struct cuboid *at, int count)
{
  int runs = count / 2 > RUNS ? RUNS : count / 2 < RUNS_MIN ? RUNS_MIN : count / 2;
  if (count <= runs) return count;
  for (int k = 0; k < runs; k++) {
    int first = (int)((int64_t)count * k / runs), end = (int)((int64_t)count * (k + 1) / runs);
    struct cuboid all = at[first];
    for (int i = first + 1; i < end; i++) all = around(&all, &at[i]);
    at[k] = all;
  }
  return runs;
}

static double reach_at(const struct let_reach *r, int c, int step) { return r->low[c] + (r->high[c] - r->low[c]) / REACH_STEPS * step; }

struct cuboid reach_part(const struct let_reach *r, int k)
{
  struct cuboid a;
  for (int c = 0; c < 3; c++) a.low[c] = reach_at(r, c, r->part_low[k][c]), a.high[c] = reach_at(r, c, r->part_high[k][c]);
  return a;
}

/* Round a part outwards to steps. The range of steps is that of all, so the ends are exact up to rounding. */
static void put_part(struct let_reach *r, int k, const struct cuboid *a)
{
  for (int c = 0; c < 3; c++) {
    double step = (r->high[c] - r->low[c]) / REACH_STEPS;
    int low = step > 0 ? (int)fmin((a->low[c] - r->low[c]) / step, REACH_STEPS) : 0;
    int high = step > 0 ? (int)fmin((a->high[c] - r->low[c]) / step + 1, REACH_STEPS) : REACH_STEPS;
    while (low > 0 && reach_at(r, c, low) > a->low[c]) low--;
    while (high < REACH_STEPS && reach_at(r, c, high) < a->high[c]) high++;
    r->part_low[k][c] = (uint16_t)low;
    r->part_high[k][c] = (uint16_t)high;
  }
}

void reach_make(struct let_reach *r, const struct let_box *boxes, int count, const struct let_request *q)
{
  memset(r, 0, sizeof *r);
  if (count == 0) return;
  struct cuboid *at = memory_alloc("let", sizeof *at * (size_t)count), all;
  for (int b = 0; b < count; b++) at[b] = cuboid_of(&boxes[b], q), all = b > 0 ? around(&all, &at[b]) : at[b];
  for (int c = 0; c < 3; c++) {
    double rounding = 1e-12 * (fabs(all.low[c]) + fabs(all.high[c]));
    r->low[c] = all.low[c] - rounding, r->high[c] = all.high[c] + rounding;
  }
  count = join_runs(at, count);
  r->parts = join(at, count, REACH_PARTS, 0.5 * q->cutoff);
  for (int k = 0; k < r->parts; k++) put_part(r, k, &at[k]);
  memory_free(at);
}

int reaches(const struct let_reach *r, const struct cuboid *a, double cutoff)
{
  struct cuboid all;
  memcpy(all.low, r->low, sizeof all.low);
  memcpy(all.high, r->high, sizeof all.high);
  int near = r->parts > 0 && apart2(&all, a) <= cutoff * cutoff;
  for (int k = 0; k < r->parts && near; k++) {
    struct cuboid part = reach_part(r, k);
    if (apart2(&part, a) <= cutoff * cutoff) return 1;
  }
  return 0;
}
