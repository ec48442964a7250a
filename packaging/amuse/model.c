/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The particles of AMUSE are on rank 0; the library takes them from there, and deals them out to the ranks itself. */
#include "model.h"

#include <math.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many particles have forces and energies by direct sums where AMUSE asks for them. */
enum { DIRECT = 1024 };
/* Without softening all pairs of particles are hard where they are so few, or where up to DIRECT of them have one that
 * is HUB times as heavy as any other. Others would all be in groups of stars, which take those outside of them to be
 * far away. */
enum { FEW = 5, HUB = 10 };
enum { DIRECT_FIELD = 2048 }; /* so many points, or particles, have their field by direct sums */

int model_fail(struct model *m, const char *format, ...)
{
  va_list list;
  va_start(list, format);
  vsnprintf(m->error, sizeof m->error, format, list);
  va_end(list);
  return -1;
}

int model_bad_radius(struct model *m, int index, double radius)
{
  return model_fail(m, "particle %d has the radius %g; expected a finite number, at least 0", index, radius);
}

/* Radii of new particles, which the library does not get. 0 or -1. */
static int check_radii(struct model *m)
{
  double bad[2] = {-1, 0}; /* index, radius */
  for (int64_t k = 0; m->rank == 0 && k < m->store.n && bad[0] < 0; k++) {
    const struct body *b = &m->store.body[k];
    if (b->index >= 0 && !(isfinite(b->radius) && b->radius >= 0)) bad[0] = b->index, bad[1] = b->radius;
  }
  MPI_Bcast(bad, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return bad[0] < 0 ? 0 : model_bad_radius(m, (int)bad[0], bad[1]);
}

static int fail_library(struct model *m) { return model_fail(m, "%s", espalier_error()); }

static void *room(int64_t n, size_t bytes)
{
  void *p = malloc(bytes * (size_t)(n + 1));
  if (p) return p;
  fprintf(stderr, "espalier_worker: no memory for %lld particles\n", (long long)n);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return NULL;
}

void model_begin(struct model *m)
{
  memset(m, 0, sizeof *m);
  MPI_Comm_rank(MPI_COMM_WORLD, &m->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &m->size);
  m->counts = room(m->size, sizeof *m->counts);
  m->starts = room(m->size, sizeof *m->starts);
  m->accuracy = 1e-5;
  strcpy(m->mode, "auto");
  strcpy(m->integrator, "auto");
}

void model_end(struct model *m)
{
  espalier_close(m->sim);
  store_free(&m->store);
  touches_free(&m->touching.known);
  touches_free(&m->touching.fresh);
  free(m->counts);
  free(m->starts);
  free(m->at);
  memset(m, 0, sizeof *m);
}

/* --- parameters --------------------------------------------------------------------------------------------------- */

/* The settings for the library in text, a line each; extent: 0 where not all pairs shall be hard. Local, from numbers
 * that all ranks have. */
static void write_settings(const struct model *m, double extent, char *text, size_t size)
{
  int hermite = !strcmp(m->integrator, "hermite") || (!strcmp(m->integrator, "auto") && m->eps2 == 0);
  int n = snprintf(
      text, size,
      "GravityConstantInternal=1\nSoftening=%.17g\nAccuracy=%.17g\nMaxSizeTimestep=%.17g\nMode=%s\nIntegrator=%s\n",
      sqrt(m->eps2), m->accuracy, m->largest_step, hermite && !strcmp(m->mode, "auto") ? "hybrid" : m->mode,
      hermite ? "hermite" : "leapfrog");
  if (hermite && m->count > 1 && extent > 0)
    n += snprintf(text + n, size - (size_t)n, "R1=%.17g\nR2=%.17g\n", 4 * extent, 8 * extent);
  snprintf(text + n, size - (size_t)n, "%s", m->settings);
}

/* Cut settings at line ends and semicolons. *list is to be freed; it points into text. */
static const char **cut_settings(char *text)
{
  size_t n = 0, most = 2;
  for (const char *p = text; *p; p++) most += *p == '\n' || *p == ';';
  const char **list = room((int64_t)most, sizeof *list);
  for (char *word = strtok(text, "\n;"); word; word = strtok(NULL, "\n;")) {
    word += strspn(word, " \t");
    if (*word) list[n++] = word;
  }
  list[n] = NULL;
  return list;
}

static double number_of(const struct model *m, const char *name)
{
  char text[64] = "";
  espalier_parameter(m->sim, name, text, sizeof text);
  return strtod(text, NULL);
}

/* Whether direct sums over the store have all forces there are, and their law. Local, the same on all ranks. */
static void read_law(struct model *m)
{
  char text[256] = "";
  static const char *const external[] = {"Potential1", "Potential2", "Potential3", "Potential4",
                                         "Potential5", "Potential6", "Potential7", "Potential8",
                                         "TidalField", "Agama",      NULL};
  m->direct = m->count <= DIRECT;
  for (int k = 0; external[k]; k++)
    if (espalier_parameter(m->sim, external[k], text, sizeof text) || text[0]) m->direct = 0;
  m->softening = number_of(m, "SofteningType1");
  if (m->softening == 0) m->softening = number_of(m, "Softening");
  m->gravity = number_of(m, "GravityConstantInternal");
}

/* --- from and to the library -------------------------------------------------------------------------------------- */

/* A field of all particles on rank 0, in the order of m->at; to be freed, NULL on other ranks. */
static double *gather(struct model *m, enum espalier_field field, int width)
{
  int64_t n = espalier_count(m->sim);
  double *mine = room(width * n, sizeof *mine), *all = m->rank == 0 ? room(width * m->count, sizeof *all) : NULL;
  MPI_Datatype row;
  MPI_Type_contiguous(width, MPI_DOUBLE, &row);
  MPI_Type_commit(&row);
  espalier_get(m->sim, field, mine);
  MPI_Gatherv(mine, (int)n, row, all, m->counts, m->starts, row, 0, MPI_COMM_WORLD);
  MPI_Type_free(&row);
  free(mine);
  return all;
}

/* Learn which ranks have which particles. */
static void learn_order(struct model *m)
{
  int n = (int)espalier_count(m->sim);
  uint64_t *mine = room(n, sizeof *mine), *all = room(m->rank == 0 ? m->count : 0, sizeof *all);
  espalier_get(m->sim, ESPALIER_ID, mine);
  MPI_Gather(&n, 1, MPI_INT, m->counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int r = 0, at = 0; m->rank == 0 && r < m->size; at += m->counts[r], r++) m->starts[r] = at;
  MPI_Gatherv(mine, n, MPI_UINT64_T, all, m->counts, m->starts, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  free(m->at);
  m->at = NULL;
  if (m->rank == 0) {
    m->at = room(m->count, sizeof *m->at);
    for (int64_t k = 0; k < m->count; k++) m->at[k] = m->store.slot[all[k] - 1];
  }
  free(all);
  free(mine);
}

void model_fetch(struct model *m)
{
  learn_order(m);
  double *x = gather(m, ESPALIER_POSITION, 3), *v = gather(m, ESPALIER_VELOCITY, 3);
  for (int64_t k = 0; m->rank == 0 && k < m->count; k++) {
    memcpy(m->store.body[m->at[k]].x, x + 3 * k, 3 * sizeof *x);
    memcpy(m->store.body[m->at[k]].v, v + 3 * k, 3 * sizeof *v);
  }
  free(x);
  free(v);
}

static int give_velocities(struct model *m)
{
  int n = (int)espalier_count(m->sim);
  double *mine = room(3 * (int64_t)n, sizeof *mine), *all = m->rank == 0 ? room(3 * m->count, sizeof *all) : NULL;
  for (int64_t k = 0; m->rank == 0 && k < m->count; k++)
    memcpy(all + 3 * k, m->store.body[m->at[k]].v, 3 * sizeof *all);
  MPI_Datatype row;
  MPI_Type_contiguous(3, MPI_DOUBLE, &row);
  MPI_Type_commit(&row);
  MPI_Scatterv(all, m->counts, m->starts, row, mine, n, row, 0, MPI_COMM_WORLD);
  MPI_Type_free(&row);
  int code = espalier_set(m->sim, ESPALIER_VELOCITY, mine);
  free(all);
  free(mine);
  return code ? fail_library(m) : 0;
}

/* Masses that were set since the simulation had them. */
static int give_masses(struct model *m)
{
  int64_t n = 0, most = m->rank == 0 ? m->count : 0;
  double *mass = room(most, sizeof *mass);
  uint64_t *id = room(most, sizeof *id);
  for (int64_t k = 0; k < most; k++) {
    if (!m->store.body[k].reweighed) continue;
    id[n] = (uint64_t)m->store.body[k].index + 1;
    mass[n++] = m->store.body[k].mass;
  }
  const struct espalier_changes changes = {n, id, mass, NULL};
  int code = espalier_change(m->sim, &changes);
  for (int64_t k = 0; k < most && !code; k++) m->store.body[k].reweighed = 0;
  free(id);
  free(mass);
  return code ? fail_library(m) : 0;
}

int model_open(struct model *m)
{
  const struct store *s = &m->store;
  int64_t n = m->rank == 0 ? m->count : 0;
  double *x = room(7 * n, sizeof *x), *v = x + 3 * n, *mass = v + 3 * n;
  uint64_t *id = room(n, sizeof *id);
  for (int64_t k = 0; k < n; k++) {
    memcpy(x + 3 * k, s->body[k].x, 3 * sizeof *x);
    memcpy(v + 3 * k, s->body[k].v, 3 * sizeof *v);
    mass[k] = s->body[k].mass;
    id[k] = (uint64_t)s->body[k].index + 1;
    s->body[k].reweighed = 0;
  }
  struct espalier_particles p = {.count = n, .position = x, .velocity = v, .mass = mass, .id = id, .time = m->time};
  char text[sizeof m->used];
  strcpy(text, m->used);
  const char **settings = cut_settings(text);
  espalier *fresh;
  int code = espalier_open(&fresh, NULL, NULL, settings, &p);
  free(settings);
  free(id);
  free(x);
  if (code) return fail_library(m);
  espalier_close(m->sim);
  m->sim = fresh;
  read_law(m);
  learn_order(m);
  return 0;
}

int model_update(struct model *m)
{
  char settings[sizeof m->used];
  double centre[3], motion[3], extent = 0;
  /* the same on all ranks, which have all calls with the same arguments */
  if (m->sim && m->changed == CHANGED_NOTHING && !m->settings_changed) return 0;
  store_compact(&m->store);
  m->count = m->store.n;
  MPI_Bcast(&m->count, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (m->count == 0) {
    espalier_close(m->sim);
    m->sim = NULL;
    m->changed = CHANGED_ALL;
    return 0;
  }
  if (m->rank == 0) {
    store_centre(&m->store, centre, motion);
    if (m->count <= FEW || (m->count <= DIRECT && store_has_hub(&m->store, HUB)))
      extent = store_extent(&m->store, centre);
  }
  MPI_Bcast(&extent, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  m->have_forces = m->have_energy = 0;
  if (!m->sim || (m->changed & CHANGED_ALL) || m->settings_changed) {
    write_settings(m, extent, settings, sizeof settings);
    strcpy(m->used, settings);
    if (((m->changed & CHANGED_ALL) && check_radii(m)) || model_open(m)) {
      m->changed = CHANGED_ALL;
      return -1;
    }
  } else if (((m->changed & CHANGED_VELOCITIES) && give_velocities(m)) ||
             ((m->changed & CHANGED_MASSES) && give_masses(m))) {
    return -1;
  }
  m->changed = CHANGED_NOTHING;
  m->settings_changed = 0;
  return 0;
}

/* --- what is asked for -------------------------------------------------------------------------------------------- */

static void sum_directly(struct model *m)
{
  m->potential = store_direct(&m->store, m->softening, m->gravity);
  m->have_forces = m->have_energy = 1;
}

int model_forces(struct model *m)
{
  if (model_update(m)) return -1;
  if (m->have_forces || !m->sim) return 0;
  if (m->direct) {
    sum_directly(m);
    return 0;
  }
  double *acc = gather(m, ESPALIER_ACCELERATION, 3), *pot = gather(m, ESPALIER_POTENTIAL, 1);
  for (int64_t k = 0; m->rank == 0 && k < m->count; k++) {
    memcpy(m->store.body[m->at[k]].acc, acc + 3 * k, 3 * sizeof *acc);
    m->store.body[m->at[k]].pot = pot[k];
  }
  free(acc);
  free(pot);
  m->have_forces = 1;
  return 0;
}

int model_potential(struct model *m)
{
  struct espalier_sums sums;
  if (model_update(m)) return -1;
  if (!m->sim) m->potential = 0;
  if (m->have_energy || !m->sim) return 0;
  if (m->direct) {
    sum_directly(m);
    return 0;
  }
  if (espalier_measure(m->sim, &sums)) return fail_library(m);
  m->potential = sums.potential;
  m->have_energy = 1;
  return 0;
}

int model_field(struct model *m, int n, const double *points, double *acc, double *pot)
{
  if (model_update(m)) return -1;
  if (!m->sim) {
    if (acc) memset(acc, 0, 3 * sizeof *acc * (size_t)n);
    if (pot) memset(pot, 0, sizeof *pot * (size_t)n);
    return 0;
  }
  if (m->direct && n <= DIRECT_FIELD) {
    store_field(&m->store, m->softening, m->gravity, n, points, acc, pot);
    return 0;
  }
  int exact = n <= DIRECT_FIELD || m->count <= DIRECT_FIELD;
  return espalier_field_at(m->sim, m->rank == 0 ? n : 0, points, exact, acc, pot) ? fail_library(m) : 0;
}
