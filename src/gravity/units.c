/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gravity/units.h"

#include <math.h>

#define GRAVITY_TOLERANCE 0.01   /* values of G in use differ by less */

/* The gravitational constant that follows from the units. Divided in this order nothing overflows for any units of astronomy. */
static double gravity_of(double length_cm, double mass_g, double velocity_cm_s)
{
  return GRAVITY_CGS * (mass_g / length_cm) / velocity_cm_s / velocity_cm_s;
}

static int contradict(double length_cm, double mass_g, double velocity_cm_s, double gravity)
{
  return gravity > 0 && !(fabs(gravity / gravity_of(length_cm, mass_g, velocity_cm_s) - 1) < GRAVITY_TOLERANCE);
}

int units_of_model(double length_cm, double mass_g, double velocity_cm_s, double gravity)
{
  struct params defaults;
  if (!contradict(length_cm, mass_g, velocity_cm_s, gravity)) return 0;
  params_defaults(&defaults);
  return length_cm == defaults.UnitLength_in_cm && mass_g == defaults.UnitMass_in_g && velocity_cm_s == defaults.UnitVelocity_in_cm_per_s;
}

int units_physical(const struct params *p)
{
  return !units_of_model(p->UnitLength_in_cm, p->UnitMass_in_g, p->UnitVelocity_in_cm_per_s, p->GravityConstantInternal);
}

struct units units_of(const struct params *p)
{
  if (!units_physical(p))
    return (struct units){
        .length_cm = 1, .mass_g = 1, .velocity_cm_s = sqrt(GRAVITY_CGS / p->GravityConstantInternal), .dimensionless = 1};
  return (struct units){
      .length_cm = p->UnitLength_in_cm,
      .mass_g = p->UnitMass_in_g,
      .velocity_cm_s = p->UnitVelocity_in_cm_per_s,
  };
}

double units_gravity(const struct params *p)
{
  if (p->GravityConstantInternal > 0) return p->GravityConstantInternal;
  return gravity_of(p->UnitLength_in_cm, p->UnitMass_in_g, p->UnitVelocity_in_cm_per_s);
}

double units_time_s(const struct units *u) { return u->length_cm / u->velocity_cm_s; }

const char *units_system(const struct units *u) { return u->dimensionless ? "dimensionless" : "physical"; }

void units_describe(const struct params *p, FILE *out)
{
  struct units u = units_of(p);
  if (u.dimensionless) {
    fprintf(out, "# units: dimensionless, GravityConstantInternal = %.9g\n", p->GravityConstantInternal);
    return;
  }
  fprintf(out, "# UnitLength_in_cm = %g, UnitMass_in_g = %g, UnitVelocity_in_cm_per_s = %g, GravityConstantInternal = %.9g\n", u.length_cm,
          u.mass_g, u.velocity_cm_s, units_gravity(p));
  fprintf(out, "# unit of time: %g s\n", units_time_s(&u));
}

void units_warn(const struct params *p, FILE *out, const char *before)
{
  double length = p->UnitLength_in_cm, mass = p->UnitMass_in_g, velocity = p->UnitVelocity_in_cm_per_s, given = p->GravityConstantInternal;
  if (!units_physical(p) || !contradict(length, mass, velocity, given)) return;
  double follows = gravity_of(length, mass, velocity);
  fprintf(out, "%sGravityConstantInternal = %.7g contradicts the units given, in which the gravitational constant is %.7g; set it to 0, "
               "or UnitVelocity_in_cm_per_s to %.7g\n", before, given, follows, velocity * sqrt(follows / given));
}
