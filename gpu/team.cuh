/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A team of warps walks a few targets from the roots to their forces.
 *
 * The warps share a front, a ring of ranges of siblings, and test 512 nodes of it at a step, so that the chain of steps is
 * hardly longer than the tree is deep. Targets and their sums stand in the registers of every thread: each source meets them
 * once, in one lane. A warp evaluates the cells that it accepts; particles of opened leaves are listed for all and shared out
 * evenly. Which thread meets which source follows from the tree alone, and the sums of threads are added in one order. */
#ifndef GPU_TEAM_CUH
#define GPU_TEAM_CUH
#include "results.cuh"

struct few_job {
  struct walk_job walk;
  int32_t second;               /* without a list of roots: 0, and this one if there are two */
  struct few_piece *piece;
  int32_t *count;               /* of pieces */
  int32_t size;                 /* targets of a piece at most */
};

enum {
  TEAM_WARPS = 8,
  TEAM_THREADS = TEAM_WARPS * WARP,
  TEAM_WIDE = TEAM_WARPS * WIDE,         /* ranges that are tested at a step, */
  TEAM_NODES = TEAM_WIDE * SIBLINGS,     /* and nodes */
  TEAM_NARROW = 8,                       /* ranges at a step where the front is full */
  FRONT_ROOM = 4096,                     /* a power of two */
  FRONT_FULL = FRONT_ROOM - TEAM_NODES - SIBLINGS * TEAM_NARROW * (KEY_LEVELS + 2),
  OPENED_MOST = WARP * WARP
};
static_assert(FRONT_FULL >= TEAM_WIDE && (FRONT_ROOM & (FRONT_ROOM - 1)) == 0 && OPENED_MOST >= TEAM_NODES, "room of a team");

/* What a warp files at a step. */
struct team_filed {
  unsigned ranges_leaves;   /* ranges, and 2^16 times the leaves */
  int particles;
};

template <int CELLS> struct team_room {
  uint32_t ring[FRONT_ROOM];
  float4 near[TEAM_WARPS][STAGED_MOST];   /* cells that a warp has accepted and not evaluated yet */
  int32_t node[CELLS == CELLS_QUADRUPOLE ? TEAM_WARPS : 1][STAGED_MOST];
  int2 opened[OPENED_MOST];               /* as those of a sub-group */
  struct team_filed filed[TEAM_WARPS];
  float sum[TEAM_WARPS][4 * BLOCK];
  int2 told[TEAM_WARPS];                  /* near cells, tests */
};

/* The front and the lists of a team: the same in all threads. */
struct team {
  unsigned oldest;                /* place of the oldest range in the ring */
  int ranges, root, roots;        /* ranges that wait; the next root, of how many */
  struct entries e;               /* opened leaves and their particles */
  unsigned long long particles;   /* that were evaluated before */
};

/* A warp's own part. */
struct member {
  int id, staged, near, tests;    /* cells that wait for their evaluation; all of them */
};

static __device__ __forceinline__ bool team_waits(const struct team &m) { return m.ranges > 0 || m.root < m.roots; }

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* The particle of each lane: those behind the last are copies of it. */
static __device__ __forceinline__ int32_t target_of_lane(const struct few_piece &p, int lane)
{
  uint64_t member = (uint64_t)p.member[1] << WARP | p.member[0];
  static_assert(GROUP_MOST == 2 * WARP, "two words");
  for (int k = min(lane, p.targets - 1); k > 0; k--) member &= member - 1;
  return p.begin + __ffsll((long long)member) - 1;
}

/* Their ball, and their places in all threads of a warp; every warp does it for itself. */
template <int CELLS>
static __device__ __forceinline__ void team_targets(const struct walk_job &job, int32_t i, int targets, struct view &v, struct block &b)
{
  const int4 x = load_target(job, i);
  const int32_t at[3] = {x.x, x.y, x.z};
  float t[3], r2 = 0;
  v.targets = targets;
#pragma unroll
  for (int c = 0; c < 3; c++) {
    int32_t low = __reduce_min_sync(FULL, at[c]), high = __reduce_max_sync(FULL, at[c]);
    v.centre[c] = low + (high - low) / 2;
    t[c] = (float)(at[c] - v.centre[c]) * job.spacing;
  }
  r2 = t[0] * t[0] + t[1] * t[1] + t[2] * t[2];
  set_view<CELLS>(job, root(lanes_max(r2)), lanes_min(a_old_of(job, i)), OF_GROUP, v);
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    b.x[k] = __shfl_sync(FULL, t[0], k), b.y[k] = __shfl_sync(FULL, t[1], k), b.z[k] = __shfl_sync(FULL, t[2], k);
  }
#pragma unroll
  for (int k = 0; k < 4 * BLOCK; k++) b.sum[k] = 0;
}

/* --- the front --------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ int32_t root_of(const struct few_job &job, int k)
{
  return job.walk.root ? __ldg(&job.walk.root[k]) : k > 0 ? job.second : 0;
}

/* The nodes that this thread tests: the oldest ranges first, which keeps the chain of steps short. Where many wait it is the
 * latest, a few at a time: then those that wait grow by 7 x TEAM_NARROW for every level below, whatever their order was. */
template <class R> static __device__ __forceinline__ void team_nodes(const R &s, const struct few_job &job, struct team &m, int k[SLOTS])
{
  bool full = m.ranges > FRONT_FULL, roots = !full && m.root < m.roots && m.ranges < TEAM_WIDE;
  int some = roots ? min(m.roots - m.root, (int)TEAM_NODES) : min(m.ranges, full ? (int)TEAM_NARROW : (int)TEAM_WIDE);
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    int at = i * TEAM_THREADS + (int)threadIdx.x, slot = at / SIBLINGS, child = at % SIBLINGS;
    k[i] = -1;
    if (roots) {
      if (at < some) k[i] = root_of(job, m.root + at);
    } else if (slot < some) {
      uint32_t range = s.ring[(m.oldest + (unsigned)(full ? m.ranges - 1 - slot : slot)) % FRONT_ROOM];
      if (child <= (int)(range & (SIBLINGS - 1))) k[i] = (int)(range >> SIBLINGS_BITS) + child;
    }
  }
  if (roots) {
    m.root += some;
  } else {
    m.ranges -= some;
    if (!full) m.oldest += (unsigned)some;
  }
}

template <int CELLS> static __device__ __forceinline__ int team_verdict(const struct walk_job &job, const struct view &v, const struct tested &t)
{
  struct criterion c = judge<CELLS, WALK_MOVING>(job, v, t);
  return c.accept ? NEAR_CELL : is_empty(t) ? REJECT : t.info & NODE_LEAF ? LEAF : OPEN;
}

/* Accepted cells go to the warp's own list. */
template <int CELLS, class R>
static __device__ __forceinline__ void stage_near(R &s, const struct tested &t, int k, int verdict, struct member &w)
{
  unsigned nears = __ballot_sync(FULL, verdict == NEAR_CELL);
  int at = w.staged + __popc(nears & lanes_below()), near = __popc(nears);
  if (verdict == NEAR_CELL) {
    s.near[w.id][at] = t.at;
    if (CELLS == CELLS_QUADRUPOLE) s.node[w.id][at] = k;
  }
  w.staged += near, w.near += near;
}

/* --- evaluation -------------------------------------------------------------------------------------------------- */

/* Staged cells by whole warps; where the traversal `ends` the rest as well. */
template <int CELLS, class R>
static __device__ __forceinline__ void add_staged(const R &s, const struct walk_job &job, struct block &b, struct member &w, bool ends, int lane)
{
  __syncwarp();
  while (w.staged >= (ends ? 1 : (int)WARP)) {
    w.staged -= WARP;
    int at = w.staged + lane;
    float4 c = NOTHING;
    if (at >= 0) c = s.near[w.id][at];
    if constexpr (CELLS == CELLS_QUADRUPOLE) {
      struct quad q = {};
      if (at >= 0) q = second_moments(job, s.node[w.id][at]);
      quad_pairs_add<false>(b, c, q, job.eps2);
    } else {
      pairs_add<false>(b, c, job.eps2);
    }
  }
  w.staged = max(w.staged, 0);
  __syncwarp();
}

/* A source as it stands in memory; without courses all are where they are. */
struct fetched {
  int4 x;
  float4 p, q;
};

static __device__ __forceinline__ struct fetched fetch(const struct walk_job &job, int32_t i)
{
  struct fetched f;
  f.x = load_body(job, i);
  if (job.t.course) {
    const float4 *c = (const float4 *)&job.t.course[i];
    f.p = __ldg(c), f.q = __ldg(c + 1);
  }
  return f;
}

static __device__ __forceinline__ float4 source_of(const struct walk_job &job, const struct view &v, const struct fetched &f)
{
  float4 e = in_frame(job, v, f.x);
  if (job.t.course) predict(job, e, f.p, f.q);
  return e;
}

/* The opened leaf that holds a particle, counted over all of them. */
template <class R> static __device__ __forceinline__ int owner_of(const R &s, const struct entries &e, int particle, int lane)
{
  int at = lane * WARP;
  int first = (__popc(__ballot_sync(FULL, at < e.opened && s.opened[min(at, e.opened - 1)].y <= particle)) - 1) * WARP;
  at = first + lane;
  return first + __popc(__ballot_sync(FULL, at < e.opened && s.opened[min(at, e.opened - 1)].y <= particle)) - 1;
}

/* The particles of the opened leaves, as many for each warp. The next are asked for before the pairs of these. */
template <class R>
static __device__ __forceinline__ void add_particles(const R &s, const struct walk_job &job, const struct view &v, struct block &b,
                                                     const struct entries &all, const struct member &w, int lane)
{
  int share = (all.particles + TEAM_THREADS - 1) / TEAM_THREADS * WARP, begin = w.id * share;
  struct entries e = {0, all.opened, min(begin + share, all.particles)};
  if (begin >= e.particles) return;
  int owner = owner_of(s, all, begin, lane), i[SLOTS] = {-1, -1};
  struct fetched x[SLOTS];
  for (int base = begin - SLOTS * WARP; base < e.particles;) {
    float4 source[SLOTS];
    bool some = base >= begin;
#pragma unroll
    for (int k = 0; k < SLOTS; k++) source[k] = i[k] >= 0 ? source_of(job, v, x[k]) : NOTHING;
    base += SLOTS * WARP;
    if (base < e.particles) {
#pragma unroll
      for (int k = 0; k < SLOTS; k++) {
        i[k] = particle_of(s, e, base + k * WARP, owner, lane);
        x[k] = fetch(job, max(i[k], 0));
      }
    }
    if (some) {
#pragma unroll
      for (int k = 0; k < SLOTS; k++) pairs_add<false>(b, source[k], job.eps2);
    }
  }
}

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* Ranges and leaves of all warps get their places behind what is there, warp by warp. Two barriers: what is written is read
 * behind the second, and what was read before the first may be overwritten. */
template <class R>
static __device__ __forceinline__ void team_file(R &s, const struct tested t[SLOTS], const int verdict[SLOTS], struct team &m, const struct member &w,
                                                 int lane)
{
  unsigned open[SLOTS], leaf[SLOTS], mine = 0;
  int before[SLOTS], particles = 0;
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    open[i] = __ballot_sync(FULL, verdict[i] == OPEN), leaf[i] = __ballot_sync(FULL, verdict[i] == LEAF);
    mine += (unsigned)__popc(open[i]) + ((unsigned)__popc(leaf[i]) << 16);
    before[i] = particles;
    if (leaf[i]) {
      int n = verdict[i] == LEAF ? (int)(t[i].info & NODE_COUNT) : 0, sum = lanes_scan(n, lane);
      before[i] += sum - n;
      particles += __shfl_sync(FULL, sum, WARP - 1);
    }
  }
  if (lane == 0) s.filed[w.id] = {mine, particles};
  __syncthreads();
  unsigned at = 0, all = 0;
  int first = m.e.particles;
  particles = 0;
#pragma unroll
  for (int k = 0; k < TEAM_WARPS; k++) {
    const struct team_filed f = s.filed[k];
    if (k < w.id) at += f.ranges_leaves, first += f.particles;
    all += f.ranges_leaves, particles += f.particles;
  }
  unsigned ring = m.oldest + (unsigned)m.ranges + (at & 0xffff), list = (unsigned)m.e.opened + (at >> 16);
#pragma unroll
  for (int i = 0; i < SLOTS; i++) {
    if (verdict[i] == OPEN) s.ring[(ring + (unsigned)__popc(open[i] & lanes_below())) % FRONT_ROOM] = range_of(t[i]);
    if (verdict[i] == LEAF) {
      int begin = first + before[i];
      s.opened[list + (unsigned)__popc(leaf[i] & lanes_below())] = make_int2(t[i].first - begin, begin);
    }
    ring += (unsigned)__popc(open[i]), list += (unsigned)__popc(leaf[i]);
  }
  m.ranges += (int)(all & 0xffff), m.e.opened += (int)(all >> 16), m.e.particles += particles;
  __syncthreads();
}

/* Test nodes until none is left or the list of leaves might have no room for those of a step. */
template <int CELLS, class R>
static __device__ __forceinline__ void team_traverse(R &s, const struct few_job &job, const struct view &v, struct block &b, struct team &m,
                                                     struct member &w, int lane)
{
  m.e = {0, 0, 0};
  while (team_waits(m) && m.e.opened <= OPENED_MOST - TEAM_NODES) {
    int k[SLOTS], verdict[SLOTS];
    struct tested t[SLOTS];
    team_nodes(s, job, m, k);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) t[i] = node_seen<WALK_MOVING>(job.walk, v, max(k[i], 0));
#pragma unroll
    for (int i = 0; i < SLOTS; i++) {
      verdict[i] = k[i] < 0 ? (int)REJECT : team_verdict<CELLS>(job.walk, v, t[i]);
      w.tests += __popc(__ballot_sync(FULL, k[i] >= 0));
      stage_near<CELLS>(s, t[i], k[i], verdict[i], w);
    }
    team_file(s, t, verdict, m, w, lane);
    add_staged<CELLS>(s, job.walk, b, w, false, lane);
  }
}

/* --- results ----------------------------------------------------------------------------------------------------- */

/* Hard parts are the whole without a split, and those alone are asked for where some are active. Four lanes for each target. */
static __device__ __forceinline__ void team_store(const struct walk_job &job, int32_t mine, int targets, float sum, float each, int lane)
{
  int64_t i = __shfl_sync(FULL, mine, lane / 4);
  if (lane / 4 >= targets) return;
  if (lane % 4 < 3)
    put(job.adding == 0, &job.p.acc_hard[3 * i + lane % 4], job.per_a, sum);
  else
    job.p.work[i] += each;
}
#endif
