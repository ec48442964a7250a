/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of keys of components, and rules between them. */
#include <config.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ic/galaxy/model.h"
#include "ic/ic.h"

#define X(value, name, disc) name,
const char *const galaxy_profile_names[] = {GALAXY_PROFILES(X)};
#undef X

#define BIT(profile) (1u << (profile))
#define ALL (BIT(GALAXY_PROFILES_COUNT) - 1)
#define POINT BIT(PROFILE_POINT)
#define DISCS (BIT(PROFILE_DISC_EXPONENTIAL) | BIT(PROFILE_DISC_SERSIC))
#define SERSICS (BIT(PROFILE_SERSIC) | BIT(PROFILE_DISC_SERSIC))
#define SPHERES (ALL & ~POINT & ~DISCS)
#define DOUBLE BIT(PROFILE_DOUBLE_POWER)
#define TABLE BIT(PROFILE_TABLE)
#define INFINITE (BIT(PROFILE_NFW) | BIT(PROFILE_MOORE) | BIT(PROFILE_BURKERT))
enum { MOST = GALAXIES * GALAXY_COMPONENTS };
#define KEY(name, value, member, ...)                                   \
  {                                                                     \
    name, value, offsetof(struct galaxy_component, member), __VA_ARGS__ \
  }

const struct galaxy_key galaxy_keys[] = {
    KEY("Profile", VALUE_PROFILE, profile, "", 0, 0, 0, ALL, ALL),
    KEY("Mass", VALUE_REAL, mass, "mass", 0, 1e300, 1, ALL, ALL),
    KEY("Type", VALUE_TYPE, type, "", 0, 5, 0, ALL, 0),
    KEY("N", VALUE_COUNT, n, "", 1, (double)IC_MAX, 0, ALL & ~POINT, 0),
    KEY("Scale", VALUE_REAL, scale, "length", 0, 1e300, 1, ALL & ~POINT & ~TABLE, ALL & ~POINT & ~TABLE),
    KEY("SersicIndex", VALUE_REAL, index, "", 0.6, 10, 0, SERSICS, SERSICS),
    KEY("Alpha", VALUE_REAL, index, "", 0.1, 10, 0, BIT(PROFILE_EINASTO), BIT(PROFILE_EINASTO)),
    KEY("W0", VALUE_REAL, index, "", 0.3, 12, 0, BIT(PROFILE_KING), BIT(PROFILE_KING)),
    KEY("InnerSlope", VALUE_REAL, inner, "", 0, 2, 0, DOUBLE, 0),
    KEY("OuterSlope", VALUE_REAL, outer, "", 2, 20, 1, DOUBLE, DOUBLE),
    KEY("Sharpness", VALUE_REAL, sharpness, "", 0.1, 10, 0, DOUBLE, 0),
    KEY("Table", VALUE_PATH, table, "", 0, 0, 0, TABLE, TABLE),
    KEY("Cutoff", VALUE_REAL, cutoff, "length", 0, 1e300, 1, (SPHERES & ~BIT(PROFILE_KING)) | DISCS, INFINITE),
    KEY("CutoffWidth", VALUE_REAL, cutoff_width, "length", 0, 1e300, 1, (SPHERES & ~BIT(PROFILE_KING)) | DISCS, 0),
    KEY("AnisotropyRadius", VALUE_REAL, anisotropy_radius, "length", 0, 1e300, 1, SPHERES, 0),
    KEY("Height", VALUE_REAL, height, "length", 0, 1e300, 1, DISCS, DISCS),
    KEY("Vertical", VALUE_VERTICAL, vertical, "", 0, 0, 0, DISCS, 0),
    KEY("ToomreQ", VALUE_REAL, toomre_q, "", 0, 1e3, 1, DISCS, 0),
    KEY("Dispersion", VALUE_REAL, dispersion, "velocity", 0, 1e300, 1, DISCS, 0),
    KEY("DispersionScale", VALUE_REAL, dispersion_scale, "length", 0, 1e300, 1, DISCS, 0),
    KEY("Retrograde", VALUE_REAL, retrograde, "", 0, 1, 0, DISCS, 0),
};
const int galaxy_key_count = sizeof galaxy_keys / sizeof *galaxy_keys;

double galaxy_mass(const struct galaxy *galaxy)
{
  double sum = 0;
  for (int i = 0; i < galaxy->count; i++) sum += galaxy->component[i].mass;
  return sum;
}

/* What is not given and has a default. */
static int check_cutoff(const char *path, struct galaxy_component *component, struct fault *fault)
{
  if (component->profile == PROFILE_DOUBLE_POWER) {
    if (!(component->sharpness > 0)) component->sharpness = 1;
    if (component->outer < 3.5 && !(component->cutoff > 0))
      return fault_set(fault,
                       "%s:%d: [%s] Cutoff is missing: with OuterSlope = %g the mass converges slowly, or not at all",
                       path, component->line, component->name, component->outer);
  }
  if (component->cutoff_width > 0 && !(component->cutoff > 0))
    return fault_set(fault, "%s:%d: [%s] CutoffWidth has a meaning only with Cutoff", path, component->line,
                     component->name);
  if (component->cutoff > 0 && !(component->cutoff_width > 0)) component->cutoff_width = 0.2 * component->cutoff;
  if (component->cutoff > 0 &&
      (component->cutoff_width < 0.02 * component->cutoff || component->cutoff_width > 10 * component->cutoff))
    return fault_set(fault, "%s:%d: [%s] CutoffWidth: expected from 0.02 to 10 times Cutoff = %g, found %g", path,
                     component->line, component->name, component->cutoff, component->cutoff_width);
  if (component->cutoff > 0 && component->scale > 0 && component->cutoff < 0.1 * component->scale)
    return fault_set(fault, "%s:%d: [%s] Cutoff: expected at least a tenth of Scale = %g, found %g", path,
                     component->line, component->name, component->scale, component->cutoff);
  return 0;
}

static int check_disc(const char *path, const struct galaxy_component *component, struct fault *fault)
{
  if (!galaxy_is_disc(component->profile)) return 0;
  if (component->toomre_q > 0 && component->dispersion > 0)
    return fault_set(fault, "%s:%d: [%s] ToomreQ and Dispersion: give one of them", path, component->line,
                     component->name);
  if (!(component->toomre_q > 0) && !(component->dispersion > 0))
    return fault_set(fault, "%s:%d: [%s] ToomreQ or Dispersion is missing", path, component->line, component->name);
  return 0;
}

/* Lengths and velocities whose powers in the tables are numbers. */
static int check_range(const char *path, const struct galaxy *galaxy, const struct galaxy_component *component,
                       struct fault *fault)
{
  static const double low = 1e-30, high = 1e30;
  const struct {
    const char *key;
    double value;
  } lengths[] = {{"Scale", component->scale},
                 {"Cutoff", component->cutoff},
                 {"AnisotropyRadius", component->anisotropy_radius},
                 {"Height", component->height},
                 {"DispersionScale", component->dispersion_scale}};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    if (lengths[i].value > 0 && !(lengths[i].value >= low && lengths[i].value <= high))
      return fault_set(fault, "%s:%d: [%s] %s: expected a length from %g to %g, found %g; choose other units", path,
                       component->line, component->name, lengths[i].key, low, high, lengths[i].value);
  double speed = component->scale > 0 ? sqrt(galaxy->gravity) * sqrt(component->mass) / sqrt(component->scale) : 1;
  if (!(speed >= low && speed <= high))
    return fault_set(fault, "%s:%d: [%s]: (G Mass / Scale)^(1/2) is %g; expected from %g to %g; choose other units",
                     path, component->line, component->name, speed, low, high);
  return 0;
}

int galaxy_check_masses(const char *path, const struct galaxy_model *model, struct fault *fault)
{
  static const double low = 1e-37, high = 1e38; /* float */
  for (int i = 0; i < model->count; i++)
    for (int k = 0; k < model->galaxy[i].count; k++) {
      const struct galaxy_component *c = &model->galaxy[i].component[k];
      double mass = c->mass / (double)c->n;
      if (!(mass >= low && mass <= high))
        return fault_set(
            fault, "%s: [%s]: the mass of a particle would be %g; expected from %g to %g; choose another unit of mass",
            path, c->name, mass, low, high);
    }
  return 0;
}

int galaxy_check(const char *path, struct galaxy *galaxy, struct fault *fault)
{
  int points = 0;
  double low = INFINITY, high = 0;
  for (int i = 0; i < galaxy->count; i++) {
    struct galaxy_component *c = &galaxy->component[i];
    if (check_cutoff(path, c, fault) || check_disc(path, c, fault) || check_range(path, galaxy, c, fault)) return -1;
    points += c->profile == PROFILE_POINT;
    if (c->profile == PROFILE_POINT) c->n = 1;
    if (c->scale > 0) {
      low = fmin(low, c->scale);
      high = fmax(high, fmax(c->scale, c->cutoff));
    }
  }
  if (galaxy->count == 0)
    return fault_set(fault, "%s: expected components, each a section with a Profile, or [Orbit]; found none", path);
  if (points > 1)
    return fault_set(fault, "%s: %d components are black-hole; expected at most one, at the centre", path, points);
  if (points == galaxy->count)
    return fault_set(fault, "%s: a black hole alone is no model; add a component of stars or dark matter", path);
  if (high > 1e9 * low)
    return fault_set(fault,
                     "%s: the largest length of the components, %g, is more than 1e9 times the smallest Scale, %g",
                     path, high, low);
  return 0;
}

/* The components of the galaxies from `first` on that a caller wants: those without a number, or all but black holes.
 * Returns their number. */
static int list(struct galaxy_model *model, int first, int all, struct galaxy_component **part)
{
  int count = 0;
  for (int i = first; i < model->count; i++)
    for (int k = 0; k < model->galaxy[i].count; k++) {
      struct galaxy_component *c = &model->galaxy[i].component[k];
      if (all ? c->profile != PROFILE_POINT : c->n == 0) part[count++] = c;
    }
  return count;
}

/* Numbers proportional to the weights, with the sum n: what is left after rounding down is for the largest fractions,
 * the first of equal ones. */
static int distribute(const char *path, int64_t n, int count, struct galaxy_component *const *part,
                      const double *weight, struct fault *fault)
{
  double fraction[MOST], whole = 0;
  int64_t left = n;
  for (int i = 0; i < count; i++) whole += weight[i];
  for (int i = 0; i < count; i++) {
    double exact = (double)n * weight[i] / whole;
    part[i]->n = (int64_t)exact;
    fraction[i] = exact - (double)part[i]->n;
    left -= part[i]->n;
  }
  for (; left > 0; left--) {
    int best = 0;
    for (int i = 1; i < count; i++)
      if (fraction[i] > fraction[best]) best = i;
    fraction[best] -= 1;
    part[best]->n++;
  }
  for (int i = 0; i < count; i++)
    if (part[i]->n < 1)
      return fault_set(fault,
                       "%s: %lld particles for %d components leave none for [%s], whose part of them is %.2g; expected "
                       "more, or its own N",
                       path, (long long)n, count, part[i]->name, weight[i] / whole);
  return 0;
}

/* Particles of the galaxies from `first` on. */
static int64_t particles_of(const struct galaxy_model *model, int first)
{
  int64_t sum = 0;
  for (int i = first; i < model->count; i++)
    for (int k = 0; k < model->galaxy[i].count; k++) sum += model->galaxy[i].component[k].n;
  return sum;
}

int galaxy_share(const char *path, int first, int64_t n, struct galaxy_model *model, struct fault *fault)
{
  struct galaxy_component *part[MOST];
  double weight[MOST];
  int open = list(model, first, 0, part);
  int64_t own = particles_of(model, first);
  for (int i = 0; i < open; i++) weight[i] = part[i]->mass;
  if (n == 0 && open)
    return fault_set(
        fault, "%s:%d: [%s] has no number of particles: give N or ParticleMass there, or N in [Model], or option -n",
        path, part[0]->line, part[0]->name);
  if (n > 0 && !open && own != n)
    return fault_set(fault, "%s: [Model] N = %lld, but the components have %lld particles", path, (long long)n,
                     (long long)own);
  if (n > 0 && open && n - own < open)
    return fault_set(fault,
                     "%s: N = %lld: expected at least %lld particles, for the components' own numbers and one for each "
                     "of the others",
                     path, (long long)n, (long long)own + open);
  if (open && distribute(path, n - own, open, part, weight, fault)) return -1;
  own = particles_of(model, 0);
  return own <= IC_MAX ? 0 : fault_set(fault, "%s: expected at most 2^36 particles, found %lld", path, (long long)own);
}

int galaxy_rescale(const char *path, int64_t n, struct galaxy_model *model, struct fault *fault)
{
  struct galaxy_component *part[MOST];
  double weight[MOST];
  int count = list(model, 0, 1, part);
  int64_t points = particles_of(model, 0);
  for (int i = 0; i < count; i++) {
    weight[i] = (double)part[i]->n;
    points -= part[i]->n;
  }
  if (points == 0 && particles_of(model, 0) == n) return 0;
  if (n - points < count)
    return fault_set(fault, "%s: option -n: expected at least %lld particles, one for each component, found %lld", path,
                     (long long)points + count, (long long)n);
  return distribute(path, n - points, count, part, weight, fault);
}
