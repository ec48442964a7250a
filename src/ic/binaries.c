/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binaries and hierarchical triples: random elements, and the members' positions and velocities on Kepler orbits about
 * centres of mass. */
#include <config.h>
#include <math.h>

#include "gravity/hierarchy_rules.h"
#include "ic/models.h"

static const double eccentricity_max = 0.9999; /* of thermal ones */

/* Solve Kepler's equation E - e sin E = M, M from 0 to 2 pi. From E = pi Newton's method converges for every e < 1. */
static double eccentric_anomaly(double e, double mean)
{
  double anomaly = M_PI;
  for (int i = 0; i < 60; i++) {
    double step = (anomaly - e * sin(anomaly) - mean) / (1 - e * cos(anomaly));
    anomaly -= step;
    if (fabs(step) < 1e-15) break;
  }
  return anomaly;
}

/* Two perpendicular unit vectors: to the pericentre, and along the velocity there. All orientations are equally
 * likely. */
static void orient(struct ic_random *random, double along[3], double across[3])
{
  double other[3], product;
  random_direction(random, 1, along);
  do {
    random_direction(random, 1, other);
    product = other[0] * along[0] + other[1] * along[1] + other[2] * along[2];
  } while (fabs(product) > 0.99);
  for (int c = 0; c < 3; c++) across[c] = (other[c] - product * along[c]) / sqrt(1 - product * product);
}

/* Semi-major axis and eccentricity. */
static void elements(const struct ic_model *model, const struct ic_scaling *scaling, double mass,
                     struct ic_random *random, double *axis, double *e)
{
  if (model->population != IC_LOG_AXIS) {
    population_orbit(model->population, mass * scaling->mass_solar, scaling->length_pc, random, axis, e);
    return;
  }
  *axis = model->binary_min * pow(model->binary_max / model->binary_min, random_uniform(random));
  *e = model->eccentricity < 0 ? eccentricity_max * sqrt(random_uniform(random)) : model->eccentricity;
}

/* Position d and velocity u relative to the focus, at the eccentric anomaly. */
static void relative(double mass, double axis, double e, double anomaly, const double along[3], const double across[3],
                     double d[3], double u[3])
{
  double root = sqrt(1 - e * e), speed = sqrt(mass / axis) / (1 - e * cos(anomaly));
  for (int c = 0; c < 3; c++) {
    d[c] = axis * ((cos(anomaly) - e) * along[c] + root * sin(anomaly) * across[c]);
    u[c] = speed * (root * cos(anomaly) * across[c] - sin(anomaly) * along[c]);
  }
}

/* Two bodies about their centre of mass `system`. */
static void members(const double mass[2], const double d[3], const double u[3], const struct ic_point *system,
                    struct ic_point *first, struct ic_point *second)
{
  double whole = mass[0] + mass[1];
  for (int c = 0; c < 3; c++) {
    first->pos[c] = system->pos[c] + -mass[1] / whole * d[c];
    first->vel[c] = system->vel[c] + -mass[1] / whole * u[c];
    second->pos[c] = system->pos[c] + mass[0] / whole * d[c];
    second->vel[c] = system->vel[c] + mass[0] / whole * u[c];
  }
  first->type = second->type = system->type;
}

void binary_members(const struct ic_model *model, const struct ic_scaling *scaling, const double mass[2],
                    const struct ic_point *system, struct ic_random *random, struct ic_point member[2])
{
  double axis, e, whole = mass[0] + mass[1], along[3], across[3], d[3], u[3];
  elements(model, scaling, whole, random, &axis, &e);
  double anomaly = eccentric_anomaly(e, 2 * M_PI * random_uniform(random));
  orient(random, along, across);
  relative(whole, axis, e, anomaly, along, across, d, u);
  members(mass, d, u, system, &member[0], &member[1]);
}

/* Axes and eccentricities of both orbits (0: inner, 1: outer) are drawn from the same distributions, until they are
 * stable, as those of observed triples (Tokovinin 2014, AJ 147, 87): the outer pericentre is TRIPLE_MARGIN times the
 * least one of Mardling & Aarseth (2001, MNRAS 321, 398), without their factor for the inclination. */
int triple_members(const struct ic_model *model, const struct ic_scaling *scaling, const double mass[3],
                   const struct ic_point *system, struct ic_random *random, struct ic_point member[3])
{
  const double pair = mass[0] + mass[1], whole = pair + mass[2], bodies[2] = {pair, mass[2]};
  double along[2][3], across[2][3], axis[2], e[2], d[3], u[3];
  struct unit_facts inner = unit_facts_of_star(pair);
  for (int k = 0; k < 2; k++) orient(random, along[k], across[k]);
  int tries = 0, stable;
  do {
    elements(model, scaling, pair, random, &axis[0], &e[0]);
    elements(model, scaling, whole, random, &axis[1], &e[1]);
    inner.a = axis[0];
    stable = axis[1] * (1 - e[1]) >= TRIPLE_MARGIN * hierarchy_stable(&inner, mass[2], e[1]);
  } while (!stable && ++tries < TRIPLE_TRIES);
  if (!stable) return -1;
  struct ic_point centre;
  for (int k = 1; k >= 0; k--) {
    double anomaly = eccentric_anomaly(e[k], 2 * M_PI * random_uniform(random));
    relative(k ? whole : pair, axis[k], e[k], anomaly, along[k], across[k], d, u);
    if (k) members(bodies, d, u, system, &centre, &member[2]);
    else members(mass, d, u, &centre, &member[0], &member[1]);
  }
  return 0;
}
