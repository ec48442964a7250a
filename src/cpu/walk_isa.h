/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inner loops of the walk, compiled once per instruction set (walk_isa.c); walk_isa_choose selects a table at run
 * time. */
#ifndef CPU_WALK_ISA_H
#define CPU_WALK_ISA_H
#include <stdint.h>

#include "cpu/list_isa.h"
#include "gravity/split.h"
#include "particles/softening.h"
#include "tree/octree.h"

enum { LIST_MAX = 2048, GROUP_MAX = 1024, TARGET_PAD = 4, CELL_PAD = 8 };

/* Point masses in the group's own frame (lengths), padded with massless entries. */
struct list {
  int n;
  float *x, *y, *z, *m;
  float *quad[6]; /* cells with second moments only */
  float *scale;   /* of soft_pairs: 1 / split_factor; NULL where they are not used */
  float *eps2;    /* squared softenings; NULL: all alike */
};

struct targets {
  int n;                     /* at most GROUP_MAX */
  float *x, *y, *z;          /* in the group's own frame, padded to TARGET_PAD with copies of the last */
  float *scale;              /* 1 / split_factor, for soft_pairs */
  float *eps2;               /* squared softenings, for lists that have them */
  double *a[3], *h[3], *pot; /* sums: acceleration, hard acceleration, potential (all without G) */
};

/* Parameters of a pair loop, and which sums it computes. */
struct pair_job {
  float eps2;                 /* of all particles, unless the list has eps2 */
  int potential, total, hard; /* hard: through the split */
  int soft;                   /* of soft_pairs, */
  float core2;                /* with split_core2 */
  struct split split;
};

/* The sink of a traversal: the group's ball, the parameter of the acceptance criterion, and the time since the nodes'
 * centres. */
struct view {
  int32_t centre[3]; /* of the group's ball, lattice */
  float spacing;
  float radius; /* of the ball */
  float sink;   /* of the acceptance criterion */
  float near;   /* beyond it there is no hard part (R2), 0 where the split is off */
  /* nodes that reach within this distance of the ball are opened: the widest R2 of WALK_SOFT, else 0 */
  float open_within;
  int prune;      /* skip nodes that are wholly beyond `near` */
  int order;      /* 1 or 2 */
  float dt_nodes; /* time since the nodes' centres */
  int32_t tick;
  float tick_length;
  const float *eps2; /* squared softenings of the classes (particles/softening.h); NULL: all alike */
};

/* Result of a traversal: cells in the group's frame, far and near (these may have a hard part), and leaves. */
struct finds {
  struct list cells[2];  /* [0] far, [1] near */
  int32_t *cell_node[2]; /* their nodes, for second moments */
  int32_t *leaf;         /* nodes */
  uint8_t *leaf_near;
  int leaves;
  int64_t tests;
};

/* A leaf about its first source (lengths): positions are differences of lattice coordinates, so floats lose nothing. */
struct leaf {
  float mass;
  /* centre of mass (of the plain mean where there is no mass), its velocity, acceleration */
  float centre[3], v[3], a[3];
  float b2, spread_v2, spread_a2; /* largest squared deviations */
  float quad[6];
};

struct box_table; /* boxes of a LET's receiver, and a node that is tested against them: see essential.h */
struct essential_source;

struct walk_isa {
  const char *name;
  /* The hard part (cpu/list_isa.h). */
  void (*list_force)(const struct list_sources *sources, const struct list_target *target, const int32_t *entry,
                     int64_t n, struct hermite_force *force);
  void (*list_force_nearest)(const struct list_sources *sources, const struct list_target *target, const int32_t *entry,
                             int64_t n, struct hermite_force *force, double *nearest2);
  void (*list_kick)(const struct list_sources *sources, const struct list_target *target, const int32_t *entry,
                    int64_t n, struct pair_kick *kick);
  int64_t (*list_near)(const float *x, const float *y, const float *z, int64_t n, const float at[3], float reach2,
                       int32_t *near);
  /* The largest of what the boxes need of a node (enum need); the same as essential_need. */
  int (*needs)(const struct box_table *table, const struct essential_source *asked);
  /* Visit nodes from *stack[*depth]; returns when the stack is empty (1) or when the finds have no space for another
   * node's children (0; use the finds, empty them, call again). */
  int (*traverse)(const struct octree *octree, const struct view *view, int32_t *stack, int *depth, struct finds *finds,
                  int capacity);
  /* Append sources [first, first + n) predicted to the view's time to the list. */
  void (*stage)(const struct octree *octree, const struct view *view, int32_t first, int n, struct list *list);
  /* Append the second moments of cells. */
  void (*stage_quad)(const struct octree *octree, const int32_t *node, int n, struct list *list);
  /* The entries of `all` within `reach` of the point (with radius added), appended to `l`. */
  void (*filter)(const struct list *all, int quad, const float centre[3], float reach, struct list *l);
  void (*pairs)(const struct targets *targets, struct list *list, const struct pair_job *job);
  void (*quad_pairs)(const struct targets *targets, struct list *list, const struct pair_job *job);
  /* Soft sums of particles, acceleration and potential: each pair with the weight 1 - K for the larger radii of the
   * two. */
  void (*soft_pairs)(const struct targets *targets, struct list *list, const struct pair_job *job);
  /* Sums of a leaf's sources [first, first + n) predicted to `tick`, for moments. */
  void (*leaf)(const struct sources *sources, int32_t first, int n, int32_t tick, float tick_length, float spacing,
               struct leaf *leaf);
  /* Largest squared distance, in lattice units, of sources [begin, end) from a point. */
  double (*farthest)(const struct sources *sources, int32_t begin, int32_t end, const int32_t x[3]);
  /* 1 / sqrt(eps2) with the very rounding of the pair loops, to take the self energy out exactly; 0 without softening,
   * where there is none. */
  float (*inverse_root)(float eps2);
};

extern const struct walk_isa walk_isa_generic, walk_isa_avx2, walk_isa_avx512;
/* The best table for this machine; the environment variable ESPALIER_SIMD (generic, avx2, avx512) may select a narrower
 * one. */
const struct walk_isa *walk_isa_choose(void);
#endif
