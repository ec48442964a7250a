/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bound bodies: two of them, some that leave one after another, and clusters against sums over all pairs, up to
 * BOUND_DIRECT bodies exactly, above by the tree. */
#include <config.h>
#include "analysis/bound.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "chance.h"
#include "tap.h"

static double square(double x) { return x * x; }

static void check_two(void)
{
  /* energies are of each star: that of the second is 1.805 - 3 / 2 in the frame of the first */
  struct bound_body pair[2] = {{{0, 0, 0}, {0, 0, 0}, 3}, {{2, 0, 0}, {0, 1.9, 0}, 1}};
  double motion[3] = {0, 0, 0};
  char bound[2];
  tap_ok(bound_find(pair, 2, 1, 0, NULL, motion, bound) == 0 && motion[1] == 0,
         "in the frame of the first star the second one leaves, then the first, which has no other");
  for (int k = 0; k < 2; k++) motion[k] = k * 1.9 / 4;
  tap_ok(bound_find(pair, 2, 1, 0, NULL, motion, bound) == 2 && bound[0] == 1 && bound[1] == 1 && motion[1] == 1.9 / 4,
         "in the frame of the centre of mass both are bound");
  motion[1] = 1.9 / 4;
  tap_ok(bound_find(pair, 2, 1, 3, NULL, motion, bound) == 0, "with softening they are not");
}

/* The Jacobi radius of the bodies that are bound: from that of all of them inwards. */
static double jacobi_radius(const struct bound_body *body, int32_t count, const struct bound_tide *tide,
                            const char *bound)
{
  for (double radius = HUGE_VAL, before = 0;; before = radius) {
    double mass = 0;
    for (int32_t i = 0; i < count; i++) {
      const double *x = body[i].pos, *centre = tide->centre;
      if (bound[i] && hypot(hypot(x[0] - centre[0], x[1] - centre[1]), x[2] - centre[2]) <= radius)
        mass += body[i].mass;
    }
    radius = cbrt(tide->factor * mass);
    if (radius == before) return radius < tide->reach ? radius : HUGE_VAL;
  }
}

/* Bodies that remain by the definition, with sums over all pairs anew each time. Returns their number. */
static int32_t remain(const struct bound_body *body, int32_t count, double eps, const struct bound_tide *tide,
                      double motion[3], char *bound)
{
  double *kinetic = memory_alloc("test", sizeof *kinetic * (size_t)count);
  memset(bound, 1, (size_t)count);
  for (int32_t left = count, before = -1;;) {
    double sum[4] = {0}, last[3] = {motion[0], motion[1], motion[2]};
    before = left;
    double radius = tide ? jacobi_radius(body, count, tide, bound) : HUGE_VAL;
    for (int32_t i = 0; i < count; i++) {
      double well = 0;
      for (int32_t j = 0; j < count && bound[i]; j++)
        if (bound[j] && j != i)
          well +=
              body[j].mass / sqrt(square(body[j].pos[0] - body[i].pos[0]) + square(body[j].pos[1] - body[i].pos[1]) +
                                  square(body[j].pos[2] - body[i].pos[2]) + eps * eps);
      kinetic[i] = -well;
      for (int c = 0; c < 3; c++) kinetic[i] += square(body[i].vel[c] - motion[c]) / 2;
    }
    left = 0;
    for (int32_t i = 0; i < count; i++) {
      const double *x = body[i].pos, *centre = tide ? tide->centre : x;
      bound[i] =
          bound[i] && kinetic[i] < 0 && hypot(hypot(x[0] - centre[0], x[1] - centre[1]), x[2] - centre[2]) <= radius;
      left += bound[i];
      sum[3] += bound[i] ? body[i].mass : 0;
      for (int c = 0; c < 3; c++) sum[c] += bound[i] ? body[i].mass * body[i].vel[c] : 0;
    }
    for (int c = 0; c < 3 && left; c++) motion[c] = sum[c] / sum[3];
    int stays = left == before && motion[0] == last[0] && motion[1] == last[1] && motion[2] == last[2];
    if (left && !stays) continue;
    memory_free(kinetic);
    return left;
  }
}

/* A sphere that is denser inside, with velocities of which a part is above that of escape. */
static struct bound_body *sphere(int32_t count)
{
  struct random r = {3};
  struct bound_body *body = memory_alloc("test", sizeof *body * (size_t)count);
  for (int32_t i = 0; i < count; i++) {
    double radius = pow(random_unit(&r), 2) * 3, speed = 1.3 * random_unit(&r) * sqrt(2 / sqrt(radius * radius + 0.5));
    random_direction(&r, radius, body[i].pos);
    random_direction(&r, speed, body[i].vel);
    body[i].mass = (0.2 + random_unit(&r)) / (0.7 * count);
    body[i].vel[0] += 5;
  }
  return body;
}

static void check_sphere(int32_t count, double gravity_scale, double eps, const struct bound_tide *tide,
                         int32_t wrong_most)
{
  struct bound_body *body = sphere(count);
  char *bound = memory_alloc("test", (size_t)count), *expected = memory_alloc("test", (size_t)count), line[200];
  double motion[3] = {5, 0, 0}, mean[3] = {5, 0, 0};
  int32_t wrong = 0;
  for (int32_t i = 0; i < count; i++) body[i].mass *= gravity_scale;
  clock_t begin = clock();
  int32_t left = bound_find(body, count, 1, eps, tide, motion, bound);
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  int32_t there = remain(body, count, eps, tide, mean, expected);
  for (int32_t i = 0; i < count; i++) wrong += bound[i] != expected[i];
  double off = hypot(hypot(motion[0] - mean[0], motion[1] - mean[1]), motion[2] - mean[2]);
  snprintf(line, sizeof line,
           "%d bodies, softening %g%s: %d are bound, expected %d; %d otherwise, the mean off by %.1e", count, eps,
           !tide             ? ""
           : tide->reach > 9 ? ", a tide"
                             : ", a tide beyond its field",
           left, there, wrong, off);
  printf("# %.3f s\n", seconds);
  tap_ok(wrong <= wrong_most && off <= (wrong ? 1e-2 : 1e-12) && (there == 0 || (there > count / 10 && there < count)),
         line);
  memory_free(expected);
  memory_free(bound);
  memory_free(body);
}

int main(void)
{
  check_two();
  check_sphere(1, 1, 0, NULL, 0);
  check_sphere(1500, 1, 0, NULL, 0);
  check_sphere(1500, 1, 0.3, NULL, 0);
  check_sphere(1500, 0.15, 0, NULL, 0); /* each that leaves makes others leave */
  check_sphere(BOUND_DIRECT + 1500, 1, 0.01, NULL, 5);
  const struct bound_tide tide = {{0.1, 0, 0}, 0.5, HUGE_VAL}, far = {{0.1, 0, 0}, 0.5, 0.1};
  check_sphere(1500, 1, 0, &tide, 0);
  check_sphere(BOUND_DIRECT + 1500, 1, 0.01, &tide, 5);
  check_sphere(1500, 1, 0, &far, 0);
  return tap_end();
}
