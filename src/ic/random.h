/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The random numbers of one particle: Philox with seed and id as its key, so that they do not depend on the rank or the
 * order of drawing. */
#ifndef IC_RANDOM_H
#define IC_RANDOM_H
#include <Random123/philox.h>
#include <math.h>
#include <stdint.h>

/* State of the generator. */
struct ic_random {
  philox4x64_key_t key;
  philox4x64_ctr_t counter, words;
  int left; /* number of unused words */
};

/* The generator of the particle with this id. */
static inline struct ic_random random_of(uint64_t seed, uint64_t id)
{
  struct ic_random r = {.key = {{seed, id}}, .left = 0};
  return r;
}

/* Numbers other than those for position and velocity, in streams of their own. */
enum { RANDOM_MASS = 1, RANDOM_ORBIT, RANDOM_PERMUTATION, RANDOM_RATIO };
static inline struct ic_random random_stream(uint64_t seed, uint64_t id, uint64_t stream)
{
  struct ic_random r = random_of(seed, id);
  r.counter.v[1] = stream;
  return r;
}

/* One word: a function of the arguments. */
static inline uint64_t random_word(uint64_t seed, uint64_t stream, uint64_t a, uint64_t b)
{
  philox4x64_key_t key = {{seed, a}};
  philox4x64_ctr_t counter = {{0, stream, b, 0}};
  return philox4x64(counter, key).v[0];
}

/* Uniform in the open interval (0, 1). */
static inline double random_uniform(struct ic_random *random)
{
  if (random->left == 0) {
    random->words = philox4x64(random->counter, random->key);
    random->counter.v[0]++;
    random->left = 4;
  }
  return ((double)(random->words.v[--random->left] >> 12) + 0.5) * 0x1p-52;
}

/* A vector of this length in a random direction. */
static inline void random_direction(struct ic_random *random, double length, double x[3])
{
  double cosine = 2 * random_uniform(random) - 1, angle = 2 * M_PI * random_uniform(random);
  double across = length * sqrt(1 - cosine * cosine);
  x[0] = across * cos(angle);
  x[1] = across * sin(angle);
  x[2] = length * cosine;
}

/* Two normal deviates (Box and Muller). */
static inline void random_normal(struct ic_random *random, double x[2])
{
  double length = sqrt(-2 * log(random_uniform(random))), angle = 2 * M_PI * random_uniform(random);
  x[0] = length * cos(angle);
  x[1] = length * sin(angle);
}
#endif
