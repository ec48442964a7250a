/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Force error against time, for several values of the criterion's parameter. */
#include <config.h>
#include "study/force.h"

#include <math.h>
#include <omp.h>

#include "backend/probe.h"
#include "base/revision.h"
#include "run/start.h"
#include "study/bench.h"
#include "study/probes.h"
#include "study/result_file.h"
#include "scheme/schemes.h"
#include "settings/settings.h"

enum { PROBES = 4096 }; /* particles compared with the direct sum, unless --direct is given */

/* One point of a curve. */
struct point {
  double delta;
  struct probe_errors acc, pot;
  struct bench_times times;
  struct tally walk; /* sums over ranks */
};

static double targets(const struct point *point) { return point->walk.targets > 0 ? (double)point->walk.targets : 1; }
static double milliseconds(const struct point *point, enum phase phase) { return 1e3 * point->times.phase[phase]; }
static double rate(const struct point *point)
{
  double pairs = (double)(point->walk.particle_pairs + point->walk.cell_pairs);
  return point->times.phase[PHASE_walk] > 0 ? pairs / point->times.phase[PHASE_walk] : 0;
}

/* X(name in the file, head on the terminal, its format, value, meaning). */
#define COLUMNS(X)                                                                                                \
  X(median, "median error", "%.3e", point->acc.median, "of the acceleration against the direct sum, relative")    \
  X(most99, "99 %", "%.3e", point->acc.most99, "the 99th percentile")                                             \
  X(worst, "largest", "%.2e", point->acc.worst, "the largest")                                                    \
  X(potential_median, "potential", "%.2e", point->pot.median, "of the potential, the median")                     \
  X(potential_most99, "its 99 %", "%.2e", point->pot.most99, "the 99th percentile")                               \
  X(ms_order, "ms order", "%.3f", milliseconds(point, PHASE_order), "keys, sort")                                 \
  X(ms_build, "build", "%.3f", milliseconds(point, PHASE_build), "links of the tree")                             \
  X(ms_moments, "moments", "%.3f", milliseconds(point, PHASE_moments), "")                                        \
  X(ms_groups, "groups", "%.3f", milliseconds(point, PHASE_groups), "")                                           \
  X(ms_walk, "walk", "%.3f", milliseconds(point, PHASE_walk), "with potential")                                   \
  X(ms_all, "all", "%.3f", 1e3 * point->times.all,                                                                \
    "the whole force, timed separately and without the waits between phases")                                     \
  X(particles, "particles per target", "%.0f", (double)point->walk.particle_pairs / targets(point), "")           \
  X(cells, "cells per target", "%.0f", (double)point->walk.cell_pairs / targets(point), "")                       \
  X(tests, "tests per target", "%.2f", (double)point->walk.tests / targets(point), "of the acceptance criterion") \
  X(rate, "interactions/s", "%.2e", rate(point), "of both kinds, over ms_walk")

/* --- tables ------------------------------------------------------------------------------------------------------ */

static void print_facts(FILE *out, const char *mark, const struct sim *sim, int64_t probes)
{
  const struct params *par = sim->par;
  fprintf(out, "%sparticles          %.0f, %s\n", mark, sim->now.count, par->InitCondFile);
  fprintf(out, "%sranks x threads    %d x %d\n%sbackend            %s\n", mark, sim->comm->size, omp_get_max_threads(),
          mark, sim->be->name);
  fprintf(out, "%sopening criterion  %s; %s cells; leaf %d, group %d; walk: %s\n", mark,
          params_choice("TypeOfOpeningCriterion", par->TypeOfOpeningCriterion),
          params_order(par) == 2 ? "quadrupole" : "monopole", par->MaxLeafSize, par->MaxGroupSize,
          params_choice("WalkMethod", par->WalkMethod));
  fprintf(out, "%ssoftening          %g\n", mark, params_softening(par, NULL));
  if (scheme_split(sim))
    fprintf(out, "%ssplit              R1 = %g, R2 = %g\n", mark, sim->force.split.r1, sim->force.split.r2);
  fprintf(out, "%srevision           %s\n", mark, revision);
  fprintf(out, "%serrors of %lld particles against the direct sum; milliseconds: medians of five after two warm-ups\n",
          mark, (long long)probes);
}

static void print_head(const struct sim *sim, int64_t probes)
{
  print_facts(stdout, "", sim, probes);
  sim->be->probe->describe(stdout);
  printf("\n| %s |", criterion_of(sim->par)->symbol);
#define X(name, head, format, value, meaning) printf(" %s |", head);
  COLUMNS(X)
#undef X
  printf("\n|---|");
#define X(...) printf("---|");
  COLUMNS(X)
#undef X
  printf("\n");
}

static void print_row(const struct sim *sim, const struct point *point)
{
  if (criterion_of(sim->par)->by_power) printf("| 2^%g |", log2(point->delta));
  else printf("| %g |", point->delta);
#define X(name, head, format, value, meaning) printf(" " format " |", value);
  COLUMNS(X)
#undef X
  printf("\n");
  fflush(stdout);
}

static void write_head(FILE *out, const struct sim *sim, int64_t probes)
{
  print_facts(out, "# ", sim, probes);
  fprintf(out, "# columns: delta: %s of the criterion; all: milliseconds\n", criterion_of(sim->par)->symbol);
#define X(name, head, format, value, meaning) \
  if (meaning[0]) fprintf(out, "#   " #name ": " meaning "\n");
  COLUMNS(X)
#undef X
  fprintf(out, "delta");
#define X(name, head, format, value, meaning) fprintf(out, "," #name);
  COLUMNS(X)
#undef X
  fprintf(out, "\n");
}

static void write_row(FILE *out, const struct point *point)
{
  fprintf(out, "%.9g", point->delta);
#define X(name, head, format, value, meaning) fprintf(out, ",%.9g", value);
  COLUMNS(X)
#undef X
  fprintf(out, "\n");
}

/* --- the curve --------------------------------------------------------------------------------------------------- */

static struct point measure(struct sim *sim, struct probes *probes, double delta)
{
  struct point point = {.delta = delta};
  sim->force.mac.delta = delta;
  bench_medians(sim, &point.times);
  probes_take(probes, sim);
  point.acc = probes_errors(probes, PROBE_ACC);
  point.pot = probes_errors(probes, PROBE_POT);
  const struct tally *t = &sim->counts.full;
  int64_t sums[] = {t->targets, t->particle_pairs, t->cell_pairs, t->tests};
  comm_sum_int64(sim->comm, sums, 4);
  point.walk = (struct tally){.targets = sums[0], .particle_pairs = sums[1], .cell_pairs = sums[2], .tests = sums[3]};
  return point;
}

static void all_points(struct sim *sim, const struct force_options *options, FILE *file)
{
  struct probes q;
  int prints = sim->comm->rank == 0;
  settings_first_force(sim);
  probes_open(&q, sim, options->direct > 0 ? options->direct : PROBES);
  if (prints) print_head(sim, q.n);
  if (file) write_head(file, sim, q.n);
  for (int k = 0; k < options->delta_count; k++) {
    double delta = criterion_of(sim->par)->by_power ? exp2(-options->delta[k]) : options->delta[k];
    struct point point = measure(sim, &q, delta);
    if (prints) print_row(sim, &point);
    if (file) write_row(file, &point);
  }
  probes_close(&q);
}

int force_curve(const struct comm *comm, const struct params *par, const struct force_options *options)
{
  struct fault fault = {""};
  struct sim sim;
  struct result_file file = {NULL};
  if (comm->rank == 0) result_open(&file, options->output, options->overwrite, par, &fault);
  if (comm_verdict(comm, &fault) == 0 && sim_start(&sim, comm, par, &fault) == 0) {
    if (comm->rank == 0) result_begin(&file, &fault);
    if (comm_verdict(comm, &fault) == 0) all_points(&sim, options, file.file);
    sim_close(&sim);
  }
  result_close(&file, &fault);
  comm_verdict(comm, &fault);
  comm_print_fault(comm, "error", &fault);
  return fault.text[0] != 0;
}
