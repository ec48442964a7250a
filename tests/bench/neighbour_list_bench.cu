/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the hard part by the Hermite scheme costs on a device: a Plummer sphere with some ten neighbours a particle,
 * soft steps without the soft force. Not installed: make tests/bench/neighbour_list_bench.
 *
 *   tests/bench/neighbour_list_bench LOG2_N [RADIUS [SWIFT_AIM [BLOCKS [SOFT_STEP]]]]
 *
 * R2 is RADIUS N^(-1/3) (default 2.05); SWIFT_AIM: particles of the deepest levels that one block integrates; BLOCKS:
 * at most (0: the defaults). SOFT_STEP: by default a twentieth of R2 / v, at most 0.009, a power of two. */
#include <config.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/neighbour_list_verbs.h"
#include "gpu/device/device.cuh"

enum { SOFT_STEPS = 4 };

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

/* G = M = 1, E = -1/4; velocities by Jeans' equation. */
static void fill(struct particles *particles, int64_t n)
{
  const double b = 3 * M_PI / 16;
  particles_init(particles);
  particles_reserve(particles, n);
  particles->n = n;
  for (int64_t i = 0; i < n; i++) {
    double r = b / sqrt(pow(0.996 * uniform(), -2.0 / 3) - 1), sigma = sqrt(1 / (6 * sqrt(r * r + b * b)));
    double c = 2 * uniform() - 1, f = 2 * M_PI * uniform(), s = sqrt(1 - c * c);
    const double x[3] = {s * cos(f), s * sin(f), c};
    for (int k = 0; k < 3; k++) {
      particles->pos[3 * i + k] = r * x[k];
      particles->vel[3 * i + k] = sigma * fmax(-2.5, fmin(2.5, normal()));
    }
    particles->mass[i] = 1.0f / (float)n;
    particles->id[i] = (uint64_t)i + 1;
    particles->level[i] = LEVEL_UNKNOWN;
  }
}

int main(int argc, char **argv)
{
  struct particles p;
  struct device_config config = {};
  struct list_request r = {};
  r.integrator = INTEGRATOR_HERMITE;
  double box[6];
  if (argc < 2)
    return fprintf(stderr, "usage: neighbour_list_bench LOG2_N [RADIUS [SWIFT_AIM [BLOCKS [SOFT_STEP]]]]\n"), 2;
  int64_t n = (int64_t)1 << atoi(argv[1]);
  double r2 = (argc > 2 ? atof(argv[2]) : 2.05) / cbrt((double)n);
  fill(&p, n);
  config.gravity = 1;
  config.max_leaf = 16;
  config.max_group = 128;
  config.ranks = 1;
  struct device *d = be->open(&config);
  d->lists.swift_aim = argc > 3 ? atoi(argv[3]) : 0;
  d->lists.blocks_max = argc > 4 ? atoi(argv[4]) : 0;
  be->upload(d, &p);
  be->sets.bounds(d, 0.1, box, box + 3);
  struct lattice lattice = lattice_cover(box, box + 3, 0.05, 0.01);
  r.split = split_make(SPLIT_SEPTIC, 0.25 * r2, r2);
  r.soft_step = argc > 5 ? atof(argv[5]) : pow(2, floor(log2(fmin(0.05 * r2 / 0.707, 0.009))));
  r.eta = 0.2;
  r.largest_mass = 1.0 / (double)n;
  printf("2^%s particles, R2 = %g, soft step %g, swift_aim %d, blocks %d\n", argv[1], r2, r.soft_step,
         d->lists.swift_aim, d->lists.blocks_max);
  for (int k = 0; k < SOFT_STEPS; k++) {
    struct list_tally t = {};
    be->tree.order(d, &lattice);
    be->clock.wait(d);
    be->neighbour_lists->advance(d, &r, 0, NULL, &t);
    double loop = t.seconds - t.list_seconds;
    printf("  lists %.3f ms, loop %.3f ms, %.2f us a tick; entries %.2f, ticks %lld, steps %.2f a particle, pairs "
           "%.1f, %.1f ns a 1000 pairs, deepest %d, collapsed %lld\n",
           1e3 * t.list_seconds, 1e3 * loop, 1e6 * loop / (double)t.ticks, (double)t.entries / (double)n,
           (long long)t.ticks, (double)t.steps / (double)n, (double)t.pairs / (double)n, 1e12 * loop / (double)t.pairs,
           t.deepest, (long long)t.collapsed);
  }
  be->download(d, &p);
  particles_free(&p);
  be->close(d);
  return 0;
}
