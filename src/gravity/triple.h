/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hierarchical triple whose inner pair is followed along its orbit, where its mean quadrupole is not enough. Inner
 * and outer orbit are Kepler drifts in the coordinates of Kustaanheimo and Stiefel; kicks, in Sundman's time of the
 * inner pair, have what three points do to each other beyond these two orbits (Wisdom & Holman 1991, with a time step
 * that shortens at the pericentre: Mikkola 1997). On the host and on devices. Masses are G m. */
#ifndef TRIPLE_H
#define TRIPLE_H
#include <stdint.h>

#include "gravity/hierarchy.h"

#define TRIPLE_KICKS 32 /* an inner orbit, */
#define TRIPLE_TIDE \
  1e-3 /* and more where the tide at the outer pericentre, in units of the pair's binding, is above this */

/* outer: from the centre of the inner pair to the third star, at the time of the inner one. */
struct triple {
  double m1, m2, m3;
  struct ks_pair inner, outer;
};

HD void triple_open(struct triple *triple, const double m[3], const double d[3], const double u[3], const double x[3],
                    const double v[3], double t)
{
  triple->m1 = m[0];
  triple->m2 = m[1];
  triple->m3 = m[2];
  resolved_open(&triple->inner, m[0] + m[1], d, u, t, sqrt(kepler_dot(d, d)));
  triple->inner.step *= 2.0 * RESOLVED_KICKS / TRIPLE_KICKS;
  ks_open(&triple->outer, m[0] + m[1] + m[2], x, v, t);
  struct kepler_orbit inner, outer;
  if (!kepler_elements(m[0] + m[1], d, u, &inner) || !kepler_elements(m[0] + m[1] + m[2], x, v, &outer)) return;
  double ratio = inner.a / (outer.a * outer.one_minus_e), tide = 2 * m[2] / (m[0] + m[1]) * ratio * ratio * ratio;
  triple->inner.step *= fmin(1.0, sqrt(TRIPLE_TIDE / tide));
}

/* Kicks for the time dt. */
HD void triple_kick(struct triple *triple, const struct unit_environment *environment, double dt)
{
  double d[3], z[3], x[3][3], f[3][3], inner[3], outer[3], pair = triple->m1 + triple->m2, mass = pair + triple->m3;
  const double m[3] = {triple->m1, triple->m2, triple->m3};
  ks_position(triple->inner.q, d);
  ks_position(triple->outer.q, z);
  for (int c = 0; c < 3; c++) {
    x[0][c] = -triple->m3 / mass * z[c] - triple->m2 / pair * d[c];
    x[1][c] = -triple->m3 / mass * z[c] + triple->m1 / pair * d[c];
    x[2][c] = pair / mass * z[c];
  }
  unit_external(environment, triple->inner.t, 3, (const double(*)[3])x, m, f);
  double r2 = kepler_dot(z, z), whole = mass / (r2 * sqrt(r2)); /* what the outer orbit has */
  for (int c = 0; c < 3; c++) {
    inner[c] = f[1][c] - f[0][c];
    outer[c] = f[2][c] - (m[0] * f[0][c] + m[1] * f[1][c]) / pair + whole * z[c];
  }
  for (int k = 0; k < 2; k++) {
    double y[3];
    for (int c = 0; c < 3; c++) y[c] = z[c] + (k == 0 ? triple->m2 : -triple->m1) / pair * d[c];
    double s2 = kepler_dot(y, y), w = 1 / (s2 * sqrt(s2));
    for (int c = 0; c < 3; c++) {
      inner[c] += (k == 0 ? -1 : 1) * triple->m3 * w * y[c];
      outer[c] -= mass / pair * m[k] * w * y[c];
    }
  }
  for (int c = 0; c < 3; c++) {
    inner[c] *= dt;
    outer[c] *= dt;
  }
  ks_kick(&triple->inner, inner);
  ks_kick(&triple->outer, outer);
}

/* Both orbits by the step s of the inner one. */
HD void triple_drift(struct triple *triple, double s)
{
  ks_drift(&triple->inner, triple->m1 + triple->m2, s);
  ks_advance(&triple->outer, triple->m1 + triple->m2 + triple->m3, triple->inner.t);
}

/* Whole steps, as many as end by the time t, or until the stars of the inner pair have come within `radii` (0: they
 * never do), which sets *met. Returns the number of kicks. */
HD int64_t triple_advance(struct triple *triple, const struct unit_environment *environment, double t, double radii,
                          int *met)
{
  double step = triple->inner.step, early = HIERARCHY_NODE * step;
  for (int64_t kicks = 0;; kicks += 2) {
    struct triple before = *triple;
    triple_drift(triple, early);
    triple_kick(triple, environment, 0.5 * step * ks_distance(&triple->inner));
    triple_drift(triple, step - 2 * early);
    triple_kick(triple, environment, 0.5 * step * ks_distance(&triple->inner));
    triple_drift(triple, early);
    if (triple->inner.t < t) {
      if (!(radii > 0) || !resolved_meets(&before.inner, &triple->inner, triple->m1 + triple->m2, radii)) continue;
      *met = 1;
      return kicks + 2;
    }
    *triple = before;
    return kicks;
  }
}

HD void triple_drift_to(struct triple *triple, double t)
{
  ks_advance(&triple->inner, triple->m1 + triple->m2, t);
  ks_advance(&triple->outer, triple->m1 + triple->m2 + triple->m3, t);
}

/* The rest up to the time t: a step between Kepler drifts by time. */
HD void triple_finish(struct triple *triple, const struct unit_environment *environment, double t)
{
  double dt = t - triple->inner.t;
  if (!(dt > 0)) return;
  triple_drift_to(triple, t - (1 - HIERARCHY_NODE) * dt);
  triple_kick(triple, environment, 0.5 * dt);
  triple_drift_to(triple, t - HIERARCHY_NODE * dt);
  triple_kick(triple, environment, 0.5 * dt);
  triple_drift_to(triple, t);
}
#endif
