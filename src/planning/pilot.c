/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "planning/pilot.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check/physics.h"
#include "gravity/units.h"
#include "io/input/initial.h"
#include "particles/sampling.h"

/* Particles of a type that a sample keeps at least, where there are as many. */
enum { TYPE_LEAST = 16 };

/* --- models ------------------------------------------------------------------------------------------------------ */

/* Whether the name, up to a comma, is that of a model of `espalier ic`. */
static int is_known(const char *name)
{
  size_t length = strcspn(name, ",");
  for (int k = 0; k < ic_count; k++)
    if (strlen(ic_names[k]) == length && strncmp(name, ic_names[k], length) == 0) return 1;
  return 0;
}

/* The sphere of a name with settings. */
static int read_sphere(const char *name, double particles, struct pilot_source *source, struct fault *fault)
{
  char text[256];
  ic_defaults(&source->sphere);
  if ((size_t)snprintf(text, sizeof text, "%s", name) >= sizeof text)
    return fault_set(fault, "%.60s...: the model is too long", name);
  char *rest = strchr(text, ',');
  if (rest) *rest++ = 0;
  snprintf(source->sphere.name, sizeof source->sphere.name, "%.31s", text);
  while (rest) {
    char *setting = rest;
    rest = strchr(rest, ',');
    if (rest) *rest++ = 0;
    if (ic_set(&source->sphere, setting, fault)) return -1;
  }
  source->sphere.seed = 1;
  source->sphere.n = (int64_t)particles;
  return ic_check(&source->sphere, fault);
}

/* The units of a sphere, as `espalier ic` would state them. */
static void sphere_units(struct pilot_source *source, const struct ic_facts *made)
{
  units_of_henon(&source->units, made->unit.length_pc, made->unit.mass_solar);
}

int pilot_of_model(const char *name, double particles, struct pilot_source *source, struct fault *fault)
{
  FILE *file = NULL;
  memset(source, 0, sizeof *source);
  source->name = name;
  params_defaults(&source->units);
  if (is_known(name)) {
    const struct ic_facts none = {0};
    if (read_sphere(name, particles, source, fault)) return -1;
    if (source->sphere.virial_radius > 0 || source->sphere.half_mass_radius > 0)
      return fault_set(fault,
                       "--model %s: a model in pc is not planned; give its parameter file, and its numbers in "
                       "model units",
                       name);
    sphere_units(source, &none);
    return 0;
  }
  if (!strchr(name, '/') && !strchr(name, '.') && !(file = fopen(name, "r"))) {
    char names[200] = "";
    for (int k = 0; k < ic_count; k++)
      snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", k ? ", " : "", ic_names[k]);
    return fault_set(fault, "--model %.60s: expected %s, or a model file of galaxies", name, names);
  }
  if (file) fclose(file);
  struct galaxy_model *model = memory_alloc("ic tables", sizeof *model);
  source->galaxy = 1;
  int failed = galaxy_model_read(name, (int64_t)particles, model, fault);
  source->units = model->units;
  source->own = failed ? 0 : (double)galaxy_particles(model);
  memory_free(model);
  return failed;
}

static int make_galaxies(const struct comm *comm, const char *file, double particles, struct particles *pilot,
                         struct fault *fault)
{
  struct galaxy_model *model = memory_alloc("ic tables", sizeof *model);
  struct galaxy_tables tables[GALAXIES] = {{.g = NULL}};
  int failed = galaxy_model_read(file, (int64_t)particles, model, fault);
  for (int i = 0; i < model->count && !failed; i++) failed = galaxy_open(&tables[i], &model->galaxy[i], fault);
  if (!failed) galaxy_make(comm, model, tables, 1, pilot);
  for (int i = 0; i < GALAXIES; i++)
    if (tables[i].g) galaxy_close(&tables[i]);
  memory_free(model);
  return failed ? -1 : 0;
}

/* --- files ------------------------------------------------------------------------------------------------------- */

int pilot_of_file(const struct comm *comm, const struct params *params, struct pilot_source *source, double *time,
                  struct fault *fault)
{
  struct initial_facts facts;
  memset(source, 0, sizeof *source);
  source->name = params->InitCondFile;
  particles_init(&source->particles);
  if (initial_read(comm, params->InitCondFile, params->ICFormat, &source->particles, &facts, fault)) return -1;
  *time = facts.own ? facts.time : params->TimeBegin;
  return initial_check_units(params->InitCondFile, &facts, params, fault);
}

void pilot_close(struct pilot_source *source) { particles_free(&source->particles); }

/* A hash that has nothing to do with the one by which other samples are taken. */
static uint64_t own_hash(uint64_t id) { return sampling_hash(~sampling_hash(id)); }

/* Keep a part of the particles of every type, by hashed ids. */
static void sample(const struct particles *all, double wanted, struct particles *pilot)
{
  double count[PARTICLE_TYPES] = {0}, mass[PARTICLE_TYPES] = {0}, kept[PARTICLE_TYPES] = {0}, part[PARTICLE_TYPES];
  for (int64_t i = 0; i < all->n; i++) {
    count[all->type[i]]++;
    mass[all->type[i]] += all->mass[i];
  }
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    part[t] = wanted / (double)all->n;
    if (part[t] * count[t] < TYPE_LEAST) part[t] = 1;
  }
  particles_reserve(pilot, (int64_t)(1.2 * wanted) + 1024);
  for (int64_t i = 0; i < all->n; i++) {
    int t = all->type[i];
    if (part[t] < 1 && (double)own_hash(all->id[i]) >= part[t] * 0x1p64) continue;
    if (pilot->n == pilot->capacity) particles_reserve(pilot, 2 * pilot->capacity);
    particles_copy(pilot, pilot->n++, all, i);
    kept[t] += all->mass[i];
  }
  for (int64_t i = 0; i < pilot->n; i++)
    if (kept[pilot->type[i]] > 0)
      pilot->mass[i] = (float)(pilot->mass[i] * (mass[pilot->type[i]] / kept[pilot->type[i]]));
}

int pilot_make(const struct comm *comm, const struct pilot_source *source, double particles, struct particles *pilot,
               struct fault *fault)
{
  if (source->particles.n > 0) {
    sample(&source->particles, particles, pilot);
    return 0;
  }
  if (source->galaxy) return make_galaxies(comm, source->name, particles, pilot, fault);
  struct ic_model model = source->sphere;
  model.n = (int64_t)particles;
  return ic_make(comm, &model, pilot, NULL, fault);
}

double pilot_half_radius(const struct particles *pilot)
{
  size_t n = (size_t)pilot->n;
  double *x = memory_alloc("radius", sizeof *x * (n + 1)), centre[3];
  for (int c = 0; c < 3; c++) {
    for (size_t i = 0; i < n; i++) x[i] = pilot->pos[3 * i + c];
    gsl_sort(x, 1, n);
    centre[c] = x[n / 2];
  }
  for (size_t i = 0; i < n; i++) {
    double r2 = 0;
    for (size_t c = 0; c < 3; c++) r2 += (pilot->pos[3 * i + c] - centre[c]) * (pilot->pos[3 * i + c] - centre[c]);
    x[i] = sqrt(r2);
  }
  gsl_sort(x, 1, n);
  double half = x[n / 2];
  memory_free(x);
  return half;
}

double pilot_softening(double half, double particles)
{
  return physics_softening(&(struct physics){.size = {.half = half}, .masses = {.particles = particles}});
}
