/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of few active targets without a split. Their groups are cut into small pieces, and a warp team
 * (warp_team.cuh) walks each piece from the roots. There are no supergroups and no expansions, because the time is that
 * of the chain of steps of a piece. */
#include <config.h>

#include "base/debug.h"
#include "gpu/walk/warp_team.cuh"

enum {
  FEW_PART = 8,        /* at most one in FEW_PART groups is active, */
  FEW_PIECES = 16,     /* and there are at most FEW_PIECES pieces for each multiprocessor */
  WARP_TEAM_BLOCKS = 2 /* resident teams on a multiprocessor; they limit the registers that the compiler uses */
};

/* --- pieces ------------------------------------------------------------------------------------------------------ */

static_assert((int)BLOCK == (int)FEW_TARGETS && GROUP_MAX <= 256, "places of targets");

/* One warp cuts one group: its active particles in pieces of nearly equal size. The order of pieces has no effect on
 * forces. */
static __global__ void __launch_bounds__(THREADS) list_pieces(const __grid_constant__ struct few_job job)
{
  int32_t q = (int32_t)((blockIdx.x * THREADS + threadIdx.x) / LANES);
  if (q >= job.walk.groups) return;
  const int4 g = load_read_only((const int4 *)&job.walk.group[job.walk.list[q]]);
  int n = 0, rank[GROUP_MAX / LANES], at = 0; /* rank: among the active particles of the group; -1: not active */
#pragma unroll
  for (int e = 0; e < GROUP_MAX / LANES; e++) {
    int32_t i = g.x + e * LANES + lane_id();
    bool take = i < g.y && needs_force<WALK_MOVING>(job.walk, i);
    lane_mask takes = warp_ballot(take);
    rank[e] = take ? n + lane_count(takes & lanes_below()) : -1;
    n += lane_count(takes);
  }
  if (n == 0) return;
  int pieces = (n + job.size - 1) / job.size, each = (n + pieces - 1) / pieces;
  pieces = (n + each - 1) / each;
  if (lane_id() == 0) at = atomicAdd(job.count, pieces);
  at = warp_shuffle(at, 0);
#pragma unroll
  for (int e = 0; e < GROUP_MAX / LANES; e++) {
    if (rank[e] < 0) continue;
    int p = rank[e] / each, k = rank[e] % each;
    struct few_piece *piece = &job.piece[at + p];
    piece->place[k] = (uint8_t)(e * LANES + lane_id());
    if (k > 0) continue;
    piece->begin = g.x;
    piece->targets = min(each, n - p * each);
  }
}

/* Upper limit of the number of pieces of `size` targets. */
static int64_t pieces_max(const struct device *d, int size)
{
  return d->active.groups + (d->active.count - d->active.groups) / size;
}

/* --- kernel ------------------------------------------------------------------------------------------------------ */

/* One team walks one piece, a struct few_piece as it is loaded. */
template <int CELLS>
static __device__ __forceinline__ void walk_piece(struct warp_team_shared<CELLS> &s, const struct few_job &job,
                                                  const int4 &piece, int lane)
{
  struct view v;
  struct block b;
  struct warp_team m = {0, 0, 0, job.walk.roots, {0, 0, 0}, 0};
  struct warp_state w = {(int)threadIdx.x / LANES, 0, 0, 0};
  int32_t mine = target_of_lane(piece, lane), targets = piece.y;
  warp_team_load_targets<CELLS>(job.walk, mine, targets, v, b);
  while (warp_team_has_work(m)) {
    warp_team_traverse<CELLS>(s, job, v, b, m, w, lane);
    add_particles(s, job.walk, v, b, m.e, w, lane);
    m.particles += (unsigned)m.e.particles;
  }
  add_staged<CELLS>(s, job.walk, b, w, true, lane);
  float own = lanes_sum<4 * BLOCK>(b.sum, lane);
  if (lane < 4 * BLOCK) s.sum[w.id][lane] = own;
  if (lane == 0) s.warp_totals[w.id] = make_int2(w.near, w.tests);
  __syncthreads();
  if (w.id > 0) return;
  float sum = 0;
  int near = 0, tests = 0;
  for (int k = 0; k < WARP_TEAM_WARPS; k++) {
    sum += s.sum[k][min(lane, 4 * BLOCK - 1)];
    near += s.warp_totals[k].x;
    tests += s.warp_totals[k].y;
  }
  warp_team_store_forces(job.walk, mine, targets, sum, (float)near + (float)m.particles, lane);
  struct walked all = {0, tests, (unsigned)near * (unsigned)targets, m.particles * (unsigned)targets};
  store_tally(job.walk, job.walk.adding == 0, v, all, 0, lane);
}

/* One thread block is the warp team of one piece. */
template <int CELLS>
static __global__ void __launch_bounds__(WARP_TEAM_THREADS, WARP_TEAM_BLOCKS)
    few_kernel(const __grid_constant__ struct few_job job)
{
  __shared__ struct warp_team_shared<CELLS> s;
  if ((int)blockIdx.x >= *job.count) return;
  walk_piece<CELLS>(s, job, load_read_only((const int4 *)&job.piece[blockIdx.x]), lane_id());
}

/* --- launch ------------------------------------------------------------------------------------------------------ */

void walk_state_open(struct walk_state *state)
{
  int low, high;
  CHECK(runtime_stream_priorities(&low, &high));
  CHECK(runtime_stream_create_priority(&state->beside, high));
  CHECK(runtime_event_create_untimed(&state->listed));
  CHECK(runtime_event_create_untimed(&state->walked));
  state->few_groups = (int)debug_value("few_groups", FEW_GROUPS);
  state->few_pieces = (int)debug_value("few_pieces", FEW_PIECES);
}

int few_walk_applies(const struct device *d)
{
  return (int64_t)d->active.groups * FEW_PART <= d->targets.groups &&
         pieces_max(d, BLOCK) <= (int64_t)d->walk.few_pieces * d->multiprocessors;
}

/* Number of targets of a piece: the smallest for which all pieces are resident at the same time, because fewer targets
 * have a smaller ball. */
static int size_of(const struct device *d)
{
  int size = BLOCK;
  while (size > 1 && pieces_max(d, size / 2) <= (int64_t)WARP_TEAM_BLOCKS * d->multiprocessors) size /= 2;
  return size;
}

/* All parts of a walk use the pieces that its first part lists. Mixed cells are point masses here: without expansions
 * and hard forces second moments have no use. */
void few_walk(struct device *d, const struct walk_job *walk, int cells)
{
  int size = size_of(d);
  int64_t capacity = pieces_max(d, size);
  struct few_piece *piece = array_reserve(&d->walk.few_piece, "device walk", capacity);
  const struct few_job job = {*walk, device_tree_roots(d), piece, &d->device_results->walk.few, size};
  if (!d->walk.few_listed) LAUNCH(d, list_pieces, blocks_for((int64_t)walk->groups * LANES, THREADS), THREADS, job);
  d->walk.few_listed = 1;
  if (cells == CELLS_QUADRUPOLE) LAUNCH(d, few_kernel<CELLS_QUADRUPOLE>, capacity, WARP_TEAM_THREADS, job);
  else LAUNCH(d, few_kernel<CELLS_MONOPOLE>, capacity, WARP_TEAM_THREADS, job);
}
