/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists in shared memory, as the walks of groups make them: near cells, candidate leaves, the entries of a sub-group. */
#ifndef GPU_LISTS_CUH
#define GPU_LISTS_CUH
#include "traverse.cuh"

enum {
  NEAR_MOST = 192,
  LEAVES_MOST = 128,
  ENTRIES = 384         /* at least NEAR_MOST + LEAVES_MOST and 32 for padding */
};
static_assert(ENTRIES >= NEAR_MOST + LEAVES_MOST + LANES && ENTRIES >= NEAR_MOST + STAGED_MOST && ENTRIES % LANES == 0, "lists");

struct lists {
  int depth, near, leaves;
  int next;   /* of the nodes that the family handed down */
};

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* Balls of the sub-groups of SUB consecutive targets, and the smallest |a_old| of each. */
template <int SUB, class R>
__device__ static inline void take_balls(R &s, int targets, int lane)
{
  for (int first = 0; first < targets; first += LANES) {
    int k = first + lane;
    float4 t = s.target[k];
    float low[3] = {t.x, t.y, t.z}, high[3] = {t.x, t.y, t.z}, a = t.w;
#pragma unroll
    for (int step = 1; step < SUB; step *= 2) {
#pragma unroll
      for (int c = 0; c < 3; c++) {
        low[c] = fminf(low[c], __shfl_xor_sync(FULL, low[c], step));
        high[c] = fmaxf(high[c], __shfl_xor_sync(FULL, high[c], step));
      }
      a = fminf(a, __shfl_xor_sync(FULL, a, step));
    }
    float cx = 0.5f * (low[0] + high[0]), cy = 0.5f * (low[1] + high[1]), cz = 0.5f * (low[2] + high[2]);
    float dx = t.x - cx, dy = t.y - cy, dz = t.z - cz, r2 = dx * dx + dy * dy + dz * dz;
#pragma unroll
    for (int step = 1; step < SUB; step *= 2) r2 = fmaxf(r2, __shfl_xor_sync(FULL, r2, step));
    if (k % SUB == 0 && k < targets) {
      s.ball[k / SUB] = make_float4(cx, cy, cz, sqrtf(r2) * (1 + 1e-6f));
      s.sink[k / SUB] = a;
    }
  }
}

/* --- traversal --------------------------------------------------------------------------------------------------- */

/* Where a group's traversal starts: with the nodes that its family handed down, or at the root. Returns how many. */
template <class R>
__device__ static inline int start_lists(R &s, const walk_job &job, const walk_group &g, int lane, const int32_t **handed, lists &l)
{
  int count = 0;
  l = {0, 0, 0, 0};
  if (job.family) {
    *handed = job.handed + (size_t)g.family * HANDED_MOST, count = job.family[g.family].handed;
  } else {
    l.depth = 1;
    if (lane == 0) s.stack[0] = 0;   /* the root, as a range of one */
  }
  __syncwarp();
  return count;
}

/* What is tested next: so many ranges from the stack, or nodes that the family handed down. */
struct step {
  int ranges, nodes;
};

/* As many as the lists have room for; the stack first, unless it does not fill the lanes. */
__device__ static inline step next_step(const lists &l, int handed)
{
  int room = min(NEAR_MOST - l.near, LEAVES_MOST - l.leaves), left = handed - l.next;
  step n = {0, 0};
  if (left == 0 || l.depth >= WIDE)
    n.ranges = min(min(l.depth, l.depth > NARROW ? 1 : (int)WIDE), room / SIBLINGS);
  else
    n.nodes = min(min(left, SLOTS * LANES), room);
  return n;
}

template <class R>
__device__ static inline void take_nodes(const R &s, const int32_t *handed, const step &n, lists &l, int lane, int k[SLOTS])
{
  if (n.nodes > 0) {
#pragma unroll
    for (int i = 0; i < SLOTS; i++) k[i] = i * LANES + lane < n.nodes ? handed[l.next + i * LANES + lane] : -1;
    l.next += n.nodes;
  } else {
    next_nodes(s, l.depth, n.ranges, lane, k);
    l.depth -= n.ranges;
  }
}

enum { REJECT, FAR_CELL, NEAR_CELL, LEAF, OPEN };

/* Put a tested node where it belongs. */
template <int CELLS, class R>
__device__ static inline void file(R &s, const tested &t, int k, int verdict, lists &l, int &staged, int lane)
{
  unsigned mine = below(lane);
  unsigned fars = __ballot_sync(FULL, verdict == FAR_CELL), nears = __ballot_sync(FULL, verdict == NEAR_CELL);
  unsigned leafs = __ballot_sync(FULL, verdict == LEAF), opens = __ballot_sync(FULL, verdict == OPEN);
  if (verdict == FAR_CELL || verdict == NEAR_CELL) {
    bool far = verdict == FAR_CELL;
    int at = far ? ENTRIES - STAGED_MOST + staged + __popc(fars & mine) : l.near + __popc(nears & mine);
    s.entry[at] = t.at;
    if (CELLS == CELLS_QUADRUPOLE && !far) s.node[at] = k;
    if (CELLS != CELLS_MONOPOLE && far) s.staged_node[at - (ENTRIES - STAGED_MOST)] = k;
  }
  if (verdict == LEAF) s.leaf[l.leaves + __popc(leafs & mine)] = k;
  /* the deepest last, so that they are next */
  if (verdict == OPEN) s.stack[l.depth + __popc(opens & ~mine) - 1] = (unsigned)t.first << 3 | ((t.info & NODE_COUNT) - 1);
  l.near += __popc(nears), l.leaves += __popc(leafs), l.depth += __popc(opens), staged += __popc(fars);
}

__device__ static inline void count_verdict(walk_count &count, int verdict)
{
  count.tests += verdict != REJECT, count.far += verdict == FAR_CELL, count.near += verdict == NEAR_CELL, count.leaves += verdict == LEAF;
}

/* Whether a group is better walked in pieces: its ball reaches into regions that are much denser than its own. */
__device__ static inline bool hand_on(const walk_job &job, const walk_group &g, int near, int leaves, int lane)
{
  int n = g.end - g.begin;
  if (job.piece == 0 || n <= job.piece || (near <= job.most_near && leaves <= job.most_leaves)) return false;
  int pieces = (n + job.piece - 1) / job.piece, at = 0;
  if (lane == 0) at = atomicAdd(job.piece_count, pieces);
  at = __shfl_sync(FULL, at, 0);
  for (int p = lane; p < pieces; p += LANES)
    job.pieces[at + p] = {g.begin + p * job.piece, min(g.begin + (p + 1) * job.piece, g.end), g.family};
  return true;
}

/* --- entries of a sub-group -------------------------------------------------------------------------------------- */

#define NOTHING make_float4(1, 1, 1, 0)   /* a source without mass */

/* Entries are evaluated 32 at a time: fill up what is missing. Returns the new end. */
template <class R>
__device__ static inline int pad(R &s, int end, int lane)
{
  int padded = (end + LANES - 1) / LANES * LANES;
  if (end + lane < padded) s.entry[end + lane] = NOTHING;
  return padded;
}

/* The sum of n over the lanes up to and with this one. */
__device__ static inline int lanes_scan(int n, int lane)
{
#pragma unroll
  for (int step = 1; step < LANES; step *= 2) {
    int other = __shfl_up_sync(FULL, n, step);
    if (lane >= step) n += other;
  }
  return n;
}

/* Entries of a sub-group: [0, end), and its opened leaves. */
struct entries {
  int end, opened, particles;
};

/* The particle of the lane, of particles [base, base + 32) of the opened leaves, counted over these; -1: none. `owner` is
 * the opened leaf that holds the particle `base`, and moves on. */
template <class R>
__device__ static inline int particle_of(const R &s, const entries &e, int base, int &owner, int lane)
{
  int next = owner + 1 + lane;
  int start = next < e.opened ? s.opened[next].y - base : 2 * LANES;
  unsigned starts = __reduce_or_sync(FULL, start < LANES ? 1u << start : 0);
  int mine = owner + __popc(starts & (below(lane) | 1u << lane));
  owner += __popc(__ballot_sync(FULL, start <= LANES));
  return base + lane < e.particles ? s.opened[mine].x + base + lane : -1;
}

/* Write particles from `base` on to the end of the entries, as many as a step takes. */
template <class R>
__device__ static inline void gather(R &s, const walk_job &job, const view &v, int base, entries &e, int &owner, int lane)
{
  int i[SLOTS];
  int4 x[SLOTS];
#pragma unroll
  for (int k = 0; k < SLOTS; k++) i[k] = particle_of(s, e, base + k * LANES, owner, lane);
#pragma unroll
  for (int k = 0; k < SLOTS; k++) x[k] = __ldg(&job.source[max(i[k], 0)]);
#pragma unroll
  for (int k = 0; k < SLOTS; k++)
    if (i[k] >= 0)
      s.entry[e.end + k * LANES + lane] = make_float4((float)(x[k].x - v.centre[0]) * job.spacing, (float)(x[k].y - v.centre[1]) * job.spacing,
                                                      (float)(x[k].z - v.centre[2]) * job.spacing, __int_as_float(x[k].w));
  e.end += min(SLOTS * LANES, e.particles - base);
}
#endif
