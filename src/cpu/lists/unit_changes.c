/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units that form and dissolve at block times, and the neighbour lists that follow them. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/lists/units.h"
#include "gravity/hierarchy_rules.h"

#define ALONE 4      /* no third star comes as near as so many distances to two that become a pair */
#define OPEN_EARLY 2 /* tight pairs are opened at so many times the reach when units join, */
#define CLOSE_LATE 3 /* and closed at so many */
#define SUB_AXIS 0.2 /* largest axis, in units of R1, of a pair within a group that may dissolve from it as one */

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

/* --- tight pairs of groups ---------------------------------------------------------------------------------------- */

static double nearest_body(const struct unit_body *bodies, int n, int k, int l, const double x[3], double *mass)
{
  double least = 1e300;
  for (int i = 0; i < n; i++) {
    double d[3];
    if (i == k || i == l) continue;
    for (int c = 0; c < 3; c++) d[c] = bodies[i].x[c] - x[c];
    double r = sqrt(kepler_dot(d, d));
    if (r >= least) continue;
    least = r;
    *mass = bodies[i].m;
  }
  return least;
}

/* Open the tight pairs that have someone within `factor` times their reach. Returns the number of bodies, at most
 * UNIT_BODIES: what does not fit stays closed. */
static int open_tight(const struct unit_rules *rules, struct unit_body *bodies, int n, double factor)
{
  for (int k = 0; k < n; k++) {
    double mass = 0;
    if (bodies[k].star[1] < 0 || n < 2 || n >= UNIT_BODIES) continue;
    double r = nearest_body(bodies, n, k, -1, bodies[k].x, &mass);
    if (r >= factor * unit_tight_reach(rules, bodies[k].m1, bodies[k].m2, bodies[k].d, bodies[k].u, mass)) continue;
    struct unit_body stars[2];
    unit_divide(&bodies[k], stars);
    bodies[k] = stars[0];
    bodies[n++] = stars[1];
    k = -1;
  }
  return n;
}

static struct unit_body joined(const struct unit_body *p, const struct unit_body *q)
{
  struct unit_body pair = {.star = {p->star[0], q->star[0]}, .m = p->m + q->m, .m1 = p->m, .m2 = q->m};
  for (int c = 0; c < 3; c++) {
    pair.x[c] = (p->m * p->x[c] + q->m * q->x[c]) / pair.m;
    pair.v[c] = (p->m * p->v[c] + q->m * q->v[c]) / pair.m;
    pair.d[c] = q->x[c] - p->x[c];
    pair.u[c] = q->v[c] - p->v[c];
  }
  return pair;
}

/* Close pairs that are tight, and have no one near. Returns the number of bodies. */
static int close_tight(const struct unit_rules *rules, struct unit_body *bodies, int n)
{
  for (int k = 0; k < n; k++)
    for (int l = 0; l < k && n > 2; l++) {
      double mass = 0;
      if (bodies[k].star[1] >= 0 || bodies[l].star[1] >= 0) continue;
      struct unit_body pair = joined(&bodies[l], &bodies[k]);
      double r = nearest_body(bodies, n, k, l, pair.x, &mass);
      if (!(r > CLOSE_LATE * unit_tight_reach(rules, pair.m1, pair.m2, pair.d, pair.u, mass))) continue;
      bodies[l] = pair;
      bodies[k] = bodies[--n];
      k = 0;
      break;
    }
  return n;
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

/* Bring a pair to the time t of its centre, with its present energy. */
static void synchronise(struct units *units, const struct list_loop *loop, int32_t place, double t)
{
  if (units->of[place] < 0) return;
  struct unit *unit = &units->unit[units->of[place]];
  struct unit_environment environment;
  if (unit->kind == UNIT_AVERAGED) unit_to_resolved(unit, &units->rules, t);
  units_environment(units, loop, place, &environment);
  unit_finish(unit, &environment, t);
}

/* hierarchy: the two are one, and no one else is near. */
static void join(struct units *units, struct list_loop *loop, int32_t i, int32_t j, int32_t tick, int hierarchy)
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
  if (!hierarchy) n = open_tight(&units->rules, bodies, n, OPEN_EARLY);
  join_lists(units, stays, gone);
  units_release(units, stays);
  units_release(units, gone);
  if (hierarchy) units_make_hierarchy(units, bodies, frame.x, frame.v, tick, t);
  else units_make(units, n, bodies, frame.x, frame.v, tick, t);
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
    centre[p] = units_make(units, count, some, frame.x, frame.v, tick, t);
  }
  part_lists(units, place, centre, parts);
  for (int p = 0; p < parts; p++) begin(units, loop, centre[p], tick);
}

/* --- joining ------------------------------------------------------------------------------------------------------ */

/* Whether no third one is near two stars that are to be a pair; within `entry` only hard pairs and groups count. */
static int alone(const struct units *units, const struct list_loop *loop, int32_t i, int32_t j, int32_t tick)
{
  const struct list_set *set = units->set;
  double middle[3], d[3], u[3], entry = units->rules.entry;
  for (int c = 0; c < 3; c++) {
    middle[c] = 0.5 * (set->motion[i].x[c] + set->motion[j].x[c]);
    d[c] = set->motion[i].x[c] - set->motion[j].x[c];
    u[c] = set->motion[i].v[c] - set->motion[j].v[c];
  }
  double mu = set->gm[i] + set->gm[j], r2 = kepler_dot(d, d);
  if (unit_lasts(&units->rules, mu, d, u, units_r1(units, i, j), 1)) {
    double size = unit_pair_extent(mu, d, u);
    r2 = size * size;
  }
  for (int64_t e = 0; e < list_length(set, i); e++) {
    int32_t l = list_entries(set, i)[e];
    double v[3];
    if (l == j) continue;
    hermite_predict(&set->motion[l], (tick - set->tick[l]) * loop->tick_length, d, v);
    for (int c = 0; c < 3; c++) d[c] -= middle[c];
    double third2 = kepler_dot(d, d);
    struct unit_facts facts = units_facts(units, l);
    int hard = units->of[l] >= 0 && !unit_is_passing(&facts);
    if (third2 < ALONE * ALONE * r2 && (r2 >= entry * entry || hard || third2 > entry * entry)) return 0;
  }
  return 1;
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
    join(units, loop, i, j, tick, 1);
    return 1;
  }
  switch (unit_belong(&units->rules, &p, &q, d, u, units_r1(units, i, j), 1)) {
  case UNIT_APART: return 0;
  case UNIT_LET_GO: divide(units, loop, unit_is_passing(&p) ? i : j, tick, 2, two); return 1;
  case UNIT_TOGETHER: break;
  }
  if (units->of[i] < 0 && units->of[j] < 0 && !alone(units, loop, i, j, tick)) return 0;
  join(units, loop, i, j, tick, 0);
  return 1;
}

/* --- parting ------------------------------------------------------------------------------------------------------ */

/* The parts that a group may have: its tight pairs, pairs that are bound closely, and stars. */
struct pieces {
  int n, of_body[UNIT_BODIES], root[UNIT_BODIES];
  struct unit_facts facts[UNIT_BODIES];
  struct unit_body whole[UNIT_BODIES];
};

static void add_piece(struct pieces *pieces, const struct unit_body *body)
{
  pieces->facts[pieces->n] = unit_body_facts(body);
  pieces->whole[pieces->n] = *body;
  pieces->root[pieces->n] = pieces->n;
  pieces->n++;
}

/* The closest orbit of two stars that are in no piece yet. Returns whether there is one. */
static int closest_pair(const struct units *units, const struct unit *unit, const int used[UNIT_BODIES], double r1,
                        int pair[2])
{
  double least = 1e300;
  for (int k = 0; k < unit->bodies; k++)
    for (int l = 0; l < k; l++) {
      struct kepler_orbit orbit;
      if (used[k] || used[l]) continue;
      struct unit_body both = joined(&unit->body[l], &unit->body[k]);
      if (!kepler_elements(both.m, both.d, both.u, &orbit) || orbit.a >= least || orbit.a >= SUB_AXIS * r1 ||
          orbit.period >= UNIT_PERIOD * units->rules.soft_step)
        continue;
      least = orbit.a;
      pair[0] = l;
      pair[1] = k;
    }
  return least < 1e300;
}

static void find_pieces(const struct units *units, const struct unit *unit, double r1, struct pieces *pieces)
{
  int used[UNIT_BODIES] = {0}, pair[2];
  pieces->n = 0;
  for (int k = 0; k < unit->bodies; k++)
    if (unit->body[k].star[1] >= 0) {
      used[k] = 1;
      pieces->of_body[k] = pieces->n;
      struct unit_body now = unit->body[k];
      kepler_advance(now.m, now.lag, now.d, now.u);
      now.lag = 0;
      add_piece(pieces, &now);
    }
  while (closest_pair(units, unit, used, r1, pair)) {
    struct unit_body both = joined(&unit->body[pair[0]], &unit->body[pair[1]]);
    used[pair[0]] = used[pair[1]] = 1;
    pieces->of_body[pair[0]] = pieces->of_body[pair[1]] = pieces->n;
    add_piece(pieces, &both);
  }
  for (int k = 0; k < unit->bodies; k++)
    if (!used[k]) {
      pieces->of_body[k] = pieces->n;
      add_piece(pieces, &unit->body[k]);
    }
}

static void unite(struct pieces *pieces, int from, int to)
{
  for (int i = 0; i < pieces->n; i++)
    if (pieces->root[i] == from) pieces->root[i] = to;
}

static double distance_of(const struct unit_body *p, const double x[3])
{
  double d[3];
  for (int c = 0; c < 3; c++) d[c] = p->x[c] - x[c];
  return sqrt(kepler_dot(d, d));
}

/* Unite what belongs together, with the distances of those that are together. */
static void link_pieces(const struct units *units, double r1, struct pieces *pieces)
{
  for (int k = 0; k < pieces->n; k++)
    for (int l = 0; l < k; l++) {
      const struct unit_body *p = &pieces->whole[k], *q = &pieces->whole[l];
      double u[3], d[3], r = distance_of(p, q->x);
      for (int c = 0; c < 3; c++) {
        d[c] = p->x[c] - q->x[c];
        u[c] = p->v[c] - q->v[c];
      }
      int stars = p->star[1] < 0 && q->star[1] < 0;
      int linked = stars ? r < UNIT_PASSED * units->rules.entry
                         : unit_belong(&units->rules, &pieces->facts[k], &pieces->facts[l], d, u, r1,
                                       UNIT_HYSTERESIS) == UNIT_TOGETHER ||
                               hierarchy_fits(&units->rules, &pieces->facts[k], &pieces->facts[l], d, u, r1, 0);
      if (linked && r < 0.7 * r1) unite(pieces, pieces->root[k], pieces->root[l]);
    }
}

/* The piece that is within reach of the united pieces of root `root`, of three stars and more; -1: none. */
static int within_reach(const struct units *units, const struct pieces *pieces, int root, double r1)
{
  double m = 0, x[3] = {0}, size = 0;
  int stars = 0, parts = 0;
  for (int k = 0; k < pieces->n; k++) {
    if (pieces->root[k] != root) continue;
    parts++;
    stars += pieces->facts[k].bodies;
    m += pieces->facts[k].m;
    for (int c = 0; c < 3; c++) x[c] += pieces->facts[k].m * pieces->whole[k].x[c];
  }
  if (stars < 3 || parts < 2) return -1;
  for (int c = 0; c < 3; c++) x[c] /= m;
  for (int k = 0; k < pieces->n; k++)
    if (pieces->root[k] == root) size = fmax(size, distance_of(&pieces->whole[k], x) + pieces->facts[k].size);
  for (int k = 0; k < pieces->n; k++) {
    double reach = UNIT_HYSTERESIS * unit_group_reach(m, pieces->facts[k].m, size, units->rules.error);
    if (pieces->root[k] != root && distance_of(&pieces->whole[k], x) < fmin(reach, 0.7 * r1)) return k;
  }
  return -1;
}

static void link_groups(const struct units *units, double r1, struct pieces *pieces)
{
  for (int again = 1; again;) {
    again = 0;
    for (int root = 0; root < pieces->n && !again; root++) {
      int k = within_reach(units, pieces, root, r1);
      if (k < 0) continue;
      unite(pieces, pieces->root[k], root);
      again = 1;
    }
  }
}

/* Numbers the parts; part[k]: of piece k. Two stars by themselves are a pair only if they are close, and the others
 * far. Returns the number of parts. */
static int number_parts(const struct units *units, const struct pieces *pieces, int part[UNIT_BODIES])
{
  int parts = 0, number[UNIT_BODIES];
  for (int k = 0; k < pieces->n; k++) number[k] = -1;
  for (int k = 0; k < pieces->n; k++) {
    if (number[pieces->root[k]] < 0) number[pieces->root[k]] = parts++;
    part[k] = number[pieces->root[k]];
  }
  if (parts == 1) return 1;
  for (int k = 0; k < pieces->n; k++)
    for (int l = 0; l < k; l++) {
      int count = 0;
      double middle[3], far = 1e300, r = distance_of(&pieces->whole[k], pieces->whole[l].x);
      if (part[k] != part[l] || pieces->whole[k].star[1] >= 0 || pieces->whole[l].star[1] >= 0) continue;
      for (int c = 0; c < 3; c++) middle[c] = 0.5 * (pieces->whole[k].x[c] + pieces->whole[l].x[c]);
      for (int i = 0; i < pieces->n; i++) {
        count += part[i] == part[k];
        if (i != k && i != l) far = fmin(far, distance_of(&pieces->whole[i], middle));
      }
      if (count == 2 && (r > units->rules.entry || far < ALONE * r)) part[k] = parts++;
    }
  return parts;
}

/* A group that stays together: its tight pairs. */
static void tighten(struct units *units, int32_t place, int32_t tick, double t)
{
  struct unit_body bodies[UNIT_BODIES];
  struct hermite_motion frame = units->set->motion[place];
  struct unit_field field = units->unit[units->of[place]].field;
  uint8_t level = units->set->level[place];
  int n = units_bodies(units, place, t, frame.x, frame.v, 0, bodies);
  int closed = close_tight(&units->rules, bodies, n), open = open_tight(&units->rules, bodies, closed, 1);
  if (open == n && closed == n) return;
  units_release(units, place);
  units_make(units, open, bodies, frame.x, frame.v, tick, t);
  units->set->motion[place] = frame;
  units->set->level[place] = level;
  if (units->of[place] >= 0) units->unit[units->of[place]].field = field;
}

/* A group of two pieces that are a hierarchy becomes one. Returns whether it has. */
static int make_settled(struct units *units, struct list_loop *loop, int32_t place, int32_t tick,
                        const struct pieces *pieces)
{
  const struct hermite_motion frame = units->set->motion[place];
  if (pieces->n != 2 || !units_settled(units, loop, place, tick, pieces->whole)) return 0;
  units_release(units, place);
  units_make_hierarchy(units, pieces->whole, frame.x, frame.v, tick, tick * loop->tick_length);
  begin(units, loop, place, tick);
  return 1;
}

/* Whether the unit at `place` no longer holds together; then it is divided. */
static int try_part(struct units *units, struct list_loop *loop, int32_t place, int32_t tick)
{
  static const int two[UNIT_BODIES] = {0, 1};
  struct unit *unit = &units->unit[units->of[place]];
  double r1 = units_r1(units, place, place);
  if (unit_is_hierarchy(unit)) {
    if (unit_hierarchy_holds(unit, &units->rules, tick * loop->tick_length, r1)) return 0;
    divide(units, loop, place, tick, 2, two);
    return 1;
  }
  if (unit->kind != UNIT_GROUP) {
    if (unit->lasting || ks_distance(&unit->ks) < UNIT_PASSED * units->rules.entry) return 0;
    double d[3], u[3];
    unit_relative(unit, tick * loop->tick_length, tick * loop->tick_length, d, u);
    if (sqrt(kepler_dot(d, d)) < UNIT_PASSED * units->rules.entry ||
        unit_lasts(&units->rules, unit_pair_mass(unit), d, u, r1, 1))
      return 0;
    divide(units, loop, place, tick, 2, two);
    return 1;
  }
  struct pieces pieces;
  int part[UNIT_BODIES], of_body[UNIT_BODIES];
  find_pieces(units, unit, r1, &pieces);
  link_pieces(units, r1, &pieces);
  link_groups(units, r1, &pieces);
  int parts = number_parts(units, &pieces, part);
  if (parts == 1) {
    if (make_settled(units, loop, place, tick, &pieces)) return 1;
    tighten(units, place, tick, tick * loop->tick_length);
    return 0;
  }
  for (int k = 0; k < unit->bodies; k++) of_body[k] = part[pieces.of_body[k]];
  divide(units, loop, place, tick, parts, of_body);
  return 1;
}

int units_change(struct units *units, struct list_loop *loop, int32_t tick, const int32_t *places, int64_t n,
                 int parting)
{
  int any = 0;
  for (int64_t k = 0; k < n; k++) {
    int32_t i = places[k], j = units->partner[i];
    units->partner[i] = -1;
    if (units->of[i] != UNIT_ABSORBED && j >= 0) any |= try_join(units, loop, i, j, tick);
  }
  for (int64_t k = 0; parting && k < n; k++)
    if (units->of[places[k]] >= 0 && units->set->tick[places[k]] == tick) any |= try_part(units, loop, places[k], tick);
  return any;
}
