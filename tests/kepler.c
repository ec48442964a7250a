/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bound motion of two point masses (gravity/kepler.h). */
#include <config.h>
#include "gravity/kepler.h"

#include "tap.h"

static const double eccentricities[] = {0, 1e-9, 0.5, 0.99, 0.999999, 1 - 1e-10};
enum { ECCENTRICITIES = sizeof eccentricities / sizeof *eccentricities, PHASES = 12 };

/* The pair on an orbit of semi-major axis a and eccentricity 1 - q at the eccentric anomaly x, in a tilted plane. By
 * long doubles. */
static void place(double mu, double a, double q, double x, double d[3], double u[3])
{
  const double p[3] = {0.36, 0.48, -0.8}, w[3] = {-0.8, 0.6, 0};
  long double e = 1 - (long double)q, b = sqrtl(q * (1 + e)), half = sinl(0.5L * x), r = a * (q + 2 * e * half * half);
  long double along = a * (q - 2 * half * half), across = a * b * sinl(x), speed = sqrtl((long double)mu * a) / r;
  for (int c = 0; c < 3; c++) {
    d[c] = (double)(along * p[c] + across * w[c]);
    u[c] = (double)(speed * (b * cosl(x) * w[c] - sinl(x) * p[c]));
  }
}

static double distance(const double a[3], const double b[3])
{
  double sum = 0;
  for (int c = 0; c < 3; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sqrt(sum);
}

/* Change of the energy in units of mu / r at the worse end, and of the angular momentum in units of r v. */
static double change(double mu, const double d[3], const double u[3], const double e[3], const double w[3])
{
  double r = sqrt(kepler_dot(d, d)), s = sqrt(kepler_dot(e, e)), h[3], g[3];
  double before = 0.5 * kepler_dot(u, u) - mu / r, after = 0.5 * kepler_dot(w, w) - mu / s;
  kepler_cross(d, u, h);
  kepler_cross(e, w, g);
  double turn = fmax(r * sqrt(kepler_dot(u, u)), s * sqrt(kepler_dot(w, w)));
  return fmax(fabs(after - before) * fmin(r, s) / mu, distance(g, h) / turn);
}

static void elements(void)
{
  int good = 1, precise = 1;
  for (int i = 0; i < ECCENTRICITIES; i++) {
    for (int k = 0; k < PHASES; k++) {
      double d[3], u[3], q = 1 - eccentricities[i];
      struct kepler_orbit o = {0};
      place(2, 0.01, q, 0.3 + 2 * KEPLER_PI * k / PHASES, d, u);
      good &= kepler_elements(2, d, u, &o);
      good &= fabs(o.a / 0.01 - 1) < 1e-13 && fabs(o.e - (1 - q)) < 1e-12 && fabs(o.binding / 100 - 1) < 1e-13;
      good &= fabs(o.period / (2 * KEPLER_PI * sqrt(1e-6 / 2)) - 1) < 1e-13;
      precise &= fabs(o.one_minus_e - q) < 1e-10 * q + 1e-16 * sqrt(q);
    }
  }
  tap_ok(good, "semi-major axis, eccentricity, period and binding energy");
  tap_ok(precise, "1 - e of narrow ellipses");
  double d[3] = {1, 0, 0}, u[3] = {0, 1.5, 0}, none[3] = {0, 0, 0};
  struct kepler_orbit o;
  tap_ok(!kepler_elements(1, d, u, &o) && !kepler_advance(1, 1, d, u) && d[0] == 1 && u[1] == 1.5,
         "an unbound pair is refused");
  tap_ok(!kepler_elements(1, none, u, &o) && !kepler_advance(1, 1, none, none), "a pair at one place is refused");
}

/* Kepler's equation holds. */
static void anomalies(void)
{
  double worst = 0;
  for (int i = 0; i < ECCENTRICITIES; i++) {
    for (double t = 1e-18; t < KEPLER_PI; t *= 1.7) {
      double q = 1 - eccentricities[i], x = kepler_anomaly(t, 1 - q, q), half = sin(x / 2);
      /* as an error of the anomaly, relative */
      double slope = q + 2 * (1 - q) * half * half, f = kepler_less_sine(x) + q * sin(x) - t;
      worst = fmax(worst, fabs(f / (slope * x)));
      if (kepler_anomaly(-t, 1 - q, q) != -x) worst = 1;
    }
  }
  printf("# anomaly: relative error %.1e\n", worst);
  tap_ok(worst < 2e-15, "Kepler's equation for mean anomalies from 1e-18 to pi");
}

/* From one place of the orbit to another by the analytic solution, whole periods added. Errors are in units of those
 * that rounding of the state and of the time makes: the energy, and so the period, has a relative error of 2 a / r
 * roundings. */
static void advances(double periods)
{
  double worst = 0, kept = 0, back = 0;
  const double mu = 3, a = 0.25, period = 2 * KEPLER_PI * a * sqrt(a / mu), bound = 30, rounding = 1.1e-16;
  for (int i = 0; i < ECCENTRICITIES; i++) {
    double q = 1 - eccentricities[i];
    for (int k = 0; k < PHASES; k++) {
      double x = 0.1 + 2 * KEPLER_PI * k / PHASES, d[3], u[3], e[3], w[3], expected[3], ignored[3];
      place(mu, a, q, x, d, u);
      double mean = kepler_less_sine(x) + q * sin(x) + 2 * KEPLER_PI * remainder(periods, 1);
      place(mu, a, q, kepler_anomaly(remainder(mean, 2 * KEPLER_PI), 1 - q, q), expected, ignored);
      for (int c = 0; c < 3; c++) {
        e[c] = d[c];
        w[c] = u[c];
      }
      if (!kepler_advance(mu, periods * period, e, w)) worst = 1e300;
      double r = sqrt(kepler_dot(d, d)), s = sqrt(kepler_dot(e, e)),
             unit = rounding * (1 + 2 * KEPLER_PI * fabs(periods)) * period;
      worst = fmax(worst, distance(e, expected) / (rounding * a * (1 + a / r) + unit * a / r * sqrt(kepler_dot(w, w))));
      kept = fmax(kept, change(mu, d, u, e, w));
      kepler_advance(mu, -periods * period, e, w);
      back = fmax(back, distance(e, d) /
                            (rounding * a * (1 + a / r + a / s) + unit * (a / r + a / s) * sqrt(kepler_dot(u, u))));
    }
  }
  char what[120];
  printf("# %g periods: position %.1f, reversal %.1f roundings, integrals %.1e\n", periods, worst, back, kept);
  snprintf(what, sizeof what, "%g periods: the analytic position", periods);
  tap_ok(worst < bound, what);
  snprintf(what, sizeof what, "%g periods: energy and angular momentum are kept", periods);
  tap_ok(kept < 3e-15, what);
  snprintf(what, sizeof what, "%g periods: and back", periods);
  tap_ok(back < bound, what);
}

/* Many calls: no drift of the integrals, and the phase of one call over the sum. */
static void many(void)
{
  double drift = 0, phase = 0;
  for (int i = 0; i < ECCENTRICITIES - 1; i++) {
    double q = 1 - eccentricities[i], d[3], u[3], e[3], w[3], period = 2 * KEPLER_PI;
    place(1, 1, q, 2.5, d, u);
    for (int c = 0; c < 3; c++) {
      e[c] = d[c];
      w[c] = u[c];
    }
    for (int k = 0; k < 1000; k++) kepler_advance(1, 3.7 * period, e, w); /* 3700 periods */
    drift = fmax(drift, change(1, d, u, e, w));
    phase = fmax(phase, distance(d, e));
  }
  printf("# 1000 calls: integrals %.1e, position %.1e\n", drift, phase);
  tap_ok(drift < 1e-12, "1000 calls: energy and angular momentum");
  tap_ok(phase < 3e-8, "1000 calls: phase"); /* an error of the energy grows in time */
}

/* A leapfrog of tiny steps, extrapolated to fourth order. */
static void integrated(double q, double x, double span)
{
  double got[2][3], d[3], u[3], e[3], w[3];
  place(1, 1, q, x, d, u);
  for (int level = 0; level < 2; level++) {
    int steps = 200000 << level;
    double h = span / steps;
    for (int c = 0; c < 3; c++) {
      e[c] = d[c];
      w[c] = u[c];
    }
    for (int k = 0; k < steps; k++) {
      for (int c = 0; c < 3; c++) e[c] += 0.5 * h * w[c];
      double r2 = kepler_dot(e, e), f = h / (r2 * sqrt(r2));
      for (int c = 0; c < 3; c++) {
        w[c] -= f * e[c];
        e[c] += 0.5 * h * w[c];
      }
    }
    for (int c = 0; c < 3; c++) got[level][c] = e[c];
  }
  kepler_advance(1, span, d, u);
  double error = 0;
  for (int c = 0; c < 3; c++) error = fmax(error, fabs((4 * got[1][c] - got[0][c]) / 3 - d[c]));
  char what[100];
  snprintf(what, sizeof what, "1 - e = %g: against an integration over %g", q, span);
  printf("# error %.1e\n", error);
  tap_ok(error < 1e-9, what);
}

/* A motion on a line, and one that starts at rest. */
static void line(void)
{
  double d[3] = {0, 2, 0}, u[3] = {0, 0, 0}, t = KEPLER_PI / 2 + 1; /* a = 1, from the apocentre to E = 3 pi / 2 */
  int good = kepler_advance(1, t, d, u);
  tap_ok(good && fabs(d[1] - 1) < 1e-14 && fabs(u[1] + 1) < 1e-14 && d[0] == 0, "fall from rest: e = 1");
}

/* A tide on an orbit: the averaged turn against steps of a leapfrog with the tide, over whole periods. */
static void turned(double q)
{
  const double tide[3][3] = {{2e-5, 1e-5, 0}, {1e-5, -1e-5, 3e-6}, {0, 3e-6, -1e-5}};
  double d[3], u[3], e[3], w[3], span = 20 * 2 * KEPLER_PI, change = 0, error = 0, h0[3], h1[3], h2[3];
  struct kepler_orbit before, after;
  place(1, 1, q, 2, d, u);
  for (int c = 0; c < 3; c++) {
    e[c] = d[c];
    w[c] = u[c];
  }
  kepler_elements(1, d, u, &before);
  kepler_cross(d, u, h0);
  kepler_turn(1, tide, span, d, u);
  int steps = 2000;
  for (int k = 0; k < steps; k++) { /* Kepler's motion is exact, so the tide alone needs steps */
    double h = span / steps;
    kepler_advance(1, 0.5 * h, e, w);
    for (int c = 0; c < 3; c++) w[c] += h * kepler_dot(tide[c], e);
    kepler_advance(1, 0.5 * h, e, w);
  }
  kepler_elements(1, d, u, &after);
  kepler_cross(d, u, h1);
  kepler_cross(e, w, h2);
  change = fmax(distance(h1, h0), fabs(after.e - before.e));
  error = distance(h1, h2);
  double a = after.a;
  kepler_elements(1, e, w, &before);
  error = fmax(error, fabs(after.e - before.e));
  printf("# turned by %.1e, error %.1e, axis %.1e\n", change, error, a - 1);
  char what[100];
  snprintf(what, sizeof what, "1 - e = %g: the averaged tide against one that is resolved", q);
  tap_ok(change > 2e-4 && error < 0.05 * change, what);
  snprintf(what, sizeof what, "1 - e = %g: it keeps the semi-major axis", q);
  tap_ok(fabs(a - 1) < 1e-14, what);
}

int main(void)
{
  elements();
  anomalies();
  const double periods[] = {0, 1e-3, 0.25, 0.5, 1, 7.3, 1000, 1e5};
  for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) advances(periods[i]);
  advances(-12.6);
  many();
  integrated(1, 0, 6);
  integrated(0.5, 1, 10);
  integrated(0.05, 3, 3);
  line();
  turned(0.9);
  turned(0.5);
  turned(0.02);
  return tap_end();
}
