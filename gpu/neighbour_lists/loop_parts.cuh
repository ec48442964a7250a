/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the kernels of the loop over ticks (loop.cu, unit_loop.cu): members predicted to a tick, the active members
 * of a block, the barrier of the grid, the members at each level. */
#ifndef GPU_NEIGHBOUR_LISTS_LOOP_PARTS_CUH
#define GPU_NEIGHBOUR_LISTS_LOOP_PARTS_CUH
#include "gpu/neighbour_lists/loop.cuh"
#include "particles/timeline.h"

enum { FORCE_PARTS = 6 };

struct loop_shared {
  double force[LOOP_THREADS][FORCE_PARTS]; /* sums of the present batch: accelerations, and jerks or the largest rate */
  double part[LOOP_WARPS][FORCE_PARTS];
  unsigned long long warp_sum[LOOP_WARPS];
  int32_t count[LEVEL_BIN]; /* own members at each level */
  int32_t swift_count[LEVEL_BIN];
  int32_t swift[SWIFT_MAX];
  uint16_t listed[LOOP_PIECE]; /* active members: places in the piece, or in `swift` */
  uint8_t swift_status[SWIFT_MAX];
};

/* Active members to be integrated: the first `all` of `listed`, by class. */
struct active_list {
  int32_t now;            /* tick */
  int align;              /* the least level to which it is aligned */
  int first_place;        /* of the piece; -1: members of `swift` */
  int limit;              /* members of deeper levels are entered into numbers->swift */
  int turn;               /* of the counters */
  int all_predicted;      /* 1: job.predicted has all members at this tick */
  int many, many_units;   /* 1: many members are active; and there are many units */
  unsigned long long end; /* four numbers of 16 bits: the end of each class in `listed` */
};

/* Motions predicted to a tick from the newest ones before it. */
struct members_at_tick {
  const struct loop_job &job;
  int32_t now;
  __device__ __forceinline__ void read(int32_t k, double x[3], double v[3], double *gm, float *factor) const
  {
    const int2 t = job.ticks[k];
    const struct list_source s = job.source[k];
    int which = t.x >= now || (t.y < now && t.y > t.x);
    const struct hermite_motion m = load_hermite_motion(&job.motion[2 * (int64_t)k + which]);
    hermite_predict(&m, ((which ? now - t.y : now - t.x)) * job.tick_length, x, v);
    *gm = s.gm;
    *factor = s.factor;
  }
};

static __device__ int aligned_level(int32_t tick) { return TIMELINE_BITS + 1 - lowest_bit((uint32_t)tick); }

static __device__ __forceinline__ int field(unsigned long long packed, int k)
{
  return (int)(packed >> 16 * k & 0xffff);
}

/* The member in place k of `listed`. */
static __device__ __forceinline__ int32_t listed_member(const struct loop_shared &shared,
                                                        const struct active_list &list, int k)
{
  return list.first_place < 0 ? shared.swift[shared.listed[k]]
                              : member_at(list.first_place + shared.listed[k], (int)blockIdx.x, (int)gridDim.x);
}

/* Predict all members to a tick: the grid shares them out. */
static __device__ void predict_members(const struct loop_job &job, int32_t now)
{
  const struct members_at_tick at = {job, now};
  for (int32_t m = (int32_t)(blockIdx.x * LOOP_THREADS + threadIdx.x); m < job.members;
       m += (int32_t)(gridDim.x * LOOP_THREADS)) {
    struct list_body b;
    at.read(m, b.x, b.v, &b.gm, &b.factor);
    b.level = 0;
    job.predicted[m] = b;
  }
}

/* A sum in the memory of a block. */
static __device__ __forceinline__ void store_force(double *to, const struct hermite_force &force)
{
  for (int c = 0; c < 3; c++) {
    to[c] = force.a[c];
    to[3 + c] = force.j[c];
  }
}

/* --- selection --------------------------------------------------------------------------------------------------- */

/* Each thread has as many active members of each class as `mine` says, in fields of 16 bits: sets *end to the ends of
 * the classes in `listed`, and returns the thread's first places in it. */
static __device__ unsigned long long places_in_list(struct loop_shared &shared, unsigned long long mine,
                                                    unsigned long long *end)
{
  unsigned long long before = 0, all = 0, sum = mine;
  int lane = lane_id(), warp = (int)(threadIdx.x / LANES);
  for (unsigned step = 1; step < LANES; step *= 2) {
    unsigned long long other = warp_shuffle_up(sum, step);
    if (lane >= (int)step) sum += other;
  }
  if (lane == LANES - 1) shared.warp_sum[warp] = sum;
  __syncthreads();
  for (int w = 0; w < LOOP_WARPS; w++) {
    if (w == warp) before = all;
    all += shared.warp_sum[w];
  }
  unsigned long long begin = (all << 16) + (all << 32) + (all << 48);
  *end = begin + all;
  return begin + before + sum - mine;
}

/* The bytes of a word whose level is at least `level` (up to 128): their highest bits. */
static __device__ __forceinline__ unsigned bytes_at_least(unsigned word, int level)
{
  return ((word & 0x1f1f1f1fu) + (unsigned)(128 - level) * 0x01010101u) & 0x80808080u;
}

/* List the active members of the piece that begins at list->first_place. */
static __device__ void list_piece(const struct loop_job &job, struct loop_shared &shared, struct active_list *list)
{
  int at = list->first_place + STATUS_BYTES * (int)threadIdx.x;
  unsigned word[STATUS_BYTES / 4] = {}, active[STATUS_BYTES / 4];
  unsigned long long mine = 0;
  if (at < job.owned) {
    const int4 w = *(const int4 *)&job.status[(int64_t)blockIdx.x * job.owned + at];
    word[0] = (unsigned)w.x;
    word[1] = (unsigned)w.y;
    word[2] = (unsigned)w.z;
    word[3] = (unsigned)w.w;
  }
  for (int k = 0; k < STATUS_BYTES / 4; k++) {
    active[k] = bytes_at_least(word[k], max(list->align, (int)LIST_LONGEST_LEVEL));
    for (unsigned left = active[k]; left; left &= left - 1)
      mine += 1ull << 16 * (word[k] >> (lowest_bit(left) - 8 + STATUS_CLASS) & (CLASSES - 1));
  }
  unsigned long long place = places_in_list(shared, mine, &list->end);
  for (int k = 0; k < STATUS_BYTES / 4; k++)
    for (unsigned left = active[k]; left; left &= left - 1) {
      int bit = lowest_bit(left) - 8, class_of = (int)(word[k] >> (bit + STATUS_CLASS) & (CLASSES - 1));
      shared.listed[field(place, class_of)] = (uint16_t)(STATUS_BYTES * threadIdx.x + 4 * k + bit / 8);
      place += 1ull << 16 * class_of;
    }
  __syncthreads();
}

/* --- levels and meetings ----------------------------------------------------------------------------------------- */

static_assert((int)LEVEL_BIN <= (int)LANES, "a lane for every counter");

/* The deepest level that has members, of counters in the memory of the block. */
static __device__ int deepest_of(const int32_t *count)
{
  int lane = lane_id();
  return warp_max(lane < LEVEL_BIN - 1 && count[lane] > 0 ? lane : 0);
}

/* All blocks meet; what they wrote before is visible to all afterwards. */
static __device__ void meet(const struct loop_job &job, unsigned *meetings)
{
  ++*meetings;
  __syncthreads();
  if (gridDim.x > 1 && threadIdx.x == 0) {
    device_fence();
    atomicAdd(&job.numbers->arrived, 1u);
    while ((int)(*(volatile unsigned *)&job.numbers->arrived - *meetings * gridDim.x) < 0) continue;
    device_fence();
  }
  __syncthreads();
}

/* What each block finds from the members at each level. */
struct level_counts {
  int deepest, limit, swift; /* swift: members deeper than the limit that held before */
  int32_t deeper;            /* of lane k: members of level k and deeper */
};

/* Publish the block's counters, meet, and read those of all blocks. */
static __device__ struct level_counts count_levels(const struct loop_job &job, struct loop_shared &shared,
                                                   unsigned *meetings, int turn, int limit)
{
  int lane = lane_id();
  struct loop_numbers *n = job.numbers;
  if (threadIdx.x < LEVEL_BIN) {
    if (lane < LEVEL_BIN - 1 && shared.count[lane] > 0) atomicAdd(&n->count[turn][lane], shared.count[lane]);
    if (blockIdx.x == 0) n->count[(turn + 1) % COUNT_TURNS][lane] = 0;
  }
  meet(job, meetings);
  int32_t deeper = lane < LEVEL_BIN - 1 ? *(volatile int32_t *)&n->count[turn][lane] : 0;
  struct level_counts o;
  o.deepest = warp_max(deeper > 0 ? lane : 0);
  for (unsigned step = 1; step < LANES; step *= 2) { /* deeper: members of this level and of deeper ones */
    int32_t other = warp_shuffle_down(deeper, step);
    if (lane + (int)step < LANES) deeper += other;
  }
  o.swift = warp_shuffle(deeper, min(limit + 1, LANES - 1));
  o.deeper = deeper;
  o.limit = max(lane_count(warp_ballot(deeper > job.swift_aim)) - 1, 0);
  return o;
}

/* Count the members of the block at each level. */
static __device__ void count_own(const struct loop_job &job, struct loop_shared &shared)
{
  if (threadIdx.x < LEVEL_BIN) shared.count[threadIdx.x] = 0;
  __syncthreads();
  for (int k = (int)threadIdx.x; k < job.owned; k += LOOP_THREADS) {
    int level = job.status[(int64_t)blockIdx.x * job.owned + k] & STATUS_LEVEL;
    if (level > 0) atomicAdd(&shared.count[level], 1);
  }
  __syncthreads();
}

#endif
