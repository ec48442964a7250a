/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What warps walk, and in which order. Groups of supergroups that hand many nodes down come first, because a walk ends
 * with the slowest group. Where groups are few, they are cut into pieces; in hard walks the heaviest groups are always
 * cut. The order within a class has no effect on forces: groups are independent. */
#include <config.h>
#include "gpu/walk/traverse.cuh"

/* Lower limits of classes 0 and 1: nodes that a supergroup hands down, over the mean. */
#define HEAVIEST_OVER_MEAN 2.0f
#define HEAVY_OVER_MEAN 1.25f

/* Items of a class are consecutive. */
struct items_job {
  struct walk_job walk;
  struct item *item;
  int cut, piece;
  int adds; /* forces are added to: groups whose supergroup hands nothing down have nothing to add */
};

/* The class of the groups of a supergroup. */
static __device__ int class_of(const struct walk_job &job, int32_t supergroup)
{
  int32_t handed = job.supergroup[supergroup].handed,
          supergroups = job.supergroup_list ? *job.supergroup_count : job.supergroups;
  float mean = (float)*job.handed_sum / (float)max(supergroups, 1);
  if (handed == HANDED_ROOTS || (float)handed > HEAVIEST_OVER_MEAN * mean) return 0;
  return (float)handed > HEAVY_OVER_MEAN * mean ? 1 : 2;
}

static __device__ struct group group_at(const struct walk_job &job, int32_t k)
{
  return job.group[job.list ? job.list[k] : k];
}

/* Whether group k belongs to a supergroup that is walked, and to the sample of a WALK_POTENTIAL. */
static __device__ bool is_walked(const struct walk_job &job, const struct group &group, int32_t k)
{
  return (job.list || group.supergroup < job.supergroups) && k % job.stride == 0;
}

/* Sort groups by class. One thread takes one group; a thread block reserves the items of its groups together, which
 * keeps neighbours adjacent. */
static __global__ void __launch_bounds__(THREADS) order_groups(const __grid_constant__ struct items_job job)
{
  __shared__ int count[ITEM_CLASSES], place[ITEM_CLASSES];
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (threadIdx.x < ITEM_CLASSES) count[threadIdx.x] = 0;
  __syncthreads();
  bool walked = k < job.walk.groups;
  struct group g = {};
  int c = 0, at = 0;
  if (walked) {
    g = group_at(job.walk, k);
    walked = is_walked(job.walk, g, k);
  }
  if (walked) {
    c = class_of(job.walk, g.supergroup);
    at = atomicAdd(&count[c], 1);
  }
  __syncthreads();
  if (threadIdx.x < ITEM_CLASSES) place[threadIdx.x] = atomicAdd(&job.walk.item_count[threadIdx.x], count[threadIdx.x]);
  __syncthreads();
  const struct item one = {g.begin, g.end, g.supergroup, 0};
  if (walked) job.item[job.walk.item_begin[c] + place[c] + at] = one;
}

/* One warp makes the items of one group: `piece` targets each, or a single item if the group stays whole. */
template <int HOW>
static __global__ void __launch_bounds__(THREADS) cut_groups(const __grid_constant__ struct items_job job)
{
  int32_t k = (int32_t)(((int64_t)blockIdx.x * THREADS + threadIdx.x) / LANES);
  if (k >= job.walk.groups) return;
  struct group g = group_at(job.walk, k);
  if (!is_walked(job.walk, g, k) || (job.adds && job.walk.supergroup[g.supergroup].handed == 0)) return;
  int n = 0, rank[GROUP_MAX / LANES];
  for (int e = 0; e < GROUP_MAX / LANES; e++) {
    int32_t i = g.begin + e * LANES + lane_id();
    bool take = i < g.end && needs_force<HOW>(job.walk, i);
    lane_mask takes = warp_ballot(take);
    rank[e] = take ? n + lane_count(takes & lanes_below()) : -1;
    n += lane_count(takes);
  }
  int c = class_of(job.walk, g.supergroup), at = 0, piece = job.cut == CUT_ALL || c == 0 ? job.piece : (int)GROUP_MAX;
  int pieces = (n + piece - 1) / piece;
  if (lane_id() == 0 && n > 0) at = atomicAdd(&job.walk.item_count[c], pieces);
  at = warp_shuffle(at, 0);
  struct item *item = &job.item[job.walk.item_begin[c] + at];
  for (int e = 0; e < GROUP_MAX / LANES; e++) {
    int32_t i = g.begin + e * LANES + lane_id();
    if (rank[e] < 0) continue;
    struct item *mine = &item[rank[e] / piece];
    if (rank[e] % piece == 0) {
      mine->begin = i;
      mine->supergroup = g.supergroup;
    }
    if (rank[e] % piece == piece - 1 || rank[e] == n - 1) mine->end = i + 1;
  }
}

void walk_items(struct device *d, struct walk_job *job, int how, int cut, int piece, int adds)
{
  int64_t places = 0;
  job->items_stage = cut == CUT_ALL ? 1 : 0;
  for (int c = 0; c < ITEM_CLASSES; c++) {
    job->item_begin[c] = places;
    places += (int64_t)job->groups * (cut == CUT_ALL || (cut == CUT_HEAVIEST && c == 0) ? GROUP_MAX / piece : 1);
  }
  struct item *item = array_reserve(&d->walk.item, "device walk", places);
  job->item = item;
  job->item_count = d->device_results->items;
  const struct items_job j = {*job, item, cut, piece, adds};
  if (cut == CUT_NONE) LAUNCH(d, order_groups, blocks_for(job->groups, THREADS), THREADS, j);
  else if (how == WALK_MOVING)
    LAUNCH(d, cut_groups<WALK_MOVING>, blocks_for((int64_t)job->groups * LANES, THREADS), THREADS, j);
  else LAUNCH(d, cut_groups<WALK_STILL>, blocks_for((int64_t)job->groups * LANES, THREADS), THREADS, j);
}

void walk_state_free(struct walk_state *state)
{
  CHECK(runtime_event_destroy(state->listed));
  CHECK(runtime_event_destroy(state->walked));
  CHECK(runtime_stream_destroy(state->beside));
  array_free(&state->handed);
  array_free(&state->piece);
  array_free(&state->single);
  array_free(&state->item);
  array_free(&state->few_piece);
  array_free(&state->root);
}
