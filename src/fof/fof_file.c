/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of a catalogue. Names are GADGET-4's where it has them. GroupOffsetType is left out: it counts rows of
 * snapshots that are sorted by group, and here they are not. */
#include <config.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/revision.h"
#include "fof/fof.h"
#include "io/table_file.h"

#define AT(member) offsetof(struct fof_group, member)
enum { OF_OFFSET = -1 };

static const struct group_column {
  const char *name;
  int offset; /* in struct fof_group; OF_OFFSET: rows of members */
  enum column_number number;
  int components, length, mass, velocity;
} group_columns[] = {
    {"GroupLen", AT(count), COLUMN_U64, 1, 0, 0, 0},
    {"GroupMass", AT(mass), COLUMN_F64, 1, 0, 1, 0},
    {"GroupPos", AT(pos), COLUMN_F64, 3, 1, 0, 0},
    {"GroupCM", AT(cm), COLUMN_F64, 3, 1, 0, 0},
    {"GroupVel", AT(vel), COLUMN_F64, 3, 0, 0, 1},
    {"GroupLenType", AT(type_count), COLUMN_U64, PARTICLE_TYPES, 0, 0, 0},
    {"GroupMassType", AT(type_mass), COLUMN_F64, PARTICLE_TYPES, 0, 1, 0},
    {"GroupOffset", OF_OFFSET, COLUMN_U64, 1, 0, 0, 0},
    {"GroupLabel", AT(label), COLUMN_U64, 1, 0, 0, 0},
};
enum { GROUP_COLUMNS = sizeof group_columns / sizeof *group_columns, SETS = GROUP_COLUMNS + 1 };

struct contents {
  const struct fof_catalogue *k;
  const struct fof_facts *facts;
};

static herr_t put_count(hid_t at, const char *name, int64_t x)
{
  return h5_put(at, name, H5T_STD_U64LE, H5T_NATIVE_INT64, 0, &x);
}

static herr_t put_header(hid_t at, const struct contents *of)
{
  herr_t s = put_count(at, "Ngroups_ThisFile", of->k->groups);
  s |= put_count(at, "Ngroups_Total", of->k->groups);
  s |= put_count(at, "Nsubhalos_ThisFile", 0);
  s |= put_count(at, "Nsubhalos_Total", 0);
  s |= put_count(at, "Nids_ThisFile", of->k->members);
  s |= put_count(at, "Nids_Total", of->k->members);
  s |= h5_put_whole(at, "NumFiles", 1);
  s |= h5_put_real(at, "Time", of->facts->time);
  s |= h5_put_real(at, "Redshift", of->facts->a > 0 ? 1 / of->facts->a - 1 : 0);
  s |= h5_put_real(at, "BoxSize", 0);
  s |= h5_put_real(at, "LinkingLength", of->k->length);
  s |= h5_put_text(at, "Code", "Espalier");
  s |= h5_put_text(at, "Git_commit", revision);
  s |= h5_put_text(at, "Git_date", "unknown");
  return s;
}

static herr_t put_parameters(hid_t at, const struct contents *of)
{
  const struct fof_request *r = of->facts->request;
  char types[2 * PARTICLE_TYPES + 1] = "";
  for (int t = 0, n = 0; t < PARTICLE_TYPES; t++) {
    if (!(r->linking >> t & 1)) continue;
    if (n) types[n++] = ',';
    types[n++] = (char)('0' + t);
  }
  herr_t s = h5_put_real(at, "LinkingLength", r->length);
  s |= put_count(at, "GroupMinSize", r->min_size);
  s |= h5_put_text(at, "GroupLinkTypes", types);
  s |= h5_put_whole(at, "PotentialKnown", r->potential);
  if (of->facts->a > 0) {
    s |= h5_put_whole(at, "ComovingIntegrationOn", 1);
    s |= h5_put_real(at, "Omega0", of->facts->omega0);
    s |= h5_put_real(at, "OmegaLambda", of->facts->omega_lambda);
    s |= h5_put_real(at, "HubbleParam", of->facts->hubble);
  }
  const struct units *u = &of->facts->units;
  if (!(u->length_cm > 0)) return s;
  s |= h5_put_real(at, "UnitLength_in_cm", u->length_cm);
  s |= h5_put_real(at, "UnitMass_in_g", u->mass_g);
  s |= h5_put_real(at, "UnitVelocity_in_cm_per_s", u->velocity_cm_s);
  s |= h5_put_text(at, "UnitSystem", units_system(u));
  return s;
}

static herr_t put_attributes(hid_t file, const void *contents)
{
  static const char *const names[] = {"Header", "Parameters"};
  herr_t s = 0;
  for (int g = 0; g < 2 && s >= 0; g++) {
    hid_t group = h5_group(file, names[g]);
    if (group < 0) return -1;
    s |= g == 0 ? put_header(group, contents) : put_parameters(group, contents);
    s |= H5Gclose(group);
  }
  return s;
}

/* Rows of a column. Owner: caller. */
static void *rows_of(const struct group_column *column, const struct fof_catalogue *catalogue)
{
  size_t bytes = 8 * (size_t)column->components;
  char *rows = memory_alloc("fof", bytes * (size_t)(catalogue->group_count + 1));
  for (int64_t i = 0; i < catalogue->group_count; i++) {
    const char *from = column->offset == OF_OFFSET ? (const char *)&catalogue->offset[i]
                                                   : (const char *)&catalogue->group[i] + column->offset;
    memcpy(rows + bytes * (size_t)i, from, bytes);
  }
  return rows;
}

int fof_write(const struct comm *comm, const char *path, const struct fof_catalogue *catalogue,
              const struct fof_facts *facts, struct fault *fault)
{
  struct contents contents = {catalogue, facts};
  struct table_set set[SETS];
  void *rows[SETS];
  for (int i = 0; i < GROUP_COLUMNS; i++) {
    const struct group_column *g = &group_columns[i];
    rows[i] = rows_of(g, catalogue);
    set[i] =
        (struct table_set){"Group",           g->name,     g->number, g->components,          g->length,
                           g->mass,           g->velocity, rows[i],   catalogue->first_group, catalogue->group_count,
                           catalogue->groups, 0,           0};
  }
  uint64_t *id = rows[GROUP_COLUMNS] = memory_alloc("fof", sizeof *id * (size_t)(catalogue->member_count + 1));
  for (int64_t i = 0; i < catalogue->member_count; i++) id[i] = catalogue->member[i].id;
  set[GROUP_COLUMNS] = (struct table_set){
      "IDs", "ID", COLUMN_U64, 1, 0, 0, 0, id, catalogue->first_member, catalogue->member_count, catalogue->members,
      0,     0};
  struct table_file t = {"catalogue", path, set, SETS, facts->units, facts->a > 0, put_attributes, &contents};
  int status = table_write(comm, &t, fault);
  for (int i = 0; i < SETS; i++) memory_free(rows[i]);
  return status;
}

int fof_make(const struct comm *comm, const struct particles *particles, const char *path,
             const struct fof_facts *facts, struct timer *timer, struct fault *fault)
{
  struct fof_catalogue k;
  double began = timer_clock();
  int64_t all = particles->n;
  if (timer) timer_phase(timer, PHASE_fof);
  comm_sum_int64(comm, &all, 1);
  fof_find(comm, particles, facts->request, &k);
  double seconds = timer_clock() - began;
  if (timer) timer_phase(timer, PHASE_output);
  int status = fof_write(comm, path, &k, facts, fault);
  if (comm->rank == 0 && status == 0) {
    printf("catalogue %s: %lld group%s of %lld particles and more, with %lld of %lld particles; linking length %.6g "
           "(%.2f s)\n",
           path, (long long)k.groups, plural((double)k.groups), (long long)facts->request->min_size,
           (long long)k.members, (long long)all, k.length, seconds);
    fflush(stdout);
  }
  fof_close(&k);
  return status;
}
