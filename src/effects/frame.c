/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "effects/frame.h"

#include <math.h>
#include <string.h>

#include "step/sim.h"

enum { GRID_BITS = 24 };

/* sum[0..2]: sum of m (x - from); sum[3]: sum of m |x - from|^2; sum[4]: sum of m; over all ranks. Collective. */
static void add_up(const struct comm *comm, const struct particles *particles, const double *x, const double from[3],
                   double sum[5])
{
  memset(sum, 0, 5 * sizeof *sum);
  for (int64_t i = 0; i < particles->n; i++) {
    double m = particles->mass[i];
    for (int k = 0; k < 3; k++) {
      double d = x[3 * i + k] - from[k];
      sum[k] += m * d;
      sum[3] += m * d * d;
    }
    sum[4] += m;
  }
  comm_sum_double(comm, sum, 5);
}

/* The multiple of `grid` nearest to a + b, without the rounding error of the sum; grid 0: a + b. */
static double nearest(double a, double b, double grid)
{
  if (!(grid > 0)) return a + b;
  double near = grid * nearbyint(a / grid);
  return near + grid * nearbyint((a - near + b) / grid);
}

/* The shift of one vector of all particles (pos or vel). The second pass about the mean of the first one has no
 * rounding errors of a large mean. Collective. */
static void choose(const struct comm *comm, const struct particles *particles, const double *x, double shift[3])
{
  static const double origin[3] = {0, 0, 0};
  double sum[5], mean[3], grid = 0;
  memset(shift, 0, 3 * sizeof *shift);
  add_up(comm, particles, x, origin, sum);
  if (!(sum[4] > 0)) return;
  for (int k = 0; k < 3; k++) mean[k] = sum[k] / sum[4];
  add_up(comm, particles, x, mean, sum);
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

void frame_choose(struct frame *frame, const struct comm *comm, struct particles *particles, double begin)
{
  memset(frame, 0, sizeof *frame);
  frame->begin = begin;
  choose(comm, particles, particles->pos, frame->x0);
  choose(comm, particles, particles->vel, frame->v0);
  subtract(particles->pos, particles->n, frame->x0);
  subtract(particles->vel, particles->n, frame->v0);
}

void frame_shift(const struct frame *frame, double time, double place[3], double motion[3])
{
  for (int k = 0; k < 3; k++) {
    place[k] = frame->x0[k] + frame->v0[k] * (time - frame->begin);
    motion[k] = frame->v0[k];
  }
}

/* --- hooks ------------------------------------------------------------------------------------------------------- */

static void enter(const struct comm *comm, const struct params *params, struct effects_entry *entry,
                  struct particles *particles)
{
  struct frame frame;
  (void)params;
  if (entry->traits & EFFECT_AT_PLACES) return;
  frame_choose(&frame, comm, particles, entry->begin);
  memcpy(entry->x0, frame.x0, sizeof entry->x0);
  memcpy(entry->v0, frame.v0, sizeof entry->v0);
}

static void begin(void *state, const struct sim *sim, const struct effects_entry *entry)
{
  struct frame *frame = state;
  memcpy(frame->x0, entry->x0, sizeof frame->x0);
  memcpy(frame->v0, entry->v0, sizeof frame->v0);
  frame->begin = effects_clock(sim);
}

static void shift(const void *state, const struct sim *sim, double place[3], double motion[3])
{
  double x[3], v[3];
  frame_shift(state, effects_clock(sim), x, v);
  for (int c = 0; c < 3; c++) place[c] += x[c];
  for (int c = 0; c < 3; c++) motion[c] += v[c];
}

static int numbers(void *state, struct sim *sim, struct effect_numbers *numbers)
{
  struct frame *frame = state;
  numbers[0] = (struct effect_numbers){"frame.x0", 3, frame->x0};
  numbers[1] = (struct effect_numbers){"frame.v0", 3, frame->v0};
  numbers[2] = (struct effect_numbers){"frame.v_com", 3, sim->effects.v_com};
  numbers[3] = (struct effect_numbers){"frame.begin", 1, &frame->begin};
  return 4;
}

const struct effect effect_frame = {
    .name = "frame", .size = sizeof(struct frame), .enter = enter, .begin = begin, .shift = shift, .numbers = numbers};
