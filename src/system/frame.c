/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "system/frame.h"

#include <math.h>
#include <string.h>

enum { GRID_BITS = 24 };

/* sum[0..2]: sum of m (x - from); sum[3]: sum of m |x - from|^2; sum[4]: sum of m; over all ranks. Collective. */
static void add_up(const struct comm *c, const struct particles *p, const double *x, const double from[3], double sum[5])
{
  memset(sum, 0, 5 * sizeof *sum);
  for (int64_t i = 0; i < p->n; i++) {
    double m = p->mass[i];
    for (int k = 0; k < 3; k++) {
      double d = x[3 * i + k] - from[k];
      sum[k] += m * d;
      sum[3] += m * d * d;
    }
    sum[4] += m;
  }
  comm_sum_double(c, sum, 5);
}

/* The multiple of `grid` nearest to a + b, without the rounding error of the sum; grid 0: a + b. */
static double nearest(double a, double b, double grid)
{
  if (!(grid > 0)) return a + b;
  double near = grid * nearbyint(a / grid);
  return near + grid * nearbyint((a - near + b) / grid);
}

/* The shift of one vector of all particles (pos or vel). The second pass about the mean of the first one has no rounding errors of a large
 * mean. Collective. */
static void choose(const struct comm *c, const struct particles *p, const double *x, double shift[3])
{
  static const double origin[3] = {0, 0, 0};
  double sum[5], mean[3], grid = 0;
  memset(shift, 0, 3 * sizeof *shift);
  add_up(c, p, x, origin, sum);
  if (!(sum[4] > 0)) return;
  for (int k = 0; k < 3; k++) mean[k] = sum[k] / sum[4];
  add_up(c, p, x, mean, sum);
  double rms = sqrt(sum[3] / sum[4]);
  if (!isfinite(rms)) return;
  if (rms > 0) grid = ldexp(1, ilogb(rms) - GRID_BITS);
  for (int k = 0; k < 3; k++) shift[k] = nearest(mean[k], sum[k] / sum[4], grid);
}

static void subtract(double *x, int64_t n, const double shift[3])
{
  if (shift[0] == 0 && shift[1] == 0 && shift[2] == 0) return;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) x[3 * i + k] -= shift[k];
}

void frame_choose(struct frame *f, const struct comm *c, struct particles *p, double begin)
{
  memset(f, 0, sizeof *f);
  f->begin = begin;
  choose(c, p, p->pos, f->x0);
  choose(c, p, p->vel, f->v0);
  subtract(p->pos, p->n, f->x0);
  subtract(p->vel, p->n, f->v0);
}

void frame_shift(const struct frame *f, double time, double place[3], double motion[3])
{
  for (int k = 0; k < 3; k++) {
    place[k] = f->x0[k] + f->v0[k] * (time - f->begin);
    motion[k] = f->v0[k];
  }
}
