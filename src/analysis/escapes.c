/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/escapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct system {
  const struct star *star;
  int32_t stars;
  const struct multiples *found;
  double gravity;
  char *gone;     /* [stars] 1: has escaped before */
  int32_t *owner; /* [stars] multiples_owners */
};

/* The stars that have not escaped. */
struct cluster {
  double pos[3], vel[3], mass, half; /* half-mass radius */
};

static int by_id(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static double distance(const double a[3], const double b[3])
{
  double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return sqrt(x * x + y * y + z * z);
}

/* --- the cluster ------------------------------------------------------------------------------------------------- */

struct shell {
  double r, mass;
};

static void swap(struct shell *a, struct shell *b)
{
  struct shell keep = *a;
  *a = *b;
  *b = keep;
}

/* The smallest radius within which, itself included, is at least `mass`: by halves, of which one is divided again. */
static double radius_of(struct shell *shell, int32_t count, double mass)
{
  int32_t low = 0, high = count - 1;
  while (low < high) {
    int32_t i = low, j = high;
    double a = shell[low].r, b = shell[low + (high - low) / 2].r, c = shell[high].r, within = 0;
    double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c));
    while (i <= j) {
      while (shell[i].r < pivot) i++;
      while (shell[j].r > pivot) j--;
      if (i <= j) swap(&shell[i++], &shell[j--]);
    }
    /* those to j are not above the pivot, those from i not below it, one between them is equal to it */
    for (int32_t k = low; k <= j; k++) within += shell[k].mass;
    if (within >= mass) {
      high = j;
      continue;
    }
    for (int32_t k = j + 1; k < i; k++) within += shell[k].mass;
    if (within >= mass) return pivot;
    mass -= within;
    low = i;
  }
  return count ? shell[low < count ? low : count - 1].r : 0;
}

static double half_mass_radius(const struct system *system, const struct cluster *cluster)
{
  struct shell *shell = memory_alloc("escapes", sizeof *shell * (size_t)(system->stars + 1));
  int32_t count = 0;
  for (int32_t i = 0; i < system->stars; i++)
    if (!system->gone[i])
      shell[count++] = (struct shell){distance(system->star[i].pos, cluster->pos), system->star[i].mass};
  double half = radius_of(shell, count, cluster->mass / 2);
  memory_free(shell);
  return half;
}

static struct cluster measure(const struct system *system)
{
  struct cluster c = {.mass = 0};
  for (int32_t i = 0; i < system->stars; i++) {
    const struct star *s = &system->star[i];
    if (system->gone[i]) continue;
    c.mass += s->mass;
    for (int k = 0; k < 3; k++) {
      c.pos[k] += s->mass * s->pos[k];
      c.vel[k] += s->mass * s->vel[k];
    }
  }
  for (int k = 0; k < 3 && c.mass > 0; k++) {
    c.pos[k] /= c.mass;
    c.vel[k] /= c.mass;
  }
  c.half = half_mass_radius(system, &c);
  return c;
}

/* --- bodies ------------------------------------------------------------------------------------------------------ */

static void open_system(struct system *system, const struct escaped *escaped)
{
  const struct multiples *found = system->found;
  system->gone = memory_alloc("escapes", (size_t)system->stars + 1);
  system->owner = multiples_owners(found, system->star, system->stars);
  for (int32_t i = 0, k = 0; i < system->stars; i++) {
    while (k < escaped->count && escaped->id[k] < system->star[i].id) k++;
    system->gone[i] = k < escaped->count && escaped->id[k] == system->star[i].id;
  }
}

static void close_system(struct system *system)
{
  memory_free(system->owner);
  memory_free(system->gone);
}

/* A body with all its numbers: that of `owner`. */
static struct escape body_of(const struct system *system, const struct cluster *cluster, int32_t owner)
{
  const struct multiples *found = system->found;
  if (owner >= found->count) {
    const struct star *s = &system->star[owner - found->count];
    return (struct escape){{s->id, 0}, 1, s->mass, distance(s->pos, cluster->pos), distance(s->vel, cluster->vel)};
  }
  const struct multiple *m = &found->row[owner];
  return (struct escape){{m->first, m->second},
                         m->stars,
                         m->mass[0] + m->mass[1],
                         distance(m->pos, cluster->pos),
                         distance(m->vel, cluster->vel)};
}

/* Whether the body has escaped. Its potential is a sum over all stars; before it, a bound of it: half of the mass is
 * within the half-mass radius, so not farther from the body than both radii together. */
static int has_escaped(const struct system *system, const struct cluster *cluster, int32_t owner,
                       const struct escape *body)
{
  double kinetic = body->speed * body->speed / 2, potential = 0;
  if (!(body->distance > ESCAPE_RADII * cluster->half)) return 0;
  double least = system->gravity * (cluster->mass / 2 - body->mass) / (body->distance + cluster->half);
  if (!(kinetic > 0) || kinetic < 0.999 * least) return 0;
  int32_t rows = system->found->count;
  const double *pos = owner < rows ? system->found->row[owner].pos : system->star[owner - rows].pos;
  for (int32_t i = 0; i < system->stars; i++)
    if (system->owner[i] != owner) potential -= system->star[i].mass / distance(system->star[i].pos, pos);
  return kinetic + system->gravity * potential > 0;
}

/* --- escapes ----------------------------------------------------------------------------------------------------- */

static int by_first(const void *a, const void *b)
{
  int64_t x = ((const struct escape *)a)->id[0], y = ((const struct escape *)b)->id[0];
  return (x > y) - (x < y);
}

/* Add the stars of the bodies that are marked in leaves[owner]. */
static void add_stars(struct escaped *escaped, const struct system *system, const char *leaves)
{
  int32_t count = escaped->count;
  for (int32_t i = 0; i < system->stars; i++) count += leaves[system->owner[i]] && !system->gone[i];
  if (count == escaped->count) return;
  escaped->id = memory_resize("escapes", escaped->id, sizeof *escaped->id * (size_t)count);
  for (int32_t i = 0; i < system->stars; i++)
    if (leaves[system->owner[i]] && !system->gone[i]) escaped->id[escaped->count++] = system->star[i].id;
  qsort(escaped->id, (size_t)escaped->count, sizeof *escaped->id, by_id);
}

struct escape *escapes_find(const struct star *star, int32_t stars, const struct multiples *found, double gravity,
                            struct escaped *escaped, int32_t *count)
{
  struct system s = {.star = star, .stars = stars, .found = found, .gravity = gravity};
  int32_t owners = found->count + stars;
  open_system(&s, escaped);
  struct cluster cluster = measure(&s);
  /* owners with a star that has not escaped before; then those that have escaped now */
  char *leaves = memory_alloc("escapes", (size_t)owners + 1);
  for (int32_t i = 0; i < stars; i++) leaves[s.owner[i]] |= !s.gone[i];
#pragma omp parallel for schedule(dynamic, 256)
  for (int32_t k = 0; k < owners; k++) {
    if (!leaves[k]) continue;
    struct escape body = body_of(&s, &cluster, k);
    leaves[k] = (char)has_escaped(&s, &cluster, k, &body);
  }
  *count = 0;
  for (int32_t k = 0; k < owners; k++) *count += leaves[k];
  struct escape *escape = memory_alloc("escapes", sizeof *escape * (size_t)(*count + 1));
  for (int32_t k = 0, n = 0; k < owners; k++)
    if (leaves[k]) escape[n++] = body_of(&s, &cluster, k);
  qsort(escape, (size_t)*count, sizeof *escape, by_first);
  add_stars(escaped, &s, leaves);
  memory_free(leaves);
  close_system(&s);
  return escape;
}
