/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The linking length by rule. Medians ignore escapers, and numbers of particles ignore a heavy one at the centre:
 * masses and means would not. They are found digit by digit in the order of the bits, so they are the same for any
 * ranks. */
#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fof/fof.h"

enum { DIGIT = 11, BUCKETS = 1 << DIGIT };
/* Of the mean distance in a universe: groups of about 60 times the mean density and more (Davis et al. 1985). In an
 * isolated system the mean is that of the objects themselves: groups begin at half of their mean density, and 0.2 would
 * find the densest cusps alone. */
#define FRACTION_OF_UNIVERSE 0.2
#define FRACTION_OF_SYSTEM 1

/* Unsigned keys in the order of doubles, and back. */
static uint64_t key_of(double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double value_of(uint64_t key)
{
  uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Element number `wanted`, from 0, of the sorted x[n] of all ranks. */
static double order_statistic(const struct comm *comm, const double *x, int64_t n, int64_t wanted)
{
  int64_t *bucket = memory_alloc("fof", sizeof *bucket * BUCKETS);
  uint64_t found = 0;
  for (int rest = 64; rest > 0;) {
    int bits = rest < DIGIT ? rest : DIGIT, shift = rest - bits, k = 0;
    memset(bucket, 0, sizeof *bucket * BUCKETS);
    for (int64_t i = 0; i < n; i++) {
      uint64_t key = key_of(x[i]);
      if (rest < 64 && key >> rest != found >> rest) continue;
      bucket[key >> shift & (((uint64_t)1 << bits) - 1)]++;
    }
    comm_sum_int64(comm, bucket, BUCKETS);
    while (k < BUCKETS - 1 && wanted >= bucket[k]) wanted -= bucket[k++];
    found |= (uint64_t)k << shift;
    rest = shift;
  }
  memory_free(bucket);
  return value_of(found);
}

static int links(const struct fof_request *request, const struct particles *particles, int64_t i)
{
  return request->linking >> particles->type[i] & 1;
}

/* Mean distance within the sphere about the medians that holds half of the linking particles. */
static double isolated(const struct comm *comm, const struct particles *particles, const struct fof_request *request,
                       int64_t all)
{
  double *x = memory_alloc("fof", sizeof *x * (size_t)(particles->n + 1)), centre[3];
  int64_t n = 0, half = (all + 1) / 2;
  for (int axis = 0; axis < 3; axis++) {
    n = 0;
    for (int64_t i = 0; i < particles->n; i++)
      if (links(request, particles, i)) x[n++] = particles->pos[3 * i + axis] + request->place[axis] + 0.0;
    centre[axis] = order_statistic(comm, x, n, (all - 1) / 2);
  }
  n = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    if (!links(request, particles, i)) continue;
    double d[3];
    for (int axis = 0; axis < 3; axis++) d[axis] = particles->pos[3 * i + axis] + request->place[axis] - centre[axis];
    x[n++] = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  }
  double radius = order_statistic(comm, x, n, half - 1);
  memory_free(x);
  return radius * cbrt(4 * M_PI / 3 / (double)half);
}

/* The mass of all particles of all ranks, by sums of whole numbers: it depends neither on the ranks nor on the order of
 * the particles. */
static double mass_of_all(const struct comm *comm, const struct particles *particles)
{
  enum { BITS = 62 };
  double largest = 0;
  int64_t all = particles->n, sum = 0;
  int exponent, bits;
  for (int64_t i = 0; i < particles->n; i++) largest = fmax(largest, particles->mass[i]);
  comm_max_double(comm, &largest, 1);
  comm_sum_int64(comm, &all, 1);
  frexp(largest, &exponent);
  frexp((double)all, &bits);
  for (int64_t i = 0; i < particles->n; i++) sum += llrint(ldexp(particles->mass[i], BITS - bits - exponent));
  comm_sum_int64(comm, &sum, 1);
  return ldexp((double)sum, bits + exponent - BITS);
}

double fof_length(const struct comm *comm, const struct particles *particles, const struct fof_request *request)
{
  int64_t all = 0;
  for (int64_t i = 0; i < particles->n; i++) all += links(request, particles, i);
  comm_sum_int64(comm, &all, 1);
  if (all == 0) return 0;
  if (request->density > 0)
    return FRACTION_OF_UNIVERSE * cbrt(mass_of_all(comm, particles) / (double)all / request->density);
  return FRACTION_OF_SYSTEM * isolated(comm, particles, request, all);
}
