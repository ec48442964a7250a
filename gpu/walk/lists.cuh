/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of the walks of groups in shared memory: near cells, candidate leaves, and the entries of a target block. */
#ifndef GPU_LISTS_CUH
#define GPU_LISTS_CUH
#include "gpu/walk/traverse.cuh"

enum {
  NEAR_MAX = 192,
  LEAVES_MAX = 128,
  ENTRIES = 384 /* at least NEAR_MAX + LEAVES_MAX and LANES for padding */
};
static_assert(ENTRIES >= NEAR_MAX + LEAVES_MAX + LANES && ENTRIES >= NEAR_MAX + STAGED_MAX && ENTRIES % LANES == 0,
              "lists");

/* The front of a traversal, and the lengths of its lists. */
struct lists {
  struct front front;
  int near, leaves;
};

/* Counts of the walk of a group: far cells and tests of the group, pairs of all its targets. */
struct walked {
  int far, tests;
  unsigned cell_pairs;
  unsigned long long particle_pairs;
};

/* Particles [begin, end), of which the targets are walked together. */
struct run {
  int32_t begin, end, supergroup;
};

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* Number of runs of this stage. */
static __device__ __forceinline__ int32_t runs_of(const struct walk_job &job)
{
  if (job.stage == job.items_stage) {
    int32_t runs = 0;
    for (int c = job.class_begin; c < job.class_end; c++) runs += job.item_count[c];
    return runs;
  }
  return job.stage == 0 ? job.groups : job.piece_count[job.stage - 1];
}

/* Run q of this stage. */
static __device__ __forceinline__ struct run run_of(const struct walk_job &job, int32_t q)
{
  if (job.stage == job.items_stage) {
    for (int c = job.class_begin, before = 0; c < job.class_end; before += job.item_count[c], c++)
      if (q - before < job.item_count[c] || c == job.class_end - 1) {
        const int4 g = load_read_only((const int4 *)&job.item[job.item_begin[c] + q - before]);
        return {g.x, g.y, g.z};
      }
  }
  if (job.stage == 0) {
    const int4 g = load_read_only((const int4 *)&job.group[job.list ? job.list[q] : q]);
    return {g.x, g.y, g.w};
  }
  int32_t single = job.stage == 1 ? 0 : job.singles[(int64_t)job.single_step * q];
  int2 r = job.stage == 1 ? job.pieces[q] : make_int2(single, single + 1);
  return {r.x, r.y, job.group[job.group_index[r.x]].supergroup};
}

/* Lists the targets among the particles of a run in s.member. Returns their number. */
template <int HOW, class R>
static __device__ __forceinline__ int find_targets(R &s, const struct walk_job &job, const struct run &run, int lane)
{
  if (HOW != WALK_MOVING) return run.end - run.begin;
  int n = 0;
#pragma unroll
  for (int e = 0; e < GROUP_MAX / LANES; e++) {
    int k = e * LANES + lane;
    bool take = run.begin + k < run.end && needs_force<HOW>(job, run.begin + k);
    lane_mask takes = warp_ballot(take);
    if (take) s.member[n + lane_count(takes & lanes_below())] = (uint8_t)k;
    n += lane_count(takes);
  }
  warp_sync();
  return n;
}

/* The ball of each target block of SIZE consecutive targets, and its smallest |a_old| (in s.sink). */
template <int SIZE, class R> static __device__ __forceinline__ void make_target_balls(R &s, int targets, int lane)
{
  for (int first = 0; first < targets; first += LANES) {
    int k = first + lane;
    float4 t = s.target[k];
    float low[3] = {t.x, t.y, t.z}, high[3] = {t.x, t.y, t.z}, a = t.w;
#pragma unroll
    for (int step = 1; step < SIZE; step *= 2) {
#pragma unroll
      for (int c = 0; c < 3; c++) {
        low[c] = fminf(low[c], warp_shuffle_xor(low[c], step));
        high[c] = fmaxf(high[c], warp_shuffle_xor(high[c], step));
      }
      a = fminf(a, warp_shuffle_xor(a, step));
    }
    float cx = 0.5f * (low[0] + high[0]), cy = 0.5f * (low[1] + high[1]), cz = 0.5f * (low[2] + high[2]);
    float dx = t.x - cx, dy = t.y - cy, dz = t.z - cz, r2 = dx * dx + dy * dy + dz * dz;
#pragma unroll
    for (int step = 1; step < SIZE; step *= 2) r2 = fmaxf(r2, warp_shuffle_xor(r2, step));
    if (k % SIZE == 0 && k < targets) {
      s.ball[k / SIZE] = make_float4(cx, cy, cz, root(r2) * (1 + 1e-6f));
      s.sink[k / SIZE] = a;
    }
  }
}

/* Load the targets in the group's frame, padded with copies of the last one to whole warps; the balls of target blocks;
 * the view. */
template <int SIZE, int CELLS, int HOW, class R>
static __device__ __forceinline__ void place_targets(R &s, const struct walk_job &job, const struct run &run, int n,
                                                     int lane, struct view &view)
{
  constexpr int EACH = GROUP_MAX / LANES;
  int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  int4 x[EACH];
  float a[EACH], r2 = 0, min_a = 3e38f;
  view.targets = n;
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    int32_t i = run.begin + s.target_of(min(e * LANES + lane, n - 1));
    x[e] = load_target(job, i);
    a[e] = a_old_of(job, i);
  }
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    low[0] = min(low[0], x[e].x);
    low[1] = min(low[1], x[e].y);
    low[2] = min(low[2], x[e].z);
    high[0] = max(high[0], x[e].x);
    high[1] = max(high[1], x[e].y);
    high[2] = max(high[2], x[e].z);
    min_a = fminf(min_a, a[e]);
  }
#pragma unroll
  for (int c = 0; c < 3; c++) {
    low[c] = warp_min(low[c]);
    high[c] = warp_max(high[c]);
    view.centre[c] = low[c] + (high[c] - low[c]) / 2;
  }
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    float4 t =
        make_float4((float)(x[e].x - view.centre[0]) * job.spacing, (float)(x[e].y - view.centre[1]) * job.spacing,
                    (float)(x[e].z - view.centre[2]) * job.spacing, a[e]);
    r2 = fmaxf(r2, t.x * t.x + t.y * t.y + t.z * t.z);
    s.target[e * LANES + lane] = t;
  }
  set_view<CELLS>(job, root(lanes_max(r2)), lanes_min(min_a), OF_GROUP, view);
  warp_sync();
  make_target_balls<SIZE>(s, n, lane);
  warp_sync();
  for (int k = lane; k * SIZE < n; k += LANES) s.sink[k] = sink_of<CELLS>(job, s.sink[k]);
  warp_sync();
}

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* Start the traversal of a group with the nodes that its supergroup handed down, or at the roots from number `skip`
 * on. */
static __device__ __forceinline__ void start_lists(const struct walk_job &job, int32_t supergroup, int skip,
                                                   struct lists &lists)
{
  int32_t handed = job.supergroup[supergroup].handed;
  lists.near = lists.leaves = 0;
  if (handed == HANDED_ROOTS) lists.front = {0, job.root + skip, 0, job.roots - skip};
  else lists.front = {0, job.handed + (int64_t)supergroup * job.handed_max, 0, handed};
}

enum { REJECT, FAR_CELL, NEAR_CELL, LEAF, OPEN };

/* Append tested nodes, one in each lane, to the list or the stack of their class. FARS: far cells are possible. */
template <int CELLS, bool FARS, class R>
static __device__ __forceinline__ void store_nodes(R &s, const struct tested_node &tested, int k, int node_class,
                                                   struct lists &lists, int &staged, struct walked &walked)
{
  lane_mask mine = lanes_below();
  lane_mask fars = FARS ? warp_ballot(node_class == FAR_CELL) : 0, nears = warp_ballot(node_class == NEAR_CELL);
  lane_mask leafs = warp_ballot(node_class == LEAF), opens = warp_ballot(node_class == OPEN);
  if ((FARS && node_class == FAR_CELL) || node_class == NEAR_CELL) {
    bool far = FARS && node_class == FAR_CELL;
    int at = far ? ENTRIES - STAGED_MAX + staged + lane_count(fars & mine) : lists.near + lane_count(nears & mine);
    s.entry[at] = tested.at;
    if (UNLIKE) s.eps2[at] = tested.eps2;
    if (CELLS == CELLS_QUADRUPOLE && !far) s.node[at] = k;
    if constexpr (FARS && CELLS != CELLS_MONOPOLE)
      if (far) s.staged_node[at - (ENTRIES - STAGED_MAX)] = k;
  }
  if (node_class == LEAF) s.leaf[lists.leaves + lane_count(leafs & mine)] = k;
  /* the deepest are last, so that they are tested next */
  if (node_class == OPEN) s.stack[lists.front.depth + lane_count(opens & ~mine) - 1] = range_of(tested);
  int far = lane_count(fars), near = lane_count(nears), leaf = lane_count(leafs), open = lane_count(opens);
  lists.near += near;
  lists.leaves += leaf;
  lists.front.depth += open;
  staged += far;
  walked.far += far;
  walked.tests += far + near + leaf + open;
}

/* Whether the group is deferred, to be walked in pieces, or as single targets if it is small: its ball extends into
 * regions that are much denser than its own. The order of the pieces has no effect on forces. */
template <class R>
static __device__ __forceinline__ bool defer_pieces(const R &s, const struct walk_job &job, const struct run &run,
                                                    int n, int near, int leaves, int lane)
{
  if (n == 1 || (near <= job.heavy_near && leaves <= job.heavy_leaves)) return false;
  int piece = n > PIECE ? PIECE : 1, pieces = (n + piece - 1) / piece, at = 0;
  if (lane == 0) at = atomicAdd(&job.piece_count[piece == 1], pieces);
  at = warp_shuffle(at, 0);
  for (int p = lane; p < pieces; p += LANES) {
    int32_t begin = run.begin + s.target_of(p * piece), last = run.begin + s.target_of(min((p + 1) * piece, n) - 1);
    if (piece > 1) job.pieces[at + p] = make_int2(begin, last + 1);
    else job.singles[(int64_t)job.single_step * (at + p)] = begin;
  }
  return true;
}

/* --- entries of a target block ----------------------------------------------------------------------------------- */

#define MASSLESS_SOURCE make_float4(1, 1, 1, 0) /* a source without mass */

/* Pad the entries to a multiple of LANES, which are evaluated at a time. Returns the new end. */
template <class R> static __device__ __forceinline__ int pad(R &s, int end, int lane)
{
  int padded = (end + LANES - 1) / LANES * LANES;
  if (end + lane < padded) s.entry[end + lane] = MASSLESS_SOURCE;
  if (UNLIKE && end + lane < padded) s.eps2[end + lane] = 1;
  return padded;
}

/* The sum of n over the lanes up to and including this one. */
static __device__ __forceinline__ int lanes_scan(int n, int lane)
{
#pragma unroll
  for (int step = 1; step < LANES; step *= 2) {
    int other = warp_shuffle_up(n, step);
    if (lane >= step) n += other;
  }
  return n;
}

/* Entries [0, end) of a target block; the numbers of its opened leaves and of their particles. */
struct entries {
  int end, opened, particles;
};

/* The particle of this lane among the particles [base, base + LANES), numbered over all opened leaves; -1: none.
 * `owner` is the opened leaf of the particle `base`, and advances to that of base + LANES. */
template <class R>
static __device__ __forceinline__ int particle_of(const R &s, const struct entries &entries, int base, int &owner,
                                                  int lane)
{
  int next = owner + 1 + lane;
  int start = next < entries.opened ? s.opened[next].y - base : 2 * LANES;
  lane_mask starts = warp_or(start < LANES ? lane_bit(start) : 0);
  int mine = owner + lane_count(starts & (lanes_below() | lane_bit(lane)));
  owner += lane_count(warp_ballot(start <= LANES));
  return base + lane < entries.particles ? s.opened[mine].x + base + lane : -1;
}

/* A source x (lattice, mass) in the group's frame. */
static __device__ __forceinline__ float4 in_frame(const struct walk_job &job, const struct view &view, const int4 &x)
{
  return make_float4((float)(x.x - view.centre[0]) * job.spacing, (float)(x.y - view.centre[1]) * job.spacing,
                     (float)(x.z - view.centre[2]) * job.spacing, __int_as_float(x.w));
}

/* Move a source e to the present tick by its motion state (p, q). */
static __device__ __forceinline__ void predict(const struct walk_job &job, float4 &e, const float4 &p, const float4 &q)
{
  float dt = (float)(job.tick - __float_as_int(p.w)) * job.tick_length, half = 0.5f * dt,
        length = dt * job.inverse_unit;
  e.x += (p.x + q.x * half) * length;
  e.y += (p.y + q.y * half) * length;
  e.z += (p.z + q.z * half) * length;
}

/* A source in the group's frame, predicted to the present. */
template <int HOW>
static __device__ __forceinline__ float4 source_in_frame(const struct walk_job &job, const struct view &view, int32_t i,
                                                         const int4 &x)
{
  float4 e = in_frame(job, view, x);
  if (HOW == WALK_MOVING && job.t.motion_state) {
    const float4 *c = (const float4 *)&job.t.motion_state[i];
    const float4 p = load_read_only(c), q = load_read_only(c + 1);
    predict(job, e, p, q);
  }
  return e;
}

/* The squared softening of a particle in the walk's unit, whose mass m carries its class. */
static __device__ __forceinline__ float eps2_of_mass(const struct walk_job &job, float m)
{
  return job.class_eps2[softening_class(m)];
}

/* Squared softenings of the targets of a run, where softenings differ. */
template <class R>
static __device__ __forceinline__ void soften_targets(R &s, const struct walk_job &job, const struct run &run, int n,
                                                      int lane)
{
  for (int k = lane; UNLIKE && k < GROUP_MAX; k += LANES)
    s.target_eps2[k] = eps2_of_mass(job, __int_as_float(load_target(job, run.begin + s.target_of(min(k, n - 1))).w));
}

/* Append the particles of opened leaves from number `base` on to the entries, SLOTS per lane. */
template <int HOW, class R>
static __device__ __forceinline__ void gather(R &s, const struct walk_job &job, const struct view &view, int base,
                                              struct entries &entries, int &owner, int lane)
{
  int i[SLOTS];
  int4 x[SLOTS];
#pragma unroll
  for (int k = 0; k < SLOTS; k++) i[k] = particle_of(s, entries, base + k * LANES, owner, lane);
#pragma unroll
  for (int k = 0; k < SLOTS; k++) x[k] = load_body(job, max(i[k], 0));
#pragma unroll
  for (int k = 0; k < SLOTS; k++)
    if (i[k] >= 0) {
      float4 c = source_in_frame<HOW>(job, view, i[k], x[k]);
      if (UNLIKE) {
        s.eps2[entries.end + k * LANES + lane] = eps2_of_mass(job, c.w);
        c.w = softening_mass(c.w);
      }
      s.entry[entries.end + k * LANES + lane] = c;
    }
  entries.end += min(SLOTS * LANES, entries.particles - base);
}
#endif
