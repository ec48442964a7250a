/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pair of stars that is followed along its orbit, bound or unbound: Kepler drifts and kicks in Sundman's time
 * (gravity/ks.h) with the exact pulls of its neighbours. On the host and on devices. Masses are G m. */
#ifndef RESOLVED_PAIR_H
#define RESOLVED_PAIR_H
#include <stdint.h>

#include "gravity/contacts.h"
#include "gravity/ks.h"
#include "gravity/unit_environment.h"

#define RESOLVED_KICKS 32 /* an orbit */

/* The pair at the time t. entry: distance within which passing pairs are resolved; the steps of a pair that is not
 * bound closer than that are those of an orbit of this size. */
HD_CALL void resolved_open(struct ks_pair *pair, double mu, const double d[3], const double u[3], double t,
                           double entry)
{
  ks_open(pair, mu, d, u, t);
  double b = fabs(pair->beta), r = ks_distance(pair);
  if (pair->beta < 0 || b < mu / entry) b = fmax(b, mu / fmax(fmin(r, entry), 0.1 * entry));
  pair->step = 2 * KEPLER_PI / (RESOLVED_KICKS * sqrt(b));
}

/* Kick by what acts on the members, for the step h of s. */
HD void resolved_kick(struct ks_pair *pair, double m1, double m2, const struct unit_environment *environment, double h)
{
  double d[3], x[2][3], f[2][3], w[3], dt = ks_distance(pair) * h, m[2] = {m1, m2};
  ks_position(pair->q, d);
  for (int c = 0; c < 3; c++) {
    x[0][c] = -m2 / (m1 + m2) * d[c];
    x[1][c] = m1 / (m1 + m2) * d[c];
  }
  unit_external(environment, pair->t, 2, x, m, f);
  for (int c = 0; c < 3; c++) w[c] = dt * (f[1][c] - f[0][c]);
  ks_kick(pair, w);
}

/* The orbit of a pair, and where on it the stars are. */
HD struct contact_orbit resolved_orbit(const struct ks_pair *pair, double mu)
{
  double d[3], u[3];
  ks_position(pair->q, d);
  ks_velocity(pair, u);
  return contact_orbit_of(mu, pair->beta, d, u);
}

/* Whether the pair has come within `radii` from `before` until now, which is less than half an orbit. */
HD int resolved_meets(const struct ks_pair *before, const struct ks_pair *now, double mu, double radii)
{
  if (ks_distance(before) < radii || ks_distance(now) < radii) return 1;
  return ks_along(before) < 0 && ks_along(now) >= 0 && resolved_orbit(now, mu).pericentre < radii;
}

/* Whole steps, as many as end by the time t, or until the stars have come within `radii` (0: they never do), which sets
 * *met. Returns the number of steps. */
HD_CALL int64_t resolved_advance_until(struct ks_pair *pair, double m1, double m2,
                                       const struct unit_environment *environment, double t, double radii, int *met)
{
  for (int64_t kicks = 0;; kicks++) {
    struct ks_pair before = *pair;
    ks_drift(pair, m1 + m2, 0.5 * pair->step);
    if (pair->t < t) {
      resolved_kick(pair, m1, m2, environment, pair->step);
      ks_drift(pair, m1 + m2, 0.5 * pair->step);
      if (pair->t < t) {
        if (!(radii > 0) || !resolved_meets(&before, pair, m1 + m2, radii)) continue;
        *met = 1;
        return kicks + 1;
      }
    }
    *pair = before;
    return kicks;
  }
}

/* The same without radii. */
HD_CALL int64_t resolved_advance(struct ks_pair *pair, double m1, double m2, const struct unit_environment *environment,
                                 double t)
{
  int met = 0;
  return resolved_advance_until(pair, m1, m2, environment, t, 0, &met);
}

/* The rest up to the time t: one kick between two Kepler drifts by time. */
HD_CALL void resolved_finish(struct ks_pair *pair, double m1, double m2, const struct unit_environment *environment,
                             double t)
{
  double dt = t - pair->t;
  if (!(dt > 0)) return;
  ks_advance(pair, m1 + m2, t - 0.5 * dt);
  resolved_kick(pair, m1, m2, environment, dt / ks_distance(pair));
  ks_advance(pair, m1 + m2, t);
}

/* The second star of a pair of mass mu from the first one at the time t. */
HD_CALL void resolved_relative(const struct ks_pair *pair, double mu, double t, double d[3], double u[3])
{
  struct ks_pair now = *pair;
  ks_advance(&now, mu, t);
  ks_position(now.q, d);
  ks_velocity(&now, u);
}
#endif
