/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clock of each rank on a network, without a global one. After event k of rank r it shows
 *     t_r(k) = max(t_r(k - 1) + work, arrivals of the messages that r waits for). Local.
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
  double *out, *in; /* [ranks * ports] times from which the ports for sending, for receiving are free */
  double *link;     /* of a torus: times from which its links are free */
  int *way;         /* of a torus: the links of the message under way */
};

/* The ranks that a collective has so far. Zero-initialise. */
struct meeting {
  int joined, last; /* their number; the rank that came last */
  double latest;    /* when */
};

/* All clocks at 0. `followed`: 1: messages are sent in the order of time, so that each receiving port, and each link of
 * a torus, passes one after the other; the first bytes go on to the next link before the last ones have come. 0:
 * messages share what topology_factor says. The network must be placed and outlive the clocks. */
void clocks_open(struct clocks *clocks, const struct network *network, int ranks, int followed);
void clocks_close(struct clocks *clocks);
/* All clocks at 0 again, with free ports. */
void clocks_restart(struct clocks *clocks);
void clock_work(struct clocks *clocks, int rank, double seconds);
/* Set the clock of a rank to `until`, if it is earlier. Returns the seconds of waiting. */
double clock_wait(struct clocks *clocks, int rank, double until);
/* Send a message, for which the sender works. Returns when it arrives. */
double clock_send(struct clocks *clocks, int from, int to, double bytes);
/* A rank joins the collective at the time `at` of its clock. Returns whether no other rank came later so far. */
int meeting_join(struct meeting *meeting, int rank, double at);
#endif
