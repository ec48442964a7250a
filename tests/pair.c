/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pair law in float and double against point masses summed in double precision, and derivatives against
 * differences. */
#include <config.h>
#include <math.h>
#include <stdint.h>

#include "kernels.h"
#include "tap.h"

#define PAIR_REAL double
#define PAIR_SUFFIX _d
#define PAIR_INVERSE_ROOT(x) (1 / sqrt(x))
#include "gravity/pair.h"

#define PAIR_REAL float
#define PAIR_SUFFIX _f
#define PAIR_INVERSE_ROOT(x) (1 / sqrtf(x))
#include "gravity/pair.h"

enum { POINTS = 2000, BODIES = 12 };
static const double R1 = 0.8, R2 = 1.6;

/* A fixed sequence in [-1, 1]. */
static double uniform(void)
{
  static uint64_t state = 17;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)(state >> 11) / 4503599627370496.0 - 1;
}

static double y_of(double r) { return fmin(fmax((R2 - r) / (R2 - R1), 0), 1); }
static double k_of(int kernel, double r) { return kernel_at(kernel, r, R1, R2); }

/* The reference: psi, and a times K where a kernel is named (-1: none). */
static double reference(const double d[3], double m, double eps, int kernel, double a[3])
{
  double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), rho = hypot(r, eps), k = kernel < 0 ? 1 : k_of(kernel, r);
  for (int c = 0; c < 3; c++) a[c] += k * m * d[c] / pow(rho, 3);
  return m / rho;
}

static struct pair_d pair_at(const double d[3], double m, double eps)
{
  const struct pair_source_d s = {d[0] + 0.5, d[1] - 0.25, d[2] + 2, m};
  const struct pair_target_d t = {0.5, -0.25, 2, eps * eps};
  return pair_between_d(s, t);
}

static double psi_at(const double d[3], double m, double eps)
{
  struct pair_d p = pair_at(d, m, eps);
  return pair_point_d(p, pair_rho2_d(p)).psi;
}

static void check_points(void)
{
  int good = 1, single = 1, gradient = 1, both = 1;
  for (int i = 0; i < POINTS; i++) {
    double eps = i % 3 ? 0.02 * (i % 3) : 1e-3, d[3] = {uniform(), uniform(), uniform()}, m = 1.5 + uniform(),
           a[3] = {0}, h = 1e-5;
    double psi = reference(d, m, eps, -1, a), size = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    struct pair_d p = pair_at(d, m, eps);
    struct pair_point_d f = pair_point_d(p, pair_rho2_d(p));
    both &= pair_rho2_d(p) == pair_rho2_of_d(p, pair_r2_d(p));
    const struct pair_f q = {(float)p.x, (float)p.y, (float)p.z, (float)m, (float)p.eps2};
    struct pair_point_f g = pair_point_f(q, pair_rho2_f(q));
    good &= fabs(f.psi - psi) < 1e-12 * psi && fabs(g.psi - psi) < 1e-6 * psi;
    const double x[3] = {f.w * p.x, f.w * p.y, f.w * p.z};
    const float y[3] = {g.w * q.x, g.w * q.y, g.w * q.z};
    for (int c = 0; c < 3; c++) {
      /* d points from the target to the source: psi's gradient with respect to the target is minus that with respect to
       * d */
      double low[3] = {d[0], d[1], d[2]}, high[3] = {d[0], d[1], d[2]};
      low[c] -= h;
      high[c] += h;
      good &= fabs(x[c] - a[c]) < 1e-12 * size;
      single &= fabs(y[c] - a[c]) < 2e-6 * size;
      gradient &=
          size > 100 || fabs(-(psi_at(high, m, eps) - psi_at(low, m, eps)) / (2 * h) - a[c]) < 1e-5 * (size + 1);
    }
  }
  tap_ok(good, "force and potential of a point mass, double precision");
  tap_ok(single, "force of a point mass, single precision");
  tap_ok(gradient, "the force is the gradient of the potential");
  tap_ok(both, "rho^2 in one sum and from r^2");
  const double here[3] = {0};
  struct pair_d p = pair_at(here, 1, 0.1);
  tap_ok(pair_r2_d(p) == 0 && fabs(pair_point_d(p, pair_rho2_d(p)).psi - 10) < 1e-12,
         "a softened source at the target's place");
}

/* A small cell about its centre of mass. */
struct cell {
  double m[BODIES], x[BODIES][3], mass;
  struct pair_moments_d s;
};

static struct cell make_cell(double size)
{
  static const int first[6] = {0, 1, 2, 0, 0, 1}, second[6] = {0, 1, 2, 1, 2, 2};
  struct cell c = {.mass = 0};
  double centre[3] = {0};
  for (int i = 0; i < BODIES; i++) {
    c.mass += c.m[i] = 1.5 + uniform();
    for (int k = 0; k < 3; k++) centre[k] += c.m[i] * (c.x[i][k] = size * uniform());
  }
  for (int i = 0; i < BODIES; i++) {
    for (int k = 0; k < 3; k++) c.x[i][k] -= centre[k] / c.mass;
    for (int q = 0; q < 6; q++) c.s.q[q] += c.m[i] * c.x[i][first[q]] * c.x[i][second[q]];
  }
  return c;
}

/* Largest error of a cell's force, relative to |a|, at distance r in a few directions; kernel < 0: no split. *point:
 * the same of its mass alone. */
static double cell_error(const struct cell *cell, double r, double eps, int kernel, double *point, double *psi_error)
{
  double worst = 0;
  *point = *psi_error = 0;
  for (int i = 0; i < 50; i++) {
    double d[3] = {uniform(), uniform(), uniform()}, n = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), a[3] = {0},
           full[3] = {0}, psi = 0;
    for (int c = 0; c < 3; c++) d[c] *= r / n;
    for (int j = 0; j < BODIES; j++) {
      double at[3] = {d[0] + cell->x[j][0], d[1] + cell->x[j][1], d[2] + cell->x[j][2]};
      psi += reference(at, cell->m[j], eps, kernel, a);
      reference(at, cell->m[j], eps, -1, full);
    }
    struct pair_d p = pair_at(d, cell->mass, eps);
    double r2 = pair_r2_d(p), y = y_of(sqrt(r2)),
           size = sqrt(full[0] * full[0] + full[1] * full[1] + full[2] * full[2]), x[3];
    struct pair_point_d mono = pair_point_d(p, pair_rho2_d(p));
    if (kernel < 0) {
      struct pair_cell_d f = pair_cell_d(p, pair_rho2_d(p), cell->s);
      struct pair_vector_d v = pair_cell_force_d(p, f);
      x[0] = v.x;
      x[1] = v.y;
      x[2] = v.z;
      *psi_error = fmax(*psi_error, fabs(f.psi - psi) / psi);
    } else {
      struct pair_hard_cell_d f = pair_hard_cell_d(p, r2, cell->s, y, 1 / (R2 - R1), kernel);
      x[0] = f.w * p.x + f.v * f.x;
      x[1] = f.w * p.y + f.v * f.y;
      x[2] = f.w * p.z + f.v * f.z;
      mono.w *= pair_k_d(y, kernel);
    }
    const double there[3] = {p.x, p.y, p.z};
    for (int c = 0; c < 3; c++) {
      worst = fmax(worst, fabs(x[c] - a[c]) / size);
      *point = fmax(*point, fabs(mono.w * there[c] - a[c]) / size);
    }
  }
  return worst;
}

/* The error of a second-order expansion falls with the third power of the cell's size. */
static void check_cells(void)
{
  for (int kernel = -1; kernel < SPLIT_KERNEL_COUNT; kernel++) {
    const char *name = kernel < 0 ? "no split" : kernel_names[kernel];
    int third = 1, better = 1, potential = 1;
    for (int i = 0; i < 20; i++) {
      double r = 1 + 0.025 * i, point, small_point, psi, small_psi;
      struct cell big = make_cell(0.02), small = big;
      for (int j = 0; j < BODIES; j++)
        for (int c = 0; c < 3; c++) small.x[j][c] /= 4;
      for (int q = 0; q < 6; q++) small.s.q[q] /= 16;
      double error = cell_error(&big, r, 0.05, kernel, &point, &psi),
             small_error = cell_error(&small, r, 0.05, kernel, &small_point, &small_psi);
      third &= small_error < error / 20;
      better &= error < 0.3 * point;
      if (kernel < 0) potential &= psi < 1e-4 && small_psi < psi / 20;
    }
    char what[80];
    snprintf(what, sizeof what, "force of a cell to second order, %s", name);
    tap_ok(third && better && potential, what);
  }
}

/* The mean over directions of a cell's hard force, taken as that of its masses on a sphere: only tr S remains. */
static void check_spread(void)
{
  int good = 1;
  for (int kernel = SPLIT_QUINTIC; kernel < SPLIT_KERNEL_COUNT; kernel++)
    for (int i = 0; i < 20; i++) {
      double r = 0.7 + 0.05 * i, size = 0.002, d[3] = {0.6 * r, 0, 0.8 * r}, a[3] = {0}, full[3] = {0};
      struct pair_moments_d s = {{0}};
      for (int k = 0; k < 6; k++) { /* an octahedron: second moments are a multiple of the unit matrix */
        double at[3] = {d[0], d[1], d[2]};
        at[k % 3] += k < 3 ? size : -size;
        reference(at, 1 / 6.0, 0.05, kernel, a);
        reference(at, 1 / 6.0, 0.05, -1, full);
        s.q[k % 3] += size * size / 6;
      }
      struct pair_d p = pair_at(d, 1, 0.05);
      double r2 = pair_r2_d(p), y = y_of(sqrt(r2)), slope = 1 / (R2 - R1);
      double w = pair_hard_spread_d(p, r2, s.q[0] + s.q[1] + s.q[2], y, slope, kernel), unit = hypot(full[0], full[2]);
      struct pair_hard_cell_d f = pair_hard_cell_d(p, r2, s, y, slope, kernel);
      good &= fabs(w * p.x - a[0]) < 5e-7 * unit && fabs(w * p.z - a[2]) < 5e-7 * unit;
      good &=
          fabs(f.w * p.x + f.v * f.x - w * p.x) < 1e-11 * unit && fabs(f.w * p.z + f.v * f.z - w * p.z) < 1e-11 * unit;
    }
  tap_ok(good, "hard force of an isotropic cell by the trace of its second moments");
}

int main(void)
{
  check_points();
  check_cells();
  check_spread();
  int ends = 1, values = 1, point = 1;
  for (int kernel = SPLIT_QUINTIC; kernel < SPLIT_KERNEL_COUNT; kernel++) {
    ends &=
        pair_k_d(0, kernel) == 0 && pair_k_d(1, kernel) == 1 && pair_k_f(0, kernel) == 0 && pair_k_f(1, kernel) == 1;
    for (int i = 0; i <= 100; i++) {
      double r = R1 + (R2 - R1) * i / 100, k = k_of(kernel, r);
      values &= fabs(pair_k_d(y_of(r), kernel) - k) < 1e-12 && fabs(pair_k_f((float)y_of(r), kernel) - k) < 1e-5;
    }
  }
  tap_ok(ends, "K is 0 and 1 at its ends");
  tap_ok(values, "K in between");
  const struct pair_moments_d none = {{0}};
  for (int i = 0; i < POINTS; i++) {
    double d[3] = {uniform(), uniform(), uniform()};
    struct pair_d p = pair_at(d, 1, 0.1);
    struct pair_point_d f = pair_point_d(p, pair_rho2_d(p));
    struct pair_cell_d g = pair_cell_d(p, pair_rho2_d(p), none);
    struct pair_vector_d a = pair_cell_force_d(p, g);
    point &= f.psi == g.psi && f.w == g.w && a.x == f.w * p.x && a.y == f.w * p.y && a.z == f.w * p.z;
  }
  tap_ok(point, "a cell without second moments is a point mass to the bit");
  return tap_end();
}
