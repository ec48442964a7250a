/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/expansion.h"

#include <math.h>
#include <string.h>

/* Largest d ln a of a soft step where MaxSizeTimestep is 0. */
#define LARGEST_STEP 0.025

/* Tables that do not depend on TimeMax, at which no result may depend, up to a = 1. */
static int make_tables(struct cosmology *c, const struct params *p, struct fault *f)
{
  double last = exp2(ceil(log2(fmax(p->TimeMax, 1))));
  return cosmology_open(c, p->Omega0, p->OmegaLambda, cosmology_hubble0(p), p->TimeBegin, last, f);
}

int expansion_open(struct sim *s, struct fault *f)
{
  struct expansion *e = &s->expansion;
  if (!s->par->Comoving) return 0;
  if (!s->be->gravity || !s->be->add_field) return fault_set(f, "Comoving = on: the backend %s does not have it", s->be->name);
  if (make_tables(&e->c, s->par, f)) return -1;
  e->on = 1;
  e->density = cosmology_mean_density(s->par);
  double mass = s->masses.total;
  e->offset = 0.9 * s->gravity * mass * mass / cbrt(3 * mass / (4 * M_PI * e->density));
  e->background.count = 1;
  e->background.term[0].kind = FIELD_LINEAR;   /* about the origin: the centre of mass at the start */
  return 0;
}

void expansion_close(struct sim *s)
{
  cosmology_close(&s->expansion.c);
  s->expansion.on = 0;
}

/* Without the criterion. */
static void set_gravity(struct sim *s, double a)
{
  s->be->gravity(s->dev, s->gravity * a);
  s->expansion.background.term[0].number[0] = 4 * M_PI / 3 * s->gravity * a * s->expansion.density;
}

void expansion_at(struct sim *s, double a)
{
  if (!s->expansion.on) return;
  set_gravity(s, a);
  s->mac.gravity = s->gravity * a;
}

void expansion_at_tick(struct sim *s, int32_t tick, double tick_length)
{
  const struct cosmology *c = &s->expansion.c;
  if (s->expansion.on) set_gravity(s, cosmology_a(c, cosmology_tau(c, s->time) + tick * tick_length));
}

void expansion_add(struct sim *s, enum walk_kind kind, int split, int32_t tick)
{
  if (s->expansion.on) s->be->add_field(s->dev, &s->expansion.background, kind, split, tick);
}

void expansion_add_at(const struct sim *s, const double x[3], double acc[3])
{
  double background[3];
  if (!s->expansion.on) return;
  field_acceleration(&s->expansion.background, x, background);
  for (int c = 0; c < 3; c++) acc[c] += background[c];
}

const struct field *expansion_field(const struct sim *s) { return s->expansion.on ? &s->expansion.background : &s->field; }

void expansion_measured(struct sim *s)
{
  struct diagnostics *now = &s->now;
  double constant = s->time * s->expansion.offset, light = 0;
  if (!s->expansion.on) return;
  for (int t = 0; t < PARTICLE_TYPES; t++) light += s->energy.light_mass[t];
  for (int t = 0; t < PARTICLE_TYPES && light > 0; t++) now->potential_type[t] += constant * s->energy.light_mass[t] / light;
  now->potential += constant;
  now->total += constant;
}

/* Add the part of an integral of y da since its last value, and note the present one. Returns the part. */
static double advance(struct expansion_integral *i, double a, double y)
{
  double part = i->a > 0 && a > i->a ? 0.5 * (i->y + y) * (a - i->a) : 0;
  i->sum += part;
  i->a = a;
  i->y = y;
  return part;
}

void expansion_account(struct sim *s)
{
  struct expansion *e = &s->expansion;
  struct diagnostics *now = &s->now;
  if (!e->on) return;
  advance(&e->potential, s->time, now->potential / s->time);
  now->total = now->kinetic + now->potential - e->potential.sum - e->correction.sum;
}

void expansion_account_correction(struct sim *s)
{
  struct expansion *e = &s->expansion;
  if (e->on) s->now.total -= advance(&e->correction, s->time, s->energy.total / s->time);
}

struct plan expansion_plan(const struct sim *s, double target)
{
  const struct cosmology *c = &s->expansion.c;
  if (!s->expansion.on) return plan_next(s->par, &s->now, &s->system, s->time, target, s->step);
  struct plan_facts facts = s->system;
  double largest = s->par->MaxSizeTimestep > 0 ? s->par->MaxSizeTimestep : LARGEST_STEP, tau = cosmology_tau(c, s->time);
  facts.longest = cosmology_tau(c, s->time * exp(largest)) - tau;
  struct plan plan = plan_next(s->par, &s->now, &facts, tau, cosmology_tau(c, target), s->step);
  plan.target = target;
  return plan;
}

/* `c` is used where the run is comoving. */
static double end_of(const struct cosmology *c, int on, double time, const struct plan *plan)
{
  if (plan->at_target) return plan->target;
  return on ? cosmology_a(c, cosmology_tau(c, time) + plan->soft_step) : time + plan->soft_step;
}

double expansion_end(const struct sim *s, const struct plan *plan) { return end_of(&s->expansion.c, s->expansion.on, s->time, plan); }

double expansion_end_of(const struct params *p, double time, const struct plan *plan)
{
  struct cosmology c = {0};
  struct fault f = {""};
  if (p->Comoving && make_tables(&c, p, &f)) return time;   /* the run itself reports it */
  double end = end_of(&c, p->Comoving, time, plan);
  cosmology_close(&c);
  return end;
}

double expansion_frame_time(const struct sim *s, double time) { return s->expansion.on ? cosmology_tau(&s->expansion.c, time) : time; }

double expansion_velocity(const struct params *p, double time) { return p->Comoving ? time * sqrt(time) : 1; }
