/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One soft step: the file to read first. */
#include <config.h>
#include "step/step.h"

#include <string.h>

#include "step/effects.h"
#include "step/effort.h"
#include "step/scheme.h"
#include "step/timed.h"

/* Weight of the newest measurement in the smoothed seconds per interaction; single measurements are noisy. */
#define SPEED_WEIGHT 0.3

/* Log the synchronisation as a block step, with the time of the soft step outside its substeps. */
static void log_synchronisation(struct sim *sim)
{
  const struct timer(*part)[2] = (const struct timer(*)[2])sim->cost.clocks.part;
  const struct tally *full = &sim->counts.full;
  double seconds[PHASE_COUNT];
  struct substep_row row = {.step = sim->step,
                            .tick = TICKS,
                            .local = sim->be->count(sim->dev),
                            .active = full->targets,
                            .groups = full->groups,
                            .pairs = full->particle_pairs + full->cell_pairs,
                            .moment_updates_of_step = 1,
                            .rebuilt = REBUILT_ALL};
  for (int p = 0; p < PHASE_COUNT; p++) {
    seconds[p] = part[0][1].seconds[p] - part[0][0].seconds[p] + part[1][1].seconds[p] - part[1][0].seconds[p];
    row.all += seconds[p];
  }
  row.moment_updates_of_step += sim->cost.log.rest.moment_updates_of_step;
  sim->cost.log.rebuilds[sim->cost.log.rest.rebuilt]++;
  row.all += sim->cost.log.rest.all;
  row.seconds[SUBSTEP_rebuild] =
      seconds[PHASE_domain] + seconds[PHASE_order] + seconds[PHASE_build] + seconds[PHASE_groups];
  row.seconds[SUBSTEP_moments] = seconds[PHASE_moments];
  row.seconds[SUBSTEP_walk] = full->seconds;
  row.seconds[SUBSTEP_correct] = seconds[PHASE_correct] + seconds[PHASE_diagnostics];
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) row.seconds[k] += sim->cost.log.rest.seconds[k];
  substep_log_add(&sim->cost.log, &row);
}

/* The cost of this step on this rank, for the next domains. */
static void measure_work(struct sim *sim, double seconds)
{
  const struct tally *full = &sim->counts.full, *hard = &sim->counts.hard;
  sim->cost.computing = seconds;
  sim->cost.work = (double)(full->particle_pairs + full->cell_pairs + hard->particle_pairs + hard->cell_pairs);
  if (!(sim->cost.work > 0 && seconds > 0)) return;
  double now = seconds / sim->cost.work;
  sim->cost.per_work = sim->cost.per_work > 0 ? sim->cost.per_work + SPEED_WEIGHT * (now - sim->cost.per_work) : now;
}

struct step_rule step_rule_of(const struct sim *sim, double soft_step)
{
  struct step_rule rule = {.eta = plan_eta(sim->par, &sim->now, &sim->system),
                           .use_velocity = sim->par->Criterion == CRITERION_MIN_AV,
                           .soft_step = soft_step};
  rule.softening = params_softening(sim->par, rule.softening_of);
  rule.by_type = params_softenings_differ(sim->par);
  memcpy(rule.v_com, sim->now.v_com, sizeof rule.v_com);
  return rule;
}

/* The field of the opening kick by the time `dt`: the external one, and a uniform one that takes out what the velocity
 * of the centre of mass has gained: forces of trees do not add up to zero. */
static struct field opening_field(const struct sim *sim, double dt)
{
  struct field field = sim->effects.field;
  double gained[3];
  if (!(dt > 0) || !sim_gained(sim, gained)) return field;
  for (int k = 0; k < 3; k++) field.acc[k] -= gained[k] / dt;
  return field;
}

void step_opening_kick(struct sim *sim, double soft_step)
{
  struct field field = opening_field(sim, 0.5 * soft_step);
  effects_kick(sim, &field, sim->time, 0.5 * soft_step);
  effects_kick_centre(sim, 0.5 * soft_step);
}

static void begin(struct sim *sim, const struct plan *plan)
{
  sim->cost.clocks.part[0][0] = sim->timer;
  step_opening_kick(sim, plan->soft_step);
  sim->scheme->open(sim, plan);
}

void step_open(struct sim *sim, const struct plan *plan)
{
  memset(&sim->counts, 0, sizeof sim->counts);
  recorder_at(sim->comm->recorder, sim->step + 1, 0);
  sim->cost.clocks.computed = timer_computing(&sim->timer);
  effort_begin(sim);
  TIMED(sim, PHASE_correct, begin(sim, plan));
}

void step_continue(struct sim *sim, const struct plan *plan)
{
  sim->soft_step = plan->soft_step;
  if (sim->substeps.foreign) sim_decompose(sim);
  sim->scheme->resume(sim);
}

enum step_state step_substeps(struct sim *sim, const struct plan *plan, double until)
{
  enum step_state state;
  TIMED(sim, PHASE_correct, state = sim->scheme->advance(sim, plan, until));
  sim->cost.clocks.part[1][0] = sim->timer;
  return state;
}

/* The sums at the end of a soft step, and what the rules of steps take from them. Collective. */
static void measure(struct sim *sim, double soft_step)
{
  sim_measure(sim);
  effects_kick_centre(sim, 0.5 * soft_step);
  effects_account(sim);
  sim_note_energy(sim);
  plan_note_profile(sim->par, &sim->now, &sim->system);
}

/* Bring the particles to the time `end`. */
static void finish(struct sim *sim, double soft_step, double end)
{
  sim->scheme->finish(sim, soft_step / TICKS);
  sim->time = end;
  effects_field(sim, sim->time);
  effects_kick(sim, &sim->effects.field, sim->time, 0.5 * soft_step);
  sim->step++;
  measure_work(sim, timer_computing(&sim->timer) - sim->cost.clocks.computed);
}

void step_close(struct sim *sim, const struct plan *plan, int potential)
{
  double end = effects_end(sim, plan);
  potential |= effects_have(sim, EFFECT_POTENTIALS);
  recorder_at(sim->comm->recorder, sim->step + 1, TICKS);
  TIMED(sim, PHASE_correct, sim->scheme->drift(sim, plan->soft_step / TICKS));
  tuning_now(&sim->cost.tuning, sim->step + 1, end);
  effects_at(sim, end);

  sim_arrange(sim, 1);
  sim_force(sim, &sim->force.mac, potential);

  TIMED(sim, PHASE_correct, finish(sim, plan->soft_step, end));
  sim->scheme->note_cost(sim, sim->cost.computing);
  measure(sim, plan->soft_step);
  sim->cost.clocks.part[1][1] = sim->timer;
  log_synchronisation(sim);

  if (plan->measure_radius && sim->scheme->measure_radius(sim)) {
    sim_force(sim, &sim->force.mac, potential); /* hard forces need the new split */
    /* with the newer a_old forces, and so energies, change within the criterion's error */
    sim_measure(sim);
    effects_account(sim);
  }
  effort_end(sim);
}
