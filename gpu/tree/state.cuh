/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of the tree folder: the sorted order of the particles, the octree, the sources, the targets' groups, and the
 * lists of active groups. Data only; functions are in gpu/tree/tree.cuh. */
#ifndef GPU_TREE_STATE_CUH
#define GPU_TREE_STATE_CUH
#include "gpu/device/memory.cuh"
#include "gpu/device/runtime.cuh"
#include "particles/timeline.h"
#include "tree/keys.h"
#include "tree/octree.h"

/* --- types of kernels -------------------------------------------------------------------------------------------- */

/* A source: position on the lattice and mass, at the tick of its motion state. */
struct __align__(16) body
{
  int32_t x, y, z; /* lattice */
  float m;
};
struct __align__(16) motion_state
{
  float v[3];
  int32_t tick;
  float a[3], unused;
};
/* Second moments of a node, code mass times code length squared. */
struct quad {
  float q[6]; /* xx, yy, zz, xy, xz, yz */
};

/* The softenings of the particles of a node: sum of mass times eps^2, smallest and largest class. */
struct node_softening {
  float sum;
  int32_t low, high;
};

/* The octree as kernels see it: nodes as in octree.h, and the arrays that belong to them. */
struct tree {
  int32_t nodes, bodies;
  struct node *node;
  struct motion *motion;
  struct quad *quad;
  int2 *range;  /* particles of the node: [x, y) */
  uint8_t *cut; /* 1 if the cube of the node extends beyond the faces of the domain */
  struct body *body;
  struct motion_state *motion_state;
};

/* Nodes of level l are [begin[l], begin[l + 1]). */
struct levels {
  int32_t count, begin[KEY_LEVELS + 3];
};

/* Trees over consecutive particles that were built together. Particles are in the order of their bands of block levels,
 * and those of each band have a tree of their own: nodes of level 0 are its root. Within a soft step parts form a
 * stack: a part of band k and deeper ones is put on top of what stays of the parts below, whose trees of these bands
 * are not walked from then on. Nodes and groups of all parts are in the same arrays.
 *
 * On several ranks there are two parts with one tree each, SLOW and FAST, since LETs are chosen from one tree. */
struct tree_part {
  int32_t first, count; /* particles */
  int32_t band;         /* the first one */
  int32_t base, nodes;
  int32_t tick;         /* of the centres of the nodes */
  struct levels levels; /* node indices in the common array */
};
enum { SLOW, FAST, PARTS_MAX = BANDS_MAX };
/* What the next build is of: all, the top of the stack, or nothing. */
enum renewal { RENEWS_ALL, RENEWS_LAST, RENEWS_NOTHING };

/* A part as kernels see it while its nodes are made, before the host knows how many there are. */
struct build_view {
  int32_t first, count;   /* particles */
  int32_t base, capacity; /* index of the first node; capacity for nodes from there on */
  int32_t tiles;
  /* [levels tiles + 1]: first node of level l in tile k at l tiles + k; then the number of nodes */
  const int32_t *place;
  int class_bits; /* of the keys, above their digits */
};
static __device__ __forceinline__ int32_t build_view_nodes(const struct build_view &view)
{
  return view.place[(int64_t)(KEY_LEVELS + 1) * view.tiles];
}
/* The first node of a level; also valid for the level after the deepest. */
static __device__ __forceinline__ int32_t build_view_level(const struct build_view &view, int level)
{
  return view.base + view.place[(int64_t)level * view.tiles];
}

/* A target group: consecutive particles that share an interaction list. */
struct __align__(16) group
{
  int32_t begin, end;
  float a_old; /* smallest |a_old| */
  int32_t supergroup;
};
/* A walk keeps two targets a lane. The optimal group sizes are measured (doc/gpu-walk.md); MaxGroupSize may set a lower
 * limit. */
enum { GROUP_MAX = 2 * LANES, GROUP_MONOPOLE = 3 * LANES / 2, GROUP_QUADRUPOLE = 2 * LANES };

/* A target supergroup: consecutive particles whose groups share the traversal of distant nodes. Supergroups are the
 * largest cells of at most SUPERGROUP_MAX particles. */
enum { SUPERGROUP_MAX = 512, EXPANSION = 36 };
struct supergroup {
  int32_t begin, end;
  /* of the last walk: */
  /* nodes that it hands down to its groups, or HANDED_ROOTS: its groups start from the roots */
  int32_t handed;
  int32_t far; /* cells in the expansion */
  int32_t centre[3];
  float taylor[EXPANSION]; /* local expansion about the centre, see taylor.cuh */
};
enum { HANDED_ROOTS = -1 };

/* --- state ------------------------------------------------------------------------------------------------------- */

/* Keys and the sort (order.cu, resort.cu). */
struct order_state {
  struct array<uint64_t> key[2];
  struct array<int32_t> place[2];    /* particle numbers, sorted along with the keys */
  int current;                       /* which key array holds the sorted keys */
  struct array<uint64_t> bucket_key; /* buckets of the fast particles while they are sorted */
  struct array<int32_t> bucket_place, bucket_count;
  struct {
    int32_t tick;
    double tick_length;
  } reordered;                       /* arguments of the last reorder */
  int build_begun;                   /* order has queued device_begin_build, and waited for it */
  int levels;                        /* digits of the keys that the last sort used, */
  int class_bits;                    /* and bits above the digits: of the band, at least one */
  int renewals;                      /* sorts of the fast particles alone since the last sort of all */
  level_bands bands;                 /* of the last sort of all */
  int32_t band_begin[BANDS_MAX + 1]; /* first particles of the bands, by the last counts; then their number */
  int deepest;                       /* deepest level of the last tree of whole keys; 0: unknown */
};

/* The octree (build.cu, moments.cu). */
struct tree_state {
  struct tree view; /* what kernels get */
  struct tree_part part[PARTS_MAX];
  int parts;
  int counts_pending;               /* build and groups were queued without waiting for their counts */
  int capacity_exceeded;            /* the counts exceeded the arrays: build and groups are repeated, with a wait */
  double face_low[3], face_high[3]; /* faces of the domain at the last build, code length */
  enum renewal renews;              /* what order, build, groups and moments concern */
  int fast_results_valid;           /* host_results holds the first groups and supergroups of the bands */
  int64_t moments_made;             /* number of moment updates */
  int32_t motion_tick;              /* tick of the centres of the nodes of the first part, */
  int32_t fast_tick;                /* and of the last one */
  struct array<uint16_t> span;      /* levels of the nodes that begin at a particle */
  struct array<int32_t> tile_count, tile_place;
  int32_t *host_level_begin; /* pinned */
  struct array<struct node> node;
  struct array<struct motion> motion;
  struct array<struct quad> quad;
  struct array<int2> range;
  struct array<uint8_t> cut;
  struct array<int32_t> big;                  /* large cells, in moments */
  struct array<struct node_softening> soften; /* where softenings differ */
  struct array<int32_t> next;                 /* links of the depth-first walk */
  /* capacity kept for nodes of LETs after the local tree: the largest number so far */
  int32_t let_nodes_max;
};

/* Particles as sources (permute.cu, moments.cu). */
struct source_state {
  struct array<struct body> body;
  struct array<struct motion_state> motion_state;
  int stale;                         /* particles arrived or left since the sources were made */
  struct array<struct body> present; /* sources predicted to present_tick by moments or a walk */
  int32_t present_tick;              /* -1: nothing is predicted */
  int32_t present_bodies;            /* the first so many are predicted */
  /* capacity kept for sources of LETs after the local ones: the largest number so far */
  int32_t let_bodies_max;
};

/* Target groups and supergroups (groups.cu). */
struct target_state {
  double group_width;            /* TUNABLE_GROUP_WIDTH, code length */
  struct array<uint8_t> head;    /* flags of the particles that begin a group or a supergroup */
  struct array<int2> head_count; /* groups and supergroups that begin in each tile of particles */
  struct array<int32_t> group_begin;
  struct array<struct group> group;
  int32_t groups;
  struct array<int32_t> group_of; /* the group of each particle */
  struct array<float> a_old;      /* |a_old| of each particle */
  struct array<struct supergroup> supergroup;
  struct array<int32_t> supergroup_begin;
  int32_t supergroups;
};

/* Groups with active particles, as the last selection listed them (gpu/step). */
struct active_state {
  int32_t tick;
  int64_t count;               /* active particles */
  struct array<int32_t> group; /* groups with active particles */
  int32_t groups;
  struct array<int32_t> listed; /* for each group, the last selection that listed it */
  int32_t selections;
  struct array<int32_t> supergroup;        /* supergroups with active particles */
  int32_t supergroups;                     /* -1: those of the active groups are not listed */
  struct array<int32_t> supergroup_listed; /* for each supergroup, the last selection that listed it */
  int32_t supergroup_selections;
  struct array<int32_t> particle; /* active particles in order, for walks without groups */
};

/* Free the device and host memory of the states above. */
void order_state_free(struct order_state *state);
void tree_state_free(struct tree_state *state);
void source_state_free(struct source_state *state);
void target_state_free(struct target_state *state);
void active_state_free(struct active_state *state);

/* --- loads ------------------------------------------------------------------------------------------------------- */

/* Records are read in words of 16 and 8 bytes: their types, shared with the host, declare less alignment than the
 * arrays have. */
static __device__ __forceinline__ struct node load_node(const struct node *from)
{
  const int4 a = ((const int4 *)from)[0], b = ((const int4 *)from)[1];
  const struct node n = {{a.x, a.y, a.z}, __int_as_float(a.w), __int_as_float(b.x), __int_as_float(b.y), b.z,
                         (uint32_t)b.w};
  return n;
}
static __device__ __forceinline__ struct motion load_motion(const struct motion *from)
{
  const float4 a = ((const float4 *)from)[0], b = ((const float4 *)from)[1];
  const struct motion m = {{a.x, a.y, a.z}, {a.w, b.x, b.y}, b.z, b.w};
  return m;
}
static __device__ __forceinline__ struct quad load_quad(const struct quad *from)
{
  const float2 a = ((const float2 *)from)[0], b = ((const float2 *)from)[1], c = ((const float2 *)from)[2];
  const struct quad q = {{a.x, a.y, b.x, b.y, c.x, c.y}};
  return q;
}
#endif
