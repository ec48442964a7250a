/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests on several ranks share: their begin and end, and checks that all ranks have to pass. Collective. */
#ifndef RANKS_H
#define RANKS_H
#include <mpi.h>

#include "base/memory.h"
#include "mpi/comm.h"
#include "particles/particles.h"
#include "tap.h"

static inline void ranks_begin(struct comm *world, int *argc, char ***argv)
{
  MPI_Init(argc, argv);
  comm_open(world, MPI_COMM_WORLD);
}

/* All memory must have been given back. Returns the exit status. */
static inline int ranks_end(struct comm *world)
{
  int64_t left = comm_max_int64(world, (int64_t)memory_current());
  if (world->rank == 0) tap_ok(left == 0, "all memory is given back");
  int failed = world->rank == 0 ? tap_end() : 0;
  comm_close(world);
  MPI_Finalize();
  return failed;
}

static inline void all_ok(const struct comm *comm, int ok, const char *what)
{
  int all = (int)comm_min_int64(comm, ok);
  if (comm->rank == 0) tap_ok(all, what);
}

/* The digest of the particles of all ranks. */
static inline uint64_t digest_all(const struct comm *comm, const struct particles *particles)
{
  int64_t sum = (int64_t)particles_digest(particles);
  comm_sum_int64(comm, &sum, 1);
  return (uint64_t)sum;
}
#endif
