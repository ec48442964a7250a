/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/force.h"

#include <math.h>
#include <omp.h>

#include "backend/probe.h"
#include "io/snapshot/snapshot.h"
#include "run/start.h"
#include "study/bench.h"
#include "study/probes.h"
#include "scheme/schemes.h"
#include "settings/settings.h"

static void print_errors(const char *what, const struct probes *probes, enum probe_field field)
{
  struct probe_errors e = probes_errors(probes, field);
  printf("  %-28s median %.3e   99 %% %.3e   maximum %.3e\n", what, e.median, e.most99, e.worst);
}

static void compare(struct sim *sim, int64_t m)
{
  struct probes q;
  probes_open(&q, sim, m);
  if (sim->comm->rank == 0) {
    printf("error against the direct sum, %lld particles\n", (long long)q.n);
    print_errors("total, of |a|", &q, PROBE_ACC);
    if (scheme_split(sim)) print_errors("hard part, of |a|", &q, PROBE_HARD);
    print_errors("potential", &q, PROBE_POT);
  }
  probes_close(&q);
}

/* --- the table --------------------------------------------------------------------------------------------------- */

static const char *opening_name(const struct params *params, char *text, size_t size)
{
  const struct criterion *criterion = criterion_of(params);
  double tolerance = params_tolerance(params, params->TypeOfOpeningCriterion);
  int n = snprintf(text, size, "%s = %g", criterion->title, tolerance);
  if (criterion->by_power) snprintf(text + n, size - (size_t)n, " (2^%.1f)", log2(tolerance));
  return text;
}

static void print_table(const struct sim *sim, const struct tally *tally, const double walked[2],
                        const struct let_traffic *let, const struct bench_times *seconds, int repeats, double ceiling)
{
  char text[96];
  double n = (double)tally->targets;
  printf("particles          %lld\nranks x threads    %d x %d\n", (long long)tally->targets, sim->comm->size,
         omp_get_max_threads());
  printf("backend            %s\n", sim->be->name);
  printf("opening criterion  %s; %s cells; leaf %d, group %d\n", opening_name(sim->par, text, sizeof text),
         params_order(sim->par) == 2 ? "quadrupole" : "monopole", sim->par->MaxLeafSize, sim->par->MaxGroupSize);
  if (scheme_split(sim)) printf("split              R1 = %g, R2 = %g\n", sim->force.split.r1, sim->force.split.r2);
  printf("interactions       %.4g particle pairs, %.4g cell pairs, of both %.4g through the split\n",
         (double)tally->particle_pairs, (double)tally->cell_pairs, (double)tally->split_pairs);
  printf("per particle       %.1f particles, %.1f cells; %.2f acceptance tests; groups of %.1f\n",
         tally->particle_pairs / n, tally->cell_pairs / n, tally->tests / n, n / (double)tally->groups);
  if (sim->comm->size > 1)
    printf("walks              before LETs %.2f ms, then %.2f ms (the slowest ranks)\n", 1e3 * walked[0],
           1e3 * walked[1]);
  if (sim->comm->size > 1)
    printf("LETs received      %.4g cells, %.4g particles; %.4g MB sent\n", (double)let->received.cells,
           (double)let->received.particles, let->bytes / 1e6);
  printf("milliseconds       ");
  for (int p = 0; p < PHASE_COUNT; p++) {
    if (seconds->phase[p] > 1e-6) printf("%s %.2f  ", phase_names[p], 1e3 * seconds->phase[p]);
  }
  printf("all %.2f%s\n", 1e3 * seconds->all, repeats ? "  (medians of five)" : "");
  double pairs = (double)(tally->particle_pairs + tally->cell_pairs), ranks = sim->comm->size;
  printf("interactions/s     %.4g in the walk, %.4g in its pair loops, %.4g in a direct-sum loop: ratio %.2f\n",
         pairs / seconds->phase[PHASE_walk], pairs / tally->evaluating * ranks, ceiling,
         pairs / tally->evaluating * ranks / ceiling);
}

int force(const struct comm *comm, const struct params *par, const struct force_options *options)
{
  struct fault fault = {""};
  struct sim sim;
  struct bench_times seconds;
  struct params own = *par;
  own.Tuning = TUNING_FROZEN; /* tuned parameters must not change between two measurements */
  params_use_walks(&own);     /* whole forces from one walk */
  par = &own;
  if (options->at) return force_at(comm, par, options);
  if (options->delta_count > 0) return force_curve(comm, par, options);
  if (comm->rank == 0 && options->output) check_result(par, options->output, options->overwrite, &fault);
  if (comm_verdict(comm, &fault) || sim_start(&sim, comm, par, &fault)) {
    comm_print_fault(comm, "error", &fault);
    return 1;
  }
  settings_first_force(&sim);
  if (options->bench) bench_medians(&sim, &seconds);
  else bench_once(&sim, 1, &seconds);
  struct tally t = sim.counts.full;
  struct let_traffic let = sim.counts.soft_let;
  int64_t sums[] = {t.targets, t.particle_pairs,   t.cell_pairs,           t.split_pairs, t.tests,
                    t.groups,  let.received.cells, let.received.particles, let.bytes};
  comm_sum_int64(comm, sums, 9);
  double walked[] = {t.local_seconds, t.seconds - t.local_seconds};
  comm_max_double(comm, walked, 2);
  double rates[] = {t.evaluating, sim.be->probe->ceiling(sim.dev)}, ceiling;
  comm_sum_double(comm, rates, 2);
  ceiling = rates[1];
  t = (struct tally){0, sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], rates[0], 0};
  let = (struct let_traffic){.received = {sums[6], sums[7]}, .bytes = sums[8]};
  if (comm->rank == 0) print_table(&sim, &t, walked, &let, &seconds, options->bench, ceiling);
  if (options->direct > 0) compare(&sim, options->direct);
  int status = 0;
  if (options->output) {
    struct snapshot_facts facts = {.params = par,
                                   .time = sim.time,
                                   .gravity = sim.force.gravity,
                                   .extras = SNAPSHOT_ALL,
                                   .files = 1,
                                   .comoving = effects_have(&sim, EFFECT_COMOVING) ? sim.time : 0,
                                   .in_field = effects_have(&sim, EFFECT_IN_FIELD),
                                   .field_moves = effects_have(&sim, EFFECT_ENERGY_CHANGES),
                                   .field_energy = effects_energy(&sim)};
    sim_shift(&sim, facts.place, facts.motion);
    status = snapshot_write(comm, options->output, sim.be->view(sim.dev), &facts, &fault) != 0;
    comm_print_fault(comm, "error", &fault);
  }
  sim_close(&sim);
  return status;
}
