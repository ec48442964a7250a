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

/* Draw particles, G = M = 1: "plummer" (E = -1/4, r <= 20 b, eps = b/64) or "m31" (NFW halo, Hernquist bulge, exponential
 * disk, kpc, eps = 1/64). Returns the softening. */
double host_particles(const char *kind, int64_t n);
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
