/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A linear octree and the particles in its leaves: the local tree of a rank, or a locally essential tree (LET) that came
 * from another. A walk runs over a forest of these and does not know which is which.
 *
 * Nodes are in breadth-first order, parents before children, the children of a node contiguous. Leaves hold at most
 * MaxLeafSize particles, or more where 21 levels of division did not part them. Everything is in lattice coordinates;
 * lengths (b, reach) are in units of length. */
#ifndef OCTREE_H
#define OCTREE_H
#include <stddef.h>
#include <stdint.h>

#include "keys.h"
#ifdef __cplusplus
extern "C" {
#endif

/* `info` of a node: the number of children (0 to 8), or the number of particles with NODE_LEAF. */
#define NODE_LEAF 0x80000000u
/* A LET cell that was sent without its children: accepted whatever the test says. */
#define NODE_TERMINAL 0x40000000u
#define NODE_COUNT 0x3fffffffu

struct node {
  int32_t x[3];    /* centre of mass */
  float mass;
  float b;         /* radius about the centre of mass that encloses the particles */
  float reach;     /* of the acceptance criterion, see mac.h */
  int32_t first;   /* first child, or first particle of a leaf */
  uint32_t info;
};

/* How a node moves after `motion_tick`: centre of mass with v and a; its radius grows by at most spread_v s + spread_a s^2/2. */
struct motion {
  float v[3], a[3];
  float spread_v, spread_a;
};

/* Particles as sources, each at its own time: position at `tick`, velocity, hard acceleration. */
struct sources {
  int32_t n;
  int32_t *x, *y, *z;
  float *m;
  float *vx, *vy, *vz, *ax, *ay, *az;
  int32_t *tick;
};

struct octree {
  int32_t nodes;
  struct node *node;
  struct motion *motion;
  float (*quad)[6];        /* second moments about the centre of mass: xx, yy, zz, xy, xz, yz; NULL with monopole cells */
  int32_t motion_tick;     /* time of the nodes' centres */
  struct sources source;
  void *memory;            /* block that holds all arrays, or NULL where another owns them */
};

enum { SOURCE_WORDS = 11, STILL_WORDS = 4 };   /* four-byte arrays of struct sources; of those that do not move */

/* Bytes of a block that holds so many nodes and sources, and the pointers into it. `quad` tells whether there are second
 * moments, `moving` whether there is what moves nodes and sources (else these pointers are NULL, and the tree is good for
 * one moment only). The block must be aligned to 64 bytes. */
size_t octree_bytes(int64_t nodes, int64_t sources, int quad, int moving);
void octree_place(struct octree *t, void *block, int64_t nodes, int64_t sources, int quad, int moving);

/* Check the links: every node but the root has one parent, leaves cover the sources exactly once, b encloses, masses add up.
 * Returns 0 and writes the reason to `why` where something is wrong. `spacing` is the lattice's. */
int octree_valid(const struct octree *t, double spacing, char *why, size_t size);

#ifdef __cplusplus
}
#endif
#endif
