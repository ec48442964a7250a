/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gravity/units.h"

#include <math.h>

#include "tap.h"

static int near(double x, double expected, double tolerance) { return fabs(x / expected - 1) <= tolerance; }

int main(void)
{
  struct params p;
  params_defaults(&p);
  struct units u = units_of(&p);
  tap_ok(u.length_cm == 3.085678e21 && u.mass_g == 1.989e43 && u.velocity_cm_s == 1e5, "the defaults are kpc, 1e10 Msun and km/s");
  tap_ok(near(units_gravity(&p), 43021.7, 1e-4), "G in kpc, 1e10 Msun, km/s is 43021.7 (kpc km^2/s^2 per 1e10 Msun)");
  tap_ok(near(units_time_s(&u), 3.085678e16, 1e-15), "the unit of time is length over velocity");
  tap_ok(near(units_time_s(&u) / 3.15576e7, 0.97779e9, 1e-4), "... 0.978 Gyr");

  p.GravityConstantInternal = 1;
  tap_ok(units_gravity(&p) == 1, "GravityConstantInternal wins over the units");

  p.GravityConstantInternal = 0;
  p.UnitLength_in_cm = p.UnitMass_in_g = p.UnitVelocity_in_cm_per_s = 1;
  tap_ok(near(units_gravity(&p), 6.6743e-8, 1e-15), "in cgs G is CODATA's");

  p.UnitLength_in_cm = 1e200;
  p.UnitMass_in_g = 1e250;
  p.UnitVelocity_in_cm_per_s = 1e25;
  tap_ok(near(units_gravity(&p), 6.6743e-8, 1e-12), "large units do not overflow");
  return tap_end();
}
