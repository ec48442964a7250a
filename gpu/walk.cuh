/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernels of the walks read and write.
 *
 * Lengths within a walk are in a unit near the softening, a power of two, so that high powers of distances stay within
 * float32 whatever the user's units are; conversions are exact. */
#ifndef GPU_WALK_CUH
#define GPU_WALK_CUH
#include "cells.cuh"
#include "let.cuh"

/* How a walk goes: all at a synchronisation, without or with potentials; the active, where nodes and sources move. */
enum { WALK_STILL, WALK_STILL_POTENTIAL, WALK_MOVING };

enum { SIBLINGS_BITS = 3, NODES_MOST = 1 << (31 - SIBLINGS_BITS) };   /* of a stack entry: number of siblings - 1 */

/* Time since the centres of nodes were taken, and half its square; for lengths in the walk's unit. */
struct since {
  float dt, half;
};

/* Particles [begin, end) that a warp walks together. */
struct __align__(16) item {
  int32_t begin, end, family, unused;
};
enum { ITEM_CLASSES = 3 };   /* the longest walks first */

/* A few active targets of a group. */
struct __align__(16) few_piece {
  int32_t begin, targets;
  uint32_t member[GROUP_MOST / WARP];   /* which they are, counted from the particle `begin` */
};

struct walk_job {
  struct tree t;               /* one or several, whose links hold in its arrays; course: NULL where bodies stand at the present tick */
  const int32_t *root;         /* where traversals start: the roots of the forest */
  int32_t roots;
  int32_t adding;              /* the forces of families before this one are added to; those of the others begin anew */
  struct particles p;
  const struct body *target;   /* where the particles of this rank are; where they are sources too, the same array */

  struct family *family;
  int32_t *handed;             /* handed_most nodes for each family */
  int32_t handed_most;         /* a family with more hands nothing down */
  const int32_t *family_list;  /* with their number; NULL: all */
  const int32_t *family_count;
  int32_t families;            /* without a list: those before this one, and their groups */

  const struct group *group;
  const int32_t *list;         /* of groups to be walked; NULL: all of the families */
  int32_t groups;
  const int32_t *home;         /* the group of every particle */
  int32_t stage;               /* 0: groups; 1: pieces of the heavy ones; 2: single targets of the heavy pieces */
  const struct item *item;     /* of the stage 0 where they are groups, 1 where they are pieces; a class behind another */
  int32_t items_stage;         /* which of these; -1: there are no items */
  int64_t item_begin[ITEM_CLASSES];   /* where the places of a class begin */
  int32_t *item_count;         /* of each class */
  unsigned long long *handed_sum;   /* of the families that are walked */
  int32_t most_near, most_leaves;   /* what makes a group or a piece heavy: it is handed on to the next stage */
  int2 *pieces;                /* particles [x, y) */
  int32_t *singles;
  int32_t *piece_count;        /* of the stages 1 and 2 */

  struct walk_count *count;
  double per_a, per_psi;       /* sums to accelerations and potentials: with G, from the walk's unit */
  const float *a_old;
  float a_floor;               /* |a_old| is raised to it */
  float spacing, eps2, eps, inverse_unit;
  float quad_scale;            /* of second moments: to the walk's unit */
  struct since since[2];       /* of the nodes before `fast_node`, and of those from it on */
  int32_t fast_node;
  float tick_length;
  int32_t tick;
  int by_acceleration;         /* the criterion asks for |a_old| */
  float far_scale[2];          /* of a family's expansions, of a group's: far where (d/b)^6 >= m far_scale / (b^2 |a_old|) */
  float far_least[2];          /* and >= far_least */
  int hard_only;               /* acc_hard alone is stored */
  int split_off;               /* acc_hard is acc */
  /* of hard forces: */
  int split_kernel;            /* enum split_kernel */
  float near;                  /* R2, in the unit */
  float reach;                 /* of what the criterion asks for: HARD_REACH, HARD_REACH_EXTENT */
  float y_slope, y_start;      /* Y = y_start - y_slope r, clipped */
  /* of walks of all (last, since the hard kernels' registers depend on where their numbers stand): */
  int local_roots;             /* so many roots, the first, are not for families that are added to */
  float work_kept;             /* of `work`, where forces begin anew */
};
enum { OF_FAMILY, OF_GROUP };   /* which expansion */
enum { PIECE = 16, HARD_PIECE = 8 };   /* targets of a heavy group's pieces: a sub-group */

/* Where the traversals of a family and its groups start: how many of the roots are not for them. */
static __device__ __forceinline__ int roots_skipped(const struct walk_job &job, int32_t family)
{
  return family < job.adding ? job.local_roots : 0;
}

/* items.cu: what the warps walk, after the families: groups; the heaviest, or all, cut into pieces of so many targets. With
 * `adds` those that have nothing to add to their hard forces are left out. */
enum { CUT_NONE, CUT_HEAVIEST, CUT_ALL };
void walk_items(struct device *d, struct walk_job *job, int how, int cut, int piece, int adds);
/* family.cu, group_walk.cu: launched for job.families and job.groups of them, in this way. */
void walk_families(struct device *d, const struct walk_job *job, int cells, int how);
void walk_groups(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks);
/* few_walk.cu: few active targets without a split, which host counts tell of; ESPALIER_FEW_PIECES in the environment. job.root
 * may be NULL: the roots of the local trees. */
int few_pieces_asked(void);
int few_serves(const struct device *d);
void few_walk(struct device *d, const struct walk_job *walk, int cells);
/* The same of the hard walk (family.cu, hard.cu). */
void hard_families(struct device *d, const struct walk_job *job, int cells, int how);
void hard_groups(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks);
#endif
