/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "trace/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most places of a torus: its links are numbered, and each has a number in memory. */
#define PLACES_MAX 1e7
enum { SWITCH_NODES = 32 }; /* below a switch, where it is not given */

const char *const topology_names[TOPOLOGIES] = {"flat", "fat-tree", "dragonfly", "torus"};

/* --- topologies -------------------------------------------------------------------------------------------------- */

/* Numbers have at most nine digits, which an int holds. */
int network_sides(int side[3], const char *text, int *end)
{
  if (sscanf(text, "%9d,%9d,%9d%n", &side[0], &side[1], &side[2], end) != 3) return -1;
  if (side[0] < 1 || side[1] < 1 || side[2] < 1) return -1;
  return (double)side[0] * side[1] * side[2] > PLACES_MAX ? -1 : 0;
}

static int read_torus(struct network *network, const char *text)
{
  int end = 0, further = 0;
  network->topology = TOPOLOGY_torus;
  network->ports = NETWORK_PORTS;
  if (network_sides(network->side, text, &end)) return -1;
  if (!text[end]) return 0;
  if (sscanf(text + end, ":%9d%n", &network->ports, &further) != 1 || text[end + further]) return -1;
  return network->ports < 1 || network->ports > NETWORK_PORTS ? -1 : 0;
}

/* A message passes the links of its rank and of its peer, and two for each level. */
static int read_tree(struct network *network, enum topology topology, const char *text)
{
  int end = 0;
  network->topology = topology;
  network->hop_latency = network->latency;
  network->latency *= 2;
  return sscanf(text, "%9d%n", &network->side[0], &end) != 1 || text[end] || network->side[0] < 1 ? -1 : 0;
}

int network_read(struct network *network, const char *text, struct fault *fault)
{
  int failed = -1;
  network->hop_latency = network->latency;
  if (strcmp(text, "flat") == 0) return 0;
  if (strncmp(text, "torus:", 6) == 0) failed = read_torus(network, text + 6);
  if (strncmp(text, "fat-tree:", 9) == 0) failed = read_tree(network, TOPOLOGY_fat_tree, text + 9);
  if (strncmp(text, "dragonfly:", 10) == 0) failed = read_tree(network, TOPOLOGY_dragonfly, text + 10);
  if (!failed) return 0;
  return fault_set(fault,
                   "topology: expected flat, torus:X,Y,Z (at most %g places), fat-tree:RANKS_PER_SWITCH or "
                   "dragonfly:RANKS_PER_SWITCH, where :PORTS (1 to %d) may follow a torus, found '%.60s'",
                   PLACES_MAX, NETWORK_PORTS, text);
}

static int node_ranks(const struct network *network)
{
  return network->ranks_per_node > 1 ? (int)network->ranks_per_node : 1;
}

static int nodes_of(const struct network *network, int ranks)
{
  return (ranks + node_ranks(network) - 1) / node_ranks(network);
}

/* The factorisation with the smallest sum of sides. */
static void choose_sides(int side[3], int nodes)
{
  int best = 0;
  for (int a = 1; (double)a * a * a <= nodes; a++) {
    if (nodes % a) continue;
    int rest = nodes / a, b = (int)sqrt(rest);
    while (rest % b) b--;
    if (best && a + b + rest / b >= best) continue;
    best = a + b + rest / b;
    side[0] = rest / b;
    side[1] = b;
    side[2] = a;
  }
}

static int apart(int side, int steps) { return abs(steps) < side - abs(steps) ? abs(steps) : side - abs(steps); }

/* The sum over the nodes below `nodes` of the links from node 0 in one dimension of a torus. */
static double sum_of_links(int side, double stride, double nodes)
{
  double whole = floor(nodes / (stride * side)), rest = nodes - whole * stride * side, sum = 0;
  for (int x = 0; x < side; x++) sum += apart(side, x) * (whole * stride + fmin(fmax(rest - x * stride, 0), stride));
  return sum;
}

_Static_assert(TOPOLOGIES == 4, "network_place and network_hops take what is neither flat nor a torus for a tree");

int network_place(struct network *network, int ranks, struct fault *fault)
{
  int nodes = nodes_of(network, ranks), *side = network->side;
  double sum = 0;
  if (network->topology == TOPOLOGY_torus) {
    if (!side[0]) choose_sides(side, nodes);
    double plane = (double)side[0] * side[1];
    sum = sum_of_links(side[0], 1, nodes) + sum_of_links(side[1], side[0], nodes) +
          sum_of_links(side[2], plane, nodes) - (nodes - 1);
    if (plane * side[2] < nodes)
      fault_set(fault, "topology: a torus of %d x %d x %d has no place for %d %s", side[0], side[1], side[2], nodes,
                network->ranks_per_node > 1 ? "nodes" : "ranks");
  } else if (network->topology != TOPOLOGY_flat) {
    if (!side[0]) side[0] = SWITCH_NODES;
    for (double below = side[0]; below < nodes && (side[0] > 1 || sum == 0); below *= side[0]) {
      sum += 2 * (nodes - below); /* they are at least a level farther */
      if (network->topology == TOPOLOGY_dragonfly) break;
    }
  }
  network->mean_hops = nodes > 1 ? sum / (nodes - 1) : 0;
  return fault->text[0] ? -1 : 0;
}

int network_hops(const struct network *network, int from, int to)
{
  int hops = 0;
  if (from == to || network->topology == TOPOLOGY_flat) return 0;
  if (network->topology != TOPOLOGY_torus) {
    int side = network->side[0], levels = network->topology == TOPOLOGY_dragonfly || side == 1 ? 1 : 32;
    for (; from / side != to / side && hops < 2 * levels; hops += 2) {
      from /= side;
      to /= side;
    }
    return hops;
  }
  for (int k = 0; k < 3; k++) {
    int side = network->side[k];
    hops += apart(side, from % side - to % side);
    from /= side;
    to /= side;
  }
  return hops - 1;
}

int network_way(const struct network *network, int from, int to, int *link)
{
  int count = 0, place = from, stride = 1;
  for (int k = 0; k < 3; k++) {
    int side = network->side[k], at = from / stride % side, steps = to / stride % side - at;
    int down = 2 * steps > side || (steps < 0 && 2 * -steps <= side);
    for (int i = apart(side, steps); i > 0; i--) {
      int next = (at + (down ? side - 1 : 1)) % side;
      link[count++] = 6 * place + 2 * k + down;
      place += (next - at) * stride;
      at = next;
    }
    stride *= side;
  }
  return count;
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

static int same_node(const struct network *network, int a, int b)
{
  return a / node_ranks(network) == b / node_ranks(network);
}

double network_latency(const struct network *network, int from, int to)
{
  if (same_node(network, from, to)) return network->node_latency;
  int per_node = node_ranks(network);
  return network->latency + network->hop_latency * network_hops(network, from / per_node, to / per_node);
}

double network_mean_latency(const struct network *network)
{
  return network->latency + network->hop_latency * network->mean_hops;
}

static double inverse(double rate) { return rate > 0 ? 1 / rate : 0; }

/* Seconds of a byte between nodes by the share of a rank in the bandwidth of its node. */
static double shared_per_byte(const struct network *network, int ranks)
{
  return inverse(network->bandwidth) * fmax(network->topology_factor, 1) * fmin(node_ranks(network), ranks);
}

double network_per_byte(const struct network *network, int ranks, int from, int to)
{
  return same_node(network, from, to) ? inverse(network->node_bandwidth) : shared_per_byte(network, ranks);
}

double network_collective(const struct network *network, enum event_kind kind, int ranks, double bytes)
{
  if (ranks < 2) return 0;
  int nodes = nodes_of(network, ranks), inside = ranks < node_ranks(network) ? ranks : node_ranks(network);
  double seconds = bytes * (nodes > 1 ? shared_per_byte(network, ranks) : inverse(network->node_bandwidth)),
         own = 2 * network->overhead, between = ceil(log2(nodes)), within = ceil(log2(inside)),
         stages = between + within,
         startups = between * (network_mean_latency(network) + own) + within * (network->node_latency + own),
         neighbour = (nodes > 1 ? network->latency : network->node_latency) + own;
  switch (kind) {
  case EVENT_barrier: return startups;
  case EVENT_allgather: return fmin(startups, (ranks - 1) * neighbour) + (ranks - 1) * seconds;
  case EVENT_alltoall:
    return fmin(startups + stages * 0.5 * ranks * seconds, (ranks - 1) * (startups / stages + seconds));
  case EVENT_exscan: return startups + stages * seconds;
  default: return startups + fmin(stages, 2) * seconds;
  }
}
