/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The groups, attributes and datasets of a file. Names and types are GADGET-4's. doc/file-formats.md lists what would
 * make yt and pynbody misread the file (/Constants, /Policy, variable-length strings). */
#include <config.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/revision.h"
#include "gravity/cosmology.h"
#include "gravity/units.h"
#include "io/h5_file.h"
#include "io/snapshot/snapshot_file.h"
#include "particles/softening.h"

enum { ROWS_ALIGNMENT = 64 }; /* the first row begins at a multiple of this */

static herr_t put_six(hid_t at, const char *name, hid_t stored, const int64_t *x)
{
  return h5_put(at, name, stored, H5T_NATIVE_INT64, PARTICLE_TYPES, x);
}

/* UTC. SOURCE_DATE_EPOCH fixes the date, so that two identical runs can give identical files. */
static void date(char *text, size_t size)
{
  const char *fixed = getenv("SOURCE_DATE_EPOCH");
  time_t now = fixed && *fixed ? (time_t)atoll(fixed) : time(NULL);
  struct tm utc = {.tm_year = 70, .tm_mday = 1};
  if (!gmtime_r(&now, &utc)) now = 0; /* no year of an int: 1970 */
  strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* Files of other runs state neutral values: readers take a run with OmegaLambda for a cosmological one. */
static herr_t put_cosmology(hid_t at, const struct snapshot_facts *facts)
{
  const struct params *p = facts->params;
  int comoving = facts->comoving > 0;
  herr_t s = h5_put_real(at, "Omega0", comoving ? p->Omega0 : 0);
  s |= h5_put_real(at, "OmegaLambda", comoving ? p->OmegaLambda : 0);
  s |= h5_put_real(at, "HubbleParam", comoving ? p->HubbleParam : 1);
  return s;
}

static herr_t put_header(hid_t at, const struct layout *layout, const struct snapshot_facts *facts,
                         const struct units *units)
{
  static const char *const flags[] = {"Flag_Sfr", "Flag_Cooling", "Flag_StellarAge", "Flag_Metals", "Flag_Feedback"};
  int64_t zero[PARTICLE_TYPES] = {0}, step = facts->step;
  double no_mass[PARTICLE_TYPES] = {0};
  char now[32];
  date(now, sizeof now);
  herr_t s = 0;
  s |= put_six(at, "NumPart_ThisFile", H5T_STD_U64LE, layout->total);
  s |= put_six(at, "NumPart_Total", H5T_STD_U64LE, layout->all);
  s |= put_six(at, "NumPart_Total_HighWord", H5T_STD_U32LE, zero);
  s |= h5_put(at, "MassTable", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, PARTICLE_TYPES, no_mass);
  s |= h5_put_real(at, "Time", facts->time);
  s |= h5_put_real(at, "Redshift", facts->comoving > 0 ? 1 / facts->comoving - 1 : 0);
  s |= h5_put_real(at, "BoxSize", 0);
  s |= h5_put_whole(at, "NumFilesPerSnapshot", layout->files);
  s |= h5_put_whole(at, "Flag_DoublePrecision", 1);
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) s |= h5_put_whole(at, flags[i], 0);
  s |= put_cosmology(at, facts);
  if (facts->in_field) {
    s |= h5_put_real(at, "ExternalPotentialEnergy", facts->field_energy);
    s |= h5_put_whole(at, "ExternalPotentialMoves", facts->field_moves);
  }
  if (facts->changes != 0) s |= h5_put_real(at, "EnergyChanges", facts->changes);
  s |= h5_put(at, "Step", H5T_STD_I64LE, H5T_NATIVE_INT64, 0, &step);
  s |= h5_put_text(at, "Code", "Espalier");
  s |= h5_put_text(at, "RunName", facts->params->SnapshotFileBase);
  s |= h5_put_text(at, "GitRevision", revision);
  s |= h5_put_text(at, "Git_commit", revision);
  s |= h5_put_text(at, "Git_date", "unknown");
  s |= h5_put_text(at, "SnapshotDate", now);
  s |= h5_put_text(at, "UnitSystem", units_system(units)); /* pynbody shows attributes of this group only */
  return s;
}

static herr_t put_units(hid_t at, const struct units *units)
{
  herr_t s = h5_put_real(at, "UnitLength_in_cm", units->length_cm);
  s |= h5_put_real(at, "UnitMass_in_g", units->mass_g);
  s |= h5_put_real(at, "UnitVelocity_in_cm_per_s", units->velocity_cm_s);
  s |= h5_put_text(at, "UnitSystem", units_system(units));
  return s;
}

/* One attribute per parameter of the run: the values in use. */
static herr_t put_parameters(hid_t at, const struct params *given)
{
  const struct params used = params_resolved(given), *p = &used;
  herr_t s = 0;
  for (int i = 0; i < param_count; i++) {
    const struct param_entry *e = &param_table[i];
    const char *value = (const char *)p + e->offset;
    char text[PARAM_TEXT];
    double real;
    int whole;
    if (H5Aexists(at, e->name) > 0) continue;
    switch (e->kind) {
    case KIND_REAL:
      memcpy(&real, value, sizeof real);
      s |= h5_put_real(at, e->name, real);
      break;
    case KIND_WHOLE:
      memcpy(&whole, value, sizeof whole);
      s |= h5_put_whole(at, e->name, whole);
      break;
    default: params_format(p, e, text, sizeof text); s |= h5_put_text(at, e->name, text);
    }
  }
  return s;
}

/* Softenings by GADGET-4's names: a class for each different one, in ascending order. */
static herr_t put_softenings(hid_t at, const struct params *params)
{
  char name[64];
  double of[PARTICLE_TYPES], smallest = params_softening(params, of);
  const struct softening soft = softening_make(smallest, of);
  herr_t s = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    snprintf(name, sizeof name, "SofteningClassOfPartType%d", t);
    s |= h5_put_whole(at, name, soft.class_of[t]);
  }
  for (int k = 0; k < soft.classes; k++) {
    snprintf(name, sizeof name, "SofteningComovingClass%d", k);
    s |= h5_put_real(at, name, soft.eps[k]);
    snprintf(name, sizeof name, "SofteningMaxPhysClass%d", k);
    s |= h5_put_real(at, name, soft.eps[k]);
  }
  return s;
}

/* The time; in comoving coordinates the age of the universe. */
static double time_gyr(const struct snapshot_facts *facts, const struct units *units)
{
  const struct params *p = facts->params;
  const double gigayear_s = 365.25 * 86400 * 1e9;
  double time = facts->time;
  if (facts->comoving > 0)
    time = cosmology_age(p->Omega0, p->OmegaLambda, facts->comoving) / cosmology_hubble0(p) / p->HubbleParam;
  return time * (units->length_cm / units->velocity_cm_s) / gigayear_s;
}

static herr_t put_all_parameters(hid_t at, const struct snapshot_facts *facts, const struct units *units)
{
  herr_t s = put_units(at, units);
  s |= put_cosmology(at, facts);
  s |= put_parameters(at, facts->params);
  s |= put_softenings(at, facts->params);
  s |= h5_put_real(at, "GravityConstantUsed", facts->gravity);
  /* pynbody reads these only from here; without Time_GYR it uses the age of the universe as the time. */
  s |= h5_put_real(at, "BoxSize", 0);
  if (facts->comoving > 0) s |= h5_put_whole(at, "ComovingIntegrationOn", 1);
  s |= h5_put_real(at, "Time_GYR", time_gyr(facts, units));
  return s;
}

static herr_t put_configuration(hid_t at)
{
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(library, &length);
  library[strcspn(library, ",\n")] = 0;
  herr_t s = h5_put_text(at, "Version", PACKAGE_VERSION);
  s |= h5_put_text(at, "Compiler", ESP_COMPILER);
  s |= h5_put_text(at, "ConfigureFlags", ESP_CONFIGURE_FLAGS);
  s |= h5_put_text(at, "MPI", library);
  s |= h5_put_text(at, "HDF5", H5_VERS_INFO);
  return s;
}

/* The unit in the manner of GADGET-3's descendants, from which pynbody knows it. pynbody reads a power up to the next
 * space. */
static herr_t put_description(hid_t set, const struct column *column, double to_cgs, int comoving)
{
  const struct {
    const char *name;
    int power;
  } factors[] = {{"U_V", column->velocity}, {"U_M", column->mass}, {"U_L", column->length}};
  char text[64] = "";
  size_t at = 0;
  for (int i = 0; i < 3; i++) {
    if (!factors[i].power) continue;
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", factors[i].power < 0 ? "/" : "", factors[i].name);
    if (abs(factors[i].power) > 1) at += (size_t)snprintf(text + at, sizeof text - at, "^%d", abs(factors[i].power));
    at += (size_t)snprintf(text + at, sizeof text - at, " ");
  }
  herr_t s = h5_put_text(set, "VarDescription", at ? text : "no unit");
  s |= h5_put_real(set, "CGSConversionFactor", to_cgs);
  s |= h5_put_real(set, "aexp-scale-exponent", comoving ? column->a : 0);
  s |= h5_put_real(set, "h-scale-exponent", comoving ? column->h : 0);
  return s;
}

static herr_t put_scaling(hid_t set, const struct column *column, const struct units *units, int comoving)
{
  if (!column->length && !column->mass && !column->velocity) return put_description(set, column, 1, comoving);
  /* GADGET-4 writes 0 for both if time is not a scale factor */
  herr_t s = h5_put_real(set, "a_scaling", comoving ? column->a : 0);
  s |= h5_put_real(set, "h_scaling", comoving ? column->h : 0);
  s |= h5_put_real(set, "length_scaling", column->length);
  s |= h5_put_real(set, "mass_scaling", column->mass);
  s |= h5_put_real(set, "velocity_scaling", column->velocity);
  s |= h5_put_real(set, "to_cgs", columns_to_cgs(column, units));
  s |= put_description(set, column, columns_to_cgs(column, units), comoving);
  return s;
}

/* Map a virtual dataset of type `t` to the datasets of the same name in the source files. */
static herr_t map_sources(hid_t plist, hid_t space, const struct virtual_sources *sources, int t,
                          const struct column *column)
{
  char name[SNAPSHOT_PATH], set[64];
  hsize_t start[2] = {0, 0}, extent[2] = {0, (hsize_t)column->components};
  int rank = column->components > 1 ? 2 : 1;
  herr_t s = 0;
  snprintf(set, sizeof set, "/PartType%d/%s", t, column->name);
  for (int file = 0; file < sources->files && s >= 0; file++) {
    extent[0] = (hsize_t)sources->count[file][t];
    if (extent[0] == 0) continue;
    hid_t source = H5Screate_simple(rank, extent, NULL);
    s |= H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, extent, NULL);
    s |= H5Pset_virtual(plist, space, sources->name(sources->of, file, name), set, source);
    H5Sclose(source);
    start[0] += extent[0];
  }
  H5Sselect_all(space);
  return s;
}

/* What a file is made from. */
struct creation {
  struct layout *l;
  const struct snapshot_facts *facts;
  struct units units;
  const struct virtual_sources *sources;
};

/* `rows`: allocate the space for them. */
static herr_t create_dataset(hid_t group, int t, const struct column *column, const struct creation *creation, int rows)
{
  hsize_t extent[2] = {(hsize_t)creation->l->total[t], (hsize_t)column->components};
  hid_t space = H5Screate_simple(column->components > 1 ? 2 : 1, extent, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
  herr_t s = 0;
  if (creation->sources) {
    s = map_sources(plist, space, creation->sources, t, column);
  } else {
    H5Pset_layout(plist, H5D_CONTIGUOUS);
    H5Pset_alloc_time(plist, rows ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE);
    H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER);
  }
  H5Pset_attr_phase_change(plist, 16, 12); /* 11 attributes in the header, not in a heap, which takes 1.4 kB more */
  H5Pset_obj_track_times(plist, 0);
  hid_t set =
      s < 0 ? -1 : H5Dcreate2(group, column->name, columns_type(column), space, H5P_DEFAULT, plist, H5P_DEFAULT);
  s = set < 0 ? -1 : put_scaling(set, column, &creation->units, creation->facts->comoving > 0);
  if (set >= 0) {
    s |= h5_put(set, CHECKSUM_ATTRIBUTE, H5T_STD_U64LE, H5T_NATIVE_UINT64, 0, &creation->l->sums[t][column - columns]);
    if (rows) creation->l->offset[t][column - columns] = H5Dget_offset(set);
    s |= H5Dclose(set);
  }
  H5Pclose(plist);
  H5Sclose(space);
  return s;
}

static herr_t particle_groups(hid_t file, const struct creation *creation, int rows)
{
  herr_t s = 0;
  for (int t = 0; t < PARTICLE_TYPES && s >= 0; t++) {
    char name[32];
    if (creation->l->total[t] == 0) continue;
    snprintf(name, sizeof name, "PartType%d", t);
    hid_t group = h5_group(file, name);
    if (group < 0) return -1;
    for (int k = 0; k < column_count; k++)
      if (layout_has(creation->l, &columns[k])) s |= create_dataset(group, t, &columns[k], creation, rows);
    s |= H5Gclose(group);
  }
  return s;
}

static herr_t attribute_groups(hid_t file, const struct creation *creation)
{
  static const char *const names[] = {"Header", "Parameters", "Config", "Units"};
  herr_t s = 0;
  for (int i = 0; i < 4; i++) {
    hid_t group = h5_group(file, names[i]);
    if (group < 0) return -1;
    s |= i == 0   ? put_header(group, creation->l, creation->facts, &creation->units)
         : i == 1 ? put_all_parameters(group, creation->facts, &creation->units)
         : i == 2 ? put_configuration(group)
                  : put_units(group, &creation->units);
    s |= H5Gclose(group);
  }
  return s;
}

/* Lay the file out in `image`: with space for the rows, behind `metadata_bytes` bytes of metadata, where
 * `metadata_bytes` is not 0. */
static int lay_out(struct h5_image *image, const struct creation *creation, size_t metadata_bytes, char cause[256])
{
  /* checksummed metadata that HDF5 1.8 can read; virtual datasets need 1.10 */
  hid_t file = h5_image_create(image, creation->sources ? H5F_LIBVER_V110 : H5F_LIBVER_V18, metadata_bytes);
  herr_t s = file < 0 ? -1 : attribute_groups(file, creation);
  if (s >= 0) s = particle_groups(file, creation, metadata_bytes > 0);
  if (s < 0) h5_cause(cause);
  if (file >= 0 && h5_image_close(file, image) < 0 && s >= 0) {
    h5_cause(cause);
    s = -1;
  }
  return s < 0 ? -1 : 0;
}

/* The offset of the first row in the file; its length where there are no rows. */
static uint64_t first_row(const struct layout *layout)
{
  uint64_t first = (uint64_t)layout->image.length;
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count; k++)
      if (layout->total[t] && layout_has(layout, &columns[k]) && layout->offset[t][k] < first)
        first = layout->offset[t][k];
  return first;
}

/* The image of the file, and the offsets of its datasets. A large file differs from a small one only in the space of
 * its rows: the first image, without that space, gives the size of the metadata, and in the second they fill the start
 * of the file. */
static int make_image(const struct creation *creation, char cause[256])
{
  struct h5_image *image = &creation->l->image;
  h5_image_free(image);
  if (lay_out(image, creation, 0, cause) != 0) return -1;
  if (!creation->sources) {
    size_t metadata_bytes = ((size_t)image->length + ROWS_ALIGNMENT - 1) / ROWS_ALIGNMENT * ROWS_ALIGNMENT;
    h5_image_free(image);
    if (lay_out(image, creation, metadata_bytes, cause) != 0) return -1;
  }
  uint64_t first = creation->sources ? (uint64_t)image->length : first_row(creation->l);
  if (h5_image_end(image, first) == 0) return 0;
  snprintf(cause, 256, "HDF5 puts metadata behind the rows");
  return -1;
}

int snapshot_create(const char *path, struct layout *layout, const struct snapshot_facts *facts,
                    const struct virtual_sources *sources, struct fault *fault)
{
  char cause[256];
  struct creation n = {layout, facts, units_of(facts->params), sources};
  if (make_image(&n, cause) != 0) return fault_set(fault, "snapshot %s: laying it out failed: %s", path, cause);
  return h5_file_create("snapshot", path, &layout->image, fault);
}
