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
static int32_t (*group)[3], (*family)[2];
static int groups, families;

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

/* Inverse of a growing table by bisection. */
static double inverse(const double *x, const double *y, int n, double at)
{
  int low = 0, high = n - 1;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (y[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  return x[low] + (x[high] - x[low]) * (at - y[low]) / (y[high] - y[low]);
}

enum { TABLE = 20000 };

/* NFW halo within 240, Hernquist bulge within 30 scale radii, exponential disk within 10: lengths in kpc. */
static void m31(double part, double x[3])
{
  static double rx[TABLE], rm[TABLE], dx[TABLE], dm[TABLE];
  if (!rm[TABLE - 1])
    for (int i = 0; i < TABLE; i++) {
      rx[i] = pow(10, -4 + i * (log10(240 / 7.63) + 4) / (TABLE - 1)), rm[i] = log1p(rx[i]) - rx[i] / (1 + rx[i]);
      dx[i] = 10.0 * i / (TABLE - 1), dm[i] = 1 - (1 + dx[i]) * exp(-dx[i]);
    }
  if (part < 0.0372) {
    double s = 30.0 / 31, u = s * sqrt(uniform());
    direction(0.61 * u / (1 - u), x);
  } else if (part < 0.0372 + 0.0419) {
    double r = 5.4 * inverse(dx, dm, TABLE, uniform() * dm[TABLE - 1]), phi = 2 * M_PI * uniform();
    x[0] = r * cos(phi), x[1] = r * sin(phi), x[2] = 0.6 * atanh((2 * uniform() - 1) * 0.999999);
  } else {
    direction(7.63 * inverse(rx, rm, TABLE, uniform() * rm[TABLE - 1]), x);
  }
}

double host_particles(const char *kind, int64_t n)
{
  static struct particles p;
  int galaxy = strcmp(kind, "m31") == 0;
  double softening = galaxy ? 1.0 / 64 : 0.0092038847;
  d = memory_alloc("device", sizeof *d);
  d->isa = &walk_isa_avx2;
  d->threads = omp_get_max_threads();
  d->config = (struct device_config){.gravity = 1, .softening = softening, .quadrupole = 1, .ranks = 1};
  particles_init(&p);
  particles_reserve(&p, n);
  p.n = n;
  state = 42;
  for (int64_t i = 0; i < n; i++) {
    if (galaxy)
      m31(uniform(), &p.pos[3 * i]);
    else
      plummer(&p.pos[3 * i]);
    p.mass[i] = 1.0f / (float)n;
    p.id[i] = (uint64_t)i;
  }
  d->p = p;
  return softening;
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

static void host_families(int most)
{
  d->config.max_group = most;
  cpu_groups(d);
  families = d->groups;
  free(family);
  family = malloc(sizeof *family * (size_t)families);
  for (int f = 0; f < families; f++) family[f][0] = d->group[f].begin, family[f][1] = d->group[f].end;
}

static void add_group(int32_t begin, int32_t end, int f)
{
  group[groups][0] = begin, group[groups][1] = end, group[groups][2] = f;
  groups++;
}

void host_groups(int most, int blocks, int family_most)
{
  host_families(family_most);
  d->config.max_group = most;
  cpu_groups(d);
  free(group);
  group = malloc(sizeof *group * (size_t)(d->groups + d->p.n / most + 2 * families));
  groups = 0;
  if (blocks) {
    for (int f = 0; f < families; f++)
      for (int32_t b = family[f][0]; b < family[f][1]; b += most) add_group(b, b + most < family[f][1] ? b + most : family[f][1], f);
    return;
  }
  for (int g = 0, f = 0; g < d->groups; g++) {
    int32_t begin = d->group[g].begin, end = d->group[g].end;
    while (begin < end) {
      while (family[f][1] <= begin) f++;
      int32_t stop = family[f][1] < end ? family[f][1] : end;
      add_group(begin, stop, f);
      begin = stop;
    }
  }
}

struct host_tree host_tree(void) { return (struct host_tree){d->p.n, d->lattice, &d->tree, groups, group, families, family}; }

/* Only a digest that is not asked for needs it. */
unsigned long long XXH64(const void *data, size_t size, unsigned long long seed);
unsigned long long XXH64(const void *data, size_t size, unsigned long long seed)
{
  (void)data;
  return seed + size;
}
