/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of a galaxy, and the particles of a slice. */
#include <config.h>
#include "ic/galaxy/make.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ic/slices.h"

static int is_point(const struct galaxy *g, int i) { return g->component[i].profile == PROFILE_POINT; }

int galaxy_open(struct galaxy_tables *t, const struct galaxy *g, struct fault *f)
{
  struct radial *round[GALAXY_COMPONENTS] = {NULL};
  double point = 0;
  int discs = 0;
  *t = (struct galaxy_tables){.g = g};
  for (int i = 0; i < g->count; i++) {
    int disc = galaxy_is_disc(g->component[i].profile);
    discs += disc;
    if (is_point(g, i)) {
      point += g->component[i].mass;
      continue;
    }
    t->part[i] = disc ? disc_mass(g, i, f) : sphere_mass(g, i, f);
    if (!t->part[i]) return -1;
    if (!disc) round[i] = t->part[i];
  }
  t->total = radial_sum(g->count, t->part);
  t->spheroids = radial_sum(g->count, round);
  if (point > 0) radial_add_point(t->total, point);
  if (point > 0 && !t->spheroids) {   /* a black hole in discs alone */
    const double r[] = {radial_node(t->total, 0), radial_node(t->total, radial_nodes(t->total) - 1)}, mass[] = {1e-30 * point, 2e-30 * point};
    t->spheroids = radial_make(2, r, mass, g->gravity);
  }
  if (point > 0) radial_add_point(t->spheroids, point);
  if (discs && !(t->discs = discs_open(g, t->spheroids, f))) return -1;
  return (t->spheres = spheres_open(g, t->total, f)) ? 0 : -1;
}

void galaxy_close(struct galaxy_tables *t)
{
  spheres_free(t->spheres);
  discs_free(t->discs);
  radial_free(t->spheroids);
  radial_free(t->total);
  for (int i = 0; i < GALAXY_COMPONENTS; i++) radial_free(t->part[i]);
  *t = (struct galaxy_tables){.g = NULL};
}

int64_t galaxy_particles(const struct galaxy_model *m)
{
  int64_t sum = 0;
  for (int i = 0; i < m->count; i++)
    for (int k = 0; k < m->galaxy[i].count; k++) sum += m->galaxy[i].component[k].n;
  return sum;
}

/* Draw particles begin to end - 1 of all, which are of one component; `base`: the first particle of the slice. */
static void draw(const struct galaxy_tables *t, int component, int64_t begin, int64_t end, int64_t base, uint64_t seed, struct particles *p)
{
  const struct galaxy_component *c = &t->g->component[component];
  float mass = (float)(c->mass / (double)c->n);
  int disc = galaxy_is_disc(c->profile), point = c->profile == PROFILE_POINT;
#pragma omp parallel for schedule(dynamic, 4096)
  for (int64_t id = begin; id < end; id++) {
    int64_t i = id - base;
    struct ic_random random = random_of(seed, (uint64_t)id + 1);
    if (disc) disc_draw(t->discs, component, &random, p->pos + 3 * i, p->vel + 3 * i);
    else if (!point) sphere_draw(t->spheres, component, &random, p->pos + 3 * i, p->vel + 3 * i);
    p->mass[i] = mass;
    p->id[i] = (uint64_t)id + 1;
    p->type[i] = (uint8_t)c->type;
  }
}

/* The largest mass of a particle that is not a black hole. */
static double largest_mass(const struct galaxy *g)
{
  double largest = 0;
  for (int i = 0; i < g->count; i++)
    if (!is_point(g, i)) largest = fmax(largest, (float)(g->component[i].mass / (double)g->component[i].n));
  return largest;
}

/* Whether this is the black hole: no other particle is drawn exactly at the centre. */
static int rests(const struct particles *p, int64_t i) { return p->pos[3 * i] == 0 && p->pos[3 * i + 1] == 0 && p->pos[3 * i + 2] == 0; }

/* Move a galaxy, whose particles are begin to end - 1 of this rank, to its place. The centre of its components comes there, and with it the
 * black hole. The centre of mass, which is at rest, is beside it: by 0.1 kpc for a halo like Andromeda's of 10^6 particles, which is
 * not little for a bulge. Sums are of integers: velocities in units of the largest one, masses of the largest one without the black
 * hole's. Collective. */
static void put(const struct comm *c, const struct galaxy_tables *t, const struct galaxy_place *place, int64_t begin, int64_t end,
                struct particles *p)
{
  int64_t low[4] = {0}, high[4] = {0}, sums[8];
  double mean[3], largest = largest_mass(t->g), hole = 0, speed = sqrt(-2 * radial_potential(t->total, radial_node(t->total, 0)));
  for (int i = 0; i < t->g->count; i++)
    if (is_point(t->g, i)) hole = t->g->component[i].mass;
#pragma omp parallel for schedule(static) reduction(+ : low, high)
  for (int64_t i = begin; i < end; i++) {
    double weight = p->mass[i] / largest;
    if (hole > 0 && rests(p, i)) continue;
    for (int k = 0; k < 4; k++) {
      int64_t sum[2] = {0, 0};
      add_scaled(k == 3 ? weight : weight * p->vel[3 * i + k] / speed, sum);
      low[k] += sum[0];
      high[k] += sum[1];
    }
  }
  for (int k = 0; k < 4; k++) sums[2 * k] = low[k], sums[2 * k + 1] = high[k];
  comm_sum_int64(c, sums, 8);
  double mass = sum_scaled(sums + 6) + ldexp((float)hole / largest, SCALE_BITS);
  for (int k = 0; k < 3; k++) mean[k] = speed * (sum_scaled(sums + 2 * k) / mass);
#pragma omp parallel for schedule(static)
  for (int64_t i = begin; i < end; i++) {
    double x[3], v[3];
    for (int k = 0; k < 3; k++) {
      x[k] = p->pos[3 * i + k];
      v[k] = p->vel[3 * i + k] - mean[k];
    }
    for (int a = 0; a < 3; a++) {
      const double *row = place->rotation[a];
      p->pos[3 * i + a] = place->x[a] + row[0] * x[0] + row[1] * x[1] + row[2] * x[2];
      p->vel[3 * i + a] = place->v[a] + row[0] * v[0] + row[1] * v[1] + row[2] * v[2];
    }
  }
}

void galaxy_make(const struct comm *c, const struct galaxy_model *m, const struct galaxy_tables *t, uint64_t seed, struct particles *p)
{
  int64_t n = galaxy_particles(m), start = slice_start(n, c->rank, c->size), end = slice_start(n, c->rank + 1, c->size), at = 0;
  particles_reserve(p, end - start);
  p->n = end - start;
  for (int i = 0; i < m->count; i++) {
    int64_t first = at;
    for (int k = 0; k < m->galaxy[i].count; k++) {
      int64_t next = at + m->galaxy[i].component[k].n, low = at > start ? at : start, high = next < end ? next : end;
      if (low < high) draw(&t[i], k, low, high, start, seed, p);
      at = next;
    }
    int64_t low = first > start ? first : start, high = at < end ? at : end;
    put(c, &t[i], &m->place[i], low - start, low < high ? high - start : low - start, p);
  }
}
