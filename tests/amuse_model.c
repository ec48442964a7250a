/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulation behind the worker of AMUSE, without AMUSE: a question about one particle sends no messages unless
 * something changed. */
#include <mpi.h>

#include "packaging/amuse/store.c"
#include "packaging/amuse/touches.c"
#include "packaging/amuse/model.c"
#include "packaging/amuse/evolve.c"
#include "tests/tap.h"

enum { PARTICLES = 40 };
static int messages;

int MPI_Bcast(void *what, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  messages++;
  return PMPI_Bcast(what, count, type, root, comm);
}

/* There are no stopping conditions but collisions. */
static int64_t touching;
void stops_begin(void) {}
int stops_reached(espalier *sim) { return sim == NULL; }
int stops_ask_for_touches(void) { return 1; }
void stops_note(const struct store *store, const struct touches *fresh, int rank)
{
  (void)store;
  (void)rank;
  touching = fresh->n;
}

static void check(int holds, const char *what)
{
  int rank;
  MPI_Allreduce(MPI_IN_PLACE, &holds, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) tap_ok(holds, what);
}

/* Set the mass of one particle. */
static void weigh(struct model *m, double mass)
{
  if (m->rank != 0) return;
  m->store.body[5].mass = mass;
  m->store.body[5].reweighed = 1;
}

/* Two stars fall from 1 apart, of masses that make their time of fall pi / (2 sqrt(2)), a third one far away. */
static void check_touches(void)
{
  struct model m;
  model_begin(&m);
  for (int k = 0; m.rank == 0 && k < 3; k++) {
    struct body *b = store_add(&m.store);
    b->mass = k < 2 ? 0.5 : 1e-6;
    b->radius = 0.01;
    b->x[0] = k < 2 ? k - 0.5 : 50;
    b->x[1] = b->x[2] = b->v[0] = b->v[1] = b->v[2] = 0;
    b->v[1] = k == 1 ? 0.02 : 0;
  }
  m.changed = CHANGED_ALL;
  touching = 0;
  int wrong = model_evolve(&m, 2);
  double apart = m.rank == 0 ? distance(m.store.body[0].x, m.store.body[1].x) : 0.02;
  if (m.rank == 0) printf("# time %.9g, distance %.9g, pairs %d %s\n", m.time, apart, (int)touching, m.error);
  check(!wrong && (m.rank > 0 || touching == 1) && apart > 0.0199 && apart <= 0.02 && fabs(m.time - 1.10971) < 1e-4,
        "stars that touch end a step at that time");
  wrong = model_evolve(&m, 1.2);
  check(!wrong && m.time == 1.2 && touching == 0, "and are not told again while they part");
  model_end(&m);
}

int main(int argc, char **argv)
{
  struct model m;
  int threads;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  model_begin(&m);
  m.eps2 = 0.01;
  for (int k = 0; m.rank == 0 && k < PARTICLES; k++) {
    struct body *b = store_add(&m.store);
    b->mass = 1.0 / PARTICLES;
    for (int c = 0; c < 3; c++) {
      b->x[c] = sin(3 * k + c);
      b->v[c] = 0;
    }
  }
  m.changed = CHANGED_ALL;
  int wrong = model_forces(&m);
  if (wrong) printf("# %s\n", m.error);
  check(!wrong && m.count == PARTICLES, "a simulation of the particles");
  messages = 0;
  int bad = 0;
  for (int k = 0; k < 100; k++) bad |= model_forces(&m) || model_potential(&m);
  check(!bad && messages == 0, "a hundred questions without a message");
  m.settings_changed = 1;
  check(model_update(&m) == 0 && messages > 0 && !m.settings_changed, "parameters that changed reach the library");
  messages = 0;
  m.changed = CHANGED_VELOCITIES;
  check(model_update(&m) == 0 && messages > 0 && m.changed == CHANGED_NOTHING, "velocities, too");
  struct espalier_sums sums = {0};
  const espalier *same = m.sim;
  weigh(&m, 0.5);
  m.changed = CHANGED_MASSES;
  check(model_update(&m) == 0 && m.sim == same && m.changed == CHANGED_NOTHING && espalier_measure(m.sim, &sums) == 0 &&
            fabs(sums.mass - 1.5 + 1.0 / PARTICLES) < 1e-6 && sums.changes < 0,
        "and masses, to the simulation that there is");
  weigh(&m, -1);
  m.changed = CHANGED_MASSES;
  check(model_update(&m) && strstr(m.error, "id 6: expected a mass from 0"), "but not a negative one");
  weigh(&m, 0.5);
  check(model_update(&m) == 0 && m.sim == same, "until it is right");
  if (m.rank == 0) store_delete(&m.store, 3);
  m.changed = CHANGED_ALL;
  check(model_forces(&m) == 0 && m.count == PARTICLES - 1, "and a particle that was deleted");
  for (int k = 0; m.rank == 0 && k < PARTICLES; k++) store_delete(&m.store, k);
  m.changed = CHANGED_ALL;
  check(model_update(&m) == 0 && !m.sim && model_forces(&m) == 0, "all of them");
  model_end(&m);
  check_touches();
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int status = rank == 0 ? tap_end() : 0;
  MPI_Finalize();
  return status;
}
