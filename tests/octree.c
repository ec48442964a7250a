/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees of all kinds of particle sets: links, moments, moment updates. Other tests check forces on every backend; this
 * one inspects the tree of the CPU backend. */
#include <config.h>
#include "base/memory.h"
#include "cpu/device.h"
#include "rig.h"
#include "tap.h"

static void say(int good, const char *set, const char *what, const char *why)
{
  char line[400];
  snprintf(line, sizeof line, "%s: %s%s%s", set, what, good ? "" : ": ", good ? "" : why);
  tap_ok(good, line);
}

/* What the particles of a node sum up to, about its own centre, in doubles; positions are those of the lattice. */
struct truth {
  double mass, shift[3], quad[6], b, v[3], spread_v;
};

/* Where source j is at `tick`. */
static void source_at(const struct device *d, int32_t j, double dt, double x[3], double v[3])
{
  const struct sources *s = &d->tree.source;
  const double at[3] = {s->x[j], s->y[j], s->z[j]}, speed[3] = {s->vx[j], s->vy[j], s->vz[j]},
               a[3] = {s->ax[j], s->ay[j], s->az[j]};
  for (int c = 0; c < 3; c++) {
    x[c] = at[c] * d->lattice.spacing + speed[c] * dt + 0.5 * a[c] * dt * dt;
    v[c] = speed[c] + a[c] * dt;
  }
}

static struct truth sum_node(const struct device *d, int32_t i, double tick_length)
{
  struct truth t = {0};
  const struct node *n = &d->tree.node[i];
  double v[3], x[3];
  for (int32_t j = d->local.range[i].begin; j < d->local.range[i].end; j++) {
    double m = d->tree.source.m[j], r2 = 0;
    source_at(d, j, (d->tree.motion_tick - d->tree.source.tick[j]) * tick_length, x, v);
    for (int c = 0; c < 3; c++) {
      x[c] -= n->x[c] * d->lattice.spacing;
      r2 += x[c] * x[c];
      t.shift[c] += m * x[c];
      t.v[c] += m * v[c];
    }
    t.mass += m;
    t.b = fmax(t.b, sqrt(r2));
    const double product[6] = {x[0] * x[0], x[1] * x[1], x[2] * x[2], x[0] * x[1], x[0] * x[2], x[1] * x[2]};
    for (int q = 0; q < 6; q++) t.quad[q] += m * product[q];
  }
  for (int c = 0; c < 3; c++) {
    t.shift[c] /= t.mass;
    t.v[c] /= t.mass;
  }
  for (int32_t j = d->local.range[i].begin; j < d->local.range[i].end; j++) {
    double v2 = 0;
    source_at(d, j, (d->tree.motion_tick - d->tree.source.tick[j]) * tick_length, x, v);
    for (int c = 0; c < 3; c++) v2 += (v[c] - t.v[c]) * (v[c] - t.v[c]);
    t.spread_v = fmax(t.spread_v, sqrt(v2));
  }
  return t;
}

/* Every node's record against the sums; `loose`: how much larger than needed b may be. */
static void check_moments(const struct device *d, const char *set, const char *when, double tick_length, double loose)
{
  int mass = 1, centre = 1, quad = 1, encloses = 1, tight = 1, motion = 1;
  double h = d->lattice.spacing, moving = 0;
  for (int32_t j = 0; j < d->tree.source.n; j++)
    moving = fmax(moving, fabs(d->tree.source.vx[j]) + fabs(d->tree.source.vy[j]) + fabs(d->tree.source.vz[j]));
  for (int32_t i = 0; i < d->tree.nodes; i++) {
    const struct node *n = &d->tree.node[i];
    const struct motion *w = &d->tree.motion[i];
    struct truth t = sum_node(d, i, tick_length);
    int levels = 22 - d->local.range[i].level;
    mass &= fabs(n->mass - t.mass) <= 1e-6 * t.mass;
    for (int c = 0; c < 3; c++) {
      centre &= fabs(t.shift[c]) <= levels * h + 1e-6 * t.b; /* every level rounds to the lattice */
      motion &= fabs(w->v[c] - t.v[c]) <= 1e-5 * moving;
    }
    double size = t.mass * (t.b * t.b + 4 * h * t.b * levels + levels * levels * h * h);
    for (int q = 0; q < 6; q++)
      quad &= fabs(d->tree.quad[i][q] - t.quad[q]) <= 1e-5 * size + 2 * t.mass * h * levels * (t.b + h);
    encloses &= t.b <= n->b * (1 + 1e-6) + 2 * h;
    tight &= n->b <= loose * t.b + 2 * levels * h;
    motion &= t.spread_v <= w->spread_v * (1 + 1e-5) + 1e-5 * moving;
  }
  char what[150];
  snprintf(what, sizeof what, "%s, masses and centres are those of the particles", when);
  say(mass && centre, set, what, mass ? "centre" : "mass");
  snprintf(what, sizeof what, "%s, second moments", when);
  say(quad, set, what, "");
  snprintf(what, sizeof what, "%s, b encloses the particles and is not more than %.3g times too large", when, loose);
  say(encloses && tight, set, what, encloses ? "too large" : "too small");
  snprintf(what, sizeof what, "%s, velocities and their spread", when);
  say(motion, set, what, "");
}

/* Nodes hold consecutive particles in the order of the curve, and those of a node lie in one cell of its level; leaves
 * are as large as they may be, and no larger than they must. */
static int cells_are_cubes(const struct device *d, char *why, size_t size)
{
  for (int32_t i = 0; i < d->tree.nodes; i++) {
    const struct range *r = &d->local.range[i];
    const struct node *n = &d->tree.node[i];
    int shift = 31 - r->level, leaf = (n->info & NODE_LEAF) != 0, count = r->end - r->begin;
    if (count < 1) return snprintf(why, size, "node %d is empty", i), 0;
    if (leaf != (count <= d->config.max_leaf || r->level == KEY_LEVELS))
      return snprintf(why, size, "node %d of %d particles, level %d", i, count, r->level), 0;
    const struct sources *s = &d->tree.source;
    for (int32_t j = r->begin; shift < 31 && j < r->end; j++)
      if (s->x[j] >> shift != s->x[r->begin] >> shift || s->y[j] >> shift != s->y[r->begin] >> shift ||
          s->z[j] >> shift != s->z[r->begin] >> shift)
        return snprintf(why, size, "node %d is no cube", i), 0;
    if (leaf) continue;
    int32_t at = r->begin;
    for (int32_t k = n->first; k < n->first + (int32_t)(n->info & NODE_COUNT); at = d->local.range[k++].end)
      if (d->local.range[k].begin != at || d->local.range[k].level != r->level + 1)
        return snprintf(why, size, "children of node %d", i), 0;
    if (at != r->end) return snprintf(why, size, "children of node %d leave particles out", i), 0;
  }
  return 1;
}

static int sorted(const struct device *d)
{
  const struct sources *s = &d->tree.source;
  uint64_t last = 0;
  for (int32_t j = 0; j < s->n; j++) {
    uint64_t key = key_of(s->x[j], s->y[j], s->z[j]);
    if (key < last) return 0;
    last = key;
  }
  return 1;
}

/* Groups hold every particle once, in order, and no more than they may. */
static int groups_cover(const struct device *d)
{
  int32_t at = 0;
  for (int32_t g = 0; g < d->targets.groups; g++) {
    if (d->targets.group[g].begin != at || d->targets.group[g].end <= at ||
        d->targets.group[g].end - at > d->config.max_group)
      return 0;
    double min_value = 1e300;
    for (int32_t i = at; i < d->targets.group[g].end; i++)
      min_value =
          fmin(min_value, sqrt(pow(d->p.acc[3 * i], 2) + pow(d->p.acc[3 * i + 1], 2) + pow(d->p.acc[3 * i + 2], 2)));
    if (fabs(d->targets.group[g].a_old - min_value) > 1e-6 * min_value) return 0;
    at = d->targets.group[g].end;
  }
  return at == d->p.n;
}

static int32_t node_with(const struct device *d, int32_t begin, int32_t end)
{
  int32_t i = 0;
  while (!(d->tree.node[i].info & NODE_LEAF)) {
    int32_t k = d->tree.node[i].first, last = k + (int32_t)(d->tree.node[i].info & NODE_COUNT);
    while (k < last && !(d->local.range[k].begin <= begin && d->local.range[k].end >= end)) k++;
    if (k == last) break;
    i = k;
  }
  return i;
}

/* A limit to the width of groups: each lies in a cell that is no wider, or in a leaf, and none is divided without
 * need. */
static void check_widths(struct device *d, const struct backend *be, const char *set)
{
  double side = d->lattice.spacing * LATTICE_SIDE;
  int narrow = 1, whole = 1, cover = 1;
  int32_t unlimited = d->targets.groups;
  for (int level = 0; level < KEY_LEVELS; level++) {
    double width = side * exp2(-level) * (level % 2 ? 1 : 1.9); /* cells of this level are no wider, those above are */
    be->tree.tune(d, TUNABLE_GROUP_WIDTH, width);
    be->tree.groups(d);
    cover &= groups_cover(d);
    for (int32_t g = 0; g < d->targets.groups; g++) {
      int32_t i = node_with(d, d->targets.group[g].begin, d->targets.group[g].end);
      narrow &= d->local.range[i].level >= level || (d->tree.node[i].info & NODE_LEAF);
    }
    /* two neighbours that are one node, no wider, would have been one group */
    for (int32_t g = 0; g + 1 < d->targets.groups; g++) {
      int32_t i = node_with(d, d->targets.group[g].begin, d->targets.group[g + 1].end);
      int both =
          d->local.range[i].begin == d->targets.group[g].begin && d->local.range[i].end == d->targets.group[g + 1].end;
      whole &= !(both && d->local.range[i].level >= level &&
                 d->local.range[i].end - d->local.range[i].begin <= d->config.max_group);
    }
  }
  be->tree.tune(d, TUNABLE_GROUP_WIDTH, HUGE_VAL);
  be->tree.groups(d);
  say(cover, set, "groups of limited width hold every particle once", "");
  say(narrow, set, "and lie in cells that are no wider, or in leaves", "");
  say(whole, set, "cells that need no division are whole", "");
  say(d->targets.groups == unlimited, set, "without a limit they are what they were", "");
}

static void check_set(const struct set *set, int max_leaf)
{
  struct particles p;
  struct rig g;
  char why[300] = "";
  set_make(set, 1, &p);
  uint64_t digest = particles_digest(&p);
  for (int64_t k = 0; k < 3 * p.n; k++) p.acc[k] = (float)(k % 11) - 3.5f;
  rig_open(&g, &backend_cpu, set, &p, 2, max_leaf, 64);
  struct device *d = g.dev;
  say(sorted(d) && d->p.n == set->n && particles_digest(&d->p) == digest, set->name,
      "sorted along the curve, none lost", "");
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  g.be->tree.sources(d);
  g.be->tree.moments(d, &mac, 0, 0);
  g.be->tree.groups(d);
  say(octree_valid(&d->tree, d->lattice.spacing, why, sizeof why), set->name, "the tree is valid", why);
  say(cells_are_cubes(d, why, sizeof why), set->name,
      "nodes are the cells of an octree, leaves as large as they may be", why);
  say(groups_cover(d), set->name, "groups hold every particle once and have the smallest |a| of their members", "");
  check_widths(d, g.be, set->name);
  check_moments(d, set->name, "built", 0, 1.0001);
  /* a moment update within a soft step: a third of the particles have been corrected at a later tick */
  double tick_length = 0.1 * set->softening / TICKS;
  for (int32_t j = 0; j < d->tree.source.n; j += 3) {
    d->tree.source.tick[j] = TICKS / 4;
    d->tree.source.ax[j] = 0.5f;
    d->tree.source.vz[j] *= -1;
  }
  g.be->tree.moments(d, &mac, TICKS / 2, tick_length);
  check_moments(d, set->name, "updated", tick_length, 4);
  rig_close(&g);
}

/* Moments taken between select and correct: cells move as their particles do by then, active or not. */
static void check_moments_of_active(void)
{
  struct particles p;
  struct rig g;
  const double tick_length = 0.05 / TICKS;
  const int32_t tick = TICKS / 2;
  set_make(&sets[0], 0.1, &p);
  rig_open(&g, &backend_cpu, &sets[0], &p, 1, 16, 64);
  struct device *d = g.dev;
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  for (int64_t i = 0; i < d->p.n; i++) d->p.level[i] = i % 3 != 0;
  g.be->tree.sources(d);
  g.be->tree.moments(d, &mac, 0, 0);
  double change = 0;
  int64_t outside = 0;
  int64_t active = g.be->steps.select(d, tick, tick_length, &outside);
  g.be->tree.moments(d, &mac, tick, tick_length);
  int good = active == 2 * d->p.n / 3;
  for (int64_t i = 0; i < d->p.n; i++) change = fmax(change, fabs(tick * tick_length * d->p.acc_hard[3 * i]));
  for (int32_t i = 0; i < d->tree.nodes; i++) {
    double own[3] = {0}, m = 0;
    for (int32_t j = d->local.range[i].begin; j < d->local.range[i].end; j++) {
      double rest = tick * tick_length * (d->p.level[j] ? 0.5 : 1); /* active particles have had half of their kick */
      for (int c = 0; c < 3; c++) own[c] += d->p.mass[j] * (d->p.vel[3 * j + c] + rest * d->p.acc_hard[3 * j + c]);
      m += d->p.mass[j];
    }
    for (int c = 0; c < 3; c++) good &= fabs(own[c] / m - d->tree.motion[i].v[c]) < 1e-3 * change;
  }
  say(good, sets[0].name, "cells have the velocities of active particles before their correction",
      "they have the old ones");
  rig_close(&g);
}

/* The check of trees must see what is wrong. */
static void check_the_check(void)
{
  struct particles p;
  struct rig g;
  char why[300];
  set_make(&sets[0], 0, &p);
  rig_open(&g, &backend_cpu, &sets[0], &p, 1, 16, 64);
  struct octree *t = &g.dev->tree;
  struct mac mac = rig_mac(&g, MAC_ANGLE, 0.5);
  g.be->tree.moments(g.dev, &mac, 0, 0);
  int32_t leaf = 0;
  double h = g.dev->lattice.spacing;
  while (!(t->node[leaf].info & NODE_LEAF) || t->node[leaf].b == 0) leaf++;
  int32_t cell = 1;
  while (t->node[cell].info & NODE_LEAF) cell++;
  enum { FAULTS = 7 };
  const char *const fault[FAULTS] = {"a leaf elsewhere", "a particle less",    "too small a radius",    "too much mass",
                                     "a child less",     "children elsewhere", "a cell called terminal"};
  for (int k = 0; k < FAULTS; k++) {
    int32_t at = k < 3 ? leaf : k < 5 ? 0 : cell;
    struct node kept = t->node[at];
    if (k == 0) t->node[at].first ^= 1;
    if (k == 1 || k == 4) t->node[at].info -= 1;
    if (k == 2) t->node[at].b *= 0.5f;
    if (k == 3) t->node[at].mass *= 1.01f;
    if (k == 5) t->node[at].first += 1;
    if (k == 6) t->node[at].info |= NODE_TERMINAL;
    int seen = !octree_valid(t, h, why, sizeof why);
    t->node[at] = kept;
    say(seen && octree_valid(t, h, why, sizeof why), "octree_valid sees", fault[k], "it does not");
  }
  rig_close(&g);
}

/* The same device holds sets of different sizes one after the other. */
static void check_reuse(void)
{
  struct particles p;
  struct rig g;
  char why[300];
  int good = 1;
  set_make(&sets[0], 0, &p);
  rig_open(&g, &backend_cpu, &sets[0], &p, 1, 16, 64);
  struct mac mac = rig_mac(&g, MAC_ANGLE, 0.5);
  for (int k = SETS - 1; k >= 0; k--) {
    struct particles old;
    double low[3], high[3];
    g.be->download(g.dev, &old);
    particles_free(&old);
    set_make(&sets[k], 0, &p);
    g.be->upload(g.dev, &p);
    g.be->sets.bounds(g.dev, 0, low, high);
    struct lattice l = lattice_cover(low, high, 0.05, 0.1);
    g.be->tree.order(g.dev, &l);
    g.be->tree.build(g.dev, everywhere[0], everywhere[1]);
    g.be->tree.moments(g.dev, &mac, 0, 0);
    good &= octree_valid(&g.dev->tree, l.spacing, why, sizeof why) && g.dev->tree.source.n == sets[k].n;
  }
  say(good, "sets of many sizes on one device", "valid trees", why);
  rig_close(&g);
}

int main(void)
{
  for (int k = 0; k < SETS; k++) check_set(&sets[k], 16);
  check_set(&sets[0], 1);
  check_set(&sets[4], 1);
  check_moments_of_active();
  check_the_check();
  check_reuse();
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
