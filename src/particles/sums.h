/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over the particles of a rank for diagnostics: energies, momenta, moments of velocities and accelerations. */
#ifndef SUMS_H
#define SUMS_H
#include <math.h>

#include "base/hd.h"
#include "particles/particles.h"

/* All members are doubles, so that a reduction over ranks can treat the structure as one array. Internal units. */
struct sums {
  double mass, count;
  double kinetic[PARTICLE_TYPES];         /* sum of m v^2 / 2 for each type */
  double potential[PARTICLE_TYPES];       /* sum of m (pot / 2 + external potential) for each type */
  double momentum[3], angular[3], com[3]; /* angular: sum of m x cross v; com: sum of m x */
  double acc2;                            /* sum of m a^2 */
  double acc2_count;                      /* sum of a^2 */
  double vel_count[3], vel2_count;        /* sums of v and v^2 */
  double virial, force[3];                /* sums of m x a and of m a; a as in acc2 */
  double speed_count;                     /* sum of |v| */
  double virial_field, force_field[3];    /* sums of m x f and of m f, f the acceleration of the external field */
  /* sum of m v^2 times the squared rate at which the field changes for the particle */
  double rate_field;
  double bad; /* particles with a value that is not finite */
};

/* Add particle `i`; `external`: potential of the external field at its position, per unit mass. */
HD void sums_add(struct sums *sums, const struct particles *particles, int64_t i, double external)
{
  const double *x = &particles->pos[3 * i], *v = &particles->vel[3 * i];
  const float *a = &particles->acc[3 * i];
  double m = particles->mass[i], v2 = 0, a2 = 0, pot = particles->pot[i];
  int type = particles->type[i];
  for (int c = 0; c < 3; c++) {
    v2 += v[c] * v[c];
    a2 += (double)a[c] * a[c];
    sums->momentum[c] += m * v[c];
    sums->vel_count[c] += v[c];
    sums->com[c] += m * x[c];
    sums->virial += m * x[c] * a[c];
    sums->force[c] += m * a[c];
    sums->angular[c] += m * (x[(c + 1) % 3] * v[(c + 2) % 3] - x[(c + 2) % 3] * v[(c + 1) % 3]);
  }
  sums->mass += m;
  sums->count += 1;
  for (int t = 0; t < PARTICLE_TYPES; t++) { /* constant indices, which keep the sums of a device in registers */
    sums->kinetic[t] += t == type ? 0.5 * m * v2 : 0;
    sums->potential[t] += t == type ? 0.5 * m * pot + m * external : 0;
  }
  sums->acc2 += m * a2;
  sums->acc2_count += a2;
  sums->vel2_count += v2;
  sums->speed_count += sqrt(v2);
  sums->bad += !(isfinite(v2) && isfinite(a2) && isfinite(pot) && isfinite(external) && isfinite(x[0] + x[1] + x[2]));
}
#endif
