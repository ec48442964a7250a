/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kicks, drifts, levels, and the selection and correction of active particles. */
#include <config.h>
#include "gpu/hard_walk/neighbours.cuh"
#include "gpu/tree/tree.cuh"
#include "particles/timeline.h"

/* --- all particles ----------------------------------------------------------------------------------------------- */

static __global__ void kick(struct particles particles, double dt)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (k < 3 * particles.n) particles.vel[k] += dt * particles.acc_soft[k];
}

static __global__ void kick_with_field(struct particles particles, const __grid_constant__ struct field field,
                                       double dt)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < particles.n) field_kick(&field, &particles.pos[3 * i], &particles.acc_soft[3 * i], dt, &particles.vel[3 * i]);
}

void gpu_kick(struct device *d, const struct field *field, double dt)
{
  step_state_moved(&d->step);
  if (field_none(field)) LAUNCH(d, kick, blocks_for(3 * d->p.n, THREADS), THREADS, d->p, dt);
  else LAUNCH(d, kick_with_field, blocks_for(d->p.n, THREADS), THREADS, d->p, *field, dt);
}

static __global__ void add_change(struct particles particles, const double *change)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (k < 3 * particles.n) particles.vel[k] += change[k];
}

void gpu_push(struct device *d, const double *change)
{
  step_state_moved(&d->step);
  if (d->p.n == 0) return;
  double *there = array_reserve(&d->work.points, "device points", 3 * d->p.n);
  CHECK(runtime_copy(there, change, sizeof *change * (size_t)(3 * d->p.n), TO_DEVICE, d->stream));
  LAUNCH(d, add_change, blocks_for(3 * d->p.n, THREADS), THREADS, d->p, there);
  gpu_wait(d); /* the caller may change the numbers */
}

void gpu_gravity(struct device *d, double gravity) { d->config.gravity = gravity; }

/* `total`: to all particles, else to those that are active at `tick`, which are at their positions. */
static __global__ void add_field(struct particles particles, const __grid_constant__ struct field field, bool total,
                                 bool hard, int32_t tick)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  double a[3];
  if (i >= particles.n || (!total && timeline_end(&particles, i) != tick)) return;
  field_acceleration(&field, &particles.pos[3 * i], a);
  for (int c = 0; c < 3; c++) {
    if (total) particles.acc[3 * i + c] = (float)(particles.acc[3 * i + c] + a[c]);
    if (hard) particles.acc_hard[3 * i + c] = (float)(particles.acc_hard[3 * i + c] + a[c]);
  }
}

void gpu_add_field(struct device *d, const struct field *field, enum walk_kind kind, int split, int32_t tick)
{
  step_state_moved(&d->step);
  LAUNCH(d, add_field, blocks_for(d->p.n, THREADS), THREADS, d->p, *field, kind == WALK_TOTAL, !split, tick);
}

static __global__ void subtract_hard(struct particles particles)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (k < 3 * particles.n) particles.acc_soft[k] = particles.acc[k] - particles.acc_hard[k];
}

void gpu_split_soft(struct device *d) { LAUNCH(d, subtract_hard, blocks_for(3 * d->p.n, THREADS), THREADS, d->p); }

static __device__ int choose_level(const struct particles &particles, int64_t i, const struct step_rule &rule,
                                   int shared)
{
  if (shared >= 0) return shared;
  return timeline_level(rule.soft_step,
                        timeline_criterion_step(&rule, rule.by_type ? particles.type[i] : 0, &particles.acc_hard[3 * i],
                                                &particles.acc_soft[3 * i], &particles.vel[3 * i]));
}

/* *smallest becomes the minimum of itself and the values of a warp's lanes. */
static __device__ void lower(int32_t *smallest, int32_t value)
{
  value = warp_min(value);
  if (lane_id() == 0 && value < *(volatile int32_t *)smallest) atomicMin(smallest, value);
}

static __global__ void set_number(int32_t *number, int32_t value) { *number = value; }

static __global__ void find_next(struct particles particles, int32_t *next)
{
  int32_t end = TICKS;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < particles.n; i += (int64_t)gridDim.x * THREADS)
    end = min(end, timeline_end(&particles, i));
  lower(next, end);
}

/* Counts of the levels of a block's particles, and their sums over blocks. All threads of a block must call. */
struct level_bins {
  unsigned bin[LEVEL_BINS];
  __device__ void clear()
  {
    if (threadIdx.x < LEVEL_BINS) bin[threadIdx.x] = 0;
    __syncthreads();
  }
  __device__ void add(bool valid, int level)
  {
    if (valid) atomicAdd(&bin[level % LEVEL_BINS], 1u);
  }
  __device__ void store(unsigned long long *histogram)
  {
    __syncthreads();
    if (threadIdx.x < LEVEL_BINS && bin[threadIdx.x] > 0)
      atomicAdd(&histogram[threadIdx.x], (unsigned long long)bin[threadIdx.x]);
  }
};

static __global__ void begin_levels(struct device_results *results)
{
  if (threadIdx.x < LEVEL_BINS) results->histogram[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    results->level_max = 0;
    results->next = TICKS;
  }
}

/* The levels, the deepest one, their histogram, and the next tick. */
static __global__ void __launch_bounds__(THREADS)
    choose_levels(struct particles particles, struct step_rule rule, int shared, struct device_results *results)
{
  __shared__ struct level_bins s;
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  int32_t end = TICKS;
  int level = 0;
  s.clear();
  if (i < particles.n) {
    level = choose_level(particles, i, rule, shared);
    particles.level[i] = (uint8_t)level;
    end = timeline_end(&particles, i);
  }
  s.add(i < particles.n, level);
  lower(&results->next, end);
  level = warp_max(level);
  if (lane_id() == 0 && level > 0) atomicMax(&results->level_max, level);
  s.store(results->histogram);
}

/* Find the next tick. Queued. */
static void queue_next(struct device *d)
{
  LAUNCH(d, set_number, 1, 1, &d->device_results->next, TICKS);
  LAUNCH(d, find_next, blocks_for(d->p.n, 8 * THREADS), THREADS, d->p, &d->device_results->next);
  d->step.next_known = 1;
}

int gpu_levels(struct device *d, const struct step_rule *rule, int shared)
{
  step_state_invalidate(&d->step);
  LAUNCH(d, begin_levels, 1, LANES, d->device_results);
  LAUNCH(d, choose_levels, blocks_for(d->p.n, THREADS), THREADS, d->p, *rule, shared, d->device_results);
  device_look_ahead(d, rule->soft_step);
  d->step.ahead.histogram = d->results_read + 1;
  int level_max = device_read_results(d)->level_max;
  d->step.next_known = d->step.next_read = 1;
  return level_max;
}

int32_t gpu_next_tick(struct device *d)
{
  if (d->step.next_known && d->step.next_read && !d->walk.pending_tally) return d->host_results->next;
  if (!d->step.next_known) queue_next(d);
  return device_read_results(d)->next;
}

/* A particle in registers: all loads precede the stores, so that they overlap. */
struct predicted_particle {
  double x[3], v[3];
  float a[3];
};

/* Position at a later tick, and half of the step's kick with the acceleration known so far. */
static __device__ struct predicted_particle predict(const struct particles &particles, int64_t i, double dt)
{
  struct predicted_particle m;
  for (int c = 0; c < 3; c++) {
    m.x[c] = particles.pos[3 * i + c];
    m.v[c] = particles.vel[3 * i + c];
    m.a[c] = particles.acc_hard[3 * i + c];
  }
  timeline_place(m.x, m.x, m.v, m.a, dt);
  for (int c = 0; c < 3; c++) {
    m.v[c] += 0.5 * dt * m.a[c];
    particles.pos[3 * i + c] = m.x[c];
    particles.vel[3 * i + c] = m.v[c];
  }
  return m;
}

static __global__ void drift(struct particles particles, double tick_length)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < particles.n) predict(particles, i, (TICKS - particles.tick[i]) * tick_length);
}

void gpu_drift_to_end(struct device *d, double tick_length)
{
  step_state_moved(&d->step);
  d->step.closed = 0;
  LAUNCH(d, drift, blocks_for(d->p.n, THREADS), THREADS, d->p, tick_length);
  d->step.ahead.next_horizon = TICKS * tick_length; /* for the lattice of the next tree */
}

static __device__ void close_step(const struct particles &particles, int64_t i, double tick_length)
{
  double dt = (TICKS - particles.tick[i]) * tick_length, v[3];
  for (int c = 0; c < 3; c++) v[c] = particles.vel[3 * i + c] + 0.5 * dt * particles.acc_hard[3 * i + c];
  for (int c = 0; c < 3; c++) particles.vel[3 * i + c] = v[c];
  particles.tick[i] = 0;
}

static __global__ void __launch_bounds__(THREADS)
    close_steps(struct particles particles, double tick_length, unsigned long long *histogram)
{
  __shared__ struct level_bins s;
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  s.clear();
  if (i < particles.n) close_step(particles, i, tick_length);
  s.add(i < particles.n, i < particles.n ? particles.level[i] : 0);
  s.store(histogram);
}

void gpu_finish(struct device *d, double tick_length)
{
  d->step.closed = 1;
  step_state_invalidate(&d->step);
  device_zero(d, histogram);
  LAUNCH(d, close_steps, blocks_for(d->p.n, THREADS), THREADS, d->p, tick_length, d->device_results->histogram);
  d->step.ahead.histogram = d->results_read + 1; /* for the report of the soft step */
}

/* --- active particles --------------------------------------------------------------------------------------------- */

/* Drift an active particle and its source to `tick`. `keep_mass`: its mass stays as it is. Returns whether it left the
 * lattice. The velocity of the source is predicted to the tick too, since moments may be taken before the
 * correction. */
static __device__ int advance(const struct particles &particles, const struct tree &tree, const struct lattice &lattice,
                              int64_t i, int32_t tick, double tick_length, int keep_mass)
{
  double dt = (tick - particles.tick[i]) * tick_length, v[3];
  float mass = keep_mass ? tree.body[i].m : particles.mass[i]; /* the source's carries the class of its softening */
  int out = 0;
  const struct predicted_particle m = predict(particles, i, dt);
  for (int c = 0; c < 3; c++) v[c] = m.v[c] + 0.5 * dt * m.a[c];
  const struct body b = {lattice_of(&lattice, 0, m.x[0], &out), lattice_of(&lattice, 1, m.x[1], &out),
                         lattice_of(&lattice, 2, m.x[2], &out), mass};
  tree.body[i] = b;
  *(float4 *)&tree.motion_state[i] = make_float4((float)v[0], (float)v[1], (float)v[2], __int_as_float(tick));
  return out;
}

static __global__ void begin_selection(struct device_results *results)
{
  results->next = TICKS;
  results->outside = results->active = 0;
  results->active_groups = results->active_supergroups = 0;
}

/* Lists of the groups with active particles, and of their supergroups, each once in this `selection`. The order has no
 * effect on results, since groups are independent. */
struct active_lists {
  const int32_t *group_of;
  const struct group *group;
  int32_t *listed, *list, selection;
  int32_t *supergroup_listed, *supergroup_list, supergroup_selection; /* NULL: supergroups are not listed */
};

enum { SELECT_ITEMS = (int)SELECT_TILE / (int)THREADS };
static_assert((int)SELECT_TILE % (int)THREADS == 0, "each thread of a block has as many particles of a tile");
enum { MANY_ACTIVE = 8 }; /* all tiles are processed if at least one in MANY_ACTIVE particles is active */

/* Groups and supergroups that a block has found. They are counted for each block, since atomics on one address are
 * serialised. */
struct found_groups {
  int groups, supergroups, first_group, first_supergroup;
  int32_t group[SELECT_TILE], supergroup[SELECT_TILE];
};

static __device__ void list_active_group(struct found_groups &found, const struct active_lists &to, int32_t g)
{
  if (to.listed[g] == to.selection || atomicExch(&to.listed[g], to.selection) == to.selection) return;
  found.group[atomicAdd(&found.groups, 1)] = g;
  if (!to.supergroup_list) return;
  int32_t f = to.group[g].supergroup;
  int32_t *listed = &to.supergroup_listed[f], selection = to.supergroup_selection;
  if (*listed == selection || atomicExch(listed, selection) == selection) return;
  found.supergroup[atomicAdd(&found.supergroups, 1)] = f;
}

/* Append what the block has found to the lists. All threads of the block must call. */
static __device__ void list_found(struct found_groups &found, const struct active_lists &to,
                                  struct device_results *device_results)
{
  if (threadIdx.x == 0 && found.groups > 0) found.first_group = atomicAdd(&device_results->active_groups, found.groups);
  if (threadIdx.x == LANES && found.supergroups > 0)
    found.first_supergroup = atomicAdd(&device_results->active_supergroups, found.supergroups);
  __syncthreads();
  for (int k = (int)threadIdx.x; k < found.groups; k += THREADS) to.list[found.first_group + k] = found.group[k];
  for (int k = (int)threadIdx.x; k < found.supergroups; k += THREADS)
    to.supergroup_list[found.first_supergroup + k] = found.supergroup[k];
}

/* Drift active particles to `tick` and list their groups. A tile without active particles is skipped. */
static __global__ void __launch_bounds__(THREADS)
    select_active(struct particles particles, struct tree tree, struct lattice lattice, int32_t tick,
                  double tick_length, const __grid_constant__ struct active_lists to, int32_t *tile_next,
                  struct device_results *device_results, int keep_mass)
{
  if (device_results->too_many) return; /* there are no groups: the step is repeated */
  int32_t known = tile_next[blockIdx.x];
  if (known > tick) {
    if (threadIdx.x == 0 && known < *(volatile int32_t *)&device_results->next) atomicMin(&device_results->next, known);
    return;
  }
  int32_t first = (int32_t)blockIdx.x * SELECT_TILE + (int32_t)threadIdx.x, next = TICKS, end[SELECT_ITEMS],
          group_of[SELECT_ITEMS];
  int count = 0, out = 0;
  __shared__ struct found_groups found;
  __shared__ int32_t part[3];
  if (threadIdx.x == 0) {
    part[0] = TICKS;
    part[1] = part[2] = found.groups = found.supergroups = 0;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < SELECT_ITEMS; k++) {
    int64_t i = (int64_t)first + k * THREADS;
    end[k] = i < particles.n ? timeline_end(&particles, i) : TICKS;
    group_of[k] = i < particles.n ? to.group_of[i] : 0;
  }
#pragma unroll
  for (int k = 0; k < SELECT_ITEMS; k++) {
    int64_t i = (int64_t)first + k * THREADS;
    if (i >= particles.n || end[k] != tick) {
      next = min(next, end[k]);
      continue;
    }
    count++;
    out += advance(particles, tree, lattice, i, tick, tick_length, keep_mass);
    list_active_group(found, to, group_of[k]);
  }
  next = warp_min(next);
  count = (int)warp_sum((unsigned)count);
  out = (int)warp_sum((unsigned)out);
  if (lane_id() == 0) {
    atomicMin(&part[0], next);
    if (count) atomicAdd(&part[1], count);
    if (out) atomicAdd(&part[2], out);
  }
  __syncthreads();
  list_found(found, to, device_results);
  if (threadIdx.x > 0) return;
  tile_next[blockIdx.x] = part[0]; /* of the inactive particles; correct adds the active ones */
  if (part[0] < *(volatile int32_t *)&device_results->next) atomicMin(&device_results->next, part[0]);
  if (part[1]) atomicAdd(&device_results->active, (unsigned long long)part[1]);
  if (part[2]) atomicAdd(&device_results->outside, (unsigned long long)part[2]);
}

/* Tiles whose particles or steps have changed will be processed by the next selection. Queued. */
static void validate_tiles(struct device *d)
{
  int64_t tiles = blocks_for(d->p.n, SELECT_TILE), from = d->step.tiles_known / SELECT_TILE;
  if (tiles > d->step.tile_next.capacity) from = 0;
  array_reserve(&d->step.tile_next, "device groups", tiles);
  if (from < tiles && d->step.tiles_known < d->p.n)
    CHECK(runtime_set_bytes(d->step.tile_next.at + from, 0, sizeof(int32_t) * (size_t)(tiles - from), d->stream));
  d->step.tiles_known = (int32_t)d->p.n;
}

static const struct device_results *select_now(struct device *d, int32_t tick, double tick_length)
{
  struct active_lists to = {d->targets.group_of.at, d->targets.group.at, d->active.listed.at, d->active.group.at,
                            ++d->active.selections};
  if (d->targets.supergroups > 0) {
    to.supergroup_listed = d->active.supergroup_listed.at;
    to.supergroup_list = d->active.supergroup.at;
    to.supergroup_selection = ++d->active.supergroup_selections;
  }
  LAUNCH(d, begin_selection, 1, 1, d->device_results);
  if (d->targets.groups > 0)
    LAUNCH(d, select_active, blocks_for(d->p.n, SELECT_TILE), THREADS, d->p, d->tree.view, d->lattice, tick,
           tick_length, to, d->step.tile_next.at, d->device_results, d->softening.classes > 1);
  return device_read_results(d);
}

int64_t gpu_select(struct device *d, int32_t tick, double tick_length, int64_t *outside)
{
  device_wait_for_copy(d);
  step_state_moved(&d->step);
  if (d->step.selected) d->step.tiles_known = 0; /* the last selection was not corrected */
  validate_tiles(d);
  const struct device_results *host_results = select_now(d, tick, tick_length);
  if (!device_resolve_counts(d)) host_results = select_now(d, tick, tick_length);
  *outside += (int64_t)host_results->outside;
  d->active.groups = host_results->active_groups;
  d->active.supergroups = d->targets.supergroups > 0 ? host_results->active_supergroups : -1;
  d->active.count = (int64_t)host_results->active;
  d->active.tick = tick;
  d->step.selected = host_results->active > 0;
  d->step.next_known = host_results->active == 0; /* of the inactive particles; correct adds the active ones */
  d->step.next_read = d->step.next_known;
  return (int64_t)host_results->active;
}

/* Kick an active particle and choose its next step. Returns the end of the step, tick. */
static __device__ int32_t correct_one(const struct particles &particles, const struct tree &tree, int64_t i,
                                      int32_t tick, double tick_length, const struct step_rule &rule, int shared)
{
  double dt = (tick - particles.tick[i]) * tick_length, v[3];
  float a[3], soft[3];
  for (int c = 0; c < 3; c++) {
    a[c] = particles.acc_hard[3 * i + c];
    soft[c] = particles.acc_soft[3 * i + c];
    v[c] = particles.vel[3 * i + c];
  }
  for (int c = 0; c < 3; c++) v[c] += 0.5 * dt * a[c];
  int level = timeline_aligned(
      tick, shared >= 0 ? shared
                        : timeline_level(rule.soft_step, timeline_criterion_step(
                                                             &rule, rule.by_type ? particles.type[i] : 0, a, soft, v)));
  const struct motion_state motion_state = {{(float)v[0], (float)v[1], (float)v[2]}, tick, {a[0], a[1], a[2]}, 0};
  for (int c = 0; c < 3; c++) particles.vel[3 * i + c] = v[c];
  tree.motion_state[i] = motion_state;
  particles.tick[i] = tick;
  particles.level[i] = (uint8_t)level;
  return tick + timeline_ticks(level);
}

/* Correct the active particles of the listed groups, a warp for each group. */
static __global__ void correct_active(struct particles particles, struct tree tree, const struct group *group,
                                      const int32_t *list, int32_t count, int32_t tick, double tick_length,
                                      struct step_rule rule, int shared, int32_t *tile_next, int32_t *next_tick)
{
  int32_t k = (int32_t)(((int64_t)blockIdx.x * THREADS + threadIdx.x) / LANES), next[2] = {TICKS, TICKS};
  if (k >= count) return;
  struct group g = group[list[k]];
  int32_t tile = g.begin / SELECT_TILE; /* a group extends into the next tile at most */
  for (int32_t i = g.begin + lane_id(); i < g.end; i += LANES) {
    if (timeline_end(&particles, i) != tick) continue;
    int which = i / SELECT_TILE > tile;
    next[which] = min(next[which], correct_one(particles, tree, i, tick, tick_length, rule, shared));
  }
  lower(next_tick, min(next[0], next[1]));
  lower(&tile_next[tile], next[0]);
  if ((g.end - 1) / SELECT_TILE > tile) lower(&tile_next[tile + 1], next[1]);
}

/* Correct the active particles of all tiles, if many particles are active. */
static __global__ void __launch_bounds__(THREADS)
    correct_tiles(struct particles particles, struct tree tree, int32_t tick, double tick_length, struct step_rule rule,
                  int shared, int32_t *tile_next, int32_t *next_tick)
{
  int32_t next = TICKS;
  for (int k = 0; k < SELECT_ITEMS; k++) {
    int64_t i = (int64_t)blockIdx.x * SELECT_TILE + k * THREADS + threadIdx.x;
    if (i < particles.n && timeline_end(&particles, i) == tick)
      next = min(next, correct_one(particles, tree, i, tick, tick_length, rule, shared));
  }
  lower(next_tick, next);
  lower(&tile_next[blockIdx.x], next);
}

void gpu_correct(struct device *d, int32_t tick, double tick_length, const struct step_rule *rule, int shared)
{
  if (MANY_ACTIVE * d->active.count >= d->p.n)
    LAUNCH(d, correct_tiles, blocks_for(d->p.n, SELECT_TILE), THREADS, d->p, d->tree.view, tick, tick_length, *rule,
           shared, d->step.tile_next.at, &d->device_results->next);
  else
    LAUNCH(d, correct_active, blocks_for((int64_t)d->active.groups * LANES, THREADS), THREADS, d->p, d->tree.view,
           d->targets.group.at, d->active.group.at, d->active.groups, tick, tick_length, *rule, shared,
           d->step.tile_next.at, &d->device_results->next);
  neighbours_check_motion(d, tick, tick_length);
  step_state_moved(&d->step);
  d->step.ahead.histogram = 0;
  d->step.next_read = 0;
  d->step.selected &= tick != d->active.tick;
  d->step.next_known = tick == d->active.tick;
}

void step_state_free(struct step_state *state) { array_free(&state->tile_next); }
