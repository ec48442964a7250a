/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The halo of the hard part: each rank gets exactly the particles of other ranks whose straight paths come near its box, as a search over
 * all particles finds them, for every distribution over ranks. */
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
  double soft_step, speed, r2, apart;   /* apart: shift of each rank's particles along x */
  int unequal;                          /* masses from 1 to 30, radii by mass */
  size_t largest_message;               /* 0: as it is */
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
static void draw(const struct comm *c, const struct trial *t, struct particles *p, int *owner)
{
  struct random r = {29};
  particles_init(p);
  particles_reserve(p, t->n + 1);
  for (int64_t i = 0; i < t->n; i++) {
    double x[3], v[3];
    random_direction(&r, pow(random_unit(&r), 0.7), x);
    random_direction(&r, t->speed * random_log(&r, 0.01, 1), v);
    owner[i] = t->owner == DEALT ? (int)(i % c->size) : t->owner == SLABS ? (int)((x[0] + 1) / 2 * c->size) : c->size - 1;
    x[0] += t->apart * owner[i];
    for (int a = 0; a < 3; a++) {
      p->pos[3 * i + a] = x[a];
      p->vel[3 * i + a] = v[a];
      p->acc[3 * i + a] = 0.1f;
    }
    p->mass[i] = t->unequal ? (float)random_log(&r, 1, 30) : 1;
    p->id[i] = (uint64_t)(3 * i + 2);
    p->level[i] = (uint8_t)(i % 20);
  }
  p->n = t->n;
}

/* The box that this rank's particles can reach. */
static void reachable(const struct comm *c, const struct trial *t, const struct particles *p, const int *owner, double box[6])
{
  for (int a = 0; a < 3; a++) box[a] = 1e300, box[3 + a] = -1e300;
  for (int64_t i = 0; i < p->n; i++)
    for (int a = 0; a < 3 && owner[i] == c->rank; a++) {
      double x = p->pos[3 * i + a], there = x + t->soft_step * p->vel[3 * i + a];
      double margin = 0.5 * t->soft_step * t->soft_step * (double)p->acc[3 * i + a];
      box[a] = fmin(box[a], fmin(x, there) - margin);
      box[3 + a] = fmax(box[3 + a], fmax(x, there) + margin);
    }
}

/* 1: the particles of the halo are those of `p`, unchanged, that come near this rank, in the order of ranks. */
static int as_searched(const struct comm *c, const struct trial *t, const struct particles *p, const int *owner, double width,
                       const struct halo *h)
{
  int64_t expected = 0;
  double box[6];
  char *found = memory_alloc("test", (size_t)p->n + 1);
  int good = 1, last = 0;
  reachable(c, t, p, owner, box);
  for (int64_t k = 0; k < h->n; k++) {
    const struct halo_particle *q = &h->particle[k];
    int64_t i = (int64_t)(q->id - 2) / 3;
    if (i < 0 || i >= p->n || found[i]++ || owner[i] < last) good = 0;
    if (!good) break;
    last = owner[i];
    good &= memcmp(q->pos, &p->pos[3 * i], sizeof q->pos) == 0 && memcmp(q->vel, &p->vel[3 * i], sizeof q->vel) == 0 &&
            q->mass == p->mass[i] && q->level == p->level[i];
  }
  for (int64_t i = 0; i < p->n && good; i++) {
    int wanted = owner[i] != c->rank && box[0] <= box[3] && least2(&p->pos[3 * i], &p->vel[3 * i], t->soft_step, box) <= width * width;
    good = wanted == found[i];
    expected += wanted;
  }
  memory_free(found);
  return good && expected == h->n;
}

/* Returns 1 where the second exchange gives the same bits, and the ledger agrees with the counts. */
static int repeats(const struct comm *c, const struct backend *be, struct device *d, const struct hard_request *r, struct halo *h)
{
  struct halo again = {.n = 0};
  struct ledger_sum before = ledger_sum(c->ledger, PHASE_other);
  halo_exchange(&again, c, be, d, r);
  struct ledger_sum after = ledger_sum(c->ledger, PHASE_other);
  int same = again.n == h->n && (h->n == 0 || memcmp(again.particle, h->particle, sizeof *h->particle * (size_t)h->n) == 0);
  int counted = after.peers.bytes_sent - before.peers.bytes_sent == again.bytes &&
                after.peers.messages_sent - before.peers.messages_sent == again.messages && again.messages >= again.peers;
  halo_free(&again);
  return same && counted;
}

static void try(const struct comm *world, const struct backend *be, const struct trial *t)
{
  struct device_config config = {.gravity = 1, .softening = 0, .max_leaf = 8, .max_group = 32, .ranks = world->size, .rank = world->rank};
  struct comm c = *world;
  struct particles all, mine;
  struct halo h = {.n = 0};
  int *owner = memory_alloc("test", sizeof *owner * (size_t)(t->n + 1));
  if (t->largest_message) c.largest_message = t->largest_message;
  draw(&c, t, &all, owner);
  particles_init(&mine);
  particles_reserve(&mine, t->n + 1);
  for (int64_t i = 0; i < t->n; i++)
    if (owner[i] == c.rank) particles_copy(&mine, mine.n++, &all, i);
  struct hard_request r = {.split = split_make(SPLIT_SEPTIC, 0.25 * t->r2, t->r2), .soft_step = t->soft_step, .largest_mass = 1};
  double largest = 1;
  for (int64_t i = 0; i < t->n; i++) largest = fmax(largest, (double)all.mass[i]);
  r.largest_mass = largest;
  if (t->unequal) r.split.mass_scale = 1;
  double width = (t->soft_step > 0 ? 2 : 1) * 1.05 * (double)(float)t->r2 * (t->unequal ? (double)cbrtf((float)fmin(largest, 20)) : 1);
  struct device *d = be->open(&config);
  be->upload(d, &mine);
  halo_exchange(&h, &c, be, d, &r);
  int good = c.size == 1 ? h.n == 0 && h.messages == 0 : as_searched(&c, t, &all, owner, width, &h);
  int same = repeats(&c, be, d, &r, &h);
  int quiet = t->apart <= 10 || (h.n == 0 && h.messages == 0 && h.peers == 0);
  good = (int)comm_min_int64(&c, good), same = (int)comm_min_int64(&c, same), quiet = (int)comm_min_int64(&c, quiet);
  int64_t most = comm_max_int64(&c, h.n);
  halo_free(&h);
  be->download(d, &mine);
  be->close(d);
  particles_free(&mine);
  particles_free(&all);
  memory_free(owner);
  if (c.rank) return;
  char line[200];
  snprintf(line, sizeof line, "%s, %d ranks, %s: as a search over all finds it (at most %lld)", be->name, c.size, t->name, (long long)most);
  tap_ok(good, line);
  snprintf(line, sizeof line, "%s, %d ranks, %s: the same twice, and as the ledger has it", be->name, c.size, t->name);
  tap_ok(same && quiet, line);
}

static void check_all(const struct comm *c, const struct backend *be)
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
  for (size_t k = 0; k < sizeof trials / sizeof *trials; k++) try(c, be, &trials[k]);
}

int main(int argc, char **argv)
{
  struct comm world;
  MPI_Init(&argc, &argv);
  comm_open(&world, MPI_COMM_WORLD);
  if (world.rank == 0) check_paths();
  const int choices[] = {BACKEND_CPU, BACKEND_CUDA};
  for (int k = 0; k < 2; k++) {
    const struct backend *be = backend_everywhere(&world, choices[k]);
    if (be && be->hard) check_all(&world, be);
  }
  return everywhere_end(&world);
}
