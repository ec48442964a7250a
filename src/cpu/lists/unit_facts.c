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
  if (units->of[place] < 0) return unit_facts_of_star(units->set->gm[place]);
  return unit_facts_of(&units->unit[units->of[place]]);
}
