/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gravity/units.h"

#include <math.h>

struct units units_of(const struct params *params)
{
  if (!units_physical(params))
    return (struct units){.length_cm = 1,
                          .mass_g = 1,
                          .velocity_cm_s = sqrt(GRAVITY_CGS / params->GravityConstantInternal),
                          .dimensionless = 1};
  return (struct units){
      .length_cm = params->UnitLength_in_cm,
      .mass_g = params->UnitMass_in_g,
      .velocity_cm_s = params->UnitVelocity_in_cm_per_s,
  };
}

void units_of_henon(struct params *params, double length_pc, double mass_solar)
{
  params->GravityConstantInternal = 1;
  if (!(length_pc > 0)) return;
  params->UnitLength_in_cm = length_pc * KPC_CM / 1000;
  params->UnitMass_in_g = mass_solar * SOLAR_MASS_G;
  params->UnitVelocity_in_cm_per_s = sqrt(GRAVITY_CGS * params->UnitMass_in_g / params->UnitLength_in_cm);
}

double units_gravity(const struct params *params)
{
  if (params->GravityConstantInternal > 0) return params->GravityConstantInternal;
  return units_gravity_of(params->UnitLength_in_cm, params->UnitMass_in_g, params->UnitVelocity_in_cm_per_s);
}

double units_time_s(const struct units *units) { return units->length_cm / units->velocity_cm_s; }

const char *units_system(const struct units *units) { return units->dimensionless ? "dimensionless" : "physical"; }

void units_describe(const struct params *params, FILE *out)
{
  struct units u = units_of(params);
  if (u.dimensionless) {
    fprintf(out, "# units: dimensionless, GravityConstantInternal = %.9g\n", params->GravityConstantInternal);
    return;
  }
  fprintf(
      out,
      "# UnitLength_in_cm = %g, UnitMass_in_g = %g, UnitVelocity_in_cm_per_s = %g, GravityConstantInternal = %.9g\n",
      u.length_cm, u.mass_g, u.velocity_cm_s, units_gravity(params));
  fprintf(out, "# unit of time: %g s\n", units_time_s(&u));
}

int units_check(const struct params *params, struct fault *fault) { return params_check_units(params, NULL, fault); }

void units_warn(const struct params *params, FILE *out, const char *before)
{
  double length = params->UnitLength_in_cm, mass = params->UnitMass_in_g, velocity = params->UnitVelocity_in_cm_per_s,
         given = params->GravityConstantInternal;
  if (!units_physical(params) || !units_contradict(length, mass, velocity, given)) return;
  double follows = units_gravity_of(length, mass, velocity);
  fprintf(out,
          "%sGravityConstantInternal = %.7g contradicts the units given, in which the gravitational constant is %.7g; "
          "set it to 0, "
          "or UnitVelocity_in_cm_per_s to %.7g\n",
          before, given, follows, velocity * sqrt(follows / given));
}
