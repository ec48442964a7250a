/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "scheme/schemes.h"

#include <math.h>

#include "scheme/neighbour_lists.h"
#include "system/radius.h"

/* Smallest R2 by rule without softening, in lattice spacings. */
#define RADIUS_SPACINGS 1024
/* Of the distances to the 28th neighbour, that of dense places. */
#define DENSE_QUANTILE 0.1
/* Smallest relative change of the measured R2 that is adopted. */
#define RADIUS_CHANGE 0.2

/* The scheme for the split as it is, and what the rules of steps need of it. The only place where a scheme is
 * chosen. */
static void choose(struct sim *sim)
{
  int split = sim->force.split.on;
  sim->scheme = !split ? &scheme_whole : params_neighbour_lists(sim->par) ? &scheme_neighbour_lists : &scheme_hybrid;
  sim->system.hybrid = split;
  sim->system.r2 = split ? (double)sim->force.split.r2 : sim->force.radius_rule;
}

const struct split *scheme_split(const struct sim *sim) { return sim->force.split.on ? &sim->force.split : NULL; }

void scheme_use_no_split(struct sim *sim)
{
  sim->force.split.on = 0;
  choose(sim);
}

void scheme_resume(struct sim *sim, int allowed)
{
  sim->force.split.on = sim->force.split.on && allowed;
  choose(sim);
}

int scheme_follow(struct sim *sim)
{
  const struct split before = sim->force.split;
  if (params_mode(sim->par) == MODE_TREE) scheme_use_no_split(sim);
  else scheme_measure_radius(sim, 1);
  return sim->force.split.on != before.on || (before.on && sim->force.split.r2 != before.r2);
}

static void set_split(struct sim *sim, double r1, double r2)
{
  sim->force.split = split_make(sim->par->Kernel, r1, r2);
  sim->force.split.largest_mass = (float)sim->masses.largest;
  if (params_neighbour_lists(sim->par) && neighbour_lists_radii_by_mass(sim))
    sim->force.split.mass_scale = (float)sim->masses.mean;
}

/* Note the dynamical time of the densest places; as R2, it is kept until it has changed much. Before the first sums:
 * the distances. */
static void note_dense(struct sim *sim, const double distance[2], int first)
{
  struct finder_system whole = {.count = sim->masses.count, .gravity = sim->force.gravity, .mass = sim->masses.total};
  double dense = errors_dense(&whole, distance, errors_dense_part(errors_allowed(params_error(sim->par))));
  if (first || fabs(dense - sim->system.dense) >= RADIUS_CHANGE * sim->system.dense) sim->system.dense = dense;
}

static double radii_ratio(const struct params *params) { return integrator_traits[params->Integrator].radii_ratio; }

double scheme_r2(const struct sim *sim, const struct params *params)
{
  if (params->R2 > 0) return params->R2;
  if (params->R1 > 0) return radii_ratio(params) * params->R1;
  double part = params->R1OverR0 > 0 ? 1 : plan_radius_part(params, sim->masses.count, sim->be->particle_bytes > 0);
  return part * sim->force.radius_rule * params_r1_over_r0(params) /
         radii_ratio(params); /* of the rule: with twice R1 */
}

/* R1 or R2 is given. Returns as scheme_measure_radius. */
static int given_radius(struct sim *sim, int first)
{
  if (plan_has_units(sim->par))
    sim->lists.distance = radius_of_middle(sim->comm, sim->be, sim->dev, sim->masses.count, DENSE_QUANTILE);
  double r2 = sim->force.radius_rule = scheme_r2(sim, sim->par);
  if (first && params_mode(sim->par) != MODE_TREE) set_split(sim, sim->par->R1, r2);
  return first;
}

/* R2 follows distances between particles. Returns as scheme_measure_radius. */
static int measured_radius(struct sim *sim, int first)
{
  const struct params *params = sim->par;
  double quantile[] = {params->RQuantile, 0.01, DENSE_QUANTILE}, distance[3],
         softening = params_softening(params, NULL);
  radius_quantiles(sim->comm, sim->be, sim->dev, sim->masses.count, 3, quantile, distance);
  note_dense(sim, distance + 1, first);
  sim->lists.distance = sim->masses.count > RADIUS_NEIGHBOURS
                            ? distance[2]
                            : radius_of_middle(sim->comm, sim->be, sim->dev, sim->masses.count, DENSE_QUANTILE);
  if (!first && fabs(distance[0] - sim->force.radius_rule) < RADIUS_CHANGE * sim->force.radius_rule) return 0;
  /* coincident particles have no distances */
  sim->force.radius_rule = fmax(distance[0], softening > 0 ? 1e-3 * softening : RADIUS_SPACINGS * sim->lattice.spacing);
  sim->system.distance = sim->force.radius_rule;
  double r2 = scheme_r2(sim, params);
  if (params_mode(params) != MODE_TREE && (first || sim->force.split.on)) set_split(sim, r2 / radii_ratio(params), r2);
  return sim->force.split.on;
}

int scheme_measure_radius(struct sim *sim, int first)
{
  int given = sim->par->R1 > 0 || sim->par->R2 > 0,
      changed = given ? given_radius(sim, first) : measured_radius(sim, first);
  choose(sim);
  return changed;
}
