/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/force.h"

#include <string.h>

#include "backend/probe.h"
#include "base/memory.h"
#include "base/revision.h"
#include "base/watchdog.h"
#include "io/input/points.h"
#include "run/start.h"
#include "step/effects.h"
#include "study/result_file.h"
#include "system/same_place.h"
#include "settings/settings.h"

enum { PART = 1024 }; /* points of one direct sum */

/* Points and what was found at them, in the order of the file. The results are complete on rank 0. */
struct field_at {
  struct points points; /* all of them, on every rank */
  uint64_t first_id;    /* of the particles that stand for them */
  double (*acc)[3], *pot;
};

/* The force on one of these particles, on its way to rank 0. */
struct result {
  uint64_t id;
  double acc[3], pot;
};

/* Rank 0 reads the points, and opens the file for the results. Collective. 0 or -1. */
static int read_points(const struct comm *comm, const struct params *par, const struct force_options *options,
                       struct field_at *field_at, struct result_file *out, struct fault *fault)
{
  if (comm->rank == 0 && points_read(options->at, &field_at->points, fault) == 0)
    result_open(out, options->output, options->overwrite, par, fault);
  if (comm_verdict(comm, fault)) return -1;
  comm_broadcast(comm, &field_at->points.n, sizeof field_at->points.n);
  size_t n = (size_t)field_at->points.n;
  if (comm->rank > 0) field_at->points.at = memory_alloc("points", sizeof *field_at->points.at * n);
  comm_broadcast(comm, field_at->points.at, sizeof *field_at->points.at * n);
  field_at->acc = memory_alloc("points", sizeof *field_at->acc * n);
  field_at->pot = memory_alloc("points", sizeof *field_at->pot * n);
  return 0;
}

/* Each rank starts with an equal share of the points. Collective. 0, or -1 with nothing open. */
static int open_system(struct sim *sim, const struct comm *comm, const struct params *par, struct field_at *field_at,
                       struct fault *fault)
{
  int64_t first = field_at->points.n * comm->rank / comm->size,
          end = field_at->points.n * (comm->rank + 1) / comm->size;
  struct start_points more = {end - first, (const double(*)[3])(field_at->points.at + first), &field_at->first_id};
  return sim_start_with(sim, comm, par, &more, fault);
}

/* Without softening no point may be at the place of a particle. Before: domains. Collective. 0 or -1. */
static int check_places(const struct sim *sim, const struct field_at *field_at, struct fault *fault)
{
  double place[3], motion[3];
  struct fault one = {""};
  if (params_softening(sim->par, NULL) > 0) return 0;
  sim_shift(sim, place, motion);
  if (same_place_check(sim->comm, sim->be->view(sim->dev), place, &one) == 0) return 0;
  return fault_set(fault, "%.3500s (particle %llu stands for the first point, and so on)", one.text,
                   (unsigned long long)field_at->first_id);
}

/* The forces of the tree, gathered on rank 0. Collective. */
static void take_results(const struct sim *sim, struct field_at *field_at)
{
  const struct particles *p = sim->be->view(sim->dev);
  struct result *mine = memory_alloc("points", sizeof *mine * (size_t)(p->n + 1)), *all;
  size_t n = 0, bytes;
  for (int64_t i = 0; i < p->n; i++) {
    if (p->id[i] < field_at->first_id) continue;
    mine[n] = (struct result){.id = p->id[i], .pot = p->pot[i]};
    for (int c = 0; c < 3; c++) mine[n].acc[c] = p->acc[3 * i + c];
    n++;
  }
  all = comm_gather_root(sim->comm, mine, sizeof *mine * n, &bytes);
  for (size_t k = 0; k < bytes / sizeof *all; k++) {
    memcpy(field_at->acc[all[k].id - field_at->first_id], all[k].acc, sizeof *field_at->acc);
    field_at->pot[all[k].id - field_at->first_id] = all[k].pot;
  }
  memory_free(all);
  memory_free(mine);
}

/* Direct sums in double precision. Collective. */
static void sum_directly(struct sim *sim, struct field_at *field_at)
{
  double place[3], motion[3], at[PART][3];
  uint64_t skip[PART];
  sim_shift(sim, place, motion);
  effects_at(sim, sim->time);
  memset(field_at->acc, 0, sizeof *field_at->acc * (size_t)field_at->points.n);
  memset(field_at->pot, 0, sizeof *field_at->pot * (size_t)field_at->points.n);
  for (int64_t k = 0; k < field_at->points.n; k += PART) { /* in parts, between which the watchdog sees progress */
    int n = field_at->points.n - k < PART ? (int)(field_at->points.n - k) : PART;
    for (int i = 0; i < n; i++) {
      for (int c = 0; c < 3; c++) at[i][c] = field_at->points.at[k + i][c] - place[c];
      skip[i] = field_at->first_id + (uint64_t)(k + i);
    }
    sim->be->probe->direct(sim->dev, n, (const double(*)[3])at, skip, NULL, NULL, field_at->acc + k, NULL,
                           field_at->pot + k);
    comm_sum_double(sim->comm, field_at->acc[k], 3 * n);
    comm_sum_double(sim->comm, field_at->pot + k, n);
    for (int i = 0; i < n; i++) effects_add_at(sim, at[i], field_at->acc[k + i]);
    watchdog_progress();
  }
}

/* In comoving coordinates those of comoving positions, as in snapshots: forces of a run are a times these. */
static void use_file_units(const struct sim *sim, struct field_at *field_at)
{
  if (!effects_have(sim, EFFECT_COMOVING)) return;
  for (int64_t i = 0; i < field_at->points.n; i++) {
    for (int c = 0; c < 3; c++) field_at->acc[i][c] /= sim->time;
    field_at->pot[i] /= sim->time;
  }
}

static int is_hdf5(const char *name)
{
  const char *end = name ? strrchr(name, '.') : NULL;
  return end && (strcmp(end, ".hdf5") == 0 || strcmp(end, ".h5") == 0);
}

/* Rank 0 writes the results. */
static void write_results(const struct sim *sim, const struct force_options *options, const struct field_at *field_at,
                          struct result_file *file, struct fault *fault)
{
  const struct params *par = sim->par;
  char method[120] = "direct sums in double precision";
  FILE *out = file->file ? file->file : stdout;
  const struct criterion *criterion = criterion_of(par);
  if (!options->exact) snprintf(method, sizeof method, "tree, %s", criterion->name);
  if (!options->exact && criterion->by_power)
    snprintf(method, sizeof method, "tree, %s criterion, %s = %g", criterion->name, criterion->symbol,
             sim->force.mac.delta);
  if (result_begin(file, fault)) return;
  if (is_hdf5(options->output)) {
    points_write_hdf5(out, &field_at->points, (const double(*)[3])field_at->acc, field_at->pot, sim->time,
                      par->InitCondFile, method, fault);
    return;
  }
  fprintf(out, "# acceleration and potential of %s at time %.15g; %s; revision %s\n", par->InitCondFile, sim->time,
          method, revision);
  fprintf(out, "x,y,z,acc_x,acc_y,acc_z,potential\n");
  for (int64_t i = 0; i < field_at->points.n; i++) {
    const double *x = field_at->points.at[i], *v = field_at->acc[i];
    int digits = options->exact ? 17 : 9;
    fprintf(out, "%.17g,%.17g,%.17g,%.*g,%.*g,%.*g,%.*g\n", x[0], x[1], x[2], digits, v[0], digits, v[1], digits, v[2],
            digits, field_at->pot[i]);
  }
  if (!file->file && fflush(stdout) != 0) fault_set(fault, "the results could not be written to the standard output");
}

/* Print what was written, unless the results are on the terminal. */
static void print_summary(const struct sim *sim, const struct force_options *options, const struct field_at *field_at)
{
  const struct tally *t = &sim->counts.full;
  if (sim->comm->rank != 0 || !options->output) return;
  printf("%lld point%s, %.0f particle%s, %d rank%s, backend %s: %s\n", (long long)field_at->points.n,
         plural((double)field_at->points.n), sim->masses.count, plural(sim->masses.count), sim->comm->size,
         plural(sim->comm->size), sim->be->name, options->exact ? "direct sums in double precision" : "by the tree");
  if (!options->exact && t->targets > 0)
    printf("rank 0: %.1f particles and %.1f cells per target\n", (double)t->particle_pairs / (double)t->targets,
           (double)t->cell_pairs / (double)t->targets);
}

int force_at(const struct comm *comm, const struct params *par, const struct force_options *options)
{
  struct fault fault = {""};
  struct field_at a = {.first_id = 0};
  struct result_file out = {.file = NULL};
  struct sim sim;
  int open = 0;
  if (read_points(comm, par, options, &a, &out, &fault) == 0 &&
      (open = open_system(&sim, comm, par, &a, &fault) == 0)) {
    if (options->exact || params_softening(sim.par, NULL) == 0) sim_arrange(&sim, 1);
    if (check_places(&sim, &a, &fault) == 0) {
      if (!options->exact) settings_first_force(&sim);
      options->exact ? sum_directly(&sim, &a) : take_results(&sim, &a);
      if (comm->rank == 0) use_file_units(&sim, &a);
      if (comm->rank == 0) write_results(&sim, options, &a, &out, &fault);
      comm_verdict(comm, &fault);
      if (!fault.text[0]) print_summary(&sim, options, &a);
    }
  }
  if (open) sim_close(&sim);
  if (comm->rank == 0) result_close(&out, &fault);
  int failed = comm_verdict(comm, &fault);
  comm_print_fault(comm, "error", &fault);
  points_free(&a.points);
  memory_free(a.acc);
  memory_free(a.pot);
  return failed != 0;
}
