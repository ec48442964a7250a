/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One soft step: the file to read first. */
#include <config.h>
#include "step/step.h"

#include <string.h>

#include "step/choose.h"
#include "step/expansion.h"
#include "step/find.h"
#include "step/hard.h"
#include "step/kicks.h"
#include "step/substeps.h"

/* Weight of the newest measurement in the smoothed seconds per interaction; single measurements are noisy. */
#define SPEED_WEIGHT 0.3

/* Choose the block levels of all particles. The deepest level and the stop request become the maximum over ranks. Collective. */
static void choose_levels(struct sim *s, const struct plan *plan, const struct step_rule *rule, int *shared)
{
  *shared = plan->shared_level;
  double largest[2] = {s->be->levels(s->dev, rule, *shared), s->stop_request};
  timer_phase(&s->timer, PHASE_wait);
  comm_max_double(s->comm, largest, 2);
  timer_phase(&s->timer, PHASE_correct);
  if (plan->shared && *shared < 0) {
    *shared = (int)largest[0];
    s->be->levels(s->dev, rule, *shared);
  }
  s->counts.level_max = (int)largest[0];
  s->stop_request = (int)largest[1];
}

/* Log the synchronisation as a block step, with the time of the soft step outside its substeps. */
static void log_synchronisation(struct sim *s)
{
  const struct timer(*part)[2] = (const struct timer(*)[2])s->half.part;
  const struct tally *full = &s->counts.full;
  double seconds[PHASE_COUNT];
  struct substep_row row = {.step = s->step, .tick = TICKS, .local = s->be->count(s->dev), .active = full->targets, .groups = full->groups,
                            .pairs = full->particle_pairs + full->cell_pairs, .moment_updates_of_step = 1, .rebuilt = REBUILT_ALL};
  for (int p = 0; p < PHASE_COUNT; p++) {
    seconds[p] = part[0][1].seconds[p] - part[0][0].seconds[p] + part[1][1].seconds[p] - part[1][0].seconds[p];
    row.all += seconds[p];
  }
  row.moment_updates_of_step += s->log.rest.moment_updates_of_step;
  s->log.rebuilds[s->log.rest.rebuilt]++;
  row.all += s->log.rest.all;
  row.seconds[SUBSTEP_rebuild] = seconds[PHASE_domain] + seconds[PHASE_order] + seconds[PHASE_build] + seconds[PHASE_groups];
  row.seconds[SUBSTEP_moments] = seconds[PHASE_moments];
  row.seconds[SUBSTEP_walk] = full->seconds;
  row.seconds[SUBSTEP_correct] = seconds[PHASE_correct] + seconds[PHASE_diagnostics];
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) row.seconds[k] += s->log.rest.seconds[k];
  substep_log_add(&s->log, &row);
}

/* The cost of this step on this rank, for the next domains. */
static void measure_work(struct sim *s, double seconds)
{
  const struct tally *full = &s->counts.full, *hard = &s->counts.hard;
  s->computing = seconds;
  s->work = (double)(full->particle_pairs + full->cell_pairs + hard->particle_pairs + hard->cell_pairs);
  if (!(s->work > 0 && seconds > 0)) return;
  double now = seconds / s->work;
  s->per_work = s->per_work > 0 ? s->per_work + SPEED_WEIGHT * (now - s->per_work) : now;
}

struct step_rule step_rule_of(const struct sim *s, double soft_step)
{
  struct step_rule rule = {.eta = plan_eta(s->par, &s->now, &s->system, s->split.on),
                           .use_velocity = s->par->Criterion == CRITERION_MIN_AV,
                           .soft_step = soft_step};
  rule.softening = params_softening(s->par, rule.softening_of);
  rule.by_type = params_softenings_differ(s->par);
  memcpy(rule.v_com, s->now.v_com, sizeof rule.v_com);
  return rule;
}

/* The field of the opening kick by the time `dt`: the external one, and a uniform one that takes out what the velocity of the centre of mass
 * has gained: forces of trees do not add up to zero. */
static struct field opening_field(const struct sim *s, double dt)
{
  struct field field = s->field;
  double gained[3];
  if (!(dt > 0) || !sim_gained(s, gained)) return field;
  for (int k = 0; k < 3; k++) field.acc[k] -= gained[k] / dt;
  return field;
}

/* From the synchronisation to the first substep: opening kick, block levels, and a lattice that covers the soft step. *shared: as in the
 * verb `levels`. */
static void open_kick(struct sim *s, const struct plan *plan, const struct step_rule *rule, int *shared)
{
  struct field field = opening_field(s, 0.5 * plan->soft_step);
  kicks_apply(s, &field, s->time, 0.5 * plan->soft_step);
  kicks_centre(s, 0.5 * plan->soft_step);
  choose_levels(s, plan, rule, shared);
  sim_make_room(s, plan->soft_step);
}

struct schedule_input step_preview(struct sim *s, const struct plan *plan)
{
  int shared;
  struct step_rule rule = step_rule_of(s, plan->soft_step);
  open_kick(s, plan, &rule, &shared);
  return substeps_input(s);
}

void step_print_schedule(struct sim *s, const struct plan *plan, FILE *out)
{
  int shared;
  struct step_rule rule = step_rule_of(s, plan->soft_step);
  open_kick(s, plan, &rule, &shared);
  struct schedule schedule = substeps_schedule(s);
  if (s->comm->rank == 0) schedule_print(&schedule, out);
}

/* The opening kick, and the whole hard part from neighbour lists. */
static void open_listed(struct sim *s, const struct plan *plan)
{
  struct field field = opening_field(s, 0.5 * plan->soft_step);
  kicks_apply(s, &field, s->time, 0.5 * plan->soft_step);
  kicks_centre(s, 0.5 * plan->soft_step);
  s->half.part[0][1] = s->timer;
  s->soft_step = plan->soft_step;
  hard_advance(s, plan->soft_step);
  double largest[3] = {s->counts.level_max, s->stop_request, s->counts.hermite.collapsed > 0};
  timer_phase(&s->timer, PHASE_wait);
  comm_max_double(s->comm, largest, 3);
  timer_phase(&s->timer, PHASE_correct);
  s->counts.level_max = (int)largest[0];
  s->stop_request = (int)largest[1];
  s->counts.collapsed = (int)largest[2];
}

void step_open(struct sim *s, const struct plan *plan)
{
  struct timer(*part)[2] = s->half.part;
  int shared;
  memset(&s->counts, 0, sizeof s->counts);
  recorder_at(s->comm->recorder, s->step + 1, 0);
  s->half.computed = timer_computing(&s->timer);
  choose_begin(s);
  timer_phase(&s->timer, PHASE_correct);
  part[0][0] = s->timer;

  if (hard_used(s)) {
    open_listed(s, plan);
    return;
  }
  struct step_rule rule = step_rule_of(s, plan->soft_step);
  open_kick(s, plan, &rule, &shared);
  timer_phase(&s->timer, PHASE_correct);
  part[0][1] = s->timer;
  substeps_begin(s, &rule, shared);
}

void step_continue(struct sim *s, const struct plan *plan)
{
  s->soft_step = plan->soft_step;
  if (s->substeps.foreign) sim_decompose(s);
  substeps_continue(s);
}

enum step_state step_substeps(struct sim *s, const struct plan *plan, double until)
{
  struct step_rule rule = step_rule_of(s, plan->soft_step);
  enum step_state state = hard_used(s) ? STEP_SUBSTEPS_ENDED : substeps_advance(s, &rule, until);
  timer_phase(&s->timer, PHASE_correct);
  s->half.part[1][0] = s->timer;
  return state;
}

void step_close(struct sim *s, const struct plan *plan, int potential)
{
  double dt = plan->soft_step, end = expansion_end(s, plan);
  potential |= s->expansion.on;   /* for the integral of W da */
  recorder_at(s->comm->recorder, s->step + 1, TICKS);
  if (!hard_used(s)) s->be->drift_to_end(s->dev, dt / TICKS);
  tuning_now(&s->tuning, s->step + 1, end);
  expansion_at(s, end);

  sim_arrange(s, 1);
  sim_force(s, &s->mac, potential);

  timer_phase(&s->timer, PHASE_correct);
  if (!hard_used(s)) s->be->finish(s->dev, dt / TICKS);
  s->time = end;
  kicks_field_at(s, s->time);
  kicks_apply(s, &s->field, s->time, 0.5 * dt);
  s->step++;
  measure_work(s, timer_computing(&s->timer) - s->half.computed);
  if (hard_used(s)) find_measure(s, s->computing);
  sim_measure(s);
  kicks_centre(s, 0.5 * dt);
  expansion_account(s);
  sim_note_energy(s);
  plan_note_profile(s->par, &s->now, &s->system);
  s->half.part[1][1] = s->timer;
  log_synchronisation(s);

  if (plan->measure_radius && sim_radius(s, 0)) {
    if (hard_used(s)) hard_potential(s);   /* to which the walk adds; that of `advance` had the old split, and the soft part by now */
    sim_force(s, &s->mac, potential);   /* hard forces need the new split */
    sim_measure(s);                     /* with the newer a_old forces, and so energies, change within the criterion's error */
    expansion_account(s);
  }
  choose_end(s);
}
