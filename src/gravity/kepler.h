/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bound motion of two point masses: elements, and the advance over any time by Kepler's equation. In double
 * precision, on the host and on devices. mu = G (m1 + m2); d and u are position and velocity of the second particle
 * relative to the first. */
#ifndef KEPLER_H
#define KEPLER_H
#include <math.h>

#include "base/hd.h"

#define KEPLER_PI 3.14159265358979323846
enum { KEPLER_ITERATIONS = 60 }; /* enough for bisection alone; a dozen is usual */

struct kepler_orbit {
  double a, e;        /* semi-major axis, eccentricity */
  double one_minus_e; /* precise also where e is 1 within rounding */
  double period;
  double binding;      /* mu / (2 a): binding energy per unit of reduced mass */
  double e_cos, e_sin; /* e cos E and e sin E with the present eccentric anomaly E */
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

/* The elements of a pair. Returns 1, or 0 where it is not bound, or at the same place; *orbit is then undefined. */
HD int kepler_elements(double mu, const double d[3], const double u[3], struct kepler_orbit *orbit)
{
  double r = sqrt(kepler_dot(d, d)), h[3];
  if (!(r > 0) || !(mu > 0)) return 0;
  double inverse = (2 * mu / r - kepler_dot(u, u)) / mu;
  if (!(inverse > 0) || !(inverse < 1e300)) return 0;
  kepler_cross(d, u, h);
  orbit->a = 1 / inverse;
  orbit->period = 2 * KEPLER_PI * orbit->a * sqrt(orbit->a / mu);
  orbit->binding = 0.5 * mu * inverse;
  orbit->e_cos = 1 - r * inverse;
  orbit->e_sin = kepler_dot(d, u) / sqrt(mu * orbit->a);
  orbit->e = fmin(sqrt(orbit->e_cos * orbit->e_cos + orbit->e_sin * orbit->e_sin), 1.0);
  orbit->one_minus_e = fmin(kepler_dot(h, h) / (mu * orbit->a), 1.0) / (1 + orbit->e);
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

/* The eccentric anomaly of the mean anomaly m, |m| <= pi: E - sin E + q sin E = m with q = 1 - e, which is precise near
 * the pericentre of a narrow ellipse. Halley's method within a bracket. */
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

/* The ellipse of a bound pair as vectors, and the pair's place on it. */
struct kepler_ellipse {
  double p[3], q[3]; /* to the pericentre; along the motion there. Motion on a line: q is 0 */
  double anomaly;    /* eccentric */
};

/* The ellipse of a pair whose elements are *orbit. Returns 1, or 0 where it is at the pericentre of a motion on a
 * line. */
HD int kepler_ellipse_of(const struct kepler_orbit *orbit, const double d[3], const double u[3],
                         struct kepler_ellipse *ellipse)
{
  double h[3], t[3], x = atan2(orbit->e_sin, orbit->e_cos), half = sin(0.5 * x),
                     r = orbit->a * (orbit->one_minus_e + 2 * orbit->e * half * half);
  if (!(r > 0)) return 0;
  double cosine = orbit->a * (orbit->one_minus_e - 2 * half * half) / r,
         sine = orbit->a * sqrt(orbit->one_minus_e * (1 + orbit->e)) * sin(x) / r;
  kepler_cross(d, u, h);
  kepler_cross(h, d, t);
  double across = sqrt(kepler_dot(t, t)), inverse = across > 0 ? 1 / across : 0, along = 1 / sqrt(kepler_dot(d, d));
  for (int c = 0; c < 3; c++) {
    ellipse->p[c] = cosine * along * d[c] - sine * inverse * t[c];
    ellipse->q[c] = sine * along * d[c] + cosine * inverse * t[c];
  }
  ellipse->anomaly = x;
  return 1;
}

/* Position and velocity on an ellipse of semi-major axis a and eccentricity e, q = 1 - e. */
HD void kepler_place(double mu, double a, double e, double q, const struct kepler_ellipse *ellipse, double d[3],
                     double u[3])
{
  double half = sin(0.5 * ellipse->anomaly), width = sqrt(q * (1 + e)), r = fmax(a * (q + 2 * e * half * half), 1e-300);
  double along = a * (q - 2 * half * half), across = a * width * sin(ellipse->anomaly), speed = sqrt(mu * a) / r;
  double vp = -speed * sin(ellipse->anomaly), vq = speed * width * cos(ellipse->anomaly);
  for (int c = 0; c < 3; c++) {
    d[c] = along * ellipse->p[c] + across * ellipse->q[c];
    u[c] = vp * ellipse->p[c] + vq * ellipse->q[c];
  }
}

/* Advance d and u by the time dt, which may be negative and many periods. The result satisfies the integrals of motion
 * within rounding, and the phase is right within a few 1e-16 of dt. Returns 1, or 0 where the pair is not bound, and
 * leaves d and u as they are. By eccentric anomalies in the frame of the ellipse; f and g functions would lose the
 * pericentre distance of narrow ellipses. */
HD_CALL int kepler_advance(double mu, double dt, double d[3], double u[3])
{
  struct kepler_orbit o;
  struct kepler_ellipse k;
  if (!kepler_elements(mu, d, u, &o) || !kepler_ellipse_of(&o, d, u, &k)) return 0;
  double mean = kepler_less_sine(k.anomaly) + o.one_minus_e * sin(k.anomaly) +
                2 * KEPLER_PI * (remainder(dt, o.period) / o.period);
  k.anomaly = kepler_anomaly(remainder(mean, 2 * KEPLER_PI), o.e, o.one_minus_e);
  kepler_place(mu, o.a, o.e, o.one_minus_e, &k, d, u);
  return 1;
}

/* An ellipse as the vectors that a tide turns: e to the pericentre, of the length of the eccentricity, and j = h /
 * sqrt(mu a) across the orbit. */
struct kepler_vectors {
  struct kepler_orbit orbit;
  struct kepler_ellipse ellipse;
  double e[3], j[3], rate; /* rate: of turns, a / 2 sqrt(a / mu) */
};

/* Returns 1, or 0 where the pair is not bound, or at the pericentre of a motion on a line. */
HD int kepler_vectors_of(double mu, const double d[3], const double u[3], struct kepler_vectors *vectors)
{
  struct kepler_orbit *o = &vectors->orbit;
  struct kepler_ellipse *k = &vectors->ellipse;
  if (!kepler_elements(mu, d, u, o) || !kepler_ellipse_of(o, d, u, k)) return 0;
  double width = sqrt(o->one_minus_e * (1 + o->e));
  kepler_cross(k->p, k->q, vectors->j);
  for (int c = 0; c < 3; c++) {
    vectors->e[c] = o->e * k->p[c];
    vectors->j[c] *= width;
  }
  vectors->rate = 0.5 * o->a * sqrt(o->a / mu);
  return 1;
}

/* Turn by a tide that changes little within a period, for the time dt: the relative acceleration is tide d, with a
 * symmetric tensor. Averaged over the orbit (Milankovitch's equations: Tremaine, Touma & Namouni 2009), the tide
 * changes eccentricity and orientation, and neither the semi-major axis nor, to first order, the phase. The mean of d d
 * is a^2/2 [(1 - e^2) I + 5 e e - j j]. */
HD_CALL void kepler_vectors_turn(struct kepler_vectors *vectors, const double tide[3][3], double dt)
{
  double e0[3], j0[3], *e = vectors->e, *j = vectors->j, rate = vectors->rate * dt;
  double trace = tide[0][0] + tide[1][1] + tide[2][2];
  for (int c = 0; c < 3; c++) {
    e0[c] = e[c];
    j0[c] = j[c];
  }
  for (int stage = 1; stage <= 2; stage++) { /* midpoint rule */
    double te[3], tj[3], j_tj[3], e_te[3], j_te[3], e_tj[3], step = 0.5 * stage * rate;
    for (int c = 0; c < 3; c++) {
      te[c] = trace * e[c] - 5 * kepler_dot(tide[c], e);
      tj[c] = kepler_dot(tide[c], j);
    }
    kepler_cross(j, tj, j_tj);
    kepler_cross(e, te, e_te);
    kepler_cross(j, te, j_te);
    kepler_cross(e, tj, e_tj);
    for (int c = 0; c < 3; c++) {
      j[c] = j0[c] - step * (j_tj[c] + e_te[c]);
      e[c] = e0[c] - step * (j_te[c] + e_tj[c]);
    }
  }
  double jj = kepler_dot(j, j), je = kepler_dot(j, e);
  for (int c = 0; c < 3; c++) e[c] -= jj > 0 ? je / jj * j[c] : 0;
  double norm = sqrt(jj + kepler_dot(e, e));
  for (int c = 0; c < 3; c++) {
    e[c] /= norm;
    j[c] /= norm;
  }
}

/* The pair on the turned ellipse, at the same eccentric anomaly. Leaves d and u as they are where the ellipse has
 * become a line or a circle. */
HD void kepler_vectors_place(double mu, const struct kepler_vectors *vectors, double d[3], double u[3])
{
  struct kepler_ellipse k = vectors->ellipse;
  double j[3], jj = kepler_dot(vectors->j, vectors->j), modulus = sqrt(kepler_dot(vectors->e, vectors->e));
  if (!(modulus > 0) || !(jj > 0)) return;
  for (int c = 0; c < 3; c++) {
    k.p[c] = vectors->e[c] / modulus;
    j[c] = vectors->j[c] / sqrt(jj);
  }
  kepler_cross(j, k.p, k.q);
  kepler_place(mu, vectors->orbit.a, modulus, jj / (1 + modulus), &k, d, u);
}

/* Turn the ellipse of a pair by a tide for the time dt, as kepler_vectors_turn. Leaves a pair that is not bound as it
 * is. */
HD_CALL void kepler_turn(double mu, const double tide[3][3], double dt, double d[3], double u[3])
{
  struct kepler_vectors vectors;
  if (!kepler_vectors_of(mu, d, u, &vectors)) return;
  kepler_vectors_turn(&vectors, tide, dt);
  kepler_vectors_place(mu, &vectors, d, u);
}

/* The same, half of the time by the tide at its begin, and half by that at its end. */
HD_CALL void kepler_turn_halves(double mu, const double before[3][3], const double after[3][3], double dt, double d[3],
                                double u[3])
{
  struct kepler_vectors vectors;
  if (!kepler_vectors_of(mu, d, u, &vectors)) return;
  kepler_vectors_turn(&vectors, before, 0.5 * dt);
  kepler_vectors_turn(&vectors, after, 0.5 * dt);
  kepler_vectors_place(mu, &vectors, d, u);
}
#endif
