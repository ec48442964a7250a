/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binaries as they are observed: their fraction, periods, eccentricities and mass ratios. */
#include <config.h>
#include <math.h>

#include "ic/models.h"

const char *const ic_population_names[] = {"log-axis", "duquennoy-mayor", "raghavan", "sana", "kroupa"};
const int ic_population_count = sizeof ic_population_names / sizeof *ic_population_names;

static const double smallest_ratio = 0.1;    /* of masses that are drawn by their ratio */
static const double longest_circular = 11.6; /* days; shorter orbits of solar-type stars are circles */
static const double largest_eccentricity = 0.95;

/* Steps; brown dwarfs are as M dwarfs. Below 0.6: Winters et al. (2019, AJ 157, 216). Below 1.5: Raghavan et al.
 * (2010), solar-type stars. Then Moe & Di Stefano (2017, ApJS 230, 15, table 13), 1 less the fraction of single stars:
 * of late B stars, which A stars share here, mid B, early B and O stars. */
const struct ic_observed ic_observed[] = {{0, 0.268}, {0.6, 0.44}, {1.5, 0.59}, {5, 0.76}, {9, 0.84}, {16, 0.94}};
_Static_assert(sizeof ic_observed / sizeof *ic_observed == IC_OBSERVED_STEPS, "the number of steps in models.h");

double observed_fraction(double mass)
{
  int k = IC_OBSERVED_STEPS - 1;
  while (k > 0 && mass < ic_observed[k].mass) k--;
  return ic_observed[k].fraction;
}

/* A normal deviate between the limits. */
static double normal_between(struct ic_random *random, double mean, double width, double low, double high)
{
  double x[2];
  do {
    random_normal(random, x);
    x[0] = mean + width * x[0];
  } while (!(x[0] >= low && x[0] <= high));
  return x[0];
}

/* A deviate with a density x^power between the limits, power > -1. */
static double power_between(struct ic_random *random, double power, double low, double high)
{
  double p = power + 1, a = pow(low, p), b = pow(high, p);
  return pow(a + random_uniform(random) * (b - a), 1 / p);
}

/* Logarithm of the period in days. */
static double log_period(enum ic_population population, struct ic_random *random)
{
  switch (population) {
  case IC_LOG_AXIS: break;
  case IC_DUQUENNOY_MAYOR: return normal_between(random, 4.8, 2.3, 0, 10);
  case IC_RAGHAVAN: return normal_between(random, 5.03, 2.28, 0, 10);
  case IC_SANA: return power_between(random, -0.55, 0.15, 3.5);
  case IC_KROUPA_1995: { /* the integral of 2.5 (l - 1) / (45 + (l - 1)^2) is 5/4 ln(1 + (l - 1)^2 / 45) */
    double all = 1.25 * log(1 + 7.43 * 7.43 / 45);
    return 1 + sqrt(45 * expm1(random_uniform(random) * all / 1.25));
  }
  }
  return 0;
}

static double eccentricity(enum ic_population population, double period, struct ic_random *random)
{
  switch (population) {
  case IC_LOG_AXIS: break;
  case IC_DUQUENNOY_MAYOR:
    if (period < longest_circular) return 0;
    return period > 1000 ? power_between(random, 1, 0, largest_eccentricity)
                         : normal_between(random, 0.31, 0.17, 0, largest_eccentricity);
  case IC_RAGHAVAN: return period < longest_circular ? 0 : power_between(random, 0, 0, largest_eccentricity);
  case IC_SANA: return power_between(random, -0.45, 0, 0.9);
  case IC_KROUPA_1995: return power_between(random, 1, 0, largest_eccentricity);
  }
  return 0;
}

void population_orbit(enum ic_population population, double mass_solar, double length_pc, struct ic_random *random,
                      double *axis, double *e)
{
  double period = pow(10, log_period(population, random));
  *e = eccentricity(population, period, random);
  *axis = cbrt(mass_solar * period * period / (IC_YEAR_DAYS * IC_YEAR_DAYS)) / (IC_PC_AU * length_pc);
}

double population_ratio(enum ic_population population, double lowest, struct ic_random *random)
{
  lowest = fmin(fmax(lowest, smallest_ratio), 1);
  switch (population) {
  case IC_LOG_AXIS:
  case IC_KROUPA_1995: break;
  case IC_DUQUENNOY_MAYOR: return lowest < 1 ? normal_between(random, 0.23, 0.42, lowest, 1) : 1;
  case IC_RAGHAVAN: return power_between(random, 0, lowest, 1);
  case IC_SANA: return power_between(random, -0.1, lowest, 1);
  }
  return 0;
}
