/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random numbers for tests: splitmix64, reproducible on all machines. */
#ifndef CHANCE_H
#define CHANCE_H
#include <math.h>
#include <stdint.h>

struct random {
  uint64_t state;
};

static inline uint64_t random_bits(struct random *random)
{
  uint64_t z = random->state += 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

/* A number in (0, 1). */
static inline double random_unit(struct random *random)
{
  return ((double)(random_bits(random) >> 11) + 0.5) / 9007199254740992.0;
}
static inline double random_between(struct random *random, double low, double high)
{
  return low + (high - low) * random_unit(random);
}
static inline double random_log(struct random *random, double low, double high)
{
  return low * pow(high / low, random_unit(random));
}

/* A point on the sphere of radius `length`. */
static inline void random_direction(struct random *random, double length, double x[3])
{
  double z = random_between(random, -1, 1), phi = 6.283185307179586 * random_unit(random), s = sqrt(1 - z * z);
  x[0] = length * s * cos(phi);
  x[1] = length * s * sin(phi);
  x[2] = length * z;
}
#endif
