/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of a galaxy, and the particles of a slice. */
#include <config.h>
#include "ic/galaxy/make.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ic/slices.h"

static int is_point(const struct galaxy *galaxy, int i) { return galaxy->component[i].profile == PROFILE_POINT; }

int galaxy_open(struct galaxy_tables *tables, const struct galaxy *galaxy, struct fault *fault)
{
  struct radial *round[GALAXY_COMPONENTS] = {NULL};
  double point = 0;
  int discs = 0;
  *tables = (struct galaxy_tables){.g = galaxy};
  for (int i = 0; i < galaxy->count; i++) {
    int disc = galaxy_is_disc(galaxy->component[i].profile);
    discs += disc;
    if (is_point(galaxy, i)) {
      point += galaxy->component[i].mass;
      continue;
    }
    tables->part[i] = disc ? disc_mass(galaxy, i, fault) : sphere_mass(galaxy, i, fault);
    if (!tables->part[i]) return -1;
    if (!disc) round[i] = tables->part[i];
  }
  tables->total = radial_sum(galaxy->count, tables->part);
  tables->spheroids = radial_sum(galaxy->count, round);
  if (point > 0) radial_add_point(tables->total, point);
  if (point > 0 && !tables->spheroids) { /* a black hole in discs alone */
    const double r[] = {radial_node(tables->total, 0), radial_node(tables->total, radial_nodes(tables->total) - 1)},
                 mass[] = {1e-30 * point, 2e-30 * point};
    tables->spheroids = radial_make(2, r, mass, galaxy->gravity);
  }
  if (point > 0) radial_add_point(tables->spheroids, point);
  if (discs && !(tables->discs = discs_open(galaxy, tables->spheroids, fault))) return -1;
  return (tables->spheres = spheres_open(galaxy, tables->total, fault)) ? 0 : -1;
}

void galaxy_close(struct galaxy_tables *tables)
{
  spheres_free(tables->spheres);
  discs_free(tables->discs);
  radial_free(tables->spheroids);
  radial_free(tables->total);
  for (int i = 0; i < GALAXY_COMPONENTS; i++) radial_free(tables->part[i]);
  *tables = (struct galaxy_tables){.g = NULL};
}

int64_t galaxy_particles(const struct galaxy_model *model)
{
  int64_t sum = 0;
  for (int i = 0; i < model->count; i++)
    for (int k = 0; k < model->galaxy[i].count; k++) sum += model->galaxy[i].component[k].n;
  return sum;
}

/* Draw particles begin to end - 1 of all, which are of one component; `base`: the first particle of the slice. */
static void draw(const struct galaxy_tables *tables, int component, int64_t begin, int64_t end, int64_t base,
                 uint64_t seed, struct particles *particles)
{
  const struct galaxy_component *c = &tables->g->component[component];
  float mass = (float)(c->mass / (double)c->n);
  int disc = galaxy_is_disc(c->profile), point = c->profile == PROFILE_POINT;
#pragma omp parallel for schedule(dynamic, 4096)
  for (int64_t id = begin; id < end; id++) {
    int64_t i = id - base;
    struct ic_random random = random_of(seed, (uint64_t)id + 1);
    if (disc) disc_draw(tables->discs, component, &random, particles->pos + 3 * i, particles->vel + 3 * i);
    else if (!point) sphere_draw(tables->spheres, component, &random, particles->pos + 3 * i, particles->vel + 3 * i);
    particles->mass[i] = mass;
    particles->id[i] = (uint64_t)id + 1;
    particles->type[i] = (uint8_t)c->type;
  }
}

/* The largest mass of a particle that is not a black hole. */
static double largest_mass(const struct galaxy *galaxy)
{
  double largest = 0;
  for (int i = 0; i < galaxy->count; i++)
    if (!is_point(galaxy, i))
      largest = fmax(largest, (float)(galaxy->component[i].mass / (double)galaxy->component[i].n));
  return largest;
}

/* Whether this is the black hole: no other particle is drawn exactly at the centre. */
static int rests(const struct particles *particles, int64_t i)
{
  return particles->pos[3 * i] == 0 && particles->pos[3 * i + 1] == 0 && particles->pos[3 * i + 2] == 0;
}

/* Move a galaxy, whose particles are begin to end - 1 of this rank, to its place. The centre of its components comes
 * there, and with it the black hole. The centre of mass, which is at rest, is beside it: by 0.1 kpc for a halo like
 * Andromeda's of 10^6 particles, which is not little for a bulge. Sums are of integers: velocities in units of the
 * largest one, masses of the largest one without the black hole's. Collective. */
static void put(const struct comm *comm, const struct galaxy_tables *tables, const struct galaxy_place *place,
                int64_t begin, int64_t end, struct particles *particles)
{
  int64_t low[4] = {0}, high[4] = {0}, sums[8];
  double mean[3], largest = largest_mass(tables->g), hole = 0,
                  speed = sqrt(-2 * radial_potential(tables->total, radial_node(tables->total, 0)));
  for (int i = 0; i < tables->g->count; i++)
    if (is_point(tables->g, i)) hole = tables->g->component[i].mass;
#pragma omp parallel for schedule(static) reduction(+ : low, high)
  for (int64_t i = begin; i < end; i++) {
    double weight = particles->mass[i] / largest;
    if (hole > 0 && rests(particles, i)) continue;
    for (int k = 0; k < 4; k++) {
      int64_t sum[2] = {0, 0};
      add_scaled(k == 3 ? weight : weight * particles->vel[3 * i + k] / speed, sum);
      low[k] += sum[0];
      high[k] += sum[1];
    }
  }
  for (int k = 0; k < 4; k++) {
    sums[2 * k] = low[k];
    sums[2 * k + 1] = high[k];
  }
  comm_sum_int64(comm, sums, 8);
  double mass = sum_scaled(sums + 6) + ldexp((float)hole / largest, SCALE_BITS);
  for (int k = 0; k < 3; k++) mean[k] = speed * (sum_scaled(sums + 2 * k) / mass);
#pragma omp parallel for schedule(static)
  for (int64_t i = begin; i < end; i++) {
    double x[3], v[3];
    for (int k = 0; k < 3; k++) {
      x[k] = particles->pos[3 * i + k];
      v[k] = particles->vel[3 * i + k] - mean[k];
    }
    for (int a = 0; a < 3; a++) {
      const double *row = place->rotation[a];
      particles->pos[3 * i + a] = place->x[a] + row[0] * x[0] + row[1] * x[1] + row[2] * x[2];
      particles->vel[3 * i + a] = place->v[a] + row[0] * v[0] + row[1] * v[1] + row[2] * v[2];
    }
  }
}

void galaxy_make(const struct comm *comm, const struct galaxy_model *model, const struct galaxy_tables *tables,
                 uint64_t seed, struct particles *particles)
{
  int64_t n = galaxy_particles(model), start = slice_start(n, comm->rank, comm->size),
          end = slice_start(n, comm->rank + 1, comm->size), at = 0;
  particles_reserve(particles, end - start);
  particles->n = end - start;
  for (int i = 0; i < model->count; i++) {
    int64_t first = at;
    for (int k = 0; k < model->galaxy[i].count; k++) {
      int64_t next = at + model->galaxy[i].component[k].n, low = at > start ? at : start,
              high = next < end ? next : end;
      if (low < high) draw(&tables[i], k, low, high, start, seed, particles);
      at = next;
    }
    int64_t low = first > start ? first : start, high = at < end ? at : end;
    put(comm, &tables[i], &model->place[i], low - start, low < high ? high - start : low - start, particles);
  }
}
