/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Soft steps, and the sums at their ends. */
#include <config.h>
#include "api/api.h"

#include <math.h>
#include <string.h>

#include "base/timer.h"
#include "run/run_parts.h"
#include "settings/settings.h"
#include "step/changes.h"
#include "step/energies.h"
#include "step/effects.h"
#include "step/scheme.h"
#include "step/step.h"
#include "scheme/schemes.h"

#define NO_SCALE 1e200   /* a soft step that no system of particles has */
#define STEPS_AHEAD 1000 /* a run without an end is expected to make so many more soft steps */

double api_time(const espalier *e) { return e->sim->time; }
int64_t api_steps(const espalier *e) { return e->before + e->sim->step; }

/* Make `end` the end of the run, for rules that consider how much is left, where it is later than that so far. 0 or
 * -1. */
static int expect(struct sim *sim, double end, struct fault *fault)
{
  if (!(end > sim->par->TimeMax)) return 0;
  if (effects_cover(sim, end, fault)) return -1;
  settings_extend(sim, end);
  return 0;
}

/* The plan of the next soft step. 0 or -1. */
static int make_plan(struct sim *sim, double until, struct plan *plan, struct fault *fault)
{
  if (isnan(until)) return fault_set(fault, "until: expected a time, found nan");
  *plan = effects_plan(sim, fmin(until, 1e300));
  if (isinf(until) && plan->soft_step > NO_SCALE)
    return fault_set(
        fault, "the system has no time scale that limits a soft step: give the time until which it is to be advanced");
  if (expect(sim, isinf(until) ? sim->time + STEPS_AHEAD * plan->soft_step : until, fault)) return -1;
  return run_check_advance(sim, plan, fault);
}

/* The choice of a scheme, as the program makes it. Collective. */
static void choose(struct sim *sim)
{
  timer_reset(&sim->timer);
  ledger_reset(sim->comm->ledger);
  settings_after_step(sim);
}

int api_advance(espalier *e, double until, int potential)
{
  struct sim *sim = e->sim;
  struct fault f = {""};
  struct plan plan;
  if (e->unsound.text[0]) return api_fail(ESPALIER_UNSOUND, &e->unsound);
  if (sim->time >= until) return ESPALIER_OK;
  fatal_context(e->comm.rank, sim->step + 1);
  if (make_plan(sim, until, &plan, &f)) return api_fail(isnan(until) ? ESPALIER_BAD_ARGUMENT : ESPALIER_BAD_STEP, &f);
  sim->stop_request = 0;
  step_open(sim, &plan);
  while (step_substeps(sim, &plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  potential = (potential && plan.at_target) || e->potentials_follow;
  e->potentials_follow = 0;
  api_forget(e);
  step_close(sim, &plan, potential);
  changes_complete(sim);
  e->potential = potential;
  if (guard_check(&e->guard, &sim->now, sim->comm, sim->be, sim->dev, &sim->effects.field, sim->step, sim->time,
                  plan.soft_step, &f)) {
    e->unsound = f;
    return api_fail(ESPALIER_UNSOUND, &f);
  }
  guard_remember(&e->guard, &sim->now, 0);
  if (sim->counts.collapsed) { /* the program ends its run here too */
    guard_collapsed(&e->guard, (const double[3]){(double)sim->step, sim->time, plan.soft_step});
    fault_set(&e->unsound, "%s", e->guard.untrusted);
    return api_fail(ESPALIER_UNSOUND, &e->unsound);
  }
  int was = sim->settings->choice.now;
  choose(sim);
  if (sim->settings->choice.now != was) e->potential = 0; /* forces of another split */
  return ESPALIER_OK;
}

int api_step(espalier *e, double until) { return api_advance(e, until, 0); }

int api_evolve(espalier *e, double until, espalier_callback *after, void *data)
{
  if (isinf(until) && !after)
    return api_fail(ESPALIER_BAD_ARGUMENT,
                    &(struct fault){"until: expected a finite time, or a callback that ends the run"});
  int code = isnan(until) ? api_advance(e, until, 0) : ESPALIER_OK;
  while (!code && e->sim->time < until) {
    code = api_advance(e, until, 1);
    if (code || !after) continue;
    int stop = api_call_back(e, after, data);
    if (stop < 0) return ESPALIER_BAD_ARGUMENT;
    if (stop) break;
  }
  return code;
}

void api_potentials(espalier *e)
{
  struct sim *sim = e->sim;
  if (e->potential) return;
  if (sim->energy.changes.old_sources) e->ordered = 0; /* a tree that is built again may sort them differently */
  changes_renew_forces(sim);
  timer_reset(&sim->timer);
  e->potential = 1;
  e->energies = 0;
}

/* Sums of the frame of the run in the caller's. */
static void shift_sums(const struct sim *sim, const struct diagnostics *diagnostics, struct espalier_sums *to)
{
  double x[3], v[3], work = 0, speed2 = 0;
  sim_shift(sim, x, v);
  for (int c = 0; c < 3; c++) {
    work += v[c] * diagnostics->momentum[c];
    speed2 += v[c] * v[c];
    to->momentum[c] = diagnostics->momentum[c] + diagnostics->mass * v[c];
    to->centre[c] = diagnostics->com[c] + x[c];
    to->motion[c] = diagnostics->v_com[c] + v[c];
  }
  for (int c = 0; c < 3; c++) {
    int a = (c + 1) % 3, b = (c + 2) % 3;
    to->angular_momentum[c] = diagnostics->angular[c] +
                              diagnostics->mass * (diagnostics->com[a] * v[b] - diagnostics->com[b] * v[a]) +
                              x[a] * diagnostics->momentum[b] - x[b] * diagnostics->momentum[a] +
                              diagnostics->mass * (x[a] * v[b] - x[b] * v[a]);
  }
  double change = work + 0.5 * diagnostics->mass * speed2;
  to->kinetic = diagnostics->kinetic + change;
  to->potential = diagnostics->potential;
  to->total = diagnostics->total + change;
}

int api_measure(espalier *e, struct espalier_sums *sums)
{
  struct sim *sim = e->sim;
  if (!sums)
    return api_fail(ESPALIER_BAD_ARGUMENT, &(struct fault){"sums: expected a struct espalier_sums, found NULL"});
  api_potentials(e);
  if (!e->energies) energies_measure(sim, 1);
  e->energies = 1;
  struct diagnostics d = energies_corrected(sim);
  double pairs = sim->cost.work;
  memset(sums, 0, sizeof *sums);
  comm_sum_double(sim->comm, &pairs, 1);
  shift_sums(sim, &d, sums);
  sums->time = sim->time;
  sums->steps = api_steps(e);
  sums->soft_step = sim->soft_step;
  sums->count = d.count;
  sums->mass = d.mass;
  sums->noise = sim->energy.noise;
  sums->split_radius = scheme_split(sim) ? sim->force.split.r2 : 0;
  sums->interactions = pairs;
  sums->changes = sim->energy.changes.energy;
  return ESPALIER_OK;
}

int api_parameter(const espalier *e, const char *name, char *text, size_t size)
{
  struct fault f = {""};
  int k = name ? param_find(NULL, name) : -1;
  if (k < 0 || !text || size == 0) {
    fault_set(&f, k < 0 ? "unknown parameter '%.60s'" : "text: expected room for the value of '%.60s'",
              name ? name : "");
    return api_fail(ESPALIER_BAD_ARGUMENT, &f);
  }
  struct params known = params_resolved(e->sim->par);
  char value[PARAM_TEXT];
  params_format(&known, &param_table[k], value, sizeof value);
  snprintf(text, size, "%s", value);
  return ESPALIER_OK;
}
