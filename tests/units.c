/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gravity/units.h"

#include <math.h>
#include <string.h>

#include "tap.h"

static int near(double x, double expected, double tolerance) { return fabs(x / expected - 1) <= tolerance; }

/* Which parameters make a run dimensionless. `params`: the defaults with GravityConstantInternal = 1. */
static void dimensionless(const struct params *params)
{
  struct params q = *params;
  struct units u = units_of(&q);
  tap_ok(!units_physical(&q) && u.dimensionless && u.length_cm == 1 && u.mass_g == 1,
         "G = 1 in the default units: dimensionless, in 1 cm and 1 g");
  tap_ok(near(GRAVITY_CGS * u.mass_g / (u.length_cm * u.velocity_cm_s * u.velocity_cm_s), 1, 1e-14),
         "... and a velocity in which G is 1");
  tap_ok(strcmp(units_system(&u), "dimensionless") == 0, "... and named so");
  q.GravityConstantInternal = 43007.1;
  u = units_of(&q);
  tap_ok(units_physical(&q) && !u.dimensionless && u.velocity_cm_s == 1e5 && strcmp(units_system(&u), "physical") == 0,
         "a rounded G of the default units: physical");
  q.GravityConstantInternal = 1;
  q.UnitVelocity_in_cm_per_s = 2.07417e7;
  tap_ok(units_physical(&q) && units_of(&q).velocity_cm_s == 2.07417e7, "units in which G is 1: physical");
  q.UnitVelocity_in_cm_per_s = 3e5;
  tap_ok(units_physical(&q) && units_of(&q).velocity_cm_s == 3e5, "units that are given, and another G: physical");
  tap_ok(units_of_model(params->UnitLength_in_cm, params->UnitMass_in_g, params->UnitVelocity_in_cm_per_s, 1) &&
             !units_of_model(params->UnitLength_in_cm, params->UnitMass_in_g, params->UnitVelocity_in_cm_per_s, 0),
         "an older snapshot: dimensionless by the same rule, and physical where it does not state G");
  char text[400] = "";
  FILE *out = fmemopen(text, sizeof text, "w");
  units_warn(params, out, "warning: ");
  q.GravityConstantInternal = 0;
  units_warn(&q, out, "warning: ");
  fflush(out);
  tap_ok(text[0] == 0, "no warning without a contradiction");
  q.GravityConstantInternal = 1;
  units_warn(&q, out, "warning: ");
  fclose(out);
  tap_ok(strstr(text, "warning: GravityConstantInternal = 1 contradicts") &&
             strstr(text, "UnitVelocity_in_cm_per_s to 2.0741"),
         "a contradiction, and the velocity that removes it");
  struct fault f = {""};
  tap_ok(units_check(params, &f) == 0 && units_check(&q, &f) == 0 && !f.text[0], "units of astronomy pass");
  q.UnitLength_in_cm = 1e-300;
  tap_ok(units_check(&q, &f) == -1 && strstr(f.text, "gravitational constant is inf"),
         "a unit of length of 1e-300 cm does not");
  f.text[0] = 0;
  q.UnitLength_in_cm = q.UnitMass_in_g = 1e300;
  q.UnitVelocity_in_cm_per_s = 1e5;
  tap_ok(units_check(&q, &f) == -1 && strstr(f.text, "UnitLength_in_cm = 1e+300"),
         "nor do units of 1e300, in which the gravitational constant is a number");
}

int main(void)
{
  struct params p;
  params_defaults(&p);
  struct units u = units_of(&p);
  tap_ok(u.length_cm == 3.085678e21 && u.mass_g == 1.989e43 && u.velocity_cm_s == 1e5,
         "the defaults are kpc, 1e10 Msun and km/s");
  tap_ok(near(units_gravity(&p), 43021.7, 1e-4), "G in kpc, 1e10 Msun, km/s is 43021.7 (kpc km^2/s^2 per 1e10 Msun)");
  tap_ok(near(units_time_s(&u), 3.085678e16, 1e-15), "the unit of time is length over velocity");
  tap_ok(near(units_time_s(&u) / 3.15576e7, 0.97779e9, 1e-4), "... 0.978 Gyr");

  p.GravityConstantInternal = 1;
  tap_ok(units_gravity(&p) == 1, "GravityConstantInternal wins over the units");
  dimensionless(&p);

  p.GravityConstantInternal = 0;
  p.UnitLength_in_cm = p.UnitMass_in_g = p.UnitVelocity_in_cm_per_s = 1;
  tap_ok(near(units_gravity(&p), 6.6743e-8, 1e-15), "in cgs G is CODATA's");

  p.UnitLength_in_cm = 1e200;
  p.UnitMass_in_g = 1e250;
  p.UnitVelocity_in_cm_per_s = 1e25;
  tap_ok(near(units_gravity(&p), 6.6743e-8, 1e-12), "large units do not overflow");
  return tap_end();
}
