/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of models: names, defaults, checks. */
#include <config.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ic/models.h"

const char *const ic_masses_names[] = {"equal", "kroupa", "two"};
const int ic_masses_count = sizeof ic_masses_names / sizeof *ic_masses_names;

#define SMALLEST 1e-12 /* sizes in pc, and masses */
#define LARGEST 1e18

void ic_defaults(struct ic_model *model)
{
  memset(model, 0, sizeof *model);
  model->seed = 1;
  model->mass_ratio = 1;
  model->separation = 3;
  model->impact_parameter = 0.5;
  model->relative_velocity = 0.8; /* slightly below the parabolic velocity, sqrt(2 / 3) */
  model->w0 = 6;
  model->mass_min = 0.08;
  model->mass_max = 100;
  model->heavy_ratio = 20;
  model->heavy_fraction = 0.01;
  model->virial_ratio = -1;
  model->binary_min = 1e-4;
  model->binary_max = 1e-3;
  model->eccentricity = -1;
}

static int model_index(const struct ic_model *model)
{
  for (int i = 0; i < ic_count; i++)
    if (strcmp(ic_names[i], model->name) == 0) return i;
  return -1;
}

static int check_range(const char *name, double x, double lowest, double largest, struct fault *fault)
{
  if (x >= lowest && x <= largest) return 0; /* false for NaN */
  return fault_set(fault, "%s: expected a number from %g to %g, found %g", name, lowest, largest, x);
}

/* Checks of what a model is scaled to. */
static int check_scale(const struct ic_model *model, struct fault *fault)
{
  const double given[] = {model->virial_radius, model->half_mass_radius, model->total_mass};
  static const char *const names[] = {"virial radius", "half-mass radius", "total mass"};
  int scaled = model->virial_radius != 0 || model->half_mass_radius != 0;
  for (int k = 0; k < 3; k++)
    if (given[k] != 0 && check_range(names[k], given[k], SMALLEST, LARGEST, fault)) return -1;
  if (model->virial_radius != 0 && model->half_mass_radius != 0)
    return fault_set(fault, "--virial-radius and --half-mass-radius: give one of them");
  if (model->total_mass != 0 && model->masses == IC_KROUPA)
    return fault_set(fault, "--total-mass: the mass function kroupa gives the mass itself; leave --total-mass out");
  if (model->total_mass != 0 && !scaled)
    return fault_set(fault, "option --total-mass: has a meaning only with --virial-radius or --half-mass-radius");
  if (model->binaries != 0 && model->population != IC_LOG_AXIS && !scaled)
    return fault_set(fault,
                     "binary-population: periods of '%s' are in days: give the size of the model in pc, by "
                     "--virial-radius or --half-mass-radius",
                     ic_population_names[model->population]);
  return 0;
}

static int check_multiples(const struct ic_model *model, struct fault *fault)
{
  if (model->binaries == IC_OBSERVED && model->masses != IC_KROUPA)
    return fault_set(fault,
                     "binaries: observed fractions are by the mass of a star in solar masses: expected --mass-function "
                     "kroupa, or a fraction from 0 to 1");
  if ((model->binaries != IC_OBSERVED && check_range("fraction of binaries", model->binaries, 0, 1, fault)) ||
      check_range("fraction of triples", model->triples, 0, 1, fault))
    return -1;
  if (model->triples > 0 && model->binaries == 0)
    return fault_set(fault, "triples: a fraction of the systems with at least two stars: give --binaries too");
  return 0;
}

static int check_stars(const struct ic_model *model, struct fault *fault)
{
  if (check_range("W0", model->w0, 0.3, 12, fault) || check_range("central mass", model->central_mass, 0, 0.9, fault) ||
      check_range("smallest mass", model->mass_min, 0.01, 1000, fault) ||
      check_range("largest mass", model->mass_max, 0.01, 1000, fault) ||
      check_range("ratio of the heavy mass", model->heavy_ratio, 1, 1e6, fault) ||
      check_range("fraction of heavy stars", model->heavy_fraction, 0, 1, fault) ||
      check_range("smallest semi-major axis", model->binary_min, 1e-7, 1, fault) ||
      check_range("largest semi-major axis", model->binary_max, 1e-7, 1, fault) ||
      (model->eccentricity != -1 && check_range("eccentricity", model->eccentricity, 0, 0.9999, fault)))
    return -1;
  if (model->mass_min >= model->mass_max)
    return fault_set(fault, "the smallest mass, %g, must be below the largest, %g", model->mass_min, model->mass_max);
  if (model->binary_min > model->binary_max)
    return fault_set(fault, "the smallest semi-major axis, %g, must not exceed the largest, %g", model->binary_min,
                     model->binary_max);
  if (model->central_mass > 0 && model->n < 2)
    return fault_set(fault, "a central mass is one of the particles: expected at least 2 of them, found %lld",
                     (long long)model->n);
  return 0;
}

int ic_check(const struct ic_model *model, struct fault *fault)
{
  if (model_index(model) < 0) {
    const char *near = nearest_name(model->name, ic_names, ic_count);
    return fault_set(fault, "unknown model '%s'%s%s%s", model->name, near ? "; did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
  }
  if (model->n < 1 || model->n > IC_MAX)
    return fault_set(fault, "number of particles: expected a number from 1 to 2^36, found %lld", (long long)model->n);
  if ((model->virial_ratio != -1 && check_range("virial ratio", model->virial_ratio, 0, 1.9, fault)) ||
      check_range("mass ratio", model->mass_ratio, 1e-6, 1e6, fault) ||
      check_range("separation", model->separation, 0, IC_ORBIT_MAX, fault) ||
      check_range("impact parameter", model->impact_parameter, -IC_ORBIT_MAX, IC_ORBIT_MAX, fault) ||
      check_range("relative velocity", model->relative_velocity, -IC_ORBIT_MAX, IC_ORBIT_MAX, fault) ||
      check_stars(model, fault) || check_multiples(model, fault) || check_scale(model, fault))
    return -1;
  if (model->virial_ratio >= 0 && strstr(IC_SPHERES, model->name) && model->n > IC_VIRIAL_MAX)
    return fault_set(fault,
                     "virial ratio: of plummer, hernquist and king it is a sum over all pairs: expected at most %lld "
                     "particles, found %lld",
                     (long long)IC_VIRIAL_MAX, (long long)model->n);
  if (strcmp(model->name, "merger") == 0 && (merger_first(model) < 1 || merger_first(model) >= model->n))
    return fault_set(fault, "%lld particles of equal mass cannot have the mass ratio %g: one sphere would be empty",
                     (long long)model->n, model->mass_ratio);
  return 0;
}

const struct ic_option ic_options[] = {
    {"virial-ratio", IC_SPHERES ", uniform", offsetof(struct ic_model, virial_ratio), IC_ALONE, 0, "from 0 to 1.9"},
    {"mass-ratio", "merger", offsetof(struct ic_model, mass_ratio), IC_ALONE, 0, NULL},
    {"separation", "merger", offsetof(struct ic_model, separation), IC_ALONE, 0, NULL},
    {"impact-parameter", "merger", offsetof(struct ic_model, impact_parameter), IC_ALONE, 0, NULL},
    {"relative-velocity", "merger", offsetof(struct ic_model, relative_velocity), IC_ALONE, 0, NULL},
    {"w0", "king", offsetof(struct ic_model, w0), IC_ALONE, 0, NULL},
    {"central-mass", IC_SPHERES, offsetof(struct ic_model, central_mass), IC_ALONE, 0, NULL},
    {"mass-min", IC_SPHERES, offsetof(struct ic_model, mass_min), IC_NEEDS_KROUPA, 0, NULL},
    {"mass-max", IC_SPHERES, offsetof(struct ic_model, mass_max), IC_NEEDS_KROUPA, 0, NULL},
    {"heavy-ratio", IC_SPHERES, offsetof(struct ic_model, heavy_ratio), IC_NEEDS_TWO, 0, NULL},
    {"heavy-fraction", IC_SPHERES, offsetof(struct ic_model, heavy_fraction), IC_NEEDS_TWO, 0, NULL},
    {"binaries", IC_SPHERES, offsetof(struct ic_model, binaries), IC_ALONE, 0, "from 0 to 1, or observed"},
    {"triples", IC_SPHERES, offsetof(struct ic_model, triples), IC_NEEDS_BINARIES, 0, NULL},
    {"binary-min", IC_SPHERES, offsetof(struct ic_model, binary_min), IC_NEEDS_AXES, 0, NULL},
    {"binary-max", IC_SPHERES, offsetof(struct ic_model, binary_max), IC_NEEDS_AXES, 0, NULL},
    {"eccentricity", IC_SPHERES, offsetof(struct ic_model, eccentricity), IC_NEEDS_AXES, 0, "from 0 to 0.9999"},
    {"binary-population", IC_SPHERES, offsetof(struct ic_model, population), IC_NEEDS_BINARIES, 0, NULL},
    {"virial-radius", IC_SPHERES, offsetof(struct ic_model, virial_radius), IC_ALONE, SMALLEST, "from 1e-12 to 1e18"},
    {"half-mass-radius", IC_SPHERES, offsetof(struct ic_model, half_mass_radius), IC_ALONE, SMALLEST,
     "from 1e-12 to 1e18"},
    {"total-mass", IC_SPHERES, offsetof(struct ic_model, total_mass), IC_ALONE, SMALLEST, "from 1e-12 to 1e18"},
    {"mass-function", IC_SPHERES, offsetof(struct ic_model, masses), IC_ALONE, 0, NULL},
};
/* A shorter table would end with empty options. */
_Static_assert(sizeof ic_options / sizeof *ic_options == IC_OPTIONS, "the number of options in ic.h");

static int set_masses(struct ic_model *model, const char *text, struct fault *fault)
{
  for (int i = 0; i < ic_masses_count; i++)
    if (strcmp(text, ic_masses_names[i]) == 0) {
      model->masses = (enum ic_masses)i;
      return 0;
    }
  return fault_set(fault, "mass-function: expected equal, kroupa or two, found '%.40s'", text);
}

static int set_population(struct ic_model *model, const char *text, struct fault *fault)
{
  for (int i = 0; i < ic_population_count; i++)
    if (strcmp(text, ic_population_names[i]) == 0) {
      model->population = (enum ic_population)i;
      return 0;
    }
  return fault_set(
      fault, "binary-population: expected log-axis, duquennoy-mayor, raghavan, sana or kroupa, found '%.40s'", text);
}

int ic_set_option(struct ic_model *model, int number, const char *value, struct fault *fault)
{
  const struct ic_option *o = &ic_options[number];
  char *end;
  if (o->offset == offsetof(struct ic_model, masses)) return set_masses(model, value, fault);
  if (o->offset == offsetof(struct ic_model, population)) return set_population(model, value, fault);
  if (o->offset == offsetof(struct ic_model, binaries) && strcmp(value, "observed") == 0) {
    model->binaries = IC_OBSERVED;
    return 0;
  }
  double x = strtod(value, &end); /* one beyond the range of doubles is infinite */
  if (end == value || *end || !isfinite(x))
    return fault_set(fault, "%s: expected a number%s%s, found '%.40s'", o->name, o->range ? " " : "",
                     o->range ? o->range : "", value);
  if (o->range && x < o->least) return fault_set(fault, "%s: expected a number %s, found %g", o->name, o->range, x);
  *(double *)((char *)model + o->offset) = x;
  return 0;
}

int ic_set(struct ic_model *model, const char *setting, struct fault *fault)
{
  const char *equals = strchr(setting, '='), *names[IC_OPTIONS];
  char name[40];
  if (!equals) return fault_set(fault, "%.100s: expected name=value", setting);
  snprintf(name, sizeof name, "%.*s", (int)(equals - setting < 39 ? equals - setting : 39), setting);
  for (int i = 0; i < IC_OPTIONS; i++) {
    const char *models = ic_options[i].models;
    names[i] = ic_options[i].name;
    if (strcmp(names[i], name) != 0) continue;
    if (strstr(models, model->name)) return ic_set_option(model, i, equals + 1, fault);
    return fault_set(fault, "option %s belongs to model%s %s, not to %s", name, strchr(models, ',') ? "s" : "", models,
                     model->name);
  }
  const char *near = nearest_name(name, names, IC_OPTIONS);
  return fault_set(fault, "unknown option '%s' of a model%s%s%s", name, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}
