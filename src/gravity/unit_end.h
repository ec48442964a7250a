/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a step of a unit of stars. In double precision, on the host and on devices. */
#ifndef UNIT_END_H
#define UNIT_END_H
#include "gravity/unit_advance.h"
#include "gravity/unit_parts.h"

/* A step of a unit: its times, the field at its end, and R1 of the unit. */
struct unit_step {
  double from, to, r1;
  const struct unit_environment *environment;
  const struct unit_field *after;
};

/* limit: the longest next step. parts: of unit_find_parts, and 2 of a group that may become a hierarchy. failed: 1: two
 * stars are at the same place. */
struct unit_end {
  double limit;
  int parts, failed;
};

/* Whether a group has become two bodies that are a hierarchy, whole[2], as far as they know. */
HD_CALL int unit_may_be_hierarchy(const struct unit *unit, const struct unit_rules *rules, double r1,
                                  struct unit_body whole[2])
{
  double d[3], u[3];
  if (!unit_two_pieces(unit, rules, r1, whole)) return 0;
  const struct unit_facts p = unit_body_facts(&whole[0]), q = unit_body_facts(&whole[1]);
  for (int c = 0; c < 3; c++) {
    d[c] = whole[1].x[c] - whole[0].x[c];
    u[c] = whole[1].v[c] - whole[0].v[c];
  }
  return hierarchy_fits(rules, &p, &q, d, u, r1, 0) != HIERARCHY_NONE;
}

/* Advance the members over the step; then what the unit has become. */
HD_CALL struct unit_end unit_end_step(struct unit *unit, const struct unit_rules *rules, const struct unit_step *step)
{
  struct unit_end end;
  struct unit_body whole[2];
  int part[UNIT_BODIES];
  end.failed = unit_advance(unit, rules, step->environment, step->after, step->from, step->to) != 0;
  unit->field = *step->after;
  end.limit = unit_step_limit(unit, rules, 1e300);
  if (unit->kind == UNIT_RESOLVED) unit_elements(unit, rules, step->r1);
  unit_classify(unit, rules, step->to);
  unit_set_quadrupole(unit, step->to - step->from);
  end.parts = unit_find_parts(rules, unit, step->to, step->r1, part);
  if (end.parts == 1 && unit_may_be_hierarchy(unit, rules, step->r1, whole)) end.parts = 2;
  else if (end.parts == 1) unit_tighten(unit, rules, step->to, step->r1);
  return end;
}
#endif
