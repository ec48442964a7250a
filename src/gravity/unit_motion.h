/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The members of a unit and their orbits about its centre of mass, and what its neighbours see of it. In double
 * precision, on the host and on devices. */
#ifndef UNIT_MOTION_H
#define UNIT_MOTION_H
#include <string.h>

#include "gravity/quadrupole.h"
#include "gravity/resolved_pair.h"
#include "gravity/unit.h"
#include "gravity/unit_hierarchies.h"
#include "gravity/unit_rules.h"

#define UNIT_LONGEST_MEAN 0.1 /* longest period of an orbit in a group that is seen by its mean, in soft steps */
#define UNIT_SEEN_NEIGHBOURS \
  0.5                        /* the quadrupole of a group is seen with a delay of so many r / v of its neighbours, */
#define UNIT_SEEN_STEPS 0.33 /* or where that is less, so many soft steps */
#define UNIT_MEAN_SIZE 0.2   /* orbits within a group with axes below this part of its size are seen by their mean */

HD double unit_reduced(const struct unit *unit)
{
  return unit->body[0].m * unit->body[1].m / (unit->body[0].m + unit->body[1].m);
}

HD double unit_pair_mass(const struct unit *unit) { return unit->body[0].m + unit->body[1].m; }

/* --- pairs -------------------------------------------------------------------------------------------------------- */

HD_CALL void unit_relative(const struct unit *unit, double t, double since, double d[3], double u[3])
{
  if (unit->kind == UNIT_AVERAGED) {
    memcpy(d, unit->d, sizeof unit->d);
    memcpy(u, unit->u, sizeof unit->u);
    kepler_advance(unit_pair_mass(unit), unit->lag + (t - since), d, u);
    return;
  }
  struct ks_pair pair = unit->ks;
  ks_advance(&pair, unit_pair_mass(unit), t);
  ks_position(pair.q, d);
  ks_velocity(&pair, u);
}

HD_CALL void unit_elements(struct unit *unit, const struct unit_rules *rules, double r1)
{
  double mu = unit_pair_mass(unit), r, beta, along, lasting = unit->lasting ? UNIT_LASTING : 1;
  struct unit_orbit *orbit = &unit->orbit;
  if (unit->kind == UNIT_RESOLVED) {
    r = ks_distance(&unit->ks);
    beta = unit->ks.beta;
    along = ks_along(&unit->ks);
  } else {
    r = sqrt(kepler_dot(unit->d, unit->d));
    beta = 2 * mu / r - kepler_dot(unit->u, unit->u);
    along = kepler_dot(unit->d, unit->u);
  }
  orbit->a = -1;
  orbit->e = 2;
  orbit->period = orbit->size = 1e30;
  if (beta > 0) {
    double cosine, sine;
    orbit->a = mu / beta;
    cosine = 1 - r / orbit->a;
    sine = along / sqrt(mu * orbit->a);
    orbit->e = fmin(1.0, sqrt(cosine * cosine + sine * sine));
    orbit->period = 2 * KEPLER_PI * orbit->a * sqrt(orbit->a / mu);
    orbit->size = orbit->a * (1 + orbit->e);
  }
  unit->lasting = orbit->a > 0 && orbit->period < UNIT_PERIOD * rules->soft_step * lasting &&
                  orbit->size < UNIT_APOCENTRE * r1 * lasting;
  unit->lasting |= unit_is_hierarchy(unit); /* or it is divided */
  unit->lasting &= !unit->passes;
  if (!unit->lasting) orbit->size = fmax(r, fmin(orbit->size, UNIT_PASSED * rules->entry));
}

/* The mean energy of a pair less its present one, by the tide of all neighbours, over its reduced mass. */
HD double unit_mean_less_present(const struct unit *unit, const double d[3], const double u[3])
{
  double q[3][3], sum = 0;
  quadrupole_of_orbit(unit_pair_mass(unit), d, u, q);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) sum += 0.5 * unit->field.tide[i][j] * (q[i][j] - d[i] * d[j]);
  return sum;
}

HD_CALL void unit_to_resolved(struct unit *unit, const struct unit_rules *rules, double t)
{
  double d[3], u[3];
  unit_relative(unit, t, t, d, u);
  double change = unit_mean_less_present(unit, d, u), factor = sqrt(fmax(0.0, 1 - 2 * change / kepler_dot(u, u)));
  for (int c = 0; c < 3; c++) u[c] *= factor;
  unit->kind = UNIT_RESOLVED;
  unit->lag = 0;
  resolved_open(&unit->ks, unit_pair_mass(unit), d, u, t, rules->entry);
  unit->finer = 1;
}

HD_CALL void unit_to_averaged(struct unit *unit, double t)
{
  double d[3], u[3];
  unit_relative(unit, t, t, d, u);
  double change = unit_mean_less_present(unit, d, u), factor = sqrt(fmax(0.0, 1 + 2 * change / kepler_dot(u, u)));
  unit->kind = UNIT_AVERAGED;
  unit->lag = 0;
  for (int c = 0; c < 3; c++) {
    unit->d[c] = d[c];
    unit->u[c] = factor * u[c];
  }
}

HD_CALL void unit_finish(struct unit *unit, const struct unit_environment *environment, double t)
{
  if (unit->kind != UNIT_RESOLVED || !(unit->ks.t < t)) return;
  if (unit_is_hierarchy(unit)) {
    unit_hierarchy_finish(unit, environment, t);
    return;
  }
  resolved_finish(&unit->ks, unit->body[0].m, unit->body[1].m, environment, t);
}

/* The steps of a resolved pair follow the tide, so that its energy is right: kicks between drifts are wrong by about
 * 3 / kicks^2 of the energy of the tide. */
HD void unit_refine(struct unit *unit, const struct unit_rules *rules)
{
  double a = unit->orbit.a > 0 ? unit->orbit.a : rules->entry;
  double tide = 0.5 * unit_reduced(unit) * unit->field.strongest * a * a, limit = UNIT_KICK_ERROR * rules->error;
  if (unit->orbit.a > 0) limit = fmin(limit, UNIT_KICK_PART * 0.5 * unit->body[0].m * unit->body[1].m / a);
  double wanted = 3 * tide / (RESOLVED_KICKS * RESOLVED_KICKS * limit); /* squared */
  int finer = unit->finer > 1 ? unit->finer : 1, before = finer;
  while (finer < UNIT_FINEST && finer * finer < wanted) finer *= 2;
  while (finer > 1 && finer * finer > UNIT_COARSER * wanted) finer /= 2;
  unit->ks.step *= (double)before / finer;
  unit->finer = finer;
}

HD_CALL void unit_classify(struct unit *unit, const struct unit_rules *rules, double t)
{
  const struct unit_field *field = &unit->field;
  if (unit->kind == UNIT_GROUP || unit_is_hierarchy(unit)) return;
  if (unit->kind == UNIT_RESOLVED) unit_refine(unit, rules);
  if (!(unit->orbit.a > 0)) return;
  double a = unit->orbit.a, scale = 2 * a * a * a / unit_pair_mass(unit),
         wait = UNIT_AVERAGED_PERIODS * unit->orbit.period, binding = 0.5 * unit->body[0].m * unit->body[1].m / a,
         limit = fmin(UNIT_AVERAGED_TIDE, UNIT_AVERAGED_ERROR * rules->error / binding);
  if (unit->kind == UNIT_AVERAGED) {
    if (field->strongest * scale < limit && field->fastest > wait) return;
    unit_to_resolved(unit, rules, t);
    unit_refine(unit, rules);
    return;
  }
  /* a bound third star would change it twice in each of its orbits, but for the tide at its pericentre */
  double tide = 0.3 * limit;
  if (!unit->lasting || !(field->strongest * scale < tide) || !(field->at_pericentre * scale < tide) ||
      !(field->fastest > 1.3 * wait))
    return;
  unit_to_averaged(unit, t);
}

/* --- the quadrupole ----------------------------------------------------------------------------------------------- */

HD void unit_add_point(struct unit *unit, double m, const double x[3], const double v[3])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      unit->quadrupole[i][j] += m * x[i] * x[j];
      unit->rate[i][j] += m * (x[i] * v[j] + v[i] * x[j]);
    }
}

/* The closest bound orbit of two bodies that are not used yet, of those to be seen by their mean. Returns whether there
 * is one. */
HD int unit_closest_orbit(const struct unit *unit, const int used[UNIT_BODIES], double longest, int pair[2],
                          double d[3], double u[3])
{
  double least = 1e300;
  for (int k = 0; k < unit->bodies; k++)
    for (int l = 0; l < k; l++) {
      struct kepler_orbit orbit;
      double e[3], w[3], mu = unit->body[k].m + unit->body[l].m;
      if (used[k] || used[l]) continue;
      for (int c = 0; c < 3; c++) {
        e[c] = unit->body[k].x[c] - unit->body[l].x[c];
        w[c] = unit->body[k].v[c] - unit->body[l].v[c];
      }
      if (!kepler_elements(mu, e, w, &orbit) || orbit.a >= least || orbit.period >= longest ||
          orbit.a >= UNIT_MEAN_SIZE * unit->orbit.size)
        continue;
      least = orbit.a;
      pair[0] = k;
      pair[1] = l;
      memcpy(d, e, sizeof e);
      memcpy(u, w, sizeof w);
    }
  return least < 1e300;
}

HD void unit_group_quadrupole(struct unit *unit, double longest)
{
  int used[UNIT_BODIES] = {0}, pair[2];
  double d[3], u[3], q[3][3], *outer = &unit->orbit.outer_time;
  *outer = 1e30;
  while (unit_closest_orbit(unit, used, longest, pair, d, u)) {
    const struct unit_body *p = &unit->body[pair[0]], *o = &unit->body[pair[1]];
    double m = p->m + o->m, x[3], v[3];
    used[pair[0]] = used[pair[1]] = 1;
    quadrupole_of_orbit(m, d, u, q);
    for (int c = 0; c < 3; c++) {
      x[c] = (p->m * p->x[c] + o->m * o->x[c]) / m;
      v[c] = (p->m * p->v[c] + o->m * o->v[c]) / m;
    }
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) unit->quadrupole[i][j] += p->m * o->m / m * q[i][j];
    unit_add_point(unit, m, x, v);
    *outer = fmin(*outer, sqrt(kepler_dot(x, x) / kepler_dot(v, v)));
  }
  for (int k = 0; k < unit->bodies; k++) {
    if (used[k]) continue;
    unit_add_point(unit, unit->body[k].m, unit->body[k].x, unit->body[k].v);
    if (unit->bodies == 1) continue; /* the one that stars have become is at its centre */
    *outer = fmin(*outer, unit->orbit.size / sqrt(kepler_dot(unit->body[k].v, unit->body[k].v)));
  }
}

/* Neighbours see the quadrupole of a group follow its own one within a time that is short for them, so that its inner
 * motion does not shorten their steps. step: that which was just made; 0: none. */
HD void unit_seen_quadrupole(struct unit *unit, double step)
{
  double before[3][3], rate[3][3], soft_step = unit->longest_mean / UNIT_LONGEST_MEAN;
  double time = fmax(2 * step, UNIT_SEEN_NEIGHBOURS * fmin(unit->field.fastest, UNIT_SEEN_STEPS * soft_step));
  memcpy(before, unit->quadrupole, sizeof before);
  memcpy(rate, unit->rate, sizeof rate);
  memset(unit->quadrupole, 0, sizeof unit->quadrupole);
  memset(unit->rate, 0, sizeof unit->rate);
  unit_group_quadrupole(unit, unit->longest_mean);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double now = unit->quadrupole[i][j], seen = step > 0 ? before[i][j] + step * rate[i][j] : now;
      unit->quadrupole[i][j] = seen;
      unit->rate[i][j] = step > 0 ? (now - seen) / time : 0;
    }
}

/* step: that which was just made, for the rate of a mean quadrupole; 0: none. */
HD void unit_pair_quadrupole(struct unit *unit, double step)
{
  double d[3], u[3], q[3][3], before[3][3];
  memcpy(before, unit->quadrupole, sizeof before);
  if (unit->kind == UNIT_AVERAGED) {
    memcpy(d, unit->d, sizeof d);
    memcpy(u, unit->u, sizeof u);
  } else {
    ks_position(unit->ks.q, d);
    ks_velocity(&unit->ks, u);
  }
  quadrupole_of_orbit(unit_pair_mass(unit), d, u, q);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) q[i][j] *= unit_reduced(unit);
  if (unit_is_hierarchy(unit)) unit_hierarchy_add_quadrupole(unit, q);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      unit->quadrupole[i][j] = q[i][j];
      unit->rate[i][j] = step > 0 ? (unit->quadrupole[i][j] - before[i][j]) / step : 0;
    }
}

HD_CALL void unit_set_quadrupole(struct unit *unit, double step)
{
  if (unit->kind != UNIT_GROUP && unit->lasting) {
    unit_pair_quadrupole(unit, step);
  } else if (unit->kind == UNIT_GROUP) {
    unit_seen_quadrupole(unit, step);
  } else {
    memset(unit->quadrupole, 0, sizeof unit->quadrupole);
    memset(unit->rate, 0, sizeof unit->rate);
  }
  unit->trace = unit->quadrupole[0][0] + unit->quadrupole[1][1] + unit->quadrupole[2][2];
}

/* --- bodies ------------------------------------------------------------------------------------------------------- */

/* A star, or with second >= 0 a tight pair whose orbit is set by the caller, at the centre. */
HD struct unit_body unit_body_of(int32_t first, int32_t second, double m)
{
  struct unit_body body;
  memset(&body, 0, sizeof body);
  body.star[0] = first;
  body.star[1] = second;
  body.m = m;
  return body;
}

/* The stars that have merged with star l of a body are now with star k of another one. */
HD void unit_take_merged(struct unit_body *to, int k, const struct unit_body *body, int l)
{
  memcpy(to->with[k], body->with[l], sizeof to->with[k]);
}

/* A tight pair of a group at the unit's time. */
HD struct unit_body unit_body_now(const struct unit_body *body)
{
  struct unit_body now = *body;
  if (now.star[1] >= 0 && now.lag > 0) kepler_advance(now.m, now.lag, now.d, now.u);
  now.lag = 0;
  return now;
}

/* A tight pair as its two stars. */
HD void unit_divide(const struct unit_body *pair, struct unit_body stars[2])
{
  for (int k = 0; k < 2; k++) {
    double share = k == 0 ? -pair->m2 / pair->m : pair->m1 / pair->m;
    stars[k] = unit_body_of(pair->star[k], -1, k == 0 ? pair->m1 : pair->m2);
    unit_take_merged(&stars[k], 0, pair, k);
    for (int c = 0; c < 3; c++) {
      stars[k].x[c] = pair->x[c] + share * pair->d[c];
      stars[k].v[c] = pair->v[c] + share * pair->u[c];
    }
  }
}

/* Two stars as a pair about their centre. */
HD_CALL struct unit_body unit_together(const struct unit_body *p, const struct unit_body *q)
{
  struct unit_body pair = unit_body_of(p->star[0], q->star[0], p->m + q->m);
  unit_take_merged(&pair, 0, p, 0);
  unit_take_merged(&pair, 1, q, 0);
  pair.m1 = p->m;
  pair.m2 = q->m;
  for (int c = 0; c < 3; c++) {
    pair.x[c] = (p->m * p->x[c] + q->m * q->x[c]) / pair.m;
    pair.v[c] = (p->m * p->v[c] + q->m * q->v[c]) / pair.m;
    pair.d[c] = q->x[c] - p->x[c];
    pair.u[c] = q->v[c] - p->v[c];
  }
  return pair;
}
#endif
