/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External fields (external/external.h): kicks in them, and what such a field adds to the sums of a synchronisation.
 * Kicks of soft steps are the only place where it acts. */
#include <config.h>
#include <math.h>

#include "backend/field_sums.h"
#include "base/memory.h"
#include "external/external.h"
#include "step/effects.h"
#include "step/sim.h"

static int open_field(void *state, struct sim *sim, struct fault *fault)
{
  struct external *external = state;
  if (external_open(external, sim->par, sim->force.gravity, fault)) return -1;
  if (external->moves) sim->effects.traits |= EFFECT_ENERGY_CHANGES;
  if (external->agama && !sim->be->steps.push)
    return fault_set(fault, "[External] Agama: the backend %s takes no accelerations of the host", sim->be->name);
  return 0;
}

static void close_field(void *state) { external_close(state); }

static int covers(const void *state, const struct sim *sim, double end, struct fault *fault)
{
  return external_check_times(state, sim->time, end, fault);
}

static int list_files(const void *state, double time, struct external_file *file)
{
  return external_files(state, time, file);
}

static int list_files_of(const struct params *params, double time, struct external_file *file, struct fault *fault)
{
  struct external external;
  int count = external_open(&external, params, 1, fault) ||
                      external_check_times(&external, time, fmax(time, params->TimeMax), fault)
                  ? -1
                  : external_files(&external, time, file);
  external_close(&external);
  return count;
}

static const struct effect_files files = {covers, list_files, list_files_of};

static void add_field(const void *state, double time, struct field *field)
{
  struct field own;
  external_field(state, time, &own);
  for (int k = 0; k < own.count; k++) field->term[field->count++] = own.term[k];
  for (int c = 0; c < 3; c++) field->acc[c] += own.acc[c];
  field->spin += own.spin;
}

/* What the host computes for the particles `particles`: accelerations[3 n], which the caller frees, potentials[n],
 * squared rates of change[n]. */
static double *compute(const struct external *external, const struct particles *particles, double time)
{
  double *acc = memory_alloc("external field", 5 * sizeof *acc * (size_t)(particles->n + 1));
  external_host(external, particles->n, particles->pos, time, acc, acc + 3 * particles->n, acc + 4 * particles->n);
  return acc;
}

static double *host_kick(const void *state, const struct sim *sim, double time, double dt)
{
  const struct external *external = state;
  if (!external->agama) return NULL;
  const struct particles *p = sim->be->view(sim->dev);
  double *change = compute(external, p, time);
  for (int64_t k = 0; k < 3 * p->n; k++) change[k] *= 0.5 * dt;
  return change;
}

/* Potential energies and forces of the host, of all ranks. Returns the largest squared rate of change on this rank.
 * Collective. */
static double add_host_sums(const struct external *external, struct sim *sim)
{
  const struct particles *p = sim->be->view(sim->dev);
  struct sums sums = {0};
  struct diagnostics *d = &sim->now;
  double *acc = compute(external, p, sim->time), *pot = acc + 3 * p->n, *rate = pot + p->n, largest = 0;
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

static double host_energy(const void *state, const struct sim *sim)
{
  const struct external *external = state;
  if (!external->agama) return 0;
  const struct particles *p = sim->be->view(sim->dev);
  double sum = 0, *acc = compute(external, p, sim->time), *pot = acc + 3 * p->n;
  for (int64_t i = 0; i < p->n; i++) sum += p->mass[i] * pot[i];
  memory_free(acc);
  return sum;
}

/* Add what the host computes, and note the step that orbits in the field need. */
static void measured(void *state, struct sim *sim)
{
  const struct external *external = state;
  double rate = 0;
  if (sim->be->steps.rate) rate = sim->be->steps.rate(sim->dev, &sim->effects.field);
  if (external->agama) rate = sqrt(rate * rate + add_host_sums(external, sim));
  comm_max_double(sim->comm, &rate, 1);
  sim->system.field_step = rate > 0 ? errors_field_step(sim->now.rate_field, rate, params_error(sim->par)) : 0;
}

static void tide_at(const void *state, double time, const double x[3], const double v[3], double length,
                    struct tide *tide)
{
  external_tide(state, time, x, v, length, tide);
}

static const struct effect_values values = {host_energy, tide_at};

/* Potentials are at places of the user's frame. */
const struct effect effect_external_field = {.name = "external field",
                                             .size = sizeof(struct external),
                                             .traits = EFFECT_IN_FIELD | EFFECT_AT_PLACES,
                                             .given = external_given,
                                             .open = open_field,
                                             .files = &files,
                                             .close = close_field,
                                             .field = add_field,
                                             .host_kick = host_kick,
                                             .measured = measured,
                                             .values = &values};
