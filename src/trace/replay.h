/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of every rank of a trace on a network, without a global clock: t_r(k) = max(t_r(k - 1) + work, arrivals).
 * Pure.
 *
 * A message leaves when its sender has sent it and one of the sender's ports is free, and arrives after the latency and
 * its bytes over the bandwidth, when one of the receiver's ports is free. Where a network has ways, each link of a way
 * passes one message after the other, and the first bytes go on to the next link before the last ones have come.
 * Senders do not wait. A collective begins with the last of its ranks, and takes ceil(log2 P) messages one after the
 * other (allreduce, broadcast, exscan: with all bytes; allgather: with P - 1 contributions in all; alltoall: P / 2
 * contributions each, or P - 1 messages if that is faster). */
#ifndef TRACE_REPLAY_H
#define TRACE_REPLAY_H
#include "trace/events.h"

enum { NETWORK_PORTS = 6 }; /* at most, of a rank */

struct network {
  double latency;   /* seconds */
  double overhead;  /* processor seconds of a rank for each message that it sends or receives */
  double bandwidth; /* bytes per second of a port and of a link; 0: unlimited */
  double speed;     /* work takes its seconds divided by this; 0: 1 */
  /* latency between two ranks; NULL: `latency`, which collectives always have */
  double (*between)(const void *of, int from, int to);
  /* The links from one rank to another, in order, below `links`, at most `longest`; returns how many. NULL: only the
   * ports count. */
  int (*way)(const void *of, int from, int to, int *link);
  const void *of;
  int links, longest;
  int ports; /* messages that a rank sends at once, and as many that it receives; 0: 1 */
};

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

/* Replay a trace. `end`: [ranks] seconds at which each rank ends, or NULL. 0; -1 with a fault where events do not match
 * (events_match) or ranks wait for each other. */
int replay(const struct events *events, const struct network *network, struct replay *result, double *end,
           struct fault *fault);
/* Seconds of a collective of `ranks` ranks from its last rank on; bytes as in struct event. */
double replay_collective(const struct network *network, enum event_kind kind, int ranks, double bytes);
#endif
