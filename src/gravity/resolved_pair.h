/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pair of stars that is followed along its orbit, bound or unbound: Kepler drifts and kicks in Sundman's time
 * (gravity/ks.h) with the exact pulls of its neighbours. On the host and on devices. Masses are G m. */
#ifndef RESOLVED_PAIR_H
#define RESOLVED_PAIR_H
#include <stdint.h>

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

/* Whole steps, as many as end by the time t. Returns their number. */
HD_CALL int64_t resolved_advance(struct ks_pair *pair, double m1, double m2, const struct unit_environment *environment,
                                 double t)
{
  for (int64_t kicks = 0;; kicks++) {
    struct ks_pair before = *pair;
    ks_drift(pair, m1 + m2, 0.5 * pair->step);
    if (pair->t < t) {
      resolved_kick(pair, m1, m2, environment, pair->step);
      ks_drift(pair, m1 + m2, 0.5 * pair->step);
      if (pair->t < t) continue;
    }
    *pair = before;
    return kicks;
  }
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
