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

/* What a search works with. nearest[i]: the nearest neighbour of particle i within pair_limit, or -1; then its
 * partner. */
struct search {
  const struct bound_view *view;
  const struct bound_lists *lists;
  const struct hard_request *request;
  double softening;
  int32_t *nearest;
};

static void relative(const struct bound_view *view, int64_t i, int64_t j, double d[3], double u[3])
{
  for (int c = 0; c < 3; c++) {
    d[c] = view->x[j * view->stride + c] - view->x[i * view->stride + c];
    u[c] = view->v[j * view->stride + c] - view->v[i * view->stride + c];
  }
}

static int32_t nearest_of(const struct search *search, int64_t i)
{
  double least = search->request->pair_limit * search->request->pair_limit, d[3], u[3];
  int32_t found = -1;
  for (int64_t k = search->lists->start[i]; k < search->lists->start[i + 1]; k++) {
    int32_t j = search->lists->index[k];
    relative(search->view, i, j, d, u);
    double r2 = kepler_dot(d, d);
    if (j == i || r2 > least || (r2 == least && found >= 0 && search->view->id[j] > search->view->id[found])) continue;
    least = r2;
    found = j;
  }
  return found;
}

/* Returns 1 where i and j are a pair but for perturbers. */
static int fits(const struct search *search, int64_t i, int64_t j, struct kepler_orbit *orbit)
{
  const struct bound_view *w = search->view;
  double d[3], u[3], r1 = fmaxf(w->factor[i], w->factor[j]) * (double)search->request->split.r1;
  double softening = w->eps2 ? sqrt(fmax(w->eps2[i], w->eps2[j])) : search->softening;
  relative(w, i, j, d, u);
  return bound_pair_fits(w->m[i] + w->m[j], d, u, r1, search->request->pair_limit, search->request->soft_step,
                         softening, orbit);
}

/* Particle i, or the centre of mass of it and its partner. */
static struct point point_of(const struct search *search, int64_t i)
{
  const struct bound_view *w = search->view;
  int64_t j = search->nearest[i] < 0 ? i : search->nearest[i];
  struct point p = {.m = j == i ? w->m[i] : w->m[i] + w->m[j]};
  double share = j == i ? 0 : w->m[j] / p.m;
  for (int c = 0; c < 3; c++) {
    p.x[c] = w->x[i * w->stride + c] + share * (w->x[j * w->stride + c] - w->x[i * w->stride + c]);
    p.v[c] = w->v[i * w->stride + c] + share * (w->v[j * w->stride + c] - w->v[i * w->stride + c]);
  }
  return p;
}

/* Of the neighbours of particle i, the one that perturbs the pair at `centre` most, or `most`. */
static int32_t perturber(const struct search *search, const struct point *centre, double a, int64_t i, int32_t most,
                         double *least)
{
  for (int64_t k = search->lists->start[i]; k < search->lists->start[i + 1]; k++) {
    int32_t j = search->lists->index[k];
    if (j == i || j == search->nearest[i]) continue;
    struct point p = point_of(search, j);
    double d[3], u[3];
    for (int c = 0; c < 3; c++) {
      d[c] = p.x[c] - centre->x[c];
      u[c] = p.v[c] - centre->v[c];
    }
    if (!bound_pair_perturbed(a, centre->m, d, u, p.m, search->request->soft_step)) continue;
    double distance = sqrt(hermite_closest2(d, u, search->request->soft_step));
    if (most < 0 || distance < *least) {
      most = j;
      *least = distance;
    }
  }
  return most;
}

/* Particles without mass are in no list, but a pair is two points to those that it perturbs: light[i] of the first
 * member i of a pair is one of them, or -1. Those of other ranks are not seen; what they perturb does not depend on
 * them. NULL: there are none. */
static int32_t *light_perturbers(const struct search *search)
{
  const struct bound_view *w = search->view;
  int32_t *light = NULL;
  for (int64_t i = 0; i < w->n; i++) {
    if (w->m[i] > 0) continue;
    if (!light) {
      light = memory_alloc("bound pairs", (size_t)(w->n + 1) * sizeof *light);
      for (int64_t k = 0; k < w->n; k++) light[k] = -1;
    }
    for (int64_t k = search->lists->start[i]; k < search->lists->start[i + 1]; k++) {
      int32_t j = search->lists->index[k], partner = search->nearest[j],
              first = partner >= 0 && w->id[partner] < w->id[j] ? partner : j;
      struct kepler_orbit o;
      double d[3], u[3];
      if (partner < 0 || light[first] >= 0 || !fits(search, first, first == j ? partner : j, &o)) continue;
      struct point centre = point_of(search, first);
      for (int c = 0; c < 3; c++) {
        d[c] = w->x[i * w->stride + c] - centre.x[c];
        u[c] = w->v[i * w->stride + c] - centre.v[c];
      }
      if (bound_pair_perturbed(o.a, centre.m, d, u, 0, search->request->soft_step)) light[first] = (int32_t)i;
    }
  }
  return light;
}

/* Partners: nearest[i] becomes -1 unless i and it are a pair but for perturbers. */
static void match(struct search *search)
{
  int64_t n = search->view->n;
  int32_t *partner = memory_alloc("bound pairs", (size_t)(n + 1) * sizeof *partner);
#pragma omp parallel for schedule(static, 512)
  for (int64_t i = 0; i < n; i++) search->nearest[i] = nearest_of(search, i);
#pragma omp parallel for schedule(static, 512)
  for (int64_t i = 0; i < n; i++) {
    int32_t j = search->nearest[i];
    struct kepler_orbit o;
    partner[i] = j >= 0 && search->nearest[j] == i &&
                         fits(search, search->view->id[i] < search->view->id[j] ? i : j,
                              search->view->id[i] < search->view->id[j] ? j : i, &o)
                     ? j
                     : -1;
  }
  memory_free(search->nearest);
  search->nearest = partner;
}

static void note_triple(struct hard_tally *tally, const struct bound_view *view, int64_t i, int64_t j, int64_t other,
                        double distance, const struct kepler_orbit *orbit)
{
  if (tally->pairs_perturbed++ > 0 && orbit->period >= tally->triple.period) return;
  const double *x = &view->x[i * view->stride];
  tally->triple = (struct hard_triple){view->id[i],   view->id[j], view->id[other], {x[0], x[1], x[2]},
                                       orbit->period, orbit->a,    distance};
}

static void count_pair(struct hard_tally *tally, const struct kepler_orbit *orbit)
{
  if (tally->pairs_bound++ == 0) {
    tally->shortest_period = 1e300;
    tally->largest_eccentricity = 0;
  }
  tally->shortest_period = fmin(tally->shortest_period, orbit->period);
  tally->largest_eccentricity = fmax(tally->largest_eccentricity, orbit->e);
}

static void append(struct bound_pairs *pairs, const struct bound_view *view, int32_t i, int32_t j)
{
  size_t bytes = sizeof *pairs->pair;
  if ((pairs->n & (pairs->n - 1)) == 0)
    pairs->pair = memory_resize("bound pairs", pairs->pair, (size_t)(pairs->n > 0 ? 2 * pairs->n : 1) * bytes);
  struct bound_pair *pair = &pairs->pair[pairs->n++];
  *pair = (struct bound_pair){.first = i,
                              .second = j,
                              .m1 = view->m[i],
                              .m2 = view->m[j],
                              .factor1 = view->factor[i],
                              .factor2 = view->factor[j]};
  relative(view, i, j, pair->d, pair->u);
}

/* Replace the pair by its centre of mass. */
static void replace(const struct bound_pair *pair, struct bound_view *view)
{
  double share = pair->m2 / (pair->m1 + pair->m2);
  for (int c = 0; c < 3; c++) {
    view->x[pair->first * view->stride + c] += share * pair->d[c];
    view->v[pair->first * view->stride + c] += share * pair->u[c];
  }
  view->m[pair->first] = pair->m1 + pair->m2;
  view->factor[pair->first] = fmaxf(pair->factor1, pair->factor2);
  for (int c = 0; c < 3; c++) { /* with its partner: no fast particle of its own */
    view->x[pair->second * view->stride + c] = view->x[pair->first * view->stride + c];
    view->v[pair->second * view->stride + c] = view->v[pair->first * view->stride + c];
  }
  view->factor[pair->second] = BOUND_ABSORBED;
}

void bound_pairs_find(struct bound_pairs *pairs, struct bound_view *view, const struct bound_lists *lists,
                      const struct hard_request *request, double softening, struct hard_tally *tally)
{
  *pairs = (struct bound_pairs){0};
  if (!(request->pair_limit > 0)) return;
  struct search s = {view, lists, request, softening,
                     memory_alloc("bound pairs", (size_t)(view->n + 1) * sizeof *s.nearest)};
  match(&s);
  int32_t *light = light_perturbers(&s);
  for (int32_t i = 0; i < view->n; i++) {
    int32_t j = s.nearest[i];
    struct kepler_orbit o;
    if (j < 0 || view->id[i] > view->id[j] || !fits(&s, i, j, &o)) continue;
    struct point centre = point_of(&s, i);
    double least = 0;
    int32_t other = perturber(&s, &centre, o.a, j, perturber(&s, &centre, o.a, i, -1, &least), &least);
    if (other < 0 && light && light[i] >= 0) continue; /* it may leave again, and is no triple to report */
    if (other >= 0) {
      if (i < view->own) note_triple(tally, view, i, j, other, least, &o);
      continue;
    }
    append(pairs, view, i, j);
    if (i < view->own) count_pair(tally, &o);
  }
  for (int64_t k = 0; k < pairs->n; k++) replace(&pairs->pair[k], view);
  memory_free(s.nearest);
  memory_free(light);
}

/* --- motion ------------------------------------------------------------------------------------------------------ */

/* Particles that other pairs' kicks move have the position alone in common with this one, so the order of pairs does
 * not matter. */
static void kick(struct bound_pair *pair, struct bound_view *view, const struct bound_lists *lists,
                 const struct split *split, double dt)
{
  struct bound_tide tide = {{{0}}, {0}, {0}};
  int64_t i = pair->first;
  for (int64_t k = lists->start[i]; k < lists->start[i + 1]; k++) {
    int64_t j = lists->index[k];
    if (j == i || view->factor[j] == BOUND_ABSORBED) continue;
    double e[3], u[3], reaction[3];
    relative(view, i, j, e, u);
    bound_pair_tide(&tide, e, view->m[j], pair->m1, pair->m2, split, pair->factor1, pair->factor2, view->factor[j],
                    reaction);
    for (int c = 0; c < 3; c++) view->v[j * view->stride + c] += dt * reaction[c];
  }
  for (int c = 0; c < 3; c++) {
    view->v[i * view->stride + c] += dt * tide.centre[c];
    pair->u[c] += dt * tide.relative[c];
  }
  kepler_turn(pair->m1 + pair->m2, (const double(*)[3])tide.tensor, dt, pair->d, pair->u);
}

/* Kick particles without mass, which are in no list of a pair, by the same reaction. */
static void kick_light(const struct bound_pairs *pairs, struct bound_view *view, const struct bound_lists *lists,
                       const struct split *split, double dt)
{
  int32_t *pair_of = memory_alloc("bound pairs", (size_t)(view->n + 1) * sizeof *pair_of);
  for (int64_t i = 0; i < view->n; i++) pair_of[i] = -1;
  for (int64_t k = 0; k < pairs->n; k++) pair_of[pairs->pair[k].first] = (int32_t)k;
#pragma omp parallel for schedule(static, 512)
  for (int64_t i = 0; i < view->n; i++)
    for (int64_t k = lists->start[i]; k < lists->start[i + 1] && !(view->m[i] > 0); k++) {
      struct bound_tide tide = {{{0}}, {0}, {0}};
      int32_t at = pair_of[lists->index[k]];
      double e[3], u[3], reaction[3];
      if (at < 0 || pairs->pair[at].factor1 == pairs->pair[at].factor2) continue;
      relative(view, pairs->pair[at].first, i, e, u);
      bound_pair_tide(&tide, e, 0, pairs->pair[at].m1, pairs->pair[at].m2, split, pairs->pair[at].factor1,
                      pairs->pair[at].factor2, view->factor[i], reaction);
      for (int c = 0; c < 3; c++) view->v[i * view->stride + c] += dt * reaction[c];
    }
  memory_free(pair_of);
}

void bound_pairs_kick(struct bound_pairs *pairs, struct bound_view *view, const struct bound_lists *lists,
                      const struct split *split, double dt)
{
  if (pairs->n > 0) kick_light(pairs, view, lists, split, dt);
  for (int64_t k = 0; k < pairs->n; k++) kick(&pairs->pair[k], view, lists, split, dt);
}

void bound_pairs_advance(struct bound_pairs *pairs, double dt)
{
#pragma omp parallel for schedule(static, 16)
  for (int64_t k = 0; k < pairs->n; k++) {
    struct bound_pair *pair = &pairs->pair[k];
    kepler_advance(pair->m1 + pair->m2, dt, pair->d, pair->u);
  }
}

void bound_pairs_restore(struct bound_pairs *pairs, struct bound_view *view)
{
  for (int64_t k = 0; k < pairs->n; k++) {
    const struct bound_pair *pair = &pairs->pair[k];
    int64_t i = pair->first, j = pair->second;
    double share = pair->m2 / (pair->m1 + pair->m2), rest = pair->m1 / (pair->m1 + pair->m2);
    for (int c = 0; c < 3; c++) {
      double x = view->x[i * view->stride + c], v = view->v[i * view->stride + c];
      view->x[i * view->stride + c] = x - share * pair->d[c];
      view->x[j * view->stride + c] = x + rest * pair->d[c];
      view->v[i * view->stride + c] = v - share * pair->u[c];
      view->v[j * view->stride + c] = v + rest * pair->u[c];
    }
    view->m[i] = pair->m1;
    view->m[j] = pair->m2;
    view->factor[i] = pair->factor1;
    view->factor[j] = pair->factor2;
  }
}

void bound_pairs_free(struct bound_pairs *pairs)
{
  memory_free(pairs->pair);
  *pairs = (struct bound_pairs){0};
}
