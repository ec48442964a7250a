/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk: for every group of targets, the forest is traversed and the lists are evaluated. */
#include <config.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/walk_parts.h"

enum {
  TARGET_BLOCK = 8, /* targets that share a pruned hard list */
  SLACK = 64        /* entries past the end that padded loops may touch */
};

/* --- workspaces -------------------------------------------------------------------------------------------------- */

static void *carve(char **at, size_t bytes)
{
  void *here = *at;
  *at += (bytes + 63) / 64 * 64;
  return here;
}

static void carve_list(char **at, struct list *list, int quad, int differ)
{
  size_t bytes = sizeof(float) * (LIST_MAX + SLACK);
  list->x = carve(at, bytes);
  list->y = carve(at, bytes);
  list->z = carve(at, bytes);
  list->m = carve(at, bytes);
  for (int q = 0; q < 6 && quad; q++) list->quad[q] = carve(at, bytes);
  if (differ) list->eps2 = carve(at, bytes);
}

static void carve_targets(char **at, struct targets *targets)
{
  size_t reals = sizeof(float) * (GROUP_MAX + TARGET_PAD), sums = sizeof(double) * (GROUP_MAX + TARGET_PAD);
  targets->x = carve(at, reals);
  targets->y = carve(at, reals);
  targets->z = carve(at, reals);
  targets->scale = carve(at, reals);
  targets->eps2 = carve(at, reals);
  for (int c = 0; c < 3; c++) {
    targets->a[c] = carve(at, sums);
    targets->h[c] = carve(at, sums);
  }
  targets->pot = carve(at, sums);
}

static struct workspace *workspace_open(int differ)
{
  struct workspace *w = memory_alloc("walk", sizeof *w);
  char *at = w->memory =
      memory_alloc("walk", sizeof(float) * (LIST_MAX + SLACK) * 56 + sizeof(double) * (GROUP_MAX + SLACK) * 16);
  for (int k = 0; k < 2; k++) {
    carve_list(&at, &w->finds.cells[k], 1, differ);
    w->finds.cell_node[k] = carve(&at, sizeof(int32_t) * (LIST_MAX + SLACK));
    carve_list(&at, &w->particles[k], 0, differ);
  }
  w->particles[1].scale = carve(&at, sizeof(float) * (LIST_MAX + SLACK));
  carve_list(&at, &w->pruned, 1, differ);
  w->finds.leaf = carve(&at, sizeof(int32_t) * (LIST_MAX + SLACK));
  w->finds.leaf_near = carve(&at, LIST_MAX + SLACK);
  carve_targets(&at, &w->targets);
  carve_targets(&at, &w->sub);
  return w;
}

static void open_workspaces(struct device *d)
{
  if (d->workspace) return;
  d->workspace = memory_alloc("walk", sizeof *d->workspace * (size_t)d->threads);
  for (int t = 0; t < d->threads; t++) d->workspace[t] = workspace_open(d->softening.classes > 1);
}

void cpu_walk_free(struct device *d)
{
  for (int t = 0; d->workspace && t < d->threads; t++) {
    memory_free(d->workspace[t]->memory);
    memory_free(d->workspace[t]);
  }
  memory_free(d->workspace);
  d->workspace = NULL;
}

/* --- targets ----------------------------------------------------------------------------------------------------- */

static void pad_targets(struct targets *targets)
{
  for (int i = targets->n; i % TARGET_PAD; i++) {
    targets->x[i] = targets->x[targets->n - 1];
    targets->y[i] = targets->y[targets->n - 1];
    targets->z[i] = targets->z[targets->n - 1];
  }
}

static void clear_sums(struct targets *targets)
{
  for (int c = 0; c < 3; c++) {
    memset(targets->a[c], 0, sizeof(double) * (size_t)targets->n);
    memset(targets->h[c], 0, sizeof(double) * (size_t)targets->n);
  }
  memset(targets->pot, 0, sizeof(double) * (size_t)targets->n);
}

/* Collect the members of a group that are targets; active NULL: all. The centre of their box becomes the view's, the
 * ball encloses them. Sources that are targets are at their own position: records of active particles are at the
 * present tick. */
static int take_targets(const struct device *d, const struct group *group, const uint8_t *active,
                        struct workspace *workspace, struct view *view)
{
  const struct sources *s = &d->tree.source;
  struct targets *t = &workspace->targets;
  t->n = 0;
  int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  for (int32_t i = group->begin; i < group->end; i++) {
    if (active && !active[i]) continue;
    int32_t x[3] = {s->x[i], s->y[i], s->z[i]};
    for (int c = 0; c < 3; c++) {
      if (x[c] < low[c]) low[c] = x[c];
      if (x[c] > high[c]) high[c] = x[c];
    }
    workspace->member[t->n++] = i;
  }
  if (t->n == 0) return 0;
  for (int c = 0; c < 3; c++) view->centre[c] = low[c] + (high[c] - low[c]) / 2;
  float r2 = 0, h = view->spacing;
  for (int k = 0; k < t->n; k++) {
    int32_t i = workspace->member[k];
    t->x[k] = (float)(s->x[i] - view->centre[0]) * h;
    t->y[k] = (float)(s->y[i] - view->centre[1]) * h;
    t->z[k] = (float)(s->z[i] - view->centre[2]) * h;
    r2 = fmaxf(r2, t->x[k] * t->x[k] + t->y[k] * t->y[k] + t->z[k] * t->z[k]);
  }
  view->radius = sqrtf(r2) * (1 + 1e-6f);
  pad_targets(t);
  clear_sums(t);
  return t->n;
}

/* Scales of the collected targets, for soft pairs. */
static void scale_targets(const struct device *d, const struct split *split, struct workspace *workspace)
{
  struct targets *t = &workspace->targets;
  for (int k = 0; k < t->n; k++) t->scale[k] = 1 / split_factor(split, cpu_source_mass(d, workspace->member[k]));
  for (int k = t->n; k % TARGET_PAD; k++) t->scale[k] = t->scale[t->n - 1];
}

/* Squared softenings of the collected targets. */
static void soften_targets(const struct device *d, struct workspace *workspace)
{
  struct targets *t = &workspace->targets;
  for (int k = 0; k < t->n; k++)
    t->eps2[k] = d->softening.eps2[softening_class(d->tree.source.m[workspace->member[k]])];
  for (int k = t->n; k % TARGET_PAD; k++) t->eps2[k] = t->eps2[t->n - 1];
}

/* --- evaluation -------------------------------------------------------------------------------------------------- */

static void count(struct visit *visit, const struct list *list, int targets, int cells, int split)
{
  int64_t pairs = (int64_t)list->n * targets;
  if (cells) visit->w->tally.cell_pairs += pairs;
  else visit->w->tally.particle_pairs += pairs;
  if (split) visit->w->tally.split_pairs += pairs;
}

static void evaluate(struct visit *visit, const struct targets *targets, struct list *list, int cells,
                     const struct pair_job *job)
{
  if (list->n == 0) return;
  count(visit, list, targets->n, cells, job->hard || job->soft);
  double start = cpu_seconds();
  if (job->soft) visit->d->isa->soft_pairs(targets, list, job);
  else if (cells && visit->quad) visit->d->isa->quad_pairs(targets, list, job);
  else visit->d->isa->pairs(targets, list, job);
  visit->w->tally.evaluating += cpu_seconds() - start;
}

/* Hard sums of a near list: blocks of consecutive targets take only the entries within R2 of them. */
static void evaluate_pruned(struct visit *visit, struct list *list, int cells)
{
  const struct targets *t = &visit->w->targets;
  struct targets sub = *t;
  for (int first = 0; first < t->n; first += TARGET_BLOCK) {
    sub.n = t->n - first < TARGET_BLOCK ? t->n - first : TARGET_BLOCK;
    sub.x = t->x + first;
    sub.y = t->y + first;
    sub.z = t->z + first;
    sub.eps2 = t->eps2 + first;
    for (int c = 0; c < 3; c++) sub.h[c] = t->h[c] + first;
    float low[3] = {sub.x[0], sub.y[0], sub.z[0]}, high[3] = {sub.x[0], sub.y[0], sub.z[0]}, centre[3], r2 = 0;
    for (int i = 1; i < sub.n; i++) {
      low[0] = fminf(low[0], sub.x[i]);
      high[0] = fmaxf(high[0], sub.x[i]);
      low[1] = fminf(low[1], sub.y[i]);
      high[1] = fmaxf(high[1], sub.y[i]);
      low[2] = fminf(low[2], sub.z[i]);
      high[2] = fmaxf(high[2], sub.z[i]);
    }
    for (int c = 0; c < 3; c++) centre[c] = 0.5f * (low[c] + high[c]);
    for (int i = 0; i < sub.n; i++) {
      float x = sub.x[i] - centre[0], y = sub.y[i] - centre[1], z = sub.z[i] - centre[2];
      r2 = fmaxf(r2, x * x + y * y + z * z);
    }
    struct list *out = &visit->w->pruned;
    out->n = 0;
    visit->d->isa->filter(list, cells && visit->quad, centre, (sqrtf(r2) + visit->view.near) * (1 + 1e-6f), out);
    evaluate(visit, &sub, out, cells, &visit->split);
  }
}

static void use_list(struct visit *visit, struct list *list, int cells, int near)
{
  if (near && visit->pruned) evaluate_pruned(visit, list, cells);
  else
    evaluate(visit, &visit->w->targets, list, cells, near && !(cells && visit->soft) ? &visit->split : &visit->plain);
  list->n = 0;
}

static void stage_leaf(struct visit *visit, const struct node *leaf, int near)
{
  struct list *l = &visit->w->particles[near];
  int left = (int)(leaf->info & NODE_COUNT);
  for (int32_t first = leaf->first; left > 0;) {
    int capacity = LIST_MAX - l->n, n = left < capacity ? left : capacity;
    visit->d->isa->stage(visit->tree, &visit->view, first, n, l);
    if (l->n == LIST_MAX) use_list(visit, l, 0, near);
    first += n;
    left -= n;
  }
}

static void use_finds(struct visit *visit)
{
  struct finds *f = &visit->w->finds;
  for (int near = 0; near < 2; near++) {
    struct list *l = &f->cells[near];
    if (visit->quad) visit->d->isa->stage_quad(visit->tree, f->cell_node[near], l->n, l);
    use_list(visit, l, 1, near);
  }
  for (int k = 0; k < f->leaves; k++) stage_leaf(visit, &visit->tree->node[f->leaf[k]], f->leaf_near[k]);
  f->leaves = 0;
}

static void walk_tree(struct visit *visit, const struct octree *tree)
{
  if (tree->nodes == 0) return;
  struct workspace *w = visit->w;
  visit->tree = tree;
  w->stack[0] = 0;
  int depth = 1, done = 0;
  /* the traversal opens the nodes on the stack without a test, the root too; a root without children is tested
   * itself */
  while (!done) {
    done = visit->d->isa->traverse(tree, &visit->view, w->stack, &depth, &w->finds, LIST_MAX);
    use_finds(visit);
  }
  for (int near = 0; near < 2; near++) use_list(visit, &w->particles[near], 0, near);
}

/* Without softening a cell that moves must not come upon a target that is part of it by the rounding of positions (in
 * lattice spacings). */
#define BARE_CLEARANCE 4.0f

/* --- the verb ---------------------------------------------------------------------------------------------------- */

static void set_visit(struct device *d, const struct walk_request *request, struct visit *visit)
{
  int apart = request->kind == WALK_POTENTIAL, soft = request->kind == WALK_SOFT || (apart && request->split.on);
  int total = request->kind == WALK_TOTAL || (apart && !soft), all = request->kind != WALK_HARD;
  float eps = (float)d->config.softening;
  memset(visit, 0, sizeof *visit);
  visit->d = d;
  visit->quad = d->local.quadrupole;
  visit->pruned = !all && request->split.on;
  visit->soft = soft;
  visit->plain = (struct pair_job){.eps2 = eps * eps, .potential = all, .total = 1, .split = request->split};
  visit->split = (struct pair_job){.eps2 = eps * eps,
                                   .potential = total && request->potential,
                                   .total = total,
                                   .hard = request->split.on,
                                   .split = request->split};
  if (visit->soft)
    visit->split =
        (struct pair_job){.eps2 = eps * eps, .soft = 1, .core2 = split_core2(&request->split), .split = request->split};
  if (!request->split.on) visit->split = visit->plain;
  visit->view.spacing = (float)d->lattice.spacing;
  visit->view.near = visit->soft ? split_widest(&request->split) : request->split.on ? request->split.r2 : 0;
  visit->view.open_within = visit->soft ? visit->view.near : eps > 0 ? 0 : BARE_CLEARANCE * visit->view.spacing;
  visit->view.prune = visit->pruned;
  visit->view.order = request->mac.order;
  visit->view.tick = request->tick;
  visit->view.tick_length = (float)request->tick_length;
  visit->view.eps2 = d->softening.classes > 1 ? d->softening.eps2 : NULL;
}

/* Walk for group k of the walk. */
static void walk_group(struct device *d, const struct walk_request *request, struct visit *visit, int32_t k)
{
  const struct group *g = walk_group_of(d, request, k);
  const uint8_t *active = request->kind == WALK_HARD ? d->active.flag : NULL;
  struct tally *t = &visit->w->tally;
  int64_t before = t->particle_pairs + t->cell_pairs;
  if (!take_targets(d, g, active, visit->w, &visit->view)) return;
  visit->view.sink = mac_sink(&request->mac, fmax(g->a_old, request->a_floor)) * (visit->pruned ? HARD_REACH : 1);
  if (visit->soft) scale_targets(d, &request->split, visit->w);
  if (visit->view.eps2) soften_targets(d, visit->w);
  if (!request->local) before -= walk_take_sums(d, visit, request, k);
  if (request->local) {
    visit->view.dt_nodes = (float)((request->tick - d->tree.motion_tick) * request->tick_length);
    walk_tree(visit, &d->tree);
    t->targets += visit->w->targets.n;
    t->groups++;
  }
  for (int p = 0; p < request->peer_count; p++) {
    const struct let *let = sparse_find(&d->let[request->let], request->peers[p]);
    if (!let || !let->attached) continue;
    visit->view.dt_nodes = (float)((request->tick - let->tree.motion_tick) * request->tick_length);
    walk_tree(visit, &let->tree);
  }
  int64_t pairs = t->particle_pairs + t->cell_pairs - before;
  if (!request->last) {
    walk_keep_sums(d, visit, request, k, pairs);
    return;
  }
  walk_store(d, visit, request, pairs);
}

#define POLL_SECONDS 200e-6 /* between polls for messages */

/* The calling thread polls for messages after a group, unless it did so a short time ago. */
static void poll_after_group(const struct walk_request *request, double *last_poll)
{
  if (!request->poll_messages || omp_get_thread_num() != 0) return;
  double now = cpu_seconds();
  if (now - *last_poll < POLL_SECONDS) return;
  request->poll_messages(request->polled);
  *last_poll = cpu_seconds();
}

void cpu_walk(struct device *d, const struct walk_request *request, struct tally *tally)
{
  double start = cpu_seconds(), last_poll = start;
  int32_t groups = walk_group_count(d, request);
  open_workspaces(d);
  walk_need_sums(d, request);
  walk_need_potentials(d, request);
#pragma omp parallel num_threads(d->threads) if (groups > 1)
  {
    struct visit v;
    set_visit(d, request, &v);
    v.w = d->workspace[omp_get_thread_num()];
    memset(&v.w->tally, 0, sizeof v.w->tally);
    v.w->finds.tests = 0;
#pragma omp for schedule(dynamic, 1)
    for (int32_t k = 0; k < groups; k++) {
      walk_group(d, request, &v, k);
      poll_after_group(request, &last_poll);
    }
  }
  for (int t = 0; t < (groups > 1 ? d->threads : 1); t++) {
    struct tally *one = &d->workspace[t]->tally;
    tally->targets += one->targets;
    tally->particle_pairs += one->particle_pairs;
    tally->cell_pairs += one->cell_pairs;
    tally->split_pairs += one->split_pairs;
    tally->tests += d->workspace[t]->finds.tests;
    tally->groups += one->groups;
    tally->evaluating += one->evaluating / d->threads;
  }
  walk_free_sums(d, request);
  tally->seconds += cpu_seconds() - start;
}

enum { CEILING_TARGETS = 128, CEILING_REPEATS = 100, CEILING_TRIES = 5 };

/* The targets are in a cube about as large as their distances from the list, as in a walk; values do not matter. */
static void fill_ceiling(struct workspace *workspace)
{
  struct list *l = &workspace->particles[0];
  struct targets *t = &workspace->targets;
  l->n = LIST_MAX;
  t->n = CEILING_TARGETS;
  for (int j = 0; j < LIST_MAX; j++) {
    l->x[j] = (float)(j % 16);
    l->y[j] = (float)(j / 16 % 16);
    l->z[j] = (float)(j / 256);
    l->m[j] = 1;
    if (l->eps2) l->eps2[j] = 0.01f;
  }
  for (int i = 0; i < CEILING_TARGETS; i++) {
    t->x[i] = (float)(i % 4);
    t->y[i] = (float)(i / 4 % 4);
    t->z[i] = (float)(i / 16);
    t->eps2[i] = 0.01f;
  }
  clear_sums(t);
}

double cpu_ceiling(struct device *d)
{
  struct pair_job job = {.eps2 = 0.01f, .potential = 1, .total = 1};
  double best = 1e300;
  open_workspaces(d);
#pragma omp parallel num_threads(d->threads)
  fill_ceiling(d->workspace[omp_get_thread_num()]);
  for (int try = 0; try < CEILING_TRIES; try++) {
    double start = cpu_seconds();
#pragma omp parallel num_threads(d->threads)
    {
      struct workspace *w = d->workspace[omp_get_thread_num()];
      for (int k = 0; k < CEILING_REPEATS; k++) d->isa->pairs(&w->targets, &w->particles[0], &job);
    }
    best = fmin(best, cpu_seconds() - start);
  }
  for (int t = 0; t < d->threads; t++) d->workspace[t]->particles[0].n = 0;
  return (double)d->threads * CEILING_REPEATS * CEILING_TARGETS * LIST_MAX / best;
}
