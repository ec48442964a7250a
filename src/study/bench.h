/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of one complete force computation, from unsorted positions to accelerations and potentials. */
#ifndef BENCH_H
#define BENCH_H
#include "step/sim.h"

struct bench_times {
  double phase[PHASE_COUNT]; /* seconds of the slowest rank, with a wait for the device after each phase */
  double all;                /* seconds of the whole, without these waits */
};

/* Compute the forces once by the criterion of the system, with potentials or without; sim->counts has their counts.
 * Collective. */
void bench_once(struct sim *sim, int potential, struct bench_times *times);
/* Compute the forces twice as warm-up, then take medians of five repeats. Collective. */
void bench_medians(struct sim *sim, struct bench_times *times);
#endif
