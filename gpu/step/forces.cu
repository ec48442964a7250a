/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb `walk`: forces of all particles at a synchronisation, or of the active ones, from the local tree and from
 * LETs; by direct sums, depth-first walks, full walks or hard forces. */
#include <config.h>
#include <sched.h>
#include <time.h>

#include "gpu/direct/depth_first.cuh"
#include "gpu/direct/pairwise.cuh"
#include "gpu/hard_walk/hard.cuh"
#include "gpu/let/let.cuh"

/* Polls for messages follow each other at once for POLLS_AT_ONCE times, then after POLL_NANOSECONDS. */
enum { POLLS_AT_ONCE = 64, POLL_NANOSECONDS = 20000 };

static __global__ void decay_work(float *work, int64_t n)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < n) work[i] *= WORK_KEPT;
}

/* Wait for the work queued before the event, and poll for messages meanwhile. `early`: do not wait longer than until
 * all LETs have arrived, so that the walk of these can be queued. */
static void wait_for_walk(runtime_event event, const struct walk_request *request, bool early)
{
  const struct timespec poll_interval = {0, POLL_NANOSECONDS};
  runtime_error status;
  if (!request->poll_messages) return;
  enum poll_status poll = request->poll_messages(request->polled);
  int polls = 0;
  while (!(early && poll == POLL_COMPLETE) && (status = runtime_event_query(event)) != RUNTIME_SUCCESS) {
    if (status != RUNTIME_NOT_READY) CHECK(status);
    runtime_last_error(); /* clears RUNTIME_NOT_READY, which a later check would find */
    if (++polls > POLLS_AT_ONCE) nanosleep(&poll_interval, NULL);
    else sched_yield();
    poll = request->poll_messages(request->polled);
  }
}

static void add_tally(struct tally *tally, const struct device_results *host_results, double seconds)
{
  tally->seconds += seconds;
  tally->evaluating += seconds; /* traversal and pair loops are one kernel */
  tally->targets += (int64_t)host_results->walk.targets;
  tally->particle_pairs += (int64_t)host_results->walk.particle_pairs;
  tally->cell_pairs += (int64_t)host_results->walk.cell_pairs;
  tally->split_pairs += (int64_t)host_results->walk.split_pairs;
  tally->tests += (int64_t)host_results->walk.tests;
  tally->groups += (int64_t)host_results->walk.groups;
  for (int k = 0; k < COUNT_SLOTS; k++) {
    const struct walk_count *w = &host_results->walk.walked[k];
    tally->targets += (int64_t)w->targets;
    tally->particle_pairs += (int64_t)w->particle_pairs;
    tally->cell_pairs += (int64_t)w->cell_pairs;
    tally->tests += (int64_t)w->tests;
    tally->split_pairs += (int64_t)w->split_pairs;
    tally->groups += (int64_t)w->groups;
  }
}

void walk_complete_tally(struct device *d)
{
  const struct joined_walk *joined = &d->let->joined;
  float milliseconds = 0, rest = 0;
  CHECK(runtime_event_milliseconds(&milliseconds, d->timing.from,
                                   joined->two_launches ? joined->first_done : d->timing.to));
  if (joined->two_launches) {
    CHECK(runtime_event_milliseconds(&rest, joined->remainder_began, d->timing.to));
    d->walk.pending_tally->local_seconds += 1e-3 * milliseconds;
  }
  add_tally(d->walk.pending_tally, d->host_results, 1e-3 * (milliseconds + rest));
  d->walk.pending_tally = NULL;
}

int gpu_walks_at_once(struct device *d, const struct walk_request *request)
{
  return d->config.method != METHOD_NEXT_MORE && !pairwise_applies(d) && forest_gains(d, request);
}

int gpu_keeps_tree(struct device *d)
{
  return (d->softening.classes < 2 && neighbours_expected(&d->hard)) || pairwise_applies(d);
}

static void walk(struct device *d, const struct walk_request *request, struct tally *tally)
{
  struct forest f;
  if (d->walk.pending_tally) device_read_results(d);
  if (pairwise_applies(d)) {
    pairwise_walk(d, request, tally);
    return;
  }
  if (d->config.method == METHOD_NEXT_MORE) {
    depth_first_walk(d, request, tally);
    return;
  }
  struct joined_walk *joined = &d->let->joined;
  bool joins = forest_joins(request);
  d->walk.split_off = !request->split.on;
  if (request->local) {
    device_zero(d, walk);
    CHECK(runtime_event_record(d->timing.from, d->stream));
    if (walk_decays_work_first(request)) LAUNCH(d, decay_work, blocks_for(d->p.n, THREADS), THREADS, d->p.work, d->p.n);
    d->walk.few_listed = 0;
    joined->two_launches = !request->last;
    joined->remainder = false;
  } else if (!joined->remainder && (request->last || !joins)) {
    CHECK(runtime_event_record(joined->remainder_began, d->stream));
    joined->remainder = true;
  }
  device_stall(d);
  for (struct forest_parts parts = {}; forest_next(d, request, &parts, &f);) {
    if (f.t.nodes >= NODES_MAX) fatal("%d tree nodes on one device, at most %d: use more ranks", f.t.nodes, NODES_MAX);
    if (request->kind != WALK_HARD || !request->split.on) walk_full(d, request, &f);
    if (request->split.on && request->kind != WALK_SOFT) hard_forces(d, request, &f);
    forest_walked(d, &f);
  }
  if (!request->last) {
    if (!request->local) return;
    CHECK(runtime_event_record(joined->first_done, d->stream));
    wait_for_walk(joined->first_done, request, true);
    return;
  }
  CHECK(runtime_event_record(d->timing.to, d->stream));
  wait_for_walk(d->timing.to, request, false);
  d->walk.pending_tally = tally;
  if (!request->pending_tally) device_read_results(d);
}

/* A WALK_POTENTIAL: a walk of all forces whose results go to arrays of their own. Direct sums cannot be finer. */
static void walk_apart(struct device *d, struct walk_request request, struct tally *tally)
{
  struct energy_state *e = &d->energy;
  const struct particles usual = d->p;
  int split_off = d->walk.split_off;
  e->stride = pairwise_applies(d) ? 0 : d->config.method == METHOD_NEXT_MORE ? 1 : request.stride;
  e->soft = request.split.on;
  if (e->stride == 0) return;
  request.kind = request.split.on ? WALK_SOFT : WALK_TOTAL;
  request.add_potential = request.pending_tally = 0;
  d->p.pot = array_reserve(&e->fine, "device energies", d->p.n);
  d->p.acc = d->p.acc_hard = d->p.acc_soft = array_reserve(&e->unused, "device energies", 4 * d->p.n);
  d->p.work = d->p.acc + 3 * d->p.n;
  walk(d, &request, tally);
  d->p = usual;
  d->walk.split_off = split_off;
}

void gpu_walk(struct device *d, const struct walk_request *request, struct tally *tally)
{
  step_state_moved(&d->step);
  if (request->kind == WALK_POTENTIAL) walk_apart(d, *request, tally);
  else walk(d, request, tally);
}
