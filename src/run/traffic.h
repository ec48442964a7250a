/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages between ranks and the time spent waiting for them: the ledgers of all ranks by soft step in comm.csv, and
 * their sum over the run. */
#ifndef TRAFFIC_H
#define TRAFFIC_H
#include <stdio.h>

#include "mpi/comm.h"
#include "params/params.h"

#define TRAFFIC_TABLE "comm.csv"

struct traffic {
  FILE *out;             /* comm.csv on rank 0; NULL: no table. Owner: the caller */
  int table, pairs;      /* whether rows are written; whether also for pairs of ranks. The same on all ranks */
  struct ledger_sum sum; /* of this rank, over all phases so far; peers_sent is not used */
  /* of this rank: clock at the begin of the present soft step, 0: before the first one; seconds of the soft steps so
   * far, and of these the useful ones (trace/efficiency.h) */
  double since, seconds, useful;
};

/* Write the column names. */
void traffic_header(FILE *out);
/* Write rows about all messages since the last call, and reset the ledgers. `time`: code time units. Collective. */
void traffic_step(struct traffic *traffic, const struct comm *comm, long long step, double time);
/* With CommTrace = on begin to record the communication events of all ranks in OutputDir/trace_STEP (mpi/recorder.h);
 * STEP: soft steps made so far. Collective. 0, or -1 with the fault on all ranks. */
int traffic_record(const struct comm *comm, const struct params *par, long long step, struct fault *fault);
/* Print the sums of the run; nothing on a single rank. Collective; rank 0 prints. */
void traffic_sum_up(const struct traffic *traffic, const struct comm *comm);
#endif
