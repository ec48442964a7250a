/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Plummer sphere with hard binaries, for tests of the hard part without softening: soft forces and energies by direct
 * sums. */
#ifndef BINARIES_H
#define BINARIES_H
#include <math.h>
#include <stdlib.h>

#include "backend/neighbour_list_verbs.h"
#include "chance.h"
#include "gravity/hermite.h"
#include "gravity/kepler.h"

/* G = M = 1, energy -1/4, cut at 5 length units. */
static inline void binaries_star(struct random *random, double x[3], double v[3])
{
  double scale = 3 * KEPLER_PI / 16, radius, q, g;
  do radius = scale / sqrt(pow(random_unit(random), -2.0 / 3) - 1);
  while (radius > 5);
  do {
    q = random_unit(random);
    g = 0.1 * random_unit(random);
  } while (g > q * q * pow(1 - q * q, 3.5));
  random_direction(random, radius, x);
  random_direction(random, q * sqrt(2 / scale) * pow(1 + radius * radius / (scale * scale), -0.25), v);
}

/* Make particles i and j a binary at a random phase, about the place and velocity of i. */
static inline void binaries_pair(struct particles *particles, int64_t i, int64_t j, double a, double e, uint64_t seed)
{
  struct random r = {seed};
  struct kepler_ellipse k = {.anomaly = random_between(&r, 0, 2 * KEPLER_PI)};
  double other[3], h[3], d[3], u[3], mu = (double)particles->mass[i] + (double)particles->mass[j],
                                     share = particles->mass[j] / mu;
  random_direction(&r, 1, k.p);
  random_direction(&r, 1, other);
  kepler_cross(k.p, other, h);
  kepler_cross(h, k.p, k.q);
  double norm = sqrt(kepler_dot(k.q, k.q));
  for (int c = 0; c < 3; c++) k.q[c] /= norm;
  kepler_place(mu, a, e, 1 - e, &k, d, u);
  for (int c = 0; c < 3; c++) {
    double x = particles->pos[3 * i + c], v = particles->vel[3 * i + c];
    particles->pos[3 * i + c] = x - share * d[c];
    particles->pos[3 * j + c] = x + (1 - share) * d[c];
    particles->vel[3 * i + c] = v - share * u[c];
    particles->vel[3 * j + c] = v + (1 - share) * u[c];
  }
}

/* n systems of which the first are binaries: particle b and particle n + b. Equal masses. */
static inline void binaries_make(struct particles *particles, int n, int binaries, double a, double e, uint64_t seed)
{
  struct random r = {seed};
  particles_init(particles);
  particles_reserve(particles, n + binaries);
  particles->n = n + binaries;
  for (int64_t i = 0; i < particles->n; i++) {
    particles->mass[i] = 1.0f / (float)particles->n;
    particles->id[i] = (uint64_t)i + 1;
    particles->type[i] = 4;
    particles->level[i] = LEVEL_UNKNOWN;
    if (i < n) binaries_star(&r, &particles->pos[3 * i], &particles->vel[3 * i]);
  }
  for (int b = 0; b < binaries; b++) binaries_pair(particles, b, n + b, a, e, seed + 1000 + (uint64_t)b);
}

static inline struct device *binaries_device(const struct backend *be)
{
  const struct device_config config = {.gravity = 1, .softening = 0, .max_leaf = 8, .max_group = 32, .ranks = 1};
  return be->open(&config);
}

/* Of the true system, in double precision. */
static inline double binaries_energy(const struct particles *particles)
{
  double energy = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    double potential = 0;
    for (int64_t j = 0; j < i; j++) {
      double r2 = 0;
      for (int c = 0; c < 3; c++)
        r2 += (particles->pos[3 * i + c] - particles->pos[3 * j + c]) *
              (particles->pos[3 * i + c] - particles->pos[3 * j + c]);
      potential -= particles->mass[j] / sqrt(r2);
    }
    energy += particles->mass[i] * (potential + 0.5 * kepler_dot(&particles->vel[3 * i], &particles->vel[3 * i]));
  }
  return energy;
}

/* The soft kick, with 1 - K in double precision. */
static inline void binaries_kick(struct particles *particles, const struct split *split, double dt)
{
  const struct hermite_split s = hermite_split_of(split, 1, 1);
  for (int64_t i = 0; i < particles->n; i++)
    for (int64_t j = 0; j < particles->n; j++) {
      double d[3], k, slope;
      for (int c = 0; c < 3; c++) d[c] = particles->pos[3 * j + c] - particles->pos[3 * i + c];
      double r = sqrt(kepler_dot(d, d));
      if (j == i) continue;
      hermite_kernel(&s, r, &k, &slope);
      for (int c = 0; c < 3; c++) particles->vel[3 * i + c] += dt * (1 - k) * particles->mass[j] / (r * r * r) * d[c];
    }
}
/* n stars with the ids 1 to n. */
static inline void binaries_stars(struct particles *particles, int n, const double (*x)[3], const double (*v)[3],
                                  const float *m)
{
  particles_init(particles);
  particles_reserve(particles, n);
  particles->n = n;
  for (int i = 0; i < n; i++) {
    particles->mass[i] = m[i];
    particles->id[i] = (uint64_t)i + 1;
    particles->level[i] = LEVEL_UNKNOWN;
    memcpy(&particles->pos[3 * i], x[i], sizeof x[i]);
    memcpy(&particles->vel[3 * i], v[i], sizeof v[i]);
  }
}
#endif
