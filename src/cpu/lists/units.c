/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of units: bound pairs at the begin of a soft step, units from bodies, and their stars at its end. */
#include <config.h>
#include "cpu/lists/units.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "gravity/bound_pair.h"

int units_bodies(const struct units *units, int32_t place, double t, const double x[3], const double v[3], int whole,
                 struct unit_body *bodies)
{
  const struct hermite_motion *centre = &units->set->motion[place];
  int n = 1;
  if (units->of[place] < 0) bodies[0] = unit_body_of(place, -1, units->gm[place]);
  else n = unit_bodies_of(&units->unit[units->of[place]], t, whole, bodies);
  for (int k = 0; k < n; k++)
    for (int c = 0; c < 3; c++) {
      bodies[k].x[c] += centre->x[c] - x[c];
      bodies[k].v[c] += centre->v[c] - v[c];
    }
  return n;
}

/* --- make and release --------------------------------------------------------------------------------------------- */

static int32_t free_unit(struct units *units)
{
  if (units->spares > 0) return units->spare[--units->spares];
  if (units->n == units->capacity) {
    units->capacity = (int64_t)memory_grown((size_t)units->capacity, sizeof *units->unit);
    size_t n = (size_t)units->capacity;
    units->unit = memory_resize("hard", units->unit, sizeof *units->unit * n);
    units->next = memory_resize("hard", units->next, sizeof *units->next * n);
    units->seen = memory_resize("hard", units->seen, sizeof *units->seen * n);
    units->centre = memory_resize("hard", units->centre, sizeof *units->centre * n);
    units->spare = memory_resize("hard", units->spare, sizeof *units->spare * n);
  }
  units->centre[units->n] = -1;
  return (int32_t)units->n++;
}

void units_release(struct units *units, int32_t place)
{
  if (units->of[place] >= 0) {
    units->centre[units->of[place]] = -1;
    units->spare[units->spares++] = units->of[place];
  }
  units->of[place] = UNIT_STAR;
}

void units_note_level(struct units *units, int32_t place)
{
  int level = units->set->level[place];
  if (level <= LIST_LEVEL_MAX && level < units->lowest) units->lowest = level;
}

/* The place of the star of the lowest id, which has the centre; the others are absorbed. */
static int32_t absorb(struct units *units, int n, const struct unit_body *bodies)
{
  struct list_set *set = units->set;
  int32_t centre = bodies[0].star[0];
  float factor = 0;
  for (int k = 0; k < n; k++)
    for (int s = 0; s < 2; s++) {
      int32_t place = bodies[k].star[s];
      if (place < 0) continue;
      if (set->id[place] < set->id[centre]) centre = place;
      factor = fmaxf(factor, units->factor[place]);
      for (int m = 0; m < 2; m++) {
        int32_t merged = bodies[k].with[s][m] - 1;
        if (merged < 0) continue;
        if (set->id[merged] < set->id[centre]) centre = merged;
        factor = fmaxf(factor, units->factor[merged]);
      }
    }
  for (int k = 0; k < n; k++)
    for (int s = 0; s < 2; s++) {
      int32_t place = bodies[k].star[s];
      if (place < 0) continue;
      units_note_level(units, place);
      units->of[place] = UNIT_ABSORBED;
      units->partner[place] = -1;
      set->factor[place] = BOUND_ABSORBED;
      set->level[place] = LEVEL_UNKNOWN;
    }
  set->factor[centre] = factor;
  return centre;
}

int32_t units_make(struct units *units, int n, const struct unit_body *bodies, const double x[3], const double v[3],
                   int32_t tick, double t, enum unit_form form)
{
  struct list_set *set = units->set;
  struct unit_body about[UNIT_BODIES];
  double centre_x[3], centre_v[3];
  memcpy(about, bodies, sizeof *bodies * (size_t)n);
  double m = unit_to_centre(n, about, centre_x, centre_v);
  int32_t centre = absorb(units, n, bodies);
  struct hermite_motion *motion = &set->motion[centre];
  memset(motion, 0, sizeof *motion);
  for (int c = 0; c < 3; c++) {
    motion->x[c] = x[c] + centre_x[c];
    motion->v[c] = v[c] + centre_v[c];
  }
  set->gm[centre] = m;
  set->tick[centre] = tick;
  units->of[centre] = UNIT_STAR;
  if (n == 1 && bodies[0].star[1] < 0 && bodies[0].with[0][0] == 0) return centre;
  int32_t at = free_unit(units);
  units->seen[at].tick = -1;
  units->centre[at] = centre;
  units->of[centre] = at;
  struct unit *unit = &units->unit[at];
  double r1 = units_r1(units, centre, centre);
  if (form == UNIT_FORM_HIERARCHY) unit_make_hierarchy(unit, &units->rules, about, t, r1);
  else if (form == UNIT_FORM_PASSING) unit_make_passing(unit, &units->rules, about, t, r1);
  else unit_make(unit, &units->rules, n, about, t, r1);
  return centre;
}

/* --- the begin of a soft step ------------------------------------------------------------------------------------- */

/* The nearest neighbour of a star, and how near the next one is. */
static int32_t nearest_of(const struct list_set *set, int32_t i, double *second)
{
  int32_t found = -1;
  double least = *second = 1e300;
  for (int64_t e = 0; e < list_length(set, i); e++) {
    int32_t j = list_entries(set, i)[e];
    double d[3];
    for (int c = 0; c < 3; c++) d[c] = set->motion[j].x[c] - set->motion[i].x[c];
    double r2 = kepler_dot(d, d);
    if (r2 < least) {
      *second = least;
      least = r2;
      found = j;
    } else if (r2 < *second) *second = r2;
  }
  *second = sqrt(*second);
  return found;
}

static void relative(const struct list_set *set, int32_t i, int32_t j, double d[3], double u[3])
{
  for (int c = 0; c < 3; c++) {
    d[c] = set->motion[j].x[c] - set->motion[i].x[c];
    u[c] = set->motion[j].v[c] - set->motion[i].v[c];
  }
}

/* For each star its partner in a pair of two that are each other's nearest neighbours, and alone; -1: none. Owner:
 * caller (memory_free). */
static int32_t *nearest_pairs(const struct list_set *set)
{
  int32_t *nearest = memory_alloc("hard", sizeof *nearest * (size_t)(set->n + 1)),
          *partner = memory_alloc("hard", sizeof *nearest * (size_t)(set->n + 1));
  double *second = memory_alloc("hard", sizeof *second * (size_t)(set->n + 1));
#pragma omp parallel for schedule(static, 512)
  for (int64_t i = 0; i < set->n; i++) nearest[i] = set->gm[i] > 0 ? nearest_of(set, (int32_t)i, &second[i]) : -1;
#pragma omp parallel for schedule(static, 512)
  for (int64_t k = 0; k < set->n; k++) {
    int32_t i = (int32_t)k, j = nearest[i];
    double d[3], u[3];
    partner[i] = -1;
    if (j < 0 || nearest[j] != i) continue;
    relative(set, i, j, d, u);
    if (fmin(second[i], second[j]) >= UNIT_ALONE * unit_pair_extent(set->gm[i] + set->gm[j], d, u)) partner[i] = j;
  }
  memory_free(nearest);
  memory_free(second);
  return partner;
}

double units_pair_kinetic(const struct list_set *set, const struct list_request *request)
{
  const struct unit_rules any_period = {.soft_step = 1e30};
  int32_t *partner = nearest_pairs(set);
  double sum = 0;
  for (int32_t i = 0; i < set->own; i++) {
    int32_t j = partner[i];
    double d[3], u[3], m1 = set->gm[i], m2 = j >= 0 ? set->gm[j] : 0;
    if (j < 0 || set->id[i] > set->id[j]) continue;
    relative(set, i, j, d, u);
    double r1 = fmaxf(set->factor[i], set->factor[j]) * list_unit_r1(request);
    if (unit_lasts(&any_period, m1 + m2, d, u, r1, 1)) sum += 0.5 * m1 * m2 / (m1 + m2) * kepler_dot(u, u);
  }
  memory_free(partner);
  return sum / set->gravity;
}

/* Lasting pairs at tick 0. */
static void find_pairs(struct units *units)
{
  struct list_set *set = units->set;
  int32_t *partner = nearest_pairs(set);
  for (int32_t i = 0; i < set->n; i++) {
    int32_t j = partner[i];
    if (j < 0 || set->id[i] > set->id[j]) continue;
    struct unit_body bodies[2] = {{.star = {i, -1}, .m = set->gm[i]}, {.star = {j, -1}, .m = set->gm[j]}};
    double x[3], v[3];
    int mean = set->level[j] == LEVEL_MEAN;
    uint8_t level = set->level[i];
    memcpy(x, set->motion[i].x, sizeof x);
    memcpy(v, set->motion[i].v, sizeof v);
    relative(set, i, j, bodies[1].x, bodies[1].v);
    if (!unit_lasts(&units->rules, set->gm[i] + set->gm[j], bodies[1].x, bodies[1].v, units_r1(units, i, j), 1))
      continue;
    int32_t centre = units_make(units, 2, bodies, x, v, 0, 0, UNIT_FORM_ANY);
    set->level[centre] = level;
    if (!mean) continue;
    struct unit *unit = &units->unit[units->of[centre]];
    unit->kind = UNIT_AVERAGED;
    memcpy(unit->d, bodies[1].x, sizeof unit->d);
    memcpy(unit->u, bodies[1].v, sizeof unit->u);
    unit_set_quadrupole(unit, 0);
  }
  memory_free(partner);
}

/* A fast star of another rank that is in no pair has lost its partner beyond the halo: it would come where it never
 * does. */
static void ignore_fast(struct units *units, const struct list_request *request)
{
  struct list_set *set = units->set;
  double limit2 = halo_speed(request) * halo_speed(request);
  for (int64_t i = set->own; i < set->n; i++) {
    if (units->of[i] != UNIT_STAR || kepler_dot(set->motion[i].v, set->motion[i].v) < limit2) continue;
    units->of[i] = UNIT_ABSORBED;
    set->factor[i] = BOUND_ABSORBED;
    set->level[i] = LEVEL_UNKNOWN;
  }
}

void units_open(struct units *units, struct list_set *set, const struct list_request *request)
{
  size_t n = (size_t)(set->n + 1);
  double r1 = list_unit_r1(request);
  *units = (struct units){.set = set};
  units->rules = (struct unit_rules){.r1 = r1,
                                     .entry = UNIT_ENTRY_R1 * r1,
                                     .error = UNIT_ERROR * 0.5 * set->gravity * request->total_mass * request->speed2,
                                     .soft_step = request->soft_step,
                                     .hierarchies = 1};
  units_open_contacts(units, request);
  units->of = memory_alloc("hard", sizeof *units->of * n);
  units->partner = memory_alloc("hard", sizeof *units->partner * n);
  units->gm = memory_alloc("hard", sizeof *units->gm * n);
  units->factor = memory_alloc("hard", sizeof *units->factor * n);
  units->waits = memory_alloc("hard", n);
  memset(units->waits, 0, n);
  for (int64_t i = 0; i < set->n; i++) {
    units->of[i] = UNIT_STAR;
    units->partner[i] = -1;
    units->widest_factor = fmax(units->widest_factor, set->factor[i]);
  }
  memcpy(units->gm, set->gm, sizeof *units->gm * (size_t)set->n);
  memcpy(units->factor, set->factor, sizeof *units->factor * (size_t)set->n);
  list_set_lists(set, request, 0);
  find_pairs(units);
  ignore_fast(units, request);
  list_set_lists(set, request, request->soft_step);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static void put_star(struct units *units, const struct unit_body *star, const double x[3], const double v[3],
                     uint8_t level)
{
  struct list_set *set = units->set;
  int32_t i = star->star[0];
  struct hermite_motion *motion = &set->motion[i];
  memset(motion, 0, sizeof *motion);
  for (int c = 0; c < 3; c++) {
    motion->x[c] = x[c] + star->x[c];
    motion->v[c] = v[c] + star->v[c];
  }
  set->gm[i] = units->gm[i];
  set->factor[i] = units->factor[i];
  set->level[i] = level;
}

static void finish(struct units *units, const struct list_loop *loop, int32_t at)
{
  struct unit_environment environment;
  units_environment(units, loop, units->centre[at], &environment);
  unit_finish_step(&units->unit[at], &units->rules, &environment, loop->request->soft_step);
}

static void count_pair(const struct units *units, double m1, double m2, const double u[3], double period, double e,
                       struct list_tally *tally)
{
  tally->pairs_bound++;
  tally->pair_kinetic += 0.5 * m1 * m2 / (m1 + m2) * kepler_dot(u, u) / units->set->gravity;
  tally->shortest_period = fmin(tally->shortest_period, period);
  tally->largest_eccentricity = fmax(tally->largest_eccentricity, e);
}

/* Counts of own pairs: of a hierarchy the inner ones. */
static void count_pairs(const struct units *units, const struct unit *unit, int32_t centre,
                        const struct unit_body *bodies, struct list_tally *tally)
{
  double u[3];
  if (unit->kind == UNIT_GROUP || !unit->lasting || centre >= units->set->own) return;
  if (!unit_is_hierarchy(unit)) {
    for (int c = 0; c < 3; c++) u[c] = bodies[1].v[c] - bodies[0].v[c];
    count_pair(units, bodies[0].m, bodies[1].m, u, unit->orbit.period, unit->orbit.e, tally);
    return;
  }
  for (int k = 0; k < 2; k++) {
    struct kepler_orbit orbit;
    const struct unit_body *pair = &bodies[k];
    if (pair->star[1] < 0 || !kepler_elements(pair->m, pair->d, pair->u, &orbit)) continue;
    count_pair(units, pair->m1, pair->m2, pair->u, orbit.period, orbit.e, tally);
  }
}

static void put_back(struct units *units, const struct list_loop *loop, int32_t at)
{
  struct unit *unit = &units->unit[at];
  struct unit_body bodies[UNIT_BODIES], stars[2];
  int32_t centre = units->centre[at];
  struct hermite_motion motion = units->set->motion[centre];
  double t = loop->request->soft_step;
  uint8_t proposed = units->set->level[centre], other = unit->kind == UNIT_AVERAGED ? LEVEL_MEAN : LEVEL_UNKNOWN;
  int n = units_bodies(units, centre, t, motion.x, motion.v, 0, bodies);
  count_pairs(units, unit, centre, bodies, loop->tally);
  if (unit_is_two_stars(unit)) unit_round_pair(motion.x, bodies);
  for (int k = 0; k < n; k++) {
    if (bodies[k].star[1] < 0) {
      put_star(units, &bodies[k], motion.x, motion.v, other);
      continue;
    }
    unit_divide(&bodies[k], stars);
    unit_round_pair(motion.x, stars);
    put_star(units, &stars[0], motion.x, motion.v, LEVEL_UNKNOWN);
    put_star(units, &stars[1], motion.x, motion.v, LEVEL_UNKNOWN);
  }
  /* for the same pair in the next soft step */
  if (unit->kind != UNIT_GROUP && unit->lasting && !unit_is_hierarchy(unit)) units->set->level[centre] = proposed;
}

static void lend_star(const struct list_set *set, int32_t place, struct lent_stars *lent)
{
  if (place < set->own) return;
  if (lent->n == lent->capacity) {
    lent->capacity = (int64_t)memory_grown((size_t)lent->capacity, sizeof *lent->star);
    lent->star = memory_resize("hard", lent->star, sizeof *lent->star * (size_t)lent->capacity);
  }
  struct unit_star *star = &lent->star[lent->n++];
  *star = (struct unit_star){.id = set->id[place], .level = set->level[place]};
  memcpy(star->pos, set->motion[place].x, sizeof star->pos);
  memcpy(star->vel, set->motion[place].v, sizeof star->vel);
}

/* The stars of a unit of this rank that other ranks own. */
static void lend(const struct units *units, int32_t at, struct lent_stars *lent)
{
  const struct unit *unit = &units->unit[at];
  for (int k = 0; k < unit->bodies; k++)
    for (int s = 0; s < 2; s++)
      if (unit->body[k].star[s] >= 0) lend_star(units->set, unit->body[k].star[s], lent);
}

void units_close(struct units *units, const struct list_loop *loop)
{
  for (int32_t k = 0; k < units->n; k++)
    if (units->centre[k] >= 0) finish(units, loop, k); /* environments have the other centres */
  for (int32_t k = 0; k < units->n; k++) {
    if (units->centre[k] < 0) continue;
    put_back(units, loop, k);
    if (units->centre[k] < units->set->own) lend(units, k, loop->lent);
  }
  units_close_contacts(units, loop);
  memory_free(units->of);
  memory_free(units->partner);
  memory_free(units->waits);
  memory_free(units->gm);
  memory_free(units->factor);
  memory_free(units->unit);
  memory_free(units->next);
  memory_free(units->centre);
  memory_free(units->seen);
  memory_free(units->spare);
  memory_free(units->begun);
}
