/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of stars of each backend that has them (backend/neighbour_list_verbs.h with `units`): pairs, passages, triples
 * and clusters with binaries keep their energy in few block steps, and soft steps are the same again. */
#include <config.h>
#include <stdio.h>
#include <string.h>

#include "backend/probe.h"
#include "binaries.h"
#include "tap.h"

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

static void stars(struct particles *p, int n, const double (*x)[3], const double (*v)[3], const float *m)
{
  particles_init(p);
  particles_reserve(p, n);
  p->n = n;
  for (int i = 0; i < n; i++) {
    p->mass[i] = m[i];
    p->id[i] = (uint64_t)i + 1;
    p->level[i] = LEVEL_UNKNOWN;
    memcpy(&p->pos[3 * i], x[i], sizeof x[i]);
    memcpy(&p->vel[3 * i], v[i], sizeof v[i]);
  }
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
  stars(&p, 2, (double[2][3]){{0}}, (double[2][3]){{0}}, (float[]){0.25f, 0.25f});
  binaries_pair(&p, 0, 1, 1e-3, 0.99, 3);
  double before = axis_of(&p);
  struct outcome o = run(be, &p, 0.04, 1.0 / 128, 64);
  ok(o.bound == 1 && fabs(axis_of(&p) / before - 1) < 1e-9, "a pair alone keeps its axis for 2500 orbits");
  ok(fabs(o.kinetic / o.said - 1) < 1e-9 && o.kinetic > 0, "its kinetic energy is told");
  particles_free(&p);
}

static void passage(const struct backend *be)
{
  struct particles p;
  double x[3][3] = {{0.02, 1e-6, 0}, {-0.02, 0, 0}, {0.1, 0.1, 0}}, v[3][3] = {{-1, 0, 0}, {1, 0, 0}, {0}};
  stars(&p, 3, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.01f, 0.01f, 0.001f});
  struct outcome o = run(be, &p, 0.04, 1.0 / 1024, 40);
  ok(o.worst < 1e-6 && o.ticks < 400, "two stars that fall on each other pass");
  ok(p.vel[0] * p.vel[3] < 0 && fabs(p.pos[0]) > 0.02, "and part");
  particles_free(&p);
}

static void triple(const struct backend *be)
{
  struct particles p;
  double x[3][3] = {{0}, {0}, {0.008, 0, 0.002}}, v[3][3] = {{0}, {0}, {0, 7, 0}};
  stars(&p, 3, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.25f, 0.2f, 0.1f});
  binaries_pair(&p, 0, 1, 1e-3, 0.3, 5);
  struct outcome o = run(be, &p, 0.04, 1.0 / 128, 16);
  ok(o.worst < 2e-5 && o.ticks < 3000, "a close triple keeps its energy");
  particles_free(&p);
}

static void massless(const struct backend *be)
{
  struct particles p;
  double x[3][3] = {{0}, {0}, {0.0022, 0, 0}}, v[3][3] = {{0}, {0}, {0, 15, 0}};
  stars(&p, 3, (const double(*)[3])x, (const double(*)[3])v, (float[]){0.25f, 0.25f, 0});
  binaries_pair(&p, 0, 1, 1e-3, 0.3, 5);
  struct outcome short_step = run(be, &p, 0.04, 1e-6, 1);
  ok(short_step.kinetic > 0, "a pair is one beside a particle without mass");
  struct outcome o = run(be, &p, 0.04, 1.0 / 128, 4);
  ok(o.worst < 1e-11 && o.bound == 1, "which does not disturb it");
  particles_free(&p);
}

static void cluster(const struct backend *be, int n, int binaries, double a, double e, double limit)
{
  struct particles p, again;
  binaries_make(&p, n, binaries, a, e, 4);
  binaries_make(&again, n, binaries, a, e, 4);
  struct outcome o = run(be, &p, 0.04, 1.0 / 128, 8);
  char text[128];
  snprintf(text, sizeof text, "%d binaries of %g in a cluster of %d: the energy is kept, in few block steps", binaries,
           a, n);
  ok(o.worst < limit && o.ticks < 1500 && 2 * o.bound >= binaries, text);
  run(be, &again, 0.04, 1.0 / 128, 8);
  ok(!memcmp(p.pos, again.pos, sizeof *p.pos * 3 * (size_t)p.n) &&
         !memcmp(p.vel, again.vel, sizeof *p.vel * 3 * (size_t)p.n),
     "the same again");
  particles_free(&p);
  particles_free(&again);
}

int main(void)
{
  const struct backend *const *list;
  int count = backend_list(&list);
  for (int k = 0; k < count; k++) {
    char why[256] = "";
    const struct backend_neighbour_lists *lists = list[k]->neighbour_lists;
    if (!lists || !lists->pair_kinetic || list[k]->probe->count(why, sizeof why) == 0) continue;
    snprintf(label, sizeof label, "%s", list[k]->name);
    pair_alone(list[k]);
    passage(list[k]);
    triple(list[k]);
    massless(list[k]);
    cluster(list[k], 96, 48, 3e-4, 0.7, 1e-5);
    cluster(list[k], 96, 96, 1e-3, 0.7, 2e-5);
    cluster(list[k], 96, 0, 1, 0, 1e-5);
  }
  return tap_end();
}
