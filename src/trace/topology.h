/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Latencies of a network whose messages pass several links: a torus, or a fat tree of two levels. Pure. */
#ifndef TRACE_TOPOLOGY_H
#define TRACE_TOPOLOGY_H
#include "trace/replay.h"

/* Ranks stand in order: in a torus of sides x, y, z with x first; below a leaf of a fat tree, `side[0]` of them. */
struct topology {
  enum { TOPOLOGY_FLAT, TOPOLOGY_TORUS, TOPOLOGY_FAT_TREE } kind;
  int side[3];
  double link;   /* latency of a link, seconds */
};

/* Read "flat", "torus:X,Y,Z" or "fat-tree:RANKS_PER_LEAF". 0, or -1 with a fault. */
int topology_read(struct topology *o, const char *text, struct fault *f);
/* Number of links from one rank to another: flat 1; fat tree 2 below a leaf, else 4. */
int topology_links(const struct topology *o, int from, int to);
/* Set the latencies of a network between `ranks` ranks, of which n->latency is that of a link. Collectives get the mean over the ranks.
 * `o` must outlive n. 0; -1 with a fault where the ranks do not fit. */
int topology_apply(struct topology *o, struct network *n, int ranks, struct fault *f);
#endif
