/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/check.h"

#include <math.h>
#include <stdio.h>

#include "analysis/inner_energy.h"
#include "base/debug.h"
#include "base/resident.h"
#include "check/measure.h"
#include "run/run_parts.h"
#include "run/start.h"
#include "settings/settings.h"
#include "step/energies.h"
#include "step/effects.h"
#include "step/effort.h"
#include "step/scheme.h"
#include "step/step.h"

/* Predicted seconds up to which run --check carries out the first soft step. */
#define STEP_SECONDS 30

/* A system that was judged. */
struct assessment {
  struct plan plan;
  struct physics physics;
  struct findings findings;
};

/* How many times as long work takes by the clock as by the processor, since other programs have it too: of the rank
 * that waits least for others; at least 1. Collective. */
static double load_of(const struct sim *sim, double clock, double worked)
{
  double less = worked > 0 ? -fmax(1, clock / worked) : -1;
  comm_max_double(sim->comm, &less, 1);
  return debug_value("check_load", -less);
}

/* First forces, and what they show. Collective. Returns 1 where there is nothing to judge, else 0, or -1 with a
 * fault. */
static int assess(struct sim *sim, const struct run_options *options, double target, struct assessment *assessment,
                  struct fault *fault)
{
  double began = effort_clock(sim), clock = timer_clock();
  settings_first_force(sim);
  double seconds = effort_clock(sim) - began, load = load_of(sim, timer_clock() - clock, seconds);
  comm_max_double(sim->comm, &seconds, 1);
  if (sim->scheme->check(sim, fault)) return -1;
  if (sim->now.bad > 0) return 1;
  assessment->plan = effects_plan(sim, target);
  if (run_check_advance(sim, &assessment->plan, fault)) return -1;
  struct physics *physics = &assessment->physics;
  struct inner_energy inner;
  measure_physics(sim, &assessment->plan, physics);
  inner_energy_measure(sim->comm, sim->par, sim->be->view(sim->dev), sim->force.gravity, &inner);
  physics->pairs = (struct physics_pairs){inner.systems, inner.kinetic, inner.potential};
  physics->seconds.load = load;
  physics->seconds.walk /= load; /* of the clock */
  /* with the acceleration criterion the first forces are two walks */
  physics->seconds.synchronisation =
      mac_uses_a_old(&sim->force.mac) ? fmax(seconds - physics->seconds.walk, physics->seconds.walk) : seconds;
  physics->softening.is_default = param_is_default(options->origin, "Softening"); /* known on rank 0, which prints */
  physics->run.steps_max = options->steps >= 0      ? (double)options->steps
                           : options->substeps >= 0 ? (double)options->substeps
                                                    : -1;
  return 0;
}

/* A fault where the run would surely be worthless, without --force. Rank 0 decides, since clocks differ. Collective. 0
 * or -1. */
static int refuse_worthless(const struct comm *comm, const struct run_options *options, const struct findings *findings,
                            struct fault *fault)
{
  const struct finding *worst = findings_first(findings, FINDING_WORTHLESS);
  if (comm->rank == 0 && worst && !options->force) fault_set(fault, "%s; --force starts it all the same", worst->text);
  return comm_verdict(comm, fault);
}

/* Print findings, but the one that a fault reports: warnings, after `before`, to `warnings`, and notes to stdout. */
static void print_findings(const struct findings *findings, int force, const char *before, FILE *warnings)
{
  const struct finding *fault = force ? NULL : findings_first(findings, FINDING_WORTHLESS);
  for (int k = 0; k < findings->count; k++) {
    const struct finding *one = &findings->list[k];
    if (one->severity == FINDING_NOTE) printf("note: %s\n", one->text);
    else if (one != fault) fprintf(warnings, "%swarning: %s\n", before, one->text);
  }
}

int assess_start(struct sim *sim, const struct run_options *options, double target, struct fault *fault)
{
  struct assessment a;
  int nothing = assess(sim, options, target, &a, fault);
  if (nothing) return nothing < 0 ? -1 : 0;
  physics_judge(&a.physics, &a.findings);
  if (sim->comm->rank == 0) print_findings(&a.findings, options->force, "espalier: ", stderr);
  return refuse_worthless(sim->comm, options, &a.findings, fault);
}

/* Carry out the first soft step, and measure its seconds. resident[3]: the largest resident sets over ranks, so far
 * and now, and pages of files in the latter. Collective. */
static void measure_step(struct sim *sim, struct assessment *assessment, double resident[3])
{
  step_open(sim, &assessment->plan);
  while (step_substeps(sim, &assessment->plan, HUGE_VAL) != STEP_SUBSTEPS_ENDED) continue;
  step_close(sim, &assessment->plan, 1);
  assessment->physics.seconds.soft_step = sim->cost.effort;
  assessment->physics.seconds.per_time = settings_corrected_cost(sim);
  if (assessment->physics.seconds.soft_step > 0)
    assessment->physics.seconds.synchronisation =
        fmin(assessment->physics.seconds.synchronisation, assessment->physics.seconds.soft_step);
  resident[0] = resident_peak();
  resident[1] = resident_now();
  resident[2] = resident_files();
  comm_max_double(sim->comm, &assessment->physics.seconds.soft_step, 1);
  comm_max_double(sim->comm, resident, 3);
}

void assess_print_memory(const struct need_input *in, double measured, double files)
{
  struct memory_need n = need_estimate(in);
  if (measured > 0)
    printf("memory              about %.4g MB per rank, measured in the first soft step\n"
           "                    (%.3g MB of program and libraries)\n",
           measured / 1e6, files / 1e6);
  else
    printf("memory              about %.4g MB per rank, estimated:\n                    %.3g of libraries and buffers, "
           "%.4g of particles and trees, %.4g of "
           "LETs\n",
           need_total(&n) / 1e6, n.fixed / 1e6, n.particles / 1e6, n.lets / 1e6);
}

/* The candidates among schemes, with the memory that they need. */
static void report_choice(const struct sim *sim, const struct need_input *need)
{
  double bytes[2];
  for (int split = 0; split < 2; split++) {
    struct need_input in = *need;
    in.hybrid = split;
    struct memory_need n = need_estimate(&in);
    bytes[split] =
        need->on_device ? need->particles * (sim->be->particle_bytes + split * sim->be->split_bytes) : need_total(&n);
  }
  settings_report_choice(sim, bytes, stdout);
}

/* Measure, judge and print a system that was read. Collective. 0 or -1. */
static int assess_open(struct sim *sim, const struct run_options *options, const struct need_input *need, double target,
                       double *host_bytes, struct fault *fault)
{
  struct assessment a;
  double measured = 0, error = 0, resident[3] = {0};
  int nothing = assess(sim, options, target, &a, fault);
  if (nothing < 0) return -1;
  if (nothing > 0)
    return fault_set(fault, "%.0f particle%s forces that are not finite", sim->now.bad,
                     sim->now.bad == 1 ? " has" : "s have");
  double before, predicted = physics_step_seconds(&a.physics);
  comm_broadcast(sim->comm, &predicted, sizeof predicted);
  if (predicted <= debug_value("check_seconds", STEP_SECONDS)) {
    energies_measure(sim, 1);
    before = energies_total(sim);
    measure_step(sim, &a, resident);
    energies_measure(sim, 1);
    error = fabs((energies_total(sim) - before) / before);
    if (resident[0] > 0 && !need->on_device) measured = need_measured(need, resident[0], resident[1]);
  }
  struct memory_need n = need_estimate(need);
  *host_bytes = measured > 0 ? measured : need_total(&n);
  physics_judge(&a.physics, &a.findings);
  if (sim->comm->rank == 0) {
    assess_print_memory(need, measured, resident[2]);
    report_choice(sim, need);
    settings_report_errors(sim, &a.plan, stdout);
    physics_print(&a.physics, stdout);
    if (sim->masses.massless > 0 && sim->par->ErrTolForceAcc == 0)
      printf("accuracy            Delta = %g by the %.0f particles with mass\n", params_delta(sim->par),
             sim->masses.count);
    if (error > 0) printf("energy              the first soft step changes it by %.2g of its value\n", error);
    print_findings(&a.findings, options->force, "", stdout);
  }
  return refuse_worthless(sim->comm, options, &a.findings, fault);
}

int assess_check(const struct comm *comm, const struct params *par, const struct run_options *options,
                 const struct need_input *need, double target, double *host_bytes, struct fault *fault)
{
  struct sim sim;
  comm_broadcast(comm, &target, sizeof target);
  if (sim_start_silently(&sim, comm, par, fault)) return -1;
  int failed = settings_read_choices(&sim, fault) || assess_open(&sim, options, need, target, host_bytes, fault);
  sim_close(&sim);
  return failed;
}
