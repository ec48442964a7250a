/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mass functions. The mass of a star depends on the seed and its index only, not on its position. */
#include <config.h>
#include <math.h>

#include "ic/models.h"

/* The integral of the mass function of Kroupa (2001, MNRAS 322, 231, eq. 2), dN/dm ~ m^-alpha with alpha = 0.3 below
 * 0.08, 1.3 below 0.5, 2.3 above, in three pieces. Factors make it continuous. */
static const double breaks[] = {0.08, 0.5}, slopes[] = {0.3, 1.3, 2.3}, factors[] = {1 / 0.08, 1, 0.5};
enum { PIECES = 3 };

/* The masses in piece k from `least` to `most`. Returns 0 where there are none. */
static int piece(double least, double most, int k, double *low, double *high)
{
  *low = k > 0 ? fmax(breaks[k - 1], least) : least;
  *high = k < PIECES - 1 ? fmin(breaks[k], most) : most;
  return *high > *low;
}

/* The integral from `least` to `most`, and that of each piece. */
static double kroupa_number(double least, double most, double number[PIECES])
{
  double whole = 0, low, high;
  for (int k = 0; k < PIECES; k++) {
    number[k] = piece(least, most, k, &low, &high)
                    ? factors[k] / (1 - slopes[k]) * (pow(high, 1 - slopes[k]) - pow(low, 1 - slopes[k]))
                    : 0;
    whole += number[k];
  }
  return whole;
}

static double kroupa(double least, double most, double u)
{
  double number[PIECES], low, high;
  u *= kroupa_number(least, most, number);
  int k = 0;
  while (k < PIECES - 1 && u > number[k]) u -= number[k++];
  piece(least, most, k, &low, &high);
  double mass = pow(pow(low, 1 - slopes[k]) + u * (1 - slopes[k]) / factors[k], 1 / (1 - slopes[k]));
  return fmin(fmax(mass, least), most);
}

double multiple_fraction(const struct ic_model *model)
{
  if (model->binaries != IC_OBSERVED) return model->binaries;
  double sum = 0, pieces[PIECES];
  for (int k = 0; k < IC_OBSERVED_STEPS; k++) {
    double least = fmax(ic_observed[k].mass, model->mass_min),
           most = k + 1 < IC_OBSERVED_STEPS ? fmin(ic_observed[k + 1].mass, model->mass_max) : model->mass_max;
    if (most > least) sum += ic_observed[k].fraction * kroupa_number(least, most, pieces);
  }
  return sum / kroupa_number(model->mass_min, model->mass_max, pieces);
}

/* The first star of a system, by rejection where fractions depend on the mass. */
static double kroupa_first(const struct ic_model *model, struct ic_random *random, int multiple)
{
  double mass;
  int is;
  do {
    mass = kroupa(model->mass_min, model->mass_max, random_uniform(random));
    is = model->binaries == IC_OBSERVED ? random_uniform(random) < observed_fraction(mass) : multiple;
  } while (is != multiple);
  return mass;
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

/* system: that of the star. */
static double mass_alone(const struct ic_model *model, const struct ic_system *system, int64_t index)
{
  int64_t stars = model->n - (model->central_mass > 0);
  switch (model->masses) {
  case IC_EQUAL: break;
  case IC_KROUPA: {
    struct ic_random r = random_stream(model->seed, (uint64_t)index + 1, RANDOM_MASS);
    if (index == system->first) return kroupa_first(model, &r, system->count > 1);
    /* whose fraction is by the mass of the first, the heaviest one */
    double most = model->binaries == IC_OBSERVED ? mass_alone(model, system, system->first) : model->mass_max;
    return kroupa(model->mass_min, most, random_uniform(&r));
  }
  case IC_TWO:
    return permuted(model->seed, index, stars) < llrint(model->heavy_fraction * (double)stars) ? model->heavy_ratio : 1;
  }
  return 1;
}

/* Of masses of their own the third star of a triple has the smaller one of its mass and the first star's, or a light
 * pair would need a wide orbit about a heavy star. */
static double mass_in_system(const struct ic_model *model, const struct ic_system *system, int64_t index)
{
  double mass = mass_alone(model, system, index);
  int64_t last = system->first + 2;
  if (system->count < 3 || index == system->first + 1) return mass;
  return index == last ? fmin(mass, mass_alone(model, system, system->first))
                       : fmax(mass, mass_alone(model, system, last));
}

double star_mass(const struct ic_plan *plan, int64_t index)
{
  const struct ic_model *model = plan->m;
  const struct ic_system system = ic_system_of(plan->multiples, index);
  if (system.count == 1) return mass_alone(model, &system, index);
  struct ic_random random = random_stream(model->seed, (uint64_t)index, RANDOM_RATIO);
  double first = mass_alone(model, &system, system.first),
         ratio = population_ratio(model->population, model->masses == IC_KROUPA ? model->mass_min / first : 0, &random);
  if (!(ratio > 0)) return mass_in_system(model, &system, index);
  return index == system.first ? first : ratio * first;
}

double star_mass_max(const struct ic_model *model)
{
  return model->masses == IC_KROUPA ? model->mass_max : model->masses == IC_TWO ? model->heavy_ratio : 1;
}
