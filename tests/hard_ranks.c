/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard part on several ranks: with the halo each rank integrates its own particles as one rank integrates all of
 * them. */
#include <config.h>
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chance.h"
#include "everywhere.h"
#include "mpi/halo.h"
#include "tap.h"

enum { N = 600, STEPS = 3, BOUND = 30 };
#define SOFT_STEP 0.01
#define R2 0.2

enum masses { EQUAL, TWO_MASSES, PAIRS };
static const char *const mass_names[] = {"equal masses", "two masses", "bound pairs"};

/* Make particles k and k + 1 a pair at its apocentre; the first pairs across the faces of domains of two, three and
 * four ranks. */
static void bind(struct particles *particles, int64_t k)
{
  double a = 4e-4, e = 0.6, v = sqrt(2.0 / N / a * (1 - e) / (1 + e));
  if (k < 6) particles->pos[3 * k] = (k - 2) / 15.0 - a; /* -2/15, 0, 2/15 */
  memcpy(&particles->pos[3 * (k + 1)], &particles->pos[3 * k], 3 * sizeof *particles->pos);
  memcpy(&particles->vel[3 * (k + 1)], &particles->vel[3 * k], 3 * sizeof *particles->vel);
  particles->pos[3 * k] += a * (1 + e);
  particles->vel[3 * k + 1] += v;
}

/* A Plummer sphere of energy -1/4; G = M = 1. */
static void draw(struct particles *particles, enum masses masses)
{
  struct random r = {41};
  particles_init(particles);
  particles_reserve(particles, N);
  for (particles->n = 0; particles->n < N; particles->n++) {
    double a = 3 * 3.141592653589793 / 16, q, g, radius = a / sqrt(pow(random_unit(&r) * 0.98, -2.0 / 3) - 1);
    random_direction(&r, radius, &particles->pos[3 * particles->n]);
    do {
      q = random_unit(&r);
      g = 0.1 * random_unit(&r);
    } while (g > q * q * pow(1 - q * q, 3.5));
    random_direction(&r, q * sqrt(2) * pow(radius * radius + a * a, -0.25), &particles->vel[3 * particles->n]);
    particles->id[particles->n] = (uint64_t)(7 * particles->n + 3);
    particles->mass[particles->n] =
        (masses == TWO_MASSES && particles->n % 2 ? 20.0f : 1.0f) / (masses == TWO_MASSES ? 10.5f * N : (float)N);
    particles->level[particles->n] = LEVEL_UNKNOWN;
  }
  for (int64_t k = 0; masses == PAIRS && k < 2 * BOUND; k += 2) bind(particles, k);
}

/* A device with the particles of all ranks (`rank` -1), or of one. */
static struct device *load(const struct backend *be, const struct comm *comm, const struct particles *all, int rank)
{
  struct device_config config = {
      .gravity = 1, .softening = 0, .max_leaf = 8, .max_group = 32, .ranks = comm->size, .rank = comm->rank};
  struct device *d = be->open(&config);
  struct particles mine;
  particles_init(&mine);
  particles_reserve(&mine, N);
  for (int64_t i = 0; i < all->n; i++) {
    double x = all->pos[3 * i];
    int owner = x < -0.4 ? 0 : x > 0.4 ? comm->size - 1 : (int)((x + 0.4) / 0.8 * comm->size);
    if (rank < 0 || owner == rank) particles_copy(&mine, mine.n++, all, i);
  }
  be->upload(d, &mine);
  return d;
}

/* Soft steps without soft forces, with halos or, for `halo` NULL, without. */
static void integrate(const struct comm *comm, const struct backend *be, struct device *d, struct list_request request,
                      struct halo *halo, struct list_tally *tally)
{
  struct halo none = {.n = 0}, *used = halo ? halo : &none;
  for (int k = 0; k < STEPS; k++) {
    if (halo) halo_exchange(halo, comm, be, d, &request);
    be->neighbour_lists->advance(d, &request, used->n, used->particle, tally);
  }
  be->clock.wait(d);
}

/* Hard acceleration and potential by the verb that needs no soft step. */
static void evaluate(const struct comm *comm, const struct backend *be, struct device *d, struct list_request request,
                     struct halo *halo)
{
  struct halo none = {.n = 0}, *used = halo ? halo : &none;
  request.soft_step = 0;
  if (halo) halo_exchange(halo, comm, be, d, &request);
  be->neighbour_lists->potential(d, &request, used->n, used->particle);
  be->clock.wait(d);
}

/* Largest difference of a position or velocity of this rank's particles from those of `whole`; of a potential or an
 * acceleration, relative to the largest one. */
static void compare(const struct backend *be, struct device *mine, struct device *whole, double difference[2])
{
  const struct particles *p = be->view(whole);
  double(*motion)[6] = memory_alloc("test", sizeof *motion * N), largest = 0;
  float(*force)[4] = memory_alloc("test", sizeof *force * N);
  for (int64_t i = 0; i < p->n; i++) {
    int64_t k = (int64_t)(p->id[i] - 3) / 7;
    memcpy(motion[k], &p->pos[3 * i], sizeof *p->pos * 3);
    memcpy(motion[k] + 3, &p->vel[3 * i], sizeof *p->vel * 3);
    memcpy(force[k], &p->acc_hard[3 * i], sizeof *p->acc_hard * 3);
    force[k][3] = p->pot[i];
    for (int a = 0; a < 4; a++) largest = fmax(largest, fabs((double)force[k][a]));
  }
  p = be->view(mine);
  for (int64_t i = 0; i < p->n; i++) {
    int64_t k = (int64_t)(p->id[i] - 3) / 7;
    for (int a = 0; a < 3; a++) {
      difference[0] = fmax(difference[0], fabs(p->pos[3 * i + a] - motion[k][a]));
      difference[0] = fmax(difference[0], fabs(p->vel[3 * i + a] - motion[k][3 + a]));
      difference[1] = fmax(difference[1], fabs((double)(p->acc_hard[3 * i + a] - force[k][a])) / largest);
    }
    difference[1] = fmax(difference[1], fabs((double)(p->pot[i] - force[k][3])) / largest);
  }
  memory_free(force);
  memory_free(motion);
}

static void check(const struct comm *comm, const struct backend *be, enum masses kind)
{
  struct particles all;
  struct halo h = {.n = 0};
  struct list_tally whole_tally = {.shortest_period = 1e300}, tally = whole_tally, alone_tally = whole_tally;
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = split_make(SPLIT_SEPTIC, 0.25 * R2, R2),
                           .soft_step = SOFT_STEP,
                           .eta = 0.2};
  if (kind == PAIRS) r.pair_limit = 1e-3;
  draw(&all, kind);
  for (int64_t i = 0; i < all.n; i++) r.largest_mass = fmax(r.largest_mass, (double)all.mass[i]);
  if (kind == TWO_MASSES) r.split.mass_scale = (float)r.largest_mass / 8;
  struct device *whole = load(be, comm, &all, -1), *mine = load(be, comm, &all, comm->rank),
                *alone = load(be, comm, &all, comm->rank);
  particles_free(&all);
  double with[2] = {0, 0}, without[2] = {0, 0};
  integrate(comm, be, whole, r, NULL, &whole_tally);
  integrate(comm, be, mine, r, &h, &tally);
  integrate(comm, be, alone, r, NULL, &alone_tally);
  compare(be, mine, whole, with);
  compare(be, alone, whole, without);
  evaluate(comm, be, mine, r, &h);
  compare(be, mine, whole, with);
  evaluate(comm, be, whole, r, NULL);
  compare(be, mine, whole, with);
  comm_max_double(comm, with, 2);
  comm_max_double(comm, without, 2);
  int64_t counts[3] = {tally.entries, tally.with_neighbours, tally.pairs_bound};
  comm_sum_int64(comm, counts, 3);
  struct device *opened[] = {whole, mine, alone};
  for (int k = 0; k < 3; k++) {
    be->download(opened[k], &all);
    particles_free(&all);
    be->close(opened[k]);
  }
  halo_free(&h);
  if (comm->rank) return;
  char line[200];
  const char *masses = mass_names[kind];
  if (kind == PAIRS && whole_tally.pairs_bound == 0) {
    tap_skip("bound pairs", "the backend integrates them like other particles");
    return;
  }
  printf("# %s, %d ranks, %s: differences %.1e, %.1e; without a halo %.1e, %.1e\n", be->name, comm->size, masses,
         with[0], with[1], without[0], without[1]);
  snprintf(line, sizeof line, "%s, %d ranks, %s: positions and velocities as on one rank", be->name, comm->size,
           masses);
  tap_ok(with[0] < (kind == PAIRS ? 1e-8 : 1e-11) && (comm->size == 1 || without[0] > 1e-6), line);
  snprintf(line, sizeof line, "%s, %d ranks, %s: hard accelerations and potentials as on one rank", be->name,
           comm->size, masses);
  tap_ok(with[1] < 1e-5 && (comm->size == 1 || without[1] > 1e-5), line);
  snprintf(line, sizeof line, "%s, %d ranks, %s: neighbour lists of own particles as on one rank", be->name, comm->size,
           masses);
  tap_ok(counts[0] == whole_tally.entries && counts[1] == whole_tally.with_neighbours && counts[0] > 0, line);
  if (kind != PAIRS) return;
  snprintf(line, sizeof line, "%s, %d ranks: as many bound pairs as on one rank (%lld)", be->name, comm->size,
           (long long)counts[2]);
  tap_ok(counts[2] == whole_tally.pairs_bound && counts[2] > 0, line);
}

int main(int argc, char **argv)
{
  struct comm world;
  ranks_begin(&world, &argc, &argv);
  const int choices[] = {BACKEND_CPU, BACKEND_CUDA};
  for (int k = 0; k < 2; k++) {
    const struct backend *be = backend_everywhere(&world, choices[k]);
    for (int kind = EQUAL; be && be->neighbour_lists && kind <= PAIRS; kind++) check(&world, be, kind);
  }
  return ranks_end(&world);
}
