/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Upsweep: centres of mass, radii, reaches of the acceptance criterion, second moments, motions. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"
#include "cpu/device.h"

/* Sums over the particles below a node, about the corner of the lattice; positions in lattice units. */
struct raw {
  double mass, x[3], v[3], a[3];
};

static void add_raw(struct raw *sum, double m, const double x[3], const double v[3], const double a[3])
{
  sum->mass += m;
  for (int c = 0; c < 3; c++) {
    sum->x[c] += m * x[c];
    sum->v[c] += m * v[c];
    sum->a[c] += m * a[c];
  }
}

/* The cell's own record from the sums; massless cells take the plain mean. */
static void set_centre(struct node *node, struct motion *motion, const struct raw *sum, const struct raw *plain)
{
  const struct raw *use = sum->mass > 0 ? sum : plain;
  node->mass = (float)sum->mass;
  for (int c = 0; c < 3; c++) {
    node->x[c] = lattice_clamp(use->x[c] / use->mass);
    motion->v[c] = (float)(use->v[c] / use->mass);
    motion->a[c] = (float)(use->a[c] / use->mass);
  }
}

static double length3(double x, double y, double z) { return sqrt(x * x + y * y + z * z); }

static void add_quad(double q[6], double m, const double x[3])
{
  q[0] += m * x[0] * x[0];
  q[1] += m * x[1] * x[1];
  q[2] += m * x[2] * x[2];
  q[3] += m * x[0] * x[1];
  q[4] += m * x[0] * x[2];
  q[5] += m * x[1] * x[2];
}

/* --- softenings --------------------------------------------------------------------------------------------------- */

static void leaf_softening(struct device *d, int32_t i)
{
  const struct range *r = &d->local.range[i];
  struct node_softening s = {.low = SOFTENING_CLASSES, .high = 0};
  for (int32_t j = r->begin; j < r->end; j++) {
    uint8_t k = d->softening.class_of[d->p.type[j]];
    s.sum += (double)d->p.mass[j] * d->softening.eps2[k];
    if (k < s.low) s.low = k;
    if (k > s.high) s.high = k;
  }
  d->local.soften[i] = s;
}

static void cell_softening(struct device *d, int32_t i)
{
  const struct node *n = &d->tree.node[i];
  struct node_softening s = {.low = SOFTENING_CLASSES, .high = 0};
  for (int32_t k = n->first; k < n->first + (int32_t)(n->info & NODE_COUNT); k++) {
    const struct node_softening *child = &d->local.soften[k];
    s.sum += child->sum;
    if (child->low < s.low) s.low = child->low;
    if (child->high > s.high) s.high = child->high;
  }
  d->local.soften[i] = s;
}

/* How far the squared softenings of node i differ. */
static double difference(const struct device *d, int32_t i)
{
  if (d->softening.classes < 2) return 0;
  const double *eps = d->softening.eps, low = eps[d->local.soften[i].low], high = eps[d->local.soften[i].high];
  return high * high - low * low;
}

/* What a node is besides its centre: radius, second moments, spreads; distances in units of length. */
struct shape {
  double b, spread_v, spread_a, quad[6];
};

/* Set radius and reach of node i, whose particles are within b of its centre; b2: trace of the second moments. */
static void set_reach(struct device *d, int32_t i, const struct mac *mac, double b, double b2)
{
  struct node *n = &d->tree.node[i];
  double spread = difference(d, i), radius = softening_radius(b, spread);
  float whole = mac_reach(mac, n->mass, radius, b2 + n->mass * spread);
  /* rounding up keeps the particles inside */
  n->b = (float)(radius * (1 + 1e-6));
  n->reach = d->local.range[i].cut && mac->order == 1 ? MAC_CUT * whole : whole;
  if (d->softening.classes < 2) return;
  const struct node_softening *s = &d->local.soften[i];
  n->reach = softening_pack_reach(n->reach, s->low, s->high,
                                  n->mass > 0 ? (float)(s->sum / n->mass) : d->softening.eps2[s->high]);
}

static void set_shape(struct device *d, int32_t i, const struct shape *shape, const struct mac *mac)
{
  d->tree.motion[i].spread_v = (float)shape->spread_v;
  d->tree.motion[i].spread_a = (float)shape->spread_a;
  set_reach(d, i, mac, shape->b, shape->quad[0] + shape->quad[1] + shape->quad[2]);
  for (int k = 0; k < 6; k++) d->tree.quad[i][k] = (float)shape->quad[k];
}

static void leaf_moments(struct device *d, int32_t i, const struct mac *mac, int32_t tick, double tick_length)
{
  struct node *n = &d->tree.node[i];
  struct motion *w = &d->tree.motion[i];
  struct sources plain = d->tree.source;
  const struct sources *s = &plain;
  struct leaf l;
  if (d->softening.classes > 1) plain.m = d->p.mass; /* without classes */
  int32_t origin[3] = {s->x[n->first], s->y[n->first], s->z[n->first]};
  d->isa->leaf(s, n->first, (int)(n->info & NODE_COUNT), tick, (float)tick_length, (float)d->lattice.spacing, &l);
  n->mass = l.mass;
  struct shape shape = {.spread_v = sqrt(l.spread_v2), .spread_a = sqrt(l.spread_a2)};
  double rounding2 = 0; /* the centre is rounded to the lattice: the radius about it grows by as much */
  for (int c = 0; c < 3; c++) {
    double x = origin[c] + l.centre[c] * d->lattice.inverse, moved;
    n->x[c] = lattice_clamp(x);
    moved = (n->x[c] - x) * d->lattice.spacing;
    rounding2 += moved * moved;
    w->v[c] = l.v[c];
    w->a[c] = l.a[c];
  }
  shape.b = n->info == (NODE_LEAF | 1) ? 0 : sqrt(l.b2) + sqrt(rounding2);
  for (int q = 0; q < 6; q++) shape.quad[q] = l.quad[q];
  set_shape(d, i, &shape, mac);
}

static void cell_centre(struct device *d, int32_t i)
{
  struct node *n = &d->tree.node[i];
  struct raw sum = {0}, plain = {0};
  for (int32_t k = n->first; k < n->first + (int32_t)(n->info & NODE_COUNT); k++) {
    const struct node *child = &d->tree.node[k];
    const struct motion *w = &d->tree.motion[k];
    double x[3], v[3], a[3], count = d->local.range[k].end - d->local.range[k].begin;
    for (int c = 0; c < 3; c++) {
      x[c] = child->x[c];
      v[c] = w->v[c];
      a[c] = w->a[c];
    }
    add_raw(&sum, child->mass, x, v, a);
    add_raw(&plain, count, x, v, a);
  }
  set_centre(n, &d->tree.motion[i], &sum, &plain);
}

/* Radii and spreads of a cell are bounds: the farthest child's centre plus the child's own. */
static void cell_shape(struct device *d, int32_t i, const struct mac *mac)
{
  struct node *n = &d->tree.node[i];
  const struct motion *w = &d->tree.motion[i];
  struct shape s = {0};
  for (int32_t k = n->first; k < n->first + (int32_t)(n->info & NODE_COUNT); k++) {
    const struct node *child = &d->tree.node[k];
    const struct motion *cw = &d->tree.motion[k];
    double x[3];
    for (int c = 0; c < 3; c++) x[c] = ((double)child->x[c] - n->x[c]) * d->lattice.spacing;
    s.b = fmax(s.b, length3(x[0], x[1], x[2]) + child->b);
    s.spread_v = fmax(s.spread_v, length3(cw->v[0] - w->v[0], cw->v[1] - w->v[1], cw->v[2] - w->v[2]) + cw->spread_v);
    s.spread_a = fmax(s.spread_a, length3(cw->a[0] - w->a[0], cw->a[1] - w->a[1], cw->a[2] - w->a[2]) + cw->spread_a);
    add_quad(s.quad, child->mass, x);
    for (int q = 0; q < 6; q++) s.quad[q] += d->tree.quad[k][q];
  }
  set_shape(d, i, &s, mac);
}

/* The radius that a cell's particles really have: the bound by children overestimates b by up to a factor of two, and b
 * enters every acceptance test. The largest cells keep the bound: they are few and mostly opened anyway, and a bound is
 * safe. */
enum { EXACT_RADIUS_MAX = 32768 };

/* `at`: the sources where they are at the time of the moments. */
static void exact_radius(struct device *d, int32_t i, const struct mac *mac, const struct sources *at)
{
  struct node *n = &d->tree.node[i];
  const struct range *r = &d->local.range[i];
  if (r->end - r->begin > EXACT_RADIUS_MAX) return;
  double b = sqrt(d->isa->farthest(at, r->begin, r->end, n->x)) * d->lattice.spacing;
  if (softening_radius(b, difference(d, i)) >= n->b) return;
  set_reach(d, i, mac, b, (double)d->tree.quad[i][0] + d->tree.quad[i][1] + d->tree.quad[i][2]);
}

static void exact_radii(struct device *d, const struct mac *mac, const struct sources *at)
{
#pragma omp parallel for schedule(dynamic, 64)
  for (int32_t i = 0; i < d->tree.nodes; i++)
    if (!(d->tree.node[i].info & NODE_LEAF)) exact_radius(d, i, mac, at);
}

/* The same where sources have times of their own. */
static void predicted_radii(struct device *d, const struct mac *mac, int32_t tick, double tick_length)
{
  const struct sources *s = &d->tree.source;
  const int32_t *x[3] = {s->x, s->y, s->z};
  const float *v[3] = {s->vx, s->vy, s->vz}, *a[3] = {s->ax, s->ay, s->az};
  struct sources at = {0};
  int32_t *there = memory_alloc("radii", sizeof *there * 3 * (size_t)(s->n + 1));
  for (int c = 0; c < 3; c++)
#pragma omp parallel for schedule(static)
    for (int32_t i = 0; i < s->n; i++) {
      double dt = (tick - s->tick[i]) * tick_length;
      there[(int64_t)c * s->n + i] = lattice_clamp(x[c][i] + (v[c][i] + 0.5 * dt * a[c][i]) * dt * d->lattice.inverse);
    }
  at.x = there;
  at.y = there + s->n;
  at.z = there + 2 * (int64_t)s->n;
  exact_radii(d, mac, &at);
  memory_free(there);
}

void cpu_moments(struct device *d, const struct mac *mac, int32_t tick, double tick_length)
{
  struct octree *t = &d->tree;
  t->motion_tick = tick;
  d->local.quadrupole = mac->order == 2;
  const int differ = d->softening.classes > 1;
  if (differ)
    cpu_reserve((void **)&d->local.soften, &d->local.soften_capacity, sizeof *d->local.soften * (size_t)(t->nodes + 1),
                "octree");
  for (int l = d->local.levels - 1; l >= 0; l--) {
#pragma omp parallel for schedule(static, 64)
    for (int32_t i = d->local.level_begin[l]; i < d->local.level_begin[l + 1]; i++) {
      if (t->node[i].info & NODE_LEAF) {
        if (differ) leaf_softening(d, i);
        leaf_moments(d, i, mac, tick, tick_length);
      } else {
        if (differ) cell_softening(d, i);
        cell_centre(d, i);
        cell_shape(d, i, mac);
      }
    }
  }
  int fresh = d->local.fresh;
  d->local.fresh = 0;
  if (tick != 0 && fresh) predicted_radii(d, mac, tick, tick_length);
  if (tick != 0) return; /* particles are elsewhere than their records say; a refresh makes do with bounds */
  exact_radii(d, mac, &t->source);
  char why[256];
  if (ESP_CHECKS && !octree_valid(t, d->lattice.spacing, why, sizeof why)) fatal("the octree is not valid: %s", why);
}

void cpu_sources(struct device *d)
{
  const struct particles *p = &d->p;
  struct sources *s = &d->tree.source;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    s->vx[i] = (float)p->vel[3 * i];
    s->vy[i] = (float)p->vel[3 * i + 1];
    s->vz[i] = (float)p->vel[3 * i + 2];
    s->ax[i] = p->acc_hard[3 * i];
    s->ay[i] = p->acc_hard[3 * i + 1];
    s->az[i] = p->acc_hard[3 * i + 2];
    s->tick[i] = p->tick[i];
  }
}
