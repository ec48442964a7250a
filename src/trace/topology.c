/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "trace/topology.h"

#include <stdlib.h>
#include <string.h>

/* Most places of a torus: its links are numbered, and each has a number in memory. */
#define PLACES_MAX 1e7

/* Numbers have at most nine digits, which an int holds. */
int topology_read(struct topology *topology, const char *text, struct fault *fault)
{
  int end = 0, further = 0;
  *topology = (struct topology){.kind = TOPOLOGY_FLAT, .side = {1, 1, 1}, .ports = 1};
  if (strcmp(text, "flat") == 0) return 0;
  if (sscanf(text, "torus:%9d,%9d,%9d%n:%9d%n", &topology->side[0], &topology->side[1], &topology->side[2], &end,
             &topology->ports, &further) >= 3) {
    if (!text[end]) topology->ports = NETWORK_PORTS;
    if (!text[end] || (further && !text[further])) topology->kind = TOPOLOGY_TORUS;
  } else if (sscanf(text, "fat-tree:%9d%n", &topology->side[0], &end) == 1 && !text[end]) {
    topology->kind = TOPOLOGY_FAT_TREE;
  }
  int least = topology->side[0] < topology->side[1] ? topology->side[0] : topology->side[1];
  if (topology->kind == TOPOLOGY_FLAT || least < 1 || topology->side[2] < 1 || topology->ports < 1 ||
      topology->ports > NETWORK_PORTS)
    return fault_set(fault,
                     "topology: expected flat, torus:X,Y,Z or fat-tree:RANKS_PER_LEAF, where :PORTS (1 to %d) may "
                     "follow a torus, found '%.60s'",
                     NETWORK_PORTS, text);
  if (topology->kind == TOPOLOGY_TORUS &&
      (double)topology->side[0] * topology->side[1] * topology->side[2] > PLACES_MAX)
    return fault_set(fault, "topology: a torus has at most %.0f places, found '%.60s'", PLACES_MAX, text);
  return 0;
}

int topology_links(const struct topology *topology, int from, int to)
{
  int links = 0;
  if (from == to) return 0;
  if (topology->kind == TOPOLOGY_FLAT) return 1;
  if (topology->kind == TOPOLOGY_FAT_TREE) return from / topology->side[0] == to / topology->side[0] ? 2 : 4;
  for (int k = 0; k < 3; k++) {
    int apart = abs(from % topology->side[k] - to % topology->side[k]);
    links += apart < topology->side[k] - apart ? apart : topology->side[k] - apart;
    from /= topology->side[k];
    to /= topology->side[k];
  }
  return links;
}

int topology_way(const struct topology *topology, int from, int to, int *link)
{
  int count = 0, place = from, stride = 1;
  for (int k = 0; k < 3; k++) {
    int side = topology->side[k], at = from / stride % side, steps = to / stride % side - at;
    int down = 2 * steps > side || (steps < 0 && 2 * -steps <= side), apart = abs(steps);
    if (2 * apart > side) apart = side - apart;
    for (int i = 0; i < apart; i++) {
      int next = (at + (down ? side - 1 : 1)) % side;
      link[count++] = 6 * place + 2 * k + down;
      place += (next - at) * stride;
      at = next;
    }
    stride *= side;
  }
  return count;
}

static int way(const void *of, int from, int to, int *link) { return topology_way(of, from, to, link); }

static double between(const void *of, int from, int to)
{
  const struct topology *o = of;
  return o->link * topology_links(o, from, to);
}

int topology_apply(struct topology *topology, struct network *network, int ranks, struct fault *fault)
{
  double sum = 0;
  if (topology->kind == TOPOLOGY_FLAT) return 0;
  if (topology->kind == TOPOLOGY_TORUS && (double)topology->side[0] * topology->side[1] * topology->side[2] < ranks)
    return fault_set(fault, "topology: a torus of %d x %d x %d has no place for %d ranks", topology->side[0],
                     topology->side[1], topology->side[2], ranks);
  for (int r = 1; r < ranks; r++) sum += topology_links(topology, 0, r);
  topology->link = network->latency;
  network->between = between;
  network->of = topology;
  network->ports = topology->ports;
  if (topology->kind == TOPOLOGY_TORUS) {
    network->way = way;
    network->links = 6 * topology->side[0] * topology->side[1] * topology->side[2];
    network->longest = topology->side[0] / 2 + topology->side[1] / 2 + topology->side[2] / 2;
  }
  if (ranks > 1) network->latency *= sum / (ranks - 1);
  return 0;
}
