/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collisions of stars of each backend that finds them (backend/neighbour_list_verbs.h with `radii`): who meets, when
 * and on which orbit; mergers keep mass, momentum and, with what they take out, energy. */
#include <config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/probe.h"
#include "base/debug.h"
#include "base/memory.h"
#include "binaries.h"
#include "gravity/few_bodies.h"
#include "tap.h"

enum { STARS_MAX = 192, MET_MAX = 64 };

static char label[64];
static void ok(int good, const char *what)
{
  char text[256];
  snprintf(text, sizeof text, "%s: %s", label, what);
  tap_ok(good, text);
}

/* A run: its collisions in the order of their times, which count from its begin. */
struct met {
  int n;
  struct list_collision at[MET_MAX];
  double worst, momentum, mass, lost; /* largest |dE/E| with what was lost; changes of the others */
  int64_t ticks;
};

static uint64_t lower(const struct list_collision *one) { return one->id[0] < one->id[1] ? one->id[0] : one->id[1]; }

static int by_time(const void *p, const void *q)
{
  const struct list_collision *a = p, *b = q;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return lower(a) < lower(b) ? -1 : lower(a) > lower(b);
}

static int64_t place_of(const struct particles *p, uint64_t id)
{
  for (int64_t i = 0; i < p->n; i++)
    if (p->id[i] == id) return i;
  return -1;
}

/* Whether these two have met, in any order. */
static int are(const struct list_collision *one, uint64_t i, uint64_t j)
{
  return (one->id[0] == i && one->id[1] == j) || (one->id[0] == j && one->id[1] == i);
}

static void remove_particle(struct particles *p, int64_t i)
{
  for (; i + 1 < p->n; i++) particles_copy(p, i, p, i + 1);
  p->n--;
}

/* The first one of two that have merged stands for both. */
static void merge(struct particles *p, const struct list_collision *one)
{
  int64_t stays = place_of(p, one->id[0]), gone = place_of(p, one->id[1]);
  if (stays < 0 || gone < 0) {
    ok(0, "stars that merge are there");
    return;
  }
  p->mass[stays] += p->mass[gone];
  p->level[stays] = LEVEL_UNKNOWN;
  remove_particle(p, gone);
}

/* The collisions of a soft step, each pair once, to met. */
static void take(const struct backend *be, struct device *dev, struct particles *p, double begin, struct met *met)
{
  int64_t n;
  const struct list_collision *found = be->neighbour_lists->collisions(dev, &n);
  struct list_collision *list = memory_alloc("test", sizeof *list * (size_t)(n + 1));
  int first = met->n;
  if (n > 0) memcpy(list, found, sizeof *list * (size_t)n);
  qsort(list, (size_t)n, sizeof *list, by_time);
  be->download(dev, p);
  for (int64_t k = 0; k < n; k++) {
    int known = 0;
    for (int l = first; l < met->n; l++) known |= are(&met->at[l], list[k].id[0], list[k].id[1]);
    if (known || met->n == MET_MAX) continue;
    if (list[k].merged) merge(p, &list[k]);
    if (list[k].merged) met->lost += list[k].lost;
    met->at[met->n] = list[k];
    met->at[met->n++].time += begin;
  }
  memory_free(list);
}

static void sums(const struct particles *p, double momentum[3], double *mass)
{
  *mass = momentum[0] = momentum[1] = momentum[2] = 0;
  for (int64_t i = 0; i < p->n; i++) {
    *mass += (double)p->mass[i];
    for (int c = 0; c < 3; c++) momentum[c] += (double)p->mass[i] * p->vel[3 * i + c];
  }
}

/* `count` soft steps with radii of all stars. */
static struct met run(const struct backend *be, struct particles *p, double r1, double soft_step, int count,
                      double radius, int merges)
{
  struct met met = {0};
  struct list_request r = {.integrator = INTEGRATOR_HERMITE,
                           .split = split_make(SPLIT_SEPTIC, r1, 4 * r1),
                           .soft_step = soft_step,
                           .eta = 0.1,
                           .first = 1,
                           .units = 1,
                           .radii = {radius > 0, merges, radius, 0},
                           .speed2 = 0.5};
  double momentum[3], after[3], mass;
  for (int64_t i = 0; i < p->n; i++) r.largest_mass = fmax(r.largest_mass, (double)p->mass[i]);
  sums(p, momentum, &r.total_mass);
  r.mean_mass = r.total_mass / (double)p->n;
  struct device *dev = binaries_device(be);
  double begin = binaries_energy(p);
  for (int k = 0; k < count; k++) {
    struct list_tally t = {.shortest_period = 1e300};
    binaries_kick(p, &r.split, 0.5 * soft_step);
    be->upload(dev, p);
    be->neighbour_lists->advance(dev, &r, 0, NULL, &t);
    take(be, dev, p, k * soft_step, &met);
    binaries_kick(p, &r.split, 0.5 * soft_step);
    r.first = 0;
    met.ticks = t.ticks > met.ticks ? t.ticks : met.ticks;
    met.worst = fmax(met.worst, fabs((binaries_energy(p) + met.lost) / begin - 1));
  }
  be->close(dev);
  sums(p, after, &mass);
  met.mass = mass - r.total_mass;
  for (int c = 0; c < 3; c++) met.momentum = fmax(met.momentum, fabs(after[c] - momentum[c]));
  printf("# %s: %d collisions, |dE/E| %.1e, momentum %.1e, %lld ticks\n", label, met.n, met.worst, met.momentum,
         (long long)met.ticks);
  return met;
}

static int near(double x, double y, double error) { return fabs(x - y) <= error * fabs(y); }

/* Mass is kept exactly, momentum and energy within rounding and the error of the scheme. */
static void kept(const struct met *met, double energy, const char *what)
{
  char text[128];
  snprintf(text, sizeof text, "%s: mass, momentum and energy are kept", what);
  ok(met->mass == 0 && met->momentum < 1e-13 && met->worst < energy, text);
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* The time that two stars of mass mu take from rest at the distance r0 to the distance r. */
static double fall(double mu, double r0, double r)
{
  double x = r / r0;
  return sqrt(r0 * r0 * r0 / (2 * mu)) * (acos(sqrt(x)) + sqrt(x * (1 - x)));
}

/* A light star that is far makes the pair neither the only unit nor a disturbed one. */
static void two(struct particles *p, const double d[3], const double u[3], float m1, float m2)
{
  double m = (double)m1 + (double)m2, x[3][3] = {{0}, {0}, {5, 1, 0}}, v[3][3] = {{0}};
  for (int c = 0; c < 3; c++) {
    x[0][c] = -m2 / m * d[c];
    x[1][c] = m1 / m * d[c];
    v[0][c] = -m2 / m * u[c];
    v[1][c] = m1 / m * u[c];
  }
  binaries_stars(p, 3, (const double(*)[3])x, (const double(*)[3])v, (float[]){m1, m2, 0x1p-20f});
}

static void head_on(const struct backend *be)
{
  struct particles p;
  const double d[3] = {0.03, 0, 0}, u[3] = {0};
  two(&p, d, u, 0.125f, 0.25f);
  struct met met = run(be, &p, 1, 1.0 / 4096, 48, 1e-4, 1);
  const struct list_collision *one = &met.at[0];
  ok(met.n == 1 && one->id[0] == 2 && one->id[1] == 1 && one->mass[0] == 0.25 && one->mass[1] == 0.125,
     "head-on: two stars meet, the heavier one first");
  ok(near(one->time, fall(0.375, 0.03, 2e-4), 1e-6) && near(one->radii, 2e-4, 1e-14) &&
         near(one->speed, sqrt(0.375 * (2 / 2e-4 - 2 / 0.03)), 1e-6),
     "at the time, the distance and the speed of their fall");
  ok(one->pericentre < 1e-12 && near(one->a, 0.015, 1e-6) && one->e > 1 - 1e-9, "on their orbit");
  ok(fabs(one->pos[0]) < 1e-9 && fabs(one->vel[0]) < 1e-9 && near(one->lost, -0.25 * 0.125 / 0.03, 1e-6),
     "where their centre of mass is, with their energy");
  ok(p.n == 2 && p.id[0] == 2 && p.mass[0] == 0.375f, "and are one");
  kept(&met, 1e-9, "head-on");
  particles_free(&p);
}

/* Two stars pass on a hyperbola of this pericentre. */
static struct met passing(const struct backend *be, double pericentre, double radius, int merges, struct particles *p)
{
  double speed = 2, mu = 0.5, b = sqrt(pericentre * pericentre + 2 * mu * pericentre / (speed * speed)), r = 0.02;
  double far2 = speed * speed + 2 * mu / r; /* at the distance r */
  const double d[3] = {sqrt(r * r - b * b * speed * speed / far2), b * speed / sqrt(far2), 0},
               u[3] = {-sqrt(far2), 0, 0};
  two(p, d, u, 0.25f, 0.25f);
  return run(be, p, 1, 1.0 / 128, 2, radius, merges);
}

static void grazing(const struct backend *be)
{
  struct particles p;
  struct met met = passing(be, 1e-3, 0.51e-3, 1, &p);
  ok(met.n == 1 && near(met.at[0].pericentre, 1e-3, 1e-6) && met.at[0].a < 0 && met.at[0].lost > 0 && p.n == 2,
     "grazing: two stars meet that pass within their radii");
  kept(&met, 1e-9, "grazing");
  particles_free(&p);
  met = passing(be, 1e-3, 0.49e-3, 1, &p);
  ok(met.n == 0 && p.n == 3, "and none that pass outside");
  particles_free(&p);
}

static void listed(const struct backend *be)
{
  struct particles p, q;
  struct met met = passing(be, 1e-3, 0.51e-3, 0, &p);
  passing(be, 1e-3, 0, 0, &q);
  ok(met.n == 1 && !met.at[0].merged && p.n == 3 && !memcmp(p.pos, q.pos, sizeof *p.pos * 9) &&
         !memcmp(p.vel, q.vel, sizeof *p.vel * 9),
     "a list alone changes no orbit");
  particles_free(&p);
  particles_free(&q);
}

/* A bound pair of this axis, of which the radii reach beyond the pericentre, or do not. */
static void bound(const struct backend *be, double a, double e, double soft_step, int count, const char *what)
{
  struct particles p;
  const double none[3] = {0};
  char text[128];
  for (int reaches = 0; reaches < 2; reaches++) {
    double radius = 0.5 * a * (1 - e) * (reaches ? 1.02 : 0.98);
    two(&p, none, none, 0.25f, 0.25f);
    binaries_pair(&p, 0, 1, a, e, 3);
    struct met met = run(be, &p, 1, soft_step, count, radius, 1);
    snprintf(text, sizeof text, "%s %s", what, reaches ? "meets within its radii" : "does not meet outside");
    ok(met.n == reaches && p.n == 3 - reaches, text);
    if (reaches)
      ok(near(met.at[0].a, a, 1e-6) && near(met.at[0].e, e, 1e-6) &&
             near(met.at[0].lost, -0.5 * 0.25 * 0.25 / a, 1e-6) && near(met.at[0].pericentre, a * (1 - e), 1e-4),
         "on its orbit");
    kept(&met, 1e-9, what);
    particles_free(&p);
  }
  two(&p, none, none, 0.25f, 0.25f);
  binaries_pair(&p, 0, 1, a, e, 3);
  struct met met = run(be, &p, 1, soft_step, count, 0.51 * a * (1 - e), 0);
  snprintf(text, sizeof text, "%s is listed at most once in a soft step", what);
  ok(met.n > 0 && met.n <= count && p.n == 3, text);
  particles_free(&p);
}

/* --- more --------------------------------------------------------------------------------------------------------- */

/* An inner pair with a star on a circle about it. */
static void inner(const struct backend *be, double a, double e, double circle, double energy, const char *what)
{
  struct particles p;
  double v = sqrt(0.75 / circle), x[4][3] = {{0}, {0}, {circle, 0, 0}, {5, 1, 0}},
         u[4][3] = {{0, -v / 3, 0}, {0}, {0, 2 * v / 3, 0}, {0}};
  binaries_stars(&p, 4, (const double(*)[3])x, (const double(*)[3])u, (float[]){0.25f, 0.25f, 0.25f, 0x1p-20f});
  binaries_pair(&p, 0, 1, a, e, 5);
  struct met met = run(be, &p, 1, 1.0 / 128, 2, 0.51 * a * (1 - e), 1);
  char text[128];
  snprintf(text, sizeof text, "%s: its inner pair meets", what);
  ok(met.n >= 1 && met.at[0].id[0] + met.at[0].id[1] == 3 && p.n == 3 && near(met.at[0].a, a, 0.05), text);
  kept(&met, energy, what);
  particles_free(&p);
}

/* Three stars at rest fall together: two meet first, then what they have become and the third one. */
static void chain(const struct backend *be)
{
  struct particles p;
  double x[4][3] = {{0, 0.0001, 0}, {0.002, 0, 0}, {-0.005, 0, 0}, {5, 1, 0}}, v[4][3] = {{0}};
  binaries_stars(&p, 4, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.25f, 0.125f, 0.125f, 0x1p-20f});
  struct met met = run(be, &p, 1, 1.0 / 128, 1, 2e-4, 1);
  ok(met.n == 2 && met.at[0].id[0] == 1 && met.at[0].id[1] == 2 && met.at[1].id[0] == 1 && met.at[1].id[1] == 3 &&
         met.at[1].mass[0] == 0.375 && met.at[0].time < met.at[1].time,
     "three stars become one in a soft step, one after the other");
  ok(p.n == 2 && p.mass[0] == 0.5f, "with the mass of all");
  kept(&met, 1e-8, "three stars");
  particles_free(&p);
}

/* Three stars in short intervals as points: when two are nearer than `distance` first, and which, ids[2]. Returns the
 * time. */
static double first_near(const double x[4][3], const double v[4][3], double distance, double end, uint64_t ids[2])
{
  const struct unit_environment nothing = {.near_count = 0};
  struct few_bodies few = {.n = 3, .m = {0.25, 0.25, 0.25}};
  double step = 0;
  int64_t evaluations = 0;
  memcpy(few.x, x, sizeof few.x[0] * 3);
  memcpy(few.v, v, sizeof few.v[0] * 3);
  for (double t = 1e-7; t < end; t += 1e-7) {
    few_advance(&few, &nothing, t, &step, &evaluations);
    for (int k = 0; k < 3; k++)
      for (int l = 0; l < k; l++) {
        double d[3];
        for (int c = 0; c < 3; c++) d[c] = few.x[k][c] - few.x[l][c];
        if (kepler_dot(d, d) >= distance * distance) continue;
        ids[0] = (uint64_t)l + 1;
        ids[1] = (uint64_t)k + 1;
        return t;
      }
  }
  return end;
}

/* A close triple at rest about its centre. */
static void make_triple(uint64_t seed, double x[4][3], double v[4][3])
{
  struct random random = {seed};
  for (int k = 0; k < 3; k++) {
    random_direction(&random, random_between(&random, 0.001, 0.002), x[k]);
    random_direction(&random, random_between(&random, 2, 8), v[k]);
  }
  for (int c = 0; c < 3; c++) {
    x[2][c] = -x[0][c] - x[1][c];
    v[2][c] = -v[0][c] - v[1][c];
    x[3][c] = c == 0 ? 5 : c == 1 ? 1 : 0;
    v[3][c] = 0;
  }
}

/* The first contact in a close triple is when, and whose, points say. */
static void triples(const struct backend *be)
{
  const double end = 1.0 / 1024, radius = 4e-5;
  int good = 1, some = 0, none = 0;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    struct particles p;
    uint64_t ids[2] = {0, 0};
    double x[4][3], v[4][3];
    make_triple(seed, x, v);
    double t = first_near((const double(*)[3])x, (const double(*)[3])v, 2 * radius, end, ids);
    binaries_stars(&p, 4, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.25f, 0.25f, 0.25f, 0x1p-20f});
    struct met met = run(be, &p, 1, end, 1, radius, 1);
    const struct list_collision *one = &met.at[0];
    int same = met.n > 0 ? are(one, ids[0], ids[1]) && fabs(one->time - t) < 3e-7 : t >= end;
    if (!same)
      printf("# seed %d: %d and %d at %.9g, by points %d and %d at %.9g\n", (int)seed, (int)one->id[0], (int)one->id[1],
             one->time, (int)ids[0], (int)ids[1], t);
    good = good && same && met.mass == 0 && met.momentum < 1e-13 && met.worst < 1e-9 && p.n == 4 - met.n;
    some += met.n > 0;
    none += met.n == 0;
    particles_free(&p);
  }
  ok(good && some > 3 && none > 1, "close triples: the first two that meet are those of points, and sums are kept");
}

/* A cluster of binaries: its collisions are those that the first backend finds. */
static void cluster(const struct backend *be, struct met *first)
{
  struct particles p;
  binaries_make(&p, 96, 96, 1e-3, 0.9, 4);
  int64_t n = p.n;
  struct met met = run(be, &p, 0.04, 1.0 / 128, 4, 5e-5, 1);
  ok(met.n > 8 && p.n == n - met.n, "a cluster of binaries: particles are as many as there should be");
  ok(fabs(met.mass) < 1e-6 && met.momentum < 1e-10 && met.worst < 1e-5, "mass, momentum and energy are kept");
  if (first->n == 0) *first = met;
  int same = met.n == first->n;
  for (int k = 0; same && k < met.n; k++)
    same = are(&met.at[k], first->at[k].id[0], first->at[k].id[1]) && fabs(met.at[k].time - first->at[k].time) < 1e-6;
  ok(same, "collisions are those of the first backend");
  particles_free(&p);
}

static void check(const struct backend *be, struct met *first)
{
  head_on(be);
  grazing(be);
  listed(be);
  bound(be, 1e-3, 0.9, 1.0 / 128, 4, "a pair of short period");
  bound(be, 0.03, 0.9, 1.0 / 1024, 60, "a pair of long period");
  inner(be, 1e-5, 0.5, 1e-3, 1e-9, "a triple seen by its mean");
  inner(be, 1e-4, 0.5, 1e-3, 3e-7, "a triple that is followed");
  chain(be);
  triples(be);
  cluster(be, first);
}

int main(void)
{
  static struct met first; /* of the cluster */
  const struct backend *const *list;
  int count = backend_list(&list);
  for (int k = 0; k < count; k++) {
    char why[256] = "";
    const struct backend_neighbour_lists *lists = list[k]->neighbour_lists;
    if (!lists || !lists->collisions || list[k]->probe->count(why, sizeof why) == 0) continue;
    snprintf(label, sizeof label, "%s", list[k]->name);
    check(list[k], &first);
    if (k == 0) continue;
    snprintf(label, sizeof label, "%s, by the device alone", list[k]->name);
    debug_set("host_units", -1);
    check(list[k], &first);
    debug_set("host_units", NAN);
    snprintf(label, sizeof label, "%s, steps tried without units where they may be", list[k]->name);
    debug_set("star_units", 3);
    head_on(list[k]);
    grazing(list[k]);
    debug_set("star_units", NAN);
  }
  return tap_end();
}
