/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/bench.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <string.h>

enum { WARM_UPS = 2, REPEATS = 5 };

static void drain_device(void *of)
{
  struct sim *s = of;
  s->be->wait(s->dev);
}

/* Seconds of one force. `by_phase`: wait for the device after each phase. A wait costs some microseconds, which matter for few
 * particles. Collective. */
static double one_force(struct sim *s, int potential, int by_phase)
{
  memset(&s->counts, 0, sizeof s->counts);
  s->be->wait(s->dev);
  comm_barrier(s->comm);
  timer_reset(&s->timer);
  s->timer.drain = by_phase ? drain_device : NULL;
  s->timer.drain_argument = s;
  double begun = timer_clock();
  sim_arrange(s, 0);
  sim_force(s, &s->mac, potential);
  s->be->wait(s->dev);
  double seconds = timer_clock() - begun;
  timer_phase(&s->timer, PHASE_other);
  s->timer.drain = NULL;
  comm_max_double(s->comm, &seconds, 1);
  return seconds;
}

static void take_phases(const struct sim *s, double phase[PHASE_COUNT])
{
  memcpy(phase, s->timer.seconds, sizeof s->timer.seconds);
  comm_max_double(s->comm, phase, PHASE_COUNT);
}

void bench_once(struct sim *s, int potential, struct bench_times *t)
{
  t->all = one_force(s, potential, 1);
  take_phases(s, t->phase);
}

static double median(double *x)
{
  gsl_sort(x, 1, REPEATS);
  return gsl_stats_median_from_sorted_data(x, 1, REPEATS);
}

void bench_medians(struct sim *s, struct bench_times *t)
{
  double all[REPEATS], phase[REPEATS][PHASE_COUNT], column[REPEATS];
  for (int k = 0; k < WARM_UPS; k++) one_force(s, 1, 0);
  for (int k = 0; k < REPEATS; k++) all[k] = one_force(s, 1, 0);
  t->all = median(all);
  for (int k = 0; k < REPEATS; k++) {
    one_force(s, 1, 1);
    take_phases(s, phase[k]);
  }
  for (int p = 0; p < PHASE_COUNT; p++) {
    for (int k = 0; k < REPEATS; k++) column[k] = phase[k][p];
    t->phase[p] = median(column);
  }
}
