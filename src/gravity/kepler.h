/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bound motion of two point masses: elements, and the advance over any time by Kepler's equation. In double precision, on the host and
 * on devices. mu = G (m1 + m2); d and u are position and velocity of the second particle relative to the first. */
#ifndef KEPLER_H
#define KEPLER_H
#include <math.h>

#include "base/hd.h"

#define KEPLER_PI 3.14159265358979323846
enum { KEPLER_ITERATIONS = 60 };   /* enough for bisection alone; a dozen is usual */

struct kepler_orbit {
  double a, e;          /* semi-major axis, eccentricity */
  double one_minus_e;   /* precise also where e is 1 within rounding */
  double period;
  double binding;       /* mu / (2 a): binding energy per unit of reduced mass */
  double e_cos, e_sin;  /* e cos E and e sin E with the present eccentric anomaly E */
};

/* x1 y1 - x2 y2 to a relative error of about 1e-16 (Kahan's difference of products). */
HD double kepler_minor(double x1, double y1, double x2, double y2)
{
  double w = x2 * y2;
  return fma(x1, y1, -w) - fma(x2, y2, -w);
}

HD double kepler_dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

HD void kepler_cross(const double a[3], const double b[3], double c[3])
{
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    c[i] = kepler_minor(a[j], b[k], a[k], b[j]);
  }
}

/* The elements of a pair. Returns 1, or 0 where it is not bound, or at the same place; *o is then undefined. */
HD int kepler_elements(double mu, const double d[3], const double u[3], struct kepler_orbit *o)
{
  double r = sqrt(kepler_dot(d, d)), h[3];
  if (!(r > 0) || !(mu > 0)) return 0;
  double inverse = (2 * mu / r - kepler_dot(u, u)) / mu;
  if (!(inverse > 0) || !(inverse < 1e300)) return 0;
  kepler_cross(d, u, h);
  o->a = 1 / inverse;
  o->period = 2 * KEPLER_PI * o->a * sqrt(o->a / mu);
  o->binding = 0.5 * mu * inverse;
  o->e_cos = 1 - r * inverse;
  o->e_sin = kepler_dot(d, u) / sqrt(mu * o->a);
  o->e = fmin(sqrt(o->e_cos * o->e_cos + o->e_sin * o->e_sin), 1.0);
  o->one_minus_e = fmin(kepler_dot(h, h) / (mu * o->a), 1.0) / (1 + o->e);
  return 1;
}

/* x - sin x, to a relative error of about 1e-16. */
HD double kepler_less_sine(double x)
{
  double s = x * x, sum = 1;
  if (s > 1) return x - sin(x);
  for (int k = 10; k >= 2; k--) sum = 1 - s / ((2 * k) * (2 * k + 1.0)) * sum;
  return x * s / 6 * sum;
}

/* The eccentric anomaly of the mean anomaly m, |m| <= pi: E - sin E + q sin E = m with q = 1 - e, which is precise near the pericentre of a
 * narrow ellipse. Halley's method within a bracket. */
HD double kepler_anomaly(double m, double e, double q)
{
  double t = fabs(m), low = t, high = fmin(fmin(t + e, KEPLER_PI), q > 0 ? t / q : KEPLER_PI);
  double x = fmin(fmin(t + 0.85 * e, 1.2 * cbrt(6 * t)), high);
  for (int i = 0; i < KEPLER_ITERATIONS && low < high; i++) {
    double s = sin(x), half = sin(0.5 * x);
    double f = kepler_less_sine(x) + q * s - t, slope = q + 2 * e * half * half, bend = e * s;
    if (f == 0) break;
    if (f > 0) high = x;
    else low = x;
    double step = slope > 0 ? f / slope : 0, below = slope > 0 ? 1 - 0.5 * step * bend / slope : 0;
    double next = below > 0.5 ? x - step / below : x - step;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    double change = fabs(next - x);
    x = next;
    if (change <= 2e-16 * x) break;
  }
  return m < 0 ? -x : x;
}

/* The axes of an ellipse: P to its pericentre, Q along the motion there. `cosine` and `sine`: of the true anomaly at d. */
HD void kepler_axes(const double d[3], const double u[3], double cosine, double sine, double p[3], double q[3])
{
  double h[3], t[3], r = sqrt(kepler_dot(d, d));
  kepler_cross(d, u, h);
  kepler_cross(h, d, t);
  double modulus = sqrt(kepler_dot(t, t)), inverse = modulus > 0 ? 1 / modulus : 0;   /* 0: motion on a line, which needs no Q */
  for (int c = 0; c < 3; c++) {
    double along = d[c] / r, across = t[c] * inverse;
    p[c] = cosine * along - sine * across;
    q[c] = sine * along + cosine * across;
  }
}

/* Advance d and u by the time dt, which may be negative and many periods. The result satisfies the integrals of motion within rounding,
 * and the phase is right within a few 1e-16 of dt. Returns 1, or 0 where the pair is not bound, and leaves d and u as they are.
 * By eccentric anomalies in the frame of the ellipse; f and g functions would lose the pericentre distance of narrow ellipses. */
HD int kepler_advance(double mu, double dt, double d[3], double u[3])
{
  struct kepler_orbit o;
  double p[3], q[3];
  if (!kepler_elements(mu, d, u, &o)) return 0;
  double x = atan2(o.e_sin, o.e_cos), width = sqrt(o.one_minus_e * (1 + o.e)), half = sin(0.5 * x);
  double r = o.a * (o.one_minus_e + 2 * o.e * half * half);
  if (!(r > 0)) return 0;
  kepler_axes(d, u, o.a * (o.one_minus_e - 2 * half * half) / r, o.a * width * sin(x) / r, p, q);
  double mean = kepler_less_sine(x) + o.one_minus_e * sin(x) + 2 * KEPLER_PI * (remainder(dt, o.period) / o.period);
  x = kepler_anomaly(remainder(mean, 2 * KEPLER_PI), o.e, o.one_minus_e);
  half = sin(0.5 * x);
  r = fmax(o.a * (o.one_minus_e + 2 * o.e * half * half), 1e-300);
  double along = o.a * (o.one_minus_e - 2 * half * half), across = o.a * width * sin(x), speed = sqrt(mu * o.a) / r;
  double vp = -speed * sin(x), vq = speed * width * cos(x);
  for (int c = 0; c < 3; c++) {
    d[c] = along * p[c] + across * q[c];
    u[c] = vp * p[c] + vq * q[c];
  }
  return 1;
}
#endif
