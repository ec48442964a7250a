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

/* Particles [begin, end) that are walked together, where they want a force. */
struct run {
  int32_t begin, end, family;
};

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* How many are walked in this stage. */
static __device__ __forceinline__ int32_t runs_of(const struct walk_job &job)
{
  if (job.stage == job.items_stage) return job.item_count[0] + job.item_count[1] + job.item_count[2];
  return job.stage == 0 ? job.groups : job.piece_count[job.stage - 1];
}

/* What is walked as number q of the stage. */
static __device__ __forceinline__ struct run run_of(const struct walk_job &job, int32_t q)
{
  if (job.stage == job.items_stage) {
    for (int c = 0, before = 0; c < ITEM_CLASSES; before += job.item_count[c], c++)
      if (q - before < job.item_count[c] || c == ITEM_CLASSES - 1) {
        const int4 g = __ldg((const int4 *)&job.item[job.item_begin[c] + q - before]);
        return {g.x, g.y, g.z};
      }
  }
  if (job.stage == 0) {
    const int4 g = __ldg((const int4 *)&job.group[job.list ? job.list[q] : q]);
    return {g.x, g.y, g.w};
  }
  int2 r = job.stage == 1 ? job.pieces[q] : make_int2(job.singles[q], job.singles[q] + 1);
  return {r.x, r.y, job.group[job.home[r.x]].family};
}

/* The number of targets among the particles of the run; which they are. */
template <int HOW, class R>
static __device__ __forceinline__ int find_targets(R &s, const struct walk_job &job, const struct run &g, int lane)
{
  if (HOW != WALK_MOVING) return g.end - g.begin;
  int n = 0;
#pragma unroll
  for (int e = 0; e < GROUP_MOST / WARP; e++) {
    int k = e * WARP + lane;
    bool take = g.begin + k < g.end && wants<HOW>(job, g.begin + k);
    unsigned takes = __ballot_sync(FULL, take);
    if (take) s.member[n + __popc(takes & lanes_below())] = (uint8_t)k;
    n += __popc(takes);
  }
  __syncwarp();
  return n;
}

/* Balls of the sub-groups of SUB consecutive targets, and the smallest |a_old| of each. */
template <int SUB, class R> static __device__ __forceinline__ void take_balls(R &s, int targets, int lane)
{
  for (int first = 0; first < targets; first += WARP) {
    int k = first + lane;
    float4 t = s.target[k];
    float low[3] = {t.x, t.y, t.z}, high[3] = {t.x, t.y, t.z}, a = t.w;
#pragma unroll
    for (int step = 1; step < SUB; step *= 2) {
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
    for (int step = 1; step < SUB; step *= 2) r2 = fmaxf(r2, __shfl_xor_sync(FULL, r2, step));
    if (k % SUB == 0 && k < targets) {
      s.ball[k / SUB] = make_float4(cx, cy, cz, root(r2) * (1 + 1e-6f));
      s.sink[k / SUB] = a;
    }
  }
}

/* Targets in the group's frame, padded with copies of the last to whole warps; balls of the sub-groups of SUB; the view. */
template <int SUB, int CELLS, int HOW, class R>
static __device__ __forceinline__ void place_targets(R &s, const struct walk_job &job, const struct run &g, int n, int lane, struct view &v)
{
  constexpr int EACH = GROUP_MOST / WARP;
  int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  int4 x[EACH];
  float a[EACH], r2 = 0, least = 3e38f;
  v.targets = n;
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    int32_t i = g.begin + s.target_of(min(e * WARP + lane, n - 1));
    x[e] = load_target(job, i);
    a[e] = a_old_of(job, i);
  }
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    low[0] = min(low[0], x[e].x), low[1] = min(low[1], x[e].y), low[2] = min(low[2], x[e].z);
    high[0] = max(high[0], x[e].x), high[1] = max(high[1], x[e].y), high[2] = max(high[2], x[e].z);
    least = fminf(least, a[e]);
  }
#pragma unroll
  for (int c = 0; c < 3; c++) {
    low[c] = __reduce_min_sync(FULL, low[c]);
    high[c] = __reduce_max_sync(FULL, high[c]);
    v.centre[c] = low[c] + (high[c] - low[c]) / 2;
  }
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    float4 t = make_float4((float)(x[e].x - v.centre[0]) * job.spacing, (float)(x[e].y - v.centre[1]) * job.spacing,
                           (float)(x[e].z - v.centre[2]) * job.spacing, a[e]);
    r2 = fmaxf(r2, t.x * t.x + t.y * t.y + t.z * t.z);
    s.target[e * WARP + lane] = t;
  }
  set_view<CELLS>(job, root(lanes_max(r2)), lanes_min(least), OF_GROUP, v);
  __syncwarp();
  take_balls<SUB>(s, n, lane);
  __syncwarp();
  for (int k = lane; k * SUB < n; k += WARP) s.sink[k] = sink_of<CELLS>(job, s.sink[k]);
  __syncwarp();
}

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* A group's traversal starts with the nodes that its family handed down, or at the roots but the first `skip`. */
static __device__ __forceinline__ void start_lists(const struct walk_job &job, int32_t family, int skip, struct lists &l)
{
  int32_t handed = job.family[family].handed;
  l.near = l.leaves = 0;
  if (handed == HANDED_ROOTS)
    l.front = {0, job.root + skip, 0, job.roots - skip};
  else
    l.front = {0, job.handed + (int64_t)family * job.handed_most, 0, handed};
}

enum { REJECT, FAR_CELL, NEAR_CELL, LEAF, OPEN };

/* Put a tested node where it belongs. `FARS`: it may be a far cell. */
template <int CELLS, bool FARS, class R>
static __device__ __forceinline__ void file(R &s, const struct tested &t, int k, int verdict, struct lists &l, int &staged,
                                            struct walked &w)
{
  unsigned mine = lanes_below();
  unsigned fars = FARS ? __ballot_sync(FULL, verdict == FAR_CELL) : 0, nears = __ballot_sync(FULL, verdict == NEAR_CELL);
  unsigned leafs = __ballot_sync(FULL, verdict == LEAF), opens = __ballot_sync(FULL, verdict == OPEN);
  if ((FARS && verdict == FAR_CELL) || verdict == NEAR_CELL) {
    bool far = FARS && verdict == FAR_CELL;
    int at = far ? ENTRIES - STAGED_MOST + staged + __popc(fars & mine) : l.near + __popc(nears & mine);
    s.entry[at] = t.at;
    if (CELLS == CELLS_QUADRUPOLE && !far) s.node[at] = k;
    if constexpr (FARS && CELLS != CELLS_MONOPOLE)
      if (far) s.staged_node[at - (ENTRIES - STAGED_MOST)] = k;
  }
  if (verdict == LEAF) s.leaf[l.leaves + __popc(leafs & mine)] = k;
  /* the deepest last, so that they are next */
  if (verdict == OPEN) s.stack[l.front.depth + __popc(opens & ~mine) - 1] = range_of(t);
  int far = __popc(fars), near = __popc(nears), leaf = __popc(leafs), open = __popc(opens);
  l.near += near, l.leaves += leaf, l.front.depth += open, staged += far;
  w.far += far, w.tests += far + near + leaf + open;
}

/* Whether the group is left to be walked in pieces: its ball reaches into regions that are much denser than its own. The
 * lists of pieces are in any order, which no force depends on. */
template <class R>
static __device__ __forceinline__ bool hand_on(const R &s, const struct walk_job &job, const struct run &g, int n, int near, int leaves, int lane)
{
  int piece = job.stage == 0 ? PIECE : 1;
  if (job.stage == 2 || n <= piece || (near <= job.most_near && leaves <= job.most_leaves)) return false;
  int pieces = job.stage == 0 ? (n + PIECE - 1) / PIECE : n, at = 0;
  if (lane == 0) at = atomicAdd(&job.piece_count[job.stage], pieces);
  at = __shfl_sync(FULL, at, 0);
  for (int p = lane; p < pieces; p += WARP) {
    int32_t begin = g.begin + s.target_of(p * piece), last = g.begin + s.target_of(min((p + 1) * piece, n) - 1);
    if (job.stage == 0)
      job.pieces[at + p] = make_int2(begin, last + 1);
    else
      job.singles[at + p] = begin;
  }
  return true;
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

/* A source in the group's frame, and its way to the present. */
static __device__ __forceinline__ float4 in_frame(const struct walk_job &job, const struct view &v, const int4 &x)
{
  return make_float4((float)(x.x - v.centre[0]) * job.spacing, (float)(x.y - v.centre[1]) * job.spacing,
                     (float)(x.z - v.centre[2]) * job.spacing, __int_as_float(x.w));
}

static __device__ __forceinline__ void predict(const struct walk_job &job, float4 &e, const float4 &p, const float4 &q)
{
  float dt = (float)(job.tick - __float_as_int(p.w)) * job.tick_length, half = 0.5f * dt, length = dt * job.inverse_unit;
  e.x += (p.x + q.x * half) * length;
  e.y += (p.y + q.y * half) * length;
  e.z += (p.z + q.z * half) * length;
}

/* A source in the group's frame, predicted to the present. */
template <int HOW> static __device__ __forceinline__ float4 source_seen(const struct walk_job &job, const struct view &v, int32_t i, const int4 &x)
{
  float4 e = in_frame(job, v, x);
  if (HOW == WALK_MOVING && job.t.course) {
    const float4 *c = (const float4 *)&job.t.course[i];
    const float4 p = __ldg(c), q = __ldg(c + 1);
    predict(job, e, p, q);
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
