/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One soft step: the file to read first. */
#include <config.h>
#include "step.h"

#include <string.h>

#include "timeline.h"

/* Cells move by their mean velocity and acceleration; moments are taken anew whenever about so many particles (as a
 * fraction of all) have been corrected since, at ticks that all ranks know. */
#define REFRESH_FRACTION 0.5
enum { REFRESH_LEAST = 2 };   /* log2 of the least number of such intervals in a soft step */
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

/* Ticks between refreshes of moments; 0 where no rank has substeps. Collective. */
static int32_t refresh_interval(struct sim *s)
{
  int64_t steps = s->be->hard_steps(s->dev);
  comm_sum_int64(s->comm, &steps, 1);
  double refreshes = (double)steps / (REFRESH_FRACTION * s->now.count);
  if ((double)steps <= s->now.count) return 0;
  int log2 = 1;
  while (log2 < s->counts.level_most && (log2 < REFRESH_LEAST || (double)((int64_t)2 << log2) <= refreshes)) log2++;
  return timeline_ticks(log2);
}

/* LETs for the rest of the soft step. Collective. */
static void choose_lets(struct sim *s, double soft_step, int32_t tick, int32_t next_cells)
{
  double tick_length = soft_step / TICKS;
  struct let_request request = {.mac = &s->mac,
                                .a_floor = s->a_floor,
                                .a_typical = s->now.a_rms_plain,
                                .cutoff = s->split.on ? s->split.r2 : -1,
                                .horizon = (TICKS - tick) * tick_length,
                                .tick = tick,
                                .tick_length = tick_length};
  let_exchange(s->lets, LET_STEP, &s->lattice, request, tick > 0 ? tick : next_cells, &s->counts.step_let);
}

/* Moments of the moving particles, and LETs anew where somebody left, or is about to leave, the way that their choice
 * allowed for. Collective in that all ranks come here at the same ticks; nobody waits unless LETs are made anew. */
static void refresh(struct sim *s, double soft_step, int32_t tick, int32_t interval)
{
  timer_phase(&s->timer, PHASE_moments);
  s->be->moments(s->dev, &s->mac, tick, soft_step / TICKS);
  s->counts.refreshes++;
  timer_phase(&s->timer, PHASE_hard_let);
  if (!let_anyone_strays(s->lets, s->counts.strays - s->counts.mended, 0)) return;
  let_take_updates(s->lets, tick, &s->counts.updates);
  choose_lets(s, soft_step, tick, tick + interval);
  let_anyone_strays(s->lets, 0, 1);
  s->counts.remakes++;
  s->counts.mended = s->counts.strays;
}

/* Hard forces of the particles whose steps end at `tick`, and their next steps; those who have them in their LETs hear of
 * it. Cells go along at refreshes, every `interval` ticks. */
static void substep(struct sim *s, const struct step_rule *rule, int32_t tick, int32_t interval, int shared)
{
  double tick_length = rule->soft_step / TICKS;
  int refreshes = tick % interval == 0;
  int32_t next_refresh = (tick / interval + 1) * interval;
  timer_phase(&s->timer, PHASE_correct);
  int64_t active = s->be->select(s->dev, tick, tick_length, &s->counts.outside);
  if (refreshes) refresh(s, rule->soft_step, tick, interval);
  if (active > 0) {
    timer_phase(&s->timer, PHASE_hard_walk);
    struct walk_request walk = {.kind = WALK_HARD,
                                .mac = s->mac,
                                .a_floor = s->a_floor,
                                .split = s->split,
                                .let = LET_STEP,
                                .tick = tick,
                                .tick_length = tick_length};
    let_walk(s->lets, walk, &s->counts.hard, &s->counts.updates);
    timer_phase(&s->timer, PHASE_correct);
    s->be->correct(s->dev, tick, tick_length, rule, shared);
    s->counts.strays += s->be->strays(s->dev, &s->counts.late);
    s->counts.substeps++;
  }
  timer_phase(&s->timer, PHASE_hard_let);
  let_send_updates(s->lets, tick, refreshes, next_refresh, &s->counts.updates);
}

/* From the opening soft kick to the last tick before the end. Every rank goes from tick to tick of its own particles and
 * meets the others only where it needs what they corrected. */
static void substeps(struct sim *s, const struct step_rule *rule, int shared)
{
  int32_t interval = refresh_interval(s);
  if (interval == 0) return;
  timer_phase(&s->timer, PHASE_moments);
  s->be->sources(s->dev);
  s->be->moments(s->dev, &s->mac, 0, 0);
  timer_phase(&s->timer, PHASE_hard_let);
  let_anyone_strays(s->lets, 0, 1);
  choose_lets(s, rule->soft_step, 0, interval);
  for (int32_t tick = 0;;) {
    int32_t next_refresh = (tick / interval + 1) * interval, next = s->be->next_tick(s->dev);
    tick = next < next_refresh ? next : next_refresh;
    if (tick == TICKS) break;
    substep(s, rule, tick, interval, shared);
  }
  timer_phase(&s->timer, PHASE_hard_let);
  let_take_updates(s->lets, TICKS, &s->counts.updates);
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
  substeps(s, &rule, shared);
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
