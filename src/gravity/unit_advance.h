/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The motion of the members of a unit over a step of its centre, or the rest of one. In double precision, on the host
 * and on devices. Masses are G m. */
#ifndef UNIT_ADVANCE_H
#define UNIT_ADVANCE_H
#include <string.h>

#include "gravity/unit_contacts.h"

HD void unit_advance_averaged(struct unit *unit, const struct unit_field *after, double dt)
{
  double largest = 0, mu = unit_pair_mass(unit);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) largest = fmax(largest, fabs(unit->field.tide[i][j]));
  if (largest * unit->orbit.period * dt > 1e-13)
    kepler_turn_halves(mu, (const double(*)[3])unit->field.tide, (const double(*)[3])after->tide, dt, unit->d, unit->u);
  unit->lag += dt;
}

/* The bodies of a group for few_advance. Tight pairs may have no one within their reach. */
HD_CALL void unit_to_few(const struct unit *unit, const struct unit_rules *rules, double t, struct few_bodies *few)
{
  few->n = unit->bodies;
  few->t = t;
  few->met = unit->met;
  few->entry = rules->contacts.log ? rules->entry : 0;
  for (int k = 0; k < few->n; k++) {
    const struct unit_body *body = &unit->body[k];
    double other = 0;
    for (int l = 0; l < few->n; l++) other = l == k ? other : fmax(other, unit->body[l].m);
    few->m[k] = body->m;
    memcpy(few->x[k], body->x, sizeof few->x[k]);
    memcpy(few->v[k], body->v, sizeof few->v[k]);
    few->reach[k] = body->star[1] >= 0 && few->n < UNIT_BODIES
                        ? unit_tight_reach(rules, body->m1, body->m2, body->d, body->u, other)
                        : 0;
    few->radius[k] = rules->contacts.log && body->star[1] < 0 ? contact_radius(&rules->contacts, body->m) : 0;
  }
}

HD void unit_from_few(struct unit *unit, const struct few_bodies *few, double dt)
{
  unit->orbit.size = 0;
  for (int k = 0; k < few->n; k++) {
    memcpy(unit->body[k].x, few->x[k], sizeof few->x[k]);
    memcpy(unit->body[k].v, few->v[k], sizeof few->v[k]);
    unit->body[k].lag += dt;
    unit->orbit.size = fmax(unit->orbit.size, sqrt(kepler_dot(few->x[k], few->x[k])));
  }
}

/* A tight pair of a group becomes two stars. */
HD void unit_open_body(struct unit *unit, int k)
{
  struct unit_body pair = unit_body_now(&unit->body[k]), stars[2];
  unit_divide(&pair, stars);
  unit->body[k] = stars[0];
  unit->body[unit->bodies++] = stars[1];
  unit->step = 0;
}

/* Tight pairs are opened where others come near within the step. Stars that meet are noted, and may become one. */
HD int unit_advance_group(struct unit *unit, const struct unit_rules *rules, const struct unit_environment *environment,
                          double from, double t, int64_t *evaluations)
{
  struct few_bodies few;
  int failed = 0, again;
  do {
    if (rules->contacts.log) unit_tight_pairs_meet(unit, rules, environment, from);
    if (unit->bodies == 1) break;
    unit_to_few(unit, rules, from, &few);
    failed = few_advance(&few, environment, t, &unit->step, evaluations);
    if (failed) break;
    unit_from_few(unit, &few, few.t - from);
    from = few.t;
    if (few.reached >= 0) unit_open_body(unit, few.reached);
    again = few.reached >= 0 || few.contact[0] >= 0;
    if (few.contact[0] >= 0) unit_bodies_meet(unit, rules, environment, &few);
  } while (again);
  return failed;
}

HD_CALL void unit_advance_pair(struct unit *unit, const struct unit_rules *rules,
                               const struct unit_environment *environment, double t)
{
  double m1 = unit->body[0].m, m2 = unit->body[1].m;
  int met = 0;
  unit->work += resolved_advance_until(&unit->ks, m1, m2, environment, t, unit_pair_radii(unit, rules), &met);
  if (!met || unit_pair_meets(unit, rules, environment, unit->ks.t)) return;
  unit->work += resolved_advance_until(&unit->ks, m1, m2, environment, t, 0, &met);
}

/* Inner pairs that meet become one at the end of the step. */
HD_CALL void unit_advance_hierarchy(struct unit *unit, const struct unit_rules *rules,
                                    const struct unit_environment *environment, double from, double t)
{
  double radii[2];
  for (int met = 0; met >= 0 && unit_is_hierarchy(unit); from = t) {
    unit_inner_radii(unit, rules, radii);
    met = unit_hierarchy_advance(unit, environment, from, t, radii);
    if (met >= 0) unit_inner_meets(unit, rules, environment, met, from, t);
  }
}

HD_CALL int unit_advance(struct unit *unit, const struct unit_rules *rules, const struct unit_environment *environment,
                         const struct unit_field *after, double from, double t)
{
  int64_t evaluations = 0;
  int failed = 0;
  if (!(t > from)) return 0;
  switch (unit->kind) {
  case UNIT_AVERAGED:
    unit_advance_averaged(unit, after, t - from);
    if (rules->contacts.log) unit_mean_pair_meets(unit, rules, environment, t);
    break;
  case UNIT_RESOLVED:
    if (unit_is_hierarchy(unit)) unit_advance_hierarchy(unit, rules, environment, from, t);
    else unit_advance_pair(unit, rules, environment, t);
    break;
  case UNIT_GROUP: failed = unit_advance_group(unit, rules, environment, from, t, &evaluations); break;
  }
  unit->work += evaluations;
  return failed;
}

/* As unit_finish, at the end of a soft step: stars that meet in the rest are noted, and may become one. */
HD_CALL void unit_finish_step(struct unit *unit, const struct unit_rules *rules,
                              const struct unit_environment *environment, double t)
{
  const struct ks_pair before = unit->ks;
  double radii = unit->kind == UNIT_RESOLVED && !unit_is_hierarchy(unit) ? unit_pair_radii(unit, rules) : 0;
  unit_finish(unit, environment, t);
  if (radii > 0 && before.t < t && resolved_meets(&before, &unit->ks, unit_pair_mass(unit), radii))
    unit_pair_meets(unit, rules, environment, t);
}
#endif
