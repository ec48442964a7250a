/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One soft step: the file to read first. */
#include <config.h>
#include "step.h"

#include <string.h>

/* Moments are taken anew once so many particles (as a fraction of all) have been corrected since: until then cells move
 * by their mean velocity and acceleration. */
#define REFRESH_FRACTION 0.5

/* The particles choose their block levels. */
static void choose_levels(struct sim *s, const struct plan *plan, const struct step_rule *rule, int *shared)
{
  *shared = plan->shared_level;
  int64_t most = comm_max_int64(s->comm, s->be->levels(s->dev, rule, *shared));
  if (plan->shared && *shared < 0) {
    *shared = (int)most;
    s->be->levels(s->dev, rule, *shared);
  }
  s->counts.level_most = (int)most;
}

/* Hard forces of the particles whose steps end at `tick`, and their next steps. */
static void substep(struct sim *s, const struct step_rule *rule, int32_t tick, double tick_length, int shared, double *corrected)
{
  int64_t active = s->be->select(s->dev, tick, tick_length, &s->counts.outside);
  comm_sum_int64(s->comm, &active, 1);
  *corrected += (double)active;
  timer_phase(&s->timer, PHASE_moments);
  if (*corrected >= REFRESH_FRACTION * s->now.count) {
    s->be->moments(s->dev, &s->mac, tick, tick_length);
    *corrected = 0;
    s->counts.refreshes++;
  }
  timer_phase(&s->timer, PHASE_hard_let);
  let_refresh(s->comm, s->be, s->dev, LET_STEP, &s->counts.step_let);
  timer_phase(&s->timer, PHASE_hard_walk);
  struct walk_request walk = {.kind = WALK_HARD,
                              .mac = s->mac,
                              .a_floor = s->a_floor,
                              .split = s->split,
                              .let = LET_STEP,
                              .tick = tick,
                              .tick_length = tick_length};
  s->be->walk(s->dev, &walk, &s->counts.hard);
  timer_phase(&s->timer, PHASE_correct);
  s->be->correct(s->dev, tick, tick_length, rule, shared);
  s->counts.substeps++;
}

/* From the opening soft kick to the last tick before the end. */
static void substeps(struct sim *s, const struct step_rule *rule, double soft_step, int shared)
{
  double tick_length = soft_step / TICKS, corrected = 0;
  int32_t tick = (int32_t)comm_min_int64(s->comm, s->be->next_tick(s->dev));
  if (tick == TICKS) return;
  timer_phase(&s->timer, PHASE_hard_let);
  s->be->sources(s->dev);
  s->be->moments(s->dev, &s->mac, 0, 0);
  struct let_request request = {.mac = &s->mac, .a_floor = s->a_floor, .cutoff = s->split.on ? s->split.r2 : -1, .horizon = soft_step};
  let_exchange(s->comm, s->be, s->dev, LET_STEP, request, &s->counts.step_let);
  while (tick < TICKS) {
    substep(s, rule, tick, tick_length, shared, &corrected);
    tick = (int32_t)comm_min_int64(s->comm, s->be->next_tick(s->dev));
  }
}

void step(struct sim *s, const struct plan *plan, int potential)
{
  double dt = plan->soft_step;
  int shared;
  struct step_rule rule = {
      .eta = s->par->Eta, .softening = s->par->Softening, .use_velocity = s->par->Criterion == CRITERION_MIN_AV, .soft_step = dt};
  memcpy(rule.v_com, s->now.v_com, sizeof rule.v_com);
  memset(&s->counts, 0, sizeof s->counts);
  timer_phase(&s->timer, PHASE_correct);

  s->be->kick_soft(s->dev, 0.5 * dt);
  choose_levels(s, plan, &rule, &shared);
  sim_make_room(s, dt);
  timer_phase(&s->timer, PHASE_correct);
  substeps(s, &rule, dt, shared);
  timer_phase(&s->timer, PHASE_correct);
  s->be->drift_to_end(s->dev, dt / TICKS);

  sim_arrange(s, 1);
  sim_force(s, &s->mac, potential);

  timer_phase(&s->timer, PHASE_correct);
  s->be->finish(s->dev, dt / TICKS);
  s->be->split_soft(s->dev);
  s->be->kick_soft(s->dev, 0.5 * dt);
  s->time = plan->at_target ? plan->target : s->time + dt;
  s->step++;
  s->work = (double)(s->counts.full.particle_pairs + s->counts.full.cell_pairs + s->counts.hard.particle_pairs + s->counts.hard.cell_pairs);
  sim_measure(s);

  if (plan->measure_radius && sim_radius(s, 0)) {
    sim_force(s, &s->mac, potential);   /* the same forces, split anew */
    s->be->split_soft(s->dev);
  }
}
