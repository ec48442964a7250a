/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When stars and units of stars belong together, and how close a neighbour may come to a unit before it must become a
 * part of it. In double precision, on the host and on devices. Masses are G m.
 *
 * A unit is a pair or a group of stars whose centre of mass is integrated as one particle; its neighbours see its mass
 * and quadrupole. A lasting pair is bound and small; a passing pair are two stars that are close, bound or not. */
#ifndef UNIT_RULES_H
#define UNIT_RULES_H
#include "gravity/contacts.h"
#include "gravity/kepler.h"
#include "gravity/unit_environment.h"

#define UNIT_ALONE 4             /* no third star comes as near as so many distances to two that become a pair */
#define UNIT_WAIT_STEPS 4        /* where one does, the two do not ask again in so many of their steps, */
#define UNIT_WAIT_WIDE 32        /* or so many */
#define UNIT_EXTENT 0.6          /* largest distance of two that join, in units of R1: K is 1 within the unit */
#define UNIT_APOCENTRE 0.25      /* largest apocentre of a lasting pair, in units of R1 */
#define UNIT_PERIOD 16.0         /* longest period of a lasting pair, */
#define UNIT_OUTER_PERIOD 0.1    /* of a star or pair about a pair that it joins at any distance, and */
#define UNIT_TIGHT_PERIOD 0.1    /* of one that is a point within a group, in soft steps */
#define UNIT_ENTRY_R1 0.1        /* two stars closer than this part of R1 are a passing pair */
#define UNIT_THIRD 1.25          /* and a third one joins them closer than so many times that */
#define UNIT_GROUP_R1 0.25       /* pairs and groups take in what is closer than this part of R1 */
#define UNIT_ERROR 4e-7          /* interaction energies that may be wrong, in kinetic energies of all centres */
#define UNIT_HYSTERESIS 1.3      /* groups dissolve at this multiple of the distances, lasting pairs at */
#define UNIT_LASTING 1.4         /* this one; passing pairs at */
#define UNIT_PASSED 1.5          /* this one */
#define UNIT_AVERAGED_TIDE 2e-4  /* a pair is averaged below this tide 2 (m3 / m) (a / r)^3, and while */
#define UNIT_AVERAGED_ERROR 0.25 /* where the energy of the tide is below this part of UNIT_ERROR, */
#define UNIT_AVERAGED_PERIODS 3  /* r / v of its neighbours is above so many periods */
#define UNIT_PRESENT_PERIODS 6  /* below so many periods in r / v a neighbour sees a pair as it is now, not its mean, */
#define UNIT_PRESENT_ERROR 1e-2 /* where that changes interaction energies by this part of UNIT_ERROR */
#define UNIT_APOCENTRES 1.25    /* nearer than so many apocentres a neighbour joins, */
#define UNIT_LIGHT_AXES 2.4     /* or, of the mass of the pair, than so many axes; */
#define UNIT_NEAR_TIMES 2.4     /* up to the entry distance, than so many times these */
#define UNIT_SLOW 0.5 /* where r / v of a neighbour is above so many soft steps it may be apart (unit_seen_reach) */
#define UNIT_KICK_ERROR 0.1 /* kicks between drifts may be wrong by this part of UNIT_ERROR, */
#define UNIT_KICK_PART 1e-5 /* or of the pair's energy, where that is less */
#define UNIT_FINEST 16      /* kicks are at most so many times as many */
#define UNIT_COARSER 16     /* they become fewer where the error is so many times below that */
#define UNIT_NEAR_JOINT 4   /* others within so many sizes of two that join are brought to the tick before */

struct unit_rules {
  double r1;     /* for factor 1 */
  double entry;  /* distance of a passing pair */
  double error;  /* G times an energy */
  double period; /* UNIT_PERIOD and UNIT_TIGHT_PERIOD: of the soft step */
  double soft_step;
  int hierarchies; /* 1: groups may become hierarchies (gravity/hierarchy_rules.h) */
  struct contact_rules contacts;
};

/* What the rules ask about a star, or a unit. */
struct unit_facts {
  int bodies;       /* 1: a star */
  int pair;         /* 1: two stars */
  int lasting;      /* 0: a passing pair */
  double m, m1, m2; /* m1, m2: of a pair */
  double a, period; /* of a bound pair */
  double size;      /* apocentre of a pair, extent of a group */
  double distance;  /* of the members of a passing pair */
};

/* About one star. */
HD struct unit_facts unit_facts_of_star(double m)
{
  struct unit_facts facts;
  facts.bodies = 1;
  facts.pair = facts.lasting = 0;
  facts.m = m;
  facts.m1 = facts.m2 = 0;
  facts.a = -1;
  facts.period = 1e30;
  facts.size = facts.distance = 0;
  return facts;
}

enum unit_verdict { UNIT_APART, UNIT_TOGETHER, UNIT_LET_GO };

HD int unit_is_passing(const struct unit_facts *facts) { return facts->pair && !facts->lasting; }

HD double unit_group_reach(double m, double other, double size, double error)
{
  return fmax(2 * size, sqrt(sqrt(m * other * size * size * size / error)));
}

/* The distance within which a neighbour of mass `other` is too near a lasting pair for kicks between drifts: as many
 * apocentres or axes as that takes; up to the distance of a passing pair a few times as many, since a small group is a
 * better choice. */
HD double unit_near_reach(const struct unit_rules *rules, const struct unit_facts *facts, double other)
{
  double reach = fmax(UNIT_APOCENTRES * facts->size * fmax(1.0, cbrt(2 * other / facts->m)),
                      UNIT_LIGHT_AXES * facts->a * cbrt(other / facts->m));
  return fmax(reach, fmin(UNIT_NEAR_TIMES * reach, rules->entry));
}

/* The same of any unit; 0 where it is no lasting pair. */
HD double unit_wide_reach(const struct unit_rules *rules, const struct unit_facts *facts, double other)
{
  return facts->pair && facts->lasting ? unit_near_reach(rules, facts, other) : 0;
}

/* The distance within which a neighbour of mass `other` must be a part of the unit. */
HD_CALL double unit_reach(const struct unit_rules *rules, const struct unit_facts *facts, double other)
{
  if (facts->bodies == 1 && !facts->pair) return 0;
  if (!facts->pair) return unit_group_reach(facts->m, other, facts->size, rules->error);
  if (!facts->lasting) return 2 * fmax(rules->entry, facts->size);
  double mu = facts->m1 * facts->m2 / facts->m, a2 = facts->a * facts->a;
  return fmax(unit_near_reach(rules, facts, other),
              pow(0.3 * mu * other * a2 * a2 / rules->error, 0.2)); /* the quadrupole is not enough */
}

/* Whether a neighbour of mass `other` at the distance r, with the square v2 of the relative speed, sees the members of
 * a pair where they are now, not their mean. */
HD int unit_seen_now(const struct unit_rules *rules, const struct unit_facts *facts, double other, double r, double v2)
{
  double fast = UNIT_PRESENT_PERIODS * facts->period, size = facts->size;
  return r * r < fast * fast * v2 &&
         facts->m1 * facts->m2 / facts->m * other * size * size > UNIT_PRESENT_ERROR * rules->error * r * r * r;
}

/* unit_reach of p, for q at the distance r with the square v2 of the relative speed. Who sees the stars of a pair as
 * they are now needs no quadrupole of it: what is missing is the product of those of two pairs. */
HD double unit_seen_reach(const struct unit_rules *rules, const struct unit_facts *p, const struct unit_facts *q,
                          double r, double v2)
{
  double fast = UNIT_AVERAGED_PERIODS * p->period, slow = UNIT_SLOW * rules->soft_step;
  int seen = p->pair && p->lasting && p->bodies == 2 && r * r < fast * fast * v2 && r * r > slow * slow * v2;
  if (!seen) return unit_reach(rules, p, q->m);
  double near = unit_near_reach(rules, p, q->m);
  if (!q->pair || !q->lasting) return near;
  double first = p->m1 * p->m2 / p->m * p->a * p->a, second = q->m1 * q->m2 / q->m * q->a * q->a;
  return fmax(near, pow(6 * first * second / rules->error, 0.2));
}

/* Whether two with the relative position d and velocity u are on a small orbit, with a period below so many soft steps.
 */
HD int unit_orbit_is_small(const struct unit_rules *rules, double mu, const double d[3], const double u[3], double r1,
                           double soft_steps, double factor)
{
  struct kepler_orbit orbit;
  return kepler_elements(mu, d, u, &orbit) && orbit.period < soft_steps * rules->soft_step * factor &&
         orbit.a * (1 + orbit.e) < UNIT_APOCENTRE * r1 * factor;
}

/* Whether a pair is lasting. factor: UNIT_LASTING for one that is. */
HD int unit_lasts(const struct unit_rules *rules, double mu, const double d[3], const double u[3], double r1,
                  double factor)
{
  return unit_orbit_is_small(rules, mu, d, u, r1, UNIT_PERIOD, factor);
}

/* The size of two stars for those that are near: their distance, or the axis of their orbit where that is less. */
HD double unit_pair_extent(double mu, const double d[3], const double u[3])
{
  struct kepler_orbit orbit;
  double r = sqrt(kepler_dot(d, d));
  return kepler_elements(mu, d, u, &orbit) ? fmin(r, orbit.a) : r;
}

/* Whether p and q belong together, at the distance d with the relative velocity u. r1: R1 of the two. factor: of
 * distances, for those that are together. UNIT_LET_GO: the one that is a passing pair dissolves. */
HD_CALL enum unit_verdict unit_belong(const struct unit_rules *rules, const struct unit_facts *p,
                                      const struct unit_facts *q, const double d[3], const double u[3], double r1,
                                      double factor)
{
  double r = sqrt(kepler_dot(d, d));
  if (p->bodies + q->bodies > UNIT_BODIES || !(p->m > 0) || !(q->m > 0)) return UNIT_APART;
  int star_p = p->bodies == 1 && !p->pair, star_q = q->bodies == 1 && !q->pair;
  if (star_p && star_q)
    return r < rules->entry * factor || unit_lasts(rules, p->m + q->m, d, u, r1, 1) ? UNIT_TOGETHER : UNIT_APART;
  int passing_p = unit_is_passing(p), passing_q = unit_is_passing(q), hard_p = !star_p && !passing_p,
      hard_q = !star_q && !passing_q;
  double v2 = kepler_dot(u, u);
  double reach_p = unit_seen_reach(rules, p, q, r, v2), reach_q = unit_seen_reach(rules, q, p, r, v2);
  if (passing_p && hard_q) { /* let it go, or take all of it */
    if (r < 3 * p->distance) return UNIT_LET_GO;
    reach_p = 0;
  }
  if (passing_q && hard_p) {
    if (r < 3 * q->distance) return UNIT_LET_GO;
    reach_q = 0;
  }
  if ((passing_p && !hard_q) || (passing_q && !hard_p)) {
    double wider = fmax(passing_p ? p->distance : 0, passing_q ? q->distance : 0);
    if (r < UNIT_THIRD * rules->entry) return UNIT_TOGETHER; /* all close together, */
    return r < 3 * wider ? UNIT_LET_GO : UNIT_APART;         /* or let go */
  }
  if (r < factor * fmin(fmax(reach_p, reach_q), UNIT_GROUP_R1 * r1)) return UNIT_TOGETHER;
  if (!passing_p && !passing_q && r < UNIT_EXTENT * r1 &&
      unit_orbit_is_small(rules, p->m + q->m, d, u, r1, UNIT_OUTER_PERIOD, factor))
    return UNIT_TOGETHER;
  /* a wide pair does not form a group, of which others would have to see more than the quadrupole */
  return r < UNIT_EXTENT * r1 && r < factor * fmax(unit_wide_reach(rules, p, q->m), unit_wide_reach(rules, q, p->m))
             ? UNIT_LET_GO
             : UNIT_APART;
}

/* Of two that are UNIT_LET_GO at the distance r, whether it is the first one that dissolves. */
HD int unit_first_goes(const struct unit_rules *rules, const struct unit_facts *p, const struct unit_facts *q, double r)
{
  if (unit_is_passing(p) && r < 3 * p->distance) return 1;
  if (unit_is_passing(q) && r < 3 * q->distance) return 0;
  return unit_wide_reach(rules, p, q->m) >= unit_wide_reach(rules, q, p->m);
}

/* Two stars that may become a pair. */
struct unit_candidate {
  double distance;
  double extent;          /* of unit_pair_extent, or the distance of a passing pair */
  struct unit_facts pair; /* size 0: a passing pair */
};

HD_CALL struct unit_candidate unit_candidate_of(const struct unit_rules *rules, double mu, const double d[3],
                                                const double u[3], double r1)
{
  struct unit_candidate candidate;
  struct kepler_orbit orbit;
  candidate.extent = candidate.distance = sqrt(kepler_dot(d, d));
  candidate.pair = unit_facts_of_star(mu);
  if (!unit_lasts(rules, mu, d, u, r1, 1) || !kepler_elements(mu, d, u, &orbit)) return candidate;
  candidate.extent = fmin(candidate.extent, orbit.a);
  candidate.pair.a = orbit.a;
  candidate.pair.size = orbit.a * (1 + orbit.e);
  return candidate;
}

/* What two stars form, as a third one lets them: a pair, a pair that passes even where it would last, nothing. */
enum unit_form { UNIT_FORM_ANY, UNIT_FORM_HIERARCHY, UNIT_FORM_PASSING, UNIT_FORM_NONE };

/* Steps of two stars in which they do not ask again where a third one keeps them apart: for long where they are a wide
 * pair. */
HD int unit_wait_steps(const struct unit_rules *rules, const struct unit_candidate *candidate)
{
  return candidate->distance < rules->entry ? UNIT_WAIT_STEPS : UNIT_WAIT_WIDE;
}

/* What the two form beside a third one of mass `other` at the distance r from their centre of mass. Within the entry
 * distance only hard pairs and groups keep them apart. A pair that would be let go (unit_belong) passes only; one that
 * would take in the third is any pair. */
HD_CALL enum unit_form unit_form_beside(const struct unit_rules *rules, const struct unit_candidate *candidate,
                                        double r, double other, int hard, double r1)
{
  if (r < UNIT_ALONE * candidate->extent && (candidate->extent >= rules->entry || hard || r > rules->entry))
    return UNIT_FORM_NONE;
  double reach = candidate->pair.size > 0 ? UNIT_HYSTERESIS * unit_near_reach(rules, &candidate->pair, other) : 0;
  if (r >= reach || r < UNIT_GROUP_R1 * r1) return UNIT_FORM_ANY;
  /* which is let go where another one is within three distances */
  int passes = candidate->distance < rules->entry && r >= UNIT_ALONE * candidate->distance;
  return passes ? UNIT_FORM_PASSING : UNIT_FORM_NONE;
}

/* The distance within which a star of mass `other` is seen by the members of a tight pair, so that the pair cannot be a
 * point; 1e300 where the pair is not tight. */
HD double unit_tight_reach(const struct unit_rules *rules, double m1, double m2, const double d[3], const double u[3],
                           double other)
{
  struct kepler_orbit orbit;
  if (!kepler_elements(m1 + m2, d, u, &orbit) || orbit.period > UNIT_TIGHT_PERIOD * rules->soft_step) return 1e300;
  return fmax(20 * orbit.a, cbrt(m1 * m2 / (m1 + m2) * other * orbit.a * orbit.a / rules->error));
}

/* The distance from the centre of mass of two that join, at d with the velocity u, within which others may soon join
 * them. */
HD double unit_near_joint(const struct unit_rules *rules, const struct unit_facts *p, const struct unit_facts *q,
                          const double d[3], const double u[3])
{
  struct kepler_orbit orbit;
  double size = sqrt(kepler_dot(d, d)) + fmax(p->size, q->size);
  if (kepler_elements(p->m + q->m, d, u, &orbit)) size = fmax(size, fmin(orbit.a * (1 + orbit.e), rules->r1));
  return UNIT_NEAR_JOINT * fmax(size, rules->entry);
}
#endif
