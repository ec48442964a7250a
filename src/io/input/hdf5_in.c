/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HDF5 in the layout of GADGET-2/3/4, AREPO and SWIFT, and snapshots of this program. */
#include <config.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "io/columns.h"
#include "io/h5.h"
#include "io/input/hdf5_storage.h"
#include "io/input/set.h"

enum { FILE_TYPES = 7, MASSES = 2, IDS = 3, POTENTIAL = 4 }; /* SWIFT has a seventh type, neutrinos */

/* Read an integer attribute with one entry per type. 1: read; 0: there is none; -1: fault. */
static int by_type(hid_t header, const char *name, const char *path, int64_t to[FILE_TYPES], struct fault *fault)
{
  int n = h5_numbers(header, name, H5T_NATIVE_INT64, FILE_TYPES, to);
  if (n == 0) return 0;
  if (n != PARTICLE_TYPES && n != FILE_TYPES)
    return fault_set(fault, "%s: the attribute /Header/%s should be 6 (or, as SWIFT's, 7) numbers", path, name);
  for (int t = 0; t < n; t++)
    if (to[t] < 0 || to[t] > (int64_t)1 << 56)
      return fault_set(fault, "%s: /Header/%s states %lld particles of type %d", path, name, (long long)to[t], t);
  if (n == FILE_TYPES && to[6] > 0)
    return fault_set(fault, "%s has %lld neutrino particles (type 6), which this program does not support", path,
                     (long long)to[6]);
  return 1;
}

static int masses_by_type(hid_t header, const char *path, struct set_file *file, struct fault *fault)
{
  double table[FILE_TYPES] = {0};
  int n = h5_numbers(header, "MassTable", H5T_NATIVE_DOUBLE, FILE_TYPES, table);
  if (n != 0 && n != PARTICLE_TYPES && n != FILE_TYPES)
    return fault_set(fault, "%s: the attribute /Header/MassTable should be 6 (or, as SWIFT's, 7) numbers", path);
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    file->mass[t] = table[t];
    if (file->count[t] && !(table[t] >= 0 && table[t] <= 1e300))
      return fault_set(fault, "%s: /Header/MassTable gives type %d the mass %g; expected a finite number >= 0", path, t,
                       table[t]);
  }
  return 0;
}

/* Totals: the low and high words of older writers, or 8-byte numbers. */
static int totals(hid_t header, const char *path, struct set_header *set_header, struct fault *fault)
{
  int64_t low[FILE_TYPES] = {0}, high[FILE_TYPES] = {0};
  set_header->has_total = by_type(header, "NumPart_Total", path, low, fault);
  if (set_header->has_total < 0 || by_type(header, "NumPart_Total_HighWord", path, high, fault) < 0) return -1;
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    if (high[t] >= (int64_t)1 << 24)
      return fault_set(fault, "%s: /Header/NumPart_Total_HighWord of type %d is %lld", path, t, (long long)high[t]);
    set_header->total[t] = low[t] >> 32 ? low[t] : low[t] + (high[t] << 32);
  }
  return 0;
}

static int header(hid_t file_id, const char *path, struct set_header *set_header, struct set_file *file,
                  struct fault *fault)
{
  int64_t count[FILE_TYPES] = {0}, files = 1;
  if (!h5_exists(file_id, "Header"))
    return fault_set(fault, "%s has no group /Header: it is not a known file with particles", path);
  hid_t header = H5Gopen2(file_id, "Header", H5P_DEFAULT);
  if (header < 0) return fault_set(fault, "%s: /Header cannot be opened as a group", path);
  int found = by_type(header, "NumPart_ThisFile", path, count, fault);
  if (found == 0) fault_set(fault, "%s: /Header has no attribute NumPart_ThisFile", path);
  for (int t = 0; t < PARTICLE_TYPES; t++) file->count[t] = count[t];
  if (found == 1 && totals(header, path, set_header, fault) == 0) masses_by_type(header, path, file, fault);
  if (h5_numbers(header, "NumFilesPerSnapshot", H5T_NATIVE_INT64, 1, &files) < 0)
    fault_set(fault, "%s: /Header/NumFilesPerSnapshot should be one number", path);
  set_header->files = files;
  set_header->facts.has_time = h5_numbers(header, "Time", H5T_NATIVE_DOUBLE, 1, &set_header->facts.time);
  if (set_header->facts.has_time < 0) fault_set(fault, "%s: /Header/Time should be one number", path);
  int own = h5_text_is(header, "Code", "Espalier");
  if (own < 0) fault_set(fault, "%s: the attribute /Header/Code cannot be read: the file is damaged", path);
  set_header->facts.own = own > 0;
  if (own > 0 && h5_numbers(header, "EnergyChanges", H5T_NATIVE_DOUBLE, 1, &set_header->facts.changes) < 0)
    fault_set(fault, "%s: /Header/EnergyChanges should be one number", path);
  snprintf(set_header->facts.format, sizeof set_header->facts.format, "%s",
           set_header->facts.own ? "Espalier snapshot (HDF5)" : "HDF5");
  H5Gclose(header);
  return fault->text[0] ? -1 : 0;
}

static int positive(double x) { return isfinite(x) && x > 0; }

/* Read a unit, one positive number. 1; 0 if it is missing or no number; -1 with a fault if it cannot be a unit. */
static int read_unit(hid_t group, const char *path, const char *group_name, const char *name, double *x,
                     struct fault *fault)
{
  if (h5_numbers(group, name, H5T_NATIVE_DOUBLE, 1, x) != 1) return 0;
  if (positive(*x)) return 1;
  return fault_set(fault,
                   "%s: the attribute /%s/%s is %g; expected a finite number above 0: correct it, or remove it, and "
                   "the units of the "
                   "parameter file apply",
                   path, group_name, name, *x);
}

/* All units of a group. 1; 0 if some are missing; -1 with a fault. */
static int units_in(hid_t group, const char *path, const char *group_name, struct units *units, struct fault *fault)
{
  static const char *const names[2][3] = {
      {"UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"},
      {"Unit length in cgs (U_L)", "Unit mass in cgs (U_M)", "Unit time in cgs (U_t)"}};
  double x[2][3] = {{0}};
  int found[2] = {0, 0};
  for (int style = 0; style < 2; style++)
    for (int k = 0; k < 3; k++) {
      int is = read_unit(group, path, group_name, names[style][k], &x[style][k], fault);
      if (is < 0) return -1;
      found[style] += is;
    }
  if (found[1] == 3) *units = (struct units){x[1][0], x[1][1], x[1][0] / x[1][2], 0};
  else if (found[0] == 3) *units = (struct units){x[0][0], x[0][1], x[0][2], 0};
  return found[0] == 3 || found[1] == 3;
}

/* In files of other programs missing units count as not stated; in snapshots of this program they are damage. */
static void read_units(hid_t file_id, const char *path, struct initial_facts *facts, struct fault *fault)
{
  static const char *const groups[] = {"Units", "Parameters", "Header"};
  for (int g = 0; g < 3 && !facts->has_units; g++) {
    if (!h5_exists(file_id, groups[g])) continue;
    hid_t group = H5Gopen2(file_id, groups[g], H5P_DEFAULT);
    int found = group < 0 ? 0 : units_in(group, path, groups[g], &facts->units, fault);
    if (found == 0 && facts->own)
      fault_set(fault, "%s: the units in /%s cannot be read: the file is damaged", path, groups[g]);
    if (group >= 0) H5Gclose(group);
    if (found < 0) return;
    facts->has_units = found;
  }
  if (!facts->own) return;
  hid_t group = H5Gopen2(file_id, "Parameters", H5P_DEFAULT);
  int system = group < 0 ? -1 : h5_text_is(group, "UnitSystem", "dimensionless");
  if (system < 0 || h5_numbers(group, "GravityConstantUsed", H5T_NATIVE_DOUBLE, 1, &facts->gravity) < 0)
    fault_set(fault, "%s: /Parameters cannot be read: the file is damaged", path);
  /* Older snapshots do not state their system of units. */
  facts->units.dimensionless = system > 0 || units_of_model(facts->units.length_cm, facts->units.mass_g,
                                                            facts->units.velocity_cm_s, facts->gravity);
  if (group >= 0) H5Gclose(group);
}

/* Read the first number of a group's attribute of at most three. 1; 0 with *x = 0 if it is missing or invalid. */
static int read_stated(hid_t file_id, const char *group_name, const char *name, double *x)
{
  double all[3] = {0};
  hid_t group = h5_exists(file_id, group_name) > 0 ? H5Gopen2(file_id, group_name, H5P_DEFAULT) : -1;
  int n = group < 0 ? 0 : h5_numbers(group, name, H5T_NATIVE_DOUBLE, 3, all);
  if (group >= 0) H5Gclose(group);
  *x = n > 0 ? all[0] : 0;
  return n > 0;
}

/* Periodic boxes and comoving coordinates, in files of other programs and in own ones that are comoving: in the header
 * or among parameters (GADGET-4, AREPO, SWIFT). */
static void read_cosmology(hid_t file_id, struct initial_facts *facts)
{
  double comoving, cosmological, periodic;
  if (facts->own) {
    read_stated(file_id, "Parameters", "ComovingIntegrationOn", &comoving);
    facts->comoving = comoving != 0;
    if (!facts->comoving) return;
  }
  read_stated(file_id, "Header", "Redshift", &facts->redshift);
  if (!read_stated(file_id, "Header", "HubbleParam", &facts->hubble))
    read_stated(file_id, "Parameters", "HubbleParam", &facts->hubble);
  if (!read_stated(file_id, "Header", "BoxSize", &facts->box))
    read_stated(file_id, "Parameters", "BoxSize", &facts->box);
  if (read_stated(file_id, "RuntimePars", "PeriodicBoundariesOn", &periodic) && periodic == 0) facts->box = 0;
  if (!read_stated(file_id, "Header", "Omega0", &facts->omega0))
    read_stated(file_id, "Parameters", "Omega0", &facts->omega0);
  if (!read_stated(file_id, "Header", "OmegaLambda", &facts->omega_lambda))
    read_stated(file_id, "Parameters", "OmegaLambda", &facts->omega_lambda);
  read_stated(file_id, "Parameters", "ComovingIntegrationOn", &comoving);
  read_stated(file_id, "Cosmology", "Cosmological run", &cosmological);
  facts->comoving = comoving != 0 || cosmological != 0;
}

/* Check type, shape and storage of a dataset. */
static int check_dataset(hid_t set, int k, int64_t n, const char *name, struct fault *fault)
{
  if (storage_check(set, name, fault) != 0) return -1;
  hsize_t extent[H5S_MAX_RANK] = {0};
  hid_t type = H5Dget_type(set), space = H5Dget_space(set);
  int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
  if (rank > 0) H5Sget_simple_extent_dims(space, extent, NULL);
  hsize_t width = (hsize_t)columns[k].components;
  int shape = (rank == 2 && extent[1] == width) || (rank == 1 && width == 1);
  if (type < 0 || !h5_is_number(type, k == IDS ? H5T_INTEGER : H5T_FLOAT) || H5Tget_size(type) > 8)
    fault_set(fault, "%s should hold %s", name,
              k == IDS ? "integers of at most 8 bytes" : "real numbers of 4 or 8 bytes");
  else if (!shape || extent[0] != (hsize_t)n)
    fault_set(fault, "%s has the shape [%llu%s%.0llu] (rank %d); expected [%lld%s] by /Header/NumPart_ThisFile", name,
              (unsigned long long)extent[0], rank > 1 ? ", " : "", rank > 1 ? (unsigned long long)extent[1] : 0ull,
              rank, (long long)n, width == 3 ? ", 3" : "");
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  return fault->text[0] ? -1 : 0;
}

/* Note the checksum of a dataset, if it has one. -1: it cannot be read. */
static int take_sum(hid_t set, int t, int k, struct set_file *file)
{
  uint64_t sum;
  int stated = h5_numbers(set, CHECKSUM_ATTRIBUTE, H5T_NATIVE_UINT64, 1, &sum);
  if (stated != 1) return stated;
  file->sums[t][k] = sum;
  file->has_sums |= 1u << (t * SET_SUMS + k);
  return 1;
}

/* Read `count` rows of a dataset from row `first` on, converted to the type `memory`. */
static int read_numbers(hid_t set, hid_t memory, int components, int64_t first, int64_t count, void *to,
                        const char *name, struct fault *fault)
{
  char cause[256];
  hsize_t start[2] = {(hsize_t)first, 0}, extent[2] = {(hsize_t)count, (hsize_t)components};
  hid_t space = H5Dget_space(set), block = H5Screate_simple(2, extent, NULL);
  int bad = space < 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, extent, NULL) < 0 ||
            H5Dread(set, memory, block, space, H5P_DEFAULT, to) < 0;
  if (bad) fault_set(fault, "%s cannot be read: %s", name, h5_cause(cause));
  if (space >= 0) H5Sclose(space);
  if (block >= 0) H5Sclose(block);
  return bad ? -1 : 0;
}

/* Open a dataset of type `t` that a file need not have; `where` gets its name. -1 where it is not there, cannot be
 * opened, or is something else than this column. */
static hid_t open_optional(hid_t file_id, const char *path, int t, int column, int64_t count, char where[64])
{
  struct fault ignored = {""};
  snprintf(where, 64, "PartType%d/%s", t, columns[column].name);
  if (storage_check_links(file_id, path, where, &ignored) != 0 || h5_exists(file_id, where) <= 0) return -1;
  hid_t set = H5Dopen2(file_id, where, H5P_DEFAULT);
  if (set < 0 || check_dataset(set, column, count, where, &ignored) == 0) return set;
  H5Dclose(set);
  return -1;
}

/* Compare the masses of a type that MassTable gives a mass too. A dataset that cannot be masses is not used anyway. */
static int compare_masses(hid_t file_id, const char *path, int t, const struct set_file *file,
                          struct initial_doubts *doubts, struct fault *fault)
{
  enum { PIECE = 1 << 16 };
  char where[64];
  int64_t n = file->count[t];
  hid_t set = open_optional(file_id, path, t, MASSES, n, where);
  if (set < 0) return 0;
  double *mass = memory_alloc("file buffer", sizeof *mass * PIECE);
  for (int64_t done = 0; done < n && !fault->text[0]; done += PIECE) {
    int64_t piece = n - done < PIECE ? n - done : PIECE;
    if (read_numbers(set, H5T_NATIVE_DOUBLE, 1, done, piece, mass, where, fault) != 0) break;
    for (int64_t i = 0; i < piece; i++) set_doubt_mass(doubts, t, file->mass[t], mass[i]);
  }
  memory_free(mass);
  H5Dclose(set);
  return fault->text[0] ? -1 : 0;
}

/* Check the datasets of type `t` and read their checksums. */
static int inspect_type(hid_t file_id, const char *path, int t, struct set_header *header, struct set_file *file,
                        struct fault *fault)
{
  for (int k = 0; k < SET_COLUMNS; k++) {
    char where[64], name[SET_PATH + 64];
    snprintf(where, sizeof where, "PartType%d/%s", t, columns[k].name);
    snprintf(name, sizeof name, "%.4000s: /%s", path, where);
    if (storage_check_links(file_id, path, where, fault) != 0) return -1;
    int there = h5_exists(file_id, where);
    if (k == MASSES && file->mass[t] > 0) continue;
    if (k == IDS && !there) continue;
    if (!there)
      return fault_set(fault, "%s is missing, but /Header states %lld particles of the type%s", name,
                       (long long)file->count[t], k == MASSES ? " and MassTable no mass" : "");
    hid_t set = H5Dopen2(file_id, where, H5P_DEFAULT);
    char cause[256];
    if (set < 0) return fault_set(fault, "%s cannot be opened as a dataset: %s", name, h5_cause(cause));
    check_dataset(set, k, file->count[t], name, fault);
    if (header->facts.own && take_sum(set, t, k, file) < 0)
      fault_set(fault, "%s: its checksum cannot be read: the file is damaged", name);
    H5Dclose(set);
    if (fault->text[0]) return -1;
    if (k == IDS) file->has_ids++;
  }
  return file->mass[t] > 0 ? compare_masses(file_id, path, t, file, &header->facts.doubts, fault) : 0;
}

/* Note a group with particles of type `t`, for which the header counts none. */
static void look_for_left_out(hid_t file_id, const char *path, int t, struct initial_doubts *doubts)
{
  char where[64];
  struct fault ignored = {""};
  snprintf(where, sizeof where, "PartType%d/%s", t, columns[0].name);
  if (storage_check_links(file_id, path, where, &ignored) != 0 || h5_exists(file_id, where) <= 0) return;
  hid_t set = H5Dopen2(file_id, where, H5P_DEFAULT);
  hid_t space = set < 0 ? -1 : H5Dget_space(set);
  if (space >= 0 && H5Sget_simple_extent_npoints(space) > 0) doubts->left_out |= 1u << t;
  if (space >= 0) H5Sclose(space);
  if (set >= 0) H5Dclose(set);
}

/* Whether the potentials of type `t` can be read. A file without them, or with something else of this name, is not
 * damaged. */
static int has_potential(hid_t file_id, const char *path, int t, int own, struct set_file *file)
{
  char where[64];
  hid_t set = open_optional(file_id, path, t, POTENTIAL, file->count[t], where);
  if (set < 0) return 0;
  int good = !own || take_sum(set, t, POTENTIAL, file) >= 0;
  H5Dclose(set);
  return good;
}

/* The groups that are read may be links into other files. */
static int check_links(hid_t file_id, const char *path, struct fault *fault)
{
  static const char *const groups[] = {"Header", "Units", "Parameters", "RuntimePars", "Cosmology"};
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
    if (storage_check_links(file_id, path, groups[g], fault) != 0) return -1;
  return 0;
}

static int inspect(const char *path, struct set_header *set_header, struct set_file *file, struct fault *fault)
{
  char cause[256];
  struct stat st;
  if (stat(path, &st) != 0) return fault_set(fault, "%s: %s", path, strerror(errno));
  if (!S_ISREG(st.st_mode)) return fault_set(fault, "%s is not a regular file", path);
  h5_quiet();
  hid_t file_id = h5_open_read(path, cause);
  if (file_id < 0) return fault_set(fault, "%s cannot be opened as an HDF5 file: %s", path, cause);
  int types = 0, potentials = 0,
      bad = check_links(file_id, path, fault) != 0 || header(file_id, path, set_header, file, fault) != 0;
  for (int t = 0; t < FILE_TYPES && !bad; t++) {
    if (t == PARTICLE_TYPES || file->count[t] == 0) {
      look_for_left_out(file_id, path, t, &set_header->facts.doubts);
      continue;
    }
    types++;
    bad = inspect_type(file_id, path, t, set_header, file, fault) != 0;
    potentials += !bad && has_potential(file_id, path, t, set_header->facts.own, file);
  }
  if (!bad && file->has_ids && file->has_ids != types)
    bad = fault_set(fault, "%s: some particle types have ParticleIDs and others have none", path) != 0;
  file->has_ids = file->has_ids != 0;
  file->has_potential = types > 0 && potentials == types;
  if (!bad) read_units(file_id, path, &set_header->facts, fault);
  if (!bad) read_cosmology(file_id, &set_header->facts);
  bad |= fault->text[0] != 0;
  h5_close(file_id);
  return bad ? -1 : 0;
}

static int read_masses(hid_t set, int64_t first, int64_t count, struct particles *particles, int64_t at,
                       const char *path, const char *name, struct fault *fault)
{
  const int64_t limit = 1 << 20;
  double *buffer = memory_alloc("file buffer", sizeof *buffer * (size_t)(count < limit ? count : limit));
  int bad = 0;
  for (int64_t done = 0; done < count && !bad; done += limit) {
    int64_t piece = count - done < limit ? count - done : limit;
    bad = read_numbers(set, H5T_NATIVE_DOUBLE, 1, first + done, piece, buffer, name, fault) != 0;
    for (int64_t i = 0; i < piece && !bad; i++)
      bad = set_mass(particles, at + done + i, buffer[i], path, first + done + i + 1, fault) != 0;
  }
  memory_free(buffer);
  return bad ? -1 : 0;
}

static int read_ids(hid_t set, int64_t first, int64_t count, uint64_t *to, const char *name, struct fault *fault)
{
  /* Negative ids keep their bits, so they stay different; converted to unsigned numbers all would become 0. */
  hid_t type = H5Dget_type(set);
  hid_t memory = H5Tget_sign(type) == H5T_SGN_2 ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
  H5Tclose(type);
  return read_numbers(set, memory, 1, first, count, to, name, fault);
}

/* Read `count` rows of type `t` from its row `first` on. */
static int read_type(hid_t file_id, const char *path, const struct set_file *file, int t, int64_t first, int64_t count,
                     struct particles *particles, int64_t at, struct fault *fault)
{
  int bad = 0;
  for (int k = 0; k < SET_COLUMNS && !bad; k++) {
    char where[64], name[SET_PATH + 64], cause[256];
    if (k == MASSES && file->mass[t] > 0) {
      for (int64_t i = 0; i < count && !bad; i++)
        bad = set_mass(particles, at + i, file->mass[t], path, first + i + 1, fault) != 0;
      continue;
    }
    if (k == IDS && !file->has_ids) continue;
    snprintf(where, sizeof where, "PartType%d/%s", t, columns[k].name);
    snprintf(name, sizeof name, "%.4000s: /%s", path, where);
    hid_t set = H5Dopen2(file_id, where, H5P_DEFAULT);
    if (set < 0) return fault_set(fault, "%s cannot be opened: %s", name, h5_cause(cause));
    if (k == MASSES) bad = read_masses(set, first, count, particles, at, path, name, fault) != 0;
    else if (k == IDS) bad = read_ids(set, first, count, particles->id + at, name, fault) != 0;
    else
      bad = read_numbers(set, H5T_NATIVE_DOUBLE, 3, first, count, (k ? particles->vel : particles->pos) + 3 * at, name,
                         fault) != 0;
    H5Dclose(set);
  }
  return bad ? -1 : 0;
}

static int read_potential(hid_t file_id, const char *path, int t, int64_t first, int64_t count, float *to,
                          struct fault *fault)
{
  char where[64], name[SET_PATH + 64], cause[256];
  snprintf(where, sizeof where, "PartType%d/%s", t, columns[POTENTIAL].name);
  snprintf(name, sizeof name, "%.4000s: /%s", path, where);
  hid_t set = H5Dopen2(file_id, where, H5P_DEFAULT);
  if (set < 0) return fault_set(fault, "%s cannot be opened: %s", name, h5_cause(cause));
  int bad = read_numbers(set, H5T_NATIVE_FLOAT, 1, first, count, to, name, fault);
  H5Dclose(set);
  return bad;
}

static int read_rows(const struct set *set, int k, int64_t first, int64_t count, struct particles *particles,
                     int64_t at, struct fault *fault)
{
  char path[SET_PATH], cause[256];
  const struct set_file *file = &set->file[k];
  set_path(set, k, path);
  h5_quiet();
  hid_t file_id = h5_open_read(path, cause);
  if (file_id < 0) return fault_set(fault, "%s cannot be opened as an HDF5 file: %s", path, cause);
  int bad = 0;
  int64_t begins = 0;
  for (int t = 0; t < PARTICLE_TYPES && !bad; begins += file->count[t++]) {
    int64_t from = first > begins ? first : begins, end = begins + file->count[t];
    int64_t to = first + count < end ? first + count : end;
    if (from < to)
      bad = read_type(file_id, path, file, t, from - begins, to - from, particles, at + from - first, fault) != 0;
    if (from < to && !bad && set->potential)
      bad = read_potential(file_id, path, t, from - begins, to - from, particles->pot + at + from - first, fault) != 0;
  }
  h5_close(file_id);
  return bad ? -1 : 0;
}

const struct set_format format_hdf5 = {.inspect = inspect, .read = read_rows};
