/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is printed about a model, and its profiles as tables. */
#include <config.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "gravity/units.h"
#include "ic/galaxy/make.h"

/* The radius within which half of the mass is, from M(r), to 1e-9. */
static double half_mass_radius(const struct radial *radial)
{
  double low = radial_node(radial, 0), high = radial_node(radial, radial_nodes(radial) - 1),
         half = 0.5 * radial_mass(radial, high);
  while (high > low * (1 + 1e-9)) {
    double middle = sqrt(low * high);
    *(radial_mass(radial, middle) < half ? &low : &high) = middle;
  }
  return low;
}

/* "halo"; where there are several galaxies "1.halo", or in tables "1.FILE.halo": files may have equal names. */
static void part_name(const struct galaxy_model *model, int galaxy, const char *name, int file,
                      char text[3 * GALAXY_NAME])
{
  const char *of = model->galaxy[galaxy].name;
  if (model->count == 1) snprintf(text, 3 * GALAXY_NAME, "%s", name);
  else if (file) snprintf(text, 3 * GALAXY_NAME, "%d.%s.%s", galaxy + 1, of, name);
  else snprintf(text, 3 * GALAXY_NAME, "%d.%s", galaxy + 1, name);
}

static void report_component(FILE *out, const struct galaxy_model *model, const struct galaxy_tables *tables, int i,
                             int k, long long first)
{
  const struct galaxy_component *c = &model->galaxy[i].component[k];
  char name[3 * GALAXY_NAME], radius[32] = "-", ratio[32] = "-";
  part_name(model, i, c->name, 0, name);
  if (tables[i].part[k]) snprintf(radius, sizeof radius, "%.4g", half_mass_radius(tables[i].part[k]));
  struct sphere_facts a = sphere_facts(tables[i].spheres, k);
  if (galaxy_is_disc(c->profile)) snprintf(ratio, sizeof ratio, "%.4f", disc_virial(tables[i].discs, k));
  else if (a.virial > 0) snprintf(ratio, sizeof ratio, "%.4f", 2 * a.kinetic / a.virial);
  fprintf(out, "%-17s %-16s %4d %10lld %10.4g %10.4g %9s %7s %8lld\n", name, galaxy_profile_names[c->profile], c->type,
          (long long)c->n, c->mass, c->mass / (double)c->n, radius, ratio, first);
}

/* Q of a disc and what it needs to have said; what was done where a distribution function is negative. */
static void remark(FILE *out, const struct galaxy_model *model, const struct galaxy_tables *tables, int i, int k)
{
  struct sphere_facts a = sphere_facts(tables[i].spheres, k);
  char name[3 * GALAXY_NAME];
  part_name(model, i, model->galaxy[i].component[k].name, 0, name);
  if (galaxy_is_disc(model->galaxy[i].component[k].profile)) {
    const char *note = disc_note(tables[i].discs, k);
    fprintf(out, "%s: smallest Toomre Q %.3g\n", name, disc_smallest_q(tables[i].discs, k));
    if (note[0]) fprintf(out, "%s: %s\n", name, note);
  }
  if (!(a.negative > 0)) return;
  fprintf(out,
          "%s: its distribution function is negative at energies of the potential from r = %.3g to %.3g;\n"
          "  it was set to 0 there, and %.2g %% of the component's mass is out of equilibrium\n",
          name, a.negative_from, a.negative_to, 100 * a.negative);
}

/* The types that the file does not give, where there are some. */
static void report_types(FILE *out, const struct galaxy_model *model)
{
  char name[3 * GALAXY_NAME];
  int count = 0;
  for (int i = 0; i < model->count; i++)
    for (int k = 0; k < model->galaxy[i].count; k++) {
      const struct galaxy_component *c = &model->galaxy[i].component[k];
      if (!c->type_by_name) continue;
      part_name(model, i, c->name, 0, name);
      fprintf(out, "%s%s %d", count++ ? ", " : "particle types by profile and name, since Type is not given: ", name,
              c->type);
    }
  if (count) fputc('\n', out);
}

void galaxy_report(FILE *out, const struct galaxy_model *model, const struct galaxy_tables *tables)
{
  long long first = 1;
  fprintf(out, "%-17s %-16s %4s %10s %10s %10s %9s %7s %8s\n", "component", "profile", "type", "particles", "mass",
          "each", "half-mass", "2T/|W|", "first id");
  for (int i = 0; i < model->count; i++)
    for (int k = 0; k < model->galaxy[i].count; k++) {
      report_component(out, model, tables, i, k, first);
      first += model->galaxy[i].component[k].n;
    }
  for (int i = 0; i < model->count; i++)
    for (int k = 0; k < model->galaxy[i].count; k++) remark(out, model, tables, i, k);
  report_types(out, model);
}

static void write_profile(FILE *out, const struct galaxy_model *model, const struct galaxy_tables *tables, int i)
{
  enum { EVERY = 5 }; /* 40 radii per decade */
  const struct radial *total = tables[i].total;
  char name[3 * GALAXY_NAME];
  for (int k = -1; k < tables[i].g->count; k++) {
    if (k >= 0 && !tables[i].part[k]) continue;
    const struct radial *part = k < 0 ? total : tables[i].part[k];
    part_name(model, i, k < 0 ? "total" : tables[i].g->component[k].name, 1, name);
    for (int node = 0; node < radial_nodes(total); node += EVERY) {
      double r = radial_node(total, node), mass = radial_mass(part, r), sigma = NAN, density = radial_density(part, r);
      if (r < 1e-4 * half_mass_radius(part) || mass >= radial_mass(part, 1e300) * (1 - 1e-6)) continue;
      if (k >= 0 && galaxy_is_disc(tables[i].g->component[k].profile)) {
        struct disc_profile d;
        disc_profile_at(tables[i].discs, k, r, &d);
        sigma = d.sigma_r;
      } else if (k >= 0) {
        struct sphere_profile s = sphere_profile_at(tables[i].spheres, k, r);
        density = s.density;
        sigma = s.sigma_r;
      }
      fprintf(out, "%s,%.7g,%.7g,%.7g,%.7g,%.7g\n", name, r, density, mass, sqrt(tables[i].g->gravity * mass / r),
              sigma);
    }
  }
}

static void write_distribution(FILE *out, const struct galaxy_model *model, const struct galaxy_tables *tables, int i)
{
  char name[3 * GALAXY_NAME];
  for (int k = 0; k < tables[i].g->count; k++) {
    if (!(sphere_facts(tables[i].spheres, k).kinetic > 0)) continue;
    part_name(model, i, tables[i].g->component[k].name, 1, name);
    for (int node = 0; node < spheres_energies(tables[i].spheres); node += 2) {
      double energy, f = sphere_distribution(tables[i].spheres, k, node, &energy);
      if (f > 0) fprintf(out, "%s,%.9g,%.7g\n", name, energy, f);
    }
  }
}

/* Profiles of discs in the plane; their names have what precedes a component's name in the other tables. */
static void write_discs(FILE *out, const struct galaxy_model *model, const struct galaxy_tables *tables, int i)
{
  char prefix[3 * GALAXY_NAME];
  part_name(model, i, "", 1, prefix);
  if (tables[i].discs) discs_write(tables[i].discs, prefix, out);
}

/* The tables: the end of the name, first line, columns, rows of a galaxy. */
static const struct {
  const char *end, *head, *columns;
  void (*rows)(FILE *out, const struct galaxy_model *model, const struct galaxy_tables *tables, int i);
} files[] = {
    {".csv", "in model units; of discs the spherical average, and sigma_r in the plane",
     "component,r,density,mass,circular_velocity,sigma_r", write_profile},
    {"_df.csv", "f at the binding energy psi - v^2 / 2 (anisotropic: psi - (v^2 + L^2 / r_a^2) / 2), in model units",
     "component,energy,f", write_distribution},
    {"_discs.csv", "discs in their plane, in model units", disc_columns, write_discs},
};
_Static_assert(sizeof files / sizeof *files == GALAXY_FILES, "as many as make.h says");

void galaxy_profile_file(const char *path, int k, char name[GALAXY_PATH])
{
  size_t n = strlen(path);
  if (n > 4 && strcmp(path + n - 4, ".csv") == 0) n -= 4;
  if (k == 0) snprintf(name, GALAXY_PATH, "%s", path);
  else snprintf(name, GALAXY_PATH, "%.*s%s", (int)(n < GALAXY_PATH - 20 ? n : GALAXY_PATH - 20), path, files[k].end);
}

static int has_discs(const struct galaxy_model *model, const struct galaxy_tables *tables)
{
  for (int i = 0; i < model->count; i++)
    if (tables[i].discs) return 1;
  return 0;
}

/* Write table k. 0; -1 with a fault. */
static int write_table(const char *path, int k, const struct galaxy_model *model, const struct galaxy_tables *tables,
                       struct fault *fault)
{
  FILE *out = file_stream(path, "w");
  if (!out) return fault_set(fault, "%s: cannot be written: %s", path, file_reason(errno));
  fprintf(out, "# %s\n", files[k].head);
  units_describe(&model->units, out);
  fprintf(out, "%s\n", files[k].columns);
  for (int i = 0; i < model->count; i++) files[k].rows(out, model, tables, i);
  int failed = ferror(out), error = errno;
  if (fclose(out)) {
    failed = 1;
    error = errno;
  }
  if (!failed) return 0;
  unlink(path);
  return fault_set(fault, "%s: cannot be written: %s", path, strerror(error));
}

int galaxy_write_profile(const char *path, const struct galaxy_model *model, const struct galaxy_tables *tables,
                         struct fault *fault)
{
  char name[GALAXY_PATH];
  int count = has_discs(model, tables) ? GALAXY_FILES : GALAXY_FILES - 1;
  for (int k = 0; k < count; k++) {
    galaxy_profile_file(path, k, name);
    if (write_table(name, k, model, tables, fault) == 0) continue;
    while (k > 0) {
      galaxy_profile_file(path, --k, name);
      unlink(name);
    }
    return -1;
  }
  return 0;
}
