/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "planning/system_at.h"

#include <math.h>
#include <string.h>

#include "particles/timeline.h"

/* The smallest and the largest power of LETs with the number of particles: surfaces and volumes. */
#define POWER_MIN 0.4
#define POWER_MAX 1.0
#define POWER_UNKNOWN (2.0 / 3)

/* Lists of interactions become shorter with N, and those of block steps, of ever fewer neighbours in a group, longer,
 * both the less the larger N is: the power of N that two pilots show, times this and between these. */
#define FLATTER 0.5
#define LIST_POWER_MIN -0.05
#define BLOCK_POWER_MAX 0.1

/* A heaviest particle that is so many times as heavy as the mean is a body of its own, whose mass stays. */
enum { OWN_BODY = 1000 };

void system_at(const struct study_system *pilot, const struct params *params, double particles, struct system_at *at)
{
  struct diagnostics now = pilot->now;
  struct plan_facts rules = pilot->rules;
  double more = particles / now.count, nearer = 1 / cbrt(more);
  now.massless *= more;
  now.count = particles;
  if (params->R1 == 0 && params->R2 == 0) rules.r2 *= nearer;
  rules.distance *= nearer;
  if (rules.largest_mass < OWN_BODY * rules.mean_mass) rules.largest_mass /= more;
  rules.mean_mass /= more;
  rules.mean_square_mass /= more * more;
  struct finder_system system = plan_errors(params, &now, &rules);
  rules.change = fmax(rules.change, errors_chance(&system));
  *at = (struct system_at){
      .particles = particles, .soft_step = plan_wanted(params, &now, &rules), .criterion = pilot->criterion};
  at->criterion.soft_step = at->soft_step;
  at->criterion.eta = plan_eta(params, &now, &rules);
  at->criterion.softening = params_softening(params, at->criterion.softening_of);
}

void system_at_levels(struct study_system *pilot, const struct system_at *at)
{
  struct particles *all = &pilot->kicked.all;
  struct schedule_input *in = &pilot->input;
  double more = at->particles / pilot->now.count, steps = 0;
  if (strcmp(pilot->facts.scheme, study_scheme_names[STUDY_SHARED]) == 0) {
    in->particles = at->particles;
    in->hard_steps = (int64_t)((double)in->hard_steps * more);
    for (int l = 0; l < SCHEDULE_LEVELS; l++) in->count[l] = (int64_t)llround((double)in->count[l] * more);
    return;
  }
  int64_t count[SCHEDULE_LEVELS] = {0};
  in->level_max = 0;
  for (int64_t i = 0; i < all->n; i++) {
    double step = timeline_criterion_step(&at->criterion, all->type[i], &all->acc_hard[3 * i], &all->acc_soft[3 * i],
                                          &all->vel[3 * i]);
    int level = timeline_level(at->soft_step, step);
    all->level[i] = (uint8_t)level;
    count[level % SCHEDULE_LEVELS]++;
    if (level > in->level_max) in->level_max = level;
  }
  for (int l = 0; l < SCHEDULE_LEVELS; l++) {
    in->count[l] = (int64_t)llround((double)count[l] * more);
    steps += exp2(l) * (double)in->count[l];
  }
  in->hard_steps = (int64_t)steps;
  in->particles = at->particles;
  if (in->on_device) study_system_density(pilot);
}

/* The list of which so many particles have `pairs` interactions: few particles are in it nearly all. */
static double list_of(double pairs, double particles)
{
  double rest = 1 / (pairs * pairs) - 1 / (particles * particles);
  return rest > 0 ? 1 / sqrt(rest) : pairs;
}

double interactions_at(const double pairs[2], const double particles[2], double at, int in_substeps)
{
  double list = list_of(pairs[1], particles[1]), power = 0;
  if (!(pairs[1] > 0) || at <= particles[1]) return pairs[1];
  if (pairs[0] > 0 && particles[1] > particles[0])
    power = FLATTER * log(list / list_of(pairs[0], particles[0])) / log(particles[1] / particles[0]);
  list *= pow(at / particles[1], fmin(fmax(power, LIST_POWER_MIN), in_substeps ? BLOCK_POWER_MAX : 0));
  return 1 / hypot(1 / list, 1 / at);
}

double let_power(const double bytes[2], const double particles[2])
{
  if (!(bytes[0] > 0 && bytes[1] > 0 && particles[1] > particles[0])) return POWER_UNKNOWN;
  return fmin(fmax(log(bytes[1] / bytes[0]) / log(particles[1] / particles[0]), POWER_MIN), POWER_MAX);
}
