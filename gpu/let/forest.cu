/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forests: which trees a walk covers in one launch, and the roots from which it starts. */
#include <config.h>

#include "backend/let_verbs.h"
#include "base/debug.h"
#include "gpu/hard_walk/state.cuh"
#include "gpu/let/let.cuh"

/* LETs are collected until they have at least this fraction of the local tree's nodes and particles: fewer do not
 * justify a launch. */
#define LAUNCH_FRACTION_MIN 0.125

/* Some of the roots as a kernel argument, which needs no memory that outlives the call. */
enum { ROOTS_PER_LAUNCH = LANES };
struct roots_argument {
  int32_t root[ROOTS_PER_LAUNCH];
};

static __global__ void set_roots(int32_t *to, struct roots_argument from, int count)
{
  if ((int)threadIdx.x < count) to[threadIdx.x] = from.root[threadIdx.x];
}

/* The roots of the waiting LETs on the device. They are copied only if they differ from those of the last walk. */
static const int32_t *put_roots(struct device *d)
{
  struct let_state *l = d->let;
  int count = l->waiting.count;
  size_t bytes = sizeof(int32_t) * (size_t)count;
  if (count <= l->roots && memcmp(l->host_roots, l->waiting.root, bytes) == 0) return l->root.at;
  memcpy(l->host_roots, l->waiting.root, bytes);
  l->roots = count;
  array_reserve(&l->root, "device LETs", roots_max(d));
  for (int at = 0; at < count; at += ROOTS_PER_LAUNCH) {
    struct roots_argument some = {};
    int n = count - at < ROOTS_PER_LAUNCH ? count - at : (int)ROOTS_PER_LAUNCH;
    memcpy(some.root, l->host_roots + at, sizeof *some.root * (size_t)n);
    LAUNCH(d, set_roots, 1, ROOTS_PER_LAUNCH, l->root.at + at, some, n);
  }
  return l->root.at;
}

/* The forest of the waiting LETs. */
static void start_waiting(struct device *d, struct forest *forest)
{
  struct waiting_lets *w = &d->let->waiting;
  memset(forest, 0, sizeof *forest);
  forest->t = tree_with_lets(d);
  forest->roots = w->count;
  forest->ticks.count = 1;
  forest->ticks.tick[0] = w->motion_tick;
  forest->root = put_roots(d);
  forest->supergroups = forest->adding = INT32_MAX;
  lets_wait_for_arrivals(d);
  w->count = 0;
  w->size = 0;
}

/* LETs of a request by number: for each peer that of LET_SLOW (only at LET_STEP), then that of the request's kind.
 * NULL: there is none. */
static int trees_of(const struct walk_request *request) { return 2 * request->peer_count; }
static const struct incoming_let *tree_at(const struct device *d, const struct walk_request *request, int at)
{
  int kind = at % 2 ? request->let : LET_SLOW;
  const struct incoming_let *in = &d->let->in[kind][request->peers[at / 2]];
  return in->attached && in->nodes > 0 && (kind != LET_SLOW || request->let == LET_STEP) ? in : NULL;
}

/* Add a LET to the waiting ones, if its moments are of the same tick. Returns whether it was added. */
static bool join_waiting(struct device *d, const struct incoming_let *in)
{
  struct waiting_lets *w = &d->let->waiting;
  if (w->count > 0 && w->motion_tick != in->motion_tick) return false;
  w->root[w->count++] = in->root;
  w->size += (int64_t)in->nodes + in->bodies;
  w->motion_tick = in->motion_tick;
  return true;
}

static struct node_ticks local_ticks(const struct device *d)
{
  struct node_ticks ticks = {d->tree.parts, {}, {}};
  for (int k = 0; k < d->tree.parts; k++) {
    ticks.begin[k] = d->tree.part[k].base;
    ticks.tick[k] = d->tree.part[k].tick;
  }
  return ticks;
}

/* Add the roots of the local trees to the waiting ones, of which there are none. */
static void add_local_roots(struct device *d)
{
  const struct tree_roots roots = device_tree_roots(d);
  struct waiting_lets *w = &d->let->waiting;
  w->count = 0;
  for (int k = 0; k < roots.count; k++) w->root[w->count++] = roots.root[k];
}

static int local_tree(struct device *d, struct forest *forest)
{
  memset(forest, 0, sizeof *forest);
  forest->t = d->tree.view;
  forest->roots = d->tree.view.nodes > 0;
  forest->ticks = local_ticks(d);
  forest->supergroups = INT32_MAX;
  d->let->waiting.count = 0;
  d->let->waiting.size = 0;
  return 1;
}

/* The number of the first supergroups, which walk the local tree while LETs are in transit, and the LETs afterwards:
 * none by default, because two walks take longer than one over both, by more than the transfer between devices of one
 * host. */
static int32_t first_supergroups(const struct device *d)
{
  return (int32_t)(debug_value("first_part", 0) * d->targets.supergroups);
}

/* The first supergroups walk the local tree, whose roots are the first in the list of all. */
static int join_local(struct device *d, struct forest *forest)
{
  struct let_state *l = d->let;
  local_tree(d, forest);
  l->joined.supergroups = forest->supergroups = first_supergroups(d);
  add_local_roots(d);
  return 1;
}

/* All supergroups walk all roots, but the first ones those of LETs alone. */
static int join_all(struct device *d, struct forest *forest)
{
  start_waiting(d, forest);
  forest->ticks.tick[0] = d->tree.motion_tick;
  forest->adding = d->let->joined.supergroups;
  forest->local_roots = device_tree_roots(d).count;
  return 1;
}

static int next_joined(struct device *d, const struct walk_request *request, struct forest_parts *parts,
                       struct forest *forest)
{
  struct waiting_lets *w = &d->let->waiting;
  if (request->local && !parts->local_done) {
    parts->local_done = 1;
    return join_local(d, forest);
  }
  if (parts->done) return 0;
  for (; parts->at < trees_of(request); parts->at++) {
    const struct incoming_let *in = tree_at(d, request, parts->at);
    if (in) w->root[w->count++] = in->root;
  }
  parts->done = 1;
  return request->last ? join_all(d, forest) : 0;
}

bool forest_gains(const struct device *d, const struct walk_request *request)
{
  return request->kind == WALK_HARD && request->let == LET_STEP &&
         !(request->split.on && neighbours_expected(&d->hard));
}

/* Whether the local tree and all LETs of the request can be walked together: the moments of all slow trees must be of
 * one tick, and those of all fast trees of one tick. */
static bool can_walk_all_trees(const struct device *d, const struct walk_request *request)
{
  if (!request->local || request->peer_count == 0 || d->tree.view.nodes == 0 || !forest_gains(d, request)) return false;
  for (int k = 0; k < trees_of(request); k++) {
    const struct incoming_let *in = tree_at(d, request, k);
    if (in && in->motion_tick != (k % 2 ? d->tree.fast_tick : d->tree.motion_tick)) return false;
  }
  return true;
}

static int walk_all_trees(struct device *d, const struct walk_request *request, struct forest_parts *parts,
                          struct forest *forest)
{
  struct waiting_lets *w = &d->let->waiting;
  add_local_roots(d);
  for (; parts->at < trees_of(request); parts->at++) {
    const struct incoming_let *in = tree_at(d, request, parts->at);
    if (in) w->root[w->count++] = in->root;
  }
  parts->local_done = parts->done = 1;
  w->motion_tick = d->tree.motion_tick;
  start_waiting(d, forest);
  forest->ticks.count = 2;
  forest->ticks.begin[1] = d->tree.parts == 2 ? d->tree.part[FAST].base : d->tree.view.nodes + d->let->step_begin.nodes;
  forest->ticks.tick[1] = d->tree.fast_tick;
  forest->adding = 0;
  forest->whole = 1;
  return 1;
}

int forest_next(struct device *d, const struct walk_request *request, struct forest_parts *parts, struct forest *forest)
{
  struct waiting_lets *w = &d->let->waiting;
  if (forest_joins(request)) return next_joined(d, request, parts, forest);
  if (!parts->local_done && can_walk_all_trees(d, request)) return walk_all_trees(d, request, parts, forest);
  double enough = LAUNCH_FRACTION_MIN * ((double)d->tree.view.nodes + d->tree.view.bodies);
  if (request->local && !parts->local_done) {
    parts->local_done = 1;
    parts->done = request->peer_count == 0;
    return local_tree(d, forest);
  }
  if (parts->done) return 0;
  while (parts->at < trees_of(request) && (w->count == 0 || (double)w->size < enough)) {
    const struct incoming_let *in = tree_at(d, request, parts->at);
    if (in && !join_waiting(d, in)) break;
    parts->at++;
  }
  parts->done = parts->at == trees_of(request);
  if (w->count == 0 || (parts->done && !request->last && (double)w->size < enough)) return 0;
  start_waiting(d, forest);
  return 1;
}

void forest_walked(struct device *d, const struct forest *forest)
{
  if (forest->root) CHECK(runtime_event_record(d->let->walked, d->stream));
}
