/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fourth-order Hermite scheme for the hard part (Makino & Aarseth 1992): force and jerk of a pair with the split,
 * prediction, correction, time steps. In double precision, on the host and on devices. Without the gravitational
 * constant: masses are G m. */
#ifndef HERMITE_H
#define HERMITE_H
#include <math.h>

#include "base/hd.h"
#include "gravity/split.h"

/* A particle's hard motion: position, velocity, acceleration and jerk at one time. */
struct hermite_motion {
  double x[3], v[3], a[3], j[3];
};

/* What sources give a target: acceleration, jerk, and the sum of G m K / rho. */
struct hermite_force {
  double a[3], j[3], psi;
};

/* The split of a pair in double precision. */
struct hermite_split {
  int kernel;
  double r1, r2, inverse; /* 1 / (r2 - r1) */
};

/* The split of a pair whose particles have the factors f1 and f2 of split_factor. */
HD struct hermite_split hermite_split_of(const struct split *split, float f1, float f2)
{
  double f = f1 > f2 ? f1 : f2;
  struct hermite_split h = {split->kernel, f * (double)split->r1, f * (double)split->r2,
                            1 / (f * ((double)split->r2 - (double)split->r1))};
  return h;
}

/* K and dK/dr at the distance r. Beyond R1 and R2 the clipped polynomials are exact. */
HD void hermite_kernel(const struct hermite_split *s, double r, double *k, double *slope)
{
  double y = (s->r2 - r) * s->inverse;
  y = y > 1 ? 1 : y > 0 ? y : 0;
  switch (s->kernel) {
#define HERMITE_CASE(kernel, name) \
  case SPLIT_##kernel: *k = SPLIT_K_##kernel(y), *slope = -SPLIT_K1_##kernel(y) * s->inverse; return;
    SPLIT_KERNELS(HERMITE_CASE)
#undef HERMITE_CASE
  default: *k = 0; *slope = 0;
  }
}

/* Add the hard force of a source of mass m to that on a target: d = x_source - x_target, u = v_source - v_target, rho^2
 * = r^2 + eps2;
 *   a = m K d / rho^3,  jerk = m / rho^3 [K u - 3 K (d.u) d / rho^2 + K' (d.u) d / r].
 * A pair at the same place adds nothing without softening. */
HD void hermite_pair(struct hermite_force *force, const double d[3], const double u[3], double m, double eps2,
                     const struct hermite_split *split)
{
  double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], du = d[0] * u[0] + d[1] * u[1] + d[2] * u[2], rho2 = r2 + eps2;
  double r = sqrt(r2), inverse2 = rho2 > 0 ? 1 / rho2 : 0, inverse = sqrt(inverse2), w = m * inverse * inverse2, k,
         slope;
  hermite_kernel(split, r, &k, &slope);
  double b = ((r > 0 ? slope / r : 0) - 3 * k * inverse2) * du;
  force->psi += m * k * inverse;
  for (int c = 0; c < 3; c++) {
    force->a[c] += w * k * d[c];
    force->j[c] += w * (k * u[c] + b * d[c]);
  }
}

/* Position and velocity after the time dt, to third order. */
HD void hermite_predict(const struct hermite_motion *motion, double dt, double x[3], double v[3])
{
  for (int c = 0; c < 3; c++) {
    x[c] = motion->x[c] + dt * (motion->v[c] + dt * (0.5 * motion->a[c] + dt / 6 * motion->j[c]));
    v[c] = motion->v[c] + dt * (motion->a[c] + 0.5 * dt * motion->j[c]);
  }
}

/* Correct: `motion` at the begin of the step becomes the motion at its end; x, v as predicted, f evaluated there. a2,
 * a3: second and third derivatives of the acceleration at the end (Makino & Aarseth 1992, eqs 2 to 6). */
HD void hermite_correct(struct hermite_motion *motion, double dt, const double x[3], const double v[3],
                        const struct hermite_force *force, double a2[3], double a3[3])
{
  double dt2 = dt * dt;
  for (int c = 0; c < 3; c++) {
    double da = motion->a[c] - force->a[c];
    double s2 = (-6 * da - dt * (4 * motion->j[c] + 2 * force->j[c])) / dt2,
           s3 = (12 * da + 6 * dt * (motion->j[c] + force->j[c])) / (dt2 * dt);
    motion->x[c] = x[c] + dt2 * dt2 * (s2 / 24 + dt * s3 / 120);
    motion->v[c] = v[c] + dt2 * dt * (s2 / 6 + dt * s3 / 24);
    motion->a[c] = force->a[c];
    motion->j[c] = force->j[c];
    a2[c] = s2 + dt * s3;
    a3[c] = s3;
  }
}

HD double hermite_modulus2(const double a[3]) { return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]; }

/* The step of Aarseth (1985) with a floor `background` on the acceleration, that a pair at R2 has: eta sqrt((A |a2| +
 * j^2) / (|j| |a3| + a2^2)), A^2 = a^2 + background^2; or eta min(sqrt(A / |a2|), cbrt(A / |a3|)) where that is longer.
 * The two are alike for smooth forces. A small jump of the force, as where a neighbour becomes a part of a unit, makes
 * |a3| large in the first one and the step as short as eta^2 |a| / |j|, but not in the second one. Without a force:
 * 1e300. */
HD double hermite_step(const double a[3], const double j[3], const double a2[3], const double a3[3], double eta,
                       double background)
{
  double aa = hermite_modulus2(a) + background * background, jj = hermite_modulus2(j), ss = hermite_modulus2(a2),
         cc = hermite_modulus2(a3);
  double below = sqrt(jj * cc) + ss;
  if (!(below > 0)) return 1e300;
  double jump = fmin(ss > 0 ? sqrt(sqrt(aa / ss)) : 1e300, cc > 0 ? cbrt(sqrt(aa / cc)) : 1e300);
  return eta * fmax(sqrt((sqrt(aa * ss) + jj) / below), jump);
}

/* The first step, from acceleration and jerk alone. Without a jerk: 1e300. */
HD double hermite_first_step(const double a[3], const double j[3], double eta, double background)
{
  double jj = hermite_modulus2(j);
  return jj > 0 ? eta * sqrt((hermite_modulus2(a) + background * background) / jj) : 1e300;
}

/* Least distance squared of two particles on straight lines within the time `horizon`: d at its begin, relative
 * velocity u. */
HD double hermite_closest2(const double d[3], const double u[3], double horizon)
{
  double uu = hermite_modulus2(u), t = uu > 0 ? -(d[0] * u[0] + d[1] * u[1] + d[2] * u[2]) / uu : 0, sum = 0;
  t = t < 0 ? 0 : t > horizon ? horizon : t;
  for (int c = 0; c < 3; c++) sum += (d[c] + t * u[c]) * (d[c] + t * u[c]);
  return sum;
}
#endif
