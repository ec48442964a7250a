/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What warps walk, in which order: groups of families that hand much down come first, since a walk ends with the slowest group,
 * wherever it began; where groups are few, pieces of them, and of hard walks also pieces of the heaviest. The order within a
 * class is any: groups are independent. */
#include <config.h>
#include "traverse.cuh"

/* Classes by what a family hands down, over the mean. */
#define HEAVIEST 2.0f
#define HEAVY 1.25f

/* Items of a class stand behind each other. */
struct items_job {
  struct walk_job walk;
  struct item *item;
  int cut, piece;
  int adds;      /* forces are added to: whose family hands nothing down has nothing to add */
};

static __device__ int class_of(const struct walk_job &job, int32_t family)
{
  int32_t handed = job.family[family].handed, families = job.family_list ? *job.family_count : job.families;
  float mean = (float)*job.handed_sum / (float)max(families, 1);
  if (handed == HANDED_ROOTS || (float)handed > HEAVIEST * mean) return 0;
  return (float)handed > HEAVY * mean ? 1 : 2;
}

static __device__ struct group group_at(const struct walk_job &job, int32_t k) { return job.group[job.list ? job.list[k] : k]; }

/* Whether a group is one of the families that are walked. */
static __device__ bool is_walked(const struct walk_job &job, const struct group &g) { return job.list || g.family < job.families; }

/* Groups by class: a block takes places for its own at once, which keeps neighbours together. */
static __global__ void __launch_bounds__(THREADS) order_groups(const __grid_constant__ struct items_job job)
{
  __shared__ int count[ITEM_CLASSES], place[ITEM_CLASSES];
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (threadIdx.x < ITEM_CLASSES) count[threadIdx.x] = 0;
  __syncthreads();
  bool some = k < job.walk.groups;
  struct group g = {};
  int c = 0, at = 0;
  if (some) {
    g = group_at(job.walk, k);
    some = is_walked(job.walk, g);
  }
  if (some) {
    c = class_of(job.walk, g.family);
    at = atomicAdd(&count[c], 1);
  }
  __syncthreads();
  if (threadIdx.x < ITEM_CLASSES) place[threadIdx.x] = atomicAdd(&job.walk.item_count[threadIdx.x], count[threadIdx.x]);
  __syncthreads();
  const struct item one = {g.begin, g.end, g.family, 0};
  if (some) job.item[job.walk.item_begin[c] + place[c] + at] = one;
}

/* A warp for each group: its targets, `piece` at a time, or all of them where it stays whole. */
template <int HOW> static __global__ void __launch_bounds__(THREADS) cut_groups(const __grid_constant__ struct items_job job)
{
  int32_t k = (int32_t)(((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP);
  if (k >= job.walk.groups) return;
  struct group g = group_at(job.walk, k);
  if (!is_walked(job.walk, g) || (job.adds && job.walk.family[g.family].handed == 0)) return;
  int n = 0, rank[GROUP_MOST / WARP];
  for (int e = 0; e < GROUP_MOST / WARP; e++) {
    int32_t i = g.begin + e * WARP + lane_id();
    bool take = i < g.end && wants<HOW>(job.walk, i);
    unsigned takes = __ballot_sync(FULL, take);
    rank[e] = take ? n + __popc(takes & lanes_below()) : -1;
    n += __popc(takes);
  }
  int c = class_of(job.walk, g.family), at = 0, piece = job.cut == CUT_ALL || c == 0 ? job.piece : (int)GROUP_MOST;
  int pieces = (n + piece - 1) / piece;
  if (lane_id() == 0 && n > 0) at = atomicAdd(&job.walk.item_count[c], pieces);
  at = __shfl_sync(FULL, at, 0);
  struct item *item = &job.item[job.walk.item_begin[c] + at];
  for (int e = 0; e < GROUP_MOST / WARP; e++) {
    int32_t i = g.begin + e * WARP + lane_id();
    if (rank[e] < 0) continue;
    struct item *mine = &item[rank[e] / piece];
    if (rank[e] % piece == 0) {
      mine->begin = i;
      mine->family = g.family;
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
    places += (int64_t)job->groups * (cut == CUT_ALL || (cut == CUT_HEAVIEST && c == 0) ? GROUP_MOST / piece : 1);
  }
  struct item *item = array_room(&d->item, "device walk", places);
  job->item = item;
  job->item_count = d->answers->items;
  const struct items_job j = {*job, item, cut, piece, adds};
  if (cut == CUT_NONE)
    LAUNCH(d, order_groups, blocks_for(job->groups, THREADS), THREADS, j);
  else if (how == WALK_MOVING)
    LAUNCH(d, cut_groups<WALK_MOVING>, blocks_for((int64_t)job->groups * WARP, THREADS), THREADS, j);
  else
    LAUNCH(d, cut_groups<WALK_STILL>, blocks_for((int64_t)job->groups * WARP, THREADS), THREADS, j);
}
