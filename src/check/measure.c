/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "check/measure.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

#include "backend/neighbour_list_verbs.h"
#include "base/memory.h"
#include "check/components.h"
#include "gravity/cosmology.h"
#include "gravity/units.h"
#include "step/effects.h"
#include "step/scheme.h"
#include "system/radius.h"
#include "step/step.h"

static double quantile(const double *sorted, int64_t n, double q)
{
  return n > 0 ? gsl_stats_quantile_from_sorted_data(sorted, 1, (size_t)n, q) : 0;
}

/* Median position of the samples, and the radii about it. */
static void measure_size(const struct sample *all, int64_t n, struct physics *physics)
{
  double *x = memory_alloc("radius", sizeof *x * (size_t)(n + 1)), square = 0;
  for (int c = 0; c < 3; c++) {
    for (int64_t i = 0; i < n; i++) x[i] = all[i].pos[c];
    gsl_sort(x, 1, (size_t)n);
    physics->size.centre[c] = quantile(x, n, 0.5);
  }
  for (int64_t i = 0; i < n; i++) {
    double r2 = 0;
    for (int c = 0; c < 3; c++)
      r2 += (all[i].pos[c] - physics->size.centre[c]) * (all[i].pos[c] - physics->size.centre[c]);
    x[i] = sqrt(r2);
    square += r2;
  }
  physics->size.rms = n > 0 ? sqrt(square / (double)n) : 0;
  gsl_sort(x, 1, (size_t)n);
  physics->size.half = quantile(x, n, 0.5);
  physics->size.most = quantile(x, n, 0.9);
  memory_free(x);
}

/* Distances of the samples to their nearest neighbours on all ranks. Collective. */
static void measure_neighbours(struct sim *sim, const struct sample *all, int64_t n, struct physics *physics)
{
  double(*at)[3] = memory_alloc("radius", sizeof *at * (size_t)(n + 1)),
  *x = memory_alloc("radius", sizeof *x * (size_t)(n + 1));
  uint64_t *id = memory_alloc("radius", sizeof *id * (size_t)(n + 1));
  for (int64_t i = 0; i < n; i++) {
    memcpy(at[i], all[i].pos, sizeof at[i]);
    id[i] = all[i].id;
  }
  sim->be->forces.nearest(sim->dev, n, (const double(*)[3])at, id, 1, x);
  for (int64_t i = 0; i < n; i++) x[i] = -x[i];
  comm_max_double(sim->comm, x, (int)n);
  for (int64_t i = 0; i < n; i++) x[i] = -x[i];
  gsl_sort(x, 1, (size_t)n);
  for (int k = 0; k < 3; k++) physics->size.neighbour[k] = sim->masses.count > 1 ? quantile(x, n, 0.1 + 0.4 * k) : 0;
  memory_free(id);
  memory_free(x);
  memory_free(at);
}

/* Masses, coordinates (with `place` added: those of the input) and block levels of this rank's particles. */
static void measure_particles(const struct particles *particles, const struct step_rule *rule, const double place[3],
                              struct physics *physics)
{
  double low = HUGE_VAL, high = 0, far = 0;
  int64_t level[PHYSICS_LEVELS] = {0};
  int single = 1;
#pragma omp parallel for schedule(static) reduction(min : low) reduction(max : high, far) reduction(&& : single) \
    reduction(+ : level)
  for (int64_t i = 0; i < particles->n; i++) {
    if (particles->mass[i] > 0) low = fmin(low, particles->mass[i]);
    high = fmax(high, particles->mass[i]);
    for (int c = 0; c < 3; c++) {
      double x = particles->pos[3 * i + c] + place[c];
      far = fmax(far, fabs(x));
      single = single && (double)(float)x == x;
    }
    level[timeline_level(rule->soft_step,
                         timeline_criterion_step(rule, particles->type[i], &particles->acc_hard[3 * i],
                                                 &particles->acc_soft[3 * i], &particles->vel[3 * i]))]++;
  }
  physics->masses.smallest = low;
  physics->masses.largest = high;
  physics->size.coordinate_max = far;
  physics->size.single = single;
  memcpy(physics->steps.level, level, sizeof level);
}

/* Reduce these over ranks, and find the heaviest particle. Collective. */
static void reduce_particles(const struct comm *comm, const struct particles *particles, const struct plan *plan,
                             struct physics *physics)
{
  double largest[4] = {-physics->masses.smallest, physics->masses.largest, physics->size.coordinate_max,
                       !physics->size.single};
  int64_t id = INT64_MAX;
  comm_max_double(comm, largest, 4);
  comm_sum_int64(comm, physics->steps.level, PHYSICS_LEVELS);
  physics->masses.smallest = -largest[0];
  physics->masses.largest = largest[1];
  physics->size.coordinate_max = largest[2];
  physics->size.single = largest[3] == 0;
  for (int64_t i = 0; i < particles->n; i++)
    if (particles->mass[i] == physics->masses.largest && (int64_t)particles->id[i] < id) id = (int64_t)particles->id[i];
  physics->masses.heaviest = (uint64_t)comm_min_int64(comm, id);
  if (!plan->shared) return;
  /* one step for all: the shortest, or the given one */
  int deepest = PHYSICS_LEVELS - 1;
  while (deepest > 0 && physics->steps.level[deepest] == 0) deepest--;
  memset(physics->steps.level, 0, sizeof physics->steps.level);
  physics->steps.level[plan->shared_level >= 0 ? plan->shared_level : deepest] = (int64_t)physics->masses.particles;
}

static void take_parameters(const struct sim *sim, const struct plan *plan, struct physics *physics)
{
  const struct params *par = sim->par;
  struct units u = units_of(par);
  double of[PARTICLE_TYPES];
  physics->softening.smallest = params_softening(par, of);
  for (int t = 0; t < PARTICLE_TYPES && params_softenings_differ(par); t++)
    physics->softening.largest = fmax(physics->softening.largest, of[t]);
  physics->units.gravity = sim->force.gravity;
  physics->run.begin = sim->time;
  physics->run.end = par->TimeMax;
  physics->steps.hybrid = sim->system.hybrid;
  physics->steps.lists = sim->scheme->steps_follow_jerks;
  physics->steps.shared = plan->shared;
  physics->steps.given = (physics->steps.hybrid ? par->SoftStep : par->MaxSizeTimestep) > 0 || par->FixedStep > 0;
  physics->run.steps_max = -1;
  if (effects_have(
          sim,
          EFFECT_COMOVING)) { /* soft steps are short and equal in ln a; other times have no meaning for its rules */
    double end = effects_end(sim, plan), steps = log(par->TimeMax / sim->time) / log(end / sim->time);
    physics->run.begin = 0;
    physics->run.end = steps * plan->soft_step;
    physics->units.gravity *= sim->time;
    /* later the sphere has structures */
    physics->run.mean_density = sim->time == par->TimeBegin ? cosmology_mean_density(par) : 0;
    physics->run.comoving = 1;
    return;
  }
  physics->units.gravity_is_given = par->GravityConstantInternal > 0;
  if (!units_physical(par)) return;
  physics->units.solar = u.mass_g / SOLAR_MASS_G;
  physics->units.kpc = u.length_cm / KPC_CM;
  physics->units.km_s = u.velocity_cm_s / 1e5;
  physics->units.gyr = units_time_s(&u) / GYR_S;
}

/* The virial of all forces, with an external field, whose potential has an arbitrary zero. Where lists of neighbours
 * give the hard forces their accelerations are not known; the virial of gravity is then its potential energy, but for
 * softening. Collective. */
static double virial_in_field(const struct sim *sim)
{
  const struct particles *particles = sim->be->view(sim->dev);
  double self = 0;
  if (!sim->scheme->steps_follow_jerks) return sim->now.virial + sim->now.virial_field;
  for (int64_t i = 0; i < particles->n; i++) self += 0.5 * particles->mass[i] * particles->pot[i];
  comm_sum_double(sim->comm, &self, 1);
  return self + sim->now.virial_field;
}

/* The tide at the middle. `place`: of the frame of the run in the user's. Local. */
static void measure_tide(const struct sim *sim, const double place[3], struct physics *physics)
{
  double x[3];
  struct tide tide = {0};
  if (!(physics->size.half > 0)) return;
  for (int c = 0; c < 3; c++) x[c] = physics->size.centre[c] - place[c];
  effects_tide(sim, x, sim->now.v_com, physics->size.half / 100, &tide);
  physics->tide.stretch = fmax(tide.stretch, 0);
  physics->tide.reach = tide.reach;
}

void measure_physics(struct sim *sim, const struct plan *plan, struct physics *physics)
{
  const struct diagnostics *now = &sim->now;
  struct sample *all;
  double place[3];
  memset(physics, 0, sizeof *physics);
  take_parameters(sim, plan, physics);
  physics->masses.particles = now->count;
  physics->masses.massless = sim->masses.massless;
  physics->masses.total = now->mass;
  physics->motion.kinetic = 0.5 * now->mass * now->v_rms * now->v_rms;
  /* what balances the kinetic energy, about the centre of mass */
  physics->motion.potential = effects_have(sim, EFFECT_IN_FIELD) ? virial_in_field(sim) : now->potential;
  physics->motion.v_rms = now->v_rms;
  sim_shift(sim, place, physics->motion.v_com);
  physics->steps.soft = plan->soft_step;
  struct plan_facts without = sim->system;
  without.field_step = 0;
  physics->steps.field = sim->system.field_step;
  physics->steps.own = plan_wanted(sim->par, now, &without);
  int64_t n = radius_samples(sim->comm, sim->be, sim->dev, sim->masses.count, &all);
  measure_size(all, n, physics);
  for (int c = 0; c < 3; c++) {
    physics->size.centre[c] += place[c];
    physics->motion.v_com[c] += now->v_com[c];
  }
  measure_neighbours(sim, all, n, physics);
  memory_free(all);
  measure_tide(sim, place, physics);
  components_measure(sim, physics->component);
  const struct particles *q = sim->be->view(sim->dev);
  struct step_rule rule = step_rule_of(sim, plan->soft_step);
  measure_particles(q, &rule, place, physics);
  reduce_particles(sim->comm, q, plan, physics);
  if (physics->steps.lists) { /* steps follow from jerks, which are not known: the longest ones */
    memset(physics->steps.level, 0, sizeof physics->steps.level);
    physics->steps.level[LIST_LONGEST_LEVEL] = (int64_t)physics->masses.particles;
  }
  double seconds =
      sim->counts.full.targets > 0 ? sim->counts.full.seconds / (double)sim->counts.full.targets * (double)q->n : 0;
  comm_max_double(sim->comm, &seconds, 1);
  physics->seconds.walk = seconds;
}
