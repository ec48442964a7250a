/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the walks of families and of groups share: the ball as the traversal sees it, tests of nodes, local expansions. */
#ifndef GPU_TRAVERSE_CUH
#define GPU_TRAVERSE_CUH
#include <stdint.h>

#include "octree.h"
#include "pairs.cuh"
#include "taylor.cuh"
#include "walk_job.h"

#define FULL 0xffffffffu

enum {
  SIBLINGS = 8,
  SLOTS = 2,            /* nodes that a lane tests at a time */
  WIDE = SLOTS * LANES / SIBLINGS,
  NARROW = 96,          /* with more ranges on the stack one is taken at a time: then it grows by 7 a level at most */
  STACK = NARROW + SLOTS * LANES + 7 * 22,
  STAGED_MOST = LANES + SLOTS * LANES
};

/* The group as the traversal sees it. */
struct view {
  int32_t centre[3];
  float radius, sink;
  float inverse_radius, far_factor;   /* far: (d / b)^(p+3) >= m far_factor */
  int targets;
};

/* --- lanes ------------------------------------------------------------------------------------------------------- */

__device__ static inline float lanes_max(float x) { return __uint_as_float(__reduce_max_sync(FULL, __float_as_uint(x))); }
__device__ static inline float lanes_min(float x) { return __uint_as_float(__reduce_min_sync(FULL, __float_as_uint(x))); }
__device__ static inline unsigned below(int lane) { return (1u << lane) - 1; }

/* Reach of the criterion falls with |a_old|, as mac_sink. */
template <int CELLS>
__device__ static inline float sink_of(float a)
{
  return CELLS == CELLS_QUADRUPOLE ? exp2f(-0.2f * __log2f(a)) : rsqrtf(sqrtf(a));
}

/* The criteria's numbers of a ball: `least` is the smallest |a_old|. */
template <int CELLS>
__device__ static inline void set_view(const walk_job &job, float radius, float least, float budget, view &v)
{
  v.radius = radius * (1 + 1e-6f);
  v.sink = sink_of<CELLS>(least) * job.group_reach;
  float extent = fmaxf(v.radius, job.eps);
  v.inverse_radius = 1 / extent;
  v.far_factor = job.gravity / (extent * extent * budget * least);
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

struct tested {
  float4 at;          /* in the group's frame, mass */
  float r;
  float reach, b;
  int first;
  unsigned info;
};

__device__ static inline tested node_seen(const walk_job &job, const view &v, int k)
{
  int4 x = __ldg(&job.node[2 * k]), w = __ldg(&job.node[2 * k + 1]);
  tested t;
  t.at = make_float4((float)(x.x - v.centre[0]) * job.spacing, (float)(x.y - v.centre[1]) * job.spacing,
                     (float)(x.z - v.centre[2]) * job.spacing, __int_as_float(x.w));
  t.b = __int_as_float(w.x), t.reach = __int_as_float(w.y), t.first = w.z, t.info = (unsigned)w.w;
  return t;
}

/* Whether the error of the expansion keeps to its budget: d is the distance from the group's surface. */
template <int FAR>
__device__ static inline bool is_far(const view &v, float d, float mass)
{
  if (FAR == 0) return false;
  float u = d * v.inverse_radius, u2 = u * u, most = mass * v.far_factor;
  return u > 1 && (FAR == 2 ? u2 * u2 * u >= most : u2 * u2 * u2 >= most);
}

struct criterion {
  bool accept, far;
  float d, needed;   /* distance from the ball's surface, and what the criterion asks for */
};

/* Whether the ball may take the node as a cell, and expand it. With second moments in the expansion alone a far cell needs
 * d^5 >= needed^4 b: both criteria allow the same error. */
template <int CELLS, int FAR>
__device__ static inline criterion judge(const view &v, const tested &t)
{
  criterion c;
  float r2 = t.at.x * t.at.x + t.at.y * t.at.y + t.at.z * t.at.z;
  c.d = r2 * rsqrtf(fmaxf(r2, 1e-37f)) - v.radius, c.needed = t.reach * v.sink;
  bool outside = c.d >= t.b && r2 > 0, terminal = t.info & NODE_TERMINAL;
  c.accept = (outside && c.d >= c.needed) || terminal, c.far = c.accept;
  if (CELLS == CELLS_MIXED) {
    float needed2 = c.needed * c.needed, d2 = c.d * c.d;
    c.far = (outside && d2 * d2 * c.d >= needed2 * needed2 * t.b) || terminal;
  }
  c.far = c.far && is_far<FAR>(v, c.d, t.at.w);
  return c;
}

/* Nodes that this lane tests next: siblings of the `wide` ranges on top of the stack, eight lanes each; -1: none. */
template <class R>
__device__ static inline void next_nodes(const R &s, int depth, int wide, int lane, int k[SLOTS])
{
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    int slot = i * (LANES / SIBLINGS) + lane / SIBLINGS, child = lane % SIBLINGS;
    bool some = slot < wide;
    unsigned range = some ? s.stack[depth - 1 - slot] : 0;
    k[i] = some && child <= (int)(range & 7) ? (int)(range >> 3) + child : -1;
  }
}

/* --- local expansions -------------------------------------------------------------------------------------------- */

template <int CELLS, int FAR, class R>
__device__ static inline void expand(R &s, const walk_job &job, float *sum, int at, bool valid)
{
  float4 c = s.staged()[at], q = make_float4(0, 0, 0, 0), p = q;
  if (!valid) c = make_float4(1, 1, 1, 0);
  if (CELLS != CELLS_MONOPOLE && valid) {
    int k = s.staged_node[at];
    q = __ldg(&job.quad[2 * k]), p = __ldg(&job.quad[2 * k + 1]);
  }
  taylor_add<FAR, CELLS != CELLS_MONOPOLE>(sum, c, job.eps * job.eps, q, p);
}

/* Sums of far cells over the lanes, added to the group's. */
template <int FAR, class R>
__device__ static inline void add_taylor(R &s, const float *sum, int lane)
{
  constexpr int sums = taylor_sums(FAR), low = sums < LANES ? sums : LANES, high = sums - low;
  float a = lanes_sum<low>(sum, lane);
  if (lane < low) s.taylor[lane] += a;
  if constexpr (high > 0) {
    a = lanes_sum<high>(sum + LANES, lane);
    if (lane < high) s.taylor[LANES + lane] += a;
  }
}
#endif
