/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models for the tests of initial conditions, and their energies by direct sums. */
#ifndef IC_SETS_H
#define IC_SETS_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ic/ic.h"
#include "tap.h"

static struct comm alone;

static inline struct ic_model model_of(const char *name, int64_t n, uint64_t seed)
{
  struct ic_model m;
  ic_defaults(&m);
  snprintf(m.name, sizeof m.name, "%s", name);
  m.n = n;
  m.seed = seed;
  return m;
}

static inline struct ic_facts make(const struct ic_model *model, struct particles *particles)
{
  struct fault f = {""};
  struct ic_facts facts;
  particles_init(particles);
  if (ic_make(&alone, model, particles, &facts, &f) == 0) return facts;
  printf("Bail out! %s\n", f.text);
  exit(99);
}

static inline double square(const double *x) { return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]; }

static inline double kinetic_energy(const struct particles *particles)
{
  double sum = 0;
  for (int64_t i = 0; i < particles->n; i++) sum += 0.5 * particles->mass[i] * square(particles->vel + 3 * i);
  return sum;
}

static inline double potential_energy(const struct particles *particles)
{
  double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 64)
  for (int64_t i = 0; i < particles->n; i++)
    for (int64_t j = 0; j < i; j++) {
      double d[3] = {particles->pos[3 * i] - particles->pos[3 * j],
                     particles->pos[3 * i + 1] - particles->pos[3 * j + 1],
                     particles->pos[3 * i + 2] - particles->pos[3 * j + 2]};
      sum -= (double)particles->mass[i] * particles->mass[j] / sqrt(square(d));
    }
  return sum;
}

static inline int compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: the largest distance of the distribution of x[n], which is sorted, from the uniform one in
 * (0, 1). */
static inline double distance_from_uniform(double *x, int64_t n)
{
  double worst = 0;
  qsort(x, (size_t)n, sizeof *x, compare_doubles);
  for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - ((double)i + 0.5) / (double)n));
  return worst;
}

static inline void refuse(struct ic_model model, const char *sentence)
{
  struct fault f = {""};
  struct particles p;
  particles_init(&p);
  tap_ok(ic_make(&alone, &model, &p, NULL, &f) == -1 && strstr(f.text, sentence) && p.n == 0, sentence);
  particles_free(&p);
}
#endif
