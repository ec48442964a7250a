/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard walk of groups. One warp computes the hard forces of one group, beginning with the nodes that its supergroup
 * passes on.
 *
 * It proceeds as the full walk (group_walk.cuh), but has no far cells, and leaves out nodes that are wholly beyond R2
 * of the group's bounding sphere (`ball`). Each target block prunes the near list, the candidate leaves and their
 * particles once more, by its own bounding sphere and R2, and evaluates the remaining entries. Lists are short, so
 * finding entries costs as much as evaluating them (doc/gpu-hard.md). The last targets of a target block are evaluated
 * 4, 2 or 1 at a time, and a group with one target block evaluates its near list in place; so few active targets cost
 * less. */
#ifndef GPU_HARD_WALK_CUH
#define GPU_HARD_WALK_CUH
#include <config.h>
#include "gpu/hard_walk/hard.cuh"
#include "gpu/walk/lists.cuh"
#include "gravity/split.h"

enum { HARD_TARGET_BLOCK = BLOCK }; /* targets of a target block, which share entries */

/* Resident warps on a multiprocessor; they limit the registers that the compiler uses. Shared memory of devices before
 * sm_90 has room for twelve. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 900
enum { HARD_WARPS = 12, HARD_WARPS_MIXED = 11, HARD_WARPS_QUADRUPOLE = 11 };
#else
enum { HARD_WARPS = 18, HARD_WARPS_MIXED = 16, HARD_WARPS_QUADRUPOLE = 14 };
#endif

/* Shared memory of the warp of one group. */
template <int CELLS, int HOW, bool OWN = UNLIKE> struct hard_shared : softenings<OWN, ENTRIES, GROUP_MAX> {
  uint32_t stack[STACK];    /* ranges of siblings */
  float4 entry[ENTRIES];    /* in the group's frame: the near list, then entries of a target block */
  float4 target[GROUP_MAX]; /* position, a_old */
  float4 ball[GROUP_MAX / HARD_TARGET_BLOCK];
  float sink[GROUP_MAX / HARD_TARGET_BLOCK];
  double sum[3 * GROUP_MAX];
  int32_t leaf[LEAVES_MAX];
  /* opened leaves of a target block; y: number of particles of earlier leaves; x: first particle - y */
  int2 opened[LEAVES_MAX];
  /* of each entry: its node; for mixed cells, after the traversal, the trace of its second moments */
  union {
    int32_t node[CELLS != CELLS_MONOPOLE ? ENTRIES : 1];
    float trace[CELLS != CELLS_MONOPOLE ? ENTRIES : 1];
  };
  uint8_t member[HOW == WALK_MOVING ? GROUP_MAX : 1]; /* targets, as offsets from the group's first particle */
  __device__ int target_of(int k) const { return HOW == WALK_MOVING ? member[k] : k; }
};

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* Class of a tested node. A cell that all targets accept has no hard force if its centre is beyond R2, because K
 * depends on the distance of the centre. */
template <int CELLS, int HOW>
static __device__ __forceinline__ int hard_classify(const struct walk_job &job, const struct view &view,
                                                    const struct tested_node &tested)
{
  struct criterion c = test_criterion<CELLS, HOW>(job, view, tested);
  if (is_empty(tested) || c.d > (c.accept ? job.near : job.near + tested.b)) return REJECT;
  return c.accept ? NEAR_CELL : tested.info & NODE_LEAF ? LEAF : OPEN;
}

/* Test nodes until none is left or the lists are full. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void traverse(R &s, const struct walk_job &job, const struct view &view, int lane,
                                                struct lists &lists, struct walked &walked)
{
  for (;;) {
    int k[SLOTS], node_class[SLOTS], staged = 0;
    struct tested_node t[SLOTS];
    struct step n = next_step(lists.front, min(NEAR_MAX - lists.near, LEAVES_MAX - lists.leaves));
    if (n.ranges + n.nodes == 0) return;
    fetch_nodes(s, n, lists.front, lane, k);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_in_frame<HOW>(job, view, max(k[i], 0));
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
      node_class[i] = k[i] < 0 ? (int)REJECT : hard_classify<CELLS, HOW>(job, view, t[i]);
      walked.tests += lane_count(warp_ballot(k[i] >= 0 && node_class[i] == REJECT));
    }
    warp_sync(); /* ranges are read before they are overwritten */
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--)
      store_nodes<CELLS == CELLS_MONOPOLE ? CELLS_MONOPOLE : CELLS_QUADRUPOLE, false>(s, t[i], k[i], node_class[i],
                                                                                      lists, staged, walked);
    warp_sync();
  }
}

/* --- pairs ------------------------------------------------------------------------------------------------------- */

/* T targets in registers, the same in all lanes, and their sums over the sources of this lane. */
template <int T> struct targets {
  float x[T], y[T], z[T], sum[3 * T];
  float eps2[T]; /* where softenings differ */
};

/* Add the hard forces of a point mass on T targets. */
template <int SPLIT, int T>
static __device__ __forceinline__ void hard_pairs(struct targets<T> &b, const struct walk_job &job, const float4 &s,
                                                  float eps2)
{
#pragma unroll
  for (int k = 0; k < T; k++) {
    const struct pair_f p = pair_of(s, b.x[k], b.y[k], b.z[k], larger_eps2(eps2, b.eps2[k]));
    float r2 = pair_r2_f(p), y = clipped_y(root(r2), job.y_slope, job.y_start);
    pair_add_f(&b.sum[3 * k], pair_point_f(p, pair_rho2_of_f(p, r2)).w * pair_k_f(y, SPLIT), p);
  }
}

/* Add the hard forces of a cell with second moments on T targets. */
template <int SPLIT, int T>
static __device__ __forceinline__ void hard_quad_pairs(struct targets<T> &b, const struct walk_job &job,
                                                       const float4 &s, const struct quad &quad, float eps2)
{
#pragma unroll
  for (int k = 0; k < T; k++)
    add_hard_quad<SPLIT>(&b.sum[3 * k], pair_of(s, b.x[k], b.y[k], b.z[k], larger_eps2(eps2, b.eps2[k])), quad.q,
                         job.y_slope, job.y_start);
}

/* Add the hard forces of a cell with the trace of its second moments on T targets. */
template <int SPLIT, int T>
static __device__ __forceinline__ void hard_spread_pairs(struct targets<T> &b, const struct walk_job &job,
                                                         const float4 &s, float trace, float eps2)
{
#pragma unroll
  for (int k = 0; k < T; k++)
    add_hard_spread<SPLIT>(&b.sum[3 * k], pair_of(s, b.x[k], b.y[k], b.z[k], larger_eps2(eps2, b.eps2[k])), trace,
                           job.y_slope, job.y_start);
}

/* The trace of a node's second moments, in the walk's unit. */
static __device__ __forceinline__ float trace_of(const struct walk_job &job, int k)
{
  const float2 *m = (const float2 *)&job.t.quad[k];
  const float2 x = load_read_only(m);
  return job.quad_scale * (x.x + x.y + load_read_only(&job.t.quad[k].q[2]));
}

/* Second moments of the cell that is entry j. */
template <class R>
static __device__ __forceinline__ struct quad quad_of(const R &s, const struct walk_job &job, int j, float mass)
{
  struct quad q = {};
  if (!(mass > 0)) return q;
  const float2 *m = (const float2 *)&job.t.quad[s.node[j]];
  const float2 x = load_read_only(m), y = load_read_only(m + 1), z = load_read_only(m + 2);
  float f = job.quad_scale;
  q = {{f * x.x, f * x.y, f * y.x, f * y.y, f * z.x, f * z.y}};
  return q;
}

/* Entries of a target block: cells [begin, cells), particles [cells, end); without second moments there is no
 * difference. */
struct hard_entries {
  int begin, cells;
  struct entries at; /* end of the entries; opened leaves */
};

/* Forces of the entries on the T targets from `first` on, added to their sums. Hard forces cancel: the sum of a lane
 * over about a dozen entries and the sum over the lanes are float32, and all later sums are double. */
template <int CELLS, int SPLIT, int T, class R>
static __device__ __forceinline__ void evaluate_targets(R &s, const struct walk_job &job, int first,
                                                        const struct hard_entries &entries, int end, int lane)
{
  constexpr int UNROLL = T >= 4 ? 1 : 4 / T;
  struct targets<T> b;
#pragma unroll
  for (int k = 0; k < T; k++) {
    float4 t = s.target[first + k];
    b.x[k] = t.x;
    b.y[k] = t.y;
    b.z[k] = t.z;
    if (UNLIKE) b.eps2[k] = s.target_eps2[first + k];
  }
#pragma unroll
  for (int k = 0; k < 3 * T; k++) b.sum[k] = 0;
  for (int j = entries.begin + lane; CELLS != CELLS_MONOPOLE && j < entries.cells; j += LANES) {
    float4 c = s.entry[j];
    if (CELLS == CELLS_QUADRUPOLE)
      hard_quad_pairs<SPLIT>(b, job, c, quad_of(s, job, j, c.w), UNLIKE ? s.eps2[j] : job.eps2);
    else hard_spread_pairs<SPLIT>(b, job, c, c.w > 0 ? s.trace[j] : 0, UNLIKE ? s.eps2[j] : job.eps2);
  }
#pragma unroll UNROLL
  for (int j = (CELLS != CELLS_MONOPOLE ? entries.cells : entries.begin) + lane; j < end; j += LANES)
    hard_pairs<SPLIT>(b, job, s.entry[j], UNLIKE ? s.eps2[j] : job.eps2);
  float mine = lanes_sum<3 * T>(b.sum, lane);
  if (lane < 3 * T) s.sum[3 * first + lane] += mine;
}

/* Forces of the entries on a target block, added to its sums. */
template <int CELLS, int SPLIT, class R>
static __device__ __forceinline__ void evaluate(R &s, const struct walk_job &job, int target_block, int targets,
                                                const struct hard_entries &entries, int lane)
{
  int end = pad(s, entries.at.end, lane), last = min((target_block + 1) * HARD_TARGET_BLOCK, targets);
  warp_sync();
  for (int first = target_block * HARD_TARGET_BLOCK; first < last; first += BLOCK) {
    int left = last - first;
    if (left > 4) evaluate_targets<CELLS, SPLIT, BLOCK>(s, job, first, entries, end, lane);
    else if (left > 2) evaluate_targets<CELLS, SPLIT, 4>(s, job, first, entries, end, lane);
    else if (left > 1) evaluate_targets<CELLS, SPLIT, 2>(s, job, first, entries, end, lane);
    else evaluate_targets<CELLS, SPLIT, 1>(s, job, first, entries, end, lane);
  }
  warp_sync();
}

/* --- entries of a target block ----------------------------------------------------------------------------------- */

static __device__ __forceinline__ float square_from(const float4 &ball, const float4 &c)
{
  float x = c.x - ball.x, y = c.y - ball.y, z = c.z - ball.z;
  return x * x + y * y + z * z;
}

/* Lanes with `take` append their entry c, with its node or the bits of its trace (k), and where softenings differ its
 * eps2. Returns the number of these lanes. */
template <int CELLS, class R>
static __device__ __forceinline__ int append(R &s, struct entries &entries, const float4 &c, int k, float eps2,
                                             bool take)
{
  lane_mask takes = warp_ballot(take);
  int at = entries.end + lane_count(takes & lanes_below());
  if (take) s.entry[at] = c;
  if (UNLIKE && take) s.eps2[at] = eps2;
  if (CELLS == CELLS_QUADRUPOLE && take) s.node[at] = k;
  if (CELLS == CELLS_MIXED && take) s.trace[at] = __int_as_float(k);
  entries.end += lane_count(takes);
  return lane_count(takes);
}

/* Append the near cells from index `from` on whose centres are within R2 of the target block's bounding sphere. Returns
 * their number. */
template <int CELLS, class R>
static __device__ __forceinline__ int keep_near(R &s, const struct walk_job &job, const struct lists &lists,
                                                const float4 &ball, int from, struct entries &entries, int lane)
{
  float cutoff = ball.w + job.near;
  int count = 0;
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    int j = min(from + i * LANES + lane, lists.near - 1);
    float4 c = s.entry[j];
    bool take = from + i * LANES + lane < lists.near && square_from(ball, c) <= cutoff * cutoff;
    count += append<CELLS>(s, entries, c, CELLS != CELLS_MONOPOLE ? s.node[j] : 0, UNLIKE ? s.eps2[j] : 0, take);
  }
  return count;
}

/* Each lane tests one candidate leaf. It is left out if it is beyond R2. It becomes an entry if the target block
 * accepts it as a cell, else it is listed as opened and its particles are counted. Returns the number of new
 * entries. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ int keep_leaf(R &s, const struct walk_job &job, const struct tested_node &tested,
                                                int k, const float4 &ball, float sink, struct entries &entries,
                                                int lane)
{
  float r2 = square_from(ball, tested.at), d = r2 * inverse_root(fmaxf(r2, 1e-37f)) - ball.w;
  bool accept = d >= fmaxf(tested.reach * sink + tested.grown, mac_clear(tested.b, job.open_within)) && r2 > 0 &&
                !is_single_particle<HOW>(job, tested);
  bool open = k >= 0 && !accept && d <= job.near + tested.b;
  lane_mask opens = warp_ballot(open);
  int n = open ? (int)(tested.info & NODE_COUNT) : 0, sum = lanes_scan(n, lane), before = entries.particles + sum - n;
  if (open) s.opened[entries.opened + lane_count(opens & lanes_below())] = make_int2(tested.first - before, before);
  entries.opened += lane_count(opens);
  entries.particles += warp_shuffle(sum, LANES - 1);
  bool take = k >= 0 && accept && d <= job.near;
  return append<CELLS>(s, entries, tested.at, CELLS == CELLS_MIXED && take ? __float_as_int(trace_of(job, k)) : k,
                       tested.eps2, take);
}

/* The same for the candidate leaves from index `from` on, SLOTS per lane. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ int keep_leaves(R &s, const struct walk_job &job, const struct view &view,
                                                  const struct lists &lists, int target_block, int from,
                                                  struct entries &entries, int lane)
{
  float4 ball = s.ball[target_block];
  float sink = s.sink[target_block] * job.reach;
  int k[SLOTS], count = 0;
  struct tested_node t[SLOTS];
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    int at = from + i * LANES + lane;
    k[i] = at < lists.leaves ? s.leaf[at] : -1;
    t[i] = node_in_frame<HOW>(job, view, max(k[i], 0));
  }
#pragma unroll
  for (int i = 0; i < SLOTS; i++)
    if (from + i * LANES < lists.leaves) count += keep_leaf<CELLS, HOW>(s, job, t[i], k[i], ball, sink, entries, lane);
  warp_sync();
  return count;
}

/* Append the particles of opened leaves, from number `from` on, that are within R2 of the bounding sphere. Returns
 * their number. */
template <int HOW, class R>
static __device__ __forceinline__ int keep_particles(R &s, const struct walk_job &job, const struct view &view,
                                                     const float4 &ball, int from, struct entries &entries, int &owner,
                                                     int lane)
{
  float cutoff = ball.w + job.near;
  int i[SLOTS], count = 0;
  int4 x[SLOTS];
#pragma unroll
  for (int k = 0; k < SLOTS; k++) i[k] = particle_of(s, entries, from + k * LANES, owner, lane);
#pragma unroll
  for (int k = 0; k < SLOTS; k++) x[k] = load_body(job, max(i[k], 0));
#pragma unroll
  for (int k = 0; k < SLOTS; k++) {
    float4 c = source_in_frame<HOW>(job, view, max(i[k], 0), x[k]);
    float eps2 = UNLIKE ? eps2_of_mass(job, c.w) : 0;
    if (UNLIKE) c.w = softening_mass(c.w);
    count += append<CELLS_MONOPOLE>(s, entries, c, 0, eps2, i[k] >= 0 && square_from(ball, c) <= cutoff * cutoff);
  }
  return count;
}

/* Find and evaluate the entries of a target block. One copy of the pair loops serves both a full list of entries and
 * the rest at the end, because instruction caches are small. If the target block is the whole group, the near list
 * needs no pruning. */
template <int CELLS, int HOW, int SPLIT, class R>
static __device__ __forceinline__ void use_lists(R &s, const struct walk_job &job, const struct view &view,
                                                 const struct lists &lists, int target_block, int lane,
                                                 struct walked &walked)
{
  bool only = view.targets <= HARD_TARGET_BLOCK;
  int begin = only ? 0 : (lists.near + LANES - 1) / LANES * LANES, near = only ? lists.near : 0, leaf = 0, particle = 0,
      owner = 0;
  int members = min(view.targets - target_block * HARD_TARGET_BLOCK, (int)HARD_TARGET_BLOCK), cells = near,
      particles = 0;
  struct hard_entries e = {begin, begin, {begin + near, 0, 0}};
  const float4 ball = s.ball[target_block];
  for (;;) {
    bool more_cells = near < lists.near || leaf < lists.leaves, more = more_cells || particle < e.at.particles;
    if (CELLS != CELLS_MONOPOLE && (more_cells || particle == 0))
      e.cells = e.at.end = more_cells ? e.at.end : pad(s, e.at.end, lane);
    if (!more || e.at.end + (SLOTS + 1) * LANES > ENTRIES) {
      evaluate<CELLS, SPLIT>(s, job, target_block, view.targets, e, lane);
      e.cells = e.at.end = e.begin;
      if (!more) break;
    }
    if (near < lists.near) {
      cells += keep_near<CELLS>(s, job, lists, ball, near, e.at, lane);
      near += SLOTS * LANES;
    } else if (more_cells) {
      cells += keep_leaves<CELLS, HOW>(s, job, view, lists, target_block, leaf, e.at, lane);
      leaf += SLOTS * LANES;
    } else {
      particles += keep_particles<HOW>(s, job, view, ball, particle, e.at, owner, lane);
      particle += SLOTS * LANES;
    }
  }
  walked.cell_pairs += (unsigned)(cells * members);
  walked.particle_pairs += (unsigned long long)particles * (unsigned)members;
}

/* Replace the nodes of near cells by their traces. */
template <class R>
static __device__ __forceinline__ void find_traces(R &s, const struct walk_job &job, int near, int lane)
{
  for (int j = lane; j < near; j += LANES) s.trace[j] = trace_of(job, s.node[j]);
  warp_sync();
}

/* --- results ----------------------------------------------------------------------------------------------------- */

/* Store the hard forces of the targets; `each`: interactions of each target. */
template <class R>
static __device__ __forceinline__ void store(const R &s, const struct walk_job &job, const struct run &run, int targets,
                                             float each, int lane)
{
  for (int k = lane; k < targets; k += LANES) {
    int64_t i = run.begin + s.target_of(k);
    for (int c = 0; c < 3; c++) {
      float h = (float)(job.per_a * s.sum[3 * k + c]), *to = &job.p.acc_hard[3 * i + c];
      *to = job.adding == 0 ? h : *to + h;
    }
    job.p.work[i] += each;
  }
}

/* Whether the targets are deferred, to be walked one by one. They are if they find too many nodes and their bounding
 * sphere is larger than R2, so that it extends into much denser regions. With a smaller sphere each target alone would
 * find as many nodes. */
template <class R>
static __device__ __forceinline__ bool defer_single(const R &s, const struct walk_job &job, const struct run &run,
                                                    const struct view &view, int near, int leaves, int lane)
{
  if (view.targets == 1 || view.radius <= job.near || (near <= job.heavy_near && leaves <= job.heavy_leaves))
    return false;
  int at = 0;
  if (lane == 0) at = atomicAdd(&job.piece_count[1], view.targets);
  at = warp_shuffle(at, 0);
  for (int k = lane; k < view.targets; k += LANES) job.singles[at + k] = run.begin + s.target_of(k);
  return true;
}

/* Each of six lanes adds one count. Targets and groups are counted only where forces are overwritten in a walk of
 * active particles. */
static __device__ __forceinline__ void store_tally(const struct walk_job &job, const struct view &view,
                                                   const struct walked &walked, int lane)
{
  bool overwrite = job.hard_only && job.adding == 0;
  unsigned long long mine = overwrite ? (unsigned)view.targets : 0;
  if (lane == 1) mine = overwrite;
  if (lane == 2) mine = walked.particle_pairs;
  if (lane == 3) mine = walked.cell_pairs;
  if (lane == 4) mine = (unsigned)walked.tests;
  if (lane == 5) mine = walked.particle_pairs + walked.cell_pairs;
  if (lane < 6) atomicAdd(&(&job.count[blockIdx.x % COUNT_SLOTS].targets)[lane], mine);
}

/* One warp walks one group, piece or target. */
template <int CELLS, int HOW, int SPLIT>
static __device__ __forceinline__ void walk_one(struct hard_shared<CELLS, HOW> &s, const struct walk_job &job,
                                                const struct run &run, int lane)
{
  int n = find_targets<HOW>(s, job, run, lane), near = 0, leaves = 0;
  if (n == 0) return;
  struct view v;
  struct lists l;
  struct walked w = {0, 0, 0, 0};
  for (int k = lane; k < 3 * GROUP_MAX; k += LANES) s.sum[k] = 0;
  place_targets<HARD_TARGET_BLOCK, CELLS, HOW>(s, job, run, n, lane, v);
  soften_targets(s, job, run, n, lane);
  v.sink *= job.reach;
  start_lists(job, run.supergroup, 0, l);
  do {
    l.near = l.leaves = 0;
    traverse<CELLS, HOW>(s, job, v, lane, l, w);
    near += l.near;
    leaves += l.leaves;
    if (defer_single(s, job, run, v, near, leaves, lane)) return;
    if (CELLS == CELLS_MIXED) find_traces(s, job, l.near, lane);
    for (int target_block = 0; target_block * HARD_TARGET_BLOCK < n; target_block++)
      use_lists<CELLS, HOW, SPLIT>(s, job, v, l, target_block, lane, w);
  } while (l.front.depth > 0 || l.front.next < l.front.count);
  store(s, job, run, n, ((float)w.cell_pairs + (float)w.particle_pairs) * inverse((float)n), lane);
  store_tally(job, v, w, lane);
}

/* A thread block is one warp; the grid strides over the groups, pieces or targets of the stage. */
template <int CELLS, int HOW, int SPLIT>
static __global__ void __launch_bounds__(LANES, CELLS == CELLS_QUADRUPOLE ? HARD_WARPS_QUADRUPOLE
                                                : CELLS == CELLS_MIXED    ? HARD_WARPS_MIXED
                                                                          : HARD_WARPS)
    hard_kernel(const __grid_constant__ struct walk_job job)
{
  __shared__ struct hard_shared<CELLS, HOW> s;
  int32_t count = runs_of(job);
  for (int32_t q = (int32_t)blockIdx.x; q < count; q += (int32_t)gridDim.x) {
    walk_one<CELLS, HOW, SPLIT>(s, job, run_of(job, q), (int)threadIdx.x);
    warp_sync();
  }
}

/* --- launch ------------------------------------------------------------------------------------------------------ */

template <int CELLS, int SPLIT>
static void launch(struct device *d, const struct walk_job &job, int how, int64_t blocks)
{
  if (how == WALK_MOVING) LAUNCH(d, (hard_kernel<CELLS, WALK_MOVING, SPLIT>), blocks, LANES, job);
  else LAUNCH(d, (hard_kernel<CELLS, WALK_STILL, SPLIT>), blocks, LANES, job);
}

#define LAUNCH_SPLIT(kernel, name) \
  case SPLIT_##kernel: launch<CELLS, SPLIT_##kernel>(d, job, how, blocks); break;
template <int CELLS> static void launch_kernel(struct device *d, const struct walk_job &job, int how, int64_t blocks)
{
  switch (job.split_kernel) {
    SPLIT_KERNELS(LAUNCH_SPLIT)
  }
}

#if UNLIKE
void walk_hard_groups_unlike(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks)
{
#else
void walk_hard_groups(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks)
{
  if (d->softening.classes > 1) {
    walk_hard_groups_unlike(d, job, cells, how, blocks);
    return;
  }
#endif
  if (cells == CELLS_QUADRUPOLE) launch_kernel<CELLS_QUADRUPOLE>(d, *job, how, blocks);
  else if (cells == CELLS_MIXED) launch_kernel<CELLS_MIXED>(d, *job, how, blocks);
  else launch_kernel<CELLS_MONOPOLE>(d, *job, how, blocks);
}
#endif
