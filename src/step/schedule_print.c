/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/schedule.h"

enum { FRACTION_CHARS = 32 };

/* Ticks as a fraction of the soft step, in lowest terms. */
static const char *fraction(int32_t ticks, char text[FRACTION_CHARS])
{
  int log2 = TIMELINE_BITS;
  if (ticks == 0 || ticks == TICKS) {
    snprintf(text, FRACTION_CHARS, "%d", ticks == TICKS);
    return text;
  }
  while (ticks % 2 == 0) {
    ticks /= 2;
    log2--;
  }
  snprintf(text, FRACTION_CHARS, "%d/%d", ticks, 1 << log2);
  return text;
}

static void print_line(const struct schedule_line *line, FILE *out)
{
  static const char *const rebuilt[] = {"-", "all", "fast"}, *const moments[] = {"-", "regular", "of build"};
  static const char *const lets[] = {"-", "if violated", "all", "fast", "slow, fast"};
  char tick[FRACTION_CHARS], horizon[FRACTION_CHARS], slow[FRACTION_CHARS], both[2 * FRACTION_CHARS + 2] = "-";
  if (line->lets != LETS_KEPT) snprintf(both, sizeof both, "%s", fraction(line->horizon, horizon));
  if (line->lets == LETS_SLOW_AND_FAST)
    snprintf(both, sizeof both, "%s, %s", fraction(line->slow_horizon, slow), fraction(line->horizon, horizon));
  fprintf(out, "%-12s %5d  %-7s  %-7s  %-8s  %-11s  %s\n", fraction(line->tick, tick), line->level,
          line->migrate ? "yes" : "-", rebuilt[line->rebuild], moments[line->moments], lets[line->lets], both);
}

static void print_rules(const struct schedule *schedule, FILE *out)
{
  static const char *const builds[] = {
      [BUILDS_NONE] = "none within the soft step",
      [BUILDS_WITH_MOMENTS] = "at regular moment updates",
      [BUILDS_WITH_MOMENTS_IF_WALKED] = "at regular moment updates, where hard walks use the tree",
      [BUILDS_BY_AGE] = "by the age of the tree",
      [BUILDS_BY_TUNER] = "as the tuner decides by measured times (not in the table)",
  };
  char text[FRACTION_CHARS];
  fprintf(out, "deepest block level: %d\n", schedule->level_max);
  fprintf(out, "builds of the tree: %s", builds[schedule->builds]);
  if (schedule->builds == BUILDS_BY_AGE && schedule->build_age <= TICKS)
    fprintf(out, ", every %s of the soft step", fraction((int32_t)schedule->build_age, text));
  if (schedule->checkpoint_interval > 0)
    fprintf(out, "\ncheckpoint ticks: every %s of the soft step", fraction(schedule->checkpoint_interval, text));
  fprintf(out, "\ntrees of fast particles: %s", schedule->bands ? "of the levels from" : "none");
  for (int band = 1; band < bands_count(schedule->bands); band++)
    fprintf(out, "%s %d", band > 1 ? "," : "", band_first_level(schedule->bands, band));
  fprintf(out, "%s\n", schedule->bands ? " on" : "");
}

void schedule_print(const struct schedule *schedule, FILE *out)
{
  int32_t built = 0;
  print_rules(schedule, out);
  if (schedule->moment_interval == 0) {
    fprintf(out, "no substeps: all particles take the soft step\n");
    return;
  }
  int build_asked = schedule->builds == BUILDS_WITH_MOMENTS_IF_WALKED && schedule->walks_tree;
  fprintf(out, "%-12s %5s  %-7s  %-7s  %-8s  %-11s  %s\n", "tick", "level", "migrate", "rebuild", "moments", "LETs",
          "horizon");
  for (int32_t tick = 0; tick < TICKS;
       tick = schedule_next(schedule, tick, timeline_after(tick, schedule->level_max))) {
    struct schedule_line line = schedule_at(schedule, tick, built, build_asked);
    if (line.rebuild) built = tick;
    if (line.moments) print_line(&line, out);
  }
}
