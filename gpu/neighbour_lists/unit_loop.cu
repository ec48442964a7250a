/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel of the loop over ticks with units of stars: as in loop.cu, but places are stars and units, and a tick may
 * be followed by changes of what belongs together (unit_changes.cuh). */
#include <config.h>
#include "gpu/neighbour_lists/unit_changes.cuh"

enum { BEGIN_ROUNDS = 20, TICK_ROUNDS = UNIT_BODIES };
#define KEPT_STEP 1 /* a step that is kept is at most so many times eta |a| / |da/dt| */

/* --- a tick ------------------------------------------------------------------------------------------------------- */

/* Lanes that sum up a list of this class. Where many places are active, half a warp has a unit. */
static __device__ int lanes_of(int list_class, int many)
{
  if (list_class == CLASS_UNIT) return many ? (int)HALF_LANES : (int)LANES;
  return list_class == CLASS_QUAD ? (int)QUAD_LANES : list_class == CLASS_HALF ? (int)HALF_LANES : (int)LANES;
}

/* The warp sums up the forces on the stars at m, `lanes` lanes each; -1: none. */
static __device__ __forceinline__ void sum_on_stars(const struct units_job &job, const struct places_at_tick &at,
                                                    int32_t m, int lanes, double *to)
{
  const int sub = lane_id() % lanes;
  struct hermite_force sum = {};
  struct unit_nearest nearest = {1e300, -1, -1};
  if (m >= 0) add_to_star(job, at, target_at(at, m), sub, lanes, &sum, &nearest);
  list_join(&sum, lanes);
  join_nearest(&nearest, lanes);
  if (m < 0 || sub > 0) return;
  store_nearest(job, m, nearest);
  store_force(to, sum);
}

/* The warp sums up the forces on the stars, or on the units, in places k, k + 1, ... of `listed`, `lanes` lanes each.
 */
static __device__ void sum_listed(const struct units_job &job, struct loop_shared &shared,
                                  const struct active_list &list, int first, int k, int end, int lanes, int units)
{
  const struct places_at_tick at = {job, list.now, list.all_predicted};
  k += lane_id() / lanes;
  int32_t m = k < end ? listed_member(shared, list, k) : -1;
  double *to = shared.force[m >= 0 ? k - first : 0];
  if (!units) {
    sum_on_stars(job, at, m, lanes, to);
    return;
  }
  struct hermite_force sum;
  sum_on_units(job, at, m, lanes, &sum);
  if (m >= 0 && lane_id() % lanes == 0) store_force(to, sum);
}

/* One warp's share of the batch [first, last): a task is as many members as a warp sums up at once. */
static __device__ void sum_lists(const struct units_job &job, struct loop_shared &shared,
                                 const struct active_list &list, int first, int last)
{
  for (int warp_task = (int)(threadIdx.x / LANES);; warp_task += LOOP_WARPS) {
    int task = warp_task, begin = 0, end = 0, lanes = 0, units = 0;
    bool found = false;
    for (int k = 0; k < CLASSES && !found; k++) {
      lanes = lanes_of(k, list.many);
      units = k == CLASS_UNIT;
      begin = max(k > 0 ? field(list.end, k - 1) : 0, first);
      end = min(field(list.end, k), last);
      int tasks = end > begin ? ((end - begin) * lanes + LANES - 1) / LANES : 0;
      if (task < tasks) found = true;
      else task -= tasks;
    }
    if (!found) return;
    sum_listed(job, shared, list, first, begin + task * (LANES / lanes), end, lanes, units);
  }
}

/* Places of the present batch whose steps the host ends. */
struct hosted_batch {
  int count;
  uint16_t k[LOOP_THREADS];
};

/* The end of the step of the member in place k of `listed`, which has the next level. */
static __device__ void set_listed(const struct units_job &job, struct loop_shared &shared,
                                  const struct active_list &list, int k, int level)
{
  uint8_t *status = &job.loop.status[(int64_t)blockIdx.x * job.loop.owned + list.first_place + shared.listed[k]];
  *status = (uint8_t)((*status & ~STATUS_LEVEL) | level);
  atomicAdd(&shared.count[level], 1);
}

static __device__ int level_of_listed(const struct units_job &job, const struct loop_shared &shared,
                                      const struct active_list &list, int k)
{
  return job.loop.status[(int64_t)blockIdx.x * job.loop.owned + list.first_place + shared.listed[k]] & STATUS_LEVEL;
}

/* One thread ends the step of the member in place k of `listed`. */
static __device__ void end_listed(const struct units_job &job, struct loop_shared &shared,
                                  const struct active_list &list, int round, int k, const double *sum)
{
  int parts, level = level_of_listed(job, shared, list, k);
  int32_t place = listed_member(shared, list, k);
  level = end_step(job, list.now, list.align, place, level, sum, &parts);
  set_listed(job, shared, list, k, level);
  propose_change(job, round, place, parts);
}

/* The warp's share of the hosted places: it asks for some, in its slots. Returns how many. */
static __device__ int ask_host(const struct units_job &job, struct loop_shared &shared, const struct active_list &list,
                               const struct hosted_batch &hosted, int first, int from,
                               struct place_step step[MAIL_SLOTS], unsigned long long request[MAIL_SLOTS])
{
  int asked = 0;
  for (int n = from; n < hosted.count && asked < MAIL_SLOTS; n += LOOP_WARPS, asked++) {
    int k = hosted.k[n];
    correct_place(job, list.now, listed_member(shared, list, k), shared.force[k - first], &step[asked]);
    request[asked] = post_unit(job, step[asked], list.now, asked);
  }
  return asked;
}

/* The warp takes back what it has asked for. */
static __device__ void take_back(const struct units_job &job, struct loop_shared &shared,
                                 const struct active_list &list, const struct hosted_batch &hosted, int round, int from,
                                 int asked, struct place_step *step, const unsigned long long *request)
{
  for (int m = 0; m < asked; m++) {
    int parts = take_unit_back(job, list.now, m, request[m], &step[m]), k = hosted.k[from + m * LOOP_WARPS];
    if (lane_id() > 0) continue;
    set_listed(job, shared, list, k,
               keep_place(job, list.now, list.align, level_of_listed(job, shared, list, k), &step[m]));
    propose_change(job, round, step[m].place, parts);
  }
  warp_sync();
}

/* Steps of the batch [first, last) end: the host has its part while the threads end the others. */
static __device__ void end_batch(const struct units_job &job, struct loop_shared &shared,
                                 const struct active_list &list, struct hosted_batch &hosted, int round, int first,
                                 int last)
{
  struct place_step step[MAIL_SLOTS];
  unsigned long long request[MAIL_SLOTS];
  int k = first + (int)threadIdx.x, from = (int)threadIdx.x / LANES, mine = k < last;
  if (mine && is_hosted(job, listed_member(shared, list, k), list.now, list.many_units)) {
    hosted.k[atomicAdd(&hosted.count, 1)] = (uint16_t)k;
    mine = 0;
  }
  __syncthreads();
  int asked = ask_host(job, shared, list, hosted, first, from, step, request);
  if (mine) end_listed(job, shared, list, round, k, shared.force[k - first]);
  warp_sync();
  while (asked > 0) {
    take_back(job, shared, list, hosted, round, from, asked, step, request);
    from += asked * LOOP_WARPS;
    asked = ask_host(job, shared, list, hosted, first, from, step, request);
  }
}

/* A tick of the grid: what one block does. round: of the lists of changes, that of this tick. */
static __device__ void integrate_tick(const struct units_job &job, struct loop_shared &shared,
                                      struct hosted_batch &hosted, struct active_list list, int round)
{
  if ((int)threadIdx.x >= list.align && threadIdx.x < LEVEL_BIN) shared.count[threadIdx.x] = 0;
  for (list.first_place = 0; list.first_place < job.loop.owned; list.first_place += LOOP_PIECE) {
    list_piece(job.loop, shared, &list);
    int all = field(list.end, CLASSES - 1);
    for (int first = 0; first < all; first += LOOP_THREADS) {
      int last = min(first + LOOP_THREADS, all);
      sum_lists(job, shared, list, first, last);
      if (threadIdx.x == 0) hosted.count = 0;
      __syncthreads();
      end_batch(job, shared, list, hosted, round, first, last);
      __syncthreads();
    }
  }
}

/* --- the begin ---------------------------------------------------------------------------------------------------- */

/* The first level of a root, from the step that its force gives and the level that it has kept. */
static __device__ int first_level(const struct units_job &job, int32_t root, double wanted)
{
  bool deeper;
  int32_t kept = job.body[root].level;
  if (job.first || kept >= LEVEL_MEAN) return level_for(job.loop.soft_step, wanted, LIST_LONGEST_LEVEL, &deeper);
  int least = level_for(job.loop.soft_step, wanted * (KEPT_STEP / LIST_FIRST_ETA), LIST_LONGEST_LEVEL, &deeper);
  return min(max(max(kept + job.level_shift, least), (int)LIST_LONGEST_LEVEL), (int)LIST_LEVEL_MAX);
}

/* Classes of all roots that move. */
static __device__ void open_statuses(const struct units_job &job)
{
  for (int32_t m = (int32_t)(blockIdx.x * LOOP_THREADS + threadIdx.x); m < job.loop.members;
       m += (int32_t)(gridDim.x * LOOP_THREADS)) {
    int moves = is_root(job, m) && (job.table.at[m] >= 0 || job.table.list[m].count > 0);
    *status_of(job, m) = moves ? status_for(job, m, LIST_LONGEST_LEVEL) : 0;
  }
}

/* First forces and levels of the roots of the block. */
static __device__ void begin_block(const struct units_job &job, struct loop_shared &shared)
{
  struct active_list list = {};
  list.align = LIST_LONGEST_LEVEL;
  list.many = 1;
  for (; list.first_place < job.loop.owned; list.first_place += LOOP_PIECE) {
    list_piece(job.loop, shared, &list);
    int all = field(list.end, CLASSES - 1);
    for (int first = 0; first < all; first += LOOP_THREADS) {
      int last = min(first + LOOP_THREADS, all), k = first + (int)threadIdx.x;
      sum_lists(job, shared, list, first, last);
      __syncthreads();
      if (k < last) {
        int32_t m = listed_member(shared, list, k);
        double wanted = begin_root(job, m, 0, shared.force[k - first]);
        *status_of(job, m) = status_for(job, m, first_level(job, m, wanted));
        propose_change(job, 0, m, 1);
      }
      __syncthreads();
    }
  }
}

/* First forces and levels of all roots, then what others see of the units. */
static __device__ void begin_roots(const struct units_job &job, struct loop_shared &shared, unsigned *meetings)
{
  open_statuses(job);
  meet(job.loop, meetings);
  begin_block(job, shared);
  meet(job.loop, meetings);
  for (int32_t m = (int32_t)(blockIdx.x * LOOP_THREADS + threadIdx.x); m < job.loop.members;
       m += (int32_t)(gridDim.x * LOOP_THREADS)) {
    int32_t u = job.table.at[m];
    if (u < 0) continue;
    unit_set_quadrupole(&job.table.unit[u], 0);
    store_view(job, u, 0);
    store_view(job, u, 1);
  }
  meet(job.loop, meetings);
}

/* All units propose to part that no longer hold together. */
DEVICE_CALL void propose_parts(const struct units_job &job, int round)
{
  int part[UNIT_BODIES];
  for (int32_t m = (int32_t)(blockIdx.x * LOOP_THREADS + threadIdx.x); m < job.loop.members;
       m += (int32_t)(gridDim.x * LOOP_THREADS)) {
    int32_t u = job.table.at[m];
    if (u >= 0 && unit_find_parts(&job.rules, &job.table.unit[u], 0, unit_r1_of(job, m), part) > 1)
      propose(job, round, m, -1, DISTANCE_OF_LAST);
  }
}

/* Units form, in rounds, until no more do; then those part that do not hold together. */
DEVICE_CALL void begin_units(const struct units_job &job, struct loop_shared &shared, unsigned *meetings)
{
  int round = 0;
  for (int k = 0; k<BEGIN_ROUNDS &&*(volatile int32_t *)&job.table.numbers->proposed[round]> 0; k++) {
    change_units(job, shared, 0, round, AGAIN_ALL, meetings);
    round = 1 - round;
  }
  meet(job.loop, meetings);
  if (blockIdx.x == 0 && threadIdx.x == 0) job.table.numbers->proposed[0] = job.table.numbers->proposed[1] = 0;
  meet(job.loop, meetings);
  propose_parts(job, 0);
  meet(job.loop, meetings);
  change_units(job, shared, 0, 0, AGAIN_NONE, meetings);
}

/* Changes at a tick: new units join at once what is within their reach now, since a lasting pair may be larger than the
 * distance of a third star. Returns the list of changes that was carried out last. */
static __device__ int change_at_tick(const struct units_job &job, struct loop_shared &shared, int32_t now, int round,
                                     unsigned *meetings)
{
  for (int k = 0; *(volatile int32_t *)&job.table.numbers->proposed[round] > 0; k++) {
    change_units(job, shared, now, round, k < TICK_ROUNDS ? AGAIN_NEW : AGAIN_NONE, meetings);
    round = 1 - round;
  }
  return 1 - round;
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(LOOP_THREADS, 1) integrate_units(const __grid_constant__ struct units_job job)
{
  __shared__ struct loop_shared shared;
  __shared__ struct hosted_batch hosted;
  unsigned meetings = 0;
  unsigned long long ticks = 0;
  struct active_list list = {};
  int turn = 0, round = 0, deepest = 0;
  begin_roots(job, shared, &meetings);
  begin_units(job, shared, &meetings);
  count_own(job.loop, shared);
  struct level_counts levels = count_levels(job.loop, shared, &meetings, turn, LEVEL_BIN);
  while (list.now < TICKS && levels.deepest > 0) {
    deepest = max(deepest, levels.deepest);
    turn = (turn + 1) % COUNT_TURNS;
    list.now = timeline_after(list.now, levels.deepest);
    list.align = aligned_level(list.now);
    int32_t active = warp_shuffle(levels.deeper, list.align);
    list.many = active >= job.hosted_active;
    list.many_units = list.many && units_now(job) > job.hosted_active;
    list.all_predicted = active >= PREDICT_MIN && active >= job.loop.members / PREDICT_PART;
    if (list.all_predicted) {
      predict_places(job, list.now);
      meet(job.loop, &meetings);
    }
    round = 1 - round; /* a block may be in the next tick when another one still reads what this one wants */
    integrate_tick(job, shared, hosted, list, round);
    levels = count_levels(job.loop, shared, &meetings, turn, LEVEL_BIN);
    ticks++;
    if (*(volatile int32_t *)&job.table.numbers->proposed[round] == 0) continue;
    round = change_at_tick(job, shared, list.now, round, &meetings);
    count_own(job.loop, shared);
    turn = (turn + 1) % COUNT_TURNS;
    levels = count_levels(job.loop, shared, &meetings, turn, LEVEL_BIN);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    job.loop.numbers->ticks = ticks;
    job.loop.numbers->deepest = deepest;
  }
}

int units_loop_blocks(struct device *d, int64_t places)
{
  int device, together = 0, fit = 0;
  CHECK(runtime_device(&device));
  CHECK(runtime_launches_together(&together, device));
  CHECK(runtime_resident_blocks(&fit, integrate_units, LOOP_THREADS, 0));
  int64_t blocks = min(blocks_for(places, MEMBERS_A_BLOCK), (int64_t)(together && fit > 0 ? d->multiprocessors : 1));
  if (d->lists.blocks_max > 0) blocks = min(blocks, (int64_t)d->lists.blocks_max);
  return (int)max(blocks, (int64_t)1);
}

int32_t units_mail_slots(int blocks) { return blocks * LOOP_WARPS * MAIL_SLOTS; }

static int kernel_has_ended(void *device)
{
  struct device *d = (struct device *)device;
  return runtime_event_query(d->lists.event[2]) != RUNTIME_NOT_READY;
}

void units_loop(struct device *d, const struct units_job *job, int blocks)
{
  struct units_job copy = *job;
  void *arguments[] = {&copy};
  if (blocks == 1) LAUNCH(d, integrate_units, 1, LOOP_THREADS, copy);
  else CHECK(runtime_launch_together((const void *)integrate_units, blocks, LOOP_THREADS, arguments, d->stream));
  CHECK(runtime_event_record(d->lists.event[2], d->stream));
  unit_mail_serve(job->mail, kernel_has_ended, d);
}
