/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The virial ratio of a sphere as it was drawn, by sums over all pairs, and velocities that give another one. A system
 * counts as its centre of mass. */
#include <config.h>
#include <math.h>

#include "base/memory.h"
#include "ic/models.h"
#include "ic/slices.h"

struct drawn {
  double mass, pos[3], vel[3];
};

/* All systems of all ranks, by coordinate. */
struct systems {
  int64_t n;
  double *mass, *pos[3], *vel[3];
};

/* All particles in the order of their ids. Owner: caller (memory_free). Collective. */
static struct drawn *gather(const struct comm *comm, int64_t n, const struct particles *particles)
{
  int64_t most = n / comm->size + 1;
  struct drawn *mine = memory_alloc("ic tables", sizeof *mine * (size_t)most),
               *all = memory_alloc("ic tables", sizeof *all * (size_t)(most * comm->size));
  for (int64_t i = 0; i < most; i++) {
    mine[i] = (struct drawn){0};
    if (i >= particles->n) continue;
    mine[i].mass = particles->mass[i];
    for (int c = 0; c < 3; c++) {
      mine[i].pos[c] = particles->pos[3 * i + c];
      mine[i].vel[c] = particles->vel[3 * i + c];
    }
  }
  comm_allgather(comm, mine, sizeof *mine * (size_t)most, all);
  for (int rank = 0; rank < comm->size; rank++) { /* without the gaps */
    int64_t start = slice_start(n, rank, comm->size), end = slice_start(n, rank + 1, comm->size);
    for (int64_t i = start; i < end; i++) all[i] = all[most * rank + i - start];
  }
  memory_free(mine);
  return all;
}

static struct systems systems_of(const struct drawn *all, int64_t n, struct ic_multiples multiples)
{
  struct systems systems = {.n = n - multiples.binaries - 2 * multiples.triples};
  size_t bytes = sizeof *systems.mass * (size_t)(systems.n + 1);
  systems.mass = memory_alloc("ic tables", bytes);
  for (int c = 0; c < 3; c++) {
    systems.pos[c] = memory_alloc("ic tables", bytes);
    systems.vel[c] = memory_alloc("ic tables", bytes);
  }
  for (int64_t k = 0; k < systems.n; k++) {
    const struct ic_system system = ic_system(multiples, k);
    double mass = 0;
    for (int i = 0; i < system.count; i++) mass += all[system.first + i].mass;
    systems.mass[k] = mass;
    for (int c = 0; c < 3; c++) {
      double pos = 0, vel = 0;
      for (int64_t i = system.first; i < system.first + system.count; i++) {
        pos += all[i].mass / mass * all[i].pos[c];
        vel += all[i].mass / mass * all[i].vel[c];
      }
      systems.pos[c][k] = pos;
      systems.vel[c][k] = vel;
    }
  }
  return systems;
}

static void systems_free(struct systems *systems)
{
  memory_free(systems->mass);
  for (int c = 0; c < 3; c++) {
    memory_free(systems->pos[c]);
    memory_free(systems->vel[c]);
  }
}

/* The sum of m / r over the other systems. */
static double pull(const struct systems *systems, int64_t k)
{
  const double *mass = systems->mass, *x = systems->pos[0], *y = systems->pos[1], *z = systems->pos[2];
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < systems->n; j++) {
    double dx = x[j] - x[k], dy = y[j] - y[k], dz = z[j] - z[k], r2 = dx * dx + dy * dy + dz * dz;
    sum += r2 > 0 ? mass[j] / sqrt(r2) : 0;
  }
  return sum;
}

/* 2 T / |W|, bit-identical on any number of ranks. Collective. */
static double ratio_of(const struct comm *comm, const struct systems *systems)
{
  int64_t start = slice_start(systems->n, comm->rank, comm->size),
          end = slice_start(systems->n, comm->rank + 1, comm->size), sums[2][2] = {{0}};
  double largest = 0, *well = memory_alloc("ic tables", sizeof *well * (size_t)(end - start + 1));
  for (int64_t k = 0; k < systems->n; k++) largest = fmax(largest, systems->mass[k]);
#pragma omp parallel for schedule(static, 64)
  for (int64_t k = start; k < end; k++) well[k - start] = pull(systems, k);
  for (int64_t k = start; k < end; k++) {
    double v2 = 0;
    for (int c = 0; c < 3; c++) v2 += systems->vel[c][k] * systems->vel[c][k];
    add_scaled(systems->mass[k] / largest * v2, sums[0]);
    add_scaled(systems->mass[k] / largest * well[k - start], sums[1]);
  }
  comm_sum_int64(comm, sums[0], 4);
  memory_free(well);
  return 2 * sum_scaled(sums[0]) / sum_scaled(sums[1]);
}

void ic_virialise(const struct comm *comm, const struct ic_model *model, struct particles *particles)
{
  const struct ic_multiples multiples = ic_multiples(model);
  int64_t start = slice_start(model->n, comm->rank, comm->size);
  struct drawn *all = gather(comm, model->n, particles);
  struct systems systems = systems_of(all, model->n, multiples);
  double found = ratio_of(comm, &systems), change = found > 0 ? sqrt(model->virial_ratio / found) - 1 : 0;
  for (int64_t i = 0; i < particles->n; i++) {
    int64_t k = ic_system_of(multiples, start + i).number;
    for (int c = 0; c < 3; c++) particles->vel[3 * i + c] += change * systems.vel[c][k];
  }
  systems_free(&systems);
  memory_free(all);
}
