/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fourth-order Hermite scheme for stars, and for the centres of mass of pairs and groups of stars, which form and
 * dissolve at block times (cpu/lists/units.h). */
#include <config.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/lists/units.h"

enum { BEGIN_ROUNDS = 20 };

static double background(const struct list_loop *loop, int64_t i)
{
  double r2 = loop->set->factor[i] * (double)loop->request->split.r2;
  return LIST_BACKGROUND * fmax(loop->set->gm[i], loop->mean_gm) / (r2 * r2);
}

/* The force on place i at the tick, which becomes its own; *field is that of a unit. */
static void evaluate(const struct list_loop *loop, int64_t i, int32_t tick, const double x[3], const double v[3],
                     struct hermite_force *force, struct unit_field *field)
{
  struct units *units = loop->state;
  if (units->of[i] >= 0) units_force(units, loop, (int32_t)i, tick, x, v, force, field);
  else units_force_on_star(units, loop, (int32_t)i, tick, x, v, force);
}

static double first_step(const struct list_loop *loop, int64_t i, const struct hermite_force *force)
{
  const struct units *units = loop->state;
  double step = hermite_first_step(force->a, force->j, LIST_FIRST_ETA * loop->request->eta, background(loop, i));
  return units->of[i] >= 0 ? unit_step_limit(&units->unit[units->of[i]], &units->rules, step) : step;
}

static double first_force(const struct list_loop *loop, int64_t i, struct hermite_motion *motion)
{
  struct units *units = loop->state;
  const struct hermite_motion *now = &loop->set->motion[i];
  struct hermite_force force = {0};
  struct unit_field field;
  memset(motion, 0, sizeof *motion);
  if (units->of[i] == UNIT_ABSORBED) return 1e300;
  evaluate(loop, i, 0, now->x, now->v, &force, &field);
  if (units->of[i] >= 0) units->unit[units->of[i]].field = field;
  memcpy(motion->a, force.a, sizeof force.a);
  memcpy(motion->j, force.j, sizeof force.j);
  return first_step(loop, i, &force);
}

static double start(struct list_loop *loop, int32_t i, int32_t tick)
{
  struct units *units = loop->state;
  struct hermite_motion *motion = &loop->set->motion[i];
  struct hermite_force force = {0};
  struct unit_field field;
  evaluate(loop, i, tick, motion->x, motion->v, &force, &field);
  memcpy(motion->a, force.a, sizeof force.a);
  memcpy(motion->j, force.j, sizeof force.j);
  loop->tally->pairs += list_length(loop->set, i);
  if (units->of[i] >= 0) {
    struct unit *unit = &units->unit[units->of[i]];
    unit->field = field;
    unit_classify(unit, &units->rules, tick * loop->tick_length);
  }
  return first_step(loop, i, &force);
}

static double end_step(const struct list_loop *loop, int64_t i, int32_t tick, double dt, const double x[3],
                       const double v[3], struct hermite_motion *motion)
{
  struct units *units = loop->state;
  struct hermite_force force;
  struct unit_field field;
  double a2[3], a3[3], t = tick * loop->tick_length;
  evaluate(loop, i, tick, x, v, &force, &field);
  if (dt > 0) hermite_correct(motion, dt, x, v, &force, a2, a3);
  double wanted = dt > 0 ? hermite_step(motion->a, motion->j, a2, a3, loop->request->eta, background(loop, i)) : 1e300;
  if (units->of[i] < 0) return wanted;
  struct unit *next = &units->next[units->of[i]];
  struct unit_environment environment;
  *next = units->unit[units->of[i]];
  units_environment(units, loop, (int32_t)i, &environment);
  next->failed |= unit_advance(next, &units->rules, &environment, &field, t - dt, t) != 0;
  next->field = field;
  return unit_step_limit(next, &units->rules, wanted);
}

static void commit(struct list_loop *loop, int32_t i, int32_t tick, double dt)
{
  struct units *units = loop->state;
  if (units->of[i] < 0) return;
  struct unit *unit = &units->unit[units->of[i]];
  double t = tick * loop->tick_length;
  int failed = unit->failed;
  *unit = units->next[units->of[i]];
  if (unit->failed && !failed && i < loop->set->own) list_note_collapse(loop, i, 0); /* two stars at the same place */
  if (unit->kind == UNIT_RESOLVED) unit_elements(unit, &units->rules, units_r1(units, i, i));
  unit_classify(unit, &units->rules, t);
  unit_set_quadrupole(unit, dt);
  units->seen[units->of[i]].tick = -1;
}

static int change(struct list_loop *loop, int32_t tick, const int32_t *places, int64_t n, const int32_t **begun,
                  int64_t *count)
{
  struct units *units = loop->state;
  units->lowest = LIST_LEVEL_MAX + 1;
  units->begun_count = 0;
  units_change(units, loop, tick, places, n, 1);
  *begun = units->begun;
  *count = units->begun_count;
  return units->lowest;
}

static void begin(struct list_loop *loop)
{
  struct units *units = loop->state;
  int64_t n = loop->set->n;
  int32_t *places = memory_alloc("hard", sizeof *places * (size_t)(n + 1));
  for (int64_t i = 0; i < n; i++) places[i] = (int32_t)i;
  for (int64_t k = 0; k < units->n; k++) {
    if (units->centre[k] < 0) continue;
    unit_classify(&units->unit[k], &units->rules, 0);
    unit_set_quadrupole(&units->unit[k], 0);
  }
  for (int k = 0; k < BEGIN_ROUNDS && units_change(units, loop, 0, places, n, 0); k++) continue;
  units_change(units, loop, 0, places, n, 1);
  memory_free(places);
}

static int moves(const struct list_loop *loop, int64_t i)
{
  const struct units *units = loop->state;
  return units->of[i] >= 0 || (units->of[i] == UNIT_STAR && list_length(loop->set, i) > 0);
}

static void *open(struct list_set *set, const struct list_request *request)
{
  struct units *units = memory_alloc("hard", sizeof *units);
  units_open(units, set, request);
  return units;
}

static void close(struct list_loop *loop)
{
  struct units *units = loop->state;
  units_close(units, loop);
  memory_free(units);
}

const struct integrator integrator_units = {.first_force = first_force,
                                            .end_step = end_step,
                                            .open = open,
                                            .close = close,
                                            .begin = begin,
                                            .commit = commit,
                                            .start = start,
                                            .change = change,
                                            .moves = moves};
