/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard forces from neighbour lists: the kernels that list the active targets and evaluate their lists. */
#include <config.h>

#include "gpu/hard_walk/neighbours.cuh"
#include "gpu/walk/cells.cuh"
#include "gpu/walk/pairs.cuh"
#include "particles/timeline.h"

/* All sources are predicted to the present tick first if at least this fraction of the particles is active. */
#define PREDICT_FRACTION 0.03

enum {
  ROW = 4, /* lanes of a target; each takes PAIR entries at a time */
  PAIR = LIST_ROUND / ROW,
  TARGETS_PER_BLOCK = THREADS / ROW,
  PIECE = 8, /* rounds of entries whose sum is kept in float32 */
  /* resident thread blocks on a multiprocessor; they limit the registers that the compiler uses */
  USE_RESIDENT = 5
};

/* --- targets ----------------------------------------------------------------------------------------------------- */

/* One warp takes one listed group and appends its active particles to `active`; those of a group are consecutive. */
static __global__ void __launch_bounds__(THREADS)
    list_active(struct particles particles, const struct group *group, const int32_t *list, int32_t groups,
                int32_t tick, int32_t *active, int32_t *count)
{
  __shared__ int32_t begin[THREADS / LANES];
  int32_t k = (int32_t)(((int64_t)blockIdx.x * THREADS + threadIdx.x) / LANES), warp = (int32_t)threadIdx.x / LANES,
          found = 0;
  struct group g = {0, 0, 0};
  if (k < groups) g = group[list[k]];
  for (int32_t base = g.begin; base < g.end; base += LANES) {
    int32_t i = base + lane_id();
    found += lane_count(warp_ballot(i < g.end && timeline_end(&particles, i) == tick));
  }
  if (lane_id() == 0) begin[warp] = found;
  __syncthreads();
  if (threadIdx.x == 0) {
    int32_t sum = 0;
    for (int w = 0; w < THREADS / LANES; w++) {
      int32_t n = begin[w];
      begin[w] = sum;
      sum += n;
    }
    int32_t from = sum > 0 ? atomicAdd(count, sum) : 0;
    for (int w = 0; w < THREADS / LANES; w++) begin[w] += from;
  }
  __syncthreads();
  int32_t at = begin[warp];
  for (int32_t base = g.begin; base < g.end; base += LANES) {
    int32_t i = base + lane_id();
    bool mine = i < g.end && timeline_end(&particles, i) == tick;
    lane_mask lanes = warp_ballot(mine);
    if (mine) active[at + lane_count(lanes & lanes_below())] = i;
    at += lane_count(lanes);
  }
}

/* --- evaluation -------------------------------------------------------------------------------------------------- */

struct use_job {
  struct tree t;
  struct particles p;
  const struct neighbour_list *list;
  const int32_t *pool, *active; /* targets; active NULL: all particles */
  const int32_t *count;         /* number of active targets */
  const struct body *now;       /* predicted sources; NULL: they are predicted for each pair */
  struct device_results *device_results;
  struct split split;
  double gravity;
  float spacing, eps2, inverse, dt_nodes, tick_length;
  /* for cells: inverse of the walk's unit (walk.cuh), and coefficients of Y in that unit */
  float unit, y_slope, y_start;
  int32_t tick;
};

/* Position x[3] of a source as stored (lattice), its displacement since then (user length), and its mass. */
static __device__ __forceinline__ void source_moves(const struct use_job &job, int32_t j, int32_t x[3], float move[3],
                                                    float *m)
{
  if (j < job.t.bodies) {
    const struct body b = job.t.body[j];
    const struct motion_state c = job.t.motion_state[j];
    float dt = (float)(job.tick - c.tick) * job.tick_length, half = 0.5f * dt;
    x[0] = b.x;
    x[1] = b.y;
    x[2] = b.z;
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

/* One thread predicts one source to the present tick. */
static __global__ void predict_sources(struct use_job job, struct body *now)
{
  int32_t j = (int32_t)(blockIdx.x * THREADS + threadIdx.x), x[3];
  float move[3], m;
  if (j >= job.t.bodies + job.t.nodes) return;
  source_moves(job, j, x, move, &m);
  const struct body b = {lattice_clamp(x[0] + (double)(move[0] * job.inverse)),
                         lattice_clamp(x[1] + (double)(move[1] * job.inverse)),
                         lattice_clamp(x[2] + (double)(move[2] * job.inverse)), m};
  now[j] = b;
}

/* Position of source j relative to a target (user length), and the mass of the source. NOW: sources are already
 * predicted. */
template <bool NOW>
static __device__ __forceinline__ float4 relative_source(const struct use_job &job, int32_t j, const struct body &from)
{
  if (NOW) {
    const struct body b = job.now[j];
    return make_float4((float)(b.x - from.x) * job.spacing, (float)(b.y - from.y) * job.spacing,
                       (float)(b.z - from.z) * job.spacing, b.m);
  }
  int32_t x[3];
  float move[3], m;
  source_moves(job, j, x, move, &m);
  return make_float4((float)(x[0] - from.x) * job.spacing + move[0], (float)(x[1] - from.y) * job.spacing + move[1],
                     (float)(x[2] - from.z) * job.spacing + move[2], m);
}

/* Add the hard force of source j, at the relative position e, to f. Moments of cells are evaluated in the walk's
 * unit. */
template <int SPLIT, int CELLS>
static __device__ __forceinline__ void add_source(const struct use_job &job, struct force &force, int32_t j,
                                                  const float4 &e)
{
  if (CELLS != CELLS_MONOPOLE && j >= job.t.bodies) {
    struct quad q = load_quad(&job.t.quad[j - job.t.bodies]);
    float u = job.unit, u2 = u * u, sum[3] = {0, 0, 0};
    const struct pair_f p = pair_of(make_float4(u * e.x, u * e.y, u * e.z, e.w), 0, 0, 0, u2 * job.eps2);
    for (int k = 0; k < 6; k++) q.q[k] *= u2;
    if (CELLS == CELLS_QUADRUPOLE) add_hard_quad<SPLIT>(sum, p, q.q, job.y_slope, job.y_start);
    else add_hard_spread<SPLIT>(sum, p, q.q[0] + q.q[1] + q.q[2], job.y_slope, job.y_start);
    for (int k = 0; k < 3; k++) force.h[k] = fmaf(u2, sum[k], force.h[k]);
  } else {
    add_pair<false, false, SPLIT>(force, pair_of(e, 0, 0, 0, job.eps2), job.split);
  }
}

/* Sum of the hard forces of a target's list, of which each of its ROW lanes takes a part. The next entries are loaded
 * before the sources of the present ones. */
template <int SPLIT, int CELLS, bool NOW>
static __device__ __forceinline__ void sum_list(const struct use_job &job, int32_t i, const int32_t *list, int rounds,
                                                double sum[3])
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
      for (int k = 0; k < PAIR; k++) e[k] = relative_source<NOW>(job, j[k], from);
#pragma unroll
      for (int k = 0; k < PAIR; k++) add_source<SPLIT, CELLS>(job, f, j[k], e[k]);
    }
    for (int c = 0; c < 3; c++) sum[c] += f.h[c];
  }
}

/* ROW neighbouring lanes evaluate the list of one target at a time; the grid strides over the targets. */
template <int SPLIT, int CELLS, bool NOW>
static __global__ void __launch_bounds__(THREADS, USE_RESIDENT) use_lists(const __grid_constant__ struct use_job job)
{
  int32_t targets = job.active ? *job.count : job.t.bodies, rows = (int32_t)gridDim.x * TARGETS_PER_BLOCK;
  int32_t row = (int32_t)(blockIdx.x * TARGETS_PER_BLOCK + threadIdx.x / ROW);
  unsigned long long walked = 0, pairs = 0, cells = 0;
  for (int32_t base = 0; base < targets; base += rows) {
    int32_t m = base + row, i = 0;
    struct neighbour_list l = {LIST_NONE, 0, 0};
    if (m < targets) {
      i = job.active ? job.active[m] : m;
      l = job.list[i];
    }
    double sum[3] = {0, 0, 0};
    sum_list<SPLIT, CELLS, NOW>(job, i, job.pool + (l.count > 0 ? (int64_t)l.begin * LIST_ROUND : 0),
                                (l.count + LIST_ROUND - 1) / LIST_ROUND, sum);
    warp_sync();
    for (int step = 1; step < ROW; step *= 2)
      for (int c = 0; c < 3; c++) sum[c] += warp_shuffle_xor(sum[c], step);
    if (l.begin == LIST_NONE || threadIdx.x % ROW > 0) continue;
    for (int c = 0; c < 3; c++) job.p.acc_hard[3 * (int64_t)i + c] = (float)(job.gravity * sum[c]);
    job.p.work[i] += (float)l.count;
    walked++;
    pairs += l.count;
    cells += l.cells;
  }
  walked = warp_sum((unsigned)walked); /* of one warp: far below 2^32 */
  pairs = warp_sum((unsigned)pairs);
  cells = warp_sum((unsigned)cells);
  if (lane_id() > 0 || walked == 0) return;
  if (job.active) {
    atomicAdd(&job.device_results->walk.targets, walked);
    atomicAdd(&job.device_results->walk.groups, walked);
  }
  atomicAdd(&job.device_results->walk.particle_pairs, pairs - cells);
  atomicAdd(&job.device_results->walk.cell_pairs, cells);
  atomicAdd(&job.device_results->walk.split_pairs, pairs);
}

template <int SPLIT, int CELLS> static void launch(struct device *d, const struct use_job &job, int64_t targets)
{
  int64_t blocks = blocks_for(targets, TARGETS_PER_BLOCK), max_blocks = (int64_t)EVALUATE_BLOCKS * d->multiprocessors;
  if (blocks > max_blocks) blocks = max_blocks;
  if (job.now) LAUNCH(d, (use_lists<SPLIT, CELLS, true>), blocks, THREADS, job);
  else LAUNCH(d, (use_lists<SPLIT, CELLS, false>), blocks, THREADS, job);
}

template <int SPLIT> static void launch_split(struct device *d, const struct use_job &job, int cells, int64_t targets)
{
  if (cells == CELLS_MONOPOLE) launch<SPLIT, CELLS_MONOPOLE>(d, job, targets);
  else if (cells == CELLS_QUADRUPOLE) launch<SPLIT, CELLS_QUADRUPOLE>(d, job, targets);
  else launch<SPLIT, CELLS_MIXED>(d, job, targets);
}

#define LAUNCH_SPLIT(kernel, name) \
  case SPLIT_##kernel: launch_split<SPLIT_##kernel>(d, job, cells_of(d, &r->mac), targets); break;
/* Queue the hard forces of all targets of the request that have lists. */
static void use(struct device *d, const struct walk_request *r)
{
  struct hard_state *s = &d->hard;
  int total = r->kind == WALK_TOTAL;
  int64_t n = d->p.n, sources = n + d->tree.view.nodes, targets = total ? n : d->active.count;
  double unit = unit_of(d);
  struct use_job job = {d->tree.view,
                        d->p,
                        s->list.at,
                        s->pool.at,
                        total ? NULL : s->active.at,
                        &s->numbers->active,
                        NULL,
                        d->device_results,
                        r->split,
                        d->config.gravity,
                        (float)d->lattice.spacing,
                        (float)softening_of(d) * (float)softening_of(d),
                        (float)d->lattice.inverse,
                        (float)((r->tick - d->tree.motion_tick) * r->tick_length),
                        (float)r->tick_length,
                        (float)(1 / unit),
                        (float)(r->split.inverse * unit),
                        r->split.r2 * r->split.inverse,
                        r->tick};
  if ((double)targets >= PREDICT_FRACTION * (double)n) {
    array_reserve(&s->now, "device neighbours", sources);
    LAUNCH(d, predict_sources, blocks_for(sources, THREADS), THREADS, job, s->now.at);
    job.now = s->now.at;
  }
  switch (r->split.kernel) {
    SPLIT_KERNELS(LAUNCH_SPLIT)
  }
}

void neighbours_evaluate(struct device *d, const struct walk_request *request)
{
  struct hard_state *s = &d->hard;
  int total = request->kind == WALK_TOTAL;
  if (!total) {
    array_reserve(&s->active, "device neighbours", d->p.n);
    CHECK(runtime_set_bytes(&s->numbers->active, 0, sizeof s->numbers->active, d->stream));
    LAUNCH(d, list_active, blocks_for((int64_t)d->active.groups * LANES, THREADS), THREADS, d->p, d->targets.group.at,
           d->active.group.at, d->active.groups, request->tick, s->active.at, &s->numbers->active);
  }
  use(d, request);
}
