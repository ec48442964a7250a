/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard walk of groups: one warp each, from what the family handed down to hard forces.
 *
 * As the walk of all (group_walk.cu), but without far cells: nodes wholly beyond R2 of the group's ball are left out. Each
 * sub-group prunes the near list, the candidate leaves and their particles once more, against its own ball and R2, and
 * evaluates what is left. Lists are short, so that finding entries costs as much as evaluating them (counted in
 * doc/gpu-hard.md). Few active targets cost less: blocks of 4, 2, 1 targets take the last of a sub-group, and a group with
 * one sub-group evaluates its near list where it stands. */
#include <config.h>
#include "hard.cuh"
#include "lists.cuh"
#include "split.h"

enum { HARD_SUBGROUP = BLOCK };   /* targets that share entries */

/* Warps on a multiprocessor: the compiler spends no more registers than they leave. Shared memory of devices before sm_90 has
 * room for twelve. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 900
enum { HARD_WARPS = 12, HARD_WARPS_MIXED = 11, HARD_WARPS_QUADRUPOLE = 11 };
#else
enum { HARD_WARPS = 18, HARD_WARPS_MIXED = 16, HARD_WARPS_QUADRUPOLE = 14 };
#endif

template <int CELLS, int HOW> struct hard_room {
  uint32_t stack[STACK];             /* ranges of siblings */
  float4 entry[ENTRIES];             /* in the group's frame: the near list, behind it those of a sub-group */
  float4 target[GROUP_MOST];         /* position, a_old */
  float4 ball[GROUP_MOST / HARD_SUBGROUP];
  float sink[GROUP_MOST / HARD_SUBGROUP];
  double sum[3 * GROUP_MOST];
  int32_t leaf[LEAVES_MOST];
  int2 opened[LEAVES_MOST];          /* of a sub-group: first particle less begin; begin, counted over its leaves */
  /* behind the entries: nodes; of mixed cells, once the traversal rests, traces of second moments */
  union {
    int32_t node[CELLS != CELLS_MONOPOLE ? ENTRIES : 1];
    float trace[CELLS != CELLS_MONOPOLE ? ENTRIES : 1];
  };
  uint8_t member[HOW == WALK_MOVING ? GROUP_MOST : 1];     /* targets, counted from the group's first particle */
  __device__ int target_of(int k) const { return HOW == WALK_MOVING ? member[k] : k; }
};

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* A cell that all targets accept is hard for none of them where its centre is beyond R2: K is a function of its distance. */
template <int CELLS, int HOW>
static __device__ __forceinline__ int hard_verdict(const struct walk_job &job, const struct view &v, const struct tested &t)
{
  struct criterion c = judge<CELLS, HOW>(job, v, t);
  if (is_empty(t) || c.d > (c.accept ? job.near : job.near + t.b)) return REJECT;
  return c.accept ? NEAR_CELL : t.info & NODE_LEAF ? LEAF : OPEN;
}

/* Test nodes until none is left or the lists have no room. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void traverse(R &s, const struct walk_job &job, const struct view &v, int lane, struct lists &l,
                                                struct walked &w)
{
  for (;;) {
    int k[SLOTS], verdict[SLOTS], staged = 0;
    struct tested t[SLOTS];
    struct step n = next_step(l.front, min(NEAR_MOST - l.near, LEAVES_MOST - l.leaves));
    if (n.ranges + n.nodes == 0) return;
    take_nodes(s, n, l.front, lane, k);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_seen<HOW>(job, v, max(k[i], 0));
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
      verdict[i] = k[i] < 0 ? (int)REJECT : hard_verdict<CELLS, HOW>(job, v, t[i]);
      w.tests += __popc(__ballot_sync(FULL, k[i] >= 0 && verdict[i] == REJECT));
    }
    __syncwarp();   /* ranges are read before they are overwritten */
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) file<CELLS == CELLS_MONOPOLE ? CELLS_MONOPOLE : CELLS_QUADRUPOLE, false>(s, t[i], k[i], verdict[i], l, staged, w);
    __syncwarp();
  }
}

/* --- pairs ------------------------------------------------------------------------------------------------------- */

/* Targets in registers, the same in all lanes, and the sums of this lane's sources. */
template <int T> struct targets {
  float x[T], y[T], z[T], sum[3 * T];
};

/* K for a squared distance: Y is clipped as it is made. */
template <int SPLIT> static __device__ __forceinline__ float hard_part(const struct walk_job &job, float r2)
{
  float y = __saturatef(fmaf(-job.y_slope, root(r2), job.y_start));
  return SPLIT == SPLIT_DLL ? SPLIT_K_DLL(y) : SPLIT_K_QUINTIC(y);
}

template <int SPLIT, int T>
static __device__ __forceinline__ void hard_pairs(struct targets<T> &b, const struct walk_job &job, const float4 &s)
{
#pragma unroll
  for (int k = 0; k < T; k++) {
    float dx = s.x - b.x[k], dy = s.y - b.y[k], dz = s.z - b.z[k], r2 = fmaf(dx, dx, fmaf(dy, dy, dz * dz));
    float i = inverse_root(r2 + job.eps2), w = s.w * i * (i * i) * hard_part<SPLIT>(job, r2);
    b.sum[3 * k] = fmaf(w, dx, b.sum[3 * k]);
    b.sum[3 * k + 1] = fmaf(w, dy, b.sum[3 * k + 1]);
    b.sum[3 * k + 2] = fmaf(w, dz, b.sum[3 * k + 2]);
  }
}

/* The same for a cell with second moments. */
template <int SPLIT, int T>
static __device__ __forceinline__ void hard_quad_pairs(struct targets<T> &b, const struct walk_job &job, const float4 &s,
                                                       const struct quad &m)
{
#pragma unroll
  for (int k = 0; k < T; k++)
    add_hard_quad<SPLIT>(&b.sum[3 * k], s.x - b.x[k], s.y - b.y[k], s.z - b.z[k], s.w, m.q, job.eps2, job.y_slope, job.y_start);
}

/* The same for a cell of which the trace of the second moments counts. */
template <int SPLIT, int T>
static __device__ __forceinline__ void hard_spread_pairs(struct targets<T> &b, const struct walk_job &job, const float4 &s, float trace)
{
#pragma unroll
  for (int k = 0; k < T; k++)
    add_hard_spread<SPLIT>(&b.sum[3 * k], s.x - b.x[k], s.y - b.y[k], s.z - b.z[k], s.w, trace, job.eps2, job.y_slope, job.y_start);
}

/* The trace of a node's second moments, in the walk's unit. */
static __device__ __forceinline__ float trace_of(const struct walk_job &job, int k)
{
  const float2 *m = (const float2 *)&job.t.quad[k];
  const float2 x = __ldg(m);
  return job.quad_scale * (x.x + x.y + __ldg(&job.t.quad[k].q[2]));
}

/* Second moments of the cell that is entry j. */
template <class R> static __device__ __forceinline__ struct quad quad_of(const R &s, const struct walk_job &job, int j, float mass)
{
  struct quad q = {};
  if (!(mass > 0)) return q;
  const float2 *m = (const float2 *)&job.t.quad[s.node[j]];
  const float2 x = __ldg(m), y = __ldg(m + 1), z = __ldg(m + 2);
  float f = job.quad_scale;
  q = {{f * x.x, f * x.y, f * y.x, f * y.y, f * z.x, f * z.y}};
  return q;
}

/* Entries of a sub-group: cells [begin, cells), particles [cells, end); without second moments all are alike. */
struct hard_entries {
  int begin, cells;
  struct entries at;   /* end, opened leaves */
};

/* The forces of the entries on T targets from `first` on. Hard parts cancel: lanes' sums of a dozen entries and their sum are
 * float32, what is added up after that is not. */
template <int CELLS, int SPLIT, int T, class R>
static __device__ __forceinline__ void evaluate_some(R &s, const struct walk_job &job, int first, const struct hard_entries &e, int end,
                                                     int lane)
{
  constexpr int UNROLL = T >= 4 ? 1 : 4 / T;
  struct targets<T> b;
#pragma unroll
  for (int k = 0; k < T; k++) {
    float4 t = s.target[first + k];
    b.x[k] = t.x, b.y[k] = t.y, b.z[k] = t.z;
  }
#pragma unroll
  for (int k = 0; k < 3 * T; k++) b.sum[k] = 0;
  for (int j = e.begin + lane; CELLS != CELLS_MONOPOLE && j < e.cells; j += WARP) {
    float4 c = s.entry[j];
    if (CELLS == CELLS_QUADRUPOLE)
      hard_quad_pairs<SPLIT>(b, job, c, quad_of(s, job, j, c.w));
    else
      hard_spread_pairs<SPLIT>(b, job, c, c.w > 0 ? s.trace[j] : 0);
  }
#pragma unroll UNROLL
  for (int j = (CELLS != CELLS_MONOPOLE ? e.cells : e.begin) + lane; j < end; j += WARP) hard_pairs<SPLIT>(b, job, s.entry[j]);
  float mine = lanes_sum<3 * T>(b.sum, lane);
  if (lane < 3 * T) s.sum[3 * first + lane] += mine;
}

/* The forces of the entries on a sub-group, added to its sums. */
template <int CELLS, int SPLIT, class R>
static __device__ __forceinline__ void evaluate(R &s, const struct walk_job &job, int sub, int targets, const struct hard_entries &e,
                                                int lane)
{
  int end = pad(s, e.at.end, lane), last = min((sub + 1) * HARD_SUBGROUP, targets);
  __syncwarp();
  for (int first = sub * HARD_SUBGROUP; first < last; first += BLOCK) {
    int left = last - first;
    if (left > 4)
      evaluate_some<CELLS, SPLIT, BLOCK>(s, job, first, e, end, lane);
    else if (left > 2)
      evaluate_some<CELLS, SPLIT, 4>(s, job, first, e, end, lane);
    else if (left > 1)
      evaluate_some<CELLS, SPLIT, 2>(s, job, first, e, end, lane);
    else
      evaluate_some<CELLS, SPLIT, 1>(s, job, first, e, end, lane);
  }
  __syncwarp();
}

/* --- entries of a sub-group -------------------------------------------------------------------------------------- */

static __device__ __forceinline__ float square_from(const float4 &ball, const float4 &c)
{
  float x = c.x - ball.x, y = c.y - ball.y, z = c.z - ball.z;
  return x * x + y * y + z * z;
}

/* Lanes that have an entry append it, with its node or the bits of its trace; returns how many they are. */
template <int CELLS, class R> static __device__ __forceinline__ int append(R &s, struct entries &e, const float4 &c, int k, bool take)
{
  unsigned takes = __ballot_sync(FULL, take);
  int at = e.end + __popc(takes & lanes_below());
  if (take) s.entry[at] = c;
  if (CELLS == CELLS_QUADRUPOLE && take) s.node[at] = k;
  if (CELLS == CELLS_MIXED && take) s.trace[at] = __int_as_float(k);
  e.end += __popc(takes);
  return __popc(takes);
}

/* Near cells from place `from` on whose centres are within R2 of the sub-group's ball. */
template <int CELLS, class R>
static __device__ __forceinline__ int keep_near(R &s, const struct walk_job &job, const struct lists &l, const float4 &ball, int from,
                                                struct entries &e, int lane)
{
  float most = ball.w + job.near;
  int count = 0;
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    int j = min(from + i * WARP + lane, l.near - 1);
    float4 c = s.entry[j];
    bool take = from + i * WARP + lane < l.near && square_from(ball, c) <= most * most;
    count += append<CELLS>(s, e, c, CELLS != CELLS_MONOPOLE ? s.node[j] : 0, take);
  }
  return count;
}

/* A candidate leaf becomes an entry where the sub-group accepts it as a cell, and else is noted as opened, with its
 * particles counted; beyond R2 it is neither. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ int keep_leaf(R &s, const struct walk_job &job, const struct tested &t, int k, const float4 &ball,
                                                float sink, struct entries &e, int lane)
{
  float r2 = square_from(ball, t.at), d = r2 * inverse_root(fmaxf(r2, 1e-37f)) - ball.w;
  bool accept = d >= fmaxf(t.reach * sink + t.grown, t.b) && r2 > 0 && !alone<HOW>(job, t);
  bool open = k >= 0 && !accept && d <= job.near + t.b;
  unsigned opens = __ballot_sync(FULL, open);
  int n = open ? (int)(t.info & NODE_COUNT) : 0, sum = lanes_scan(n, lane), before = e.particles + sum - n;
  if (open) s.opened[e.opened + __popc(opens & lanes_below())] = make_int2(t.first - before, before);
  e.opened += __popc(opens), e.particles += __shfl_sync(FULL, sum, WARP - 1);
  bool take = k >= 0 && accept && d <= job.near;
  return append<CELLS>(s, e, t.at, CELLS == CELLS_MIXED && take ? __float_as_int(trace_of(job, k)) : k, take);
}

template <int CELLS, int HOW, class R>
static __device__ __forceinline__ int keep_leaves(R &s, const struct walk_job &job, const struct view &v, const struct lists &l, int sub,
                                                  int from, struct entries &e, int lane)
{
  float4 ball = s.ball[sub];
  float sink = s.sink[sub] * job.reach;
  int k[SLOTS], count = 0;
  struct tested t[SLOTS];
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    int at = from + i * WARP + lane;
    k[i] = at < l.leaves ? s.leaf[at] : -1;
    t[i] = node_seen<HOW>(job, v, max(k[i], 0));
  }
#pragma unroll
  for (int i = 0; i < SLOTS; i++)
    if (from + i * WARP < l.leaves) count += keep_leaf<CELLS, HOW>(s, job, t[i], k[i], ball, sink, e, lane);
  __syncwarp();
  return count;
}

/* Particles of the opened leaves from the one numbered `from` on that are within R2 of the ball. */
template <int HOW, class R>
static __device__ __forceinline__ int keep_particles(R &s, const struct walk_job &job, const struct view &v, const float4 &ball, int from,
                                                     struct entries &e, int &owner, int lane)
{
  float most = ball.w + job.near;
  int i[SLOTS], count = 0;
  int4 x[SLOTS];
#pragma unroll
  for (int k = 0; k < SLOTS; k++) i[k] = particle_of(s, e, from + k * WARP, owner, lane);
#pragma unroll
  for (int k = 0; k < SLOTS; k++) x[k] = load_body(job, max(i[k], 0));
#pragma unroll
  for (int k = 0; k < SLOTS; k++) {
    float4 c = source_seen<HOW>(job, v, max(i[k], 0), x[k]);
    count += append<CELLS_MONOPOLE>(s, e, c, 0, i[k] >= 0 && square_from(ball, c) <= most * most);
  }
  return count;
}

/* What a sub-group takes from the lists. One copy of the pair loops, when no more entries fit and at the end: instruction
 * caches are small. A sub-group that is the group has nothing to prune in the near list. */
template <int CELLS, int HOW, int SPLIT, class R>
static __device__ __forceinline__ void use_lists(R &s, const struct walk_job &job, const struct view &v, const struct lists &l, int sub,
                                                 int lane, struct walked &w)
{
  bool only = v.targets <= HARD_SUBGROUP;
  int begin = only ? 0 : (l.near + WARP - 1) / WARP * WARP, near = only ? l.near : 0, leaf = 0, particle = 0, owner = 0;
  int members = min(v.targets - sub * HARD_SUBGROUP, (int)HARD_SUBGROUP), cells = near, particles = 0;
  struct hard_entries e = {begin, begin, {begin + near, 0, 0}};
  const float4 ball = s.ball[sub];
  for (;;) {
    bool more_cells = near < l.near || leaf < l.leaves, more = more_cells || particle < e.at.particles;
    if (CELLS != CELLS_MONOPOLE && (more_cells || particle == 0)) e.cells = e.at.end = more_cells ? e.at.end : pad(s, e.at.end, lane);
    if (!more || e.at.end + (SLOTS + 1) * WARP > ENTRIES) {
      evaluate<CELLS, SPLIT>(s, job, sub, v.targets, e, lane);
      e.cells = e.at.end = e.begin;
      if (!more) break;
    }
    if (near < l.near) {
      cells += keep_near<CELLS>(s, job, l, ball, near, e.at, lane);
      near += SLOTS * WARP;
    } else if (more_cells) {
      cells += keep_leaves<CELLS, HOW>(s, job, v, l, sub, leaf, e.at, lane);
      leaf += SLOTS * WARP;
    } else {
      particles += keep_particles<HOW>(s, job, v, ball, particle, e.at, owner, lane);
      particle += SLOTS * WARP;
    }
  }
  w.cell_pairs += (unsigned)(cells * members), w.particle_pairs += (unsigned long long)particles * (unsigned)members;
}

/* Near cells' nodes become their traces. */
template <class R> static __device__ __forceinline__ void find_traces(R &s, const struct walk_job &job, int near, int lane)
{
  for (int j = lane; j < near; j += WARP) s.trace[j] = trace_of(job, s.node[j]);
  __syncwarp();
}

/* --- results ----------------------------------------------------------------------------------------------------- */

/* `each`: interactions of each target. */
template <class R>
static __device__ __forceinline__ void store(const R &s, const struct walk_job &job, const struct run &g, int targets, float each, int lane)
{
  for (int k = lane; k < targets; k += WARP) {
    int64_t i = g.begin + s.target_of(k);
    for (int c = 0; c < 3; c++) {
      float h = (float)(job.per_a * s.sum[3 * k + c]), *to = &job.p.acc_hard[3 * i + c];
      *to = job.adding == 0 ? h : *to + h;
    }
    job.p.work[i] += each;
  }
}

/* Whether the targets are left to be walked one by one: their ball is wider than R2 and reaches into regions that are much
 * denser than their own. Where it is not so wide each of them would find as much. */
template <class R>
static __device__ __forceinline__ bool hand_on_single(const R &s, const struct walk_job &job, const struct run &g, const struct view &v,
                                                      int near, int leaves, int lane)
{
  if (v.targets == 1 || v.radius <= job.near || (near <= job.most_near && leaves <= job.most_leaves)) return false;
  int at = 0;
  if (lane == 0) at = atomicAdd(&job.piece_count[1], v.targets);
  at = __shfl_sync(FULL, at, 0);
  for (int k = lane; k < v.targets; k += WARP) job.singles[at + k] = g.begin + s.target_of(k);
  return true;
}

/* Each of six lanes adds one of the numbers; a walk of all, or of the first part, has told of targets and groups already. */
static __device__ __forceinline__ void tell(const struct walk_job &job, const struct view &v, const struct walked &w, int lane)
{
  bool anew = job.hard_only && job.adding == 0;
  unsigned long long mine = anew ? (unsigned)v.targets : 0;
  if (lane == 1) mine = anew;
  if (lane == 2) mine = w.particle_pairs;
  if (lane == 3) mine = w.cell_pairs;
  if (lane == 4) mine = (unsigned)w.tests;
  if (lane == 5) mine = w.particle_pairs + w.cell_pairs;
  if (lane < 6) atomicAdd(&(&job.count[blockIdx.x % COUNT_SLOTS].targets)[lane], mine);
}

template <int CELLS, int HOW, int SPLIT>
static __device__ __forceinline__ void walk_one(struct hard_room<CELLS, HOW> &s, const struct walk_job &job, const struct run &g, int lane)
{
  int n = find_targets<HOW>(s, job, g, lane), near = 0, leaves = 0;
  if (n == 0) return;
  struct view v;
  struct lists l;
  struct walked w = {0, 0, 0, 0};
  for (int k = lane; k < 3 * GROUP_MOST; k += WARP) s.sum[k] = 0;
  place_targets<HARD_SUBGROUP, CELLS, HOW>(s, job, g, n, lane, v);
  v.sink *= job.reach;
  start_lists(job, g.family, 0, l);
  do {
    l.near = l.leaves = 0;
    traverse<CELLS, HOW>(s, job, v, lane, l, w);
    near += l.near, leaves += l.leaves;
    if (hand_on_single(s, job, g, v, near, leaves, lane)) return;
    if (CELLS == CELLS_MIXED) find_traces(s, job, l.near, lane);
    for (int sub = 0; sub * HARD_SUBGROUP < n; sub++) use_lists<CELLS, HOW, SPLIT>(s, job, v, l, sub, lane, w);
  } while (l.front.depth > 0 || l.front.next < l.front.count);
  store(s, job, g, n, ((float)w.cell_pairs + (float)w.particle_pairs) * inverse((float)n), lane);
  tell(job, v, w, lane);
}

template <int CELLS, int HOW, int SPLIT>
static __global__ void __launch_bounds__(WARP, CELLS == CELLS_QUADRUPOLE ? HARD_WARPS_QUADRUPOLE : CELLS == CELLS_MIXED ? HARD_WARPS_MIXED : HARD_WARPS)
hard_kernel(const __grid_constant__ struct walk_job job)
{
  __shared__ struct hard_room<CELLS, HOW> s;
  int32_t count = runs_of(job);
  for (int32_t q = (int32_t)blockIdx.x; q < count; q += (int32_t)gridDim.x) {
    walk_one<CELLS, HOW, SPLIT>(s, job, run_of(job, q), (int)threadIdx.x);
    __syncwarp();
  }
}

/* --- launch ------------------------------------------------------------------------------------------------------ */

template <int CELLS, int SPLIT> static void launch(struct device *d, const struct walk_job &job, int how, int64_t blocks)
{
  if (how == WALK_MOVING)
    LAUNCH(d, (hard_kernel<CELLS, WALK_MOVING, SPLIT>), blocks, WARP, job);
  else
    LAUNCH(d, (hard_kernel<CELLS, WALK_STILL, SPLIT>), blocks, WARP, job);
}

template <int CELLS> static void launch_kernel(struct device *d, const struct walk_job &job, int how, int64_t blocks)
{
  if (job.split_kernel == SPLIT_DLL)
    launch<CELLS, SPLIT_DLL>(d, job, how, blocks);
  else
    launch<CELLS, SPLIT_QUINTIC>(d, job, how, blocks);
}

void hard_groups(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks)
{
  if (cells == CELLS_QUADRUPOLE)
    launch_kernel<CELLS_QUADRUPOLE>(d, *job, how, blocks);
  else if (cells == CELLS_MIXED)
    launch_kernel<CELLS_MIXED>(d, *job, how, blocks);
  else
    launch_kernel<CELLS_MONOPOLE>(d, *job, how, blocks);
}
