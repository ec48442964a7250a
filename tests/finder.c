/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The finder: its values for a Plummer sphere, how they follow what is wanted and given, other units, and systems at
 * its limits. */
#include <config.h>
#include "tuning/finder.h"

#include <math.h>
#include <string.h>

#include "tap.h"

/* A Plummer sphere of n particles with G = M = 1, E = -1/4. */
static struct finder_system plummer(double n)
{
  return (struct finder_system){.count = n,
                                .gravity = 1,
                                .mass = 1,
                                .energy = -0.25,
                                .v_rms = sqrt(0.5),
                                .distance = 0.257 * cbrt(4096 / n),
                                .largest_mass = 1 / n};
}

static struct finder_request wanted(double error)
{
  return (struct finder_request){.error = error, .delta = 1.0 / 512, .order = 2, .workers = 1};
}

static struct finder_choice best_of(const struct finder_result *result) { return result->choice[result->best]; }

static double cost(const struct finder_choice *choice) { return choice->soft_seconds + choice->hard_seconds; }

static int near(double a, double b, double tolerance) { return fabs(a - b) <= tolerance * fabs(b); }

static void check_values(void)
{
  struct finder_system s = plummer(4096);
  struct finder_request q = wanted(1e-6);
  struct finder_result r = finder_find(&s, &q);
  struct finder_choice best = best_of(&r);
  int cheapest = 1;
  tap_ok(r.n == FINDER_CHOICES && r.reached && r.error <= 1e-6 && r.error > 3e-7,
         "a Plummer sphere: the error is reached, with little to spare");
  tap_ok(best.r2 > 0.02 && best.r2 < 0.257 && near(best.r1, 0.25 * best.r2, 0.01),
         "R2 below the distance to the 28th neighbour, R1 a quarter of it");
  tap_ok(best.soft_step > 1.0 / 512 && best.soft_step < 1.0 / 64 && best.eta > 0.08 && best.eta < 0.11,
         "the soft step and eta");
  for (int k = 0; k < r.n; k++) cheapest &= r.choice[k].error > 1e-6 || cost(&r.choice[k]) >= cost(&best);
  tap_ok(cheapest, "it is the cheapest choice that reaches the error");
  for (int k = 1, ok = 1; k < r.n; k++) {
    ok &= r.choice[k].r2 < r.choice[k - 1].r2 && r.choice[k].soft_step <= r.choice[k - 1].soft_step &&
          r.choice[k].entries < r.choice[k - 1].entries;
    if (k == r.n - 1) tap_ok(ok, "smaller radii need shorter soft steps and fewer entries");
  }
  struct finder_result again = finder_find(&s, &q);
  tap_ok(memcmp(&r.choice, &again.choice, sizeof r.choice) == 0 && r.best == again.best,
         "equal numbers give equal bits");
  char text[40];
  snprintf(text, sizeof text, "%.3g", best.soft_step);
  tap_ok(strtod(text, NULL) == best.soft_step, "values have three digits");
}

static void check_wanted(void)
{
  struct finder_system s = plummer(16384);
  double last = 1e300, delta = 1e300, longest = 0;
  int steps = 1, costs = 1, deltas = 1, reached = 1;
  double error[] = {1e-4, 1e-5, 1e-6, 1e-7}, before = 0;
  for (int k = 0; k < 4; k++) {
    struct finder_request q = wanted(error[k]);
    struct finder_result r = finder_find(&s, &q);
    struct finder_choice best = best_of(&r);
    reached &= r.reached;
    steps &= best.soft_step <= last;
    costs &= cost(&best) > before;
    deltas &= r.delta <= delta && r.delta <= 1.0 / 512;
    longest = fmax(longest, best.soft_step);
    last = best.soft_step;
    before = cost(&best);
    delta = r.delta;
  }
  tap_ok(reached && steps && last < 0.3 * longest && costs && deltas,
         "a smaller error: shorter steps, finer forces, more time");
  struct finder_request q = wanted(1e-6);
  q.order = 1;
  struct finder_result one = finder_find(&s, &q), r;
  q.order = 2;
  r = finder_find(&s, &q);
  tap_ok(one.delta < 0.5 * r.delta && one.delta_at_order_2 == r.delta,
         "monopoles need a smaller Delta than quadrupoles");
  struct finder_system many = plummer(1 << 20);
  struct finder_result noisy =
      finder_find(&many, &(struct finder_request){.error = 1e-7, .delta = 1, .order = 2, .workers = 1});
  many.count = 1 << 12;
  struct finder_result exact =
      finder_find(&many, &(struct finder_request){.error = 1e-7, .delta = 1, .order = 2, .workers = 1});
  tap_ok(noisy.delta > 20 * exact.delta && noisy.delta < 100 * exact.delta,
         "the noise of many particles adds up at random: a larger Delta");
  q.delta = 1e-7;
  tap_ok(finder_find(&s, &q).delta == 1e-7, "a smaller Delta that is given stays");
  q = wanted(1e-6);
  q.soft_cost = 1;
  struct finder_result cheap = finder_find(&s, &q);
  q.soft_cost = 1e5;
  struct finder_result dear = finder_find(&s, &q);
  tap_ok(best_of(&cheap).r2 < best_of(&dear).r2 && best_of(&cheap).soft_step < best_of(&dear).soft_step,
         "dear soft forces: a larger R2 and fewer of them");
}

/* Few particles have half of the distance, many less of it; an error that is not reached changes nothing. */
static void check_rule(void)
{
  int halves = 1;
  for (double n = 64; n <= 4096; n *= 4)
    halves = halves && finder_rule_part(n, 1e-6, 0) == 1 && finder_rule_part(n, 1e-6, 1) == 1;
  double many = finder_rule_part(0x1p20, 1e-6, 1);
  tap_ok(halves && many == 0.5 && finder_rule_part(0x1p30, 1e-6, 0) <= many && finder_rule_part(0x1p20, 1e-12, 1) == 1,
         "by rule R2 is a smaller part of the distance where there are many particles");
}

static void check_given(void)
{
  struct finder_system s = plummer(4096);
  struct finder_request q = wanted(1e-6);
  q.r1 = 0.01;
  struct finder_result r = finder_find(&s, &q);
  tap_ok(r.n == 1 && best_of(&r).r1 == 0.01 && best_of(&r).r2 == 0.04, "R1 given: R2 is four times as large");
  q.r2 = 0.05;
  r = finder_find(&s, &q);
  tap_ok(best_of(&r).r2 == 0.05 && r.reached, "both given: the soft step for them");
  q = wanted(1e-6);
  q.soft_step = 0.05;
  q.eta = 0.123;
  r = finder_find(&s, &q);
  tap_ok(best_of(&r).soft_step == 0.05 && best_of(&r).eta == 0.123 && !r.reached && r.best == 0,
         "a soft step that is too long for the error: the most exact choice");
  q.soft_step = 1e-4;
  r = finder_find(&s, &q);
  tap_ok(best_of(&r).soft_step == 1e-4 && r.reached && r.best > 2, "a short one allows a small R2");
  q = wanted(1e-6);
  r = finder_find(&s, &q);
  tap_ok(finder_soft_step(&s, best_of(&r).r2, 1e-6) == best_of(&r).soft_step, "the soft step alone");
  struct finder_system nothing = {.count = 1};
  tap_ok(finder_soft_step(&nothing, 0.1, 1e-6) >= 1e300, "nothing moves and nothing pulls: no limit");
  q.longest = 1e-3;
  r = finder_find(&s, &q);
  tap_ok(best_of(&r).soft_step <= 1e-3, "an upper limit of the soft step");
}

/* The same sphere with lengths, masses and velocities in other units. */
static void check_units(void)
{
  const double length = 3e3, mass = 1e-7, g = 43;
  double v = sqrt(g * mass / length), time = length / v;
  struct finder_system s = plummer(4096), u = s;
  u.gravity = g;
  u.mass *= mass;
  u.largest_mass *= mass;
  u.energy *= mass * v * v;
  u.v_rms *= v;
  u.distance *= length;
  struct finder_request q = wanted(1e-6);
  struct finder_result a = finder_find(&s, &q), b = finder_find(&u, &q);
  tap_ok(a.best == b.best && near(best_of(&b).r2, best_of(&a).r2 * length, 0.01) &&
             near(best_of(&b).soft_step, best_of(&a).soft_step * time, 0.01) && best_of(&b).eta == best_of(&a).eta &&
             near(a.error, b.error, 0.03),
         "other units: the same choice");
}

static int sound(const struct finder_result *result)
{
  struct finder_choice c = best_of(result);
  return c.r1 > 0 && c.r2 > c.r1 && c.r2 < 1e200 && c.soft_step > 0 && c.soft_step < 1e200 && c.eta > 0 &&
         result->delta > 0 && isfinite(c.error);
}

static void check_limits(void)
{
  struct finder_system cold = plummer(4096), hot = plummer(4096), hole = plummer(4096), two = plummer(2);
  struct finder_request q = wanted(1e-6);
  cold.v_rms = 0;
  cold.energy = -0.5;
  struct finder_result r = finder_find(&cold, &q), plain;
  tap_ok(sound(&r) && best_of(&r).soft_step < 0.02, "a cold system: the velocity that it will have");
  hot.energy = 0.3;
  hot.v_rms = 2;
  r = finder_find(&hot, &q);
  tap_ok(sound(&r), "a system that is not bound");
  hot.v_rms = 0;
  hot.energy = 0;
  r = finder_find(&hot, &q);
  tap_ok(best_of(&r).r2 > 0 && best_of(&r).soft_step > 0, "neither energy nor motion");
  hole.largest_mass = 0.9;
  r = finder_find(&hole, &q);
  hole.largest_mass = 1.0 / 4096;
  plain = finder_find(&hole, &q);
  int shorter = 1;
  for (int k = 0; k < r.n; k++) shorter &= r.choice[k].soft_step < plain.choice[k].soft_step;
  tap_ok(sound(&r) && shorter && best_of(&r).r2 > best_of(&plain).r2,
         "a central mass: shorter soft steps, for orbits about it at R2; so R2 is larger");
  plain = finder_find(&hole, &q);
  hole.largest_mass = 0.3;
  hole.unequal = 4096 * 0.3 * 0.3;
  r = finder_find(&hole, &q);
  tap_ok(best_of(&r).soft_step > 0.5 * best_of(&plain).soft_step,
         "the error of pairs is not that of a pair of two such masses");
  struct finder_system cusp = plummer(4096), plain_sphere = plummer(4096);
  cusp.a_rms = 1.6;
  tap_ok(finder_soft_step(&cusp, 0.1, 1e-6) < 0.55 * finder_soft_step(&plain_sphere, 0.1, 1e-6),
         "a cusp: shorter soft steps");
  struct finder_system spectrum = plummer(4096);
  spectrum.unequal = 4;
  two = plummer(4096);
  double apart = finder_error(&spectrum, 0.05, 0.005, 0.1), equal = finder_error(&two, 0.05, 0.005, 0.1);
  spectrum.radii_by_mass = 1;
  double by_mass = finder_error(&spectrum, 0.05, 0.005, 0.1);
  tap_ok(apart > 2 * equal && by_mass < apart && by_mass > 1.2 * equal,
         "unequal masses: larger errors, less so with radii by mass");
  two = plummer(2);
  r = finder_find(&two, &q);
  tap_ok(sound(&r), "two particles");
  q.error = 1e-14;
  r = finder_find(&cold, &q);
  tap_ok(sound(&r) && !r.reached, "an error that cannot be reached: said");
}

static void check_print(void)
{
  struct finder_system s = plummer(4096);
  struct finder_request q = wanted(1e-6);
  struct finder_result r = finder_find(&s, &q);
  char line[256], expected[64];
  int lines = 0, named = 0;
  FILE *out = tmpfile();
  if (!out) exit(99);
  finder_print(&r, &q, out);
  rewind(out);
  snprintf(expected, sizeof expected, "R2 = %g, SoftStep = %g,", best_of(&r).r2, best_of(&r).soft_step);
  for (; fgets(line, sizeof line, out); lines++) named += strstr(line, expected) != NULL;
  fclose(out);
  tap_ok(named == 1 && lines >= 3 + FINDER_CHOICES, "the values and a table of the choices are printed");
}

int main(void)
{
  check_values();
  check_wanted();
  check_rule();
  check_given();
  check_units();
  check_limits();
  check_print();
  return tap_end();
}
