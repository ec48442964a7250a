/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Warp teams: several warps walk the tree for a few targets, from the roots to the forces.
 *
 * The warps share a front, which is a ring of ranges of siblings, and test 512 of its nodes at each step. So the chain
 * of steps is hardly longer than the tree is deep. Targets and their sums are in the registers of every thread, and
 * each source is evaluated once, in one lane. A warp evaluates the cells that it accepts. Particles of opened leaves
 * are listed for all warps and distributed evenly. The tree alone determines which thread evaluates which source, and
 * the sums of threads are added in a fixed order. */
#ifndef GPU_WARP_TEAM_CUH
#define GPU_WARP_TEAM_CUH
#include "gpu/walk/results.cuh"

struct few_job {
  struct walk_job walk;
  struct tree_roots local; /* without a list of roots */
  struct few_piece *piece;
  int32_t *count; /* number of pieces */
  int32_t size;   /* largest number of targets of a piece */
};

enum {
  WARP_TEAM_THREADS = 256,
  WARP_TEAM_WARPS = WARP_TEAM_THREADS / LANES,
  WARP_TEAM_WIDE = WARP_TEAM_WARPS * WIDE,     /* ranges that are tested at a step */
  WARP_TEAM_NODES = WARP_TEAM_WIDE * SIBLINGS, /* nodes that are tested at a step: two for a thread */
  WARP_TEAM_NARROW = 8,                        /* ranges at a step if the front is full */
  FRONT_CAPACITY = 4096,                       /* a power of two */
  FRONT_FULL = FRONT_CAPACITY - WARP_TEAM_NODES - SIBLINGS * WARP_TEAM_NARROW * (KEY_LEVELS + 2),
  OPENED_MAX = 2 * WARP_TEAM_NODES
};
static_assert(FRONT_FULL >= WARP_TEAM_WIDE && (FRONT_CAPACITY & (FRONT_CAPACITY - 1)) == 0 &&
                  OPENED_MAX >= WARP_TEAM_NODES && OPENED_MAX <= LANES * LANES,
              "room of a team");

/* What a warp stores at a step. */
struct warp_team_counts {
  unsigned ranges_leaves; /* number of ranges plus 2^16 times that of leaves */
  int particles;
};

/* Shared memory of a team. */
template <int CELLS> struct warp_team_shared {
  uint32_t ring[FRONT_CAPACITY];
  float4 near[WARP_TEAM_WARPS][STAGED_MAX]; /* cells that a warp has accepted and not yet evaluated */
  int32_t node[CELLS == CELLS_QUADRUPOLE ? WARP_TEAM_WARPS : 1][STAGED_MAX];
  int2 opened[OPENED_MAX]; /* as in struct hard_shared and struct walk_shared */
  struct warp_team_counts stored[WARP_TEAM_WARPS];
  float sum[WARP_TEAM_WARPS][4 * BLOCK];
  int2 warp_totals[WARP_TEAM_WARPS]; /* near cells, tests */
};

/* The front and the lists of a team: the same in all threads. */
struct warp_team {
  unsigned oldest;              /* index of the oldest range in the ring */
  int ranges, root, roots;      /* ranges in the ring; the next root, and the number of roots */
  struct entries e;             /* opened leaves and their particles */
  unsigned long long particles; /* particles that were evaluated in earlier rounds */
};

/* State of a warp of the team. */
struct warp_state {
  int id, staged, near, tests; /* staged: accepted cells that are not yet evaluated; near: all accepted cells */
};

static __device__ __forceinline__ bool warp_team_has_work(const struct warp_team &team)
{
  return team.ranges > 0 || team.root < team.roots;
}

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* The target of this lane; lanes after the last target have copies of it. */
static __device__ __forceinline__ int32_t target_of_lane(const int4 &piece, int lane)
{
  int k = min(lane, piece.y - 1);
  return piece.x + (int)((unsigned)(k < 4 ? piece.z : piece.w) >> 8 * (k % 4) & 0xff);
}

/* The ball of the targets, and their positions in all threads. Each warp computes these for itself; `i` is the target
 * of the lane. */
template <int CELLS>
static __device__ __forceinline__ void warp_team_load_targets(const struct walk_job &job, int32_t i, int targets,
                                                              struct view &view, struct block &block)
{
  const int4 x = load_target(job, i);
  const int32_t at[3] = {x.x, x.y, x.z};
  float t[3], r2 = 0;
  view.targets = targets;
#pragma unroll
  for (int c = 0; c < 3; c++) {
    int32_t low = warp_min(at[c]), high = warp_max(at[c]);
    view.centre[c] = low + (high - low) / 2;
    t[c] = (float)(at[c] - view.centre[c]) * job.spacing;
  }
  r2 = t[0] * t[0] + t[1] * t[1] + t[2] * t[2];
  set_view<CELLS>(job, root(lanes_max(r2)), lanes_min(a_old_of(job, i)), OF_GROUP, view);
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    block.x[k] = warp_shuffle(t[0], k);
    block.y[k] = warp_shuffle(t[1], k);
    block.z[k] = warp_shuffle(t[2], k);
  }
#pragma unroll
  for (int k = 0; k < 4 * BLOCK; k++) block.sum[k] = 0;
}

/* --- the front --------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ int32_t root_of(const struct few_job &job, int k)
{
  return job.walk.root ? load_read_only(&job.walk.root[k]) : job.local.root[k];
}

/* The nodes that this thread tests next; -1: none. The oldest ranges come first, which keeps the chain of steps short.
 * If the front is full, a few of the latest ranges are tested at a time: then it grows by at most 7 x WARP_TEAM_NARROW
 * for each deeper level. */
template <class R>
static __device__ __forceinline__ void warp_team_nodes(const R &s, const struct few_job &job, struct warp_team &team,
                                                       int k[SLOTS])
{
  bool full = team.ranges > FRONT_FULL, roots = !full && team.root < team.roots && team.ranges < WARP_TEAM_WIDE;
  int count = roots ? min(team.roots - team.root, (int)WARP_TEAM_NODES)
                    : min(team.ranges, full ? (int)WARP_TEAM_NARROW : (int)WARP_TEAM_WIDE);
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    int at = i * WARP_TEAM_THREADS + (int)threadIdx.x, slot = at / SIBLINGS, child = at % SIBLINGS;
    k[i] = -1;
    if (roots) {
      if (at < count) k[i] = root_of(job, team.root + at);
    } else if (slot < count) {
      uint32_t range = s.ring[(team.oldest + (unsigned)(full ? team.ranges - 1 - slot : slot)) % FRONT_CAPACITY];
      if (child <= (int)(range & (SIBLINGS - 1))) k[i] = (int)(range >> SIBLINGS_BITS) + child;
    }
  }
  if (roots) {
    team.root += count;
  } else {
    team.ranges -= count;
    if (!full) team.oldest += (unsigned)count;
  }
}

template <int CELLS>
static __device__ __forceinline__ int warp_team_classify(const struct walk_job &job, const struct view &view,
                                                         const struct tested_node &tested)
{
  struct criterion c = test_criterion<CELLS, WALK_MOVING>(job, view, tested);
  return c.accept ? NEAR_CELL : is_empty(tested) ? REJECT : tested.info & NODE_LEAF ? LEAF : OPEN;
}

/* Append accepted cells to the list of the warp. */
template <int CELLS, class R>
static __device__ __forceinline__ void stage_near(R &s, const struct tested_node &tested, int k, int node_class,
                                                  struct warp_state &state)
{
  lane_mask nears = warp_ballot(node_class == NEAR_CELL);
  int at = state.staged + lane_count(nears & lanes_below()), near = lane_count(nears);
  if (node_class == NEAR_CELL) {
    s.near[state.id][at] = tested.at;
    if (CELLS == CELLS_QUADRUPOLE) s.node[state.id][at] = k;
  }
  state.staged += near;
  state.near += near;
}

/* --- evaluation -------------------------------------------------------------------------------------------------- */

/* Evaluate staged cells, a warp of them at a time; if the traversal `ends`, the remaining ones as well. */
template <int CELLS, class R>
static __device__ __forceinline__ void add_staged(const R &s, const struct walk_job &job, struct block &block,
                                                  struct warp_state &state, bool ends, int lane)
{
  warp_sync();
  while (state.staged >= (ends ? 1 : (int)LANES)) {
    state.staged -= LANES;
    int at = state.staged + lane;
    float4 c = MASSLESS_SOURCE;
    if (at >= 0) c = s.near[state.id][at];
    if constexpr (CELLS == CELLS_QUADRUPOLE) {
      struct quad q = {};
      if (at >= 0) q = second_moments(job, s.node[state.id][at]);
      quad_pairs_add<false>(block, c, q, job.eps2);
    } else {
      pairs_add<false, false>(block, c, job.eps2);
    }
  }
  state.staged = max(state.staged, 0);
  warp_sync();
}

/* A source as it is in memory: position and mass, motion state (unless sources are predicted). */
struct stored_source {
  int4 x;
  float4 p, q;
};

static __device__ __forceinline__ struct stored_source fetch(const struct walk_job &job, int32_t i)
{
  struct stored_source f;
  f.x = load_body(job, i);
  if (job.t.motion_state) {
    const float4 *c = (const float4 *)&job.t.motion_state[i];
    f.p = load_read_only(c);
    f.q = load_read_only(c + 1);
  }
  return f;
}

static __device__ __forceinline__ float4 source_of(const struct walk_job &job, const struct view &view,
                                                   const struct stored_source &fetched)
{
  float4 e = in_frame(job, view, fetched.x);
  if (job.t.motion_state) predict(job, e, fetched.p, fetched.q);
  return e;
}

/* The opened leaf of a particle, which is numbered over all opened leaves. */
template <class R>
static __device__ __forceinline__ int owner_of(const R &s, const struct entries &entries, int particle, int lane)
{
  int at = lane * LANES;
  int first =
      (lane_count(warp_ballot(at < entries.opened && s.opened[min(at, entries.opened - 1)].y <= particle)) - 1) * LANES;
  at = first + lane;
  return first + lane_count(warp_ballot(at < entries.opened && s.opened[min(at, entries.opened - 1)].y <= particle)) -
         1;
}

/* Evaluate the particles of opened leaves, an equal share for each warp. The next ones are loaded before the pairs of
 * the present ones. */
template <class R>
static __device__ __forceinline__ void add_particles(const R &s, const struct walk_job &job, const struct view &view,
                                                     struct block &block, const struct entries &all,
                                                     const struct warp_state &state, int lane)
{
  int share = (all.particles + WARP_TEAM_THREADS - 1) / WARP_TEAM_THREADS * LANES, begin = state.id * share;
  struct entries e = {0, all.opened, min(begin + share, all.particles)};
  if (begin >= e.particles) return;
  int owner = owner_of(s, all, begin, lane), i[SLOTS] = {-1, -1};
  struct stored_source x[SLOTS];
  for (int base = begin - SLOTS * LANES; base < e.particles;) {
    float4 source[SLOTS];
    bool loaded = base >= begin;
#pragma unroll
    for (int k = 0; k < SLOTS; k++) source[k] = i[k] >= 0 ? source_of(job, view, x[k]) : MASSLESS_SOURCE;
    base += SLOTS * LANES;
    if (base < e.particles) {
#pragma unroll
      for (int k = 0; k < SLOTS; k++) {
        i[k] = particle_of(s, e, base + k * LANES, owner, lane);
        x[k] = fetch(job, max(i[k], 0));
      }
    }
    if (loaded) {
#pragma unroll
      for (int k = 0; k < SLOTS; k++) pairs_add<false, false>(block, source[k], job.eps2);
    }
  }
}

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* Append the ranges and leaves of all warps to the front and to the opened leaves, in the order of warps. There are two
 * barriers: what is written is read after the second one, and what is read before the first one may be overwritten. */
template <class R>
static __device__ __forceinline__ void warp_team_store_nodes(R &s, const struct tested_node tested[SLOTS],
                                                             const int node_class[SLOTS], struct warp_team &team,
                                                             const struct warp_state &state, int lane)
{
  lane_mask open[SLOTS], leaf[SLOTS];
  unsigned mine = 0;
  int before[SLOTS], particles = 0;
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    open[i] = warp_ballot(node_class[i] == OPEN);
    leaf[i] = warp_ballot(node_class[i] == LEAF);
    mine += (unsigned)lane_count(open[i]) + ((unsigned)lane_count(leaf[i]) << 16);
    before[i] = particles;
    if (leaf[i]) {
      int n = node_class[i] == LEAF ? (int)(tested[i].info & NODE_COUNT) : 0, sum = lanes_scan(n, lane);
      before[i] += sum - n;
      particles += warp_shuffle(sum, LANES - 1);
    }
  }
  if (lane == 0) s.stored[state.id] = {mine, particles};
  __syncthreads();
  unsigned at = 0, all = 0;
  int first = team.e.particles;
  particles = 0;
#pragma unroll
  for (int k = 0; k < WARP_TEAM_WARPS; k++) {
    const struct warp_team_counts f = s.stored[k];
    if (k < state.id) {
      at += f.ranges_leaves;
      first += f.particles;
    }
    all += f.ranges_leaves;
    particles += f.particles;
  }
  unsigned ring = team.oldest + (unsigned)team.ranges + (at & 0xffff), list = (unsigned)team.e.opened + (at >> 16);
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    if (node_class[i] == OPEN)
      s.ring[(ring + (unsigned)lane_count(open[i] & lanes_below())) % FRONT_CAPACITY] = range_of(tested[i]);
    if (node_class[i] == LEAF) {
      int begin = first + before[i];
      s.opened[list + (unsigned)lane_count(leaf[i] & lanes_below())] = make_int2(tested[i].first - begin, begin);
    }
    ring += (unsigned)lane_count(open[i]);
    list += (unsigned)lane_count(leaf[i]);
  }
  team.ranges += (int)(all & 0xffff);
  team.e.opened += (int)(all >> 16);
  team.e.particles += particles;
  __syncthreads();
}

/* Test nodes until none is left, or until the list of leaves could overflow at the next step. */
template <int CELLS, class R>
static __device__ __forceinline__ void warp_team_traverse(R &s, const struct few_job &job, const struct view &view,
                                                          struct block &block, struct warp_team &team,
                                                          struct warp_state &state, int lane)
{
  team.e = {0, 0, 0};
  while (warp_team_has_work(team) && team.e.opened <= OPENED_MAX - WARP_TEAM_NODES) {
    int k[SLOTS], node_class[SLOTS];
    struct tested_node t[SLOTS];
    warp_team_nodes(s, job, team, k);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_in_frame<WALK_MOVING>(job.walk, view, max(k[i], 0));
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
      node_class[i] = k[i] < 0 ? (int)REJECT : warp_team_classify<CELLS>(job.walk, view, t[i]);
      state.tests += lane_count(warp_ballot(k[i] >= 0));
      stage_near<CELLS>(s, t[i], k[i], node_class[i], state);
    }
    warp_team_store_nodes(s, t, node_class, team, state, lane);
    add_staged<CELLS>(s, job.walk, block, state, false, lane);
  }
}

/* --- results ----------------------------------------------------------------------------------------------------- */

/* Store acc_hard, which is the whole acceleration without a split, and `work`. Four lanes for each target. */
static __device__ __forceinline__ void warp_team_store_forces(const struct walk_job &job, int32_t mine, int targets,
                                                              float sum, float each, int lane)
{
  int64_t i = warp_shuffle(mine, lane / 4);
  if (lane / 4 >= targets) return;
  if (lane % 4 < 3) put(job.adding == 0, &job.p.acc_hard[3 * i + lane % 4], job.per_a, sum);
  else job.p.work[i] += each;
}
#endif
