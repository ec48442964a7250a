/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree walk: one warp per group of targets, from the root to the forces.
 *
 * The traversal tests 64 nodes at a time against the group's ball. What it accepts is far (expanded about the group's
 * centre, in registers) or near (a list in shared memory); leaves that it does not accept are candidates. Sub-groups then
 * test the candidates once more, with their own ball and their own smallest |a_old|: behind the near list they write the
 * leaves that are accepted as cells, and the particles of the others. Pair loops have a source in every lane and meet a
 * block of eight targets in registers. */
#include "lists.cuh"

/* Warps on a multiprocessor: the compiler spends no more registers than they leave. The pair loop of quadrupole cells
 * wants more of them. */
enum { WARPS = 18, WARPS_QUADRUPOLE = 14 };
template <int CELLS, int GROUP_MOST>
struct room {
  uint32_t stack[STACK];             /* ranges of siblings: first child, eight times, plus number of children - 1 */
  float4 entry[ENTRIES];             /* in the group's frame: the near list, behind it those of a sub-group */
  float4 target[GROUP_MOST];         /* position, a_old */
  float4 ball[GROUP_MOST / SUBGROUP];
  float sink[GROUP_MOST / SUBGROUP];
  float sum[4 * GROUP_MOST];
  float taylor[TAYLOR_MOST], family_taylor[TAYLOR_MOST];
  int32_t leaf[LEAVES_MOST];
  int2 opened[LEAVES_MOST];          /* of a sub-group: first particle less begin; begin, counted over its leaves */
  int32_t node[CELLS == CELLS_QUADRUPOLE ? ENTRIES : 1];   /* behind the entries */
  int32_t staged_node[CELLS != CELLS_MONOPOLE ? STAGED_MOST : 1];
  __device__ float4 *staged() { return entry + ENTRIES - STAGED_MOST; }   /* far cells, in the traversal */
};

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* Targets in the group's frame, padded with copies of the last to whole warps; balls of the sub-groups; the view. */
template <int CELLS, int GROUP_MOST, class R>
__device__ static inline void take_targets(R &s, const walk_job &job, const walk_group &g, int lane, view &v)
{
  constexpr int EACH = GROUP_MOST / LANES;
  int n = v.targets = g.end - g.begin;
  int low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  int4 x[EACH];
  float a[EACH], r2 = 0, least = 3e38f;
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    int i = g.begin + min(e * LANES + lane, n - 1);
    x[e] = job.source[i];
    a[e] = fmaxf(job.a_old[i], job.a_floor);
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
    s.target[e * LANES + lane] = t;
  }
  set_view<CELLS>(job, sqrtf(lanes_max(r2)), lanes_min(least), job.far_budget, v);
  __syncwarp();
  take_balls<SUBGROUP>(s, n, lane);
#pragma unroll
  for (int k = 0; k < 4 * EACH; k++) s.sum[k * LANES + lane] = 0;
  for (int k = lane; k < TAYLOR_MOST; k += LANES) {
    s.taylor[k] = 0;
    s.family_taylor[k] = job.family ? job.family[g.family].taylor[k] : 0;
  }
  __syncwarp();
  for (int k = lane; k * SUBGROUP < n; k += LANES) s.sink[k] = sink_of<CELLS>(s.sink[k]) * job.sub_reach;
  __syncwarp();
}

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* Test nodes until none is left or the lists have no room. The next nodes are asked for before far cells are expanded. */
template <int CELLS, int FAR, bool COUNT, class R>
__device__ static inline void traverse(R &s, const walk_job &job, const view &v, const int32_t *handed, int handed_count, int lane, lists &l,
                                       walk_count &count)
{
  float sum[TAYLOR_MOST];
#pragma unroll
  for (int i = 0; i < TAYLOR_MOST; i++) sum[i] = 0;
  int staged = 0, k[SLOTS];
  tested t[SLOTS];
  step n = next_step(l, handed_count);
  take_nodes(s, handed, n, l, lane, k);
#pragma unroll
  for (int i = 0; i < SLOTS; i++) t[i] = node_seen(job, v, max(k[i], 0));
  __syncwarp();
  while (n.ranges + n.nodes > 0) {
    int verdict[SLOTS];
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
      criterion c = judge<CELLS, FAR>(v, t[i]);
      verdict[i] = k[i] < 0 ? REJECT : c.far ? FAR_CELL : c.accept ? NEAR_CELL : t[i].info & NODE_LEAF ? LEAF : OPEN;
    }
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) file<CELLS>(s, t[i], k[i], verdict[i], l, staged, lane);
    if (COUNT)
      for (int i = 0; i < SLOTS; i++) count_verdict(count, verdict[i]);
    __syncwarp();
    n = next_step(l, handed_count);
    take_nodes(s, handed, n, l, lane, k);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_seen(job, v, max(k[i], 0));
    while (FAR && staged >= LANES) {
      staged -= LANES;
      expand<CELLS, FAR>(s, job, sum, staged + lane, true);
    }
    __syncwarp();
  }
  if (FAR) {
    if (staged > 0) expand<CELLS, FAR>(s, job, sum, lane, lane < staged);
    add_taylor<FAR>(s, sum, lane);
  }
  __syncwarp();
}

/* --- sub-groups -------------------------------------------------------------------------------------------------- */

template <int CELLS, bool POT, class R>
__device__ static inline void quad_cells(const R &s, const walk_job &job, block &b, int begin, int end, int lane)
{
  float4 none = make_float4(0, 0, 0, 0);
  for (int j = begin + lane; j < end; j += LANES) {
    float4 c = s.entry[j];
    int k = c.w > 0 ? s.node[j] : 0;
    quad_pairs_add<POT>(b, c, c.w > 0 ? __ldg(&job.quad[2 * k]) : none, c.w > 0 ? __ldg(&job.quad[2 * k + 1]) : none, job.eps * job.eps);
  }
}

/* The forces of entries [begin, cells) and [cells, end) on a sub-group, added to its sums. Whole warps of entries. */
template <int CELLS, bool POT, class R>
__device__ static inline void evaluate(R &s, const walk_job &job, int sub, int targets, int begin, int cells, int end, int lane)
{
  __syncwarp();
  for (int first = sub * SUBGROUP; first < min((sub + 1) * SUBGROUP, targets); first += BLOCK) {
    block b;
#pragma unroll
    for (int k = 0; k < BLOCK; k++) {
      float4 t = s.target[first + k];
      b.x[k] = t.x, b.y[k] = t.y, b.z[k] = t.z;
    }
#pragma unroll
    for (int k = 0; k < 4 * BLOCK; k++) b.sum[k] = 0;
    if (CELLS == CELLS_QUADRUPOLE) quad_cells<CELLS, POT>(s, job, b, begin, cells, lane);
    for (int j = (CELLS == CELLS_QUADRUPOLE ? cells : begin) + lane; j < end; j += LANES) pairs_add<POT>(b, s.entry[j], job.eps * job.eps);
    s.sum[4 * first + lane] += lanes_sum<4 * BLOCK>(b.sum, lane);
  }
  __syncwarp();
}

/* A candidate leaf becomes an entry where the sub-group accepts it as a cell, and else is noted as opened, with its
 * particles counted. */
template <int CELLS, bool COUNT, class R>
__device__ static inline void take_leaf(R &s, const tested &t, int k, bool valid, const float4 &ball, float sink, entries &e, int lane,
                                        walk_count &count)
{
  float x = t.at.x - ball.x, y = t.at.y - ball.y, z = t.at.z - ball.z, r2 = x * x + y * y + z * z;
  float d = r2 * rsqrtf(fmaxf(r2, 1e-37f)) - ball.w;
  bool accept = valid && d >= fmaxf(t.reach * sink, t.b) && r2 > 0, open = valid && !accept;
  unsigned accepts = __ballot_sync(FULL, accept), opens = __ballot_sync(FULL, open);
  int n = open ? (int)(t.info & NODE_COUNT) : 0, sum = lanes_scan(n, lane);
  if (accept) {
    int at = e.end + __popc(accepts & below(lane));
    s.entry[at] = t.at;
    if (CELLS == CELLS_QUADRUPOLE) s.node[at] = k;
  }
  int before = e.particles + sum - n;
  if (open) s.opened[e.opened + __popc(opens & below(lane))] = make_int2(t.first - before, before);
  e.end += __popc(accepts), e.opened += __popc(opens), e.particles += __shfl_sync(FULL, sum, LANES - 1);
  if (COUNT) count.leaf_tests += valid, count.leaf_cells += accept, count.particles += n;
}

template <int CELLS, bool COUNT, class R>
__device__ static inline void take_leaves(R &s, const walk_job &job, const view &v, const lists &l, int sub, entries &e, int lane,
                                          walk_count &count)
{
  float4 ball = s.ball[sub];
  float sink = s.sink[sub];
  for (int base = 0; base < l.leaves; base += SLOTS * LANES) {
    int k[SLOTS];
    tested t[SLOTS];
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
      int at = base + i * LANES + lane;
      k[i] = at < l.leaves ? s.leaf[at] : -1;
      t[i] = node_seen(job, v, max(k[i], 0));
    }
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
      if (base + i * LANES < l.leaves) take_leaf<CELLS, COUNT>(s, t[i], k[i], k[i] >= 0, ball, sink, e, lane, count);
  }
  __syncwarp();
}

template <int CELLS, bool POT, bool COUNT, class R>
__device__ static inline void use_lists(R &s, const walk_job &job, const view &v, const lists &l, int sub, int lane, walk_count &count)
{
  entries e = {l.near, 0, 0};
  int owner = 0, begin = 0;
  take_leaves<CELLS, COUNT>(s, job, v, l, sub, e, lane, count);
  if (CELLS == CELLS_QUADRUPOLE) e.end = pad(s, e.end, lane);
  int cells = e.end;
  for (int base = 0; base < e.particles; base += SLOTS * LANES) {
    if (e.end + min(SLOTS * LANES, e.particles - base) > ENTRIES) {
      evaluate<CELLS, POT>(s, job, sub, v.targets, begin, cells, pad(s, e.end, lane), lane);
      begin = cells = e.end = (l.near + LANES - 1) / LANES * LANES;
    }
    gather(s, job, v, base, e, owner, lane);
  }
  evaluate<CELLS, POT>(s, job, sub, v.targets, begin, cells, pad(s, e.end, lane), lane);
}

/* --- results ----------------------------------------------------------------------------------------------------- */

template <int FAR, bool POT, class R>
__device__ static inline void store(const R &s, const walk_job &job, const walk_group &g, const view &v, int lane)
{
  const walk_family *f = job.family ? job.family + g.family : nullptr;
  float3 to = make_float3(0, 0, 0);
  if (f)
    to = make_float3((float)(v.centre[0] - f->centre[0]) * job.spacing, (float)(v.centre[1] - f->centre[1]) * job.spacing,
                     (float)(v.centre[2] - f->centre[2]) * job.spacing);
  for (int k = lane; k < g.end - g.begin; k += LANES) {
    int i = g.begin + k;
    float4 a = make_float4(s.sum[4 * k], s.sum[4 * k + 1], s.sum[4 * k + 2], s.sum[4 * k + 3]), t = s.target[k];
    if (FAR) taylor_at<FAR>(s.taylor, t.x, t.y, t.z, a);
    if (f) taylor_at<FAMILY_FAR>(s.family_taylor, t.x + to.x, t.y + to.y, t.z + to.z, a);
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
  add_count(&to->flushes, c.flushes), add_count(&to->family_tests, c.family_tests), add_count(&to->family_far, c.family_far);
  add_count(&to->handed, c.handed);
}

template <int CELLS, int FAR, bool POT, bool COUNT, int GROUP_MOST, class R>
__device__ static inline void walk_one(R &s, const walk_job &job, const walk_group &g, int lane, walk_count &count)
{
  view v;
  take_targets<CELLS, GROUP_MOST>(s, job, g, lane, v);
  const int32_t *handed = nullptr;
  lists l;
  int handed_count = start_lists(s, job, g, lane, &handed, l);
  int near = 0, leaves = 0;
  do {
    l.near = l.leaves = 0;
    traverse<CELLS, FAR, COUNT>(s, job, v, handed, handed_count, lane, l, count);
    near += l.near, leaves += l.leaves;
    if (hand_on(job, g, near, leaves, lane)) return;
    for (int sub = 0; sub * SUBGROUP < v.targets; sub++) use_lists<CELLS, POT, COUNT>(s, job, v, l, sub, lane, count);
    if (COUNT && lane == 0) count.flushes++;
  } while (l.depth > 0 || l.next < handed_count);
  __syncwarp();
  store<FAR, POT>(s, job, g, v, lane);
}

template <int CELLS, int FAR, bool POT, bool COUNT, int GROUP_MOST>
__global__ __launch_bounds__(LANES, CELLS == CELLS_QUADRUPOLE ? WARPS_QUADRUPOLE : WARPS) void walk_kernel(const walk_job job)
{
  __shared__ room<CELLS, GROUP_MOST> s;
  walk_count count = {};
  for (int g = blockIdx.x; g < *job.groups; g += gridDim.x) {
    walk_one<CELLS, FAR, POT, COUNT, GROUP_MOST>(s, job, job.group[g], threadIdx.x, count);
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

template <int CELLS>
static const char *launch_group(const walk_choice &c, const walk_job &job)
{
  if (c.group_most <= 32) return launch<CELLS, GROUP_FAR, 32>(c, job);
  return launch<CELLS, GROUP_FAR, 64>(c, job);
}

const char *walk_launch(const struct walk_choice *c, const struct walk_job *job)
{
  if (c->cells == CELLS_MIXED) return launch_group<CELLS_MIXED>(*c, *job);
  return c->cells == CELLS_QUADRUPOLE ? launch_group<CELLS_QUADRUPOLE>(*c, *job) : launch_group<CELLS_MONOPOLE>(*c, *job);
}
