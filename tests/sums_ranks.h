/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of forces on several ranks: direct sums over the particles of all ranks, and statistics of all errors. */
#ifndef SUMS_RANKS_H
#define SUMS_RANKS_H
#include <mpi.h>

#include "particles/timeline.h"
#include "sets.h"
#include "step/sim.h"

/* All particles of all ranks as they are at a tick. */
struct all_ranks {
  int64_t n;
  double (*pos)[3];
  double *mass;
};

static inline struct all_ranks gather(const struct comm *comm, const struct particles *particles, int32_t tick,
                                      double tick_length)
{
  struct all_ranks all = {.n = particles->n};
  int *count = memory_alloc("test", 2 * sizeof *count * (size_t)comm->size), *offset = count + comm->size,
      mine = (int)particles->n * 4;
  double(*own)[4] = memory_alloc("test", sizeof *own * (size_t)(particles->n + 1));
  for (int64_t i = 0; i < particles->n; i++) {
    /* those that are active stand at the tick already */
    double dt = tick == 0 || ends_at(particles, i, tick) ? 0 : (tick - particles->tick[i]) * tick_length;
    for (int k = 0; k < 3; k++)
      own[i][k] =
          particles->pos[3 * i + k] + (particles->vel[3 * i + k] + 0.5 * dt * particles->acc_hard[3 * i + k]) * dt;
    own[i][3] = particles->mass[i];
  }
  comm_sum_int64(comm, &all.n, 1);
  MPI_Allgather(&mine, 1, MPI_INT, count, 1, MPI_INT, comm->mpi);
  for (int r = 1; r < comm->size; r++) offset[r] = offset[r - 1] + count[r - 1];
  double(*flat)[4] = memory_alloc("test", sizeof *flat * (size_t)(all.n + 1));
  MPI_Allgatherv(own, mine, MPI_DOUBLE, flat, count, offset, MPI_DOUBLE, comm->mpi);
  all.pos = memory_alloc("test", sizeof *all.pos * (size_t)(all.n + 1));
  all.mass = memory_alloc("test", sizeof *all.mass * (size_t)(all.n + 1));
  for (int64_t i = 0; i < all.n; i++) {
    memcpy(all.pos[i], flat[i], sizeof *all.pos);
    all.mass[i] = flat[i][3];
  }
  memory_free(flat);
  memory_free(own);
  memory_free(count);
  return all;
}

static inline void release(struct all_ranks *all)
{
  memory_free(all->pos);
  memory_free(all->mass);
}

/* The direct sum at one particle; itself adds nothing. */
static inline void sum_at(const struct all_ranks *all, const struct sim *sim, const double at[3], double acc[3],
                          double hard[3])
{
  double eps2 = sim->par->Softening * sim->par->Softening, reach = sim->force.split.r2;
  memset(acc, 0, 3 * sizeof *acc);
  memset(hard, 0, 3 * sizeof *hard);
  for (int64_t j = 0; j < all->n; j++) {
    double dx[3] = {all->pos[j][0] - at[0], all->pos[j][1] - at[1], all->pos[j][2] - at[2]};
    double r2 = dx[0] * dx[0] + dx[1] * dx[1] + dx[2] * dx[2], rho2 = r2 + eps2,
           w = sim->force.gravity * all->mass[j] / (rho2 * sqrt(rho2));
    double k = r2 < reach * reach ? direct_k(&sim->force.split, sqrt(r2)) : 0;
    for (int c = 0; c < 3; c++) {
      acc[c] += w * dx[c];
      hard[c] += k * w * dx[c];
    }
  }
}

/* Errors of this rank's particles, so many. */
struct record {
  int64_t n, capacity;
  double *error;
};

static inline void add(struct record *record, double error)
{
  if (record->n == record->capacity) {
    record->capacity = 2 * record->capacity + 256;
    record->error = memory_resize("test", record->error, sizeof *record->error * (size_t)record->capacity);
  }
  record->error[record->n++] = error;
}

static inline double distance(const float *got, const double *want, const double *acc, double rms)
{
  double e = 0, scale = sqrt(acc[0] * acc[0] + acc[1] * acc[1] + acc[2] * acc[2]);
  for (int c = 0; c < 3; c++) e += (got[c] - want[c]) * (got[c] - want[c]);
  return sqrt(e) / (scale > 1e-6 * rms ? scale : rms > 0 ? rms : 1);
}

/* Of all ranks; on every rank. Empties the record. */
static inline struct errors collect(const struct comm *comm, struct record *record)
{
  int mine = (int)record->n, total = 0, *count = memory_alloc("test", 2 * sizeof *count * (size_t)comm->size),
      *offset = count + comm->size;
  MPI_Allgather(&mine, 1, MPI_INT, count, 1, MPI_INT, comm->mpi);
  for (int k = 0; k < comm->size; k++) {
    offset[k] = total;
    total += count[k];
  }
  double *all = memory_alloc("test", sizeof *all * (size_t)(total + 1));
  MPI_Allgatherv(record->error, mine, MPI_DOUBLE, all, count, offset, MPI_DOUBLE, comm->mpi);
  struct errors e = errors_of(all, total);
  memory_free(all);
  memory_free(count);
  memory_free(record->error);
  *record = (struct record){0};
  return e;
}
#endif
