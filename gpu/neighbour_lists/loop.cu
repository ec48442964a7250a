/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel of the loop over ticks, for each scheme: `force` is the sum over a list, struct hermite_force or struct
 * pair_kick.
 *
 * A tick of the grid: each block lists its active members, sums up their forces and corrects them; then all blocks meet
 * at a barrier, which also adds up the members at each level, from which each block finds the next tick. One barrier
 * suffices: a motion has two places, a correction overwrites the older one, and the others read the newer one of an
 * earlier tick.
 *
 * Between two ticks of the grid the first block integrates the members of the deepest levels by itself, if they are
 * few, while the other blocks wait: none of these members is active then. Such a window ends at the first tick at which
 * another member may be active.
 *
 * Where many members are active, all are predicted first, so that a pair reads half as much.
 *
 * The order of the particles in lists of active members has no effect on results. */
#include <config.h>
#include "gpu/neighbour_lists/loop_parts.cuh"

/* --- forces ------------------------------------------------------------------------------------------------------ */

/* Add to the force on member m what its entries first, first + stride, ... give. */
template <class sources, class force>
static __device__ __forceinline__ void add_from(const struct loop_job &job, const sources &at, int32_t m, int first,
                                                int stride, force *f)
{
  double x[3], v[3], gm;
  float factor;
  at.read(m, x, v, &gm, &factor);
  open_sum(job, f, gm);
  list_add(job.sum, at, job.sum.list[m], x, v, factor, first, stride, f);
}
template <class force>
static __device__ void add_member(const struct loop_job &job, const struct active_list &list, int32_t m, int first,
                                  int stride, force *f)
{
  if (list.all_predicted) add_from(job, list_bodies{job.predicted, NULL}, m, first, stride, f);
  else add_from(job, members_at_tick{job, list.now}, m, first, stride, f);
}

/* Sums in the memory of a block. */
static __device__ __forceinline__ int parts_of(const struct hermite_force &) { return 6; }
static __device__ __forceinline__ int parts_of(const struct pair_kick &) { return 4; }
static __device__ __forceinline__ void store_force(double *to, const struct pair_kick &kick)
{
  for (int c = 0; c < 3; c++) to[c] = kick.a[c];
  to[3] = kick.rate;
}

/* Join part c of two sums. */
static __device__ __forceinline__ double join_part(const struct hermite_force &, int, double a, double b)
{
  return a + b;
}
static __device__ __forceinline__ double join_part(const struct pair_kick &, int c, double a, double b)
{
  return c < 3 ? a + b : fmax(a, b);
}

/* One warp's share of the lists of the batch [first, last) that need a warp or less: a task is as many members as a
 * warp sums up at once. */
template <class force>
static __device__ void sum_short_lists(const struct loop_job &job, struct loop_shared &shared,
                                       const struct active_list &list, int first, int last)
{
  for (int warp_task = (int)(threadIdx.x / LANES);; warp_task += LOOP_WARPS) {
    int task = warp_task, begin = 0, end = 0, lanes = 0;
    bool found = false;
    for (int k = 0; k < CLASS_BLOCK && !found; k++) {
      lanes = k == CLASS_QUAD ? (int)QUAD_LANES : k == CLASS_HALF ? (int)HALF_LANES : (int)LANES;
      begin = max(k > 0 ? field(list.end, k - 1) : 0, first);
      end = min(field(list.end, k), last);
      int tasks = end > begin ? ((end - begin) * lanes + LANES - 1) / LANES : 0;
      if (task < tasks) found = true;
      else task -= tasks;
    }
    if (!found) return;
    int k = begin + task * (LANES / lanes) + lane_id() / lanes, sub = lane_id() % lanes;
    force f = {};
    if (k < end) add_member(job, list, listed_member(shared, list, k), sub, lanes, &f);
    list_join(&f, lanes);
    if (k < end && sub == 0) store_force(shared.force[k - first], f);
  }
}

/* The whole block sums up the list in place k. */
template <class force>
static __device__ void sum_long_list(const struct loop_job &job, struct loop_shared &shared,
                                     const struct active_list &list, int k, double *to)
{
  force f = {};
  add_member(job, list, listed_member(shared, list, k), (int)threadIdx.x, LOOP_THREADS, &f);
  list_join(&f, LANES);
  if (lane_id() == 0) store_force(shared.part[threadIdx.x / LANES], f);
  __syncthreads();
  if ((int)threadIdx.x < parts_of(f)) {
    double sum = 0;
    for (int w = 0; w < LOOP_WARPS; w++) sum = join_part(f, (int)threadIdx.x, sum, shared.part[w][threadIdx.x]);
    to[threadIdx.x] = sum;
  }
  __syncthreads();
}

/* --- corrections ------------------------------------------------------------------------------------------------- */

/* A motion at the begin of a step becomes that at its end. Returns the next step. */
static __device__ __forceinline__ double correct_motion(const struct loop_job &job, const struct list_source &source,
                                                        double dt, struct hermite_motion *motion,
                                                        struct hermite_force hermite_force, const double *force)
{
  double x[3], v[3], a2[3], a3[3];
  for (int c = 0; c < 3; c++) {
    hermite_force.a[c] = force[c];
    hermite_force.j[c] = force[3 + c];
  }
  hermite_predict(motion, dt, x, v);
  hermite_correct(motion, dt, x, v, &hermite_force, a2, a3);
  return hermite_step(motion->a, motion->j, a2, a3, job.eta, background_of(job, source.gm, source.factor));
}
static __device__ __forceinline__ double correct_motion(const struct loop_job &job, const struct list_source &,
                                                        double dt, struct hermite_motion *motion, struct pair_kick kick,
                                                        const double *force)
{
  double x[3], v[3];
  for (int c = 0; c < 3; c++) kick.a[c] = force[c];
  kick.rate = force[3];
  kick.eta = job.eta;
  hermite_predict(motion, dt, x, v);
  pair_kick_correct(motion, dt, x, &kick);
  return pair_step(&kick);
}

/* Correct member m; returns its next level. */
template <class force>
static __device__ int correct_member(const struct loop_job &job, const struct active_list &list, int32_t m, int level,
                                     const double *sum)
{
  const int2 t = job.ticks[m];
  int which = t.y > t.x;
  struct hermite_motion motion = load_hermite_motion(&job.motion[2 * (int64_t)m + which]);
  const struct list_source source = job.source[m];
  double wanted =
      correct_motion(job, source, (list.now - (which ? t.y : t.x)) * job.tick_length, &motion, force{}, sum);
  bool deeper;
  level = level_for(job.soft_step, wanted, max(level - 1, (int)LIST_LONGEST_LEVEL), &deeper);
  if (deeper && job.who[m] < job.own)
    note_collapse(job.numbers, job.sum, members_at_tick{job, list.now}, m, motion.x, wanted);
  job.motion[2 * (int64_t)m + 1 - which] = motion;
  (which ? job.ticks[m].x : job.ticks[m].y) = list.now;
  job.steps[m]++;
  return max(level, list.align);
}

/* Correct the member in place k of `listed`, and note its level. */
template <class force>
static __device__ void correct_listed(const struct loop_job &job, struct loop_shared &shared,
                                      const struct active_list &list, int k, const double *sum)
{
  int32_t place = shared.listed[k], m = listed_member(shared, list, k);
  uint8_t *status = list.first_place < 0 ? &shared.swift_status[place]
                                         : &job.status[(int64_t)blockIdx.x * job.owned + list.first_place + place];
  int level = correct_member<force>(job, list, m, *status & STATUS_LEVEL, sum);
  *status = (uint8_t)((*status & ~STATUS_LEVEL) | level);
  atomicAdd(list.first_place < 0 ? &shared.swift_count[level] : &shared.count[level], 1);
  if (list.first_place < 0 || level <= list.limit) return;
  int32_t at = atomicAdd(&job.numbers->count[list.turn][LEVEL_BIN - 1], 1);
  if (at < SWIFT_MAX) job.numbers->swift[at] = m;
}

/* Integrate all listed members to the tick. Before and after it the threads are in step. */
template <class force>
static __device__ void integrate_listed(const struct loop_job &job, struct loop_shared &shared,
                                        const struct active_list &list)
{
  int all = field(list.end, CLASSES - 1), short_end = field(list.end, CLASS_BLOCK - 1);
  for (int first = 0; first < all; first += LOOP_THREADS) {
    int last = min(first + LOOP_THREADS, all), k = first + (int)threadIdx.x;
    sum_short_lists<force>(job, shared, list, first, min(last, short_end));
    for (int n = max(first, short_end); n < last; n++)
      sum_long_list<force>(job, shared, list, n, shared.force[n - first]);
    __syncthreads();
    if (k < last) correct_listed<force>(job, shared, list, k, shared.force[k - first]);
    __syncthreads();
  }
}

/* --- ticks ------------------------------------------------------------------------------------------------------- */

/* A window of the first block: the members of numbers->swift from tick `now` to tick `end`, at which they are active
 * again. */
template <class force>
static __device__ void integrate_window(const struct loop_job &job, struct loop_shared &shared, int32_t now,
                                        int32_t end, int swift, unsigned long long *ticks, int *deepest)
{
  int t = (int)threadIdx.x;
  struct active_list a = {};
  a.first_place = -1;
  if (t < LEVEL_BIN) shared.swift_count[t] = 0;
  __syncthreads();
  if (t < swift) {
    shared.swift[t] = job.numbers->swift[t];
    shared.swift_status[t] = job.status[status_place(shared.swift[t], job.owned, (int)gridDim.x)];
    atomicAdd(&shared.swift_count[shared.swift_status[t] & STATUS_LEVEL], 1);
  }
  __syncthreads();
  for (;; ++*ticks) {
    int level = deepest_of(shared.swift_count);
    *deepest = max(*deepest, level);
    now = timeline_after(now, level);
    if (now >= end || (job.ticks_max > 0 && *ticks > job.ticks_max)) break;
    a.now = now;
    a.align = aligned_level(now);
    int status = t < swift ? shared.swift_status[t] : 0, class_of = status >> STATUS_CLASS;
    bool active = (status & STATUS_LEVEL) >= a.align;
    unsigned long long place = places_in_list(shared, active ? 1ull << 16 * class_of : 0, &a.end);
    if (active) shared.listed[field(place, class_of)] = (uint16_t)t;
    if (t >= a.align && t < LEVEL_BIN) shared.swift_count[t] = 0;
    __syncthreads();
    integrate_listed<force>(job, shared, a);
  }
  if (t < swift) job.status[status_place(shared.swift[t], job.owned, (int)gridDim.x)] = shared.swift_status[t];
}

/* A tick of the grid: what one block does. */
template <class force>
static __device__ void integrate_tick(const struct loop_job &job, struct loop_shared &shared, struct active_list list)
{
  if ((int)threadIdx.x >= list.align && threadIdx.x < LEVEL_BIN) shared.count[threadIdx.x] = 0;
  for (list.first_place = 0; list.first_place < job.owned; list.first_place += LOOP_PIECE) {
    list_piece(job, shared, &list);
    integrate_listed<force>(job, shared, list);
  }
}

/* The first block, which counts all ticks, ends the loop at a meeting to come where they are too many. */
static __device__ __forceinline__ void note_leaving(const struct loop_job &job, unsigned long long ticks,
                                                    unsigned meeting)
{
  if (blockIdx.x == 0 && threadIdx.x == 0 && ticks >= job.ticks_max && job.numbers->left_at == 0)
    job.numbers->left_at = meeting;
}
/* After a meeting. Another block may be ahead of this one and have noted a later one. */
static __device__ __forceinline__ bool is_left(const struct loop_job &job, unsigned meetings)
{
  return *(volatile unsigned *)&job.numbers->left_at == meetings;
}

template <class force>
static __global__ void __launch_bounds__(LOOP_THREADS, 1)
    integrate_soft_step(const __grid_constant__ struct loop_job job)
{
  __shared__ struct loop_shared s;
  unsigned meetings = 0;
  unsigned long long ticks = 0;
  struct active_list a = {};
  int turn = 0, deepest = 0;
  count_own(job, s);
  struct level_counts o = count_levels(job, s, &meetings, turn, LEVEL_BIN);
  while (a.now < TICKS) {
    int32_t next = timeline_after(a.now, o.deepest);
    deepest = max(deepest, o.deepest);
    if (a.now > 0 && o.swift > 0 && o.swift <= SWIFT_MAX && a.align <= a.limit + 1) {
      next = timeline_after(a.now, a.limit);
      if (blockIdx.x == 0) integrate_window<force>(job, s, a.now, next, o.swift, &ticks, &deepest);
      meet(job, &meetings);
    }
    turn = (turn + 1) % COUNT_TURNS;
    a.now = next;
    a.align = aligned_level(next);
    a.limit = o.limit;
    a.turn = turn;
    int32_t active = warp_shuffle(o.deeper, a.align);
    a.all_predicted = active >= PREDICT_MIN && active >= job.members / PREDICT_PART;
    if (a.all_predicted) {
      predict_members(job, a.now);
      meet(job, &meetings);
    }
    integrate_tick<force>(job, s, a);
    if (job.ticks_max > 0) note_leaving(job, ticks, meetings + 1);
    o = count_levels(job, s, &meetings, turn, a.limit);
    ticks++;
    if (job.ticks_max > 0 && is_left(job, meetings)) break;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    job.numbers->ticks = ticks;
    job.numbers->deepest = deepest;
  }
}

typedef void (*loop_kernel)(const struct loop_job);
/* NULL: the device does not have this integrator. Without a default, so that a compiler warns where one is missing. */
static loop_kernel kernel_of(enum step_integrator integrator)
{
  switch (integrator) {
  case INTEGRATOR_LEAPFROG: return integrate_soft_step<pair_kick>;
  case INTEGRATOR_HERMITE: return integrate_soft_step<hermite_force>;
  }
  return NULL;
}

int gpu_lists_has(enum step_integrator integrator) { return kernel_of(integrator) != NULL; }

int list_loop_blocks(struct device *d, enum step_integrator integrator, int64_t members)
{
  int device, together = 0, fit = 0;
  CHECK(runtime_device(&device));
  CHECK(runtime_launches_together(&together, device));
  CHECK(runtime_resident_blocks(&fit, kernel_of(integrator), LOOP_THREADS, 0));
  int64_t blocks =
      min(blocks_for(members, MEMBERS_A_BLOCK), (int64_t)(together ? fit > 0 ? d->multiprocessors : 1 : 1));
  if (d->lists.blocks_max > 0) blocks = min(blocks, (int64_t)d->lists.blocks_max);
  return (int)max(blocks, (int64_t)1);
}

void list_loop(struct device *d, enum step_integrator integrator, const struct loop_job *job, int blocks)
{
  loop_kernel integrate = kernel_of(integrator);
  struct loop_job copy = *job;
  void *arguments[] = {&copy};
  if (blocks == 1) LAUNCH(d, integrate, 1, LOOP_THREADS, copy);
  else CHECK(runtime_launch_together((const void *)integrate, blocks, LOOP_THREADS, arguments, d->stream));
}
