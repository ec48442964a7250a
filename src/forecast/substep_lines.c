/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/substep_lines.h"

#include "particles/timeline.h"

struct schedule_line substep_line(const struct schedule *schedule, int32_t tick, int walked, int32_t *built)
{
  int asked = schedule->builds == BUILDS_BY_TUNER ? tick - *built >= schedule->build_age : walked;
  struct schedule_line line = schedule_at(schedule, tick, *built, asked);
  if (line.rebuild != REBUILT_NONE) *built = tick;
  return line;
}

int32_t substep_interval(const struct schedule *schedule)
{
  int32_t shortest = timeline_ticks(schedule->level_max);
  return shortest < schedule->moment_interval ? shortest : schedule->moment_interval;
}

void substep_lines_count(const struct schedule *schedule, int walked, struct substep_lines *lines)
{
  *lines = (struct substep_lines){0};
  int32_t built = 0;
  if (schedule->moment_interval == 0) return;
  for (int64_t tick = 0; tick < TICKS; tick += substep_interval(schedule)) {
    struct schedule_line line = substep_line(schedule, (int32_t)tick, walked, &built);
    lines->builds += line.rebuild != REBUILT_NONE;
    lines->from_band[line.from_band] += line.rebuild != REBUILT_NONE;
    lines->updates += line.rebuild == REBUILT_NONE && line.moments != MOMENTS_KEPT;
    lines->selections += line.lets != LETS_KEPT && line.lets != LETS_IF_VIOLATED;
    lines->migrations += line.migrate;
  }
}
