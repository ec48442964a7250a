/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reference backend: the core verbs of backend/backend.h in plain C, on one thread, in double precision, with
 * direct sums in place of a tree. It proves that the contract is sufficient, and is the reference for whole steps of
 * other backends (contract.c). It leaves out the tables for LETs, migration and links: it runs on one rank only.
 * Particles keep their order. */
#ifndef REFERENCE_H
#define REFERENCE_H
#include <math.h>
#include <string.h>
#include <time.h>

#include "backend/backend.h"
#include "backend/field_sums.h"
#include "backend/probe.h"
#include "base/memory.h"
#include "kernels.h"
#include "particles/sampling.h"

struct device {
  struct device_config config;
  struct particles p;
  struct lattice lattice;
  char *active; /* [n] between select and correct: predicted, half kicked */
  int32_t tick; /* of the last select */
  double event[DEVICE_EVENTS];
};

static inline struct device *reference_open(const struct device_config *config)
{
  struct device *d = memory_alloc("reference", sizeof *d);
  *d = (struct device){.config = *config};
  return d;
}

static inline void reference_close(struct device *d)
{
  memory_free(d->active);
  memory_free(d);
}

static inline void reference_upload(struct device *d, struct particles *particles)
{
  d->p = *particles;
  particles_init(particles);
  memory_free(d->active);
  d->active = memory_alloc("reference", (size_t)d->p.n + 1);
  memset(d->active, 0, (size_t)d->p.n + 1);
}

static inline void reference_download(struct device *d, struct particles *particles)
{
  *particles = d->p;
  particles_init(&d->p);
}

static inline const struct particles *reference_view(struct device *d) { return &d->p; }
static inline int64_t reference_count(struct device *d) { return d->p.n; }

static inline void reference_bounds(struct device *d, double horizon, double low[3], double high[3])
{
  const struct particles *p = &d->p;
  for (int c = 0; c < 3; c++) {
    low[c] = 1e300;
    high[c] = -1e300;
  }
  for (int64_t k = 0; k < 3 * p->n; k++) {
    double x = p->pos[k], there = x + horizon * p->vel[k], margin = 0.5 * horizon * horizon * fabs(p->acc[k]);
    low[k % 3] = fmin(low[k % 3], fmin(x, there) - margin);
    high[k % 3] = fmax(high[k % 3], fmax(x, there) + margin);
  }
}

static inline int64_t reference_sample(struct device *d, uint64_t threshold, int sources, int64_t capacity,
                                       struct sample *out, double *work)
{
  const struct particles *p = &d->p;
  int64_t count = 0;
  if (work) *work = 0;
  for (int64_t i = 0; i < p->n; i++) {
    if (work) *work += p->work[i];
    if (sampling_hash(p->id[i]) > threshold || count == capacity || (sources && !(p->mass[i] > 0))) continue;
    memcpy(out[count].pos, &p->pos[3 * i], sizeof out->pos);
    out[count].work = p->work[i];
    out[count++].id = p->id[i];
  }
  return count;
}

static inline void reference_reduce(struct device *d, const struct field *field, struct sums *sums)
{
  memset(sums, 0, sizeof *sums);
  for (int64_t i = 0; i < d->p.n; i++) sums_add_all(sums, &d->p, i, field);
}

/* --- tree: there is none ----------------------------------------------------------------------------------------- */

static inline int is_outside(const struct device *d, int64_t i)
{
  int outside = 0;
  for (int c = 0; c < 3; c++) lattice_of(&d->lattice, c, d->p.pos[3 * i + c], &outside);
  return outside;
}

static inline int64_t reference_order(struct device *d, const struct lattice *lattice)
{
  int64_t outside = 0;
  d->lattice = *lattice;
  for (int64_t i = 0; i < d->p.n; i++) outside += is_outside(d, i);
  return outside;
}

static inline void reference_reorder(struct device *d, int32_t tick, double length, level_bands bands, int from)
{
  (void)d;
  (void)tick;
  (void)length;
  (void)bands;
  (void)from;
}
static inline void reference_build(struct device *d, const double low[3], const double high[3])
{
  (void)d;
  (void)low;
  (void)high;
}
static inline void reference_moments(struct device *d, const struct mac *mac, int32_t tick, double length)
{
  (void)d;
  (void)mac;
  (void)tick;
  (void)length;
}
static inline void reference_tune(struct device *d, enum tunable tunable, double value)
{
  (void)d;
  (void)tunable;
  (void)value;
}
static inline void reference_nothing(struct device *d) { (void)d; }

/* --- forces ------------------------------------------------------------------------------------------------------ */

/* Position of source j at the tick of the request. */
static inline void source_position(const struct device *d, int64_t j, const struct walk_request *request, double x[3])
{
  const struct particles *p = &d->p;
  double dt = request->kind != WALK_HARD || d->active[j] ? 0 : (request->tick - p->tick[j]) * request->tick_length;
  timeline_place(x, &p->pos[3 * j], &p->vel[3 * j], &p->acc_hard[3 * j], dt);
}

/* K of the split for particles i and j at the distance r (Watanabe & Nakasato 2014, eqs 7-10). */
static inline double reference_k(const struct device *d, const struct split *split, double r, int64_t i, int64_t j)
{
  double f = fmax(split_factor(split, d->p.mass[i]), split_factor(split, d->p.mass[j]));
  return split->on ? kernel_at(split->kernel, r, f * split->r1, f * split->r2) : 1;
}

/* Plummer-softened force on target i, its hard part, and the potential without self energy; WALK_SOFT: the soft force
 * and potential. */
static inline void reference_force(const struct device *d, int64_t i, const struct walk_request *request, double acc[3],
                                   double hard[3], double *pot)
{
  const struct particles *p = &d->p;
  double x[3], y[3], eps2 = d->config.softening * d->config.softening, g = d->config.gravity;
  source_position(d, i, request, x);
  for (int c = 0; c < 3; c++) acc[c] = hard[c] = 0;
  *pot = 0;
  for (int64_t j = 0; j < p->n; j++) {
    double r2 = 0, dx[3];
    if (j == i) continue;
    source_position(d, j, request, y);
    for (int c = 0; c < 3; c++) {
      dx[c] = y[c] - x[c];
      r2 += dx[c] * dx[c];
    }
    double rho = sqrt(r2 + eps2), k = reference_k(d, &request->split, sqrt(r2), i, j),
           weight = request->kind == WALK_SOFT ? 1 - k : 1;
    if (rho == 0 || weight == 0) continue;
    double f = g * weight * p->mass[j] / (rho * rho * rho);
    for (int c = 0; c < 3; c++) {
      acc[c] += f * dx[c];
      hard[c] += k * f * dx[c];
    }
    *pot -= g * weight * p->mass[j] / rho;
  }
}

static inline void reference_walk(struct device *d, const struct walk_request *request, struct tally *tally)
{
  struct particles *p = &d->p;
  if (!request->local) return;
  for (int64_t i = 0; i < p->n; i++) {
    double acc[3], hard[3], pot;
    if (request->kind == WALK_HARD && !d->active[i]) continue;
    reference_force(d, i, request, acc, hard, &pot);
    for (int c = 0; c < 3; c++) {
      if (request->kind != WALK_SOFT) p->acc_hard[3 * i + c] = (float)hard[c];
      if (request->kind == WALK_SOFT) p->acc_soft[3 * i + c] = (float)acc[c];
      if (request->kind != WALK_HARD) p->acc[3 * i + c] = (float)acc[c];
    }
    if (request->kind != WALK_HARD && request->potential)
      p->pot[i] = (float)(request->add_potential ? p->pot[i] + pot : pot);
    p->work[i] = (request->kind != WALK_HARD ? WORK_KEPT * p->work[i] : p->work[i]) + (float)(p->n - 1);
    tally->targets++;
    tally->particle_pairs += p->n - 1;
  }
}

static inline void reference_nearest(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, int k,
                                     double *distance)
{
  const struct particles *p = &d->p;
  for (int64_t i = 0; i < n; i++) {
    double *out = distance + i * k;
    for (int m = 0; m < k; m++) out[m] = 1e300;
    for (int64_t j = 0; j < p->n; j++) {
      double r2 = 0;
      for (int c = 0; c < 3; c++) r2 += (p->pos[3 * j + c] - at[i][c]) * (p->pos[3 * j + c] - at[i][c]);
      if (p->id[j] == skip[i] || sqrt(r2) >= out[k - 1]) continue;
      int m = k - 1;
      for (; m > 0 && out[m - 1] > sqrt(r2); m--) out[m] = out[m - 1];
      out[m] = sqrt(r2);
    }
  }
}

/* --- time integration -------------------------------------------------------------------------------------------- */

static inline void reference_kick(struct device *d, const struct field *field, double dt)
{
  for (int64_t i = 0; i < d->p.n; i++) field_kick(field, &d->p.pos[3 * i], &d->p.acc_soft[3 * i], dt, &d->p.vel[3 * i]);
}

static inline void reference_gravity(struct device *d, double gravity) { d->config.gravity = gravity; }

static inline void reference_add_field(struct device *d, const struct field *field, enum walk_kind kind, int split,
                                       int32_t tick)
{
  struct particles *p = &d->p;
  (void)tick;
  for (int64_t i = 0; i < p->n; i++) {
    double a[3];
    if (kind == WALK_HARD && !d->active[i]) continue;
    field_acceleration(field, &p->pos[3 * i], a);
    for (int c = 0; c < 3; c++) {
      if (kind == WALK_TOTAL) p->acc[3 * i + c] += (float)a[c];
      if (!split) p->acc_hard[3 * i + c] += (float)a[c];
    }
  }
}

static inline void reference_split_soft(struct device *d)
{
  for (int64_t k = 0; k < 3 * d->p.n; k++) d->p.acc_soft[k] = d->p.acc[k] - d->p.acc_hard[k];
}

static inline int wanted_level(const struct device *d, int64_t i, const struct step_rule *rule, int shared)
{
  const struct particles *p = &d->p;
  return shared >= 0 ? shared
                     : timeline_level(rule->soft_step, timeline_criterion_step(rule, p->type[i], &p->acc_hard[3 * i],
                                                                               &p->acc_soft[3 * i], &p->vel[3 * i]));
}

static inline int reference_levels(struct device *d, const struct step_rule *rule, int shared)
{
  int deepest = 0;
  d->tick = 0;
  for (int64_t i = 0; i < d->p.n; i++) {
    d->p.level[i] = (uint8_t)wanted_level(d, i, rule, shared);
    if (d->p.level[i] > deepest) deepest = d->p.level[i];
  }
  return deepest;
}

static inline int32_t reference_next_tick(struct device *d)
{
  int deepest = 0;
  for (int64_t i = 0; i < d->p.n; i++) deepest = d->p.level[i] > deepest ? d->p.level[i] : deepest;
  return d->p.n > 0 ? timeline_after(d->tick, deepest) : TICKS;
}

/* Half of a kick by the hard acceleration. */
static inline void half_kick(struct particles *particles, int64_t i, double dt)
{
  for (int c = 0; c < 3; c++) particles->vel[3 * i + c] += 0.5 * dt * particles->acc_hard[3 * i + c];
}

static inline int64_t reference_select(struct device *d, int32_t tick, double tick_length, int64_t *outside)
{
  struct particles *p = &d->p;
  int64_t count = 0;
  d->tick = tick;
  for (int64_t i = 0; i < p->n; i++) {
    d->active[i] = timeline_end(p, i) == tick;
    if (!d->active[i]) continue;
    double dt = (tick - p->tick[i]) * tick_length;
    timeline_place(&p->pos[3 * i], &p->pos[3 * i], &p->vel[3 * i], &p->acc_hard[3 * i], dt);
    half_kick(p, i, dt);
    *outside += is_outside(d, i);
    count++;
  }
  return count;
}

static inline void reference_correct(struct device *d, int32_t tick, double tick_length, const struct step_rule *rule,
                                     int shared)
{
  struct particles *p = &d->p;
  for (int64_t i = 0; i < p->n; i++) {
    if (!d->active[i]) continue;
    half_kick(p, i, (tick - p->tick[i]) * tick_length);
    p->tick[i] = tick;
    p->level[i] = (uint8_t)timeline_aligned(tick, wanted_level(d, i, rule, shared));
    d->active[i] = 0;
  }
}

static inline void reference_drift_to_end(struct device *d, double tick_length)
{
  struct particles *p = &d->p;
  for (int64_t i = 0; i < p->n; i++) {
    double dt = (TICKS - p->tick[i]) * tick_length;
    timeline_place(&p->pos[3 * i], &p->pos[3 * i], &p->vel[3 * i], &p->acc_hard[3 * i], dt);
    half_kick(p, i, dt);
  }
}

static inline void reference_finish(struct device *d, double tick_length)
{
  for (int64_t i = 0; i < d->p.n; i++) {
    half_kick(&d->p, i, (TICKS - d->p.tick[i]) * tick_length);
    d->p.tick[i] = 0;
  }
}

static inline void reference_histogram(struct device *d, int64_t *count)
{
  memset(count, 0, sizeof *count * 32);
  for (int64_t i = 0; i < d->p.n; i++) count[d->p.level[i]]++;
}

/* --- clocks and the tables --------------------------------------------------------------------------------------- */

static inline void reference_record_event(struct device *d, int event)
{
  d->event[event] = (double)clock() / CLOCKS_PER_SEC;
}
static inline double reference_between(struct device *d, int from, int to) { return d->event[to] - d->event[from]; }
static inline int reference_devices(char *why, size_t size) { return (void)why, (void)size, 1; }
static inline void reference_describe(FILE *out)
{
  fprintf(out, "reference: direct sums in double precision on one thread\n");
}

static const struct backend_probe reference_probe = {.count = reference_devices, .describe = reference_describe};
static const struct backend backend_reference = {.name = "reference",
                                                 .methods = 1 << METHOD_GROUPS,
                                                 .probe = &reference_probe,
                                                 .open = reference_open,
                                                 .close = reference_close,
                                                 .upload = reference_upload,
                                                 .download = reference_download,
                                                 .view = reference_view,
                                                 .count = reference_count,
                                                 .sets.bounds = reference_bounds,
                                                 .sets.sample = reference_sample,
                                                 .sets.reduce = reference_reduce,
                                                 .tree.order = reference_order,
                                                 .tree.reorder = reference_reorder,
                                                 .tree.build = reference_build,
                                                 .tree.moments = reference_moments,
                                                 .tree.sources = reference_nothing,
                                                 .tree.groups = reference_nothing,
                                                 .tree.tune = reference_tune,
                                                 .forces.walk = reference_walk,
                                                 .forces.gravity = reference_gravity,
                                                 .forces.add_field = reference_add_field,
                                                 .forces.nearest = reference_nearest,
                                                 .steps.kick = reference_kick,
                                                 .steps.split_soft = reference_split_soft,
                                                 .steps.levels = reference_levels,
                                                 .steps.next_tick = reference_next_tick,
                                                 .steps.select = reference_select,
                                                 .steps.correct = reference_correct,
                                                 .steps.drift_to_end = reference_drift_to_end,
                                                 .steps.finish = reference_finish,
                                                 .steps.histogram = reference_histogram,
                                                 .clock.wait = reference_nothing,
                                                 .clock.record_event = reference_record_event,
                                                 .clock.between = reference_between};
#endif
