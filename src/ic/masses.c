/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mass functions. The mass of a star depends on the seed and its index only, not on its position. */
#include <config.h>
#include <math.h>

#include "ic/models.h"

/* The integral of the mass function of Kroupa (2001, MNRAS 322, 231, eq. 2), dN/dm ~ m^-alpha with alpha = 0.3 below 0.08, 1.3 below
 * 0.5, 2.3 above, in three pieces. Factors make it continuous. */
static const double breaks[] = {0.08, 0.5}, slopes[] = {0.3, 1.3, 2.3}, factors[] = {1 / 0.08, 1, 0.5};
enum { PIECES = 3 };

/* The masses in piece k between the limits. Returns 0 where there are none. */
static int piece(const struct ic_model *m, int k, double *low, double *high)
{
  *low = k > 0 ? fmax(breaks[k - 1], m->mass_min) : m->mass_min;
  *high = k < PIECES - 1 ? fmin(breaks[k], m->mass_max) : m->mass_max;
  return *high > *low;
}

static double kroupa(const struct ic_model *m, double u)
{
  double number[PIECES] = {0}, whole = 0, low, high;
  for (int k = 0; k < PIECES; k++) {
    if (piece(m, k, &low, &high))
      number[k] = factors[k] / (1 - slopes[k]) * (pow(high, 1 - slopes[k]) - pow(low, 1 - slopes[k]));
    whole += number[k];
  }
  u *= whole;
  int k = 0;
  while (k < PIECES - 1 && u > number[k]) u -= number[k++];
  piece(m, k, &low, &high);
  double mass = pow(pow(low, 1 - slopes[k]) + u * (1 - slopes[k]) / factors[k], 1 / (1 - slopes[k]));
  return fmin(fmax(mass, m->mass_min), m->mass_max);
}

/* A random permutation of 0 ... n - 1: a Feistel network of four rounds over the next power of four, repeated until the value is below n
 * (Luby & Rackoff 1988, SIAM J. Comput. 17, 373; Black & Rogaway 2002). So heavy stars have an exact number, on any number of ranks. */
static int64_t permuted(uint64_t seed, int64_t index, int64_t n)
{
  int half = 1;
  while ((int64_t)1 << 2 * half < n) half++;
  uint64_t mask = ((uint64_t)1 << half) - 1, x = (uint64_t)index;
  do {
    uint64_t left = x >> half, right = x & mask;
    for (uint64_t round = 0; round < 4; round++) {
      uint64_t old = right;
      right = left ^ (random_word(seed, RANDOM_PERMUTATION, round, right) & mask);
      left = old;
    }
    x = left << half | right;
  } while (x >= (uint64_t)n);
  return (int64_t)x;
}

double star_mass(const struct ic_model *m, int64_t index)
{
  int64_t stars = m->n - (m->central_mass > 0);
  switch (m->masses) {
  case IC_EQUAL: break;
  case IC_KROUPA: {
    struct ic_random r = random_stream(m->seed, (uint64_t)index + 1, RANDOM_MASS);
    return kroupa(m, random_uniform(&r));
  }
  case IC_TWO: return permuted(m->seed, index, stars) < llrint(m->heavy_fraction * (double)stars) ? m->heavy_ratio : 1;
  }
  return 1;
}

double star_mass_max(const struct ic_model *m)
{
  return m->masses == IC_KROUPA ? m->mass_max : m->masses == IC_TWO ? m->heavy_ratio : 1;
}
