/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bodies of a unit: as they are now, a unit of bodies, tight pairs within a group, and the parts that no longer
 * hold together. On the host and on devices. Masses are G m. */
#ifndef UNIT_PARTS_H
#define UNIT_PARTS_H
#include <string.h>

#include "gravity/unit_motion.h"

#define UNIT_OPEN_EARLY 2 /* tight pairs are opened at so many times the reach when units join, */
#define UNIT_CLOSE_LATE 3 /* and closed at so many */
#define UNIT_SUB_AXIS 0.2 /* largest axis, in units of R1, of a pair within a group that may dissolve from it as one */
#define UNIT_PIECES_APART 0.7 /* pieces of a group that are farther apart than this part of R1 do not hold together */
#define UNIT_STEP_BY_NEIGHBOURS 0.25 /* a unit's step is at most so many r / v of its neighbours, */
#define UNIT_STEP_OF_GROUP 1.0       /* and a group's at most so many times of its outer members */
#define UNIT_ROUNDING_MOST 0.01      /* no larger part of the kinetic energy of a pair makes up for rounded positions */

/* What the rules ask about a unit. */
HD_CALL struct unit_facts unit_facts_of(const struct unit *unit)
{
  struct unit_facts facts;
  facts.bodies = unit->bodies;
  if (unit_is_hierarchy(unit)) facts.bodies += (unit->body[0].star[1] >= 0) + (unit->body[1].star[1] >= 0);
  facts.pair = unit->kind != UNIT_GROUP;
  facts.lasting = unit->lasting;
  facts.m = facts.m1 = facts.m2 = 0;
  for (int k = 0; k < unit->bodies; k++) facts.m += unit->body[k].m;
  facts.m1 = unit->body[0].m;
  facts.m2 = unit->body[1].m;
  facts.a = unit->orbit.a;
  facts.period = unit->orbit.period;
  facts.size = unit->orbit.size;
  facts.distance = unit->kind == UNIT_RESOLVED ? ks_distance(&unit->ks) : sqrt(kepler_dot(unit->d, unit->d));
  return facts;
}

/* --- bodies ------------------------------------------------------------------------------------------------------- */

/* A pair as one body, or as two; a hierarchy as two. */
HD int unit_pair_bodies(const struct unit *unit, double t, double since, int whole, struct unit_body *bodies)
{
  struct unit_body pair = unit_body_of(unit->body[0].star[0], unit->body[1].star[0], unit_pair_mass(unit));
  pair.m1 = unit->body[0].m;
  pair.m2 = unit->body[1].m;
  for (int k = 0; k < 2; k++) unit_take_merged(&pair, k, &unit->body[k], 0);
  unit_relative(unit, t, since, pair.d, pair.u);
  if (unit_is_hierarchy(unit)) {
    unit_hierarchy_bodies(unit, pair.d, pair.u, bodies);
    return 2;
  }
  bodies[0] = pair;
  if (!whole) unit_divide(&pair, bodies);
  return whole ? 1 : 2;
}

/* --- units of bodies ---------------------------------------------------------------------------------------------- */

HD void unit_make_pair(struct unit *unit, const struct unit_rules *rules, const double d[3], const double u[3],
                       double t, double r1)
{
  unit->kind = UNIT_RESOLVED;
  unit->bodies = 2;
  resolved_open(&unit->ks, unit_pair_mass(unit), d, u, t, rules->entry);
  unit_elements(unit, rules, r1);
}

HD void unit_make_group(struct unit *unit, int n)
{
  double *size = &unit->orbit.size;
  unit->kind = UNIT_GROUP;
  unit->lasting = 1;
  unit->bodies = n;
  for (int k = 0; k < n; k++) *size = fmax(*size, sqrt(kepler_dot(unit->body[k].x, unit->body[k].x)));
}

/* Move bodies[n] to where their centre of mass is at rest at the origin. Returns their mass, and where it was. */
HD double unit_to_centre(int n, struct unit_body *bodies, double x[3], double v[3])
{
  double m = 0;
  for (int c = 0; c < 3; c++) x[c] = v[c] = 0;
  for (int k = 0; k < n; k++) {
    m += bodies[k].m;
    for (int c = 0; c < 3; c++) {
      x[c] += bodies[k].m * bodies[k].x[c];
      v[c] += bodies[k].m * bodies[k].v[c];
    }
  }
  for (int c = 0; c < 3; c++) {
    x[c] /= m;
    v[c] /= m;
  }
  for (int k = 0; k < n; k++)
    for (int c = 0; c < 3; c++) {
      bodies[k].x[c] -= x[c];
      bodies[k].v[c] -= v[c];
    }
  return m;
}

/* The unit of bodies[n] about their centre of mass at the time t: elements and quadrupole. One body: a tight pair, or
 * stars that have merged. r1: R1 of the unit. */
HD_CALL void unit_make(struct unit *unit, const struct unit_rules *rules, int n, const struct unit_body *bodies,
                       double t, double r1)
{
  double d[3], u[3];
  memset(unit, 0, sizeof *unit);
  unit->longest_mean = UNIT_LONGEST_MEAN * rules->soft_step;
  if (n == 1 && bodies[0].star[1] >= 0) {
    unit_divide(&bodies[0], unit->body);
    unit_make_pair(unit, rules, bodies[0].d, bodies[0].u, t, r1);
  } else {
    memcpy(unit->body, bodies, sizeof *bodies * (size_t)n);
    for (int c = 0; c < 3 && n > 1; c++) {
      d[c] = bodies[1].x[c] - bodies[0].x[c];
      u[c] = bodies[1].v[c] - bodies[0].v[c];
    }
    if (n == 2 && bodies[0].star[1] < 0 && bodies[1].star[1] < 0) unit_make_pair(unit, rules, d, u, t, r1);
    else unit_make_group(unit, n);
  }
  unit_set_quadrupole(unit, 0);
}

/* The same for two stars that pass, whatever their orbit. */
HD_CALL void unit_make_passing(struct unit *unit, const struct unit_rules *rules, const struct unit_body bodies[2],
                               double t, double r1)
{
  unit_make(unit, rules, 2, bodies, t, r1);
  unit->passes = 1;
  unit->lasting = 0;
  unit_elements(unit, rules, r1);
  unit_set_quadrupole(unit, 0);
}

/* The same for two bodies that are a hierarchy. */
HD_CALL void unit_make_hierarchy(struct unit *unit, const struct unit_rules *rules, const struct unit_body bodies[2],
                                 double t, double r1)
{
  memset(unit, 0, sizeof *unit);
  unit->longest_mean = UNIT_LONGEST_MEAN * rules->soft_step;
  memcpy(unit->body, bodies, 2 * sizeof *bodies);
  unit->kind = UNIT_RESOLVED;
  unit->bodies = 2;
  unit_hierarchy_open(unit, rules, r1, t);
  unit_elements(unit, rules, r1);
  unit_set_quadrupole(unit, 0);
}

/* The bodies of a unit at the time t about its centre. whole: a pair is one body. Returns their number. */
HD_CALL int unit_bodies_of(const struct unit *unit, double t, int whole, struct unit_body *bodies)
{
  if (unit->kind != UNIT_GROUP) return unit_pair_bodies(unit, t, t, whole, bodies);
  for (int k = 0; k < unit->bodies; k++) bodies[k] = unit_body_now(&unit->body[k]);
  return unit->bodies;
}

/* Two stars about a centre at x, which get absolute positions: these are rounded, by more than 1e-9 of the axis of a
 * close pair, so the velocities change along the relative one, and the energy of the pair, which sets the axis, stays.
 * Mass, centre and momentum stay. */
HD_CALL void unit_round_pair(const double x[3], struct unit_body stars[2])
{
  double d[3], rounded[3], u[3], m = stars[0].m + stars[1].m;
  for (int c = 0; c < 3; c++) {
    d[c] = stars[1].x[c] - stars[0].x[c];
    rounded[c] = (x[c] + stars[1].x[c]) - (x[c] + stars[0].x[c]);
    u[c] = stars[1].v[c] - stars[0].v[c];
  }
  double r = sqrt(kepler_dot(d, d)), after = sqrt(kepler_dot(rounded, rounded));
  double change = 2 * m * (r - after) / (r * after * kepler_dot(u, u));
  if (!(m > 0) || !(fabs(change) < UNIT_ROUNDING_MOST)) return; /* at rest, or nearly at the same place */
  change /= 1 + sqrt(1 + change);
  for (int c = 0; c < 3; c++) {
    stars[0].v[c] -= change * stars[1].m / m * u[c];
    stars[1].v[c] += change * stars[0].m / m * u[c];
  }
}

/* The longest step of a unit's centre, at most `wanted`. */
HD double unit_step_limit(const struct unit *unit, const struct unit_rules *rules, double wanted)
{
  wanted = fmin(wanted, UNIT_STEP_BY_NEIGHBOURS * unit->field.fastest);
  if (unit->kind == UNIT_GROUP) return fmin(wanted, UNIT_STEP_OF_GROUP * unit->orbit.outer_time);
  if (unit->lasting) return wanted;
  double mu = unit_pair_mass(unit), entry = rules->entry;
  return fmin(wanted, entry / sqrt(fmax(2 * mu / entry - unit->ks.beta, 0.1 * mu / entry)));
}

/* Bring a pair to the time t of its centre, with its present energy. */
HD_CALL void unit_synchronise(struct unit *unit, const struct unit_rules *rules,
                              const struct unit_environment *environment, double t)
{
  if (unit->kind == UNIT_AVERAGED) unit_to_resolved(unit, rules, t);
  unit_finish(unit, environment, t);
}

/* --- tight pairs of groups ---------------------------------------------------------------------------------------- */

HD double unit_nearest_body(const struct unit_body *bodies, int n, int k, int l, const double x[3], double *mass)
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
HD_CALL int unit_open_tight(const struct unit_rules *rules, struct unit_body *bodies, int n, double factor)
{
  for (int k = 0; k < n; k++) {
    double mass = 0;
    if (bodies[k].star[1] < 0 || n < 2 || n >= UNIT_BODIES) continue;
    double r = unit_nearest_body(bodies, n, k, -1, bodies[k].x, &mass);
    if (r >= factor * unit_tight_reach(rules, bodies[k].m1, bodies[k].m2, bodies[k].d, bodies[k].u, mass)) continue;
    struct unit_body stars[2];
    unit_divide(&bodies[k], stars);
    bodies[k] = stars[0];
    bodies[n++] = stars[1];
    k = -1;
  }
  return n;
}

/* Close pairs that are tight, and have no one near. Returns the number of bodies. */
HD_CALL int unit_close_tight(const struct unit_rules *rules, struct unit_body *bodies, int n)
{
  for (int k = 0; k < n; k++)
    for (int l = 0; l < k && n > 2; l++) {
      double mass = 0;
      if (bodies[k].star[1] >= 0 || bodies[l].star[1] >= 0) continue;
      struct unit_body pair = unit_together(&bodies[l], &bodies[k]);
      double r = unit_nearest_body(bodies, n, k, l, pair.x, &mass);
      if (!(r > UNIT_CLOSE_LATE * unit_tight_reach(rules, pair.m1, pair.m2, pair.d, pair.u, mass))) continue;
      bodies[l] = pair;
      bodies[k] = bodies[--n];
      k = 0;
      break;
    }
  return n;
}

/* --- parts of a group --------------------------------------------------------------------------------------------- */

/* The parts that a group may have: its tight pairs, pairs that are bound closely, and stars. */
struct unit_pieces {
  int n, of_body[UNIT_BODIES], root[UNIT_BODIES];
  struct unit_facts facts[UNIT_BODIES];
  struct unit_body whole[UNIT_BODIES];
};

HD void unit_add_piece(struct unit_pieces *pieces, const struct unit_body *body)
{
  pieces->facts[pieces->n] = unit_body_facts(body);
  pieces->whole[pieces->n] = *body;
  pieces->root[pieces->n] = pieces->n;
  pieces->n++;
}

/* The closest orbit of two stars that are in no piece yet. Returns whether there is one. */
HD int unit_closest_pair(const struct unit_rules *rules, const struct unit *unit, const int used[UNIT_BODIES],
                         double r1, int pair[2])
{
  double least = 1e300;
  for (int k = 0; k < unit->bodies; k++)
    for (int l = 0; l < k; l++) {
      struct kepler_orbit orbit;
      if (used[k] || used[l]) continue;
      struct unit_body both = unit_together(&unit->body[l], &unit->body[k]);
      if (!kepler_elements(both.m, both.d, both.u, &orbit) || orbit.a >= least || orbit.a >= UNIT_SUB_AXIS * r1 ||
          orbit.period >= UNIT_PERIOD * rules->soft_step)
        continue;
      least = orbit.a;
      pair[0] = l;
      pair[1] = k;
    }
  return least < 1e300;
}

HD_CALL void unit_find_pieces(const struct unit_rules *rules, const struct unit *unit, double r1,
                              struct unit_pieces *pieces)
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
      unit_add_piece(pieces, &now);
    }
  while (unit_closest_pair(rules, unit, used, r1, pair)) {
    struct unit_body both = unit_together(&unit->body[pair[0]], &unit->body[pair[1]]);
    used[pair[0]] = used[pair[1]] = 1;
    pieces->of_body[pair[0]] = pieces->of_body[pair[1]] = pieces->n;
    unit_add_piece(pieces, &both);
  }
  for (int k = 0; k < unit->bodies; k++)
    if (!used[k]) {
      pieces->of_body[k] = pieces->n;
      unit_add_piece(pieces, &unit->body[k]);
    }
}

HD void unit_unite(struct unit_pieces *pieces, int from, int to)
{
  for (int i = 0; i < pieces->n; i++)
    if (pieces->root[i] == from) pieces->root[i] = to;
}

HD double unit_distance_of(const struct unit_body *p, const double x[3])
{
  double d[3];
  for (int c = 0; c < 3; c++) d[c] = p->x[c] - x[c];
  return sqrt(kepler_dot(d, d));
}

/* Unite what belongs together, with the distances of those that are together. */
HD_CALL void unit_link_pieces(const struct unit_rules *rules, double r1, struct unit_pieces *pieces)
{
  for (int k = 0; k < pieces->n; k++)
    for (int l = 0; l < k; l++) {
      const struct unit_body *p = &pieces->whole[k], *q = &pieces->whole[l];
      double u[3], d[3], r = unit_distance_of(p, q->x);
      for (int c = 0; c < 3; c++) {
        d[c] = p->x[c] - q->x[c];
        u[c] = p->v[c] - q->v[c];
      }
      int stars = p->star[1] < 0 && q->star[1] < 0;
      int linked =
          stars ? r < UNIT_PASSED * rules->entry
                : unit_belong(rules, &pieces->facts[k], &pieces->facts[l], d, u, r1, UNIT_HYSTERESIS) == UNIT_TOGETHER;
      if (!linked && !stars && rules->hierarchies)
        linked = hierarchy_fits(rules, &pieces->facts[k], &pieces->facts[l], d, u, r1, 0) != HIERARCHY_NONE;
      if (linked && r < UNIT_PIECES_APART * r1) unit_unite(pieces, pieces->root[k], pieces->root[l]);
    }
}

/* The piece that is within reach of the united pieces of root `root`, of three stars and more; -1: none. */
HD int unit_within_reach(const struct unit_rules *rules, const struct unit_pieces *pieces, int root, double r1)
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
    if (pieces->root[k] == root) size = fmax(size, unit_distance_of(&pieces->whole[k], x) + pieces->facts[k].size);
  for (int k = 0; k < pieces->n; k++) {
    double reach = UNIT_HYSTERESIS * unit_group_reach(m, pieces->facts[k].m, size, rules->error);
    if (pieces->root[k] != root &&
        unit_distance_of(&pieces->whole[k], x) < fmin(reach, UNIT_HYSTERESIS * UNIT_GROUP_R1 * r1))
      return k;
  }
  return -1;
}

HD_CALL void unit_link_groups(const struct unit_rules *rules, double r1, struct unit_pieces *pieces)
{
  for (int again = 1; again;) {
    again = 0;
    for (int root = 0; root < pieces->n && !again; root++) {
      int k = unit_within_reach(rules, pieces, root, r1);
      if (k < 0) continue;
      unit_unite(pieces, pieces->root[k], root);
      again = 1;
    }
  }
}

/* Numbers the parts; part[k]: of piece k. Two stars by themselves are a pair only if they are close, and the others
 * far. Returns the number of parts. */
HD_CALL int unit_number_parts(const struct unit_rules *rules, const struct unit_pieces *pieces, int part[UNIT_BODIES])
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
      double middle[3], far = 1e300, r = unit_distance_of(&pieces->whole[k], pieces->whole[l].x);
      if (part[k] != part[l] || pieces->whole[k].star[1] >= 0 || pieces->whole[l].star[1] >= 0) continue;
      for (int c = 0; c < 3; c++) middle[c] = 0.5 * (pieces->whole[k].x[c] + pieces->whole[l].x[c]);
      for (int i = 0; i < pieces->n; i++) {
        count += part[i] == part[k];
        if (i != k && i != l) far = fmin(far, unit_distance_of(&pieces->whole[i], middle));
      }
      if (count == 2 && (r > rules->entry || far < UNIT_ALONE * r)) part[k] = parts++;
    }
  return parts;
}

/* Whether a group has two pieces, whole[2]; they are about its centre. r1: R1 of the unit. */
HD int unit_two_pieces(const struct unit *unit, const struct unit_rules *rules, double r1, struct unit_body whole[2])
{
  struct unit_pieces pieces;
  if (unit->kind != UNIT_GROUP) return 0;
  unit_find_pieces(rules, unit, r1, &pieces);
  if (pieces.n != 2) return 0;
  memcpy(whole, pieces.whole, 2 * sizeof *whole);
  return 1;
}

/* Whether a hierarchy is one still, at the time t of its centre. */
HD int unit_hierarchy_holds(const struct unit *unit, const struct unit_rules *rules, double t, double r1)
{
  struct unit_facts p = unit_body_facts(&unit->body[0]), q = unit_body_facts(&unit->body[1]);
  double d[3], u[3];
  unit_relative(unit, t, t, d, u);
  enum hierarchy_kind kind = hierarchy_fits(rules, &p, &q, d, u, r1, 1);
  return unit->followed ? kind != HIERARCHY_NONE : kind == HIERARCHY_MEAN;
}

/* The parts of a unit that no longer holds together at the time t of its centre: part[k] of body k of unit_bodies_of
 * (not whole). Returns their number; 1: it holds together. r1: R1 of the unit. */
HD_CALL int unit_find_parts(const struct unit_rules *rules, const struct unit *unit, double t, double r1,
                            int part[UNIT_BODIES])
{
  part[0] = 0;
  part[1] = 1;
  if (unit_is_hierarchy(unit)) return unit_hierarchy_holds(unit, rules, t, r1) ? 1 : 2;
  if (unit->kind != UNIT_GROUP) {
    double d[3], u[3], apart = UNIT_PASSED * rules->entry;
    if (unit->lasting || ks_distance(&unit->ks) < apart) return 1;
    unit_relative(unit, t, t, d, u);
    return sqrt(kepler_dot(d, d)) < apart || unit_lasts(rules, unit_pair_mass(unit), d, u, r1, 1) ? 1 : 2;
  }
  struct unit_pieces pieces;
  int of_piece[UNIT_BODIES];
  unit_find_pieces(rules, unit, r1, &pieces);
  unit_link_pieces(rules, r1, &pieces);
  unit_link_groups(rules, r1, &pieces);
  int parts = unit_number_parts(rules, &pieces, of_piece);
  for (int k = 0; k < unit->bodies; k++) part[k] = parts > 1 ? of_piece[pieces.of_body[k]] : 0;
  return parts;
}

/* Whether a group is what mergers have left of it: two stars. */
HD int unit_is_two_stars(const struct unit *unit)
{
  return unit->bodies == 2 && unit->body[0].star[1] < 0 && unit->body[1].star[1] < 0;
}

/* Open and close the tight pairs of a group at the time t of its centre, and make it a pair where it has no more than
 * two stars; its neighbours see what they saw before. Returns whether there was any. */
HD_CALL int unit_tighten(struct unit *unit, const struct unit_rules *rules, double t, double r1)
{
  struct unit_body bodies[UNIT_BODIES];
  double x[3], v[3];
  if (unit->kind != UNIT_GROUP) return 0;
  int n = unit_bodies_of(unit, t, 0, bodies), closed = unit_close_tight(rules, bodies, n),
      open = unit_open_tight(rules, bodies, closed, 1);
  if (open == n && closed == n && !unit_is_two_stars(unit)) return 0;
  struct unit_field field = unit->field;
  double quadrupole[3][3], rate[3][3], trace = unit->trace;
  int64_t work = unit->work;
  int failed = unit->failed;
  memcpy(quadrupole, unit->quadrupole, sizeof quadrupole);
  memcpy(rate, unit->rate, sizeof rate);
  unit_to_centre(open, bodies, x, v);
  unit_make(unit, rules, open, bodies, t, r1);
  unit->field = field;
  unit->trace = trace;
  unit->work = work;
  unit->failed = failed;
  memcpy(unit->quadrupole, quadrupole, sizeof quadrupole);
  memcpy(unit->rate, rate, sizeof rate);
  return 1;
}
#endif
