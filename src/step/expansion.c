/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/expansion.h"

#include <math.h>
#include <string.h>

/* Largest d ln a of a soft step where MaxSizeTimestep is 0. */
#define LARGEST_STEP 0.025

/* Tables that do not depend on TimeMax, at which no result may depend, up to a = 1. */
static int make_tables(struct cosmology *cosmology, const struct params *params, struct fault *fault)
{
  double last = exp2(ceil(log2(fmax(params->TimeMax, 1))));
  return cosmology_open(cosmology, params->Omega0, params->OmegaLambda, cosmology_hubble0(params), params->TimeBegin,
                        last, fault);
}

int expansion_open(struct sim *sim, struct fault *fault)
{
  struct expansion *e = &sim->expansion;
  if (!sim->par->Comoving) return 0;
  if (!sim->be->gravity || !sim->be->add_field)
    return fault_set(fault, "Comoving = on: the backend %s does not have it", sim->be->name);
  if (make_tables(&e->c, sim->par, fault)) return -1;
  e->on = 1;
  e->density = cosmology_mean_density(sim->par);
  double mass = sim->masses.total;
  e->offset = 0.9 * sim->gravity * mass * mass / cbrt(3 * mass / (4 * M_PI * e->density));
  e->background.count = 1;
  e->background.term[0].kind = FIELD_LINEAR; /* about the origin: the centre of mass at the start */
  return 0;
}

void expansion_close(struct sim *sim)
{
  cosmology_close(&sim->expansion.c);
  sim->expansion.on = 0;
}

/* Without the criterion. */
static void set_gravity(struct sim *sim, double a)
{
  sim->be->gravity(sim->dev, sim->gravity * a);
  sim->expansion.background.term[0].number[0] = 4 * M_PI / 3 * sim->gravity * a * sim->expansion.density;
}

void expansion_at(struct sim *sim, double a)
{
  if (!sim->expansion.on) return;
  set_gravity(sim, a);
  sim->mac.gravity = sim->gravity * a;
}

void expansion_at_tick(struct sim *sim, int32_t tick, double tick_length)
{
  const struct cosmology *c = &sim->expansion.c;
  if (sim->expansion.on) set_gravity(sim, cosmology_a(c, cosmology_tau(c, sim->time) + tick * tick_length));
}

void expansion_add(struct sim *sim, enum walk_kind kind, int split, int32_t tick)
{
  if (sim->expansion.on) sim->be->add_field(sim->dev, &sim->expansion.background, kind, split, tick);
}

void expansion_add_at(const struct sim *sim, const double x[3], double acc[3])
{
  double background[3];
  if (!sim->expansion.on) return;
  field_acceleration(&sim->expansion.background, x, background);
  for (int c = 0; c < 3; c++) acc[c] += background[c];
}

const struct field *expansion_field(const struct sim *sim)
{
  return sim->expansion.on ? &sim->expansion.background : &sim->field;
}

void expansion_measured(struct sim *sim)
{
  struct diagnostics *now = &sim->now;
  double constant = sim->time * sim->expansion.offset, light = 0;
  if (!sim->expansion.on) return;
  for (int t = 0; t < PARTICLE_TYPES; t++) light += sim->energy.light_mass[t];
  for (int t = 0; t < PARTICLE_TYPES && light > 0; t++)
    now->potential_type[t] += constant * sim->energy.light_mass[t] / light;
  now->potential += constant;
  now->total += constant;
}

/* Add the part of an integral of y da since its last value, and note the present one. Returns the part. */
static double advance(struct expansion_integral *integral, double a, double y)
{
  double part = integral->a > 0 && a > integral->a ? 0.5 * (integral->y + y) * (a - integral->a) : 0;
  integral->sum += part;
  integral->a = a;
  integral->y = y;
  return part;
}

void expansion_account(struct sim *sim)
{
  struct expansion *e = &sim->expansion;
  struct diagnostics *now = &sim->now;
  if (!e->on) return;
  advance(&e->potential, sim->time, now->potential / sim->time);
  now->total = now->kinetic + now->potential - e->potential.sum - e->correction.sum;
}

void expansion_account_correction(struct sim *sim)
{
  struct expansion *e = &sim->expansion;
  if (e->on) sim->now.total -= advance(&e->correction, sim->time, sim->energy.total / sim->time);
}

struct plan expansion_plan(const struct sim *sim, double target)
{
  const struct cosmology *c = &sim->expansion.c;
  if (!sim->expansion.on) return plan_next(sim->par, &sim->now, &sim->system, sim->time, target, sim->step);
  struct plan_facts facts = sim->system;
  double largest = sim->par->MaxSizeTimestep > 0 ? sim->par->MaxSizeTimestep : LARGEST_STEP,
         tau = cosmology_tau(c, sim->time);
  facts.longest = cosmology_tau(c, sim->time * exp(largest)) - tau;
  struct plan plan = plan_next(sim->par, &sim->now, &facts, tau, cosmology_tau(c, target), sim->step);
  plan.target = target;
  return plan;
}

/* `cosmology` is used where the run is comoving. */
static double end_of(const struct cosmology *cosmology, int on, double time, const struct plan *plan)
{
  if (plan->at_target) return plan->target;
  return on ? cosmology_a(cosmology, cosmology_tau(cosmology, time) + plan->soft_step) : time + plan->soft_step;
}

double expansion_end(const struct sim *sim, const struct plan *plan)
{
  return end_of(&sim->expansion.c, sim->expansion.on, sim->time, plan);
}

double expansion_end_of(const struct params *params, double time, const struct plan *plan)
{
  struct cosmology c = {0};
  struct fault f = {""};
  if (params->Comoving && make_tables(&c, params, &f)) return time; /* the run itself reports it */
  double end = end_of(&c, params->Comoving, time, plan);
  cosmology_close(&c);
  return end;
}

double expansion_frame_time(const struct sim *sim, double time)
{
  return sim->expansion.on ? cosmology_tau(&sim->expansion.c, time) : time;
}

double expansion_velocity(const struct params *params, double time) { return params->Comoving ? time * sqrt(time) : 1; }
