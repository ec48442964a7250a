/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schedule of a soft step in all regimes, and properties that hold in every one. */
#include <config.h>
#include "step/schedule.h"

#include <string.h>

#include "chance.h"
#include "tap.h"

static int32_t part(int log2) { return TICKS >> log2; }

/* Particles at levels 0 to `deepest`, the same number at each, on one rank with the CPU's facts. */
static struct schedule_input alike(int deepest, int64_t each)
{
  struct schedule_input in = {.ranks = 1, .walks_tree = 1, .given_fast_level = -1, .level_max = deepest};
  for (int l = 0; l <= deepest; l++) {
    in.count[l] = each;
    in.hard_steps += each << l;
    in.particles += (double)each;
  }
  return in;
}

static void all_dense(struct schedule_input *in, double density)
{
  for (int l = 0; l < SCHEDULE_LEVELS; l++) in->density[l] = density;
}

/* A core of few fast particles in a large slow halo, on `ranks` ranks whose backend builds trees every four shortest
 * steps. */
static struct schedule_input halo(int ranks)
{
  struct schedule_input in = {.ranks = ranks,
                              .most_bands = BANDS_MAX,
                              .walks_tree = 1,
                              .backend_interval = 4,
                              .builds_fast_tree = 1,
                              .given_fast_level = -1,
                              .level_max = 8};
  static const double per_rank[9] = {4e7, 1e7, 2e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6};
  for (int l = 0; l <= 8; l++) {
    in.count[l] = (int64_t)per_rank[l] * ranks;
    in.hard_steps += in.count[l] << l;
    in.particles += (double)in.count[l];
  }
  all_dense(&in, 0.9);
  return in;
}

/* The first level of fast particles by the cost of builds, and in the schedule; 0, LEVEL_MAX + 1: there are none. */
static int fast_candidate(const struct schedule_input *in)
{
  level_bands bands = schedule_candidates(in);
  return bands ? band_first_level(bands, 1) : 0;
}
static int fast_level(const struct schedule_input *in)
{
  struct schedule s = schedule_make(in);
  return schedule_fast_level(&s);
}

static void check_no_substeps(void)
{
  struct schedule_input in = alike(0, 1000);
  tap_ok(schedule_make(&in).moment_interval == 0, "one step for all particles, the soft step: no line");
  in.ranks = 4;
  in.builds_fast_tree = 1;
  in.backend_interval = 4;
  in.tuned = 1;
  struct schedule s = schedule_make(&in);
  tap_ok(s.moment_interval == 0 && s.builds == BUILDS_NONE && fast_candidate(&in) == 0,
         "also on several ranks, whatever the backend builds");
}

static void check_moments(void)
{
  struct schedule_input in = alike(1, 1000);
  tap_ok(schedule_make(&in).moment_interval == part(1), "two levels: moments at half the soft step, the deepest tick");
  in = alike(3, 1000); /* 15000 steps, 7.5 updates by the rule */
  tap_ok(schedule_make(&in).moment_interval == part(2), "four levels: a quarter, the smallest number of intervals");
  in = alike(6, 1000); /* 127 steps to 7 particles: 36 updates */
  tap_ok(schedule_make(&in).moment_interval == part(5),
         "seven levels: an update after half of the particles has been corrected");
  in.hard_steps = (int64_t)(0.5 * in.particles * 32);
  tap_ok(schedule_make(&in).moment_interval == part(5), "edge of an interval: exactly 32 updates");
  in.hard_steps--;
  tap_ok(schedule_make(&in).moment_interval == part(4), "one step less: 16 updates");
  memset(in.count, 0, sizeof in.count); /* a shared step: all at one level */
  in.count[6] = 7000;
  in.hard_steps = 7000 << 6;
  tap_ok(schedule_make(&in).moment_interval == part(6), "shared step of level 6: at every tick");
}

/* One rank, without and with the split. */
static void check_one_rank(void)
{
  struct schedule_input in = alike(4, 1000);
  struct schedule s = schedule_make(&in);
  int none = 1;
  for (int k = 0; k < 16; k++) none &= schedule_at(&s, k * part(4), 0, 1).rebuild == REBUILT_NONE;
  tap_ok(s.builds == BUILDS_NONE && none && schedule_fast_level(&s) > LEVEL_MAX,
         "one rank, no interval: the tree of the synchronisation serves the soft step");
  in.split = 1;
  s = schedule_make(&in);
  struct schedule_line walked = schedule_at(&s, part(2), 0, 1), listed = schedule_at(&s, part(2), 0, 0),
                       between = schedule_at(&s, part(4), 0, 1);
  tap_ok(walked.rebuild == REBUILT_ALL && !walked.migrate && walked.lets == LETS_KEPT &&
             walked.moments == MOMENTS_REGULAR,
         "one rank, split, walks: a tree at every moment update, no migration, no LETs");
  tap_ok(listed.rebuild == REBUILT_NONE && listed.moments == MOMENTS_REGULAR, "with neighbour lists: moments alone");
  tap_ok(between.rebuild == REBUILT_NONE && between.moments == MOMENTS_KEPT && between.scope == SCOPE_CORRECTED,
         "between: neither");
  in.given_interval = 1;
  s = schedule_make(&in);
  tap_ok(s.builds == BUILDS_WITH_MOMENTS_IF_WALKED, "with the split RebuildInterval is ignored");
}

static void check_age(void)
{
  struct schedule_input in = alike(4, 1000);
  in.given_interval = 3;
  struct schedule s = schedule_make(&in);
  int32_t step = part(4);
  tap_ok(s.builds == BUILDS_BY_AGE && s.build_age == 3 * (int64_t)step,
         "RebuildInterval = 3: builds when the tree is three shortest steps old");
  tap_ok(!schedule_at(&s, 2 * step, 0, 1).rebuild && !schedule_at(&s, 3 * step - 1, 0, 1).rebuild &&
             schedule_at(&s, 3 * step, 0, 0).rebuild,
         "not before, whatever is asked");
  tap_ok(!schedule_at(&s, 5 * step, 3 * step, 0).rebuild && schedule_at(&s, 6 * step, 3 * step, 0).rebuild,
         "the age counts from the last build");
  tap_ok(schedule_at(&s, 3 * step, 0, 0).moments == MOMENTS_OF_BUILD &&
             schedule_at(&s, 4 * step, 0, 0).moments == MOMENTS_REGULAR,
         "a new tree between regular updates has moments of its own");
  in.given_interval = 0;
  in.backend_interval = 2;
  in.count[4] = 4; /* one in a thousand */
  in.particles = 4004;
  s = schedule_make(&in);
  tap_ok(s.build_age == 2 * (int64_t)part(3), "the backend's interval counts the steps of a populated level");
  in.given_interval = 2;
  s = schedule_make(&in);
  tap_ok(s.build_age == 2 * (int64_t)part(4), "the user's those of the deepest");
  in.given_interval = 0;
  in.tuned = 1;
  s = schedule_make(&in);
  tap_ok(s.builds == BUILDS_BY_TUNER && schedule_at(&s, step, 0, 1).rebuild && !schedule_at(&s, 8 * step, 0, 0).rebuild,
         "the tuner: when it asks");
  in.backend_interval = 0;
  s = schedule_make(&in);
  tap_ok(s.builds == BUILDS_BY_TUNER && s.build_age == 2 * (int64_t)part(4),
         "its first interval is two steps where the backend has none");
}

/* The cost of the builds of a soft step on one rank, counted tick by tick. */
static double cost_of(const struct schedule_input *in, level_bands bands)
{
  double cost = 0;
  for (int32_t k = 0; k < 1 << in->level_max; k++) {
    int level = timeline_aligned(k * part(in->level_max), 0), band = band_of_level(bands, level);
    for (int l = 0; l <= in->level_max; l++) cost += band_of_level(bands, l) >= band ? (double)in->count[l] : 0;
    cost += 8e5;
  }
  return cost;
}

/* The bands of a schedule on one rank cost hardly more than any others, and there are no fewer that do. */
static void check_cheapest_bands(void)
{
  struct schedule_input in = halo(1);
  in.backend_interval = 1; /* builds at all ticks */
  for (int most = 1; most <= BANDS_MAX; most++) {
    double least = HUGE_VAL, of_fewer = HUGE_VAL;
    char what[120];
    in.most_bands = most;
    level_bands chosen = schedule_make(&in).bands;
    for (level_bands bands = 0; bands < 1 << (in.level_max + 1); bands += 2) {
      double cost = cost_of(&in, bands);
      if (bands_count(bands) <= most) least = fmin(least, cost);
      if (bands_count(bands) < bands_count(chosen)) of_fewer = fmin(of_fewer, cost);
    }
    snprintf(what, sizeof what, "at most %d bands: %d, %.3f of the least cost, fewer ones %.3f", most,
             bands_count(chosen), cost_of(&in, chosen) / least, of_fewer / least);
    tap_ok(bands_count(chosen) <= most && cost_of(&in, chosen) <= 1.05 * least && of_fewer > 1.05 * least, what);
  }
}

static void check_bands_of_one_rank(void)
{
  struct schedule_input in = halo(1);
  int candidate = fast_candidate(&in);
  struct schedule s = schedule_make(&in);
  tap_ok(candidate > 0 && s.bands == schedule_candidates(&in) && bands_count(s.bands) > 2,
         "fast particles that fill their groups have trees of their own");
  int deepest = bands_count(s.bands) - 1, last = band_first_level(s.bands, deepest);
  s.build_age = part(8);
  s.moment_interval = part(1);
  tap_ok(schedule_at(&s, 3 * part(8), 0, 0).rebuild == REBUILT_ALL, "the first build is of all");
  int right = 1;
  for (int32_t k = 2; k < 256; k++) {
    struct schedule_line line = schedule_at(&s, k * part(8), (k - 1) * part(8), 0);
    int band = band_of_level(s.bands, timeline_aligned(k * part(8), 0));
    right &= line.from_band == band && line.rebuild == (band > 0 ? REBUILT_FAST : REBUILT_ALL) && line.moments;
  }
  tap_ok(right, "a later one of the bands of the particles whose steps may end, and of deeper ones");
  tap_ok(schedule_at(&s, part(2) + part(8), part(2) - part(8), 0).from_band == band_of_level(s.bands, 2) &&
             schedule_at(&s, part(2) + part(8), part(2), 0).from_band == deepest,
         "also of those whose steps may have ended since the last build");
  in.most_bands = 0;
  tap_ok(bands_count(schedule_make(&in).bands) == 4, "four bands, unless more are allowed");
  in.most_bands = BANDS_MAX;
  all_dense(&in, 0.52);
  tap_ok(schedule_make(&in).bands == 0,
         "fast particles among as many slow ones, as by their speeds in a core: one tree");
  all_dense(&in, 0.89);
  tap_ok(schedule_make(&in).bands == 0, "edge: one tree");
  all_dense(&in, 0.9);
  tap_ok(fast_level(&in) == candidate, "edge: nine tenths of the group");
  in.density[last] = 0.5;
  tap_ok(schedule_make(&in).bands == (s.bands & ~(1 << last)), "each band by its own density");
  in.given_fast_level = 2;
  all_dense(&in, 0);
  tap_ok(fast_candidate(&in) == 0 && schedule_make(&in).bands == 1 << 2, "a given level needs no measurement");
  in.given_fast_level = 20;
  tap_ok(fast_level(&in) == 8, "and is at most that of the shortest steps with builds");
  in.given_fast_level = 0;
  tap_ok(schedule_make(&in).bands == 0, "0: one tree");
  in.given_fast_level = 2;
  in.builds_fast_tree = 0;
  tap_ok(schedule_make(&in).bands == 0, "nor where the backend builds none");
}

static void check_several_ranks(void)
{
  struct schedule_input in = alike(4, 1000);
  in.ranks = 3;
  struct schedule s = schedule_make(&in);
  struct schedule_line first = schedule_at(&s, 0, 0, 0), second = schedule_at(&s, s.moment_interval, 0, 0),
                       odd = schedule_at(&s, part(4), 0, 0);
  tap_ok(s.builds == BUILDS_NONE && first.lets == LETS_ALL && first.horizon == TICKS && !first.active_targets,
         "several ranks without builds: LETs of the first tick hold for the soft step");
  tap_ok(second.lets == LETS_IF_VIOLATED && second.horizon == TICKS - second.tick && second.scope == SCOPE_CELLS &&
             !second.migrate,
         "at moment updates they are selected again if bounds are violated; else updates carry the cells");
  tap_ok(odd.lets == LETS_KEPT && odd.scope == SCOPE_CORRECTED && odd.moments == MOMENTS_KEPT,
         "between: updates of corrected particles");
  in.given_interval = 1;
  s = schedule_make(&in);
  first = schedule_at(&s, 0, 0, 0);
  second = schedule_at(&s, s.moment_interval, 0, 0);
  tap_ok(s.builds == BUILDS_WITH_MOMENTS && s.moment_interval == part(4),
         "RebuildInterval = 1: a build and moments at every tick");
  tap_ok(first.horizon == s.moment_interval && !first.rebuild && !first.active_targets,
         "LETs of the first tick hold to the first build");
  tap_ok(second.migrate && second.rebuild == REBUILT_ALL && second.lets == LETS_ALL && second.active_targets &&
             second.scope == SCOPE_ALL_CORRECTED && second.horizon == s.moment_interval,
         "a build: migration, new LETs for the targets of the tick, to the next build");
  in.given_interval = 4;
  in.hard_steps = (int64_t)in.particles + 1; /* moments alone: at quarters */
  tap_ok(schedule_make(&in).moment_interval == part(2), "RebuildInterval = 4: by powers of two");
  in.given_interval = 5;
  tap_ok(schedule_make(&in).moment_interval == part(2) &&
             (in.given_interval = 3, schedule_make(&in).moment_interval == part(2)) &&
             (in.given_interval = 2, schedule_make(&in).moment_interval == part(3)),
         "2, 3 and 5 of them: two, four, and not fewer than moments need");
}

static void check_several_split(void)
{
  struct schedule_input in = alike(6, 1000);
  in.ranks = 2;
  in.split = 1;
  in.walks_tree = 0;
  struct schedule s = schedule_make(&in);
  tap_ok(s.builds == BUILDS_NONE && schedule_at(&s, s.moment_interval, 0, 1).lets == LETS_IF_VIOLATED,
         "several ranks, split, lists: no builds");
  in.walks_tree = 1;
  s = schedule_make(&in);
  tap_ok(s.builds == BUILDS_WITH_MOMENTS && s.moment_interval == part(5),
         "walks on one rank at least: builds at moment updates");
  in.backend_interval = 1;
  s = schedule_make(&in);
  tap_ok(s.moment_interval == part(6), "a backend that gains from builds has them more often");
  in.given_interval = 8;
  s = schedule_make(&in);
  tap_ok(s.moment_interval == part(6) && s.builds == BUILDS_WITH_MOMENTS, "RebuildInterval is ignored");
  in.builds_fast_tree = 1;
  in.backend_interval = 1;
  all_dense(&in, 1);
  tap_ok(fast_candidate(&in) == 0 && fast_level(&in) > LEVEL_MAX, "and there is no fast tree with the split on");
}

static void check_fast_ranks(void)
{
  struct schedule_input in = halo(4);
  struct schedule s = schedule_make(&in);
  int candidate = fast_candidate(&in), level = timeline_aligned(s.moment_interval, 0);
  tap_ok(s.builds == BUILDS_WITH_MOMENTS && schedule_fast_level(&s) == candidate && candidate > 1 && candidate <= level,
         "several ranks: a fast tree");
  struct schedule_line first = schedule_at(&s, s.moment_interval, 0, 0),
                       second = schedule_at(&s, 2 * s.moment_interval, s.moment_interval, 0);
  int32_t slow = part(schedule_fast_level(&s) - 1);
  struct schedule_line third = schedule_at(&s, slow, slow - s.moment_interval, 0);
  tap_ok(first.rebuild == REBUILT_ALL && first.lets == LETS_SLOW_AND_FAST && first.migrate &&
             first.slow_horizon == slow - s.moment_interval,
         "the first build is of both trees, LETs of the slow one hold to the next slow tick");
  tap_ok(schedule_fast_level(&s) < level && second.rebuild == REBUILT_FAST && second.lets == LETS_FAST &&
             !second.migrate && second.slow_horizon == 0 && second.horizon == s.moment_interval &&
             second.moments == MOMENTS_REGULAR,
         "then the fast tree and its LETs alone, without migration");
  tap_ok(third.rebuild == REBUILT_ALL && third.lets == LETS_SLOW_AND_FAST && third.slow_horizon == slow,
         "where slow particles step, both");
  tap_ok(schedule_at(&s, part(schedule_fast_level(&s)), s.moment_interval, 0).rebuild == REBUILT_FAST,
         "edge: at ticks of the fast level the slow tree stays");
  in = alike(6, (int64_t)1e8);
  in.ranks = 2;
  in.backend_interval = 1;
  in.builds_fast_tree = 1;
  struct schedule_input many = in, few = in;
  few.ranks = 10000;
  tap_ok(fast_candidate(&many) == 4 && fast_candidate(&few) == 2,
         "few particles on a rank: all builds cost alike, the fast tree is larger");
  in = alike(8, 1000);
  in.builds_fast_tree = 1;
  in.ranks = 2;
  in.backend_interval = 1;
  in.builds_fast_tree = 1;
  all_dense(&in, 1);
  s = schedule_make(&in);
  tap_ok(s.moment_interval == part(8) && schedule_fast_level(&s) == 4, "a slow tree serves at most 16 intervals");
}

/* --- properties --------------------------------------------------------------------------------------------------- */

/* The number of intervals between checkpoint ticks; 0: there are none. */
static int intervals(const struct schedule_input *in)
{
  struct schedule s = schedule_make(in);
  return s.checkpoint_interval > 0 ? (int)(TICKS / s.checkpoint_interval) : 0;
}

static void check_checkpoint_ticks(void)
{
  struct schedule_input in = alike(4, 10000); /* 0.2 s by the estimates */
  in.given_checkpoint_ticks = -1;
  tap_ok(intervals(&in) == 0, "a soft step of less than some seconds has no checkpoint ticks");
  in = alike(13, 1); /* deep steps of few particles among many: 8192 block steps of 0.2 ms */
  in.given_checkpoint_ticks = -1;
  in.count[0] = 10000;
  in.particles += 9999;
  in.hard_steps += 9999;
  tap_ok(intervals(&in) == 0, "8192 short block steps of few particles, 1.6 s: none");
  in.count[17] = 1;
  in.level_max = 17;
  in.hard_steps += 1 << 17;
  in.count[0] = 1000000;
  in.particles = 1000014;
  in.hard_steps += 990000;
  struct schedule s = schedule_make(&in);
  tap_ok(intervals(&in) == 8 && s.moment_interval == s.checkpoint_interval,
         "131072 of them, 26 s: every 3 s, since each costs 5 %, and moments of all at these ticks, which they are not "
         "by themselves");
  in = alike(10, 200000);
  in.given_checkpoint_ticks = -1;
  int walked, plain = intervals(&in);
  in.split = 1;
  walked = intervals(&in);
  tap_ok(plain == 32 && walked == 128,
         "many particles: the cost of a build limits them, unless there is one in any case");
  in.on_device = 1;
  tap_ok(intervals(&in) == 0, "a device is done with it before");
  in.on_device = 0;
  in.given_checkpoint_ticks = 9;
  tap_ok(intervals(&in) == 8, "a given number is rounded down to a power of two");
  in.given_checkpoint_ticks = 0;
  tap_ok(intervals(&in) == 0, "0: none");

  in = alike(6, 100000);
  in.given_checkpoint_ticks = 4;
  in.ranks = 3;
  s = schedule_make(&in);
  struct schedule_line begin = schedule_at(&s, 0, 0, 0), at = schedule_at(&s, part(1), 0, 0),
                       other = schedule_at(&s, part(1) + part(5), 0, 0);
  tap_ok(begin.horizon == part(2) && !begin.from_particles && at.from_particles && at.migrate &&
             at.rebuild == REBUILT_ALL && at.lets == LETS_ALL && at.horizon == part(2) && at.active_targets,
         "several ranks without builds: at a checkpoint tick migration, build, and LETs up to the next one");
  tap_ok(other.rebuild == REBUILT_NONE && other.lets == LETS_IF_VIOLATED &&
             !schedule_is_checkpoint(&s, part(1) + part(5)) && !schedule_is_checkpoint(&s, 0) &&
             schedule_is_checkpoint(&s, 3 * part(2)),
         "between them everything is as without");
  struct schedule_line again = schedule_continue_at(&s, part(1)), odd = schedule_continue_at(&s, part(5));
  tap_ok(memcmp(&again, &at, sizeof at) == 0, "a run that goes on at a checkpoint tick has the same line");
  tap_ok(odd.from_particles && odd.migrate && odd.rebuild == REBUILT_ALL && odd.lets == LETS_ALL &&
             !odd.active_targets && odd.horizon == part(2) - part(5),
         "on another number of ranks the tick may be any: LETs for all targets");
}

static struct schedule_input any(struct random *random)
{
  struct schedule_input in = {.ranks = random_unit(random) < 0.4 ? 1 : 2 + (int)(6 * random_unit(random))};
  in.split = random_unit(random) < 0.4;
  in.walks_tree = random_unit(random) < 0.6;
  in.backend_interval = (int)(5 * random_unit(random));
  in.builds_fast_tree = random_unit(random) < 0.6;
  in.given_interval = random_unit(random) < 0.5 ? 0 : 1 + (int)(10 * random_unit(random));
  in.tuned = in.ranks == 1 && in.given_interval == 0 && random_unit(random) < 0.5;
  in.given_fast_level = random_unit(random) < 0.6 ? -1 : (int)(8 * random_unit(random));
  in.level_max = (int)(9 * random_unit(random));
  all_dense(&in, random_unit(random));
  in.given_checkpoint_ticks = random_unit(random) < 0.5 ? -1 : (int)(40 * random_unit(random));
  for (int l = 0; l <= in.level_max; l++) {
    in.count[l] = (int64_t)random_log(random, 1, 1e7);
    in.hard_steps += in.count[l] << l;
    in.particles += (double)in.count[l];
  }
  return in;
}

/* What a walk through the lines of a rank, with steps of its own, shows. */
struct seen {
  int beyond, stuck, unmoved, uncovered, slow_uncovered, untimely, single, strange;
  uint64_t moments; /* hash of the ticks of regular moment updates, their trees and LETs */
};

/* A horizon ends within the soft step, and where LETs are selected next, not before. */
static void check_cover(const struct schedule *schedule, const struct schedule_line *line, int32_t *covered,
                        int32_t *slow_covered, struct seen *seen)
{
  int selects = line->lets > LETS_IF_VIOLATED, fast_alone = line->lets == LETS_FAST;
  if (schedule->ranks == 1) return;
  seen->uncovered += line->tick > 0 && !selects && *covered < line->tick;
  seen->uncovered += line->tick > 0 && selects && *covered != line->tick;
  if (fast_alone) seen->slow_uncovered += *slow_covered < line->next_moments;
  if (selects) *covered = line->tick + line->horizon;
  if (line->lets == LETS_SLOW_AND_FAST) *slow_covered = line->tick + line->slow_horizon;
  seen->beyond += (int64_t)line->tick + line->horizon > TICKS || (int64_t)line->tick + line->slow_horizon > TICKS ||
                  line->next_moments > TICKS;
  seen->strange += selects && line->scope != SCOPE_ALL_CORRECTED;
  seen->strange += line->migrate != (line->rebuild == REBUILT_ALL);
}

static struct seen walk_lines(const struct schedule *schedule, const struct schedule_input *in, struct random *random)
{
  struct seen seen = {.moments = 1};
  int32_t built = 0, covered = 0, slow_covered = 0, step = part(in->level_max);
  for (int32_t tick = 0; tick < TICKS;) {
    struct schedule_line line = schedule_at(schedule, tick, built, random_unit(random) < 0.5);
    int regular = tick % schedule->moment_interval == 0;
    seen.unmoved += line.rebuild && !line.moments;
    seen.untimely += (line.moments == MOMENTS_REGULAR) != regular ||
                     (schedule->ranks > 1 && (line.rebuild || line.lets) && !regular);
    seen.single += schedule->ranks == 1 && (line.migrate || line.lets);
    seen.strange +=
        schedule_is_checkpoint(schedule, tick) && (line.rebuild != REBUILT_ALL || !line.from_particles || !regular);
    seen.strange += line.tick != tick || (tick == 0 && line.rebuild) ||
                    (line.rebuild == REBUILT_FAST && (built == 0 || line.from_band < 1)) ||
                    (line.rebuild == REBUILT_FAST && band_of_level(schedule->bands, line.level) < line.from_band);
    check_cover(schedule, &line, &covered, &slow_covered, &seen);
    if (regular) seen.moments = 31 * seen.moments + (uint64_t)tick + 7 * line.rebuild + line.lets;
    if (line.rebuild) built = tick;
    int64_t end = tick + step * (int64_t)(1 + 3 * random_unit(random));
    int32_t next = schedule_next(schedule, tick, end < TICKS ? (int32_t)end : TICKS);
    seen.stuck += next <= tick;
    seen.beyond += next > TICKS;
    if (next <= tick) break;
    tick = next;
  }
  if (schedule->ranks > 1) seen.uncovered += covered != TICKS;
  return seen;
}

static void check_properties(void)
{
  enum { TIMES = 2000 };
  struct random r = {5};
  struct seen sum = {0};
  int lines = 0, differ = 0, density = 0, kinds[5] = {0};
  for (int k = 0; k < TIMES; k++) {
    struct schedule_input in = any(&r), other = in;
    struct schedule s = schedule_make(&in);
    kinds[s.builds]++;
    all_dense(&other, 1 - in.density[1]);
    density += fast_candidate(&in) != fast_candidate(&other);
    if (s.moment_interval == 0) continue;
    struct seen a = walk_lines(&s, &in, &r), b = walk_lines(&s, &in, &r);
    lines++;
    differ += s.ranks > 1 && a.moments != b.moments;
    sum.beyond += a.beyond;
    sum.stuck += a.stuck;
    sum.unmoved += a.unmoved;
    sum.uncovered += a.uncovered;
    sum.slow_uncovered += a.slow_uncovered;
    sum.untimely += a.untimely;
    sum.single += a.single;
    sum.strange += a.strange;
  }
  int all_kinds = 1;
  for (int k = 0; k < 5; k++) all_kinds &= kinds[k] > 20;
  tap_ok(lines > TIMES / 2 && all_kinds, "random inputs: all regimes are among them");
  tap_ok(sum.beyond == 0 && sum.stuck == 0,
         "no line and no horizon ends beyond the soft step, and every line leads on");
  tap_ok(sum.unmoved == 0, "every tick with a build has a moment update");
  tap_ok(differ == 0, "ranks with different block steps have moment updates, builds and selections at the same ticks");
  tap_ok(sum.untimely == 0,
         "regular moment updates are at multiples of the interval; on several ranks builds and LETs too");
  tap_ok(sum.uncovered == 0, "LETs hold exactly until the next selection, the last to the end");
  tap_ok(sum.slow_uncovered == 0, "slow LETs hold while fast ones alone are selected");
  tap_ok(sum.single == 0, "one rank neither migrates nor selects LETs");
  tap_ok(sum.strange == 0,
         "no build at tick 0; migration with builds of all; the fast tree alone where no slow step ends");
  tap_ok(density == 0, "the candidate does not depend on the density that is measured for it");
}

int main(void)
{
  check_no_substeps();
  check_moments();
  check_one_rank();
  check_age();
  check_bands_of_one_rank();
  check_cheapest_bands();
  check_several_ranks();
  check_several_split();
  check_fast_ranks();
  check_checkpoint_ticks();
  check_properties();
  return tap_end();
}
