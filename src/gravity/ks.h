/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The relative motion of two point masses in the coordinates of Kustaanheimo & Stiefel (1965), advanced in Sundman's
 * time s, dt = r ds: Kepler drifts that are exact, and kicks (a leapfrog whose step shortens with the distance, so that
 * it takes equally many kicks an orbit at any eccentricity; Mikkola & Tanikawa 1999). The drift keeps the semi-major
 * axis to rounding at any eccentricity, which universal functions of position and velocity do not. In double precision,
 * on the host and on devices. Masses are G m. */
#ifndef KS_H
#define KS_H
#include "gravity/kepler.h"

/* A pair: d = L(q) q, p = dq/ds, beta = 2 mu / r - u.u (carried: an orbit's energy is changed by kicks alone). */
struct ks_pair {
  double q[4], p[4], beta;
  double step; /* of s between two kicks */
  double t;    /* its own clock, up to one step apart from that of the pair's centre of mass */
};

HD void ks_position(const double q[4], double d[3])
{
  d[0] = q[0] * q[0] - q[1] * q[1] - q[2] * q[2] + q[3] * q[3];
  d[1] = 2 * (q[0] * q[1] - q[2] * q[3]);
  d[2] = 2 * (q[0] * q[2] + q[1] * q[3]);
}

HD double ks_distance(const struct ks_pair *pair)
{
  const double *q = pair->q;
  return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
}

HD void ks_velocity(const struct ks_pair *pair, double u[3])
{
  const double *q = pair->q, *p = pair->p, w = 2 / ks_distance(pair);
  u[0] = w * (q[0] * p[0] - q[1] * p[1] - q[2] * p[2] + q[3] * p[3]);
  u[1] = w * (q[1] * p[0] + q[0] * p[1] - q[3] * p[2] - q[2] * p[3]);
  u[2] = w * (q[2] * p[0] + q[3] * p[1] + q[0] * p[2] + q[1] * p[3]);
}

/* d.u of the pair. */
HD double ks_along(const struct ks_pair *pair)
{
  const double *q = pair->q, *p = pair->p;
  return 2 * (q[0] * p[0] + q[1] * p[1] + q[2] * p[2] + q[3] * p[3]);
}

/* Change the relative velocity by w. */
HD void ks_kick(struct ks_pair *pair, const double w[3])
{
  double u[3], *q = pair->q;
  ks_velocity(pair, u);
  pair->beta -= 2 * kepler_dot(u, w) + kepler_dot(w, w);
  pair->p[0] += 0.5 * (q[0] * w[0] + q[1] * w[1] + q[2] * w[2]);
  pair->p[1] += 0.5 * (-q[1] * w[0] + q[0] * w[1] + q[3] * w[2]);
  pair->p[2] += 0.5 * (-q[2] * w[0] - q[3] * w[1] + q[0] * w[2]);
  pair->p[3] += 0.5 * (q[3] * w[0] - q[2] * w[1] + q[1] * w[2]);
}

/* The pair of mass mu with the relative position d (not 0) and velocity u, at the time t; step: 0. */
HD void ks_open(struct ks_pair *pair, double mu, const double d[3], const double u[3], double t)
{
  double r = sqrt(kepler_dot(d, d)), *q = pair->q;
  if (d[0] >= 0) {
    q[0] = sqrt(0.5 * (r + d[0]));
    q[1] = 0.5 * d[1] / q[0];
    q[2] = 0.5 * d[2] / q[0];
    q[3] = 0;
  } else {
    q[1] = sqrt(0.5 * (r - d[0]));
    q[0] = 0.5 * d[1] / q[1];
    q[2] = 0;
    q[3] = 0.5 * d[2] / q[1];
  }
  for (int k = 0; k < 4; k++) pair->p[k] = 0;
  pair->beta = 0;
  ks_kick(pair, u);
  pair->beta = 2 * mu / r - kepler_dot(u, u);
  pair->step = 0;
  pair->t = t;
}

/* Stumpff's G1 to G3 of beta and s: halved until the series is short, then doubled back. */
HD void ks_stumpff(double beta, double s, double g[4])
{
  double y = beta * s * s;
  int halvings = 0;
  for (; fabs(y) > 0.1 && halvings < 60; halvings++) y *= 0.25;
  double c3 = (1.0 / 6) * (1 - y / 20 * (1 - y / 42 * (1 - y / 72 * (1 - y / 110 * (1 - y / 156)))));
  double c2 = 0.5 * (1 - y / 12 * (1 - y / 30 * (1 - y / 56 * (1 - y / 90 * (1 - y / 132)))));
  double c1 = 1 - y * c3, c0 = 1 - y * c2;
  for (; halvings > 0; halvings--) {
    c3 = (c2 + c0 * c3) * 0.25;
    c2 = c1 * c1 * 0.5;
    c1 = c0 * c1;
    c0 = 2 * c0 * c0 - 1;
  }
  g[0] = c0;
  g[1] = c1 * s;
  g[2] = c2 * s * s;
  g[3] = c3 * s * s * s;
}

/* Kepler motion over the step s. Its time is added to the clock. */
HD void ks_drift(struct ks_pair *pair, double mu, double s)
{
  double g[4], quarter = 0.25 * pair->beta, r = ks_distance(pair), along = ks_along(pair);
  ks_stumpff(quarter, s, g);
  double bend = quarter * g[2], cosine = 1 - bend; /* sums of small changes: 1 - bend, rounded, would make a trend */
  pair->t += r * s + along * 0.5 * g[1] * g[1] + (mu - pair->beta * r) * (s * g[2] + cosine * g[3]) * 0.25;
  for (int k = 0; k < 4; k++) {
    double q = pair->q[k];
    pair->q[k] += g[1] * pair->p[k] - bend * q;
    pair->p[k] -= quarter * g[1] * q + bend * pair->p[k];
  }
}

/* Kepler motion up to the time t, which is not before the pair's clock; for less than an orbit. Halley's method on s:
 * t' = r, t'' = d.u. It ends where the clock differs from t by rounding, which the last linear step takes out. */
HD_CALL void ks_advance(struct ks_pair *pair, double mu, double t)
{
  double dt = t - pair->t, low = 0, high = 1e300, s = dt / ks_distance(pair);
  struct ks_pair at = *pair;
  if (!(dt > 0)) {
    pair->t = t;
    return;
  }
  if (pair->step > 0) s = fmin(s, 2 * pair->step);
  if (pair->beta < 0) s = fmin(s, 2 / sqrt(-pair->beta)); /* exp(s) again */
  for (int k = 0; k < 100; k++) {
    at = *pair;
    ks_drift(&at, mu, s);
    double late = at.t - t, r = ks_distance(&at), along = ks_along(&at);
    if (late < 0) low = s;
    else high = s;                                   /* or overflown */
    if (fabs(late) <= 2e-16 * (dt + fabs(t))) break; /* the clock's rounding */
    double newton = late / r, below = 1 - 0.5 * newton * along / r, next = s - newton / (below > 0.5 ? below : 1);
    if (!(next > low && next < high)) next = high < 1e300 ? 0.5 * (low + high) : 2 * s;
    if (!(high < 1e300)) next = fmin(next, 2 * s); /* hyperbolas grow as exp(s) */
    if (next == s) break;
    s = next;
  }
  *pair = at;
  pair->t = t;
}
#endif
