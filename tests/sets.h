/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particle sets of the tests of forces, and the double-precision direct sums that they are compared with. */
#ifndef SETS_H
#define SETS_H
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chance.h"
#include "gravity/split.h"
#include "kernels.h"
#include "particles/particles.h"
#include "particles/timeline.h"

struct set {
  const char *name;
  int64_t n;
  double gravity, softening, r1, r2;
  void (*place)(struct random *random, int64_t i, int64_t n, double x[3], float *mass);
};

static inline double plummer_radius(struct random *random)
{
  return 1 / sqrt(pow(random_between(random, 0, 0.99), -2.0 / 3) - 1);
}

static inline void place_plummer(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  (void)i;
  random_direction(random, 0.59 * plummer_radius(random), x);
  *mass = 1.0f / (float)n;
}

static inline void place_hernquist(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  (void)i;
  double s = sqrt(random_between(random, 0, 0.95));
  random_direction(random, s / (1 - s), x);
  *mass = 1.0f / (float)n;
}

/* A light sphere of light particles beside a heavy one of heavy particles. */
static inline void place_two(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  int light = i >= n / 3;
  random_direction(random, (light ? 0.4 : 1) * plummer_radius(random), x);
  x[0] += light ? 6 : -2;
  x[1] += light ? 1 : 0;
  *mass = light ? 1e-4f : 1e-2f;
}

static inline void place_disk(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  (void)i;
  double length = -3 * log(random_unit(random) * random_unit(random)), phi = 6.283185307179586 * random_unit(random);
  x[0] = length * cos(phi);
  x[1] = length * sin(phi);
  x[2] = 0.02 * (random_unit(random) + random_unit(random) + random_unit(random) - 1.5);
  *mass = 4.0f / (float)n;
}

/* A ball in which many particles stand at two points, with two or seven at some others. */
static inline void place_coincident(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  static const double at[2][3] = {{0.3, -0.1, 0.2}, {-0.5, 0.45, 0.1}};
  random_direction(random, cbrt(random_unit(random)), x);
  int64_t pile = i < n / 10 ? 0 : i < n / 3 ? 1 : 2;
  if (pile < 2) memcpy(x, at[pile], sizeof at[pile]);
  if (i >= n / 2) { /* the last half: groups of two and seven at one point each */
    struct random own = {(uint64_t)(i / (i < 3 * n / 4 ? 2 : 7)) * 7919};
    random_direction(&own, cbrt(random_unit(&own)), x);
  }
  *mass = 1.0f / (float)n;
}

static inline void place_point(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  (void)random;
  (void)i;
  x[0] = 0.1;
  x[1] = -0.2;
  x[2] = 1e3;
  *mass = 1.0f / (float)n;
}

static inline void place_plane(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  place_plummer(random, i, n, x, mass);
  x[1] = 0.125;
}

static inline void place_line(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  place_plummer(random, i, n, x, mass);
  x[0] = x[2] = -1;
}

/* Half of the mass in a core whose density is 1e8 times that of the rest. */
static inline void place_contrast(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  random_direction(random, (i % 2 ? 1 : 1 / 464.0) * plummer_radius(random), x);
  *mass = 1.0f / (float)n;
}

/* One to three particles, unlike each other. */
static inline void place_few(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  (void)n;
  random_direction(random, 1 + (double)i, x);
  *mass = 0.3f + (float)i;
}

static const struct set sets[] = {
    {"Plummer", 3000, 1, 0.0125, 0.14, 0.28, place_plummer},
    {"Hernquist", 3000, 1, 0.0125, 0.2, 0.4, place_hernquist},
    {"two spheres of unequal masses", 3000, 1, 0.02, 0.3, 0.6, place_two},
    {"a thin disk, G = 43007.1", 3000, 43007.1, 0.05, 0.6, 1.2, place_disk},
    {"coincident particles", 3000, 1, 0.02, 0.15, 0.3, place_coincident},
    {"all at one point", 500, 1, 0.1, 0.2, 0.4, place_point},
    {"all in a plane", 3000, 1, 0.0125, 0.1, 0.2, place_plane},
    {"all on a line", 1000, 1, 0.0125, 0.05, 0.1, place_line},
    {"density contrast 1e8", 3000, 1, 2e-4, 0.1, 0.2, place_contrast},
    {"one particle", 1, 1, 0.1, 0.5, 1, place_few},
    {"two particles", 2, 1, 0.1, 1, 5, place_few},
    {"three particles", 3, 43007.1, 0.1, 1, 5, place_few},
};
enum { SETS = sizeof sets / sizeof *sets };

/* The particles of a set, ids from 1, with velocities of about `speed`. */
static inline void set_make(const struct set *set, double speed, struct particles *particles)
{
  struct random r = {77};
  particles_init(particles);
  particles_reserve(particles, set->n);
  particles->n = set->n;
  for (int64_t i = 0; i < set->n; i++) {
    set->place(&r, i, set->n, &particles->pos[3 * i], &particles->mass[i]);
    random_direction(&r, speed * random_unit(&r), &particles->vel[3 * i]);
    particles->id[i] = (uint64_t)i + 1;
    particles->type[i] = 1;
  }
}

/* Sums over all other particles, at the place id - 1; `scale`: |acc|, or its rms where it is (almost) zero. */
struct direct {
  int64_t n;
  double (*acc)[3], (*hard)[3], *pot, *scale;
};

static inline double direct_k(const struct split *split, double r)
{
  return split->on ? kernel_at(split->kernel, r, split->r1, split->r2) : 1;
}

static inline void direct_scale(struct direct *direct)
{
  double rms = 0;
  for (int64_t i = 0; i < direct->n; i++) {
    direct->scale[i] = sqrt(direct->acc[i][0] * direct->acc[i][0] + direct->acc[i][1] * direct->acc[i][1] +
                            direct->acc[i][2] * direct->acc[i][2]);
    rms += direct->scale[i] * direct->scale[i] / (double)direct->n;
  }
  rms = rms > 0 ? sqrt(rms) : 1;
  for (int64_t i = 0; i < direct->n; i++)
    if (direct->scale[i] < 1e-6 * rms) direct->scale[i] = rms;
}

static inline struct direct direct_open(const struct particles *particles, double gravity, double softening,
                                        const struct split *split)
{
  struct direct d = {.n = particles->n};
  size_t n = (size_t)particles->n;
  d.acc = memory_alloc("direct", sizeof *d.acc * n);
  d.hard = memory_alloc("direct", sizeof *d.hard * n);
  d.pot = memory_alloc("direct", sizeof *d.pot * n);
  d.scale = memory_alloc("direct", sizeof *d.scale * n);
  for (int64_t i = 0; i < particles->n; i++)
    for (int64_t j = i + 1; j < particles->n; j++) {
      double dx[3], r2 = 0;
      for (int c = 0; c < 3; c++) {
        dx[c] = particles->pos[3 * j + c] - particles->pos[3 * i + c];
        r2 += dx[c] * dx[c];
      }
      if (!(r2 + softening * softening > 0)) continue; /* coincident particles */
      double rho = sqrt(r2 + softening * softening), w = gravity / (rho * rho * rho),
             k = r2 < (double)split->r2 * split->r2 || !split->on ? direct_k(split, sqrt(r2)) : 0;
      int64_t a = (int64_t)particles->id[i] - 1, b = (int64_t)particles->id[j] - 1;
      for (int c = 0; c < 3; c++) {
        d.acc[a][c] += particles->mass[j] * w * dx[c];
        d.acc[b][c] -= particles->mass[i] * w * dx[c];
        d.hard[a][c] += k * particles->mass[j] * w * dx[c];
        d.hard[b][c] -= k * particles->mass[i] * w * dx[c];
      }
      d.pot[a] -= gravity * particles->mass[j] / rho;
      d.pot[b] -= gravity * particles->mass[i] / rho;
    }
  direct_scale(&d);
  return d;
}

static inline void direct_close(struct direct *direct)
{
  memory_free(direct->acc);
  memory_free(direct->hard);
  memory_free(direct->pot);
  memory_free(direct->scale);
}

/* Whether the time step of particle i ends at the tick. */
static inline int ends_at(const struct particles *particles, int64_t i, int32_t tick)
{
  return timeline_end(particles, i) == tick;
}

/* How far values are from what they should be. */
struct errors {
  double median, most99, worst;
  int finite;
};

/* For qsort of doubles. */
static inline int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Of n values; sorts them. */
static inline struct errors errors_of(double *e, int64_t n)
{
  struct errors r = {0, 0, 0, 1};
  for (int64_t i = 0; i < n; i++) r.finite &= isfinite(e[i]) != 0;
  if (!r.finite || n == 0) return r;
  qsort(e, (size_t)n, sizeof *e, ascending);
  r.median = e[n / 2];
  r.most99 = e[(int64_t)(0.99 * (double)(n - 1) + 0.5)];
  r.worst = e[n - 1];
  return r;
}

/* Of potentials, relative to the direct sum's. */
static inline struct errors potential_errors(const struct particles *particles, const struct direct *direct)
{
  double *e = memory_alloc("errors", sizeof *e * (size_t)particles->n);
  for (int64_t i = 0; i < particles->n; i++) {
    double reference = direct->pot[particles->id[i] - 1];
    e[i] = fabs(particles->pot[i] - reference) / (reference != 0 ? fabs(reference) : 1);
  }
  struct errors r = errors_of(e, particles->n);
  memory_free(e);
  return r;
}

/* |got - reference| / scale of a three-component field; `got` in the particles' order, the others by id. Adds two
 * fields where `more` is not NULL. */
static inline struct errors errors_between(const struct particles *particles, const float *got, const float *more,
                                           const double (*reference)[3], const double *scale)
{
  double *e = memory_alloc("errors", sizeof *e * (size_t)(particles->n + 1));
  for (int64_t i = 0; i < particles->n; i++) {
    int64_t at = (int64_t)particles->id[i] - 1;
    double sum = 0;
    for (int c = 0; c < 3; c++) {
      double x = (double)got[3 * i + c] + (more ? more[3 * i + c] : 0) - reference[at][c];
      sum += x * x;
    }
    e[i] = sqrt(sum) / scale[at];
  }
  struct errors r = errors_of(e, particles->n);
  memory_free(e);
  return r;
}
#endif
