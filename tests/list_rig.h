/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of particles for tests of the table `hard` of backends (backend/neighbour_list_verbs.h), and soft steps of
 * them. */
#ifndef LIST_RIG_H
#define LIST_RIG_H
#include "backend/neighbour_list_verbs.h"
#include "chance.h"
#include "rig.h"
#include "tap.h"

static char label[64];
static void ok(int good, const char *what)
{
  char text[256];
  snprintf(text, sizeof text, "%s: %s", label, what);
  tap_ok(good, text);
}

#define GRAVITY 1.5

struct system {
  int64_t n;
  double x[1024][3], v[1024][3], pot[1024];
  float m[1024], work[1024], acc[1024][3];
  int level[1024];
};

/* A sphere of unit radius with random velocities; masses from 1/n to `ratio` / n. */
static void make_sphere(struct system *system, int64_t n, double speed, double ratio, uint64_t seed)
{
  struct random r = {seed};
  memset(system, 0, sizeof *system);
  system->n = n;
  for (int64_t i = 0; i < n; i++) {
    random_direction(&r, pow(random_unit(&r), 0.6), system->x[i]);
    random_direction(&r, speed * random_unit(&r), system->v[i]);
    system->m[i] = (float)(random_log(&r, 1, ratio) / (double)n);
    system->level[i] = LEVEL_UNKNOWN;
  }
}

/* Those of the particles for which i % parts == part. */
static struct particles particles_of(const struct system *system, int parts, int part)
{
  struct particles p;
  int64_t n = 0;
  particles_init(&p);
  particles_reserve(&p, system->n);
  for (int64_t i = 0; i < system->n; i++) {
    if (i % parts != part) continue;
    for (int c = 0; c < 3; c++) {
      p.pos[3 * n + c] = system->x[i][c];
      p.vel[3 * n + c] = system->v[i][c];
    }
    p.mass[n] = system->m[i];
    p.level[n] = (uint8_t)system->level[i];
    p.pot[n] = (float)system->pot[i];
    p.id[n++] = (uint64_t)i + 1;
  }
  p.n = n;
  return p;
}

static void take(struct system *system, const struct particles *particles)
{
  for (int64_t k = 0; k < particles->n; k++) {
    int64_t i = (int64_t)particles->id[k] - 1;
    for (int c = 0; c < 3; c++) {
      system->x[i][c] = particles->pos[3 * k + c];
      system->v[i][c] = particles->vel[3 * k + c];
      system->acc[i][c] = particles->acc_hard[3 * k + c];
    }
    system->level[i] = particles->level[k];
    system->work[i] = particles->work[k];
    system->pot[i] = particles->pot[k];
  }
}

static struct device *put(const struct backend *be, const struct system *system, double softening, int parts, int part)
{
  struct device_config config = {
      .gravity = GRAVITY, .softening = softening, .max_leaf = 8, .max_group = 32, .ranks = parts};
  struct device *d = be->open(&config);
  struct particles p = particles_of(system, parts, part);
  be->upload(d, &p);
  return d;
}

/* The tree that precedes a soft step. */
static void build(const struct backend *be, struct device *d)
{
  const struct mac mac = {MAC_ANGLE, 1, GRAVITY, 0.5};
  double low[3], high[3];
  be->sets.bounds(d, 0, low, high);
  for (int c = 0; c < 3; c++) {
    low[c] = fmin(low[c], 0) - 0.1;
    high[c] = fmax(high[c], 0) + 0.1;
  }
  struct lattice lattice = lattice_cover(low, high, 0.05, 0.01);
  be->tree.order(d, &lattice);
  be->tree.build(d, everywhere[0], everywhere[1]);
  be->tree.sources(d);
  be->tree.moments(d, &mac, 0, 0);
  be->tree.groups(d);
}

static void drop(const struct backend *be, struct device *d)
{
  struct particles p;
  be->download(d, &p);
  particles_free(&p);
  be->close(d);
}

/* `steps` soft steps of a backend; adds to *tally. */
static void advance(const struct backend *be, struct system *system, double softening,
                    const struct list_request *request, int steps, struct list_tally *tally)
{
  struct device *d = put(be, system, softening, 1, 0);
  for (int k = 0; k < steps; k++) {
    build(be, d);
    be->neighbour_lists->advance(d, request, 0, NULL, tally);
  }
  take(system, be->view(d));
  drop(be, d);
}

/* Largest difference of positions and velocities. */
static double difference(const struct system *a, const struct system *b)
{
  double most = 0;
  for (int64_t i = 0; i < a->n; i++)
    for (int c = 0; c < 3; c++) {
      double x = fabs(a->x[i][c] - b->x[i][c]), v = fabs(a->v[i][c] - b->v[i][c]);
      if (!(x <= most)) most = x;
      if (!(v <= most)) most = v;
    }
  return most;
}

static inline int level_of(const struct list_request *request, double wanted, int least)
{
  int level = least;
  while (ldexp(request->soft_step, -level) > wanted && level < LIST_LEVEL_MAX) level++;
  return level;
}

/* The tick at which the first of n steps ends. */
static inline int32_t next_tick(int64_t n, const int32_t *tick, const int *level)
{
  int32_t next = TICKS;
  for (int64_t i = 0; i < n; i++) {
    int32_t end = tick[i] + timeline_ticks(level[i]);
    next = end < next ? end : next;
  }
  return next;
}

static inline struct list_request request(int kernel, double r1, double r2, double soft_step, float largest)
{
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = split_make(kernel, r1, r2),
                           .soft_step = soft_step,
                           .eta = 0.2,
                           .largest_mass = (double)largest};
  return r;
}
#endif
