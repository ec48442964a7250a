/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks of a forest: their jobs, which kernels read, and their launches.
 *
 * Lengths within a walk are in the walk's unit (unit_of), the power of two above the softening. So high powers of
 * distances stay within float32 in any user units, and conversions are exact. */
#ifndef GPU_WALK_CUH
#define GPU_WALK_CUH
#include "gpu/walk/blocks.cuh"
#include "gpu/walk/cells.cuh"
#include "particles/softening.h"

/* Kinds of walks: all particles at a synchronisation, without or with potentials; active particles, while nodes and
 * sources move; all particles with potentials where near pairs have weights: WALK_SOFT, or no softening. */
enum { WALK_STILL, WALK_STILL_POTENTIAL, WALK_MOVING, WALK_WEIGHTED };

/* low bits of a stack entry: number of siblings - 1 */
enum { SIBLINGS_BITS = 3, NODES_MAX = 1 << (31 - SIBLINGS_BITS) };

/* Time dt since the tick of the centres of nodes, and dt^2 / 2; over the walk's unit, so that they give lengths in
 * it. */
struct elapsed {
  float dt, half;
};

struct walk_job {
  struct tree t;       /* one or several trees; motion_state NULL: bodies are at the present tick */
  const int32_t *root; /* roots of the forest, where traversals start */
  int32_t roots;
  int32_t adding; /* supergroups before this one add to their forces; those of the others are overwritten */
  struct particles p;
  const struct body *target; /* positions of the particles of this rank; t.body where these are sources too */

  struct supergroup *supergroup;
  int32_t *handed;                 /* handed_max nodes for each supergroup */
  int32_t handed_max;              /* a supergroup with more nodes hands none down: its groups start at the roots */
  const int32_t *supergroup_list;  /* supergroups that are walked; NULL: the first `supergroups` */
  const int32_t *supergroup_count; /* length of the list */
  int32_t supergroups;             /* with a list: an upper limit of its length; without: those before this one */

  const struct group *group;
  const int32_t *list; /* groups that are walked; NULL: all groups of the supergroups */
  int32_t groups;
  const int32_t *group_index; /* the group of every particle */
  int32_t stage;              /* 0: groups; 1: pieces of heavy groups; 2: single targets of heavy pieces */
  const struct item *item;    /* groups (stage 0) or pieces (stage 1) in the order of the walk, class after class */
  int32_t items_stage;        /* stage that walks the items; -1: there are no items */
  int64_t item_begin[ITEM_CLASSES]; /* index of the first item of a class */
  int32_t *item_count;              /* number of items of each class */
  unsigned long long *handed_sum;   /* number of nodes that all walked supergroups hand down */
  /* a group or piece with more near cells or leaves is heavy, and is deferred to a later stage */
  int32_t heavy_near, heavy_leaves;
  int2 *pieces;     /* particles [x, y) */
  int32_t *singles; /* particles, at every single_step-th place: from one end or the other */
  int single_step;
  int32_t *piece_count; /* of stages 1 and 2 */

  struct walk_count *count;
  double per_a, per_psi; /* factors from sums in the walk's unit to accelerations and potentials, with G */
  const float *a_old;
  float a_floor;            /* lower limit of |a_old| */
  float spacing, eps2, eps; /* lattice spacing and softening in the walk's unit */
  float inverse_unit;       /* walk's units in a user length */
  float quad_scale;         /* factor on second moments: to the walk's unit */
  /* of the nodes by age: those from node_begin[k] on, up to the next, since their moments; `ages` of them */
  struct elapsed elapsed[PARTS_MAX];
  int32_t node_begin[PARTS_MAX];
  int ages;
  float tick_length;
  int32_t tick;
  int criterion;      /* its kind */
  float far_scale[2]; /* by OF_SUPERGROUP, OF_GROUP: a cell is far if (d/b)^6 >= m far_scale / (b^2 |a_old|) */
  float far_min[2];   /* and (d/b)^6 >= far_min */
  int hard_only;      /* only acc_hard is stored */
  int split_off;      /* there is no split: acc_hard = acc */
  /* hard forces: */
  int split_kernel;       /* enum split_kernel */
  float near;             /* R2 in the walk's unit */
  float reach;            /* factor on the distance of the criterion: HARD_REACH, HARD_REACH_EXTENT */
  float y_slope, y_start; /* Y = y_start - y_slope r, clipped */
  /* walks of all particles (last, because the registers of the hard kernels depend on the offsets of their members): */
  int local_roots; /* supergroups that add do not walk the first local_roots roots */
  float work_kept; /* factor on `work` where forces are overwritten */
  /* nodes that reach within this distance are opened: the widest R2 of WALK_SOFT; else clearance_of or 0 */
  float open_within;
  int soft, potential; /* of WALK_WEIGHTED: acc_soft is stored as well; pot is stored, */
  int add_potential;   /* and added to what is there */
  struct weights weights;
  int32_t stride;             /* every stride-th group is walked */
  int class_begin, class_end; /* classes of items that are walked */
  /* where softenings differ, in the walk's unit: squares of those of the classes, the difference of the largest and the
   * smallest one, and by OF_SUPERGROUP, OF_GROUP the smallest d^2 of a far cell beside that of the criterion: */
  float class_eps2[SOFTENING_CLASSES], eps2_spread, far_spread[2];
};
enum { OF_SUPERGROUP, OF_GROUP };    /* whose local expansion */
enum { PIECE = 16, HARD_PIECE = 8 }; /* targets of a piece of a heavy group: a target block */

/* Number of roots, from the first on, that a supergroup and its groups do not walk. */
static __device__ __forceinline__ int roots_skipped(const struct walk_job &job, int32_t supergroup)
{
  return supergroup < job.adding ? job.local_roots : 0;
}

/* Ticks at which the centres of nodes hold: tick[k] of those from begin[k] on, up to the next. */
struct node_ticks {
  int count;
  int32_t begin[PARTS_MAX], tick[PARTS_MAX];
};

/* Trees that are walked together. */
struct forest {
  struct tree t;
  const int32_t *root; /* NULL: the roots of the local tree */
  int roots;
  struct node_ticks ticks;
  int32_t supergroups; /* in walks of all particles, the supergroups before this one have forces from the forest */
  int32_t adding;      /* supergroups before this one add to their forces; those of the others are overwritten */
  int local_roots;     /* supergroups that add do not walk the first local_roots roots */
  int whole;           /* 1: the local tree and LETs, for all walked supergroups */
};

/* --- jobs (walk.cu) ---------------------------------------------------------------------------------------------- */

enum {
  FEW_GROUPS = 80, /* groups for each multiprocessor; if there are fewer, all are cut into pieces */
  PIECE_WARPS = 16 /* warps on a multiprocessor for pieces and single targets */
};
/* A job with the numbers of a request and a forest; `cells` is one of CELLS_*. Targets and arrays are set by the
 * functions below. */
struct walk_job walk_job_of(struct device *d, const struct walk_request *request, const struct forest *forest,
                            int cells);
/* Set the targets of a job: the groups of a device list, with their supergroups; the active groups; all groups of the
 * first supergroups. Queued. */
void walk_choose_listed(struct device *d, struct walk_job *job, const int32_t *list, int32_t groups);
void walk_choose_active(struct device *d, struct walk_job *job, const struct forest *forest);
void walk_choose_all(struct device *d, struct walk_job *job, int32_t supergroups);
/* Set the arrays of a job. Its roots are those of the local tree if it has none. Queued. */
void walk_place(struct device *d, struct walk_job *job);
/* An estimate of the number of groups that a job walks, for the grid size: grids stride over the groups. */
int64_t walk_groups_count(const struct device *d, const struct walk_job *job);
/* Set the constants of the split in the walk's unit, which is `unit` user lengths. */
void walk_set_split(struct walk_job *job, const struct split *split, double unit);
/* Queue the full walk of a forest for the targets of a request. */
void walk_full(struct device *d, const struct walk_request *request, const struct forest *forest);
/* Whether the request is part of a walk of all particles in two parts: the local tree, then LETs. */
static inline bool forest_joins(const struct walk_request *request)
{
  bool local_only = request->local && request->last && request->peer_count == 0;
  return request->kind != WALK_HARD && request->let == LET_SOFT && !local_only;
}
/* Whether `work` decays before the walk: hard forces of the local tree, which add to it, may precede the full walk. */
static inline bool walk_decays_work_first(const struct walk_request *request)
{
  return forest_joins(request) && request->split.on && request->kind == WALK_TOTAL;
}

/* --- launches ---------------------------------------------------------------------------------------------------- */

/* items.cu: queue the list of what the warps walk, after the supergroups: groups (CUT_NONE), or with the heaviest or
 * all of them cut into pieces of `piece` targets. With `adds`, groups that have nothing to add to their hard forces are
 * left out. `how` is one of WALK_*. */
enum { CUT_NONE, CUT_HEAVIEST, CUT_ALL };
void walk_items(struct device *d, struct walk_job *job, int how, int cut, int piece, int adds);
/* supergroup.cuh, group_walk.cuh: queue the walk of the supergroups of a job, and of its present stage with a grid of
 * `blocks` warps. */
void walk_supergroups(struct device *d, const struct walk_job *job, int cells, int how);
void walk_groups(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks);
void walk_supergroups_unlike(struct device *d, const struct walk_job *job, int cells, int how);
void walk_groups_unlike(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks);
/* few_walk.cu: whether the active targets are few by the counts on the host (limit: debug switch few_pieces), and the
 * queued walk of them, without a split. walk->root may be NULL: the roots of the local trees. */
int few_walk_applies(const struct device *d);
void few_walk(struct device *d, const struct walk_job *walk, int cells);
/* As walk_supergroups and walk_groups, for the hard walk (supergroup.cuh, gpu/hard_walk/hard_walk.cuh). */
void walk_hard_supergroups(struct device *d, const struct walk_job *job, int cells, int how);
void walk_hard_groups(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks);
void walk_hard_supergroups_unlike(struct device *d, const struct walk_job *job, int cells, int how);
void walk_hard_groups_unlike(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks);
#endif
