/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The substeps of a soft step, without a common clock: see doc/communication.md. */
#include <config.h>
#include "substeps.h"

#include <math.h>
#include <stdlib.h>

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

/* When moments, and the tree, were and are to be taken anew. */
struct ageing {
  int32_t interval;        /* ticks between refreshes, at ticks that all ranks know */
  int32_t shortest;        /* ticks of the steps in which the age of the tree is counted: the shortest but for those of a few */
  int builds;              /* shortest steps between builds; 0: none within the soft step */
  int fast;                /* particles of this level and deeper have a tree of their own (beyond LEVEL_MOST: nobody), */
  int apart;               /* since the tree of all was built */
  int together;            /* several ranks: all trees are built anew at every refresh */
  int32_t built;           /* tick of the last build */
};

/* LETs from `tick` on, to the next refresh, where all are `renewed` then, else to the end of the soft step. Within it targets of the
 * former are those whose steps end now: steps are powers of two, and who has one that ends between two refreshes has one that ends at the
 * first of them too. LETs of the slow particles' trees are for all targets up to the next of these trees. Collective. */
static void choose_lets(struct sim *s, double soft_step, const struct ageing *a, int32_t tick, int renewed)
{
  double tick_length = soft_step / TICKS;
  int32_t next = tick + a->interval, parted = renewed && tick > 0 && a->fast <= LEVEL_MOST;
  struct let_request request = {.mac = &s->mac,
                                .a_floor = s->a_floor,
                                .a_typical = s->now.a_rms_plain,
                                .cutoff = s->split.on ? s->split.r2 : -1,
                                .tick = tick,
                                .tick_length = tick_length};
  /* the first choice of a soft step is for all targets: it is what they need, N_hard */
  struct let_traffic *traffic = renewed && tick > 0 ? &s->counts.renewed_let : &s->counts.step_let;
  if (parted && renewed == REBUILT_ALL) {
    request.part = LET_OF_SLOW;
    request.horizon = (timeline_after(tick, a->fast - 1) - tick) * tick_length;
    let_exchange(s->lets, LET_SLOW, &s->lattice, request, tick, traffic);
  }
  request.part = parted ? LET_OF_FAST : LET_OF_ALL;
  request.horizon = ((renewed ? next : TICKS) - tick) * tick_length;
  request.active = renewed && tick > 0;
  let_exchange(s->lets, LET_STEP, &s->lattice, request, tick > 0 ? tick : next, traffic);
}

/* Moments of the moving particles, and LETs anew where the tree is new, or somebody left, or is about to leave, the way that
 * their choice allowed for. Returns whether they are. Collective in that all ranks come here at the same ticks; a rank waits only where
 * it is a whole interval ahead of others, or LETs are made anew. */
static int refresh(struct sim *s, double soft_step, int32_t tick, const struct ageing *a, int rebuilt)
{
  int renews = a->together ? rebuilt : 0;
  timer_phase(&s->timer, PHASE_moments);
  s->be->moments(s->dev, &s->mac, tick, soft_step / TICKS);
  s->counts.refreshes++;
  timer_phase(&s->timer, PHASE_hard_let);
  if (!renews) {
    if (!let_anyone_strays(s->lets, s->counts.strays - s->counts.mended, 0)) return 0;
    let_take_updates(s->lets, tick, &s->counts.updates);
    s->counts.remakes++;
  }
  choose_lets(s, soft_step, a, tick, renews);
  let_anyone_strays(s->lets, 0, 1);
  s->counts.mended = s->counts.strays;
  return 1;
}

/* Seconds since `since`, which becomes now. */
static double lap(double *since)
{
  double before = *since;
  *since = timer_clock();
  return *since - before;
}

/* What a build costs whatever the number of particles, in particles. */
#define BUILD_LEAST 8e5
/* The fast tree is for as many particles as so much more than the least cost allows: the tree of the others ages, the less
 * the slower they are. */
#define FAST_SLACK 1.1
/* A walk of less than this part of all, on a tree that is one of their steps old, costs less than a build; with the split on, where
 * walks end at R2. */
#define FEW 256
#define FEW_HARD 16

/* Cost of the builds of a soft step when those at ticks of level `fast` and deeper are of the fast particles alone. */
static double build_cost(const int64_t *count, int deepest, int fast)
{
  double all = 0, quick = 0, whole = fast > 0 ? exp2(fast - 1) : exp2(deepest), steps = exp2(deepest);
  for (int l = 0; l <= deepest; l++) {
    all += (double)count[l];
    quick += l >= fast ? (double)count[l] : 0;
  }
  return whole * (all + BUILD_LEAST) + (steps - whole) * (quick + BUILD_LEAST);
}

/* The deepest level that, with those below it, has enough particles to build trees for: one in `few`. */
static int crowded_level(const int64_t count[32], int deepest, int few)
{
  int64_t all = 0, here = 0;
  int level = deepest;
  for (int l = 0; l <= deepest; l++) all += count[l];
  while (level > 1 && few * (here += count[level]) < all) level--;
  return level;
}

/* From which level on particles get a tree of their own, which is renewed while the others rest; steps of levels below `deepest`
 * get no builds. */
static int fast_level(int64_t count[32], int deepest)
{
  int best = 1;
  double least = HUGE_VAL;
  for (int l = deepest + 1; l < 32; l++) count[deepest] += count[l];
  for (int fast = 1; fast <= deepest; fast++) least = fmin(least, build_cost(count, deepest, fast));
  while (best < deepest && build_cost(count, deepest, best) > FAST_SLACK * least) best++;
  return best;
}

/* Fast particles have a tree of their own where so large a part of those around them is fast, in the mean: else its groups are wide, and
 * their lists long. */
#define FAST_CROWD 0.5

/* On several ranks, where nobody looks whether targets keep to the ways that LETs of the slow tree allow them, so many intervals between
 * new trees at most (log2) see the same slow tree. */
enum { SLOW_HOLDS = 4 };

/* From which level on particles get a tree of their own. Collective; the sums are exact, and so the same for all. */
static int dense_fast_level(struct sim *s, int64_t count[32], int deepest)
{
  double sums[2] = {0, 0};
  const char *mine = getenv("ESPALIER_FAST_LEVEL");
  int asked = (int)comm_max_int64(s->comm, mine ? atoi(mine) : -1), fast = fast_level(count, deepest);
  if (asked >= 0) return asked == 0 ? LEVEL_MOST + 1 : asked > deepest ? deepest : asked;
  if (s->comm->size > 1 && fast < deepest - SLOW_HOLDS) fast = deepest - SLOW_HOLDS;
  s->be->shares(s->dev, fast, sums);
  comm_sum_double(s->comm, sums, 2);
  return sums[1] >= FAST_CROWD * sums[0] ? fast : LEVEL_MOST + 1;
}

/* Whether hard walks go through the tree: with lists in their place it may age. */
static int walks_trees(const struct sim *s) { return s->be->count(s->dev) > 0 && !(s->be->keeps_tree && s->be->keeps_tree(s->dev)); }

/* On several ranks trees are built anew at refreshes alone, for LETs are of the trees that were: all do it together, where any of them
 * gains. Refreshes then come as often as builds are worth their cost, with the split on also that of the updates
 * that they save; or as often as was asked for, by a power of two. Collective. */
static void plan_together(struct sim *s, struct ageing *a)
{
  int asked = s->split.on ? 0 : s->par->RebuildInterval, level = s->counts.level_most;
  int64_t count[32];
  a->together = s->split.on ? comm_max_int64(s->comm, walks_trees(s)) > 0 : asked || s->be->rebuild_interval > 0;
  if (!a->together || (s->split.on && s->be->rebuild_interval == 0)) return;
  s->be->histogram(s->dev, count);
  comm_sum_int64(s->comm, count, 32);
  level = crowded_level(count, level, s->split.on ? FEW_HARD : FEW);
  for (int rest = (asked ? asked : s->be->rebuild_interval) - 1; rest > 0 && level > 1; rest /= 2) level--;
  if (timeline_ticks(level) < a->interval) a->interval = timeline_ticks(level);
  if (s->split.on || !s->be->plants_apart) return;
  for (int l = 0; l < 32; l++) count[l] /= s->comm->size;
  a->fast = dense_fast_level(s, count, timeline_aligned(a->interval, 0));
}

/* Collective. */
static struct ageing plan_ageing(struct sim *s)
{
  struct ageing a = {.interval = refresh_interval(s), .shortest = timeline_ticks(s->counts.level_most), .fast = LEVEL_MOST + 1};
  int asked = s->par->RebuildInterval, level = s->counts.level_most;
  int64_t count[32];
  if (a.interval == 0) return a;
  if (s->comm->size > 1) plan_together(s, &a);
  if (s->comm->size > 1 || s->split.on) return a;
  a.builds = asked ? asked : s->be->rebuild_interval;
  if (a.builds == 0 && !s->tuning.tunes_rebuild) return a;
  s->be->histogram(s->dev, count);
  if (!asked && !s->tuning.tunes_rebuild) level = crowded_level(count, level, FEW);
  a.shortest = timeline_ticks(level);
  a.fast = s->be->plants_apart ? dense_fast_level(s, count, level) : LEVEL_MOST + 1;
  return a;
}

/* Whether the tree is to be built anew before the substep at this tick. Hard walks in an old tree are longer, and what they are
 * wrong by is something else than at the synchronisation, where it was subtracted from the soft forces: with the split on that
 * is most of the error of the energy. */
static int build_due(struct sim *s, const struct ageing *a, int32_t tick, double tick_length)
{
  if (s->comm->size > 1) return a->together && tick % a->interval == 0;
  if (s->split.on) return tick % a->interval == 0 && walks_trees(s);
  if (s->tuning.tunes_rebuild)
    return tuning_due(&s->tuning, (tick - a->built) * tick_length, (TICKS - tick) * tick_length, timeline_aligned(tick, 0));
  return a->builds > 0 && (tick - a->built) / a->shortest >= a->builds;
}

/* Before the substep at this tick: that of the fast particles alone where the others rest and will not be looked at. */
static int rebuild(struct sim *s, struct ageing *a, int32_t tick, double tick_length)
{
  if (a->together) {   /* what is still to come is for places in the tree that was */
    timer_phase(&s->timer, PHASE_hard_let);
    let_take_updates(s->lets, tick, &s->counts.updates);
  }
  int renew = a->apart && timeline_aligned(tick, 0) >= a->fast && (a->together || tick % a->interval != 0);
  if (a->together && !renew) sim_settle(s, tick, tick_length);
  sim_rebuild(s, tick, tick_length, a->fast, renew);
  a->apart = 1;
  a->built = tick;
  return renew ? REBUILT_FAST : REBUILT_ALL;
}

/* Shortest steps from a build to the next one while nothing is known. Few: growth is steepest at first, and long intervals would
 * show only where it ends. */
static int first_interval(const struct sim *s) { return s->be->rebuild_interval > 0 ? s->be->rebuild_interval : 2; }

/* The parts of a substep, as they end. Where a table or a tuner wants them right they are timed by the device's stamps, which
 * nobody waits for; else by the host's clock, which does not see what is still queued, but for the walk. */
struct parts {
  int stamped, count, part[STAMPS];
  double clock;
};

static void part_ends(struct sim *s, struct parts *p, struct substep_row *row, int part)
{
  if (p->stamped) {
    p->part[++p->count] = part;
    s->be->stamp(s->dev, p->count);
  } else {
    row->seconds[part] += lap(&p->clock);
  }
}

/* Stamped seconds go to their parts, and to `sum`; what is left to now is the correction's. */
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

/* A walk's numbers, which are known when next_tick has waited. */
static void note_walk(struct sim *s, const struct ageing *a, const struct tally *before, int32_t tick, double tick_length, int stamped,
                      struct substep_row *row)
{
  const struct tally *hard = &s->counts.hard;
  double seconds = fmin(hard->seconds - before->seconds, row->seconds[SUBSTEP_correct]);
  if (!stamped) {   /* it was waited for with the correction */
    row->seconds[SUBSTEP_walk] += seconds;
    row->seconds[SUBSTEP_correct] -= seconds;
  }
  row->groups = hard->groups - before->groups;
  row->pairs = hard->particle_pairs + hard->cell_pairs - before->particle_pairs - before->cell_pairs;
  tuning_walked(&s->tuning, (tick - a->built) * tick_length, timeline_aligned(tick, 0), (double)row->active, hard->seconds - before->seconds,
                !s->split.on);
}

/* Hard forces of the particles whose steps end at `tick`, and their next steps; those who have them in their LETs hear of
 * it. Cells go along at refreshes, every `interval` ticks, if LETs are not new. What it took is added to `row`. Returns the next tick. */
static int32_t substep(struct sim *s, const struct step_rule *rule, struct ageing *a, int32_t tick, int shared, struct substep_row *row)
{
  double tick_length = rule->soft_step / TICKS, sum[SUBSTEP_PARTS_COUNT] = {0};
  int refreshes = tick % a->interval == 0, rebuilds = build_due(s, a, tick, tick_length);
  enum let_news news = refreshes ? NEWS_CELLS : NEWS_FEW;
  int timed = rebuilds && tuning_times(&s->tuning), rebuilt = 0;
  int32_t next_refresh = (tick / a->interval + 1) * a->interval;
  struct parts parts = {.stamped = s->log.table || timed, .clock = timer_clock()};
  const struct tally before = s->counts.hard;
  if (parts.stamped) s->be->stamp(s->dev, 0);
  if (rebuilds) {
    tuning_now(&s->tuning, s->step + 1, s->time + tick * tick_length);
    row->rebuilt = rebuilt = rebuild(s, a, tick, tick_length);
    part_ends(s, &parts, row, SUBSTEP_rebuild);
  }
  timer_phase(&s->timer, PHASE_correct);
  int64_t active = s->be->select(s->dev, tick, tick_length, &s->counts.outside);
  part_ends(s, &parts, row, SUBSTEP_select);
  if (refreshes || rebuilds) {
    if (refresh(s, rule->soft_step, tick, a, rebuilt)) news = NEWS_MANY;
    row->refreshed++;
    part_ends(s, &parts, row, SUBSTEP_moments);
  }
  if (active > 0) {
    timer_phase(&s->timer, PHASE_hard_walk);
    struct walk_request walk = {.kind = WALK_HARD,
                                .mac = s->mac,
                                .a_floor = s->a_floor,
                                .split = s->split,
                                .let = LET_STEP,
                                .tick = tick,
                                .tick_length = tick_length,
                                .later = 1};
    row->active = active;
    let_walk(s->lets, walk, &s->counts.hard, &s->counts.updates);
    part_ends(s, &parts, row, SUBSTEP_walk);
    timer_phase(&s->timer, PHASE_correct);
    s->be->correct(s->dev, tick, tick_length, rule, shared);
    s->counts.strays += s->be->strays(s->dev, &s->counts.late);
    s->counts.substeps++;
  }
  timer_phase(&s->timer, PHASE_hard_let);
  let_send_updates(s->lets, tick, news, next_refresh, &s->counts.updates);
  timer_phase(&s->timer, active > 0 ? PHASE_hard_walk : PHASE_correct);   /* where the walk is waited for */
  int32_t next = s->be->next_tick(s->dev);
  timer_phase(&s->timer, PHASE_correct);
  parts_end(s, &parts, row, sum);
  /* at a refresh moments would have been due anyway */
  if (rebuilds) tuning_built(&s->tuning, timed ? sum[SUBSTEP_rebuild] + (refreshes ? 0 : sum[SUBSTEP_moments]) : 0, 0, 0);
  if (active > 0) note_walk(s, a, &before, tick, tick_length, parts.stamped, row);
  return next;
}

/* The row of a block step that began at *began and ends at `clock`; the next one begins. */
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

void substeps(struct sim *s, const struct step_rule *rule, int shared)
{
  struct ageing a = plan_ageing(s);
  struct substep_row row = {0};
  double began = timer_clock(), clock = began;
  s->log.rest = row;
  if (a.interval == 0) return;
  if (!s->split.on) tuning_built(&s->tuning, s->planting, 1, first_interval(s) * (a.shortest * rule->soft_step / TICKS));
  timer_phase(&s->timer, PHASE_moments);
  s->be->sources(s->dev);
  s->be->moments(s->dev, &s->mac, 0, 0);
  timer_phase(&s->timer, PHASE_hard_let);
  let_anyone_strays(s->lets, 0, 1);
  choose_lets(s, rule->soft_step, &a, 0, a.together ? REBUILT_ALL : 0);
  int32_t next = s->be->next_tick(s->dev);
  row.seconds[SUBSTEP_moments] = lap(&clock);
  for (int32_t tick = 0;;) {
    int32_t next_refresh = (tick / a.interval + 1) * a.interval;
    tick = next < next_refresh ? next : next_refresh;
    if (tick == TICKS) break;
    next = substep(s, rule, &a, tick, shared, &row);
    if (row.active > 0) finish_row(s, &row, tick, &began, timer_clock());   /* a refresh alone goes with the next block step */
  }
  timer_phase(&s->timer, PHASE_hard_let);
  let_take_updates(s->lets, TICKS, &s->counts.updates);
  s->counts.step_let.messages += s->counts.renewed_let.messages;
  s->counts.step_let.bytes += s->counts.renewed_let.bytes;
  row.all = timer_clock() - began;
  s->log.rest = row;
}
