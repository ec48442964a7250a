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

enum { WEIGHT_BITS = 60, PATH = PARAM_TEXT + 64 };   /* the sum of all weights has about so many bits */
#define SIZE_FRACTION 0.9                            /* of the mass: the half-width where none is given */
#define BASE "projection_"

/* The maps under way. */
struct painter {
  const struct comm *c;
  const struct particles *p;
  const struct map_facts *facts;
  double centre[3];                  /* in the run's frame */
  int types;                         /* that have particles */
  int64_t count[PARTICLE_TYPES];
  double mass[PARTICLE_TYPES];
  double unit;                       /* of the weights of particles with mass: a power of two */
  int64_t *map, *all;                /* [pixels][pixels] weights; of all types */
  float *value;
  hid_t file;                        /* rank 0 */
};

/* --- where and how much ------------------------------------------------------------------------------------------ */

static void masses(const void *of, int64_t i, double *value)
{
  const struct particles *p = of;
  memset(value, 0, sizeof *value * PARTICLE_TYPES);
  value[p->type[i]] = p->mass[i];
}

/* Counts and masses by type, and the unit of weights. Collective. */
static void weigh(struct painter *w)
{
  int64_t total = 0;
  double sum = 0;
  int exponent;
  subset_counts(w->c, w->p, w->count);
  for (int t = 0; t < PARTICLE_TYPES; t++) total += w->count[t], w->types += w->count[t] > 0;
  exact_sums(w->c, w->p->n, total, PARTICLE_TYPES, masses, w->p, w->mass);
  for (int t = 0; t < PARTICLE_TYPES; t++) sum += w->mass[t];
  frexp(sum, &exponent);
  w->unit = ldexp(1, exponent - WEIGHT_BITS);
}

/* Centre and half-width. Collective. */
static void choose_frame(struct painter *w, struct map_facts *facts, const double place[3])
{
  static const double fraction = SIZE_FRACTION;
  struct subset s;
  subset_open(&s, w->c, w->p, TYPE_ALL);
  for (int k = 0; k < 3; k++) w->centre[k] = -place[k];
  if (facts->par->ProjectionCentre == PROJECTION_DENSITY) subset_centre(w->c, &s, w->centre);
  for (int k = 0; k < 3; k++) facts->centre[k] = w->centre[k] + place[k];
  if (!(facts->half > 0)) {
    subset_quantiles(w->c, &s, w->centre, 0, 1, &fraction, &facts->half);
    facts->half = facts->half > 0 ? sqrt(facts->half) : 1;
  }
  subset_close(&s);
}

/* --- maps -------------------------------------------------------------------------------------------------------- */

/* The weights of the particles of a type by pixel, over all ranks; row: along the second axis. Collective. */
static void paint(struct painter *w, int type, const int axis[2])
{
  const struct particles *p = w->p;
  int pixels = w->facts->par->ProjectionPixels, by_number = !(w->mass[type] > 0);
  double scale = pixels / (2 * w->facts->half), half = 0.5 * pixels;
  memset(w->map, 0, sizeof *w->map * (size_t)pixels * (size_t)pixels);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    if (p->type[i] != type) continue;
    double x = (p->pos[3 * i + axis[0]] - w->centre[axis[0]]) * scale + half, y = (p->pos[3 * i + axis[1]] - w->centre[axis[1]]) * scale + half;
    if (!(x >= 0 && x < pixels && y >= 0 && y < pixels)) continue;
    int64_t weight = by_number ? 1 : llrint(p->mass[i] / w->unit), *pixel = &w->map[(int64_t)y * pixels + (int64_t)x];
#pragma omp atomic
    *pixel += weight;
  }
  comm_sum_int64(w->c, w->map, pixels * pixels);
}

/* Add the map to the file as group/name, in `unit` per area. Rank 0. */
static void store(struct painter *w, const int64_t *map, double unit, const char *group, const char *name, struct fault *f)
{
  int pixels = w->facts->par->ProjectionPixels;
  double side = 2 * w->facts->half / pixels;
  for (int64_t k = 0; k < (int64_t)pixels * pixels; k++) w->value[k] = (float)((double)map[k] * unit / (side * side));
  map_file_add(w->file, group, name, pixels, w->value, f);
}

/* All maps in the plane of two axes. Without any mass that of all particles is of numbers, too. Collective. */
static void paint_plane(struct painter *w, const int axis[2], struct fault *f)
{
  static const char letters[] = "xyz";
  const char name[] = {letters[axis[0]], letters[axis[1]], 0};
  int64_t cells = (int64_t)w->facts->par->ProjectionPixels * w->facts->par->ProjectionPixels;
  int root = w->c->rank == 0, massive = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) massive |= w->mass[t] > 0;
  memset(w->all, 0, sizeof *w->all * (size_t)cells);
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    char group[32];
    if (!w->count[t]) continue;
    paint(w, t, axis);
    if (!root) continue;
    snprintf(group, sizeof group, "PartType%d", t);
    store(w, w->map, w->mass[t] > 0 ? w->unit : 1, group, name, f);
    if (w->types == 1) map_file_alias(w->file, "All", group, (struct fault[1]){{""}});   /* fails where it exists already */
    if (!massive || w->mass[t] > 0)
      for (int64_t k = 0; k < cells; k++) w->all[k] += w->map[k];
  }
  if (root && w->types != 1) store(w, w->all, massive ? w->unit : 1, "All", name, f);
}

int projection_write(const struct comm *c, const char *folder, int number, const struct particles *p, struct map_facts *facts,
                     const double place[3], struct fault *f)
{
  struct painter w = {.c = c, .p = p, .facts = facts, .file = -1};
  char path[PATH];
  int axis[3][2], planes = params_planes(facts->par->ProjectionAxes, axis);
  size_t cells = (size_t)facts->par->ProjectionPixels * (size_t)facts->par->ProjectionPixels;
  weigh(&w);
  choose_frame(&w, facts, place);
  if (c->rank == 0 && folder_make(folder, "projections", f) == 0) w.file = map_file_create(facts, f);
  if (comm_verdict(c, f) == 0) {
    w.map = memory_alloc("maps", sizeof *w.map * cells);
    w.all = memory_alloc("maps", sizeof *w.all * cells);
    w.value = memory_alloc("maps", sizeof *w.value * cells);
    for (int k = 0; k < planes; k++) paint_plane(&w, axis[k], f);
    memory_free(w.value);
    memory_free(w.all);
    memory_free(w.map);
  }
  snprintf(path, sizeof path, "%s/" BASE "%04d.hdf5", folder, number);
  if (w.file >= 0 && map_file_write(w.file, path, f) == 0) folder_flush(folder, &(struct fault){""});
  return comm_verdict(c, f);
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

/* Visit the projections with `first` and later numbers, and those that were not completed: `remove` them. Returns how many there are. */
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
