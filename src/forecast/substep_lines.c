/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/substep_lines.h"

#include "particles/timeline.h"

struct schedule_line substep_line(const struct schedule *s, int32_t tick, int walked, int32_t *built)
{
  int asked = s->builds == BUILDS_BY_TUNER ? tick - *built >= s->build_age : walked;
  struct schedule_line line = schedule_at(s, tick, *built, asked);
  if (line.rebuild != REBUILT_NONE) *built = tick;
  return line;
}

int32_t substep_interval(const struct schedule *s)
{
  int32_t shortest = timeline_ticks(s->level_max);
  return shortest < s->moment_interval ? shortest : s->moment_interval;
}

void substep_lines_count(const struct schedule *s, int walked, struct substep_lines *l)
{
  *l = (struct substep_lines){0};
  int32_t built = 0;
  if (s->moment_interval == 0) return;
  for (int64_t tick = 0; tick < TICKS; tick += substep_interval(s)) {
    struct schedule_line line = substep_line(s, (int32_t)tick, walked, &built);
    l->builds += line.rebuild != REBUILT_NONE;
    l->updates += line.rebuild == REBUILT_NONE && line.moments != MOMENTS_KEPT;
    l->selections += line.lets != LETS_KEPT && line.lets != LETS_IF_VIOLATED;
    l->migrations += line.migrate;
  }
}
