/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulation behind the worker of AMUSE, without AMUSE: a question about one particle sends no messages unless
 * something changed. */
#include <mpi.h>

#include "packaging/amuse/store.c"
#include "packaging/amuse/model.c"
#include "tests/tap.h"

enum { PARTICLES = 40 };
static int messages;

int MPI_Bcast(void *what, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  messages++;
  return PMPI_Bcast(what, count, type, root, comm);
}

/* There are no stopping conditions. */
void stops_begin(void) {}
int stops_reached(espalier *sim) { return sim == NULL; }
void stops_note(const struct store *store, int rank)
{
  (void)store;
  (void)rank;
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
  int status = m.rank == 0 ? tap_end() : 0;
  model_end(&m);
  MPI_Finalize();
  return status;
}
