/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External field: forces that do not come from particles. For host and device.
 *
 * The field is a uniform acceleration, a sum of terms, and the Coriolis force of a frame that rotates about the z axis.
 * It acts in the kicks of soft steps (`kick` of struct backend) and its potential is part of the sums of diagnostics
 * (`reduce`), so it must vary slowly over a soft step (`rate` of struct backend says how fast it varies). The
 * background of comoving coordinates acts in the forces themselves (`add_field`). A new field at rest or on an orbit,
 * with fixed axes, is a kind of term here.
 *
 * d is the position relative to the centre of a term, r its length, R its distance from the z axis. The acceleration of
 * every kind has the form -g d, with a number g for each axis (field_term_stiffness), so sqrt(g) is the frequency of
 * the orbit: of a circular one where the field is spherical. */
#ifndef FIELD_H
#define FIELD_H
#include <math.h>

#include "base/hd.h"

enum { FIELD_TERMS = 10, FIELD_NUMBERS = 6 };

enum field_kind {
  FIELD_LINEAR,         /* acceleration number[0] d */
  FIELD_PLUMMER,        /* -G M / sqrt(r^2 + b^2); numbers G M, b. A point mass has b = 0 */
  FIELD_ISOCHRONE,      /* -G M / (b + sqrt(r^2 + b^2)); G M, b (Henon 1959) */
  FIELD_LOGARITHMIC,    /* v^2 / 2 ln(c^2 + R^2 + z^2 / q^2); v, c, q (Binney & Tremaine 2008, eq 2.71a) */
  FIELD_NFW,            /* -G M ln(1 + r / s) / r; G M, s: M is 4 pi rho_0 s^3 (Navarro, Frenk & White 1997) */
  FIELD_HERNQUIST,      /* -G M / (r + a); G M, a (Hernquist 1990) */
  FIELD_MIYAMOTO_NAGAI, /* -G M / sqrt(R^2 + (a + sqrt(z^2 + b^2))^2); G M, a, b > 0 (Miyamoto & Nagai 1975) */
  /* -number[0] x^2 / 2 + number[1] z^2 / 2: Hill's approximation has 4 Omega^2 - kappa^2 and nu^2, and `spin` */
  FIELD_TIDAL
};

struct field_term {
  int kind;                     /* enum field_kind */
  double centre[3];             /* at the time of the kick, internal units */
  double number[FIELD_NUMBERS]; /* of the kind, internal units, with G */
  double motion[3];             /* velocity of the centre */
};

/* Zero-initialised: no field. */
struct field {
  double acc[3]; /* the uniform acceleration, internal units */
  int count;     /* terms */
  struct field_term term[FIELD_TERMS];
  /* Omega: angular velocity about z of the frame of the particles; Coriolis force 2 Omega (vy, -vx, 0) */
  double spin;
};

/* The tide of a field at the centre of a star cluster, run's units. Zeros: no field. */
struct tide {
  /* (G m / stretch)^(1/3) is the Jacobi radius of the mass m (King 1962): on a circular orbit 4 Omega^2 - kappa^2. At
   * most 0: the field pulls nothing away from the centre */
  double stretch;
  double reach; /* the length in which the field changes by itself; a larger Jacobi radius has no meaning */
  double spin;  /* angular velocity about z of the frame of the run */
};

/* 1: there is no field. */
HD int field_none(const struct field *field)
{
  return field->count == 0 && field->acc[0] == 0 && field->acc[1] == 0 && field->acc[2] == 0 && field->spin == 0;
}

/* (ln(1 + x) - x / (1 + x)) / x^3, the mass within x scales of an NFW profile in units of M, over x^3. */
HD double field_nfw(double x)
{
  /* the difference would lose digits */
  if (x < 1e-3) return (0.5 + x * (-2.0 / 3 + x * (0.75 + x * (-0.8 + x * (5.0 / 6))))) / x;
  return (log1p(x) - x / (1 + x)) / (x * x * x);
}

/* g of a term at the distance d from its centre: the acceleration is -g[c] d[c]. Zeros at the centre of a cusp, where
 * it has no direction. */
HD void field_term_stiffness(const struct field_term *term, const double d[3], double g[3])
{
  double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], r = sqrt(r2), s, isotropic = 0;
  const double *n = term->number;
  switch (term->kind) {
  case FIELD_LINEAR: isotropic = -n[0]; break;
  case FIELD_PLUMMER:
    s = r2 + n[1] * n[1];
    isotropic = n[0] / (s * sqrt(s));
    break;
  case FIELD_ISOCHRONE:
    s = sqrt(r2 + n[1] * n[1]);
    isotropic = n[0] / (s * (n[1] + s) * (n[1] + s));
    break;
  case FIELD_LOGARITHMIC:
    s = n[0] * n[0] / (n[1] * n[1] + d[0] * d[0] + d[1] * d[1] + d[2] * d[2] / (n[2] * n[2]));
    g[0] = g[1] = s;
    g[2] = s / (n[2] * n[2]);
    return;
  case FIELD_NFW: isotropic = r > 0 ? n[0] / (n[1] * n[1] * n[1]) * field_nfw(r / n[1]) : 0; break;
  case FIELD_HERNQUIST: isotropic = r > 0 ? n[0] / (r * (r + n[1]) * (r + n[1])) : 0; break;
  case FIELD_MIYAMOTO_NAGAI: {
    double b = sqrt(d[2] * d[2] + n[2] * n[2]), h = n[1] + b, whole = d[0] * d[0] + d[1] * d[1] + h * h;
    s = n[0] / (whole * sqrt(whole));
    g[0] = g[1] = s;
    g[2] = s * h / b;
    return;
  }
  case FIELD_TIDAL:
    g[0] = -n[0];
    g[1] = 0;
    g[2] = n[1];
    return;
  }
  g[0] = g[1] = g[2] = isotropic;
}

/* Potential of a term per unit mass at the distance d from its centre. */
HD double field_term_potential(const struct field_term *term, const double d[3])
{
  double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], r = sqrt(r2), h;
  const double *n = term->number;
  switch (term->kind) {
  case FIELD_LINEAR: return -0.5 * n[0] * r2;
  case FIELD_PLUMMER: return -n[0] / sqrt(r2 + n[1] * n[1]);
  case FIELD_ISOCHRONE: return -n[0] / (n[1] + sqrt(r2 + n[1] * n[1]));
  case FIELD_LOGARITHMIC:
    return 0.5 * n[0] * n[0] * log(n[1] * n[1] + d[0] * d[0] + d[1] * d[1] + d[2] * d[2] / (n[2] * n[2]));
  case FIELD_NFW: return r > 0 ? -n[0] * log1p(r / n[1]) / r : -n[0] / n[1];
  case FIELD_HERNQUIST: return -n[0] / (r + n[1]);
  case FIELD_MIYAMOTO_NAGAI:
    h = n[1] + sqrt(d[2] * d[2] + n[2] * n[2]);
    return -n[0] / sqrt(d[0] * d[0] + d[1] * d[1] + h * h);
  case FIELD_TIDAL: return 0.5 * (n[1] * d[2] * d[2] - n[0] * d[0] * d[0]);
  }
  return 0;
}

/* Acceleration of the field at the position x, both in internal units; without the Coriolis force. */
HD void field_acceleration(const struct field *field, const double x[3], double acc[3])
{
  for (int c = 0; c < 3; c++) acc[c] = field->acc[c];
  for (int k = 0; k < field->count; k++) {
    const struct field_term *t = &field->term[k];
    double d[3], g[3];
    for (int c = 0; c < 3; c++) d[c] = x[c] - t->centre[c];
    field_term_stiffness(t, d, g);
    for (int c = 0; c < 3; c++) acc[c] -= g[c] * d[c];
  }
}

/* Potential of the field per unit mass at the position x, internal units. */
HD double field_potential(const struct field *field, const double x[3])
{
  double sum = -(field->acc[0] * x[0] + field->acc[1] * x[1] + field->acc[2] * x[2]);
  for (int k = 0; k < field->count; k++) {
    const struct field_term *t = &field->term[k];
    const double d[3] = {x[0] - t->centre[0], x[1] - t->centre[1], x[2] - t->centre[2]};
    sum += field_term_potential(t, d);
  }
  return sum;
}

/* Kick a particle at x by the time dt: v += dt (soft + acceleration), where the frame does not rotate. Where it does:
 * half of the acceleration, the rotation that the Coriolis force alone gives, the other half (Boris 1970), which is
 * symmetric in time. */
HD void field_kick(const struct field *field, const double x[3], const float soft[3], double dt, double v[3])
{
  double acc[3];
  field_acceleration(field, x, acc);
  if (field->spin == 0) {
    for (int c = 0; c < 3; c++) v[c] += dt * (soft[c] + acc[c]);
    return;
  }
  double angle = 2 * field->spin * dt, cosine = cos(angle), sine = sin(angle), before;
  for (int c = 0; c < 3; c++) v[c] += 0.5 * dt * (soft[c] + acc[c]);
  before = v[0];
  v[0] = cosine * before + sine * v[1];
  v[1] = cosine * v[1] - sine * before;
  for (int c = 0; c < 3; c++) v[c] += 0.5 * dt * (soft[c] + acc[c]);
}

/* In the centre of a cusp or of a point mass the frequency has no bound, but a particle that crosses it at the speed v
 * changes its velocity by a small part only: what counts there is the rate FIELD_CROSSING |a| / v. */
#define FIELD_CROSSING 4

/* A centre that passes a particle at the distance d with the speed u changes the field at the rate u / d, which may be
 * above all frequencies. FIELD_PASSING times its square is counted: a step of 0.007 / rate is then 0.05 d / u, so that
 * no centre jumps past a particle. It counts in full where the pull in the time d / u changes the velocity of the
 * particle by 1 / FIELD_NOTABLE of it or more, and in proportion below. */
#define FIELD_PASSING 0.02
#define FIELD_NOTABLE 1e3

/* The square of the rate at which the field of a centre that passes changes; d2, u2, a2, v2: squares of its distance
 * and relative speed, of the acceleration by it, and of the particle's speed. */
HD double field_passing(double d2, double u2, double a2, double v2)
{
  double passing = d2 > 0 ? u2 / d2 : 0, notable = FIELD_NOTABLE * sqrt(a2 * passing);
  return FIELD_PASSING * (v2 > 0 && notable < passing * sqrt(v2) ? notable / sqrt(v2) : passing);
}

/* The square of the rate at which the field changes for a particle at x with the velocity v: the sum over the terms of
 * the squared frequencies, and of that of the Coriolis force. */
HD double field_rate(const struct field *field, const double x[3], const double v[3])
{
  double sum = 4 * field->spin * field->spin;
  for (int k = 0; k < field->count; k++) {
    const struct field_term *t = &field->term[k];
    double d[3], g[3], d2 = 0, v2 = 0, motion2 = 0, a2 = 0, u2 = 0, rate = 0;
    for (int c = 0; c < 3; c++) d[c] = x[c] - t->centre[c];
    field_term_stiffness(t, d, g);
    for (int c = 0; c < 3; c++) {
      double u = v[c] - t->motion[c];
      d2 += d[c] * d[c];
      v2 += v[c] * v[c];
      motion2 += t->motion[c] * t->motion[c];
      a2 += g[c] * d[c] * g[c] * d[c];
      u2 += u * u;
      rate = fmax(rate, fabs(g[c]));
    }
    double crossing = FIELD_CROSSING * FIELD_CROSSING * a2;
    if (t->kind != FIELD_LINEAR && t->kind != FIELD_TIDAL && crossing < rate * u2) rate = crossing / u2;
    sum += motion2 > 0 ? fmax(rate, field_passing(d2, u2, a2, v2)) : rate;
  }
  return sum;
}
#endif
