/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "touches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 1e-3 /* stars that touch are seen when they are nearer by this part of the sum of their radii */
#define STEP_PART 0.1

/* --- the orbit of two --------------------------------------------------------------------------------------------- */

/* Of two stars at the distance r, by their relative motion; mu: G times their mass, or 0: a straight line. */
struct orbit {
  double mu, r, along;                          /* along: position times velocity */
  double energy, pericentre, apocentre, period; /* apocentre and period: HUGE_VAL where they are not bound */
};

static struct orbit orbit_of(const double d[3], const double u[3], double mu)
{
  struct orbit o = {.mu = mu, .apocentre = HUGE_VAL, .period = HUGE_VAL};
  double u2 = 0, h2;
  for (int c = 0; c < 3; c++) o.r += d[c] * d[c], u2 += u[c] * u[c], o.along += d[c] * u[c];
  h2 = fmax(0.0, o.r * u2 - o.along * o.along);
  o.r = sqrt(o.r);
  o.energy = 0.5 * u2 - (mu > 0 ? mu / o.r : 0);
  double root = sqrt(fmax(0.0, mu * mu + 2 * o.energy * h2));
  o.pericentre = mu + root > 0 ? h2 / (mu + root) : o.r;
  if (o.energy < 0) {
    double a = -0.5 * mu / o.energy;
    o.apocentre = 2 * a - o.pericentre;
    o.period = 2 * acos(-1.0) * a * sqrt(a / mu);
  }
  return o;
}

/* The time from the pericentre to the distance r, or back. */
static double time_to(const struct orbit *o, double r)
{
  enum { PIECES = 64 };
  double sum = 0, a = 0.5 * (o->pericentre + o->apocentre);
  if (r <= o->pericentre) return 0;
  if (o->energy < 0 && r >= a) { /* Kepler's equation */
    double e = fmax(1e-300, 1 - o->pericentre / a), E = acos(fmax(-1.0, (1 - r / a) / e));
    return o->period * (E - e * sin(E)) / (2 * acos(-1.0));
  }
  /* Simpson's rule, in the root of the distance beyond the pericentre */
  double w = sqrt(r - o->pericentre), h = w / PIECES;
  for (int k = 0; k <= PIECES; k++) {
    double x2 = k * h * k * h, speed2 = 2 * (o->energy * (2 * o->pericentre + x2) + o->mu);
    sum += (k == 0 || k == PIECES ? 1 : k % 2 ? 4 : 2) * 2 * (o->pericentre + x2) / sqrt(speed2);
  }
  return sum * h / 3;
}

/* The time until the stars come within `near`, from farther away; HUGE_VAL: never. */
static double time_until(const struct orbit *o, double near)
{
  if (o->r <= near) return 0;
  double way = time_to(o, o->r), rest = time_to(o, near);
  return o->along < 0 ? way - rest : o->period - way - rest;
}

/* The time since they last came within `near`. */
static double time_since(const struct orbit *o, double near)
{
  double way = time_to(o, o->r), rest = time_to(o, near);
  if (o->along >= 0) return way + rest;
  return o->r <= near ? rest - way : o->period - way + rest;
}

/* --- pairs that are near ------------------------------------------------------------------------------------------ */

struct span {
  double low, high, reach; /* along x */
  int64_t at;
};

static int by_low(const void *p, const void *q)
{
  const struct span *a = p, *b = q;
  return (a->low > b->low) - (a->low < b->low);
}

/* Called for the bodies at p and q. */
typedef void visit(const struct store *s, int64_t p, int64_t q, void *data);

/* Visit all pairs that are nearer than the sum of their `reach`[n]. */
static void visit_near(const struct store *s, const double *reach, visit *each, void *data)
{
  struct span *span = malloc(sizeof *span * (size_t)(s->n + 1));
  int64_t n = 0;
  if (!span) abort();
  for (int64_t k = 0; k < s->n; k++)
    if (s->body[k].index >= 0)
      span[n++] = (struct span){s->body[k].x[0] - reach[k], s->body[k].x[0] + reach[k], reach[k], k};
  qsort(span, (size_t)n, sizeof *span, by_low);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n && span[j].low <= span[i].high; j++) {
      const struct body *p = &s->body[span[i].at], *q = &s->body[span[j].at];
      double near = span[i].reach + span[j].reach;
      if (!(p->radius + q->radius > 0) || !(fabs(p->x[1] - q->x[1]) <= near) || !(fabs(p->x[2] - q->x[2]) <= near))
        continue;
      each(s, span[i].at, span[j].at, data);
    }
  free(span);
}

static int any_radius(const struct store *s)
{
  for (int64_t k = 0; k < s->n; k++)
    if (s->body[k].index >= 0 && s->body[k].radius > 0) return 1;
  return 0;
}

/* --- touches ------------------------------------------------------------------------------------------------------ */

static struct touch touch_of(const struct body *p, const struct body *q)
{
  return p->index < q->index ? (struct touch){{p->index, q->index}} : (struct touch){{q->index, p->index}};
}

static int by_index(const void *p, const void *q)
{
  const struct touch *a = p, *b = q;
  int k = a->index[0] == b->index[0];
  return (a->index[k] > b->index[k]) - (a->index[k] < b->index[k]);
}

static double distance(const double x[3], const double y[3])
{
  return sqrt((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) + (x[2] - y[2]) * (x[2] - y[2]));
}

static void add(struct touches *list, struct touch pair)
{
  if (list->n == list->room) {
    list->room = list->room ? 2 * list->room : 16;
    list->pair = realloc(list->pair, sizeof *list->pair * (size_t)list->room);
    if (!list->pair) abort();
  }
  list->pair[list->n++] = pair;
}

static void note(const struct store *s, int64_t p, int64_t q, void *data)
{
  const struct body *a = &s->body[p], *b = &s->body[q];
  if (distance(a->x, b->x) <= a->radius + b->radius) add(data, touch_of(a, b));
}

void touches_now(const struct store *s, struct touches *now)
{
  double *reach = malloc(sizeof *reach * (size_t)(s->n + 1));
  now->n = 0;
  if (!reach) abort();
  for (int64_t k = 0; k < s->n; k++) reach[k] = s->body[k].radius;
  if (any_radius(s)) visit_near(s, reach, note, now);
  if (now->n > 0) qsort(now->pair, (size_t)now->n, sizeof *now->pair, by_index);
  free(reach);
}

int touches_have(const struct touches *list, const struct touch *pair)
{
  return list->n > 0 && bsearch(pair, list->pair, (size_t)list->n, sizeof *pair, by_index) != NULL;
}

void touches_new(const struct touches *now, const struct touches *last, struct touches *fresh)
{
  fresh->n = 0;
  for (int64_t k = 0; k < now->n; k++)
    if (!touches_have(last, &now->pair[k])) add(fresh, now->pair[k]);
}

struct search {
  const double *before;
  double step, softening, gravity, first;
  const struct touches *known;
};

static void find_first(const struct store *s, int64_t p, int64_t q, void *data)
{
  struct search *search = data;
  const struct body *a = &s->body[p], *b = &s->body[q];
  const struct touch pair = touch_of(a, b);
  double sum = a->radius + b->radius, d[3], u[3], t = HUGE_VAL,
         mu = search->softening > sum ? 0 : search->gravity * (a->mass + b->mass);
  if (touches_have(search->known, &pair)) return;
  struct orbit orbit;
  if (search->before) {
    const double *was = &search->before[6 * p], *other = &search->before[6 * q];
    for (int c = 0; c < 3; c++) d[c] = other[c] - was[c], u[c] = other[3 + c] - was[3 + c];
    orbit = orbit_of(d, u, mu);
    if (orbit.pericentre <= sum) t = time_until(&orbit, fmax(orbit.pericentre, (1 - DEPTH) * sum));
    if (t <= search->step) search->first = fmin(search->first, t);
  }
  for (int c = 0; c < 3; c++) d[c] = b->x[c] - a->x[c], u[c] = b->v[c] - a->v[c];
  orbit = orbit_of(d, u, mu);
  if (orbit.pericentre > sum) return;
  t = search->step - fmax(0.0, time_since(&orbit, fmax(orbit.pericentre, (1 - DEPTH) * sum)));
  if (t > 0 && (t < search->step || orbit.r <= sum)) search->first = fmin(search->first, t);
}

double touches_first(const struct store *s, const double *before, double step, double softening, double gravity,
                     const struct touches *known)
{
  struct search search = {before, step, softening, gravity, HUGE_VAL, known};
  double *reach, x[3], v[3];
  if (!any_radius(s) || s->n < 2) return HUGE_VAL;
  reach = malloc(sizeof *reach * (size_t)(s->n + 1));
  if (!reach) abort();
  store_centre(s, x, v);
  for (int64_t k = 0; k < s->n; k++) {
    const struct body *b = &s->body[k];
    double speed = fmax(distance(b->v, v), before ? distance(&before[6 * k + 3], v) : 0);
    reach[k] = b->radius + speed * step + cbrt(2 * gravity * b->mass * step * step);
  }
  visit_near(s, reach, find_first, &search);
  free(reach);
  return search.first;
}

double touches_step(const struct store *s)
{
  double x[3], v[3], size = 0, speed = 0;
  if (!any_radius(s) || s->n < 2) return HUGE_VAL;
  store_centre(s, x, v);
  for (int64_t k = 0; k < s->n; k++) {
    size += distance(s->body[k].x, x) / (double)s->n;
    speed += distance(s->body[k].v, v) / (double)s->n;
  }
  return speed > 0 && size > 0 ? STEP_PART * size / cbrt((double)s->n) / speed : HUGE_VAL;
}

void touches_free(struct touches *list)
{
  free(list->pair);
  *list = (struct touches){NULL, 0, 0};
}
