/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/machine_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/substep_lines.h"
#include "run/logs.h"
#include "step/plan.h"
#include "step/step.h"
#include "settings/settings.h"

/* Soft steps before those that count, in which memory grows and domains move from equal numbers to equal work; those
 * that count, on a host and on a device, whose soft steps are short. */
enum { WARM_UPS = 2, REPEATS_HOST = 5, REPEATS_DEVICE = 9, REPEATS_MAX = 9 };

/* --- the sphere -------------------------------------------------------------------------------------------------- */

/* A number in [0, 1) from a counter (splitmix64). */
static double uniform(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void direction(uint64_t *state, double length, double x[3])
{
  double z = 2 * uniform(state) - 1, phi = 2 * M_PI * uniform(state);
  x[0] = length * sqrt(1 - z * z) * cos(phi);
  x[1] = length * sqrt(1 - z * z) * sin(phi);
  x[2] = length * z;
}

/* The part of the velocity of escape that a particle of Plummer's sphere has: its distribution is q^2 (1 - q^2)^3.5. */
static double part_of_escape(uint64_t *state)
{
  for (;;) {
    double q = uniform(state);
    double rest = 1 - q * q;
    if (0.1 * uniform(state) < q * q * rest * rest * rest * sqrt(rest)) return q;
  }
}

/* Plummer's sphere of the scale length `scale` in equilibrium, n particles of this rank, with G = 1 and a mass of 1:
 * the inner 99.5 % of it. A hole in its centre would leave particles there without acceleration, whose lists are the
 * longest of all. */
static void make_sphere(struct particles *particles, const struct comm *comm, int64_t n)
{
  const double scale = 3 * M_PI / 16; /* the energy is then -1/4 */
  uint64_t state = 17 + (uint64_t)comm->rank;
  particles_init(particles);
  particles_reserve(particles, n);
  for (int64_t i = 0; i < n; i++) {
    double part = cbrt(0.995 * uniform(&state)), r = part / sqrt(1 - part * part),
           escape = sqrt(2 / scale) / sqrt(sqrt(1 + r * r));
    direction(&state, r * scale, &particles->pos[3 * i]);
    direction(&state, escape * part_of_escape(&state), &particles->vel[3 * i]);
    particles->mass[i] = (float)(1.0 / ((double)n * comm->size));
    particles->id[i] = (uint64_t)(comm->rank * n + i);
    particles->type[i] = 1;
  }
  particles->n = n;
}

/* --- parameters -------------------------------------------------------------------------------------------------- */

/* Parameters without units, which a sphere of any size may have, are those of the caller; others follow from the number
 * of particles. */
static void benchmark_parameters(const struct bench_task *task, struct params *par)
{
  const struct params *own = task->par;
  double n = (double)task->particles * task->c->size;
  params_defaults(par);
  par->Backend = own->Backend;
  par->Transport = own->Transport;
  par->WalkMethod = own->WalkMethod;
  if (par->WalkMethod == METHOD_AUTO) par->WalkMethod = METHOD_GROUPS; /* few particles show the fixed costs of trees */
  strcpy(par->Accuracy, own->Accuracy);
  par->TypeOfOpeningCriterion = own->TypeOfOpeningCriterion;
  par->ErrTolForceAcc = own->ErrTolForceAcc;
  par->ErrTolTheta = own->ErrTolTheta;
  par->MultipoleOrder = own->MultipoleOrder;
  par->MaxLeafSize = own->MaxLeafSize;
  par->MaxGroupSize = own->MaxGroupSize;
  par->Kernel = own->Kernel;
  par->R1OverR0 = own->R1OverR0;
  par->RQuantile = own->RQuantile;
  par->xs = own->xs;
  par->ys = own->ys;
  par->Criterion = own->Criterion;
  par->Eta = own->Eta;
  par->RebuildInterval = own->RebuildInterval;
  par->GravityConstantInternal = 1;
  par->Softening = 0.1 * pow(n, -0.26);
  par->Tuning = TUNING_FROZEN;
  params_use_walks(par);
  study_use_scheme(par, task->scheme);
  if (task->scheme == STUDY_SHARED) par->Eta = 0; /* with it the shared step would be a block step of all particles */
  if (task->radius_factor > 0) par->R1OverR0 = task->radius_factor * params_r1_over_r0(par);
}

/* --- soft steps -------------------------------------------------------------------------------------------------- */

/* Seconds of each phase since the reset of timer and ledger, and of the sums of a run's tables, without waiting.
 * Collective. */
static void busy(struct sim *sim, const struct plan *plan, double seconds[PHASE_COUNT])
{
  struct step_report report;
  memcpy(seconds, sim->timer.seconds, sizeof sim->timer.seconds);
  double begun = timer_clock();
  logs_collect(&report, sim, plan->soft_step);
  seconds[PHASE_other] += timer_clock() - begun;
  for (int p = 0; p < PHASE_COUNT; p++) {
    struct ledger_sum messages = ledger_sum(sim->comm->ledger, (enum phase)p);
    seconds[p] = fmax(seconds[p] - messages.peers.waited - messages.collectives.waited, 0);
  }
}

static void note_direct(const struct sim *sim, struct bench_step *step)
{
  for (int p = 0; p < PHASE_COUNT; p++) {
    struct ledger_sum messages = ledger_sum(sim->comm->ledger, (enum phase)p);
    step->direct_bytes += (double)messages.direct_bytes;
    step->direct_messages += (double)messages.direct_messages;
    step->direct_seconds += messages.direct_seconds;
  }
}

/* What the schedule of the soft step says; the levels are noted before. */
static void note_schedule(const struct sim *sim, struct bench_step *step)
{
  struct substep_lines lines;
  step->schedule = sim->substeps.schedule;
  substep_lines_count(&step->schedule, sim->be->forces.keeps_tree && sim->be->forces.keeps_tree(sim->dev) ? 0 : 1,
                      &lines);
  step->builds = lines.builds;
  step->updates = lines.updates;
  step->built = 0;
  for (int b = 0; b < BANDS_MAX; b++)
    for (int l = b > 0 ? band_first_level(step->schedule.bands, b) : 0; l < SCHEDULE_LEVELS; l++)
      step->built += (double)lines.from_band[b] * step->level[l];
  step->exchanges = lines.selections;
  step->migrations = 1 + lines.migrations;
}

static double pairs(const struct tally *tally) { return (double)(tally->particle_pairs + tally->cell_pairs); }

static void note_counts(const struct sim *sim, struct bench_step *step)
{
  const struct step_counts *n = &sim->counts;
  step->full_pairs = pairs(&n->full);
  step->hard_pairs = pairs(&n->hard);
  step->targets = (double)n->hard.targets;
  step->substeps = (double)n->substeps;
  step->let_bytes = (double)n->soft_let.bytes;
  step->update_bytes = (double)(n->step_let.bytes + n->updates.bytes);
}

/* Collective. */
static void one_step(struct sim *sim, struct bench_step *step)
{
  int64_t levels[SCHEDULE_LEVELS];
  struct plan plan = plan_next(sim->par, &sim->now, &sim->system, sim->time, 1e30, sim->step);
  plan.measure_radius = 0; /* of which a run has one in eight soft steps */
  sim->be->clock.wait(sim->dev);
  comm_barrier(sim->comm);
  ledger_reset(sim->comm->ledger);
  timer_reset(&sim->timer);
  step_open(sim, &plan);
  while (step_substeps(sim, &plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  sim->be->steps.histogram(sim->dev, levels);
  for (int l = 0; l < SCHEDULE_LEVELS; l++) step->level[l] = (double)levels[l];
  note_schedule(sim, step);
  step_close(sim, &plan, 0);
  sim->be->clock.wait(sim->dev);
  timer_phase(&sim->timer, PHASE_other);
  note_counts(sim, step); /* of this rank; the report adds up those of all */
  busy(sim, &plan, step->seconds);
  note_direct(sim, step);
}

static double all_phases(const struct bench_step *step)
{
  double sum = 0;
  for (int p = 0; p < PHASE_COUNT; p++) sum += step->seconds[p];
  return sum;
}

static double spread(const struct bench_step *step, int count)
{
  double shortest = all_phases(&step[0]), longest = shortest;
  for (int k = 1; k < count; k++) {
    shortest = fmin(shortest, all_phases(&step[k]));
    longest = fmax(longest, all_phases(&step[k]));
  }
  return shortest > 0 ? longest / shortest : 1;
}

/* Sort soft steps by their seconds. */
static int by_seconds(const void *a, const void *b)
{
  const struct bench_step *x = a, *y = b;
  double sums[2] = {bench_tree_seconds(x) + bench_other_seconds(x) + x->seconds[PHASE_walk],
                    bench_tree_seconds(y) + bench_other_seconds(y) + y->seconds[PHASE_walk]};
  return (sums[0] > sums[1]) - (sums[0] < sums[1]);
}

int bench_soft_steps(const struct bench_task *task, struct bench_step *bench_step, struct fault *fault)
{
  struct sim sim;
  struct params par;
  struct particles p;
  struct bench_step step[REPEATS_MAX], warm;
  int count = task->be->particle_bytes > 0 ? REPEATS_DEVICE : REPEATS_HOST;
  benchmark_parameters(task, &par);
  make_sphere(&p, task->c, task->particles);
  int failed = sim_open(&sim, task->c, &par, task->be, &p, fault);
  if (!failed) settings_first_force(&sim);
  for (int k = -WARM_UPS; k < count && !failed; k++) {
    struct bench_step *to = k < 0 ? &warm : &step[k];
    *to = (struct bench_step){.particles = (double)task->particles, .ranks = task->c->size};
    one_step(&sim, to);
  }
  sim_close(&sim);
  if (failed) return -1;
  qsort(step, (size_t)count, sizeof *step, by_seconds);
  *bench_step = step[count / 2];
  bench_step->spread = spread(step, count);
  return 0;
}

double bench_tree_seconds(const struct bench_step *step)
{
  return step->seconds[PHASE_order] + step->seconds[PHASE_build] + step->seconds[PHASE_moments] +
         step->seconds[PHASE_groups];
}

double bench_other_seconds(const struct bench_step *step)
{
  double sum = 0;
  for (int p = 0; p < PHASE_COUNT; p++) sum += step->seconds[p];
  return sum - bench_tree_seconds(step) - step->seconds[PHASE_walk];
}
