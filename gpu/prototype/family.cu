/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of families of groups: one warp each. Cells that are far for the whole family are expanded about its centre;
 * the others are opened while most of its groups would, and else handed down to the groups. */
#include "traverse.cuh"

template <int CELLS>
struct family_room {
  uint32_t stack[STACK];
  float4 far_cell[STAGED_MOST];
  float taylor[TAYLOR_MOST];
  int32_t staged_node[CELLS != CELLS_MONOPOLE ? STAGED_MOST : 1];
  __device__ const float4 *staged() const { return far_cell; }
};

/* The ball of all its targets. */
template <int CELLS>
__device__ static inline void family_view(const walk_job &job, const walk_family &f, int lane, view &v)
{
  int low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  float least = 3e38f, r2 = 0;
  for (int i = f.begin + lane; i < f.end; i += LANES) {
    int4 x = job.source[i];
    low[0] = min(low[0], x.x), low[1] = min(low[1], x.y), low[2] = min(low[2], x.z);
    high[0] = max(high[0], x.x), high[1] = max(high[1], x.y), high[2] = max(high[2], x.z);
    least = fminf(least, job.a_old[i]);
  }
#pragma unroll
  for (int c = 0; c < 3; c++) {
    low[c] = __reduce_min_sync(FULL, low[c]), high[c] = __reduce_max_sync(FULL, high[c]);
    v.centre[c] = low[c] + (high[c] - low[c]) / 2;
  }
  for (int i = f.begin + lane; i < f.end; i += LANES) {
    int4 x = job.source[i];
    float dx = (float)(x.x - v.centre[0]), dy = (float)(x.y - v.centre[1]), dz = (float)(x.z - v.centre[2]);
    r2 = fmaxf(r2, dx * dx + dy * dy + dz * dz);
  }
  v.targets = f.end - f.begin;
  set_view<CELLS>(job, sqrtf(lanes_max(r2)) * job.spacing, fmaxf(lanes_min(least), job.a_floor), job.family_budget, v);
}

enum { REJECT, FAR_CELL, HAND_DOWN, OPEN };

/* For hard walks (R2 > 0) nothing is far, and what is wholly beyond R2 is left out.
 * A node is opened where most groups would open it: they stand up to two radii deeper than the family's surface. */
template <int CELLS, int FAR>
__device__ static inline int family_verdict(const walk_job &job, const view &v, const tested &t)
{
  criterion c = judge<CELLS, FAR>(v, t);
  if (job.r2 > 0 && c.d > job.r2 + t.b) return REJECT;
  if (c.far && job.r2 == 0) return FAR_CELL;
  if (t.info & (NODE_LEAF | NODE_TERMINAL)) return HAND_DOWN;
  return fmaxf(c.needed, t.b) > c.d + job.open_share * v.radius ? OPEN : HAND_DOWN;
}

template <int CELLS, int FAR, class R>
__device__ static inline int family_traverse(R &s, const walk_job &job, const view &v, int32_t *handed, int lane, walk_count &count)
{
  float sum[TAYLOR_MOST];
#pragma unroll
  for (int i = 0; i < TAYLOR_MOST; i++) sum[i] = 0;
  int depth = 1, staged = 0, down = 0, k[SLOTS];
  unsigned mine = below(lane);
  while (depth > 0) {
    int wide = min(depth, depth > NARROW ? 1 : (int)WIDE);
    next_nodes(s, depth, wide, lane, k);
    depth -= wide;
    tested t[SLOTS];
    int verdict[SLOTS];
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_seen(job, v, max(k[i], 0));
#pragma unroll
    for (int i = 0; i < SLOTS; i++) verdict[i] = k[i] < 0 ? (int)REJECT : family_verdict<CELLS, FAR>(job, v, t[i]);
    __syncwarp();
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) {
      unsigned fars = __ballot_sync(FULL, verdict[i] == FAR_CELL), downs = __ballot_sync(FULL, verdict[i] == HAND_DOWN);
      unsigned opens = __ballot_sync(FULL, verdict[i] == OPEN);
      if (verdict[i] == FAR_CELL) {
        int at = staged + __popc(fars & mine);
        s.far_cell[at] = t[i].at;
        if (CELLS != CELLS_MONOPOLE) s.staged_node[at] = k[i];
      }
      int at = down + __popc(downs & mine);
      if (verdict[i] == HAND_DOWN && at < HANDED_MOST) handed[at] = k[i];
      if (verdict[i] == OPEN) s.stack[depth + __popc(opens & ~mine) - 1] = (unsigned)t[i].first << 3 | ((t[i].info & NODE_COUNT) - 1);
      staged += __popc(fars), down += __popc(downs), depth += __popc(opens);
      if (job.count) count.family_tests += verdict[i] != REJECT, count.family_far += verdict[i] == FAR_CELL, count.handed += verdict[i] == HAND_DOWN;
    }
    __syncwarp();
    while (staged >= LANES) {
      staged -= LANES;
      expand<CELLS, FAR>(s, job, sum, staged + lane, true);
    }
    if (down > job.most_handed) break;
  }
  if (staged > 0) expand<CELLS, FAR>(s, job, sum, lane, lane < staged);
  __syncwarp();
  add_taylor<FAR>(s, sum, lane);
  __syncwarp();
  return down;
}

template <int CELLS, int FAR>
__global__ __launch_bounds__(LANES, 18) void family_kernel(const walk_job job)
{
  __shared__ family_room<CELLS> s;
  int lane = threadIdx.x;
  walk_family *f = job.family + blockIdx.x;
  int32_t *handed = job.handed + (size_t)blockIdx.x * HANDED_MOST;
  walk_count count = {};
  view v;
  family_view<CELLS>(job, *f, lane, v);
  for (int k = lane; k < TAYLOR_MOST; k += LANES) s.taylor[k] = 0;
  if (lane == 0) s.stack[0] = 0;   /* the root, as a range of one */
  __syncwarp();
  int down = family_traverse<CELLS, FAR>(s, job, v, handed, lane, count);
  bool kept = down <= job.most_handed;
  for (int k = lane; k < TAYLOR_MOST; k += LANES) f->taylor[k] = kept ? s.taylor[k] : 0;
  if (lane == 0) {
    f->handed = kept ? down : 1;
    if (!kept) handed[0] = 0;
    for (int c = 0; c < 3; c++) f->centre[c] = v.centre[c];
  }
  if (job.count) {
    atomicAdd(&job.count->family_tests, count.family_tests);
    atomicAdd(&job.count->family_far, count.family_far);
    atomicAdd(&job.count->handed, count.handed);
  }
}

const char *family_launch(const struct walk_choice *c, const struct walk_job *job)
{
  if (c->cells == CELLS_MONOPOLE)
    family_kernel<CELLS_MONOPOLE, FAMILY_FAR><<<job->families, LANES>>>(*job);
  else if (c->cells == CELLS_MIXED)
    family_kernel<CELLS_MIXED, FAMILY_FAR><<<job->families, LANES>>>(*job);
  else
    family_kernel<CELLS_QUADRUPOLE, FAMILY_FAR><<<job->families, LANES>>>(*job);
  cudaError_t e = cudaGetLastError();
  return e ? cudaGetErrorString(e) : nullptr;
}
