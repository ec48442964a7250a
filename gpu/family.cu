/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of families of groups: one warp each, or several where they are few. Cells that are far for the whole family are expanded about its centre;
 * the others are opened while most of its groups would, and else handed down to the groups. For hard forces nothing is
 * expanded: what lies wholly beyond R2 is left out, the rest is handed down. */
#include <config.h>
#include "traverse.cuh"

/* A node is opened where most groups would open it: they stand up to two radii deeper than the family's surface. */
#define OPEN_SHARE 1.0f
/* Within R2 groups open what the family would: lists of leaves save them the traversal. */
#define HARD_OPEN_SHARE 0.5f

enum {
  FAMILY_WARPS = 18,   /* on a multiprocessor: the compiler spends no more registers than they leave */
  TEAM = 4,            /* warps for each family where these are few, */
  FEW_FAMILIES = FAMILY_WARPS / TEAM   /* on a multiprocessor: a family alone waits for memory at every step */
};

/* Far cells that a warp has found. */
template <int CELLS, bool HARD> struct family_stage {
  float4 far_cell[HARD ? 1 : STAGED_MOST];
  int32_t staged_node[CELLS != CELLS_MONOPOLE && !HARD ? STAGED_MOST : 1];
  __device__ const float4 *staged() const { return far_cell; }
};

/* What a warp files at a step. */
struct filed {
  int down, open;
};

template <int CELLS, bool HARD, int W> struct family_room {
  uint32_t stack[W * NARROW + W * SLOTS * WARP + (SIBLINGS - 1) * (KEY_LEVELS + 1)];
  struct family_stage<CELLS, HARD> stage[W];
  float taylor[HARD ? 1 : TAYLOR_MOST];
  struct filed filed[W];
  int32_t low[3], high[3];   /* of the targets */
  unsigned least, r2;        /* bits of what is not negative */
  int targets, far;
  __device__ float *expansion() { return taylor; }
};

static __device__ __forceinline__ int warp_id(void) { return (int)threadIdx.x / WARP; }

/* The ball of its targets. All threads get it. */
template <int CELLS, int HOW, int W, class R>
static __device__ __forceinline__ void family_view(R &s, const struct walk_job &job, const struct family &f, struct view &v)
{
  int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  float least = 3e38f, r2 = 0;
  unsigned mine = 0;   /* which of this thread's particles are targets */
  int targets = 0;
  if (threadIdx.x == 0) {
    for (int c = 0; c < 3; c++) s.low[c] = INT32_MAX, s.high[c] = 0;
    s.least = __float_as_uint(3e38f), s.r2 = 0, s.targets = s.far = 0;
  }
  for (int32_t i = f.begin + (int32_t)threadIdx.x, k = 0; i < f.end; i += W * WARP, k++) {
    if (!wants<HOW>(job, i)) continue;
    mine |= 1u << k;
    targets++;
    const int4 x = load_target(job, i);
    low[0] = min(low[0], x.x), low[1] = min(low[1], x.y), low[2] = min(low[2], x.z);
    high[0] = max(high[0], x.x), high[1] = max(high[1], x.y), high[2] = max(high[2], x.z);
    least = fminf(least, a_old_of(job, i));
  }
  targets = (int)__reduce_add_sync(FULL, (unsigned)targets);
  least = lanes_min(least);
  __syncthreads();
#pragma unroll
  for (int c = 0; c < 3; c++) {
    low[c] = __reduce_min_sync(FULL, low[c]), high[c] = __reduce_max_sync(FULL, high[c]);
    if (lane_id() == 0) atomicMin(&s.low[c], low[c]), atomicMax(&s.high[c], high[c]);
  }
  if (lane_id() == 0) atomicMin(&s.least, __float_as_uint(least)), atomicAdd(&s.targets, targets);
  __syncthreads();
#pragma unroll
  for (int c = 0; c < 3; c++) v.centre[c] = s.low[c] + (s.high[c] - s.low[c]) / 2;
  for (int32_t i = f.begin + (int32_t)threadIdx.x, k = 0; i < f.end; i += W * WARP, k++) {
    if (!(mine >> k & 1)) continue;
    const int4 x = load_target(job, i);
    float dx = (float)(x.x - v.centre[0]), dy = (float)(x.y - v.centre[1]), dz = (float)(x.z - v.centre[2]);
    r2 = fmaxf(r2, dx * dx + dy * dy + dz * dz);
  }
  r2 = lanes_max(r2);
  if (lane_id() == 0) atomicMax(&s.r2, __float_as_uint(r2));
  __syncthreads();
  v.targets = s.targets;
  set_view<CELLS>(job, root(__uint_as_float(s.r2)) * job.spacing, __uint_as_float(s.least), OF_FAMILY, v);
}

enum { NONE, FAR_CELL, HAND_DOWN, OPEN };

/* A cell that all targets accept is hard for none of them where its centre is beyond R2. */
template <int CELLS, int HOW, bool HARD>
static __device__ __forceinline__ int family_verdict(const struct walk_job &job, const struct view &v, const struct tested &t)
{
  struct criterion c = judge<CELLS, HOW>(job, v, t);
  if (HARD && (is_empty(t) || c.d > (c.accept ? job.near : job.near + t.b))) return NONE;
  if (!HARD && c.far) return FAR_CELL;
  if (t.info & (NODE_LEAF | NODE_TERMINAL)) return HAND_DOWN;
  return fmaxf(c.needed, t.b) > c.d + (HARD ? HARD_OPEN_SHARE : OPEN_SHARE) * v.radius ? OPEN : HAND_DOWN;
}

/* What a family's traversal came to; `far` and `tests` are those of a warp. */
struct handing {
  int down, far, tests;
};

/* What is tested next, by W warps; as next_step. */
template <int W> static __device__ __forceinline__ struct step family_step(const struct front &l)
{
  int left = l.count - l.next;
  struct step n = {0, 0};
  if (left == 0 || l.depth >= W * WIDE)
    n.ranges = l.depth > W * NARROW ? 1 : min(l.depth, W * WIDE);
  else
    n.nodes = min(left, W * SLOTS * WARP);
  return n;
}

template <class R>
static __device__ __forceinline__ void family_nodes(const R &s, const struct step &n, struct front &l, int k[SLOTS])
{
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    int at = (warp_id() * SLOTS + i) * WARP + lane_id(), slot = at / SIBLINGS, child = at % SIBLINGS;
    if (n.nodes > 0) {
      k[i] = at < n.nodes ? l.list[l.next + at] : -1;
    } else {
      bool some = slot < n.ranges;
      unsigned range = some ? s.stack[l.depth - 1 - slot] : 0;
      k[i] = some && child <= (int)(range & (SIBLINGS - 1)) ? (int)(range >> SIBLINGS_BITS) + child : -1;
    }
  }
  l.next += n.nodes;
  l.depth -= n.ranges;
}

/* Far cells are staged, and the others counted. */
template <int CELLS, bool HARD>
static __device__ __forceinline__ void family_stage_far(struct family_stage<CELLS, HARD> &s, const struct tested &t, int k, int verdict, int &staged,
                                                        struct filed &filed, struct handing &h)
{
  unsigned fars = HARD ? 0 : __ballot_sync(FULL, verdict == FAR_CELL), downs = __ballot_sync(FULL, verdict == HAND_DOWN);
  unsigned opens = __ballot_sync(FULL, verdict == OPEN), seen = HARD ? __ballot_sync(FULL, k >= 0) : fars | downs | opens;
  if (!HARD && verdict == FAR_CELL) {
    int at = staged + __popc(fars & lanes_below());
    s.far_cell[at] = t.at;
    if (CELLS != CELLS_MONOPOLE) s.staged_node[at] = k;
  }
  int far = __popc(fars);
  staged += far, h.far += far, h.tests += __popc(seen);
  filed.down += __popc(downs), filed.open += __popc(opens);
}

/* Nodes that are handed down, and those that are opened: the deepest last, so that they are next. `at`: where this warp's begin. */
static __device__ __forceinline__ void family_file(uint32_t *stack, const struct walk_job &job, const struct tested &t, int k, int verdict,
                                                   int32_t *handed, struct filed &at)
{
  unsigned mine = lanes_below(), downs = __ballot_sync(FULL, verdict == HAND_DOWN), opens = __ballot_sync(FULL, verdict == OPEN);
  int down = at.down + __popc(downs & mine);
  if (verdict == HAND_DOWN && down < job.handed_most) handed[down] = k;
  if (verdict == OPEN) stack[at.open + __popc(opens & ~mine) - 1] = range_of(t);
  at.down += __popc(downs), at.open += __popc(opens);
}

template <int CELLS, int HOW, bool HARD, int W>
static __device__ __forceinline__ struct handing family_traverse(struct family_room<CELLS, HARD, W> &s, const struct walk_job &job,
                                                                 const struct view &v, int skip, int32_t *handed)
{
  float sum[TAYLOR_MOST];
#pragma unroll
  for (int i = 0; i < TAYLOR_MOST; i++) sum[i] = 0;
  struct handing h = {0, 0, 0};
  struct front l = {0, job.root + skip, 0, job.roots - skip};
  struct family_stage<CELLS, HARD> &stage = s.stage[warp_id()];
  int staged = 0, k[SLOTS], lane = lane_id();
  for (;;) {
    struct step n = family_step<W>(l);
    family_nodes(s, n, l, k);
    struct tested t[SLOTS];
    int verdict[SLOTS];
    struct filed mine = {0, 0};
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_seen<HOW>(job, v, max(k[i], 0));
#pragma unroll
    for (int i = 0; i < SLOTS; i++) verdict[i] = k[i] < 0 ? (int)NONE : family_verdict<CELLS, HOW, HARD>(job, v, t[i]);
    __syncwarp();
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) family_stage_far(stage, t[i], k[i], verdict[i], staged, mine, h);
    if (W > 1 && lane == 0) s.filed[warp_id()] = mine;
    __syncthreads();
    struct filed at = {h.down, l.depth}, all = mine;
    if (W > 1) {
      all = {0, 0};
#pragma unroll
      for (int w = 0; w < W; w++) {
        struct filed f = s.filed[w];
        all.down += f.down, all.open += f.open;
        if (w < warp_id()) at.down += f.down;
        if (w > warp_id()) at.open += f.open;
      }
    }
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) family_file(s.stack, job, t[i], k[i], verdict[i], handed, at);
    h.down += all.down, l.depth += all.open;
    __syncthreads();
    bool ends = l.depth + l.count - l.next == 0 || h.down > job.handed_most;
    if constexpr (!HARD) expand_staged<CELLS>(stage, job, sum, staged, ends, lane);
    __syncwarp();
    if (ends) break;
  }
  for (int w = 0; w < W && !HARD; w++) {   /* one after another: sums in one order */
    if constexpr (!HARD)
      if (w == warp_id()) add_taylor(s, sum, lane);
    __syncthreads();
  }
  return h;
}

template <int CELLS, int HOW, bool HARD, int W>
static __device__ __forceinline__ void walk_family(struct family_room<CELLS, HARD, W> &s, const struct walk_job &job, int32_t which)
{
  struct family *f = &job.family[which];
  struct view v;
  family_view<CELLS, HOW, W>(s, job, *f, v);
  if (HARD) v.sink *= job.reach;
  for (int k = (int)threadIdx.x; !HARD && k < TAYLOR_MOST; k += W * WARP) s.taylor[k] = 0;
  __syncthreads();
  int skip = HARD ? 0 : roots_skipped(job, which);
  struct handing h = family_traverse<CELLS, HOW, HARD, W>(s, job, v, skip, job.handed + (int64_t)which * job.handed_most);
  bool kept = h.down <= job.handed_most;
  for (int k = (int)threadIdx.x; !HARD && k < TAYLOR_MOST; k += W * WARP) f->taylor[k] = kept ? s.taylor[k] : 0;
  if (lane_id() == 0) {
    atomicAdd(&s.far, h.far);
    atomicAdd(&job.count[which % COUNT_SLOTS].tests, (unsigned long long)h.tests);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    f->handed = kept ? h.down : HANDED_ROOTS;
    f->far = kept ? s.far : 0;
    for (int c = 0; c < 3; c++) f->centre[c] = v.centre[c];
    atomicAdd(job.handed_sum, (unsigned long long)min(h.down, job.handed_most));
  }
  __syncthreads();
}

template <int CELLS, int HOW, bool HARD, int W>
static __global__ void __launch_bounds__(W * WARP, FAMILY_WARPS / W) family_kernel(const __grid_constant__ struct walk_job job)
{
  __shared__ struct family_room<CELLS, HARD, W> s;
  int32_t count = job.family_list ? *job.family_count : job.families;
  for (int32_t f = (int32_t)blockIdx.x; f < count; f += (int32_t)gridDim.x)
    walk_family<CELLS, HOW, HARD, W>(s, job, job.family_list ? job.family_list[f] : f);
}

template <int CELLS, bool HARD, int W> static void launch_team(struct device *d, const struct walk_job &job, int how)
{
  if (how == WALK_MOVING)
    LAUNCH(d, (family_kernel<CELLS, WALK_MOVING, HARD, W>), job.families, W * WARP, job);
  else
    LAUNCH(d, (family_kernel<CELLS, WALK_STILL, HARD, W>), job.families, W * WARP, job);
}

template <int CELLS, bool HARD> static void launch(struct device *d, const struct walk_job &job, int how)
{
  if (job.families <= FEW_FAMILIES * d->multiprocessors)
    launch_team<CELLS, HARD, TEAM>(d, job, how);
  else
    launch_team<CELLS, HARD, 1>(d, job, how);
}

void walk_families(struct device *d, const struct walk_job *job, int cells, int how)
{
  if (cells == CELLS_MONOPOLE)
    launch<CELLS_MONOPOLE, false>(d, *job, how);
  else if (cells == CELLS_MIXED)
    launch<CELLS_MIXED, false>(d, *job, how);
  else
    launch<CELLS_QUADRUPOLE, false>(d, *job, how);
}

void hard_families(struct device *d, const struct walk_job *job, int cells, int how)
{
  if (cells == CELLS_QUADRUPOLE)
    launch<CELLS_QUADRUPOLE, true>(d, *job, how);
  else
    launch<CELLS_MONOPOLE, true>(d, *job, how);
}
