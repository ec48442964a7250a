/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The substeps of a soft step, without a common clock: see doc/communication.md. */
#include <config.h>
#include "substeps.h"

#include "timeline.h"

/* Cells move by their mean velocity and acceleration; moments are taken anew whenever about so many particles (as a
 * fraction of all) have been corrected since, at ticks that all ranks know. */
#define REFRESH_FRACTION 0.5
enum { REFRESH_LEAST = 2 };   /* log2 of the least number of such intervals in a soft step */

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
 * allowed for. Collective in that all ranks come here at the same ticks; a rank waits only where it is a whole interval ahead
 * of others, or LETs are made anew. */
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

/* Seconds since `since`, which becomes now. */
static double lap(double *since)
{
  double before = *since;
  *since = timer_clock();
  return *since - before;
}

/* When moments, and the tree, were and are to be taken anew. */
struct ageing {
  int32_t interval;        /* ticks between refreshes, at ticks that all ranks know */
  int32_t shortest;        /* ticks of the shortest steps, in which the age of the tree is counted */
  int32_t built;           /* tick of the last build */
};

/* Whether the tree is to be built anew before the substep at this tick. */
static int rebuild_due(const struct sim *s, const struct ageing *a, int32_t tick)
{
  int interval = s->par->RebuildInterval ? s->par->RebuildInterval : s->be->rebuild_interval;
  if (interval == 0 || s->split.on || s->comm->size > 1) return 0;
  return (tick - a->built) / a->shortest >= interval;
}

/* Hard forces of the particles whose steps end at `tick`, and their next steps; those who have them in their LETs hear of
 * it. Cells go along at refreshes, every `interval` ticks. What it took is added to `row`, all but the end of the correction,
 * which began at *clock. */
static void substep(struct sim *s, const struct step_rule *rule, struct ageing *a, int32_t tick, int shared, struct substep_row *row,
                    double *clock)
{
  double tick_length = rule->soft_step / TICKS;
  int refreshes = tick % a->interval == 0;
  int32_t next_refresh = (tick / a->interval + 1) * a->interval;
  if (rebuild_due(s, a, tick)) {
    sim_rebuild(s, tick, tick_length);
    if (s->log.table) s->be->wait(s->dev);
    a->built = tick;
    row->rebuilt = 1;
    row->seconds[SUBSTEP_rebuild] += lap(clock);
  }
  timer_phase(&s->timer, PHASE_correct);
  int64_t active = s->be->select(s->dev, tick, tick_length, &s->counts.outside);
  row->seconds[SUBSTEP_select] += lap(clock);
  if (refreshes || row->rebuilt) {
    refresh(s, rule->soft_step, tick, a->interval);
    if (s->log.table) s->be->wait(s->dev);
    row->refreshed = 1;
    row->seconds[SUBSTEP_moments] += lap(clock);
  }
  if (active > 0) {
    const struct tally *hard = &s->counts.hard, before = *hard;
    timer_phase(&s->timer, PHASE_hard_walk);
    struct walk_request walk = {.kind = WALK_HARD,
                                .mac = s->mac,
                                .a_floor = s->a_floor,
                                .split = s->split,
                                .let = LET_STEP,
                                .tick = tick,
                                .tick_length = tick_length};
    let_walk(s->lets, walk, &s->counts.hard, &s->counts.updates);
    row->active = active;
    row->groups = hard->groups - before.groups;
    row->pairs = hard->particle_pairs + hard->cell_pairs - before.particle_pairs - before.cell_pairs;
    row->seconds[SUBSTEP_walk] = lap(clock);
    timer_phase(&s->timer, PHASE_correct);
    s->be->correct(s->dev, tick, tick_length, rule, shared);
    s->counts.strays += s->be->strays(s->dev, &s->counts.late);
    s->counts.substeps++;
  }
  timer_phase(&s->timer, PHASE_hard_let);
  let_send_updates(s->lets, tick, refreshes, next_refresh, &s->counts.updates);
}

/* The row of a block step that began at *began and ends at `clock`; the next one begins. */
static void finish_row(struct sim *s, struct substep_row *row, int32_t tick, double *began, double clock)
{
  row->step = s->step + 1;
  row->tick = tick;
  row->level = timeline_aligned(tick, 0);
  row->all = clock - *began;
  substep_log_add(&s->log, row);
  *row = (struct substep_row){0};
  *began = clock;
}

void substeps(struct sim *s, const struct step_rule *rule, int shared)
{
  struct ageing a = {.interval = refresh_interval(s), .shortest = timeline_ticks(s->counts.level_most)};
  struct substep_row row = {0};
  double began = timer_clock(), clock = began;
  if (a.interval == 0) return;
  timer_phase(&s->timer, PHASE_moments);
  s->be->sources(s->dev);
  s->be->moments(s->dev, &s->mac, 0, 0);
  timer_phase(&s->timer, PHASE_hard_let);
  let_anyone_strays(s->lets, 0, 1);
  choose_lets(s, rule->soft_step, 0, a.interval);
  int32_t next = s->be->next_tick(s->dev);
  row.seconds[SUBSTEP_moments] = lap(&clock);
  for (int32_t tick = 0;;) {
    int32_t next_refresh = (tick / a.interval + 1) * a.interval;
    tick = next < next_refresh ? next : next_refresh;
    if (tick == TICKS) break;
    substep(s, rule, &a, tick, shared, &row, &clock);
    timer_phase(&s->timer, PHASE_correct);
    next = s->be->next_tick(s->dev);
    row.seconds[SUBSTEP_correct] += lap(&clock);
    if (row.active > 0) finish_row(s, &row, tick, &began, clock);   /* a refresh alone goes with the next block step */
  }
  timer_phase(&s->timer, PHASE_hard_let);
  let_take_updates(s->lets, TICKS, &s->counts.updates);
}
