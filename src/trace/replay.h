/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of every rank of a trace on a network (trace/clock.h), with its phases and the critical path. Pure. */
#ifndef TRACE_REPLAY_H
#define TRACE_REPLAY_H
#include "trace/events.h"
#include "trace/network.h"

/* Seconds of a phase. */
struct replay_phase {
  double work, wait;                       /* of a rank, mean; work: with overheads */
  double critical_work, critical_transfer; /* on the critical path, which ends with the last rank */
};

struct replay {
  double seconds;             /* until the last rank has ended */
  double work_mean, work_max; /* of a rank, without overheads */
  double wait_mean, wait_max;
  int64_t messages, bytes, collectives;
  struct replay_phase phase[PHASE_COUNT];
};

/* Replay a trace on a network that is placed.
 * `end`: [ranks] seconds at which each rank ends, or NULL. 0; -1 with a fault where events do not match
 * (events_match) or ranks wait for each other. */
int replay(const struct events *events, const struct network *network, struct replay *result, double *end,
           struct fault *fault);
#endif
