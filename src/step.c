/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One soft step: the file to read first. */
#include <config.h>
#include "step.h"

#include <string.h>

/* Moments are taken anew once so many particles (as a fraction of all) have been corrected since: until then cells move
 * by their mean velocity and acceleration. */
#define REFRESH_FRACTION 0.5
/* A measured speed counts for so much beside those of earlier steps: clocks are noisy. */
#define SPEED_WEIGHT 0.3

/* The particles choose their block levels. */
static void choose_levels(struct sim *s, const struct plan *plan, const struct step_rule *rule, int *shared)
{
  *shared = plan->shared_level;
  int64_t most = s->be->levels(s->dev, rule, *shared);
  timer_phase(&s->timer, PHASE_wait);
  most = comm_max_int64(s->comm, most);
  timer_phase(&s->timer, PHASE_correct);
  if (plan->shared && *shared < 0) {
    *shared = (int)most;
    s->be->levels(s->dev, rule, *shared);
  }
  s->counts.level_most = (int)most;
}

/* The next tick at which somebody's step ends. */
static int32_t next_tick(struct sim *s)
{
  int64_t tick = s->be->next_tick(s->dev);
  timer_phase(&s->timer, PHASE_wait);
  tick = comm_min_int64(s->comm, tick);
  timer_phase(&s->timer, PHASE_correct);
  return (int32_t)tick;
}

/* Hard forces of the particles whose steps end at `tick`, and their next steps. */
static void substep(struct sim *s, const struct step_rule *rule, int32_t tick, double tick_length, int shared, double *corrected)
{
  int64_t active = s->be->select(s->dev, tick, tick_length, &s->counts.outside);
  timer_phase(&s->timer, PHASE_wait);
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
  int32_t tick = next_tick(s);
  if (tick == TICKS) return;
  timer_phase(&s->timer, PHASE_hard_let);
  s->be->sources(s->dev);
  s->be->moments(s->dev, &s->mac, 0, 0);
  struct let_request request = {.mac = &s->mac, .a_floor = s->a_floor, .cutoff = s->split.on ? s->split.r2 : -1, .horizon = soft_step};
  let_exchange(s->comm, s->be, s->dev, LET_STEP, request, &s->counts.step_let);
  while (tick < TICKS) {
    substep(s, rule, tick, tick_length, shared, &corrected);
    tick = next_tick(s);
  }
}

/* What this step cost this rank, for the next domains. */
static void measure_work(struct sim *s, double seconds)
{
  const struct tally *full = &s->counts.full, *hard = &s->counts.hard;
  s->work = (double)(full->particle_pairs + full->cell_pairs + hard->particle_pairs + hard->cell_pairs);
  if (!(s->work > 0 && seconds > 0)) return;
  double now = seconds / s->work;
  s->per_work = s->per_work > 0 ? s->per_work + SPEED_WEIGHT * (now - s->per_work) : now;
}

void step(struct sim *s, const struct plan *plan, int potential)
{
  double dt = plan->soft_step, computed = timer_computing(&s->timer);
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
  measure_work(s, timer_computing(&s->timer) - computed);
  sim_measure(s);

  if (plan->measure_radius && sim_radius(s, 0)) {
    sim_force(s, &s->mac, potential);   /* the same forces, split anew */
    s->be->split_soft(s->dev);
  }
}
