/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A linear octree and the particles in its leaves: the local tree of a rank, or a locally essential tree (LET) of
 * another rank. A walk treats all trees of a forest alike.
 *
 * Nodes are in breadth-first order, parents before children; the children of a node are contiguous. Leaves contain at
 * most MaxLeafSize particles, or more where 21 levels of division do not separate them. Positions are lattice
 * coordinates; lengths (b, reach), velocities and accelerations are in internal units. Local. */
#ifndef OCTREE_H
#define OCTREE_H
#include <stddef.h>
#include <stdint.h>

#include "tree/keys.h"
#ifdef __cplusplus
extern "C" {
#endif

/* `info` of a node: the number of children (0 to 8), or the number of particles with NODE_LEAF. */
#define NODE_LEAF 0x80000000u
/* A cell of a LET without its children: always accepted. */
#define NODE_TERMINAL 0x40000000u
#define NODE_COUNT 0x3fffffffu

struct node {
  int32_t x[3]; /* centre of mass */
  float mass;
  float b;       /* radius about the centre of mass that encloses the particles */
  float reach;   /* of the acceptance criterion (tree/mac.h) */
  int32_t first; /* first child, or first particle of a leaf */
  uint32_t info;
};

/* Motion of a node after `motion_tick`: its centre of mass has velocity v and acceleration a; within the time s its
 * radius grows by at most spread_v s + spread_a s^2 / 2. */
struct motion {
  float v[3], a[3];
  float spread_v, spread_a;
};

/* Particles as sources: position (lattice coordinates), velocity and hard acceleration of each at its own `tick`. */
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
  float (*quad)[6];    /* second moments about the centre of mass: xx, yy, zz, xy, xz, yz; NULL with monopole cells */
  int32_t motion_tick; /* tick at which the centres of mass of the nodes hold */
  struct sources source;
};

enum { SOURCE_WORDS = 11, STILL_WORDS = 4 }; /* number of four-byte arrays of struct sources; without motion */

/* Bytes of a block for `nodes` nodes and `sources` sources. `quad` 1: with second moments. `moving` 1: with motion of
 * nodes and sources; 0: the tree is valid at one time only. */
size_t octree_bytes(int64_t nodes, int64_t sources, int quad, int moving);
/* Set the numbers of nodes and sources and the pointers into such a block, which must be aligned to 64 bytes. Pointers
 * to absent arrays become NULL. */
void octree_place(struct octree *octree, void *block, int64_t nodes, int64_t sources, int quad, int moving);

/* Check that every node but the root has one parent, that each source is in exactly one leaf, that b encloses the
 * particles of a leaf and that masses add up. `spacing`: of the lattice. Returns 1, or 0 with the reason in
 * why[size]. */
int octree_valid(const struct octree *octree, double spacing, char *why, size_t size);

#ifdef __cplusplus
}
#endif
#endif
