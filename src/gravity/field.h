/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External field: forces that do not come from particles. For host and device.
 *
 * The field acts in the kicks of soft steps (`kick` of struct backend) and its potential is part of the sums of diagnostics (`reduce`),
 * so it must vary slowly over a soft step. A new field is a kind here and its numbers in struct field. */
#ifndef FIELD_H
#define FIELD_H
#include "base/hd.h"

enum field_kind { FIELD_NONE, FIELD_UNIFORM };

struct field {
  int kind;        /* enum field_kind; zero-initialised: none */
  double acc[3];   /* FIELD_UNIFORM: the acceleration, internal units */
};

/* Acceleration of the field at the position x, both in internal units. */
HD void field_acceleration(const struct field *f, const double x[3], double acc[3])
{
  (void)x;
  for (int c = 0; c < 3; c++) acc[c] = f->kind == FIELD_UNIFORM ? f->acc[c] : 0;
}

/* Potential of the field per unit mass at the position x, internal units. */
HD double field_potential(const struct field *f, const double x[3])
{
  return f->kind == FIELD_UNIFORM ? -(f->acc[0] * x[0] + f->acc[1] * x[1] + f->acc[2] * x[2]) : 0;
}
#endif
