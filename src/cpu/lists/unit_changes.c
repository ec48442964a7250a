/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units that form and dissolve at block times, and the neighbour lists that follow them. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/lists/units.h"
#include "gravity/hierarchy_rules.h"

/* --- lists -------------------------------------------------------------------------------------------------------- */

static void each_light(struct units *units, int32_t old, const int32_t *parts, int n)
{
  struct list_set *set = units->set;
  for (int32_t i = 0; set->light && i < set->n; i++) { /* particles without mass are in no list */
    if (set->gm[i] > 0 || !list_remove(set, i, old)) continue;
    for (int k = 0; k < n; k++) list_add(set, i, parts[k]);
  }
}

/* The unit `gone` has become a part of that at `stays`. */
static void join_lists(struct units *units, int32_t stays, int32_t gone)
{
  struct list_set *set = units->set;
  for (int64_t e = 0; e < list_length(set, gone); e++) {
    int32_t l = list_entries(set, gone)[e];
    list_remove(set, l, gone);
    if (l == stays) continue;
    list_add(set, l, stays);
    list_add(set, stays, l);
  }
  list_remove(set, stays, gone);
  list_clear(set, gone);
  each_light(units, gone, &stays, 1);
}

/* The unit at `old` has become parts[n], of which it may be one. */
static void part_lists(struct units *units, int32_t old, const int32_t *parts, int n)
{
  struct list_set *set = units->set;
  int64_t count = list_length(set, old);
  int32_t *entries = list_copy(set, old);
  for (int64_t e = 0; e < count; e++) {
    list_remove(set, entries[e], old);
    for (int k = 0; k < n; k++) list_add(set, entries[e], parts[k]);
  }
  list_clear(set, old);
  for (int k = 0; k < n; k++) {
    list_clear(set, parts[k]);
    for (int64_t e = 0; e < count; e++) list_add(set, parts[k], entries[e]);
    for (int l = 0; l < n; l++)
      if (l != k) list_add(set, parts[k], parts[l]);
  }
  memory_free(entries);
  each_light(units, old, parts, n);
}

/* --- a change at a tick ------------------------------------------------------------------------------------------- */

/* The force on a new unit or star, and its first step. */
static void begin(struct units *units, struct list_loop *loop, int32_t place, int32_t tick)
{
  double wanted = loop->integrator->start(loop, place, tick);
  list_loop_level(loop, place, tick, wanted);
  units_note_level(units, place);
  if (units->begun_count == units->begun_capacity) {
    units->begun_capacity = (int64_t)memory_grown((size_t)units->begun_capacity, sizeof *units->begun);
    units->begun = memory_resize("hard", units->begun, sizeof *units->begun * (size_t)units->begun_capacity);
  }
  units->begun[units->begun_count++] = place;
}

static void bring(struct units *units, struct list_loop *loop, int32_t place, int32_t tick)
{
  if (loop->set->tick[place] == tick) return;
  units_note_level(units, place);
  list_loop_bring(loop, place, tick);
  units_note_level(units, place);
}

static void synchronise(struct units *units, const struct list_loop *loop, int32_t place, double t)
{
  struct unit_environment environment;
  if (units->of[place] < 0) return;
  units_environment(units, loop, place, &environment);
  unit_synchronise(&units->unit[units->of[place]], &units->rules, &environment, t);
}

static void join(struct units *units, struct list_loop *loop, int32_t i, int32_t j, int32_t tick, enum unit_form form)
{
  struct list_set *set = units->set;
  struct unit_body bodies[2 * UNIT_BODIES];
  double t = tick * loop->tick_length;
  int32_t stays = set->id[i] < set->id[j] ? i : j, gone = stays == i ? j : i;
  struct hermite_motion frame = set->motion[stays];
  synchronise(units, loop, i, t);
  synchronise(units, loop, j, t);
  int n = units_bodies(units, stays, t, frame.x, frame.v, 1, bodies);
  n += units_bodies(units, gone, t, frame.x, frame.v, 1, bodies + n);
  if (form != UNIT_FORM_HIERARCHY) n = unit_open_tight(&units->rules, bodies, n, UNIT_OPEN_EARLY);
  join_lists(units, stays, gone);
  units_release(units, stays);
  units_release(units, gone);
  units_make(units, n, bodies, frame.x, frame.v, tick, t, form);
  begin(units, loop, stays, tick);
}

/* Divide the unit at `place` into parts; part[k]: of body k. */
static void divide(struct units *units, struct list_loop *loop, int32_t place, int32_t tick, int parts,
                   const int part[UNIT_BODIES])
{
  struct unit_body bodies[UNIT_BODIES], some[UNIT_BODIES];
  struct hermite_motion frame = units->set->motion[place];
  double t = tick * loop->tick_length;
  int32_t centre[UNIT_BODIES];
  synchronise(units, loop, place, t);
  int n = units_bodies(units, place, t, frame.x, frame.v, 0, bodies);
  units_release(units, place);
  for (int p = 0; p < parts; p++) {
    int count = 0;
    for (int k = 0; k < n; k++)
      if (part[k] == p) some[count++] = bodies[k];
    centre[p] = units_make(units, count, some, frame.x, frame.v, tick, t, UNIT_FORM_ANY);
  }
  part_lists(units, place, centre, parts);
  for (int p = 0; p < parts; p++) begin(units, loop, centre[p], tick);
}

/* --- joining ------------------------------------------------------------------------------------------------------ */

/* What two stars form, beside all others; where nothing, they wait. */
static enum unit_form form_of(struct units *units, const struct list_loop *loop, int32_t i, int32_t j, int32_t tick)
{
  const struct list_set *set = units->set;
  enum unit_form form = UNIT_FORM_ANY;
  double middle[3], d[3], u[3], mu = set->gm[i] + set->gm[j], part = set->gm[j] / mu, r1 = units_r1(units, i, j);
  for (int c = 0; c < 3; c++) { /* their centre of mass, from which unit_belong has a distance afterwards */
    d[c] = set->motion[j].x[c] - set->motion[i].x[c];
    u[c] = set->motion[j].v[c] - set->motion[i].v[c];
    middle[c] = set->motion[i].x[c] + part * d[c];
  }
  struct unit_candidate candidate = unit_candidate_of(&units->rules, mu, d, u, r1);
  for (int64_t e = 0; e < list_length(set, i); e++) {
    int32_t l = list_entries(set, i)[e];
    double v[3];
    if (l == j) continue;
    hermite_predict(&set->motion[l], (tick - set->tick[l]) * loop->tick_length, d, v);
    for (int c = 0; c < 3; c++) d[c] -= middle[c];
    struct unit_facts facts = units_facts(units, l);
    int hard = units->of[l] >= 0 && !unit_is_passing(&facts);
    enum unit_form beside = unit_form_beside(&units->rules, &candidate, sqrt(kepler_dot(d, d)), set->gm[l], hard, r1);
    if (beside > form) form = beside;
  }
  if (form == UNIT_FORM_NONE && tick > 0)
    units->waits[i] = units->waits[j] = (uint8_t)unit_wait_steps(&units->rules, &candidate);
  return form;
}

/* Before two places at the tick become one unit, those that are near it end their steps, which began with the two: soon
 * they may be a part of it. */
static void bring_near(struct units *units, struct list_loop *loop, int32_t i, int32_t j, int32_t tick)
{
  const struct list_set *set = units->set;
  struct unit_facts p = units_facts(units, i), q = units_facts(units, j);
  double part = q.m / (p.m + q.m), d[3], u[3], centre[3];
  for (int c = 0; c < 3; c++) {
    d[c] = set->motion[j].x[c] - set->motion[i].x[c];
    u[c] = set->motion[j].v[c] - set->motion[i].v[c];
    centre[c] = set->motion[i].x[c] + part * d[c];
  }
  double near = unit_near_joint(&units->rules, &p, &q, d, u);
  for (int64_t e = 0; e < list_length(set, i); e++) {
    int32_t l = list_entries(set, i)[e];
    double x[3], v[3];
    if (l == j || set->tick[l] == tick || !(set->gm[l] > 0)) continue;
    hermite_predict(&set->motion[l], (tick - set->tick[l]) * loop->tick_length, x, v);
    for (int c = 0; c < 3; c++) x[c] -= centre[c];
    if (kepler_dot(x, x) < near * near) bring(units, loop, l, tick);
  }
}

static int try_join(struct units *units, struct list_loop *loop, int32_t i, int32_t j, int32_t tick)
{
  const struct list_set *set = units->set;
  static const int two[UNIT_BODIES] = {0, 1};
  if (i == j || units->of[i] == UNIT_ABSORBED || units->of[j] == UNIT_ABSORBED) return 0;
  bring(units, loop, i, tick);
  bring(units, loop, j, tick);
  double d[3], u[3];
  for (int c = 0; c < 3; c++) {
    d[c] = set->motion[j].x[c] - set->motion[i].x[c];
    u[c] = set->motion[j].v[c] - set->motion[i].v[c];
  }
  struct unit_facts p = units_facts(units, i), q = units_facts(units, j);
  if (units_hierarchical(units, loop, i, j, tick, d, u)) {
    bring_near(units, loop, i, j, tick);
    join(units, loop, i, j, tick, UNIT_FORM_HIERARCHY);
    return 1;
  }
  switch (unit_belong(&units->rules, &p, &q, d, u, units_r1(units, i, j), 1)) {
  case UNIT_APART: return 0;
  case UNIT_LET_GO:
    divide(units, loop, unit_first_goes(&units->rules, &p, &q, sqrt(kepler_dot(d, d))) ? i : j, tick, 2, two);
    return 1;
  case UNIT_TOGETHER: break;
  }
  enum unit_form form = UNIT_FORM_ANY;
  if (units->of[i] < 0 && units->of[j] < 0) form = form_of(units, loop, i, j, tick);
  if (form == UNIT_FORM_NONE) return 0;
  bring_near(units, loop, i, j, tick);
  join(units, loop, i, j, tick, form);
  return 1;
}

/* A group of two pieces that are a hierarchy becomes one. Returns whether it has. */
static int make_settled(struct units *units, struct list_loop *loop, int32_t place, int32_t tick)
{
  struct unit *unit = &units->unit[units->of[place]];
  const struct hermite_motion frame = units->set->motion[place];
  struct unit_body whole[2];
  if (!unit_two_pieces(unit, &units->rules, units_r1(units, place, place), whole) ||
      !units_settled(units, loop, place, tick, whole))
    return 0;
  units_release(units, place);
  units_make(units, 2, whole, frame.x, frame.v, tick, tick * loop->tick_length, UNIT_FORM_HIERARCHY);
  begin(units, loop, place, tick);
  return 1;
}

/* Whether the unit at `place` no longer holds together; then it is divided. */
static int try_part(struct units *units, struct list_loop *loop, int32_t place, int32_t tick)
{
  struct unit *unit = &units->unit[units->of[place]];
  double r1 = units_r1(units, place, place), t = tick * loop->tick_length;
  int part[UNIT_BODIES], parts = unit_find_parts(&units->rules, unit, t, r1, part);
  if (parts > 1) divide(units, loop, place, tick, parts, part);
  else if (make_settled(units, loop, place, tick)) return 1;
  else unit_tighten(unit, &units->rules, t, r1);
  return parts > 1;
}

/* Join two, and the new unit at once with what is within its reach now: a lasting pair may be larger than the distance
 * of a third star. */
static int join_all(struct units *units, struct list_loop *loop, int32_t i, int32_t j, int32_t tick)
{
  int any = 0;
  for (int k = 0; k < UNIT_BODIES && j >= 0 && try_join(units, loop, i, j, tick); k++) {
    any = 1;
    if (units->of[i] == UNIT_ABSORBED) i = j;
    j = units->partner[i];
    units->partner[i] = -1;
  }
  return any;
}

/* Stars that were refused do not ask again at once. */
static void let_wait(struct units *units, const int32_t *places, int64_t n)
{
  for (int64_t k = 0; k < n; k++) {
    int32_t i = places[k], j = units->partner[i];
    if (j < 0 || units->of[i] >= 0 || units->of[j] >= 0 || units->waits[i] == 0) continue;
    units->waits[i]--;
    units->partner[i] = -1;
  }
}

int units_change(struct units *units, struct list_loop *loop, int32_t tick, const int32_t *places, int64_t n,
                 int parting)
{
  int any = 0;
  if (tick > 0) let_wait(units, places, n);
  for (int64_t k = 0; k < n; k++) {
    int32_t i = places[k], j = units->partner[i];
    units->partner[i] = -1;
    if (units->of[i] != UNIT_ABSORBED && j >= 0) any |= join_all(units, loop, i, j, tick);
  }
  for (int64_t k = 0; parting && k < n; k++)
    if (units->of[places[k]] >= 0 && units->set->tick[places[k]] == tick) any |= try_part(units, loop, places[k], tick);
  return any;
}
