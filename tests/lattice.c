/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "tree/lattice.h"

#include <math.h>

#include "chance.h"
#include "tap.h"

static void check_cover(struct random *random)
{
  int inside = 1, margin = 1, cube = 1;
  for (int k = 0; k < 2000; k++) {
    double low[3], high[3], m = random_between(random, 0, 0.3), longest = 0;
    for (int c = 0; c < 3; c++) {
      low[c] = random_between(random, -1, 1) * random_log(random, 1e-6, 1e6);
      high[c] = low[c] + random_log(random, 1e-6, 1e6);
      longest = fmax(longest, high[c] - low[c]);
    }
    struct lattice l = lattice_cover(low, high, m, 1e-9);
    double side = l.spacing * (LATTICE_SIDE - 1);
    cube &= fabs(side / (longest * (1 + 2 * m)) - 1) < 1e-9 && fabs(l.spacing * l.inverse - 1) < 1e-14;
    for (int c = 0; c < 3; c++) {
      int outside = 0;
      lattice_of(&l, c, low[c], &outside);
      lattice_of(&l, c, high[c], &outside);
      inside &= !outside;
      double min_value = l.corner[c], max_value = l.corner[c] + side;
      margin &= low[c] - min_value > (m - 1e-6) * longest - 1e-9 * side &&
                max_value - high[c] > (m - 1e-6) * longest - 1e-9 * side;
    }
  }
  tap_ok(inside, "the box that the lattice covers lies in it");
  tap_ok(cube, "the lattice is a cube, its side the longest extent with both margins");
  tap_ok(margin, "the margin is there on every side of every axis");
}

/* About a centre: a point of the lattice, half-way through the cube, whose faces are whole steps away. */
static void check_about(struct random *random)
{
  int inside = 1, point = 1, centred = 1;
  for (int k = 0; k < 2000; k++) {
    double low[3], high[3], centre[3];
    for (int c = 0; c < 3; c++) {
      low[c] = random_between(random, -1, 1) * random_log(random, 1e-6, 1e6);
      high[c] = low[c] + random_log(random, 1e-6, 1e6);
      centre[c] = c == k % 3 ? NAN : ldexp(rint(ldexp(random_between(random, low[c], high[c]), 20)), -20);
    }
    struct lattice l = lattice_about(centre, low, high, 0.05, 1e-3);
    for (int c = 0; c < 3; c++) {
      int outside = 0;
      lattice_of(&l, c, low[c], &outside);
      lattice_of(&l, c, high[c], &outside);
      inside &= !outside;
      if (isnan(centre[c])) continue;
      point &=
          lattice_position(&l, c, LATTICE_SIDE / 2) == centre[c] && lattice_of(&l, c, centre[c], &outside) == 1 << 30;
      centred &= lattice_position(&l, c, LATTICE_SIDE / 16) == centre[c] - 7 * l.spacing * (LATTICE_SIDE / 16);
    }
  }
  tap_ok(inside, "a lattice about a centre covers the box");
  tap_ok(point && centred, "the centre is half-way, and faces are whole steps away");
}

static void check_round_trip(struct random *random)
{
  const double low[3] = {-3, 5, 1e3}, high[3] = {4, 5.5, 1e3 + 1};
  struct lattice l = lattice_cover(low, high, 0.05, 0);
  int exact = 1, near = 1, quiet = 1, outside = 0;
  for (int k = 0; k < 100000; k++) {
    int c = k % 3;
    int32_t u = (int32_t)(random_bits(random) & INT32_MAX);
    exact &= lattice_of(&l, c, lattice_position(&l, c, u), &outside) == u;
    double x = random_between(random, low[c], high[c]);
    near &= fabs(lattice_position(&l, c, lattice_of(&l, c, x, &outside)) - x) <= l.spacing * 0.5001;
  }
  quiet = !outside;
  tap_ok(exact, "the position of a lattice point leads back to the point");
  tap_ok(near, "a position goes to the nearest point");
  tap_ok(quiet, "nothing inside is called outside");
}

static void check_edges(void)
{
  const double low[3] = {0, 0, 0}, high[3] = {1, 1, 1}, far[] = {-1e300, -1, 2, 1e300};
  struct lattice l = lattice_cover(low, high, 0, 0);
  int clamped = 1, not_a_number = 0, outside = 0;
  for (int k = 0; k < 4; k++) {
    int out = 0;
    int32_t u = lattice_of(&l, 0, far[k], &out);
    clamped &= out && u == (far[k] < 0 ? 0 : INT32_MAX);
  }
  tap_ok(clamped, "positions outside are clamped and counted, never wrapped");
  lattice_of(&l, 0, NAN, &not_a_number);
  tap_ok(not_a_number, "a NaN is outside");
  tap_ok(lattice_of(&l, 0, 0, &outside) == 0 && lattice_of(&l, 0, 1, &outside) == INT32_MAX && !outside,
         "the corners are the first and the last point");

  const double point[3] = {7, 7, 7};
  struct lattice one = lattice_cover(point, point, 0.05, 0.1);
  int32_t centre = lattice_of(&one, 0, 7, &outside);
  tap_ok(fabs(one.spacing * (LATTICE_SIDE - 1) / 0.1 - 1) < 1e-12 && abs(centre - (1 << 30)) <= 1 && !outside,
         "coincident particles have a lattice of the least side, themselves at its centre");
}

int main(void)
{
  struct random r = {2};
  check_cover(&r);
  check_about(&r);
  check_round_trip(&r);
  check_edges();
  return tap_end();
}
