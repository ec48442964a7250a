/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "check/components.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
  FEWEST = 100,    /* particles of a component */
  SAMPLES = 1000,  /* of a component, */
  NEIGHBOURS = 16, /* with which the density is measured */
};

struct point {
  double at[3], mass;
  int type;
};

/* A number in [0, 1) that depends on the id alone. */
static double chance(uint64_t id)
{
  uint64_t z = id + 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* The samples of all ranks, by type: (*all)[return value]. Owner: caller (memory_free). Collective. */
static int64_t gather(const struct comm *comm, const struct particles *particles,
                      const struct component component[PHYSICS_COMPONENTS], struct point **all)
{
  enum { MOST = 2 * PHYSICS_COMPONENTS * SAMPLES };
  struct point *mine = memory_alloc("radius", sizeof *mine * MOST);
  int64_t count = 0;
  for (int64_t i = 0; i < particles->n && count < MOST; i++) {
    int t = particles->type[i];
    if (!(particles->mass[i] > 0) || chance(particles->id[i]) * component[t].particles >= SAMPLES) continue;
    mine[count] = (struct point){.mass = particles->mass[i], .type = t};
    memcpy(mine[count++].at, &particles->pos[3 * i], sizeof mine->at);
  }
  size_t bytes;
  *all = comm_gather(comm, mine, sizeof *mine * (size_t)count, &bytes);
  memory_free(mine);
  return (int64_t)(bytes / sizeof **all);
}

static double distance(const double a[3], const double b[3])
{
  return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

/* The number of points that are of the body about the centre, of n with ascending distances d[order[k]]: they end where
 * a twentieth more is in a radius several times as large, as where two galaxies have the same types. */
static int64_t count_body(const double *d, const size_t *order, int64_t n)
{
  const double gap = 3;
  for (int64_t k = n / 10; k + n / 20 < n; k++)
    if (d[order[k + n / 20]] > gap * d[order[k]]) return k;
  return n;
}

/* The place of the largest density of n points: the mean of the nearest ones. */
static void find_densest(const struct point *point, int64_t n, double centre[3])
{
  double *d = memory_alloc("radius", sizeof *d * (size_t)n), densest = HUGE_VAL;
  size_t nearest[NEIGHBOURS];
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < n; k++) d[k] = distance(point[i].at, point[k].at);
    gsl_sort_smallest_index(nearest, NEIGHBOURS, d, 1, (size_t)n);
    if (!(d[nearest[NEIGHBOURS - 1]] < densest)) continue;
    densest = d[nearest[NEIGHBOURS - 1]];
    for (int c = 0; c < 3; c++) {
      centre[c] = 0;
      for (int k = 0; k < NEIGHBOURS; k++) centre[c] += point[nearest[k]].at[c] / NEIGHBOURS;
    }
  }
  memory_free(d);
}

/* The order of n points by their distance d from the centre. */
static void sort_points(const struct point *point, int64_t n, const double centre[3], double *d, size_t *order)
{
  for (int64_t i = 0; i < n; i++) d[i] = distance(point[i].at, centre);
  gsl_sort_index(order, d, 1, (size_t)n);
}

/* Half-mass radius, from n points, of the body about the densest place, whose centre is the median position. */
static void measure_scale(const struct point *point, int64_t n, struct component *component)
{
  double *d = memory_alloc("radius", sizeof *d * (size_t)n), *x = memory_alloc("radius", sizeof *x * (size_t)n);
  size_t *order = memory_alloc("radius", sizeof *order * (size_t)n);
  double mass = 0, within = 0;
  find_densest(point, n, component->centre);
  sort_points(point, n, component->centre, d, order);
  int64_t body = count_body(d, order, n);
  for (int c = 0; c < 3; c++) {
    for (int64_t k = 0; k < body; k++) x[k] = point[order[k]].at[c];
    gsl_sort(x, 1, (size_t)body);
    component->centre[c] = x[body / 2];
  }
  sort_points(point, n, component->centre, d, order);
  for (int64_t k = 0; k < body; k++) mass += point[order[k]].mass;
  for (int64_t k = 0; k < body && within < 0.5 * mass; k++) {
    within += point[order[k]].mass;
    component->half = d[order[k]];
  }
  memory_free(order);
  memory_free(x);
  memory_free(d);
}

/* Of all particles within the half-mass radii: sums of m and m^2. Collective. */
static void measure_inner(const struct comm *comm, const struct particles *particles,
                          struct component component[PHYSICS_COMPONENTS])
{
  double sums[PHYSICS_COMPONENTS][2] = {{0}};
  for (int64_t i = 0; i < particles->n; i++)
    for (int t = 0; t < PHYSICS_COMPONENTS; t++) {
      if (!(component[t].half > 0) || distance(&particles->pos[3 * i], component[t].centre) > component[t].half)
        continue;
      sums[t][0] += particles->mass[i];
      sums[t][1] += (double)particles->mass[i] * particles->mass[i];
    }
  comm_sum_double(comm, &sums[0][0], 2 * PHYSICS_COMPONENTS);
  for (int t = 0; t < PHYSICS_COMPONENTS; t++) {
    component[t].inner = sums[t][0];
    component[t].perturber = sums[t][0] > 0 ? sums[t][1] / sums[t][0] : 0;
  }
}

/* Sums over the particles of a type within its half-mass radius: m; m v; m v v; m d, m d d and m d x v with d, from
 * the centre. Symmetric ones: xx, yy, zz, xy, xz, yz. */
enum { MASS, MOMENTUM = 1, SPEEDS = 4, FIRST = 10, SECOND = 13, SPIN = 19, SUMS = 22 };
static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

static void add_particle(double sum[SUMS], double m, const double d[3], const double v[3])
{
  sum[MASS] += m;
  for (int c = 0; c < 3; c++) {
    int a = (c + 1) % 3, b = (c + 2) % 3;
    sum[MOMENTUM + c] += m * v[c];
    sum[FIRST + c] += m * d[c];
    sum[SPIN + c] += m * (d[a] * v[b] - d[b] * v[a]);
  }
  for (int k = 0; k < 6; k++) {
    sum[SPEEDS + k] += m * v[pair[k][0]] * v[pair[k][1]];
    sum[SECOND + k] += m * d[pair[k][0]] * d[pair[k][1]];
  }
}

/* n t n of the variances along the unit vector n: means of squares, less the squares of means. */
static double along(const double *squares, const double *means, double mass, const double n[3])
{
  double sum = 0;
  for (int k = 0; k < 6; k++) {
    int a = pair[k][0], b = pair[k][1];
    sum += (a == b ? 1 : 2) * n[a] * n[b] * (squares[k] / mass - means[a] * means[b] / (mass * mass));
  }
  return sum;
}

/* The vertical dispersion of a thin disc that rotates; 0: it is none. */
static double vertical_dispersion(const double sum[SUMS])
{
  const double thin = 0.2; /* extent along the axis over that in the plane, rms */
  double mass = sum[MASS], spin[3], size = 0;
  if (!(mass > 0)) return 0;
  for (int c = 0; c < 3; c++) {
    int a = (c + 1) % 3, b = (c + 2) % 3;
    spin[c] = sum[SPIN + c] - (sum[FIRST + a] * sum[MOMENTUM + b] - sum[FIRST + b] * sum[MOMENTUM + a]) / mass;
    size += spin[c] * spin[c];
  }
  if (!(size > 0)) return 0;
  for (int c = 0; c < 3; c++) spin[c] /= sqrt(size);
  double all = (sum[SECOND] + sum[SECOND + 1] + sum[SECOND + 2]) / mass,
         height2 = along(&sum[SECOND], &sum[FIRST], mass, spin);
  return height2 < thin * thin * all ? sqrt(fmax(along(&sum[SPEEDS], &sum[MOMENTUM], mass, spin), 0)) : 0;
}

/* Collective. */
static void measure_discs(const struct comm *comm, const struct particles *particles,
                          struct component component[PHYSICS_COMPONENTS])
{
  double sums[PHYSICS_COMPONENTS][SUMS] = {{0}};
  for (int64_t i = 0; i < particles->n; i++) {
    const struct component *own = &component[particles->type[i]];
    double d[3];
    for (int c = 0; c < 3; c++) d[c] = particles->pos[3 * i + c] - own->centre[c];
    if (own->half > 0 && distance(&particles->pos[3 * i], own->centre) <= own->half)
      add_particle(sums[particles->type[i]], particles->mass[i], d, &particles->vel[3 * i]);
  }
  comm_sum_double(comm, &sums[0][0], PHYSICS_COMPONENTS * SUMS);
  for (int t = 0; t < PHYSICS_COMPONENTS; t++) component[t].vertical = vertical_dispersion(sums[t]);
}

static int by_type(const void *a, const void *b)
{
  const struct point *one = a, *other = b;
  if (one->type != other->type) return one->type < other->type ? -1 : 1;
  return memcmp(one->at, other->at, sizeof one->at); /* the same order on all numbers of ranks */
}

void components_measure(const struct sim *sim, struct component component[PHYSICS_COMPONENTS])
{
  const struct particles *q = sim->be->view(sim->dev);
  double count[PHYSICS_COMPONENTS] = {0};
  struct point *all;
  memset(component, 0, sizeof *component * PHYSICS_COMPONENTS);
  for (int64_t i = 0; i < q->n; i++) count[q->type[i]] += q->mass[i] > 0;
  comm_sum_double(sim->comm, count, PHYSICS_COMPONENTS);
  for (int t = 0; t < PHYSICS_COMPONENTS; t++) {
    component[t].particles = count[t];
    component[t].softening = params_softening_of(sim->par, t);
  }
  int64_t n = gather(sim->comm, q, component, &all);
  qsort(all, (size_t)n, sizeof *all, by_type);
  for (int64_t i = 0, end; i < n; i = end) {
    for (end = i; end < n && all[end].type == all[i].type;) end++;
    if (end - i >= FEWEST / 2) measure_scale(all + i, end - i, &component[all[i].type]);
  }
  memory_free(all);
  measure_inner(sim->comm, q, component);
  measure_discs(sim->comm, q, component);
}
