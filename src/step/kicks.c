/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/kicks.h"

#include <math.h>
#include <string.h>

#include "backend/field_sums.h"
#include "base/memory.h"

int kicks_open(struct sim *s, const struct params *par, struct fault *f)
{
  if (!external_given(par)) return 0;
  if (external_open(&s->external, par, s->gravity, f) == 0 && s->external.agama && !s->be->push)
    fault_set(f, "[External] Agama: the backend %s takes no accelerations of the host", s->be->name);
  return comm_agree(s->comm, f);   /* a file may be missing on one node */
}

void kicks_close(struct sim *s) { external_close(&s->external); }

void kicks_field_at(struct sim *s, double time)
{
  if (s->external.given) external_field(&s->external, time, &s->field);
}

/* What the host computes for the particles `p`: accelerations[3 n], which the caller frees, potentials[n], squared rates of change[n]. */
static double *compute(const struct sim *s, const struct particles *p, double time)
{
  double *acc = memory_alloc("external field", 5 * sizeof *acc * (size_t)(p->n + 1));
  external_host(&s->external, p->n, p->pos, time, acc, acc + 3 * p->n, acc + 4 * p->n);
  return acc;
}

void kicks_apply(struct sim *s, const struct field *field, double time, double dt)
{
  double *change = NULL;
  if (s->external.agama) {
    const struct particles *p = s->be->view(s->dev);
    int64_t n = p->n;
    change = compute(s, p, time);
    for (int64_t k = 0; k < 3 * n; k++) change[k] *= 0.5 * dt;
    s->be->push(s->dev, change);
  }
  s->be->kick(s->dev, field, dt);
  if (change) s->be->push(s->dev, change);
  memory_free(change);
}

void kicks_centre(struct sim *s, double dt)
{
  const struct diagnostics *d = &s->now;
  const double origin[3] = {0}, spin = s->field.spin, coriolis[3] = {2 * spin * d->momentum[1], -2 * spin * d->momentum[0], 0};
  const float none[3] = {0};
  if (!s->external.given || !(d->mass > 0)) return;
  struct field mean = {.spin = spin};
  for (int c = 0; c < 3; c++) mean.acc[c] = (d->force_field[c] - coriolis[c]) / d->mass;
  field_kick(&mean, origin, none, dt, s->frame.v_com);
}

/* Potential energies and forces of the host, of all ranks. Returns the largest squared rate of change on this rank. Collective. */
static double add_host_sums(struct sim *s)
{
  const struct particles *p = s->be->view(s->dev);
  struct sums sums = {0};
  struct diagnostics *d = &s->now;
  double *acc = compute(s, p, s->time), *pot = acc + 3 * p->n, *rate = pot + p->n, largest = 0;
  for (int64_t i = 0; i < p->n; i++) {
    for (int t = 0; t < PARTICLE_TYPES; t++) sums.potential[t] += t == p->type[i] ? p->mass[i] * pot[i] : 0;
    sums_add_force(&sums, p, i, &acc[3 * i], rate[i]);
    sums.bad += !isfinite(acc[3 * i] + acc[3 * i + 1] + acc[3 * i + 2] + pot[i]);
    largest = fmax(largest, rate[i]);
  }
  memory_free(acc);
  comm_sum_double(s->comm, (double *)&sums, sizeof sums / sizeof(double));
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    d->potential_type[t] += sums.potential[t];
    d->potential += sums.potential[t];
    d->total += sums.potential[t];
  }
  d->virial_field += sums.virial_field;
  for (int c = 0; c < 3; c++) {
    d->virial_field -= d->com[c] * sums.force_field[c];
    d->force_field[c] += sums.force_field[c];
  }
  d->bad += sums.bad;
  if (d->kinetic > 0) d->rate_field = sqrt(d->rate_field * d->rate_field + sums.rate_field / (2 * d->kinetic));
  return largest;
}

void kicks_measure(struct sim *s)
{
  double rate = 0;
  s->system.in_field = s->external.given;
  if (!s->external.given) return;
  if (s->be->rate) rate = s->be->rate(s->dev, &s->field);
  if (s->external.agama) rate = sqrt(rate * rate + add_host_sums(s));
  comm_max_double(s->comm, &rate, 1);
  s->system.field_step = rate > 0 ? errors_field_step(s->now.rate_field, rate, params_error(s->par)) : 0;
}
