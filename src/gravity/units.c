/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gravity/units.h"

#include <math.h>

struct units units_of(const struct params *p)
{
  return (struct units){
      .length_cm = p->UnitLength_in_cm,
      .mass_g = p->UnitMass_in_g,
      .velocity_cm_s = p->UnitVelocity_in_cm_per_s,
  };
}

/* The gravitational constant that follows from the units. */
static double gravity_of(const struct params *p)
{
  struct units u = units_of(p);
  /* Divided in this order nothing overflows for any units of astronomy. */
  return GRAVITY_CGS * (u.mass_g / u.length_cm) / u.velocity_cm_s / u.velocity_cm_s;
}

double units_gravity(const struct params *p) { return p->GravityConstantInternal > 0 ? p->GravityConstantInternal : gravity_of(p); }

int units_physical(const struct params *p)
{
  return !(p->GravityConstantInternal > 0) || fabs(p->GravityConstantInternal / gravity_of(p) - 1) < 0.01;
}

double units_time_s(const struct units *u) { return u->length_cm / u->velocity_cm_s; }
