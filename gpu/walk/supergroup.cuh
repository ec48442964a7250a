/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of supergroups: one warp for each, or a team of warps where they are few. Cells that are far for the whole
 * supergroup are expanded about its centre. The others are opened as long as most of its groups would open them, and
 * else handed down to the groups. For hard forces no cell is expanded: nodes wholly beyond R2 are left out, and the
 * others are handed down. */
#ifndef GPU_SUPERGROUP_CUH
#define GPU_SUPERGROUP_CUH
#include <config.h>
#include "gpu/walk/traverse.cuh"

/* A node is opened if a group at this depth below the surface of the supergroup would open it. Depths of groups are
 * between 0 and 2, in radii of the supergroup. */
#define OPEN_SHARE 1.0f
/* The same for hard forces. Within R2 groups open nearly the same nodes as the supergroup, and lists of leaves spare
 * them the traversal. */
#define HARD_OPEN_SHARE 0.5f

enum {
  SUPERGROUP_WARPS = 18,     /* resident on a multiprocessor; they limit the registers that the compiler uses */
  SUPERGROUP_TEAM_WARPS = 4, /* warps for each supergroup where these are few */
  FEW_SUPERGROUPS = SUPERGROUP_WARPS / SUPERGROUP_TEAM_WARPS /* for each multiprocessor: single warps wait for memory */
};

/* Far cells that a warp has found and not yet expanded. */
template <int CELLS, bool HARD, bool OWN = UNLIKE> struct supergroup_stage : softenings<OWN && !HARD, STAGED_MAX, 1> {
  float4 far_cell[HARD ? 1 : STAGED_MAX];
  int32_t staged_node[CELLS != CELLS_MONOPOLE && !HARD ? STAGED_MAX : 1];
  __device__ const float4 *staged() const { return far_cell; }
  __device__ const float *staged_eps2() const { return this->eps2; }
};

/* Numbers of nodes that a warp hands down and opens at a step. */
struct stored {
  int down, open;
};

/* Shared memory of the W warps of one supergroup. */
template <int CELLS, bool HARD, int W, bool OWN = UNLIKE> struct supergroup_shared {
  uint32_t stack[W * NARROW + W * SLOTS * LANES + (SIBLINGS - 1) * (KEY_LEVELS + 1)];
  struct supergroup_stage<CELLS, HARD, OWN> stage[W];
  float taylor[HARD ? 1 : TAYLOR_MAX];
  struct stored stored[W];
  int32_t low[3], high[3]; /* bounding box of the targets (lattice) */
  unsigned min_a, r2;      /* bits of non-negative floats: smallest |a_old|, squared radius */
  int targets, far;
  __device__ float *expansion() { return taylor; }
};

static __device__ __forceinline__ int warp_id(void) { return (int)threadIdx.x / LANES; }

/* No targets yet. */
template <class R> static __device__ __forceinline__ void supergroup_begin(R &s)
{
  for (int c = 0; c < 3; c++) {
    s.low[c] = INT32_MAX;
    s.high[c] = 0;
  }
  s.min_a = __float_as_uint(3e38f);
  s.r2 = 0;
  s.targets = s.far = 0;
}

/* The ball of the targets of a supergroup, in all threads. */
template <int CELLS, int HOW, int W, class R>
static __device__ __forceinline__ void supergroup_view(R &s, const struct walk_job &job,
                                                       const struct supergroup &supergroup, struct view &view)
{
  int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  float min_a = 3e38f, r2 = 0;
  unsigned mine = 0; /* mask of the targets among the particles of this thread */
  int targets = 0;
  if (threadIdx.x == 0) supergroup_begin(s);
  for (int32_t i = supergroup.begin + (int32_t)threadIdx.x, k = 0; i < supergroup.end; i += W * LANES, k++) {
    if (!needs_force<HOW>(job, i)) continue;
    mine |= 1u << k;
    targets++;
    const int4 x = load_target(job, i);
    low[0] = min(low[0], x.x);
    low[1] = min(low[1], x.y);
    low[2] = min(low[2], x.z);
    high[0] = max(high[0], x.x);
    high[1] = max(high[1], x.y);
    high[2] = max(high[2], x.z);
    min_a = fminf(min_a, a_old_of(job, i));
  }
  targets = (int)warp_sum((unsigned)targets);
  min_a = lanes_min(min_a);
  __syncthreads();
#pragma unroll
  for (int c = 0; c < 3; c++) {
    low[c] = warp_min(low[c]);
    high[c] = warp_max(high[c]);
    if (lane_id() == 0) {
      atomicMin(&s.low[c], low[c]);
      atomicMax(&s.high[c], high[c]);
    }
  }
  if (lane_id() == 0) {
    atomicMin(&s.min_a, __float_as_uint(min_a));
    atomicAdd(&s.targets, targets);
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < 3; c++) view.centre[c] = s.low[c] + (s.high[c] - s.low[c]) / 2;
  for (int32_t i = supergroup.begin + (int32_t)threadIdx.x, k = 0; i < supergroup.end; i += W * LANES, k++) {
    if (!(mine >> k & 1)) continue;
    const int4 x = load_target(job, i);
    float dx = (float)(x.x - view.centre[0]), dy = (float)(x.y - view.centre[1]), dz = (float)(x.z - view.centre[2]);
    r2 = fmaxf(r2, dx * dx + dy * dy + dz * dz);
  }
  r2 = lanes_max(r2);
  if (lane_id() == 0) atomicMax(&s.r2, __float_as_uint(r2));
  __syncthreads();
  view.targets = s.targets;
  set_view<CELLS>(job, root(__uint_as_float(s.r2)) * job.spacing, __uint_as_float(s.min_a), OF_SUPERGROUP, view);
}

enum { NONE, FAR_CELL, HAND_DOWN, OPEN };

/* Class of a tested node. A cell that all targets accept has no hard force if its centre is beyond R2. */
template <int CELLS, int HOW, bool HARD>
static __device__ __forceinline__ int supergroup_classify(const struct walk_job &job, const struct view &view,
                                                          const struct tested_node &tested)
{
  struct criterion c = test_criterion<CELLS, HOW>(job, view, tested);
  if (HARD && (is_empty(tested) || c.d > (c.accept ? job.near : job.near + tested.b))) return NONE;
  if (!HARD && c.far) return FAR_CELL;
  if (tested.info & (NODE_LEAF | NODE_TERMINAL)) return HAND_DOWN;
  return fmaxf(c.needed, mac_clear(tested.b, job.open_within)) >
                 c.d + (HARD ? HARD_OPEN_SHARE : OPEN_SHARE) * view.radius
             ? OPEN
             : HAND_DOWN;
}

/* Counts of the traversal of a supergroup: nodes handed down, by all warps; far cells and tests of this warp. */
struct traversal_counts {
  int down, far, tests;
};

/* The next step of W warps; as next_step. */
template <int W> static __device__ __forceinline__ struct step supergroup_next_step(const struct front &front)
{
  int left = front.count - front.next;
  struct step n = {0, 0};
  if (left == 0 || front.depth >= W * WIDE) n.ranges = front.depth > W * NARROW ? 1 : min(front.depth, W * WIDE);
  else n.nodes = min(left, W * SLOTS * LANES);
  return n;
}

/* Remove the nodes of a step from the front: k[SLOTS] for each lane; -1: none. */
template <class R>
static __device__ __forceinline__ void supergroup_nodes(const R &s, const struct step &step, struct front &front,
                                                        int k[SLOTS])
{
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    int at = (warp_id() * SLOTS + i) * LANES + lane_id(), slot = at / SIBLINGS, child = at % SIBLINGS;
    if (step.nodes > 0) {
      k[i] = at < step.nodes ? front.list[front.next + at] : -1;
    } else {
      bool valid = slot < step.ranges;
      unsigned range = valid ? s.stack[front.depth - 1 - slot] : 0;
      k[i] = valid && child <= (int)(range & (SIBLINGS - 1)) ? (int)(range >> SIBLINGS_BITS) + child : -1;
    }
  }
  front.next += step.nodes;
  front.depth -= step.ranges;
}

/* Stage far cells, and count all classes. */
template <int CELLS, bool HARD>
static __device__ __forceinline__ void supergroup_stage_far(struct supergroup_stage<CELLS, HARD> &s,
                                                            const struct tested_node &tested, int k, int node_class,
                                                            int &staged, struct stored &stored,
                                                            struct traversal_counts &handing)
{
  lane_mask fars = HARD ? 0 : warp_ballot(node_class == FAR_CELL), downs = warp_ballot(node_class == HAND_DOWN);
  lane_mask opens = warp_ballot(node_class == OPEN), tested_lanes = HARD ? warp_ballot(k >= 0) : fars | downs | opens;
  if (!HARD && node_class == FAR_CELL) {
    int at = staged + lane_count(fars & lanes_below());
    s.far_cell[at] = tested.at;
    if (UNLIKE) s.eps2[at] = tested.eps2;
    if (CELLS != CELLS_MONOPOLE) s.staged_node[at] = k;
  }
  int far = lane_count(fars);
  staged += far;
  handing.far += far;
  handing.tests += lane_count(tested_lanes);
  stored.down += lane_count(downs);
  stored.open += lane_count(opens);
}

/* Store the nodes that are handed down, and put the ranges of opened nodes on the stack, the deepest last, so that they
 * are tested next. `at`: index of the first one of this warp; it advances. */
static __device__ __forceinline__ void supergroup_store_nodes(uint32_t *stack, const struct walk_job &job,
                                                              const struct tested_node &tested, int k, int node_class,
                                                              int32_t *handed, struct stored &at)
{
  lane_mask mine = lanes_below(), downs = warp_ballot(node_class == HAND_DOWN), opens = warp_ballot(node_class == OPEN);
  int down = at.down + lane_count(downs & mine);
  if (node_class == HAND_DOWN && down < job.handed_max) handed[down] = k;
  if (node_class == OPEN) stack[at.open + lane_count(opens & ~mine) - 1] = range_of(tested);
  at.down += lane_count(downs);
  at.open += lane_count(opens);
}

/* Traverse the roots from number `skip` on, until no node is left or more are handed down than fit. */
template <int CELLS, int HOW, bool HARD, int W>
static __device__ __forceinline__ struct traversal_counts supergroup_traverse(
    struct supergroup_shared<CELLS, HARD, W> &s, const struct walk_job &job, const struct view &view, int skip,
    int32_t *handed)
{
  float sum[TAYLOR_MAX];
#pragma unroll
  for (int i = 0; i < TAYLOR_MAX; i++) sum[i] = 0;
  struct traversal_counts h = {0, 0, 0};
  struct front l = {0, job.root + skip, 0, job.roots - skip};
  struct supergroup_stage<CELLS, HARD> &stage = s.stage[warp_id()];
  int staged = 0, k[SLOTS], lane = lane_id();
  for (;;) {
    struct step n = supergroup_next_step<W>(l);
    supergroup_nodes(s, n, l, k);
    struct tested_node t[SLOTS];
    int node_class[SLOTS];
    struct stored mine = {0, 0};
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_in_frame<HOW>(job, view, max(k[i], 0));
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
      node_class[i] = k[i] < 0 ? (int)NONE : supergroup_classify<CELLS, HOW, HARD>(job, view, t[i]);
    warp_sync();
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) supergroup_stage_far(stage, t[i], k[i], node_class[i], staged, mine, h);
    if (W > 1 && lane == 0) s.stored[warp_id()] = mine;
    __syncthreads();
    struct stored at = {h.down, l.depth}, all = mine;
    if (W > 1) {
      all = {0, 0};
#pragma unroll
      for (int w = 0; w < W; w++) {
        struct stored f = s.stored[w];
        all.down += f.down;
        all.open += f.open;
        if (w < warp_id()) at.down += f.down;
        if (w > warp_id()) at.open += f.open;
      }
    }
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) supergroup_store_nodes(s.stack, job, t[i], k[i], node_class[i], handed, at);
    h.down += all.down;
    l.depth += all.open;
    __syncthreads();
    bool ends = l.depth + l.count - l.next == 0 || h.down > job.handed_max;
    if constexpr (!HARD) expand_staged<CELLS>(stage, job, sum, staged, ends, lane);
    warp_sync();
    if (ends) break;
  }
  for (int w = 0; w < W && !HARD; w++) { /* one warp after another: the order of the sum is fixed */
    if constexpr (!HARD)
      if (w == warp_id()) add_taylor(s, sum, lane);
    __syncthreads();
  }
  return h;
}

/* W warps walk supergroup `which` and store what its groups need. */
template <int CELLS, int HOW, bool HARD, int W>
static __device__ __forceinline__ void walk_supergroup(struct supergroup_shared<CELLS, HARD, W> &s,
                                                       const struct walk_job &job, int32_t which)
{
  struct supergroup *f = &job.supergroup[which];
  struct view v;
  supergroup_view<CELLS, HOW, W>(s, job, *f, v);
  if (HARD) v.sink *= job.reach;
  for (int k = (int)threadIdx.x; !HARD && k < TAYLOR_MAX; k += W * LANES) s.taylor[k] = 0;
  __syncthreads();
  int skip = HARD ? 0 : roots_skipped(job, which);
  struct traversal_counts h =
      supergroup_traverse<CELLS, HOW, HARD, W>(s, job, v, skip, job.handed + (int64_t)which * job.handed_max);
  bool kept = h.down <= job.handed_max;
  for (int k = (int)threadIdx.x; !HARD && k < TAYLOR_MAX; k += W * LANES) f->taylor[k] = kept ? s.taylor[k] : 0;
  if (lane_id() == 0) {
    atomicAdd(&s.far, h.far);
    atomicAdd(&job.count[which % COUNT_SLOTS].tests, (unsigned long long)h.tests);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    f->handed = kept ? h.down : HANDED_ROOTS;
    f->far = kept ? s.far : 0;
    for (int c = 0; c < 3; c++) f->centre[c] = v.centre[c];
    atomicAdd(job.handed_sum, (unsigned long long)min(h.down, job.handed_max));
  }
  __syncthreads();
}

/* A thread block is the W warps of one supergroup; the grid strides over the supergroups. */
template <int CELLS, int HOW, bool HARD, int W>
static __global__ void __launch_bounds__(W *LANES, SUPERGROUP_WARPS / W)
    supergroup_kernel(const __grid_constant__ struct walk_job job)
{
  __shared__ struct supergroup_shared<CELLS, HARD, W> s;
  int32_t count = job.supergroup_list ? *job.supergroup_count : job.supergroups;
  for (int32_t f = (int32_t)blockIdx.x; f < count; f += (int32_t)gridDim.x)
    walk_supergroup<CELLS, HOW, HARD, W>(s, job, job.supergroup_list ? job.supergroup_list[f] : f);
}

template <int CELLS, bool HARD, int W>
static void launch_warp_team(struct device *d, const struct walk_job &job, int how)
{
  if (how == WALK_MOVING) LAUNCH(d, (supergroup_kernel<CELLS, WALK_MOVING, HARD, W>), job.supergroups, W * LANES, job);
  else LAUNCH(d, (supergroup_kernel<CELLS, WALK_STILL, HARD, W>), job.supergroups, W * LANES, job);
}

template <int CELLS, bool HARD> static void launch(struct device *d, const struct walk_job &job, int how)
{
  if (job.supergroups <= FEW_SUPERGROUPS * d->multiprocessors)
    launch_warp_team<CELLS, HARD, SUPERGROUP_TEAM_WARPS>(d, job, how);
  else launch_warp_team<CELLS, HARD, 1>(d, job, how);
}

#if UNLIKE
void walk_supergroups_unlike(struct device *d, const struct walk_job *job, int cells, int how)
{
#else
void walk_supergroups(struct device *d, const struct walk_job *job, int cells, int how)
{
  if (d->softening.classes > 1) {
    walk_supergroups_unlike(d, job, cells, how);
    return;
  }
#endif
  if (cells == CELLS_MONOPOLE) launch<CELLS_MONOPOLE, false>(d, *job, how);
  else if (cells == CELLS_MIXED) launch<CELLS_MIXED, false>(d, *job, how);
  else launch<CELLS_QUADRUPOLE, false>(d, *job, how);
}

#if UNLIKE
void walk_hard_supergroups_unlike(struct device *d, const struct walk_job *job, int cells, int how)
{
#else
void walk_hard_supergroups(struct device *d, const struct walk_job *job, int cells, int how)
{
  if (d->softening.classes > 1) {
    walk_hard_supergroups_unlike(d, job, cells, how);
    return;
  }
#endif
  if (cells == CELLS_QUADRUPOLE) launch<CELLS_QUADRUPOLE, true>(d, *job, how);
  else launch<CELLS_MONOPOLE, true>(d, *job, how);
}
#endif
