/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kicks, drifts, levels, and the choice of who is active. */
#include <config.h>
#include "device.cuh"
#include "timeline.h"

/* --- all particles ----------------------------------------------------------------------------------------------- */

static __global__ void kick(struct particles p, double dt)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (k < 3 * p.n) p.vel[k] += dt * p.acc_soft[k];
}

void gpu_kick_soft(struct device *d, double dt) { LAUNCH(d, kick, blocks_for(3 * d->p.n, THREADS), THREADS, d->p, dt); }

static __global__ void subtract_hard(struct particles p)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (k < 3 * p.n) p.acc_soft[k] = p.acc[k] - p.acc_hard[k];
}

void gpu_split_soft(struct device *d) { LAUNCH(d, subtract_hard, blocks_for(3 * d->p.n, THREADS), THREADS, d->p); }

static __device__ int choose_level(const struct particles &p, int64_t i, const struct step_rule &rule, int shared)
{
  if (shared >= 0) return shared;
  return timeline_level(rule.soft_step, timeline_wanted(&rule, &p.acc_hard[3 * i], &p.acc_soft[3 * i], &p.vel[3 * i]));
}

static __global__ void choose_levels(struct particles p, struct step_rule rule, int shared, int32_t *most)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  int level = 0;
  if (i < p.n) {
    level = choose_level(p, i, rule, shared);
    p.level[i] = (uint8_t)level;
  }
  level = __reduce_max_sync(FULL, level);
  if (lane_id() == 0 && level > 0) atomicMax(most, level);
}

int gpu_levels(struct device *d, const struct step_rule *rule, int shared)
{
  d->next_known = d->tiles_known = 0;
  device_zero(d, level_most);
  LAUNCH(d, choose_levels, blocks_for(d->p.n, THREADS), THREADS, d->p, *rule, shared, &d->answers->level_most);
  return device_ask(d)->level_most;
}

/* The smallest value of a warp's lanes into *least. */
static __device__ void lower(int32_t *least, int32_t value)
{
  value = __reduce_min_sync(FULL, value);
  if (lane_id() == 0 && value < *(volatile int32_t *)least) atomicMin(least, value);
}

static __global__ void set_number(int32_t *number, int32_t value) { *number = value; }

static __global__ void find_next(struct particles p, int32_t *next)
{
  int32_t least = TICKS;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < p.n; i += (int64_t)gridDim.x * THREADS)
    least = min(least, timeline_end(&p, i));
  lower(next, least);
}

int32_t gpu_next_tick(struct device *d)
{
  if (!d->next_known) {
    LAUNCH(d, set_number, 1, 1, &d->answers->next, TICKS);
    LAUNCH(d, find_next, blocks_for(d->p.n, 8 * THREADS), THREADS, d->p, &d->answers->next);
    d->next_known = 1;
  }
  return device_ask(d)->next;
}

/* A particle in registers: what is read one after the other, between what is written, waits each time. */
struct mover {
  double x[3], v[3];
  float a[3];
};

/* Position at a later tick, and half of the step's kick with the acceleration known so far. */
static __device__ struct mover predict(const struct particles &p, int64_t i, double dt)
{
  struct mover m;
  for (int c = 0; c < 3; c++) m.x[c] = p.pos[3 * i + c], m.v[c] = p.vel[3 * i + c], m.a[c] = p.acc_hard[3 * i + c];
  timeline_place(m.x, m.x, m.v, m.a, dt);
  for (int c = 0; c < 3; c++) {
    m.v[c] += 0.5 * dt * m.a[c];
    p.pos[3 * i + c] = m.x[c];
    p.vel[3 * i + c] = m.v[c];
  }
  return m;
}

static __global__ void drift(struct particles p, double tick_length)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < p.n) predict(p, i, (TICKS - p.tick[i]) * tick_length);
}

void gpu_drift_to_end(struct device *d, double tick_length)
{
  d->closed = 0;
  LAUNCH(d, drift, blocks_for(d->p.n, THREADS), THREADS, d->p, tick_length);
}

static __global__ void close_steps(struct particles p, double tick_length)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= p.n) return;
  double dt = (TICKS - p.tick[i]) * tick_length, v[3];
  for (int c = 0; c < 3; c++) v[c] = p.vel[3 * i + c] + 0.5 * dt * p.acc_hard[3 * i + c];
  for (int c = 0; c < 3; c++) p.vel[3 * i + c] = v[c];
  p.tick[i] = 0;
}

void gpu_finish(struct device *d, double tick_length)
{
  d->closed = 1;
  d->next_known = d->tiles_known = 0;
  LAUNCH(d, close_steps, blocks_for(d->p.n, THREADS), THREADS, d->p, tick_length);
}

/* --- the active -------------------------------------------------------------------------------------------------- */

/* An active particle goes to its place at `tick`, as particle and as source. Returns whether it left the lattice. The
 * source's velocity belongs to its new time too: moments may be taken before the correction. */
static __device__ int advance(const struct particles &p, const struct tree &t, const struct lattice &l, int64_t i, int32_t tick,
                              double tick_length)
{
  double dt = (tick - p.tick[i]) * tick_length, v[3];
  float mass = p.mass[i];
  int out = 0;
  const struct mover m = predict(p, i, dt);
  for (int c = 0; c < 3; c++) v[c] = m.v[c] + 0.5 * dt * m.a[c];
  const struct body b = {lattice_of(&l, 0, m.x[0], &out), lattice_of(&l, 1, m.x[1], &out), lattice_of(&l, 2, m.x[2], &out), mass};
  t.body[i] = b;
  *(float4 *)&t.course[i] = make_float4((float)v[0], (float)v[1], (float)v[2], __int_as_float(tick));
  return out;
}

static __global__ void begin_selection(struct answers *a)
{
  a->next = TICKS;
  a->outside = a->active = 0;
  a->active_groups = a->active_families = 0;
}

/* Lists of groups with active members, and of their families, each once in this `selection`. The order does not matter, since
 * groups are independent. */
struct listing {
  const int32_t *home;
  const struct group *group;
  int32_t *listed, *list, selection;
  int32_t *family_listed, *family_list, family_selection;   /* NULL: families are not listed */
};

enum { SELECT_ITEMS = 4, SELECT_TILE = SELECT_ITEMS * THREADS };
enum { MANY_ACTIVE = 8 };   /* where more than this part is active, all are looked at */

/* What a block has found: counts at one address in memory would queue up. */
struct found {
  int groups, families, first_group, first_family;
  int32_t group[SELECT_TILE], family[SELECT_TILE];
};

static __device__ void find_home(struct found &s, const struct listing &to, int32_t g)
{
  if (to.listed[g] == to.selection || atomicExch(&to.listed[g], to.selection) == to.selection) return;
  s.group[atomicAdd(&s.groups, 1)] = g;
  if (!to.family_list) return;
  int32_t f = to.group[g].family;
  if (to.family_listed[f] == to.family_selection || atomicExch(&to.family_listed[f], to.family_selection) == to.family_selection) return;
  s.family[atomicAdd(&s.families, 1)] = f;
}

/* All threads of the block, when all have found theirs. */
static __device__ void list_found(struct found &s, const struct listing &to, struct answers *answers)
{
  if (threadIdx.x == 0 && s.groups > 0) s.first_group = atomicAdd(&answers->active_groups, s.groups);
  if (threadIdx.x == WARP && s.families > 0) s.first_family = atomicAdd(&answers->active_families, s.families);
  __syncthreads();
  for (int k = (int)threadIdx.x; k < s.groups; k += THREADS) to.list[s.first_group + k] = s.group[k];
  for (int k = (int)threadIdx.x; k < s.families; k += THREADS) to.family_list[s.first_family + k] = s.family[k];
}

/* Active particles go to `tick`, and their groups are listed. A tile of particles of which nobody is active is not looked at. */
static __global__ void __launch_bounds__(THREADS) select_active(struct particles p, struct tree t, struct lattice l, int32_t tick,
                                                                double tick_length, const __grid_constant__ struct listing to,
                                                                int32_t *tile_next, struct answers *answers)
{
  if (answers->too_many) return;   /* there are no groups yet */
  int32_t known = tile_next[blockIdx.x];
  if (known > tick) {
    if (threadIdx.x == 0 && known < *(volatile int32_t *)&answers->next) atomicMin(&answers->next, known);
    return;
  }
  int32_t first = (int32_t)blockIdx.x * SELECT_TILE + (int32_t)threadIdx.x, next = TICKS, end[SELECT_ITEMS], home[SELECT_ITEMS];
  int count = 0, out = 0;
  __shared__ struct found found;
  __shared__ int32_t part[3];
  if (threadIdx.x == 0) part[0] = TICKS, part[1] = part[2] = found.groups = found.families = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < SELECT_ITEMS; k++) {
    int64_t i = (int64_t)first + k * THREADS;
    end[k] = i < p.n ? timeline_end(&p, i) : TICKS;
    home[k] = i < p.n ? to.home[i] : 0;
  }
#pragma unroll
  for (int k = 0; k < SELECT_ITEMS; k++) {
    int64_t i = (int64_t)first + k * THREADS;
    if (i >= p.n || end[k] != tick) {
      next = min(next, end[k]);
      continue;
    }
    count++;
    out += advance(p, t, l, i, tick, tick_length);
    find_home(found, to, home[k]);
  }
  next = __reduce_min_sync(FULL, next);
  count = (int)__reduce_add_sync(FULL, (unsigned)count);
  out = (int)__reduce_add_sync(FULL, (unsigned)out);
  if (lane_id() == 0) {
    atomicMin(&part[0], next);
    if (count) atomicAdd(&part[1], count);
    if (out) atomicAdd(&part[2], out);
  }
  __syncthreads();
  list_found(found, to, answers);
  if (threadIdx.x > 0) return;
  tile_next[blockIdx.x] = part[0];   /* correct adds the active */
  if (part[0] < *(volatile int32_t *)&answers->next) atomicMin(&answers->next, part[0]);
  if (part[1]) atomicAdd(&answers->active, (unsigned long long)part[1]);
  if (part[2]) atomicAdd(&answers->outside, (unsigned long long)part[2]);
}

/* Tiles whose particles are others now, or have other steps, will be looked at. */
static void know_tiles(struct device *d)
{
  int64_t tiles = blocks_for(d->p.n, SELECT_TILE), from = d->tiles_known / SELECT_TILE;
  if (tiles > d->tile_next.room) from = 0;
  array_room(&d->tile_next, "device groups", tiles);
  if (from < tiles && d->tiles_known < d->p.n)
    CHECK(cudaMemsetAsync(d->tile_next.at + from, 0, sizeof(int32_t) * (size_t)(tiles - from), d->stream));
  d->tiles_known = (int32_t)d->p.n;
}

static const struct answers *select_now(struct device *d, int32_t tick, double tick_length)
{
  struct listing to = {d->home.at, d->group.at, d->listed.at, d->active_group.at, ++d->selections};
  if (d->families > 0) {
    to.family_listed = d->family_listed.at;
    to.family_list = d->active_family.at;
    to.family_selection = ++d->family_walks;
  }
  LAUNCH(d, begin_selection, 1, 1, d->answers);
  if (d->groups > 0)
    LAUNCH(d, select_active, blocks_for(d->p.n, SELECT_TILE), THREADS, d->p, d->tree, d->lattice, tick, tick_length, to,
           d->tile_next.at, d->answers);
  return device_ask(d);
}

int64_t gpu_select(struct device *d, int32_t tick, double tick_length, int64_t *outside)
{
  device_copied(d);
  if (d->selected) d->tiles_known = 0;   /* nobody corrected the last ones */
  know_tiles(d);
  const struct answers *told = select_now(d, tick, tick_length);
  if (!device_settle(d)) told = select_now(d, tick, tick_length);
  *outside += (int64_t)told->outside;
  d->active_groups = told->active_groups;
  d->active_families = d->families > 0 ? told->active_families : -1;
  d->actives = (int64_t)told->active;
  d->active_tick = tick;
  d->selected = told->active > 0;
  d->next_known = told->active == 0;   /* it is that of the others; correct adds the active */
  return (int64_t)told->active;
}

/* An active particle's kick and next step. Returns the end of that. */
static __device__ int32_t correct_one(const struct particles &p, const struct tree &t, int64_t i, int32_t tick, double tick_length,
                                      const struct step_rule &rule, int shared)
{
  double dt = (tick - p.tick[i]) * tick_length, v[3];
  float a[3], soft[3];
  for (int c = 0; c < 3; c++) a[c] = p.acc_hard[3 * i + c], soft[c] = p.acc_soft[3 * i + c], v[c] = p.vel[3 * i + c];
  for (int c = 0; c < 3; c++) v[c] += 0.5 * dt * a[c];
  int level = timeline_aligned(tick, shared >= 0 ? shared : timeline_level(rule.soft_step, timeline_wanted(&rule, a, soft, v)));
  const struct course course = {{(float)v[0], (float)v[1], (float)v[2]}, tick, {a[0], a[1], a[2]}, 0};
  for (int c = 0; c < 3; c++) p.vel[3 * i + c] = v[c];
  t.course[i] = course;
  p.tick[i] = tick;
  p.level[i] = (uint8_t)level;
  return tick + timeline_ticks(level);
}

/* The active members of the listed groups, a warp for each. */
static __global__ void correct_active(struct particles p, struct tree t, const struct group *group, const int32_t *list, int32_t count,
                                      int32_t tick, double tick_length, struct step_rule rule, int shared, int32_t *tile_next,
                                      int32_t *least)
{
  int32_t k = (int32_t)(((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP), next[2] = {TICKS, TICKS};
  if (k >= count) return;
  struct group g = group[list[k]];
  int32_t tile = g.begin / SELECT_TILE;   /* a group reaches into the next one at most */
  for (int32_t i = g.begin + lane_id(); i < g.end; i += WARP) {
    if (timeline_end(&p, i) != tick) continue;
    int which = i / SELECT_TILE > tile;
    next[which] = min(next[which], correct_one(p, t, i, tick, tick_length, rule, shared));
  }
  lower(least, min(next[0], next[1]));
  lower(&tile_next[tile], next[0]);
  if ((g.end - 1) / SELECT_TILE > tile) lower(&tile_next[tile + 1], next[1]);
}

/* Those of all tiles, where most particles are active. */
static __global__ void __launch_bounds__(THREADS) correct_tiles(struct particles p, struct tree t, int32_t tick, double tick_length,
                                                                struct step_rule rule, int shared, int32_t *tile_next, int32_t *least)
{
  int32_t next = TICKS;
  for (int k = 0; k < SELECT_ITEMS; k++) {
    int64_t i = (int64_t)blockIdx.x * SELECT_TILE + k * THREADS + threadIdx.x;
    if (i < p.n && timeline_end(&p, i) == tick) next = min(next, correct_one(p, t, i, tick, tick_length, rule, shared));
  }
  lower(least, next);
  lower(&tile_next[blockIdx.x], next);
}

void gpu_correct(struct device *d, int32_t tick, double tick_length, const struct step_rule *rule, int shared)
{
  if (MANY_ACTIVE * d->actives >= d->p.n)
    LAUNCH(d, correct_tiles, blocks_for(d->p.n, SELECT_TILE), THREADS, d->p, d->tree, tick, tick_length, *rule, shared, d->tile_next.at,
           &d->answers->next);
  else
    LAUNCH(d, correct_active, blocks_for((int64_t)d->active_groups * WARP, THREADS), THREADS, d->p, d->tree, d->group.at, d->active_group.at,
           d->active_groups, tick, tick_length, *rule, shared, d->tile_next.at, &d->answers->next);
  neighbours_watch(d, tick, tick_length);
  d->selected &= tick != d->active_tick;
  d->next_known = tick == d->active_tick;
}
