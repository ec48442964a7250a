/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A network whose messages pass several links: a torus, or a fat tree of two levels. Pure.
 *
 * A rank of a torus has six links, two in each dimension, and sends on all of them at once, or on fewer; a message goes
 * the shorter way in x, then in y, then in z, and shares the links of its way with the others. In a fat tree a rank has
 * one link, and inner links are not shared. */
#ifndef TRACE_TOPOLOGY_H
#define TRACE_TOPOLOGY_H
#include "trace/replay.h"

/* Ranks stand in order: in a torus of sides x, y, z with x first; below a leaf of a fat tree, `side[0]` of them. */
struct topology {
  enum { TOPOLOGY_FLAT, TOPOLOGY_TORUS, TOPOLOGY_FAT_TREE } kind;
  int side[3];
  int ports;   /* links of a rank that carry its messages at once: 1 to 6 in a torus, else 1 */
  double link; /* latency of a link, seconds */
};

/* Read "flat", "torus:X,Y,Z", "torus:X,Y,Z:PORTS" or "fat-tree:RANKS_PER_LEAF". 0, or -1 with a fault. */
int topology_read(struct topology *topology, const char *text, struct fault *fault);
/* Number of links from one rank to another: flat 1; fat tree 2 below a leaf, else 4. */
int topology_links(const struct topology *topology, int from, int to);
/* The links of a way in a torus, in order: 6 of each place, numbered 6 * place + 2 * dimension + (0: upwards, 1:
 * downwards), by the place that they leave. Returns how many: topology_links. */
int topology_way(const struct topology *topology, int from, int to, int *link);
/* Set the latencies, and the links, of a network between `ranks` ranks, of which network->latency is that of a link.
 * Collectives get the mean over the ranks. `topology` must outlive n. 0; -1 with a fault where the ranks do not fit. */
int topology_apply(struct topology *topology, struct network *network, int ranks, struct fault *fault);
#endif
