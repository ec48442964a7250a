/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The units of a run, and values of parameters that are given with units, as `Softening = 50 pc`. Local. Functions that
 * take a fault return 0, or -1 with the fault set. */
#ifndef PARAMS_UNITS_H
#define PARAMS_UNITS_H
#include "params/constants.h"
#include "params/params.h"
#include "params/quantities.h"

/* As params_set for parameter i, whose text may have a unit; it is noted in *origin. A value in units of the run is set
 * by params_convert. */
int params_take(struct params *params, int i, const char *text, struct param_origin *origin, struct fault *fault);
/* The same for a value that takes the place of that of the file, as -P. */
int params_replace(struct params *params, int i, const char *text, struct param_origin *origin, struct fault *fault);
/* Returns 1 where the parameters state units, or the gravitational constant. */
int params_units_given(const struct param_origin *origin);
/* Set the units of a run whose parameters state none, and `gravity`, 0 where it follows from them. `from` states them,
 * for messages. Before params_convert. */
void params_take_units(struct params *params, const double unit[3], double gravity, const char *from,
                       struct param_origin *origin);
/* Set the units that System names, and convert all values with units into those of the run: after all values are read,
 * before params_choose_integrator. */
int params_convert(struct params *params, struct param_origin *origin, struct fault *fault);
/* A value of the kind `unit` (params.def: "length"; "" for a number) in units of the run, from a text with a unit.
 * Returns 1, or 0 where the text has no unit behind a number. After params_convert; for values that are not in the
 * table of parameters. */
int params_in_units(const struct params *params, const char *unit, const char *text, double *value,
                    struct fault *fault);
/* The units of a run as text: "length 1 pc, mass 1 Msun, velocity 0.9778 km/s, time 1 Myr". Returns `text`. */
const char *params_units_text(const struct params *params, char *text, size_t size);
/* A time as "0.5 (0.489 Gyr)", in comoving coordinates "0.5 (z = 1)", of a dimensionless run "0.5". Returns `text`. */
const char *params_time_text(const struct params *params, double time, char text[QUANTITY_TEXT]);
/* Write "Softening = 0.05 (50 pc)" and so on, a line that starts with `before` for each parameter that was given with a
 * unit. */
void params_list_given(FILE *out, const char *before, const struct params *params, const struct param_origin *origin);

/* --- the units of a run ------------------------------------------------------------------------------------------- */

/* The gravitational constant that follows from units. */
double units_gravity_of(double length_cm, double mass_g, double velocity_cm_s);
/* Returns 1 where a gravitational constant (0: not given) contradicts that of the units. */
int units_contradict(double length_cm, double mass_g, double velocity_cm_s, double gravity);
/* Returns 1 where a file that states these units and the gravitational constant `gravity` (0: not stated) is of a
 * dimensionless run: `gravity` contradicts the units, and these have their defaults. For snapshots that do not state
 * it. */
int units_of_model(double length_cm, double mass_g, double velocity_cm_s, double gravity);
/* Returns 0 for a dimensionless run, else 1. */
int units_physical(const struct params *params);
/* Check that nothing overflows in these units: length, mass, velocity and time are from UNIT_MIN to UNIT_MAX in cgs,
 * so that their cubes are numbers, and G is one. params_convert has done it. `origin` (NULL: not known): for messages.
 * 0, or -1 with a fault. */
#define UNIT_MIN 1e-100
#define UNIT_MAX 1e100
int params_check_units(const struct params *params, const struct param_origin *origin, struct fault *fault);
#endif
