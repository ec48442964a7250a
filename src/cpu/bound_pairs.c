/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "cpu/bound_pairs.h"

#include <stdlib.h>

#include "base/memory.h"

/* --- search ------------------------------------------------------------------------------------------------------ */

/* A point mass: a particle, or the centre of mass of a pair. */
struct point {
  double x[3], v[3], m;
};

/* What a search works with. nearest[i]: the nearest neighbour of particle i within pair_limit, or -1; then its partner. */
struct search {
  const struct bound_view *view;
  const struct bound_lists *lists;
  const struct hard_request *request;
  double softening;
  int32_t *nearest;
};

static void relative(const struct bound_view *w, int64_t i, int64_t j, double d[3], double u[3])
{
  for (int c = 0; c < 3; c++) {
    d[c] = w->x[j * w->stride + c] - w->x[i * w->stride + c];
    u[c] = w->v[j * w->stride + c] - w->v[i * w->stride + c];
  }
}

static int32_t nearest_of(const struct search *s, int64_t i)
{
  double least = s->request->pair_limit * s->request->pair_limit, d[3], u[3];
  int32_t found = -1;
  for (int64_t k = s->lists->start[i]; k < s->lists->start[i + 1]; k++) {
    int32_t j = s->lists->index[k];
    relative(s->view, i, j, d, u);
    double r2 = kepler_dot(d, d);
    if (j == i || r2 > least || (r2 == least && found >= 0 && s->view->id[j] > s->view->id[found])) continue;
    least = r2;
    found = j;
  }
  return found;
}

/* Returns 1 where i and j are a pair but for perturbers. */
static int fits(const struct search *s, int64_t i, int64_t j, struct kepler_orbit *o)
{
  const struct bound_view *w = s->view;
  double d[3], u[3], r1 = fmaxf(w->factor[i], w->factor[j]) * (double)s->request->split.r1;
  double softening = w->eps2 ? sqrt(fmax(w->eps2[i], w->eps2[j])) : s->softening;
  relative(w, i, j, d, u);
  return bound_pair_fits(w->m[i] + w->m[j], d, u, r1, s->request->pair_limit, s->request->soft_step, softening, o);
}

/* Particle i, or the centre of mass of it and its partner. */
static struct point point_of(const struct search *s, int64_t i)
{
  const struct bound_view *w = s->view;
  int64_t j = s->nearest[i] < 0 ? i : s->nearest[i];
  struct point p = {.m = j == i ? w->m[i] : w->m[i] + w->m[j]};
  double share = j == i ? 0 : w->m[j] / p.m;
  for (int c = 0; c < 3; c++) {
    p.x[c] = w->x[i * w->stride + c] + share * (w->x[j * w->stride + c] - w->x[i * w->stride + c]);
    p.v[c] = w->v[i * w->stride + c] + share * (w->v[j * w->stride + c] - w->v[i * w->stride + c]);
  }
  return p;
}

/* Of the neighbours of particle i, the one that perturbs the pair at `centre` most, or `most`. */
static int32_t perturber(const struct search *s, const struct point *centre, double a, int64_t i, int32_t most, double *least)
{
  for (int64_t k = s->lists->start[i]; k < s->lists->start[i + 1]; k++) {
    int32_t j = s->lists->index[k];
    if (j == i || j == s->nearest[i]) continue;
    struct point p = point_of(s, j);
    double d[3], u[3];
    for (int c = 0; c < 3; c++) d[c] = p.x[c] - centre->x[c], u[c] = p.v[c] - centre->v[c];
    if (!bound_pair_perturbed(a, centre->m, d, u, p.m, s->request->soft_step)) continue;
    double distance = sqrt(hermite_closest2(d, u, s->request->soft_step));
    if (most < 0 || distance < *least) most = j, *least = distance;
  }
  return most;
}

/* Particles without mass are in no list, but a pair is two points to those that it perturbs: light[i] of the first member i of a pair is
 * one of them, or -1. Those of other ranks are not seen; what they perturb does not depend on them. NULL: there are none. */
static int32_t *light_perturbers(const struct search *s)
{
  const struct bound_view *w = s->view;
  int32_t *light = NULL;
  for (int64_t i = 0; i < w->n; i++) {
    if (w->m[i] > 0) continue;
    if (!light) {
      light = memory_alloc("bound pairs", (size_t)(w->n + 1) * sizeof *light);
      for (int64_t k = 0; k < w->n; k++) light[k] = -1;
    }
    for (int64_t k = s->lists->start[i]; k < s->lists->start[i + 1]; k++) {
      int32_t j = s->lists->index[k], partner = s->nearest[j], first = partner >= 0 && w->id[partner] < w->id[j] ? partner : j;
      struct kepler_orbit o;
      double d[3], u[3];
      if (partner < 0 || light[first] >= 0 || !fits(s, first, first == j ? partner : j, &o)) continue;
      struct point centre = point_of(s, first);
      for (int c = 0; c < 3; c++) d[c] = w->x[i * w->stride + c] - centre.x[c], u[c] = w->v[i * w->stride + c] - centre.v[c];
      if (bound_pair_perturbed(o.a, centre.m, d, u, 0, s->request->soft_step)) light[first] = (int32_t)i;
    }
  }
  return light;
}

/* Partners: nearest[i] becomes -1 unless i and it are a pair but for perturbers. */
static void match(struct search *s)
{
  int64_t n = s->view->n;
  int32_t *partner = memory_alloc("bound pairs", (size_t)(n + 1) * sizeof *partner);
#pragma omp parallel for schedule(static, 512)
  for (int64_t i = 0; i < n; i++) s->nearest[i] = nearest_of(s, i);
#pragma omp parallel for schedule(static, 512)
  for (int64_t i = 0; i < n; i++) {
    int32_t j = s->nearest[i];
    struct kepler_orbit o;
    partner[i] = j >= 0 && s->nearest[j] == i && fits(s, s->view->id[i] < s->view->id[j] ? i : j, s->view->id[i] < s->view->id[j] ? j : i, &o)
                   ? j : -1;
  }
  memory_free(s->nearest);
  s->nearest = partner;
}

static void note_triple(struct hard_tally *t, const struct bound_view *w, int64_t i, int64_t j, int64_t other, double distance,
                        const struct kepler_orbit *o)
{
  if (t->pairs_perturbed++ > 0 && o->period >= t->triple.period) return;
  const double *x = &w->x[i * w->stride];
  t->triple = (struct hard_triple){w->id[i], w->id[j], w->id[other], {x[0], x[1], x[2]}, o->period, o->a, distance};
}

static void count_pair(struct hard_tally *t, const struct kepler_orbit *o)
{
  if (t->pairs_bound++ == 0) t->shortest_period = 1e300, t->largest_eccentricity = 0;
  t->shortest_period = fmin(t->shortest_period, o->period);
  t->largest_eccentricity = fmax(t->largest_eccentricity, o->e);
}

static void append(struct bound_pairs *p, const struct bound_view *w, int32_t i, int32_t j)
{
  size_t bytes = sizeof *p->pair;
  if ((p->n & (p->n - 1)) == 0) p->pair = memory_resize("bound pairs", p->pair, (size_t)(p->n > 0 ? 2 * p->n : 1) * bytes);
  struct bound_pair *pair = &p->pair[p->n++];
  *pair = (struct bound_pair){.first = i, .second = j, .m1 = w->m[i], .m2 = w->m[j], .factor1 = w->factor[i], .factor2 = w->factor[j]};
  relative(w, i, j, pair->d, pair->u);
}

/* Replace the pair by its centre of mass. */
static void replace(const struct bound_pair *p, struct bound_view *w)
{
  double share = p->m2 / (p->m1 + p->m2);
  for (int c = 0; c < 3; c++) {
    w->x[p->first * w->stride + c] += share * p->d[c];
    w->v[p->first * w->stride + c] += share * p->u[c];
  }
  w->m[p->first] = p->m1 + p->m2;
  w->factor[p->first] = fmaxf(p->factor1, p->factor2);
  for (int c = 0; c < 3; c++) {   /* with its partner: no fast particle of its own */
    w->x[p->second * w->stride + c] = w->x[p->first * w->stride + c];
    w->v[p->second * w->stride + c] = w->v[p->first * w->stride + c];
  }
  w->factor[p->second] = BOUND_ABSORBED;
}

void bound_pairs_find(struct bound_pairs *p, struct bound_view *view, const struct bound_lists *lists, const struct hard_request *r,
                      double softening, struct hard_tally *t)
{
  *p = (struct bound_pairs){0};
  if (!(r->pair_limit > 0)) return;
  struct search s = {view, lists, r, softening, memory_alloc("bound pairs", (size_t)(view->n + 1) * sizeof *s.nearest)};
  match(&s);
  int32_t *light = light_perturbers(&s);
  for (int32_t i = 0; i < view->n; i++) {
    int32_t j = s.nearest[i];
    struct kepler_orbit o;
    if (j < 0 || view->id[i] > view->id[j] || !fits(&s, i, j, &o)) continue;
    struct point centre = point_of(&s, i);
    double least = 0;
    int32_t other = perturber(&s, &centre, o.a, j, perturber(&s, &centre, o.a, i, -1, &least), &least);
    if (other < 0 && light && light[i] >= 0) continue;   /* it may leave again, and is no triple to report */
    if (other >= 0) {
      if (i < view->own) note_triple(t, view, i, j, other, least, &o);
      continue;
    }
    append(p, view, i, j);
    if (i < view->own) count_pair(t, &o);
  }
  for (int64_t k = 0; k < p->n; k++) replace(&p->pair[k], view);
  memory_free(s.nearest);
  memory_free(light);
}

/* --- motion ------------------------------------------------------------------------------------------------------ */

/* Particles that other pairs' kicks move have the position alone in common with this one, so the order of pairs does not matter. */
static void kick(struct bound_pair *p, struct bound_view *w, const struct bound_lists *lists, const struct split *split, double dt)
{
  struct bound_tide tide = {{{0}}, {0}, {0}};
  int64_t i = p->first;
  for (int64_t k = lists->start[i]; k < lists->start[i + 1]; k++) {
    int64_t j = lists->index[k];
    if (j == i || w->factor[j] == BOUND_ABSORBED) continue;
    double e[3], u[3], reaction[3];
    relative(w, i, j, e, u);
    bound_pair_tide(&tide, e, w->m[j], p->m1, p->m2, split, p->factor1, p->factor2, w->factor[j], reaction);
    for (int c = 0; c < 3; c++) w->v[j * w->stride + c] += dt * reaction[c];
  }
  for (int c = 0; c < 3; c++) {
    w->v[i * w->stride + c] += dt * tide.centre[c];
    p->u[c] += dt * tide.relative[c];
  }
  kepler_turn(p->m1 + p->m2, (const double(*)[3])tide.tensor, dt, p->d, p->u);
}

/* Kick particles without mass, which are in no list of a pair, by the same reaction. */
static void kick_light(const struct bound_pairs *p, struct bound_view *w, const struct bound_lists *lists, const struct split *split, double dt)
{
  int32_t *pair_of = memory_alloc("bound pairs", (size_t)(w->n + 1) * sizeof *pair_of);
  for (int64_t i = 0; i < w->n; i++) pair_of[i] = -1;
  for (int64_t k = 0; k < p->n; k++) pair_of[p->pair[k].first] = (int32_t)k;
#pragma omp parallel for schedule(static, 512)
  for (int64_t i = 0; i < w->n; i++)
    for (int64_t k = lists->start[i]; k < lists->start[i + 1] && !(w->m[i] > 0); k++) {
      struct bound_tide tide = {{{0}}, {0}, {0}};
      int32_t at = pair_of[lists->index[k]];
      double e[3], u[3], reaction[3];
      if (at < 0 || p->pair[at].factor1 == p->pair[at].factor2) continue;
      relative(w, p->pair[at].first, i, e, u);
      bound_pair_tide(&tide, e, 0, p->pair[at].m1, p->pair[at].m2, split, p->pair[at].factor1, p->pair[at].factor2, w->factor[i], reaction);
      for (int c = 0; c < 3; c++) w->v[i * w->stride + c] += dt * reaction[c];
    }
  memory_free(pair_of);
}

void bound_pairs_kick(struct bound_pairs *p, struct bound_view *view, const struct bound_lists *lists, const struct split *split, double dt)
{
  if (p->n > 0) kick_light(p, view, lists, split, dt);
  for (int64_t k = 0; k < p->n; k++) kick(&p->pair[k], view, lists, split, dt);
}

void bound_pairs_advance(struct bound_pairs *p, double dt)
{
#pragma omp parallel for schedule(static, 16)
  for (int64_t k = 0; k < p->n; k++) {
    struct bound_pair *pair = &p->pair[k];
    kepler_advance(pair->m1 + pair->m2, dt, pair->d, pair->u);
  }
}

void bound_pairs_restore(struct bound_pairs *p, struct bound_view *w)
{
  for (int64_t k = 0; k < p->n; k++) {
    const struct bound_pair *pair = &p->pair[k];
    int64_t i = pair->first, j = pair->second;
    double share = pair->m2 / (pair->m1 + pair->m2), rest = pair->m1 / (pair->m1 + pair->m2);
    for (int c = 0; c < 3; c++) {
      double x = w->x[i * w->stride + c], v = w->v[i * w->stride + c];
      w->x[i * w->stride + c] = x - share * pair->d[c], w->x[j * w->stride + c] = x + rest * pair->d[c];
      w->v[i * w->stride + c] = v - share * pair->u[c], w->v[j * w->stride + c] = v + rest * pair->u[c];
    }
    w->m[i] = pair->m1, w->m[j] = pair->m2;
    w->factor[i] = pair->factor1, w->factor[j] = pair->factor2;
  }
}

void bound_pairs_free(struct bound_pairs *p)
{
  memory_free(p->pair);
  *p = (struct bound_pairs){0};
}
