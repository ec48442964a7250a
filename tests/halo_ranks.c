/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The halo of the hard part: each rank gets exactly the particles of other ranks whose straight paths come near its
 * box, as a search over all particles finds them, for every distribution over ranks. */
#include <config.h>
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "chance.h"
#include "everywhere.h"
#include "mpi/halo.h"
#include "mpi/message.h"
#include "tap.h"

enum owner { SLABS, DEALT, LAST };

struct trial {
  const char *name;
  int64_t n;
  enum owner owner;
  double soft_step, speed, r2, apart; /* apart: shift of each rank's particles along x */
  int unequal;                        /* masses from 1 to 30, radii by mass */
  size_t largest_message;             /* 0: as it is */
};

static double box_distance2(const double x[3], const double box[6])
{
  double sum = 0;
  for (int c = 0; c < 3; c++) sum += pow(fmax(0, fmax(box[c] - x[c], x[c] - box[3 + c])), 2);
  return sum;
}

static double distance2_at(const double x[3], const double v[3], double t, const double box[6])
{
  return box_distance2((const double[3]){x[0] + t * v[0], x[1] + t * v[1], x[2] + t * v[2]}, box);
}

/* Least distance squared within the horizon, by ternary search: the distance squared is convex. */
static double least2(const double x[3], const double v[3], double horizon, const double box[6])
{
  double a = 0, b = horizon;
  for (int k = 0; k < 80; k++) {
    double s = a + (b - a) / 3, t = b - (b - a) / 3;
    if (distance2_at(x, v, s, box) < distance2_at(x, v, t, box)) b = t;
    else a = s;
  }
  return fmin(distance2_at(x, v, (a + b) / 2, box), fmin(distance2_at(x, v, 0, box), distance2_at(x, v, horizon, box)));
}

static void check_paths(void)
{
  struct random r = {5};
  double worst = 0;
  for (int k = 0; k < 20000; k++) {
    double x[3], v[3], box[6], horizon = k % 5 ? random_log(&r, 0.01, 10) : 0;
    random_direction(&r, random_unit(&r) * 2, x);
    random_direction(&r, k % 7 ? random_log(&r, 0.01, 10) : 0, v);
    if (k % 11 == 0) v[k % 3] = 0;
    for (int c = 0; c < 3; c++) {
      box[c] = random_between(&r, -1, 1);
      box[3 + c] = box[c] + (k % 13 ? random_unit(&r) : 0);
    }
    double expected = least2(x, v, horizon, box);
    worst = fmax(worst, fabs(reach_path2(x, v, horizon, box) - expected) / (1e-3 + expected));
  }
  tap_ok(worst < 1e-9, "the least distance of a straight path from a box is that of a search");
}

/* All particles of a trial, the same on all ranks; the rank of each. */
static void draw(const struct comm *comm, const struct trial *trial, struct particles *particles, int *owner)
{
  struct random r = {29};
  particles_init(particles);
  particles_reserve(particles, trial->n + 1);
  for (int64_t i = 0; i < trial->n; i++) {
    double x[3], v[3];
    random_direction(&r, pow(random_unit(&r), 0.7), x);
    random_direction(&r, trial->speed * random_log(&r, 0.01, 1), v);
    owner[i] = trial->owner == DEALT   ? (int)(i % comm->size)
               : trial->owner == SLABS ? (int)((x[0] + 1) / 2 * comm->size)
                                       : comm->size - 1;
    x[0] += trial->apart * owner[i];
    for (int a = 0; a < 3; a++) {
      particles->pos[3 * i + a] = x[a];
      particles->vel[3 * i + a] = v[a];
      particles->acc[3 * i + a] = 0.1f;
    }
    particles->mass[i] = trial->unequal ? (float)random_log(&r, 1, 30) : 1;
    particles->id[i] = (uint64_t)(3 * i + 2);
    particles->level[i] = (uint8_t)(i % 20);
  }
  particles->n = trial->n;
}

/* The box that this rank's particles can reach. */
static void reachable(const struct comm *comm, const struct trial *trial, const struct particles *particles,
                      const int *owner, double box[6])
{
  for (int a = 0; a < 3; a++) {
    box[a] = 1e300;
    box[3 + a] = -1e300;
  }
  for (int64_t i = 0; i < particles->n; i++)
    for (int a = 0; a < 3 && owner[i] == comm->rank; a++) {
      double x = particles->pos[3 * i + a], there = x + trial->soft_step * particles->vel[3 * i + a];
      double margin = 0.5 * trial->soft_step * trial->soft_step * (double)particles->acc[3 * i + a];
      box[a] = fmin(box[a], fmin(x, there) - margin);
      box[3 + a] = fmax(box[3 + a], fmax(x, there) + margin);
    }
}

/* 1: the particles of the halo are those of `particles`, unchanged, that come near this rank, in the order of ranks. */
static int as_searched(const struct comm *comm, const struct trial *trial, const struct particles *particles,
                       const int *owner, double width, const struct halo *halo)
{
  int64_t expected = 0;
  double box[6];
  char *found = memory_alloc("test", (size_t)particles->n + 1);
  int good = 1, last = 0;
  reachable(comm, trial, particles, owner, box);
  for (int64_t k = 0; k < halo->n; k++) {
    const struct halo_particle *q = &halo->particle[k];
    int64_t i = (int64_t)(q->id - 2) / 3;
    if (i < 0 || i >= particles->n || found[i]++ || owner[i] < last) good = 0;
    if (!good) break;
    last = owner[i];
    good &= memcmp(q->pos, &particles->pos[3 * i], sizeof q->pos) == 0 &&
            memcmp(q->vel, &particles->vel[3 * i], sizeof q->vel) == 0 && q->mass == particles->mass[i] &&
            q->level == particles->level[i];
  }
  for (int64_t i = 0; i < particles->n && good; i++) {
    int wanted = owner[i] != comm->rank && box[0] <= box[3] &&
                 least2(&particles->pos[3 * i], &particles->vel[3 * i], trial->soft_step, box) <= width * width;
    good = wanted == found[i];
    expected += wanted;
  }
  memory_free(found);
  return good && expected == halo->n;
}

/* Returns 1 where the second exchange gives the same bits, and the ledger agrees with the counts. */
static int repeats(const struct comm *comm, const struct backend *be, struct device *d,
                   const struct list_request *request, struct halo *halo)
{
  struct halo again = {.n = 0};
  struct ledger_sum before = ledger_sum(comm->ledger, PHASE_other);
  halo_exchange(&again, comm, be, d, request);
  struct ledger_sum after = ledger_sum(comm->ledger, PHASE_other);
  int same = again.n == halo->n &&
             (halo->n == 0 || memcmp(again.particle, halo->particle, sizeof *halo->particle * (size_t)halo->n) == 0);
  int counted = after.peers.bytes_sent - before.peers.bytes_sent == again.bytes &&
                after.peers.messages_sent - before.peers.messages_sent == again.messages &&
                again.messages >= again.peers;
  halo_free(&again);
  return same && counted;
}

static void try(const struct comm *world, const struct backend *be, const struct trial *trial)
{
  struct device_config config = {
      .gravity = 1, .softening = 0, .max_leaf = 8, .max_group = 32, .ranks = world->size, .rank = world->rank};
  struct comm c = *world;
  struct particles all, mine;
  struct halo h = {.n = 0};
  int *owner = memory_alloc("test", sizeof *owner * (size_t)(trial->n + 1));
  if (trial->largest_message) c.largest_message = trial->largest_message;
  draw(&c, trial, &all, owner);
  particles_init(&mine);
  particles_reserve(&mine, trial->n + 1);
  for (int64_t i = 0; i < trial->n; i++)
    if (owner[i] == c.rank) particles_copy(&mine, mine.n++, &all, i);
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = split_make(SPLIT_SEPTIC, 0.25 * trial->r2, trial->r2),
                           .soft_step = trial->soft_step,
                           .largest_mass = 1};
  double largest = 1;
  for (int64_t i = 0; i < trial->n; i++) largest = fmax(largest, (double)all.mass[i]);
  r.largest_mass = largest;
  if (trial->unequal) r.split.mass_scale = 1;
  double width = (trial->soft_step > 0 ? 2 : 1) * 1.05 * (double)(float)trial->r2 *
                 (trial->unequal ? (double)cbrtf((float)fmin(largest, 20)) : 1);
  struct device *d = be->open(&config);
  be->upload(d, &mine);
  halo_exchange(&h, &c, be, d, &r);
  int good = c.size == 1 ? h.n == 0 && h.messages == 0 : as_searched(&c, trial, &all, owner, width, &h);
  int same = repeats(&c, be, d, &r, &h);
  int quiet = trial->apart <= 10 || (h.n == 0 && h.messages == 0 && h.peers == 0);
  good = (int)comm_min_int64(&c, good);
  same = (int)comm_min_int64(&c, same);
  quiet = (int)comm_min_int64(&c, quiet);
  int64_t most = comm_max_int64(&c, h.n);
  halo_free(&h);
  be->download(d, &mine);
  be->close(d);
  particles_free(&mine);
  particles_free(&all);
  memory_free(owner);
  if (c.rank) return;
  char line[200];
  snprintf(line, sizeof line, "%s, %d ranks, %s: as a search over all finds it (at most %lld)", be->name, c.size,
           trial->name, (long long)most);
  tap_ok(good, line);
  snprintf(line, sizeof line, "%s, %d ranks, %s: the same twice, and as the ledger has it", be->name, c.size,
           trial->name);
  tap_ok(same && quiet, line);
}

static void check_all(const struct comm *comm, const struct backend *be)
{
  const struct trial trials[] = {
      {"slabs", 3000, SLABS, 0.05, 1, 0.05, 0, 0, 0},
      {"slabs, present positions", 3000, SLABS, 0, 1, 0.05, 0, 0, 0},
      {"slabs, fast particles", 3000, SLABS, 0.1, 10, 0.02, 0, 0, 0},
      {"slabs, radii by mass", 3000, SLABS, 0.05, 1, 0.03, 0, 1, 0},
      {"slabs, short messages", 3000, SLABS, 0.05, 1, 0.1, 0, 0, 1000},
      {"slabs, messages shorter than a particle", 300, SLABS, 0.05, 1, 0.1, 0, 0, 10},
      {"dealt: all of the others", 6000, DEALT, 0.05, 1, 0.05, 0, 0, 0},
      {"far apart", 600, DEALT, 0.05, 1, 0.05, 20, 0, 0},
      {"all on one", 500, LAST, 0.05, 1, 0.05, 0, 0, 0},
      {"three particles", 3, DEALT, 0.05, 1, 0.5, 0, 0, 0},
      {"one particle", 1, LAST, 0.05, 1, 0.05, 0, 0, 0},
      {"no particles", 0, DEALT, 0.05, 1, 0.05, 0, 0, 0},
  };
  for (size_t k = 0; k < sizeof trials / sizeof *trials; k++) try(comm, be, &trials[k]);
}

int main(int argc, char **argv)
{
  struct comm world;
  ranks_begin(&world, &argc, &argv);
  if (world.rank == 0) check_paths();
  const int choices[] = {BACKEND_CPU, BACKEND_CUDA};
  for (int k = 0; k < 2; k++) {
    const struct backend *be = backend_everywhere(&world, choices[k]);
    if (be && be->neighbour_lists) check_all(&world, be);
  }
  return ranks_end(&world);
}
