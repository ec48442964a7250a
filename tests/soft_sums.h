/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The soft part of forces in double precision: sums over all pairs of (1 - K) F, and of the potential, with radii by
 * mass. */
#ifndef SOFT_SUMS_H
#define SOFT_SUMS_H
#include "sets.h"

/* At the place id - 1; `scale`: |acc|, or its rms where it is (almost) zero. */
struct soft_sums {
  int64_t n;
  double (*acc)[3], *pot, *scale;
};

/* Radii of a particle in units of those of the split: the cube root of its mass ratio, which is within 1/20 and 20. */
static inline double soft_factor(const struct split *split, double m)
{
  return split->mass_scale > 0 ? cbrt(fmin(fmax(m / split->mass_scale, 1 / 20.0), 20.0)) : 1;
}

/* 1 - K of a pair at the distance r. */
static inline double soft_weight(const struct split *split, double r, double m1, double m2)
{
  double f = fmax(soft_factor(split, m1), soft_factor(split, m2));
  return 1 - kernel_at(split->kernel, r, f * split->r1, f * split->r2);
}

static inline struct soft_sums soft_sums_open(const struct particles *particles, double gravity, double softening,
                                              const struct split *split)
{
  size_t n = (size_t)particles->n;
  struct soft_sums d = {.n = particles->n};
  double rms = 0;
  d.acc = memory_alloc("soft", sizeof *d.acc * n);
  d.pot = memory_alloc("soft", sizeof *d.pot * n);
  d.scale = memory_alloc("soft", sizeof *d.scale * n);
  for (int64_t i = 0; i < particles->n; i++) {
    double *acc = d.acc[particles->id[i] - 1], *pot = &d.pot[particles->id[i] - 1],
           *scale = &d.scale[particles->id[i] - 1];
    for (int64_t j = 0; j < particles->n; j++) {
      double dx[3], r2 = 0;
      for (int c = 0; c < 3; c++) {
        dx[c] = particles->pos[3 * j + c] - particles->pos[3 * i + c];
        r2 += dx[c] * dx[c];
      }
      double weight = soft_weight(split, sqrt(r2), particles->mass[i], particles->mass[j]),
             rho = sqrt(r2 + softening * softening);
      if (weight == 0) continue;
      for (int c = 0; c < 3; c++) acc[c] += gravity * weight * particles->mass[j] * dx[c] / (rho * rho * rho);
      *pot -= gravity * weight * particles->mass[j] / rho;
    }
    *scale = sqrt(acc[0] * acc[0] + acc[1] * acc[1] + acc[2] * acc[2]);
    rms += *scale * *scale / (double)particles->n;
  }
  rms = rms > 0 ? sqrt(rms) : 1;
  for (int64_t i = 0; i < particles->n; i++)
    if (d.scale[i] < 1e-6 * rms) d.scale[i] = rms;
  return d;
}

static inline struct errors soft_sums_potential(const struct particles *particles, const struct soft_sums *sums)
{
  struct direct d = {.n = sums->n, .pot = sums->pot};
  return potential_errors(particles, &d);
}

static inline void soft_sums_close(struct soft_sums *sums)
{
  memory_free(sums->acc);
  memory_free(sums->pot);
  memory_free(sums->scale);
}
#endif
