/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of the CUDA backend; known to gpu/ alone. Everything is queued on one stream, so verbs follow each other in order. */
#ifndef GPU_DEVICE_CUH
#define GPU_DEVICE_CUH
#include "memory.cuh"
#include "verbs.h"
#include "keys.h"
#include "neighbours.cuh"

enum { WARP = 32, THREADS = 256 };
#define FULL 0xffffffffu   /* all lanes of a warp */

/* Start a kernel on the device's stream; a grid of no blocks is no work. With checks on, it is waited for, so that what
 * fails is named. */
#define LAUNCH_SHARED(d, kernel, blocks, threads, shared, ...)                                  \
  do {                                                                                          \
    unsigned blocks_ = (unsigned)(blocks);                                                      \
    if (blocks_ > 0) {                                                                          \
      (kernel)<<<blocks_, (unsigned)(threads), (shared), (d)->stream>>>(__VA_ARGS__);           \
      CHECK(cudaGetLastError());                                                                \
      if (ESP_CHECKS) CHECK(cudaStreamSynchronize((d)->stream));                                \
    }                                                                                           \
  } while (0)
#define LAUNCH(d, kernel, blocks, threads, ...) LAUNCH_SHARED(d, kernel, blocks, threads, 0, __VA_ARGS__)

static inline int64_t blocks_for(int64_t n, int threads) { return (n + threads - 1) / threads; }

/* Particles as sources, each at its own time. */
struct __align__(16) body {
  int32_t x, y, z;   /* lattice */
  float m;
};
struct __align__(16) course {
  float v[3];
  int32_t tick;
  float a[3], unused;
};
struct quad {
  float q[6];   /* xx, yy, zz, xy, xz, yz */
};

/* The octree, for kernels: nodes as in octree.h, and what belongs to them. */
struct tree {
  int32_t nodes, bodies;
  struct node *node;
  struct motion *motion;
  struct quad *quad;
  int2 *range;           /* their particles [x, y) */
  uint8_t *cut;          /* whether their cubes reach over the faces of the domain */
  struct body *body;
  struct course *course;
};

/* Nodes of level l are [begin[l], begin[l + 1]). */
struct levels {
  int32_t count, begin[KEY_LEVELS + 3];
};

/* A tree of its own over consecutive particles: one of all, or within a soft step one of the slow particles and behind it one
 * of the fast, which can be renewed alone. Nodes and groups of both stand in the same arrays. */
struct part {
  int32_t first, count;       /* particles */
  int32_t base, nodes;
  struct levels levels;       /* in absolute numbers of nodes */
};
enum { SLOW, FAST, PARTS_MOST };

/* A part as kernels see it while its nodes are made: the host need not know their number. */
struct sprout {
  int32_t first, count;       /* particles */
  int32_t base, room;         /* the first node's number; places that there are for them */
  int32_t tiles;
  const int32_t *place;       /* the first node of level l in tile k, from 0 on, is place[l tiles + k]; behind all is their number */
};
static __device__ __forceinline__ int32_t sprout_nodes(const struct sprout &s) { return s.place[(int64_t)(KEY_LEVELS + 1) * s.tiles]; }
/* The first node of a level, up to the one behind the deepest. */
static __device__ __forceinline__ int32_t sprout_level(const struct sprout &s, int level) { return s.base + s.place[(int64_t)level * s.tiles]; }

/* Consecutive particles that share an interaction list. */
struct __align__(16) group {
  int32_t begin, end;
  float a_old;      /* smallest |a_old| */
  int32_t family;
};
/* A walk keeps two targets a lane. The best sizes of groups were measured (doc/gpu-walk.md); MaxGroupSize may ask for less. */
enum { GROUP_MOST = 2 * WARP, GROUP_MONOPOLE = 48, GROUP_QUADRUPOLE = 64 };

/* Consecutive particles whose groups share a traversal of what is far away: the largest cells of at most FAMILY_MOST particles. */
enum { FAMILY_MOST = 512, EXPANSION = 36 };
struct family {
  int32_t begin, end;
  /* of the last walk: */
  int32_t handed;             /* nodes that it hands down to its groups, or HANDED_ROOTS: they start from the roots */
  int32_t far;                /* cells in the expansion */
  int32_t centre[3];
  float taylor[EXPANSION];    /* local expansion about the centre, see taylor.cuh */
};
enum { HANDED_ROOTS = -1 };

/* Counts of the full walk. Warps add to one of many, so that they do not queue up at one place. */
enum { COUNT_SLOTS = 32 };
struct walk_count {
  unsigned long long targets, groups, particle_pairs, cell_pairs, tests, split_pairs, unused[2];
};

enum { SUMS = sizeof(struct sums) / sizeof(double), LEVEL_BINS = 32 };

/* Numbers that kernels make for the host. */
struct answers {
  double box[6], sums[SUMS], work;
  unsigned long long outside, active, targets, particle_pairs, cell_pairs, split_pairs, tests, groups;
  struct walk_count walked[COUNT_SLOTS];
  int32_t pieces[2];
  int32_t few;           /* pieces of few active targets */
  unsigned long long histogram[LEVEL_BINS];
  int32_t count;         /* of a selection */
  int32_t apart, fast_group, fast_family;   /* first of the fast particles, their first group and family */
  int32_t next;          /* next tick */
  int32_t level_most;
  int32_t active_groups, active_families;
  int32_t families;
  int32_t queue;         /* next group to be walked */
  int32_t strays;        /* particles that left the ways of the neighbour lists */
  int32_t items[3];      /* to be walked, by class */
  unsigned long long handed_sum;   /* what families handed down */
  int32_t unsorted;      /* the fast particles were not ordered */
  int32_t too_many;      /* nodes or families for their arrays */
};

struct device {
  struct device_config config;
  cudaStream_t stream;
  int multiprocessors;
  struct particles p, spare;    /* device arrays */
  struct particles mirror;      /* host arrays: they came with upload and go with download */
  struct lattice lattice;
  struct answers *answers, *told;   /* on the device; where they are copied to (pinned) */
  cudaEvent_t from, to, stamp[STAMPS];
  cudaStream_t beside;          /* of copies that others need not wait for */
  cudaEvent_t permuted, copied;
  int copying;                  /* the last particles are copied back from `spare`: what reads them begins with device_copied */
  struct tally *owed;           /* to which the numbers of the last walk are added when they are told */

  struct array<uint64_t> key[2];
  struct array<int32_t> place[2];     /* sorted along with keys */
  int key_now;                        /* which of the two holds the keys */
  struct array<uint64_t> bucket_key;  /* of the fast particles, while they are ordered */
  struct array<int32_t> bucket_place, bucket_count;
  struct {
    int32_t tick;
    double tick_length;
  } reordered;                        /* the last time */
  int key_levels;                     /* digits that they were sorted by */
  int deepest;                        /* level of the tree of whole keys */
  struct array<char> scratch;         /* CUB's, and partial sums */
  struct array<uint16_t> span;        /* levels of the nodes that begin at a particle */
  struct array<int32_t> tile_count, tile_place;
  int32_t *level_told;                /* pinned */

  struct tree tree;
  struct part part[PARTS_MOST];
  int parts;
  int unsettled;                      /* build and groups were queued without waiting for their numbers, */
  int outgrown;                       /* which is not to be done, since they outgrew the arrays */
  double face_low[3], face_high[3];   /* of the domain, as build was told */
  int uprooted;                       /* particles have come or gone since sources were made of them */
  int renewing;                       /* order, build, groups and moments are of the fast particles alone, until these are done */
  int fast_told;                      /* where groups and families of the fast begin stands in `told` */
  int32_t motion_tick;                /* time of the nodes' centres, */
  int32_t fast_tick;                  /* and of those of the fast particles */
  struct array<struct node> node;
  struct array<struct motion> motion;
  struct array<struct quad> quad;
  struct array<int2> range;
  struct array<uint8_t> cut;
  struct array<int32_t> big;          /* large cells, in moments */
  struct array<struct body> body;
  struct array<struct course> course;
  int32_t behind_nodes, behind_bodies;   /* the most places that LETs have taken behind the tree and its bodies: these stay */

  double group_width;                 /* KNOB_GROUP_WIDTH */
  struct array<uint8_t> head;         /* of groups, a flag for every particle */
  struct array<int2> head_count;      /* of groups and families, for every tile of particles */
  struct array<int32_t> group_begin;
  struct array<struct group> group;
  int32_t groups;
  struct array<int32_t> home;         /* the group of every particle */
  struct array<float> a_old;          /* |a_old| of every particle */
  struct array<int32_t> listed;       /* the last selection in which a group was listed */
  int32_t selections;
  struct array<int32_t> active_group; /* groups with active members */
  int32_t active_groups, active_tick;
  int64_t actives;                    /* active members, of the last selection */
  struct array<int32_t> next;         /* links of the depth-first walk */
  struct array<int32_t> active;       /* active members, in order: of walks without groups */

  struct array<struct family> family;
  struct array<int32_t> family_begin;
  int32_t families;
  struct array<int32_t> handed;         /* nodes, of every family */
  struct array<int32_t> family_listed;  /* the last walk in which a family was listed */
  int32_t family_walks;
  struct array<int32_t> active_family;  /* families with active members */
  int32_t active_families;              /* those of the active groups are listed there; -1: they are not */
  struct array<int2> piece;             /* of heavy groups: particles [x, y); single targets of heavy pieces */
  struct array<int32_t> single;
  struct array<struct item> item;       /* what is walked */
  struct array<struct few_piece> few_piece;   /* of few active targets, */
  int few_listed;                       /* which this walk has listed */
  int few_pieces;                       /* that may be on a multiprocessor */
  struct array<struct body> present;    /* sources predicted to `present_tick`, by moments or a walk; -1: not yet */
  int32_t present_tick, present_bodies;   /* the first so many of them */
  struct array<int32_t> root;           /* where walks start */
  struct neighbours neighbours;
  int split_off;                      /* the last walk had no split: acc_hard is the whole acceleration */
  int closed;                         /* this soft step has had its closing kicks */
  int next_known;                     /* answers->next holds the next tick */
  struct array<int32_t> tile_next;    /* the first tick at which a step of a tile's particles ends; 0: not known */
  int selected;                       /* active particles have not been corrected */
  int32_t tiles_known;                /* of particles before this one */
  struct array<double> points;        /* of direct and nearest; cuts */
  struct array<char> packed;          /* particles that leave or arrive */
  void *packed_told;                  /* where they are copied to on the host */
  size_t packed_room;
  struct lets *lets;                  /* see let.cuh */
  int bypass;                         /* long messages stand on the device */
  struct array<char> arriving;        /* particles that arrive there */
  struct nccl_way *nccl;              /* see nccl.cu */
};

/* Take the numbers of nodes, groups and families as they were last told, where build and groups did not wait for them. Where
 * these had outgrown the arrays, both are made anew, and what was queued behind them has done nothing: then it returns 0. */
int device_settle(struct device *d);
void groups_settle(struct device *d);
/* A part for the kernels that make its nodes and groups. */
struct sprout device_sprout(const struct device *d, int part);

/* The parts that order, build, groups and moments are about. */
static inline int parts_begin(const struct device *d) { return d->renewing ? FAST : 0; }

/* The numbers on the device, after all that was queued. */
const struct answers *device_ask(struct device *d);
/* The walk's numbers were told: they go to the tally that is owed them. */
void walk_told(struct device *d);
/* Set fields of the device's numbers to zero. */
#define device_zero(d, field) CHECK(cudaMemsetAsync(&(d)->answers->field, 0, sizeof (d)->answers->field, (d)->stream))
/* Room for n particles in a set of device arrays; what was in it is lost when it grows. */
void device_particles_room(struct device *d, struct particles *p, int64_t n);
/* The new particle i is the old particle order[i] in all fields, and so are their bodies and courses; d->p and d->spare change places. */
void device_permute_sources(struct device *d, const int32_t *order);
/* The same of the particles from `first` on; order[0] belongs to the first of them, in numbers of all. */
void device_permute_last(struct device *d, const int32_t *order, int32_t first);
/* Sources of the particles as they stand, each where and when it is. */
void device_make_sources(struct device *d);
/* What is queued from now on finds the particles in their place. */
void device_copied(struct device *d);
/* Make room for `n` particles, keeping those that are there. */
void device_particles_grow(struct device *d, int64_t n);
/* Where the first `bodies` sources (the local ones, and those of LETs behind them) are at a tick, which must not lie before their own;
 * for the tree of now, until `sources`. */
struct body *device_present(struct device *d, int32_t tick, double tick_length, int32_t bodies);
/* The accelerations that are |a_old|: without a split those of the last steps are whole ones, and what particles feel where they
 * are now; at the last synchronisation, orbits ago, some felt little. */
static inline const float *device_latest(const struct device *d, const struct particles *p) { return d->split_off ? p->acc_hard : p->acc; }
/* What LETs had behind the local tree is the tree's again: they are no part of a forest any more (forest.cu). */
void lets_uproot(struct device *d);
/* For tests: with ESPALIER_STALL=RANK:WALK:SECONDS in the environment that rank's walk of that number (from 1 on) waits for a kernel of
 * about so many seconds. */
void device_stall(struct device *d);
/* With checks on: the tree is looked through on the host. */
void device_check_tree(struct device *d);

/* Records in whole words of 16 and 8 bytes: their types, shared with the host, ask for less alignment than arrays have. */
static __device__ __forceinline__ struct node load_node(const struct node *from)
{
  const int4 a = ((const int4 *)from)[0], b = ((const int4 *)from)[1];
  const struct node n = {{a.x, a.y, a.z}, __int_as_float(a.w), __int_as_float(b.x), __int_as_float(b.y), b.z, (uint32_t)b.w};
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

static __device__ inline int lane_id(void) { return (int)(threadIdx.x % WARP); }
static __device__ inline unsigned lanes_below(void) { return (1u << lane_id()) - 1; }
#endif
