/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/bench.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <string.h>

enum { WARM_UPS = 2, REPEATS = 5 };

static void drain_device(void *of)
{
  struct sim *sim = of;
  sim->be->clock.wait(sim->dev);
}

/* Seconds of one force. `by_phase`: wait for the device after each phase. A wait costs some microseconds, which matter
 * for few particles. Collective. */
static double one_force(struct sim *sim, int potential, int by_phase)
{
  memset(&sim->counts, 0, sizeof sim->counts);
  sim->be->clock.wait(sim->dev);
  comm_barrier(sim->comm);
  timer_reset(&sim->timer);
  sim->timer.drain = by_phase ? drain_device : NULL;
  sim->timer.drain_argument = sim;
  double begun = timer_clock();
  sim_arrange(sim, 0);
  sim_force(sim, &sim->force.mac, potential);
  sim->be->clock.wait(sim->dev);
  double seconds = timer_clock() - begun;
  timer_phase(&sim->timer, PHASE_other);
  sim->timer.drain = NULL;
  comm_max_double(sim->comm, &seconds, 1);
  return seconds;
}

static void take_phases(const struct sim *sim, double phase[PHASE_COUNT])
{
  memcpy(phase, sim->timer.seconds, sizeof sim->timer.seconds);
  comm_max_double(sim->comm, phase, PHASE_COUNT);
}

void bench_once(struct sim *sim, int potential, struct bench_times *times)
{
  times->all = one_force(sim, potential, 1);
  take_phases(sim, times->phase);
}

static double median(double *x)
{
  gsl_sort(x, 1, REPEATS);
  return gsl_stats_median_from_sorted_data(x, 1, REPEATS);
}

void bench_medians(struct sim *sim, struct bench_times *times)
{
  double all[REPEATS], phase[REPEATS][PHASE_COUNT], column[REPEATS];
  for (int k = 0; k < WARM_UPS; k++) one_force(sim, 1, 0);
  for (int k = 0; k < REPEATS; k++) all[k] = one_force(sim, 1, 0);
  times->all = median(all);
  for (int k = 0; k < REPEATS; k++) {
    one_force(sim, 1, 1);
    take_phases(sim, phase[k]);
  }
  for (int p = 0; p < PHASE_COUNT; p++) {
    for (int k = 0; k < REPEATS; k++) column[k] = phase[k][p];
    times->phase[p] = median(column);
  }
}
