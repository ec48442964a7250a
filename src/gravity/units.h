/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef UNITS_H
#define UNITS_H
#include <stdio.h>

#include "params/constants.h"
#include "params/params.h"
#include "params/params_units.h"

/* The internal units in cgs. */
struct units {
  double length_cm, mass_g, velocity_cm_s;
  int dimensionless; /* 1: the numbers of a model, without units */
};

/* The units of a run with these parameters, as its files state them. A run is dimensionless where
 * GravityConstantInternal is given, the other units have their defaults, and these give another gravitational constant.
 * Its files state 1 cm, 1 g, and the unit of velocity in which the gravitational constant has the given value, so that
 * readers, which know only cgs, compute consistently. */
struct units units_of(const struct params *params);
/* Set the units of a model with G = 1 to this length and mass; length_pc 0: it stays without units. */
void units_of_henon(struct params *params, double length_pc, double mass_solar);
/* The gravitational constant in internal units (length velocity^2 / mass): GravityConstantInternal, or computed from
 * the units where that is 0. */
double units_gravity(const struct params *params);
/* The unit of time, length / velocity, in seconds. */
double units_time_s(const struct units *units);
/* "dimensionless" or "physical": the attribute UnitSystem of snapshots. */
const char *units_system(const struct units *units);
/* Write the comment lines of a table that state its units. */
void units_describe(const struct params *params, FILE *out);
/* A fault where numbers overflow in the units (params_check_units). 0 or -1. */
int units_check(const struct params *params, struct fault *fault);
/* Print a line, which starts with `before`, where GravityConstantInternal contradicts units that are given. */
void units_warn(const struct params *params, FILE *out, const char *before);
#endif
