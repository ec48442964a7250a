/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Domains from particles on several ranks: loads are shared evenly and all particles reach their owner ranks, for every
 * initial distribution. */
#include <config.h>
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chance.h"
#include "everywhere.h"
#include "mpi/domain.h"
#include "params/params.h"
#include "tap.h"

static const struct backend *tested;

enum { PARTICLES = 40000 };
enum start { ON_ONE, DEALT, SLABS };

/* What a case is made of. `cost`: of a particle by its distance from the centre; NULL: none. */
struct trial {
  const char *name;
  int64_t n;
  enum start start;
  int point; /* all particles at one place */
  double (*cost)(double r);
  struct domain_load load;
  double tolerance; /* of the largest share of the load over the mean, less 1; 0: not looked at */
};

static double steep(double r) { return 1 + 100 / (1 + 1e3 * r); }
static double lopsided(double r) { return r < 0.5 ? 1e-30 : 1e3; }
static double nothing(double r) { return 0 * r; }

/* This rank's part of a ball that is dense in its middle. */
static void fill(const struct comm *comm, const struct trial *trial, struct particles *particles)
{
  struct random r = {17};
  particles_init(particles);
  particles_reserve(particles, trial->n);
  for (int64_t i = 0; i < trial->n; i++) {
    double x[3], length = pow(random_unit(&r), 1.5);
    random_direction(&r, length, x);
    int owner = trial->start == DEALT   ? (int)(i % comm->size)
                : trial->start == SLABS ? (int)((x[0] + 1) / 2 * comm->size)
                                        : comm->size - 1;
    if (owner != comm->rank) continue;
    int64_t k = particles->n++;
    for (int a = 0; a < 3; a++) particles->pos[3 * k + a] = trial->point ? 0.3 : x[a];
    particles->id[k] = (uint64_t)(7 * i + 1);
    particles->mass[k] = 1;
    particles->work[k] = trial->cost ? (float)trial->cost(length) : 0;
  }
}

/* The largest share of the load in the new domains over the mean. A particle brings its part of its old rank's load. */
static double imbalance(const struct comm *comm, const struct domain *domain, const struct particles *particles,
                        const struct domain_load *load)
{
  double *share = memory_alloc("test", sizeof *share * (size_t)comm->size), work = 0, max_value = 0, sum = 0;
  for (int64_t i = 0; i < particles->n; i++) work += particles->work[i];
  comm_sum_double(comm, &work, 1);
  for (int64_t i = 0; i < particles->n; i++)
    share[domain_owner(domain, &particles->pos[3 * i])] +=
        load->by_work && work > 0 ? load->per_work * particles->work[i] : 1 + load->extra / (double)particles->n;
  comm_sum_double(comm, share, comm->size);
  for (int r = 0; r < comm->size; r++) {
    max_value = fmax(max_value, share[r]);
    sum += share[r];
  }
  memory_free(share);
  return max_value * comm->size / sum;
}

/* One case; the cuts go to `cuts` (size - 1 of them). */
static void try(const struct comm *comm, const struct trial *trial, double *cuts)
{
  struct device_config config = {.gravity = 1, .softening = 0.01, .max_leaf = 8, .max_group = 32, .ranks = comm->size};
  struct particles p;
  struct domain d;
  int owner_rank = 1;
  fill(comm, trial, &p);
  uint64_t before = digest_all(comm, &p);
  int64_t total;
  struct device *dev = tested->open(&config);
  tested->upload(dev, &p);
  domain_open(&d, comm->size);
  domain_decompose(&d, comm, tested, dev, 1.0 / 256, &trial->load);
  memcpy(cuts, d.x, sizeof *cuts * (size_t)(comm->size - 1));
  double worst = imbalance(comm, &d, tested->view(dev), &trial->load);
  domain_exchange(&d, comm, tested, dev, NULL, 0, 0);
  const struct particles *now = tested->view(dev);
  for (int64_t i = 0; i < now->n; i++) owner_rank &= domain_owner(&d, &now->pos[3 * i]) == comm->rank;
  owner_rank = (int)comm_min_int64(comm, owner_rank);
  total = now->n;
  comm_sum_int64(comm, &total, 1);
  int kept = digest_all(comm, now) == before && total == trial->n;
  tested->download(dev, &p);
  particles_free(&p);
  tested->close(dev);
  domain_close(&d);
  if (comm->rank) return;
  char line[200];
  snprintf(line, sizeof line, "%s, %d ranks, %s: all particles reach their owner ranks, none is lost", tested->name,
           comm->size, trial->name);
  tap_ok(owner_rank && kept, line);
  if (trial->tolerance <= 0) return;
  snprintf(line, sizeof line, "%s, %d ranks, %s: the load is shared evenly (most over mean %.3f)", tested->name,
           comm->size, trial->name, worst);
  tap_ok(worst < 1 + trial->tolerance, line);
}

static void check_all(const struct comm *comm)
{
  /* 1024 samples a rank: five times their noise of 1/32; with weights from 1 to 100 more */
  double even = 0.16, uneven = 0.4, uneasy = 1 + comm->rank;
  const struct trial trials[] = {
      {"by number, dealt", PARTICLES, DEALT, 0, NULL, {0}, even},
      {"by number, all on one at first", PARTICLES, ON_ONE, 0, NULL, {0}, even},
      {"by number, in slabs", PARTICLES, SLABS, 0, NULL, {0}, even},
      {"more is received by higher ranks", PARTICLES, SLABS, 0, NULL, {.extra = 3000.0 * comm->rank}, uneven},
      {"by work", PARTICLES, DEALT, 0, steep, {1, 1, 0}, uneven},
      {"by work, in slabs", PARTICLES, SLABS, 0, steep, {1, 1, 0}, uneven},
      {"by work, the middle costs nothing", PARTICLES, SLABS, 0, lopsided, {1, 1, 0}, uneven},
      {"by work, ranks of unequal speed", PARTICLES, SLABS, 0, steep, {1, uneasy, 0}, uneven},
      {"by work, not measured yet", PARTICLES, DEALT, 0, nothing, {1, 1, 0}, even},
      {"one place", 1000, DEALT, 1, steep, {1, 1, 0}, 0},
      {"one particle", 1, ON_ONE, 0, NULL, {0}, 0},
      {"two particles", 2, DEALT, 0, steep, {1, 1, 0}, 0},
      {"three particles", 3, DEALT, 0, NULL, {.extra = 5}, 0},
      {"no particles", 0, DEALT, 0, NULL, {0}, 0},
  };
  double *cuts[3];
  for (int k = 0; k < 3; k++) cuts[k] = memory_alloc("test", sizeof **cuts * (size_t)comm->size);
  for (size_t k = 3; k < sizeof trials / sizeof *trials; k++) try(comm, &trials[k], cuts[0]);
  for (int k = 0; k < 3; k++) try(comm, &trials[k], cuts[k]);
  double worst = 0;
  for (int k = 1; k < 3; k++)
    for (int i = 0; i < comm->size - 1; i++) worst = fmax(worst, fabs(cuts[k][i] - cuts[0][i]));
  if (comm->rank == 0) tap_ok(worst < 0.1, "the cuts hardly depend on who held the particles");
  try(comm, &trials[4], cuts[0]);
  try(comm, &trials[4], cuts[1]);
  if (comm->rank == 0)
    tap_ok(memcmp(cuts[0], cuts[1], sizeof **cuts * (size_t)(comm->size - 1)) == 0,
           "the same particles twice: the same cuts, bit by bit");
  for (int k = 0; k < 3; k++) memory_free(cuts[k]);
}

int main(int argc, char **argv)
{
  struct comm world;
  ranks_begin(&world, &argc, &argv);
  const int choices[] = {BACKEND_CPU, BACKEND_CUDA};
  for (int k = 0; k < 2; k++) {
    if (argc > 2 && strcmp(argv[2], k == 0 ? "cpu" : "cuda") != 0) continue;
    tested = backend_everywhere(&world, choices[k]);
    if (tested) check_all(&world);
  }
  return ranks_end(&world);
}
