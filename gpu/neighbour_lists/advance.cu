/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs advance and potential: lists, forces at the begin, the loop over ticks, and the particles at the end. */
#include <config.h>
#include <string.h>

#include "base/debug.h"
#include "gpu/neighbour_lists/pairs.cuh"
#include "gpu/neighbour_lists/units.cuh"
#include "particles/timeline.h"

/* Soft steps of requests with units that are tried without them: of at least so many particles, with at most so many
 * ticks; after the most failures in a row one of so many. */
enum { UNITLESS_LEAST = 8192, UNITLESS_TICKS = 4000, UNITLESS_PAUSE = 63 };
enum { UNITLESS_TICKS_TRIED = 64 };         /* with the debug switch star_units = UNITS_TRIED */
enum { UNITS_ALWAYS = 2, UNITS_TRIED = 3 }; /* of the debug switch star_units */
#define ANY_PAIR 1e300                      /* limit of the axes of pairs */

/* --- the begin --------------------------------------------------------------------------------------------------- */

/* The first step of a member. */
static __device__ __forceinline__ double first_step(const struct loop_job &job, const struct list_body &body,
                                                    const struct hermite_force &force)
{
  return hermite_first_step(force.a, force.j, LIST_FIRST_ETA * job.eta, background_of(job, body.gm, body.factor));
}
static __device__ __forceinline__ double first_step(const struct loop_job &, const struct list_body &,
                                                    const struct pair_kick &kick)
{
  return pair_step(&kick);
}

static __device__ __forceinline__ void set_jerk(struct hermite_motion *motion, const struct hermite_force &force)
{
  for (int c = 0; c < 3; c++) motion->j[c] = force.j[c];
}
static __device__ __forceinline__ void set_jerk(struct hermite_motion *motion, const struct pair_kick &)
{
  for (int c = 0; c < 3; c++) motion->j[c] = 0;
}

/* The first motion, step and status of a member. */
template <class force> struct first_motions {
  typedef force sum;
  struct loop_job job;
  struct list_bodies at;
  struct list_source *source;
  int blocks, level_shift;
  int first; /* 1: no level has been proposed */

  __device__ __forceinline__ void open(force *f, double gm) const { open_sum(job, f, gm); }

  /* A first step that is too long is not noted: where accelerations cancel the first criterion is far below the second
   * one. */
  __device__ __forceinline__ int first_level(const struct list_body &body, const force &f) const
  {
    bool deeper;
    if (!first && body.level < LEVEL_MEAN)
      return min(max(body.level + level_shift, (int)LIST_LONGEST_LEVEL), (int)LIST_LEVEL_MAX);
    return level_for(job.soft_step, first_step(job, body, f), LIST_LONGEST_LEVEL, &deeper);
  }

  __device__ __forceinline__ void store(int64_t m, const struct list_body &body, int32_t count, const force &f) const
  {
    struct hermite_motion w;
    for (int c = 0; c < 3; c++) {
      w.x[c] = body.x[c];
      w.v[c] = body.v[c];
      w.a[c] = f.a[c];
    }
    set_jerk(&w, f);
    job.motion[2 * m] = w;
    job.ticks[m] = int2{0, -1};
    job.steps[m] = 0;
    source[m] = list_source{body.gm, body.factor, 0};
    job.status[status_place((int32_t)m, job.owned, blocks)] =
        (uint8_t)(first_level(body, f) | list_class(count) << STATUS_CLASS);
  }
};

template <class force>
static __global__ void __launch_bounds__(THREADS)
    begin_members(const __grid_constant__ struct first_motions<force> first)
{
  list_begin_forces(first.job.sum, first.at, first.job.members, first);
}

/* --- the end ----------------------------------------------------------------------------------------------------- */

struct finish_job {
  struct particles p;
  struct loop_job loop;
  const int64_t *number; /* of members; NULL: there are none */
  int blocks;
};

/* One thread writes the end of the soft step to one particle of this rank. */
static __global__ void finish_particles(const __grid_constant__ struct finish_job job)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= job.p.n) return;
  job.p.tick[i] = 0;
  job.p.pot[i] = 0;
  int64_t m = job.number ? job.number[i] : 0;
  if (!job.number || job.number[i + 1] == m) {
    for (int c = 0; c < 3; c++) {
      job.p.pos[3 * i + c] += job.loop.soft_step * job.p.vel[3 * i + c];
      job.p.acc_hard[3 * i + c] = 0;
    }
    job.p.level[i] = LEVEL_UNKNOWN;
    return;
  }
  const int2 t = job.loop.ticks[m];
  const struct hermite_motion w = load_hermite_motion(&job.loop.motion[2 * m + (t.y > t.x)]);
  for (int c = 0; c < 3; c++) {
    job.p.pos[3 * i + c] = w.x[c];
    job.p.vel[3 * i + c] = w.v[c];
  }
  job.p.level[i] = job.loop.status[status_place((int32_t)m, job.loop.owned, job.blocks)] & STATUS_LEVEL;
  job.p.work[i] += (float)(job.loop.steps[m] + 1) * (float)job.loop.sum.list[m].count;
}

/* Count steps, pairs and neighbours. */
static __global__ void count_members(const __grid_constant__ struct finish_job job, const int32_t *who,
                                     const struct list_body *body, const struct halo_particle *halo)
{
  struct loop_numbers *n = job.loop.numbers;
  unsigned long long sum[4] = {0, 0, 0, 0};
  for (int64_t m = (int64_t)blockIdx.x * THREADS + threadIdx.x; m < job.loop.members;
       m += (int64_t)gridDim.x * THREADS) {
    unsigned long long steps = (unsigned long long)job.loop.steps[m],
                       count = (unsigned long long)job.loop.sum.list[m].count;
    bool own = who[m] < job.p.n;
    sum[0] += steps;
    sum[1] += (steps + 1) * count;
    sum[2] += own ? count : 0;
    sum[3] += own;
  }
  for (int k = 0; k < 4; k++) {
    for (unsigned step = LANES / 2; step > 0; step /= 2) sum[k] += warp_shuffle_down(sum[k], step);
    if (lane_id() == 0)
      atomicAdd(k == 0 ? &n->steps : k == 1 ? &n->pairs : k == 2 ? &n->entries : &n->with_neighbours, sum[k]);
  }
  if (blockIdx.x > 0 || threadIdx.x > 0) return;
  for (int k = 0; k < 2; k++) {
    int32_t m = k == 0 ? n->who : n->neighbour, i = m < 0 ? -1 : who[m];
    (k == 0 ? n->who_id : n->neighbour_id) = i < 0 ? 0 : i < job.p.n ? job.p.id[i] : halo[i - job.p.n].id;
  }
}

/* All bodies, those of the halo too, where they are at the end of the soft step. */
static __global__ void end_bodies(const __grid_constant__ struct finish_job job, int64_t n, struct list_body *body)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  int64_t m = job.number ? job.number[i] : 0;
  struct list_body *b = &body[i];
  if (!job.number || job.number[i + 1] == m) {
    for (int c = 0; c < 3; c++) b->x[c] += job.loop.soft_step * b->v[c];
    return;
  }
  const int2 t = job.loop.ticks[m];
  const struct hermite_motion w = load_hermite_motion(&job.loop.motion[2 * m + (t.y > t.x)]);
  for (int c = 0; c < 3; c++) {
    b->x[c] = w.x[c];
    b->v[c] = w.v[c];
  }
}

/* The hard part of the potential, and the hard acceleration, of the particles of this rank. */
struct stored_potentials {
  typedef struct hermite_force sum;
  struct particles p;
  const int32_t *who; /* NULL: targets are particles */
  __device__ __forceinline__ void open(struct hermite_force *, double) const {}
  __device__ __forceinline__ void store(int64_t k, const struct list_body &, int32_t,
                                        const struct hermite_force &force) const
  {
    int64_t i = who ? who[k] : k;
    if (i >= p.n) return;
    p.pot[i] = (float)-force.psi;
    for (int c = 0; c < 3; c++) p.acc_hard[3 * i + c] = (float)force.a[c];
  }
};

static __global__ void __launch_bounds__(THREADS)
    store_potentials(const __grid_constant__ struct list_sum sum, const __grid_constant__ struct list_bodies at,
                     int64_t n, const __grid_constant__ struct stored_potentials to)
{
  list_begin_forces(sum, at, n, to);
}

/* Targets are particles, or the members `who`, where their bodies are now. */
static void store_forces(struct device *d, const struct list_request *request, int64_t targets, const int32_t *who)
{
  struct list_bodies at = {d->lists.body.at, who};
  struct stored_potentials to = {d->p, who};
  if (targets > 0)
    LAUNCH(d, store_potentials, blocks_for(targets * SHORT_LANES, THREADS), THREADS, list_sum_of(d, request), at,
           targets, to);
}

/* --- the verb advance -------------------------------------------------------------------------------------------- */

/* Clear the counters. */
static void clear_numbers(struct device *d)
{
  struct list_state *s = &d->lists;
  memset(s->host_numbers, 0, sizeof *s->host_numbers);
  s->host_numbers->wanted = 1e300;
  s->host_numbers->who = s->host_numbers->neighbour = -1;
  CHECK(runtime_copy(s->numbers, s->host_numbers, sizeof *s->numbers, TO_DEVICE, d->stream));
}

/* The job of the loop, with room for all members. */
struct loop_job list_open_loop(struct device *d, const struct list_request *request, int blocks)
{
  struct list_state *s = &d->lists;
  struct loop_job job = {};
  int64_t members = s->member.count, runs = blocks_for(blocks_for(members, MEMBER_RUN), blocks);
  job.owned = (int32_t)(blocks_for(runs * MEMBER_RUN, STATUS_BYTES) * STATUS_BYTES);
  job.sum = list_sum_of(d, request);
  job.who = s->member.who.at;
  job.own = (int32_t)d->p.n;
  job.source = array_reserve(&s->member.source, "device neighbour lists", members);
  job.motion = array_reserve(&s->member.motion, "device neighbour lists", 2 * members);
  job.ticks = array_reserve(&s->member.ticks, "device neighbour lists", members);
  job.predicted = array_reserve(&s->member.predicted, "device neighbour lists", members);
  job.steps = array_reserve(&s->member.steps, "device neighbour lists", members);
  job.status = array_reserve(&s->status, "device neighbour lists", (int64_t)job.owned * blocks);
  job.members = (int32_t)members;
  job.soft_step = request->soft_step;
  job.tick_length = request->soft_step / TICKS;
  job.eta = request->eta;
  job.background = LIST_BACKGROUND / ((double)request->split.r2 * (double)request->split.r2);
  job.mean_gm = d->config.gravity * request->mean_mass;
  job.swift_aim = s->swift_aim > 0 ? s->swift_aim : (int)SWIFT_AIM;
  job.numbers = s->numbers;
  CHECK(runtime_set_bytes(job.status, 0, (size_t)job.owned * (size_t)blocks, d->stream));
  return job;
}

/* Read the counters and add them to the tally. The host waits. */
static void complete_hard_tally(struct device *d, struct list_tally *tally)
{
  struct list_state *s = &d->lists;
  struct loop_numbers *n = s->host_numbers;
  float all = 0, lists = 0;
  CHECK(runtime_event_record(s->event[2], d->stream));
  CHECK(runtime_copy(n, s->numbers, sizeof *n, TO_HOST, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  CHECK(runtime_event_milliseconds(&lists, s->event[0], s->event[1]));
  CHECK(runtime_event_milliseconds(&all, s->event[0], s->event[2]));
  tally->seconds += 1e-3 * all;
  tally->list_seconds += 1e-3 * lists;
  tally->entries += (int64_t)n->entries;
  tally->with_neighbours += (int64_t)n->with_neighbours;
  tally->ticks += (int64_t)n->ticks;
  tally->steps += (int64_t)n->steps;
  tally->pairs += (int64_t)n->pairs;
  if (n->collapsed > 0 && (tally->collapsed == 0 || n->wanted < tally->worst.wanted))
    tally->worst = list_collapse{n->who_id, n->neighbour_id, {n->at[0], n->at[1], n->at[2]}, n->distance, n->wanted};
  tally->collapsed += (int64_t)n->collapsed;
  tally->deepest = max(tally->deepest, n->deepest);
}

/* Motions, levels and status of all members at the begin. */
template <class force>
static void begin(struct device *d, const struct list_request *request, const struct loop_job &loop, int blocks)
{
  struct list_state *s = &d->lists;
  struct first_motions<force> first = {
    loop, {s->body.at, s->member.who.at}, s->member.source.at, blocks, request->level_shift,
        request->first || !integrator_traits[request->integrator].keeps_levels
  };
  LAUNCH(d, begin_members<force>, blocks_for(s->member.count * SHORT_LANES, THREADS), THREADS, first);
}

static void begin_by(struct device *d, const struct list_request *request, const struct loop_job &loop, int blocks)
{
  switch (request->integrator) {
  case INTEGRATOR_LEAPFROG: return begin<pair_kick>(d, request, loop, blocks);
  case INTEGRATOR_HERMITE: return begin<hermite_force>(d, request, loop, blocks);
  }
}

/* Everything with units of stars. */
static void advance_units(struct device *d, const struct list_request *request, int64_t n,
                          const struct halo_particle *halo, struct list_tally *tally)
{
  clear_numbers(d);
  CHECK(runtime_event_record(d->lists.event[1], d->stream));
  units_advance(d, request, n, halo, tally);
  complete_hard_tally(d, tally);
  if (!request->several) gpu_potential(d, request, 0, NULL);
}

/* The loop over ticks: motions of all members at the end of the soft step. */
static void integrate_members(struct device *d, const struct list_request *request, int64_t ticks_max,
                              struct finish_job *finish)
{
  struct list_state *s = &d->lists;
  finish->p = d->p;
  finish->loop.soft_step = request->soft_step;
  if (s->member.count == 0) return;
  finish->blocks = list_loop_blocks(d, request->integrator, s->member.count);
  finish->loop = list_open_loop(d, request, finish->blocks);
  finish->loop.ticks_max = (unsigned long long)ticks_max;
  finish->number = s->list.number.at;
  begin_by(d, request, finish->loop, finish->blocks);
  list_loop(d, request->integrator, &finish->loop, finish->blocks);
}

/* Motions of members become those of particles. potentials: 1: and hard forces are stored. */
static void finish_members(struct device *d, const struct list_request *request, int64_t n, int potentials,
                           const struct finish_job *finish)
{
  struct list_state *s = &d->lists;
  if (s->member.count > 0)
    LAUNCH(d, count_members, min(blocks_for(s->member.count, THREADS), (int64_t)4 * d->multiprocessors), THREADS,
           *finish, s->member.who.at, s->body.at, s->halo.at);
  list_pairs_end(d, request, &finish->loop);
  LAUNCH(d, finish_particles, blocks_for(d->p.n, THREADS), THREADS, *finish);
  LAUNCH(d, end_bodies, blocks_for(d->p.n + n, THREADS), THREADS, *finish, d->p.n + n, s->body.at);
  list_pairs_restore(d);
  if (!potentials) return;
  if (s->pair.count > 0) { /* the lists of the soft step have centres of mass */
    lists_make_again(d, request, 0, n, LISTS_OF_OWN);
    store_forces(d, request, d->p.n, NULL);
  } else if (s->member.count > 0) {
    store_forces(d, request, s->member.count, s->member.who.at);
  }
}

/* Everything without units. */
static void advance_members(struct device *d, const struct list_request *request, int64_t n,
                            const struct halo_particle *halo, struct list_tally *tally)
{
  struct list_state *s = &d->lists;
  struct finish_job finish = {};
  clear_numbers(d);
  lists_make(d, request, request->soft_step, n, halo, LISTS_OF_MEMBERS);
  if (list_pairs_find(d, request, tally) > 0) {
    lists_make_again(d, request, request->soft_step, n, LISTS_OF_MEMBERS);
    list_pairs_begin(d, request);
  }
  CHECK(runtime_event_record(s->event[1], d->stream));
  integrate_members(d, request, 0, &finish);
  finish_members(d, request, n, 1, &finish);
  complete_hard_tally(d, tally);
}

/* Whether the loop ended by itself, and no step collapsed. The host waits. */
static int loop_has_ended(struct device *d)
{
  struct list_state *s = &d->lists;
  struct loop_numbers *now = s->host_numbers;
  CHECK(runtime_copy(now, s->numbers, sizeof *now, TO_HOST, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  return now->left_at == 0 && now->collapsed == 0;
}

/* A request with units, without them: where no pair is bound closely, and none comes so close that it would take most
 * of the time, stars alone are the same and faster. Returns 0, and leaves the particles as they were, where units are
 * needed. */
static int advance_without_units(struct device *d, const struct list_request *request, int64_t n,
                                 const struct halo_particle *halo, struct list_tally *tally)
{
  struct list_state *s = &d->lists;
  struct finish_job finish = {};
  struct list_request stars = *request;
  struct list_tally pairs = {};
  stars.pair_limit = ANY_PAIR;
  clear_numbers(d);
  lists_make(d, &stars, request->soft_step, n, halo, LISTS_OF_MEMBERS);
  int64_t found = list_pairs_find(d, &stars, &pairs);
  s->pair.count = 0;
  if (found + pairs.pairs_perturbed > 0) return 0;
  CHECK(runtime_event_record(s->event[1], d->stream));
  int ticks_max = debug_value("star_units", 1) == UNITS_TRIED ? UNITLESS_TICKS_TRIED : UNITLESS_TICKS;
  integrate_members(d, &stars, ticks_max, &finish);
  if (!loop_has_ended(d)) return 0;
  s->unit.lent_count = 0;
  finish_members(d, &stars, n, !request->several, &finish);
  complete_hard_tally(d, tally);
  return 1;
}

/* Whether particles of other ranks may be in pairs whose other star is not among them. */
static int is_any_fast(const struct list_request *request, int64_t n, const struct halo_particle *halo)
{
  double limit2 = halo_speed(request) * halo_speed(request);
  for (int64_t k = 0; k < n; k++)
    if (kepler_dot(halo[k].vel, halo[k].vel) >= limit2) return 1;
  return 0;
}

/* Whether the present soft step is tried without units, which alone find stars that collide. */
static int is_tried(struct device *d, const struct list_request *request, int64_t n, const struct halo_particle *halo)
{
  struct unit_trial *trial = &d->lists.unit.trial;
  double chosen = debug_value("star_units", 1);
  if (request->radii.on || is_any_fast(request, n, halo)) return 0;
  if (chosen == UNITS_ALWAYS || (chosen < UNITS_TRIED && d->p.n < UNITLESS_LEAST)) return 0;
  if (trial->wait > 0) trial->wait--;
  return trial->wait == 0;
}

/* A request with units: without them where that serves, else with them. */
static void advance_stars(struct device *d, const struct list_request *request, int64_t n,
                          const struct halo_particle *halo, struct list_tally *tally)
{
  struct unit_trial *trial = &d->lists.unit.trial;
  if (is_tried(d, request, n, halo)) {
    if (advance_without_units(d, request, n, halo, tally)) {
      trial->pause = 0;
      return;
    }
    trial->wait = trial->pause = min(2 * trial->pause + 1, (int)UNITLESS_PAUSE);
  }
  advance_units(d, request, n, halo, tally);
}

void gpu_advance(struct device *d, const struct list_request *request, int64_t n, const struct halo_particle *halo,
                 struct list_tally *tally)
{
  CHECK(runtime_event_record(d->lists.event[0], d->stream));
  if (request->units) advance_stars(d, request, n, halo, tally);
  else advance_members(d, request, n, halo, tally);
  step_state_invalidate(&d->step);
  neighbours_invalidate(&d->hard);
}

/* --- the verb potential ------------------------------------------------------------------------------------------ */

void gpu_potential(struct device *d, const struct list_request *request, int64_t n, const struct halo_particle *halo)
{
  lists_make(d, request, 0, n, halo, LISTS_OF_OWN);
  store_forces(d, request, d->p.n, NULL);
}

/* --- state ------------------------------------------------------------------------------------------------------- */

void list_state_open(struct list_state *state)
{
  state->numbers = (struct loop_numbers *)device_alloc("device neighbour lists", sizeof *state->numbers);
  state->grid = (struct grid_numbers *)device_alloc("device neighbour lists", sizeof *state->grid);
  CHECK(runtime_alloc_host(&state->host_numbers, sizeof *state->host_numbers));
  for (int k = 0; k < 3; k++) CHECK(runtime_event_create(&state->event[k]));
}

void list_state_free(struct list_state *state)
{
  for (int k = 0; k < 3; k++) CHECK(runtime_event_destroy(state->event[k]));
  CHECK(runtime_free_host(state->host_numbers));
  device_free("device neighbour lists", state->numbers, sizeof *state->numbers);
  device_free("device neighbour lists", state->grid, sizeof *state->grid);
  array_free(&state->halo);
  array_free(&state->body);
  array_free(&state->candidate.cell);
  for (int k = 0; k < 2; k++) {
    array_free(&state->candidate.bucket[k]);
    array_free(&state->candidate.place[k]);
  }
  array_free(&state->candidate.bucket_begin);
  array_free(&state->list.count);
  array_free(&state->list.begin);
  array_free(&state->list.number);
  array_free(&state->candidate.record);
  array_free(&state->list.staged);
  array_free(&state->list.raw);
  array_free(&state->list.entry);
  array_free(&state->member.list);
  array_free(&state->member.who);
  array_free(&state->member.source);
  array_free(&state->member.motion);
  array_free(&state->member.ticks);
  array_free(&state->member.predicted);
  array_free(&state->member.steps);
  array_free(&state->status);
  array_free(&state->pair.bound);
  array_free(&state->pair.found);
  array_free(&state->pair.partner);
  units_state_free(state);
}
