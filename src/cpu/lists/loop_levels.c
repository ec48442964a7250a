/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of the step of a place, and its next level. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "cpu/device.h"
#include "cpu/lists/neighbour_lists.h"
#include "particles/timeline.h"

void list_note_collapse(struct list_loop *loop, int64_t i, double wanted)
{
  struct list_collapse *w = &loop->tally->worst;
#pragma omp critical(collapse)
  {
    if (loop->tally->collapsed == 0 || wanted < w->wanted || (wanted == w->wanted && loop->set->id[i] < w->id)) {
      *w = (struct list_collapse){.id = loop->set->id[i], .wanted = wanted, .distance = 1e300};
      loop->collapsed = (int32_t)i;
      loop->undescribed = 1;
    }
    loop->tally->collapsed++;
  }
}

void list_describe_collapse(struct list_loop *loop)
{
  const struct list_set *s = loop->set;
  struct list_collapse *w = &loop->tally->worst;
  int32_t i = loop->collapsed;
  if (!loop->undescribed) return;
  loop->undescribed = 0;
  memcpy(w->pos, s->motion[i].x, sizeof w->pos);
  for (int64_t e = 0; e < list_length(s, i); e++) {
    int32_t j = list_entries(s, i)[e];
    double r2 = 0;
    for (int c = 0; c < 3; c++) {
      double x = s->motion[j].x[c] - s->motion[i].x[c];
      r2 += x * x;
    }
    if (sqrt(r2) >= w->distance) continue;
    w->distance = sqrt(r2);
    w->neighbour = s->id[j];
  }
}

/* The least level of steps not longer than `wanted`. Sets *deeper where that is deeper than LIST_LEVEL_MAX. */
int list_level_for(const struct list_loop *loop, double wanted, int *deeper)
{
  int level = LIST_LONGEST_LEVEL;
  double step = ldexp(loop->request->soft_step, -LIST_LONGEST_LEVEL);
  for (; !(step <= wanted) && level < LIST_LEVEL_MAX; level++) step *= 0.5; /* NaN: the deepest */
  *deeper = !(step <= wanted);
  return level;
}

/* The next level of particle i at the end of its step: at most one above the present one, where a longer step may
 * begin. */
static void choose_level(struct list_loop *loop, int64_t i, int32_t tick, double wanted)
{
  int level = loop->set->level[i], deeper, next = list_level_for(loop, wanted, &deeper);
  if (deeper && i < loop->set->own) list_note_collapse(loop, i, wanted);
  if (next < level) next = level - 1;
  next = timeline_aligned(tick, next);
  loop->set->level[i] = (uint8_t)next;
}

void list_loop_commit(struct list_loop *loop, int32_t i, int32_t tick, const struct hermite_motion *motion,
                      double wanted)
{
  struct list_set *set = loop->set;
  double dt = (tick - set->tick[i]) * loop->tick_length;
  set->motion[i] = *motion;
  set->tick[i] = tick;
  set->steps[i]++;
  if (loop->integrator->commit) loop->integrator->commit(loop, i, tick, dt);
  choose_level(loop, i, tick, wanted);
}

void list_loop_bring(struct list_loop *loop, int32_t i, int32_t tick)
{
  const struct list_set *set = loop->set;
  double dt = (tick - set->tick[i]) * loop->tick_length, x[3], v[3];
  struct hermite_motion motion = set->motion[i];
  hermite_predict(&motion, dt, x, v);
  double wanted = loop->integrator->end_step(loop, i, tick, dt, x, v, &motion);
  loop->tally->pairs += list_length(set, i);
  loop->tally->steps++;
  list_loop_commit(loop, i, tick, &motion, wanted);
  list_describe_collapse(loop);
}

void list_loop_level(struct list_loop *loop, int32_t i, int32_t tick, double wanted)
{
  int deeper;
  loop->set->level[i] = (uint8_t)timeline_aligned(tick, list_level_for(loop, wanted, &deeper));
}
