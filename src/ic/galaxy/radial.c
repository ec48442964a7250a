/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A spherically symmetric mass distribution, of M(r) alone: ln M over ln r as a spline; the potential by integrals of G M / r^2. */
#include <config.h>
#include <gsl/gsl_spline.h>
#include <math.h>

#include "base/memory.h"
#include "ic/galaxy/galaxy.h"

enum { NODES = 1200, PARTS = 4 };

struct radial {
  double gravity, low, high, first, last, power;   /* limits of ln r; masses there; M ~ r^power below */
  gsl_spline *mass, *potential;
};

static void potentials(struct radial *t, const double *x, double *phi)
{
  phi[NODES - 1] = -t->gravity * t->last * exp(-t->high);
  for (int k = NODES - 2; k >= 0; k--) {
    double sum = 0, step = (x[k + 1] - x[k]) / (2 * PARTS);
    for (int p = 0; p <= 2 * PARTS; p++) {   /* Simpson's rule; dr = r d ln r */
      double y = fmin(x[k] + step * p, t->high), value = exp(gsl_spline_eval(t->mass, y, NULL) - y);
      sum += value * (p == 0 || p == 2 * PARTS ? 1 : p % 2 ? 4 : 2);
    }
    phi[k] = phi[k + 1] - t->gravity * sum * step / 3;
  }
}

struct radial *radial_make(int n, const double *r, const double *mass, double gravity)
{
  struct radial *t = memory_alloc("ic tables", sizeof *t);
  double *x = memory_alloc("ic tables", sizeof(double) * (size_t)n), *y = memory_alloc("ic tables", sizeof(double) * (size_t)n);
  double grid[NODES], value[NODES];
  for (int k = 0; k < n; k++) x[k] = log(r[k]), y[k] = log(mass[k]);
  t->gravity = gravity;
  t->low = x[0], t->high = x[n - 1], t->first = mass[0], t->last = mass[n - 1];
  gsl_spline *given = gsl_spline_alloc(gsl_interp_steffen, (size_t)n);
  gsl_spline_init(given, x, y, (size_t)n);
  for (int k = 0; k < NODES; k++) {
    grid[k] = k == NODES - 1 ? t->high : t->low + (t->high - t->low) * k / (NODES - 1);
    value[k] = gsl_spline_eval(given, grid[k], NULL);
  }
  gsl_spline_free(given);
  memory_free(x), memory_free(y);
  t->mass = gsl_spline_alloc(gsl_interp_steffen, NODES);
  gsl_spline_init(t->mass, grid, value, NODES);
  t->power = (value[1] - value[0]) / (grid[1] - grid[0]);
  potentials(t, grid, value);
  t->potential = gsl_spline_alloc(gsl_interp_steffen, NODES);
  gsl_spline_init(t->potential, grid, value, NODES);
  return t;
}

void radial_free(struct radial *t)
{
  if (!t) return;
  gsl_spline_free(t->mass), gsl_spline_free(t->potential);
  memory_free(t);
}

double radial_mass(const struct radial *t, double r)
{
  double x = log(r);
  if (x <= t->low) return t->first * exp(t->power * (x - t->low));
  return x >= t->high ? t->last : exp(gsl_spline_eval(t->mass, x, NULL));
}

double radial_potential(const struct radial *t, double r)
{
  double x = log(r);
  if (x >= t->high) return -t->gravity * t->last / r;
  if (x >= t->low) return gsl_spline_eval(t->potential, x, NULL);
  double p = t->power - 1, y = x - t->low;
  double part = fabs(p) > 1e-9 ? -expm1(p * y) / p : -y;   /* int of (r / r0)^(power - 2) dr / r0 from r to r0 */
  return gsl_spline_eval(t->potential, t->low, NULL) - t->gravity * t->first * exp(-t->low) * part;
}

double radial_inward(const struct radial *t, double r) { return t->gravity * radial_mass(t, r) / (r * r); }

double radial_density(const struct radial *t, double r)
{
  double x = log(r), slope = x <= t->low ? t->power : x >= t->high ? 0 : gsl_spline_eval_deriv(t->mass, x, NULL);
  return radial_mass(t, r) * slope / (4 * M_PI * r * r * r);
}

struct radial *radial_sum(int count, struct radial *const *parts)
{
  double low = HUGE_VAL, high = -HUGE_VAL, gravity = 0, r[NODES], mass[NODES];
  for (int k = 0; k < count; k++)
    if (parts[k]) low = fmin(low, parts[k]->low), high = fmax(high, parts[k]->high), gravity = parts[k]->gravity;
  if (!(low < high)) return NULL;
  for (int n = 0; n < NODES; n++) {
    r[n] = exp(low + (high - low) * n / (NODES - 1));
    mass[n] = 0;
    for (int k = 0; k < count; k++)
      if (parts[k]) mass[n] += radial_mass(parts[k], r[n]);
  }
  return radial_make(NODES, r, mass, gravity);
}
