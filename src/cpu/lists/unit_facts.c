/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the rules of gravity/unit_rules.h ask about a star or a unit, and which are hierarchies
 * (gravity/hierarchy_rules.h). */
#include <config.h>
#include <math.h>

#include "cpu/lists/units.h"
#include "gravity/hierarchy_rules.h"

double units_r1(const struct units *units, int32_t i, int32_t j)
{
  return fmaxf(units->set->factor[i], units->set->factor[j]) * units->rules.r1;
}

struct unit_facts units_facts(const struct units *units, int32_t place)
{
  if (units->of[place] < 0) return unit_facts_of_star(units->set->gm[place]);
  return unit_facts_of(&units->unit[units->of[place]]);
}

/* --- hierarchies -------------------------------------------------------------------------------------------------- */

/* Whether no one is near the two bodies `whole` that are to be a hierarchy at x, v: i and j, or the unit at i. */
static int undisturbed(const struct units *units, const struct list_loop *loop, int32_t i, int32_t j, int32_t tick,
                       const struct unit_facts *whole, const double x[3], const double v[3])
{
  const struct list_set *set = units->set;
  for (int64_t e = 0; e < list_length(set, i); e++) {
    int32_t l = list_entries(set, i)[e];
    double d[3], u[3], r1 = units_r1(units, i, l);
    if (l == j) continue;
    hermite_predict(&set->motion[l], (tick - set->tick[l]) * loop->tick_length, d, u);
    for (int c = 0; c < 3; c++) {
      d[c] -= x[c];
      u[c] -= v[c];
    }
    struct unit_facts facts = units_facts(units, l);
    if (unit_belong(&units->rules, whole, &facts, d, u, r1, UNIT_HYSTERESIS) != UNIT_APART) return 0;
  }
  return 1;
}

int units_hierarchical(const struct units *units, const struct list_loop *loop, int32_t i, int32_t j, int32_t tick,
                       const double d[3], const double u[3])
{
  struct unit_facts p = units_facts(units, i), q = units_facts(units, j);
  if (!hierarchy_fits(&units->rules, &p, &q, d, u, units_r1(units, i, j), 0)) return 0;
  struct unit_facts whole = hierarchy_facts(&p, &q, d, u);
  const struct hermite_motion *motion = &units->set->motion[i];
  double x[3], v[3];
  for (int c = 0; c < 3; c++) {
    x[c] = motion->x[c] + q.m / whole.m * d[c];
    v[c] = motion->v[c] + q.m / whole.m * u[c];
  }
  return undisturbed(units, loop, i, j, tick, &whole, x, v);
}

int units_settled(const struct units *units, const struct list_loop *loop, int32_t place, int32_t tick,
                  const struct unit_body bodies[2])
{
  const struct hermite_motion *centre = &units->set->motion[place];
  struct unit_facts p = unit_body_facts(&bodies[0]), q = unit_body_facts(&bodies[1]);
  double d[3], u[3];
  for (int c = 0; c < 3; c++) {
    d[c] = bodies[1].x[c] - bodies[0].x[c];
    u[c] = bodies[1].v[c] - bodies[0].v[c];
  }
  if (!hierarchy_fits(&units->rules, &p, &q, d, u, units_r1(units, place, place), 0)) return 0;
  struct unit_facts whole = hierarchy_facts(&p, &q, d, u);
  return undisturbed(units, loop, place, place, tick, &whole, centre->x, centre->v);
}
