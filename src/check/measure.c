/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "check/measure.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

#include "backend/hard_verbs.h"
#include "base/memory.h"
#include "gravity/units.h"
#include "step/expansion.h"
#include "step/scheme.h"
#include "system/radius.h"
#include "step/step.h"

static double quantile(const double *sorted, int64_t n, double q)
{
  return n > 0 ? gsl_stats_quantile_from_sorted_data(sorted, 1, (size_t)n, q) : 0;
}

/* Median position of the samples, and the radii about it. */
static void measure_size(const struct sample *all, int64_t n, struct physics *p)
{
  double *x = memory_alloc("radius", sizeof *x * (size_t)(n + 1)), square = 0;
  for (int c = 0; c < 3; c++) {
    for (int64_t i = 0; i < n; i++) x[i] = all[i].pos[c];
    gsl_sort(x, 1, (size_t)n);
    p->centre[c] = quantile(x, n, 0.5);
  }
  for (int64_t i = 0; i < n; i++) {
    double r2 = 0;
    for (int c = 0; c < 3; c++) r2 += (all[i].pos[c] - p->centre[c]) * (all[i].pos[c] - p->centre[c]);
    x[i] = sqrt(r2);
    square += r2;
  }
  p->rms = n > 0 ? sqrt(square / (double)n) : 0;
  gsl_sort(x, 1, (size_t)n);
  p->half = quantile(x, n, 0.5);
  p->most = quantile(x, n, 0.9);
  memory_free(x);
}

/* Distances of the samples to their nearest neighbours on all ranks. Collective. */
static void measure_neighbours(struct sim *s, const struct sample *all, int64_t n, struct physics *p)
{
  double(*at)[3] = memory_alloc("radius", sizeof *at * (size_t)(n + 1)), *x = memory_alloc("radius", sizeof *x * (size_t)(n + 1));
  uint64_t *id = memory_alloc("radius", sizeof *id * (size_t)(n + 1));
  for (int64_t i = 0; i < n; i++) {
    memcpy(at[i], all[i].pos, sizeof at[i]);
    id[i] = all[i].id;
  }
  s->be->nearest(s->dev, n, (const double(*)[3])at, id, 1, x);
  for (int64_t i = 0; i < n; i++) x[i] = -x[i];
  comm_max_double(s->comm, x, (int)n);
  for (int64_t i = 0; i < n; i++) x[i] = -x[i];
  gsl_sort(x, 1, (size_t)n);
  for (int k = 0; k < 3; k++) p->neighbour[k] = s->masses.count > 1 ? quantile(x, n, 0.1 + 0.4 * k) : 0;
  memory_free(id);
  memory_free(x);
  memory_free(at);
}

/* Masses, coordinates (with `place` added: those of the input) and block levels of this rank's particles. */
static void measure_particles(const struct particles *q, const struct step_rule *rule, const double place[3], struct physics *p)
{
  double low = HUGE_VAL, high = 0, far = 0;
  int64_t level[PHYSICS_LEVELS] = {0};
  int single = 1;
#pragma omp parallel for schedule(static) reduction(min : low) reduction(max : high, far) reduction(&& : single) \
    reduction(+ : level)
  for (int64_t i = 0; i < q->n; i++) {
    if (q->mass[i] > 0) low = fmin(low, q->mass[i]);
    high = fmax(high, q->mass[i]);
    for (int c = 0; c < 3; c++) {
      double x = q->pos[3 * i + c] + place[c];
      far = fmax(far, fabs(x));
      single = single && (double)(float)x == x;
    }
    level[timeline_level(rule->soft_step, timeline_criterion_step(rule, q->type[i], &q->acc_hard[3 * i], &q->acc_soft[3 * i], &q->vel[3 * i]))]++;
  }
  p->mass_min = low;
  p->mass_max = high;
  p->coordinate_max = far;
  p->single = single;
  memcpy(p->level, level, sizeof level);
}

/* Reduce these over ranks, and find the heaviest particle. Collective. */
static void reduce_particles(const struct comm *c, const struct particles *q, const struct plan *plan, struct physics *p)
{
  double largest[4] = {-p->mass_min, p->mass_max, p->coordinate_max, !p->single};
  int64_t id = INT64_MAX;
  comm_max_double(c, largest, 4);
  comm_sum_int64(c, p->level, PHYSICS_LEVELS);
  p->mass_min = -largest[0];
  p->mass_max = largest[1];
  p->coordinate_max = largest[2];
  p->single = largest[3] == 0;
  for (int64_t i = 0; i < q->n; i++)
    if (q->mass[i] == p->mass_max && (int64_t)q->id[i] < id) id = (int64_t)q->id[i];
  p->heaviest = (uint64_t)comm_min_int64(c, id);
  if (!plan->shared) return;
  /* one step for all: the shortest, or the given one */
  int deepest = PHYSICS_LEVELS - 1;
  while (deepest > 0 && p->level[deepest] == 0) deepest--;
  memset(p->level, 0, sizeof p->level);
  p->level[plan->shared_level >= 0 ? plan->shared_level : deepest] = (int64_t)p->particles;
}

static void take_parameters(const struct sim *s, const struct plan *plan, struct physics *p)
{
  const struct params *par = s->par;
  struct units u = units_of(par);
  double of[PARTICLE_TYPES];
  p->softening = params_softening(par, of);
  for (int t = 0; t < PARTICLE_TYPES && params_softenings_differ(par); t++) p->softening_largest = fmax(p->softening_largest, of[t]);
  p->gravity = s->gravity;
  p->begin = s->time;
  p->end = par->TimeMax;
  p->hybrid = s->system.hybrid;
  p->hermite = s->scheme->steps_follow_jerks;
  p->shared = plan->shared;
  p->step_is_given = (p->hybrid ? par->SoftStep : par->MaxSizeTimestep) > 0 || par->FixedStep > 0;
  p->steps_max = -1;
  if (s->expansion.on) {   /* soft steps are short and equal in ln a; other times have no meaning for its rules */
    double end = expansion_end(s, plan), steps = log(par->TimeMax / s->time) / log(end / s->time);
    p->begin = 0;
    p->end = steps * plan->soft_step;
    p->gravity *= s->time;
    p->mean_density = s->time == par->TimeBegin ? s->expansion.density : 0;   /* later the sphere has structures */
    p->comoving = 1;
    return;
  }
  if (!units_physical(par)) return;
  p->kpc = u.length_cm / KPC_CM;
  p->km_s = u.velocity_cm_s / 1e5;
  p->gyr = units_time_s(&u) / GYR_S;
}

void measure_physics(struct sim *s, const struct plan *plan, struct physics *p)
{
  const struct diagnostics *now = &s->now;
  struct sample *all;
  double place[3];
  memset(p, 0, sizeof *p);
  take_parameters(s, plan, p);
  p->particles = now->count;
  p->massless = s->masses.massless;
  p->mass = now->mass;
  p->kinetic = 0.5 * now->mass * now->v_rms * now->v_rms;
  /* in a field the potential energy has an arbitrary zero: what balances the kinetic energy, about the centre of mass */
  p->potential = s->external.given ? now->virial + now->virial_field : now->potential;
  p->v_rms = now->v_rms;
  sim_shift(s, place, p->v_com);
  p->soft_step = plan->soft_step;
  struct plan_facts without = s->system;
  without.field_step = 0;
  p->field_step = s->system.field_step;
  p->own_step = plan_wanted(s->par, now, &without);
  int64_t n = radius_samples(s->comm, s->be, s->dev, s->masses.count, &all);
  measure_size(all, n, p);
  for (int c = 0; c < 3; c++) p->centre[c] += place[c], p->v_com[c] += now->v_com[c];
  measure_neighbours(s, all, n, p);
  memory_free(all);
  const struct particles *q = s->be->view(s->dev);
  struct step_rule rule = step_rule_of(s, plan->soft_step);
  measure_particles(q, &rule, place, p);
  reduce_particles(s->comm, q, plan, p);
  if (p->hermite) {   /* steps follow from jerks, which are not known: the longest ones */
    memset(p->level, 0, sizeof p->level);
    p->level[HARD_LONGEST_LEVEL] = (int64_t)p->particles;
  }
  double seconds = s->counts.full.targets > 0 ? s->counts.full.seconds / (double)s->counts.full.targets * (double)q->n : 0;
  comm_max_double(s->comm, &seconds, 1);
  p->walk_seconds = seconds;
}
