/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a message or a collective costs between two ranks. Replays of traces and forecasts use it. Pure.
 *
 * Ranks stand in order, `ranks_per_node` on a node, and nodes stand in order: in a torus along x first; below a switch
 * of a tree, side[0] of them, and so the switches below one of the next level. A torus sends a message the shorter way
 * in x, then in y, then in z. A dragonfly has one level of paths above its switches, a fat tree as many as it needs. */
#ifndef TRACE_NETWORK_H
#define TRACE_NETWORK_H
#include "mpi/event.h"

enum { NETWORK_PORTS = 6 }; /* at most, of a rank */
enum topology { TOPOLOGY_flat, TOPOLOGY_fat_tree, TOPOLOGY_dragonfly, TOPOLOGY_torus, TOPOLOGIES };
extern const char *const topology_names[TOPOLOGIES];

/* What is 0 costs nothing, or is the number after "0:". */
struct network {
  double latency;         /* seconds of a short message between neighbouring nodes */
  double hop_latency;     /* seconds that each further switch or node of the path adds */
  double overhead;        /* processor seconds of a rank for each message that it sends or receives */
  double copy, delay;     /* seconds in which the sender copies it from a device; by which it is later for that */
  double bandwidth;       /* bytes per second that a node injects by each port; 0: unlimited */
  double topology_factor; /* how many times slower bytes are between nodes because links are shared; 0: 1 */
  double ranks_per_node;  /* they share the bandwidth; 0: 1 */
  double node_latency, node_bandwidth; /* within a node */
  double speed;                        /* of processors: work takes its seconds divided by this; 0: 1 */
  enum topology topology;
  int side[3];      /* torus: nodes in x, y, z; tree: [0] nodes below a switch; 0: network_place chooses */
  int ports;        /* messages that a rank sends at once, and as many that it receives; 0: 1 */
  double mean_hops; /* of node 0 to the others, set by network_place: collectives have it */
};

/* Read "X,Y,Z", the sides of a torus, up to `*end`. 0, or -1: other text, or more than ten million places. */
int network_sides(int side[3], const char *text, int *end);
/* Set the topology of a network in which latency is that of a link: "flat", "torus:X,Y,Z", "torus:X,Y,Z:PORTS",
 * "fat-tree:RANKS_PER_SWITCH" or "dragonfly:RANKS_PER_SWITCH". 0, or -1 with a fault. */
int network_read(struct network *network, const char *text, struct fault *fault);
/* Place ranks: choose the sides that are not given, of a torus the most cubic factorisation of the number of nodes, and
 * set mean_hops. 0; -1 with a fault where a torus has too few places, whose nodes are then numbered from 0 again. */
int network_place(struct network *network, int ranks, struct fault *fault);

/* Switches or nodes on the path between two nodes beyond the first. */
int network_hops(const struct network *network, int from, int to);
/* The links of a way in a torus, in order: 6 of each node, numbered 6 * node + 2 * dimension + (0: upwards, 1:
 * downwards), by the node that they leave. Returns how many. */
int network_way(const struct network *network, int from, int to, int *link);
/* Seconds from the injection of a short message on rank `from` until it arrives on rank `to`; mean between nodes;
 * seconds of each byte, of `ranks` ranks. */
double network_latency(const struct network *network, int from, int to);
double network_mean_latency(const struct network *network);
double network_per_byte(const struct network *network, int ranks, int from, int to);
/* Seconds of a collective of P ranks from its last rank on; b bytes as in struct event, B the bandwidth of a rank.
 * A message costs its latency and two overheads (LogP: Culler et al. 1993, PPoPP).
 * allreduce: the startups of recursive doubling, ceil(log2 P), and the cheaper of its bytes, ceil(log2 P) b / B, and
 * those of reduce-scatter and allgather, 2 b / B (Rabenseifner 2004, ICCS; Thakur et al. 2005, IJHPCA 19, 49).
 * broadcast: the same, by a binomial tree, or by scatter and allgather (Thakur et al. 2005).
 * allgather: (P - 1) b / B, and the cheaper startups of Bruck's algorithm, ceil(log2 P) (Bruck et al. 1997, IEEE TPDS
 * 8, 1143), and of a ring, P - 1 between neighbours.
 * alltoall: Bruck's, with P / 2 contributions in each of its messages, or P - 1 messages if that is faster.
 * exscan: recursive doubling. barrier: its startups alone. */
double network_collective(const struct network *network, enum event_kind kind, int ranks, double bytes);
#endif
