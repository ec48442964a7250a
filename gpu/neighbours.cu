/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard forces from neighbour lists: when the lists serve, and their evaluation. */
#include <config.h>
#include <string.h>

#include "cells.cuh"
#include "pairs.cuh"
#include "timeline.h"

/* Particles may leave their straight ways by so much of R2 before lists are made anew. A pair that is missed then is one at
 * the edge of the split, where K is below 1e-3. */
#define SPREAD 0.01
/* Lists that are made at a synchronisation are to last for the soft step that follows, whose length is not known yet: so
 * many times the last one. */
#define HORIZON_SLACK 1.05
/* Sources are predicted to the present all at once where at least this fraction of the particles is active. */
#define PREDICT_FRACTION 0.03
/* Where more than this fraction of the groups have too many neighbours for lists, or particles so many in the mean, walks in
 * trees that are built anew within the soft step are cheaper, and are made for so many soft steps before lists are tried again:
 * lists cost one to three full walks to make, and what they leave to walks is walked in an old tree. */
#define HEAVY_MOST 0.02
#define NEIGHBOURS_MOST 160
#define PAUSE 16
/* Within a soft step so many times as many: nodes have grown, and what was accepted at its beginning is not given up there, for
 * several ranks could not build their trees anew. */
#define HEAVY_AGAIN 2
/* The part of the free memory that lists may take. */
#define MEMORY_FRACTION 0.8

enum {
  ROW = 4,                       /* lanes of a target, each with so many entries at a time: */
  PAIR = LIST_ROUND / ROW,
  TARGETS_A_BLOCK = THREADS / ROW,
  PIECE = 8,                     /* rounds whose sum is kept in float32 */
  EVALUATE_BLOCKS = 32,          /* on each multiprocessor, of which so many are there at once: */
  USE_RESIDENT = 5,
  FIRST_ENTRIES = 48,            /* entries for each particle at the first making */
  LEAF_MOST = 64                 /* particles that are looked through for the radius of a leaf's way */
};

/* --- ways -------------------------------------------------------------------------------------------------------- */

struct way_job {
  struct tree t;
  struct way *way;
  struct particles p;
  double inverse, horizon;
  float tick_length, dt_nodes, spread;
  int32_t tick;
  float soft, closing;               /* kicks to come: of soft forces, and of hard ones for particles whose step is the soft step */
};

static __device__ __forceinline__ float length(const float a[3]) { return sqrtf(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

/* A parabola leaves the chord between its ends by an eighth of a t^2. */
static __device__ __forceinline__ struct way make_way(const struct way_job &job, const int32_t x[3], const float v[3], const float a[3],
                                                      double dt, float pull)
{
  struct way w;
  double end = dt + job.horizon;
  for (int c = 0; c < 3; c++) {
    w.from[c] = lattice_clamp(x[c] + (v[c] + 0.5 * dt * a[c]) * dt * job.inverse);
    w.to[c] = lattice_clamp(x[c] + (v[c] + 0.5 * end * a[c]) * end * job.inverse);
  }
  w.stray = job.spread + 0.125f * pull * (float)(job.horizon * job.horizon);
  w.b = 0;
  return w;
}

static __device__ __forceinline__ void store_way(struct way *to, const struct way &w)
{
  ((int4 *)to)[0] = make_int4(w.from[0], w.from[1], w.from[2], __float_as_int(w.stray));
  ((int4 *)to)[1] = make_int4(w.to[0], w.to[1], w.to[2], __float_as_int(w.b));
}

/* At a synchronisation lists are made before the kicks that end a soft step and begin the next. They are foreseen by the
 * accelerations of the step before; for a cell by those of its first particle, and its radius grows by what others may differ. */
static __device__ __forceinline__ void kick_particle(const struct way_job &job, int32_t i, struct course *c)
{
  float part = job.closing * ((float)(TICKS - job.p.tick[i]) / TICKS);
  for (int k = 0; k < 3; k++) c->v[k] += job.soft * job.p.acc_soft[3 * (int64_t)i + k] + part * c->a[k];
}
static __device__ __forceinline__ float kick_node(const struct way_job &job, int2 range, struct motion *m)
{
  const float *first = &job.p.acc_soft[3 * (int64_t)range.x], *last = &job.p.acc_soft[3 * (int64_t)(range.y - 1)];
  const float differ[3] = {last[0] - first[0], last[1] - first[1], last[2] - first[2]};
  for (int k = 0; k < 3; k++) m->v[k] += job.soft * first[k];
  return job.soft * length(differ) + job.closing * (length(m->a) + m->spread_a);
}

static __global__ void particle_ways(struct way_job job)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= job.t.bodies) return;
  const struct body b = job.t.body[i];
  struct course c = job.t.course[i];
  const int32_t x[3] = {b.x, b.y, b.z};
  if (job.soft > 0) kick_particle(job, i, &c);
  store_way(&job.way[i], make_way(job, x, c.v, c.a, (double)(job.tick - c.tick) * job.tick_length, length(c.a)));
}

/* A leaf's radius is that of its particles' ways, which is far less than its present one and the growth of its particles'
 * spreads; that of cells is the latter. */
static __global__ void node_ways(struct way_job job)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= job.t.nodes) return;
  const struct node n = load_node(&job.t.node[k]);
  struct motion m = load_motion(&job.t.motion[k]);
  if (job.soft > 0) m.spread_v += kick_node(job, job.t.range[k], &m);
  float end = job.dt_nodes + (float)job.horizon, spacing = 1 / (float)job.inverse, most = 0;
  int count = (int)(n.info & NODE_COUNT);
  struct way w = make_way(job, n.x, m.v, m.a, job.dt_nodes, length(m.a) + m.spread_a);
  w.b = n.b + m.spread_v * end + m.spread_a * (0.5f * end * end);
  if ((n.info & NODE_LEAF) && count <= LEAF_MOST) {
    for (int i = n.first; i < n.first + count; i++) {
      const struct way p = job.way[i];
      float from[3], to[3];
      for (int c = 0; c < 3; c++) from[c] = (float)(p.from[c] - w.from[c]) * spacing, to[c] = (float)(p.to[c] - w.to[c]) * spacing;
      most = fmaxf(most, fmaxf(length(from), length(to)));
    }
    w.b = fmaxf(n.b, most * (1 + 1e-5f));
  }
  store_way(&job.way[job.t.bodies + k], w);
}

/* --- strays ------------------------------------------------------------------------------------------------------ */

struct watch_job {
  struct tree t;
  const struct way *way;
  const int32_t *list, *count;       /* of particles; NULL: all */
  double spacing, tick_length, now, then;   /* as fractions of the lists' horizon */
  int32_t tick;
  int32_t *strays;
};

/* Whether a particle that was corrected has left its way, or will before the end of the soft step: at that end, or in the
 * middle of its parabola till then. */
static __device__ bool has_left(const struct watch_job &job, int32_t i)
{
  const struct way w = job.way[i];
  const struct body b = job.t.body[i];
  const struct course c = job.t.course[i];
  const int32_t x[3] = {b.x, b.y, b.z};
  double dt = (job.tick - c.tick) * job.tick_length, end = (TICKS - c.tick) * job.tick_length, now2 = 0, then2 = 0, middle2 = 0;
  double most = w.stray + 2 * job.spacing;   /* both ends were rounded to the lattice */
  for (int k = 0; k < 3; k++) {
    double along = (double)w.to[k] - w.from[k], off = x[k] - (double)w.from[k];
    double at_now = (off - along * job.now) * job.spacing + (c.v[k] + 0.5 * dt * c.a[k]) * dt;
    double at_end = (off - along * job.then) * job.spacing + (c.v[k] + 0.5 * end * c.a[k]) * end;
    double middle = 0.5 * (at_now + at_end) - 0.125 * c.a[k] * (end - dt) * (end - dt);
    now2 += at_now * at_now;
    then2 += at_end * at_end;
    middle2 += middle * middle;
  }
  return !(now2 <= most * most && then2 <= most * most && middle2 <= most * most);
}

static __global__ void find_strays(struct watch_job job)
{
  int32_t n = job.count ? *job.count : job.t.bodies, strays = 0;
  for (int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x); k < n; k += (int32_t)(gridDim.x * THREADS))
    strays += has_left(job, job.count ? job.list[k] : k);
  strays = (int32_t)__reduce_add_sync(FULL, (unsigned)strays);
  if (lane_id() == 0 && strays > 0) atomicAdd(job.strays, strays);
}

static void watch(struct device *d, int32_t tick, double tick_length, int all)
{
  struct neighbours *s = &d->neighbours;
  struct watch_job job = {d->tree, s->way.at, all ? NULL : s->active.at, all ? NULL : &s->numbers->active, d->lattice.spacing, tick_length,
                          (tick - s->tick) * tick_length / s->horizon, (TICKS - s->tick) * tick_length / s->horizon, tick,
                          &d->answers->strays};
  int64_t blocks = blocks_for(all ? d->p.n : d->actives, THREADS), most = (int64_t)EVALUATE_BLOCKS * d->multiprocessors;
  LAUNCH(d, find_strays, blocks < most ? blocks : most, THREADS, job);
}

void neighbours_watch(struct device *d, int32_t tick, double tick_length)
{
  const struct neighbours *s = &d->neighbours;
  if (s->made && s->horizon > 0 && d->active_groups > 0) watch(d, tick, tick_length, 0);
}

/* --- whether lists serve ----------------------------------------------------------------------------------------- */

static int same_criterion(const struct mac *a, const struct mac *b)
{
  return a->kind == b->kind && a->order == b->order && a->gravity == b->gravity && a->delta == b->delta;
}

static int serve(struct device *d, const struct walk_request *r)
{
  struct neighbours *s = &d->neighbours;
  if (!s->made || s->r2 != r->split.r2 || !same_criterion(&s->mac, &r->mac) || r->tick < s->tick) return 0;
  if (r->kind == WALK_TOTAL) return s->total;
  s->total = 0;
  if ((TICKS - s->tick) * r->tick_length > s->horizon * (1 + 1e-6)) return 0;
  if (s->unchecked && s->horizon > 0) {
    watch(d, r->tick, r->tick_length, 1);
    s->unchecked = 0;
    if (device_ask(d)->strays > 0) return 0;
  }
  return d->told->strays == 0 || d->motion_tick <= s->tick;
}

/* Bytes that an array of n elements still asks for. */
template <typename T> static double missing(const struct array<T> &a, int64_t n)
{
  return n <= a.room ? 0 : (double)sizeof(T) * (double)with_slack(n);
}

/* Room for lists of so many entries and all that belongs to them, if there is: nothing is asked for otherwise. */
static int lists_room(struct device *d, int64_t entries)
{
  struct neighbours *s = &d->neighbours;
  int64_t n = d->p.n, ways = n + d->tree.nodes;
  size_t left = 0, all = 0;
  double bytes = missing(s->pool, entries) + missing(s->way, ways) + missing(s->list, n) + missing(s->active, n) + missing(s->now, ways) +
                 missing(s->buffer, neighbours_buffer(d)) + missing(s->heavy, d->groups) + missing(s->rest, d->groups);
  CHECK(cudaMemGetInfo(&left, &all));
  if (bytes > MEMORY_FRACTION * (double)left) return 0;
  array_room(&s->pool, "device neighbours", entries);
  array_room(&s->way, "device neighbours", ways);
  array_room(&s->list, "device neighbours", n);
  array_room(&s->active, "device neighbours", n);
  array_room(&s->now, "device neighbours", ways);
  array_room(&s->buffer, "device neighbours", neighbours_buffer(d));
  array_room(&s->heavy, "device neighbours", d->groups);
  array_room(&s->rest, "device neighbours", d->groups);
  return 1;
}

static int decline(struct neighbours *s)
{
  s->declined = 1;
  s->pause = PAUSE;
  return 0;
}

static int make(struct device *d, const struct walk_request *r)
{
  struct neighbours *s = &d->neighbours;
  int64_t n = d->p.n;
  s->made = 0;
  if (s->declined || s->passing) return 0;
  if (s->r2 != r->split.r2) s->pause = 0;
  if (r->kind == WALK_TOTAL && s->pause > 0) s->pause--;
  if (s->pause > 0) return 0;
  s->tick = r->tick;
  s->horizon = r->kind == WALK_TOTAL ? HORIZON_SLACK * s->step : (TICKS - r->tick) * r->tick_length;
  s->spread = SPREAD * r->split.r2;
  s->mac = r->mac;
  s->r2 = r->split.r2;
  if (!s->numbers) s->numbers = (struct making_numbers *)device_alloc("device neighbours", sizeof *s->numbers);
  int64_t entries = FIRST_ENTRIES * n;
  if (!lists_room(d, entries + POOL_END)) return decline(s);
  float step = r->kind == WALK_TOTAL ? (float)s->step : 0;
  struct way_job job = {d->tree, s->way.at, d->p, d->lattice.inverse, s->horizon, (float)r->tick_length,
                        (float)((r->tick - d->motion_tick) * r->tick_length), (float)s->spread, r->tick,
                        d->closed ? 0.5f * step : step, d->closed ? 0 : 0.5f * step};
  LAUNCH(d, particle_ways, blocks_for(n, THREADS), THREADS, job);
  LAUNCH(d, node_ways, blocks_for(d->tree.nodes, THREADS), THREADS, job);
  device_zero(d, strays);
  d->told->strays = 0;
  s->heavy_most = (int32_t)((r->kind == WALK_TOTAL ? 1 : HEAVY_AGAIN) * HEAVY_MOST * d->groups);
  s->entries_most = (unsigned long long)NEIGHBOURS_MOST * (unsigned long long)n;
  do {
    if (!lists_room(d, entries + POOL_END)) return decline(s);
    s->made = neighbours_make(d, r);
    entries = (int64_t)s->told.top;
  } while (!s->made);
  if (neighbours_given_up(s)) {
    device_zero(d, tests);   /* how many were made depends on who came first */
    s->made = 0;
    s->pause = PAUSE;
    return 0;
  }
  s->unchecked = s->total = r->kind == WALK_TOTAL;
  return 1;
}

void neighbours_forget(struct device *d)
{
  d->neighbours.made = d->neighbours.declined = 0;
}

/* What the lists of the next synchronisation depend on beside the particles: the length of the last soft step, how many
 * synchronisations are to come without lists, and the R2 that this is about. */
void gpu_remember(struct device *d, double numbers[REMEMBERED], int set)
{
  struct neighbours *s = &d->neighbours;
  if (set) {
    s->step = numbers[0];
    s->pause = (int)numbers[1];
    s->r2 = (float)numbers[2];
    d->split_off = (int)numbers[3];
  } else {
    numbers[0] = s->step;
    numbers[1] = s->pause;
    numbers[2] = s->r2;
    numbers[3] = d->split_off;
  }
}

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* The active members of the listed groups, those of a group together. */
static __global__ void __launch_bounds__(THREADS) list_active(struct particles p, const struct group *group, const int32_t *list,
                                                              int32_t groups, int32_t tick, int32_t *active, int32_t *count)
{
  __shared__ int32_t begin[THREADS / WARP];
  int32_t k = (int32_t)(((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP), warp = (int32_t)threadIdx.x / WARP, found = 0;
  struct group g = {0, 0, 0};
  if (k < groups) g = group[list[k]];
  for (int32_t base = g.begin; base < g.end; base += WARP) {
    int32_t i = base + lane_id();
    found += __popc(__ballot_sync(FULL, i < g.end && timeline_end(&p, i) == tick));
  }
  if (lane_id() == 0) begin[warp] = found;
  __syncthreads();
  if (threadIdx.x == 0) {
    int32_t sum = 0;
    for (int w = 0; w < THREADS / WARP; w++) {
      int32_t n = begin[w];
      begin[w] = sum;
      sum += n;
    }
    int32_t from = sum > 0 ? atomicAdd(count, sum) : 0;
    for (int w = 0; w < THREADS / WARP; w++) begin[w] += from;
  }
  __syncthreads();
  int32_t at = begin[warp];
  for (int32_t base = g.begin; base < g.end; base += WARP) {
    int32_t i = base + lane_id();
    bool mine = i < g.end && timeline_end(&p, i) == tick;
    unsigned lanes = __ballot_sync(FULL, mine);
    if (mine) active[at + __popc(lanes & lanes_below())] = i;
    at += __popc(lanes);
  }
}

/* Groups without lists, of all (list NULL) or of the listed ones. Their order does not matter. */
static __global__ void list_rest(const int32_t *list, int32_t groups, const uint8_t *heavy, int32_t *rest, int32_t *count)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= groups) return;
  int32_t g = list ? list[k] : k;
  if (heavy[g]) rest[atomicAdd(count, 1)] = g;
}

static int32_t find_rest(struct device *d, int total)
{
  struct neighbours *s = &d->neighbours;
  int32_t groups = total ? d->groups : d->active_groups;
  if (s->told.heavy == 0) return 0;
  CHECK(cudaMemsetAsync(&s->numbers->rest, 0, sizeof s->numbers->rest, d->stream));
  LAUNCH(d, list_rest, blocks_for(groups, THREADS), THREADS, total ? NULL : d->active_group.at, groups, s->heavy.at, s->rest.at,
         &s->numbers->rest);
  CHECK(cudaMemcpyAsync(&s->told, s->numbers, sizeof s->told, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
  return s->told.rest;
}

/* --- evaluation -------------------------------------------------------------------------------------------------- */

struct use_job {
  struct tree t;
  struct particles p;
  const struct neighbour_list *list;
  const int32_t *pool, *active;      /* active NULL: all */
  const int32_t *count;
  const struct body *now;
  struct answers *answers;
  struct split split;
  double gravity;
  float spacing, eps2, inverse, dt_nodes, tick_length;
  float unit, y_slope, y_start;      /* of cells: the inverse of the walk's unit, in which high powers of distances stay within float32 */
  int32_t tick;
};

/* How far a source has moved from its place in the records. */
static __device__ __forceinline__ void source_moves(const struct use_job &job, int32_t j, int32_t x[3], float move[3], float *m)
{
  if (j < job.t.bodies) {
    const struct body b = job.t.body[j];
    const struct course c = job.t.course[j];
    float dt = (float)(job.tick - c.tick) * job.tick_length, half = 0.5f * dt;
    x[0] = b.x, x[1] = b.y, x[2] = b.z;
    *m = b.m;
    for (int k = 0; k < 3; k++) move[k] = (c.v[k] + c.a[k] * half) * dt;
  } else {
    const struct node n = load_node(&job.t.node[j - job.t.bodies]);
    const struct motion w = load_motion(&job.t.motion[j - job.t.bodies]);
    float half = 0.5f * job.dt_nodes * job.dt_nodes;
    *m = n.mass;
    for (int k = 0; k < 3; k++) {
      x[k] = n.x[k];
      move[k] = w.v[k] * job.dt_nodes + w.a[k] * half;
    }
  }
}

static __global__ void predict_sources(struct use_job job, struct body *now)
{
  int32_t j = (int32_t)(blockIdx.x * THREADS + threadIdx.x), x[3];
  float move[3], m;
  if (j >= job.t.bodies + job.t.nodes) return;
  source_moves(job, j, x, move, &m);
  const struct body b = {lattice_clamp(x[0] + (double)(move[0] * job.inverse)), lattice_clamp(x[1] + (double)(move[1] * job.inverse)),
                         lattice_clamp(x[2] + (double)(move[2] * job.inverse)), m};
  now[j] = b;
}

/* A source seen from a target. */
template <bool NOW> static __device__ __forceinline__ float4 seen(const struct use_job &job, int32_t j, const struct body &from)
{
  if (NOW) {
    const struct body b = job.now[j];
    return make_float4((float)(b.x - from.x) * job.spacing, (float)(b.y - from.y) * job.spacing, (float)(b.z - from.z) * job.spacing, b.m);
  }
  int32_t x[3];
  float move[3], m;
  source_moves(job, j, x, move, &m);
  return make_float4((float)(x[0] - from.x) * job.spacing + move[0], (float)(x[1] - from.y) * job.spacing + move[1],
                     (float)(x[2] - from.z) * job.spacing + move[2], m);
}

template <int SPLIT, int CELLS>
static __device__ __forceinline__ void add_source(const struct use_job &job, struct force &f, int32_t j, const float4 &e)
{
  const float none[3] = {0, 0, 0};
  if (CELLS != CELLS_MONOPOLE && j >= job.t.bodies) {
    struct quad q = load_quad(&job.t.quad[j - job.t.bodies]);
    float u = job.unit, u2 = u * u, x = u * e.x, y = u * e.y, z = u * e.z, sum[3] = {0, 0, 0};
    for (int k = 0; k < 6; k++) q.q[k] *= u2;
    if (CELLS == CELLS_QUADRUPOLE)
      add_hard_quad<SPLIT>(sum, x, y, z, e.w, q.q, u2 * job.eps2, job.y_slope, job.y_start);
    else
      add_hard_spread<SPLIT>(sum, x, y, z, e.w, q.q[0] + q.q[1] + q.q[2], u2 * job.eps2, job.y_slope, job.y_start);
    for (int k = 0; k < 3; k++) f.h[k] = fmaf(u2, sum[k], f.h[k]);
  } else {
    add_pair<false, false, SPLIT>(f, none, e, job.eps2, job.split);
  }
}

/* The sum over a target's list, of which each lane of its row has a part. The next entries are asked for before the sources
 * of these. */
template <int SPLIT, int CELLS, bool NOW>
static __device__ __forceinline__ void sum_list(const struct use_job &job, int32_t i, const int32_t *list, int rounds, double sum[3])
{
  if (rounds == 0) return;
  const struct body from = job.t.body[i];
  const int2 *entry = (const int2 *)list + lane_id() % ROW;
  int2 next = *entry;
  while (rounds > 0) {
    struct force f = {};
    int piece = min(rounds, (int)PIECE);
    rounds -= piece;
    for (; piece > 0; piece--) {
      const int32_t j[PAIR] = {next.x, next.y};
      float4 e[PAIR];
      entry += ROW;
      next = *entry;
#pragma unroll
      for (int k = 0; k < PAIR; k++) e[k] = seen<NOW>(job, j[k], from);
#pragma unroll
      for (int k = 0; k < PAIR; k++) add_source<SPLIT, CELLS>(job, f, j[k], e[k]);
    }
    for (int c = 0; c < 3; c++) sum[c] += f.h[c];
  }
}

/* A row of lanes takes a target at a time. */
template <int SPLIT, int CELLS, bool NOW>
static __global__ void __launch_bounds__(THREADS, USE_RESIDENT) use_lists(const __grid_constant__ struct use_job job)
{
  int32_t targets = job.active ? *job.count : job.t.bodies, rows = (int32_t)gridDim.x * TARGETS_A_BLOCK;
  int32_t row = (int32_t)(blockIdx.x * TARGETS_A_BLOCK + threadIdx.x / ROW);
  unsigned long long walked = 0, pairs = 0, cells = 0;
  for (int32_t base = 0; base < targets; base += rows) {
    int32_t m = base + row, i = 0;
    struct neighbour_list l = {LIST_NONE, 0, 0};
    if (m < targets) {
      i = job.active ? job.active[m] : m;
      l = job.list[i];
    }
    double sum[3] = {0, 0, 0};
    sum_list<SPLIT, CELLS, NOW>(job, i, job.pool + (l.count > 0 ? (int64_t)l.begin * LIST_ROUND : 0), (l.count + LIST_ROUND - 1) / LIST_ROUND, sum);
    __syncwarp();
    for (int step = 1; step < ROW; step *= 2)
      for (int c = 0; c < 3; c++) sum[c] += __shfl_xor_sync(FULL, sum[c], step);
    if (l.begin == LIST_NONE || threadIdx.x % ROW > 0) continue;
    for (int c = 0; c < 3; c++) job.p.acc_hard[3 * (int64_t)i + c] = (float)(job.gravity * sum[c]);
    job.p.work[i] += (float)l.count;
    walked++;
    pairs += l.count;
    cells += l.cells;
  }
  walked = __reduce_add_sync(FULL, (unsigned)walked);   /* of one warp: far below 2^32 */
  pairs = __reduce_add_sync(FULL, (unsigned)pairs);
  cells = __reduce_add_sync(FULL, (unsigned)cells);
  if (lane_id() > 0 || walked == 0) return;
  if (job.active) {
    atomicAdd(&job.answers->targets, walked);
    atomicAdd(&job.answers->groups, walked);
  }
  atomicAdd(&job.answers->particle_pairs, pairs - cells);
  atomicAdd(&job.answers->cell_pairs, cells);
  atomicAdd(&job.answers->split_pairs, pairs);
}

template <int SPLIT, int CELLS> static void launch(struct device *d, const struct use_job &job, int64_t targets)
{
  int64_t blocks = blocks_for(targets, TARGETS_A_BLOCK), most = (int64_t)EVALUATE_BLOCKS * d->multiprocessors;
  if (blocks > most) blocks = most;
  if (job.now)
    LAUNCH(d, (use_lists<SPLIT, CELLS, true>), blocks, THREADS, job);
  else
    LAUNCH(d, (use_lists<SPLIT, CELLS, false>), blocks, THREADS, job);
}

template <int SPLIT> static void launch_split(struct device *d, const struct use_job &job, int cells, int64_t targets)
{
  if (cells == CELLS_MONOPOLE)
    launch<SPLIT, CELLS_MONOPOLE>(d, job, targets);
  else if (cells == CELLS_QUADRUPOLE)
    launch<SPLIT, CELLS_QUADRUPOLE>(d, job, targets);
  else
    launch<SPLIT, CELLS_MIXED>(d, job, targets);
}

static void use(struct device *d, const struct walk_request *r)
{
  struct neighbours *s = &d->neighbours;
  int total = r->kind == WALK_TOTAL;
  int64_t n = d->p.n, sources = n + d->tree.nodes, targets = total ? n : d->actives;
  double unit = unit_of(d);
  struct use_job job = {d->tree, d->p, s->list.at, s->pool.at, total ? NULL : s->active.at, &s->numbers->active, NULL, d->answers,
                        r->split, d->config.gravity, (float)d->lattice.spacing,
                        (float)d->config.softening * (float)d->config.softening, (float)d->lattice.inverse,
                        (float)((r->tick - d->motion_tick) * r->tick_length), (float)r->tick_length,
                        (float)(1 / unit), (float)(r->split.inverse * unit), r->split.r2 * r->split.inverse, r->tick};
  if ((double)targets >= PREDICT_FRACTION * (double)n) {
    array_room(&s->now, "device neighbours", sources);
    LAUNCH(d, predict_sources, blocks_for(sources, THREADS), THREADS, job, s->now.at);
    job.now = s->now.at;
  }
  if (r->split.kernel == SPLIT_DLL)
    launch_split<SPLIT_DLL>(d, job, cells_of(d, &r->mac), targets);
  else
    launch_split<SPLIT_QUINTIC>(d, job, cells_of(d, &r->mac), targets);
}

int32_t neighbours_forces(struct device *d, const struct walk_request *r)
{
  struct neighbours *s = &d->neighbours;
  int total = r->kind == WALK_TOTAL;
  if (d->p.n == 0) return 0;
  if (d->parts > 1) return -1;   /* lists are of one tree */
  if (!total) s->step = TICKS * r->tick_length;
  if (!serve(d, r) && !make(d, r)) return -1;
  if (!total) {
    array_room(&s->active, "device neighbours", d->p.n);
    CHECK(cudaMemsetAsync(&s->numbers->active, 0, sizeof s->numbers->active, d->stream));
    LAUNCH(d, list_active, blocks_for((int64_t)d->active_groups * WARP, THREADS), THREADS, d->p, d->group.at, d->active_group.at,
           d->active_groups, r->tick, s->active.at, &s->numbers->active);
  }
  use(d, r);
  return find_rest(d, total);
}

void neighbours_free(struct device *d)
{
  struct neighbours *s = &d->neighbours;
  device_free("device neighbours", s->numbers, s->numbers ? sizeof *s->numbers : 0);
  array_free(&s->way);
  array_free(&s->list);
  array_free(&s->pool);
  array_free(&s->buffer);
  array_free(&s->heavy);
  array_free(&s->rest);
  array_free(&s->active);
  array_free(&s->now);
}
