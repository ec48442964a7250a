/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stars of a unit that meet: what is noted about it, and how two become one. Of two that have merged the first one goes
 * on with the mass, the place and the motion of both; the other is among those that are with it (struct unit_body). A
 * pair of which nothing else is left is a group of one body. On the host and on devices. Masses are G m. */
#ifndef UNIT_CONTACTS_H
#define UNIT_CONTACTS_H
#include <string.h>

#include "gravity/few_bodies.h"
#include "gravity/unit_motion.h"

/* --- stars -------------------------------------------------------------------------------------------------------- */

HD int unit_merged_count(const int32_t with[2]) { return (with[0] > 0) + (with[1] > 0); }

/* Whether one may have the other, and all that have merged with both. */
HD int unit_may_merge(const struct unit_rules *rules, const int32_t p[2], const int32_t q[2])
{
  return rules->contacts.merge && unit_merged_count(p) + unit_merged_count(q) < 2;
}

/* Star l of q and those with it are now with star 0 of `to`. */
HD void unit_take_star(struct unit_body *to, const struct unit_body *q, int l)
{
  int32_t *with = to->with[0];
  with[unit_merged_count(with)] = q->star[l] + 1;
  for (int k = 0; k < 2; k++)
    if (q->with[l][k] > 0) with[unit_merged_count(with)] = q->with[l][k];
}

/* The stars of a pair as one, at its centre. */
HD struct unit_body unit_merged(const struct unit_body *pair)
{
  int stays = pair->m2 > pair->m1;
  struct unit_body body = unit_body_of(pair->star[stays], -1, pair->m);
  unit_take_merged(&body, 0, pair, stays);
  unit_take_star(&body, pair, 1 - stays);
  memcpy(body.x, pair->x, sizeof body.x);
  memcpy(body.v, pair->v, sizeof body.v);
  return body;
}

/* The unit becomes a group of bodies[n] about its centre. */
HD_CALL void unit_to_group(struct unit *unit, int n, const struct unit_body *bodies)
{
  unit->kind = UNIT_GROUP;
  unit->lasting = 1;
  unit->followed = 0;
  unit->met = 0;
  unit->step = 0;
  unit->bodies = n;
  unit->orbit.a = -1;
  unit->orbit.e = 2;
  unit->orbit.period = unit->orbit.outer_time = 1e30;
  unit->orbit.size = 0;
  for (int k = 0; k < n; k++) {
    unit->body[k] = bodies[k];
    unit->orbit.size = fmax(unit->orbit.size, sqrt(kepler_dot(bodies[k].x, bodies[k].x)));
  }
  for (int k = 0; k < n && n > 1; k++)
    unit->orbit.outer_time =
        fmin(unit->orbit.outer_time, unit->orbit.size / sqrt(kepler_dot(bodies[k].v, bodies[k].v)));
  memset(unit->quadrupole, 0, sizeof unit->quadrupole);
  memset(unit->rate, 0, sizeof unit->rate);
  unit->trace = 0;
}

/* --- energies ----------------------------------------------------------------------------------------------------- */

/* G times the energy of bodies[n] as points. */
HD double unit_energy_of(int n, const struct unit_body *bodies)
{
  double sum = 0;
  for (int k = 0; k < n; k++) {
    sum += 0.5 * bodies[k].m * kepler_dot(bodies[k].v, bodies[k].v);
    for (int l = 0; l < k; l++) {
      double d[3];
      for (int c = 0; c < 3; c++) d[c] = bodies[k].x[c] - bodies[l].x[c];
      sum -= bodies[k].m * bodies[l].m / sqrt(kepler_dot(d, d));
    }
  }
  return sum;
}

/* The same of the stars of all bodies. */
HD_CALL double unit_energy_of_stars(int n, const struct unit_body *bodies)
{
  struct unit_body stars[2 * 2];
  int count = 0;
  for (int k = 0; k < n && k < 2; k++) {
    if (bodies[k].star[1] >= 0) unit_divide(&bodies[k], &stars[count]);
    else stars[count] = bodies[k];
    count += bodies[k].star[1] >= 0 ? 2 : 1;
  }
  return unit_energy_of(count, stars);
}

/* What the tide of the neighbours has with a pair, beyond what it has with one point at its centre. */
HD double unit_tide_energy(const struct unit *unit, const struct unit_body *pair)
{
  double sum = 0;
  for (int c = 0; c < 3; c++) sum += kepler_dot(unit->field.tide[c], pair->d) * pair->d[c];
  return -0.5 * pair->m1 * pair->m2 / pair->m * sum;
}

/* --- notes -------------------------------------------------------------------------------------------------------- */

/* The stars of the pair, which is at x, v from the unit's centre, have met by this orbit, as found at the time t: what
 * is noted, but for `lost`. */
HD_CALL void unit_describe_contact(struct contact *contact, const struct unit_rules *rules,
                                   const struct unit_environment *environment, const struct unit_body *pair,
                                   const struct contact_orbit *orbit, double t, double least)
{
  int stays = pair->m2 > pair->m1;
  contact->root = environment->root;
  contact->merged = unit_may_merge(rules, pair->with[0], pair->with[1]);
  contact->star[0] = pair->star[stays];
  contact->star[1] = pair->star[1 - stays];
  contact->m[0] = stays ? pair->m2 : pair->m1;
  contact->m[1] = stays ? pair->m1 : pair->m2;
  contact->lost = 0;
  contact_describe(contact, orbit, contact_distance(&rules->contacts, pair->m1, pair->m2), t, least);
  hermite_predict(&environment->centre.motion, t - environment->centre.t, contact->x, contact->v);
  for (int c = 0; c < 3; c++) {
    contact->x[c] += pair->x[c];
    contact->v[c] += pair->v[c];
  }
}

HD struct contact_orbit unit_orbit_of_pair(const struct unit_body *pair)
{
  double beta = 2 * pair->m / sqrt(kepler_dot(pair->d, pair->d)) - kepler_dot(pair->u, pair->u);
  return contact_orbit_of(pair->m, beta, pair->d, pair->u);
}

/* Note a contact, but not one that an earlier soft step has noted. Returns whether there was room, or none was needed.
 */
HD int unit_note_contact(const struct unit_rules *rules, const struct contact *contact)
{
  if (contact->earlier && rules->contacts.begun && !contact->merged) return 1;
  return contact_note(rules->contacts.log, contact);
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* The distance at which the stars of a pair meet; 0: they do not, or it was noted. */
HD double unit_pair_radii(const struct unit *unit, const struct unit_rules *rules)
{
  if (!rules->contacts.log || (unit->met & UNIT_MET(1, 0))) return 0;
  return contact_distance(&rules->contacts, unit->body[0].m, unit->body[1].m);
}

/* The stars of a pair have met, as found at the time t of its orbit. Returns whether they have become one. */
HD_CALL int unit_pair_meets(struct unit *unit, const struct unit_rules *rules,
                            const struct unit_environment *environment, double t)
{
  struct contact contact;
  struct unit_body pair = unit_together(&unit->body[0], &unit->body[1]);
  unit->met |= UNIT_MET(1, 0);
  if (unit->kind == UNIT_AVERAGED && unit_may_merge(rules, pair.with[0], pair.with[1]))
    unit_to_resolved(unit, rules, t);
  unit_relative(unit, t, t, pair.d, pair.u);
  for (int c = 0; c < 3; c++) pair.x[c] = pair.v[c] = 0;
  struct contact_orbit orbit =
      unit->kind == UNIT_RESOLVED ? contact_orbit_of(pair.m, unit->ks.beta, pair.d, pair.u) : unit_orbit_of_pair(&pair);
  unit_describe_contact(&contact, rules, environment, &pair, &orbit, t, 0);
  contact.earlier &= unit->kind == UNIT_RESOLVED; /* one that is seen by its mean meets at once */
  contact.lost = -0.5 * orbit.beta * pair.m1 * pair.m2 / pair.m + unit_tide_energy(unit, &pair);
  if (!unit_note_contact(rules, &contact) || !contact.merged) return 0;
  struct unit_body one = unit_merged(&pair);
  unit_to_group(unit, 1, &one);
  return 1;
}

/* A pair that is seen by its mean meets at once where its orbit is so narrow. */
HD_CALL void unit_mean_pair_meets(struct unit *unit, const struct unit_rules *rules,
                                  const struct unit_environment *environment, double t)
{
  struct kepler_orbit orbit;
  double radii = unit_pair_radii(unit, rules);
  if (!(radii > 0) || !kepler_elements(unit_pair_mass(unit), unit->d, unit->u, &orbit)) return;
  if (orbit.a * orbit.one_minus_e < radii) unit_pair_meets(unit, rules, environment, t);
}

/* --- hierarchies -------------------------------------------------------------------------------------------------- */

HD void unit_inner_radii(const struct unit *unit, const struct unit_rules *rules, double radii[2])
{
  for (int k = 0; k < 2; k++) {
    const struct unit_body *pair = &unit->body[k];
    radii[k] = rules->contacts.log && pair->star[1] >= 0 && !(unit->met & UNIT_MET_WITHIN(k))
                   ? contact_distance(&rules->contacts, pair->m1, pair->m2)
                   : 0;
  }
}

/* The stars of body k have met in the step that ends at the time t. */
HD_CALL void unit_inner_meets(struct unit *unit, const struct unit_rules *rules,
                              const struct unit_environment *environment, int k, double from, double t)
{
  const double never[2] = {0, 0};
  struct contact contact;
  struct unit_body bodies[2], pair = unit->body[k];
  double d[3], u[3];
  struct contact_orbit orbit = unit_orbit_of_pair(&pair);
  unit->met |= UNIT_MET_WITHIN(k);
  orbit.since = 0; /* its phase is not of interest */
  unit_hierarchy_advance(unit, environment, t, t, never);
  if (unit_may_merge(rules, pair.with[0], pair.with[1])) unit_hierarchy_finish(unit, environment, t);
  unit_relative(unit, t, t, d, u);
  unit_hierarchy_bodies(unit, d, u, bodies);
  unit_describe_contact(&contact, rules, environment, &bodies[k], &orbit, t, from);
  double before = unit_energy_of_stars(2, bodies), tide = unit_tide_energy(unit, &bodies[k]);
  if (contact.merged) bodies[k] = unit_merged(&bodies[k]);
  contact.lost = before - unit_energy_of_stars(2, bodies) + tide;
  if (contact_note(rules->contacts.log, &contact) && contact.merged) unit_to_group(unit, 2, bodies);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

/* Two bodies of a group have met, where few_advance has stopped. */
HD_CALL void unit_bodies_meet(struct unit *unit, const struct unit_rules *rules,
                              const struct unit_environment *environment, const struct few_bodies *few)
{
  int k = few->contact[0] > few->contact[1] ? few->contact[0] : few->contact[1],
      l = few->contact[0] + few->contact[1] - k;
  struct contact contact;
  struct unit_body pair = unit_together(&unit->body[l], &unit->body[k]);
  struct contact_orbit orbit = unit_orbit_of_pair(&pair);
  unit->met |= UNIT_MET(k, l);
  unit_describe_contact(&contact, rules, environment, &pair, &orbit, few->t, 0);
  if (!contact.merged) {
    unit_note_contact(rules, &contact);
    return;
  }
  struct unit_body gone[2] = {unit->body[l], unit->body[k]};
  int last = unit->bodies - 1;
  unit->body[l] = unit_merged(&pair);
  unit->body[k] = unit->body[last];
  contact.lost = -few->binding - unit_energy_of(last, unit->body) + unit_tide_energy(unit, &pair);
  if (contact_note(rules->contacts.log, &contact)) {
    unit->bodies = last;
    unit->met = 0;
    unit->step = 0;
  } else { /* the log is full */
    unit->body[l] = gone[0];
    unit->body[k] = gone[1];
  }
}

/* Tight pairs of a group that have so narrow orbits meet at once. */
HD_CALL void unit_tight_pairs_meet(struct unit *unit, const struct unit_rules *rules,
                                   const struct unit_environment *environment, double t)
{
  for (int k = 0; k < unit->bodies; k++) {
    struct contact contact;
    struct kepler_orbit elements;
    if (unit->body[k].star[1] < 0 || (unit->met & UNIT_MET_WITHIN(k))) continue;
    struct unit_body pair = unit_body_now(&unit->body[k]);
    if (!kepler_elements(pair.m, pair.d, pair.u, &elements) ||
        !(elements.a * elements.one_minus_e < contact_distance(&rules->contacts, pair.m1, pair.m2)))
      continue;
    struct contact_orbit orbit = unit_orbit_of_pair(&pair);
    orbit.since = 0;
    unit->met |= UNIT_MET_WITHIN(k);
    unit_describe_contact(&contact, rules, environment, &pair, &orbit, t, t);
    contact.lost = -0.5 * orbit.beta * pair.m1 * pair.m2 / pair.m;
    if (contact_note(rules->contacts.log, &contact) && contact.merged) unit->body[k] = unit_merged(&pair);
  }
}
#endif
