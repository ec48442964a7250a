/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External field: forces that do not come from particles. For host and device.
 *
 * The field is a uniform acceleration and a sum of terms. It acts in the kicks of soft steps (`kick` of struct backend; another one, the
 * background of comoving coordinates, in the forces themselves by `add_field`) and its potential
 * is part of the sums of diagnostics (`reduce`), so it must vary slowly over a soft step. A new field is a kind of term here. */
#ifndef FIELD_H
#define FIELD_H
#include "base/hd.h"

enum { FIELD_TERMS = 8, FIELD_NUMBERS = 6 };

enum field_kind {
  FIELD_LINEAR   /* acceleration number[0] (x - centre) */
};

struct field_term {
  int kind;                        /* enum field_kind */
  double centre[3];                /* at the time of the kick, internal units */
  double number[FIELD_NUMBERS];    /* of the kind, internal units, with G */
};

/* Zero-initialised: no field. */
struct field {
  double acc[3];                   /* the uniform acceleration, internal units */
  int count;                       /* terms */
  struct field_term term[FIELD_TERMS];
};

/* 1: there is no field. */
HD int field_none(const struct field *f) { return f->count == 0 && f->acc[0] == 0 && f->acc[1] == 0 && f->acc[2] == 0; }

/* Add the acceleration of a term at the position x to acc[3]. */
HD void field_term_acceleration(const struct field_term *t, const double x[3], double acc[3])
{
  switch (t->kind) {
  case FIELD_LINEAR:
    for (int c = 0; c < 3; c++) acc[c] += t->number[0] * (x[c] - t->centre[c]);
    break;
  }
}

/* Potential of a term per unit mass at the position x. */
HD double field_term_potential(const struct field_term *t, const double x[3])
{
  double r2 = 0;
  for (int c = 0; c < 3; c++) r2 += (x[c] - t->centre[c]) * (x[c] - t->centre[c]);
  switch (t->kind) {
  case FIELD_LINEAR: return -0.5 * t->number[0] * r2;
  }
  return 0;
}

/* Acceleration of the field at the position x, both in internal units. */
HD void field_acceleration(const struct field *f, const double x[3], double acc[3])
{
  for (int c = 0; c < 3; c++) acc[c] = f->acc[c];
  for (int k = 0; k < f->count; k++) field_term_acceleration(&f->term[k], x, acc);
}

/* Potential of the field per unit mass at the position x, internal units. */
HD double field_potential(const struct field *f, const double x[3])
{
  double sum = -(f->acc[0] * x[0] + f->acc[1] * x[1] + f->acc[2] * x[2]);
  for (int k = 0; k < f->count; k++) sum += field_term_potential(&f->term[k], x);
  return sum;
}
#endif
