/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "initial.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "columns.h"
#include "memory.h"
#include "set.h"

int initial_inspect(const char *path, enum ic_format format, struct initial_facts *facts, struct fault *f)
{
  struct set s;
  memset(facts, 0, sizeof *facts);
  if (set_open(&s, path, format, f) != 0) return -1;
  *facts = s.facts;
  set_close(&s);
  return 0;
}

static int same_file(const char *a, const char *b)
{
  struct stat one, other;
  return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

int initial_holds(const char *path, enum ic_format format, const char *file)
{
  struct set s;
  struct fault f = {""};
  char name[SET_PATH];
  int held = same_file(path, file);
  if (held || set_open(&s, path, format, &f) != 0) return held;
  for (int k = 0; k < s.files && !held; k++) {
    set_path(&s, k, name);
    held = same_file(name, file);
  }
  set_close(&s);
  return held;
}

/* Rank 0 looks at the files; everyone gets what it found. */
static int open_for_all(const struct comm *c, struct set *s, const char *path, enum ic_format format, struct fault *f)
{
  memset(s, 0, sizeof *s);
  if (c->rank == 0) set_open(s, path, format, f);
  if (comm_verdict(c, f) != 0) return -1;
  struct set_file *file = s->file;
  comm_broadcast(c, s, sizeof *s);
  s->file = c->rank == 0 ? file : memory_alloc("file set", sizeof *s->file * (size_t)s->files);
  for (int k = 0; k < s->files; k++) comm_broadcast(c, &s->file[k], sizeof *s->file);
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

/* Rows first.. of the set, from as many files as they span. */
static int read_slice(const struct set *s, int64_t first, struct particles *p, struct fault *f)
{
  for (int k = 0; k < s->files; k++) {
    const struct set_file *file = &s->file[k];
    int64_t from = first > file->first ? first : file->first, end = file->first + set_file_total(file);
    int64_t to = first + p->n < end ? first + p->n : end;
    if (from >= to) continue;
    set_types(file, from - file->first, to - from, p->type + (from - first));
    if (set_format_of(s)->read(s, k, from - file->first, to - from, p, from - first, f) != 0) return -1;
    if (!file->has_ids)
      for (int64_t row = from; row < to; row++) p->id[row - first] = (uint64_t)row + 1;
  }
  return 0;
}

static int all_finite(const double *x)
{
  return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
}

static int check_values(const char *path, const struct particles *p, int64_t first, struct fault *f)
{
  for (int64_t i = 0; i < p->n; i++) {
    const double *x = p->pos + 3 * i, *v = p->vel + 3 * i;
    long long row = first + i + 1;
    unsigned long long id = p->id[i];
    if (!all_finite(x))
      return fault_set(f, "%s: particle %lld (id %llu) has the position (%g, %g, %g); expected finite numbers", path, row, id,
                       x[0], x[1], x[2]);
    if (!all_finite(v))
      return fault_set(f, "%s: particle %lld (id %llu) has the velocity (%g, %g, %g); expected finite numbers", path, row, id,
                       v[0], v[1], v[2]);
    if (!(p->mass[i] >= 0) || isinf(p->mass[i]))
      return fault_set(f, "%s: particle %lld (id %llu) has the mass %g; expected a finite number >= 0", path, row, id,
                       (double)p->mass[i]);
  }
  return 0;
}

/* One's own snapshot: what was read must give the checksums that were written. */
static void check_sums(const struct comm *c, const struct set *s, const char *path, const struct particles *p, int64_t first,
                       struct fault *f)
{
  uint64_t sums[PARTICLE_TYPES * SET_COLUMNS] = {0};
  int64_t begins = 0;
  for (int t = 0; t < PARTICLE_TYPES; begins += s->facts.count[t++])
    for (int64_t i = 0; i < p->n; i++)
      if (p->type[i] == t)
        for (int k = 0; k < SET_COLUMNS; k++)
          sums[t * SET_COLUMNS + k] +=
              row_checksum(columns_row(&columns[k], p, i), columns[k].bytes, (uint64_t)(first + i - begins));
  comm_sum_int64(c, (int64_t *)sums, PARTICLE_TYPES * SET_COLUMNS);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < SET_COLUMNS; k++)
      if ((s->has_sums >> (t * SET_COLUMNS + k) & 1) && sums[t * SET_COLUMNS + k] != s->sums[t][k])
        fault_set(f, "%s: the values of /PartType%d/%s are not those that were written (their checksum differs): the file is "
                  "damaged or was changed (where the change is meant, remove the attribute " CHECKSUM_ATTRIBUTE ")", path, t,
                  columns[k].name);
}

static int check_all(const struct comm *c, const struct set *s, const char *path, const struct particles *p, int64_t first,
                     struct fault *f)
{
  if (s->has_sums) check_sums(c, s, path, p, first, f);
  if (comm_agree(c, f) != 0) return -1;
  check_values(path, p, first, f);
  double sum = 0;
  for (int64_t i = 0; i < p->n; i++) sum += p->mass[i];
  if (comm_agree(c, f) != 0) return -1;
  comm_sum_double(c, &sum, 1);
  if (!(sum > 0)) fault_set(f, "%s: all %lld particles have the mass 0", path, (long long)s->total);
  ids_check(c, p, first, path, f);
  return comm_agree(c, f);
}

int initial_read(const struct comm *c, const char *path, enum ic_format format, struct particles *p, struct initial_facts *facts,
                 struct fault *f)
{
  struct set s;
  memset(facts, 0, sizeof *facts);
  if (open_for_all(c, &s, path, format, f) != 0) return -1;
  *facts = s.facts;
  int64_t share = s.total / c->size, rest = s.total % c->size;
  int64_t first = share * c->rank + (c->rank < rest ? c->rank : rest), n = share + (c->rank < rest);
  particles_reserve(p, n);
  p->n = n;
  read_slice(&s, first, p, f);
  int bad = comm_agree(c, f) != 0 || check_all(c, &s, path, p, first, f) != 0;
  set_close(&s);
  if (bad) particles_free(p);
  return bad ? -1 : 0;
}

static int differs(double a, double b) { return fabs(a - b) > 1e-3 * fabs(b); }

int initial_check_units(const char *path, const struct initial_facts *facts, const struct params *par, struct fault *f)
{
  double gravity = units_gravity(par);
  if (facts->gravity > 0 && differs(facts->gravity, gravity))
    return fault_set(f, "%s was made with a gravitational constant of %.7g, but the parameter file's is %.7g%s; give [Units] "
                     "GravityConstantInternal = %.7g", path, facts->gravity, gravity, par->GravityConstantInternal > 0 ? "" : " (from the units)",
                     facts->gravity);
  if (!facts->has_units) return 0;
  struct units ours = units_of(par), theirs = facts->units;
  const struct {
    const char *name;
    double file, here;
  } all[] = {{"UnitLength_in_cm", theirs.length_cm, ours.length_cm},
             {"UnitMass_in_g", theirs.mass_g, ours.mass_g},
             {"UnitVelocity_in_cm_per_s", theirs.velocity_cm_s, ours.velocity_cm_s}};
  for (int i = 0; i < 3; i++)
    if (differs(all[i].file, all[i].here))
      return fault_set(f, "%s states %s = %.7g, but the parameter file has [Units] %s = %.7g; give the file's units there "
                       "(UnitLength_in_cm = %.7g, UnitMass_in_g = %.7g, UnitVelocity_in_cm_per_s = %.7g)", path, all[i].name,
                       all[i].file, all[i].name, all[i].here, theirs.length_cm, theirs.mass_g, theirs.velocity_cm_s);
  return 0;
}
