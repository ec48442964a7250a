/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces of and on units of stars, and who comes too close to be outside. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "cpu/lists/units.h"
#include "gravity/unit_field.h"

/* A neighbour as seen from a target at one tick. */
struct seen {
  int32_t place;
  struct unit_neighbour is;
};

static void look(const struct list_loop *loop, int32_t j, int32_t tick, const double x[3], const double v[3],
                 struct seen *seen)
{
  const struct list_set *set = loop->set;
  struct unit_neighbour *is = &seen->is;
  hermite_predict(&set->motion[j], (tick - set->tick[j]) * loop->tick_length, is->d, is->u);
  for (int c = 0; c < 3; c++) {
    is->d[c] -= x[c];
    is->u[c] -= v[c];
  }
  seen->place = j;
  is->gm = set->gm[j];
  is->r2 = kepler_dot(is->d, is->d);
}

/* The rest, of a neighbour within R2. */
static int look_closer(const struct list_loop *loop, int32_t i, struct seen *seen)
{
  float factor = fmaxf(loop->set->factor[i], loop->set->factor[seen->place]);
  double r2 = (double)factor * (double)loop->request->split.r2;
  if (!(seen->is.r2 < r2 * r2)) return 0;
  seen->is.split = hermite_split_of(&loop->request->split, factor, factor);
  seen->is.r = sqrt(seen->is.r2);
  return 1;
}

/* The stars of a pair that is followed are placed by the first who asks at the tick. */
static const struct unit_two *seen_now(struct units *units, int32_t at, int32_t tick, double t)
{
  struct unit_seen *seen = &units->seen[at];
  const struct unit *unit = &units->unit[at];
  int32_t known;
#pragma omp atomic read acquire
  known = seen->tick;
  if (known == tick) return &seen->two;
#pragma omp critical(seen_now)
  {
    if (seen->tick != tick) {
      seen->two.m1 = unit->body[0].m;
      seen->two.m2 = unit->body[1].m;
      resolved_relative(&unit->ks, unit_pair_mass(unit), t, seen->two.d, seen->two.u);
    }
#pragma omp atomic write release
    seen->tick = tick;
  }
  return &seen->two;
}

/* The two stars at the tick of the unit at `place`, where the other one, a place of mass gm, sees them; else NULL. */
static const struct unit_two *two_at(struct units *units, const struct list_loop *loop, int32_t place, int32_t tick,
                                     double gm, const struct unit_neighbour *is)
{
  int32_t at = units->of[place];
  const struct unit *unit = &units->unit[at];
  if (unit->kind != UNIT_RESOLVED || unit_is_hierarchy(unit)) return NULL;
  struct unit_facts facts = unit_facts_of(unit);
  if (unit->lasting && !unit_seen_now(&units->rules, &facts, gm, is->r, kepler_dot(is->u, is->u))) return NULL;
  return seen_now(units, at, tick, tick * loop->tick_length);
}

/* The quadrupole at the tick of the unit at `place`. */
static void quadrupole_at(const struct units *units, const struct list_loop *loop, int32_t place, int32_t tick,
                          double quadrupole[3][3])
{
  const struct unit *unit = &units->unit[units->of[place]];
  double dt = (tick - loop->set->tick[place]) * loop->tick_length;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) quadrupole[i][j] = unit->quadrupole[i][j] + dt * unit->rate[i][j];
}

static int has_quadrupole(const struct units *units, int32_t place, double gm, double r2)
{
  if (units->of[place] < 0) return 0;
  const struct unit *unit = &units->unit[units->of[place]];
  return unit_quadrupole_counts(
      unit->lasting ? unit->trace : unit_passing_trace(&units->rules, unit->body[0].m, unit->body[1].m), gm, r2);
}

/* Add the force of the neighbour, a unit, on a place of mass gm beyond that of its mass. f: of unit_radial. */
static void add_extent(struct units *units, const struct list_loop *loop, const struct seen *seen, const double f[4],
                       int32_t tick, double gm, struct hermite_force *force)
{
  const struct unit_two *two = two_at(units, loop, seen->place, tick, gm, &seen->is);
  double q[3][3];
  if (two) {
    unit_add_two(&seen->is, two, 1, force);
    return;
  }
  quadrupole_at(units, loop, seen->place, tick, q);
  unit_add_quadrupole(&seen->is, f, (const double(*)[3])q, (const double(*)[3])units->unit[units->of[seen->place]].rate,
                      force);
}

/* Add the force of the neighbour on the unit at place i, of mass gm, beyond that on its mass. */
static void add_on_extent(struct units *units, const struct list_loop *loop, int32_t i, const struct seen *seen,
                          const double f[4], int32_t tick, double gm, struct hermite_force *force)
{
  const struct unit_neighbour *is = &seen->is;
  const struct unit_two *two = two_at(units, loop, i, tick, is->gm, is);
  double q[3][3];
  if (two) {
    unit_add_two(is, two, -1, force);
    return;
  }
  quadrupole_at(units, loop, i, tick, q);
  quadrupole_add((const double(*)[3])q, (const double(*)[3])units->unit[units->of[i]].rate, is->d, is->u, f,
                 -is->gm / gm, force->a, force->j);
}

/* Whether the neighbour belongs to the particle at place i; the nearest such one is its partner, or one that is a
 * hierarchy with it. */
static void check_partner(struct units *units, int32_t i, const struct seen *seen, const struct unit_facts *facts,
                          double *nearest)
{
  if (seen->is.r2 >= *nearest * *nearest) return;
  double r1 = units_r1(units, i, seen->place), far = UNIT_EXTENT * r1;
  if (seen->is.r2 >= far * far) return;
  struct unit_facts other = units_facts(units, seen->place);
  if (unit_belong(&units->rules, facts, &other, seen->is.d, seen->is.u, r1, 1)) {
    *nearest = sqrt(seen->is.r2);
    units->partner[i] = seen->place;
  } else if (units->partner[i] < 0 && hierarchy_fits(&units->rules, facts, &other, seen->is.d, seen->is.u, r1, 0)) {
    units->partner[i] = seen->place;
  }
}

void units_force_on_star(struct units *units, const struct list_loop *loop, int32_t i, int32_t tick, const double x[3],
                         const double v[3], struct hermite_force *force)
{
  const struct list_set *set = loop->set;
  struct list_target target = list_target_at(set, i, tick, x, v);
  const int32_t *entry = list_entries(set, i);
  double nearest2 = 1e300, nearest = 1e300, f[4], far = UNIT_EXTENT * loop->request->split.r1 * units->widest_factor;
  int64_t count = list_length(set, i);
  set->isa->list_force_nearest(&loop->from, &target, entry, count, force, &nearest2);
  units->partner[i] = -1;
  int close = nearest2 < far * far;
  if (!close && units->n == 0) return;
  struct unit_facts facts = units_facts(units, i);
  for (int64_t k = 0; k < count; k++) {
    struct seen seen;
    int32_t j = entry[k];
    if (!close && units->of[j] < 0) continue;
    look(loop, j, tick, x, v, &seen);
    if (close) check_partner(units, i, &seen, &facts, &nearest);
    if (!has_quadrupole(units, j, seen.is.gm, seen.is.r2) || !look_closer(loop, i, &seen)) continue;
    unit_radial(&seen.is, f);
    add_extent(units, loop, &seen, f, tick, set->gm[i], force);
  }
}

/* The UNIT_NEAR places with the largest weights are near. */
static void note_near(struct unit_field *field, double weights[UNIT_NEAR], double weight, int32_t place)
{
  int at = 0;
  if (field->near_count < UNIT_NEAR) at = field->near_count++;
  else {
    for (int k = 1; k < UNIT_NEAR; k++) at = weights[k] < weights[at] ? k : at;
    if (weight <= weights[at]) return;
  }
  weights[at] = weight;
  field->near[at] = place;
}

void units_force(struct units *units, const struct list_loop *loop, int32_t i, int32_t tick, const double x[3],
                 const double v[3], struct hermite_force *force, struct unit_field *field)
{
  const struct unit *unit = &units->unit[units->of[i]];
  const int32_t *entry = list_entries(loop->set, i);
  double nearest = 1e300, gm = loop->set->gm[i], weights[UNIT_NEAR], f[4];
  int pair = unit->kind != UNIT_GROUP;
  double size = pair && unit->lasting ? unit->orbit.a : unit->orbit.size;
  struct unit_facts facts = units_facts(units, i);
  memset(field, 0, sizeof *field);
  memset(force, 0, sizeof *force);
  field->fastest = 1e30;
  units->partner[i] = -1;
  for (int64_t e = 0; e < list_length(loop->set, i); e++) {
    struct seen seen;
    look(loop, entry[e], tick, x, v, &seen);
    if (!look_closer(loop, i, &seen)) continue;
    const struct unit_neighbour *is = &seen.is;
    hermite_pair(force, is->d, is->u, is->gm, 0, &is->split);
    if (!(is->gm > 0)) continue;
    unit_radial(is, f);
    if (has_quadrupole(units, seen.place, is->gm, is->r2)) add_extent(units, loop, &seen, f, tick, gm, force);
    if (has_quadrupole(units, i, gm, is->r2)) add_on_extent(units, loop, i, &seen, f, tick, gm, force);
    double weight = unit_tide_weight(is, gm, size);
    unit_add_field(field, is, f, gm, weight, pair);
    if (weight > UNIT_TIDE_LEAST) note_near(field, weights, weight, seen.place);
    check_partner(units, i, &seen, &facts, &nearest);
  }
  memcpy(field->tide_far, field->tide, sizeof field->tide);
  for (int k = 0; k < field->near_count; k++) {
    struct seen seen;
    look(loop, field->near[k], tick, x, v, &seen);
    if (!look_closer(loop, i, &seen)) continue;
    unit_radial(&seen.is, f);
    unit_add_tide(&seen.is, f, -1, field->tide_far);
  }
}

void units_environment(const struct units *units, const struct list_loop *loop, int32_t i,
                       struct unit_environment *environment)
{
  const struct list_set *set = loop->set;
  const struct unit *unit = &units->unit[units->of[i]];
  const struct unit_field *field = &unit->field;
  memcpy(environment->tide, field->tide_far, sizeof environment->tide);
  environment->centre = (struct unit_path){.motion = set->motion[i], .t = set->tick[i] * loop->tick_length};
  environment->near_count = 0;
  environment->root = i;
  if (unit->kind == UNIT_AVERAGED) return; /* the mean tide turns it */
  for (int k = 0; k < field->near_count; k++) {
    int32_t j = field->near[k];
    if (units->of[j] == UNIT_ABSORBED) continue;
    float factor = fmaxf(set->factor[i], set->factor[j]);
    environment->near[environment->near_count++] =
        (struct unit_path){.motion = set->motion[j],
                           .t = set->tick[j] * loop->tick_length,
                           .gm = set->gm[j],
                           .split = hermite_split_of(&loop->request->split, factor, factor)};
  }
}
