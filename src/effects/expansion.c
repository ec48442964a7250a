/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "effects/expansion.h"

#include <math.h>

#include "step/sim.h"

/* Largest d ln a of a soft step where MaxSizeTimestep is 0. */
#define LARGEST_STEP 0.025

static int given(const struct params *params) { return params->Comoving; }

/* Tables that do not depend on TimeMax, at which no result may depend, up to a = 1. */
static int make_tables(struct cosmology *cosmology, const struct params *params, struct fault *fault)
{
  double last = exp2(ceil(log2(fmax(params->TimeMax, 1))));
  return cosmology_open(cosmology, params->Omega0, params->OmegaLambda, cosmology_hubble0(params), params->TimeBegin,
                        last, fault);
}

/* --- begin and end ----------------------------------------------------------------------------------------------- */

/* From velocities of files, u = v_pec / sqrt(a), to those of the run, v = a v_pec. */
static void enter(const struct comm *comm, const struct params *params, struct effects_entry *entry,
                  struct particles *particles)
{
  double factor = entry->begin * sqrt(entry->begin);
  (void)comm;
  (void)params;
  for (int64_t i = 0; i < 3 * particles->n; i++) particles->vel[i] *= factor;
}

static int open_expansion(void *state, struct sim *sim, struct fault *fault)
{
  struct expansion *e = state;
  if (!sim->be->forces.gravity || !sim->be->forces.add_field)
    return fault_set(fault, "Comoving = on: the backend %s does not have it", sim->be->name);
  if (make_tables(&e->c, sim->par, fault)) return -1;
  e->density = cosmology_mean_density(sim->par);
  double mass = sim->masses.total;
  e->offset = 0.9 * sim->force.gravity * mass * mass / cbrt(3 * mass / (4 * M_PI * e->density));
  e->background.count = 1;
  e->background.term[0].kind = FIELD_LINEAR; /* about the origin: the centre of mass at the start */
  return 0;
}

static void close_expansion(void *state)
{
  struct expansion *e = state;
  cosmology_close(&e->c);
}

/* --- times ------------------------------------------------------------------------------------------------------- */

static double clock_of(const void *state, double time)
{
  const struct expansion *e = state;
  return cosmology_tau(&e->c, time);
}

static double time_of(const void *state, double clock)
{
  const struct expansion *e = state;
  return cosmology_a(&e->c, clock);
}

static double longest(const void *state, const struct sim *sim)
{
  double largest = sim->par->MaxSizeTimestep > 0 ? sim->par->MaxSizeTimestep : LARGEST_STEP;
  return clock_of(state, sim->time * exp(largest)) - clock_of(state, sim->time);
}

static double end_of(const struct params *params, double time, double soft_step)
{
  struct cosmology c = {0};
  struct fault f = {""};
  if (make_tables(&c, params, &f)) return time; /* the run itself reports it */
  double end = cosmology_a(&c, cosmology_tau(&c, time) + soft_step);
  cosmology_close(&c);
  return end;
}

/* --- forces ------------------------------------------------------------------------------------------------------ */

static double forces_at(void *state, const struct sim *sim, double a)
{
  struct expansion *e = state;
  e->background.term[0].number[0] = 4 * M_PI / 3 * sim->force.gravity * a * e->density;
  return a;
}

static const struct field *background(const void *state)
{
  const struct expansion *e = state;
  return &e->background;
}

/* --- energies ---------------------------------------------------------------------------------------------------- */

/* Add the constant to the potential energy by which a uniform sphere of the mean density has none. */
static void measured(void *state, struct sim *sim)
{
  const struct expansion *e = state;
  struct diagnostics *now = &sim->now;
  double constant = sim->time * e->offset, light = 0;
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

/* The conserved quantity is T + a W - (integral of W da). */
static void account(void *state, struct sim *sim)
{
  struct expansion *e = state;
  struct diagnostics *now = &sim->now;
  advance(&e->potential, sim->time, now->potential / sim->time);
  now->total = now->kinetic + now->potential - e->potential.sum - e->correction.sum;
}

static void account_correction(void *state, struct sim *sim)
{
  struct expansion *e = state;
  sim->now.total -= advance(&e->correction, sim->time, sim->energy.total / sim->time);
}

/* --- what a run prints and stores -------------------------------------------------------------------------------- */

static void describe(const void *state, const struct sim *sim, FILE *out)
{
  const struct params *params = sim->par;
  (void)state;
  fprintf(out,
          "comoving: Omega0 = %g, OmegaLambda = %g, HubbleParam = %g; times are expansion factors, from z = %.4g to "
          "%.4g\n",
          params->Omega0, params->OmegaLambda, params->HubbleParam, 1 / sim->time - 1, 1 / params->TimeMax - 1);
}

static int numbers(void *state, struct sim *sim, struct effect_numbers *numbers)
{
  struct expansion *e = state;
  (void)sim;
  _Static_assert(sizeof e->potential == 3 * sizeof(double), "doubles only");
  numbers[0] = (struct effect_numbers){"expansion.potential", 3, &e->potential.sum};
  numbers[1] = (struct effect_numbers){"expansion.correction", 3, &e->correction.sum};
  return 2;
}

const struct effect effect_expansion = {.name = "expansion",
                                        .size = sizeof(struct expansion),
                                        .traits = EFFECT_COMOVING | EFFECT_POTENTIALS,
                                        /* peculiar accelerations are differences of larger ones, and small by chance
                                         * at many places */
                                        .a_floor = 0.1,
                                        .given = given,
                                        .enter = enter,
                                        .open = open_expansion,
                                        .close = close_expansion,
                                        .clock = clock_of,
                                        .time_of = time_of,
                                        .longest = longest,
                                        .end_of = end_of,
                                        .forces_at = forces_at,
                                        .background = background,
                                        .measured = measured,
                                        .account = account,
                                        .account_correction = account_correction,
                                        .describe = describe,
                                        .numbers = numbers};
