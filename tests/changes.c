/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of masses and velocities between soft steps, by the library: energy, forces, ranks, bad input. With
 * TEST_SAMPLE in the environment: a third of the soft steps in which stars lose mass. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/espalier.h"
#include "tests/tap.h"

enum { STARS = 2000, STEPS = 18 };
static int rank, size;

static void check(int holds, const char *what)
{
  MPI_Allreduce(MPI_IN_PLACE, &holds, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (!holds && rank == 0) printf("# the last error: %s\n", espalier_error());
  if (rank == 0) tap_ok(holds, what);
}

static int failed(int code, int expected, const char *words)
{
  int good = code == expected && strstr(espalier_error(), words);
  if (!good) printf("# expected code %d with '%s', found %d: %s\n", expected, words, code, espalier_error());
  return good;
}

/* A cluster of `count` stars, half of them in binaries; without these where `more`, a setting or NULL, is a
 * softening. */
static espalier *cluster_on(const int *communicator, int64_t count, const char *more)
{
  const char *const options[] = {"mass-function=kroupa", more && strstr(more, "Softening") ? NULL : "binaries=0.5",
                                 NULL};
  const char *const settings[] = {
      "GravityConstantInternal=1", "Softening=0", "Accuracy=1e-6", "Repeatable=on", "Tuning=frozen", more, NULL};
  struct espalier_data *d;
  espalier *sim = NULL;
  if (espalier_model(&d, communicator, "plummer", count, 1, options)) return printf("# %s\n", espalier_error()), NULL;
  struct espalier_particles p = {d->count, d->position, d->velocity, d->mass, d->id, d->type, d->time};
  if (espalier_open(&sim, communicator, NULL, settings, &p)) printf("# %s\n", espalier_error());
  espalier_free(d);
  return sim;
}

static espalier *cluster(int64_t count, const char *more) { return cluster_on(NULL, count, more); }

/* The masses of all particles by their ids, 1 to `count`, on all ranks. Owner: caller. */
static double *masses(espalier *sim, int64_t count)
{
  int64_t n = espalier_count(sim);
  double *mine = calloc((size_t)n + 1, sizeof *mine), *all = calloc((size_t)count + 1, sizeof *all);
  uint64_t *id = calloc((size_t)n + 1, sizeof *id);
  espalier_get(sim, ESPALIER_MASS, mine);
  espalier_get(sim, ESPALIER_ID, id);
  for (int64_t i = 0; i < n; i++) all[id[i]] = mine[i];
  MPI_Allreduce(MPI_IN_PLACE, all, (int)count + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  free(mine);
  free(id);
  return all;
}

static struct espalier_sums sums_of(espalier *sim)
{
  struct espalier_sums sums = {0};
  if (espalier_measure(sim, &sums)) printf("# %s\n", espalier_error());
  return sums;
}

/* Change `count` stars from the id `first` on, every stride-th, by the factor; the last rank names them all. */
static int lose(espalier *sim, int64_t total, int64_t first, int64_t stride, int64_t count, double factor)
{
  double *all = masses(sim, total), *mass = calloc((size_t)count + 1, sizeof *mass);
  uint64_t *id = calloc((size_t)count + 1, sizeof *id);
  for (int64_t k = 0; k < count; k++) {
    id[k] = (uint64_t)(1 + (first + k * stride) % total);
    mass[k] = factor * all[id[k]];
  }
  struct espalier_changes changes = {rank == size - 1 ? count : 0, id, mass, NULL};
  int code = espalier_change(sim, &changes);
  free(all);
  free(mass);
  free(id);
  return code;
}

/* The energy without changes is kept while stars lose mass in each soft step. */
static void check_energy(const char *what, int64_t count, double factor)
{
  espalier *sim = cluster(STARS, NULL);
  struct espalier_sums first = sums_of(sim), last = first;
  double error = 0;
  int good = 1, steps = getenv("TEST_SAMPLE") ? STEPS / 3 : STEPS;
  for (int k = 1; k <= steps; k++) {
    good &= espalier_step(sim, HUGE_VAL) == 0 && lose(sim, STARS, 37 * k, 89, count, factor) == 0;
    if (k % 6 != 0) continue;
    last = sums_of(sim);
    error = fmax(error, fabs((last.total - last.changes - first.total) / first.total));
  }
  if (rank == 0)
    printf("# %s: mass %.6f, energy %.6f, changes %.6f, error %.2e\n", what, last.mass, last.total, last.changes,
           error);
  check(good && error < 1e-6 && last.changes > 1e-4 * steps / STEPS && last.mass < 1, what);
  espalier_close(sim);
}

/* Forces after a change are those of a system with these masses. */
static void check_forces(int64_t count, double factor, const char *what)
{
  espalier *sim = cluster(STARS, NULL);
  espalier_step(sim, HUGE_VAL);
  int good = lose(sim, STARS, 5, 7, count, factor) == 0;
  int64_t n = espalier_count(sim);
  double *x = calloc(3 * (size_t)n + 1, sizeof *x), *a = calloc(3 * (size_t)n + 1, sizeof *a),
         *b = calloc(3 * (size_t)n + 1, sizeof *b), *pot = calloc((size_t)n + 1, sizeof *pot),
         *phi = calloc((size_t)n + 1, sizeof *phi), sum[2] = {0}, worst = 0;
  espalier_get(sim, ESPALIER_POSITION, x);
  good &= espalier_get(sim, ESPALIER_ACCELERATION, a) == 0 && espalier_get(sim, ESPALIER_POTENTIAL, pot) == 0 &&
          espalier_field_at(sim, n, x, 1, b, phi) == 0;
  for (int64_t i = 0; i < n; i++) {
    double d2 = 0, b2 = 0;
    for (int c = 0; c < 3; c++) d2 += pow(a[3 * i + c] - b[3 * i + c], 2);
    for (int c = 0; c < 3; c++) b2 += pow(b[3 * i + c], 2);
    sum[0] += sqrt(d2 / b2);
    sum[1]++;
    worst = fmax(worst, fabs(pot[i] / phi[i] - 1));
  }
  MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("# %s: accelerations differ by %.1e, potentials by %.1e\n", what, sum[0] / sum[1], worst);
  check(good && sum[0] / sum[1] < 1e-3 && worst < 1e-3, what);
  free(x);
  free(a);
  free(b);
  free(pot);
  free(phi);
  espalier_close(sim);
}

/* One star of few changes, on more ranks than changes; kicks, and the sums of all particles. */
static void check_kick(void)
{
  espalier *sim = cluster(STARS, NULL);
  struct espalier_sums before, after;
  double *all = masses(sim, STARS);
  const uint64_t id[] = {7};
  const double kick[] = {0.5, -0.25, 0.125};
  struct espalier_changes changes = {rank == 0, id, NULL, kick};
  espalier_step(sim, HUGE_VAL);
  before = sums_of(sim);
  int good = espalier_change(sim, &changes) == 0;
  after = sums_of(sim);
  double work = after.kinetic - before.kinetic;
  if (rank == 0)
    printf("# kick: momentum %.3e, work %.9g, changes %.9g, total %.3e\n",
           after.momentum[0] - before.momentum[0] - 0.5 * all[7], work, after.changes,
           after.total - before.total - work);
  check(good && fabs(after.momentum[0] - before.momentum[0] - 0.5 * all[7]) < 1e-9 &&
            fabs(after.changes - work) < 1e-12 && fabs(after.total - before.total - work) < 1e-6,
        "a kick: momentum and energy");
  const double mass[] = {2 * all[7]};
  struct espalier_changes heavier = {rank == 0, id, mass, NULL};
  good = espalier_change(sim, &heavier) == 0;
  before = sums_of(sim);
  if (rank == 0)
    printf("# mass: %.3e, changes %.9g, error %.3e\n", before.mass - after.mass - all[7],
           before.changes - after.changes, (before.total - before.changes) - (after.total - after.changes));
  check(good && fabs(before.mass - after.mass - all[7]) < 1e-6 &&
            fabs((before.total - before.changes) - (after.total - after.changes)) < 3e-6,
        "a larger mass");
  const double none[] = {0}, again[] = {all[7]};
  struct espalier_changes massless = {rank == 0, id, none, NULL}, back = {rank == 0, id, again, NULL};
  good = espalier_change(sim, &massless) == 0 && espalier_step(sim, HUGE_VAL) == 0;
  after = sums_of(sim);
  check(good && fabs(before.mass - after.mass - 2 * all[7]) < 1e-6 &&
            fabs((before.total - before.changes) - (after.total - after.changes)) < 1e-5,
        "a mass of 0");
  check(espalier_change(sim, &back) == 0 && espalier_evolve(sim, espalier_time(sim) + 0.01, NULL, NULL) == 0 &&
            fabs(sums_of(sim).mass - after.mass - all[7]) < 1e-6,
        "and a mass again");
  free(all);
  espalier_close(sim);
}

static void check_bad(void)
{
  espalier *sim = cluster(100, NULL);
  struct espalier_sums before = sums_of(sim), after;
  uint64_t id[] = {3, 5}, unknown[] = {3, 4711};
  double mass[] = {0.01, 0.01}, wrong[] = {0.01, -1}, odd[] = {NAN, 0.01}, kick[] = {0, 0, 0, 0, INFINITY, 0};
  double *nothing = calloc(100, sizeof *nothing);
  uint64_t *every = calloc(100, sizeof *every);
  for (uint64_t k = 0; k < 100; k++) every[k] = k + 1;
  int one = rank == size - 1;
  const struct espalier_changes twice = {size > 1 || rank == 0 ? 2 : 0, size > 1 ? id : (uint64_t[]){3, 3}, mass, NULL};
  check(failed(espalier_change(sim, NULL), ESPALIER_BAD_ARGUMENT, "espalier_changes"), "no changes at all");
  check(failed(espalier_change(sim, &(struct espalier_changes){-1, id, mass, NULL}), ESPALIER_BAD_ARGUMENT, "count"),
        "a count below 0");
  check(failed(espalier_change(sim, &(struct espalier_changes){1, NULL, mass, NULL}), ESPALIER_BAD_ARGUMENT, "ids") &&
            failed(espalier_change(sim, &(struct espalier_changes){1, id, NULL, NULL}), ESPALIER_BAD_ARGUMENT,
                   "masses or kicks"),
        "no ids, and nothing to change");
  check(failed(espalier_change(sim, &twice), ESPALIER_BAD_PARTICLES, "the id 3 is named twice"), "an id twice");
  check(failed(espalier_change(sim, &(struct espalier_changes){one ? 2 : 0, unknown, mass, NULL}),
               ESPALIER_BAD_PARTICLES, "no particle has the id 4711"),
        "an unknown id");
  check(failed(espalier_change(sim, &(struct espalier_changes){one ? 2 : 0, id, wrong, NULL}), ESPALIER_BAD_PARTICLES,
               "id 5: expected a mass from 0 to 1e+36, found -1"),
        "a negative mass");
  check(failed(espalier_change(sim, &(struct espalier_changes){one ? 2 : 0, id, odd, NULL}), ESPALIER_BAD_PARTICLES,
               "id 3"),
        "a mass that is not a number");
  check(failed(espalier_change(sim, &(struct espalier_changes){one ? 2 : 0, id, NULL, kick}), ESPALIER_BAD_PARTICLES,
               "id 5: expected a kick"),
        "a kick that is not finite");
  check(failed(espalier_change(sim, &(struct espalier_changes){one ? 100 : 0, every, nothing, NULL}),
               ESPALIER_BAD_PARTICLES, "no particle would have a mass"),
        "no mass is left");
  after = sums_of(sim);
  check(after.changes == 0 && after.mass == before.mass && after.total == before.total &&
            espalier_change(sim, &(struct espalier_changes){0, NULL, NULL, NULL}) == 0,
        "nothing was changed, and nothing is to be");
  free(nothing);
  free(every);
  espalier_close(sim);
}

/* What is changed does not depend on the ranks: the same on all of them, and in a system of each rank. */
static void check_ranks(void)
{
  int self = (int)MPI_Comm_c2f(MPI_COMM_SELF), good = 1;
  espalier *sim = cluster_on(NULL, 1000, NULL), *own = cluster_on(&self, 1000, NULL);
  double *all = masses(sim, 1000), mass[8], kick[24];
  uint64_t id[8];
  for (int k = 0; k < 8; k++) {
    id[k] = (uint64_t)(1 + 131 * k);
    mass[k] = all[id[k]] * (k % 5 ? 0.999 : 0.5);
    for (int c = 0; c < 3; c++) kick[3 * k + c] = k % 4 ? 0 : 0.01 * (c + 1);
  }
  const struct espalier_changes world = {rank == size - 1 ? 8 : 0, id, mass, kick}, here = {8, id, mass, kick};
  good = espalier_change(sim, &world) == 0 && espalier_change(own, &here) == 0;
  double a = sums_of(sim).changes, b = sums_of(own).changes;
  if (rank == 0) printf("# energy of changes %.15g, on one rank %.15g\n", a, b);
  check(good && fabs(a / b - 1) < 1e-12, "the energy of changes on several ranks and on one");
  for (int k = 0; k < 3; k++)
    good &= espalier_step(sim, 0.01 * (k + 1)) == 0 && espalier_step(own, 0.01 * (k + 1)) == 0;
  for (int k = 0; k < 8; k++) mass[k] *= 0.99;
  good &= espalier_change(sim, &world) == 0 && espalier_change(own, &here) == 0;
  struct espalier_sums p = sums_of(sim), q = sums_of(own);
  if (rank == 0)
    printf("# after soft steps %.15g and %.15g, total %.15g and %.15g\n", p.changes, q.changes, p.total, q.total);
  check(good && fabs(p.changes / q.changes - 1) < 1e-6 && fabs(p.mass - q.mass) < 1e-12 &&
            fabs(p.total / q.total - 1) < 1e-6,
        "and after soft steps");
  free(all);
  espalier_close(sim);
  espalier_close(own);
}

/* A system of STARS after changes, in which soft forces have all of them but the last ones, to a file. 0 or a code. */
static int save_changed(const char *path, struct espalier_sums *first, struct espalier_sums *last)
{
  espalier *sim = cluster(STARS, NULL);
  *first = sums_of(sim);
  int code = espalier_step(sim, HUGE_VAL);
  code |= lose(sim, STARS, 3, 11, 20, 0.9);
  code |= espalier_step(sim, HUGE_VAL);
  code |= lose(sim, STARS, 5, 11, 20, 1 - 1e-3);
  *last = sums_of(sim);
  code |= espalier_save(sim, path);
  espalier_close(sim);
  return code;
}

/* A simulation goes on from a snapshot on the ranks of a communicator, with the energy of changes, to its bits, and
 * without a jump of the error. */
static int goes_on(const int *communicator, const char *path, const struct espalier_sums *first,
                   const struct espalier_sums *last)
{
  const char *const settings[] = {"GravityConstantInternal=1", "Softening=0", "Accuracy=1e-6", NULL};
  espalier *sim = NULL;
  uint64_t id[20];
  double mass[20];
  for (int k = 0; k < 20; k++) {
    id[k] = (uint64_t)(7 + 11 * k);
    mass[k] = 1.0 / STARS;
  }
  const struct espalier_changes changes = {communicator || rank == size - 1 ? 20 : 0, id, mass, NULL};
  if (espalier_open_file(&sim, communicator, NULL, settings, path)) return 0;
  struct espalier_sums opened = sums_of(sim);
  int good = 1;
  for (int k = 0; k < 3; k++) good &= espalier_step(sim, HUGE_VAL) == 0;
  struct espalier_sums later = sums_of(sim);
  good &= espalier_change(sim, &changes) == 0;
  struct espalier_sums more = sums_of(sim);
  double error = fabs((more.total - more.changes - first->total) / first->total);
  if (rank == 0)
    printf("# changes %.9g, in the file %.9g, later %.9g, then %.9g; total %.1e off; error %.1e\n", last->changes,
           opened.changes, later.changes, more.changes, opened.total - last->total, error);
  espalier_close(sim);
  return good && last->changes > 1e-4 && opened.changes == last->changes && later.changes == last->changes &&
         fabs(more.changes - later.changes) > 1e-5 && fabs(opened.total - last->total) < 1e-6 && error < 2e-6;
}

static void check_file(void)
{
  const char *path = "changes-test.hdf5";
  int self = (int)MPI_Comm_c2f(MPI_COMM_SELF);
  struct espalier_sums first, last;
  check(save_changed(path, &first, &last) == 0 && goes_on(NULL, path, &first, &last),
        "a snapshot keeps the energy of changes, and a simulation from it goes on with it");
  MPI_Barrier(MPI_COMM_WORLD);
  check(goes_on(&self, path, &first, &last), "on another number of ranks too");
  if (rank == 0) remove(path);
}

/* In an external potential, and with steps of trees, whose forces are computed again. */
static void check_others(void)
{
  static const char *const settings[] = {"Softening=0.01", "Potential1=plummer mass=2 scale=1"};
  for (int k = 0; k < 2; k++) {
    espalier *sim = cluster(STARS, settings[k]), *alone = cluster(STARS, settings[k]);
    struct espalier_sums before = sums_of(sim), after;
    int good = 1;
    for (int l = 0; l < 5 && good; l++)
      good = lose(sim, STARS, 5 * l, 13, 30, 0.8) == 0 && espalier_step(sim, HUGE_VAL) == 0 &&
             espalier_step(alone, HUGE_VAL) == 0;
    after = sums_of(sim);
    double error = fabs((after.total - after.changes - before.total) / before.total),
           own = fabs(sums_of(alone).total / before.total - 1);
    if (rank == 0) printf("# %s: changes %.6f, error %.1e (%.1e)\n", settings[k], after.changes, error, own);
    check(good && after.changes != 0 && error < 1e-5 + own, settings[k]);
    espalier_close(sim);
    espalier_close(alone);
  }
}

int main(int argc, char **argv)
{
  int threads;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) { /* a file for a script */
    struct espalier_sums first, last;
    int code = save_changed(argv[1], &first, &last);
    if (rank == 0) printf("%.17g %.17g\n", last.changes, last.total);
    MPI_Finalize();
    return code != 0;
  }
  check_bad();
  check_ranks();
  check_kick();
  check_forces(1, 0.5, "forces after the change of one mass");
  check_forces(STARS / 100, 1 - 1e-3, "after small changes");
  check_forces(STARS, 0.7, "after changes of all");
  check_energy("one star in each step", 1, 0.9);
  check_energy("small changes of a hundredth", STARS / 100, 1 - 1e-3);
  check_energy("large ones", STARS / 100, 0.8);
  check_energy("changes of all stars", STARS, 1 - 1e-3);
  check_file();
  check_others();
  MPI_Finalize();
  return rank == 0 ? tap_end() : 0;
}
