/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "trace/clock.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

void clocks_open(struct clocks *clocks, const struct network *network, int ranks, int followed)
{
  int ports = network->ports > 1 ? network->ports : 1, torus = followed && network->topology == TOPOLOGY_torus;
  const int *side = network->side;
  size_t links = torus ? 6 * (size_t)side[0] * (size_t)side[1] * (size_t)side[2] : 0,
         longest = torus ? (size_t)(side[0] / 2 + side[1] / 2 + side[2] / 2) : 0;
  *clocks = (struct clocks){.network = network, .ranks = ranks, .ports = ports, .followed = followed};
  clocks->now = memory_alloc("clocks", sizeof *clocks->now * (size_t)ranks);
  clocks->out = memory_alloc("clocks", sizeof *clocks->out * (size_t)(ranks * ports));
  clocks->in = memory_alloc("clocks", sizeof *clocks->in * (size_t)(ranks * ports));
  clocks->link = links ? memory_alloc("clocks", sizeof *clocks->link * links) : NULL;
  clocks->way = links ? memory_alloc("clocks", sizeof *clocks->way * (longest + 1)) : NULL;
}

void clocks_close(struct clocks *clocks)
{
  if (clocks->way) memory_free(clocks->way);
  if (clocks->link) memory_free(clocks->link);
  memory_free(clocks->in);
  memory_free(clocks->out);
  memory_free(clocks->now);
}

void clocks_restart(struct clocks *clocks)
{
  memset(clocks->now, 0, sizeof *clocks->now * (size_t)clocks->ranks);
  memset(clocks->out, 0, sizeof *clocks->out * (size_t)(clocks->ranks * clocks->ports));
}

void clock_work(struct clocks *clocks, int rank, double seconds) { clocks->now[rank] += seconds; }

double clock_wait(struct clocks *clocks, int rank, double until)
{
  double wait = fmax(until - clocks->now[rank], 0);
  clocks->now[rank] += wait;
  return wait;
}

/* The port of a rank that is free first. */
static double *port(const struct clocks *clocks, double *ports, int rank)
{
  double *first = ports + rank * clocks->ports;
  for (int k = 1; k < clocks->ports; k++)
    if (ports[rank * clocks->ports + k] < *first) first = &ports[rank * clocks->ports + k];
  return first;
}

/* The first byte of a message passes the links between two ranks, each of which is then busy for so many seconds;
 * `*leaves`: when it may leave, then when it does. Returns when it arrives. */
static double pass(struct clocks *clocks, int from, int to, double seconds, double *leaves)
{
  double latency = network_latency(clocks->network, from, to) + clocks->network->delay, head = *leaves;
  int links = clocks->link ? network_way(clocks->network, from, to, clocks->way) : 0;
  for (int k = 0; k < links; k++) {
    double *link = &clocks->link[clocks->way[k]];
    head = fmax(head, *link);
    if (k == 0) *leaves = head;
    *link = head + seconds;
    head += latency / links;
  }
  return links ? head : head + latency;
}

double clock_send(struct clocks *clocks, int from, int to, double bytes)
{
  clocks->now[from] += clocks->network->overhead + clocks->network->copy;
  double seconds = bytes * network_per_byte(clocks->network, clocks->ranks, from, to);
  double *out = port(clocks, clocks->out, from), *in = port(clocks, clocks->in, to);
  double leaves = fmax(clocks->now[from], *out), arrives = pass(clocks, from, to, seconds, &leaves);
  *out = leaves + seconds;
  if (!clocks->followed) return arrives + seconds;
  *in = fmax(arrives, *in) + seconds;
  return *in;
}

int meeting_join(struct meeting *meeting, int rank, double at)
{
  int last = meeting->joined++ == 0 || at > meeting->latest;
  if (!last) return 0;
  meeting->latest = at;
  meeting->last = rank;
  return 1;
}
