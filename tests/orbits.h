/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orbits for tests of pairs and groups of stars. */
#ifndef ORBITS_H
#define ORBITS_H
#include <stdio.h>

#include "gravity/hermite.h"
#include "gravity/kepler.h"
#include "tap.h"

static const struct hermite_split orbits_newton = {SPLIT_SEPTIC, 1e6, 4e6, 1 / 3e6}; /* K = 1 */

static inline void orbits_say(int good, const char *what, double parameter)
{
  char text[160];
  snprintf(text, sizeof text, what, parameter);
  tap_ok(good, text);
}

static inline double distance(const double a[3], const double b[3])
{
  double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
  return sqrt(kepler_dot(d, d));
}

static inline double modulus(const double a[3]) { return sqrt(kepler_dot(a, a)); }

/* A pair at the apocentre of an orbit in a tilted plane. */
static inline void at_apocentre(double mu, double a, double e, double d[3], double u[3])
{
  const double p[3] = {0.36, 0.48, -0.8}, w[3] = {-0.8, 0.6, 0};
  double speed = sqrt(mu / a * (1 - e) / (1 + e));
  for (int c = 0; c < 3; c++) {
    d[c] = a * (1 + e) * p[c];
    u[c] = speed * w[c];
  }
}

/* Semi-major axis and eccentricity vector. */
static inline double axis_of(double mu, const double d[3], const double u[3], double e[3])
{
  double h[3], r = modulus(d);
  kepler_cross(d, u, h);
  kepler_cross(u, h, e);
  for (int c = 0; c < 3; c++) e[c] = e[c] / mu - d[c] / r;
  return 1 / (2 / r - kepler_dot(u, u) / mu);
}
#endif
