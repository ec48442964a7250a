/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/let/reach.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "tree/essential.h"

/* Cuboids of which the pairs to be joined are sought among all: the search takes the square of their number. They are
 * at most RUNS, and half as many as all where these are more than 2 RUNS_MIN. */
enum { RUNS = 96, RUNS_MIN = 32 };

/* --- cuboids at rest --------------------------------------------------------------------------------------------- */

struct cuboid cuboid_of(const struct let_box *box, const struct let_request *request)
{
  struct cuboid a;
  double deviation = essential_deviation(box->a_spread, request->a_typical, request->horizon);
  for (int c = 0; c < 3; c++) {
    double displacement = box->v[c] * request->horizon;
    a.low[c] = box->low[c] + fmin(displacement, 0) - deviation;
    a.high[c] = box->high[c] + fmax(displacement, 0) + deviation;
  }
  return a;
}

/* As fmin and fmax, which are calls; bounds are numbers. */
static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }

static inline struct cuboid around(const struct cuboid *a, const struct cuboid *b)
{
  struct cuboid u;
  for (int c = 0; c < 3; c++) {
    u.low[c] = smaller(a->low[c], b->low[c]);
    u.high[c] = larger(a->high[c], b->high[c]);
  }
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
static double volume(const struct cuboid *cuboid, double margin)
{
  double v = 1;
  for (int c = 0; c < 3; c++) v *= cuboid->high[c] - cuboid->low[c] + 2 * margin;
  return v;
}

/* --- reach ------------------------------------------------------------------------------------------------------- */

/* Cuboids that are being joined: the volume that joining two of them adds, and the best partner of each. */
struct cuboid_joins {
  struct cuboid *at;
  double *volume, (*added)[RUNS];
  int *partner, count;
  double margin;
};

static void find_partner(struct cuboid_joins *joining, int k)
{
  const double *added = joining->added[k];
  int best = k == 0 && joining->count > 1;
  for (int i = best + 1; i < joining->count; i++)
    if (added[i] < added[best] && i != k) best = i;
  joining->partner[k] = best;
}

/* Measure a cuboid, alone and with those before `end`. */
static void measure(struct cuboid_joins *joining, int k, int end)
{
  joining->volume[k] = volume(&joining->at[k], joining->margin);
  for (int i = 0; i < end; i++) {
    struct cuboid both = around(&joining->at[i], &joining->at[k]);
    joining->added[k][i] = joining->added[i][k] =
        i == k ? HUGE_VAL : volume(&both, joining->margin) - joining->volume[i] - joining->volume[k];
  }
}

/* Join two cuboids, those whose union adds the smallest volume. The last one takes the place that becomes free. */
static void join_two(struct cuboid_joins *joining)
{
  int a = 0;
  for (int k = 1; k < joining->count; k++)
    if (joining->added[k][joining->partner[k]] < joining->added[a][joining->partner[a]]) a = k;
  int b = joining->partner[a], last = joining->count - 1;
  if (b < a) {
    b = a;
    a = joining->partner[a];
  }
  joining->at[a] = around(&joining->at[a], &joining->at[b]);
  joining->at[b] = joining->at[last];
  joining->volume[b] = joining->volume[last];
  joining->partner[b] = joining->partner[last];
  for (int i = 0; i <= last; i++) joining->added[b][i] = joining->added[i][b] = joining->added[i][last];
  joining->added[b][b] = HUGE_VAL;
  joining->count = last;
  measure(joining, a, last);
  for (int k = 0; k < last; k++) {
    int was = joining->partner[k];
    if (k == a || was == a || was == b || was >= last) find_partner(joining, k);
  }
}

/* Join cuboids until at most `most` are left; returns their number. At most RUNS. Margin: half the distance from which
 * cuboids are apart. */
static int join(struct cuboid *at, int count, int most, double margin)
{
  if (count <= most) return count;
  struct cuboid_joins j = {.at = at, .count = count, .margin = margin};
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

static double reach_at(const struct let_reach *reach, int c, int step)
{
  return reach->low[c] + (reach->high[c] - reach->low[c]) / REACH_STEPS * step;
}

struct cuboid reach_part(const struct let_reach *reach, int k)
{
  struct cuboid a;
  for (int c = 0; c < 3; c++) {
    a.low[c] = reach_at(reach, c, reach->part_low[k][c]);
    a.high[c] = reach_at(reach, c, reach->part_high[k][c]);
  }
  return a;
}

/* Round a part outwards to steps. The range of steps is that of all, so the ends are exact up to rounding. */
static void put_part(struct let_reach *reach, int k, const struct cuboid *cuboid)
{
  for (int c = 0; c < 3; c++) {
    double step = (reach->high[c] - reach->low[c]) / REACH_STEPS;
    int low = step > 0 ? (int)fmin((cuboid->low[c] - reach->low[c]) / step, REACH_STEPS) : 0;
    int high = step > 0 ? (int)fmin((cuboid->high[c] - reach->low[c]) / step + 1, REACH_STEPS) : REACH_STEPS;
    while (low > 0 && reach_at(reach, c, low) > cuboid->low[c]) low--;
    while (high < REACH_STEPS && reach_at(reach, c, high) < cuboid->high[c]) high++;
    reach->part_low[k][c] = (uint16_t)low;
    reach->part_high[k][c] = (uint16_t)high;
  }
}

void reach_make(struct let_reach *reach, const struct let_box *boxes, int count, const struct let_request *request)
{
  memset(reach, 0, sizeof *reach);
  if (count == 0) return;
  struct cuboid *at = memory_alloc("let", sizeof *at * (size_t)count), all;
  for (int b = 0; b < count; b++) {
    at[b] = cuboid_of(&boxes[b], request);
    all = b > 0 ? around(&all, &at[b]) : at[b];
  }
  for (int c = 0; c < 3; c++) {
    double rounding = 1e-12 * (fabs(all.low[c]) + fabs(all.high[c]));
    reach->low[c] = all.low[c] - rounding;
    reach->high[c] = all.high[c] + rounding;
  }
  count = join_runs(at, count);
  reach->parts = join(at, count, REACH_PARTS, 0.5 * request->cutoff);
  for (int k = 0; k < reach->parts; k++) put_part(reach, k, &at[k]);
  memory_free(at);
}

int reaches(const struct let_reach *reach, const struct cuboid *cuboid, double cutoff)
{
  struct cuboid all;
  memcpy(all.low, reach->low, sizeof all.low);
  memcpy(all.high, reach->high, sizeof all.high);
  int near = reach->parts > 0 && apart2(&all, cuboid) <= cutoff * cutoff;
  for (int k = 0; k < reach->parts && near; k++) {
    struct cuboid part = reach_part(reach, k);
    if (apart2(&part, cuboid) <= cutoff * cutoff) return 1;
  }
  return 0;
}
