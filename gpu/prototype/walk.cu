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

template <int ORDER, int GROUP_MOST>
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
  int32_t near_node[ORDER == 2 ? NEAR_MOST : 1];
  int32_t staged_node[ORDER == 2 ? STAGED_MOST : 1];
  float4 cell[ORDER == 2 ? STAGED_MOST : 1];   /* quadrupole cells of a sub-group */
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
template <int ORDER>
__device__ static inline float sink_of(float a)
{
  return ORDER == 2 ? exp2f(-0.2f * __log2f(a)) : rsqrtf(sqrtf(a));
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
template <int ORDER, int FAR, class R>
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
  v.sink = sink_of<ORDER>(least) * job.group_reach;
  float extent = fmaxf(v.radius, job.eps);
  v.inverse_radius = 1 / extent;
  v.far_factor = job.gravity / (extent * extent * job.far_budget * least);
  __syncwarp();
  take_balls(s, job, n, lane);
  for (int k = lane; k < 4 * padded; k += LANES) s.sum[k] = 0;
  for (int k = lane; k < TAYLOR_MOST; k += LANES) s.taylor[k] = 0;
  __syncwarp();
  for (int k = lane; k < padded / SUBGROUP; k += LANES) s.sink[k] = sink_of<ORDER>(s.sink[k]) * job.sub_reach;
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

template <int ORDER, int FAR, class R>
__device__ static inline void expand(R &s, const walk_job &job, float *sum, int at, bool valid)
{
  float4 c = s.staged[at], q = make_float4(0, 0, 0, 0), p = q;
  if (!valid) c = make_float4(1, 1, 1, 0);
  if (ORDER == 2 && valid) {
    int k = s.staged_node[at];
    q = __ldg(&job.quad[2 * k]), p = __ldg(&job.quad[2 * k + 1]);
  }
  taylor_add<FAR, ORDER == 2>(sum, c, job.eps * job.eps, q, p);
}

/* Test nodes until the stack is empty or the lists could overflow. */
template <int ORDER, int FAR, bool COUNT, class R>
__device__ static inline void traverse(R &s, const walk_job &job, const view &v, int lane, lists &l, walk_count &count)
{
  float sum[TAYLOR_MOST];
#pragma unroll
  for (int i = 0; i < TAYLOR_MOST; i++) sum[i] = 0;
  int depth = l.depth, near = l.near, leaves = l.leaves, staged = 0;
  unsigned mine = below(lane);
  while (depth > 0 && near + LANES <= NEAR_MOST && leaves + LANES <= LEAVES_MOST) {
    /* the four ranges on top, eight lanes each */
    int slot = lane / SIBLINGS, child = lane % SIBLINGS;
    unsigned range = slot < depth ? s.stack[depth - 1 - slot] : 0;
    bool valid = slot < depth && child <= (int)(range & 7);
    int k = valid ? (int)(range >> 3) + child : 0;
    depth = max(depth - LANES / SIBLINGS, 0);
    tested t = node_seen(job, v, k);
    float r2 = t.at.x * t.at.x + t.at.y * t.at.y + t.at.z * t.at.z;
    float d = r2 * rsqrtf(fmaxf(r2, 1e-37f)) - v.radius;
    bool accept = valid && ((d >= fmaxf(t.reach * v.sink, t.b) && r2 > 0) || (t.info & NODE_TERMINAL));
    bool far = accept && is_far<FAR>(v, d, t.at.w);
    bool leaf = valid && !accept && (t.info & NODE_LEAF);
    bool open = valid && !accept && !(t.info & NODE_LEAF);
    unsigned fars = __ballot_sync(FULL, far), nears = __ballot_sync(FULL, accept && !far);
    unsigned leafs = __ballot_sync(FULL, leaf), opens = __ballot_sync(FULL, open);
    if (accept) {
      int at = far ? staged + __popc(fars & mine) : near + __popc(nears & mine);
      (far ? s.staged : s.near)[at] = t.at;
      if (ORDER == 2) (far ? s.staged_node : s.near_node)[at] = k;
    }
    if (leaf) s.leaf[leaves + __popc(leafs & mine)] = k;
    /* the deepest last, so that they are next */
    if (open) s.stack[depth + __popc(opens & ~mine) - 1] = (unsigned)t.first << 3 | ((t.info & NODE_COUNT) - 1);
    near += __popc(nears), leaves += __popc(leafs), depth += __popc(opens), staged += __popc(fars);
    if (COUNT) count.tests += valid, count.far += far, count.near += accept && !far, count.leaves += leaf;
    __syncwarp();
    if (FAR && staged >= LANES) {
      staged -= LANES;
      expand<ORDER, FAR>(s, job, sum, staged + lane, true);
      __syncwarp();
    }
  }
  if (FAR) {
    if (staged > 0) expand<ORDER, FAR>(s, job, sum, lane, lane < staged);
    constexpr int sums = taylor_sums(FAR);
    float a = lanes_sum<(sums < LANES ? sums : LANES)>(sum, lane);
    if (lane < sums) s.taylor[lane] += a;
    if (sums > LANES) {
      a = lanes_sum<(sums > LANES ? sums - LANES : 1)>(sum + LANES, lane);
      if (lane < sums - LANES) s.taylor[LANES + lane] += a;
    }
  }
  __syncwarp();
  l.depth = depth, l.near = near, l.leaves = leaves;
}

/* --- sub-groups -------------------------------------------------------------------------------------------------- */

#define NOTHING make_float4(1, 1, 1, 0)   /* a source without mass */

/* Staged sources go to the pair loop 32 at a time, the last ones first. */
template <bool POT, class R>
__device__ static inline void use_particles(R &s, const walk_job &job, block &b, int &staged, int lane)
{
  __syncwarp();
  if (staged < LANES) return;
  staged -= LANES;
  pairs_add<POT>(b, s.staged[staged + lane], job.eps * job.eps);
  __syncwarp();
}

template <bool POT, class R>
__device__ static inline void quad_cell(R &s, const walk_job &job, block &b, float4 c, int k, bool valid = true)
{
  float4 none = make_float4(0, 0, 0, 0);
  quad_pairs_add<POT>(b, c, valid ? __ldg(&job.quad[2 * k]) : none, valid ? __ldg(&job.quad[2 * k + 1]) : none, job.eps * job.eps);
}

template <bool POT, class R>
__device__ static inline void use_cells(R &s, const walk_job &job, block &b, int &cells, int lane)
{
  __syncwarp();
  if (cells < LANES) return;
  cells -= LANES;
  quad_cell<POT>(s, job, b, s.cell[cells + lane], s.staged_node[cells + lane]);
  __syncwarp();
}

/* Particles of the leaves that lanes hold (n > 0) are staged, each lane one at a time, in the order of the lanes. */
template <bool POT, class R>
__device__ static inline void open_leaves(R &s, const walk_job &job, const view &v, block &b, int first, int n, int &staged, int lane)
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
    if (base + lane < total) {
      int4 x = __ldg(&job.source[s.opened[owner] + base + lane]);
      s.staged[staged + lane] = make_float4((float)(x.x - v.centre[0]) * job.spacing, (float)(x.y - v.centre[1]) * job.spacing,
                                            (float)(x.z - v.centre[2]) * job.spacing, __int_as_float(x.w));
    }
    staged += min(LANES, total - base);
    use_particles<POT>(s, job, b, staged, lane);
  }
}

/* The near list, all of it. Its last entries that do not fill the lanes are staged. */
template <int ORDER, bool POT, class R>
__device__ static inline void use_near(R &s, const walk_job &job, block &b, int near, int &rest, int lane)
{
  int whole = near / LANES * LANES;
  rest = near - whole;
  for (int j = lane; j < whole; j += LANES) {
    if (ORDER == 2)
      quad_cell<POT>(s, job, b, s.near[j], s.near_node[j]);
    else
      pairs_add<POT>(b, s.near[j], job.eps * job.eps);
  }
  if (lane < rest) {
    if (ORDER == 2)
      s.cell[lane] = s.near[whole + lane], s.staged_node[lane] = s.near_node[whole + lane];
    else
      s.staged[lane] = s.near[whole + lane];
  }
}

template <int ORDER, bool POT, bool COUNT, class R>
__device__ static inline void use_lists(R &s, const walk_job &job, const view &v, const lists &l, int sub, int lane, walk_count &count)
{
  block b;
#pragma unroll
  for (int k = 0; k < SUBGROUP; k++) {
    float4 t = s.target[sub * SUBGROUP + k];
    b.x[k] = t.x, b.y[k] = t.y, b.z[k] = t.z;
  }
#pragma unroll
  for (int k = 0; k < 4 * SUBGROUP; k++) b.sum[k] = 0;
  float4 ball = s.ball[sub];
  float sink = s.sink[sub];
  int staged = 0, cells = 0;
  use_near<ORDER, POT>(s, job, b, l.near, ORDER == 2 ? cells : staged, lane);
  for (int base = 0; base < l.leaves; base += LANES) {
    bool valid = base + lane < l.leaves;
    int k = valid ? s.leaf[base + lane] : 0;
    tested t = node_seen(job, v, k);
    float x = t.at.x - ball.x, y = t.at.y - ball.y, z = t.at.z - ball.z, r2 = x * x + y * y + z * z;
    float d = r2 * rsqrtf(fmaxf(r2, 1e-37f)) - ball.w;
    bool accept = valid && d >= fmaxf(t.reach * sink, t.b) && r2 > 0;
    unsigned accepts = __ballot_sync(FULL, accept);
    int at = __popc(accepts & below(lane)), n = valid && !accept ? (int)(t.info & NODE_COUNT) : 0;
    if (accept && ORDER == 1) s.staged[staged + at] = t.at;
    if (accept && ORDER == 2) s.cell[cells + at] = t.at, s.staged_node[cells + at] = k;
    if (COUNT) count.leaf_tests += valid, count.leaf_cells += accept, count.particles += n;
    if (ORDER == 1) {
      staged += __popc(accepts);
      use_particles<POT>(s, job, b, staged, lane);
    } else {
      cells += __popc(accepts);
      use_cells<POT>(s, job, b, cells, lane);
    }
    open_leaves<POT>(s, job, v, b, t.first, n, staged, lane);
  }
  if (staged > 0) pairs_add<POT>(b, lane < staged ? s.staged[lane] : NOTHING, job.eps * job.eps);
  if (ORDER == 2 && cells > 0) quad_cell<POT>(s, job, b, lane < cells ? s.cell[lane] : NOTHING, lane < cells ? s.staged_node[lane] : 0, lane < cells);
  __syncwarp();
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

template <int ORDER, int FAR, bool POT, bool COUNT, int GROUP_MOST>
__global__ __launch_bounds__(LANES, 16) void walk_kernel(const walk_job job)
{
  __shared__ room<ORDER, GROUP_MOST> s;
  int lane = threadIdx.x;
  walk_group g = job.group[blockIdx.x];
  walk_count count = {};
  view v;
  take_targets<ORDER, FAR>(s, job, g, lane, v);
  if (lane == 0) s.stack[0] = 0;   /* the root, as a range of one */
  __syncwarp();
  lists l = {1, 0, 0};
  do {
    traverse<ORDER, FAR, COUNT>(s, job, v, lane, l, count);
    for (int sub = 0; sub * SUBGROUP < v.targets; sub++) use_lists<ORDER, POT, COUNT>(s, job, v, l, sub, lane, count);
    l.near = l.leaves = 0;
    if (COUNT && lane == 0) count.flushes++;
  } while (l.depth > 0);
  __syncwarp();
  store<FAR, POT>(s, job, g, lane);
  if (COUNT) tally(job.count, count);
}

/* --- launch ------------------------------------------------------------------------------------------------------ */

template <int ORDER, int FAR, int GROUP_MOST>
static const char *launch(const walk_choice &c, const walk_job &job)
{
  if (c.counting)
    walk_kernel<ORDER, FAR, true, true, GROUP_MOST><<<job.groups, LANES>>>(job);
  else if (c.potential)
    walk_kernel<ORDER, FAR, true, false, GROUP_MOST><<<job.groups, LANES>>>(job);
  else
    walk_kernel<ORDER, FAR, false, false, GROUP_MOST><<<job.groups, LANES>>>(job);
  cudaError_t e = cudaGetLastError();
  return e ? cudaGetErrorString(e) : nullptr;
}

template <int ORDER, int FAR>
static const char *launch_group(const walk_choice &c, const walk_job &job)
{
  if (c.group_most <= 64) return launch<ORDER, FAR, 64>(c, job);
  return launch<ORDER, FAR, 128>(c, job);
}

template <int ORDER>
static const char *launch_far(const walk_choice &c, const walk_job &job)
{
  if (c.far == 0) return launch_group<ORDER, 0>(c, job);
  if (c.far == 2) return launch_group<ORDER, 2>(c, job);
  return launch_group<ORDER, 3>(c, job);
}

const char *walk_launch(const struct walk_choice *c, const struct walk_job *job)
{
  return c->order == 2 ? launch_far<2>(*c, *job) : launch_far<1>(*c, *job);
}
