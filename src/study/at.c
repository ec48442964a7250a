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
#include "step/expansion.h"
#include "study/result_file.h"
#include "system/same_place.h"
#include "settings/settings.h"

enum { PART = 1024 };   /* points of one direct sum */

/* Points and what was found at them, in the order of the file. The results are complete on rank 0. */
struct field_at {
  struct points points;      /* all of them, on every rank */
  uint64_t first_id;         /* of the particles that stand for them */
  double (*acc)[3], *pot;
};

/* The force on one of these particles, on its way to rank 0. */
struct result {
  uint64_t id;
  double acc[3], pot;
};

/* Rank 0 reads the points, and opens the file for the results. Collective. 0 or -1. */
static int read_points(const struct comm *c, const struct params *par, const struct force_options *o, struct field_at *a,
                       struct result_file *out, struct fault *f)
{
  if (c->rank == 0 && points_read(o->at, &a->points, f) == 0) result_open(out, o->output, o->overwrite, par, f);
  if (comm_verdict(c, f)) return -1;
  comm_broadcast(c, &a->points.n, sizeof a->points.n);
  size_t n = (size_t)a->points.n;
  if (c->rank > 0) a->points.at = memory_alloc("points", sizeof *a->points.at * n);
  comm_broadcast(c, a->points.at, sizeof *a->points.at * n);
  a->acc = memory_alloc("points", sizeof *a->acc * n);
  a->pot = memory_alloc("points", sizeof *a->pot * n);
  return 0;
}

/* Each rank starts with an equal share of the points. Collective. 0, or -1 with nothing open. */
static int open_system(struct sim *s, const struct comm *c, const struct params *par, struct field_at *a, struct fault *f)
{
  int64_t first = a->points.n * c->rank / c->size, end = a->points.n * (c->rank + 1) / c->size;
  struct start_points more = {end - first, (const double(*)[3])(a->points.at + first), &a->first_id};
  return sim_start_with(s, c, par, &more, f);
}

/* Without softening no point may be at the place of a particle. Before: domains. Collective. 0 or -1. */
static int check_places(const struct sim *s, const struct field_at *a, struct fault *f)
{
  double place[3], motion[3];
  struct fault one = {""};
  if (params_softening(s->par, NULL) > 0) return 0;
  sim_shift(s, place, motion);
  if (same_place_check(s->comm, s->be->view(s->dev), place, &one) == 0) return 0;
  return fault_set(f, "%.3500s (particle %llu stands for the first point, and so on)", one.text, (unsigned long long)a->first_id);
}

/* The forces of the tree, gathered on rank 0. Collective. */
static void take_results(const struct sim *s, struct field_at *a)
{
  const struct particles *p = s->be->view(s->dev);
  struct result *mine = memory_alloc("points", sizeof *mine * (size_t)(p->n + 1)), *all;
  size_t n = 0, bytes;
  for (int64_t i = 0; i < p->n; i++) {
    if (p->id[i] < a->first_id) continue;
    mine[n] = (struct result){.id = p->id[i], .pot = p->pot[i]};
    for (int c = 0; c < 3; c++) mine[n].acc[c] = p->acc[3 * i + c];
    n++;
  }
  all = comm_gather_root(s->comm, mine, sizeof *mine * n, &bytes);
  for (size_t k = 0; k < bytes / sizeof *all; k++) {
    memcpy(a->acc[all[k].id - a->first_id], all[k].acc, sizeof *a->acc);
    a->pot[all[k].id - a->first_id] = all[k].pot;
  }
  memory_free(all);
  memory_free(mine);
}

/* Direct sums in double precision. Collective. */
static void sum_directly(struct sim *s, struct field_at *a)
{
  double place[3], motion[3], at[PART][3];
  uint64_t skip[PART];
  sim_shift(s, place, motion);
  expansion_at(s, s->time);
  memset(a->acc, 0, sizeof *a->acc * (size_t)a->points.n);
  memset(a->pot, 0, sizeof *a->pot * (size_t)a->points.n);
  for (int64_t k = 0; k < a->points.n; k += PART) {   /* in parts, between which the watchdog sees progress */
    int n = a->points.n - k < PART ? (int)(a->points.n - k) : PART;
    for (int i = 0; i < n; i++) {
      for (int c = 0; c < 3; c++) at[i][c] = a->points.at[k + i][c] - place[c];
      skip[i] = a->first_id + (uint64_t)(k + i);
    }
    s->be->probe->direct(s->dev, n, (const double(*)[3])at, skip, NULL, NULL, a->acc + k, NULL, a->pot + k);
    comm_sum_double(s->comm, a->acc[k], 3 * n);
    comm_sum_double(s->comm, a->pot + k, n);
    for (int i = 0; i < n; i++) expansion_add_at(s, at[i], a->acc[k + i]);
    watchdog_progress();
  }
}

/* In comoving coordinates those of comoving positions, as in snapshots: forces of a run are a times these. */
static void use_file_units(const struct sim *s, struct field_at *a)
{
  if (!s->expansion.on) return;
  for (int64_t i = 0; i < a->points.n; i++) {
    for (int c = 0; c < 3; c++) a->acc[i][c] /= s->time;
    a->pot[i] /= s->time;
  }
}

static int is_hdf5(const char *name)
{
  const char *end = name ? strrchr(name, '.') : NULL;
  return end && (strcmp(end, ".hdf5") == 0 || strcmp(end, ".h5") == 0);
}

/* Rank 0 writes the results. */
static void write_results(const struct sim *s, const struct force_options *o, const struct field_at *a, struct result_file *r, struct fault *f)
{
  const struct params *par = s->par;
  char method[120] = "direct sums in double precision";
  FILE *out = r->file ? r->file : stdout;
  if (!o->exact)
    snprintf(method, sizeof method, "tree, %s", params_choice("TypeOfOpeningCriterion", par->TypeOfOpeningCriterion));
  if (!o->exact && s->mac.kind == MAC_ACCELERATION) snprintf(method, sizeof method, "tree, acceleration criterion, Delta = %g", s->mac.delta);
  if (result_begin(r, f)) return;
  if (is_hdf5(o->output)) {
    points_write_hdf5(out, &a->points, (const double(*)[3])a->acc, a->pot, s->time, par->InitCondFile, method, f);
    return;
  }
  fprintf(out, "# acceleration and potential of %s at time %.15g; %s; revision %s\n", par->InitCondFile, s->time, method, revision);
  fprintf(out, "x,y,z,acc_x,acc_y,acc_z,potential\n");
  for (int64_t i = 0; i < a->points.n; i++) {
    const double *x = a->points.at[i], *v = a->acc[i];
    int digits = o->exact ? 17 : 9;
    fprintf(out, "%.17g,%.17g,%.17g,%.*g,%.*g,%.*g,%.*g\n", x[0], x[1], x[2], digits, v[0], digits, v[1], digits, v[2], digits, a->pot[i]);
  }
  if (!r->file && fflush(stdout) != 0) fault_set(f, "the results could not be written to the standard output");
}

/* Print what was written, unless the results are on the terminal. */
static void print_summary(const struct sim *s, const struct force_options *o, const struct field_at *a)
{
  const struct tally *t = &s->counts.full;
  if (s->comm->rank != 0 || !o->output) return;
  printf("%lld point%s, %.0f particle%s, %d rank%s, backend %s: %s\n", (long long)a->points.n, plural((double)a->points.n), s->masses.count,
         plural(s->masses.count), s->comm->size, plural(s->comm->size), s->be->name,
         o->exact ? "direct sums in double precision" : "by the tree");
  if (!o->exact && t->targets > 0)
    printf("rank 0: %.1f particles and %.1f cells per target\n", (double)t->particle_pairs / (double)t->targets,
           (double)t->cell_pairs / (double)t->targets);
}

int force_at(const struct comm *c, const struct params *par, const struct force_options *o)
{
  struct fault fault = {""};
  struct field_at a = {.first_id = 0};
  struct result_file out = {.file = NULL};
  struct sim s;
  int open = 0;
  if (read_points(c, par, o, &a, &out, &fault) == 0 && (open = open_system(&s, c, par, &a, &fault) == 0)) {
    if (o->exact || params_softening(s.par, NULL) == 0) sim_arrange(&s, 1);
    if (check_places(&s, &a, &fault) == 0) {
      if (!o->exact) settings_first_force(&s);
      o->exact ? sum_directly(&s, &a) : take_results(&s, &a);
      if (c->rank == 0) use_file_units(&s, &a);
      if (c->rank == 0) write_results(&s, o, &a, &out, &fault);
      comm_verdict(c, &fault);
      if (!fault.text[0]) print_summary(&s, o, &a);
    }
  }
  if (open) sim_close(&s);
  if (c->rank == 0) result_close(&out, &fault);
  int failed = comm_verdict(c, &fault);
  comm_print_fault(c, "error", &fault);
  points_free(&a.points);
  memory_free(a.acc);
  memory_free(a.pot);
  return failed != 0;
}
