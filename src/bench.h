/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long one whole force takes: from unsorted positions to accelerations and potentials. */
#ifndef BENCH_H
#define BENCH_H
#include "sim.h"

struct bench_times {
  double phase[PHASE_COUNT];   /* seconds of the slowest rank; every phase is waited for */
  double all;                  /* seconds of the whole, with no more waiting than in a run */
};

/* One force by the system's criterion, whose counts are in s->counts then. Collective. */
void bench_once(struct sim *s, struct bench_times *t);
/* Two warm-ups, then medians of five. Collective. */
void bench_medians(struct sim *s, struct bench_times *t);
#endif
