/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of models; drawing and centring of a slice. */
#include <config.h>
#include "ic/ic.h"

#include <math.h>
#include <string.h>

#include "ic/models.h"

typedef void draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point);

static draw *const draws[] = {plummer_draw, hernquist_draw, uniform_draw, merger_draw};
const char *const ic_names[] = {"plummer", "hernquist", "uniform", "merger"};
const int ic_count = sizeof ic_names / sizeof *ic_names;
_Static_assert(sizeof ic_names / sizeof *ic_names == sizeof draws / sizeof *draws, "a name for each model");

/* The centre of mass is computed from sums of integers, which do not depend on their order. Coordinates and velocities are below
 * 2^12 (the spheres are cut at 200 length units, the orbits at IC_ORBIT_MAX) and there are at most 2^36 particles: with values
 * scaled by 2^40 and split into halves of 26 bits, the sums of either half fit in 63 bits. */
enum { SCALE_BITS = 40, HALF_BITS = 26 };

void ic_defaults(struct ic_model *m)
{
  memset(m, 0, sizeof *m);
  m->seed = 1;
  m->mass_ratio = 1;
  m->separation = 3;
  m->impact_parameter = 0.5;
  m->relative_velocity = 0.8;   /* slightly below the parabolic velocity, sqrt(2 / 3) */
}

static int model_index(const struct ic_model *m)
{
  for (int i = 0; i < ic_count; i++)
    if (strcmp(ic_names[i], m->name) == 0) return i;
  return -1;
}

static int check_range(const char *name, double x, double lowest, double largest, struct fault *f)
{
  if (x >= lowest && x <= largest) return 0;   /* false for NaN */
  return fault_set(f, "%s: expected a number from %g to %g, found %g", name, lowest, largest, x);
}

int ic_check(const struct ic_model *m, struct fault *f)
{
  if (model_index(m) < 0) {
    const char *near = nearest_name(m->name, ic_names, ic_count);
    return fault_set(f, "unknown model '%s'%s%s%s", m->name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  if (m->n < 1 || m->n > IC_MAX)
    return fault_set(f, "number of particles: expected a number from 1 to 2^36, found %lld", (long long)m->n);
  if (check_range("virial ratio", m->virial_ratio, 0, 1.9, f) || check_range("mass ratio", m->mass_ratio, 1e-6, 1e6, f) ||
      check_range("separation", m->separation, 0, IC_ORBIT_MAX, f) ||
      check_range("impact parameter", m->impact_parameter, -IC_ORBIT_MAX, IC_ORBIT_MAX, f) ||
      check_range("relative velocity", m->relative_velocity, -IC_ORBIT_MAX, IC_ORBIT_MAX, f))
    return -1;
  if (draws[model_index(m)] == merger_draw && (merger_first(m) < 1 || merger_first(m) >= m->n))
    return fault_set(f, "%lld particles of equal mass cannot have the mass ratio %g: one sphere would be empty", (long long)m->n,
                     m->mass_ratio);
  return 0;
}

/* The first particle of the slice of rank r; for r = ranks, the end of the last slice. */
static int64_t slice_start(int64_t n, int r, int ranks) { return n / ranks * r + (n % ranks < r ? n % ranks : r); }

static void draw_slice(const struct ic_model *m, int64_t start, struct particles *p)
{
  draw *one = draws[model_index(m)];
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    struct ic_point point;
    struct ic_random random = random_of(m->seed, (uint64_t)(start + i) + 1);
    one(m, start + i, &random, &point);
    for (int c = 0; c < 3; c++) {
      p->pos[3 * i + c] = point.pos[c];
      p->vel[3 * i + c] = point.vel[c];
    }
    p->mass[i] = (float)(1 / (double)m->n);
    p->id[i] = (uint64_t)(start + i) + 1;
    p->type[i] = point.type;
  }
}

/* Add the scaled values of x[3 n] to the low and high halves of three sums. */
static void add_scaled(const double *x, int64_t n, int64_t sums[3][2])
{
  for (int64_t i = 0; i < n; i++)
    for (int c = 0; c < 3; c++) {
      int64_t scaled = llrint(ldexp(x[3 * i + c], SCALE_BITS));
      sums[c][0] += scaled & (((int64_t)1 << HALF_BITS) - 1);
      sums[c][1] += scaled >> HALF_BITS;
    }
}

/* Move the centre of mass to the origin and remove its velocity. Collective. */
static void centre(const struct comm *c, int64_t n, struct particles *p)
{
  int64_t sums[6][2] = {{0}};
  double mean[6];
  add_scaled(p->pos, p->n, sums);
  add_scaled(p->vel, p->n, sums + 3);
  comm_sum_int64(c, sums[0], 12);
  for (int k = 0; k < 6; k++)
    mean[k] = (ldexp((double)sums[k][1], HALF_BITS) + (double)sums[k][0]) / (double)n * ldexp(1, -SCALE_BITS);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++)
    for (int k = 0; k < 3; k++) {
      p->pos[3 * i + k] -= mean[k];
      p->vel[3 * i + k] -= mean[3 + k];
    }
}

int ic_make(const struct comm *c, const struct ic_model *m, struct particles *p, struct fault *f)
{
  ic_check(m, f);
  if (comm_agree(c, f)) return -1;
  int64_t start = slice_start(m->n, c->rank, c->size), end = slice_start(m->n, c->rank + 1, c->size);
  particles_reserve(p, end - start);
  p->n = end - start;
  draw_slice(m, start, p);
  centre(c, m->n, p);
  return 0;
}
