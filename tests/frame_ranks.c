/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frame of the centre of mass: what is subtracted, to the bit, however many ranks hold the particles. */
#include <config.h>
#include <math.h>
#include <mpi.h>
#include <string.h>

#include "chance.h"
#include "effects/frame.h"
#include "ranks.h"

enum { N = 500 };

static struct comm c, self;
static const double far[3] = {1e6, -5e5, 2.5e5};

/* Multiples of 2^-30 within a unit cube whose centre of mass is not the origin. */
static double number(struct random *random) { return (double)(random_bits(random) >> 34) * 0x1p-30 - 0.25; }

/* This rank's of N particles, or (`whole`) all; moved by `place` and `motion` in units of `far`. */
static void make(struct particles *particles, int whole, double place, double motion)
{
  struct random r = {11};
  particles_init(particles);
  particles_reserve(particles, N);
  for (int i = 0; i < N; i++) {
    double x[6], m = 1 + number(&r);
    for (int k = 0; k < 6; k++) x[k] = number(&r) + far[k % 3] * (k < 3 ? place : motion);
    if (!whole && i % c.size != c.rank) continue;
    memcpy(&particles->pos[3 * particles->n], x, sizeof(double) * 3);
    memcpy(&particles->vel[3 * particles->n], x + 3, sizeof(double) * 3);
    particles->mass[particles->n++] = (float)m;
  }
}

static int same(const struct particles *a, const struct particles *b)
{
  size_t bytes = sizeof(double) * 3 * (size_t)a->n;
  return a->n == b->n && memcmp(a->pos, b->pos, bytes) == 0 && memcmp(a->vel, b->vel, bytes) == 0;
}

static void check_moving(double place, double motion, const char *what)
{
  struct particles p, rest, input, whole;
  struct frame f, g, h;
  char text[200];
  double x[3], v[3];
  int given = 1, back = 1;
  make(&input, 0, place, motion);
  make(&p, 0, place, motion);
  make(&rest, 0, 0, 0);
  make(&whole, 1, place, motion);
  frame_choose(&f, &c, &p, 2);
  frame_choose(&g, &c, &rest, 2);
  frame_choose(&h, &self, &whole, 2);
  for (int k = 0; k < 3; k++)
    given = given && f.x0[k] == g.x0[k] + place * far[k] && f.v0[k] == g.v0[k] + motion * far[k];
  snprintf(text, sizeof text, "%s: positions and velocities in the frame are those at rest, to the bit", what);
  all_ok(&c, given && same(&p, &rest), text);
  snprintf(text, sizeof text, "%s: the frame does not depend on the number of ranks", what);
  all_ok(&c, memcmp(&f, &h, sizeof f) == 0, text);
  frame_shift(&f, 2, x, v);
  for (int64_t i = 0; i < 3 * p.n; i++)
    back = back && p.pos[i] + x[i % 3] == input.pos[i] && p.vel[i] + v[i % 3] == input.vel[i];
  snprintf(text, sizeof text, "%s: the user's frame has the numbers of the input", what);
  all_ok(&c, back, text);
  frame_shift(&f, 2.5, x, v);
  snprintf(text, sizeof text, "%s: it moves", what);
  all_ok(&c, x[0] == f.x0[0] + 0.5 * f.v0[0] && x[2] == f.x0[2] + 0.5 * f.v0[2] && v[1] == f.v0[1], text);
  particles_free(&p);
  particles_free(&rest);
  particles_free(&input);
  particles_free(&whole);
}

/* The mean in the frame, weighted by mass; `x`: pos or vel. */
static double largest_mean(const struct particles *particles, const double *x)
{
  double sum[4] = {0}, largest = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    for (int k = 0; k < 3; k++) sum[k] += particles->mass[i] * x[3 * i + k];
    sum[3] += particles->mass[i];
  }
  comm_sum_double(&c, sum, 4);
  for (int k = 0; k < 3; k++) largest = fmax(largest, fabs(sum[k] / sum[3]));
  return largest;
}

static void check_rest(void)
{
  struct particles p, before;
  struct frame f;
  make(&p, 0, 1, 1);
  frame_choose(&f, &c, &p, 0);
  all_ok(&c, largest_mean(&p, p.pos) < 0x1p-25 && largest_mean(&p, p.vel) < 0x1p-25,
         "the centre is at rest at the origin");
  make(&before, 0, 0, 0);
  memcpy(before.pos, p.pos, sizeof(double) * 3 * (size_t)p.n);
  memcpy(before.vel, p.vel, sizeof(double) * 3 * (size_t)p.n);
  frame_choose(&f, &c, &p, 0);
  all_ok(&c, same(&p, &before) && f.x0[0] == 0 && f.v0[1] == 0, "... and is left where it is");
  particles_free(&p);
  particles_free(&before);
}

/* `mass` and `x`: of all particles, if not negative; of the first coordinate of one particle, if not 0. */
static void check_odd(float mass, double x, const char *what)
{
  struct particles p, before;
  struct frame f;
  make(&p, 0, 0, 1);
  make(&before, 0, 0, 1);
  for (int64_t i = 0; i < p.n && mass >= 0; i++) p.mass[i] = mass;
  if (c.rank == 0 && x != 0) p.pos[0] = before.pos[0] = x;
  frame_choose(&f, &c, &p, 0);
  size_t bytes = sizeof(double) * 3 * (size_t)p.n;
  all_ok(&c, memcmp(p.pos, before.pos, bytes) == 0 && f.x0[0] == 0 && f.x0[1] == 0 && isfinite(f.v0[0]), what);
  particles_free(&p);
  particles_free(&before);
}

static void check_one(void)
{
  struct particles p;
  struct frame f;
  make(&p, 0, 0.3, 0.7);
  double x = p.n ? p.pos[1] : 0, v = p.n ? p.vel[2] : 0;
  p.n = c.rank == 0;
  frame_choose(&f, &c, &p, 0);
  all_ok(&c, p.n == 0 || (p.pos[1] == 0 && p.vel[2] == 0 && f.x0[1] == x && f.v0[2] == v),
         "one particle is at rest at the origin");
  particles_free(&p);
}

int main(int argc, char **argv)
{
  ranks_begin(&c, &argc, &argv);
  comm_open(&self, MPI_COMM_SELF);
  check_moving(0, 1e-3, "a bulk velocity of 1e3");
  check_moving(0, 1, "a bulk velocity of 1e6");
  check_moving(1, 0, "a place of 1e6");
  check_moving(1, 1, "a place and a bulk velocity of 1e6");
  check_rest();
  check_odd(0, 0, "without mass nothing is shifted");
  check_odd(-1, NAN, "... nor with a number that is not finite");
  check_odd(-1, 1e308, "... nor where squares are not finite");
  check_one();
  comm_close(&self);
  return ranks_end(&c);
}
