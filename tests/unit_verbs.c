/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of stars of each backend that has them (backend/neighbour_list_verbs.h with `units`): pairs, passages, triples
 * and clusters with binaries keep their energy in few block steps, and soft steps are the same again. */
#include <config.h>
#include <stdio.h>
#include <string.h>

#include "backend/probe.h"
#include "base/debug.h"
#include "binaries.h"
#include "gravity/few_bodies.h"
#include "tap.h"

enum { STARS_MAX = 192 };
#define NONE 1e30

static char label[64];
static void ok(int good, const char *what)
{
  char text[256];
  snprintf(text, sizeof text, "%s: %s", label, what);
  tap_ok(good, text);
}

struct outcome {
  double worst;               /* largest |dE/E| */
  int64_t ticks, bound;       /* largest in a soft step; pairs at the end of the last one */
  double kinetic, said;       /* of pairs at the end: by the verb, and by the tally */
  struct particles particles; /* at the end */
};

static struct list_request units_request(const struct particles *particles, double r1, double soft_step)
{
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = split_make(SPLIT_SEPTIC, r1, 4 * r1),
                           .soft_step = soft_step,
                           .eta = 0.1,
                           .first = 1,
                           .units = 1,
                           .speed2 = 0.5};
  for (int64_t i = 0; i < particles->n; i++) {
    r.total_mass += (double)particles->mass[i];
    r.largest_mass = fmax(r.largest_mass, (double)particles->mass[i]);
  }
  r.mean_mass = r.total_mass / (double)particles->n;
  return r;
}

/* `count` soft steps of the particles, which are the backend's afterwards. */
static struct outcome run(const struct backend *be, struct particles *p, double r1, double soft_step, int count)
{
  struct outcome outcome = {0};
  struct list_request r = units_request(p, r1, soft_step);
  struct device *dev = binaries_device(be);
  double begin = binaries_energy(p);
  for (int k = 0; k < count; k++) {
    struct list_tally t = {.shortest_period = 1e300};
    binaries_kick(p, &r.split, 0.5 * soft_step);
    be->upload(dev, p);
    be->neighbour_lists->advance(dev, &r, 0, NULL, &t);
    if (k == count - 1) outcome.kinetic = be->neighbour_lists->pair_kinetic(dev, &r, 0, NULL);
    be->download(dev, p);
    binaries_kick(p, &r.split, 0.5 * soft_step);
    r.first = 0;
    outcome.bound = t.pairs_bound;
    outcome.said = t.pair_kinetic;
    outcome.ticks = t.ticks > outcome.ticks ? t.ticks : outcome.ticks;
    outcome.worst = fmax(outcome.worst, fabs(binaries_energy(p) / begin - 1));
  }
  outcome.particles = *p;
  be->close(dev);
  printf("# %s: |dE/E| %.1e, %lld ticks, %lld pairs\n", label, outcome.worst, (long long)outcome.ticks,
         (long long)outcome.bound);
  return outcome;
}

/* Relative change of the axis of the pair of particles 0 and 1. */
static double axis_of(const struct particles *p)
{
  double d[3], u[3];
  struct kepler_orbit orbit;
  for (int c = 0; c < 3; c++) {
    d[c] = p->pos[3 + c] - p->pos[c];
    u[c] = p->vel[3 + c] - p->vel[c];
  }
  return kepler_elements((double)p->mass[0] + (double)p->mass[1], d, u, &orbit) ? orbit.a : -1;
}

static void pair_alone(const struct backend *be)
{
  struct particles p;
  binaries_stars(&p, 2, (double[2][3]){{0}}, (double[2][3]){{0}}, (float[]){0.25f, 0.25f});
  binaries_pair(&p, 0, 1, 1e-3, 0.99, 3);
  double before = axis_of(&p);
  struct outcome o = run(be, &p, 0.04, 1.0 / 128, 64);
  ok(o.bound == 1 && fabs(axis_of(&p) / before - 1) < 1e-9, "a pair alone keeps its axis for 2500 orbits");
  ok(fabs(o.kinetic / o.said - 1) < 1e-9 && o.kinetic > 0, "its kinetic energy is told");
  particles_free(&p);
}

/* Positions away from the origin are rounded by 1e-9 of the axis. */
static void close_pair(const struct backend *be)
{
  struct particles p;
  double x[2][3] = {{0.7, -0.6, 0.9}, {0}}, v[2][3] = {{0.3, 0.5, -0.2}, {0}};
  binaries_stars(&p, 2, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.01f, 0.02f});
  binaries_pair(&p, 0, 1, 1e-7, 0.6, 3);
  double before = axis_of(&p);
  run(be, &p, 0.04, 1.0 / 128, 64);
  ok(fabs(axis_of(&p) / before - 1) < 1e-11, "a close pair keeps its axis whatever its place");
  particles_free(&p);
}

static void passage(const struct backend *be)
{
  struct particles p;
  double x[3][3] = {{0.02, 1e-6, 0}, {-0.02, 0, 0}, {0.1, 0.1, 0}}, v[3][3] = {{-1, 0, 0}, {1, 0, 0}, {0}};
  binaries_stars(&p, 3, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.01f, 0.01f, 0.001f});
  struct outcome o = run(be, &p, 0.04, 1.0 / 1024, 40);
  ok(o.worst < 1.5e-6 && o.ticks < 40, "two stars that fall on each other pass");
  ok(p.vel[0] * p.vel[3] < 0 && fabs(p.pos[0]) > 0.02, "and part");
  particles_free(&p);
}

/* A heavy star, the last one, passes a pair among others that disturb it little, more of them than are followed. */
static void heaviest_is_followed(const struct backend *be)
{
  enum { LIGHT = 30, N = LIGHT + 3 };
  struct particles p;
  double x[N][3] = {{0}}, v[N][3] = {{0}};
  float mass[N] = {0.01f, 0.01f};
  for (int k = 0; k < LIGHT; k++) { /* on a sphere */
    double z = (2 * k + 1.0) / LIGHT - 1, s = sqrt(1 - z * z);
    for (int c = 0; c < 3; c++) x[k + 2][c] = 0.045 * (c == 2 ? z : c == 0 ? s * cos(2.4 * k) : s * sin(2.4 * k));
    mass[k + 2] = 1e-4f;
  }
  for (int c = 0; c < 3; c++) {
    x[N - 1][c] = (double[]){-0.03, 0.02, 0.005}[c];
    v[N - 1][c] = (double[]){12, 0, 0}[c];
  }
  mass[N - 1] = 1;
  binaries_stars(&p, N, (const double(*)[3])x, (const double(*)[3])v, mass);
  binaries_pair(&p, 0, 1, 2.5e-3, 0.5, 3);
  struct outcome o = run(be, &p, 0.04, 1.0 / 2048, 4);
  ok(o.worst < 1e-7, "a heavy star beside a pair is followed, however many others there are");
  particles_free(&p);
}

static void triple(const struct backend *be)
{
  struct particles p;
  double x[3][3] = {{0}, {0}, {0.008, 0, 0.002}}, v[3][3] = {{0}, {0}, {0, 7, 0}};
  binaries_stars(&p, 3, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.25f, 0.2f, 0.1f});
  binaries_pair(&p, 0, 1, 1e-3, 0.3, 5);
  struct outcome o = run(be, &p, 0.04, 1.0 / 128, 16);
  ok(o.worst < 1e-7 && o.ticks < 3000, "a close triple keeps its energy");
  particles_free(&p);
}

/* Two stars and a pair that is a point mass in their group, but for a passage of a star: a group of three bodies
 * becomes one of four, and one of three again. The heavy star far away makes the pair a point. */
static void tight_pair(const struct backend *be)
{
  struct particles p;
  double x[5][3] = {{0}, {0}, {0.002, 0, 0}, {0, 0.0012, 0.0001}, {1, 0, 0}},
         v[5][3] = {{0}, {0}, {0, 2, 0}, {-3, 0, 0}};
  binaries_stars(&p, 5, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.01f, 0.01f, 0.01f, 0.01f, 10});
  binaries_pair(&p, 0, 1, 8e-7, 0.1, 5);
  struct outcome o = run(be, &p, 0.04, 1.0 / 1024, 8);
  ok(o.worst < 1e-6 && o.ticks < 1000 && fabs(axis_of(&p) / 8e-7 - 1) < 1e-2,
     "a tight pair opens and closes in a group");
  particles_free(&p);
}

/* A heavy and a light star pass each other, and a third star is near the light one: whether it is near the two must not
 * change by their being a pair, which would then form and part at ever shorter steps. */
static void near_light_star(const struct backend *be)
{
  struct particles p;
  double x[3][3] = {{0}, {0.09, 0, 0}, {0.13, 0, 0}}, v[3][3] = {{0}};
  binaries_stars(&p, 3, (const double(*)[3])x, (const double(*)[3])v, (float[]){1, 0.1f, 1});
  struct outcome o = run(be, &p, 1, 1.0 / 4096, 1);
  ok(o.worst < 1e-7 && o.ticks < 100, "a third star near the light one of two that pass");
  particles_free(&p);
}

/* A star by a pair whose period is some soft steps: for one soft step, against the three as points. */
static void near_wide_pair(const struct backend *be)
{
  struct particles p;
  double x[3][3] = {{-0.5, 0, 0}, {0.5, 0, 0}, {6, 0, 0}}, v[3][3] = {{0, -0.5, 0}, {0, 0.5, 0}, {0, 1.5, 0}}, step = 0;
  struct few_bodies few = {.n = 3, .m = {0.5, 0.5, 1e-3f}};
  const struct unit_environment nothing = {.near_count = 0};
  int64_t evaluations = 0;
  binaries_stars(&p, 3, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.5f, 0.5f, 1e-3f});
  memcpy(few.x, x, sizeof x);
  memcpy(few.v, v, sizeof v);
  int failed = few_advance(&few, &nothing, 0.5, &step, &evaluations);
  run(be, &p, 20, 0.5, 1);
  double pull = few.v[2][0], there = p.vel[6];
  printf("# %s: the star gets %.6f, points give %.6f\n", label, there, pull);
  ok(!failed && fabs(there / pull - 1) < 2e-3, "a star near a wide pair sees where its members are");
  particles_free(&p);
}

static void massless(const struct backend *be)
{
  struct particles p;
  double x[3][3] = {{0}, {0}, {0.0022, 0, 0}}, v[3][3] = {{0}, {0}, {0, 15, 0}};
  binaries_stars(&p, 3, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.25f, 0.25f, 0});
  binaries_pair(&p, 0, 1, 1e-3, 0.3, 5);
  struct outcome short_step = run(be, &p, 0.04, 1e-6, 1);
  ok(short_step.kinetic > 0, "a pair is one beside a particle without mass");
  struct outcome o = run(be, &p, 0.04, 1.0 / 128, 4);
  ok(o.worst < 1e-11 && o.bound == 1, "which does not disturb it");
  particles_free(&p);
}

/* The root mean square distance of stars from where another backend has them. */
static double distance_from(const struct particles *p, const double *pos)
{
  double sum = 0;
  for (int64_t k = 0; k < 3 * p->n; k++) sum += pow(p->pos[k] - pos[k], 2);
  return sqrt(sum / (double)p->n);
}

/* first[]: positions that the first backend found, to compare with; or its own. */
static void cluster(const struct backend *be, int n, int binaries, double a, double e, double limit, double *first)
{
  struct particles p, again;
  binaries_make(&p, n, binaries, a, e, 4);
  binaries_make(&again, n, binaries, a, e, 4);
  struct outcome o = run(be, &p, 0.04, 1.0 / 128, 8);
  char text[128];
  snprintf(text, sizeof text, "%d binaries of %g in a cluster of %d: the energy is kept, in few block steps", binaries,
           a, n);
  ok(o.worst < limit && o.ticks < 1500 && 2 * o.bound >= binaries, text);
  double away = distance_from(&p, first);
  if (first[0] < NONE) printf("# %s: %.1e from the first backend\n", label, away);
  ok(p.n == n + binaries && (away < 1e-5 || first[0] >= NONE), "stars are where the first backend has them");
  memcpy(first, p.pos, sizeof *first * 3 * (size_t)p.n);
  run(be, &again, 0.04, 1.0 / 128, 8);
  ok(!memcmp(p.pos, again.pos, sizeof *p.pos * 3 * (size_t)p.n) &&
         !memcmp(p.vel, again.vel, sizeof *p.vel * 3 * (size_t)p.n),
     "the same again");
  particles_free(&p);
  particles_free(&again);
}

/* A star and a pair that meet again and again, exchange, and part: in two soft steps of the first, and in several of
 * the second, three stars are as near each other as the orbits are wide. */
static void encounters(const struct backend *be)
{
  static const double x[2][3][3] = {
      {{-0.011427, 0.0052488, 0.0045755}, {-0.010707, 0.0056052, 0.005593}, {0.022134, -0.010854, -0.010169}},
      {{-0.00043767, 0.0011969, 0.013036}, {-0.00031402, 0.0008395, 0.013543}, {0.00075169, -0.0020364, -0.026578}}};
  static const double v[2][3][3] = {
      {{0.21931, -0.28185, -0.31293}, {0.015882, 0.1965, 0.20933}, {-0.23519, 0.085354, 0.1036}},
      {{-0.71727, 0.059862, -0.01571}, {0.72841, -0.062812, -0.25485}, {-0.011139, 0.0029508, 0.27056}}};
  for (int k = 0; k < 2; k++) {
    struct particles p;
    binaries_stars(&p, 3, x[k], v[k], (float[]){5e-4f, 5e-4f, 5e-4f});
    struct outcome o = run(be, &p, 0.04, 1.0 / 128, 76);
    ok(o.worst < 5e-4, "encounters of a star with a pair keep the energy");
    particles_free(&p);
  }
}

static void clusters(const struct backend *be, double (*first)[3 * STARS_MAX])
{
  cluster(be, 96, 48, 3e-4, 0.7, 1e-5, first[0]);
  cluster(be, 96, 96, 1e-3, 0.7, 2e-5, first[1]);
  cluster(be, 96, 0, 1, 0, 1e-5, first[2]);
}

static void check(const struct backend *be, double (*first)[3 * STARS_MAX])
{
  pair_alone(be);
  close_pair(be);
  passage(be);
  triple(be);
  heaviest_is_followed(be);
  tight_pair(be);
  near_wide_pair(be);
  near_light_star(be);
  massless(be);
  encounters(be);
  clusters(be, first);
}

int main(void)
{
  static double first[3][3 * STARS_MAX]; /* positions of clusters that the first backend finds */
  const struct backend *const *list;
  int count = backend_list(&list);
  for (int k = 0; k < 3; k++) first[k][0] = NONE;
  for (int k = 0; k < count; k++) {
    char why[256] = "";
    const struct backend_neighbour_lists *lists = list[k]->neighbour_lists;
    if (!lists || !lists->pair_kinetic || list[k]->probe->count(why, sizeof why) == 0) continue;
    snprintf(label, sizeof label, "%s", list[k]->name);
    check(list[k], first);
    if (k == 0) continue;
    snprintf(label, sizeof label, "%s, without the host", list[k]->name);
    debug_set("host_units", 0); /* the device ends the steps of pairs */
    check(list[k], first);
    snprintf(label, sizeof label, "%s, by the device alone", list[k]->name);
    debug_set("host_units", -1);
    check(list[k], first);
    debug_set("host_units", NAN);
    snprintf(label, sizeof label, "%s, where stars alone do not serve", list[k]->name);
    debug_set("star_units", 3);
    passage(list[k]); /* the attempt is given up */
    clusters(list[k], first);
    debug_set("star_units", NAN);
  }
  return tap_end();
}
