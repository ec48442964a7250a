/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree walk: one warp per group of targets, from the root to the forces.
 *
 * The traversal tests 32 nodes at a time against the group's ball. What it accepts is far (expanded about the group's
 * centre, in registers) or near (a list in shared memory); leaves that it does not accept are candidates. Sub-groups of
 * eight targets then take the near list as it is and test the candidates once more, with their own ball and their own
 * smallest |a_old|: what is accepted enters as a cell, of the others the particles are taken. A source stands in a lane
 * and meets the eight targets of the sub-group in registers. */
#include <stdint.h>

#include "octree.h"
#include "pairs.cuh"
#include "taylor.cuh"
#include "walk_job.h"

#define FULL 0xffffffffu

enum {
  STACK = 704,          /* ranges of siblings: at most 32 of a level wait, for 21 levels and the root */
  NEAR_MOST = 256,
  LEAVES_MOST = 192,
  STAGED_MOST = 64,     /* 31 that wait and 32 that come */
  SIBLINGS = 8
};

template <int CELLS, int GROUP_MOST>
struct room {
  uint32_t stack[STACK];             /* first child, eight times, plus number of children - 1 */
  float4 near[NEAR_MOST];            /* in the group's frame */
  float4 staged[STAGED_MOST];        /* far cells in the traversal; sources of a sub-group after it */
  float4 target[GROUP_MOST];         /* position, a_old */
  float4 ball[GROUP_MOST / SUBGROUP];
  float sink[GROUP_MOST / SUBGROUP];
  float sum[4 * GROUP_MOST];
  float taylor[TAYLOR_MOST];
  int32_t leaf[LEAVES_MOST];
  int32_t opened[LANES];
  int32_t near_node[CELLS == CELLS_QUADRUPOLE ? NEAR_MOST : 1];
  int32_t staged_node[CELLS != CELLS_MONOPOLE ? STAGED_MOST : 1];
  float4 cell[CELLS == CELLS_QUADRUPOLE ? STAGED_MOST : 1];   /* quadrupole cells of a sub-group */
};

/* The group as the traversal sees it. */
struct view {
  int32_t centre[3];
  float radius, sink;
  float inverse_radius, far_factor;   /* far: (d / b)^(p+3) >= m far_factor */
  int targets;
};

struct lists {
  int depth, near, leaves;
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

/* --- targets ----------------------------------------------------------------------------------------------------- */

template <class R>
__device__ static inline void take_balls(R &s, const walk_job &job, int targets, int lane)
{
  for (int first = 0; first < targets; first += LANES) {
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
    if (k % SUBGROUP == 0) {
      s.ball[k / SUBGROUP] = make_float4(cx, cy, cz, sqrtf(r2) * (1 + 1e-6f));
      s.sink[k / SUBGROUP] = a;
    }
  }
}

/* Targets in the group's frame, padded with copies of the last to whole warps; balls of the sub-groups; the view. */
template <int CELLS, int FAR, class R>
__device__ static inline void take_targets(R &s, const walk_job &job, const walk_group &g, int lane, view &v)
{
  int n = v.targets = g.end - g.begin, padded = (n + LANES - 1) / LANES * LANES;
  int low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  for (int k = lane; k < padded; k += LANES) {
    int4 x = job.source[g.begin + min(k, n - 1)];
    low[0] = min(low[0], x.x), low[1] = min(low[1], x.y), low[2] = min(low[2], x.z);
    high[0] = max(high[0], x.x), high[1] = max(high[1], x.y), high[2] = max(high[2], x.z);
  }
#pragma unroll
  for (int c = 0; c < 3; c++) {
    low[c] = __reduce_min_sync(FULL, low[c]);
    high[c] = __reduce_max_sync(FULL, high[c]);
    v.centre[c] = low[c] + (high[c] - low[c]) / 2;
  }
  float r2 = 0, least = 3e38f;
  for (int k = lane; k < padded; k += LANES) {
    int i = g.begin + min(k, n - 1);
    int4 x = job.source[i];
    float4 t = make_float4((float)(x.x - v.centre[0]) * job.spacing, (float)(x.y - v.centre[1]) * job.spacing,
                           (float)(x.z - v.centre[2]) * job.spacing, fmaxf(job.a_old[i], job.a_floor));
    r2 = fmaxf(r2, t.x * t.x + t.y * t.y + t.z * t.z);
    least = fminf(least, t.w);
    s.target[k] = t;
  }
  v.radius = sqrtf(lanes_max(r2)) * (1 + 1e-6f);
  least = lanes_min(least);
  v.sink = sink_of<CELLS>(least) * job.group_reach;
  float extent = fmaxf(v.radius, job.eps);
  v.inverse_radius = 1 / extent;
  v.far_factor = job.gravity / (extent * extent * job.far_budget * least);
  __syncwarp();
  take_balls(s, job, n, lane);
  for (int k = lane; k < 4 * padded; k += LANES) s.sum[k] = 0;
  for (int k = lane; k < TAYLOR_MOST; k += LANES) s.taylor[k] = 0;
  __syncwarp();
  for (int k = lane; k < padded / SUBGROUP; k += LANES) s.sink[k] = sink_of<CELLS>(s.sink[k]) * job.sub_reach;
  __syncwarp();
}

/* --- traversal --------------------------------------------------------------------------------------------------- */

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

template <int CELLS, int FAR, class R>
__device__ static inline void expand(R &s, const walk_job &job, float *sum, int at, bool valid)
{
  float4 c = s.staged[at], q = make_float4(0, 0, 0, 0), p = q;
  if (!valid) c = make_float4(1, 1, 1, 0);
  if (CELLS != CELLS_MONOPOLE && valid) {
    int k = s.staged_node[at];
    q = __ldg(&job.quad[2 * k]), p = __ldg(&job.quad[2 * k + 1]);
  }
  taylor_add<FAR, CELLS != CELLS_MONOPOLE>(sum, c, job.eps * job.eps, q, p);
}

/* The node of this lane: of the four ranges of siblings on top of the stack, eight lanes each; -1: none. */
template <class R>
__device__ static inline int next_node(const R &s, int depth, int lane)
{
  int slot = lane / SIBLINGS, child = lane % SIBLINGS;
  if (slot >= depth) return -1;
  unsigned range = s.stack[depth - 1 - slot];
  return child <= (int)(range & 7) ? (int)(range >> 3) + child : -1;
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

/* Test nodes until the stack is empty or the lists could overflow. The next nodes are asked for before far cells are
 * expanded. */
template <int CELLS, int FAR, bool COUNT, class R>
__device__ static inline void traverse(R &s, const walk_job &job, const view &v, int lane, lists &l, walk_count &count)
{
  float sum[TAYLOR_MOST];
#pragma unroll
  for (int i = 0; i < TAYLOR_MOST; i++) sum[i] = 0;
  int depth = l.depth, near = l.near, leaves = l.leaves, staged = 0;
  unsigned mine = below(lane);
  int k = next_node(s, depth, lane);
  tested t = node_seen(job, v, max(k, 0));
  while (depth > 0 && near + LANES <= NEAR_MOST && leaves + LANES <= LEAVES_MOST) {
    bool valid = k >= 0;
    depth = max(depth - LANES / SIBLINGS, 0);
    float r2 = t.at.x * t.at.x + t.at.y * t.at.y + t.at.z * t.at.z;
    float d = r2 * rsqrtf(fmaxf(r2, 1e-37f)) - v.radius, needed = t.reach * v.sink;
    bool outside = valid && d >= t.b && r2 > 0, terminal = valid && (t.info & NODE_TERMINAL);
    bool accept = (outside && d >= needed) || terminal, far = accept;
    if (CELLS == CELLS_MIXED) {
      float needed2 = needed * needed, d2 = d * d;
      far = (outside && d2 * d2 * d >= needed2 * needed2 * t.b) || terminal;
    }
    far = far && is_far<FAR>(v, d, t.at.w);
    accept = accept || far;
    bool leaf = valid && !accept && (t.info & NODE_LEAF);
    bool open = valid && !accept && !(t.info & NODE_LEAF);
    unsigned fars = __ballot_sync(FULL, far), nears = __ballot_sync(FULL, accept && !far);
    unsigned leafs = __ballot_sync(FULL, leaf), opens = __ballot_sync(FULL, open);
    if (accept) {
      int at = far ? staged + __popc(fars & mine) : near + __popc(nears & mine);
      (far ? s.staged : s.near)[at] = t.at;
      if (CELLS == CELLS_QUADRUPOLE) (far ? s.staged_node : s.near_node)[at] = k;
      if (CELLS == CELLS_MIXED && far) s.staged_node[at] = k;
    }
    if (leaf) s.leaf[leaves + __popc(leafs & mine)] = k;
    /* the deepest last, so that they are next */
    if (open) s.stack[depth + __popc(opens & ~mine) - 1] = (unsigned)t.first << 3 | ((t.info & NODE_COUNT) - 1);
    near += __popc(nears), leaves += __popc(leafs), depth += __popc(opens), staged += __popc(fars);
    if (COUNT) count.tests += valid, count.far += far, count.near += accept && !far, count.leaves += leaf;
    __syncwarp();
    k = next_node(s, depth, lane);
    t = node_seen(job, v, max(k, 0));
    if (FAR && staged >= LANES) {
      staged -= LANES;
      expand<CELLS, FAR>(s, job, sum, staged + lane, true);
      __syncwarp();
    }
  }
  if (FAR) {
    if (staged > 0) expand<CELLS, FAR>(s, job, sum, lane, lane < staged);
    add_taylor<FAR>(s, sum, lane);
  }
  __syncwarp();
  l.depth = depth, l.near = near, l.leaves = leaves;
}

/* --- sub-groups -------------------------------------------------------------------------------------------------- */

#define NOTHING make_float4(1, 1, 1, 0)   /* a source without mass */

template <bool POT>
__device__ static inline void quad_cell(const walk_job &job, block &b, float4 c, int k, bool valid = true)
{
  float4 none = make_float4(0, 0, 0, 0);
  quad_pairs_add<POT>(b, c, valid ? __ldg(&job.quad[2 * k]) : none, valid ? __ldg(&job.quad[2 * k + 1]) : none, job.eps * job.eps);
}

/* Staged sources and quadrupole cells that wait for the pair loop. It takes 32 at a time, the last ones first. */
struct waiting {
  int sources, cells;
};

template <int CELLS, bool POT, class R>
__device__ static inline void use_waiting(const R &s, const walk_job &job, block &b, waiting &w, int lane)
{
  __syncwarp();
  if (w.sources >= LANES) {
    w.sources -= LANES;
    pairs_add<POT>(b, s.staged[w.sources + lane], job.eps * job.eps);
    __syncwarp();
  }
  if (CELLS == CELLS_QUADRUPOLE && w.cells >= LANES) {
    w.cells -= LANES;
    quad_cell<POT>(job, b, s.cell[w.cells + lane], s.staged_node[w.cells + lane]);
    __syncwarp();
  }
}

/* What does not fill the lanes. */
template <int CELLS, bool POT, class R>
__device__ static inline void use_rest(const R &s, const walk_job &job, block &b, waiting &w, int lane)
{
  use_waiting<CELLS, POT>(s, job, b, w, lane);
  if (w.sources > 0) pairs_add<POT>(b, lane < w.sources ? s.staged[lane] : NOTHING, job.eps * job.eps);
  if (CELLS == CELLS_QUADRUPOLE && w.cells > 0)
    quad_cell<POT>(job, b, lane < w.cells ? s.cell[lane] : NOTHING, lane < w.cells ? s.staged_node[lane] : 0, lane < w.cells);
  __syncwarp();
}

/* Particles of the leaves that lanes hold (n > 0) are staged, a lane for each, in the order of the leaves. They are asked
 * for before what waits is used. */
template <int CELLS, bool POT, class R>
__device__ static inline void open_leaves(R &s, const walk_job &job, const view &v, block &b, int first, int n, waiting &w, int lane)
{
  int end = n;
#pragma unroll
  for (int step = 1; step < LANES; step *= 2) {
    int other = __shfl_up_sync(FULL, end, step);
    if (lane >= step) end += other;
  }
  int begin = end - n, total = __shfl_sync(FULL, end, LANES - 1);
  unsigned some = __ballot_sync(FULL, n > 0);
  if (n > 0) s.opened[__popc(some & below(lane))] = first - begin;
  __syncwarp();
  for (int base = 0; base < total; base += LANES) {
    int start = begin - base;
    unsigned starts = __reduce_or_sync(FULL, n > 0 && start >= 0 && start < LANES ? 1u << start : 0);
    int before = __popc(__ballot_sync(FULL, n > 0 && start < 0));
    int owner = before + __popc(starts & (below(lane) | 1u << lane)) - 1;
    int4 x = __ldg(&job.source[s.opened[owner] + min(base + lane, total - 1)]);
    use_waiting<CELLS, POT>(s, job, b, w, lane);
    if (base + lane < total)
      s.staged[w.sources + lane] = make_float4((float)(x.x - v.centre[0]) * job.spacing, (float)(x.y - v.centre[1]) * job.spacing,
                                               (float)(x.z - v.centre[2]) * job.spacing, __int_as_float(x.w));
    w.sources += min(LANES, total - base);
  }
}

/* The near list, all of it. Its last entries that do not fill the lanes are staged. */
template <int CELLS, bool POT, class R>
__device__ static inline void use_near(R &s, const walk_job &job, block &b, int near, waiting &w, int lane)
{
  int whole = near / LANES * LANES, rest = near - whole;
  for (int j = lane; j < whole; j += LANES) {
    if (CELLS == CELLS_QUADRUPOLE)
      quad_cell<POT>(job, b, s.near[j], s.near_node[j]);
    else
      pairs_add<POT>(b, s.near[j], job.eps * job.eps);
  }
  w.sources = w.cells = 0;
  if (lane < rest) {
    if (CELLS == CELLS_QUADRUPOLE)
      s.cell[lane] = s.near[whole + lane], s.staged_node[lane] = s.near_node[whole + lane];
    else
      s.staged[lane] = s.near[whole + lane];
  }
  (CELLS == CELLS_QUADRUPOLE ? w.cells : w.sources) = rest;
}

__device__ static inline void take_block(const float4 *target, block &b)
{
#pragma unroll
  for (int k = 0; k < SUBGROUP; k++) {
    float4 t = target[k];
    b.x[k] = t.x, b.y[k] = t.y, b.z[k] = t.z;
  }
#pragma unroll
  for (int k = 0; k < 4 * SUBGROUP; k++) b.sum[k] = 0;
}

template <int CELLS, bool POT, bool COUNT, class R>
__device__ static inline void use_lists(R &s, const walk_job &job, const view &v, const lists &l, int sub, int lane, walk_count &count)
{
  block b;
  take_block(s.target + sub * SUBGROUP, b);
  float4 ball = s.ball[sub];
  float sink = s.sink[sub];
  waiting w;
  use_near<CELLS, POT>(s, job, b, l.near, w, lane);
  for (int base = 0; base < l.leaves; base += LANES) {
    bool valid = base + lane < l.leaves;
    int k = valid ? s.leaf[base + lane] : 0;
    tested t = node_seen(job, v, k);
    use_waiting<CELLS, POT>(s, job, b, w, lane);
    float x = t.at.x - ball.x, y = t.at.y - ball.y, z = t.at.z - ball.z, r2 = x * x + y * y + z * z;
    float d = r2 * rsqrtf(fmaxf(r2, 1e-37f)) - ball.w;
    bool accept = valid && d >= fmaxf(t.reach * sink, t.b) && r2 > 0;
    unsigned accepts = __ballot_sync(FULL, accept);
    int at = __popc(accepts & below(lane)), n = valid && !accept ? (int)(t.info & NODE_COUNT) : 0;
    if (CELLS == CELLS_QUADRUPOLE) {
      if (accept) s.cell[w.cells + at] = t.at, s.staged_node[w.cells + at] = k;
      w.cells += __popc(accepts);
    } else {
      if (accept) s.staged[w.sources + at] = t.at;
      w.sources += __popc(accepts);
    }
    if (COUNT) count.leaf_tests += valid, count.leaf_cells += accept, count.particles += n;
    open_leaves<CELLS, POT>(s, job, v, b, t.first, n, w, lane);
  }
  use_rest<CELLS, POT>(s, job, b, w, lane);
  s.sum[4 * SUBGROUP * sub + lane] += lanes_sum<4 * SUBGROUP>(b.sum, lane);
}

/* --- results ----------------------------------------------------------------------------------------------------- */

template <int FAR, bool POT, class R>
__device__ static inline void store(const R &s, const walk_job &job, const walk_group &g, int lane)
{
  for (int k = lane; k < g.end - g.begin; k += LANES) {
    int i = g.begin + k;
    float4 a = make_float4(s.sum[4 * k], s.sum[4 * k + 1], s.sum[4 * k + 2], s.sum[4 * k + 3]), t = s.target[k];
    if (FAR) taylor_at<FAR>(s.taylor, t.x, t.y, t.z, a);
    job.acc[i] = make_float3(job.gravity * a.x, job.gravity * a.y, job.gravity * a.z);
    if (POT) job.pot[i] = -job.gravity * (a.w - __int_as_float(job.source[i].w) * rsqrtf(job.eps * job.eps));
  }
}

__device__ static void add_count(unsigned long long *to, unsigned long long n)
{
  atomicAdd(to, n);
}

__device__ static void tally(walk_count *to, const walk_count &c)
{
  add_count(&to->tests, c.tests), add_count(&to->far, c.far), add_count(&to->near, c.near), add_count(&to->leaves, c.leaves);
  add_count(&to->leaf_tests, c.leaf_tests), add_count(&to->leaf_cells, c.leaf_cells), add_count(&to->particles, c.particles);
  add_count(&to->flushes, c.flushes);
}

/* Whether a group is better walked in pieces: its ball reaches into regions that are much denser than its own. */
__device__ static inline bool hand_on(const walk_job &job, const walk_group &g, int near, int leaves, int lane)
{
  int n = g.end - g.begin;
  if (job.piece == 0 || n <= job.piece || (near <= job.most_near && leaves <= job.most_leaves)) return false;
  int pieces = (n + job.piece - 1) / job.piece, at = 0;
  if (lane == 0) at = atomicAdd(job.piece_count, pieces);
  at = __shfl_sync(FULL, at, 0);
  for (int p = lane; p < pieces; p += LANES)
    job.pieces[at + p] = {g.begin + p * job.piece, min(g.begin + (p + 1) * job.piece, g.end)};
  return true;
}

template <int CELLS, int FAR, bool POT, bool COUNT, class R>
__device__ static inline void walk_one(R &s, const walk_job &job, const walk_group &g, int lane, walk_count &count)
{
  view v;
  take_targets<CELLS, FAR>(s, job, g, lane, v);
  if (lane == 0) s.stack[0] = 0;   /* the root, as a range of one */
  __syncwarp();
  lists l = {1, 0, 0};
  int near = 0, leaves = 0;
  do {
    l.near = l.leaves = 0;
    traverse<CELLS, FAR, COUNT>(s, job, v, lane, l, count);
    near += l.near, leaves += l.leaves;
    if (hand_on(job, g, near, leaves, lane)) return;
    for (int sub = 0; sub * SUBGROUP < v.targets; sub++) use_lists<CELLS, POT, COUNT>(s, job, v, l, sub, lane, count);
    if (COUNT && lane == 0) count.flushes++;
  } while (l.depth > 0);
  __syncwarp();
  store<FAR, POT>(s, job, g, lane);
}

template <int CELLS, int FAR, bool POT, bool COUNT, int GROUP_MOST>
__global__ __launch_bounds__(LANES, 16) void walk_kernel(const walk_job job)
{
  __shared__ room<CELLS, GROUP_MOST> s;
  walk_count count = {};
  for (int g = blockIdx.x; g < *job.groups; g += gridDim.x) {
    walk_one<CELLS, FAR, POT, COUNT>(s, job, job.group[g], threadIdx.x, count);
    __syncwarp();
  }
  if (COUNT) tally(job.count, count);
}

/* --- launch ------------------------------------------------------------------------------------------------------ */

template <int CELLS, int FAR, int GROUP_MOST>
static const char *launch(const walk_choice &c, const walk_job &job)
{
  if (c.counting)
    walk_kernel<CELLS, FAR, true, true, GROUP_MOST><<<c.blocks, LANES>>>(job);
  else if (c.potential)
    walk_kernel<CELLS, FAR, true, false, GROUP_MOST><<<c.blocks, LANES>>>(job);
  else
    walk_kernel<CELLS, FAR, false, false, GROUP_MOST><<<c.blocks, LANES>>>(job);
  cudaError_t e = cudaGetLastError();
  return e ? cudaGetErrorString(e) : nullptr;
}

template <int CELLS, int FAR>
static const char *launch_group(const walk_choice &c, const walk_job &job)
{
  if (c.group_most <= 64) return launch<CELLS, FAR, 64>(c, job);
  return launch<CELLS, FAR, 128>(c, job);
}

template <int CELLS>
static const char *launch_far(const walk_choice &c, const walk_job &job)
{
  if (c.far == 2) return launch_group<CELLS, 2>(c, job);
  return launch_group<CELLS, 3>(c, job);
}

const char *walk_launch(const struct walk_choice *c, const struct walk_job *job)
{
  if (c->cells == CELLS_MIXED) return launch_far<CELLS_MIXED>(*c, *job);
  return c->cells == CELLS_QUADRUPOLE ? launch_far<CELLS_QUADRUPOLE>(*c, *job) : launch_far<CELLS_MONOPOLE>(*c, *job);
}
