/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kicks, drifts, levels, sums. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "device.h"
#include "memory.h"
#include "timeline.h"

void cpu_kick_soft(struct device *d, double dt)
{
  struct particles *p = &d->p;
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < 3 * p->n; k++) p->vel[k] += dt * p->acc_soft[k];
}

void cpu_split_soft(struct device *d)
{
  struct particles *p = &d->p;
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < 3 * p->n; k++) p->acc_soft[k] = p->acc[k] - p->acc_hard[k];
}

static double wanted_step(const struct particles *p, int64_t i, const struct step_rule *r)
{
  return timeline_wanted(r, &p->acc_hard[3 * i], &p->acc_soft[3 * i], &p->vel[3 * i]);
}

int cpu_levels(struct device *d, const struct step_rule *rule, int shared)
{
  struct particles *p = &d->p;
  int most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
  for (int64_t i = 0; i < p->n; i++) {
    int level = shared >= 0 ? shared : timeline_level(rule->soft_step, wanted_step(p, i, rule));
    p->level[i] = (uint8_t)level;
    if (level > most) most = level;
  }
  return most;
}

int32_t cpu_next_tick(struct device *d)
{
  const struct particles *p = &d->p;
  int32_t next = TICKS;
#pragma omp parallel for schedule(static) reduction(min : next)
  for (int64_t i = 0; i < p->n; i++) {
    int32_t t = p->tick[i] + timeline_ticks(p->level[i]);
    next = t < next ? t : next;
  }
  return next;
}

/* Position at a later tick, velocity advanced by the whole step with the acceleration known so far. */
static void predict(struct particles *p, int64_t i, double dt)
{
  for (int c = 0; c < 3; c++) p->pos[3 * i + c] += (p->vel[3 * i + c] + 0.5 * dt * p->acc_hard[3 * i + c]) * dt;
}

int64_t cpu_select(struct device *d, int32_t tick, double tick_length, int64_t *outside)
{
  struct particles *p = &d->p;
  struct sources *s = &d->tree.source;
  int64_t count = 0, left = 0;
  if (p->n > d->active_capacity) {
    memory_free(d->active);
    d->active_capacity = p->n + p->n / 8;
    d->active = memory_alloc("active", (size_t)d->active_capacity);
  }
  d->active_tick = tick;
#pragma omp parallel for schedule(static) reduction(+ : count, left)
  for (int64_t i = 0; i < p->n; i++) {
    d->active[i] = p->tick[i] + timeline_ticks(p->level[i]) == tick;
    if (!d->active[i]) continue;
    double dt = (tick - p->tick[i]) * tick_length;
    int out = 0;
    predict(p, i, dt);
    s->x[i] = lattice_of(&d->lattice, 0, p->pos[3 * i], &out);
    s->y[i] = lattice_of(&d->lattice, 1, p->pos[3 * i + 1], &out);
    s->z[i] = lattice_of(&d->lattice, 2, p->pos[3 * i + 2], &out);
    s->tick[i] = tick;
    for (int c = 0; c < 3; c++) p->vel[3 * i + c] += 0.5 * dt * p->acc_hard[3 * i + c];
    /* the record's velocity belongs to its new time too: moments may be taken before the correction */
    s->vx[i] = (float)(p->vel[3 * i] + 0.5 * dt * p->acc_hard[3 * i]);
    s->vy[i] = (float)(p->vel[3 * i + 1] + 0.5 * dt * p->acc_hard[3 * i + 1]);
    s->vz[i] = (float)(p->vel[3 * i + 2] + 0.5 * dt * p->acc_hard[3 * i + 2]);
    count++;
    left += out;
  }
  *outside += left;
  return count;
}

void cpu_correct(struct device *d, int32_t tick, double tick_length, const struct step_rule *rule, int shared)
{
  struct particles *p = &d->p;
  struct sources *s = &d->tree.source;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    if (!d->active[i]) continue;
    double dt = (tick - p->tick[i]) * tick_length;
    for (int c = 0; c < 3; c++) p->vel[3 * i + c] += 0.5 * dt * p->acc_hard[3 * i + c];
    p->tick[i] = tick;
    int level = shared >= 0 ? shared : timeline_level(rule->soft_step, wanted_step(p, i, rule));
    p->level[i] = (uint8_t)timeline_aligned(tick, level);
    s->vx[i] = (float)p->vel[3 * i], s->vy[i] = (float)p->vel[3 * i + 1], s->vz[i] = (float)p->vel[3 * i + 2];
    s->ax[i] = p->acc_hard[3 * i], s->ay[i] = p->acc_hard[3 * i + 1], s->az[i] = p->acc_hard[3 * i + 2];
  }
}

void cpu_drift_to_end(struct device *d, double tick_length)
{
  struct particles *p = &d->p;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    double dt = (TICKS - p->tick[i]) * tick_length;
    predict(p, i, dt);
    for (int c = 0; c < 3; c++) p->vel[3 * i + c] += 0.5 * dt * p->acc_hard[3 * i + c];
  }
}

void cpu_finish(struct device *d, double tick_length)
{
  struct particles *p = &d->p;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    double dt = (TICKS - p->tick[i]) * tick_length;
    for (int c = 0; c < 3; c++) p->vel[3 * i + c] += 0.5 * dt * p->acc_hard[3 * i + c];
    p->tick[i] = 0;
  }
}

static void add_particle(struct sums *s, const struct particles *p, int64_t i)
{
  const double *x = &p->pos[3 * i], *v = &p->vel[3 * i];
  const float *a = &p->acc[3 * i];
  double m = p->mass[i], v2 = 0, a2 = 0;
  int t = p->type[i];
  for (int c = 0; c < 3; c++) {
    v2 += v[c] * v[c];
    a2 += (double)a[c] * a[c];
    s->momentum[c] += m * v[c];
    s->com[c] += m * x[c];
    s->angular[c] += m * (x[(c + 1) % 3] * v[(c + 2) % 3] - x[(c + 2) % 3] * v[(c + 1) % 3]);
  }
  s->mass += m;
  s->count += 1;
  s->kinetic[t] += 0.5 * m * v2;
  s->potential[t] += 0.5 * m * p->pot[i];
  s->acc2 += m * a2;
  s->acc2_count += a2;
  s->bad += !(isfinite(v2) && isfinite(a2) && isfinite(p->pot[i]) && isfinite(x[0] + x[1] + x[2]));
}

/* Fixed blocks summed in order: the result does not depend on the number of threads. */
enum { BLOCK = 4096 };

void cpu_reduce(struct device *d, struct sums *sums)
{
  const struct particles *p = &d->p;
  int64_t blocks = (p->n + BLOCK - 1) / BLOCK;
  struct sums *part = memory_alloc("sums", sizeof *part * (size_t)(blocks + 1));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks; b++)
    for (int64_t i = b * BLOCK; i < p->n && i < (b + 1) * BLOCK; i++) add_particle(&part[b], p, i);
  memset(sums, 0, sizeof *sums);
  for (int64_t b = 0; b < blocks; b++)
    for (size_t k = 0; k < sizeof *sums / sizeof(double); k++) ((double *)sums)[k] += ((double *)&part[b])[k];
  memory_free(part);
}

void cpu_histogram(struct device *d, int64_t *count)
{
  memset(count, 0, sizeof *count * 32);
  for (int64_t i = 0; i < d->p.n; i++) count[d->p.level[i] & 31]++;
}
