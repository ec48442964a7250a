/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Galaxies do not depend on the number of ranks or threads: the slices together are what one rank makes alone. */
#include <config.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ic/galaxy/make.h"
#include "ranks.h"

/* Whether each galaxy's centre is at its place, the black hole is there, and both move together: the first particle and
 * the last, the black hole, against the drawing of the first. */
static int centred(const struct galaxy_model *model, const struct galaxy_tables *tables,
                   const struct particles *particles)
{
  double error = 0;
  int64_t first = 0;
  for (int i = 0; i < model->count; i++) {
    int64_t hole = first + model->galaxy[i].component[0].n;
    struct ic_random random = random_of(5, (uint64_t)first + 1);
    double x[3], v[3];
    sphere_draw(tables[i].spheres, 0, &random, x, v);
    for (int a = 0; a < 3; a++) {
      const double *row = model->place[i].rotation[a];
      double radius = particles->pos[3 * first + a] - model->place[i].x[a],
             speed = particles->vel[3 * first + a] - particles->vel[3 * hole + a];
      error = fmax(error, fabs(particles->pos[3 * hole + a] - model->place[i].x[a]));
      error = fmax(error, fabs(radius - row[0] * x[0] - row[1] * x[1] - row[2] * x[2]));
      error = fmax(error, fabs(speed - row[0] * v[0] - row[1] * v[1] - row[2] * v[2]));
    }
    first = hole + 1;
  }
  return error < 1e-12;
}

/* `n` particles, in the proportions of the masses. */
static void check_model(const struct comm *world, const struct comm *alone, struct galaxy_model *model,
                        const char *name, int64_t n)
{
  struct galaxy_tables t[GALAXIES];
  struct particles slice, whole;
  struct fault f = {""};
  for (int i = 0; i < model->count; i++) model->galaxy[i].component[0].n = 0;
  int made = galaxy_share("test", 0, n, model, &f) == 0;
  for (int i = 0; i < model->count; i++) made &= galaxy_open(&t[i], &model->galaxy[i], &f) == 0;
  particles_init(&slice);
  particles_init(&whole);
  if (made) {
    omp_set_num_threads(1 + world->rank % 2);
    galaxy_make(world, model, t, 5, &slice);
    omp_set_num_threads(3);
    galaxy_make(alone, model, t, 5, &whole);
  }
  int64_t below = comm_exscan_int64(world, slice.n), same = 1, facts[3], moved = 0;
  double sums[3] = {0, 0, 0};
  for (int64_t i = 0; made && i < slice.n; i++) {
    same &= slice.id[i] == whole.id[below + i] && slice.type[i] == whole.type[below + i] &&
            slice.mass[i] == whole.mass[below + i];
    for (int c = 0; c < 3; c++)
      same &= slice.pos[3 * i + c] == whole.pos[3 * (below + i) + c] &&
              slice.vel[3 * i + c] == whole.vel[3 * (below + i) + c];
  }
  for (int64_t i = 0; made && i < whole.n; i++)
    for (int c = 0; c < 3; c++) sums[c] += whole.mass[i] * whole.vel[3 * i + c];
  for (int c = 0; c < 3; c++) moved |= !(sums[c] * sums[c] < 1e-12);
  moved |= made && !centred(model, t, &whole);
  facts[0] = slice.n;
  facts[1] = (int64_t)particles_digest(&slice);
  facts[2] = !made || !same || moved;
  comm_sum_int64(world, facts, 3);
  int even = comm_max_int64(world, slice.n) - comm_min_int64(world, slice.n) <= 1;
  char what[1300];
  snprintf(what, sizeof what, "%s, N = %lld: bit-identical, in nearly equal slices, at rest about its place %s", name,
           (long long)n, f.text);
  if (world->rank == 0)
    tap_ok(facts[0] == n && facts[1] == (int64_t)particles_digest(&whole) && facts[2] == 0 && even, what);
  particles_free(&slice);
  particles_free(&whole);
  for (int i = 0; i < model->count; i++) galaxy_close(&t[i]);
}

static struct galaxy sphere(double mass, double scale)
{
  struct galaxy g = {.gravity = 1, .count = 2};
  g.component[0] = (struct galaxy_component){
      .name = "a", .profile = PROFILE_HERNQUIST, .n = 100, .mass = mass, .scale = scale, .type = 1};
  g.component[1] =
      (struct galaxy_component){.name = "b", .profile = PROFILE_POINT, .n = 1, .mass = 0.01 * mass, .type = 5};
  return g;
}

int main(int argc, char **argv)
{
  struct comm world, alone;
  ranks_begin(&world, &argc, &argv);
  comm_open(&alone, MPI_COMM_SELF);
  struct galaxy_model *m = memory_alloc("test", sizeof *m);
  struct galaxy_orbit orbit = {.eccentricity = 1, .pericentre = 1, .separation = 10, .inclination = {30, 0}};
  struct fault f = {""};
  m->count = 1;
  m->galaxy[0] = sphere(1, 1);
  m->place[0] = m->place[1] = (struct galaxy_place){.rotation = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  check_model(&world, &alone, m, "a sphere with a black hole", 2);
  check_model(&world, &alone, m, "a sphere with a black hole", 4001);
  m->count = 2;
  m->galaxy[1] = sphere(0.3, 0.5);
  if (orbit_place(&orbit, m, 1, &f)) tap_ok(0, f.text);
  check_model(&world, &alone, m, "two galaxies", 6);
  check_model(&world, &alone, m, "two galaxies", 4001);
  memory_free(m);
  comm_close(&alone);
  return ranks_end(&world);
}
