/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machines for which a study predicts times: a parallel computer as its network and the device of a rank, from an ini
 * file. */
#ifndef MACHINE_H
#define MACHINE_H
#include <stdio.h>

#include "trace/network.h"

enum machine_device { DEVICE_cpu, DEVICE_gpu, DEVICES };

/* X(section, key, member, low, high, meaning): real numbers. */
#define MACHINE_NETWORK(X)                                                                                       \
  X(Network, Latency, network.latency, 0, 1, "seconds of a short message between neighbouring nodes")            \
  X(Network, HopLatency, network.hop_latency, 0, 1, "seconds that each further switch or node of the path adds") \
  X(Network, Overhead, network.overhead, 0, 1,                                                                   \
    "seconds for which a message keeps the sending rank, and the receiving one, busy")                           \
  X(Network, Bandwidth, network.bandwidth, 1, 1e18, "bytes a second that a node injects")                        \
  X(Network, TopologyFactor, network.topology_factor, 1, 1e6,                                                    \
    "how many times slower bytes are between nodes because links are shared")                                    \
  X(Network, RanksPerNode, network.ranks_per_node, 1, 1e6, "ranks of a node, which share its bandwidth")         \
  X(Network, NodeLatency, network.node_latency, 0, 1, "seconds of a short message within a node")                \
  X(Network, NodeBandwidth, network.node_bandwidth, 1, 1e18, "bytes a second that a rank sends within a node")   \
  X(Device, MessageCopy, network.copy, 0, 1,                                                                     \
    "seconds in which a message is copied between device and host; 0: it is not")                                \
  X(Device, MessageDelay, network.delay, 0, 1,                                                                   \
    "seconds by which a message from device to device is later than one of hosts")
#define MACHINE_DEVICE(X)                                                                                             \
  X(Device, StepFloor, step_floor, 0, 1e3,                                                                            \
    "seconds of a soft step of few particles beside forces and trees: kicks, sums, tables")                           \
  X(Device, StepRate, step_rate, 1, 1e18, "particles of which the same takes a second")                               \
  X(Device, TreeFloor, tree_floor, 0, 1e3, "seconds of sort, tree, moments and groups of few particles")              \
  X(Device, WalkFloor, walk_floor, 0, 1e3, "seconds of a force of few particles")                                     \
  X(Device, WalkRate, walk_rate, 1, 1e18, "interactions of a second in forces on all particles")                      \
  X(Device, WalkFill, walk_fill, 0, 1e18,                                                                             \
    "forces take as long as of so many more interactions, since a device waits for its slowest groups")               \
  X(Device, SplitRate, split_rate, 1, 1e18,                                                                           \
    "the same with a split, lists of neighbours included where the device makes them")                                \
  X(Device, BlockRate, block_rate, 1, 1e18, "the same in block steps without a split, of some particles")             \
  X(Device, BlockFill, block_fill, 0, 1e18, "as WalkFill, in a block step without a split")                           \
  X(Device, HardRate, hard_rate, 1, 1e18, "the same in hard forces of a hybrid, whose lists are short")               \
  X(Device, HardTargetRate, hard_target_rate, 1, 1e18,                                                                \
    "particles whose hard forces take a second beside their interactions")                                            \
  X(Device, OrderRate, order_rate, 1, 1e18, "particles that are sorted in a second")                                  \
  X(Device, BuildRate, build_rate, 1, 1e18,                                                                           \
    "particles of which the tree with moments and groups is built in a second")                                       \
  X(Device, RebuildRate, rebuild_rate, 1, 1e18, "particles of which a new tree within a soft step takes a second")    \
  X(Device, UpdateRate, update_rate, 1, 1e18, "particles of which a moment update within a soft step takes a second") \
  X(Device, CorrectRate, correct_rate, 1, 1e18,                                                                       \
    "particles that are kicked or corrected, and get new steps, in a second")                                         \
  X(Device, SubstepFloor, substep_floor, 0, 1e3, "seconds of a block step of few particles, beside WalkFloor")        \
  X(Device, NodeFactor, node_factor, 1e-3, 1,                                                                         \
    "rates of a rank where all ranks of its node compute, over those of one alone")                                   \
  X(Device, RanksFloor, ranks_floor, 0, 1e3,                                                                          \
    "seconds that a soft step of few particles takes more on several ranks, beside messages")                         \
  X(Device, RanksSubstepFloor, ranks_substep_floor, 0, 1e3, "the same of a block step")                               \
  X(Device, DomainRate, domain_rate, 1, 1e18, "particles of which the new ranks are found in a second")               \
  X(Device, MigrateRate, migrate_rate, 1, 1e18,                                                                       \
    "the same where trees are made within a soft step, in the present domains")                                       \
  X(Device, LetWalkRate, let_walk_rate, 1, 1e18,                                                                      \
    "particles that walk a LET in a second, beside the interactions with it")                                         \
  X(Device, LetFloor, let_floor, 0, 1e3, "seconds of an exchange of LETs of few particles, beside messages")          \
  X(Device, HardLetFloor, hard_let_floor, 0, 1e3, "the same within the soft steps of a hybrid, whose boxes are many") \
  X(Device, HardLetRate, hard_let_rate, 1, 1e18,                                                                      \
    "particles of a rank for which the boxes of these are made in a second")                                          \
  X(Device, LetRate, let_rate, 1, 1e18, "bytes of LETs and their updates that a rank makes in a second, and reads")   \
  X(Device, DeviceMemory, device_memory, 0, 1e18, "bytes of memory of a device; 0: not known")                        \
  X(Device, NodeMemory, node_memory, 0, 1e18, "bytes of memory of a node; 0: not known")
#define MACHINE_NUMBERS(X) MACHINE_NETWORK(X) MACHINE_DEVICE(X)

/* A rate without a value: no time is needed, or another rate is used. A machine file does not have the key. */
#define MACHINE_NO_RATE 1e18

struct machine {
  char name[128];
  struct network network;
  enum machine_device device;
#define X(section, key, member, low, high, meaning) double member;
  MACHINE_DEVICE(X)
#undef X
};

/* The machine for a run of `ranks` ranks: rates are those of ranks beside others. Pure. */
struct machine machine_shared(const struct machine *machine, double ranks);
/* Seconds of an evaluation of `pairs` interactions at a rate of the machine, on a device that is empty at first.
 * Pure. */
double machine_walk(const struct machine *machine, double pairs, double rate);
/* The same in a block step without a split. `apart`: trees of bands of block levels, so that nearly all particles of a
 * group are active, as in full forces. Pure. */
double machine_block_walk(const struct machine *machine, double pairs, int apart);
/* Seconds of a tree of so many particles at a synchronisation, and within a soft step. Pure. */
double machine_tree(const struct machine *machine, double particles);
double machine_rebuild(const struct machine *machine, double particles);
/* Seconds in which LETs of so many bytes are made and read. Pure. */
double machine_let(const struct machine *machine, double bytes);
/* The same of their updates; none where the file has no LetRate. Pure. */
double machine_let_update(const struct machine *machine, double bytes);
/* Read a machine file. 0, or -1 with a fault that names file, line and key. */
int machine_read(const char *path, struct machine *machine, struct fault *fault);
/* Write a machine file, without the keys that it may lack whose rate is MACHINE_NO_RATE; `source`: lines for its head,
 * without '#', separated by newlines. */
void machine_write(FILE *out, const struct machine *machine, const char *source);
#endif
