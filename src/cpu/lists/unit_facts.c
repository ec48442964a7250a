/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the rules of gravity/unit_rules.h ask about a star or a unit. */
#include <config.h>
#include <math.h>

#include "cpu/lists/units.h"

double units_r1(const struct units *units, int32_t i, int32_t j)
{
  return fmaxf(units->set->factor[i], units->set->factor[j]) * units->rules.r1;
}

struct unit_facts units_facts(const struct units *units, int32_t place)
{
  struct unit_facts facts = {.bodies = 1, .m = units->set->gm[place], .a = -1, .period = 1e30};
  if (units->of[place] < 0) return facts;
  const struct unit *unit = &units->unit[units->of[place]];
  facts.bodies = unit->bodies;
  facts.pair = unit->kind != UNIT_GROUP;
  facts.lasting = unit->lasting;
  facts.m1 = unit->body[0].m;
  facts.m2 = unit->body[1].m;
  facts.a = unit->orbit.a;
  facts.period = unit->orbit.period;
  facts.size = unit->orbit.size;
  facts.distance = unit->kind == UNIT_RESOLVED ? ks_distance(&unit->ks) : sqrt(kepler_dot(unit->d, unit->d));
  return facts;
}
