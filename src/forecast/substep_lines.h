/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of a schedule, one after the other, as a rank meets them that has particles of the deepest level. */
#ifndef SUBSTEP_LINES_H
#define SUBSTEP_LINES_H
#include "step/schedule.h"

/* How often what happens in the substeps of a soft step. */
struct substep_lines {
  int64_t builds, updates;        /* trees; moment updates without one, with that at tick 0 */
  int64_t from_band[BANDS_MAX];   /* of the builds, those of the trees of a band and of deeper ones */
  int64_t selections, migrations; /* of LETs, with that at tick 0; of particles */
};

/* The line at `tick`; *built: tick of the last build, which follows. `walked`: 1: hard walks use the tree. Where a
 * tuner decides about builds, they come at the interval that it tries first. Pure. */
struct schedule_line substep_line(const struct schedule *schedule, int32_t tick, int walked, int32_t *built);
/* Ticks from one line to the next at most. Pure. */
int32_t substep_interval(const struct schedule *schedule);
/* Count them. Pure. */
void substep_lines_count(const struct schedule *schedule, int walked, struct substep_lines *lines);
#endif
