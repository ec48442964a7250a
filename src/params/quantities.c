/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "params/quantities.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names of units ----------------------------------------------------------------------------------------------- */

#define MINUTE_S 60
#define DAY_S 86400
#define CGS(x) ((long double)(x))
static const struct unit {
  const char *name;
  struct dimension of;
  long double cgs;
} units[] = {
    {"pc", {1, 0, 0}, CGS(KPC_CM) / 1000},
    {"kpc", {1, 0, 0}, CGS(KPC_CM)},
    {"Mpc", {1, 0, 0}, CGS(KPC_CM) * 1000},
    {"AU", {1, 0, 0}, CGS(AU_CM)},
    {"au", {1, 0, 0}, CGS(AU_CM)},
    {"Rsun", {1, 0, 0}, CGS(SOLAR_RADIUS_CM)},
    {"km", {1, 0, 0}, 1e5L},
    {"m", {1, 0, 0}, 100},
    {"cm", {1, 0, 0}, 1},
    {"yr", {0, 0, 1}, CGS(YEAR_S)},
    {"kyr", {0, 0, 1}, CGS(YEAR_S) * 1000},
    {"Myr", {0, 0, 1}, CGS(YEAR_S) * 1000000},
    {"Gyr", {0, 0, 1}, CGS(YEAR_S) * 1000000000},
    {"s", {0, 0, 1}, 1},
    {"min", {0, 0, 1}, MINUTE_S},
    {"h", {0, 0, 1}, 3600},
    {"day", {0, 0, 1}, DAY_S},
    {"Msun", {0, 1, 0}, CGS(SOLAR_MASS_G)},
    {"g", {0, 1, 0}, 1},
    {"kg", {0, 1, 0}, 1000},
};
enum { UNITS = sizeof units / sizeof *units };

static const struct measure measures[] = {
    {"length", {1, 0, 0}, 0, "a length", "50 pc"},
    {"time", {0, 0, 1}, 0, "a time", "0.3 Gyr"},
    {"mass", {0, 1, 0}, 0, "a mass", "1e10 Msun"},
    {"acceleration", {1, 0, -2}, 0, "an acceleration", "1 pc/Myr^2"},
    {"velocity", {1, 0, -1}, 0, "a velocity", "220 km/s"},
    {"frequency", {0, 0, -1}, 0, "a frequency", "27 km/s/kpc"},
    {"cm", {1, 0, 0}, 1, "a length", "1 kpc"},
    {"g", {0, 1, 0}, 1, "a mass", "1e10 Msun"},
    {"cm/s", {1, 0, -1}, 1, "a velocity", "1 km/s"},
    {"minutes", {0, 0, 1}, MINUTE_S, "a wall-clock time in s, min, h or day", "2 h"},
};
enum { MEASURES = sizeof measures / sizeof *measures };

const struct measure *measure_of(const char *unit)
{
  for (int k = 0; k < MEASURES; k++)
    if (strcmp(measures[k].unit, unit) == 0) return &measures[k];
  return NULL;
}

static int same(const struct dimension *a, const struct dimension *b)
{
  return a->length == b->length && a->mass == b->mass && a->time == b->time;
}

/* "a time", or "length^2 time^-2" of what has no name. */
static void describe(const struct dimension *of, char *text, size_t size)
{
  const struct {
    const char *name;
    int power;
  } parts[] = {{"length", of->length}, {"mass", of->mass}, {"time", of->time}};
  size_t at = 0;
  snprintf(text, size, "a number");
  for (int k = 0; k < MEASURES; k++)
    if (measures[k].fixed == 0 && same(&measures[k].of, of)) {
      snprintf(text, size, "%s", measures[k].a);
      return;
    }
  for (size_t k = 0; k < sizeof parts / sizeof *parts && at < size; k++)
    if (parts[k].power)
      at += (size_t)snprintf(text + at, size - at, "%s%s^%d", at ? " " : "", parts[k].name, parts[k].power);
}

/* Units for output, and from what multiple of them on they are used; the larger ones last. */
static const struct suited {
  const char *measure, *unit;
  double cgs, from;
} suited[] = {{"length", "AU", AU_CM, 0},
              {"length", "pc", KPC_CM / 1000, 0.01},
              {"length", "kpc", KPC_CM, 1},
              {"length", "Mpc", KPC_CM * 1000, 1},
              {"time", "s", 1, 0},
              {"time", "days", DAY_S, 1},
              {"time", "yr", YEAR_S, 1},
              {"time", "Myr", 1e6 * YEAR_S, 0.01},
              {"time", "Gyr", 1e9 * YEAR_S, 0.9},
              {"mass", "Msun", SOLAR_MASS_G, 0},
              {"velocity", "km/s", 1e5, 0}};

const char *quantity_text(const char *measure, double cgs, char text[QUANTITY_TEXT])
{
  const struct suited *best = NULL;
  for (size_t k = 0; k < sizeof suited / sizeof *suited; k++)
    if (strcmp(suited[k].measure, measure) == 0 && (!best || fabs(cgs) >= suited[k].from * suited[k].cgs))
      best = &suited[k];
  if (best) snprintf(text, QUANTITY_TEXT, "%.4g %s", cgs / best->cgs, best->unit);
  else snprintf(text, QUANTITY_TEXT, "%.4g (cgs)", cgs);
  return text;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* What is wrong with a unit, as the end of a sentence. */
static int unknown_unit(const char *name, struct fault *reason)
{
  const char *names[UNITS];
  for (int k = 0; k < UNITS; k++) names[k] = units[k].name;
  const char *near = nearest_name(name, names, UNITS);
  if (near) return fault_set(reason, "unknown unit '%.20s'; did you mean '%s'?", name, near);
  return fault_set(reason,
                   "unknown unit '%.20s'; units are pc, kpc, Mpc, AU, Rsun, km, m, cm, yr, kyr, Myr, Gyr, s, min, h, "
                   "day, Msun, g, kg, and products as km/s/kpc or pc/Myr^2",
                   name);
}

static int odd_unit(struct fault *reason)
{
  return fault_set(reason, "a unit is a name, or a product of names with powers, as km/s/kpc, pc/Myr^2 or km s^-1");
}

/* The power behind a name, which *at is moved behind; 1 where there is none, 0: a mistake. */
static int read_power(const char **at)
{
  char *end;
  if (**at != '^') return 1;
  const char *digits = *at + 1 + ((*at)[1] == '-');
  long power = isdigit((unsigned char)*digits) ? strtol(*at + 1, &end, 10) : 0;
  if (power < -9 || power > 9 || power == 0) return 0;
  *at = end;
  return (int)power;
}

/* One name with its power, in the numerator (sign 1) or the denominator (-1). *at is moved behind it. */
static int read_factor(const char **at, int sign, struct quantity *quantity, struct fault *reason)
{
  char name[QUANTITY_TEXT];
  size_t n = 0;
  while (isalpha((unsigned char)(*at)[n])) n++;
  snprintf(name, sizeof name, "%.*s", (int)n, *at);
  if (n == 0) return odd_unit(reason);
  int k = 0;
  while (k < UNITS && strcmp(units[k].name, name) != 0) k++;
  if (k == UNITS) return unknown_unit(name, reason);
  *at += n;
  int power = sign * read_power(at);
  if (power == 0) return odd_unit(reason);
  quantity->hours |= strcmp(name, "h") == 0;
  quantity->of.length += power * units[k].of.length;
  quantity->of.mass += power * units[k].of.mass;
  quantity->of.time += power * units[k].of.time;
  for (int p = abs(power); p > 0; p--)
    quantity->cgs = power > 0 ? quantity->cgs * units[k].cgs : quantity->cgs / units[k].cgs;
  return 0;
}

static const char *skip(const char *text) { return text + strspn(text, " \t"); }

/* The unit `at`, which begins with a letter or an operator. */
static int read_unit(const char *at, struct quantity *quantity, struct fault *reason)
{
  int sign = 1, factors = 0, divided = 0;
  for (; *at; factors++) {
    if (*at == '/' || (*at == '*' && factors > 0)) {
      sign = *at == '/' ? -1 : 1;
      divided |= *at == '/';
      at = skip(at + 1);
    } else if (factors > 0 && divided) { /* km/s kpc is km s^-1 kpc^-1 for some, and km s^-1 kpc for others */
      return odd_unit(reason);
    }
    if (read_factor(&at, sign, quantity, reason)) return -1;
    at = skip(at);
  }
  if (quantity->hours && factors > 1)
    return fault_set(reason, "h may be hours, or the Hubble constant in units of 100 km/s/Mpc: give the value without "
                             "it");
  return 1;
}

/* Read a number with a unit. Returns 1, 0 where no unit stands behind a number, or -1 with the reason. */
static int read_quantity(const char *text, struct quantity *quantity, struct fault *reason)
{
  char *end;
  errno = 0;
  *quantity = (struct quantity){.number = strtod(text, &end), .cgs = 1};
  size_t n = (size_t)(end - text);
  /* strtod also accepts nan, inf and hexadecimal numbers, which are mistakes */
  if (n == 0 || errno || strspn(text, "0123456789+-.eE") < n) return 0;
  const char *unit = skip(end);
  if (!isalpha((unsigned char)*unit) && *unit != '/' && *unit != '*' && !((unsigned char)*unit & 0x80)) return 0;
  if (strlen(text) >= QUANTITY_TEXT) return odd_unit(reason);
  quantity->number = strtold(text, NULL); /* so that 0.3 Gyr and 300 Myr are one number */
  return read_unit(unit, quantity, reason);
}

int quantity_read(const struct measure *measure, const char *text, struct quantity *quantity, struct fault *fault)
{
  struct fault reason = {""};
  char found[80];
  int unit = read_quantity(text, quantity, &reason), wall_clock = measure && measure->fixed == MINUTE_S;
  if (unit == 0) return 0;
  if (!measure) return fault_set(fault, "expected a number without a unit, found '%.99s'", text);
  describe(&quantity->of, found, sizeof found);
  if (unit > 0 && !same(&quantity->of, &measure->of)) fault_set(&reason, "that is %s", found);
  if (unit > 0 && quantity->hours && !wall_clock) fault_set(&reason, "h are hours of wall-clock times only");
  if (unit > 0 && wall_clock && quantity->cgs > DAY_S) fault_set(&reason, "that is a time of the model");
  if (!reason.text[0]) return 1;
  return fault_set(fault, "expected %s, for example %s, found '%.99s': %s", measure->a, measure->given, text,
                   reason.text);
}

/* --- conversion --------------------------------------------------------------------------------------------------- */

/* The number of double precision; where one of 14 digits is as near as the rounding of constants, that one. */
static double rounded(long double x)
{
  char text[40];
  snprintf(text, sizeof text, "%.14Lg", x);
  double r = strtod(text, NULL);
  return fabsl(r - x) <= 4e-16L * fabsl(x) ? r : (double)x;
}

static long double to_power(long double x, int power)
{
  long double y = 1;
  for (int k = abs(power); k > 0; k--) y = power > 0 ? y * x : y / x;
  return y;
}

void number_text(double x, char *text, size_t size)
{
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, size, "%.*g", digits, x);
    if (strtod(text, NULL) == x) return;
  }
}

double quantity_fixed(const struct measure *measure, const struct quantity *quantity)
{
  return rounded(quantity->number * quantity->cgs / measure->fixed);
}

int quantity_in_run(const struct run_units *run, const struct measure *measure, const struct quantity *quantity,
                    double *value, struct fault *fault)
{
  if (run->gravity > 0)
    return fault_set(fault,
                     "expected a number without a unit: the run is dimensionless, with G = %g; for units give [Units] "
                     "System = galaxy or cluster, or the three units, and no GravityConstantInternal",
                     run->gravity);
  if (run->comoving && measure->of.time)
    return fault_set(fault, "expected a number without a unit: with Comoving = on the time is the expansion factor");
  long double x = quantity->number * quantity->cgs / to_power(run->length, measure->of.length) /
                  to_power(run->mass, measure->of.mass) / to_power(run->time, measure->of.time);
  *value = rounded(x);
  if (x != 0 && !isnormal(*value)) /* 0 means something else: no softening, no limit */
    return fault_set(fault, "expected 0, or a size of 1e-300 to 1e300 in units of the run, found %.3Lg", x);
  return 0;
}
