/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef UNITS_H
#define UNITS_H
#include "params/params.h"

/* The internal units in cgs. */
struct units {
  double length_cm, mass_g, velocity_cm_s;
};

/* CODATA 2018, cgs: cm^3 g^-1 s^-2. */
#define GRAVITY_CGS 6.67430e-8
#define KPC_CM 3.0856776e21
#define SOLAR_MASS_G 1.98841e33
#define GYR_S 3.15576e16   /* of Julian years */

/* The units that the parameters name. */
struct units units_of(const struct params *p);
/* The gravitational constant in internal units (length velocity^2 / mass): GravityConstantInternal, or computed from the units where
 * that is 0. */
double units_gravity(const struct params *p);
/* Returns 1 where the units are physical: GravityConstantInternal is 0, or within 1 % of the value that follows from them; 0 for units
 * of a model. */
int units_physical(const struct params *p);
/* The unit of time, length / velocity, in seconds. */
double units_time_s(const struct units *u);
#endif
