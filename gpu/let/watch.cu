/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watch on LETs of substeps: which local particle each entry of a peer is, and whether particles keep to the
 * trajectories that the selection of LETs assumed. */
#include <config.h>
#include <math.h>

#include "gpu/device/search.cuh"
#include "gpu/let/watch.cuh"

enum { ROW = 8 }; /* lanes for each leaf */

/* --- begin of the watch ------------------------------------------------------------------------------------------ */

struct let_trajectory_job {
  struct tree t;
  struct lattice lattice;
  struct let_trajectory *trajectory;
  const float *limit;       /* of boxes, */
  const int32_t *box_begin; /* whose particles begin here */
  int boxes;
  double a_typical, horizon, tick_length;
  int32_t tick;
};

/* The box of a target particle. */
static __device__ int box_of(const struct let_trajectory_job &job, int32_t i)
{
  return search_last(0, job.boxes, [&](int32_t k) { return job.box_begin[k] <= i; });
}

/* The straight trajectory from position and velocity at the job's tick. */
static __device__ struct let_trajectory trajectory_of(const struct let_trajectory_job &job, int32_t i, float limit)
{
  const struct body b = job.t.body[i];
  const struct motion_state w = job.t.motion_state[i];
  const int32_t x[3] = {b.x, b.y, b.z};
  double dt = (job.tick - w.tick) * job.tick_length;
  struct let_trajectory trajectory = {};
  trajectory.limit = limit;
  for (int c = 0; c < 3; c++) {
    trajectory.x[c] = lattice_clamp(x[c] + (w.v[c] + 0.5 * dt * w.a[c]) * dt * job.lattice.inverse);
    trajectory.v[c] = (float)(w.v[c] + dt * w.a[c]);
  }
  return trajectory;
}

/* A row of lanes processes a leaf. A particle's bound is the smaller of those of its leaf (as source) and its box (as
 * target). */
static __global__ void __launch_bounds__(THREADS)
    record_trajectories(const __grid_constant__ struct let_trajectory_job job)
{
  int64_t k = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / ROW;
  if (k >= job.t.nodes) return;
  const struct node n = load_node(&job.t.node[k]);
  if (!(n.info & NODE_LEAF)) return;
  const struct motion w = load_motion(&job.t.motion[k]);
  float leaf = (float)essential_deviation(essential_pull(&w), job.a_typical, job.horizon);
  int32_t end = n.first + (int32_t)(n.info & NODE_COUNT);
  for (int32_t i = n.first + lane_id() % ROW; i < end; i += ROW)
    job.trajectory[i] = trajectory_of(job, i, job.boxes > 0 ? fminf(leaf, job.limit[box_of(job, i)]) : leaf);
}

/* Queued. The host writes the page-locked memory of the last watch again: since then it has waited for the device, for
 * the boxes of this selection. */
static void watch_trajectories(struct device *d, const struct let_request *request)
{
  struct let_state *l = d->let;
  struct let_watch *w = &l->watch;
  struct let_trajectory_job job = {d->tree.view, d->lattice};
  float *limit = (float *)pinned_reserve(&l->boxes.numbers, sizeof *limit * BOX_MAX);
  for (int b = 0; b < l->boxes.count; b++)
    limit[b] = (float)essential_deviation(l->boxes.box[b].a_spread, request->a_typical, request->horizon);
  job.trajectory = array_reserve(&w->trajectory, "device LETs", d->p.n);
  job.limit = array_reserve(&w->limit, "device LETs", BOX_MAX);
  job.box_begin = l->boxes.begin.at;
  job.boxes = l->boxes.count;
  job.a_typical = request->a_typical;
  job.horizon = request->horizon;
  job.tick_length = request->tick_length;
  job.tick = request->tick;
  CHECK(runtime_copy(w->limit.at, limit, sizeof *limit * (size_t)l->boxes.count, TO_DEVICE, d->stream));
  LAUNCH(d, record_trajectories, blocks_for((int64_t)d->tree.view.nodes * ROW, THREADS), THREADS, job);
}

static int32_t append_entries(struct device *d, const struct outgoing_let *out, int32_t at)
{
  size_t bytes = sizeof(int32_t) * (size_t)out->bodies;
  if (bytes > 0) CHECK(runtime_copy(d->let->watch.from.at + at, out->body_from.at, bytes, ON_DEVICE, d->stream));
  return at + out->bodies;
}

/* List the entries of all peers, one peer after the other. Queued. */
static void watch_entries(struct device *d)
{
  struct let_state *l = d->let;
  struct let_watch *w = &l->watch;
  int64_t entries = 0;
  for (int p = 0; p < d->config.ranks; p++) entries += entries_of(l, p);
  if (entries > INT32_MAX / 2) fatal("%lld particles in LETs of one device: use more ranks", (long long)entries);
  w->entries = (int32_t)entries;
  array_reserve(&w->from, "device LETs", entries);
  array_reserve(&w->found, "device LETs", entries);
  array_reserve(&w->packed, "device LETs", entries * (int64_t)sizeof(struct update_entry));
  int32_t at = 0;
  for (int p = 0; p < d->config.ranks; p++) {
    l->out[LET_STEP][p].first = at;
    at = append_entries(d, &l->out[LET_SLOW][p], at);
    at = append_entries(d, &l->out[LET_STEP][p], at);
  }
}

static void watch_numbers(struct device *d)
{
  struct let_state *l = d->let;
  struct let_watch *w = &l->watch;
  int ranks = d->config.ranks;
  size_t bytes = sizeof(int32_t) * (size_t)numbers_count(d);
  array_reserve(&w->numbers, "device LETs", numbers_count(d));
  struct watch_counts host_results = numbers_in(d, pinned_reserve(&w->host_results, bytes));
  memset(w->host_results.at, 0, bytes);
  for (int p = 0; p < ranks; p++) {
    host_results.first[p] = l->out[LET_STEP][p].first;
    host_results.first_step[p] = host_results.first[p] + l->out[LET_SLOW][p].bodies;
  }
  host_results.first[ranks] = w->entries;
  for (int p = 0; p < ranks; p++) host_results.next[p] = TICKS;
  CHECK(runtime_copy(w->numbers.at, host_results.first, bytes, TO_DEVICE, d->stream));
}

void gpu_let_watch(struct device *d, const struct let_request *request)
{
  struct let_watch *w = &d->let->watch;
  w->on = true;
  w->tick = request->tick;
  w->collected = -1; /* corrections at this tick are still to come */
  w->tick_length = request->tick_length;
  w->end = request->tick + (int32_t)lrint(request->horizon / request->tick_length);
  w->watch_bounds = request->part == LET_OF_ALL;
  if (w->watch_bounds) watch_trajectories(d, request);
  watch_entries(d);
  watch_numbers(d);
}

/* --- bound violations -------------------------------------------------------------------------------------------- */

struct motion_bound_job {
  struct tree t;
  struct particles p;
  const struct let_trajectory *trajectory;
  const struct group *group;
  const int32_t *list;
  int32_t count, tick;
  double gone, left, spacing;
  unsigned long long *violations; /* [2]: all; those that exceed the bound already at the tick */
};

/* A warp processes a group with active particles: those that were corrected at the tick, now and at the end of the
 * watch. */
static __global__ void __launch_bounds__(THREADS) count_violations(const __grid_constant__ struct motion_bound_job job)
{
  int32_t k = (int32_t)((blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES);
  unsigned violations = 0, late = 0;
  if (k >= job.count) return;
  const struct group g = job.group[job.list[k]];
  for (int32_t i = g.begin + lane_id(); i < g.end; i += LANES) {
    if (job.p.tick[i] != job.tick) continue;
    const struct body b = job.t.body[i];
    const struct motion_state w = job.t.motion_state[i];
    const struct let_trajectory trajectory = job.trajectory[i];
    const int32_t x[3] = {b.x, b.y, b.z};
    /* both positions are rounded to the lattice */
    double now2 = 0, then2 = 0, limit = (double)trajectory.limit + 2 * job.spacing;
    for (int c = 0; c < 3; c++) {
      double off = ((double)x[c] - trajectory.x[c]) * job.spacing - trajectory.v[c] * job.gone;
      double then = off + (w.v[c] - trajectory.v[c] + 0.5 * job.left * w.a[c]) * job.left;
      now2 += off * off;
      then2 += then * then;
    }
    violations += now2 > limit * limit || then2 > limit * limit;
    late += now2 > limit * limit;
  }
  violations = warp_sum(violations);
  late = warp_sum(late);
  if (lane_id() > 0 || violations == 0) return;
  atomicAdd(&job.violations[0], (unsigned long long)violations);
  if (late > 0) atomicAdd(&job.violations[1], (unsigned long long)late);
}

/* Count the violations of the active particles into the device's results. Queued. */
static void queue_violations(struct device *d)
{
  const struct let_watch *w = &d->let->watch;
  struct motion_bound_job job = {
      d->tree.view, d->p, w->trajectory.at, d->targets.group.at, d->active.group.at, d->active.groups, d->active.tick};
  job.gone = (d->active.tick - w->tick) * w->tick_length;
  job.left = (w->end - d->active.tick) * w->tick_length;
  job.spacing = d->lattice.spacing;
  job.violations = d->device_results->left;
  device_zero(d, left);
  LAUNCH(d, count_violations, blocks_for((int64_t)d->active.groups * LANES, THREADS), THREADS, job);
}

/* The corrections that `updates.pack` will ask for are collected too: the host then waits once. */
int64_t gpu_violations(struct device *d, int64_t *late)
{
  const struct let_watch *w = &d->let->watch;
  if (!w->on || d->active.groups == 0) return 0;
  int counts = w->watch_bounds, collects = lets_collect(d, d->active.tick);
  if (counts) queue_violations(d);
  if (!counts && !collects) return 0;
  const struct device_results *host_results = device_read_results(d);
  d->step.next_read = 1;
  if (!counts) return 0;
  *late += (int64_t)host_results->left[1];
  return (int64_t)host_results->left[0];
}
