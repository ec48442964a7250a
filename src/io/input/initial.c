/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Initial conditions: read in slices, checked, compared with the parameters. */
#include <config.h>
#include "io/input/initial.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/columns.h"
#include "io/input/set.h"

int initial_inspect(const char *path, enum ic_format format, struct initial_facts *facts, struct fault *fault)
{
  struct set s;
  memset(facts, 0, sizeof *facts);
  if (set_open(&s, path, format, fault) != 0) return -1;
  *facts = s.facts;
  set_close(&s);
  return 0;
}

/* The index in of[count] of the file `path`; negative if it is none of them. */
static long long which_file(const char *path, const struct stat *of, size_t count)
{
  struct stat st;
  if (stat(path, &st) != 0) return -1;
  for (size_t k = 0; k < count; k++)
    if (of[k].st_ino && of[k].st_dev == st.st_dev && of[k].st_ino == st.st_ino) return (long long)k;
  return -1;
}

long long initial_holds_one(const char *path, enum ic_format format, const char *const *files, size_t count)
{
  struct set s;
  struct fault f = {""};
  char name[SET_PATH];
  if (count == 0) return -1;
  struct stat *of = memory_alloc("file set", sizeof *of * count);
  for (size_t k = 0; k < count; k++)
    if (stat(files[k], &of[k]) != 0) of[k].st_ino = 0;
  long long held = which_file(path, of, count);
  if (held < 0 && set_open(&s, path, format, &f) == 0) {
    for (int k = 0; k < s.files && held < 0; k++) {
      set_path(&s, k, name);
      held = which_file(name, of, count);
    }
    set_close(&s);
  }
  memory_free(of);
  return held;
}

int initial_holds(const char *path, enum ic_format format, const char *file)
{
  return initial_holds_one(path, format, &file, 1) >= 0;
}

/* Rank 0 opens the set and broadcasts it. */
static int open_and_broadcast(const struct comm *comm, struct set *set, const char *path, enum ic_format format,
                              struct fault *fault)
{
  memset(set, 0, sizeof *set);
  if (comm->rank == 0) set_open(set, path, format, fault);
  if (comm_verdict(comm, fault) != 0) return -1;
  struct set_file *file = set->file;
  comm_broadcast(comm, set, sizeof *set);
  set->file = comm->rank == 0 ? file : memory_alloc("file set", sizeof *set->file * (size_t)set->files);
  for (int k = 0; k < set->files; k++) comm_broadcast(comm, &set->file[k], sizeof *set->file);
  return 0;
}

static void set_types(const struct set_file *file, int64_t first, int64_t count, uint8_t *type)
{
  int64_t end = 0;
  int64_t i = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    end += file->count[t];
    for (; i < count && first + i < end; i++) type[i] = (uint8_t)t;
  }
}

/* Read particles->n rows of the set from row `first` on, from all files that contain some of them. */
static int read_slice(const struct set *set, int64_t first, struct particles *particles, struct fault *fault)
{
  for (int k = 0; k < set->files; k++) {
    const struct set_file *file = &set->file[k];
    int64_t from = first > file->first ? first : file->first, end = file->first + set_file_total(file);
    int64_t to = first + particles->n < end ? first + particles->n : end;
    if (from >= to) continue;
    set_types(file, from - file->first, to - from, particles->type + (from - first));
    if (set_format_of(set)->read(set, k, from - file->first, to - from, particles, from - first, fault) != 0) return -1;
    if (!file->has_ids)
      for (int64_t row = from; row < to; row++) particles->id[row - first] = (uint64_t)row + 1;
  }
  return 0;
}

static int all_finite(const double *x) { return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]); }

static int check_values(const char *path, const struct particles *particles, int64_t first, struct fault *fault)
{
  for (int64_t i = 0; i < particles->n; i++) {
    const double *x = particles->pos + 3 * i, *v = particles->vel + 3 * i;
    long long row = first + i + 1;
    unsigned long long id = particles->id[i];
    if (!all_finite(x))
      return fault_set(fault, "%s: particle %lld (id %llu) has the position (%g, %g, %g); expected finite numbers",
                       path, row, id, x[0], x[1], x[2]);
    if (!all_finite(v))
      return fault_set(fault, "%s: particle %lld (id %llu) has the velocity (%g, %g, %g); expected finite numbers",
                       path, row, id, v[0], v[1], v[2]);
    if (!(particles->mass[i] >= 0) || isinf(particles->mass[i]))
      return fault_set(fault, "%s: particle %lld (id %llu) has the mass %g; expected a finite number >= 0", path, row,
                       id, (double)particles->mass[i]);
  }
  return 0;
}

typedef uint64_t sums_of_file[PARTICLE_TYPES][SET_SUMS];

/* Add the rows that this rank read of a file to the checksums of that file. Rows are numbered by type in each file. */
static void add_sums(const struct set_file *file, const struct particles *particles, int64_t first, sums_of_file sums)
{
  int64_t begins = file->first;
  for (int t = 0; t < PARTICLE_TYPES; begins += file->count[t++]) {
    int64_t from = first > begins ? first : begins, end = begins + file->count[t],
            to = first + particles->n < end ? first + particles->n : end;
    for (int64_t row = from; row < to; row++)
      for (int k = 0; k < SET_SUMS; k++)
        sums[t][k] +=
            row_checksum(columns_row(&columns[k], particles, row - first), columns[k].bytes, (uint64_t)(row - begins));
  }
}

/* Snapshots of this program: compare the checksums of the values read with those in the files. */
static void check_sums(const struct comm *comm, const struct set *set, const struct particles *particles, int64_t first,
                       struct fault *fault)
{
  char path[SET_PATH];
  sums_of_file *sums = memory_alloc("file set", sizeof *sums * (size_t)set->files);
  for (int k = 0; k < set->files; k++) {
    add_sums(&set->file[k], particles, first, sums[k]);
    comm_sum_int64(comm, (int64_t *)sums[k], PARTICLE_TYPES * SET_SUMS);
  }
  for (int k = 0; k < set->files; k++)
    for (int t = 0; t < PARTICLE_TYPES; t++)
      for (int column = 0; column < (set->potential ? SET_SUMS : SET_COLUMNS); column++) {
        if (!(set->file[k].has_sums >> (t * SET_SUMS + column) & 1) ||
            sums[k][t][column] == set->file[k].sums[t][column])
          continue;
        set_path(set, k, path);
        fault_set(
            fault,
            "%s: the values of /PartType%d/%s differ from those that were written (checksum): the file is damaged or "
            "was changed, or files that it refers to are missing (after an intended change remove the "
            "attribute " CHECKSUM_ATTRIBUTE ")",
            path, t, columns[column].name);
      }
  memory_free(sums);
}

int initial_check(const struct comm *comm, const char *source, const struct particles *particles, struct fault *fault)
{
  int64_t first = comm_exscan_int64(comm, particles->n), total = particles->n;
  double sum = 0;
  check_values(source, particles, first, fault);
  for (int64_t i = 0; i < particles->n; i++) sum += particles->mass[i];
  if (comm_agree(comm, fault) != 0) return -1;
  comm_sum_double(comm, &sum, 1);
  comm_sum_int64(comm, &total, 1);
  if (!(sum > 0))
    fault_set(fault, "%s: all %lld particles have the mass 0; expected a positive total mass", source,
              (long long)total);
  ids_check(comm, particles, first, source, fault);
  return comm_agree(comm, fault);
}

static int check_all(const struct comm *comm, const struct set *set, const char *path,
                     const struct particles *particles, int64_t first, struct fault *fault)
{
  if (set->has_sums) check_sums(comm, set, particles, first, fault);
  if (comm_agree(comm, fault) != 0) return -1;
  return initial_check(comm, path, particles, fault);
}

/* A set that cannot be held: a fault instead of exhausted memory. */
static int check_capacity(const struct comm *comm, const struct set *set, const char *path, struct fault *fault)
{
  double bytes = 0, memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  int node = comm_node_size(comm);
  for (int k = 0; k < particle_field_count; k++) bytes += (double)particle_fields[k].bytes;
  bytes *= (double)set->total / comm->size * node;
  if (bytes > memory)
    fault_set(
        fault,
        "%s: its %lld particles need %.3g GB on a node with %d rank%s, which has %.3g GB of memory: use more nodes",
        path, (long long)set->total, bytes / 1e9, node, plural(node), memory / 1e9);
  return comm_agree(comm, fault);
}

/* Whether all files with particles have potentials. */
static int has_potential(const struct set *set)
{
  for (int k = 0; k < set->files; k++)
    if (set_file_total(&set->file[k]) > 0 && !set->file[k].has_potential) return 0;
  return 1;
}

static int check_potential(const char *path, const struct particles *particles, struct fault *fault)
{
  for (int64_t i = 0; i < particles->n; i++)
    if (!isfinite(particles->pot[i]))
      return fault_set(fault, "%s: the particle with id %llu has the potential %g; expected a finite number", path,
                       (unsigned long long)particles->id[i], (double)particles->pot[i]);
  return 0;
}

static int read_all_of(const struct comm *comm, const char *path, enum ic_format format, int potential,
                       struct particles *particles, struct initial_facts *facts, struct fault *fault)
{
  struct set s;
  memset(facts, 0, sizeof *facts);
  if (open_and_broadcast(comm, &s, path, format, fault) != 0) return -1;
  s.potential = potential && has_potential(&s);
  *facts = s.facts;
  facts->has_potential = s.potential;
  if (check_capacity(comm, &s, path, fault) != 0) {
    set_close(&s);
    return -1;
  }
  int64_t share = s.total / comm->size, rest = s.total % comm->size;
  int64_t first = share * comm->rank + (comm->rank < rest ? comm->rank : rest), n = share + (comm->rank < rest);
  particles_reserve(particles, n);
  particles->n = n;
  read_slice(&s, first, particles, fault);
  if (s.potential) check_potential(path, particles, fault);
  int bad = comm_agree(comm, fault) != 0 || check_all(comm, &s, path, particles, first, fault) != 0;
  set_close(&s);
  if (bad) particles_free(particles);
  return bad ? -1 : 0;
}

int initial_read(const struct comm *comm, const char *path, enum ic_format format, struct particles *particles,
                 struct initial_facts *facts, struct fault *fault)
{
  return read_all_of(comm, path, format, 0, particles, facts, fault);
}

int initial_read_potential(const struct comm *comm, const char *path, enum ic_format format,
                           struct particles *particles, struct initial_facts *facts, struct fault *fault)
{
  return read_all_of(comm, path, format, 1, particles, facts, fault);
}

static int differs(double a, double b) { return fabs(a - b) > 1e-3 * fabs(b); }

#define TIME_TOLERANCE 1e-4 /* of 1 / (1 + redshift), which files may give with few digits */

/* The cosmology of the file against that of the run. */
static int check_cosmology(const char *path, const struct initial_facts *facts, const struct params *par,
                           struct fault *fault)
{
  if (facts->own && facts->comoving != (par->Comoving != 0))
    return fault_set(fault,
                     "%s is of a run with Comoving = %s, but the parameters have Comoving = %s, for which its "
                     "velocities have another "
                     "meaning",
                     path, facts->comoving ? "on" : "off", par->Comoving ? "on" : "off");
  if (!par->Comoving) return 0;
  double a = facts->own ? facts->time : facts->redshift > 0 ? 1 / (1 + facts->redshift) : par->TimeBegin;
  if (facts->own && a < par->TimeBegin * (1 - TIME_TOLERANCE))
    return fault_set(fault, "%s is at the expansion factor %.7g, before TimeBegin = %.7g; set TimeBegin = %.7g", path,
                     a, par->TimeBegin, a);
  if (!facts->own && fabs(a / par->TimeBegin - 1) > TIME_TOLERANCE)
    return fault_set(
        fault,
        "%s states Redshift = %g, but the parameters have TimeBegin = %.7g; set TimeBegin = %.7g, 1 / (1 + Redshift)",
        path, facts->redshift, par->TimeBegin, a);
  const struct {
    const char *name;
    double file, here;
  } all[] = {{"Omega0", facts->omega0, par->Omega0},
             {"OmegaLambda", facts->omega_lambda, par->OmegaLambda},
             {"HubbleParam", facts->hubble, par->HubbleParam}};
  for (int i = 0; i < 3; i++)
    if (isfinite(all[i].file) && all[i].file != 0 && fabs(all[i].file - all[i].here) > 1e-3 * fabs(all[i].file))
      return fault_set(fault,
                       "%s states %s = %.7g, but the parameter file has [Cosmology] %s = %.7g; set %s = %.7g there",
                       path, all[i].name, all[i].file, all[i].name, all[i].here, all[i].name, all[i].file);
  return 0;
}

/* The gravitational constant of an own file against that of the parameters. */
static int check_gravity(const char *path, const struct initial_facts *facts, const struct params *par,
                         struct fault *fault)
{
  double gravity = units_gravity(par);
  struct params without = *par;
  without.GravityConstantInternal = 0;
  if (!(facts->gravity > 0) || !differs(facts->gravity, gravity)) return 0;
  if (par->GravityConstantInternal > 0 && !differs(facts->gravity, units_gravity(&without)))
    return fault_set(fault,
                     "%s was written with the gravitational constant %.7g, which follows from its units, but the "
                     "parameters give %.7g; remove [Units] GravityConstantInternal",
                     path, facts->gravity, gravity);
  return fault_set(
      fault,
      "%s was written with the gravitational constant %.7g, but the parameters give %.7g%s; set [Units] "
      "GravityConstantInternal = %.7g, or remove [Units], and the run takes units and constant of the file",
      path, facts->gravity, gravity, par->GravityConstantInternal > 0 ? "" : " (from the units)", facts->gravity);
}

/* The units of the file against those of the parameters, */
static int check_units(const char *path, const struct initial_facts *facts, const struct params *par,
                       struct fault *fault)
{
  struct units theirs = facts->units;
  if (!facts->has_units || theirs.dimensionless) return 0;
  const struct {
    const char *name;
    double file, here;
  } all[] = {{"UnitLength_in_cm", theirs.length_cm, par->UnitLength_in_cm},
             {"UnitMass_in_g", theirs.mass_g, par->UnitMass_in_g},
             {"UnitVelocity_in_cm_per_s", theirs.velocity_cm_s, par->UnitVelocity_in_cm_per_s}};
  for (int i = 0; i < 3; i++)
    if (differs(all[i].file, all[i].here))
      return fault_set(
          fault,
          "%s states %s = %.7g, but the parameter file has [Units] %s = %.7g; remove [Units], and the run takes those "
          "of the file (UnitLength_in_cm = %.7g, UnitMass_in_g = %.7g, UnitVelocity_in_cm_per_s = %.7g), or set these "
          "there",
          path, all[i].name, all[i].file, all[i].name, all[i].here, theirs.length_cm, theirs.mass_g,
          theirs.velocity_cm_s);
  return 0;
}

/* and first they: another gravitational constant may follow from them. */
int initial_check_units(const char *path, const struct initial_facts *facts, const struct params *par,
                        struct fault *fault)
{
  return check_units(path, facts, par, fault) || check_gravity(path, facts, par, fault) ||
                 check_cosmology(path, facts, par, fault)
             ? -1
             : 0;
}

void initial_take_units(struct params *par, struct param_origin *origin)
{
  struct initial_facts facts;
  struct fault unread = {""};
  if (params_units_given(origin) || !par->InitCondFile[0]) return;
  if (initial_inspect(par->InitCondFile, par->ICFormat, &facts, &unread) || !facts.has_units) return;
  double unit[] = {par->UnitLength_in_cm, par->UnitMass_in_g, par->UnitVelocity_in_cm_per_s}, gravity = facts.gravity;
  if (!facts.units.dimensionless) {
    unit[0] = facts.units.length_cm;
    unit[1] = facts.units.mass_g;
    unit[2] = facts.units.velocity_cm_s;
    if (par->Comoving || !(fabs(gravity / units_gravity_of(unit[0], unit[1], unit[2]) - 1) > 1e-12)) gravity = 0;
  }
  params_take_units(par, unit, gravity, par->InitCondFile, origin);
}

/* Whether the file states a value other than the neutral one. */
static int stated(double x, double neutral) { return isfinite(x) && x != 0 && fabs(x - neutral) > 1e-6; }

void initial_take_cosmology(struct initial_facts *facts) { facts->redshift = facts->hubble = facts->comoving = 0; }

static void warn_of_doubts(const char *path, const struct initial_doubts *doubts, FILE *out, const char *before)
{
  int t = 0;
  while (doubts->masses && !(doubts->masses >> t & 1)) t++;
  if (doubts->masses)
    fprintf(out,
            "%s%s gives all particles of type %d the mass %g in its header (MassTable), but has masses of its own for "
            "them, of %g to %g: that of the header is used; where it is wrong, set it to 0 there\n",
            before, path, t, doubts->table, doubts->lightest, doubts->heaviest);
  for (t = 0; doubts->left_out >> t; t++)
    if (doubts->left_out >> t & 1)
      fprintf(out,
              "%s%s: the group PartType%d has particles, but /Header/NumPart_ThisFile counts none: they are left out\n",
              before, path, t);
  if (doubts->mass_first)
    fprintf(
        out,
        "%s%s: columns 1 and 7 are positive in all lines, and column 7 is taken for the mass; is the mass in column "
        "1? expected x y z vx vy vz m\n",
        before, path);
}

void initial_warn(const char *path, const struct initial_facts *facts, FILE *out, const char *before)
{
  warn_of_doubts(path, &facts->doubts, out, before);
  if (facts->own) return;
  if (stated(facts->box, 0) && facts->box > 0)
    fprintf(out, "%s%s states BoxSize = %g: this program has open boundaries, no periodic ones\n", before, path,
            facts->box);
  if (stated(facts->redshift, 0))
    fprintf(out,
            "%s%s states Redshift = %g: without [Cosmology] Comoving = on there is no expansion; positions and "
            "velocities are used as "
            "physical values, not as comoving ones\n",
            before, path, facts->redshift);
  else if (facts->comoving)
    fprintf(out,
            "%s%s states that its coordinates are comoving: without [Cosmology] Comoving = on there is no expansion; "
            "positions and "
            "velocities are used as physical values\n",
            before, path);
  if (stated(facts->hubble, 1))
    fprintf(out, "%s%s states HubbleParam = %g: lengths and masses are used without factors of h\n", before, path,
            facts->hubble);
  if (facts->count[0] > 0)
    fprintf(out, "%s%s has %lld gas particle%s (type 0): only gravity acts on them, no pressure\n", before, path,
            (long long)facts->count[0], plural((double)facts->count[0]));
}
