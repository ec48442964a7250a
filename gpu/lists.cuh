/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists in shared memory, as the walks of groups make them: near cells, candidate leaves, the entries of a sub-group. */
#ifndef GPU_LISTS_CUH
#define GPU_LISTS_CUH
#include "traverse.cuh"

enum {
  NEAR_MOST = 192,
  LEAVES_MOST = 128,
  ENTRIES = 384         /* at least NEAR_MOST + LEAVES_MOST and 32 for padding */
};
static_assert(ENTRIES >= NEAR_MOST + LEAVES_MOST + WARP && ENTRIES >= NEAR_MOST + STAGED_MOST && ENTRIES % WARP == 0, "lists");

struct lists {
  struct front front;
  int near, leaves;
};

/* What a group's walk came to, for the tally: far cells and tests are the group's, pairs those of all its targets. */
struct walked {
  int far, tests;
  unsigned cell_pairs;
  unsigned long long particle_pairs;
};

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* Balls of the sub-groups of SUBGROUP consecutive targets, and the smallest |a_old| of each. */
template <class R> static __device__ __forceinline__ void take_balls(R &s, int targets, int lane)
{
  for (int first = 0; first < targets; first += WARP) {
    int k = first + lane;
    float4 t = s.target[k];
    float low[3] = {t.x, t.y, t.z}, high[3] = {t.x, t.y, t.z}, a = t.w;
#pragma unroll
    for (int step = 1; step < SUBGROUP; step *= 2) {
#pragma unroll
      for (int c = 0; c < 3; c++) {
        low[c] = fminf(low[c], __shfl_xor_sync(FULL, low[c], step));
        high[c] = fmaxf(high[c], __shfl_xor_sync(FULL, high[c], step));
      }
      a = fminf(a, __shfl_xor_sync(FULL, a, step));
    }
    float cx = 0.5f * (low[0] + high[0]), cy = 0.5f * (low[1] + high[1]), cz = 0.5f * (low[2] + high[2]);
    float dx = t.x - cx, dy = t.y - cy, dz = t.z - cz, r2 = dx * dx + dy * dy + dz * dz;
#pragma unroll
    for (int step = 1; step < SUBGROUP; step *= 2) r2 = fmaxf(r2, __shfl_xor_sync(FULL, r2, step));
    if (k % SUBGROUP == 0 && k < targets) {
      s.ball[k / SUBGROUP] = make_float4(cx, cy, cz, root(r2) * (1 + 1e-6f));
      s.sink[k / SUBGROUP] = a;
    }
  }
}

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* A group's traversal starts with the nodes that its family handed down, or at the roots. */
static __device__ __forceinline__ void start_lists(const struct walk_job &job, int32_t family, struct lists &l)
{
  int32_t handed = job.family[family].handed;
  l.near = l.leaves = 0;
  if (handed == HANDED_ROOTS)
    l.front = {0, job.root, 0, job.roots};
  else
    l.front = {0, job.handed + (int64_t)family * job.handed_most, 0, handed};
}

enum { REJECT, FAR_CELL, NEAR_CELL, LEAF, OPEN };

/* Put a tested node where it belongs. */
template <int CELLS, class R>
static __device__ __forceinline__ void file(R &s, const struct tested &t, int k, int verdict, struct lists &l, int &staged, struct walked &w)
{
  unsigned mine = lanes_below();
  unsigned fars = __ballot_sync(FULL, verdict == FAR_CELL), nears = __ballot_sync(FULL, verdict == NEAR_CELL);
  unsigned leafs = __ballot_sync(FULL, verdict == LEAF), opens = __ballot_sync(FULL, verdict == OPEN);
  if (verdict == FAR_CELL || verdict == NEAR_CELL) {
    bool far = verdict == FAR_CELL;
    int at = far ? ENTRIES - STAGED_MOST + staged + __popc(fars & mine) : l.near + __popc(nears & mine);
    s.entry[at] = t.at;
    if (CELLS == CELLS_QUADRUPOLE && !far) s.node[at] = k;
    if (CELLS != CELLS_MONOPOLE && far) s.staged_node[at - (ENTRIES - STAGED_MOST)] = k;
  }
  if (verdict == LEAF) s.leaf[l.leaves + __popc(leafs & mine)] = k;
  /* the deepest last, so that they are next */
  if (verdict == OPEN) s.stack[l.front.depth + __popc(opens & ~mine) - 1] = range_of(t);
  int far = __popc(fars), near = __popc(nears), leaf = __popc(leafs), open = __popc(opens);
  l.near += near, l.leaves += leaf, l.front.depth += open, staged += far;
  w.far += far, w.tests += far + near + leaf + open;
}

/* --- entries of a sub-group -------------------------------------------------------------------------------------- */

#define NOTHING make_float4(1, 1, 1, 0)   /* a source without mass */

/* Entries are evaluated 32 at a time: fill up what is missing. Returns the new end. */
template <class R> static __device__ __forceinline__ int pad(R &s, int end, int lane)
{
  int padded = (end + WARP - 1) / WARP * WARP;
  if (end + lane < padded) s.entry[end + lane] = NOTHING;
  return padded;
}

/* The sum of n over the lanes up to and with this one. */
static __device__ __forceinline__ int lanes_scan(int n, int lane)
{
#pragma unroll
  for (int step = 1; step < WARP; step *= 2) {
    int other = __shfl_up_sync(FULL, n, step);
    if (lane >= step) n += other;
  }
  return n;
}

/* Entries of a sub-group: [0, end), and its opened leaves. */
struct entries {
  int end, opened, particles;
};

/* The particle of the lane, of particles [base, base + 32) of the opened leaves, counted over these; -1: none. `owner` is
 * the opened leaf that holds the particle `base`, and moves on. */
template <class R> static __device__ __forceinline__ int particle_of(const R &s, const struct entries &e, int base, int &owner, int lane)
{
  int next = owner + 1 + lane;
  int start = next < e.opened ? s.opened[next].y - base : 2 * WARP;
  unsigned starts = __reduce_or_sync(FULL, start < WARP ? 1u << start : 0);
  int mine = owner + __popc(starts & (lanes_below() | 1u << lane));
  owner += __popc(__ballot_sync(FULL, start <= WARP));
  return base + lane < e.particles ? s.opened[mine].x + base + lane : -1;
}

/* A source in the group's frame, predicted to the present. */
template <int HOW> static __device__ __forceinline__ float4 source_seen(const struct walk_job &job, const struct view &v, int32_t i, const int4 &x)
{
  float4 e = make_float4((float)(x.x - v.centre[0]) * job.spacing, (float)(x.y - v.centre[1]) * job.spacing,
                         (float)(x.z - v.centre[2]) * job.spacing, __int_as_float(x.w));
  if (HOW == WALK_MOVING && job.t.course) {
    const float4 *c = (const float4 *)&job.t.course[i];
    const float4 p = __ldg(c), q = __ldg(c + 1);
    float dt = (float)(job.tick - __float_as_int(p.w)) * job.tick_length, half = 0.5f * dt, length = dt * job.inverse_unit;
    e.x += (p.x + q.x * half) * length;
    e.y += (p.y + q.y * half) * length;
    e.z += (p.z + q.z * half) * length;
  }
  return e;
}

/* Write particles from `base` on to the end of the entries, as many as a step takes. */
template <int HOW, class R>
static __device__ __forceinline__ void gather(R &s, const struct walk_job &job, const struct view &v, int base, struct entries &e, int &owner, int lane)
{
  int i[SLOTS];
  int4 x[SLOTS];
#pragma unroll
  for (int k = 0; k < SLOTS; k++) i[k] = particle_of(s, e, base + k * WARP, owner, lane);
#pragma unroll
  for (int k = 0; k < SLOTS; k++) x[k] = load_body(job, max(i[k], 0));
#pragma unroll
  for (int k = 0; k < SLOTS; k++)
    if (i[k] >= 0) s.entry[e.end + k * WARP + lane] = source_seen<HOW>(job, v, i[k], x[k]);
  e.end += min(SLOTS * WARP, e.particles - base);
}
#endif
