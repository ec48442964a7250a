/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/schedule.h"

#include <math.h>
#include <string.h>

/* Moments are updated when about this fraction of all particles has been corrected since the last update; between two
 * updates cells move by their mean velocity and acceleration. */
#define MOMENT_UPDATE_FRACTION 0.5
enum { MOMENT_UPDATE_LOG2_MIN = 2 }; /* log2 of the smallest number of regular intervals in a soft step */
/* Fixed cost of a build, expressed as a number of particles whose build costs as much. */
#define BUILD_FIXED_PARTICLES 8e5
/* On several ranks the fast level is the lowest level at which builds cost at most this factor times the minimum: the
 * slower the particles of the slow tree are, the less it ages. */
#define FAST_SLACK 1.1
/* On one rank there are at most so many bands by default, and as few as cost at most this factor times the minimum. */
enum { MOST_BANDS = 4 };
#define BANDS_SLACK 1.05
/* A walk of less than 1 / NO_BUILD_RATIO of the particles, in a tree as old as one of their steps, costs less than a
 * build. With the split on walks end at R2 and cost less: 1 / NO_BUILD_RATIO_HARD. */
enum { NO_BUILD_RATIO = 256, NO_BUILD_RATIO_HARD = 16 };
/* A band has a tree of its own if on average at least this fraction of a particle's group is of it or deeper. Where
 * slow particles are among the fast ones, two trees fill the same volume, and interaction lists are up to twice as
 * long. Between 0.52 (block steps up to twice as long with a fast tree) and 0.98 (shorter) nothing was measured. */
#define DENSITY_MIN 0.9
/* Several ranks do not check prediction bounds of slow LETs, so a slow tree serves at most 2^SLOW_LOG2_MAX regular
 * intervals. */
enum { SLOW_LOG2_MAX = 4 };
/* The tuner's first interval between builds, in shortest steps, if neither the backend nor the user gives one. It is
 * short because the cost of walks grows fastest in a new tree, and the tuner measures growth only at the end of an
 * interval. */
enum { FIRST_INTERVAL = 2 };

/* Estimates of seconds, on host and device: the hard force on a particle, and the fixed cost of a block step. They
 * decide how many checkpoint ticks a soft step has; measured times would make results depend on them. */
static const double force_seconds[2] = {6e-7, 2e-9}, block_step_seconds[2] = {2e-4, 1e-4};
/* The cost of the line at a checkpoint tick in forces per particle: with a build that happens there in any case, and
 * without. */
#define CHECKPOINT_COST_BUILT (1.0 / 32)
#define CHECKPOINT_COST 0.25
#define CHECKPOINT_SECONDS 1.0 /* estimated seconds between checkpoint ticks: at least this, */
/* and such that checkpoint ticks cost at most this part of the time of a soft step */
#define CHECKPOINT_SHARE 0.05

/* Ticks between regular moment updates; 0 where no particle has substeps. */
static int32_t moment_update_interval(const struct schedule_input *in)
{
  double updates = (double)in->hard_steps / (MOMENT_UPDATE_FRACTION * in->particles);
  if ((double)in->hard_steps <= in->particles) return 0;
  int log2 = 1;
  while (log2 < in->level_max && (log2 < MOMENT_UPDATE_LOG2_MIN || (double)((int64_t)2 << log2) <= updates)) log2++;
  return timeline_ticks(log2);
}

/* Cost of the builds of a soft step, as a number of particles: builds at ticks of level `fast` and deeper are of the
 * fast tree alone. `count` holds no particles deeper than `deepest`. */
static double build_cost(const int64_t *count, int deepest, int fast)
{
  double all = 0, quick = 0, whole = fast > 0 ? exp2(fast - 1) : exp2(deepest), steps = exp2(deepest);
  for (int l = 0; l <= deepest; l++) {
    all += (double)count[l];
    quick += l >= fast ? (double)count[l] : 0;
  }
  return whole * (all + BUILD_FIXED_PARTICLES) + (steps - whole) * (quick + BUILD_FIXED_PARTICLES);
}

/* The deepest level such that at least one particle in `few` is at this level or deeper. */
static int populated_level(const int64_t *count, int deepest, int few)
{
  int64_t all = 0, here = 0;
  int level = deepest;
  for (int l = 0; l <= deepest; l++) all += count[l];
  while (level > 1 && few * (here += count[level]) < all) level--;
  return level;
}

/* The fast level by the cost of builds, for the mean number of particles per rank. There are no builds at ticks of
 * levels deeper than `deepest`. */
static int cheapest_fast_level(const struct schedule_input *in, int deepest)
{
  int64_t count[SCHEDULE_LEVELS];
  int best = 1;
  double min_cost = HUGE_VAL;
  for (int l = 0; l < SCHEDULE_LEVELS; l++) count[l] = in->count[l] / in->ranks;
  for (int l = deepest + 1; l < SCHEDULE_LEVELS; l++) count[deepest] += count[l];
  for (int fast = 1; fast <= deepest; fast++) min_cost = fmin(min_cost, build_cost(count, deepest, fast));
  while (best < deepest && build_cost(count, deepest, best) > FAST_SLACK * min_cost) best++;
  if (in->ranks > 1 && best < deepest - SLOW_LOG2_MAX) best = deepest - SLOW_LOG2_MAX;
  return best;
}

/* The bands from the given fast level, which is at most `deepest`, the deepest level of ticks with builds; given 0: one
 * band. */
static level_bands given_bands(int given, int deepest)
{
  return given == 0 ? 0 : 1 << (given > deepest ? deepest : given);
}

/* Builds on one rank: a tick of a level builds the trees of its band and of deeper ones. The cheapest costs, as numbers
 * of particles, of those at ticks of levels up to each one, and the band that they end with. */
struct band_costs {
  double cost[BANDS_MAX][SCHEDULE_LEVELS + 1]; /* [bands - 1][levels before this one]; HUGE_VAL: impossible */
  int first[BANDS_MAX][SCHEDULE_LEVELS + 1];   /* first level of the last band */
};

/* The cost of the builds at ticks of the levels first <= l < end, which are of all particles of these and deeper
 * levels. */
static double band_cost(const int64_t *count, int deepest, int first, int end)
{
  double ticks = exp2(end - 1) - (first > 0 ? exp2(first - 1) : 0), particles = 0;
  for (int l = first; l <= deepest; l++) particles += (double)count[l];
  return ticks * (particles + BUILD_FIXED_PARTICLES);
}

static void find_band_costs(const int64_t *count, int deepest, struct band_costs *costs)
{
  for (int k = 0; k < BANDS_MAX; k++)
    for (int end = 0; end <= deepest + 1; end++) {
      costs->cost[k][end] = k == 0 && end > 0 ? band_cost(count, deepest, 0, end) : HUGE_VAL;
      costs->first[k][end] = 0;
      for (int first = 1; k > 0 && first < end; first++) {
        double cost = costs->cost[k - 1][first] + band_cost(count, deepest, first, end);
        if (cost >= costs->cost[k][end]) continue;
        costs->cost[k][end] = cost;
        costs->first[k][end] = first;
      }
    }
}

/* The bands by the cost of builds on one rank. There are no builds at ticks of levels deeper than `deepest`. */
static level_bands cheapest_bands(const struct schedule_input *in, int deepest)
{
  struct band_costs costs;
  int64_t count[SCHEDULE_LEVELS];
  int most = in->most_bands > 0 ? in->most_bands : MOST_BANDS, bands = 0;
  level_bands chosen = 0;
  double least = HUGE_VAL;
  memcpy(count, in->count, sizeof count);
  for (int l = deepest + 1; l < SCHEDULE_LEVELS; l++) count[deepest] += count[l];
  find_band_costs(count, deepest, &costs);
  for (int k = 0; k < most; k++) least = fmin(least, costs.cost[k][deepest + 1]);
  while (costs.cost[bands][deepest + 1] > BANDS_SLACK * least) bands++;
  for (int k = bands, end = deepest + 1; k > 0; end = costs.first[k--][end]) chosen |= 1 << costs.first[k][end];
  return chosen;
}

/* The candidates without those bands whose particles stand among slower ones. */
static level_bands dense_bands(level_bands bands, const double *density)
{
  for (int l = 1; l <= LEVEL_MAX; l++)
    if (density[l] < DENSITY_MIN) bands &= ~(1 << l);
  return bands;
}

/* The builds of several ranks. All build at the same ticks, those of regular moment updates, because a LET belongs to
 * the tree that it was selected from. With the split on there are builds only if hard walks use the tree. Moment
 * updates become more frequent where more builds pay; with the split on this also replaces updates of LETs. Returns the
 * deepest level of ticks with builds of a fast tree; 0: none. */
static int plan_ranks(const struct schedule_input *in, struct schedule *schedule)
{
  int given = in->split ? 0 : in->given_interval, steps = given ? given : in->backend_interval;
  int builds = in->split ? in->walks_tree : steps > 0;
  if (!builds) return 0;
  schedule->builds = BUILDS_WITH_MOMENTS;
  if (in->split && in->backend_interval == 0) return 0;
  int level = populated_level(in->count, in->level_max, in->split ? NO_BUILD_RATIO_HARD : NO_BUILD_RATIO);
  for (int rest = steps - 1; rest > 0 && level > 1; rest /= 2) level--;
  if (timeline_ticks(level) < schedule->moment_interval) schedule->moment_interval = timeline_ticks(level);
  return in->split ? 0 : timeline_aligned(schedule->moment_interval, 0);
}

/* The builds of one rank without the split: by the age of the tree in shortest steps. If neither the user nor a tuner
 * decides, the age is in shortest well-populated steps (populated_level). Returns as plan_ranks. */
static int plan_ages(const struct schedule_input *in, struct schedule *schedule)
{
  int steps = in->given_interval ? in->given_interval : in->backend_interval, level = in->level_max;
  if (steps == 0 && !in->tuned) return 0;
  if (!in->given_interval && !in->tuned) level = populated_level(in->count, level, NO_BUILD_RATIO);
  schedule->builds = in->tuned ? BUILDS_BY_TUNER : BUILDS_BY_AGE;
  schedule->build_age = (int64_t)(steps ? steps : FIRST_INTERVAL) * timeline_ticks(level);
  return level;
}

/* The schedule without its bands. *fast_from: deepest level of ticks with builds of fast trees; 0: none. */
static struct schedule plan_builds(const struct schedule_input *in, int *fast_from)
{
  struct schedule s = {.ranks = in->ranks,
                       .level_max = in->level_max,
                       .walks_tree = in->walks_tree,
                       .moment_interval = moment_update_interval(in),
                       .builds = BUILDS_NONE};
  *fast_from = 0;
  if (s.moment_interval == 0) return s;
  if (in->ranks > 1) *fast_from = plan_ranks(in, &s);
  else if (in->split) s.builds = BUILDS_WITH_MOMENTS_IF_WALKED;
  else *fast_from = plan_ages(in, &s);
  if (!in->builds_fast_tree) *fast_from = 0;
  return s;
}

/* Ticks between checkpoint ticks; 0: none. */
static int32_t checkpoint_interval(const struct schedule_input *in, const struct schedule *schedule)
{
  int host = !in->on_device, log2 = 0;
  int built =
      schedule->builds == BUILDS_WITH_MOMENTS || (schedule->builds == BUILDS_WITH_MOMENTS_IF_WALKED && in->walks_tree);
  double all =
      (double)in->hard_steps / in->ranks * force_seconds[!host] + exp2(in->level_max) * block_step_seconds[!host];
  double one = in->particles / in->ranks * force_seconds[!host] * (built ? CHECKPOINT_COST_BUILT : CHECKPOINT_COST);
  double intervals = all / fmax(CHECKPOINT_SECONDS, one / CHECKPOINT_SHARE);
  if (schedule->moment_interval == 0) return 0;
  if (in->given_checkpoint_ticks >= 0) intervals = in->given_checkpoint_ticks;
  while (log2 < in->level_max && exp2(log2 + 1) <= intervals) log2++;
  return log2 > 0 ? timeline_ticks(log2) : 0;
}

static level_bands candidates(const struct schedule_input *in, int deepest)
{
  return in->ranks > 1 ? 1 << cheapest_fast_level(in, deepest) : cheapest_bands(in, deepest);
}

level_bands schedule_candidates(const struct schedule_input *in)
{
  int from;
  plan_builds(in, &from);
  return from > 0 && in->given_fast_level < 0 ? candidates(in, from) : 0;
}

struct schedule schedule_make(const struct schedule_input *in)
{
  int from;
  struct schedule s = plan_builds(in, &from);
  s.checkpoint_interval = checkpoint_interval(in, &s);
  if (s.checkpoint_interval > 0 && s.checkpoint_interval < s.moment_interval) s.moment_interval = s.checkpoint_interval;
  if (from == 0) return s;
  s.bands = in->given_fast_level >= 0 ? given_bands(in->given_fast_level, from)
                                      : dense_bands(candidates(in, from), in->density);
  return s;
}

int schedule_fast_level(const struct schedule *schedule) { return band_first_level(schedule->bands, 1); }

int schedule_is_checkpoint(const struct schedule *schedule, int32_t tick)
{
  return tick > 0 && tick < TICKS && schedule->checkpoint_interval > 0 && tick % schedule->checkpoint_interval == 0;
}

static int build_due(const struct schedule *schedule, int32_t tick, int32_t built, int build_asked)
{
  int regular = tick % schedule->moment_interval == 0;
  if (tick == 0) return 0;
  if (schedule_is_checkpoint(schedule, tick)) return 1;
  switch (schedule->builds) {
  case BUILDS_NONE: break;
  case BUILDS_WITH_MOMENTS: return regular;
  /* The soft force is the full force less the hard force at the synchronisation. Hard forces from an older tree have
   * other errors, which then do not cancel; that is most of the energy error. So the tree is rebuilt even where walks
   * in the old one would be cheap. */
  case BUILDS_WITH_MOMENTS_IF_WALKED: return regular && build_asked;
  case BUILDS_BY_AGE: return tick - built >= schedule->build_age;
  case BUILDS_BY_TUNER: return build_asked;
  }
  return 0;
}

/* The first band whose tree a build at `tick` is of; 0: all are built. Where trees have been built before in this soft
 * step, at `built`, it is the band of the slowest particles that a step could have ended of since then: a tree serves
 * for at most a step of its particles, and a build. */
static int first_band(const struct schedule *schedule, int32_t tick, int32_t built)
{
  if (built == 0 || schedule_is_checkpoint(schedule, tick)) return 0;
  return band_of_level(schedule->bands, timeline_coarsest(built, tick));
}

/* LETs of a new tree are valid until the next build; slow LETs are valid until the next slow tree; without other builds
 * LETs are valid until the next checkpoint tick or the end of the soft step. The targets of LETs of a new tree are the
 * active particles. Steps are aligned to powers of two, so a particle that is active at any tick before the next build
 * is active at this one too. */
static void plan_lets(const struct schedule *schedule, struct schedule_line *line)
{
  int32_t tick = line->tick, end = schedule->checkpoint_interval > 0
                                       ? (tick / schedule->checkpoint_interval + 1) * schedule->checkpoint_interval
                                       : TICKS;
  int until_build = schedule->builds == BUILDS_WITH_MOMENTS;
  if (schedule->ranks == 1 || line->moments != MOMENTS_REGULAR) return;
  line->horizon = (until_build ? line->next_moments : end) - tick;
  line->active_targets = line->rebuild != REBUILT_NONE;
  if (line->rebuild == REBUILT_NONE) {
    line->lets = tick == 0 ? LETS_ALL : LETS_IF_VIOLATED;
  } else if (schedule->bands == 0) {
    line->lets = LETS_ALL;
  } else if (line->rebuild == REBUILT_FAST) {
    line->lets = LETS_FAST;
  } else {
    line->lets = LETS_SLOW_AND_FAST;
    line->slow_horizon = timeline_after(tick, schedule_fast_level(schedule) - 1) - tick;
  }
  if (line->lets != LETS_IF_VIOLATED) line->scope = SCOPE_ALL_CORRECTED;
}

struct schedule_line schedule_at(const struct schedule *schedule, int32_t tick, int32_t built, int build_asked)
{
  struct schedule_line line = {
      .tick = tick, .level = timeline_aligned(tick, 0), .next_moments = schedule_next(schedule, tick, TICKS)};
  int regular = tick % schedule->moment_interval == 0;
  if (build_due(schedule, tick, built, build_asked)) {
    line.from_band = first_band(schedule, tick, built);
    line.rebuild = line.from_band > 0 ? REBUILT_FAST : REBUILT_ALL;
  }
  line.from_particles = schedule_is_checkpoint(schedule, tick);
  line.migrate = schedule->ranks > 1 && line.rebuild == REBUILT_ALL;
  line.moments = regular ? MOMENTS_REGULAR : line.rebuild != REBUILT_NONE ? MOMENTS_OF_BUILD : MOMENTS_KEPT;
  line.scope = regular ? SCOPE_CELLS : SCOPE_CORRECTED;
  plan_lets(schedule, &line);
  return line;
}

struct schedule_line schedule_continue_at(const struct schedule *schedule, int32_t tick)
{
  struct schedule_line line = schedule_at(schedule, tick, 0, 1);
  if (line.from_particles) return line;
  line.from_particles = 1;
  line.rebuild = REBUILT_ALL;
  line.from_band = 0;
  line.moments = MOMENTS_REGULAR;
  line.migrate = schedule->ranks > 1;
  plan_lets(schedule, &line);
  line.active_targets = 0; /* steps that began before `tick` may end before the next build */
  return line;
}

int32_t schedule_next(const struct schedule *schedule, int32_t tick, int32_t next_end)
{
  int32_t next_moments = (tick / schedule->moment_interval + 1) * schedule->moment_interval;
  return next_end < next_moments ? next_end : next_moments;
}
