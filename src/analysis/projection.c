/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/projection.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/exact.h"
#include "base/folders.h"
#include "base/memory.h"

enum { WEIGHT_BITS = 60, PATH = PARAM_TEXT + 64 }; /* the sum of all weights has about so many bits */
#define SIZE_FRACTION 0.9                          /* of the mass: the half-width where none is given */
enum { LEAST_STARS = 100 };                        /* that determine it; fewer are a black hole or tracers */
#define BASE "projection_"

/* The maps under way. */
struct painter {
  const struct comm *c;
  const struct particles *p;
  const struct map_facts *facts;
  double centre[3]; /* in the run's frame */
  int types;        /* that have particles */
  int64_t count[PARTICLE_TYPES];
  double mass[PARTICLE_TYPES];
  double unit;        /* of the weights of particles with mass: a power of two */
  int64_t *map, *all; /* [pixels][pixels] weights; of all types */
  float *value;
  hid_t file; /* rank 0 */
};

/* --- where and how much ------------------------------------------------------------------------------------------ */

static void masses(const void *of, int64_t i, double *value)
{
  const struct particles *p = of;
  memset(value, 0, sizeof *value * PARTICLE_TYPES);
  value[p->type[i]] = p->mass[i];
}

/* Counts and masses by type, and the unit of weights. Collective. */
static void weigh(struct painter *painter)
{
  int64_t total = 0;
  double sum = 0;
  int exponent;
  subset_counts(painter->c, painter->p, painter->count);
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    total += painter->count[t];
    painter->types += painter->count[t] > 0;
  }
  exact_sums(painter->c, painter->p->n, total, PARTICLE_TYPES, masses, painter->p, painter->mass);
  for (int t = 0; t < PARTICLE_TYPES; t++) sum += painter->mass[t];
  frexp(sum, &exponent);
  painter->unit = ldexp(1, exponent - WEIGHT_BITS);
}

/* The radius that holds SIZE_FRACTION of the particles about the centre; 0: none is there. Collective. */
static double radius_of(struct painter *painter, int type)
{
  static const double fraction = SIZE_FRACTION;
  double r2 = 0;
  struct subset s;
  subset_open(&s, painter->c, painter->p, type);
  if (s.total > 0) subset_quantiles(painter->c, &s, painter->centre, 0, 1, &fraction, &r2);
  subset_close(&s);
  return r2 > 0 ? sqrt(r2) : 0;
}

/* Whether the core of the dark matter is within a radius: it is no galaxy beside that of the stars. Collective. */
static int dark_core_within(struct painter *painter, double radius)
{
  double core[3], r2 = 0;
  struct subset s;
  subset_open(&s, painter->c, painter->p, DARK_TYPE);
  subset_centre(painter->c, &s, core);
  subset_close(&s);
  for (int k = 0; k < 3; k++) r2 += (core[k] - painter->centre[k]) * (core[k] - painter->centre[k]);
  return r2 < radius * radius;
}

/* The half-width that is not given: dark matter beyond the stars is left out. Collective. */
static double choose_half(struct painter *painter)
{
  double half = radius_of(painter, TYPE_ALL), stars = 0;
  int64_t count = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (t != DARK_TYPE && painter->mass[t] > 0) count += painter->count[t];
  if (count >= LEAST_STARS && painter->mass[DARK_TYPE] > 0) stars = radius_of(painter, TYPE_STARS);
  if (stars > 0 && stars < half && dark_core_within(painter, stars)) half = stars;
  return half > 0 ? half : 1;
}

/* Centre and half-width. Collective. */
static void choose_frame(struct painter *painter, struct map_facts *facts, const double place[3])
{
  struct subset s;
  subset_open(&s, painter->c, painter->p, TYPE_ALL);
  for (int k = 0; k < 3; k++) painter->centre[k] = -place[k];
  if (facts->par->ProjectionCentre == PROJECTION_DENSITY) subset_centre(painter->c, &s, painter->centre);
  for (int k = 0; k < 3; k++) facts->centre[k] = painter->centre[k] + place[k];
  subset_close(&s);
  if (!(facts->half > 0)) facts->half = choose_half(painter);
}

/* --- maps -------------------------------------------------------------------------------------------------------- */

/* The weights of the particles of a type by pixel, over all ranks; row: along the second axis. Collective. */
static void paint(struct painter *painter, int type, const int axis[2])
{
  const struct particles *p = painter->p;
  int pixels = painter->facts->par->ProjectionPixels, by_number = !(painter->mass[type] > 0);
  double scale = pixels / (2 * painter->facts->half), half = 0.5 * pixels;
  memset(painter->map, 0, sizeof *painter->map * (size_t)pixels * (size_t)pixels);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    if (p->type[i] != type) continue;
    double x = (p->pos[3 * i + axis[0]] - painter->centre[axis[0]]) * scale + half,
           y = (p->pos[3 * i + axis[1]] - painter->centre[axis[1]]) * scale + half;
    if (!(x >= 0 && x < pixels && y >= 0 && y < pixels)) continue;
    int64_t weight = by_number ? 1 : llrint(p->mass[i] / painter->unit),
            *pixel = &painter->map[(int64_t)y * pixels + (int64_t)x];
#pragma omp atomic
    *pixel += weight;
  }
  comm_sum_int64(painter->c, painter->map, pixels * pixels);
}

/* Add the map to the file as group/name, in `unit` per area. Rank 0. */
static void store(struct painter *painter, const int64_t *map, double unit, const char *group, const char *name,
                  struct fault *fault)
{
  int pixels = painter->facts->par->ProjectionPixels;
  double side = 2 * painter->facts->half / pixels;
  for (int64_t k = 0; k < (int64_t)pixels * pixels; k++)
    painter->value[k] = (float)((double)map[k] * unit / (side * side));
  map_file_add(painter->file, group, name, pixels, painter->value, fault);
}

/* All maps in the plane of two axes. Without any mass that of all particles is of numbers, too. Collective. */
static void paint_plane(struct painter *painter, const int axis[2], struct fault *fault)
{
  static const char letters[] = "xyz";
  const char name[] = {letters[axis[0]], letters[axis[1]], 0};
  int64_t cells = (int64_t)painter->facts->par->ProjectionPixels * painter->facts->par->ProjectionPixels;
  int root = painter->c->rank == 0, massive = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) massive |= painter->mass[t] > 0;
  memset(painter->all, 0, sizeof *painter->all * (size_t)cells);
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    char group[32];
    if (!painter->count[t]) continue;
    paint(painter, t, axis);
    if (!root) continue;
    snprintf(group, sizeof group, "PartType%d", t);
    store(painter, painter->map, painter->mass[t] > 0 ? painter->unit : 1, group, name, fault);
    /* fails where it exists already */
    if (painter->types == 1) map_file_alias(painter->file, "All", group, (struct fault[1]){{""}});
    if (!massive || painter->mass[t] > 0)
      for (int64_t k = 0; k < cells; k++) painter->all[k] += painter->map[k];
  }
  if (root && painter->types != 1) store(painter, painter->all, massive ? painter->unit : 1, "All", name, fault);
}

int projection_write(const struct comm *comm, const char *folder, int number, const struct particles *particles,
                     struct map_facts *facts, const double place[3], struct fault *fault)
{
  struct painter w = {.c = comm, .p = particles, .facts = facts, .file = -1};
  char path[PATH];
  int axis[3][2], planes = params_planes(facts->par->ProjectionAxes, axis);
  size_t cells = (size_t)facts->par->ProjectionPixels * (size_t)facts->par->ProjectionPixels;
  weigh(&w);
  choose_frame(&w, facts, place);
  if (comm->rank == 0 && folder_make(folder, "projections", fault) == 0) w.file = map_file_create(facts, fault);
  if (comm_verdict(comm, fault) == 0) {
    w.map = memory_alloc("maps", sizeof *w.map * cells);
    w.all = memory_alloc("maps", sizeof *w.all * cells);
    w.value = memory_alloc("maps", sizeof *w.value * cells);
    for (int k = 0; k < planes; k++) paint_plane(&w, axis[k], fault);
    memory_free(w.value);
    memory_free(w.all);
    memory_free(w.map);
  }
  snprintf(path, sizeof path, "%s/" BASE "%04d.hdf5", folder, number);
  if (w.file >= 0 && map_file_write(w.file, path, fault) == 0) folder_flush(folder, &(struct fault){""});
  return comm_verdict(comm, fault);
}

/* The number of projection_NNNN.hdf5, also with .tmp; -1 for other names. */
static long number_of(const char *name, int *unfinished)
{
  size_t base = strlen(BASE), digits;
  if (strncmp(name, BASE, base) != 0) return -1;
  digits = strspn(name + base, "0123456789");
  *unfinished = strcmp(name + base + digits, ".hdf5.tmp") == 0;
  if (digits < 4 || digits > 9 || (!*unfinished && strcmp(name + base + digits, ".hdf5") != 0)) return -1;
  return atol(name + base);
}

/* Visit the projections with `first` and later numbers, and those that were not completed: `remove` them. Returns how
 * many there are. */
static int visit(const char *folder, int first, int remove)
{
  char path[PATH + 256];
  DIR *d = opendir(folder);
  int count = 0;
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    int unfinished;
    long number = number_of(e->d_name, &unfinished);
    if (number < 0 || (number < first && !unfinished)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (remove) unlink(path);
    count++;
  }
  if (d) closedir(d);
  return count;
}

int projection_exists(const char *folder) { return visit(folder, 0, 0) > 0; }

void projection_remove(const char *folder, int first) { visit(folder, first, 1); }
