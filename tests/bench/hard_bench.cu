/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What hard forces cost: neighbour lists against walks, for a model, a number of particles and a Delta, at R1 = 1, 2, 3
 * R0 and for all, 30 %, 10 %, 1 %, 0.1 % active particles, chosen at random. Not installed: make
 * tests/bench/hard_bench.
 *
 *   tests/bench/hard_bench plummer|hernquist LOG2_N LOG2_DELTA [ORDER] */
#include <config.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/device.cuh"
#include "particles/sampling.h"
#include "particles/timeline.h"

#define SOFTENING 0.0092038847 /* 1/64 of Plummer's b in units G = M = 1, E = -1/4 */
#define XS 0.2                 /* soft step: XS R2 / v_rms */
#define RADIUS 1.03            /* R0 = RADIUS N^(-1/3) */

/* the active make steps of an eighth; so many are timed, the first makes lists */
enum { LEVEL = 3, SUBSTEPS = 4, MOMENT_UPDATE = 2 };

static const struct backend *const be = &backend_cuda;
static uint64_t chance = 88172645463325252u;

static double uniform(void)
{
  chance ^= chance << 13;
  chance ^= chance >> 7;
  chance ^= chance << 17;
  return ((double)(chance >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()); }

/* Radius, and the squared dispersion there by Jeans' equation. */
static double plummer(double *sigma2)
{
  double b = 3 * M_PI / 16, r = b / sqrt(pow(0.996 * uniform(), -2.0 / 3) - 1);
  *sigma2 = 1 / (6 * sqrt(r * r + b * b));
  return r;
}

static double hernquist(double *sigma2)
{
  double a = 1.0 / 3, s = sqrt(0.9 * uniform()), x = s / (1 - s);
  double t = 12 * x * pow(1 + x, 3) * log((1 + x) / x) - x / (1 + x) * (25 + 52 * x + 42 * x * x + 12 * x * x * x);
  *sigma2 = fmax(t, 1e-6) / (12 * a);
  return a * x;
}

/* Returns the rms velocity. */
static double fill(struct particles *particles, int64_t n, double (*radius)(double *))
{
  double sum = 0;
  particles_init(particles);
  particles_reserve(particles, n);
  particles->n = n;
  for (int64_t i = 0; i < n; i++) {
    double sigma2, r = radius(&sigma2), c = 2 * uniform() - 1, f = 2 * M_PI * uniform(), s = sqrt(1 - c * c);
    const double x[3] = {s * cos(f), s * sin(f), c};
    for (int k = 0; k < 3; k++) {
      particles->pos[3 * i + k] = r * x[k];
      particles->vel[3 * i + k] = sqrt(sigma2) * fmax(-2.5, fmin(2.5, normal()));
      sum += particles->vel[3 * i + k] * particles->vel[3 * i + k];
    }
    particles->mass[i] = 1.0f / (float)n;
    particles->id[i] = (uint64_t)i + 1;
    particles->type[i] = 1;
  }
  return sqrt(sum / (double)n);
}

static double milliseconds(struct device *d, const struct walk_request *request, struct tally *tally)
{
  memset(tally, 0, sizeof *tally);
  be->forces.walk(d, request, tally);
  return 1e3 * tally->seconds;
}

/* The same walk without lists. */
static double walked(struct device *d, const struct walk_request *request, struct tally *tally)
{
  int made = d->hard.made;
  d->hard.made = 0;
  d->hard.declined = 1;
  double ms = milliseconds(d, request, tally);
  d->hard.made = made;
  d->hard.declined = 0;
  return ms;
}

static void activate(struct device *d, double fraction)
{
  struct particles p;
  be->download(d, &p);
  for (int64_t i = 0; i < p.n; i++) {
    p.tick[i] = 0;
    p.level[i] = sampling_hash(p.id[i]) <= fraction * (double)UINT64_MAX ? LEVEL : 0;
  }
  be->upload(d, &p);
  be->tree.sources(d);
}

/* As in a run: a new tree where there are no lists, moments of the particles as they are now. */
static void update_moments(struct device *d, const struct walk_request *request)
{
  static const double low[3] = {-1e300, -1e300, -1e300}, high[3] = {1e300, 1e300, 1e300};
  if (!be->forces.keeps_tree(d)) {
    be->tree.reorder(d, request->tick, request->tick_length, LEVEL_MAX + 1, 0);
    be->tree.build(d, low, high);
    be->tree.groups(d);
  }
  be->tree.moments(d, &request->mac, request->tick, request->tick_length);
}

/* A row of the table: the active fraction, the first substep (with the making of lists), the mean of the others, one
 * walk. */
static void row(struct device *d, struct walk_request request, double fraction, double soft_step, double full)
{
  struct step_rule rule = {};
  struct tally t;
  double first = 0, lists = 0, walk = 0, entries = 0, walk_entries = 0, targets = 0;
  int64_t outside = 0;
  activate(d, fraction);
  be->tree.moments(d, &request.mac, 0, 0);
  rule.eta = 1;
  rule.softening = SOFTENING;
  rule.soft_step = soft_step;
  request.kind = WALK_HARD;
  request.let = LET_STEP;
  request.tick_length = soft_step / TICKS;
  for (int m = 1; m <= SUBSTEPS; m++) {
    request.tick = (TICKS >> LEVEL) * m;
    if (m % MOMENT_UPDATE == 0) update_moments(d, &request);
    be->steps.select(d, request.tick, request.tick_length, &outside);
    double ms = milliseconds(d, &request, &t);
    targets = (double)t.targets;
    entries = (double)(t.particle_pairs + t.cell_pairs) / targets;
    if (m == 1) first = ms;
    if (m > 1) lists += ms / (SUBSTEPS - 1);
    if (m == SUBSTEPS) {
      walk = walked(d, &request, &t);
      walk_entries = (double)(t.particle_pairs + t.cell_pairs) / targets;
    }
    be->steps.correct(d, request.tick, request.tick_length, &rule, LEVEL);
    be->steps.next_tick(d);
  }
  printf("  %6.2f %% active: first %8.3f, lists %8.3f, walk %8.3f ms; h %.3f; entries %.1f, walk's %.1f\n",
         100 * targets / (double)d->p.n, first, lists, walk, lists / full, entries, walk_entries);
}

int main(int argc, char **argv)
{
  static const double multiples[] = {2, 1, 3}, fractions[] = {1, 0.3, 0.1, 0.01, 0.001};
  static const double low[3] = {-1e300, -1e300, -1e300}, high[3] = {1e300, 1e300, 1e300};
  struct particles p;
  struct tally t;
  const struct field no_field = {};
  struct sums sums;
  struct device_config config = {};
  struct walk_request r = {};
  double box[6];
  if (argc < 4) return fprintf(stderr, "usage: hard_bench plummer|hernquist LOG2_N LOG2_DELTA [ORDER]\n"), 2;
  int order = argc > 4 ? atoi(argv[4]) : 1;
  int64_t n = (int64_t)1 << atoi(argv[2]);
  double v_rms = fill(&p, n, strcmp(argv[1], "hernquist") ? plummer : hernquist);
  config.gravity = 1;
  config.softening = SOFTENING;
  config.max_leaf = 16;
  config.max_group = 128;
  config.ranks = 1;
  config.quadrupole = order == 2;
  struct device *d = be->open(&config);
  be->upload(d, &p);
  be->sets.bounds(d, 0.1, box, box + 3);
  struct lattice lattice = lattice_cover(box, box + 3, 0.05, SOFTENING);
  be->tree.order(d, &lattice);
  be->tree.build(d, low, high);
  be->tree.sources(d);
  r.kind = WALK_TOTAL;
  r.let = LET_SOFT;
  r.potential = r.local = r.last = 1;
  for (int pass = 0; pass < 3; pass++) {
    const struct mac angle = {MAC_ANGLE, order, 1, 0.7}, mac = {MAC_ACCELERATION, order, 1, pow(2, atof(argv[3]))};
    r.mac = pass == 0 ? angle : mac;
    be->tree.moments(d, &r.mac, 0, 0);
    be->tree.groups(d);
    milliseconds(d, &r, &t);
    be->sets.reduce(d, &no_field, &sums);
    r.a_floor = 1e-5 * sqrt(sums.acc2_count / sums.count);
  }
  double full = milliseconds(d, &r, &t);
  printf("%s, 2^%s particles, Delta = 2^%s, order %d: full walk %.2f ms\n", argv[1], argv[2], argv[3], order, full);
  for (int k = 0; k < 3; k++) {
    double r1 = multiples[k] * RADIUS / cbrt((double)n), soft_step = XS * 2 * r1 / v_rms;
    r.split = split_make(SPLIT_QUINTIC, r1, 2 * r1);
    printf(" R1 = %g R0\n", multiples[k]);
    for (int f = 0; f < 5; f++) row(d, r, fractions[f], soft_step, full);
    const struct hard_state *s = &d->hard;
    printf("  lists: mean %.1f, longest %d, %.2f GB; %d of %d groups have none\n",
           (double)s->host_results.entries / (double)n, s->host_results.longest, 4e-9 * (double)s->pool.capacity,
           s->host_results.heavy, d->targets.groups);
  }
  be->download(d, &p);
  particles_free(&p);
  be->close(d);
  return 0;
}
