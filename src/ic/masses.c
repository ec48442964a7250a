/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mass functions. The mass of a star depends on the seed and its index only, not on its position. */
#include <config.h>
#include <math.h>

#include "ic/models.h"

/* The integral of the mass function of Kroupa (2001, MNRAS 322, 231, eq. 2), dN/dm ~ m^-alpha with alpha = 0.3 below
 * 0.08, 1.3 below 0.5, 2.3 above, in three pieces. Factors make it continuous. */
static const double breaks[] = {0.08, 0.5}, slopes[] = {0.3, 1.3, 2.3}, factors[] = {1 / 0.08, 1, 0.5};
enum { PIECES = 3 };

/* The masses in piece k between the limits. Returns 0 where there are none. */
static int piece(const struct ic_model *model, int k, double *low, double *high)
{
  *low = k > 0 ? fmax(breaks[k - 1], model->mass_min) : model->mass_min;
  *high = k < PIECES - 1 ? fmin(breaks[k], model->mass_max) : model->mass_max;
  return *high > *low;
}

static double kroupa(const struct ic_model *model, double u)
{
  double number[PIECES] = {0}, whole = 0, low, high;
  for (int k = 0; k < PIECES; k++) {
    if (piece(model, k, &low, &high))
      number[k] = factors[k] / (1 - slopes[k]) * (pow(high, 1 - slopes[k]) - pow(low, 1 - slopes[k]));
    whole += number[k];
  }
  u *= whole;
  int k = 0;
  while (k < PIECES - 1 && u > number[k]) u -= number[k++];
  piece(model, k, &low, &high);
  double mass = pow(pow(low, 1 - slopes[k]) + u * (1 - slopes[k]) / factors[k], 1 / (1 - slopes[k]));
  return fmin(fmax(mass, model->mass_min), model->mass_max);
}

/* A random permutation of 0 ... n - 1: a Feistel network of four rounds over the next power of four, repeated until the
 * value is below n (Luby & Rackoff 1988, SIAM J. Comput. 17, 373; Black & Rogaway 2002). So heavy stars have an exact
 * number, on any number of ranks. */
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

static double mass_alone(const struct ic_model *model, int64_t index)
{
  int64_t stars = model->n - (model->central_mass > 0);
  switch (model->masses) {
  case IC_EQUAL: break;
  case IC_KROUPA: {
    struct ic_random r = random_stream(model->seed, (uint64_t)index + 1, RANDOM_MASS);
    return kroupa(model, random_uniform(&r));
  }
  case IC_TWO:
    return permuted(model->seed, index, stars) < llrint(model->heavy_fraction * (double)stars) ? model->heavy_ratio : 1;
  }
  return 1;
}

double star_mass(const struct ic_model *model, int64_t index)
{
  if (model->population == IC_LOG_AXIS || index % 2 == 0 || index >= 2 * ic_binaries(model))
    return mass_alone(model, index);
  struct ic_random random = random_stream(model->seed, (uint64_t)index, RANDOM_RATIO);
  double first = mass_alone(model, index - 1),
         ratio = population_ratio(model->population, model->masses == IC_KROUPA ? model->mass_min / first : 0, &random);
  return ratio > 0 ? ratio * first : mass_alone(model, index);
}

double star_mass_max(const struct ic_model *model)
{
  return model->masses == IC_KROUPA ? model->mass_max : model->masses == IC_TWO ? model->heavy_ratio : 1;
}
