/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard walk: what is within R2 of the active targets of a group, through the split. As the walk of all, but without
 * far cells, and lists are pruned again for sub-groups of eight. */
#include "lists.cuh"

enum { HARD_SUBGROUP = BLOCK, HARD_GROUP = 64 };

struct hard_room {
  uint32_t stack[STACK];
  float4 entry[ENTRIES];             /* in the group's frame: the near list, behind it those of a sub-group */
  float4 target[HARD_GROUP];
  float4 ball[HARD_GROUP / HARD_SUBGROUP];
  float sink[HARD_GROUP / HARD_SUBGROUP];
  float sum[4 * HARD_GROUP];
  int32_t member[HARD_GROUP];
  int32_t leaf[LEAVES_MOST];
  int2 opened[LEAVES_MOST];
  int32_t node[1], staged_node[1];
};

/* The active members, in order. */
__device__ static inline int take_members(hard_room &s, const walk_job &job, const walk_group &g, int lane)
{
  int n = 0;
#pragma unroll
  for (int e = 0; e < HARD_GROUP / LANES; e++) {
    int i = g.begin + e * LANES + lane;
    bool take = i < g.end && (!job.active || job.active[i]);
    unsigned takes = __ballot_sync(FULL, take);
    if (take) s.member[n + __popc(takes & below(lane))] = i;
    n += __popc(takes);
  }
  __syncwarp();
  return n;
}

__device__ static inline void take_targets(hard_room &s, const walk_job &job, int n, int lane, view &v)
{
  constexpr int EACH = HARD_GROUP / LANES;
  int low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  int4 x[EACH];
  float a[EACH], r2 = 0, least = 3e38f;
  v.targets = n;
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    int i = s.member[min(e * LANES + lane, n - 1)];
    x[e] = job.source[i];
    a[e] = fmaxf(job.a_old[i], job.a_floor);
    low[0] = min(low[0], x[e].x), low[1] = min(low[1], x[e].y), low[2] = min(low[2], x[e].z);
    high[0] = max(high[0], x[e].x), high[1] = max(high[1], x[e].y), high[2] = max(high[2], x[e].z);
    least = fminf(least, a[e]);
  }
#pragma unroll
  for (int c = 0; c < 3; c++) {
    low[c] = __reduce_min_sync(FULL, low[c]), high[c] = __reduce_max_sync(FULL, high[c]);
    v.centre[c] = low[c] + (high[c] - low[c]) / 2;
  }
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    float4 t = make_float4((float)(x[e].x - v.centre[0]) * job.spacing, (float)(x[e].y - v.centre[1]) * job.spacing,
                           (float)(x[e].z - v.centre[2]) * job.spacing, a[e]);
    r2 = fmaxf(r2, t.x * t.x + t.y * t.y + t.z * t.z);
    s.target[e * LANES + lane] = t;
    for (int c = 0; c < 4; c++) s.sum[4 * (e * LANES + lane) + c] = 0;
  }
  set_view<CELLS_MONOPOLE>(job, sqrtf(lanes_max(r2)), lanes_min(least), job.far_budget, v);
  __syncwarp();
  take_balls<HARD_SUBGROUP>(s, n, lane);
  __syncwarp();
  for (int k = lane; k * HARD_SUBGROUP < n; k += LANES) s.sink[k] = sink_of<CELLS_MONOPOLE>(s.sink[k]) * job.sub_reach;
  __syncwarp();
}

/* Nodes wholly beyond R2 are left out, and so are cells whose centre is: K is a function of its distance. */
__device__ static inline int hard_verdict(const walk_job &job, const view &v, const tested &t)
{
  criterion c = judge<CELLS_MONOPOLE, 0>(v, t);
  if (c.d > job.r2 + t.b) return REJECT;
  if (c.accept) return c.d > job.r2 ? REJECT : NEAR_CELL;
  return t.info & NODE_LEAF ? LEAF : OPEN;
}

__device__ static inline void hard_traverse(hard_room &s, const walk_job &job, const view &v, const int32_t *handed, int handed_count, int lane, lists &l,
                                            walk_count &count)
{
  int staged = 0, k[SLOTS];
  step n = next_step(l, handed_count);
  while (n.ranges + n.nodes > 0) {
    tested t[SLOTS];
    int verdict[SLOTS];
    take_nodes(s, handed, n, l, lane, k);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_seen(job, v, max(k[i], 0));
#pragma unroll
    for (int i = 0; i < SLOTS; i++) verdict[i] = k[i] < 0 ? (int)REJECT : hard_verdict(job, v, t[i]);
    __syncwarp();
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) file<CELLS_MONOPOLE>(s, t[i], k[i], verdict[i], l, staged, lane);
    if (job.count)
      for (int i = 0; i < SLOTS; i++) count.tests += k[i] >= 0, count.near += verdict[i] == NEAR_CELL, count.leaves += verdict[i] == LEAF;
    __syncwarp();
    n = next_step(l, handed_count);
  }
}

__device__ static inline void hard_evaluate(hard_room &s, const walk_job &job, int sub, int begin, int end, int lane)
{
  block b;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    float4 t = s.target[sub * BLOCK + k];
    b.x[k] = t.x, b.y[k] = t.y, b.z[k] = t.z;
  }
#pragma unroll
  for (int k = 0; k < 4 * BLOCK; k++) b.sum[k] = 0;
  for (int j = begin + lane; j < end; j += LANES) hard_pairs_add(b, s.entry[j], job.eps * job.eps, job.r2, job.inverse_width);
  s.sum[4 * BLOCK * sub + lane] += lanes_sum<4 * BLOCK>(b.sum, lane);
  __syncwarp();
}

/* Lanes with an entry that is within R2 of the sub-group's ball append it. Full lists are evaluated first; the
 * entries of the sub-group start at `begin`. */
__device__ static inline void keep(hard_room &s, const walk_job &job, int sub, int begin, const float4 &c, bool valid, entries &e, int lane)
{
  if (e.end + LANES > ENTRIES) {
    hard_evaluate(s, job, sub, begin, pad(s, e.end, lane), lane);
    e.end = begin;
  }
  float4 ball = s.ball[sub];
  float x = c.x - ball.x, y = c.y - ball.y, z = c.z - ball.z, most = ball.w + job.r2;
  bool take = valid && x * x + y * y + z * z <= most * most;
  unsigned takes = __ballot_sync(FULL, take);
  if (take) s.entry[e.end + __popc(takes & below(lane))] = c;
  e.end += __popc(takes);
}

__device__ static inline void hard_leaves(hard_room &s, const walk_job &job, const view &v, const lists &l, int sub, int begin, entries &e, int lane,
                                          walk_count &count)
{
  float4 ball = s.ball[sub];
  float sink = s.sink[sub];
  for (int base = 0; base < l.leaves; base += LANES) {
    int k = base + lane < l.leaves ? s.leaf[base + lane] : -1;
    tested t = node_seen(job, v, max(k, 0));
    float x = t.at.x - ball.x, y = t.at.y - ball.y, z = t.at.z - ball.z, r2 = x * x + y * y + z * z;
    float d = r2 * rsqrtf(fmaxf(r2, 1e-37f)) - ball.w;
    bool valid = k >= 0 && d <= job.r2 + t.b;
    bool accept = valid && d >= fmaxf(t.reach * sink, t.b) && r2 > 0, open = valid && !accept;
    keep(s, job, sub, begin, t.at, accept, e, lane);
    unsigned opens = __ballot_sync(FULL, open);
    int n = open ? (int)(t.info & NODE_COUNT) : 0, sum = lanes_scan(n, lane), before = e.particles + sum - n;
    if (open) s.opened[e.opened + __popc(opens & below(lane))] = make_int2(t.first - before, before);
    e.opened += __popc(opens), e.particles += __shfl_sync(FULL, sum, LANES - 1);
    if (job.count) count.leaf_tests += k >= 0, count.leaf_cells += accept, count.particles += n;
  }
  __syncwarp();
}

/* The entries of a sub-group stand behind the near list, from a whole warp on. */
__device__ static inline void hard_lists(hard_room &s, const walk_job &job, const view &v, const lists &l, int sub, int lane, walk_count &count)
{
  int begin = (l.near + LANES - 1) / LANES * LANES, owner = 0;
  entries e = {begin, 0, 0};
  for (int base = 0; base < l.near; base += LANES)
    keep(s, job, sub, begin, s.entry[base + lane], base + lane < l.near, e, lane);
  hard_leaves(s, job, v, l, sub, begin, e, lane, count);
  for (int base = 0; base < e.particles; base += LANES) {
    int i = particle_of(s, e, base, owner, lane);
    int4 x = __ldg(&job.source[max(i, 0)]);
    float4 c = make_float4((float)(x.x - v.centre[0]) * job.spacing, (float)(x.y - v.centre[1]) * job.spacing,
                           (float)(x.z - v.centre[2]) * job.spacing, __int_as_float(x.w));
    keep(s, job, sub, begin, c, i >= 0, e, lane);
  }
  if (job.count && lane == 0) count.far += e.end - begin;   /* entries that are evaluated */
  hard_evaluate(s, job, sub, begin, pad(s, e.end, lane), lane);
}

__device__ static inline void hard_one(hard_room &s, const walk_job &job, const walk_group &g, int lane, walk_count &count)
{
  int n = take_members(s, job, g, lane), near = 0, leaves = 0;
  if (n == 0) return;
  view v;
  take_targets(s, job, n, lane, v);
  const int32_t *handed = nullptr;
  lists l;
  int handed_count = start_lists(s, job, g, lane, &handed, l);
  do {
    l.near = l.leaves = 0;
    hard_traverse(s, job, v, handed, handed_count, lane, l, count);
    near += l.near, leaves += l.leaves;
    if (hand_on(job, g, near, leaves, lane)) return;
    for (int sub = 0; sub * HARD_SUBGROUP < n; sub++) hard_lists(s, job, v, l, sub, lane, count);
  } while (l.depth > 0 || l.next < handed_count);
  for (int k = lane; k < n; k += LANES)
    job.hard[s.member[k]] = make_float3(job.gravity * s.sum[4 * k], job.gravity * s.sum[4 * k + 1], job.gravity * s.sum[4 * k + 2]);
}

__global__ __launch_bounds__(LANES, 16) void hard_kernel(const walk_job job)
{
  __shared__ hard_room s;
  walk_count count = {};
  for (int g = blockIdx.x; g < *job.groups; g += gridDim.x) {
    hard_one(s, job, job.group[g], threadIdx.x, count);
    __syncwarp();
  }
  if (job.count) {
    atomicAdd(&job.count->tests, count.tests), atomicAdd(&job.count->near, count.near), atomicAdd(&job.count->leaves, count.leaves);
    atomicAdd(&job.count->far, count.far), atomicAdd(&job.count->particles, count.particles), atomicAdd(&job.count->leaf_cells, count.leaf_cells);
  }
}

const char *hard_launch(const struct walk_job *job, int blocks)
{
  hard_kernel<<<blocks, LANES>>>(*job);
  cudaError_t e = cudaGetLastError();
  return e ? cudaGetErrorString(e) : nullptr;
}
