/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts that the walks of supergroups and of groups share: the ball of the targets, tests of nodes, stacks, local
 * expansions. */
#ifndef GPU_TRAVERSE_CUH
#define GPU_TRAVERSE_CUH
#include <float.h>

#include "gpu/walk/blocks.cuh"
#include "gpu/walk/taylor.cuh"
#include "gpu/walk/walk.cuh"
#include "particles/timeline.h"

enum {
  SIBLINGS = 1 << SIBLINGS_BITS,
  SLOTS = 2, /* nodes that a lane tests at each step */
  WIDE = SLOTS * LANES / SIBLINGS,
  /* with more ranges on the stack, one is taken at each step: then the stack grows by at most 7 per level */
  NARROW = 96,
  STACK = NARROW + SLOTS * LANES + (SIBLINGS - 1) * (KEY_LEVELS + 1),
  STAGED_MAX = LANES + SLOTS * LANES
};

/* The ball of some targets, in the walk's unit about its centre, and the constants of its tests. */
struct view {
  int32_t centre[3];
  float radius, sink;
  float inverse_radius, far_factor, far_min; /* a cell is far if (d / b)^6 >= m far_factor and >= far_min */
  float spread_factor, spread_min; /* and, where softenings differ, d^4 >= m spread_factor and d^2 >= spread_min */
  int targets;
};

/* Squared softenings of the sources and of the targets of a warp, where they differ; else nothing, in no memory. */
template <bool OWN, int SOURCES, int TARGETS> struct softenings {
  float eps2[SOURCES], target_eps2[TARGETS];
};
template <int SOURCES, int TARGETS> struct softenings<false, SOURCES, TARGETS> {
  static constexpr float *eps2 = nullptr, *target_eps2 = nullptr;
};

/* --- lanes ------------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ float lanes_max(float x) { return __uint_as_float(warp_max(__float_as_uint(x))); }
static __device__ __forceinline__ float lanes_min(float x) { return __uint_as_float(warp_min(__float_as_uint(x))); }

/* --- targets ----------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ int4 load_body(const struct walk_job &job, int32_t i)
{
  return load_read_only((const int4 *)&job.t.body[i]);
}
static __device__ __forceinline__ int4 load_target(const struct walk_job &job, int32_t i)
{
  return load_read_only((const int4 *)&job.target[i]);
}

/* Whether a particle is a target. */
template <int HOW> static __device__ __forceinline__ bool needs_force(const struct walk_job &job, int32_t i)
{
  return HOW != WALK_MOVING || timeline_end(&job.p, i) == job.tick;
}

/* The acceleration to which errors of forces on a particle are compared (mac_scale); 1 if the criterion does not depend
 * on |a_old|. */
static __device__ __forceinline__ float a_old_of(const struct walk_job &job, int32_t i)
{
  if (!mac_kind_uses_a_old(job.criterion)) return 1;
  return mac_scale(job.criterion, fmaxf(load_read_only(&job.a_old[i]), job.a_floor));
}

/* mac_sink for lengths in the walk's unit. */
template <int CELLS> static __device__ __forceinline__ float sink_of(const struct walk_job &job, float a)
{
  if (!mac_kind_uses_a_old(job.criterion)) return job.inverse_unit;
  float f = CELLS == CELLS_QUADRUPOLE ? exp2f(-0.2f * __log2f(a)) : inverse_root(root(a));
  return job.inverse_unit * (a > 0 ? fminf(f, MAC_FAR) : MAC_FAR);
}

/* Constants of the tests for a ball: `min_a` is the smallest |a_old| of its targets. The extent of an expansion is at
 * least the softening, because traces of its highest moments replace sums of lower powers. */
template <int CELLS>
static __device__ __forceinline__ void set_view(const struct walk_job &job, float radius, float min_a, int which,
                                                struct view &view)
{
  view.radius = radius * (1 + 1e-6f);
  view.sink = sink_of<CELLS>(job, min_a);
  float extent = fmaxf(view.radius, job.eps);
  view.inverse_radius = inverse(extent);
  view.far_factor = job.far_scale[which] * view.inverse_radius * view.inverse_radius * inverse(min_a);
  view.far_min = job.far_min[which];
  if (!UNLIKE) return;
  view.spread_factor = 1.5f * job.eps2_spread * job.far_scale[which] * inverse(min_a);
  view.spread_min = job.far_spread[which];
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

/* A node in the frame of a ball. */
struct tested_node {
  float4 at;      /* centre in the ball's frame; mass */
  float b, reach; /* radius; the node's factor of the criterion, in the criterion's unit: `sink` converts it */
  float grown;    /* addition to the criterion's distance, because nodes move */
  int32_t first;
  uint32_t info;
  bool moves; /* it has moved since its moments were computed */
  float eps2; /* where softenings differ: of its particles, in the walk's unit */
};

/* Node k at the present tick in the frame of a ball. */
template <int HOW>
static __device__ __forceinline__ struct tested_node node_in_frame(const struct walk_job &job, const struct view &view,
                                                                   int k)
{
  const int4 *n = (const int4 *)&job.t.node[k];
  const int4 x = load_read_only(n), w = load_read_only(n + 1);
  struct tested_node t;
  t.at = make_float4((float)(x.x - view.centre[0]) * job.spacing, (float)(x.y - view.centre[1]) * job.spacing,
                     (float)(x.z - view.centre[2]) * job.spacing, __int_as_float(x.w));
  t.b = __int_as_float(w.x) * job.inverse_unit;
  t.reach = __int_as_float(w.y);
  t.first = w.z;
  t.info = (uint32_t)w.w;
  t.grown = 0;
  if (UNLIKE) {
    uint32_t code = softening_bits(t.reach) & SOFTENING_CODE;
    t.eps2 = code < SOFTENING_CLASSES ? job.class_eps2[code] : softening_float(code << 16) * job.quad_scale;
  }
  struct elapsed s = job.elapsed[0];
  for (int age = 1; HOW == WALK_MOVING && age < job.ages; age++)
    if (k >= job.node_begin[age]) s = job.elapsed[age];
  t.moves = HOW == WALK_MOVING && s.dt != 0;
  if (t.moves) {
    const float4 *m = (const float4 *)&job.t.motion[k];
    const float4 p = load_read_only(m), q = load_read_only(m + 1);
    float growth = q.z * s.dt + q.w * s.half;
    t.at.x += p.x * s.dt + p.w * s.half;
    t.at.y += p.y * s.dt + q.x * s.half;
    t.at.z += p.z * s.dt + q.y * s.half;
    t.b += growth;
    t.grown = 2 * growth;
  }
  return t;
}

/* Whether a node is a leaf of one particle that moves. Such a leaf has no extent and would be a near cell at any
 * distance, but cells move as at the tick of their moments, and particles as at their last correction: so it is
 * opened. */
template <int HOW>
static __device__ __forceinline__ bool is_single_particle(const struct walk_job &job, const struct tested_node &tested)
{
  return HOW == WALK_MOVING && tested.moves && tested.info == (NODE_LEAF | 1);
}

/* Whether a node has no children or particles. A LET for hard forces may leave out all of them because they are beyond
 * R2. */
static __device__ __forceinline__ bool is_empty(const struct tested_node &tested)
{
  return !(tested.info & (NODE_COUNT | NODE_TERMINAL));
}

/* Whether the error of the expansion is within its budget; d is the distance from the ball's surface. */
static __device__ __forceinline__ bool is_far(const struct view &view, float d, float mass)
{
  float u = d * view.inverse_radius, u2 = u * u;
  if (UNLIKE && (d * d < view.spread_min || d * d * d * d < mass * view.spread_factor)) return false;
  return u > 1 && u2 * u2 * u2 >= fmaxf(mass * view.far_factor, view.far_min);
}

/* Result of the tests of a node. */
struct criterion {
  bool accept, far;
  float d, needed; /* distance from the ball's surface, and the distance that the criterion requires */
};

/* Test whether the ball may accept the node as a cell, and whether it may expand it. With second moments in the
 * expansion alone a far cell must have d^5 >= needed^4 b, which allows the same error as the criterion. */
template <int CELLS, int HOW>
static __device__ __forceinline__ struct criterion test_criterion(const struct walk_job &job, const struct view &view,
                                                                  const struct tested_node &tested)
{
  struct criterion c;
  float r2 = tested.at.x * tested.at.x + tested.at.y * tested.at.y + tested.at.z * tested.at.z;
  c.d = r2 * inverse_root(fmaxf(r2, 1e-37f)) - view.radius;
  c.needed = tested.reach * view.sink + tested.grown;
  bool outside = c.d >= mac_clear(tested.b, job.open_within) && r2 > 0, terminal = tested.info & NODE_TERMINAL;
  c.far = (outside && c.d >= c.needed) || terminal;
  c.accept = c.far && !is_single_particle<HOW>(job, tested);
  if (CELLS == CELLS_MIXED) {
    float needed2 = c.needed * c.needed, d2 = c.d * c.d, limit = needed2 * needed2 * tested.b;
    c.far = (outside && d2 * d2 * c.d >= limit && limit <= FLT_MAX) || terminal;
  }
  c.far = c.far && is_far(view, c.d, tested.at.w);
  return c;
}

/* The nodes k[SLOTS] that this lane tests next: siblings of the `wide` ranges on top of the stack, eight lanes for
 * each; -1: none. */
template <class R>
static __device__ __forceinline__ void next_nodes(const R &s, int depth, int wide, int lane, int k[SLOTS])
{
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    int slot = i * (LANES / SIBLINGS) + lane / SIBLINGS, child = lane % SIBLINGS;
    bool valid = slot < wide;
    unsigned range = valid ? s.stack[depth - 1 - slot] : 0;
    k[i] = valid && child <= (int)(range & (SIBLINGS - 1)) ? (int)(range >> SIBLINGS_BITS) + child : -1;
  }
}

/* The stack entry of the children of a node. */
static __device__ __forceinline__ uint32_t range_of(const struct tested_node &tested)
{
  return (uint32_t)tested.first << SIBLINGS_BITS | ((tested.info & NODE_COUNT) - 1);
}

/* The front of a traversal: `depth` ranges of siblings on the stack, and nodes [next, count) of a list. These are not
 * yet tested. */
struct front {
  int depth;
  const int32_t *list;
  int next, count;
};

/* What is tested next: a number of ranges from the stack, or of nodes from the list. */
struct step {
  int ranges, nodes;
};

/* The next step, of at most `capacity` nodes. The stack comes first, unless it does not fill the lanes. */
static __device__ __forceinline__ struct step next_step(const struct front &front, int capacity)
{
  int left = front.count - front.next;
  struct step n = {0, 0};
  if (left == 0 || front.depth >= WIDE)
    n.ranges = min(min(front.depth, front.depth > NARROW ? 1 : (int)WIDE), capacity / SIBLINGS);
  else n.nodes = min(min(left, SLOTS * LANES), capacity);
  return n;
}

/* Remove the nodes of a step from the front: k[SLOTS] for each lane; -1: none. */
template <class R>
static __device__ __forceinline__ void fetch_nodes(const R &s, const struct step &step, struct front &front, int lane,
                                                   int k[SLOTS])
{
  if (step.nodes > 0) {
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
      k[i] = i * LANES + lane < step.nodes ? front.list[front.next + i * LANES + lane] : -1;
    front.next += step.nodes;
  } else {
    next_nodes(s, front.depth, step.ranges, lane, k);
    front.depth -= step.ranges;
  }
}

/* --- local expansions -------------------------------------------------------------------------------------------- */

/* Each lane adds the staged cell with index `at` to its sums, if it is `valid`. */
template <int CELLS, class R>
static __device__ __forceinline__ void expand(R &s, const struct walk_job &job, float *sum, int at, bool valid)
{
  float4 c = s.staged()[at];
  struct quad q = {};
  if (!valid) c = make_float4(1, 1, 1, 0);
  if (CELLS != CELLS_MONOPOLE && valid) {
    const float2 *m = (const float2 *)&job.t.quad[s.staged_node[at]];
    const float2 x = load_read_only(m), y = load_read_only(m + 1), z = load_read_only(m + 2);
    q = {{x.x, x.y, y.x, y.y, z.x, z.y}};
  }
  float eps2 = job.eps2;
  if constexpr (UNLIKE) eps2 = valid ? s.staged_eps2()[at] : 1;
  taylor_add<CELLS != CELLS_MONOPOLE>(sum, c, eps2, q.q, job.quad_scale);
}

/* Expand staged cells, a warp of them at a time; if the traversal `ends`, the remaining ones as well. */
template <int CELLS, class R>
static __device__ __forceinline__ void expand_staged(R &s, const struct walk_job &job, float *sum, int &staged,
                                                     bool ends, int lane)
{
  while (staged >= (ends ? 1 : (int)LANES)) {
    staged -= LANES;
    expand<CELLS>(s, job, sum, max(staged + lane, 0), staged + lane >= 0);
  }
}

/* Add the sums of all lanes to the expansion of the ball. */
template <class R> static __device__ __forceinline__ void add_taylor(R &s, const float *sum, int lane)
{
  constexpr int low = (int)LANES < (int)TAYLOR_MAX ? (int)LANES : (int)TAYLOR_MAX, high = TAYLOR_MAX - low;
  float a = lanes_sum<low>(sum, lane);
  if (lane < low) s.expansion()[lane] += a;
  if constexpr (high > 0) {
    a = lanes_sum<high>(sum + low, lane);
    if (lane < high) s.expansion()[low + lane] += a;
  }
}
#endif
