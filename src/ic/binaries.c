/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binaries: random elements, and the members' positions and velocities on the Kepler orbit about the centre of mass. */
#include <config.h>
#include <math.h>

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

void binary_members(const struct ic_model *model, const struct ic_scaling *scaling, const double mass[2],
                    const struct ic_point *system, struct ic_random *random, struct ic_point member[2])
{
  double axis, e, whole = mass[0] + mass[1];
  if (model->population == IC_LOG_AXIS) {
    axis = model->binary_min * pow(model->binary_max / model->binary_min, random_uniform(random));
    e = model->eccentricity < 0 ? eccentricity_max * sqrt(random_uniform(random)) : model->eccentricity;
  } else {
    population_orbit(model->population, whole * scaling->mass_solar, scaling->length_pc, random, &axis, &e);
  }
  double anomaly = eccentric_anomaly(e, 2 * M_PI * random_uniform(random)), root = sqrt(1 - e * e);
  double speed = sqrt(whole / axis) / (1 - e * cos(anomaly)), along[3], across[3];
  orient(random, along, across);
  for (int c = 0; c < 3; c++) {
    double d = axis * ((cos(anomaly) - e) * along[c] + root * sin(anomaly) * across[c]);
    double u = speed * (root * cos(anomaly) * across[c] - sin(anomaly) * along[c]);
    for (int k = 0; k < 2; k++) {
      double lever = k ? mass[0] / whole : -mass[1] / whole;
      member[k].pos[c] = system->pos[c] + lever * d;
      member[k].vel[c] = system->vel[c] + lever * u;
    }
  }
  member[0].type = member[1].type = system->type;
}
