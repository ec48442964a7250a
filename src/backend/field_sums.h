/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over particles in an external field (the verb `reduce`). For host and device. */
#ifndef FIELD_SUMS_H
#define FIELD_SUMS_H
#include "gravity/field.h"
#include "particles/sums.h"

/* Add what the acceleration f of an external field gives particle `i`; `rate`: the squared rate at which the field
 * changes for it. */
HD void sums_add_force(struct sums *sums, const struct particles *particles, int64_t i, const double f[3], double rate)
{
  double m = particles->mass[i];
  for (int c = 0; c < 3; c++) {
    sums->rate_field += m * particles->vel[3 * i + c] * particles->vel[3 * i + c] * rate;
    sums->virial_field += m * particles->pos[3 * i + c] * f[c];
    sums->force_field[c] += m * f[c];
  }
}

/* Add particle `i` in the external field; its force includes the Coriolis force. */
HD void sums_add_all(struct sums *sums, const struct particles *particles, int64_t i, const struct field *field)
{
  const double *x = &particles->pos[3 * i], *v = &particles->vel[3 * i];
  sums_add(sums, particles, i, field_potential(field, x));
  if (field_none(field)) return;
  double acc[3];
  field_acceleration(field, x, acc);
  acc[0] += 2 * field->spin * v[1];
  acc[1] -= 2 * field->spin * v[0];
  sums_add_force(sums, particles, i, acc, field_rate(field, x, v));
}
#endif
