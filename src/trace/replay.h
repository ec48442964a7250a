/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of every rank of a trace on a network, without a global clock: t_r(k) = max(t_r(k - 1) + work, arrivals). Pure.
 *
 * A message leaves when its sender has sent it and the sender's link is free, and arrives after the latency and its bytes over the
 * bandwidth, when the receiver's link is free. Senders do not wait. A collective begins with the last of its ranks, and takes
 * ceil(log2 P) messages one after the other (allreduce, broadcast, exscan: with all bytes; allgather: with P - 1 contributions in all;
 * alltoall: P / 2 contributions each, or P - 1 messages if that is faster). */
#ifndef TRACE_REPLAY_H
#define TRACE_REPLAY_H
#include "trace/events.h"

struct network {
  double latency;       /* seconds */
  double overhead;      /* processor seconds of a rank for each message that it sends or receives */
  double bandwidth;     /* bytes per second into and out of a rank; 0: unlimited */
  double speed;         /* work takes its seconds divided by this; 0: 1 */
  double (*between)(const void *of, int from, int to);   /* latency between two ranks; NULL: `latency`, which collectives always have */
  const void *of;
};

/* Seconds of a phase. */
struct replay_phase {
  double work, wait;             /* of a rank, mean; work: with overheads */
  double critical_work, critical_transfer;   /* on the critical path, which ends with the last rank */
};

struct replay {
  double seconds;                /* until the last rank has ended */
  double work_mean, work_max;    /* of a rank, without overheads */
  double wait_mean, wait_max;
  int64_t messages, bytes, collectives;
  struct replay_phase phase[PHASE_COUNT];
};

/* Replay a trace. `end`: [ranks] seconds at which each rank ends, or NULL. 0; -1 with a fault where events do not match (events_match) or
 * ranks wait for each other. */
int replay(const struct events *t, const struct network *n, struct replay *result, double *end, struct fault *f);
/* Seconds of a collective of `ranks` ranks from its last rank on; bytes as in struct event. */
double replay_collective(const struct network *n, enum event_kind kind, int ranks, double bytes);
#endif
