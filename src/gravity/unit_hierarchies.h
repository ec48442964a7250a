/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of two bodies one or both of which are pairs: gravity/hierarchy.h, or gravity/triple.h. On the host and on
 * devices. Masses are G m. */
#ifndef UNIT_HIERARCHIES_H
#define UNIT_HIERARCHIES_H
#include <string.h>

#include "gravity/hierarchy_rules.h"
#include "gravity/triple.h"
#include "gravity/unit.h"

HD int unit_is_hierarchy(const struct unit *unit)
{
  return unit->kind != UNIT_GROUP && (unit->body[0].star[1] >= 0 || unit->body[1].star[1] >= 0);
}

/* What the rules ask about a star, or a pair that lasts. */
HD struct unit_facts unit_body_facts(const struct unit_body *body)
{
  struct unit_facts facts = unit_facts_of_star(body->m);
  struct kepler_orbit orbit;
  if (body->star[1] < 0 || !kepler_elements(body->m, body->d, body->u, &orbit)) return facts;
  facts.bodies = 2;
  facts.pair = facts.lasting = 1;
  facts.m1 = body->m1;
  facts.m2 = body->m2;
  facts.a = orbit.a;
  facts.period = orbit.period;
  facts.size = orbit.a * (1 + orbit.e);
  return facts;
}

HD struct hierarchy_body unit_hierarchy_body(const struct unit_body *body)
{
  struct hierarchy_body b;
  b.m = body->m;
  b.m1 = body->star[1] >= 0 ? body->m1 : body->m;
  b.m2 = body->star[1] >= 0 ? body->m2 : 0;
  memcpy(b.x, body->x, sizeof b.x);
  memcpy(b.d, body->d, sizeof b.d);
  memcpy(b.u, body->u, sizeof b.u);
  return b;
}

/* Bodies with their orbits of the equations of motion to what they are at present; to_mean: back. */
HD void unit_hierarchy_switch(struct unit_body bodies[2], int to_mean)
{
  struct hierarchy_body body[2];
  for (int k = 0; k < 2; k++) body[k] = unit_hierarchy_body(&bodies[k]);
  if (to_mean) hierarchy_to_mean(body);
  else hierarchy_to_present(body);
  for (int k = 0; k < 2; k++) {
    memcpy(bodies[k].d, body[k].d, sizeof body[k].d);
    memcpy(bodies[k].u, body[k].u, sizeof body[k].u);
  }
}

/* The orbits, from bodies as they are at the time t. followed: the pair is body 0. */
HD_CALL void unit_hierarchy_open(struct unit *unit, const struct unit_rules *rules, double r1, double t)
{
  struct unit_body *body = unit->body;
  double d[3], u[3];
  if (body[0].star[1] < 0) {
    struct unit_body star = body[0];
    body[0] = body[1];
    body[1] = star;
  }
  for (int c = 0; c < 3; c++) {
    d[c] = body[1].x[c] - body[0].x[c];
    u[c] = body[1].v[c] - body[0].v[c];
  }
  struct unit_facts p = unit_body_facts(&body[0]), q = unit_body_facts(&body[1]);
  unit->followed = hierarchy_fits(rules, &p, &q, d, u, r1, 0) == HIERARCHY_PATH;
  if (unit->followed) {
    struct triple triple;
    const double m[3] = {body[0].m1, body[0].m2, body[1].m};
    triple_open(&triple, m, body[0].d, body[0].u, d, u, t);
    unit->ks = triple.outer;
    unit->inner = triple.inner;
  } else {
    unit_hierarchy_switch(body, 1);
    hierarchy_open(&unit->ks, body[0].m + body[1].m, d, u, t);
  }
}

/* The bodies as they are, about their centre, where the outer orbit is at d with the velocity u. */
HD_CALL void unit_hierarchy_bodies(const struct unit *unit, const double d[3], const double u[3],
                                   struct unit_body bodies[2])
{
  double m = unit->body[0].m + unit->body[1].m;
  for (int k = 0; k < 2; k++) {
    double share = k == 0 ? -unit->body[1].m / m : unit->body[0].m / m;
    bodies[k] = unit->body[k];
    if (bodies[k].star[1] >= 0 && bodies[k].lag > 0)
      kepler_advance(bodies[k].m, bodies[k].lag, bodies[k].d, bodies[k].u);
    bodies[k].lag = 0;
    for (int c = 0; c < 3; c++) {
      bodies[k].x[c] = share * d[c];
      bodies[k].v[c] = share * u[c];
    }
  }
  if (!unit->followed) unit_hierarchy_switch(bodies, 0);
}

HD struct hierarchy unit_hierarchy_of(const struct unit *unit)
{
  struct hierarchy hierarchy;
  memset(&hierarchy, 0, sizeof hierarchy);
  for (int k = 0; k < 2; k++) {
    const struct unit_body *body = &unit->body[k];
    if (body->star[1] >= 0) hierarchy_set_pair(&hierarchy, k, body->m1, body->m2, body->d, body->u);
    else hierarchy_set_star(&hierarchy, k, body->m);
  }
  memcpy(hierarchy.tide, unit->field.tide, sizeof hierarchy.tide);
  return hierarchy;
}

HD void unit_hierarchy_turned(struct unit *unit, const struct hierarchy *hierarchy)
{
  for (int k = 0; k < 2; k++) {
    struct unit_body *body = &unit->body[k];
    if (hierarchy->m2[k] > 0) kepler_vectors_place(body->m, &hierarchy->inner[k], body->d, body->u);
  }
}

HD struct triple unit_triple_of(const struct unit *unit)
{
  struct triple triple;
  triple.m1 = unit->body[0].m1;
  triple.m2 = unit->body[0].m2;
  triple.m3 = unit->body[1].m;
  triple.inner = unit->inner;
  triple.outer = unit->ks;
  return triple;
}

/* Back to the unit, whose time is t. */
HD void unit_triple_followed(struct unit *unit, const struct triple *triple, double t)
{
  unit->inner = triple->inner;
  unit->ks = triple->outer;
  ks_position(unit->inner.q, unit->body[0].d);
  ks_velocity(&unit->inner, unit->body[0].u);
  unit->body[0].lag = t - unit->inner.t;
}

/* Returns the body whose stars have come within radii[] of it (0: they never do), before the time t; -1: none. */
HD_CALL int unit_hierarchy_advance(struct unit *unit, const struct unit_environment *environment, double from, double t,
                                   const double radii[2])
{
  if (unit->followed) {
    struct triple triple = unit_triple_of(unit);
    int met = 0;
    unit->work += triple_advance(&triple, environment, t, radii[0], &met);
    unit_triple_followed(unit, &triple, t);
    return met ? 0 : -1;
  }
  struct hierarchy hierarchy = unit_hierarchy_of(unit);
  int64_t kicks = hierarchy_advance(&unit->ks, &hierarchy, environment, t, radii);
  if (kicks > 0) unit_hierarchy_turned(unit, &hierarchy);
  for (int k = 0; k < 2; k++) unit->body[k].lag += t - from;
  unit->work += kicks;
  return hierarchy_meets(&hierarchy, 0, radii[0]) ? 0 : hierarchy_meets(&hierarchy, 1, radii[1]) ? 1 : -1;
}

HD_CALL void unit_hierarchy_finish(struct unit *unit, const struct unit_environment *environment, double t)
{
  if (unit->followed) {
    struct triple triple = unit_triple_of(unit);
    triple_finish(&triple, environment, t);
    unit_triple_followed(unit, &triple, t);
    return;
  }
  struct hierarchy hierarchy = unit_hierarchy_of(unit);
  hierarchy_finish(&unit->ks, &hierarchy, environment, t);
  unit_hierarchy_turned(unit, &hierarchy);
}

HD void unit_hierarchy_add_quadrupole(const struct unit *unit, double q[3][3])
{
  struct hierarchy hierarchy = unit_hierarchy_of(unit);
  for (int k = 0; k < 2; k++) {
    double inner[3][3];
    if (!(hierarchy.m2[k] > 0)) continue;
    hierarchy_quadrupole(&hierarchy, k, inner);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) q[i][j] += inner[i][j];
  }
}
#endif
