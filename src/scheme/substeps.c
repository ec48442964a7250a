/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The substeps of a soft step, without a common clock: see doc/communication.md. */
#include <config.h>
#include "scheme/substeps.h"

#include <math.h>
#include <string.h>

#include "backend/let_verbs.h"
#include "base/debug.h"
#include "particles/timeline.h"
#include "step/expansion.h"

/* 1: the hard walks of this rank use the tree, so a new tree makes them faster. */
static int walks_tree(const struct sim *s) { return s->be->count(s->dev) > 0 && !(s->be->keeps_tree && s->be->keeps_tree(s->dev)); }

struct schedule_input substeps_input(struct sim *s)
{
  struct schedule_input in = {.ranks = s->comm->size,
                              .split = s->split.on,
                              .backend_interval = s->be->rebuild_interval,
                              .builds_fast_tree = s->be->builds_fast_tree,
                              .given_interval = s->par->RebuildInterval,
                              .tuned = s->tuning.tunes_rebuild,
                              .on_device = s->be->particle_bytes > 0,
                              .given_checkpoint_ticks = (int)debug_value("checkpoint_ticks", -1),
                              .given_fast_level = -1,
                              .level_max = s->counts.level_max,
                              .particles = s->now.count};
  int64_t sum[SCHEDULE_LEVELS + 2];
  s->be->histogram(s->dev, sum);
  sum[SCHEDULE_LEVELS] = 0;
  for (int l = 0; l < SCHEDULE_LEVELS; l++) sum[SCHEDULE_LEVELS] += sum[l] << l;
  sum[SCHEDULE_LEVELS + 1] = walks_tree(s);
  comm_sum_int64(s->comm, sum, SCHEDULE_LEVELS + 2);
  memcpy(in.count, sum, sizeof in.count);
  in.hard_steps = sum[SCHEDULE_LEVELS];
  in.walks_tree = sum[SCHEDULE_LEVELS + 1] > 0;
  if (s->be->builds_fast_tree) in.given_fast_level = (int)comm_max_int64(s->comm, (int64_t)debug_value("fast_level", -1));
  return in;
}

struct schedule substeps_schedule(struct sim *s)
{
  struct schedule_input in = substeps_input(s);
  int fast = schedule_fast_candidate(&in);
  if (fast > 0) {
    double sums[2];
    s->be->shares(s->dev, fast, sums);
    comm_sum_double(s->comm, sums, 2);
    in.fast_density = sums[0] > 0 ? sums[1] / sums[0] : 1;
  }
  return schedule_make(&in);
}

/* The argument build_asked of schedule_at: the part of the decision to build that is known only at the tick. */
static int build_asked(struct sim *s, const struct schedule *schedule, int32_t tick, int32_t built, double tick_length)
{
  if (schedule->builds == BUILDS_WITH_MOMENTS_IF_WALKED) return walks_tree(s);
  if (schedule->builds != BUILDS_BY_TUNER) return 0;
  return tuning_due(&s->tuning, (tick - built) * tick_length, (TICKS - tick) * tick_length, timeline_aligned(tick, 0));
}

/* Select the LETs of a line. Collective. */
static void select_lets(struct sim *s, const struct schedule_line *line, double tick_length)
{
  struct let_request request = {.mac = &s->mac,
                                .a_floor = s->a_floor,
                                .a_typical = s->now.a_rms_plain,
                                .cutoff = s->split.on ? s->split.r2 : -1,
                                .tick = line->tick,
                                .tick_length = tick_length};
  /* LETs of the first selection, which are for all targets, count as N_hard */
  struct let_traffic *traffic = line->rebuild == REBUILT_NONE ? &s->counts.step_let : &s->counts.renewed_let;
  if (line->lets == LETS_SLOW_AND_FAST) {
    request.part = LET_OF_SLOW;
    request.horizon = line->slow_horizon * tick_length;
    let_exchange(s->lets, LET_SLOW, &s->lattice, request, line->tick, traffic);
  }
  request.part = line->lets == LETS_FAST || line->lets == LETS_SLOW_AND_FAST ? LET_OF_FAST : LET_OF_ALL;
  request.horizon = line->horizon * tick_length;
  request.active = line->active_targets;
  let_exchange(s->lets, LET_STEP, &s->lattice, request, line->tick > 0 ? line->tick : line->next_moments, traffic);
  let_any_violation(s->lets, 0, 1);
  s->counts.violations_handled = s->counts.violations;
}

/* Migration and build of a line. LET updates in transit refer to entries of the old tree, so they are received first. */
static void rebuild(struct sim *s, const struct schedule *schedule, const struct schedule_line *line, double tick_length)
{
  timer_phase(&s->timer, PHASE_hard_let);
  if (line->lets != LETS_KEPT) let_take_updates(s->lets, line->tick, &s->counts.updates);
  if (line->migrate) sim_migrate(s, line->tick, tick_length);
  if (line->from_particles) sim_restore_order(s);
  sim_rebuild(s, line->tick, tick_length, schedule->fast_level, line->rebuild == REBUILT_FAST);
}

/* The moment update of a line and its selection of LETs. Returns the scope of the LET update after the block step. On several ranks all
 * call this at the same ticks. A rank waits only if LETs are selected, or if it is a whole interval ahead of another rank. */
static enum let_update_scope update_moments_and_lets(struct sim *s, const struct schedule_line *line, double tick_length)
{
  timer_phase(&s->timer, PHASE_moments);
  s->be->moments(s->dev, &s->mac, line->tick, tick_length);
  s->counts.moment_updates += line->tick > 0;
  timer_phase(&s->timer, PHASE_hard_let);
  if (line->lets == LETS_KEPT) return line->scope;
  if (line->lets == LETS_IF_VIOLATED) {
    if (!let_any_violation(s->lets, s->counts.violations - s->counts.violations_handled, 0)) return line->scope;
    let_take_updates(s->lets, line->tick, &s->counts.updates);
    s->counts.let_reselections++;
  }
  select_lets(s, line, tick_length);
  return SCOPE_ALL_CORRECTED;
}

/* Return the seconds since *since, and set *since to the present time. */
static double lap(double *since)
{
  double before = *since;
  *since = timer_clock();
  return *since - before;
}

/* Times of the parts of a substep. For a table or a tuner they are timed by device events, without waiting. Otherwise they are timed by the
 * host clock, which does not include queued work; the walk is timed by the backend. */
struct parts {
  int events_recorded, count, part[DEVICE_EVENTS];
  double clock;
};

static void part_ends(struct sim *s, struct parts *p, struct substep_row *row, int part)
{
  if (p->events_recorded) {
    p->part[++p->count] = part;
    s->be->record_event(s->dev, p->count);
  } else {
    row->seconds[part] += lap(&p->clock);
  }
}

/* Add the seconds between events to their parts and to `sum`; the remaining time counts as correction. */
static void parts_end(struct sim *s, struct parts *p, struct substep_row *row, double sum[SUBSTEP_PARTS_COUNT])
{
  double rest = lap(&p->clock);
  for (int k = 1; k <= p->count; k++) {
    double seconds = s->be->between(s->dev, k - 1, k);
    sum[p->part[k]] += seconds;
    row->seconds[p->part[k]] += seconds;
    rest -= seconds;
  }
  row->seconds[SUBSTEP_correct] += rest;
}

/* Counts and seconds of a walk, which are complete after next_tick. */
static void note_walk(struct sim *s, const struct tally *before, int32_t tick, double age, int events_recorded, struct substep_row *row)
{
  const struct tally *hard = &s->counts.hard;
  double seconds = fmin(hard->seconds - before->seconds, row->seconds[SUBSTEP_correct]);
  if (!events_recorded) {   /* the host waited for the walk during the correction, so its time is moved to the walk */
    row->seconds[SUBSTEP_walk] += seconds;
    row->seconds[SUBSTEP_correct] -= seconds;
  }
  row->groups = hard->groups - before->groups;
  row->pairs = hard->particle_pairs + hard->cell_pairs - before->particle_pairs - before->cell_pairs;
  tuning_walked(&s->tuning, age, timeline_aligned(tick, 0), (double)row->active, hard->seconds - before->seconds,
                !s->split.on);
}

/* Hard forces of the active particles of a line, and their next steps. */
static void block_step(struct sim *s, const struct step_rule *rule, int32_t tick, int shared, struct parts *parts, struct substep_row *row)
{
  double tick_length = rule->soft_step / TICKS;
  struct walk_request walk = {.kind = WALK_HARD,
                              .mac = s->mac,
                              .a_floor = s->a_floor,
                              .split = s->split,
                              .let = LET_STEP,
                              .tick = tick,
                              .tick_length = tick_length,
                              .pending_tally = 1};
  timer_phase(&s->timer, PHASE_hard_walk);
  expansion_at_tick(s, tick, tick_length);
  let_walk(s->lets, walk, &s->counts.hard, &s->counts.updates);
  if (!s->split.on) expansion_add(s, WALK_HARD, 0, tick);
  part_ends(s, parts, row, SUBSTEP_walk);
  timer_phase(&s->timer, PHASE_correct);
  s->be->correct(s->dev, tick, tick_length, rule, shared);
  if (s->be->let) s->counts.violations += s->be->let->violations(s->dev, &s->counts.late);
  s->counts.substeps++;
}

/* Execute a line of the schedule: migration, build, moments and LETs if it has them, then the block step of the active particles and the
 * update of LETs. A build sets *built to its tick. Times and counts are added to `row`. Returns the next tick at which a particle of this
 * rank is active. */
static int32_t execute(struct sim *s, const struct step_rule *rule, const struct schedule *schedule, const struct schedule_line *line,
                       int32_t *built, int shared, struct substep_row *row)
{
  double tick_length = rule->soft_step / TICKS, sum[SUBSTEP_PARTS_COUNT] = {0};
  int32_t tick = line->tick;
  enum let_update_scope scope = line->scope;
  int timed = line->rebuild && tuning_times(&s->tuning);
  struct parts parts = {.events_recorded = s->log.table || timed, .clock = timer_clock()};
  const struct tally before = s->counts.hard;
  if (parts.events_recorded) s->be->record_event(s->dev, 0);
  if (line->rebuild) {
    tuning_now(&s->tuning, s->step + 1, s->time + tick * tick_length);
    rebuild(s, schedule, line, tick_length);
    *built = tick;
    row->rebuilt = line->rebuild;
    part_ends(s, &parts, row, SUBSTEP_rebuild);
  }
  timer_phase(&s->timer, PHASE_correct);
  row->active = s->be->select(s->dev, tick, tick_length, &s->counts.outside);
  part_ends(s, &parts, row, SUBSTEP_select);
  if (line->moments) {
    scope = update_moments_and_lets(s, line, tick_length);
    row->moment_updates_of_step++;
    part_ends(s, &parts, row, SUBSTEP_moments);
  }
  if (row->active > 0) block_step(s, rule, tick, shared, &parts, row);
  timer_phase(&s->timer, PHASE_hard_let);
  let_send_updates(s->lets, tick, scope, line->next_moments, &s->counts.updates);
  timer_phase(&s->timer, row->active > 0 ? PHASE_hard_walk : PHASE_correct);   /* next_tick waits for the walk */
  int32_t next = s->be->next_tick(s->dev);
  timer_phase(&s->timer, PHASE_correct);
  parts_end(s, &parts, row, sum);
  /* moments count as cost of the build only at ticks without a regular moment update */
  double seconds = sum[SUBSTEP_rebuild] + (line->moments == MOMENTS_OF_BUILD ? sum[SUBSTEP_moments] : 0);
  if (line->rebuild) tuning_built(&s->tuning, timed ? seconds : 0, 0, 0);
  if (row->active > 0) note_walk(s, &before, tick, (tick - *built) * tick_length, parts.events_recorded, row);
  return next;
}

/* Complete the row of the block step that began at *began and ended at `clock`, and begin the next row. */
static void finish_row(struct sim *s, struct substep_row *row, int32_t tick, double *began, double clock)
{
  row->step = s->step + 1;
  row->local = s->be->count(s->dev);
  row->tick = tick;
  row->level = timeline_aligned(tick, 0);
  row->all = clock - *began;
  substep_log_add(&s->log, row);
  *row = (struct substep_row){0};
  *began = clock;
}

/* The first line after a restart within the soft step. */
static struct schedule_line continued_line(struct sim *s)
{
  s->substeps.continued = 0;
  tuning_groups(&s->tuning, s->be, s->dev, s->lattice.spacing * LATTICE_SIDE);
  return schedule_continue_at(&s->substeps.schedule, s->substeps.tick);
}

void substeps_begin(struct sim *s, const struct step_rule *rule, int shared)
{
  struct substeps *u = &s->substeps;
  double tick_length = rule->soft_step / TICKS, clock = timer_clock();
  *u = (struct substeps){.schedule = substeps_schedule(s), .shared = shared, .began = clock};
  if (u->schedule.moment_interval == 0) return;
  if (u->schedule.builds == BUILDS_BY_TUNER)
    tuning_built(&s->tuning, s->tree_build_seconds, 1, (double)u->schedule.build_age * tick_length);
  timer_phase(&s->timer, PHASE_moments);
  s->be->sources(s->dev);
  struct schedule_line line = schedule_at(&u->schedule, 0, 0, 0);
  update_moments_and_lets(s, &line, tick_length);
  u->next = s->be->next_tick(s->dev);
  u->row.seconds[SUBSTEP_moments] = lap(&clock);
}

/* The schedule of the rest of a soft step, from the levels that particles have now. There are no groups yet, so there is no fast tree. */
static struct schedule schedule_of_rest(struct sim *s)
{
  struct schedule_input in = substeps_input(s);
  for (int l = 0; l < SCHEDULE_LEVELS; l++)
    if (in.count[l] > 0) in.level_max = s->counts.level_max = l;
  in.given_fast_level = 0;
  return schedule_make(&in);
}

void substeps_continue(struct sim *s)
{
  struct substeps *u = &s->substeps;
  if (u->foreign) u->schedule = schedule_of_rest(s);
  u->tick = u->next = u->paused;
  u->continued = 1;
  u->left = u->began = timer_clock();
}

/* Leave the substeps for a while; the time until they go on is not part of a block step. */
static enum step_state leave(struct sim *s, enum step_state state)
{
  timer_phase(&s->timer, PHASE_correct);
  s->substeps.left = timer_clock();
  return state;
}

/* All ranks come to a checkpoint tick. LET updates in transit are received. */
static enum step_state pause_at(struct sim *s, int32_t tick)
{
  timer_phase(&s->timer, PHASE_hard_let);
  let_take_updates(s->lets, tick, &s->counts.updates);
  s->substeps.paused = tick;
  return leave(s, STEP_AT_CHECKPOINT_TICK);
}

static enum step_state end_substeps(struct sim *s)
{
  struct substeps *u = &s->substeps;
  timer_phase(&s->timer, PHASE_hard_let);
  let_take_updates(s->lets, TICKS, &s->counts.updates);
  s->counts.step_let.messages += s->counts.renewed_let.messages;
  s->counts.step_let.bytes += s->counts.renewed_let.bytes;
  u->row.all = timer_clock() - u->began;
  s->log.rest = u->row;
  return leave(s, STEP_SUBSTEPS_ENDED);
}

enum step_state substeps_advance(struct sim *s, const struct step_rule *rule, double until)
{
  struct substeps *u = &s->substeps;
  double tick_length = rule->soft_step / TICKS, clock;
  if (u->left > 0) u->began += timer_clock() - u->left;
  u->left = 0;
  s->log.rest = (struct substep_row){0};
  if (u->schedule.moment_interval == 0) return STEP_SUBSTEPS_ENDED;
  do {
    int32_t tick = u->continued ? u->paused : schedule_next(&u->schedule, u->tick, u->next);
    if (tick >= TICKS) return end_substeps(s);
    if (schedule_is_checkpoint(&u->schedule, tick) && u->paused != tick) return pause_at(s, tick);
    struct schedule_line line = u->continued ? continued_line(s)
                              : schedule_at(&u->schedule, tick, u->built, build_asked(s, &u->schedule, tick, u->built, tick_length));
    u->tick = tick;
    u->paused = 0;
    recorder_at(s->comm->recorder, s->step + 1, tick);
    u->next = execute(s, rule, &u->schedule, &line, &u->built, u->shared, &u->row);
    clock = timer_clock();
    /* a moment update without a block step counts with the next */
    if (u->row.active > 0) finish_row(s, &u->row, tick, &u->began, clock);
  } while (clock <= until);
  return leave(s, STEP_UNDERWAY);
}
