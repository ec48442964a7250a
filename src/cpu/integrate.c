/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kicks, the ends of soft steps, sums. The steps between are in active.c. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "backend/field_sums.h"
#include "base/memory.h"
#include "cpu/device.h"
#include "particles/timeline.h"

void cpu_kick(struct device *d, const struct field *field, double dt)
{
  struct particles *p = &d->p;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) field_kick(field, &p->pos[3 * i], &p->acc_soft[3 * i], dt, &p->vel[3 * i]);
}

void cpu_push(struct device *d, const double *change)
{
  struct particles *p = &d->p;
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < 3 * p->n; k++) p->vel[k] += change[k];
}

double cpu_rate(struct device *d, const struct field *field)
{
  const struct particles *p = &d->p;
  double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (int64_t i = 0; i < p->n; i++) largest = fmax(largest, field_rate(field, &p->pos[3 * i], &p->vel[3 * i]));
  return sqrt(largest);
}

void cpu_gravity(struct device *d, double gravity) { d->config.gravity = gravity; }

/* Add it to both arrays of a particle; acc NULL: to acc_hard alone, and the reverse. */
static void add_field_at(const struct field *field, const double *x, float *acc, float *hard)
{
  double a[3];
  field_acceleration(field, x, a);
  for (int c = 0; c < 3; c++) {
    if (acc) acc[c] = (float)(acc[c] + a[c]);
    if (hard) hard[c] = (float)(hard[c] + a[c]);
  }
}

void cpu_add_field(struct device *d, const struct field *field, enum walk_kind kind, int split, int32_t tick)
{
  struct particles *p = &d->p;
  (void)tick; /* the active ones are listed */
#pragma omp parallel for schedule(static) if (kind == WALK_TOTAL)
  for (int64_t k = 0; k < (kind == WALK_TOTAL ? p->n : d->active.count); k++) {
    int64_t i = kind == WALK_TOTAL ? k : d->active.list[k];
    add_field_at(field, &p->pos[3 * i], kind == WALK_TOTAL ? &p->acc[3 * i] : NULL, split ? NULL : &p->acc_hard[3 * i]);
  }
}

void cpu_split_soft(struct device *d)
{
  struct particles *p = &d->p;
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < 3 * p->n; k++) p->acc_soft[k] = p->acc[k] - p->acc_hard[k];
}

/* Position at a later tick, with the hard acceleration known so far; the velocity stays. */
static void predict(struct particles *particles, int64_t i, double dt)
{
  timeline_place(&particles->pos[3 * i], &particles->pos[3 * i], &particles->vel[3 * i], &particles->acc_hard[3 * i],
                 dt);
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

/* Fixed blocks summed in order: the result does not depend on the number of threads. */
enum { BLOCK = 4096 };

void cpu_reduce(struct device *d, const struct field *field, struct sums *sums)
{
  const struct particles *p = &d->p;
  int64_t blocks = (p->n + BLOCK - 1) / BLOCK;
  struct sums *part = memory_alloc("sums", sizeof *part * (size_t)(blocks + 1));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks; b++)
    for (int64_t i = b * BLOCK; i < p->n && i < (b + 1) * BLOCK; i++) sums_add_all(&part[b], p, i, field);
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
