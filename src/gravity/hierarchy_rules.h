/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pairs, and which pairs and stars, are a hierarchy (gravity/hierarchy.h): the outer orbit is bound, short and
 * small, as that of a lasting pair, and at its pericentre the inner pairs are seen by their means alone and are stable. On
 * the host and on devices. Masses are G m. */
#ifndef HIERARCHY_RULES_H
#define HIERARCHY_RULES_H
#include "gravity/unit_rules.h"

#define HIERARCHY_AXES 10        /* least pericentre in axes of an inner pair, for a body of half its mass, */
#define HIERARCHY_HYSTERESIS 1.1 /* and what is left of it to a hierarchy that exists */

/* The least pericentre of the outer orbit about the pair: so that the tide of the other body is weak, 2 (m3 / m) (a /
 * r)^3 < 1e-3, and 1.2 times that of a stable triple (Mardling & Aarseth 2001, without its factor for the
 * inclination). */
HD double hierarchy_least(const struct unit_facts *pair, double other, double e)
{
  double stable = 2.8 * pow((1 + other / pair->m) * (1 + e) / sqrt(fmax(1 - e, 1e-9)), 0.4);
  return pair->a * fmax(1.2 * stable, HIERARCHY_AXES * cbrt(fmax(1.0, 2 * other / pair->m)));
}

HD int hierarchy_inner(const struct unit_facts *facts)
{
  return facts->pair && facts->lasting && facts->bodies == 2 && facts->a > 0;
}

/* Whether p and q with the relative position d and velocity u are a hierarchy. exists: whether they are one already. */
HD int hierarchy_fits(const struct unit_rules *rules, const struct unit_facts *p, const struct unit_facts *q,
                      const double d[3], const double u[3], double r1, int exists)
{
  struct kepler_orbit orbit;
  int pair_p = hierarchy_inner(p), pair_q = hierarchy_inner(q), star_p = p->bodies == 1 && !p->pair,
      star_q = q->bodies == 1 && !q->pair;
  double wider = exists ? UNIT_LASTING : 1, nearer = exists ? HIERARCHY_HYSTERESIS : 1;
  if (!(pair_p || pair_q) || !(pair_p || star_p) || !(pair_q || star_q) || !(p->m > 0) || !(q->m > 0)) return 0;
  if (!unit_lasts(rules, p->m + q->m, d, u, r1, wider) || !kepler_elements(p->m + q->m, d, u, &orbit)) return 0;
  double least = fmax(pair_p ? hierarchy_least(p, q->m, orbit.e) : 0, pair_q ? hierarchy_least(q, p->m, orbit.e) : 0);
  return orbit.a * orbit.one_minus_e * nearer > least;
}
#endif
