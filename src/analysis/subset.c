/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/subset.h"

#include <math.h>
#include <string.h>

#include "analysis/exact.h"
#include "analysis/quantiles.h"
#include "base/memory.h"

/* the last sphere has at most so many particles, or 1 / LAST_SPHERE_SHARE of all */
enum { LAST_SPHERE_COUNT = 100, LAST_SPHERE_SHARE = 100 };
enum { WEIGHT_BITS = 60 }; /* the sum of all weights has about so many */

void subset_counts(const struct comm *comm, const struct particles *particles, int64_t count[PARTICLE_TYPES])
{
  memset(count, 0, sizeof *count * PARTICLE_TYPES);
  for (int64_t i = 0; i < particles->n; i++) count[particles->type[i]]++;
  comm_sum_int64(comm, count, PARTICLE_TYPES);
}

static void mass_of(const void *of, int64_t i, double *value)
{
  const struct subset *s = of;
  value[0] = s->p->mass[s->index[i]];
}

/* The mass of particle i in units of a power of two that is about 2^-60 of the mass of all. */
static int64_t whole_weight(const struct subset *subset, int64_t i)
{
  return subset->scale > 0 ? llrint(subset->p->mass[subset->index[i]] * subset->scale) : 1;
}

/* Choose these units. Collective. */
static void weigh(struct subset *subset, const struct comm *comm)
{
  int exponent;
  int64_t sum = 0;
  frexp(subset->mass, &exponent);
  subset->scale = ldexp(1, WEIGHT_BITS - exponent);
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < subset->n; i++) sum += whole_weight(subset, i);
  subset->whole = sum;
  comm_sum_int64(comm, &subset->whole, 1);
}

static int chosen(int wanted, int type)
{
  return wanted == TYPE_ALL || (wanted == TYPE_STARS && type != DARK_TYPE) || type == wanted;
}

void subset_open(struct subset *subset, const struct comm *comm, const struct particles *particles, int type)
{
  *subset = (struct subset){.p = particles};
  subset->index = memory_alloc("analysis", sizeof *subset->index * (size_t)(particles->n + 1));
  for (int64_t i = 0; i < particles->n; i++)
    if (chosen(type, particles->type[i])) subset->index[subset->n++] = (int32_t)i;
  subset->total = subset->n;
  comm_sum_int64(comm, &subset->total, 1);
  exact_sums(comm, subset->n, subset->total, 1, mass_of, subset, &subset->mass);
  subset->by_number = !(subset->mass > 0);
  subset->whole = subset->total;
  if (!subset->by_number) weigh(subset, comm);
}

void subset_close(struct subset *subset)
{
  memory_free(subset->index);
  *subset = (struct subset){0};
}

double subset_r2(const struct subset *subset, const double centre[3], int64_t i)
{
  const double *x = &subset->p->pos[3 * (int64_t)subset->index[i]];
  double dx = x[0] - centre[0], dy = x[1] - centre[1], dz = x[2] - centre[2];
  return dx * dx + dy * dy + dz * dz;
}

/* Particles and a place, for moments about it. */
struct moment_origin {
  const struct subset *s;
  const double *centre;
};

static double distance_of(const void *of, int64_t i)
{
  const struct moment_origin *a = of;
  return subset_r2(a->s, a->centre, i);
}

static int64_t weight_of(const void *of, int64_t i) { return whole_weight(((const struct moment_origin *)of)->s, i); }

void subset_quantiles(const struct comm *comm, const struct subset *subset, const double centre[3], int by_count,
                      int count, const double *fraction, double *r2)
{
  const struct moment_origin about = {subset, centre};
  quantiles(comm, subset->n, distance_of, by_count ? NULL : weight_of, &about, by_count ? subset->total : subset->whole,
            count, fraction, r2);
}

static void first_moments(const void *of, int64_t i, double *value)
{
  const struct moment_origin *a = of;
  const double *x = &a->s->p->pos[3 * (int64_t)a->s->index[i]];
  double m = subset_weight(a->s, i);
  value[3] = m;
  for (int k = 0; k < 3; k++) value[k] = m * (x[k] - a->centre[k]);
}

/* Move `centre` to the centre of mass. Collective. */
static void move_to_mass(const struct comm *comm, const struct subset *subset, double centre[3])
{
  double sum[4];
  exact_sums(comm, subset->n, subset->total, 4, first_moments, &(struct moment_origin){subset, centre}, sum);
  for (int k = 0; k < 3; k++) centre[k] += sum[3] > 0 ? sum[k] / sum[3] : 0;
}

void subset_centre(const struct comm *comm, const struct subset *all, double centre[3])
{
  static const double half = 0.5;
  struct subset s = *all; /* with an index of its own, which becomes shorter */
  double limit;
  s.index = memory_alloc("analysis", sizeof *s.index * (size_t)(s.n + 1));
  memcpy(s.index, all->index, sizeof *s.index * (size_t)s.n);
  memset(centre, 0, 3 * sizeof *centre);
  for (int64_t before = INT64_MAX; s.total > 0 && s.total < before;) {
    move_to_mass(comm, &s, centre);
    if (s.total <= LAST_SPHERE_COUNT || s.total <= all->total / LAST_SPHERE_SHARE) break;
    subset_quantiles(comm, &s, centre, 1, 1, &half, &limit);
    int64_t kept = 0;
    for (int64_t i = 0; i < s.n; i++)
      if (subset_r2(&s, centre, i) <= limit) s.index[kept++] = s.index[i];
    s.n = kept;
    before = s.total;
    s.total = kept;
    comm_sum_int64(comm, &s.total, 1);
  }
  memory_free(s.index);
}
