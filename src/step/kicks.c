/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/kicks.h"

#include <math.h>
#include <string.h>

#include "backend/field_sums.h"
#include "base/memory.h"

int kicks_open(struct sim *sim, const struct params *par, struct fault *fault)
{
  if (!external_given(par)) return 0;
  if (external_open(&sim->external, par, sim->gravity, fault) == 0 && sim->external.agama && !sim->be->push)
    fault_set(fault, "[External] Agama: the backend %s takes no accelerations of the host", sim->be->name);
  return comm_agree(sim->comm, fault); /* a file may be missing on one node */
}

void kicks_close(struct sim *sim) { external_close(&sim->external); }

void kicks_field_at(struct sim *sim, double time)
{
  if (sim->external.given) external_field(&sim->external, time, &sim->field);
}

/* What the host computes for the particles `particles`: accelerations[3 n], which the caller frees, potentials[n],
 * squared rates of change[n]. */
static double *compute(const struct sim *sim, const struct particles *particles, double time)
{
  double *acc = memory_alloc("external field", 5 * sizeof *acc * (size_t)(particles->n + 1));
  external_host(&sim->external, particles->n, particles->pos, time, acc, acc + 3 * particles->n,
                acc + 4 * particles->n);
  return acc;
}

void kicks_apply(struct sim *sim, const struct field *field, double time, double dt)
{
  double *change = NULL;
  if (sim->external.agama) {
    const struct particles *p = sim->be->view(sim->dev);
    int64_t n = p->n;
    change = compute(sim, p, time);
    for (int64_t k = 0; k < 3 * n; k++) change[k] *= 0.5 * dt;
    sim->be->push(sim->dev, change);
  }
  sim->be->kick(sim->dev, field, dt);
  if (change) sim->be->push(sim->dev, change);
  memory_free(change);
}

void kicks_centre(struct sim *sim, double dt)
{
  const struct diagnostics *d = &sim->now;
  const double origin[3] = {0}, spin = sim->field.spin,
               coriolis[3] = {2 * spin * d->momentum[1], -2 * spin * d->momentum[0], 0};
  const float none[3] = {0};
  if (!sim->external.given || !(d->mass > 0)) return;
  struct field mean = {.spin = spin};
  for (int c = 0; c < 3; c++) mean.acc[c] = (d->force_field[c] - coriolis[c]) / d->mass;
  field_kick(&mean, origin, none, dt, sim->frame.v_com);
}

/* Potential energies and forces of the host, of all ranks. Returns the largest squared rate of change on this rank.
 * Collective. */
static double add_host_sums(struct sim *sim)
{
  const struct particles *p = sim->be->view(sim->dev);
  struct sums sums = {0};
  struct diagnostics *d = &sim->now;
  double *acc = compute(sim, p, sim->time), *pot = acc + 3 * p->n, *rate = pot + p->n, largest = 0;
  for (int64_t i = 0; i < p->n; i++) {
    for (int t = 0; t < PARTICLE_TYPES; t++) sums.potential[t] += t == p->type[i] ? p->mass[i] * pot[i] : 0;
    sums_add_force(&sums, p, i, &acc[3 * i], rate[i]);
    sums.bad += !isfinite(acc[3 * i] + acc[3 * i + 1] + acc[3 * i + 2] + pot[i]);
    largest = fmax(largest, rate[i]);
  }
  memory_free(acc);
  comm_sum_double(sim->comm, (double *)&sums, sizeof sums / sizeof(double));
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

void kicks_measure(struct sim *sim)
{
  double rate = 0;
  sim->system.in_field = sim->external.given;
  if (!sim->external.given) return;
  if (sim->be->rate) rate = sim->be->rate(sim->dev, &sim->field);
  if (sim->external.agama) rate = sqrt(rate * rate + add_host_sums(sim));
  comm_max_double(sim->comm, &rate, 1);
  sim->system.field_step = rate > 0 ? errors_field_step(sim->now.rate_field, rate, params_error(sim->par)) : 0;
}

double kicks_energy(const struct sim *sim)
{
  if (!sim->external.given) return 0;
  const struct particles *p = sim->be->view(sim->dev);
  double sum = 0, *host = sim->external.agama ? compute(sim, p, sim->time) : NULL;
  for (int64_t i = 0; i < p->n; i++)
    sum += p->mass[i] * (field_potential(&sim->field, &p->pos[3 * i]) + (host ? host[3 * p->n + i] : 0));
  memory_free(host);
  comm_sum_double(sim->comm, &sum, 1);
  return sum;
}
