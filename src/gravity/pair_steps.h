/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kick-drift-kick steps for the hard part, with time steps by pairs (Pelupessy, Jaenes & Portegies Zwart 2012, eqs 12
 * to 16): the step of a particle is the shortest that any of its neighbours gives. In double precision, on the host and
 * on devices. Without the gravitational constant: masses are G m.
 *
 * With d = x_j - x_i, u = v_j - v_i, s^2 = r^2 + eps^2 and m the mass of both, a pair has the times
 *   sqrt(s^3 / m)   of a free fall, with the derivative t' = 1.5 t (d.u) / s^2, and
 *   s / |u|         of a fly-by, with t' = t (d.u) / s^2 (1 + m / (u^2 s)),
 * and eta t / (1 - eta t' / 2) is the step that is the same to second order whether it is chosen at its begin or,
 * backwards in time, at its end. Sums are of rates, 1 / t - eta t' / (2 t): they have no division by zero, and lanes
 * join them by their maximum. */
#ifndef PAIR_STEPS_H
#define PAIR_STEPS_H
#include "gravity/hermite.h"

#define PAIR_STEP_FACTOR 1.5   /* the correction makes a step at most so many times as long, and */
#define PAIR_STEP_SHORTEST 0.5 /* at least so many times */

/* A sum over the neighbours of a target of mass `gm`: acceleration, and the largest rate. */
struct pair_kick {
  double a[3], rate;
  double gm, eta;
};

/* The rate 1 / t corrected by change = eta t' / (2 t). */
HD double pair_rate(double rate, double change)
{
  double low = rate * (1 / PAIR_STEP_FACTOR), high = rate * (1 / PAIR_STEP_SHORTEST), corrected = rate - change;
  return corrected < low ? low : corrected > high ? high : corrected;
}

/* The rate of a pair: eta over its step. m: mass of both. s^2 = 0 has no rate. */
HD double pair_rates(double s2, double u2, double along, double m, double eta)
{
  double inverse2 = s2 > 0 ? 1 / s2 : 0, inverse = sqrt(inverse2), q = 0.5 * eta * along * inverse2;
  double fall = pair_rate(sqrt(m * inverse * inverse2), 1.5 * q);
  double fly = pair_rate(sqrt(u2) * inverse, u2 > 0 ? q * (1 + m * inverse / u2) : 0);
  return fall > fly ? fall : fly;
}

/* Add a source of mass m, as hermite_pair does. A source without mass does nothing. */
HD void pair_kick_add(struct pair_kick *kick, const double d[3], const double u[3], double m, double eps2,
                      const struct hermite_split *split)
{
  if (!(m > 0)) return;
  double r2 = hermite_modulus2(d), rho2 = r2 + eps2, along = d[0] * u[0] + d[1] * u[1] + d[2] * u[2], share, slope;
  double inverse2 = rho2 > 0 ? 1 / rho2 : 0,
         rate = pair_rates(rho2, hermite_modulus2(u), along, kick->gm + m, kick->eta);
  hermite_kernel(split, sqrt(r2), &share, &slope);
  double w = m * share * inverse2 * sqrt(inverse2);
  for (int c = 0; c < 3; c++) kick->a[c] += w * d[c];
  kick->rate = kick->rate > rate ? kick->rate : rate;
}

/* The step that a sum gives. No neighbours: 1e300. */
HD double pair_step(const struct pair_kick *kick) { return kick->rate > 0 ? kick->eta / kick->rate : 1e300; }

/* End a step: `motion` at its begin becomes the motion at its end; x as predicted, with the jerk of `motion` zero; k
 * evaluated there. */
HD void pair_kick_correct(struct hermite_motion *motion, double dt, const double x[3], const struct pair_kick *kick)
{
  for (int c = 0; c < 3; c++) {
    motion->x[c] = x[c];
    motion->v[c] += 0.5 * dt * (motion->a[c] + kick->a[c]);
    motion->a[c] = kick->a[c];
    motion->j[c] = 0;
  }
}
#endif
