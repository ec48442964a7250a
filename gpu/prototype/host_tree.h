/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees for measurements: particles in the order of the curve, octree and groups, made by the CPU backend's functions. */
#ifndef HOST_TREE_H
#define HOST_TREE_H
#include <stdint.h>

#include "lattice.h"
#include "octree.h"
#ifdef __cplusplus
extern "C" {
#endif

struct host_tree {
  int64_t n;
  struct lattice lattice;
  struct octree *tree;
  int groups;
  int32_t (*group)[3];    /* begin, end, family */
  int families;
  int32_t (*family)[2];
};

/* kind: "plummer" (r <= 20 b, G = M = 1, E = -1/4) or "clumps". Particles are drawn once. */
void host_particles(const char *kind, int64_t n);
/* Order and build. */
void host_build(int max_leaf);
/* Moments with reaches for Delta = 1. */
void host_moments(int order);
/* Groups are the largest cells that hold at most so many particles, or (blocks) so many consecutive
 * particles. Groups do not reach over the bounds of families. */
void host_groups(int most, int blocks, int family_most);
struct host_tree host_tree(void);
#ifdef __cplusplus
}
#endif
#endif
