/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Block steps: levels, and the particles that are active at a tick.
 *
 * Steps are aligned, so the active ones at a tick are those of the levels whose steps end there: all from some level
 * down. Particles are kept sorted by level, deepest first; a substep looks at the first of them only and sorts these
 * again. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"
#include "cpu/device.h"
#include "particles/timeline.h"

enum { TEAM_PARTICLES_MIN = 4096 }; /* fewer particles than these are not worth a team of threads */

void cpu_active_free(struct device *d)
{
  memory_free(d->active.flag);
  memory_free(d->by_level.particle);
  memory_free(d->active.list);
  memory_free(d->active.touched);
  memory_free(d->active.group);
  memory_free(d->active.first);
}

static void reserve_active(struct device *d)
{
  if (d->p.n >= d->active.capacity) { /* also without particles: no array is NULL */
    memory_free(d->active.flag);
    memory_free(d->by_level.particle);
    memory_free(d->active.list);
    d->active.capacity = cpu_spare(d->p.n);
    d->active.flag = memory_alloc("active", (size_t)d->active.capacity);
    d->by_level.particle = memory_alloc("active", sizeof *d->by_level.particle * (size_t)d->active.capacity);
    d->active.list = memory_alloc("active", sizeof *d->active.list * (size_t)d->active.capacity);
  }
  if (d->targets.groups >= d->active.touched_capacity) {
    memory_free(d->active.touched);
    memory_free(d->active.group);
    memory_free(d->active.first);
    d->active.touched_capacity = d->targets.groups + d->targets.groups / 8 + 1;
    d->active.touched = memory_alloc("active", (size_t)d->active.touched_capacity);
    d->active.group = memory_alloc("active", sizeof *d->active.group * (size_t)d->active.touched_capacity);
    d->active.first = memory_alloc("active", sizeof *d->active.first * (size_t)d->active.touched_capacity);
  }
}

/* --- levels ------------------------------------------------------------------------------------------------------ */

static double criterion_step(const struct particles *particles, int64_t i, const struct step_rule *rule)
{
  return timeline_criterion_step(rule, particles->type[i], &particles->acc_hard[3 * i], &particles->acc_soft[3 * i],
                                 &particles->vel[3 * i]);
}

int cpu_levels(struct device *d, const struct step_rule *rule, int shared)
{
  struct particles *p = &d->p;
  int deepest = 0;
  d->by_level.valid = 0;
  d->active.tick = 0;
#pragma omp parallel for schedule(static) reduction(max : deepest)
  for (int64_t i = 0; i < p->n; i++) {
    int level = shared >= 0 ? shared : timeline_level(rule->soft_step, criterion_step(p, i, rule));
    p->level[i] = (uint8_t)level;
    if (level > deepest) deepest = level;
  }
  return deepest;
}

/* Sort particles by level into the first places of by_level: the `count` particles of an ascending list (NULL: all),
 * which are those of level `lowest` and deeper. */
static void sort_levels(struct device *d, const int32_t *list, int64_t count, int lowest)
{
  int64_t at[LEVELS] = {0}, deeper = 0;
  for (int64_t k = 0; k < count; k++) at[d->p.level[list ? list[k] : k]]++;
  for (int l = LEVELS - 1; l >= lowest; l--) {
    int64_t here = at[l];
    at[l] = deeper;
    deeper += here;
    d->by_level.deeper[l] = deeper;
  }
  for (int64_t k = 0; k < count; k++) {
    int32_t i = list ? list[k] : (int32_t)k;
    d->by_level.particle[at[d->p.level[i]]++] = i;
  }
}

static void need_levels(struct device *d)
{
  if (d->by_level.valid) return;
  reserve_active(d);
  d->by_level.deeper[LEVELS] = 0;
  sort_levels(d, NULL, d->p.n, 0);
  memset(d->active.flag, 0, (size_t)d->p.n);
  memset(d->active.touched, 0, (size_t)d->targets.groups);
  d->active.count = d->active.groups = 0;
  d->by_level.valid = 1;
}

int32_t cpu_next_tick(struct device *d)
{
  int deepest = LEVELS - 1;
  need_levels(d);
  if (d->p.n == 0) return TICKS;
  while (d->by_level.deeper[deepest] == 0) deepest--;
  return timeline_after(d->active.tick, deepest);
}

/* --- the active -------------------------------------------------------------------------------------------------- */

/* Mark them and their groups, and list both in ascending order. */
static void mark_active(struct device *d, int64_t count)
{
  for (int32_t k = 0; k < d->active.count; k++) d->active.flag[d->active.list[k]] = 0;
  for (int32_t k = 0; k < d->active.groups; k++) d->active.touched[d->active.group[k]] = 0;
  for (int64_t k = 0; k < count; k++) {
    d->active.flag[d->by_level.particle[k]] = 1;
    d->active.touched[d->targets.group_of[d->by_level.particle[k]]] = 1;
  }
  d->active.count = d->active.groups = 0;
  for (int32_t g = 0; g < d->targets.groups && d->active.count < count; g++) {
    if (!d->active.touched[g]) continue;
    d->active.first[d->active.groups] = d->active.count;
    d->active.group[d->active.groups++] = g;
    for (int32_t i = d->targets.group[g].begin; i < d->targets.group[g].end; i++)
      if (d->active.flag[i]) d->active.list[d->active.count++] = i;
  }
}

/* Predict an active particle to its tick, with half of the closing kick; the source follows. */
static int start_particle(struct device *d, int64_t i, int32_t tick, double dt)
{
  struct particles *p = &d->p;
  struct sources *s = &d->tree.source;
  int out = 0;
  timeline_place(&p->pos[3 * i], &p->pos[3 * i], &p->vel[3 * i], &p->acc_hard[3 * i], dt);
  for (int c = 0; c < 3; c++) p->vel[3 * i + c] += 0.5 * dt * p->acc_hard[3 * i + c];
  s->x[i] = lattice_of(&d->lattice, 0, p->pos[3 * i], &out);
  s->y[i] = lattice_of(&d->lattice, 1, p->pos[3 * i + 1], &out);
  s->z[i] = lattice_of(&d->lattice, 2, p->pos[3 * i + 2], &out);
  s->tick[i] = tick;
  /* the record's velocity belongs to its new time too: moments may be taken before the correction */
  s->vx[i] = (float)(p->vel[3 * i] + 0.5 * dt * p->acc_hard[3 * i]);
  s->vy[i] = (float)(p->vel[3 * i + 1] + 0.5 * dt * p->acc_hard[3 * i + 1]);
  s->vz[i] = (float)(p->vel[3 * i + 2] + 0.5 * dt * p->acc_hard[3 * i + 2]);
  return out;
}

int64_t cpu_select(struct device *d, int32_t tick, double tick_length, int64_t *outside)
{
  struct particles *p = &d->p;
  int64_t left = 0;
  need_levels(d);
  mark_active(d, d->by_level.deeper[timeline_aligned(tick, 0)]);
  d->active.tick = tick;
#pragma omp parallel for schedule(static) reduction(+ : left) if (d->active.count > TEAM_PARTICLES_MIN)
  for (int32_t k = 0; k < d->active.count; k++) {
    int32_t i = d->active.list[k];
    if (ESP_CHECKS && timeline_end(p, i) != tick)
      fatal("particle %llu of level %d, last corrected at tick %d, is not due at tick %d", (unsigned long long)p->id[i],
            p->level[i], p->tick[i], tick);
    left += start_particle(d, i, tick, (tick - p->tick[i]) * tick_length);
  }
  *outside += left;
  return d->active.count;
}

void cpu_correct(struct device *d, int32_t tick, double tick_length, const struct step_rule *rule, int shared)
{
  struct particles *p = &d->p;
  struct sources *s = &d->tree.source;
#pragma omp parallel for schedule(static) if (d->active.count > TEAM_PARTICLES_MIN)
  for (int32_t k = 0; k < d->active.count; k++) {
    int64_t i = d->active.list[k];
    double dt = (tick - p->tick[i]) * tick_length;
    for (int c = 0; c < 3; c++) p->vel[3 * i + c] += 0.5 * dt * p->acc_hard[3 * i + c];
    p->tick[i] = tick;
    int level = shared >= 0 ? shared : timeline_level(rule->soft_step, criterion_step(p, i, rule));
    p->level[i] = (uint8_t)timeline_aligned(tick, level);
    s->vx[i] = (float)p->vel[3 * i];
    s->vy[i] = (float)p->vel[3 * i + 1];
    s->vz[i] = (float)p->vel[3 * i + 2];
    s->ax[i] = p->acc_hard[3 * i];
    s->ay[i] = p->acc_hard[3 * i + 1];
    s->az[i] = p->acc_hard[3 * i + 2];
  }
  sort_levels(d, d->active.list, d->active.count, timeline_aligned(tick, 0));
}
