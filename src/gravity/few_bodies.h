/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A few stars that pass each other closely: the logarithmic Hamiltonian of Mikkola & Tanikawa (1999) and Preto &
 * Tremaine (1999), whose leapfrog is exact for two bodies but for their phase, extrapolated (Bulirsch & Stoer) to a
 * relative error of FEW_TOLERANCE. In double precision, on the host and on devices. Masses are G m.
 *
 * B = U - T at the begin of an interval is carried along; drifts take the time h / (T + B), kicks h / U. */
#ifndef FEW_BODIES_H
#define FEW_BODIES_H
#include <stdint.h>

#include "gravity/unit_environment.h"

#define FEW_TOLERANCE 1e-10 /* 1e-12 is not better: rounding spoils the end of an interval */
#define FEW_ROUNDING 2e-14
enum { FEW_ROWS = 10, FEW_NUMBERS = 6 * UNIT_BODIES + 2 };

struct few_bodies {
  int n;
  double m[UNIT_BODIES], x[UNIT_BODIES][3], v[UNIT_BODIES][3]; /* about the centre of mass */
  double t, b;
};

HD double few_kinetic(const struct few_bodies *few)
{
  double sum = 0;
  for (int k = 0; k < few->n; k++) sum += 0.5 * few->m[k] * kepler_dot(few->v[k], few->v[k]);
  return sum;
}

/* U, the modulus of the potential energy. */
HD double few_binding(const struct few_bodies *few)
{
  double sum = 0, d[3];
  for (int k = 0; k < few->n; k++)
    for (int l = 0; l < k; l++) {
      for (int c = 0; c < 3; c++) d[c] = few->x[k][c] - few->x[l][c];
      sum += few->m[k] * few->m[l] / sqrt(kepler_dot(d, d));
    }
  return sum;
}

HD void few_drift(struct few_bodies *few, double h)
{
  double dt = h / (few_kinetic(few) + few->b);
  few->t += dt;
  for (int k = 0; k < few->n; k++)
    for (int c = 0; c < 3; c++) few->x[k][c] += dt * few->v[k][c];
}

HD void few_kick(struct few_bodies *few, const struct unit_environment *environment, double h)
{
  double a[UNIT_BODIES][3] = {{0}}, f[UNIT_BODIES][3], d[3], binding = 0, work = 0;
  for (int k = 0; k < few->n; k++)
    for (int l = 0; l < k; l++) {
      for (int c = 0; c < 3; c++) d[c] = few->x[k][c] - few->x[l][c];
      double inverse = 1 / sqrt(kepler_dot(d, d)), cube = inverse * inverse * inverse;
      binding += few->m[k] * few->m[l] * inverse;
      for (int c = 0; c < 3; c++) {
        a[k][c] -= cube * few->m[l] * d[c];
        a[l][c] += cube * few->m[k] * d[c];
      }
    }
  double dt = h / binding;
  unit_external(environment, few->t, few->n, (const double(*)[3])few->x, few->m, f);
  for (int k = 0; k < few->n; k++)
    for (int c = 0; c < 3; c++) {
      double before = few->v[k][c];
      few->v[k][c] += dt * (a[k][c] + f[k][c]);
      work += few->m[k] * f[k][c] * 0.5 * (before + few->v[k][c]);
    }
  few->b -= dt * work;
}

/* `few` as a row of numbers, and back. */
HD void few_to_row(const struct few_bodies *few, double *row)
{
  for (int k = 0; k < few->n; k++)
    for (int c = 0; c < 3; c++) {
      *row++ = few->x[k][c];
      *row++ = few->v[k][c];
    }
  *row++ = few->t;
  *row = few->b;
}

HD void few_from_row(struct few_bodies *few, const double *row)
{
  for (int k = 0; k < few->n; k++)
    for (int c = 0; c < 3; c++) {
      few->x[k][c] = *row++;
      few->v[k][c] = *row++;
    }
  few->t = *row++;
  few->b = *row;
}

/* Distance and relative speed of the nearest other body, for each. */
HD void few_nearest(const struct few_bodies *few, double distance[UNIT_BODIES], double speed[UNIT_BODIES])
{
  for (int k = 0; k < few->n; k++) {
    distance[k] = 1e300;
    for (int l = 0; l < few->n; l++) {
      double d[3], u[3];
      for (int c = 0; c < 3; c++) {
        d[c] = few->x[k][c] - few->x[l][c];
        u[c] = few->v[k][c] - few->v[l][c];
      }
      double r = sqrt(kepler_dot(d, d));
      if (l == k || r >= distance[k]) continue;
      distance[k] = r;
      speed[k] = sqrt(kepler_dot(u, u));
    }
  }
}

/* A table of extrapolation: the last row, and what it was before its last column. */
struct few_table {
  double row[FEW_ROWS][FEW_NUMBERS], last[FEW_NUMBERS];
};

/* The next row, from the result `few` of 2 (k + 1) steps (Aitken's and Neville's scheme in 1 / steps^2). */
HD void few_extrapolate(struct few_table *table, const struct few_bodies *few, int k)
{
  double now[FEW_NUMBERS];
  int count = 6 * few->n + 2;
  few_to_row(few, now);
  for (int i = 0; i < count; i++) {
    double before = table->row[0][i];
    table->last[i] = k > 0 ? table->row[k - 1][i] : 0;
    table->row[0][i] = now[i];
    for (int l = 1; l <= k; l++) {
      double ratio = (double)(k + 1) / (k + 1 - l);
      double next = table->row[l - 1][i] + (table->row[l - 1][i] - before) / (ratio * ratio - 1);
      before = table->row[l][i];
      table->row[l][i] = next;
    }
  }
}

/* The largest change of a number by the last column: positions in units of the nearest distance, velocities of the
 * relative speed there. */
HD double few_change(const struct few_table *table, int n, int k, const double distance[UNIT_BODIES],
                     const double speed[UNIT_BODIES])
{
  const double floor = FEW_ROUNDING / FEW_TOLERANCE;
  double largest = 0;
  for (int i = 0; i < 6 * n; i++) {
    double scale = i % 2 == 0 ? distance[i / 6] : speed[i / 6];
    double change = fabs(table->row[k][i] - table->last[i]) / fmax(scale, floor * fabs(table->row[k][i]));
    if (!(change <= largest)) largest = change;
  }
  return largest;
}

/* A step of h from *few. Returns the row that was accepted, and the result in *result; FEW_ROWS: none. Adds to
 * *evaluations. */
HD int few_try(const struct few_bodies *few, const struct unit_environment *environment, double h,
               struct few_bodies *result, int64_t *evaluations)
{
  struct few_table table;
  double distance[UNIT_BODIES], speed[UNIT_BODIES];
  for (int k = 0; k < FEW_ROWS; k++) {
    int steps = 2 * (k + 1);
    double part = h / steps;
    struct few_bodies now = *few;
    few_drift(&now, 0.5 * part);
    for (int i = 0; i < steps; i++) {
      few_kick(&now, environment, part);
      few_drift(&now, i < steps - 1 ? part : 0.5 * part);
    }
    *evaluations += steps;
    if (k == 0) few_nearest(&now, distance, speed);
    few_extrapolate(&table, &now, k);
    if (k < 3 || !(few_change(&table, few->n, k, distance, speed) < FEW_TOLERANCE)) continue;
    *result = *few;
    few_from_row(result, table.row[k]);
    double binding = few_binding(result);
    if (fabs(few_kinetic(result) - binding + result->b) < 10 * FEW_TOLERANCE * binding) return k;
  }
  return FEW_ROWS;
}

/* A first step: a sixteenth of the orbit of the closest pair. */
HD double few_first_step(const struct few_bodies *few)
{
  double least = 0;
  for (int k = 0; k < few->n; k++)
    for (int l = 0; l < k; l++) {
      double d[3], u[3], mu = few->m[k] + few->m[l];
      for (int c = 0; c < 3; c++) {
        d[c] = few->x[k][c] - few->x[l][c];
        u[c] = few->v[k][c] - few->v[l][c];
      }
      double r = sqrt(kepler_dot(d, d)), a = fmin(mu / fabs(2 * mu / r - kepler_dot(u, u)), r);
      double step = 2 * KEPLER_PI * few->m[k] * few->m[l] * sqrt(a / mu) / 16;
      if (least == 0 || step < least) least = step;
    }
  return least;
}

/* The last bit of an interval, far below a step, at constant acceleration. */
HD void few_rest(struct few_bodies *few, double dt)
{
  double a[UNIT_BODIES][3] = {{0}};
  for (int k = 0; k < few->n; k++)
    for (int l = 0; l < few->n; l++) {
      double d[3];
      for (int c = 0; c < 3; c++) d[c] = few->x[l][c] - few->x[k][c];
      double r = sqrt(kepler_dot(d, d));
      for (int c = 0; c < 3 && l != k; c++) a[k][c] += few->m[l] * d[c] / (r * r * r);
    }
  for (int k = 0; k < few->n; k++)
    for (int c = 0; c < 3; c++) {
      few->x[k][c] += dt * (few->v[k][c] + 0.5 * dt * a[k][c]);
      few->v[k][c] += dt * a[k][c];
    }
  few->t += dt;
}

/* The step whose end is at the time `end`, between none and *step, whose end is that of *result. Returns 1, and the
 * state in *result; 0: not found, and *step is to be shorter. */
HD int few_find_end(const struct few_bodies *few, const struct unit_environment *environment, double end, double step,
                    struct few_bodies *result, int64_t *evaluations)
{
  double low = 0, high = step, before = few->t, after = result->t, tolerance = 1e-9 * (after - before);
  for (int k = 0; k < 40; k++) {
    if (fabs(result->t - end) <= tolerance) return 1;
    double h = k % 3 == 2 ? 0.5 * (low + high) : low + (high - low) * (end - before) / (after - before);
    if (few_try(few, environment, h, result, evaluations) == FEW_ROWS) return 0;
    if (result->t > end) {
      high = h;
      after = result->t;
    } else {
      low = h;
      before = result->t;
    }
  }
  return 0;
}

/* Advance to the time `end`. *step: the step in s to begin with (0: choose), then the one proposed. Returns 0, or -1
 * where no step is short enough: two bodies are at the same place within rounding. */
HD int few_advance(struct few_bodies *few, const struct unit_environment *environment, double end, double *step,
                   int64_t *evaluations)
{
  struct few_bodies next;
  few->b = few_binding(few) - few_kinetic(few);
  if (!(*step > 0)) *step = few_first_step(few);
  while (few->t < end) {
    int row = few_try(few, environment, *step, &next, evaluations);
    if (row == FEW_ROWS) {
      *step *= 0.4;
      if (!(*step > 1e-60)) return -1;
      continue;
    }
    if (next.t <= end) {
      *few = next;
      if (row <= 5) *step *= 1.5;
      else if (row >= 8) *step *= 0.7;
      continue;
    }
    if (!few_find_end(few, environment, end, *step, &next, evaluations)) {
      *step *= 0.4;
      continue;
    }
    *few = next;
    few_rest(few, end - few->t);
    few->t = end;
  }
  return 0;
}
#endif
