/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A few stars that pass each other closely: the logarithmic Hamiltonian of Mikkola & Tanikawa (1999) and Preto &
 * Tremaine (1999), whose leapfrog is exact for two bodies but for their phase, extrapolated in the number of steps to a
 * relative error of FEW_TOLERANCE. In double precision, on the host and on devices. Masses are G m.
 *
 * B = U - T at the begin of an interval is carried along; drifts take the time h / (T + B), kicks h / U.
 *
 * Bodies are linked in a chain of near neighbours (Mikkola & Aarseth 1993), and what is advanced are the links:
 * positions from the centre of mass would lose the distance of two bodies that are much closer to each other than to
 * it. Time counts from the begin of an interval for the same reason. */
#ifndef FEW_BODIES_H
#define FEW_BODIES_H
#include <stdint.h>

#include "gravity/contacts.h"
#include "gravity/unit_environment.h"

#define FEW_TOLERANCE 1e-10 /* 1e-12 is not better: rounding spoils the end of an interval */
#define FEW_LEAP 1e-4       /* the rest of an interval is one step of the leapfrog below this part of a step */
#define FEW_NEAR 2.0        /* bodies that meet are followed until they are within so many sums of their radii */
enum { FEW_ROWS = 10, FEW_LINKS = UNIT_BODIES - 1, FEW_NUMBERS = 6 * FEW_LINKS + 2, FEW_STUCK = 200 };
enum { FEW_HALVINGS = 8, FEW_LANDINGS = 60 }; /* of a step in which bodies may meet, and towards one in which they do */

struct few_bodies {
  int n;
  double m[UNIT_BODIES], x[UNIT_BODIES][3], v[UNIT_BODIES][3]; /* about the centre of mass */
  double reach[UNIT_BODIES];  /* of a body that is a pair: no other one may come within it; 0: of a point */
  double radius[UNIT_BODIES]; /* of a star, which may meet others; 0: of a body that meets none */
  double entry;               /* as of resolved pairs; 0: no bodies meet */
  uint64_t met;               /* pairs that are not looked at: UNIT_MET */
  double t, binding;          /* binding: potential less kinetic energy, where few_advance has stopped */
  int reached;                /* the body whose reach another one is about to enter; -1: none */
  int contact[2];             /* bodies that have met; -1: none */
};

/* Bodies in the order of the chain; x, v: from each to the next. t, b: within an interval. */
struct few_chain {
  int n, body[UNIT_BODIES];
  double m[UNIT_BODIES], x[FEW_LINKS][3], v[FEW_LINKS][3];
  double t, b;
};

/* Vectors from the centre of mass, of links. */
HD void few_places(const struct few_chain *chain, const double (*link)[3], double (*place)[3])
{
  double mass = chain->m[0], mean[3] = {0};
  for (int c = 0; c < 3; c++) place[0][c] = 0;
  for (int k = 1; k < chain->n; k++) {
    mass += chain->m[k];
    for (int c = 0; c < 3; c++) {
      place[k][c] = place[k - 1][c] + link[k - 1][c];
      mean[c] += chain->m[k] * place[k][c];
    }
  }
  for (int k = 0; k < chain->n; k++)
    for (int c = 0; c < 3; c++) place[k][c] -= mean[c] / mass;
}

HD double few_kinetic(const struct few_chain *chain)
{
  double v[UNIT_BODIES][3], sum = 0;
  few_places(chain, chain->v, v);
  for (int k = 0; k < chain->n; k++) sum += 0.5 * chain->m[k] * kepler_dot(v[k], v[k]);
  return sum;
}

/* U, the modulus of the potential energy; with a: accelerations as well. */
HD double few_pull(const struct few_chain *chain, double (*a)[3])
{
  double sum = 0;
  for (int k = 0; a && k < chain->n; k++) a[k][0] = a[k][1] = a[k][2] = 0;
  for (int k = 0; k < chain->n; k++) {
    double d[3] = {0};
    for (int l = k + 1; l < chain->n; l++) {
      for (int c = 0; c < 3; c++) d[c] += chain->x[l - 1][c];
      double inverse = 1 / sqrt(kepler_dot(d, d)), cube = inverse * inverse * inverse;
      sum += chain->m[k] * chain->m[l] * inverse;
      for (int c = 0; a && c < 3; c++) {
        a[k][c] += cube * chain->m[l] * d[c];
        a[l][c] -= cube * chain->m[k] * d[c];
      }
    }
  }
  return sum;
}

HD void few_drift(struct few_chain *chain, double h)
{
  double dt = h / (few_kinetic(chain) + chain->b);
  chain->t += dt;
  for (int k = 0; k < chain->n - 1; k++)
    for (int c = 0; c < 3; c++) chain->x[k][c] += dt * chain->v[k][c];
}

/* from: the time at which the interval began. */
HD_CALL void few_kick(struct few_chain *chain, const struct unit_environment *environment, double from, double h)
{
  double a[UNIT_BODIES][3], f[UNIT_BODIES][3], x[UNIT_BODIES][3], v[UNIT_BODIES][3], w[UNIT_BODIES][3], work = 0;
  double dt = h / few_pull(chain, a);
  few_places(chain, chain->x, x);
  few_places(chain, chain->v, v);
  unit_external(environment, from + chain->t, chain->n, (const double(*)[3])x, chain->m, f);
  for (int k = 0; k < chain->n - 1; k++)
    for (int c = 0; c < 3; c++) chain->v[k][c] += dt * (a[k + 1][c] - a[k][c] + (f[k + 1][c] - f[k][c]));
  few_places(chain, chain->v, w);
  for (int k = 0; k < chain->n; k++)
    for (int c = 0; c < 3; c++) work += chain->m[k] * f[k][c] * 0.5 * (v[k][c] + w[k][c]);
  chain->b -= dt * work;
}

/* `chain` as a row of numbers, and back. */
HD void few_to_row(const struct few_chain *chain, double *row)
{
  for (int k = 0; k < chain->n - 1; k++)
    for (int c = 0; c < 3; c++) {
      *row++ = chain->x[k][c];
      *row++ = chain->v[k][c];
    }
  *row++ = chain->t;
  *row = chain->b;
}

HD void few_from_row(struct few_chain *chain, const double *row)
{
  for (int k = 0; k < chain->n - 1; k++)
    for (int c = 0; c < 3; c++) {
      chain->x[k][c] = *row++;
      chain->v[k][c] = *row++;
    }
  chain->t = *row++;
  chain->b = *row;
}

/* Length and speed of each link; the latter at least that of a circle. */
HD void few_scales(const struct few_chain *chain, double length[FEW_LINKS], double speed[FEW_LINKS])
{
  for (int k = 0; k < chain->n - 1; k++) {
    length[k] = sqrt(kepler_dot(chain->x[k], chain->x[k]));
    speed[k] = sqrt(kepler_dot(chain->v[k], chain->v[k]) + (chain->m[k] + chain->m[k + 1]) / length[k]);
  }
}

/* A table of extrapolation: the last row, and what it was before its last column. */
struct few_table {
  double row[FEW_ROWS][FEW_NUMBERS], last[FEW_NUMBERS];
};

/* The next row, from the result of 2 (k + 1) steps (Aitken's and Neville's scheme in 1 / steps^2). */
HD void few_extrapolate(struct few_table *table, const struct few_chain *chain, int k)
{
  double now[FEW_NUMBERS];
  int count = 6 * (chain->n - 1) + 2;
  few_to_row(chain, now);
  for (int i = 0; i < count; i++) {
    double before = table->row[0][i];
    table->last[i] = k > 0 ? table->row[k - 1][i] : 0;
    table->row[0][i] = now[i];
    for (int l = 1; l <= k; l++) {
      double ratio = (double)(k + 1) / (k + 1 - l);
      double next = table->row[l - 1][i] + (table->row[l - 1][i] - before) / (ratio * ratio - 1);
      before = table->row[l][i];
      table->row[l][i] = next;
    }
  }
}

/* The largest change of a number by the last column, in units of length and speed of the link. */
HD double few_change(const struct few_table *table, int links, int k, const double length[FEW_LINKS],
                     const double speed[FEW_LINKS])
{
  double largest = 0;
  for (int i = 0; i < 6 * links; i++) {
    double change = fabs(table->row[k][i] - table->last[i]) / (i % 2 == 0 ? length[i / 6] : speed[i / 6]);
    if (!(change <= largest)) largest = change;
  }
  return largest;
}

HD double few_excess(const struct few_chain *chain, double *binding)
{
  *binding = few_pull(chain, (double(*)[3])0);
  return few_kinetic(chain) - *binding + chain->b;
}

/* A step of h. Returns the row that was accepted, and the result in *result; FEW_ROWS: none. Adds to *evaluations. */
HD_CALL int few_try(const struct few_chain *chain, const struct unit_environment *environment, double from, double h,
                    struct few_chain *result, int64_t *evaluations)
{
  struct few_table table;
  double length[FEW_LINKS], speed[FEW_LINKS], binding, before = few_excess(chain, &binding);
  for (int k = 0; k < FEW_ROWS; k++) {
    int steps = 2 * (k + 1);
    double part = h / steps;
    struct few_chain now = *chain;
    few_drift(&now, 0.5 * part);
    for (int i = 0; i < steps; i++) {
      few_kick(&now, environment, from, part);
      few_drift(&now, i < steps - 1 ? part : 0.5 * part);
    }
    *evaluations += steps;
    if (k == 0) few_scales(&now, length, speed);
    few_extrapolate(&table, &now, k);
    if (k < 3 || !(few_change(&table, chain->n - 1, k, length, speed) < FEW_TOLERANCE)) continue;
    *result = *chain;
    few_from_row(result, table.row[k]);
    double excess = few_excess(result, &binding);
    if (fabs(excess - before) < 10 * FEW_TOLERANCE * binding) return k;
  }
  return FEW_ROWS;
}

/* From body k of the chain to body l, by links. */
HD void few_between(const double (*link)[3], int k, int l, double d[3])
{
  int low = k < l ? k : l, high = k < l ? l : k;
  for (int c = 0; c < 3; c++) {
    d[c] = 0;
    for (int i = low; i < high; i++) d[c] += link[i][c];
    if (k > l) d[c] = -d[c];
  }
}

/* An order in which near ones are next to each other: the closest two, then at one of the ends the body that is nearest
 * to it. */
HD void few_order(const struct few_chain *chain, int order[UNIT_BODIES])
{
  double r2[UNIT_BODIES][UNIT_BODIES], d[3];
  int used = 0, list[2 * UNIT_BODIES] = {0}, first = UNIT_BODIES, last, n = chain->n;
  double least = INFINITY;
  for (int k = 0; k < n; k++)
    for (int l = 0; l < k; l++) {
      few_between(chain->x, l, k, d);
      r2[k][l] = r2[l][k] = kepler_dot(d, d);
      if (r2[k][l] >= least) continue;
      least = r2[k][l];
      list[first] = l;
      list[first + 1] = k;
    }
  last = first + 1;
  used = 1 << list[first] | 1 << list[last];
  while (last - first + 1 < n) {
    int best = -1, at_begin = 0;
    least = INFINITY;
    for (int k = 0; k < n; k++) {
      if (used >> k & 1) continue;
      for (int side = 0; side < 2; side++) {
        double r = r2[k][list[side ? first : last]];
        if (best >= 0 && !(r < least)) continue;
        least = r;
        best = k;
        at_begin = side;
      }
    }
    list[at_begin ? --first : ++last] = best;
    used |= 1 << best;
  }
  for (int k = 0; k < n; k++) order[k] = list[first + k];
}

/* Link the bodies again where others are near now. */
HD_CALL void few_relink(struct few_chain *chain)
{
  int order[UNIT_BODIES], same = 1, reversed = 1, n = chain->n;
  few_order(chain, order);
  for (int k = 0; k < n; k++) {
    same &= order[k] == k;
    reversed &= order[k] == n - 1 - k;
  }
  if (same || reversed) return;
  struct few_chain old = *chain;
  for (int k = 0; k < n; k++) {
    chain->body[k] = old.body[order[k]];
    chain->m[k] = old.m[order[k]];
    if (k == 0) continue;
    few_between(old.x, order[k - 1], order[k], chain->x[k - 1]);
    few_between(old.v, order[k - 1], order[k], chain->v[k - 1]);
  }
}

HD_CALL void few_open(struct few_chain *chain, const struct few_bodies *few)
{
  chain->n = few->n;
  chain->t = 0;
  for (int k = 0; k < few->n; k++) {
    chain->body[k] = k;
    chain->m[k] = few->m[k];
    for (int c = 0; c < 3 && k > 0; c++) {
      chain->x[k - 1][c] = few->x[k][c] - few->x[k - 1][c];
      chain->v[k - 1][c] = few->v[k][c] - few->v[k - 1][c];
    }
  }
  int order[UNIT_BODIES];
  few_order(chain, order);
  for (int k = 0; k < few->n; k++) { /* not from sums */
    chain->body[k] = order[k];
    chain->m[k] = few->m[order[k]];
    for (int c = 0; c < 3 && k > 0; c++) {
      chain->x[k - 1][c] = few->x[order[k]][c] - few->x[order[k - 1]][c];
      chain->v[k - 1][c] = few->v[order[k]][c] - few->v[order[k - 1]][c];
    }
  }
  double binding = few_pull(chain, (double(*)[3])0);
  chain->b = binding - few_kinetic(chain);
}

HD_CALL void few_close(const struct few_chain *chain, struct few_bodies *few)
{
  double x[UNIT_BODIES][3], v[UNIT_BODIES][3];
  few_places(chain, chain->x, x);
  few_places(chain, chain->v, v);
  for (int k = 0; k < chain->n; k++)
    for (int c = 0; c < 3; c++) {
      few->x[chain->body[k]][c] = x[k][c];
      few->v[chain->body[k]][c] = v[k][c];
    }
}

/* A first step: a sixteenth of the orbit of the closest pair. */
HD double few_first_step(const struct few_chain *chain)
{
  double least = 0;
  for (int k = 0; k < chain->n; k++)
    for (int l = 0; l < k; l++) {
      double d[3], u[3], mu = chain->m[k] + chain->m[l];
      few_between(chain->x, l, k, d);
      few_between(chain->v, l, k, u);
      double r = sqrt(kepler_dot(d, d)), a = fmin(mu / fabs(2 * mu / r - kepler_dot(u, u)), r);
      double step = 2 * KEPLER_PI * chain->m[k] * chain->m[l] * sqrt(a / mu) / 16;
      if (least == 0 || step < least) least = step;
    }
  return least;
}

/* --- the end of an interval --------------------------------------------------------------------------------------- */

/* The step that takes about the time dt, which may be below 0. */
HD double few_step_for(const struct few_chain *chain, double dt)
{
  double a[UNIT_BODIES][3], v[UNIT_BODIES][3], rate = few_kinetic(chain) + chain->b, power = 0;
  few_pull(chain, a);
  few_places(chain, chain->v, v);
  for (int k = 0; k < chain->n; k++) power += chain->m[k] * kepler_dot(a[k], v[k]);
  return dt * fmin(fmax(rate + 0.5 * dt * power, 0.5 * rate), 2 * rate);
}

/* The step to the time `end` within one of h from `before` to `after`, by the time and its rate at both ends. */
HD double few_step_within(const struct few_chain *before, const struct few_chain *after, double h, double end)
{
  double all = after->t - before->t, x = (end - before->t) / all, first = few_kinetic(before) + before->b,
         last = few_kinetic(after) + after->b;
  double part = x * (1 - x) * ((1 - x) * first - x * last) * all + x * x * (3 - 2 * x) * h;
  return fmin(fmax(part, 0.1 * h), 0.9 * h);
}

/* One step of the leapfrog. */
HD void few_leap(struct few_chain *chain, const struct unit_environment *environment, double from, double h)
{
  few_drift(chain, 0.5 * h);
  few_kick(chain, environment, from, h);
  few_drift(chain, 0.5 * h);
}

/* --- reaches ------------------------------------------------------------------------------------------------------ */

/* The body that has another one within its reach; -1: none. */
HD int few_reached(const struct few_chain *chain, const double reach[UNIT_BODIES])
{
  for (int k = 0; k < chain->n; k++) {
    double limit = reach[chain->body[k]], d[3];
    for (int l = 0; limit > 0 && l < chain->n; l++) {
      if (l == k) continue;
      few_between(chain->x, k, l, d);
      if (kepler_dot(d, d) < limit * limit) return chain->body[k];
    }
  }
  return -1;
}

/* --- contacts ----------------------------------------------------------------------------------------------------- */

/* What two bodies do in a step: nothing, meet by one of its ends alone, or meet. */
enum few_meeting { FEW_APART, FEW_MEET_BEFORE, FEW_MEET_AFTER, FEW_MEET };

/* The orbit of bodies k and l of the chain about each other. */
HD struct contact_orbit few_orbit(const struct few_chain *chain, int k, int l)
{
  double d[3], u[3], mu = chain->m[k] + chain->m[l];
  few_between(chain->x, k, l, d);
  few_between(chain->v, k, l, u);
  return contact_orbit_of(mu, 2 * mu / sqrt(kepler_dot(d, d)) - kepler_dot(u, u), d, u);
}

/* The sum of the radii of bodies k and l of the chain; 0: they do not meet. */
HD double few_radii(const struct few_bodies *few, const struct few_chain *chain, int k, int l)
{
  int i = chain->body[k], j = chain->body[l], met = few->met & (i > j ? UNIT_MET(i, j) : UNIT_MET(j, i)) ? 1 : 0;
  return !met && few->radius[i] > 0 && few->radius[j] > 0 ? few->radius[i] + few->radius[j] : 0;
}

/* Whether bodies k and l of the chain meet in the step from `before` to `after`. *at: when they are at the pericentre;
 * *near: whether they are close to it after the step. */
HD_CALL enum few_meeting few_pair_meets(const struct few_chain *before, const struct few_chain *after, int k, int l,
                                        double radii, double *at, int *near)
{
  struct contact_orbit first = few_orbit(before, k, l), last = few_orbit(after, k, l);
  double dt = after->t - before->t;
  *near = last.r < FEW_NEAR * radii;
  *at = last.since >= 0 ? after->t - last.since : after->t;
  if (last.r < radii) return FEW_MEET;
  int will = first.pericentre < radii && contact_passes(&first, dt),
      did = last.pericentre < radii && contact_passed(&last, dt);
  if (did && last.since < 0) *at = before->t + 0.5 * dt; /* and they come back already */
  return will && did ? FEW_MEET : will ? FEW_MEET_BEFORE : did ? FEW_MEET_AFTER : FEW_APART;
}

/* The first pair that meets in a step, pair[2] of the chain; after -> before: see few_pair_meets. */
HD_CALL enum few_meeting few_meets(const struct few_bodies *few, const struct few_chain *before,
                                   const struct few_chain *after, int pair[2], double *at, int *near)
{
  enum few_meeting found = FEW_APART;
  for (int k = 0; k < before->n; k++)
    for (int l = 0; l < k; l++) {
      double radii = few_radii(few, before, k, l), when;
      int close;
      if (!(radii > 0)) continue;
      enum few_meeting now = few_pair_meets(before, after, k, l, radii, &when, &close);
      if (now == FEW_APART || now < found || (now == found && !(when < *at))) continue;
      found = now;
      *at = when;
      *near = close;
      pair[0] = k;
      pair[1] = l;
    }
  return found;
}

/* Two that are in contact, or were a moment ago, at the begin of an interval. Returns whether there are. */
HD_CALL int few_begin_met(const struct few_bodies *few, const struct few_chain *chain, int pair[2])
{
  for (int k = 0; k < chain->n; k++)
    for (int l = 0; l < k; l++) {
      double radii = few_radii(few, chain, k, l);
      if (!(radii > 0)) continue;
      struct contact_orbit orbit = few_orbit(chain, k, l);
      if (!(orbit.r < radii) && !(orbit.pericentre < radii && contact_just_passed(&orbit, few->entry))) continue;
      pair[0] = k;
      pair[1] = l;
      return 1;
    }
  return 0;
}

/* Steps that are made again since bodies meet in them. */
struct few_watch {
  int halvings, landings;
};

/* Look for contacts in the step h from `before` to `after`. Returns the length with which it is to be made again; 0: it
 * is good, and few->contact has two that have met; -1: none have. */
HD_CALL double few_watch_step(struct few_bodies *few, struct few_watch *watch, const struct few_chain *before,
                              const struct few_chain *after, double h)
{
  int pair[2] = {0, 0}, near = 0;
  double at = 0;
  enum few_meeting meeting = few_meets(few, before, after, pair, &at, &near);
  if ((meeting == FEW_MEET_BEFORE || meeting == FEW_MEET_AFTER) && watch->halvings++ < FEW_HALVINGS) return 0.5 * h;
  watch->halvings = 0;
  if (meeting < FEW_MEET_AFTER) return -1;
  if (!near && watch->landings++ < FEW_LANDINGS) return few_step_within(before, after, h, at);
  few->contact[0] = before->body[pair[0]];
  few->contact[1] = before->body[pair[1]];
  return 0;
}

/* --- an interval -------------------------------------------------------------------------------------------------- */

/* Advance to the time `end`, or until a body is about to have another one within its reach: few->reached, and few->t;
 * or until two have met, few->contact, as soon as they are near their pericentre.
 * *step: the step in s to begin with (0: choose), then the one proposed. Returns 0, or -1 where no step is short
 * enough, two bodies being at the same place within rounding; *few is as before then. */
HD_CALL int few_advance(struct few_bodies *few, const struct unit_environment *environment, double end, double *step,
                        int64_t *evaluations)
{
  struct few_chain chain = {0}, next;
  struct few_watch watch = {0, 0};
  double from = few->t, span = end - from, limit = INFINITY, h;
  int pair[2];
  few->reached = few->contact[0] = few->contact[1] = -1;
  if (!(span > 0)) return 0;
  few_open(&chain, few);
  if (!(*step > 0)) *step = few_first_step(&chain);
  few->reached = few_reached(&chain, few->reach);
  if (few->entry > 0 && few_begin_met(few, &chain, pair))
    for (int k = 0; k < 2; k++) few->contact[k] = chain.body[pair[k]];
  for (int stuck = 0; few->reached < 0 && few->contact[0] < 0;) {
    double wanted = few_step_for(&chain, span - chain.t);
    if (!(wanted > FEW_LEAP * *step)) { /* also back from a time slightly beyond */
      few_leap(&chain, environment, from, wanted);
      chain.t = span;
      break;
    }
    h = fmin(fmin(wanted, limit), *step);
    int row = few_try(&chain, environment, from, h, &next, evaluations);
    stuck = row < FEW_ROWS && next.t > chain.t ? 0 : stuck + 1;
    if (stuck > FEW_STUCK) return -1;
    if (row == FEW_ROWS) {
      *step = 0.4 * h;
      continue;
    }
    if (next.t - span > FEW_LEAP * (next.t - chain.t)) { /* beyond the end */
      limit = few_step_within(&chain, &next, h, span);
      continue;
    }
    few->reached = few_reached(&next, few->reach);
    if (few->reached >= 0) break;
    if (few->entry > 0) {
      double again = few_watch_step(few, &watch, &chain, &next, h);
      if (again > 0) {
        limit = again;
        continue;
      }
    }
    chain = next;
    limit = INFINITY;
    few_relink(&chain);
    if (row >= 8) *step = 0.7 * h;
    else if (row <= 5 && h == *step) *step *= 1.5;
  }
  few_close(&chain, few);
  few->binding = chain.b;
  few->t = few->reached < 0 && few->contact[0] < 0 ? end : from + chain.t;
  return 0;
}
#endif
