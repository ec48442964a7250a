/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of two bodies one or both of which are tight pairs: gravity/hierarchy.h. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "cpu/lists/units.h"

static struct hierarchy_body body_of(const struct unit_body *body)
{
  struct hierarchy_body b = {.m = body->m, .m1 = body->star[1] >= 0 ? body->m1 : body->m};
  b.m2 = body->star[1] >= 0 ? body->m2 : 0;
  memcpy(b.x, body->x, sizeof b.x);
  memcpy(b.d, body->d, sizeof b.d);
  memcpy(b.u, body->u, sizeof b.u);
  return b;
}

/* Bodies with their orbits of the equations of motion to what they are at present, or back. */
static void to_other(struct unit_body bodies[2], void change(struct hierarchy_body body[2]))
{
  struct hierarchy_body body[2] = {body_of(&bodies[0]), body_of(&bodies[1])};
  change(body);
  for (int k = 0; k < 2; k++) {
    memcpy(bodies[k].d, body[k].d, sizeof body[k].d);
    memcpy(bodies[k].u, body[k].u, sizeof body[k].u);
  }
}

void unit_hierarchy_open(struct unit *unit, double t)
{
  double d[3], u[3];
  to_other(unit->body, hierarchy_to_mean);
  for (int c = 0; c < 3; c++) {
    d[c] = unit->body[1].x[c] - unit->body[0].x[c];
    u[c] = unit->body[1].v[c] - unit->body[0].v[c];
  }
  hierarchy_open(&unit->ks, unit->body[0].m + unit->body[1].m, d, u, t);
}

void unit_hierarchy_bodies(const struct unit *unit, const double d[3], const double u[3], struct unit_body bodies[2])
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
  to_other(bodies, hierarchy_to_present);
}

static struct hierarchy hierarchy_of(const struct unit *unit)
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

static void turned(struct unit *unit, const struct hierarchy *hierarchy)
{
  for (int k = 0; k < 2; k++) {
    struct unit_body *body = &unit->body[k];
    if (hierarchy->m2[k] > 0) kepler_vectors_place(body->m, &hierarchy->inner[k], body->d, body->u);
  }
}

void unit_hierarchy_advance(struct unit *unit, const struct unit_environment *environment, double from, double t)
{
  struct hierarchy hierarchy = hierarchy_of(unit);
  int64_t kicks = hierarchy_advance(&unit->ks, &hierarchy, environment, t);
  if (kicks > 0) turned(unit, &hierarchy);
  for (int k = 0; k < 2; k++) unit->body[k].lag += t - from;
  unit->work += kicks;
}

void unit_hierarchy_finish(struct unit *unit, const struct unit_environment *environment, double t)
{
  struct hierarchy hierarchy = hierarchy_of(unit);
  hierarchy_finish(&unit->ks, &hierarchy, environment, t);
  turned(unit, &hierarchy);
}

void unit_hierarchy_add_quadrupole(const struct unit *unit, double q[3][3])
{
  struct hierarchy hierarchy = hierarchy_of(unit);
  for (int k = 0; k < 2; k++) {
    double inner[3][3];
    if (!(hierarchy.m2[k] > 0)) continue;
    hierarchy_quadrupole(&hierarchy, k, inner);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) q[i][j] += inner[i][j];
  }
}
