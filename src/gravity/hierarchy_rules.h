/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pairs, and which pairs and stars, are a hierarchy: the outer orbit is bound, short and small, as that of a
 * lasting pair, and stable. An inner pair whose mean quadrupole is enough at the pericentre is turned by a mean tide
 * (gravity/hierarchy.h), another one is followed along its orbit (gravity/triple.h). On the host and on devices. Masses
 * are G m. */
#ifndef HIERARCHY_RULES_H
#define HIERARCHY_RULES_H
#include "gravity/unit_rules.h"

#define HIERARCHY_STABLE 1.2 /* least pericentre, in those of a stable triple, */
#define HIERARCHY_AXES 10    /* in axes of an inner pair that is seen by its mean alone, */
#define HIERARCHY_FOLLOWED 5 /* and of one that is followed, for a body of half its mass */
#define HIERARCHY_TIDE \
  1e-4                           /* tides 2 (m3 / m) (a / r)^3 at the pericentre below this are weak: the time of an
                                  * oscillation of Kozai and Lidov is then right within a few thousandths */
#define HIERARCHY_SHORT 2.5e-4   /* shorter periods, in soft steps, are not followed: 3 % of that time */
#define HIERARCHY_COMPACT 1e-3   /* of outer orbits of shorter periods, in soft steps, the stability alone decides */
#define HIERARCHY_HYSTERESIS 1.1 /* by which the pericentre of one that exists may be less */

enum hierarchy_kind { HIERARCHY_NONE, HIERARCHY_MEAN, HIERARCHY_PATH };

/* The least pericentre of a stable outer orbit of a body of mass `other` (Mardling & Aarseth 2001, without their factor
 * for the inclination, at most 1). */
HD double hierarchy_stable(const struct unit_facts *pair, double other, double e)
{
  return 2.8 * pair->a * pow((1 + other / pair->m) * (1 + e) / sqrt(fmax(1 - e, 1e-9)), 0.4);
}

HD int hierarchy_inner(const struct unit_facts *facts)
{
  return facts->pair && facts->lasting && facts->bodies == 2 && facts->a > 0;
}

/* How the pair is seen by a body of mass `other` on an outer orbit of pericentre r. compact: it has very many orbits in
 * a soft step. path: the pair may be followed. */
HD enum hierarchy_kind hierarchy_of_pair(const struct unit_rules *rules, const struct unit_facts *pair, double other,
                                         double r, double e, int compact, int path)
{
  double heavy = fmax(1.0, 2 * other / pair->m), ratio = pair->a / r;
  if (compact) return r < hierarchy_stable(pair, other, e) ? HIERARCHY_NONE : HIERARCHY_MEAN;
  if (r < HIERARCHY_STABLE * hierarchy_stable(pair, other, e)) return HIERARCHY_NONE;
  int weak = 2 * other / pair->m * ratio * ratio * ratio < HIERARCHY_TIDE,
      closer = !path || pair->period < HIERARCHY_SHORT * rules->soft_step;
  if (r > HIERARCHY_AXES * pair->a * cbrt(heavy) && (weak || closer)) return HIERARCHY_MEAN;
  return path && !closer && r > HIERARCHY_FOLLOWED * pair->a * cbrt(heavy) ? HIERARCHY_PATH : HIERARCHY_NONE;
}

/* Whether p and q with the relative position d and velocity u are a hierarchy. exists: whether they are one already. */
HD_CALL enum hierarchy_kind hierarchy_fits(const struct unit_rules *rules, const struct unit_facts *p,
                                           const struct unit_facts *q, const double d[3], const double u[3], double r1,
                                           int exists)
{
  struct kepler_orbit orbit;
  int pair_p = hierarchy_inner(p), pair_q = hierarchy_inner(q), star_p = p->bodies == 1 && !p->pair,
      star_q = q->bodies == 1 && !q->pair;
  if (!(pair_p || pair_q) || !(pair_p || star_p) || !(pair_q || star_q) || !(p->m > 0) || !(q->m > 0))
    return HIERARCHY_NONE;
  if (!unit_lasts(rules, p->m + q->m, d, u, r1, exists ? UNIT_LASTING : 1) ||
      !kepler_elements(p->m + q->m, d, u, &orbit))
    return HIERARCHY_NONE;
  double r = orbit.a * orbit.one_minus_e * (exists ? HIERARCHY_HYSTERESIS : 1);
  int compact = orbit.period < HIERARCHY_COMPACT * rules->soft_step;
  if (!pair_q) return hierarchy_of_pair(rules, p, q->m, r, orbit.e, compact, 1);
  if (!pair_p) return hierarchy_of_pair(rules, q, p->m, r, orbit.e, compact, 1);
  return hierarchy_of_pair(rules, p, q->m, r, orbit.e, compact, 0) &&
                 hierarchy_of_pair(rules, q, p->m, r, orbit.e, compact, 0)
             ? HIERARCHY_MEAN
             : HIERARCHY_NONE;
}

/* What the rules ask about the two as one unit. */
HD struct unit_facts hierarchy_facts(const struct unit_facts *p, const struct unit_facts *q, const double d[3],
                                     const double u[3])
{
  struct unit_facts whole = unit_facts_of_star(p->m + q->m);
  struct kepler_orbit orbit;
  whole.bodies = p->bodies + q->bodies;
  whole.pair = whole.lasting = 1;
  whole.m1 = p->m;
  whole.m2 = q->m;
  if (!kepler_elements(whole.m, d, u, &orbit)) return whole;
  whole.a = orbit.a;
  whole.period = orbit.period;
  whole.size = orbit.a * (1 + orbit.e);
  return whole;
}
#endif
