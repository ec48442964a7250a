/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of a device from what soft steps took: seconds of few particles are fixed costs, those of many the rates.
 * Pure. */
#ifndef MACHINE_FIT_H
#define MACHINE_FIT_H
#include "forecast/machine.h"
#include "forecast/machine_bench.h"

/* Numbers of particles of a rank. */
enum bench_size { BENCH_FEW, BENCH_SOME, BENCH_MANY, BENCH_SIZES };

struct machine_runs {
  /* one rank, the others wait; BENCH_SOME: full forces alone, 0 particles: not measured */
  struct bench_step alone[BENCH_SIZES][STUDY_SCHEMES];
  struct bench_step beside[BENCH_SIZES][STUDY_SCHEMES]; /* all ranks of a run, as many particles on each */
  /* a hybrid of BENCH_MANY, alone, with half the R1: shorter lists */
  struct bench_step near;
  /* block steps of BENCH_MANY, each rank by itself at the same time */
  struct bench_step together;
  double node_factor;
};

/* Set all of [Device] but Kind and MessageCopy, so that the model gives the seconds of these soft steps. */
void machine_fit(struct machine *machine, const struct machine_runs *runs);
/* Bytes a second of a message of so many seconds, whose latency is part of them: at least a tenth of them are for the
 * bytes, since on a busy machine a short message may have taken longer. Pure. */
double machine_bytes_rate(double bytes, double seconds, double latency);
#endif
