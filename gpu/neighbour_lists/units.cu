/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A soft step with units of stars: the tables, and the stars at its end. */
#include <config.h>
#include <stdlib.h>
#include <string.h>

#include "base/debug.h"
#include "base/memory.h"
#include "gpu/device/reduce.cuh"
#include "gpu/neighbour_lists/unit_pairs.cuh"
#include "gpu/neighbour_lists/unit_steps.cuh"

static const char *const label = "device units of stars";
#define ENTRY_MARGIN 1.001 /* for rounding */
enum { UNITS_SPARE = 1024, PLACES_A_UNIT = 8, HOSTED_ACTIVE = 1024, NEVER = -1 };

/* --- the tables --------------------------------------------------------------------------------------------------- */

/* Masses, factors and ids of the stars themselves. */
static __global__ void keep_stars(const struct list_body *body, struct particles p, const struct halo_particle *halo,
                                  int32_t places, double *gm, float *factor, uint64_t *id)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= places) return;
  gm[i] = body[i].gm;
  factor[i] = body[i].factor;
  id[i] = i < p.n ? p.id[i] : halo[i - p.n].id;
}

static __global__ void open_places(const __grid_constant__ struct units_job job)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= job.loop.members) return;
  const struct list_body b = job.body[i];
  struct hermite_motion motion = {};
  for (int c = 0; c < 3; c++) {
    motion.x[c] = b.x[c];
    motion.v[c] = b.v[c];
  }
  job.loop.motion[2 * (int64_t)i] = job.loop.motion[2 * (int64_t)i + 1] = motion;
  job.loop.ticks[i] = int2{0, 0};
  job.loop.steps[i] = 0;
  job.table.root[i] = i;
  job.table.at[i] = -1;
  job.table.list[i] = job.table.list_of_head[i];
  job.table.partner[i] = -1;
  job.table.waits[i] = 0;
  job.table.noted[i] = -1;
  job.table.claim[i] = NO_CLAIM;
  job.table.source[i] = list_source{b.gm, b.factor, TAG_STAR};
  if (i < job.table.units) job.table.spare[i] = -1;
}

/* The units of the bound pairs; the others are spare. */
static __global__ void open_units(const __grid_constant__ struct units_job job, const struct list_bound *pair,
                                  int32_t pairs)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= job.table.units) return;
  if (k >= pairs) {
    job.table.spare[k - pairs] = k;
    return;
  }
  const struct list_bound b = pair[k];
  struct unit *unit = &job.table.unit[k];
  struct unit_body bodies[2] = {unit_body_of(b.first, -1, b.m1), unit_body_of(b.second, -1, b.m2)};
  double x[3], v[3];
  for (int c = 0; c < 3; c++) {
    bodies[1].x[c] = b.d[c];
    bodies[1].v[c] = b.u[c];
  }
  unit_to_centre(2, bodies, x, v);
  unit_make(unit, &job.rules, 2, bodies, 0, fmaxf(b.f1, b.f2) * job.rules.r1);
  if (job.body[b.second].level == LEVEL_MEAN) {
    unit->kind = UNIT_AVERAGED;
    memcpy(unit->d, b.d, sizeof unit->d);
    memcpy(unit->u, b.u, sizeof unit->u);
    unit_set_quadrupole(unit, 0);
  }
  job.table.at[b.first] = k;
  job.table.root[b.second] = b.first;
  job.table.source[b.first].tag = k;
  job.table.stars[k] = {2, {min(b.first, b.second), max(b.first, b.second)}};
  store_view(job, k, 0);
  store_view(job, k, 1);
}

static struct unit_tables open_tables(struct device *d, int32_t places, int32_t pairs)
{
  struct list_state *s = &d->lists;
  struct unit_state *units = &s->unit;
  struct unit_tables table = {};
  int64_t count = pairs + places / PLACES_A_UNIT + UNITS_SPARE;
  table.root = array_reserve(&units->root, label, places);
  table.at = array_reserve(&units->at, label, places);
  table.list = array_reserve(&units->list, label, places);
  table.list_of_head = s->member.list.at;
  table.entry = s->list.entry.at;
  table.entry_capacity = (unsigned long long)s->list.entry.capacity;
  table.partner = array_reserve(&units->partner, label, places);
  table.partner_distance = array_reserve(&units->partner_distance, label, places);
  table.waits = array_reserve(&units->waits, label, places);
  table.claim = array_reserve(&units->claim, label, places);
  table.source = array_reserve(&s->member.source, label, places);
  table.unit = (struct unit *)array_reserve(&units->record.unit, label, count * (int64_t)sizeof *table.unit);
  table.field = (struct unit_field *)array_reserve(&units->record.field, label, count * (int64_t)sizeof *table.field);
  table.view = (struct unit_view *)array_reserve(&units->record.view, label, 2 * count * (int64_t)sizeof *table.view);
  table.stars = (struct unit_stars *)array_reserve(&units->record.stars, label, count * (int64_t)sizeof *table.stars);
  table.spare = array_reserve(&units->spare, label, count);
  table.units = (int32_t)count;
  for (int k = 0; k < 2; k++)
    table.change[k] =
        (struct unit_change *)array_reserve(&units->record.change[k], label, places * (int64_t)sizeof *table.change[k]);
  table.begun = array_reserve(&units->begun, label, places);
  table.noted = array_reserve(&units->noted, label, places);
  table.numbers = (struct unit_numbers *)array_reserve(&units->record.numbers, label, (int64_t)sizeof *table.numbers);
  struct unit_numbers numbers = {};
  numbers.next_spare = (unsigned)(count - pairs);
  numbers.entries = (unsigned long long)s->list.entries;
  CHECK(runtime_copy(table.numbers, &numbers, sizeof numbers, TO_DEVICE, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  return table;
}

static struct unit_rules rules_of(const struct device *d, const struct list_request *request)
{
  double g = d->config.gravity, r1 = list_unit_r1(request);
  struct unit_rules rules = {};
  rules.r1 = r1;
  rules.entry = UNIT_ENTRY_R1 * r1;
  rules.error = UNIT_ERROR * 0.5 * g * request->total_mass * request->speed2;
  rules.soft_step = request->soft_step;
  rules.hierarchies = 1;
  return rules;
}

static struct unit_mail *open_mail(struct unit_state *units, const struct unit_rules *rules, int blocks)
{
  int32_t slots = units_mail_slots(blocks);
  struct unit_mail *mail = units->mail;
  if (!mail) {
    CHECK(runtime_alloc_host(&mail, sizeof *mail));
    memset(mail, 0, sizeof *mail);
    mail->serve = unit_mail_serve_present;
    units->mail = mail;
  }
  if (mail->slots < slots) {
    if (mail->item) CHECK(runtime_free_host(mail->item));
    CHECK(runtime_alloc_host(&mail->item, sizeof *mail->item * (size_t)slots));
    memset(mail->item, 0, sizeof *mail->item * (size_t)slots);
    mail->slots = slots;
  }
  mail->rules = *rules;
  return mail;
}

/* Whether the host cannot serve a kernel that it has launched: it waits for the end of each. */
static int launches_wait(void)
{
  const char *value = getenv(RUNTIME_LAUNCHES_WAIT);
  return value && strcmp(value, "") != 0 && strcmp(value, "0") != 0;
}

/* The job at tick 0. The host waits. */
static struct units_job open_job(struct device *d, const struct list_request *request, int64_t n,
                                 const struct halo_particle *halo, int *blocks)
{
  struct list_state *s = &d->lists;
  struct unit_state *units = &s->unit;
  struct units_job job = {};
  int32_t places = (int32_t)(d->p.n + n), pairs = 0;
  int64_t launch = blocks_for(places, THREADS);
  job.rules = rules_of(d, request);
  struct unit_pair_search search = units_find_stars(d, request, &job.rules, n, halo);
  double *gm = array_reserve(&units->gm, label, places);
  float *factor = array_reserve(&units->factor, label, places);
  uint64_t *id = array_reserve(&units->id, label, places);
  LAUNCH(d, keep_stars, launch, THREADS, s->body.at, d->p, s->halo.at, places, gm, factor, id);
  units_replace_stars(d, &search);
  CHECK(runtime_copy(&pairs, search.count, sizeof pairs, TO_HOST, d->stream));
  lists_make_again(d, request, request->soft_step, n, LISTS_OF_ALL);
  CHECK(runtime_stream_sync(d->stream));
  CHECK(runtime_event_record(s->event[1], d->stream));
  *blocks = units_loop_blocks(d, places);
  job.loop = list_open_loop(d, request, *blocks);
  job.table = open_tables(d, places, pairs);
  job.loop.sum.list = job.table.list;
  job.place = {gm, factor, id, search.head, search.companion};
  job.body = s->body.at;
  job.far2 = UNIT_EXTENT * job.rules.r1 * UNIT_EXTENT * job.rules.r1;
  job.entry2 = ENTRY_MARGIN * job.rules.entry * job.rules.entry;
  job.first = request->first || !integrator_traits[request->integrator].keeps_levels;
  job.level_shift = request->level_shift;
  job.hosted_active = (int)debug_value("host_units", launches_wait() ? NEVER : HOSTED_ACTIVE);
  struct unit_rules host_rules;
  units_open_contacts(d, request, places, &job.rules, &host_rules);
  job.mail = open_mail(units, &host_rules, *blocks);
  CHECK(runtime_copy(&job.table.numbers->requests, &job.mail->served, sizeof job.mail->served, TO_DEVICE, d->stream));
  LAUNCH(d, open_places, launch, THREADS, job);
  LAUNCH(d, open_units, blocks_for(job.table.units, THREADS), THREADS, job, s->pair.bound.at, pairs);
  return job;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

struct units_end {
  struct units_job job;
  struct particles p;
  int blocks;
  double *kinetic;        /* [places] G times that of own pairs */
  struct unit_star *lent; /* [places] */
  struct units_tally *tally;
};

static __global__ void finish_units(const __grid_constant__ struct units_end end)
{
  const struct units_job &job = end.job;
  int32_t root = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (root >= job.loop.members || job.table.at[root] < 0) return;
  struct unit_environment environment;
  const int2 t = job.loop.ticks[root];
  environment_of(job, root, t.y > t.x, TICKS + 1, &environment);
  unit_finish_step(&job.table.unit[job.table.at[root]], &job.rules, &environment, job.loop.soft_step);
}

/* A star of this rank gets its state; that of another rank is lent. */
static __device__ void put_star(const struct units_end &end, int32_t place, int32_t root, const double x[3],
                                const double v[3], int level)
{
  if (place < end.p.n) {
    for (int c = 0; c < 3; c++) {
      end.p.pos[3 * (int64_t)place + c] = x[c];
      end.p.vel[3 * (int64_t)place + c] = v[c];
    }
    end.p.level[place] = (uint8_t)level;
    return;
  }
  if (root >= end.p.n) return;
  struct unit_star *star = &end.lent[atomicAdd(&end.tally->lent, 1)];
  star->id = end.job.place.id[place];
  star->level = level;
  for (int c = 0; c < 3; c++) {
    star->pos[c] = x[c];
    star->vel[c] = v[c];
  }
}

/* The bits of x >= 0, which are in the order of x. */
static __device__ unsigned long long bits_of(double x)
{
  unsigned long long bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static __device__ void count_pair(const struct units_end &end, int32_t root, double m1, double m2, const double u[3],
                                  double period, double e)
{
  end.kinetic[root] += 0.5 * m1 * m2 / (m1 + m2) * kepler_dot(u, u);
  atomicAdd(&end.tally->pairs, 1ull);
  atomicMax(&end.tally->frequency, bits_of(1 / period));
  atomicMax(&end.tally->eccentricity, bits_of(e));
}

/* Counts of own pairs: of a hierarchy the inner ones. */
static __device__ void count_pairs(const struct units_end &end, int32_t root, const struct unit *unit,
                                   const struct unit_body *bodies)
{
  double u[3];
  if (unit->kind == UNIT_GROUP || !unit->lasting || root >= end.p.n) return;
  if (!unit_is_hierarchy(unit)) {
    for (int c = 0; c < 3; c++) u[c] = bodies[1].v[c] - bodies[0].v[c];
    count_pair(end, root, bodies[0].m, bodies[1].m, u, unit->orbit.period, unit->orbit.e);
    return;
  }
  for (int k = 0; k < 2; k++) {
    struct kepler_orbit orbit;
    const struct unit_body *pair = &bodies[k];
    if (pair->star[1] >= 0 && kepler_elements(pair->m, pair->d, pair->u, &orbit))
      count_pair(end, root, pair->m1, pair->m2, pair->u, orbit.period, orbit.e);
  }
}

static __device__ void put_unit(const struct units_end &end, int32_t root, const struct hermite_motion &motion)
{
  const struct units_job &job = end.job;
  const struct unit *unit = &job.table.unit[job.table.at[root]];
  struct unit_body bodies[UNIT_BODIES], stars[2];
  int n = unit_bodies_of(unit, job.loop.soft_step, 0, bodies),
      pair = unit->kind != UNIT_GROUP && unit->lasting && !unit_is_hierarchy(unit);
  int others = unit->kind == UNIT_AVERAGED ? (int)LEVEL_MEAN : (int)LEVEL_UNKNOWN;
  int proposed = job.loop.status[status_place(root, job.loop.owned, end.blocks)] & STATUS_LEVEL;
  count_pairs(end, root, unit, bodies);
  if (unit_is_two_stars(unit)) unit_round_pair(motion.x, bodies);
  for (int k = 0; k < n; k++) {
    int count = 1;
    stars[0] = bodies[k];
    if (bodies[k].star[1] >= 0) {
      unit_divide(&bodies[k], stars);
      unit_round_pair(motion.x, stars);
      count = 2;
    }
    for (int s = 0; s < count; s++) {
      double x[3], v[3];
      int32_t place = stars[s].star[0];
      for (int c = 0; c < 3; c++) {
        x[c] = motion.x[c] + stars[s].x[c];
        v[c] = motion.v[c] + stars[s].v[c];
      }
      put_star(end, place, root, x, v, pair && place == root ? proposed : count == 2 ? (int)LEVEL_UNKNOWN : others);
    }
  }
}

/* All stars where they are at the end of the soft step. */
static __global__ void put_stars(const __grid_constant__ struct units_end end)
{
  const struct units_job &job = end.job;
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= job.loop.members) return;
  int own = i < end.p.n, count = job.table.list[i].count;
  end.kinetic[i] = 0;
  if (own) {
    end.p.tick[i] = 0;
    if (job.table.root[i] == i) end.p.work[i] += (float)(job.loop.steps[i] + 1) * (float)count;
  }
  if (job.table.root[i] != i) return;
  const int2 t = job.loop.ticks[i];
  const struct hermite_motion motion = load_hermite_motion(&job.loop.motion[2 * (int64_t)i + (t.y > t.x)]);
  if (job.table.at[i] >= 0) {
    put_unit(end, i, motion);
    return;
  }
  if (!own) return;
  double x[3];
  int level = job.loop.status[status_place(i, job.loop.owned, end.blocks)] & STATUS_LEVEL, moved = count > 0;
  for (int c = 0; c < 3; c++) x[c] = motion.x[c] + (moved ? 0 : job.loop.soft_step * motion.v[c]);
  put_star(end, i, i, x, motion.v, moved ? level : (int)LEVEL_UNKNOWN);
}

/* Count steps, pairs and neighbours. */
static __global__ void count_places(const __grid_constant__ struct units_end end)
{
  const struct units_job &job = end.job;
  struct loop_numbers *n = job.loop.numbers;
  unsigned long long sum[4] = {0, 0, 0, 0};
  for (int64_t m = (int64_t)blockIdx.x * THREADS + threadIdx.x; m < job.loop.members;
       m += (int64_t)gridDim.x * THREADS) {
    unsigned long long steps = (unsigned long long)job.loop.steps[m],
                       count = job.table.root[m] == m ? (unsigned long long)job.table.list[m].count : 0;
    sum[0] += steps;
    sum[1] += (steps + 1) * count;
    if (m >= end.p.n) continue;
    sum[2] += count;
    sum[3] += count > 0;
  }
  for (int k = 0; k < 4; k++) {
    for (unsigned step = LANES / 2; step > 0; step /= 2) sum[k] += warp_shuffle_down(sum[k], step);
    if (lane_id() == 0)
      atomicAdd(k == 0 ? &n->steps : k == 1 ? &n->pairs : k == 2 ? &n->entries : &n->with_neighbours, sum[k]);
  }
  if (blockIdx.x > 0 || threadIdx.x > 0) return;
  n->who_id = n->who < 0 ? 0 : job.place.id[n->who];
  n->neighbour_id = n->neighbour < 0 ? 0 : job.place.id[n->neighbour];
}

static __global__ void sum_runs(const double *value, int64_t n, double *row)
{
  double sum[1] = {0};
  int64_t begin = (int64_t)blockIdx.x * REDUCE_RUN, end = min(begin + (int64_t)REDUCE_RUN, n);
  for (int64_t i = begin + threadIdx.x; i < end; i += THREADS) sum[0] += value[i];
  reduce_block<add_op, 1>(sum, row + blockIdx.x);
}

/* What the pairs add to the tally, and the stars that are lent. The host waits. */
static void read_tally(struct device *d, const struct units_end *end, int64_t places, struct list_tally *tally)
{
  struct unit_state *units = &d->lists.unit;
  struct units_tally counts;
  int64_t rows = blocks_for(places, REDUCE_RUN);
  double *row = array_reserve(&units->row, label, rows + 1), kinetic = 0;
  LAUNCH(d, sum_runs, rows, THREADS, end->kinetic, places, row);
  LAUNCH(d, (reduce_rows<add_op, 1>), 1, LANES * REDUCE_ROWS, row, (int)rows, row + rows);
  CHECK(runtime_copy(&kinetic, row + rows, sizeof kinetic, TO_HOST, d->stream));
  CHECK(runtime_copy(&counts, end->tally, sizeof counts, TO_HOST, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  tally->pairs_bound += (int64_t)counts.pairs;
  tally->pair_kinetic += kinetic / d->config.gravity;
  double frequency, eccentricity;
  memcpy(&frequency, &counts.frequency, sizeof frequency);
  memcpy(&eccentricity, &counts.eccentricity, sizeof eccentricity);
  if (counts.pairs > 0) {
    tally->shortest_period = fmin(tally->shortest_period, 1 / frequency);
    tally->largest_eccentricity = fmax(tally->largest_eccentricity, eccentricity);
  }
  units->lent_count = counts.lent;
  units->lent_host = (struct unit_star *)memory_resize("lent stars", units->lent_host,
                                                       sizeof *units->lent_host * (size_t)(counts.lent + 1));
  if (counts.lent == 0) return;
  CHECK(runtime_copy(units->lent_host, end->lent, sizeof *units->lent_host * (size_t)counts.lent, TO_HOST, d->stream));
  CHECK(runtime_stream_sync(d->stream));
}

void units_advance(struct device *d, const struct list_request *request, int64_t n, const struct halo_particle *halo,
                   struct list_tally *tally)
{
  struct unit_state *units = &d->lists.unit;
  struct units_end end = {};
  int64_t places = d->p.n + n, launch = blocks_for(places, THREADS);
  units->lent_count = units->collision.count = 0;
  if (places == 0) return;
  end.job = open_job(d, request, n, halo, &end.blocks);
  end.p = d->p;
  end.kinetic = array_reserve(&units->kinetic, label, places);
  end.lent = (struct unit_star *)array_reserve(&units->record.lent, label, (n + 1) * (int64_t)sizeof *end.lent);
  end.tally = (struct units_tally *)array_reserve(&units->record.tally, label, (int64_t)sizeof *end.tally);
  CHECK(runtime_set_bytes(end.tally, 0, sizeof *end.tally, d->stream));
  units_loop(d, &end.job, end.blocks);
  LAUNCH(d, finish_units, launch, THREADS, end);
  LAUNCH(d, put_stars, launch, THREADS, end);
  LAUNCH(d, count_places, min(launch, (int64_t)4 * d->multiprocessors), THREADS, end);
  read_tally(d, &end, places, tally);
  units_close_contacts(d, &end.job);
}

/* --- several ranks ------------------------------------------------------------------------------------------------ */

const struct unit_star *gpu_lent(struct device *d, int64_t *n)
{
  *n = d->lists.unit.lent_count;
  return d->lists.unit.lent_host;
}

static int by_star_id(const void *a, const void *b)
{
  const struct unit_star *x = (const struct unit_star *)a, *y = (const struct unit_star *)b;
  return x->id != y->id ? (x->id < y->id ? -1 : 1) : 0;
}

static __global__ void take_stars(struct particles p, const struct unit_star *stars, int32_t n)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= p.n) return;
  int32_t low = 0, high = n;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (stars[middle].id < p.id[i]) low = middle + 1;
    else high = middle;
  }
  if (low == n || stars[low].id != p.id[i]) return;
  for (int c = 0; c < 3; c++) {
    p.pos[3 * i + c] = stars[low].pos[c];
    p.vel[3 * i + c] = stars[low].vel[c];
  }
  p.level[i] = (uint8_t)stars[low].level;
}

void gpu_take_back(struct device *d, int64_t n, const struct unit_star *stars)
{
  size_t bytes = sizeof *stars * (size_t)n;
  if (n == 0 || d->p.n == 0) return;
  struct unit_star *sorted = (struct unit_star *)memory_alloc("lent stars", bytes);
  memcpy(sorted, stars, bytes);
  qsort(sorted, (size_t)n, sizeof *sorted, by_star_id);
  struct unit_star *there = (struct unit_star *)array_reserve(&d->lists.unit.record.lent, label, (int64_t)bytes);
  CHECK(runtime_copy(there, sorted, bytes, TO_DEVICE, d->stream));
  LAUNCH(d, take_stars, blocks_for(d->p.n, THREADS), THREADS, d->p, there, (int32_t)n);
  CHECK(runtime_stream_sync(d->stream));
  memory_free(sorted);
}

/* --- state -------------------------------------------------------------------------------------------------------- */

void units_state_free(struct list_state *state)
{
  struct unit_state *units = &state->unit;
  array_free(&units->partner);
  array_free(&units->head);
  array_free(&units->companion);
  array_free(&units->count);
  array_free(&units->root);
  array_free(&units->at);
  array_free(&units->spare);
  array_free(&units->begun);
  array_free(&units->noted);
  array_free(&units->list);
  array_free(&units->partner_distance);
  array_free(&units->waits);
  array_free(&units->factor);
  array_free(&units->claim);
  array_free(&units->gm);
  array_free(&units->kinetic);
  array_free(&units->row);
  array_free(&units->id);
  array_free(&units->record.unit);
  array_free(&units->record.field);
  array_free(&units->record.view);
  array_free(&units->record.stars);
  for (int k = 0; k < 2; k++) array_free(&units->record.change[k]);
  array_free(&units->record.numbers);
  array_free(&units->record.lent);
  array_free(&units->record.tally);
  units_collisions_free(&units->collision);
  memory_free(units->lent_host);
  if (units->mail && units->mail->item) CHECK(runtime_free_host(units->mail->item));
  if (units->mail) CHECK(runtime_free_host(units->mail));
}
