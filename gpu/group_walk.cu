/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of groups of targets: one warp each, from what the family handed down to the forces.
 *
 * The traversal tests 64 nodes at a time against the group's ball. What it accepts is far (expanded about the group's
 * centre, in registers) or near (a list in shared memory); leaves that it does not accept are candidates. Sub-groups then
 * test the candidates once more, with their own ball and their own smallest |a_old|: behind the near list they write the
 * leaves that are accepted as cells, and the particles of the others. Pair loops have a source in every lane and meet a
 * block of eight targets in registers. */
#include <config.h>
#include "results.cuh"

/* Warps on a multiprocessor: the compiler spends no more registers than they leave. The pair loop of quadrupole cells
 * wants more of them; before compute capability 9.0 shared memory is smaller. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
enum { WARPS = 12, WARPS_QUADRUPOLE = 11 };
#else
enum { WARPS = 18, WARPS_QUADRUPOLE = 14 };
#endif

template <int CELLS, int HOW> struct room {
  uint32_t stack[STACK];             /* ranges of siblings: first child, eight times, plus number of children - 1 */
  float4 entry[ENTRIES];             /* in the group's frame: the near list, behind it those of a sub-group */
  float4 target[GROUP_MOST];         /* position, a_old */
  float4 ball[GROUP_MOST / SUBGROUP];
  float sink[GROUP_MOST / SUBGROUP];
  float sum[4 * GROUP_MOST];
  float taylor[2][TAYLOR_MOST];      /* of the family, of the group */
  int32_t leaf[LEAVES_MOST];
  int2 opened[LEAVES_MOST];          /* of a sub-group: first particle less begin; begin, counted over its leaves */
  int32_t node[CELLS == CELLS_QUADRUPOLE ? ENTRIES : 1];   /* behind the entries */
  int32_t staged_node[CELLS != CELLS_MONOPOLE ? STAGED_MOST : 1];
  uint8_t member[HOW == WALK_MOVING ? GROUP_MOST : 1];     /* targets, counted from the group's first particle */
  __device__ float *expansion() { return taylor[OF_GROUP]; }
  __device__ float4 *staged() { return entry + ENTRIES - STAGED_MOST; }   /* far cells, in the traversal */
  __device__ int target_of(int k) const { return HOW == WALK_MOVING ? member[k] : k; }
};

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* The group's targets and its view; sums begin. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void take_targets(R &s, const struct walk_job &job, const struct run &g, int n, int lane, struct view &v)
{
#pragma unroll
  for (int k = 0; k < 4 * GROUP_MOST / WARP; k++) s.sum[k * WARP + lane] = 0;
  for (int k = lane; k < TAYLOR_MOST; k += WARP) {
    s.taylor[OF_FAMILY][k] = job.family[g.family].taylor[k];
    s.taylor[OF_GROUP][k] = 0;
  }
  place_targets<SUBGROUP, CELLS, HOW>(s, job, g, n, lane, v);
}

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* Test nodes until none is left or the lists have no room. The next nodes are asked for before far cells are expanded. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void traverse(R &s, const struct walk_job &job, const struct view &v, int lane, struct lists &l, struct walked &w)
{
  float sum[TAYLOR_MOST];
#pragma unroll
  for (int i = 0; i < TAYLOR_MOST; i++) sum[i] = 0;
  int staged = 0, k[SLOTS];
  struct tested t[SLOTS];
  struct step n = next_step(l.front, min(NEAR_MOST - l.near, LEAVES_MOST - l.leaves));
  take_nodes(s, n, l.front, lane, k);
#pragma unroll
  for (int i = 0; i < SLOTS; i++) t[i] = node_seen<HOW>(job, v, max(k[i], 0));
  __syncwarp();
  while (n.ranges + n.nodes > 0) {
    int verdict[SLOTS];
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
      struct criterion c = judge<CELLS, HOW>(job, v, t[i]);
      verdict[i] = k[i] < 0 ? REJECT : c.far ? FAR_CELL : c.accept ? NEAR_CELL : t[i].info & NODE_LEAF ? LEAF : OPEN;
    }
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) file<CELLS, true>(s, t[i], k[i], verdict[i], l, staged, w);
    __syncwarp();
    n = next_step(l.front, min(NEAR_MOST - l.near, LEAVES_MOST - l.leaves));
    take_nodes(s, n, l.front, lane, k);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_seen<HOW>(job, v, max(k[i], 0));
    expand_staged<CELLS>(s, job, sum, staged, n.ranges + n.nodes == 0, lane);
    __syncwarp();
  }
  add_taylor(s, sum, lane);
  __syncwarp();
}

/* --- sub-groups -------------------------------------------------------------------------------------------------- */

template <bool POT, class R>
static __device__ __forceinline__ void quad_cells(const R &s, const struct walk_job &job, struct block &b, int begin, int end, int lane)
{
  for (int j = begin + lane; j < end; j += WARP) {
    float4 c = s.entry[j];
    struct quad q = {};
    if (c.w > 0) q = second_moments(job, s.node[j]);
    quad_pairs_add<POT>(b, c, q, job.eps2);
  }
}

/* The forces of entries [begin, cells) and [cells, end) on a sub-group, added to its sums. Whole warps of entries. */
template <int CELLS, bool POT, class R>
static __device__ __forceinline__ void evaluate(R &s, const struct walk_job &job, int sub, int targets, int begin, int cells, int end, int lane)
{
  __syncwarp();
  for (int first = sub * SUBGROUP; first < min((sub + 1) * SUBGROUP, targets); first += BLOCK) {
    struct block b;
#pragma unroll
    for (int k = 0; k < BLOCK; k++) {
      float4 t = s.target[first + k];
      b.x[k] = t.x, b.y[k] = t.y, b.z[k] = t.z;
    }
#pragma unroll
    for (int k = 0; k < 4 * BLOCK; k++) b.sum[k] = 0;
    if (CELLS == CELLS_QUADRUPOLE) quad_cells<POT>(s, job, b, begin, cells, lane);
    for (int j = (CELLS == CELLS_QUADRUPOLE ? cells : begin) + lane; j < end; j += WARP) pairs_add<POT>(b, s.entry[j], job.eps2);
    s.sum[4 * first + lane] += lanes_sum<4 * BLOCK>(b.sum, lane);
  }
  __syncwarp();
}

/* A candidate leaf becomes an entry where the sub-group accepts it as a cell, and else is noted as opened, with its
 * particles counted. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void take_leaf(R &s, const struct walk_job &job, const struct tested &t, int k, const float4 &ball, float sink,
                                                 struct entries &e, int lane)
{
  float x = t.at.x - ball.x, y = t.at.y - ball.y, z = t.at.z - ball.z, r2 = x * x + y * y + z * z;
  float d = r2 * inverse_root(fmaxf(r2, 1e-37f)) - ball.w;
  bool accept = k >= 0 && d >= fmaxf(t.reach * sink + t.grown, t.b) && r2 > 0 && !alone<HOW>(job, t), open = k >= 0 && !accept;
  unsigned accepts = __ballot_sync(FULL, accept), opens = __ballot_sync(FULL, open);
  int n = open ? (int)(t.info & NODE_COUNT) : 0, sum = lanes_scan(n, lane);
  if (accept) {
    int at = e.end + __popc(accepts & lanes_below());
    s.entry[at] = t.at;
    if (CELLS == CELLS_QUADRUPOLE) s.node[at] = k;
  }
  int before = e.particles + sum - n;
  if (open) s.opened[e.opened + __popc(opens & lanes_below())] = make_int2(t.first - before, before);
  e.end += __popc(accepts), e.opened += __popc(opens), e.particles += __shfl_sync(FULL, sum, WARP - 1);
}

template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void take_leaves(R &s, const struct walk_job &job, const struct view &v, const struct lists &l, int sub,
                                                   struct entries &e, int lane)
{
  float4 ball = s.ball[sub];
  float sink = s.sink[sub];
  for (int base = 0; base < l.leaves; base += SLOTS * WARP) {
    int k[SLOTS];
    struct tested t[SLOTS];
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
      int at = base + i * WARP + lane;
      k[i] = at < l.leaves ? s.leaf[at] : -1;
      t[i] = node_seen<HOW>(job, v, max(k[i], 0));
    }
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
      if (base + i * WARP < l.leaves) take_leaf<CELLS, HOW>(s, job, t[i], k[i], ball, sink, e, lane);
  }
  __syncwarp();
}

template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void use_lists(R &s, const struct walk_job &job, const struct view &v, const struct lists &l, int sub, int lane,
                                                 struct walked &w)
{
  constexpr bool POT = HOW == WALK_STILL_POTENTIAL;
  struct entries e = {l.near, 0, 0};
  int owner = 0, begin = 0;
  take_leaves<CELLS, HOW>(s, job, v, l, sub, e, lane);
  int members = min(v.targets - sub * SUBGROUP, (int)SUBGROUP);
  w.cell_pairs += (unsigned)(e.end * members), w.particle_pairs += (unsigned long long)e.particles * (unsigned)members;
  if (CELLS == CELLS_QUADRUPOLE) e.end = pad(s, e.end, lane);
  int cells = e.end;
  for (int base = 0;; base += SLOTS * WARP) {   /* one copy of the pair loop: instruction caches are small */
    bool more = base < e.particles;
    if (!more || e.end + min(SLOTS * WARP, e.particles - base) > ENTRIES) {
      evaluate<CELLS, POT>(s, job, sub, v.targets, begin, cells, pad(s, e.end, lane), lane);
      begin = cells = e.end = (l.near + WARP - 1) / WARP * WARP;
    }
    if (!more) break;
    gather<HOW>(s, job, v, base, e, owner, lane);
  }
}

/* --- results ----------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void put_all(const struct walk_job &job, bool anew, float *to, const float4 &a)
{
  put(anew, &to[0], job.per_a, a.x), put(anew, &to[1], job.per_a, a.y), put(anew, &to[2], job.per_a, a.z);
}

/* Forces of the targets; `each`: interactions of each. Not unrolled, and with nothing of the expansions kept in registers: these
 * would not suffice, and what is spilled drives nodes from the cache. */
template <int HOW, class R>
static __device__ __forceinline__ void store(const R &s, const struct walk_job &job, const struct run &g, const struct view &v, float each, int lane)
{
  const struct family *f = &job.family[g.family];
  float to[3];
  for (int c = 0; c < 3; c++) to[c] = (float)(v.centre[c] - f->centre[c]) * job.spacing;
  bool anew = g.family >= job.adding;
  float self = anew ? inverse_root(job.eps2) : 0, kept = anew ? job.work_kept : 1;
#pragma unroll 1
  for (int k = lane; k < v.targets; k += WARP) {
    int64_t i = g.begin + s.target_of(k);
    float4 a = make_float4(s.sum[4 * k], s.sum[4 * k + 1], s.sum[4 * k + 2], s.sum[4 * k + 3]), t = s.target[k];
#pragma unroll 1
    for (int which = OF_FAMILY; which <= OF_GROUP; which++) {
      float shift = which == OF_FAMILY ? 1 : 0;
      asm volatile("" ::: "memory");
      taylor_at(s.taylor[which], t.x + shift * to[0], t.y + shift * to[1], t.z + shift * to[2], a);
    }
    if (!job.hard_only) put_all(job, anew, &job.p.acc[3 * i], a);
    if (job.split_off) put_all(job, anew, &job.p.acc_hard[3 * i], a);
    if (HOW == WALK_STILL_POTENTIAL) put(anew, &job.p.pot[i], -job.per_psi, a.w - (double)(job.target[i].m * self));
    job.p.work[i] = kept * job.p.work[i] + each;
  }
}

template <int CELLS, int HOW>
static __device__ __forceinline__ void walk_one(struct room<CELLS, HOW> &s, const struct walk_job &job, const struct run &g, int lane)
{
  int n = find_targets<HOW>(s, job, g, lane), near = 0, leaves = 0;
  if (n == 0) return;
  struct view v;
  struct lists l;
  struct walked w = {0, 0, 0, 0};
  take_targets<CELLS, HOW>(s, job, g, n, lane, v);
  start_lists(job, g.family, roots_skipped(job, g.family), l);
  do {
    l.near = l.leaves = 0;
    traverse<CELLS, HOW>(s, job, v, lane, l, w);
    near += l.near, leaves += l.leaves;
    if (hand_on(s, job, g, n, near, leaves, lane)) return;
    for (int sub = 0; sub * SUBGROUP < n; sub++) use_lists<CELLS, HOW>(s, job, v, l, sub, lane, w);
  } while (l.front.depth > 0 || l.front.next < l.front.count);
  __syncwarp();
  int far = w.far + job.family[g.family].far;
  store<HOW>(s, job, g, v, ((float)w.cell_pairs + (float)w.particle_pairs) * inverse((float)n) + (float)far, lane);
  tell(job, g.family >= job.adding, v, w, far, lane);
}

template <int CELLS, int HOW>
static __global__ void __launch_bounds__(WARP, CELLS == CELLS_QUADRUPOLE ? WARPS_QUADRUPOLE : WARPS)
walk_kernel(const __grid_constant__ struct walk_job job)
{
  __shared__ struct room<CELLS, HOW> s;
  int32_t count = runs_of(job);
  for (int32_t q = (int32_t)blockIdx.x; q < count; q += (int32_t)gridDim.x) {
    walk_one<CELLS, HOW>(s, job, run_of(job, q), (int)threadIdx.x);
    __syncwarp();
  }
}

/* --- launch ------------------------------------------------------------------------------------------------------ */

template <int CELLS> static void launch(struct device *d, const struct walk_job &job, int how, int64_t blocks)
{
  if (how == WALK_MOVING)
    LAUNCH(d, (walk_kernel<CELLS, WALK_MOVING>), blocks, WARP, job);
  else if (how == WALK_STILL)
    LAUNCH(d, (walk_kernel<CELLS, WALK_STILL>), blocks, WARP, job);
  else
    LAUNCH(d, (walk_kernel<CELLS, WALK_STILL_POTENTIAL>), blocks, WARP, job);
}

void walk_groups(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks)
{
  if (cells == CELLS_MONOPOLE)
    launch<CELLS_MONOPOLE>(d, *job, how, blocks);
  else if (cells == CELLS_MIXED)
    launch<CELLS_MIXED>(d, *job, how, blocks);
  else
    launch<CELLS_QUADRUPOLE>(d, *job, how, blocks);
}
