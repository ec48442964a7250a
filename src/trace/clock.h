/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clock of each rank on a network, without a global one: t_r(k) = max(t_r(k - 1) + work, arrivals). Local.
 *
 * A message leaves when its sender has sent it and one of the sender's ports is free, and arrives after the latency and
 * its bytes over the bandwidth. Senders do not wait. A collective begins with the last of its ranks. */
#ifndef TRACE_CLOCK_H
#define TRACE_CLOCK_H
#include "trace/network.h"

struct clocks {
  const struct network *network;
  int ranks, ports, followed;
  double *now;      /* [ranks] */
  double *out, *in; /* [ranks * ports] the ports are free */
  double *link;     /* of a torus: they are free */
  int *way;         /* of a message */
};

/* The ranks that have come together so far, and the last of them. Zero-initialise. */
struct meeting {
  int begun, last;
  double latest;
};

/* All clocks at 0. `followed`: 1: messages are sent in the order of time, so that each receiving port, and each link of
 * a torus, passes one after the other; the first bytes go on to the next link before the last ones have come. 0:
 * messages share what topology_factor says. The network must be placed and outlive the clocks. */
void clocks_open(struct clocks *clocks, const struct network *network, int ranks, int followed);
void clocks_close(struct clocks *clocks);
/* All clocks at 0 again, with free ports. */
void clocks_restart(struct clocks *clocks);
void clock_work(struct clocks *clocks, int rank, double seconds);
/* Wait until then. Returns the seconds of waiting. */
double clock_wait(struct clocks *clocks, int rank, double until);
/* Send a message, for which the sender works. Returns when it arrives. */
double clock_send(struct clocks *clocks, int from, int to, double bytes);
/* A rank comes at a time of its clock. Returns whether it is the last one so far. */
int meeting_join(struct meeting *meeting, int rank, double at);
#endif
