/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host_tree.h"

#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "fault.h"
#include "memory.h"

static struct device *d;
static int32_t (*group)[2];
static int groups;

extern const struct walk_isa walk_isa_avx2;

/* The functions of the CPU backend need these. */
void fatal_at(const char *file, int line, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  exit(1);
}

double cpu_seconds(void) { return omp_get_wtime(); }

static uint64_t state;

static double uniform(void)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static void direction(double r, double x[3])
{
  double c = 2 * uniform() - 1, s = sqrt(1 - c * c), phi = 2 * M_PI * uniform();
  x[0] = r * s * cos(phi), x[1] = r * s * sin(phi), x[2] = r * c;
}

static void plummer(double x[3])
{
  static const double cut = 20, b = 3 * M_PI / 16;
  double most = pow(cut * cut / (1 + cut * cut), 1.5);
  direction(b / sqrt(pow(most * uniform(), -2. / 3) - 1), x);
}

void host_particles(const char *kind, int64_t n)
{
  static struct particles p;
  (void)kind;
  d = memory_alloc("device", sizeof *d);
  d->isa = &walk_isa_avx2;
  d->threads = omp_get_max_threads();
  d->config = (struct device_config){.gravity = 1, .softening = 0.0092038847, .quadrupole = 1, .ranks = 1};
  particles_init(&p);
  particles_reserve(&p, n);
  p.n = n;
  state = 42;
  for (int64_t i = 0; i < n; i++) {
    plummer(&p.pos[3 * i]);
    p.mass[i] = 1.0f / (float)n;
    p.id[i] = (uint64_t)i;
  }
  d->p = p;
}

void host_build(int max_leaf)
{
  double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300};
  for (int64_t i = 0; i < d->p.n; i++)
    for (int c = 0; c < 3; c++) low[c] = fmin(low[c], d->p.pos[3 * i + c]), high[c] = fmax(high[c], d->p.pos[3 * i + c]);
  if (d->config.max_leaf != max_leaf) {
    memory_free(d->tree.memory);
    memset(&d->tree, 0, sizeof d->tree);
  }
  d->config.max_leaf = max_leaf;
  d->lattice = lattice_cover(low, high, 0.05, d->config.softening);
  cpu_order(d, &d->lattice);
  cpu_build(d);
  cpu_sources(d);
}

void host_moments(int order)
{
  struct mac mac = {MAC_ACCELERATION, order, 1, 1};
  cpu_moments(d, &mac, 0, 0);
}

void host_groups(int most, int blocks)
{
  free(group);
  if (blocks) {
    groups = (int)((d->p.n + most - 1) / most);
    group = malloc(sizeof *group * (size_t)groups);
    for (int g = 0; g < groups; g++) {
      group[g][0] = g * most;
      group[g][1] = (int32_t)fmin((double)d->p.n, (double)(g + 1) * most);
    }
    return;
  }
  d->config.max_group = most;
  cpu_groups(d);
  groups = d->groups;
  group = malloc(sizeof *group * (size_t)groups);
  for (int g = 0; g < groups; g++) group[g][0] = d->group[g].begin, group[g][1] = d->group[g].end;
}

struct host_tree host_tree(void) { return (struct host_tree){d->p.n, d->lattice, &d->tree, groups, group}; }

/* Only a digest that is not asked for needs it. */
unsigned long long XXH64(const void *data, size_t size, unsigned long long seed);
unsigned long long XXH64(const void *data, size_t size, unsigned long long seed)
{
  (void)data;
  return seed + size;
}
