/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libespalier, by its header and its shared library alone. */
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/espalier.h"
#include "tests/tap.h"

enum { PARTICLES = 1000 };
static int rank, size;

static void check(int holds, const char *what)
{
  MPI_Allreduce(MPI_IN_PLACE, &holds, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (!holds && rank == 0) printf("# the last error: %s\n", espalier_error());
  if (rank == 0) tap_ok(holds, what);
}

static const char *const settings[] = {"GravityConstantInternal=1", "Softening=0.05", "Tuning=frozen", "Repeatable=on",
                                       NULL};

static struct espalier_particles given_by(const struct espalier_data *data)
{
  return (struct espalier_particles){data->count, data->position, data->velocity, data->mass,
                                     data->id,    data->type,     data->time};
}

static espalier *opened(const struct espalier_data *data, const char *text)
{
  espalier *sim;
  struct espalier_particles p = given_by(data);
  return espalier_open(&sim, NULL, text, settings, &p) ? NULL : sim;
}

static double *field(espalier *sim, enum espalier_field which)
{
  double *x = calloc(3 * (size_t)espalier_count(sim) + 1, sizeof *x);
  if (espalier_get(sim, which, x)) check(0, "a field");
  return x;
}

/* Whether the call failed with this code, and a sentence that has these words. */
static int failed(int code, int expected, const char *words)
{
  int good = code == expected && strstr(espalier_error(), words);
  if (!good) printf("# expected code %d with '%s', found %d: %s\n", expected, words, code, espalier_error());
  return good;
}

static void check_parameters(const struct espalier_data *data)
{
  espalier *sim;
  struct espalier_particles p = given_by(data);
  const char *const unknown[] = {"Softning=0.1", NULL}, *const wrong[] = {"Gravity:Softening=wide", NULL},
                    *const odd[] = {"Softening", NULL};
  check(failed(espalier_open(&sim, NULL, NULL, unknown, &p), ESPALIER_BAD_PARAMETER, "did you mean 'Softening'") &&
            !sim,
        "an unknown parameter");
  check(failed(espalier_open(&sim, NULL, NULL, wrong, &p), ESPALIER_BAD_PARAMETER, "found 'wide'"),
        "a value that is no number");
  check(failed(espalier_open(&sim, NULL, NULL, odd, &p), ESPALIER_BAD_PARAMETER, "Name=value"),
        "a setting without a value");
  check(failed(espalier_open(&sim, NULL, "[Gravity]\nSoftening = 1\nEtta = 3\n", NULL, &p), ESPALIER_BAD_PARAMETER,
               "parameters:3"),
        "a fault in a text names its line");
  check(failed(espalier_open(&sim, NULL, "[Gravity]\nSoftening = 0\n[Steps]\nIntegrator = leapfrog\n", NULL, &p),
               ESPALIER_BAD_PARAMETER, "Softening"),
        "rules between parameters");
  const char *const given[] = {"Softening=0", "Steps:Integrator=leapfrog", NULL};
  check(failed(espalier_open(&sim, NULL, NULL, given, &p), ESPALIER_BAD_PARAMETER, "Integrator = hermite or"),
        "settings count as given");
  const char *const softless[] = {"Softening=0", "GravityConstantInternal=1", NULL};
  const char *const colliding[] = {"Softening=0", "GravityConstantInternal=1", "Action=merge",
                                   "Radius=1e-6", "Collisions:Mass=1",         NULL};
  char integrator[64] = "";
  int opened = espalier_open(&sim, NULL, NULL, softless, &p) == ESPALIER_OK;
  if (opened) espalier_parameter(sim, "Integrator", integrator, sizeof integrator);
  if (opened) espalier_close(sim);
  check(opened && strcmp(integrator, "hermite") == 0, "without a softening hermite is chosen");
  check(failed(espalier_open(&sim, NULL, NULL, colliding, &p), ESPALIER_BAD_PARAMETER, "Action = merge") && !sim,
        "collisions of stars");
  check(failed(espalier_open_file(&sim, NULL, NULL, settings, "absent.hdf5"), ESPALIER_BAD_FILE, "absent.hdf5") && !sim,
        "a file that is not there");
  check(failed(espalier_open_file(&sim, NULL, NULL, settings, NULL), ESPALIER_BAD_PARAMETER, "InitCondFile"),
        "no file at all");
}

static void check_particles(const struct espalier_data *data)
{
  espalier *sim;
  struct espalier_particles p = given_by(data), none = {.count = 0};
  double *x = data->position, *m = data->mass, kept;
  check(failed(espalier_open(&sim, NULL, NULL, settings, NULL), ESPALIER_BAD_ARGUMENT, "count"), "no particles at all");
  check(failed(espalier_open(&sim, NULL, NULL, settings, &none), ESPALIER_BAD_PARTICLES, "particles"),
        "none on any rank");
  check(failed(espalier_open(NULL, NULL, NULL, settings, &p), ESPALIER_BAD_ARGUMENT, "NULL"),
        "no place for the simulation");
  kept = x[4];
  x[4] = NAN;
  check(failed(espalier_open(&sim, NULL, NULL, settings, &p), ESPALIER_BAD_PARTICLES, "finite"),
        "a position that is not finite");
  x[4] = kept;
  kept = m[2];
  m[2] = -1;
  check(failed(espalier_open(&sim, NULL, NULL, settings, &p), ESPALIER_BAD_PARTICLES, "mass -1"), "a negative mass");
  m[2] = 1e200;
  check(failed(espalier_open(&sim, NULL, NULL, settings, &p), ESPALIER_BAD_PARTICLES, "single precision"),
        "a mass beyond float32");
  m[2] = kept;
  uint64_t id = data->id[1];
  data->id[1] = data->id[0];
  check(failed(espalier_open(&sim, NULL, NULL, settings, &p), ESPALIER_BAD_PARTICLES, "id"), "an id that occurs twice");
  data->id[1] = id;
  data->type[1] = 6;
  check(failed(espalier_open(&sim, NULL, NULL, settings, &p), ESPALIER_BAD_PARTICLES, "type 6"), "an unknown type");
  data->type[1] = 1;
  p.position = NULL;
  check(failed(espalier_open(&sim, NULL, NULL, settings, &p), ESPALIER_BAD_ARGUMENT, "positions"), "no positions");
}

static void check_models(void)
{
  struct espalier_data *d;
  const char *const odd[] = {"w=3", NULL}, *const other[] = {"w0=3", NULL}, *const no_file[] = {NULL};
  check(failed(espalier_model(&d, NULL, "plumer", 10, 1, NULL), ESPALIER_BAD_ARGUMENT, "did you mean 'plummer'") && !d,
        "an unknown model");
  check(failed(espalier_model(&d, NULL, "king", 10, 1, odd), ESPALIER_BAD_ARGUMENT, "unknown option 'w'"),
        "an unknown option");
  check(failed(espalier_model(&d, NULL, "plummer", 10, 1, other), ESPALIER_BAD_ARGUMENT, "belongs to model king"),
        "an option of another model");
  check(failed(espalier_model(&d, NULL, "king", 0, 1, NULL), ESPALIER_BAD_ARGUMENT, "number of particles"),
        "a model without particles");
  check(failed(espalier_model(&d, NULL, "galaxy", 0, 1, no_file), ESPALIER_BAD_ARGUMENT, "file=MODEL.ini"),
        "a galaxy without a model file");
  check(failed(espalier_read(&d, NULL, "absent.hdf5"), ESPALIER_BAD_FILE, "absent.hdf5"),
        "a file to read that is not there");
  check(espalier_model(&d, NULL, "king", 500, 3, other) == 0 && d->gravity == 1, "King's model");
  espalier_free(d);
}

/* Mean over all ranks of |a - b| / |b|, vectors [n]. */
static double difference(const double *a, const double *b, int64_t n)
{
  double sum[2] = {0, (double)n};
  for (int64_t i = 0; i < n; i++) {
    const double *x = a + 3 * i, *y = b + 3 * i;
    sum[0] += sqrt((pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2)) /
                   (y[0] * y[0] + y[1] * y[1] + y[2] * y[2]));
  }
  MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum[0] / sum[1];
}

static void check_forces(espalier *sim)
{
  int64_t n = espalier_count(sim);
  double *x = field(sim, ESPALIER_POSITION), *a = field(sim, ESPALIER_ACCELERATION),
         *pot = field(sim, ESPALIER_POTENTIAL);
  double *m = field(sim, ESPALIER_MASS), *b = calloc(3 * (size_t)n + 1, sizeof *b),
         *p = calloc((size_t)n + 1, sizeof *p), worst = 0, *c, *q;
  check(espalier_field_at(sim, n, x, 1, b, p) == 0 && difference(a, b, n) < 3e-3,
        "accelerations are those of direct sums");
  /* without self energy */
  for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(pot[i] / (p[i] + m[i] / 0.05) - 1));
  check(worst < 1e-2, "potentials are those of direct sums");
  for (int64_t i = 0; i < 3 * n; i++) x[i] *= 1.5;
  c = calloc(3 * (size_t)n + 1, sizeof *c);
  q = calloc((size_t)n + 1, sizeof *q);
  check(espalier_field_at(sim, n, x, 1, b, p) == 0 && espalier_field_at(sim, n, x, 0, c, q) == 0 &&
            difference(c, b, n) < 3e-3,
        "accelerations at points, by the tree and by direct sums");
  check(espalier_field_at(sim, rank == 0 ? 1 : 0, (const double[]){1, 0, NAN}, 0, NULL, NULL) == ESPALIER_BAD_ARGUMENT,
        "a point that is not finite");
  check(espalier_field_at(sim, 0, NULL, 0, NULL, NULL) == ESPALIER_OK, "no points");
  free(x);
  free(a);
  free(pot);
  free(m);
  free(b);
  free(p);
  free(c);
  free(q);
}

static int ascending(espalier *sim)
{
  int64_t n = espalier_count(sim);
  uint64_t *id = calloc((size_t)n + 1, sizeof *id);
  int good = espalier_get(sim, ESPALIER_ID, id) == 0;
  for (int64_t i = 1; i < n; i++) good = good && id[i] > id[i - 1];
  free(id);
  return good;
}

static int stops_at_third(espalier *sim, void *data)
{
  (void)sim;
  return ++*(int *)data == 3;
}

static void check_steps(espalier *sim)
{
  struct espalier_sums first, last;
  int calls = 0;
  check(espalier_measure(sim, &first) == 0 && fabs(first.total + 0.25) < 0.05 && first.count == PARTICLES &&
            fabs(first.mass - 1) < 1e-6,
        "sums at the start");
  check(espalier_evolve(sim, 0.25, NULL, NULL) == 0 && espalier_time(sim) == 0.25 && espalier_steps(sim) > 1,
        "a time is reached exactly");
  check(espalier_measure(sim, &last) == 0 && fabs(last.total / first.total - 1) < 1e-4, "the energy is kept");
  double moved = 0, turned = 0;
  for (int c = 0; c < 3; c++) {
    moved += fabs(last.momentum[c] - first.momentum[c]);
    turned += fabs(last.angular_momentum[c] - first.angular_momentum[c]);
  }
  check(moved < 1e-4 && turned < 1e-4, "momentum and angular momentum are kept");
  check(ascending(sim) && espalier_total(sim) == PARTICLES, "particles are in the order of their ids");
  check(espalier_evolve(sim, 10, stops_at_third, &calls) == 0 && calls == 3 && espalier_time(sim) < 10,
        "a callback ends the run");
  int64_t steps = espalier_steps(sim);
  check(espalier_step(sim, HUGE_VAL) == 0 && espalier_steps(sim) == steps + 1, "a soft step without an end");
  check(espalier_step(sim, 0) == 0 && espalier_steps(sim) == steps + 1, "no step back in time");
  check(failed(espalier_step(sim, NAN), ESPALIER_BAD_ARGUMENT, "nan") &&
            failed(espalier_evolve(sim, HUGE_VAL, NULL, NULL), ESPALIER_BAD_ARGUMENT, "until"),
        "times that are none");
}

/* Sum over all ranks of the velocities v[3 n] of the simulation's particles, each with weights of its id. */
static double by_id(espalier *sim, const double *v)
{
  int64_t n = espalier_count(sim);
  uint64_t *id = calloc((size_t)n + 1, sizeof *id);
  double sum = 0;
  if (espalier_get(sim, ESPALIER_ID, id)) check(0, "ids");
  for (int64_t i = 0; i < 3 * n; i++) sum += v[i] * sin((double)id[i / 3] + (double)(i % 3));
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  free(id);
  return sum;
}

/* Velocities of a moving frame: the sums are those of the caller's frame. Ranks may hold other particles afterwards. */
static void check_changes(espalier *sim, const struct espalier_data *data)
{
  struct espalier_sums before, after;
  int64_t n = espalier_count(sim);
  double *v = field(sim, ESPALIER_VELOCITY), *m = field(sim, ESPALIER_MASS), *again, time = espalier_time(sim);
  espalier_measure(sim, &before);
  for (int64_t i = 0; i < n; i++) v[3 * i] += 2;
  double wanted = by_id(sim, v);
  check(espalier_set(sim, ESPALIER_VELOCITY, v) == 0 && espalier_measure(sim, &after) == 0 &&
            fabs(after.momentum[0] - before.momentum[0] - 2) < 1e-6 &&
            fabs(after.kinetic - before.kinetic - 2 * before.momentum[0] - 2) < 1e-6 &&
            fabs(after.potential - before.potential) < 1e-6,
        "other velocities");
  again = field(sim, ESPALIER_VELOCITY);
  check(fabs(by_id(sim, again) - wanted) < 1e-9, "they are there");
  check(espalier_evolve(sim, time + 0.1, NULL, NULL) == 0 && espalier_measure(sim, &after) == 0 &&
            fabs(after.centre[0] - before.centre[0] - 0.2) < 1e-3,
        "the system moves with them");
  free(v);
  free(m);
  free(again);
  n = espalier_count(sim);
  m = field(sim, ESPALIER_MASS);
  for (int64_t i = 0; i < n; i++) m[i] *= 2;
  check(espalier_set(sim, ESPALIER_MASS, m) == 0 && espalier_measure(sim, &after) == 0 && fabs(after.mass - 2) < 1e-5 &&
            espalier_time(sim) == time + 0.1,
        "other masses");
  m[0] = -1;
  check(failed(espalier_set(sim, ESPALIER_MASS, m), ESPALIER_BAD_PARTICLES, "mass -1") &&
            espalier_step(sim, HUGE_VAL) == 0,
        "a change that fails changes nothing");
  check(failed(espalier_set(sim, ESPALIER_ID, m), ESPALIER_BAD_ARGUMENT, "ids") &&
            failed(espalier_set(sim, ESPALIER_POTENTIAL, m), ESPALIER_BAD_ARGUMENT, "field"),
        "fields that cannot be changed");
  free(m);
  struct espalier_particles half = given_by(data);
  half.count /= 2;
  check(espalier_put(sim, &half) == 0 && espalier_total(sim) < PARTICLES && espalier_time(sim) == 0, "other particles");
}

static void check_files(const struct espalier_data *data)
{
  const char *path = "library-test.hdf5";
  espalier *a = opened(data, NULL), *b = NULL;
  struct espalier_data *read;
  double energy[2] = {0};
  struct espalier_sums sums;
  espalier_evolve(a, 0.05, NULL, NULL);
  espalier_measure(a, &sums);
  energy[0] = sums.total;
  check(espalier_save(a, path) == 0 && espalier_open_file(&b, NULL, NULL, settings, path) == 0 &&
            espalier_time(b) == 0.05,
        "a snapshot is read back");
  espalier_measure(b, &sums);
  energy[1] = sums.total;
  check(fabs(energy[1] / energy[0] - 1) < 1e-4, "with its energy");
  check(espalier_read(&read, NULL, path) == 0 && read->time == 0.05 && read->gravity == 1 && read->count > 0,
        "and as particles");
  check(failed(espalier_save(a, "absent/library-test.hdf5"), ESPALIER_BAD_FILE, "absent"),
        "a folder that is not there");
  espalier_free(read);
  espalier_close(a);
  espalier_close(b);
  if (rank == 0) remove(path);
}

/* A simulation does not depend on others in the process. */
static void check_several(const struct espalier_data *data)
{
  espalier *alone = opened(data, "[Split]\nMode = hybrid\n"), *a = opened(data, "[Split]\nMode = tree\n"),
           *b = opened(data, "[Split]\nMode = hybrid\n");
  espalier_evolve(alone, 0.1, NULL, NULL);
  while (espalier_time(a) < 0.1 || espalier_time(b) < 0.1) {
    espalier_step(a, 0.1);
    espalier_step(b, 0.1);
  }
  double *x = field(alone, ESPALIER_POSITION), *y = field(b, ESPALIER_POSITION);
  check(espalier_count(alone) == espalier_count(b) && memcmp(x, y, 3 * sizeof *x * (size_t)espalier_count(b)) == 0,
        "several simulations in one process");
  struct espalier_view view;
  check(espalier_look(b, &view) == 0 && view.count == espalier_count(b) && view.mass[0] > 0, "a view of the particles");
  char text[64];
  check(espalier_parameter(b, "Mode", text, sizeof text) == 0 && strcmp(text, "hybrid") == 0 &&
            failed(espalier_parameter(b, "Mde", text, sizeof text), ESPALIER_BAD_ARGUMENT, "Mde"),
        "parameters in use");
  free(x);
  free(y);
  espalier_close(alone);
  espalier_close(a);
  espalier_close(b);
}

/* Neighbour lists without softening: the acceleration is the sum of two parts. Each rank by itself. */
/* --- threads and communicators ------------------------------------------------------------------------------------ */

static void *in_another_thread(void *sim)
{
  static double time;
  struct espalier_sums sums;
  time = espalier_time(sim);
  int busy = failed(espalier_measure(sim, &sums), ESPALIER_BUSY, "another thread") &&
             failed(espalier_close(sim), ESPALIER_BUSY, "another thread");
  return busy ? &time : NULL;
}

/* A callback in which another thread enters the simulation. */
static int enter_beside(espalier *sim, void *data)
{
  pthread_t thread;
  void *time;
  pthread_create(&thread, NULL, in_another_thread, sim);
  pthread_join(thread, &time);
  *(int *)data = time && *(double *)time == espalier_time(sim);
  return 1;
}

/* Steps of a simulation that another thread uses too: each is made or refused. */
static void *make_steps(void *sim)
{
  for (int k = 0; k < 50; k++) {
    int code = espalier_step(sim, 1e3), total = (int)espalier_total(sim);
    if ((code && code != ESPALIER_BUSY) || total != PARTICLES || espalier_time(sim) < 0) return NULL;
  }
  return sim;
}

static void check_threads(const struct espalier_data *data)
{
  int busy = 0;
  espalier *sim = opened(data, NULL);
  check(espalier_evolve(sim, 1, enter_beside, &busy) == 0 && busy, "a second thread in a simulation is told so");
  check(espalier_step(sim, 1) == 0, "the simulation goes on");
  if (size == 1) {
    pthread_t thread, other_thread;
    espalier *other = opened(data, NULL);
    void *first, *second, *third;
    pthread_create(&thread, NULL, make_steps, sim);
    pthread_create(&other_thread, NULL, make_steps, other);
    first = make_steps(sim);
    espalier_close(other); /* done, or refused beside a step */
    pthread_join(thread, &second);
    pthread_join(other_thread, &third);
    check(first && second, "threads at random times");
    espalier_close(other);
  }
  espalier_close(sim);
  struct espalier_sums sums;
  check(failed(espalier_measure(sim, &sums), ESPALIER_BAD_ARGUMENT, "closed") && isnan(espalier_time(sim)) &&
            failed(espalier_step(NULL, 1), ESPALIER_BAD_ARGUMENT, "NULL"),
        "a simulation that is closed, or none");
}

static void check_communicators(const struct espalier_data *data)
{
  int none = MPI_Comm_c2f(MPI_COMM_NULL), unknown = 12345;
  espalier *sim;
  struct espalier_data *model;
  struct espalier_particles p = given_by(data);
  check(failed(espalier_open(&sim, &none, NULL, settings, &p), ESPALIER_BAD_ARGUMENT, "MPI_COMM_NULL") &&
            failed(espalier_open(&sim, &unknown, NULL, settings, &p), ESPALIER_BAD_ARGUMENT, "communicator") &&
            failed(espalier_model(&model, &none, "plummer", 10, 1, NULL), ESPALIER_BAD_ARGUMENT, "MPI_COMM_NULL") &&
            failed(espalier_read(&model, &unknown, "file"), ESPALIER_BAD_ARGUMENT, "communicator"),
        "communicators that are none");
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

static int stop_on_first(espalier *sim, void *data)
{
  ++*(int *)data;
  return rank == 0 && espalier_steps(sim) >= 0;
}

static int measure_elsewhere(espalier *sim, void *data)
{
  struct espalier_sums sums;
  *(int *)data = rank == 0 ? ESPALIER_OK : espalier_measure(sim, &sums);
  return 0;
}

static void check_agreement(const struct espalier_data *data)
{
  int steps = 0, code = 0, value = rank;
  char text[4096];
  struct espalier_sums sums;
  espalier *sim = opened(data, NULL);
  check(espalier_evolve(sim, 1, stop_on_first, &steps) == 0 && steps == 1, "one rank ends the integration of all");
  if (size > 1) {
    check(failed(espalier_step(sim, 1 + rank), ESPALIER_BAD_ARGUMENT, "until: the ranks"), "times that differ");
    code = rank == 0 ? espalier_step(sim, 1) : espalier_measure(sim, &sums);
    check(failed(code, ESPALIER_BAD_ARGUMENT, "different calls"), "different calls");
    check(failed(espalier_evolve(sim, 1, measure_elsewhere, &code), ESPALIER_BAD_ARGUMENT, "different calls") &&
              (rank == 0 || code == ESPALIER_BAD_ARGUMENT),
          "different calls in a callback");
  }
  check(failed(espalier_agree(sim, NULL, rank == size - 1 ? "a sentence" : NULL, &value), ESPALIER_BAD_ARGUMENT,
               "a sentence") &&
            value == size - 1 && espalier_agree(NULL, NULL, NULL, NULL) == 0,
        "ranks agree");
  check(espalier_judge(sim, text, sizeof text) == 0 && !strstr(text, "Softening"), "a softening that suits");
  espalier_close(sim);
  const char *const wide[] = {"GravityConstantInternal=1", "Softening=100", NULL};
  struct espalier_particles p = given_by(data);
  check(espalier_open(&sim, NULL, NULL, wide, &p) == 0 &&
            failed(espalier_judge(sim, text, sizeof text), ESPALIER_BAD_PARAMETER, "larger than the system"),
        "a softening larger than the system");
  espalier_close(sim);
  const char *commented = "# the softening of the paper is not known\n[Units]\nGravityConstantInternal = 10\n";
  check(espalier_open(&sim, NULL, commented, NULL, &p) == 0 && espalier_judge(sim, text, sizeof text) == 0 &&
            (rank > 0 || strstr(text, "Softening is not given")),
        "no softening is given, although a comment has the word");
  espalier_close(sim);
}

static void check_close_pairs(int self)
{
  static const char *const without[] = {"GravityConstantInternal=1", "Softening=0", "Integrator=hermite", NULL};
  struct espalier_data *d;
  espalier *sim = NULL;
  struct espalier_sums first, last;
  int good = espalier_model(&d, &self, "plummer", 128, 2, NULL) == 0;
  struct espalier_particles p = given_by(d);
  good = good && espalier_open(&sim, &self, NULL, without, &p) == 0 && espalier_measure(sim, &first) == 0 &&
         espalier_evolve(sim, 0.05, NULL, NULL) == 0;
  check(good && espalier_measure(sim, &last) == 0 && fabs(last.total / first.total - 1) < 1e-4,
        "a star cluster without softening");
  int64_t n = espalier_count(sim);
  double *x = field(sim, ESPALIER_POSITION), *a = field(sim, ESPALIER_ACCELERATION), *m = field(sim, ESPALIER_MASS);
  double *sum = calloc(3 * (size_t)n, sizeof *sum);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      double r[3], r2 = 0;
      for (int c = 0; c < 3; c++) {
        r[c] = x[3 * j + c] - x[3 * i + c];
        r2 += r[c] * r[c];
      }
      for (int c = 0; c < 3 && j != i; c++) sum[3 * i + c] += m[j] * r[c] / (r2 * sqrt(r2));
    }
  check(difference(a, sum, n) < 1e-3, "its accelerations are those of direct sums");
  free(x);
  free(a);
  free(m);
  free(sum);
  espalier_close(sim);
  espalier_free(d);
}

static double resident_kb(void)
{
  long pages = 0, all = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (f) fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

/* AddressSanitizer keeps freed memory for a time; it searches for leaks itself. */
#ifdef __SANITIZE_ADDRESS__
enum { FREED_STAYS = 1 };
#else
enum { FREED_STAYS = 0 };
#endif

/* Growth of the memory in `count` simulations, after a few that fill caches. */
static void check_memory(int count)
{
  struct espalier_data *d;
  double before = 0;
  int good = espalier_model(&d, NULL, "plummer", 64, 1, NULL) == 0;
  for (int k = 0; good && k < 40 + count; k++) {
    if (k == 40) before = resident_kb();
    espalier *sim = opened(d, NULL);
    good = sim && espalier_step(sim, 1e-3) == 0;
    espalier_close(sim);
  }
  espalier_free(d);
  double grown = resident_kb() - before;
  if (rank == 0) printf("# memory grew by %g kB, to %g kB, in %d simulations\n", grown, before + grown, count);
  /* each has more than 100 kB */
  check(good && (FREED_STAYS || grown < 8.0 * count), "simulations leave no memory behind");
}

int main(int argc, char **argv)
{
  struct espalier_data *d = NULL;
  int made = espalier_model(&d, NULL, "plummer", PARTICLES, 1, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int self = MPI_Comm_c2f(MPI_COMM_SELF);
  check(made == 0 && d->count > 0 && espalier_version()[0] == '0', "the library starts MPI and makes a model");
  if (argc > 1) { /* for sanitizers and longer loops by hand */
    check_memory(atoi(argv[1]));
    espalier_free(d);
    return rank == 0 ? tap_end() : 0;
  }
  check_parameters(d);
  check_particles(d);
  check_models();
  espalier *sim = opened(d, NULL), *own;
  check(sim != NULL, "a simulation is opened");
  check_forces(sim);
  check_steps(sim);
  check_changes(sim, d);
  espalier_close(sim);
  struct espalier_particles p = given_by(d);
  p.id = NULL;
  p.type = NULL;
  p.velocity = NULL;
  check(espalier_open(&own, &self, NULL, settings, &p) == 0 && espalier_total(own) == d->count &&
            espalier_step(own, 1) == 0,
        "a communicator of its own, and defaults of arrays");
  espalier_close(own);
  check_files(d);
  check_several(d);
  check_threads(d);
  check_communicators(d);
  check_agreement(d);
  check_close_pairs(self);
  check_memory(60);
  espalier_close(NULL);
  espalier_free(d);
  return rank == 0 ? tap_end() : 0;
}
