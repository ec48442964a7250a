/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a walk on the device reads and writes, and how it is tuned. */
#ifndef GPU_WALK_JOB_H
#define GPU_WALK_JOB_H
#include <stdint.h>
#include <vector_types.h>

/* BLOCK targets stand in the registers of a warp; a sub-group of these shares a list. */
enum { LANES = 32, BLOCK = 8, SUBGROUP = 2 * BLOCK };

/* Cells: point masses; with second moments; with second moments in the local expansions alone. */
enum { CELLS_MONOPOLE = 1, CELLS_QUADRUPOLE, CELLS_MIXED };

/* Consecutive targets that share a traversal. */
struct walk_group {
  int32_t begin, end, family;
};

/* A family of neighbouring groups is walked first: what is far for all of it is expanded about its centre, once; what is
 * left is a list of nodes from which its groups go on. */
enum { FAMILY_TAYLOR = 40, HANDED_MOST = 4096 };
struct walk_family {
  int32_t begin, end;
  int32_t handed;           /* nodes in the list; where there were too many: the root alone, and no expansion */
  int32_t centre[3];
  float taylor[FAMILY_TAYLOR];
};

/* Numbers of a walk, for the tally. */
struct walk_count {
  unsigned long long family_tests, family_far, handed, tests, far, near, leaves, leaf_tests, leaf_cells, particles, flushes;
};

struct walk_job {
  const int4 *node;       /* struct node as two words of 16 bytes */
  const float4 *quad;     /* second moments, eight floats a node: xx yy zz xy, xz yz - - */
  const int4 *source;     /* lattice coordinates and mass (bits) */
  const float *a_old;     /* of every particle */
  const struct walk_group *group;
  struct walk_family *family;   /* or NULL: groups start from the root */
  int32_t *handed;              /* HANDED_MOST nodes for each family */
  int families;
  int most_handed;              /* a family with more hands nothing down; at most HANDED_MOST */
  float open_share;             /* a family opens what asks for more than d + open_share b_family */
  const int *groups;            /* how many, on the device */
  struct walk_group *pieces;    /* groups that turn out heavy are handed on in pieces of piece targets; piece 0: never */
  int *piece_count;
  int piece, most_leaves, most_near;
  float3 *acc;
  float *pot;
  float spacing, eps, gravity;
  float a_floor;
  float group_reach;      /* Delta^-1/4 or Delta^-1/5, where the nodes' reaches were made with Delta = 1 */
  float sub_reach;        /* the same for sub-groups */
  float family_budget;
  float far_budget;       /* G m b^(p+1) / d^(p+3) <= far_budget |a_old| */
  struct walk_count *count;
  /* the hard walk alone */
  const unsigned char *active;  /* or NULL: all */
  float r2, inverse_width;      /* R2, 1 / (R2 - R1) of the quintic split */
  float3 *hard;
};

/* Launch the walk of all groups with so many blocks. */
struct walk_choice {
  int cells, potential, group_most, counting, blocks;
};
const char *family_launch(const struct walk_choice *choice, const struct walk_job *job);
const char *hard_launch(const struct walk_job *job, int blocks);
const char *walk_launch(const struct walk_choice *choice, const struct walk_job *job);
#endif
