/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for the cheapest value: noisy parabolas, plateaus, minima that move. */
#include <config.h>
#include "tuning/brent.h"

#include <math.h>
#include <string.h>

#include "chance.h"
#include "tap.h"

/* A cost with a minimum at `at`: 1 + curvature log^2(x / at), with noise, sometimes ten times too long. */
struct world {
  double at, curvature, noise, outliers;
  struct random chance;
};

static double smooth_cost(const struct world *world, double x)
{
  double d = log(x / world->at);
  return 1 + world->curvature * d * d;
}

static double cost(struct world *world, double x)
{
  double noise = 0;
  for (int k = 0; k < 12; k++) noise += random_unit(&world->chance) - 0.5;
  double t = smooth_cost(world, x) * (1 + world->noise * noise);
  return random_unit(&world->chance) < world->outliers ? 10 * t : t;
}

/* Number of measurements until the search has converged. */
static int converge(struct brent *brent, struct world *world)
{
  for (int n = 1; n < 1000; n++)
    if (brent_measured(brent, cost(world, brent_next(brent)))) return n;
  return 1000;
}

static void check_quiet(void)
{
  int good = 1, few = 1, inside = 1;
  for (int k = 0; k < 50; k++) {
    struct brent b;
    struct world w = {.at = 0.02 * pow(1.2, k), .curvature = 0.3, .chance = {1}};
    brent_open(&b, 0.01, 1000, k % 2 ? 1000 : 1);
    for (int n = 1; n < 1000; n++) {
      double x = brent_next(&b);
      inside &= x >= 0.01 * (1 - 1e-12) && x <= 1000 * (1 + 1e-12);
      if (!brent_measured(&b, cost(&w, x))) continue;
      few &= n <= 45;
      break;
    }
    good &= fabs(log(brent_next(&b) / w.at)) < 0.1;
  }
  tap_ok(good, "a parabola without noise: the minimum to 10 %, wherever it lies and whatever one begins with");
  tap_ok(few, "after at most 15 values");
  tap_ok(inside, "no value beyond the bounds");
}

static void check_bounds(void)
{
  struct brent b;
  struct world w = {.at = 1e5, .curvature = 0.1, .chance = {1}};
  brent_open(&b, 0.1, 10, 3);
  converge(&b, &w);
  tap_ok(brent_next(&b) > 9, "a minimum beyond the upper bound: the bound");
  w.at = 1e-5;
  brent_open(&b, 0.1, 10, 10);
  converge(&b, &w);
  tap_ok(brent_next(&b) < 0.12, "a minimum beyond the lower bound: the bound");
  w.curvature = 0;
  brent_open(&b, 0.1, 10, 10);
  tap_ok(converge(&b, &w) < 60, "equal costs everywhere: the search ends");
}

static void check_noise(double noise, double outliers, double max_value, const char *what)
{
  double worst = 0, sum = 0;
  int longest = 0;
  enum { TRIALS = 400 };
  for (int k = 0; k < TRIALS; k++) {
    struct brent b;
    struct world w = {.at = 3, .curvature = 0.3, .noise = noise, .outliers = outliers, .chance = {(uint64_t)k}};
    brent_open(&b, 0.1, 100, 100);
    int n = converge(&b, &w);
    longest = n > longest ? n : longest;
    double over = smooth_cost(&w, brent_next(&b)) - 1;
    sum += over / TRIALS;
    worst = fmax(worst, over);
  }
  char text[200];
  printf("# %s: cost over the best: mean %.4f, worst %.4f; at most %d evaluations\n", what, sum, worst, longest);
  snprintf(text, sizeof text, "%s: on average %g %% over the lowest cost", what, 100 * max_value);
  tap_ok(sum < max_value && longest < 200, text);
}

/* The minimum wanders by a factor of ten; the search follows, and its trials cost little on the way. */
static void check_drift(double noise, const char *what)
{
  struct brent b;
  struct world w = {.at = 1, .curvature = 0.3, .noise = noise, .chance = {5}};
  brent_open(&b, 0.01, 100, 100);
  double over = 0, last = 0;
  int steps = 6000, counted = 0;
  for (int s = 0; s < steps; s++) {
    w.at = s < 2000 ? 1 : s < 4000 ? pow(10, (s - 2000) / 2000.0) : 10;
    double x = brent_next(&b);
    brent_measured(&b, cost(&w, x));
    if (s < 500) continue;
    over += smooth_cost(&w, x) - 1;
    if (s >= 4500) last += smooth_cost(&w, x) - 1;
    counted++;
  }
  over /= counted;
  last /= 1500;
  char text[200];
  printf("# %s: cost over the best, trials included: %.4f; after the end of the drift %.4f; %d searches\n", what, over,
         last, b.searches);
  snprintf(text, sizeof text, "%s: a minimum that wanders by a factor of ten costs 4 %% on average", what);
  tap_ok(over < 0.04 && last < 0.03 && b.searches > 5, text);
}

/* A sudden change is noticed at rest. */
static void check_jump(void)
{
  struct brent b;
  struct world w = {.at = 1, .curvature = 0.3, .noise = 0.02, .chance = {9}};
  brent_open(&b, 0.01, 100, 100);
  converge(&b, &w);
  for (int n = 0; n < 20; n++) brent_measured(&b, cost(&w, brent_next(&b)));
  w.at = 20;
  for (int n = 0; n < 150; n++) brent_measured(&b, cost(&w, brent_next(&b)));
  printf("# after a jump from 1 to 20: %.3f\n", brent_next(&b));
  tap_ok(smooth_cost(&w, brent_next(&b)) < 1.05, "a minimum that jumps far away is found again");
}

static void check_state(void)
{
  struct brent b, copy;
  struct world w = {.at = 3, .curvature = 0.3, .noise = 0.1, .chance = {3}};
  brent_open(&b, 0.1, 100, 100);
  int steady = 1;
  for (int n = 0; n < 7; n++) {
    double x = brent_next(&b);
    steady &= x == brent_next(&b);
    brent_measured(&b, cost(&w, x));
  }
  double x = brent_next(&b);
  brent_measured(&b, NAN);
  brent_measured(&b, 0);
  brent_measured(&b, -1);
  brent_measured(&b, HUGE_VAL);
  tap_ok(steady && brent_next(&b) == x, "the same value until its cost is measured; invalid costs are ignored");
  copy = b;
  struct world same = w;
  converge(&b, &w);
  converge(&copy, &same);
  tap_ok(memcmp(&b, &copy, sizeof b) == 0, "a copy of the state continues alike, bit by bit");
}

int main(void)
{
  check_quiet();
  check_bounds();
  check_noise(0.02, 0, 0.01, "2 % noise");
  check_noise(0.1, 0, 0.04, "10 % noise");
  check_noise(0.02, 0.03, 0.02, "2 % noise and outliers");
  check_drift(0.02, "2 % noise");
  check_drift(0, "no noise");
  check_jump();
  check_state();
  return tap_end();
}
