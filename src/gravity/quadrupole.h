/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard forces of and on bodies with a quadrupole: units of stars as their neighbours see them. W is the hard potential
 * of a point mass, W' = - K / r^2. In double precision, on the host and on devices. Masses are G m. */
#ifndef QUADRUPOLE_H
#define QUADRUPOLE_H
#include "gravity/hermite.h"
#include "gravity/kepler.h"

/* K and its first three derivatives at the distance r. */
HD_CALL void split_derivatives(const struct hermite_split *split, double r, double k[4])
{
  double i = split->inverse, y = (split->r2 - r) * i, k3 = 0, k2 = 0;
  hermite_kernel(split, r, &k[0], &k[1]);
  y = y > 1 ? 1 : y > 0 ? y : 0;
  switch (split->kernel) {
#define QUADRUPOLE_CASE(kernel, name) \
  case SPLIT_##kernel: k2 = SPLIT_K2_##kernel(y), k3 = SPLIT_K3_##kernel(y); break;
    SPLIT_KERNELS(QUADRUPOLE_CASE)
#undef QUADRUPOLE_CASE
  }
  int inside = y > 0 && y < 1; /* beyond R1 and R2 K is constant */
  k[2] = inside ? k2 * i * i : 0;
  k[3] = inside ? -k3 * i * i * i : 0;
}

/* Radial functions of W: f[0] = W' / r, f[n + 1] = f[n]' / r. */
HD void quadrupole_radial(double r, const double k[4], double f[4])
{
  double i = 1 / r, i2 = i * i, i3 = i2 * i, i5 = i3 * i2, i7 = i5 * i2;
  f[0] = -k[0] * i3;
  f[1] = 3 * k[0] * i5 - k[1] * i2 * i2;
  f[2] = -15 * k[0] * i7 + 7 * k[1] * i5 * i - k[2] * i5;
  f[3] = 105 * k[0] * i7 * i2 - 57 * k[1] * i7 * i + 12 * k[2] * i7 - k[3] * i5 * i;
}

/* Add `sign` times the acceleration and jerk at d, with the velocity w, from the centre of a body with the quadrupole q
 * = sum m x x and its rate. */
HD void quadrupole_add(const double q[3][3], const double rate[3][3], const double d[3], const double w[3],
                       const double f[4], double sign, double a[3], double j[3])
{
  double y[3], z[3], trace = 0, trace_rate = 0;
  for (int c = 0; c < 3; c++) {
    y[c] = kepler_dot(q[c], d);
    z[c] = kepler_dot(q[c], w) + kepler_dot(rate[c], d);
    trace += q[c][c];
    trace_rate += rate[c][c];
  }
  double s = kepler_dot(y, d), s_rate = kepler_dot(y, w) + kepler_dot(z, d), along = kepler_dot(d, w);
  double e = f[1] * trace + f[2] * s;
  double e_rate = f[2] * along * trace + f[1] * trace_rate + f[3] * along * s + f[2] * s_rate;
  for (int c = 0; c < 3; c++) {
    a[c] += 0.5 * sign * (e * d[c] + 2 * f[1] * y[c]);
    j[c] += 0.5 * sign * (e_rate * d[c] + e * w[c] + 2 * f[2] * along * y[c] + 2 * f[1] * z[c]);
  }
}

/* <d d> over the orbit of a bound pair. */
HD_CALL void quadrupole_of_orbit(double mu, const double d[3], const double u[3], double q[3][3])
{
  double h[3], e[3], r = sqrt(kepler_dot(d, d)), a = 1 / (2 / r - kepler_dot(u, u) / mu), e2 = 0;
  kepler_cross(d, u, h);
  kepler_cross(u, h, e);
  for (int c = 0; c < 3; c++) {
    e[c] = e[c] / mu - d[c] / r;
    h[c] /= sqrt(mu * a);
    e2 += e[c] * e[c];
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) q[i][j] = 0.5 * a * a * ((i == j) * (1 - e2) + 5 * e[i] * e[j] - h[i] * h[j]);
}
#endif
