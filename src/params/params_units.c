/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "params/params_units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "params/params_external.h"
#include "params/quantities.h"

#define GRAVITY_TOLERANCE 0.01 /* values of G in use differ by less */

/* --- the units of a run ------------------------------------------------------------------------------------------- */

/* Divided in this order nothing overflows for any units of astronomy. */
double units_gravity_of(double length_cm, double mass_g, double velocity_cm_s)
{
  return GRAVITY_CGS * (mass_g / length_cm) / velocity_cm_s / velocity_cm_s;
}

int units_contradict(double length_cm, double mass_g, double velocity_cm_s, double gravity)
{
  return gravity > 0 && !(fabs(gravity / units_gravity_of(length_cm, mass_g, velocity_cm_s) - 1) < GRAVITY_TOLERANCE);
}

int units_of_model(double length_cm, double mass_g, double velocity_cm_s, double gravity)
{
  struct params defaults;
  if (!units_contradict(length_cm, mass_g, velocity_cm_s, gravity)) return 0;
  params_defaults(&defaults);
  return length_cm == defaults.UnitLength_in_cm && mass_g == defaults.UnitMass_in_g &&
         velocity_cm_s == defaults.UnitVelocity_in_cm_per_s;
}

int units_physical(const struct params *params)
{
  return !units_of_model(params->UnitLength_in_cm, params->UnitMass_in_g, params->UnitVelocity_in_cm_per_s,
                         params->GravityConstantInternal);
}

/* --- values with units -------------------------------------------------------------------------------------------- */

int params_take(struct params *params, int i, const char *text, struct param_origin *origin, struct fault *fault)
{
  const struct param_entry *entry = &param_table[i];
  const struct measure *measure = measure_of(entry->unit);
  struct quantity unused;
  int unit = entry->kind == KIND_REAL ? quantity_read(measure, text, &unused, fault) : 0;
  if (unit < 0) return -1;
  snprintf(origin->given[i], PARAM_TEXT, "%s", unit ? text : "");
  return unit && measure->fixed == 0 ? 0 : params_set(params, entry, text, fault);
}

int params_units_given(const struct param_origin *origin)
{
  for (int i = 0; i < param_count; i++)
    if (strcmp(param_table[i].section, "Units") == 0 && origin->line[i] != ORIGIN_DEFAULT) return 1;
  return 0;
}

void params_take_units(struct params *params, const double unit[3], double gravity, const char *from,
                       struct param_origin *origin)
{
  params->UnitLength_in_cm = unit[0];
  params->UnitMass_in_g = unit[1];
  params->UnitVelocity_in_cm_per_s = unit[2];
  params->GravityConstantInternal = gravity;
  snprintf(origin->units, sizeof origin->units, "%s", from);
}

/* Units of lengths and masses in comoving coordinates have factors of 1/h, as GADGET's. */
static struct run_units units_of_run(const struct params *params)
{
  long double h = params->Comoving ? params->HubbleParam : 1, length = params->UnitLength_in_cm;
  return (struct run_units){.length = length / h,
                            .mass = params->UnitMass_in_g / h,
                            .time = length / params->UnitVelocity_in_cm_per_s,
                            .comoving = params->Comoving == COMOVING_ON,
                            .gravity = units_physical(params) ? 0 : params->GravityConstantInternal};
}

/* "FILE:LINE: " of parameter i, or "". */
static const char *place_of(const struct param_origin *origin, int i, char *text, size_t size)
{
  text[0] = 0;
  if (origin->file && origin->line[i] > 0) snprintf(text, size, "%.500s:%d: ", origin->file, origin->line[i]);
  return text;
}

int params_in_units(const struct params *params, const char *unit, const char *text, double *value, struct fault *fault)
{
  const struct run_units run = units_of_run(params);
  const struct measure *measure = measure_of(unit);
  struct quantity quantity;
  int given = quantity_read(measure, text, &quantity, fault);
  if (given <= 0) return given;
  return quantity_in_run(&run, measure, &quantity, value, fault) ? -1 : 1;
}

/* The text of parameter i in units of the run. Returns 1, or 0 where it has no unit of these. */
static int convert(const struct params *params, int i, const struct param_origin *origin, char text[PARAM_TEXT],
                   struct fault *fault)
{
  const struct run_units run = units_of_run(params);
  const struct param_entry *entry = &param_table[i];
  const struct measure *measure = measure_of(entry->unit);
  double value = 0;
  if (entry->kind == KIND_STRING) {
    params_format(params, entry, text, PARAM_TEXT);
    return external_convert(&run, entry->name, text, fault);
  }
  if (!origin->given[i][0] || measure->fixed > 0) return 0;
  if (params_in_units(params, entry->unit, origin->given[i], &value, fault) < 0) return -1;
  number_text(value, text, PARAM_TEXT);
  return 1;
}

/* Whether G is that of the units, within what values in use differ by. */
static int is_gravity_of(const struct params *params, double gravity)
{
  return params->System != SYSTEM_NBODY && gravity > 0 &&
         !units_contradict(params->UnitLength_in_cm, params->UnitMass_in_g, params->UnitVelocity_in_cm_per_s, gravity);
}

/* The values of System, in the order of names[], NULL: the default; a value that is given must be the same. */
static int take_system(struct params *params, const struct param_origin *origin, struct fault *fault)
{
  static const char *const names[] = {"UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s",
                                      "GravityConstantInternal"};
  static const char *const values[][4] = {[SYSTEM_GALAXY] = {"1 kpc", "1e10 Msun", "1 km/s", "0"},
                                          [SYSTEM_CLUSTER] = {"1 pc", "1 Msun", "1 km/s", "0"},
                                          [SYSTEM_PC_MYR] = {"1 pc", "1 Msun", "1 pc/Myr", "0"},
                                          [SYSTEM_NBODY] = {NULL, NULL, NULL, "1"},
                                          [SYSTEM_GADGET] = {NULL}};
  if (params->System == SYSTEM_GIVEN) return 0;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    int i = param_find("Units", names[k]);
    const char *value = values[params->System][k];
    char given[PARAM_TEXT], expected[PARAM_TEXT], where[600];
    params_format(params, &param_table[i], given, sizeof given);
    if (params_set(params, &param_table[i], value ? value : param_table[i].initial, fault)) return -1;
    params_format(params, &param_table[i], expected, sizeof expected);
    if (origin->line[i] == ORIGIN_DEFAULT || strcmp(given, expected) == 0) continue;
    if (k == 3 && is_gravity_of(params, atof(given))) { /* another value of Newton's constant */
      params->GravityConstantInternal = atof(given);
      continue;
    }
    return fault_set(fault, "%s[Units] %s = %s and System = %s: expected %s, or one of the two left out",
                     place_of(origin, i, where, sizeof where), names[k], given, params_choice("System", params->System),
                     expected);
  }
  return 0;
}

int params_check_units(const struct params *params, const struct param_origin *origin, struct fault *fault)
{
  double length = params->UnitLength_in_cm, mass = params->UnitMass_in_g, velocity = params->UnitVelocity_in_cm_per_s,
         time = length / velocity, gravity = units_gravity_of(length, mass, velocity);
  double all[] = {length, mass, velocity, time};
  int good = isnormal(gravity);
  char where[600] = "", units[300];
  for (int k = 0; k < 4; k++) good = good && all[k] >= UNIT_MIN && all[k] <= UNIT_MAX;
  if (good) return 0;
  for (int i = 0; origin && i < param_count && !where[0]; i++)
    if (strcmp(param_table[i].section, "Units") == 0) place_of(origin, i, where, sizeof where);
  if (origin && origin->units[0]) snprintf(where, sizeof where, "%.500s: ", origin->units);
  snprintf(units, sizeof units, "UnitLength_in_cm = %g, UnitMass_in_g = %g, UnitVelocity_in_cm_per_s = %g", length,
           mass, velocity);
  return fault_set(fault,
                   "%s%s: in these units the unit of time is %g s and the gravitational constant is %g; expected "
                   "lengths, masses, velocities and times from %g to %g in cgs",
                   where, units, time, gravity, UNIT_MIN, UNIT_MAX);
}

int params_convert(struct params *params, struct param_origin *origin, struct fault *fault)
{
  if (take_system(params, origin, fault) || params_check_units(params, origin, fault)) return -1;
  for (int i = 0; i < param_count; i++) {
    const struct param_entry *entry = &param_table[i];
    char text[PARAM_TEXT], given[PARAM_TEXT], where[600];
    struct fault reason = {""};
    snprintf(given, sizeof given, "%s", origin->given[i]);
    if (entry->kind == KIND_STRING) params_format(params, entry, given, sizeof given);
    int changed = convert(params, i, origin, text, &reason);
    if (changed > 0) snprintf(origin->given[i], PARAM_TEXT, "%s", given);
    if (changed == 0 || (changed > 0 && params_set(params, entry, text, &reason) == 0)) continue;
    return fault_set(fault, "%s[%s] %s = %.200s: %s", place_of(origin, i, where, sizeof where), entry->section,
                     entry->name, given, reason.text);
  }
  return 0;
}

const char *params_units_text(const struct params *params, char *text, size_t size)
{
  double length = params->UnitLength_in_cm, velocity = params->UnitVelocity_in_cm_per_s;
  char texts[4][QUANTITY_TEXT];
  if (!units_physical(params)) {
    snprintf(text, size, "none: the numbers of a model with G = %.7g", params->GravityConstantInternal);
    return text;
  }
  if (params->Comoving) {
    snprintf(text, size, "length %s/h, mass %s/h, velocity %s", quantity_text("length", length, texts[0]),
             quantity_text("mass", params->UnitMass_in_g, texts[1]), quantity_text("velocity", velocity, texts[2]));
    return text;
  }
  snprintf(text, size, "length %s, mass %s, velocity %s, time %s", quantity_text("length", length, texts[0]),
           quantity_text("mass", params->UnitMass_in_g, texts[1]), quantity_text("velocity", velocity, texts[2]),
           quantity_text("time", length / velocity, texts[3]));
  return text;
}

const char *params_time_text(const struct params *params, double time, char text[QUANTITY_TEXT])
{
  char suited[QUANTITY_TEXT];
  int at = snprintf(text, QUANTITY_TEXT, "%g", time);
  size_t left = QUANTITY_TEXT - (size_t)at;
  if (params->Comoving) snprintf(text + at, left, " (z = %.4g)", 1 / time - 1);
  else if (time != 0 && units_physical(params))
    snprintf(text + at, left, " (%.50s)",
             quantity_text("time", time * params->UnitLength_in_cm / params->UnitVelocity_in_cm_per_s, suited));
  return text;
}

void params_list_given(FILE *out, const char *before, const struct params *params, const struct param_origin *origin)
{
  char value[PARAM_TEXT];
  for (int i = 0; origin && i < param_count; i++) {
    if (!origin->given[i][0]) continue;
    params_format(params, &param_table[i], value, sizeof value);
    fprintf(out, "%s%s = %s (%s)\n", before, param_table[i].name, value, origin->given[i]);
  }
}
