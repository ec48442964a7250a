/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times, velocities and radii that follow from what was measured of a system. */
#include <config.h>
#include <math.h>

#include "check/physics.h"

#define PAIRS_PART 0.1 /* of the energy within pairs in that of centres of mass, from which on it counts */
#define ROUNDING 1e-6  /* of the potential energy, which is no energy of centres of mass */

/* Of a system that is one pair alone, rounding is left; few wide pairs are chance. */
int physics_has_pairs(const struct physics *physics)
{
  double within = physics->pairs.kinetic + physics->pairs.potential,
         outer = physics->motion.kinetic + physics->motion.potential - within;
  return physics->motion.potential - physics->pairs.potential < ROUNDING * physics->motion.potential &&
         fabs(within) > PAIRS_PART * fabs(outer);
}

double physics_dynamical_time(const struct physics *physics)
{
  double gm = 0.5 * physics->units.gravity * physics->masses.total;
  return physics->size.half > 0 && gm > 0 ? sqrt(physics->size.half * physics->size.half * physics->size.half / gm) : 0;
}

double physics_relaxation_time(const struct physics *physics, const struct component *component)
{
  enum { FEW = 10 }; /* a bound for the Coulomb logarithm: encounters closer than that are as likely as none */
  double r = component->half, mass = 2 * component->inner, gm = physics->units.gravity * mass;
  if (!(r > 0 && gm > 0 && component->perturber > 0)) return 0;
  double close = fmax(component->softening, r / fmax(mass / component->perturber, FEW));
  return 0.138 * mass / component->perturber * sqrt(r * r * r / gm) / log(fmax(r / close, M_E));
}

double physics_dispersion(const struct physics *physics)
{
  double within = physics_has_pairs(physics) ? physics->pairs.kinetic : 0;
  return physics->masses.total > 0 ? sqrt(2 * fmax(physics->motion.kinetic - within, 0) / physics->masses.total) : 0;
}

double physics_jacobi_radius(const struct physics *physics)
{
  double gm = physics->units.gravity * physics->masses.total,
         radius = physics->tide.stretch > 0 ? cbrt(gm / physics->tide.stretch) : 0;
  return radius < physics->tide.reach ? radius : 0;
}

double physics_crossing_time(const struct physics *physics)
{
  double dispersion = physics_dispersion(physics);
  return dispersion > 0 ? 2 * physics->size.half / dispersion : 0;
}

double physics_heating_time(const struct physics *physics, const struct component *component)
{
  double gm = physics->units.gravity * 2 * component->inner, relaxation = physics_relaxation_time(physics, component);
  if (!(component->vertical > 0 && relaxation > 0)) return 0;
  double one_axis2 = 0.4 / 3 * gm / component->half; /* of the relaxation time (Spitzer 1987) */
  return relaxation * component->vertical * component->vertical / one_axis2;
}
