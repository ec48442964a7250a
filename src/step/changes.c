/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/probe.h"
#include "base/memory.h"
#include "particles/sampling.h"
#include "step/effects.h"
#include "step/energies.h"
#include "step/scheme.h"

/* Soft forces may lack changes of this part of the total mass, for half a soft step. The energy then lacks how much the
 * soft potential at a fixed place changes in this time, about 1e-3 of itself. */
#define LATE_SHARE 1e-4
/* A mass that changes by less than this part keeps its hard step. */
#define STEP_SHARE 0.05
/* Up to so many changed masses their pairs are summed one by one. */
enum { PAIRS_MAX = 2048 };
/* The potentials of so many are direct sums, which then take a hundredth of a soft step; of DIRECT_MAX, where
 * potentials of a walk would need new forces, which take longer. */
enum { DIRECT_ALWAYS = 8, DIRECT_MAX = 256 };

/* A particle of this rank that changes. */
struct own {
  int64_t at;  /* its place */
  int64_t k;   /* in the list */
  float mass;  /* the new one, */
  double more; /* and by how much it is larger */
};

/* A mass that changes, on all ranks. */
struct site {
  uint64_t id;
  double x[3], more, eps;
  int64_t type;
};

/* --- ids ---------------------------------------------------------------------------------------------------------- */

/* Finds places in a list by ids: open addressing. */
struct id_table {
  const char *first; /* the list: ids at the begin of records */
  size_t record;
  int64_t *slot; /* [mask + 1], -1: empty */
  uint64_t mask;
};

static uint64_t id_at(const struct id_table *table, int64_t k)
{
  uint64_t id;
  memcpy(&id, table->first + (size_t)k * table->record, sizeof id);
  return id;
}

static uint64_t slot_of(const struct id_table *table, uint64_t id) { return sampling_hash(id) & table->mask; }

static struct id_table table_of(const void *list, size_t record, int64_t n)
{
  struct id_table t = {.first = list, .record = record, .mask = 7};
  while (t.mask < 4 * (uint64_t)n) t.mask = 2 * t.mask + 1;
  t.slot = memory_alloc("changes", sizeof *t.slot * (t.mask + 1));
  memset(t.slot, -1, sizeof *t.slot * (t.mask + 1));
  for (int64_t k = 0; k < n; k++) {
    uint64_t at = slot_of(&t, id_at(&t, k));
    while (t.slot[at] >= 0) at = (at + 1) & t.mask;
    t.slot[at] = k;
  }
  return t;
}

static int64_t find(const struct id_table *table, uint64_t id)
{
  uint64_t at = slot_of(table, id);
  while (table->slot[at] >= 0 && id_at(table, table->slot[at]) != id) at = (at + 1) & table->mask;
  return table->slot[at];
}

int changes_missing(const struct sim *sim, const struct change *list, int64_t n, uint64_t *missing)
{
  const struct particles *particles = sim->be->view(sim->dev);
  struct id_table table = table_of(list, sizeof *list, n);
  int64_t *seen = memory_alloc("changes", sizeof *seen * (size_t)(n + 1)), first = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    int64_t k = find(&table, particles->id[i]);
    if (k >= 0) seen[k] = 1;
  }
  for (int64_t k = 0; k < n; k += INT32_MAX)
    comm_sum_int64(sim->comm, seen + k, (int)(n - k < INT32_MAX ? n - k : INT32_MAX));
  while (first < n && seen[first]) first++;
  if (first < n) *missing = list[first].id;
  memory_free(seen);
  memory_free(table.slot);
  return first < n;
}

double changes_mass(const struct sim *sim, const struct change *list, int64_t n)
{
  const struct particles *particles = sim->be->view(sim->dev);
  struct id_table table = table_of(list, sizeof *list, n);
  double sum = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    int64_t k = find(&table, particles->id[i]);
    sum += k < 0 || isnan(list[k].mass) ? particles->mass[i] : (float)list[k].mass;
  }
  memory_free(table.slot);
  comm_sum_double(sim->comm, &sum, 1);
  return sum;
}

/* This rank's particles that change; *n: their number. Owner: caller (memory_free). */
static struct own *owns(const struct particles *particles, const struct change *list, int64_t length, int64_t *n)
{
  struct id_table table = table_of(list, sizeof *list, length);
  struct own *own = memory_alloc("changes", sizeof *own * (size_t)(length + 1));
  *n = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    int64_t k = find(&table, particles->id[i]);
    if (k < 0) continue;
    const double *kick = list[k].kick;
    float mass = isnan(list[k].mass) ? particles->mass[i] : (float)list[k].mass;
    if (mass == particles->mass[i] && kick[0] == 0 && kick[1] == 0 && kick[2] == 0) continue;
    own[(*n)++] = (struct own){i, k, mass, (double)mass - (double)particles->mass[i]};
  }
  memory_free(table.slot);
  return own;
}

/* --- energy ------------------------------------------------------------------------------------------------------- */

/* The masses that change, of all ranks; *n: their number, *mine: the place of this rank's first one. Owner: caller
 * (memory_free). Collective. */
static struct site *gather_sites(const struct sim *sim, const struct own *own, int64_t count, int64_t *n, int64_t *mine)
{
  const struct particles *particles = sim->be->view(sim->dev);
  const struct softening *softening = &sim->force.softening;
  struct site *here = memory_alloc("changes", sizeof *here * (size_t)(count + 1));
  int64_t sites = 0;
  size_t bytes;
  for (int64_t o = 0; o < count; o++) {
    int64_t i = own[o].at;
    if (own[o].more == 0) continue;
    here[sites] = (struct site){.id = particles->id[i], .more = own[o].more, .type = particles->type[i]};
    here[sites].eps = softening->eps[softening->class_of[particles->type[i]]];
    memcpy(here[sites++].x, &particles->pos[3 * i], sizeof here->x);
  }
  struct site *all = comm_gather(sim->comm, here, sizeof *all * (size_t)sites, &bytes);
  *n = (int64_t)(bytes / sizeof *all);
  *mine = comm_exscan_int64(sim->comm, sites);
  memory_free(here);
  return all;
}

/* Sum of dm phi over site[n], at most DIRECT_MAX, by direct sums over all particles. Collective. */
static double direct_energy(const struct sim *sim, const struct site *site, int64_t n)
{
  double at[DIRECT_MAX][3], acc[DIRECT_MAX][3] = {{0}}, pot[DIRECT_MAX] = {0}, energy = 0;
  uint64_t skip[DIRECT_MAX] = {0};
  uint8_t type[DIRECT_MAX] = {0};
  for (int64_t k = 0; k < n; k++) {
    memcpy(at[k], site[k].x, sizeof at[k]);
    skip[k] = site[k].id;
    type[k] = (uint8_t)site[k].type;
  }
  sim->be->probe->direct(sim->dev, n, (const double(*)[3])at, skip, type, NULL, acc, NULL, pot);
  comm_sum_double(sim->comm, pot, (int)n);
  for (int64_t k = 0; k < n; k++) energy += site[k].more * pot[k];
  return energy;
}

/* Half the sum over pairs of changed masses of their terms, of which this rank counts those of its own. Local. */
static double pair_energy(const struct sim *sim, const struct site *site, int64_t n, int64_t first, int64_t count)
{
  double sum = 0;
  for (int64_t k = first; k < first + count; k++)
    for (int64_t l = 0; l < n; l++) {
      double d[3], r2 = 0, eps = fmax(site[k].eps, site[l].eps);
      for (int c = 0; c < 3; c++) d[c] = site[l].x[c] - site[k].x[c];
      for (int c = 0; c < 3; c++) r2 += d[c] * d[c];
      r2 += eps * eps;
      if (l != k && r2 > 0) sum -= site[k].more * site[l].more / sqrt(r2);
    }
  return 0.5 * sim->force.gravity * sum;
}

/* Sum of dm phi by potentials of a walk. Local. */
static double walked_energy(const struct sim *sim, const struct site *site, int64_t n)
{
  const struct particles *particles = sim->be->view(sim->dev);
  struct id_table table = table_of(site, sizeof *site, n);
  double sum = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    int64_t k = find(&table, particles->id[i]);
    if (k >= 0) sum += site[k].more * (double)particles->pot[i];
  }
  memory_free(table.slot);
  return sum;
}

/* The change of the kinetic energy in the caller's frame. Local. */
static double kinetic_energy(const struct sim *sim, const struct change *list, const struct own *own, int64_t n)
{
  const struct particles *particles = sim->be->view(sim->dev);
  double place[3], motion[3], sum = 0;
  sim_shift(sim, place, motion);
  for (int64_t o = 0; o < n; o++) {
    double before = 0, after = 0;
    for (int c = 0; c < 3; c++) {
      double v = particles->vel[3 * own[o].at + c] + motion[c], kicked = v + list[own[o].k].kick[c];
      before += v * v;
      after += kicked * kicked;
    }
    sum += 0.5 * (own[o].mass * after - particles->mass[own[o].at] * before);
  }
  return sum;
}

/* --- soft forces that are late ------------------------------------------------------------------------------------ */

void changes_forget(struct sim *sim)
{
  memory_free(sim->energy.changes.late);
  sim->energy.changes.late = NULL;
  sim->energy.changes.late_count = 0;
  sim->energy.changes.late_mass = 0;
}

static int by_id(const void *p, const void *q)
{
  const struct late_change *a = p, *b = q;
  return (a->id > b->id) - (a->id < b->id);
}

/* Note the soft forces on the masses that have changed. Collective. */
static void note_late(struct sim *sim, const struct own *own, int64_t n)
{
  struct changes_part *part = &sim->energy.changes;
  const struct particles *particles = sim->be->view(sim->dev);
  struct late_change *here = memory_alloc("changes", sizeof *here * (size_t)(n + 1));
  int64_t count = 0, kept = 0;
  size_t bytes;
  for (int64_t o = 0; o < n; o++) {
    int64_t i = own[o].at;
    if (own[o].more == 0) continue;
    here[count].id = particles->id[i];
    memcpy(here[count].x, &particles->pos[3 * i], sizeof here->x);
    for (int c = 0; c < 3; c++) here[count].force[c] = own[o].more * (double)particles->acc_soft[3 * i + c];
    count++;
  }
  struct late_change *all = comm_gather(sim->comm, here, sizeof *here * (size_t)count, &bytes);
  count = (int64_t)(bytes / sizeof *all);
  part->late = memory_resize("changes", part->late, sizeof *all * (size_t)(part->late_count + count + 1));
  memcpy(part->late + part->late_count, all, bytes);
  count += part->late_count;
  qsort(part->late, (size_t)count, sizeof *all, by_id);
  for (int64_t k = 0; k < count; k++) { /* one entry for each id */
    struct late_change *last = kept > 0 ? &part->late[kept - 1] : NULL;
    if (!last || last->id != part->late[k].id) part->late[kept++] = part->late[k];
    else
      for (int c = 0; c < 3; c++) last->force[c] += part->late[k].force[c];
  }
  part->late_count = kept;
  memory_free(all);
  memory_free(here);
}

void changes_complete(struct sim *sim)
{
  struct changes_part *part = &sim->energy.changes;
  part->old_sources = 0; /* the soft step has made them from the particles */
  if (part->late_count == 0) return;
  const struct particles *particles = sim->be->view(sim->dev);
  struct id_table table = table_of(part->late, sizeof *part->late, part->late_count);
  double work = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    int64_t k = find(&table, particles->id[i]);
    if (k < 0) continue;
    for (int c = 0; c < 3; c++) work += part->late[k].force[c] * (particles->pos[3 * i + c] - part->late[k].x[c]);
  }
  memory_free(table.slot);
  comm_sum_double(sim->comm, &work, 1);
  part->energy -= 0.5 * work;
  changes_forget(sim);
}

/* --- the particles ------------------------------------------------------------------------------------------------ */

/* How much changes, on all ranks. */
struct extent {
  double particles, masses; /* their numbers; of the latter those whose mass changes */
  double mass;              /* sum of the moduli of the changes of masses */
  double joined;            /* particles that get a mass or lose all of it: trees have them elsewhere */
};

static struct extent extent_of(const struct sim *sim, const struct own *own, int64_t n)
{
  const struct particles *particles = sim->be->view(sim->dev);
  double sum[4] = {(double)n};
  for (int64_t o = 0; o < n; o++) {
    sum[1] += own[o].more != 0;
    sum[2] += fabs(own[o].more);
    sum[3] += (own[o].mass > 0) != (particles->mass[own[o].at] > 0);
  }
  comm_sum_double(sim->comm, sum, 4);
  return (struct extent){sum[0], sum[1], sum[2], sum[3]};
}

static void change(struct particles *particles, const struct change *list, const struct own *own, int64_t n, int lists)
{
  for (int64_t o = 0; o < n; o++) {
    int64_t i = own[o].at;
    const double *kick = list[own[o].k].kick;
    int much = fabs(own[o].more) > STEP_SHARE * particles->mass[i];
    particles->mass[i] = own[o].mass;
    for (int c = 0; c < 3; c++) particles->vel[3 * i + c] += kick[c];
    if (lists && (much || kick[0] != 0 || kick[1] != 0 || kick[2] != 0)) particles->level[i] = LEVEL_UNKNOWN;
  }
}

static void note_masses(struct sim *sim, const struct particles *particles)
{
  sim_note_masses(sim, particles);
  energies_open(sim, particles);
  sim->force.split.largest_mass = (float)sim->masses.largest;
}

/* Change the particles: in place where the host has them; elsewhere they leave the device and come back, and the tree
 * is built again. Collective. */
static void change_particles(struct sim *sim, const struct change *list, const struct own *own, int64_t n, int masses)
{
  int lists = sim->scheme->renews_hard_forces;
  if (sim->be->particle_bytes == 0) {
    struct particles here = *sim->be->view(sim->dev); /* the arrays are the device's */
    change(&here, list, own, n, lists);
    if (masses) note_masses(sim, &here);
    sim->energy.changes.old_sources |= masses;
    return;
  }
  struct particles p;
  sim->be->download(sim->dev, &p);
  change(&p, list, own, n, lists);
  if (masses) note_masses(sim, &p);
  sim->be->upload(sim->dev, &p);
  sim->energy.changes.old_sources = 1;
}

void changes_renew_forces(struct sim *sim)
{
  if (sim->energy.changes.old_sources) sim_restore_order(sim);
  sim->energy.changes.old_sources = 0;
  changes_forget(sim);
  sim->scheme->hard_part(sim);
  sim_force(sim, &sim->force.mac, 1);
  sim_measure(sim);
}

void changes_measure(struct sim *sim)
{
  const struct energy_part known = sim->energy;
  sim_measure(sim);
  sim->energy = known;
}

/* Measure the changed system; the velocity of the centre of mass that forces of trees have given it stays known.
 * Collective. */
static void measure(struct sim *sim, int masses, int renew, const double gained[3])
{
  if (renew) changes_renew_forces(sim);
  else if (masses) sim_measure(sim);
  else changes_measure(sim);
  for (int c = 0; c < 3; c++) sim->effects.v_com[c] = sim->now.v_com[c] - gained[c];
  sim_note_energy(sim);
}

int changes_make(struct sim *sim, const struct change *list, int64_t n, int *potential)
{
  const int host = sim->be->particle_bytes == 0;
  int64_t count, sites, first;
  double gained[3], energy = 0;
  struct own *own = owns(sim->be->view(sim->dev), list, n, &count);
  struct extent extent = extent_of(sim, own, count);
  if (extent.particles == 0) {
    memory_free(own);
    return 0;
  }
  int few = extent.masses <= PAIRS_MAX, direct = extent.masses <= (*potential ? DIRECT_ALWAYS : DIRECT_MAX);
  if (extent.masses > 0 && !direct && !*potential) {
    changes_renew_forces(sim); /* may put the particles into another order */
    *potential = 1;
    memory_free(own);
    own = owns(sim->be->view(sim->dev), list, n, &count);
  }
  sim->energy.changes.late_mass += extent.mass;
  int renew = (extent.masses > 0 && (!sim->scheme->renews_hard_forces || !few || extent.joined > 0 ||
                                     sim->energy.changes.late_mass > LATE_SHARE * sim->masses.total)) ||
              !host;
  struct site *site = gather_sites(sim, own, count, &sites, &first);
  int64_t mine = 0;
  for (int64_t o = 0; o < count; o++) mine += own[o].more != 0;
  double here = kinetic_energy(sim, list, own, count) + (few ? pair_energy(sim, site, sites, first, mine) : 0),
         walked = direct ? 0 : walked_energy(sim, site, sites);
  energy = (direct ? direct_energy(sim, site, sites) : 0) - effects_energy(sim);
  sim_gained(sim, gained);
  if (!renew) note_late(sim, own, count);
  change_particles(sim, list, own, count, extent.masses > 0);
  measure(sim, extent.masses > 0, renew, gained);
  if (extent.masses > 0 || renew) *potential = renew;
  if (!few)
    walked = 0.5 * (walked + walked_energy(sim, site, sites)); /* the mean of before and after has their pairs */
  here += walked;
  comm_sum_double(sim->comm, &here, 1);
  sim->energy.changes.energy += energy + here + effects_energy(sim);
  memory_free(site);
  memory_free(own);
  return extent.masses > 0 || renew;
}
