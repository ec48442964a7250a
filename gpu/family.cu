/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of families of groups: one warp each. Cells that are far for the whole family are expanded about its centre;
 * the others are opened while most of its groups would, and else handed down to the groups. For hard forces nothing is
 * expanded: what lies wholly beyond R2 is left out, the rest is handed down. */
#include <config.h>
#include "traverse.cuh"

/* A node is opened where most groups would open it: they stand up to two radii deeper than the family's surface. */
#define OPEN_SHARE 1.0f
/* Within R2 groups open what the family would: lists of leaves save them the traversal. */
#define HARD_OPEN_SHARE 0.5f

enum { FAMILY_WARPS = 18 };   /* on a multiprocessor: the compiler spends no more registers than they leave */

template <int CELLS, bool HARD> struct family_room {
  uint32_t stack[STACK];
  float4 far_cell[HARD ? 1 : STAGED_MOST];
  float taylor[HARD ? 1 : TAYLOR_MOST];
  int32_t staged_node[CELLS != CELLS_MONOPOLE && !HARD ? STAGED_MOST : 1];
  __device__ float *expansion() { return taylor; }
  __device__ const float4 *staged() const { return far_cell; }
};

/* The ball of its targets. */
template <int CELLS, int HOW>
static __device__ __forceinline__ void family_view(const struct walk_job &job, const struct family &f, int lane, struct view &v)
{
  int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  float least = 3e38f, r2 = 0;
  unsigned mine = 0;   /* which of this lane's particles are targets */
  int targets = 0;
  for (int32_t i = f.begin + lane, k = 0; i < f.end; i += WARP, k++) {
    if (!wants<HOW>(job, i)) continue;
    mine |= 1u << k;
    targets++;
    const int4 x = load_target(job, i);
    low[0] = min(low[0], x.x), low[1] = min(low[1], x.y), low[2] = min(low[2], x.z);
    high[0] = max(high[0], x.x), high[1] = max(high[1], x.y), high[2] = max(high[2], x.z);
    least = fminf(least, a_old_of(job, i));
  }
#pragma unroll
  for (int c = 0; c < 3; c++) {
    low[c] = __reduce_min_sync(FULL, low[c]), high[c] = __reduce_max_sync(FULL, high[c]);
    v.centre[c] = low[c] + (high[c] - low[c]) / 2;
  }
  for (int32_t i = f.begin + lane, k = 0; i < f.end; i += WARP, k++) {
    if (!(mine >> k & 1)) continue;
    const int4 x = load_target(job, i);
    float dx = (float)(x.x - v.centre[0]), dy = (float)(x.y - v.centre[1]), dz = (float)(x.z - v.centre[2]);
    r2 = fmaxf(r2, dx * dx + dy * dy + dz * dz);
  }
  v.targets = (int)__reduce_add_sync(FULL, (unsigned)targets);
  set_view<CELLS>(job, root(lanes_max(r2)) * job.spacing, lanes_min(least), OF_FAMILY, v);
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

/* What a family's traversal came to. */
struct handing {
  int down, far, tests;
};

/* Put a tested node where it belongs. */
template <int CELLS, bool HARD>
static __device__ __forceinline__ void family_file(struct family_room<CELLS, HARD> &s, const struct walk_job &job, const struct tested &t, int k,
                                                   int verdict, int32_t *handed, struct front &l, int &staged, struct handing &h)
{
  unsigned mine = lanes_below();
  unsigned fars = HARD ? 0 : __ballot_sync(FULL, verdict == FAR_CELL), downs = __ballot_sync(FULL, verdict == HAND_DOWN);
  unsigned opens = __ballot_sync(FULL, verdict == OPEN), seen = HARD ? __ballot_sync(FULL, k >= 0) : fars | downs | opens;
  if (!HARD && verdict == FAR_CELL) {
    int at = staged + __popc(fars & mine);
    s.far_cell[at] = t.at;
    if (CELLS != CELLS_MONOPOLE) s.staged_node[at] = k;
  }
  int at = h.down + __popc(downs & mine);
  if (verdict == HAND_DOWN && at < job.handed_most) handed[at] = k;
  /* the deepest last, so that they are next */
  if (verdict == OPEN) s.stack[l.depth + __popc(opens & ~mine) - 1] = range_of(t);
  int far = __popc(fars), down = __popc(downs), open = __popc(opens);
  staged += far, h.down += down, l.depth += open;
  h.far += far, h.tests += __popc(seen);
}

template <int CELLS, int HOW, bool HARD>
static __device__ __forceinline__ struct handing family_traverse(struct family_room<CELLS, HARD> &s, const struct walk_job &job,
                                                                 const struct view &v, int32_t *handed, int lane)
{
  float sum[TAYLOR_MOST];
#pragma unroll
  for (int i = 0; i < TAYLOR_MOST; i++) sum[i] = 0;
  struct handing h = {0, 0, 0};
  struct front l = {0, job.root, 0, job.roots};
  int staged = 0, k[SLOTS];
  for (;;) {
    struct step n = next_step(l, SLOTS * WARP);
    take_nodes(s, n, l, lane, k);
    struct tested t[SLOTS];
    int verdict[SLOTS];
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_seen<HOW>(job, v, max(k[i], 0));
#pragma unroll
    for (int i = 0; i < SLOTS; i++) verdict[i] = k[i] < 0 ? (int)NONE : family_verdict<CELLS, HOW, HARD>(job, v, t[i]);
    __syncwarp();
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) family_file(s, job, t[i], k[i], verdict[i], handed, l, staged, h);
    __syncwarp();
    bool ends = l.depth + l.count - l.next == 0 || h.down > job.handed_most;
    if constexpr (!HARD) expand_staged<CELLS>(s, job, sum, staged, ends, lane);
    __syncwarp();
    if (ends) break;
  }
  if constexpr (!HARD) add_taylor(s, sum, lane);
  __syncwarp();
  return h;
}

template <int CELLS, int HOW, bool HARD>
static __device__ __forceinline__ void walk_family(struct family_room<CELLS, HARD> &s, const struct walk_job &job, int32_t which, int lane)
{
  struct family *f = &job.family[which];
  struct view v;
  family_view<CELLS, HOW>(job, *f, lane, v);
  if (HARD) v.sink *= HARD_REACH;
  for (int k = lane; !HARD && k < TAYLOR_MOST; k += WARP) s.taylor[k] = 0;
  __syncwarp();
  struct handing h = family_traverse<CELLS, HOW, HARD>(s, job, v, job.handed + (int64_t)which * job.handed_most, lane);
  bool kept = h.down <= job.handed_most;
  for (int k = lane; !HARD && k < TAYLOR_MOST; k += WARP) f->taylor[k] = kept ? s.taylor[k] : 0;
  if (lane == 0) {
    f->handed = kept ? h.down : HANDED_ROOTS;
    f->far = kept ? h.far : 0;
    for (int c = 0; c < 3; c++) f->centre[c] = v.centre[c];
    atomicAdd(&job.count[which % COUNT_SLOTS].tests, (unsigned long long)h.tests);
  }
  __syncwarp();
}

template <int CELLS, int HOW, bool HARD>
static __global__ void __launch_bounds__(WARP, FAMILY_WARPS) family_kernel(const __grid_constant__ struct walk_job job)
{
  __shared__ struct family_room<CELLS, HARD> s;
  int32_t count = job.family_list ? *job.family_count : job.families;
  for (int32_t f = (int32_t)blockIdx.x; f < count; f += (int32_t)gridDim.x)
    walk_family<CELLS, HOW, HARD>(s, job, job.family_list ? job.family_list[f] : f, (int)threadIdx.x);
}

template <int CELLS, bool HARD> static void launch(struct device *d, const struct walk_job &job, int how)
{
  if (how == WALK_MOVING)
    LAUNCH(d, (family_kernel<CELLS, WALK_MOVING, HARD>), job.families, WARP, job);
  else
    LAUNCH(d, (family_kernel<CELLS, WALK_STILL, HARD>), job.families, WARP, job);
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
