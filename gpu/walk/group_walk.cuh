/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of groups. One warp walks one group, from the nodes that its supergroup handed down to the forces.
 *
 * The traversal tests 64 nodes at a time against the group's ball. An accepted cell is far (expanded about the group's
 * centre, in registers) or near (in a list in shared memory). Leaves that are not accepted are candidates. Each target
 * block then tests the candidates again, with its own ball and its own smallest |a_old|. After the near list it writes
 * the leaves that it accepts as cells, and the particles of the others. Pair loops have one source in each lane, and
 * eight targets at a time in registers. */
#ifndef GPU_GROUP_WALK_CUH
#define GPU_GROUP_WALK_CUH
#include <config.h>
#include "gpu/walk/results.cuh"

/* Resident warps on a multiprocessor; they limit the registers that the compiler uses. The pair loop of quadrupole
 * cells needs more registers. Before compute capability 9.0 shared memory is smaller. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
enum { WARPS = 12, WARPS_QUADRUPOLE = 11 };
#else
enum { WARPS = 18, WARPS_QUADRUPOLE = 14 };
#endif

template <int HOW> constexpr bool has_psi = HOW == WALK_STILL_POTENTIAL || HOW == WALK_WEIGHTED;
/* a weighted walk has weight 0 at distance 0 */
template <int HOW> constexpr bool has_own = HOW == WALK_STILL_POTENTIAL;

/* Shared memory of the warp of one group. */
template <int CELLS, int HOW, bool OWN = UNLIKE> struct walk_shared : softenings<OWN, ENTRIES, GROUP_MAX> {
  uint32_t stack[STACK];    /* ranges of siblings: 8 x first child + number of children - 1 */
  float4 entry[ENTRIES];    /* in the group's frame: the near list, then entries of a target block */
  float4 target[GROUP_MAX]; /* position, a_old */
  float4 ball[GROUP_MAX / TARGET_BLOCK];
  float sink[GROUP_MAX / TARGET_BLOCK];
  float sum[4 * GROUP_MAX];
  float taylor[2][TAYLOR_MAX]; /* expansions of the supergroup and of the group */
  int32_t leaf[LEAVES_MAX];
  /* of a target block: first particle minus begin; begin, the number of particles of earlier leaves */
  int2 opened[LEAVES_MAX];
  int32_t node[CELLS == CELLS_QUADRUPOLE ? ENTRIES : 1]; /* nodes of the entries */
  int32_t staged_node[CELLS != CELLS_MONOPOLE ? STAGED_MAX : 1];
  uint8_t member[HOW == WALK_MOVING ? GROUP_MAX : 1]; /* targets, as offsets from the group's first particle */
  float scale[HOW == WALK_WEIGHTED ? GROUP_MAX : 1];  /* split_scale of the targets */
  float own[has_own<HOW> ? GROUP_MAX : 1];            /* psi of pairs at distance 0 */
  __device__ float *expansion() { return taylor[OF_GROUP]; }
  __device__ float4 *staged() { return entry + ENTRIES - STAGED_MAX; } /* far cells, during the traversal */
  __device__ const float *staged_eps2() { return this->eps2 + ENTRIES - STAGED_MAX; }
  __device__ int target_of(int k) const { return HOW == WALK_MOVING ? member[k] : k; }
};

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* Load the targets, the view and the expansion of the supergroup; clear the sums. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void load_targets(R &s, const struct walk_job &job, const struct run &run, int n,
                                                    int lane, struct view &view)
{
#pragma unroll
  for (int k = 0; k < 4 * GROUP_MAX / LANES; k++) s.sum[k * LANES + lane] = 0;
  for (int k = lane; has_own<HOW> && k < GROUP_MAX; k += LANES) s.own[k] = 0;
  for (int k = lane; k < TAYLOR_MAX; k += LANES) {
    s.taylor[OF_SUPERGROUP][k] = job.supergroup[run.supergroup].taylor[k];
    s.taylor[OF_GROUP][k] = 0;
  }
  place_targets<TARGET_BLOCK, CELLS, HOW>(s, job, run, n, lane, view);
  for (int k = lane; HOW == WALK_WEIGHTED && k < GROUP_MAX; k += LANES) {
    float m = __int_as_float(load_target(job, run.begin + min(k, n - 1)).w);
    s.scale[k] = split_scale(job.weights.per_mass, UNLIKE ? softening_mass(m) : m);
  }
  soften_targets(s, job, run, n, lane);
}

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* Test nodes until none is left or the lists are full. The next nodes are loaded before far cells are expanded. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void traverse(R &s, const struct walk_job &job, const struct view &view, int lane,
                                                struct lists &lists, struct walked &walked)
{
  float sum[TAYLOR_MAX];
#pragma unroll
  for (int i = 0; i < TAYLOR_MAX; i++) sum[i] = 0;
  int staged = 0, k[SLOTS];
  struct tested_node t[SLOTS];
  struct step n = next_step(lists.front, min(NEAR_MAX - lists.near, LEAVES_MAX - lists.leaves));
  fetch_nodes(s, n, lists.front, lane, k);
#pragma unroll
  for (int i = 0; i < SLOTS; i++) t[i] = node_in_frame<HOW>(job, view, max(k[i], 0));
  warp_sync();
  while (n.ranges + n.nodes > 0) {
    int node_class[SLOTS];
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
      struct criterion c = test_criterion<CELLS, HOW>(job, view, t[i]);
      node_class[i] = k[i] < 0 ? REJECT : c.far ? FAR_CELL : c.accept ? NEAR_CELL : t[i].info & NODE_LEAF ? LEAF : OPEN;
    }
#pragma unroll
    for (int i = SLOTS - 1; i >= 0; i--) store_nodes<CELLS, true>(s, t[i], k[i], node_class[i], lists, staged, walked);
    warp_sync();
    n = next_step(lists.front, min(NEAR_MAX - lists.near, LEAVES_MAX - lists.leaves));
    fetch_nodes(s, n, lists.front, lane, k);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_in_frame<HOW>(job, view, max(k[i], 0));
    expand_staged<CELLS>(s, job, sum, staged, n.ranges + n.nodes == 0, lane);
    warp_sync();
  }
  add_taylor(s, sum, lane);
  warp_sync();
}

/* --- target blocks ----------------------------------------------------------------------------------------------- */

/* Add the forces of cells [begin, end) with second moments on the block. */
template <bool POT, class R>
static __device__ __forceinline__ void quad_cells(const R &s, const struct walk_job &job, struct block &block,
                                                  int begin, int end, int lane)
{
  for (int j = begin + lane; j < end; j += LANES) {
    float4 c = s.entry[j];
    struct quad q = {};
    if (c.w > 0) q = second_moments(job, s.node[j]);
    quad_pairs_add<POT>(block, c, q, UNLIKE ? s.eps2[j] : job.eps2);
  }
}

#define WEIGHTED_PAIRS(kernel, name) \
  case SPLIT_##kernel: weighted_pairs_add<SPLIT_##kernel>(b, e, scale, eps2, job.weights); break;
/* Add the forces of the particles [begin, end) on the block, with weights where one of a warp's particles is near the
 * ball of the target block. */
template <class R>
static __device__ __forceinline__ void weighted_particles(const R &s, const struct walk_job &job, struct block &b,
                                                          const float4 &ball, int first, int begin, int end, int lane)
{
  float scale[BLOCK], reach = ball.w + job.open_within * (1 + 1e-6f);
#pragma unroll
  for (int k = 0; k < BLOCK; k++) scale[k] = s.scale[first + k];
  for (int j = begin + lane; j < end; j += LANES) {
    float4 e = s.entry[j];
    float eps2 = UNLIKE ? s.eps2[j] : job.eps2;
    float x = e.x - ball.x, y = e.y - ball.y, z = e.z - ball.z;
    if (!warp_any(x * x + y * y + z * z <= reach * reach)) {
      pairs_add<true, false>(b, e, eps2);
      continue;
    }
    switch (job.split_kernel) {
      SPLIT_KERNELS(WEIGHTED_PAIRS)
    default: weighted_pairs_add<SPLIT_NONE>(b, e, scale, eps2, job.weights);
    }
  }
}

/* Add the sums of pairs at distance 0. */
template <class R> static __device__ __forceinline__ void add_own(R &s, const struct block &block, int first, int lane)
{
  float own = lanes_sum<BLOCK>(block.own, lane);
  if (lane < BLOCK) s.own[first + lane] += own;
}

/* Forces of the entries [begin, cells), which are cells, and [cells, end) on a target block, added to its sums. All
 * three are multiples of LANES. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void evaluate(R &s, const struct walk_job &job, int target_block, int targets,
                                                int begin, int cells, int end, int lane)
{
  constexpr bool POT = has_psi<HOW>, OWN = has_own<HOW>;
  warp_sync();
  for (int first = target_block * TARGET_BLOCK; first < min((target_block + 1) * TARGET_BLOCK, targets);
       first += BLOCK) {
    struct block b;
#pragma unroll
    for (int k = 0; k < BLOCK; k++) {
      float4 t = s.target[first + k];
      b.x[k] = t.x;
      b.y[k] = t.y;
      b.z[k] = t.z;
      if (UNLIKE) b.eps2[k] = s.target_eps2[first + k];
    }
#pragma unroll
    for (int k = 0; k < 4 * BLOCK; k++) b.sum[k] = 0;
#pragma unroll
    for (int k = 0; OWN && k < BLOCK; k++) b.own[k] = 0;
    if (CELLS == CELLS_QUADRUPOLE) quad_cells<POT>(s, job, b, begin, cells, lane);
    int plain = CELLS == CELLS_QUADRUPOLE ? cells : begin, weighted = HOW == WALK_WEIGHTED ? cells : end;
    for (int j = plain + lane; j < weighted; j += LANES)
      pairs_add<POT, OWN>(b, s.entry[j], UNLIKE ? s.eps2[j] : job.eps2);
    if constexpr (HOW == WALK_WEIGHTED) weighted_particles(s, job, b, s.ball[target_block], first, cells, end, lane);
    float mine = lanes_sum<4 * BLOCK>(b.sum, lane);
    if (lane < 4 * BLOCK) s.sum[4 * first + lane] += mine;
    if constexpr (OWN) add_own(s, b, first, lane);
  }
  warp_sync();
}

/* A candidate leaf becomes an entry if the target block accepts it as a cell. Else it is listed as opened, and its
 * particles are counted. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void test_leaf(R &s, const struct walk_job &job, const struct tested_node &tested,
                                                 int k, const float4 &ball, float sink, struct entries &entries,
                                                 int lane)
{
  float x = tested.at.x - ball.x, y = tested.at.y - ball.y, z = tested.at.z - ball.z, r2 = x * x + y * y + z * z;
  float d = r2 * inverse_root(fmaxf(r2, 1e-37f)) - ball.w;
  bool accept = k >= 0 && d >= fmaxf(tested.reach * sink + tested.grown, mac_clear(tested.b, job.open_within)) &&
                r2 > 0 && !is_single_particle<HOW>(job, tested);
  bool open = k >= 0 && !accept;
  lane_mask accepts = warp_ballot(accept), opens = warp_ballot(open);
  int n = open ? (int)(tested.info & NODE_COUNT) : 0, sum = lanes_scan(n, lane);
  if (accept) {
    int at = entries.end + lane_count(accepts & lanes_below());
    s.entry[at] = tested.at;
    if (UNLIKE) s.eps2[at] = tested.eps2;
    if (CELLS == CELLS_QUADRUPOLE) s.node[at] = k;
  }
  int before = entries.particles + sum - n;
  if (open) s.opened[entries.opened + lane_count(opens & lanes_below())] = make_int2(tested.first - before, before);
  entries.end += lane_count(accepts);
  entries.opened += lane_count(opens);
  entries.particles += warp_shuffle(sum, LANES - 1);
}

/* The same for all candidate leaves, SLOTS to a lane at a time. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void test_leaves(R &s, const struct walk_job &job, const struct view &view,
                                                   const struct lists &lists, int target_block, struct entries &entries,
                                                   int lane)
{
  float4 ball = s.ball[target_block];
  float sink = s.sink[target_block];
  for (int base = 0; base < lists.leaves; base += SLOTS * LANES) {
    int k[SLOTS];
    struct tested_node t[SLOTS];
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
      int at = base + i * LANES + lane;
      k[i] = at < lists.leaves ? s.leaf[at] : -1;
      t[i] = node_in_frame<HOW>(job, view, max(k[i], 0));
    }
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
      if (base + i * LANES < lists.leaves) test_leaf<CELLS, HOW>(s, job, t[i], k[i], ball, sink, entries, lane);
  }
  warp_sync();
}

/* Find and evaluate the entries of a target block. */
template <int CELLS, int HOW, class R>
static __device__ __forceinline__ void use_lists(R &s, const struct walk_job &job, const struct view &view,
                                                 const struct lists &lists, int target_block, int lane,
                                                 struct walked &walked)
{
  struct entries e = {lists.near, 0, 0};
  int owner = 0, begin = 0;
  test_leaves<CELLS, HOW>(s, job, view, lists, target_block, e, lane);
  int members = min(view.targets - target_block * TARGET_BLOCK, (int)TARGET_BLOCK);
  walked.cell_pairs += (unsigned)(e.end * members);
  walked.particle_pairs += (unsigned long long)e.particles * (unsigned)members;
  if (CELLS == CELLS_QUADRUPOLE || HOW == WALK_WEIGHTED) e.end = pad(s, e.end, lane);
  int cells = e.end;
  /* there is one copy of the pair loop, because instruction caches are small */
  for (int base = 0;; base += SLOTS * LANES) {
    bool more = base < e.particles;
    if (!more || e.end + min(SLOTS * LANES, e.particles - base) > ENTRIES) {
      evaluate<CELLS, HOW>(s, job, target_block, view.targets, begin, cells, pad(s, e.end, lane), lane);
      begin = cells = e.end = (lists.near + LANES - 1) / LANES * LANES;
    }
    if (!more) break;
    gather<HOW>(s, job, view, base, e, owner, lane);
  }
}

/* --- results ----------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void put_all(const struct walk_job &job, bool overwrite, float *to, const float4 &a)
{
  put(overwrite, &to[0], job.per_a, a.x);
  put(overwrite, &to[1], job.per_a, a.y);
  put(overwrite, &to[2], job.per_a, a.z);
}

/* Store the forces of the targets, with both expansions; `each`: interactions of each target. The loops are not
 * unrolled and keep no part of the expansions in registers: these would not suffice, and spilled values evict nodes
 * from the cache. */
template <int HOW, class R>
static __device__ __forceinline__ void store(const R &s, const struct walk_job &job, const struct run &run,
                                             const struct view &view, float each, int lane)
{
  const struct supergroup *f = &job.supergroup[run.supergroup];
  float to[3];
  for (int c = 0; c < 3; c++) to[c] = (float)(view.centre[c] - f->centre[c]) * job.spacing;
  bool overwrite = run.supergroup >= job.adding;
  float self = overwrite && HOW != WALK_WEIGHTED ? inverse_root(job.eps2) : 0, kept = overwrite ? job.work_kept : 1;
#pragma unroll 1
  for (int k = lane; k < view.targets; k += LANES) {
    int64_t i = run.begin + s.target_of(k);
    float4 a = make_float4(s.sum[4 * k], s.sum[4 * k + 1], s.sum[4 * k + 2], s.sum[4 * k + 3]), t = s.target[k];
#pragma unroll 1
    for (int which = OF_SUPERGROUP; which <= OF_GROUP; which++) {
      float shift = which == OF_SUPERGROUP ? 1 : 0;
      compiler_fence();
      taylor_at(s.taylor[which], t.x + shift * to[0], t.y + shift * to[1], t.z + shift * to[2], a);
    }
    float m = job.target[i].m,
          own = UNLIKE ? softening_mass(m) * (self > 0 ? inverse_root(eps2_of_mass(job, m)) : 0) : m * self;
    if (!job.hard_only) put_all(job, overwrite, &job.p.acc[3 * i], a);
    if (job.split_off) put_all(job, overwrite, &job.p.acc_hard[3 * i], a);
    if (HOW == WALK_WEIGHTED && job.soft)
      for (int c = 0; c < 3; c++) job.p.acc_soft[3 * i + c] = job.p.acc[3 * i + c];
    if (has_psi<HOW> && (HOW != WALK_WEIGHTED || job.potential))
      put(overwrite && !(HOW == WALK_WEIGHTED && job.add_potential), &job.p.pot[i], -job.per_psi,
          a.w + ((double)(has_own<HOW> ? s.own[k] : 0) - own));
    job.p.work[i] = kept * job.p.work[i] + each;
  }
}

/* One warp walks one group, piece or target. */
template <int CELLS, int HOW>
static __device__ __forceinline__ void walk_one(struct walk_shared<CELLS, HOW> &s, const struct walk_job &job,
                                                const struct run &run, int lane)
{
  int n = find_targets<HOW>(s, job, run, lane), near = 0, leaves = 0;
  if (n == 0) return;
  struct view v;
  struct lists l;
  struct walked w = {0, 0, 0, 0};
  load_targets<CELLS, HOW>(s, job, run, n, lane, v);
  start_lists(job, run.supergroup, roots_skipped(job, run.supergroup), l);
  do {
    l.near = l.leaves = 0;
    traverse<CELLS, HOW>(s, job, v, lane, l, w);
    near += l.near;
    leaves += l.leaves;
    if (defer_pieces(s, job, run, n, near, leaves, lane)) return;
    for (int target_block = 0; target_block * TARGET_BLOCK < n; target_block++)
      use_lists<CELLS, HOW>(s, job, v, l, target_block, lane, w);
  } while (l.front.depth > 0 || l.front.next < l.front.count);
  warp_sync();
  int far = w.far + job.supergroup[run.supergroup].far;
  store<HOW>(s, job, run, v, ((float)w.cell_pairs + (float)w.particle_pairs) * inverse((float)n) + (float)far, lane);
  store_tally(job, run.supergroup >= job.adding, v, w, far, lane);
}

/* A thread block is one warp; the grid strides over the groups, pieces or targets of the stage. */
template <int CELLS, int HOW>
static __global__ void __launch_bounds__(LANES, CELLS == CELLS_QUADRUPOLE ? WARPS_QUADRUPOLE : WARPS)
    walk_kernel(const __grid_constant__ struct walk_job job)
{
  __shared__ struct walk_shared<CELLS, HOW> s;
  int32_t count = runs_of(job);
  for (int32_t q = (int32_t)blockIdx.x; q < count; q += (int32_t)gridDim.x) {
    walk_one<CELLS, HOW>(s, job, run_of(job, q), (int)threadIdx.x);
    warp_sync();
  }
}

/* --- launch ------------------------------------------------------------------------------------------------------ */

template <int CELLS> static void launch(struct device *d, const struct walk_job &job, int how, int64_t blocks)
{
  if (how == WALK_MOVING) LAUNCH(d, (walk_kernel<CELLS, WALK_MOVING>), blocks, LANES, job);
  else if (how == WALK_STILL) LAUNCH(d, (walk_kernel<CELLS, WALK_STILL>), blocks, LANES, job);
  else if (how == WALK_WEIGHTED) LAUNCH(d, (walk_kernel<CELLS, WALK_WEIGHTED>), blocks, LANES, job);
  else LAUNCH(d, (walk_kernel<CELLS, WALK_STILL_POTENTIAL>), blocks, LANES, job);
}

#if UNLIKE
void walk_groups_unlike(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks)
{
#else
void walk_groups(struct device *d, const struct walk_job *job, int cells, int how, int64_t blocks)
{
  if (d->softening.classes > 1) {
    walk_groups_unlike(d, job, cells, how, blocks);
    return;
  }
#endif
  if (cells == CELLS_MONOPOLE) launch<CELLS_MONOPOLE>(d, *job, how, blocks);
  else if (cells == CELLS_MIXED) launch<CELLS_MIXED>(d, *job, how, blocks);
  else launch<CELLS_QUADRUPOLE>(d, *job, how, blocks);
}
#endif
