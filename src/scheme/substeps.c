/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The substeps of a soft step, without a common clock: see doc/communication.md. */
#include <config.h>
#include "scheme/substeps.h"

#include <math.h>
#include <string.h>

#include "backend/let_verbs.h"
#include "base/debug.h"
#include "particles/timeline.h"
#include "step/effects.h"
#include "step/timed.h"

/* 1: the hard walks of this rank use the tree, so a new tree makes them faster. */
static int walks_tree(const struct sim *sim)
{
  return sim->be->count(sim->dev) > 0 && !(sim->be->forces.keeps_tree && sim->be->forces.keeps_tree(sim->dev));
}

struct schedule_input substeps_input(struct sim *sim)
{
  struct schedule_input in = {.ranks = sim->comm->size,
                              .split = sim->force.split.on,
                              .backend_interval = sim->be->rebuild_interval,
                              .builds_fast_tree = sim->be->builds_fast_tree,
                              .given_interval = sim->par->RebuildInterval,
                              .tuned = sim->cost.tuning.tunes_rebuild,
                              .on_device = sim->be->particle_bytes > 0,
                              .given_checkpoint_ticks = (int)debug_value("checkpoint_ticks", -1),
                              .given_fast_level = -1,
                              .most_bands = (int)debug_value("most_bands", 0),
                              .level_max = sim->counts.level_max,
                              .particles = sim->now.count};
  int64_t sum[SCHEDULE_LEVELS + 2];
  sim->be->steps.histogram(sim->dev, sum);
  sum[SCHEDULE_LEVELS] = 0;
  for (int l = 0; l < SCHEDULE_LEVELS; l++) sum[SCHEDULE_LEVELS] += sum[l] << l;
  sum[SCHEDULE_LEVELS + 1] = walks_tree(sim);
  comm_sum_int64(sim->comm, sum, SCHEDULE_LEVELS + 2);
  memcpy(in.count, sum, sizeof in.count);
  in.hard_steps = sum[SCHEDULE_LEVELS];
  in.walks_tree = sum[SCHEDULE_LEVELS + 1] > 0;
  if (sim->be->builds_fast_tree)
    in.given_fast_level = (int)comm_max_int64(sim->comm, (int64_t)debug_value("fast_level", -1));
  return in;
}

struct schedule substeps_schedule(struct sim *sim)
{
  struct schedule_input in = substeps_input(sim);
  level_bands candidates = schedule_candidates(&in);
  for (int l = 1; l <= LEVEL_MAX; l++) {
    double sums[2];
    if (!(candidates >> l & 1)) continue;
    sim->be->steps.shares(sim->dev, l, sums);
    comm_sum_double(sim->comm, sums, 2);
    in.density[l] = sums[0] > 0 ? sums[1] / sums[0] : 1;
  }
  return schedule_make(&in);
}

/* The argument build_asked of schedule_at: the part of the decision to build that is known only at the tick. */
static int build_asked(struct sim *sim, const struct schedule *schedule, int32_t tick, int32_t built,
                       double tick_length)
{
  if (schedule->builds == BUILDS_WITH_MOMENTS_IF_WALKED) return walks_tree(sim);
  if (schedule->builds != BUILDS_BY_TUNER) return 0;
  return tuning_due(&sim->cost.tuning, (tick - built) * tick_length, (TICKS - tick) * tick_length,
                    timeline_aligned(tick, 0));
}

/* The request of a line for LETs of a part of the tree. */
static struct let_request request_of(const struct sim *sim, const struct schedule_line *line, double tick_length,
                                     enum let_part part)
{
  int slow = part == LET_OF_SLOW;
  return (struct let_request){.mac = &sim->force.mac,
                              .part = part,
                              .a_floor = sim->force.a_floor,
                              .a_typical = sim->now.a_rms_plain,
                              .cutoff = sim->force.split.on ? sim->force.split.r2 : -1,
                              .tick = line->tick,
                              .tick_length = tick_length,
                              .horizon = (slow ? line->slow_horizon : line->horizon) * tick_length,
                              .active = slow ? 0 : line->active_targets};
}

/* LETs of the first selection, which are for all targets, count as N_hard. */
static struct let_traffic *traffic_of(struct sim *sim, const struct schedule_line *line)
{
  return line->rebuild == REBUILT_NONE ? &sim->counts.step_let : &sim->counts.renewed_let;
}

/* Select the LETs of a line. Collective. */
static void select_lets(struct sim *sim, const struct schedule_line *line, double tick_length)
{
  int fast = line->lets == LETS_FAST || line->lets == LETS_SLOW_AND_FAST;
  struct let_request request = request_of(sim, line, tick_length, LET_OF_SLOW);
  struct let_traffic *traffic = traffic_of(sim, line);
  if (line->lets == LETS_SLOW_AND_FAST) timed_select_lets(sim, LET_SLOW, &request, line->tick, traffic);
  request = request_of(sim, line, tick_length, fast ? LET_OF_FAST : LET_OF_ALL);
  timed_select_lets(sim, LET_STEP, &request, line->tick > 0 ? line->tick : line->next_moments, traffic);
  timed_any_violation(sim, 0, 1);
  sim->counts.violations_handled = sim->counts.violations;
}

/* Migration and build of a line. LET updates in transit refer to entries of the old tree, so they are received
 * first. Where LETs of fast trees follow, ranks ask for them during the build. */
static void rebuild(struct sim *sim, const struct schedule *schedule, const struct schedule_line *line,
                    double tick_length)
{
  if (line->lets != LETS_KEPT) timed_take_updates(sim, line->tick);
  if (line->migrate) sim_migrate(sim, line->tick, tick_length);
  if (line->from_particles) sim_restore_order(sim);
  struct let_request request = request_of(sim, line, tick_length, LET_OF_FAST);
  if (line->lets == LETS_FAST) timed_begin_request(sim, &request);
  sim_rebuild(sim, line->tick, tick_length, schedule->bands, line->from_band);
  if (line->lets == LETS_FAST) timed_send_request(sim, &request, traffic_of(sim, line));
}

/* The moment update of a line and its selection of LETs. Returns the scope of the LET update after the block step. On
 * several ranks all call this at the same ticks. A rank waits only if LETs are selected, or if it is a whole interval
 * ahead of another rank. */
static enum let_update_scope update_moments_and_lets(struct sim *sim, const struct schedule_line *line,
                                                     double tick_length)
{
  timed_moments(sim, &sim->force.mac, line->tick, tick_length);
  sim->counts.moment_updates += line->tick > 0;
  if (line->lets == LETS_KEPT) return line->scope;
  if (line->lets == LETS_IF_VIOLATED) {
    if (!timed_any_violation(sim, sim->counts.violations - sim->counts.violations_handled, 0)) return line->scope;
    timed_take_updates(sim, line->tick);
    sim->counts.let_reselections++;
  }
  select_lets(sim, line, tick_length);
  return SCOPE_ALL_CORRECTED;
}

/* Return the seconds since *since, and set *since to the present time. */
static double lap(double *since)
{
  double before = *since;
  *since = timer_clock();
  return *since - before;
}

/* Times of the parts of a substep. For a table or a tuner they are timed by device events, without waiting. Otherwise
 * they are timed by the host clock, which does not include queued work; the walk is timed by the backend. */
struct parts {
  int events_recorded, count, part[DEVICE_EVENTS];
  double clock;
};

static void part_ends(struct sim *sim, struct parts *parts, struct substep_row *row, int part)
{
  if (parts->events_recorded) {
    parts->part[++parts->count] = part;
    sim->be->clock.record_event(sim->dev, parts->count);
  } else {
    row->seconds[part] += lap(&parts->clock);
  }
}

/* Add the seconds between events to their parts and to `sum`; the remaining time counts as correction. */
static void parts_end(struct sim *sim, struct parts *parts, struct substep_row *row, double sum[SUBSTEP_PARTS_COUNT])
{
  double rest = lap(&parts->clock);
  for (int k = 1; k <= parts->count; k++) {
    double seconds = sim->be->clock.between(sim->dev, k - 1, k);
    sum[parts->part[k]] += seconds;
    row->seconds[parts->part[k]] += seconds;
    rest -= seconds;
  }
  row->seconds[SUBSTEP_correct] += rest;
}

/* Counts and seconds of a walk, which are complete after next_tick. */
static void note_walk(struct sim *sim, const struct tally *before, int32_t tick, double age, int events_recorded,
                      struct substep_row *row)
{
  const struct tally *hard = &sim->counts.hard;
  double seconds = fmin(hard->seconds - before->seconds, row->seconds[SUBSTEP_correct]);
  if (!events_recorded) { /* the host waited for the walk during the correction, so its time is moved to the walk */
    row->seconds[SUBSTEP_walk] += seconds;
    row->seconds[SUBSTEP_correct] -= seconds;
  }
  row->groups = hard->groups - before->groups;
  row->pairs = hard->particle_pairs + hard->cell_pairs - before->particle_pairs - before->cell_pairs;
  tuning_walked(&sim->cost.tuning, age, timeline_aligned(tick, 0), (double)row->active, hard->seconds - before->seconds,
                !sim->force.split.on);
}

/* Hard forces of the active particles of a line, and their next steps. */
static void block_step(struct sim *sim, const struct step_rule *rule, int32_t tick, int shared, struct parts *parts,
                       struct substep_row *row)
{
  double tick_length = rule->soft_step / TICKS;
  struct walk_request walk = {.kind = WALK_HARD,
                              .mac = sim->force.mac,
                              .a_floor = sim->force.a_floor,
                              .split = sim->force.split,
                              .let = LET_STEP,
                              .tick = tick,
                              .tick_length = tick_length,
                              .pending_tally = 1};
  effects_at_tick(sim, tick, tick_length);
  timed_hard_walk(sim, &walk);
  if (!sim->force.split.on) timed_add_fields(sim, tick);
  part_ends(sim, parts, row, SUBSTEP_walk);
  sim->be->steps.correct(sim->dev, tick, tick_length, rule, shared);
  if (sim->be->let) sim->counts.violations += sim->be->let->updates.violations(sim->dev, &sim->counts.late);
  sim->counts.substeps++;
}

/* The scope of the update after a block step. LETs of fast trees are selected again at the next moment update. Where no
 * step of any rank ends before, they are not walked until then, and only slow trees need the corrections. Collective
 * where LETs of fast trees were selected. */
static enum let_update_scope needed_scope(struct sim *sim, const struct schedule_line *line,
                                          enum let_update_scope scope, int32_t next)
{
  if (line->lets != LETS_FAST) return scope;
  double soonest = -(double)next;
  timed_max(sim, &soonest, 1);
  return -soonest >= line->next_moments ? SCOPE_SLOW_CORRECTED : scope;
}

/* Execute a line of the schedule: migration, build, moments and LETs if it has them, then the block step of the active
 * particles and the update of LETs. A build sets *built to its tick. Times and counts are added to `row`. Returns the
 * next tick at which a particle of this rank is active. */
static int32_t execute(struct sim *sim, const struct step_rule *rule, const struct schedule *schedule,
                       const struct schedule_line *line, int32_t *built, int shared, struct substep_row *row)
{
  double tick_length = rule->soft_step / TICKS, sum[SUBSTEP_PARTS_COUNT] = {0};
  int32_t tick = line->tick;
  enum let_update_scope scope = line->scope;
  int timed = line->rebuild && tuning_times(&sim->cost.tuning);
  struct parts parts = {.events_recorded = sim->cost.log.table || timed, .clock = timer_clock()};
  const struct tally before = sim->counts.hard;
  if (parts.events_recorded) sim->be->clock.record_event(sim->dev, 0);
  if (line->rebuild) {
    tuning_now(&sim->cost.tuning, sim->step + 1, sim->time + tick * tick_length);
    rebuild(sim, schedule, line, tick_length);
    *built = tick;
    row->rebuilt = line->rebuild;
    part_ends(sim, &parts, row, SUBSTEP_rebuild);
  }
  row->active = sim->be->steps.select(sim->dev, tick, tick_length, &sim->counts.outside);
  part_ends(sim, &parts, row, SUBSTEP_select);
  if (line->moments) {
    scope = update_moments_and_lets(sim, line, tick_length);
    row->moment_updates_of_step++;
    part_ends(sim, &parts, row, SUBSTEP_moments);
  }
  if (row->active > 0) block_step(sim, rule, tick, shared, &parts, row);
  int32_t next = timed_next_tick(sim, row->active > 0 ? PHASE_hard_walk : PHASE_correct);
  timed_send_updates(sim, tick, needed_scope(sim, line, scope, next), line->next_moments);
  parts_end(sim, &parts, row, sum);
  /* moments count as cost of the build only at ticks without a regular moment update */
  double seconds = sum[SUBSTEP_rebuild] + (line->moments == MOMENTS_OF_BUILD ? sum[SUBSTEP_moments] : 0);
  if (line->rebuild) tuning_built(&sim->cost.tuning, timed ? seconds : 0, 0, 0);
  if (row->active > 0) note_walk(sim, &before, tick, (tick - *built) * tick_length, parts.events_recorded, row);
  return next;
}

/* Complete the row of the block step that began at *began and ended at `clock`, and begin the next row. */
static void finish_row(struct sim *sim, struct substep_row *row, int32_t tick, double *began, double clock)
{
  row->step = sim->step + 1;
  row->local = sim->be->count(sim->dev);
  row->tick = tick;
  row->level = timeline_aligned(tick, 0);
  row->all = clock - *began;
  substep_log_add(&sim->cost.log, row);
  *row = (struct substep_row){0};
  *began = clock;
}

/* The first line after a restart within the soft step. */
static struct schedule_line continued_line(struct sim *sim)
{
  sim->substeps.continued = 0;
  tuning_groups(&sim->cost.tuning, sim->be, sim->dev, sim->lattice.spacing * LATTICE_SIDE);
  return schedule_continue_at(&sim->substeps.schedule, sim->substeps.tick);
}

void substeps_begin(struct sim *sim, const struct step_rule *rule, int shared)
{
  struct substeps *u = &sim->substeps;
  double tick_length = rule->soft_step / TICKS, clock = timer_clock();
  *u = (struct substeps){.schedule = substeps_schedule(sim), .shared = shared, .began = clock};
  if (u->schedule.moment_interval == 0) return;
  if (u->schedule.builds == BUILDS_BY_TUNER)
    tuning_built(&sim->cost.tuning, sim->cost.tree_seconds, 1, (double)u->schedule.build_age * tick_length);
  timed_sources(sim);
  struct schedule_line line = schedule_at(&u->schedule, 0, 0, 0);
  update_moments_and_lets(sim, &line, tick_length);
  u->next = timed_next_tick(sim, PHASE_hard_let);
  u->row.seconds[SUBSTEP_moments] = lap(&clock);
}

/* The schedule of the rest of a soft step, from the levels that particles have now. There are no groups yet, so there
 * is no fast tree. */
static struct schedule schedule_of_rest(struct sim *sim)
{
  struct schedule_input in = substeps_input(sim);
  for (int l = 0; l < SCHEDULE_LEVELS; l++)
    if (in.count[l] > 0) in.level_max = sim->counts.level_max = l;
  in.given_fast_level = 0;
  return schedule_make(&in);
}

void substeps_continue(struct sim *sim)
{
  struct substeps *u = &sim->substeps;
  if (u->foreign) u->schedule = schedule_of_rest(sim);
  u->tick = u->next = u->paused;
  u->continued = 1;
  u->left = u->began = timer_clock();
}

/* Leave the substeps for a while; the time until they go on is not part of a block step. */
static enum step_state leave(struct sim *sim, enum step_state state)
{
  sim->substeps.left = timer_clock();
  return state;
}

/* All ranks come to a checkpoint tick. LET updates in transit are received. */
static enum step_state pause_at(struct sim *sim, int32_t tick)
{
  timed_take_updates(sim, tick);
  sim->substeps.paused = tick;
  return leave(sim, STEP_AT_CHECKPOINT_TICK);
}

static enum step_state end_substeps(struct sim *sim)
{
  struct substeps *u = &sim->substeps;
  timed_take_updates(sim, TICKS);
  sim->counts.step_let.messages += sim->counts.renewed_let.messages;
  sim->counts.step_let.bytes += sim->counts.renewed_let.bytes;
  u->row.all = timer_clock() - u->began;
  sim->cost.log.rest = u->row;
  return leave(sim, STEP_SUBSTEPS_ENDED);
}

enum step_state substeps_advance(struct sim *sim, const struct step_rule *rule, double until)
{
  struct substeps *u = &sim->substeps;
  double tick_length = rule->soft_step / TICKS, clock;
  if (u->left > 0) u->began += timer_clock() - u->left;
  u->left = 0;
  sim->cost.log.rest = (struct substep_row){0};
  if (u->schedule.moment_interval == 0) return STEP_SUBSTEPS_ENDED;
  do {
    int32_t tick = u->continued ? u->paused : schedule_next(&u->schedule, u->tick, u->next);
    if (tick >= TICKS) return end_substeps(sim);
    if (schedule_is_checkpoint(&u->schedule, tick) && u->paused != tick) return pause_at(sim, tick);
    struct schedule_line line = u->continued ? continued_line(sim)
                                             : schedule_at(&u->schedule, tick, u->built,
                                                           build_asked(sim, &u->schedule, tick, u->built, tick_length));
    u->tick = tick;
    u->paused = 0;
    recorder_at(sim->comm->recorder, sim->step + 1, tick);
    u->next = execute(sim, rule, &u->schedule, &line, &u->built, u->shared, &u->row);
    clock = timer_clock();
    /* a moment update without a block step counts with the next */
    if (u->row.active > 0) finish_row(sim, &u->row, tick, &u->began, clock);
  } while (clock <= until);
  return leave(sim, STEP_UNDERWAY);
}
