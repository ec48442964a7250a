/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hierarchy: two bodies on a bound orbit about each other, one or both of which are pairs of stars that are much
 * closer. The outer orbit goes by Kepler drifts and kicks in Sundman's time (gravity/ks.h), as a resolved pair. The
 * kicks have the mean quadrupoles of the inner pairs beside what acts from outside, and at each kick the tide of the
 * other body, where it is then, turns the inner orbits (Milankovitch's equations, gravity/kepler.h). So energy and
 * angular momentum go back and forth between the orbits, as in the oscillations of Kozai and Lidov. On the host and on
 * devices. Masses are G m. */
#ifndef HIERARCHY_H
#define HIERARCHY_H
#include "gravity/quadrupole.h"
#include "gravity/resolved_pair.h"

#define HIERARCHY_KICKS 32                 /* in a circular orbit; with an eccentricity more, as 1 / sqrt(1 - e) */
#define HIERARCHY_NODE 0.21132486540518713 /* 1/2 - sqrt(3) / 6 */
enum { HIERARCHY_ROUNDS = 40 };

/* Bodies 0 and 1 of the outer orbit. m2 = 0: one star, without an inner orbit. */
struct hierarchy {
  double m[2], m1[2], m2[2];
  struct kepler_vectors inner[2];
  double tide[3][3]; /* on the inner pairs, from outside */
};

/* Body k is a pair of m1 and m2 with the relative position d and velocity u. */
HD void hierarchy_set_pair(struct hierarchy *hierarchy, int k, double m1, double m2, const double d[3],
                           const double u[3])
{
  hierarchy->m[k] = m1 + m2;
  hierarchy->m1[k] = m1;
  hierarchy->m2[k] = m2;
  if (!kepler_vectors_of(m1 + m2, d, u, &hierarchy->inner[k])) hierarchy->m2[k] = 0;
}

HD void hierarchy_set_star(struct hierarchy *hierarchy, int k, double m)
{
  hierarchy->m[k] = hierarchy->m1[k] = m;
  hierarchy->m2[k] = 0;
}

/* The mean quadrupole sum m x x of the pair k. */
HD void hierarchy_quadrupole(const struct hierarchy *hierarchy, int k, double q[3][3])
{
  const struct kepler_vectors *inner = &hierarchy->inner[k];
  double a = inner->orbit.a, scale = 0.5 * a * a * hierarchy->m1[k] * hierarchy->m2[k] / hierarchy->m[k];
  const double *e = inner->e, *j = inner->j;
  double e2 = kepler_dot(e, e);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) q[r][c] = scale * ((r == c) * (1 - e2) + 5 * e[r] * e[c] - j[r] * j[c]);
}

/* The outer orbit at the time t. */
HD void hierarchy_open(struct ks_pair *pair, double mu, const double d[3], const double u[3], double t)
{
  struct kepler_orbit orbit;
  resolved_open(pair, mu, d, u, t, sqrt(kepler_dot(d, d)));
  pair->step *= 2.0 * RESOLVED_KICKS / HIERARCHY_KICKS;
  if (kepler_elements(mu, d, u, &orbit)) pair->step *= sqrt(orbit.one_minus_e);
}

/* Turn the pair k for the time dt by the other body at the distance d, and by what is outside. Adds the mean of its
 * quadrupoles before and after to q, for the relative acceleration of the two bodies. */
HD void hierarchy_turn(struct hierarchy *hierarchy, int k, const double d[3], double dt, double q[3][3])
{
  double before[3][3], after[3][3], tide[3][3], r2 = kepler_dot(d, d), w = hierarchy->m[1 - k] / (r2 * sqrt(r2));
  double share = 0.5 * (hierarchy->m[0] + hierarchy->m[1]) / hierarchy->m[k];
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) tide[r][c] = hierarchy->tide[r][c] + w * (3 * d[r] * d[c] / r2 - (r == c));
  hierarchy_quadrupole(hierarchy, k, before);
  kepler_vectors_turn(&hierarchy->inner[k], (const double(*)[3])tide, dt);
  hierarchy_quadrupole(hierarchy, k, after);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) q[r][c] += share * (before[r][c] + after[r][c]);
}

/* Kick for the step h of s. */
HD void hierarchy_kick(struct ks_pair *pair, struct hierarchy *hierarchy, const struct unit_environment *environment,
                       double h)
{
  double d[3], y[3], w[3], q[3][3] = {{0}}, dt = ks_distance(pair) * h, r2 = 0;
  ks_position(pair->q, d);
  r2 = kepler_dot(d, d);
  for (int k = 0; k < 2; k++)
    if (hierarchy->m2[k] > 0) hierarchy_turn(hierarchy, k, d, dt, q);
  for (int c = 0; c < 3; c++) y[c] = kepler_dot(q[c], d);
  double i5 = 1 / (r2 * r2 * sqrt(r2)), radial = 1.5 * i5 * (q[0][0] + q[1][1] + q[2][2] - 5 * kepler_dot(y, d) / r2);
  resolved_kick(pair, hierarchy->m[0], hierarchy->m[1], environment, h);
  for (int c = 0; c < 3; c++) w[c] = dt * (radial * d[c] + 3 * i5 * y[c]);
  ks_kick(pair, w);
}

/* A step: two kicks at the nodes of Gauss. Errors are of the fourth order in the step, and of the second one only in
 * the square of the kicks (McLachlan 1995; SABA2 of Laskar & Robutel 2001). */
HD void hierarchy_step(struct ks_pair *pair, struct hierarchy *hierarchy, const struct unit_environment *environment)
{
  double mu = hierarchy->m[0] + hierarchy->m[1], early = HIERARCHY_NODE * pair->step;
  ks_drift(pair, mu, early);
  hierarchy_kick(pair, hierarchy, environment, 0.5 * pair->step);
  ks_drift(pair, mu, pair->step - 2 * early);
  hierarchy_kick(pair, hierarchy, environment, 0.5 * pair->step);
  ks_drift(pair, mu, early);
}

/* The inner pair k comes within `radii` at its pericentre. */
HD int hierarchy_meets(const struct hierarchy *hierarchy, int k, double radii)
{
  const struct kepler_vectors *inner = &hierarchy->inner[k];
  if (!(radii > 0) || !(hierarchy->m2[k] > 0)) return 0;
  double jj = kepler_dot(inner->j, inner->j);
  return inner->orbit.a * jj / (1 + sqrt(fmax(0.0, 1 - jj))) < radii;
}

/* Whole steps, as many as end by the time t, or until an inner pair k comes within radii[k] (0: never) at its
 * pericentre. Returns the number of kicks. */
HD int64_t hierarchy_advance(struct ks_pair *pair, struct hierarchy *hierarchy,
                             const struct unit_environment *environment, double t, const double radii[2])
{
  for (int64_t kicks = 0;; kicks += 2) {
    struct ks_pair before = *pair;
    struct hierarchy unturned = *hierarchy;
    hierarchy_step(pair, hierarchy, environment);
    if (pair->t < t) {
      if (!hierarchy_meets(hierarchy, 0, radii[0]) && !hierarchy_meets(hierarchy, 1, radii[1])) continue;
      return kicks + 2;
    }
    *pair = before;
    *hierarchy = unturned;
    return kicks;
  }
}

/* The rest up to the time t: a step between Kepler drifts by time. */
HD void hierarchy_finish(struct ks_pair *pair, struct hierarchy *hierarchy, const struct unit_environment *environment,
                         double t)
{
  double dt = t - pair->t, mu = hierarchy->m[0] + hierarchy->m[1];
  if (!(dt > 0)) return;
  ks_advance(pair, mu, t - (1 - HIERARCHY_NODE) * dt);
  hierarchy_kick(pair, hierarchy, environment, 0.5 * dt / ks_distance(pair));
  ks_advance(pair, mu, t - HIERARCHY_NODE * dt);
  hierarchy_kick(pair, hierarchy, environment, 0.5 * dt / ks_distance(pair));
  ks_advance(pair, mu, t);
}

/* --- mean and present energies ------------------------------------------------------------------------------------ */

/* A pair, or a star: u and d are those of its members. */
struct hierarchy_body {
  double m, m1, m2; /* m2 = 0: a star */
  double x[3];      /* place of its centre */
  double d[3], u[3];
};

HD double hierarchy_points(const struct hierarchy_body *body, int point, double x[3])
{
  double share = point == 0 ? -body->m2 / body->m : body->m1 / body->m;
  for (int c = 0; c < 3; c++) x[c] = body->x[c] + (body->m2 > 0 ? share * body->d[c] : 0);
  return point == 0 ? body->m1 : body->m2;
}

/* Potential energy of the members of p and those of q. whole: q is one point. */
HD double hierarchy_potential(const struct hierarchy_body *p, const struct hierarchy_body *q, int whole)
{
  double sum = 0;
  for (int k = 0; k < (p->m2 > 0 ? 2 : 1); k++)
    for (int l = 0; l < (q->m2 > 0 && !whole ? 2 : 1); l++) {
      double x[3], y[3], d[3], mk = hierarchy_points(p, k, x), ml = whole ? q->m : hierarchy_points(q, l, y);
      for (int c = 0; c < 3; c++) d[c] = x[c] - (whole ? q->x[c] : y[c]);
      sum -= mk * ml / sqrt(kepler_dot(d, d));
    }
  return sum;
}

/* Energy of the mean quadrupole of p with a point of mass m at d from it. */
HD double hierarchy_mean(const struct hierarchy_body *p, double m, const double d[3])
{
  double q[3][3], y[3], r2 = kepler_dot(d, d), reduced = p->m1 * p->m2 / p->m;
  quadrupole_of_orbit(p->m, p->d, p->u, q);
  for (int c = 0; c < 3; c++) y[c] = kepler_dot(q[c], d);
  return -0.5 * m * reduced * (3 * kepler_dot(y, d) / r2 - q[0][0] - q[1][1] - q[2][2]) / (r2 * sqrt(r2));
}

HD void hierarchy_scale(struct hierarchy_body *p, double factor)
{
  for (int c = 0; c < 3; c++) {
    p->d[c] *= factor;
    p->u[c] /= sqrt(factor);
  }
}

/* What the points of p have with q, less what its mean quadrupole has. */
HD double hierarchy_difference(const struct hierarchy_body *p, const struct hierarchy_body *mean,
                               const struct hierarchy_body *q, int whole)
{
  struct hierarchy_body point = *p;
  double d[3];
  point.m2 = 0;
  point.m1 = p->m;
  for (int c = 0; c < 3; c++) d[c] = q->x[c] - p->x[c];
  return hierarchy_potential(p, q, whole) - hierarchy_potential(&point, q, whole) - hierarchy_mean(mean, q->m, d);
}

/* The size of pair p, which the equations of motion have with its mean quadrupole, so that with its present place the
 * energy is the same; shape and phase stay. back: the other way. whole: q is one point. The pair's own energy is
 * - m1 m2 / (2 a), so the factor f of its size has (1 / f - 1) m1 m2 / (2 a) = difference. */
HD void hierarchy_switch(struct hierarchy_body *p, const struct hierarchy_body *q, int whole, int back)
{
  struct kepler_orbit orbit;
  double factor = 1;
  if (!(p->m2 > 0) || !kepler_elements(p->m, p->d, p->u, &orbit)) return;
  double energy = 0.5 * p->m1 * p->m2 / orbit.a;
  for (int k = 0; k < HIERARCHY_ROUNDS; k++) {
    struct hierarchy_body other = *p;
    hierarchy_scale(&other, factor);
    double difference = hierarchy_difference(back ? p : &other, back ? &other : p, q, whole);
    double next = 1 / (1 + (back ? -difference : difference) / energy);
    if (!(next > 0.5 && next < 2) || next == factor) break;
    factor = next;
  }
  hierarchy_scale(p, factor);
}

/* Bodies whose pairs have the sizes of the equations of motion get those of their present places. */
HD void hierarchy_to_present(struct hierarchy_body body[2])
{
  hierarchy_switch(&body[0], &body[1], 1, 0);
  hierarchy_switch(&body[1], &body[0], 0, 0);
}

HD void hierarchy_to_mean(struct hierarchy_body body[2])
{
  struct hierarchy_body present = body[0];
  hierarchy_switch(&body[0], &body[1], 1, 1);
  hierarchy_switch(&body[1], &present, 0, 1);
}
#endif
