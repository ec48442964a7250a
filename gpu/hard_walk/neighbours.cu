/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard forces from neighbour lists: when lists are constructed, for how long they are valid, and the trajectories that
 * they are based on. */
#include <config.h>
#include <string.h>

#include "gpu/hard_walk/neighbours.cuh"
#include "gpu/walk/cells.cuh"
#include "particles/timeline.h"

/* Allowed deviation of a particle from its straight trajectory, as a fraction of R2. A pair that is missed because of
 * such a deviation has a distance near R2, where K is below 1e-3. */
#define DEVIATION_PER_R2 0.01
/* Horizon of lists that are constructed at a synchronisation, over the length of the last soft step. They must last for
 * the soft step that follows, whose length is not yet known. */
#define HORIZON_SLACK 1.05
/* Lists do not pay if more than the fraction UNLISTED_SHARE_MAX of the groups has too many neighbours for lists, or if
 * the mean number of neighbours exceeds NEIGHBOURS_MAX. Walks in trees that are rebuilt within the soft step are
 * cheaper then: lists cost one to three full walks, and groups without lists walk an old tree. Lists are tried again
 * after RETRY_SOFT_STEPS soft steps. */
#define UNLISTED_SHARE_MAX 0.02
#define NEIGHBOURS_MAX 160
#define RETRY_SOFT_STEPS 16
/* The limit on groups without lists is larger by this factor within a soft step. Nodes have grown there, and lists that
 * served at its beginning must serve until its end, because several ranks cannot rebuild their trees within it. */
#define UNLISTED_SUBSTEP_FACTOR 2
/* The fraction of the free device memory that lists may take. */
#define MEMORY_FRACTION 0.8

enum {
  FIRST_ENTRIES = 48, /* entries for each particle in the first pool */
  LEAF_MAX = 64       /* most particles of a leaf whose trajectory radius is computed exactly */
};

/* --- trajectories ------------------------------------------------------------------------------------------------ */

struct trajectory_job {
  struct tree t;
  struct trajectory *trajectory;
  struct particles p;
  double inverse, horizon;
  float tick_length, dt_nodes, spread;
  int32_t tick;
  /* durations of the next kicks: by soft forces; by hard forces (particles without substeps) */
  float soft, closing;
};

static __device__ __forceinline__ float length(const float a[3])
{
  return sqrtf(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

/* The chord of the parabola x + v t + a t^2 / 2, from time dt after the stored state to the horizon. `pull` is the
 * largest |a| of the source: a parabola deviates from its chord by at most a t^2 / 8. */
static __device__ __forceinline__ struct trajectory make_trajectory(const struct trajectory_job &job,
                                                                    const int32_t x[3], const float v[3],
                                                                    const float a[3], double dt, float pull)
{
  struct trajectory w;
  double end = dt + job.horizon;
  for (int c = 0; c < 3; c++) {
    w.from[c] = lattice_clamp(x[c] + (v[c] + 0.5 * dt * a[c]) * dt * job.inverse);
    w.to[c] = lattice_clamp(x[c] + (v[c] + 0.5 * end * a[c]) * end * job.inverse);
  }
  w.deviation = job.spread + 0.125f * pull * (float)(job.horizon * job.horizon);
  w.b = 0;
  return w;
}

static __device__ __forceinline__ void store_trajectory(struct trajectory *to, const struct trajectory &trajectory)
{
  ((int4 *)to)[0] =
      make_int4(trajectory.from[0], trajectory.from[1], trajectory.from[2], __float_as_int(trajectory.deviation));
  ((int4 *)to)[1] = make_int4(trajectory.to[0], trajectory.to[1], trajectory.to[2], __float_as_int(trajectory.b));
}

/* At a synchronisation lists are constructed before the kicks that end one soft step and begin the next. These kicks
 * are extrapolated from the accelerations of the previous step: for a particle from its own, for a node from those of
 * its first particle. kick_node returns the velocity by which the kicks of the node's other particles may differ. */
static __device__ __forceinline__ void kick_particle(const struct trajectory_job &job, int32_t i,
                                                     struct motion_state *state)
{
  float part = job.closing * ((float)(TICKS - job.p.tick[i]) / TICKS);
  for (int k = 0; k < 3; k++) state->v[k] += job.soft * job.p.acc_soft[3 * (int64_t)i + k] + part * state->a[k];
}
static __device__ __forceinline__ float kick_node(const struct trajectory_job &job, int2 range, struct motion *motion)
{
  const float *first = &job.p.acc_soft[3 * (int64_t)range.x], *last = &job.p.acc_soft[3 * (int64_t)(range.y - 1)];
  const float differ[3] = {last[0] - first[0], last[1] - first[1], last[2] - first[2]};
  for (int k = 0; k < 3; k++) motion->v[k] += job.soft * first[k];
  return job.soft * length(differ) + job.closing * (length(motion->a) + motion->spread_a);
}

/* One thread makes the trajectory of one particle. */
static __global__ void particle_trajectories(struct trajectory_job job)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= job.t.bodies) return;
  const struct body b = job.t.body[i];
  struct motion_state c = job.t.motion_state[i];
  const int32_t x[3] = {b.x, b.y, b.z};
  if (job.soft > 0) kick_particle(job, i, &c);
  store_trajectory(&job.trajectory[i],
                   make_trajectory(job, x, c.v, c.a, (double)(job.tick - c.tick) * job.tick_length, length(c.a)));
}

/* One thread makes the trajectory of one node. The radius of a cell is its present radius plus the growth by the
 * spreads of its particles. The radius of a leaf is computed from the trajectories of its particles, and is much
 * smaller than by the spreads. */
static __global__ void node_trajectories(struct trajectory_job job)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= job.t.nodes) return;
  const struct node n = load_node(&job.t.node[k]);
  struct motion m = load_motion(&job.t.motion[k]);
  if (job.soft > 0) m.spread_v += kick_node(job, job.t.range[k], &m);
  float end = job.dt_nodes + (float)job.horizon, spacing = 1 / (float)job.inverse, radius = 0;
  int count = (int)(n.info & NODE_COUNT);
  struct trajectory w = make_trajectory(job, n.x, m.v, m.a, job.dt_nodes, length(m.a) + m.spread_a);
  w.b = n.b + m.spread_v * end + m.spread_a * (0.5f * end * end);
  if ((n.info & NODE_LEAF) && count <= LEAF_MAX) {
    for (int i = n.first; i < n.first + count; i++) {
      const struct trajectory p = job.trajectory[i];
      float from[3], to[3];
      for (int c = 0; c < 3; c++) {
        from[c] = (float)(p.from[c] - w.from[c]) * spacing;
        to[c] = (float)(p.to[c] - w.to[c]) * spacing;
      }
      radius = fmaxf(radius, fmaxf(length(from), length(to)));
    }
    w.b = fmaxf(n.b, radius * (1 + 1e-5f));
  }
  store_trajectory(&job.trajectory[job.t.bodies + k], w);
}

/* --- violations -------------------------------------------------------------------------------------------------- */

struct violation_job {
  struct tree t;
  const struct trajectory *trajectory;
  const int32_t *list, *count;            /* particles to be checked; count NULL: all */
  double spacing, tick_length, now, then; /* tick and end of the soft step, as fractions of the horizon */
  int32_t tick;
  int32_t *violations;
};

/* Whether a particle that was corrected deviates from its trajectory by more than is allowed: now, at the end of the
 * soft step, or in the middle of its parabola until then. */
static __device__ bool is_violation(const struct violation_job &job, int32_t i)
{
  const struct trajectory w = job.trajectory[i];
  const struct body b = job.t.body[i];
  const struct motion_state c = job.t.motion_state[i];
  const int32_t x[3] = {b.x, b.y, b.z};
  double dt = (job.tick - c.tick) * job.tick_length, end = (TICKS - c.tick) * job.tick_length, now2 = 0, then2 = 0,
         middle2 = 0;
  double limit = w.deviation + 2 * job.spacing; /* both ends are rounded to the lattice */
  for (int k = 0; k < 3; k++) {
    double along = (double)w.to[k] - w.from[k], off = x[k] - (double)w.from[k];
    double at_now = (off - along * job.now) * job.spacing + (c.v[k] + 0.5 * dt * c.a[k]) * dt;
    double at_end = (off - along * job.then) * job.spacing + (c.v[k] + 0.5 * end * c.a[k]) * end;
    double middle = 0.5 * (at_now + at_end) - 0.125 * c.a[k] * (end - dt) * (end - dt);
    now2 += at_now * at_now;
    then2 += at_end * at_end;
    middle2 += middle * middle;
  }
  return !(now2 <= limit * limit && then2 <= limit * limit && middle2 <= limit * limit);
}

/* Each thread checks particles of the list at the stride of the grid; each warp adds up its violations. */
static __global__ void count_violations(struct violation_job job)
{
  int32_t n = job.count ? *job.count : job.t.bodies, violations = 0;
  for (int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x); k < n; k += (int32_t)(gridDim.x * THREADS))
    violations += is_violation(job, job.count ? job.list[k] : k);
  violations = (int32_t)warp_sum((unsigned)violations);
  if (lane_id() == 0 && violations > 0) atomicAdd(job.violations, violations);
}

/* Queue the check of all particles, or of the active ones; d->device_results->violations is the number of
 * violations. */
static void check_violations(struct device *d, int32_t tick, double tick_length, int all)
{
  struct hard_state *s = &d->hard;
  struct violation_job job = {d->tree.view,
                              s->trajectory.at,
                              all ? NULL : s->active.at,
                              all ? NULL : &s->numbers->active,
                              d->lattice.spacing,
                              tick_length,
                              (tick - s->tick) * tick_length / s->horizon,
                              (TICKS - s->tick) * tick_length / s->horizon,
                              tick,
                              &d->device_results->violations};
  int64_t blocks = blocks_for(all ? d->p.n : d->active.count, THREADS),
          max_blocks = (int64_t)EVALUATE_BLOCKS * d->multiprocessors;
  LAUNCH(d, count_violations, blocks < max_blocks ? blocks : max_blocks, THREADS, job);
}

void neighbours_check_motion(struct device *d, int32_t tick, double tick_length)
{
  const struct hard_state *s = &d->hard;
  if (s->made && s->horizon > 0 && d->active.groups > 0) check_violations(d, tick, tick_length, 0);
}

/* --- whether lists serve ----------------------------------------------------------------------------------------- */

static int same_criterion(const struct mac *a, const struct mac *b)
{
  return a->kind == b->kind && a->order == b->order && a->gravity == b->gravity && a->delta == b->delta;
}

/* Whether existing lists serve the request: of its criterion and split, still valid, and without violations. */
static int lists_apply(struct device *d, const struct walk_request *request)
{
  struct hard_state *s = &d->hard;
  if (!s->made || s->r2 != request->split.r2 || !same_criterion(&s->mac, &request->mac) || request->tick < s->tick)
    return 0;
  if (request->kind == WALK_TOTAL) return s->total;
  s->total = 0;
  if ((TICKS - s->tick) * request->tick_length > s->horizon * (1 + 1e-6)) return 0;
  if (s->unchecked && s->horizon > 0) {
    check_violations(d, request->tick, request->tick_length, 1);
    s->unchecked = 0;
    if (device_read_results(d)->violations > 0) return 0;
  }
  return d->host_results->violations == 0 || d->tree.motion_tick <= s->tick;
}

/* Bytes that an array must grow by to hold n elements. */
template <typename T> static double missing(const struct array<T> &a, int64_t n)
{
  return n <= a.capacity ? 0 : (double)sizeof(T) * (double)with_slack(n);
}

/* Allocate lists of `entries` entries and all arrays that belong to them, if the memory suffices; else allocate nothing
 * and return 0. */
static int reserve_lists(struct device *d, int64_t entries)
{
  struct hard_state *s = &d->hard;
  int64_t n = d->p.n, trajectories = n + d->tree.view.nodes;
  size_t left = 0, all = 0;
  double bytes = missing(s->pool, entries) + missing(s->trajectory, trajectories) + missing(s->list, n) +
                 missing(s->active, n) + missing(s->now, trajectories) + missing(s->buffer, neighbours_buffer(d)) +
                 missing(s->heavy, d->targets.groups) + missing(s->unlisted, d->targets.groups);
  CHECK(runtime_memory(&left, &all));
  if (bytes > MEMORY_FRACTION * (double)left) return 0;
  array_reserve(&s->pool, "device neighbours", entries);
  array_reserve(&s->trajectory, "device neighbours", trajectories);
  array_reserve(&s->list, "device neighbours", n);
  array_reserve(&s->active, "device neighbours", n);
  array_reserve(&s->now, "device neighbours", trajectories);
  array_reserve(&s->buffer, "device neighbours", neighbours_buffer(d));
  array_reserve(&s->heavy, "device neighbours", d->targets.groups);
  array_reserve(&s->unlisted, "device neighbours", d->targets.groups);
  return 1;
}

/* Record that there is no memory for lists. Walks replace lists until the particles or the tree change, and for
 * RETRY_SOFT_STEPS soft steps. Returns 0. */
static int decline(struct hard_state *state)
{
  state->declined = 1;
  state->pause = RETRY_SOFT_STEPS;
  return 0;
}

/* Construct lists for a request. Returns 0 if they do not pay or have no memory. The host waits. */
static int make(struct device *d, const struct walk_request *request)
{
  struct hard_state *s = &d->hard;
  int64_t n = d->p.n;
  s->made = 0;
  if (s->declined || s->passing) return 0;
  if (s->r2 != request->split.r2) s->pause = 0;
  if (request->kind == WALK_TOTAL && s->pause > 0) s->pause--;
  if (s->pause > 0) return 0;
  s->tick = request->tick;
  s->horizon = request->kind == WALK_TOTAL ? HORIZON_SLACK * s->step : (TICKS - request->tick) * request->tick_length;
  s->spread = DEVIATION_PER_R2 * request->split.r2;
  s->mac = request->mac;
  s->r2 = request->split.r2;
  if (!s->numbers) s->numbers = (struct making_numbers *)device_alloc("device neighbours", sizeof *s->numbers);
  int64_t entries = FIRST_ENTRIES * n;
  if (!reserve_lists(d, entries + POOL_END)) return decline(s);
  float step = request->kind == WALK_TOTAL ? (float)s->step : 0;
  struct trajectory_job job = {d->tree.view,
                               s->trajectory.at,
                               d->p,
                               d->lattice.inverse,
                               s->horizon,
                               (float)request->tick_length,
                               (float)((request->tick - d->tree.motion_tick) * request->tick_length),
                               (float)s->spread,
                               request->tick,
                               d->step.closed ? 0.5f * step : step,
                               d->step.closed ? 0 : 0.5f * step};
  LAUNCH(d, particle_trajectories, blocks_for(n, THREADS), THREADS, job);
  LAUNCH(d, node_trajectories, blocks_for(d->tree.view.nodes, THREADS), THREADS, job);
  device_zero(d, violations);
  d->host_results->violations = 0;
  s->heavy_max =
      (int32_t)((request->kind == WALK_TOTAL ? 1 : UNLISTED_SUBSTEP_FACTOR) * UNLISTED_SHARE_MAX * d->targets.groups);
  s->entries_max = (unsigned long long)NEIGHBOURS_MAX * (unsigned long long)n;
  do {
    if (!reserve_lists(d, entries + POOL_END)) return decline(s);
    s->made = neighbours_make(d, request);
    entries = (int64_t)s->host_results.top;
  } while (!s->made);
  if (neighbours_over_budget(s)) {
    device_zero(d, walk.tests); /* their number depends on the order of the warps, so it is not reported */
    s->made = 0;
    s->pause = RETRY_SOFT_STEPS;
    return 0;
  }
  s->unchecked = s->total = request->kind == WALK_TOTAL;
  return 1;
}

/* The verb `remember`. Lists at the next synchronisation depend on the particles and on these numbers: the length of
 * the last soft step, the number of synchronisations until lists are tried again, and the R2 to which this number
 * applies. Soft steps are tried without units of stars by further ones. */
void gpu_remember(struct device *d, double numbers[REMEMBERED], int set)
{
  struct hard_state *s = &d->hard;
  if (set) {
    s->step = numbers[0];
    s->pause = (int)numbers[1];
    s->r2 = (float)numbers[2];
    d->walk.split_off = (int)numbers[3];
    d->lists.unit.trial.wait = (int)numbers[4];
    d->lists.unit.trial.pause = (int)numbers[5];
  } else {
    numbers[0] = s->step;
    numbers[1] = s->pause;
    numbers[2] = s->r2;
    numbers[3] = d->walk.split_off;
    numbers[4] = d->lists.unit.trial.wait;
    numbers[5] = d->lists.unit.trial.pause;
  }
}

/* --- groups without lists ---------------------------------------------------------------------------------------- */

/* One thread takes one group, of all groups (list NULL) or of the listed ones, and appends it to `unlisted` if it has
 * no lists. The order of `unlisted` has no effect on forces. */
static __global__ void list_remaining(const int32_t *list, int32_t groups, const uint8_t *heavy, int32_t *unlisted,
                                      int32_t *count)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= groups) return;
  int32_t g = list ? list[k] : k;
  if (heavy[g]) unlisted[atomicAdd(count, 1)] = g;
}

/* The number of groups without lists that need a walk, listed in s->unlisted. The host waits if there are any. */
static int32_t find_remaining(struct device *d, int total)
{
  struct hard_state *s = &d->hard;
  int32_t groups = total ? d->targets.groups : d->active.groups;
  if (s->host_results.heavy == 0) return 0;
  CHECK(runtime_set_bytes(&s->numbers->unlisted, 0, sizeof s->numbers->unlisted, d->stream));
  LAUNCH(d, list_remaining, blocks_for(groups, THREADS), THREADS, total ? NULL : d->active.group.at, groups,
         s->heavy.at, s->unlisted.at, &s->numbers->unlisted);
  CHECK(runtime_copy(&s->host_results, s->numbers, sizeof s->host_results, TO_HOST, d->stream));
  gpu_wait(d);
  return s->host_results.unlisted;
}

/* --- forces ------------------------------------------------------------------------------------------------------ */

int32_t neighbours_forces(struct device *d, const struct walk_request *request)
{
  struct hard_state *s = &d->hard;
  int total = request->kind == WALK_TOTAL;
  if (d->p.n == 0) return 0;
  if (d->order.bands) return -1; /* lists refer to the nodes of a single tree */
  if (!total) s->step = TICKS * request->tick_length;
  if (!lists_apply(d, request) && !make(d, request)) return -1;
  neighbours_evaluate(d, request);
  return find_remaining(d, total);
}

void hard_state_free(struct hard_state *state)
{
  device_free("device neighbours", state->numbers, state->numbers ? sizeof *state->numbers : 0);
  array_free(&state->trajectory);
  array_free(&state->list);
  array_free(&state->pool);
  array_free(&state->buffer);
  array_free(&state->heavy);
  array_free(&state->unlisted);
  array_free(&state->active);
  array_free(&state->now);
}
