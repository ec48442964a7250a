/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/energies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "step/effects.h"
#include "step/scheme.h"
#include "step/timed.h"

/* Particles of more mass than this, in mean masses of the others, are heavy. The mean is found in at most so many
 * rounds. */
#define HEAVY_RATIO 100
enum { HEAVY_ROUNDS = 16 };
/* Up to so many particles all pairs are summed. A larger sample is needed for none: the error of the mean of so many is
 * below 1e-6. */
#define PAIRS_MAX 16384
#define SAMPLE_MAX 524288
/* Opening angle of PAIRS_MAX particles; it grows as the sixth root of their number, with which the noise stays alike.
 * With wider angles the error that all particles have in common, of large cells, is above 1e-6. */
#define SUM_ANGLE 0.22
#define SUM_ANGLE_MAX 0.3
#define SUM_ANGLE_FEW 1e-3
/* Potentials by an opening angle theta, averaged over SCATTER_NEIGHBOURS neighbours on the curve, scatter by
 * POTENTIAL_SCATTER theta^4 about the direct sums, and have errors of POTENTIAL_OFFSET theta^2 in common, measured on
 * Plummer and Hernquist spheres of 2^13 to 2^17; the rounding of all of them is alike. */
#define POTENTIAL_SCATTER 7e-4
#define POTENTIAL_OFFSET 1e-5
#define SCATTER_NEIGHBOURS 64
#define POTENTIAL_ROUNDING 1e-8
/* A cell with second moments takes as long as so many particles. */
#define CELL_COST 2.0
/* Statistics take this part of the interactions of soft steps, and there are at most so many of them in a run. */
#define COST_SHARE 0.015
#define ROWS_MAX 300
/* In short runs there are more, of coarser samples, up to ROWS_MIN of them. A coarse sample has at least
 * COARSE_SAMPLE particles, and noise of at most COARSE_NOISE_SHARE of the wanted error per dynamical time. */
#define ROWS_MIN 10
#define COARSE_SAMPLE 1024
#define COARSE_FACTOR_MAX 16
#define COARSE_NOISE_SHARE 0.7

/* --- heavy particles --------------------------------------------------------------------------------------------- */

static int heavier_first(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* HEAVY_RATIO times the mean mass of the particles with mass that are not heavier than that. Collective. */
static double least_heavy(const struct comm *comm, const struct particles *particles)
{
  double least = HUGE_VAL;
  for (int k = 0; k < HEAVY_ROUNDS; k++) {
    double sum[2] = {0}, before = least;
    for (int64_t i = 0; i < particles->n; i++)
      if (!(particles->mass[i] > least)) {
        sum[0] += particles->mass[i];
        sum[1] += particles->mass[i] > 0;
      }
    comm_sum_double(comm, sum, 2);
    least = (float)(HEAVY_RATIO * sum[0] / fmax(sum[1], 1)); /* whatever the order of the sum */
    if (least == before) break;
  }
  return least;
}

/* The mass that at most HEAVY_MAX particles of all ranks exceed, at least `least`. Collective. */
static double heavy_limit(const struct comm *comm, const struct particles *particles, double least)
{
  double *mine = memory_alloc("heavy", sizeof *mine * (size_t)(particles->n + 1));
  int64_t count = 0;
  size_t bytes;
  for (int64_t i = 0; i < particles->n; i++)
    if (particles->mass[i] > least) mine[count++] = particles->mass[i];
  qsort(mine, (size_t)count, sizeof *mine, heavier_first);
  if (count > HEAVY_MAX + 1) count = HEAVY_MAX + 1;
  double *all = comm_gather(comm, mine, sizeof *mine * (size_t)count, &bytes), limit = least;
  qsort(all, bytes / sizeof *all, sizeof *all, heavier_first);
  if (bytes / sizeof *all > HEAVY_MAX) limit = all[HEAVY_MAX];
  memory_free(all);
  memory_free(mine);
  return limit;
}

void energies_open(struct sim *sim, const struct particles *particles)
{
  struct energy_part *e = &sim->energy;
  e->heavy_limit = heavy_limit(sim->comm, particles, least_heavy(sim->comm, particles));
  memset(e->light_mass, 0, sizeof e->light_mass);
  double heavies = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    int heavy = particles->mass[i] > e->heavy_limit;
    heavies += heavy;
    if (!heavy) e->light_mass[particles->type[i]] += particles->mass[i];
  }
  comm_sum_double(sim->comm, e->light_mass, PARTICLE_TYPES);
  comm_sum_double(sim->comm, &heavies, 1);
  e->heavies = (int)heavies;
}

void energies_heavy(struct sim *sim)
{
  struct energy_part *e = &sim->energy;
  if (!sim->be->energy || e->heavies == 0) return;
  struct heavy_particle mine[HEAVY_MAX], *all;
  size_t bytes;
  int count = sim->be->energy->heavy(sim->dev, e->heavy_limit, mine), n, first = 0;
  all = comm_gather(sim->comm, mine, sizeof *mine * (size_t)count, &bytes);
  n = (int)(bytes / sizeof *all);
  double at[HEAVY_MAX][3], acc[HEAVY_MAX][3] = {{0}}, pot[HEAVY_MAX] = {0};
  uint64_t skip[HEAVY_MAX];
  uint8_t type[HEAVY_MAX];
  for (int k = 0; k < n; k++) {
    memcpy(at[k], all[k].pos, sizeof at[k]);
    skip[k] = all[k].id;
    type[k] = (uint8_t)all[k].type;
  }
  sim->be->probe->direct(sim->dev, n, (const double(*)[3])at, skip, type, NULL, acc, NULL, pot);
  comm_sum_double(sim->comm, pot, n);
  while (count > 0 && first < n && skip[first] != mine[0].id) first++;
  sim->be->energy->set(sim->dev, count, mine, pot + first);
  memset(e->rounding, 0, sizeof e->rounding);
  for (int k = 0; k < n; k++) e->rounding[all[k].type] += 0.5 * all[k].mass * (pot[k] - (double)(float)pot[k]);
  memory_free(all);
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

double energies_angle(double count)
{
  return count <= PAIRS_MAX ? SUM_ANGLE_FEW : fmin(SUM_ANGLE_MAX, SUM_ANGLE * pow(count / PAIRS_MAX, 1.0 / 6));
}

int32_t energies_stride(double count) { return (int32_t)fmax(1, floor(count / SAMPLE_MAX)); }

int energies_due(double spent, double cost, double beside, double passed, double whole, int coarsest)
{
  if (passed < whole / ROWS_MAX * (1 - 1e-9)) return 0;
  if (COST_SHARE * spent >= cost + beside) return 1;
  if (passed < whole / ROWS_MIN * (1 - 1e-9)) return 0;
  double left = COST_SHARE * spent - beside;
  return left > 0 && cost <= left * coarsest ? (int)ceil(cost / left) : 0;
}

int energies_coarsest(const struct sim *sim)
{
  double one = sim->energy.scatter, allowed = COARSE_NOISE_SHARE * params_error(sim->par) * fabs(energies_total(sim));
  double most = fmin(COARSE_FACTOR_MAX, sim->masses.count / energies_stride(sim->masses.count) / COARSE_SAMPLE);
  if (!(one > 0)) return 1; /* not known */
  return (int)fmax(1, fmin(most, allowed / one * (allowed / one)));
}

/* --- the measurement --------------------------------------------------------------------------------------------- */

/* The potentials of the sample. Collective. */
static void walk_sample(struct sim *sim, const struct mac *mac, int32_t stride, struct tally *tally)
{
  struct let_request request = {
      .mac = mac, .a_floor = sim->force.a_floor, .cutoff = -1, .eps2 = softening_classes2(&sim->force.softening)};
  struct walk_request walk = {.kind = WALK_POTENTIAL,
                              .mac = *mac,
                              .a_floor = sim->force.a_floor,
                              .split = sim->force.split,
                              .let = LET_SOFT,
                              .potential = 1,
                              .stride = stride};
  sim->scheme->sample(sim, &request, &walk);
  sim->energy.traffic = (struct let_traffic){.messages = 0};
  sim->be->tree.moments(sim->dev, mac, 0, 0);
  let_exchange(sim->ranks.lets, LET_SOFT, &sim->lattice, request, TICKS, &sim->energy.traffic);
  let_walk(sim->ranks.lets, walk, tally, &sim->energy.traffic);
}

/* Correction by types, and its standard error from the batches; returns the mass in the sample. */
static double estimate(struct energy_part *part, const struct potential_sums *sums, double *standard_error)
{
  double sampled = 0, batch[ENERGY_BATCHES] = {0}, mean = 0, square = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    double difference = 0, mass = 0;
    for (int b = 0; b < ENERGY_BATCHES; b++) {
      difference += sums->difference[b][t];
      mass += sums->mass[b][t];
    }
    sampled += mass;
    part->correction[t] = part->rounding[t];
    if (!(mass > 0)) continue;
    part->correction[t] += 0.5 * difference / mass * part->light_mass[t];
    /* about the mean, so that batches of unequal mass add no scatter of their own */
    for (int b = 0; b < ENERGY_BATCHES; b++)
      batch[b] += 0.5 * (sums->difference[b][t] - difference / mass * sums->mass[b][t]) * ENERGY_BATCHES / mass *
                  part->light_mass[t];
  }
  for (int b = 0; b < ENERGY_BATCHES; b++) mean += batch[b] / ENERGY_BATCHES;
  for (int b = 0; b < ENERGY_BATCHES; b++) square += (batch[b] - mean) * (batch[b] - mean);
  *standard_error = sqrt(square / (ENERGY_BATCHES * (ENERGY_BATCHES - 1)));
  return sampled;
}

static void measure(struct sim *sim, int every)
{
  struct energy_part *e = &sim->energy;
  int32_t stride = energies_stride(sim->masses.count) * every;
  double angle = energies_angle(sim->masses.count), scatter;
  struct mac mac = {MAC_ANGLE, 2, sim->force.gravity, angle};
  struct tally tally = {0};
  struct potential_sums sums;
  walk_sample(sim, &mac, stride, &tally);
  sim->be->energy->sums(sim->dev, e->heavy_limit, &sums);
  comm_sum_double(sim->comm, (double *)&sums, sizeof sums / sizeof(double));
  double sampled = estimate(e, &sums, &scatter), total = 0,
         pairs = (double)tally.particle_pairs + CELL_COST * (double)tally.cell_pairs;
  for (int t = 0; t < PARTICLE_TYPES; t++) total += e->correction[t];
  e->total = total;
  double potential = fabs(sim->now.potential + total), walked = 0;
  if (sampled > 0)
    walked = potential * hypot(POTENTIAL_SCATTER * pow(angle, 4) *
                                   sqrt(SCATTER_NEIGHBOURS * stride / fmax(sim->masses.count, SCATTER_NEIGHBOURS)),
                               POTENTIAL_OFFSET * angle * angle);
  e->scatter = scatter / sqrt(every);
  e->noise = sqrt(scatter * scatter * (1 - 1.0 / stride) + walked * walked) + POTENTIAL_ROUNDING * potential;
  comm_sum_double(sim->comm, &pairs, 1);
  e->cost = pairs;
  effects_account_correction(sim);
}

void energies_measure(struct sim *sim, int every)
{
  if (sim->be->energy) TIMED(sim, PHASE_diagnostics, measure(sim, every));
}

struct diagnostics energies_corrected(const struct sim *sim)
{
  struct diagnostics d = sim->now;
  for (int t = 0; t < PARTICLE_TYPES; t++) d.potential_type[t] += sim->energy.correction[t];
  d.potential += sim->energy.total;
  d.total += sim->energy.total;
  return d;
}

double energies_total(const struct sim *sim) { return sim->now.total + sim->energy.total + sim->collisions.lost; }
