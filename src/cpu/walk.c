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
  TARGET_BLOCK = 8,   /* targets that share a pruned hard list */
  SLACK = 64          /* entries past the end that padded loops may touch */
};

/* --- workspaces -------------------------------------------------------------------------------------------------- */

static void *carve(char **at, size_t bytes)
{
  void *here = *at;
  *at += (bytes + 63) / 64 * 64;
  return here;
}

static void carve_list(char **at, struct list *l, int quad, int differ)
{
  size_t bytes = sizeof(float) * (LIST_MAX + SLACK);
  l->x = carve(at, bytes), l->y = carve(at, bytes), l->z = carve(at, bytes), l->m = carve(at, bytes);
  for (int q = 0; q < 6 && quad; q++) l->quad[q] = carve(at, bytes);
  if (differ) l->eps2 = carve(at, bytes);
}

static void carve_targets(char **at, struct targets *t)
{
  size_t reals = sizeof(float) * (GROUP_MAX + TARGET_PAD), sums = sizeof(double) * (GROUP_MAX + TARGET_PAD);
  t->x = carve(at, reals), t->y = carve(at, reals), t->z = carve(at, reals), t->scale = carve(at, reals);
  t->eps2 = carve(at, reals);
  for (int c = 0; c < 3; c++) t->a[c] = carve(at, sums), t->h[c] = carve(at, sums);
  t->pot = carve(at, sums);
}

static struct workspace *workspace_open(int differ)
{
  struct workspace *w = memory_alloc("walk", sizeof *w);
  char *at = w->memory = memory_alloc("walk", sizeof(float) * (LIST_MAX + SLACK) * 56 + sizeof(double) * (GROUP_MAX + SLACK) * 16);
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

static void pad_targets(struct targets *t)
{
  for (int i = t->n; i % TARGET_PAD; i++) t->x[i] = t->x[t->n - 1], t->y[i] = t->y[t->n - 1], t->z[i] = t->z[t->n - 1];
}

static void clear_sums(struct targets *t)
{
  for (int c = 0; c < 3; c++) {
    memset(t->a[c], 0, sizeof(double) * (size_t)t->n);
    memset(t->h[c], 0, sizeof(double) * (size_t)t->n);
  }
  memset(t->pot, 0, sizeof(double) * (size_t)t->n);
}

/* Collect the members of a group that are targets; active NULL: all. The centre of their box becomes the view's, the ball encloses
 * them. Sources that are targets are at their own position: records of active particles are at the present tick. */
static int take_targets(const struct device *d, const struct group *g, const uint8_t *active, struct workspace *w, struct view *v)
{
  const struct sources *s = &d->tree.source;
  struct targets *t = &w->targets;
  t->n = 0;
  int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {0, 0, 0};
  for (int32_t i = g->begin; i < g->end; i++) {
    if (active && !active[i]) continue;
    int32_t x[3] = {s->x[i], s->y[i], s->z[i]};
    for (int c = 0; c < 3; c++) {
      if (x[c] < low[c]) low[c] = x[c];
      if (x[c] > high[c]) high[c] = x[c];
    }
    w->member[t->n++] = i;
  }
  if (t->n == 0) return 0;
  for (int c = 0; c < 3; c++) v->centre[c] = low[c] + (high[c] - low[c]) / 2;
  float r2 = 0, h = v->spacing;
  for (int k = 0; k < t->n; k++) {
    int32_t i = w->member[k];
    t->x[k] = (float)(s->x[i] - v->centre[0]) * h;
    t->y[k] = (float)(s->y[i] - v->centre[1]) * h;
    t->z[k] = (float)(s->z[i] - v->centre[2]) * h;
    r2 = fmaxf(r2, t->x[k] * t->x[k] + t->y[k] * t->y[k] + t->z[k] * t->z[k]);
  }
  v->radius = sqrtf(r2) * (1 + 1e-6f);
  pad_targets(t);
  clear_sums(t);
  return t->n;
}

/* Scales of the collected targets, for soft pairs. */
static void scale_targets(const struct device *d, const struct split *split, struct workspace *w)
{
  struct targets *t = &w->targets;
  for (int k = 0; k < t->n; k++) t->scale[k] = 1 / split_factor(split, cpu_source_mass(d, w->member[k]));
  for (int k = t->n; k % TARGET_PAD; k++) t->scale[k] = t->scale[t->n - 1];
}

/* Squared softenings of the collected targets. */
static void soften_targets(const struct device *d, struct workspace *w)
{
  struct targets *t = &w->targets;
  for (int k = 0; k < t->n; k++) t->eps2[k] = d->softening.eps2[softening_class(d->tree.source.m[w->member[k]])];
  for (int k = t->n; k % TARGET_PAD; k++) t->eps2[k] = t->eps2[t->n - 1];
}

/* --- evaluation -------------------------------------------------------------------------------------------------- */

static void count(struct visit *v, const struct list *l, int targets, int cells, int split)
{
  int64_t pairs = (int64_t)l->n * targets;
  if (cells)
    v->w->tally.cell_pairs += pairs;
  else
    v->w->tally.particle_pairs += pairs;
  if (split) v->w->tally.split_pairs += pairs;
}

static void evaluate(struct visit *v, const struct targets *t, struct list *l, int cells, const struct pair_job *job)
{
  if (l->n == 0) return;
  count(v, l, t->n, cells, job->hard || job->soft);
  double start = cpu_seconds();
  if (job->soft)
    v->d->isa->soft_pairs(t, l, job);
  else if (cells && v->quad)
    v->d->isa->quad_pairs(t, l, job);
  else
    v->d->isa->pairs(t, l, job);
  v->w->tally.evaluating += cpu_seconds() - start;
}

/* Hard sums of a near list: blocks of consecutive targets take only the entries within R2 of them. */
static void evaluate_pruned(struct visit *v, struct list *l, int cells)
{
  const struct targets *t = &v->w->targets;
  struct targets sub = *t;
  for (int first = 0; first < t->n; first += TARGET_BLOCK) {
    sub.n = t->n - first < TARGET_BLOCK ? t->n - first : TARGET_BLOCK;
    sub.x = t->x + first, sub.y = t->y + first, sub.z = t->z + first, sub.eps2 = t->eps2 + first;
    for (int c = 0; c < 3; c++) sub.h[c] = t->h[c] + first;
    float low[3] = {sub.x[0], sub.y[0], sub.z[0]}, high[3] = {sub.x[0], sub.y[0], sub.z[0]}, centre[3], r2 = 0;
    for (int i = 1; i < sub.n; i++) {
      low[0] = fminf(low[0], sub.x[i]), high[0] = fmaxf(high[0], sub.x[i]);
      low[1] = fminf(low[1], sub.y[i]), high[1] = fmaxf(high[1], sub.y[i]);
      low[2] = fminf(low[2], sub.z[i]), high[2] = fmaxf(high[2], sub.z[i]);
    }
    for (int c = 0; c < 3; c++) centre[c] = 0.5f * (low[c] + high[c]);
    for (int i = 0; i < sub.n; i++) {
      float x = sub.x[i] - centre[0], y = sub.y[i] - centre[1], z = sub.z[i] - centre[2];
      r2 = fmaxf(r2, x * x + y * y + z * z);
    }
    struct list *out = &v->w->pruned;
    out->n = 0;
    v->d->isa->filter(l, cells && v->quad, centre, (sqrtf(r2) + v->view.near) * (1 + 1e-6f), out);
    evaluate(v, &sub, out, cells, &v->split);
  }
}

static void use_list(struct visit *v, struct list *l, int cells, int near)
{
  if (near && v->pruned)
    evaluate_pruned(v, l, cells);
  else
    evaluate(v, &v->w->targets, l, cells, near && !(cells && v->soft) ? &v->split : &v->plain);
  l->n = 0;
}

static void stage_leaf(struct visit *v, const struct node *leaf, int near)
{
  struct list *l = &v->w->particles[near];
  int left = (int)(leaf->info & NODE_COUNT);
  for (int32_t first = leaf->first; left > 0;) {
    int room = LIST_MAX - l->n, n = left < room ? left : room;
    v->d->isa->stage(v->tree, &v->view, first, n, l);
    if (l->n == LIST_MAX) use_list(v, l, 0, near);
    first += n;
    left -= n;
  }
}

static void use_finds(struct visit *v)
{
  struct finds *f = &v->w->finds;
  for (int near = 0; near < 2; near++) {
    struct list *l = &f->cells[near];
    if (v->quad) v->d->isa->stage_quad(v->tree, f->cell_node[near], l->n, l);
    use_list(v, l, 1, near);
  }
  for (int k = 0; k < f->leaves; k++) stage_leaf(v, &v->tree->node[f->leaf[k]], f->leaf_near[k]);
  f->leaves = 0;
}

static void walk_tree(struct visit *v, const struct octree *tree)
{
  if (tree->nodes == 0) return;
  struct workspace *w = v->w;
  v->tree = tree;
  w->stack[0] = 0;
  int depth = 1, done = 0;
  /* the traversal opens the nodes on the stack without a test, the root too; a root without children is tested itself */
  while (!done) {
    done = v->d->isa->traverse(tree, &v->view, w->stack, &depth, &w->finds, LIST_MAX);
    use_finds(v);
  }
  for (int near = 0; near < 2; near++) use_list(v, &w->particles[near], 0, near);
}

/* Without softening a cell that moves must not come upon a target that is part of it by the rounding of positions (in lattice spacings). */
#define BARE_CLEARANCE 4.0f

/* --- the verb ---------------------------------------------------------------------------------------------------- */

static void set_visit(struct device *d, const struct walk_request *r, struct visit *v)
{
  int apart = r->kind == WALK_POTENTIAL, soft = r->kind == WALK_SOFT || (apart && r->split.on);
  int total = r->kind == WALK_TOTAL || (apart && !soft), all = r->kind != WALK_HARD;
  float eps = (float)d->config.softening;
  memset(v, 0, sizeof *v);
  v->d = d;
  v->quad = d->quadrupole;
  v->pruned = !all && r->split.on;
  v->soft = soft;
  v->plain = (struct pair_job){.eps2 = eps * eps, .potential = all, .total = 1, .split = r->split};
  v->split = (struct pair_job){.eps2 = eps * eps, .potential = total && r->potential, .total = total, .hard = r->split.on, .split = r->split};
  if (v->soft) v->split = (struct pair_job){.eps2 = eps * eps, .soft = 1, .core2 = split_core2(&r->split), .split = r->split};
  if (!r->split.on) v->split = v->plain;
  v->view.spacing = (float)d->lattice.spacing;
  v->view.near = v->soft ? split_widest(&r->split) : r->split.on ? r->split.r2 : 0;
  v->view.open_within = v->soft ? v->view.near : eps > 0 ? 0 : BARE_CLEARANCE * v->view.spacing;
  v->view.prune = v->pruned;
  v->view.order = r->mac.order;
  v->view.tick = r->tick;
  v->view.tick_length = (float)r->tick_length;
  v->view.eps2 = d->softening.classes > 1 ? d->softening.eps2 : NULL;
}

/* Walk for group k of the walk. */
static void walk_group(struct device *d, const struct walk_request *r, struct visit *v, int32_t k)
{
  const struct group *g = walk_group_of(d, r, k);
  const uint8_t *active = r->kind == WALK_HARD ? d->active : NULL;
  struct tally *t = &v->w->tally;
  int64_t before = t->particle_pairs + t->cell_pairs;
  if (!take_targets(d, g, active, v->w, &v->view)) return;
  v->view.sink = mac_sink(&r->mac, fmax(g->a_old, r->a_floor)) * (v->pruned ? HARD_REACH : 1);
  if (v->soft) scale_targets(d, &r->split, v->w);
  if (v->view.eps2) soften_targets(d, v->w);
  if (!r->local) before -= walk_take_sums(d, v, r, k);
  if (r->local) {
    v->view.dt_nodes = (float)((r->tick - d->tree.motion_tick) * r->tick_length);
    walk_tree(v, &d->tree);
    t->targets += v->w->targets.n;
    t->groups++;
  }
  for (int p = 0; p < r->peer_count; p++) {
    const struct let *let = sparse_find(&d->let[r->let], r->peers[p]);
    if (!let || !let->attached) continue;
    v->view.dt_nodes = (float)((r->tick - let->tree.motion_tick) * r->tick_length);
    walk_tree(v, &let->tree);
  }
  int64_t pairs = t->particle_pairs + t->cell_pairs - before;
  if (!r->last) {
    walk_keep_sums(d, v, r, k, pairs);
    return;
  }
  walk_store(d, v, r, pairs);
}

#define POLL_SECONDS 200e-6   /* between polls for messages */

/* The calling thread polls for messages after a group, unless it did so a short time ago. */
static void poll_after_group(const struct walk_request *r, double *last_poll)
{
  if (!r->poll_messages || omp_get_thread_num() != 0) return;
  double now = cpu_seconds();
  if (now - *last_poll < POLL_SECONDS) return;
  r->poll_messages(r->polled);
  *last_poll = cpu_seconds();
}

void cpu_walk(struct device *d, const struct walk_request *r, struct tally *tally)
{
  double start = cpu_seconds(), last_poll = start;
  int32_t groups = walk_group_count(d, r);
  open_workspaces(d);
  walk_need_sums(d, r);
  walk_need_potentials(d, r);
#pragma omp parallel num_threads(d->threads) if (groups > 1)
  {
    struct visit v;
    set_visit(d, r, &v);
    v.w = d->workspace[omp_get_thread_num()];
    memset(&v.w->tally, 0, sizeof v.w->tally);
    v.w->finds.tests = 0;
#pragma omp for schedule(dynamic, 1)
    for (int32_t k = 0; k < groups; k++) {
      walk_group(d, r, &v, k);
      poll_after_group(r, &last_poll);
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
  walk_free_sums(d, r);
  tally->seconds += cpu_seconds() - start;
}

enum { CEILING_TARGETS = 128, CEILING_REPEATS = 100, CEILING_TRIES = 5 };

/* The targets are in a cube about as large as their distances from the list, as in a walk; values do not matter. */
static void fill_ceiling(struct workspace *w)
{
  struct list *l = &w->particles[0];
  struct targets *t = &w->targets;
  l->n = LIST_MAX;
  t->n = CEILING_TARGETS;
  for (int j = 0; j < LIST_MAX; j++) {
    l->x[j] = (float)(j % 16), l->y[j] = (float)(j / 16 % 16), l->z[j] = (float)(j / 256);
    l->m[j] = 1;
    if (l->eps2) l->eps2[j] = 0.01f;
  }
  for (int i = 0; i < CEILING_TARGETS; i++) t->x[i] = (float)(i % 4), t->y[i] = (float)(i / 4 % 4), t->z[i] = (float)(i / 16), t->eps2[i] = 0.01f;
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
