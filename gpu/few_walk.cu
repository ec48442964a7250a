/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of few active targets without a split: their groups are cut into small pieces, and a team of warps takes each of
 * them from the roots (team.cuh). There are no families and no expansions: what counts is the chain of steps of a piece. */
#include <config.h>
#include <stdlib.h>

#include "team.cuh"

enum {
  FEW_PART = 8,      /* at most this part of the groups is active, */
  FEW_PIECES = 16,   /* and at most so many pieces are on a multiprocessor */
  TEAM_BLOCKS = 2    /* teams on a multiprocessor: the compiler spends no more registers than they leave */
};

/* --- pieces ------------------------------------------------------------------------------------------------------ */

/* A warp for each group: its active members in pieces of as many each. The list is in any order, which no force depends on. */
static __global__ void __launch_bounds__(THREADS) list_pieces(const __grid_constant__ struct few_job job)
{
  int32_t q = (int32_t)((blockIdx.x * THREADS + threadIdx.x) / WARP);
  if (q >= job.walk.groups) return;
  const int4 g = __ldg((const int4 *)&job.walk.group[job.walk.list[q]]);
  uint64_t member = 0;
#pragma unroll
  for (int e = 0; e < GROUP_MOST / WARP; e++) {
    int32_t i = g.x + e * WARP + lane_id();
    member |= (uint64_t)__ballot_sync(FULL, i < g.y && wants<WALK_MOVING>(job.walk, i)) << e * WARP;
  }
  int n = __popcll(member), pieces = (n + job.size - 1) / job.size, at = 0;
  if (n == 0) return;
  if (lane_id() == 0) at = atomicAdd(job.count, pieces);
  at = __shfl_sync(FULL, at, 0);
  int each = (n + pieces - 1) / pieces;
  for (int p = lane_id(); p < pieces; p += WARP) {
    uint64_t from = member;
    for (int k = 0; k < p * each; k++) from &= from - 1;
    uint64_t rest = from;
    for (int k = 0; k < each; k++) rest &= rest - 1;
    from &= ~rest;
    const struct few_piece piece = {g.x, __popcll(from), {(uint32_t)from, (uint32_t)(from >> WARP)}};
    job.piece[at + p] = piece;
  }
}

/* So many at most. */
static int64_t pieces_most(const struct device *d, int size) { return d->active_groups + (d->actives - d->active_groups) / size; }

/* --- kernel ------------------------------------------------------------------------------------------------------ */

template <int CELLS>
static __device__ __forceinline__ void walk_piece(struct team_room<CELLS> &s, const struct few_job &job, const struct few_piece &p, int lane)
{
  struct view v;
  struct block b;
  struct team m = {0, 0, 0, job.walk.roots, {0, 0, 0}, 0};
  struct member w = {(int)threadIdx.x / WARP, 0, 0, 0};
  int32_t mine = target_of_lane(p, lane);
  team_targets<CELLS>(job.walk, mine, p.targets, v, b);
  while (team_waits(m)) {
    team_traverse<CELLS>(s, job, v, b, m, w, lane);
    add_particles(s, job.walk, v, b, m.e, w, lane);
    m.particles += (unsigned)m.e.particles;
  }
  add_staged<CELLS>(s, job.walk, b, w, true, lane);
  s.sum[w.id][lane] = lanes_sum<4 * BLOCK>(b.sum, lane);
  if (lane == 0) s.told[w.id] = make_int2(w.near, w.tests);
  __syncthreads();
  if (w.id > 0) return;
  float sum = 0;
  int near = 0, tests = 0;
  for (int k = 0; k < TEAM_WARPS; k++) {
    sum += s.sum[k][lane];
    near += s.told[k].x, tests += s.told[k].y;
  }
  team_store(job.walk, mine, p.targets, sum, (float)near + (float)m.particles, lane);
  struct walked all = {0, tests, (unsigned)near * (unsigned)p.targets, m.particles * (unsigned)p.targets};
  tell(job.walk, job.walk.adding == 0, v, all, 0, lane);
}

template <int CELLS> static __global__ void __launch_bounds__(TEAM_THREADS, TEAM_BLOCKS) few_kernel(const __grid_constant__ struct few_job job)
{
  __shared__ struct team_room<CELLS> s;
  if ((int)blockIdx.x >= *job.count) return;
  const int4 p = __ldg((const int4 *)&job.piece[blockIdx.x]);
  walk_piece<CELLS>(s, job, {p.x, p.y, {(uint32_t)p.z, (uint32_t)p.w}}, (int)threadIdx.x % WARP);
}

/* --- launch ------------------------------------------------------------------------------------------------------ */

int few_pieces_asked(void)
{
  const char *asked = getenv("ESPALIER_FEW_PIECES");
  return asked ? atoi(asked) : FEW_PIECES;
}

int few_serves(const struct device *d)
{
  return (int64_t)d->active_groups * FEW_PART <= d->groups && pieces_most(d, BLOCK) <= (int64_t)d->few_pieces * d->multiprocessors;
}

/* Targets of a piece: fewer have a smaller ball, while all pieces are walked at the same time. */
static int size_of(const struct device *d)
{
  int size = BLOCK;
  while (size > 1 && pieces_most(d, size / 2) <= (int64_t)TEAM_BLOCKS * d->multiprocessors) size /= 2;
  return size;
}

/* The pieces are those of the first part of a walk. Point masses: without expansions second moments are not needed. */
void few_walk(struct device *d, const struct walk_job *walk, int cells)
{
  int size = size_of(d);
  int64_t most = pieces_most(d, size);
  struct few_piece *piece = array_room(&d->few_piece, "device walk", most);
  const struct few_job job = {*walk, d->part[FAST].base, piece, &d->answers->few, size};
  if (!d->few_listed) LAUNCH(d, list_pieces, blocks_for((int64_t)walk->groups * WARP, THREADS), THREADS, job);
  d->few_listed = 1;
  if (cells == CELLS_QUADRUPOLE)
    LAUNCH(d, few_kernel<CELLS_QUADRUPOLE>, most, TEAM_THREADS, job);
  else
    LAUNCH(d, few_kernel<CELLS_MONOPOLE>, most, TEAM_THREADS, job);
}
