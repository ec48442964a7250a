/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Defaults and checks of the options of models. */
#include <config.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ic/models.h"

const char *const ic_masses_names[] = {"equal", "kroupa", "two"};
const int ic_masses_count = sizeof ic_masses_names / sizeof *ic_masses_names;

void ic_defaults(struct ic_model *m)
{
  memset(m, 0, sizeof *m);
  m->seed = 1;
  m->mass_ratio = 1;
  m->separation = 3;
  m->impact_parameter = 0.5;
  m->relative_velocity = 0.8;   /* slightly below the parabolic velocity, sqrt(2 / 3) */
  m->w0 = 6;
  m->mass_min = 0.08;
  m->mass_max = 100;
  m->heavy_ratio = 20;
  m->heavy_fraction = 0.01;
  m->binary_min = 1e-4;
  m->binary_max = 1e-3;
  m->eccentricity = -1;
}

static int model_index(const struct ic_model *m)
{
  for (int i = 0; i < ic_count; i++)
    if (strcmp(ic_names[i], m->name) == 0) return i;
  return -1;
}

static int check_range(const char *name, double x, double lowest, double largest, struct fault *f)
{
  if (x >= lowest && x <= largest) return 0;   /* false for NaN */
  return fault_set(f, "%s: expected a number from %g to %g, found %g", name, lowest, largest, x);
}

static int check_stars(const struct ic_model *m, struct fault *f)
{
  if (check_range("W0", m->w0, 0.3, 12, f) || check_range("central mass", m->central_mass, 0, 0.9, f) ||
      check_range("smallest mass", m->mass_min, 0.01, 1000, f) || check_range("largest mass", m->mass_max, 0.01, 1000, f) ||
      check_range("ratio of the heavy mass", m->heavy_ratio, 1, 1e6, f) ||
      check_range("fraction of heavy stars", m->heavy_fraction, 0, 1, f) || check_range("fraction of binaries", m->binaries, 0, 1, f) ||
      check_range("smallest semi-major axis", m->binary_min, 1e-7, 1, f) ||
      check_range("largest semi-major axis", m->binary_max, 1e-7, 1, f) ||
      (m->eccentricity != -1 && check_range("eccentricity", m->eccentricity, 0, 0.9999, f)))
    return -1;
  if (m->mass_min >= m->mass_max)
    return fault_set(f, "the smallest mass, %g, must be below the largest, %g", m->mass_min, m->mass_max);
  if (m->binary_min > m->binary_max)
    return fault_set(f, "the smallest semi-major axis, %g, must not exceed the largest, %g", m->binary_min, m->binary_max);
  if (m->central_mass > 0 && m->n < 2)
    return fault_set(f, "a central mass is one of the particles: expected at least 2 of them, found %lld", (long long)m->n);
  return 0;
}

int ic_check(const struct ic_model *m, struct fault *f)
{
  if (model_index(m) < 0) {
    const char *near = nearest_name(m->name, ic_names, ic_count);
    return fault_set(f, "unknown model '%s'%s%s%s", m->name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  if (m->n < 1 || m->n > IC_MAX)
    return fault_set(f, "number of particles: expected a number from 1 to 2^36, found %lld", (long long)m->n);
  if (check_range("virial ratio", m->virial_ratio, 0, 1.9, f) || check_range("mass ratio", m->mass_ratio, 1e-6, 1e6, f) ||
      check_range("separation", m->separation, 0, IC_ORBIT_MAX, f) ||
      check_range("impact parameter", m->impact_parameter, -IC_ORBIT_MAX, IC_ORBIT_MAX, f) ||
      check_range("relative velocity", m->relative_velocity, -IC_ORBIT_MAX, IC_ORBIT_MAX, f) || check_stars(m, f))
    return -1;
  if (strcmp(m->name, "merger") == 0 && (merger_first(m) < 1 || merger_first(m) >= m->n))
    return fault_set(f, "%lld particles of equal mass cannot have the mass ratio %g: one sphere would be empty", (long long)m->n,
                     m->mass_ratio);
  return 0;
}

/* Options by name, and the models that have them. Those of the command are the same (cli/commands_ic.c). */
#define SPHERES "plummer, hernquist, king"
static const struct ic_option {
  const char *name, *models;
  size_t offset;   /* in struct ic_model */
} options[] = {
    {"virial-ratio", "uniform", offsetof(struct ic_model, virial_ratio)},
    {"mass-ratio", "merger", offsetof(struct ic_model, mass_ratio)},
    {"separation", "merger", offsetof(struct ic_model, separation)},
    {"impact-parameter", "merger", offsetof(struct ic_model, impact_parameter)},
    {"relative-velocity", "merger", offsetof(struct ic_model, relative_velocity)},
    {"w0", "king", offsetof(struct ic_model, w0)},
    {"central-mass", SPHERES, offsetof(struct ic_model, central_mass)},
    {"mass-min", SPHERES, offsetof(struct ic_model, mass_min)},
    {"mass-max", SPHERES, offsetof(struct ic_model, mass_max)},
    {"heavy-ratio", SPHERES, offsetof(struct ic_model, heavy_ratio)},
    {"heavy-fraction", SPHERES, offsetof(struct ic_model, heavy_fraction)},
    {"binaries", SPHERES, offsetof(struct ic_model, binaries)},
    {"binary-min", SPHERES, offsetof(struct ic_model, binary_min)},
    {"binary-max", SPHERES, offsetof(struct ic_model, binary_max)},
    {"eccentricity", SPHERES, offsetof(struct ic_model, eccentricity)},
    {"mass-function", SPHERES, 0},   /* last: a name, not a number */
};
enum { OPTIONS = sizeof options / sizeof *options };

static int set_masses(struct ic_model *m, const char *text, struct fault *f)
{
  for (int i = 0; i < ic_masses_count; i++)
    if (strcmp(text, ic_masses_names[i]) == 0) {
      m->masses = (enum ic_masses)i;
      return 0;
    }
  return fault_set(f, "mass-function: expected equal, kroupa or two, found '%.40s'", text);
}

int ic_set(struct ic_model *m, const char *setting, struct fault *f)
{
  const char *equals = strchr(setting, '='), *names[OPTIONS];
  char name[40], *end;
  if (!equals) return fault_set(f, "%.100s: expected name=value", setting);
  snprintf(name, sizeof name, "%.*s", (int)(equals - setting < 39 ? equals - setting : 39), setting);
  for (int i = 0; i < OPTIONS; i++) {
    const struct ic_option *o = &options[i];
    names[i] = o->name;
    if (strcmp(o->name, name) != 0) continue;
    if (!strstr(o->models, m->name))
      return fault_set(f, "option %s belongs to model%s %s, not to %s", name, strchr(o->models, ',') ? "s" : "", o->models, m->name);
    if (i == OPTIONS - 1) return set_masses(m, equals + 1, f);
    double x = strtod(equals + 1, &end);
    if (end == equals + 1 || *end) return fault_set(f, "option %s: expected a number, found '%.40s'", name, equals + 1);
    *(double *)((char *)m + o->offset) = x;
    return 0;
  }
  const char *near = nearest_name(name, names, OPTIONS);
  return fault_set(f, "unknown option '%s' of a model%s%s%s", name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int64_t ic_binaries(const struct ic_model *m)
{
  int64_t stars = m->n - (m->central_mass > 0), binaries = llrint((double)stars * m->binaries / (1 + m->binaries));
  return binaries <= stars / 2 ? binaries : stars / 2;
}
