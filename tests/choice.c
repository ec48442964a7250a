/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of a scheme: the model of errors and costs for known systems, its limits, other units, and the
 * decisions. */
#include <config.h>
#include "settings/choice.h"

#include "settings/promise.h"

#include <math.h>
#include <string.h>

#include "tap.h"

/* A Plummer sphere of n particles with G = M = 1, E = -1/4. */
static struct finder_system plummer(double n, double softening)
{
  return (struct finder_system){.count = n,
                                .gravity = 1,
                                .mass = 1,
                                .energy = -0.25,
                                .v_rms = sqrt(0.5),
                                .a_rms = sqrt(0.66),
                                .distance = 0.257 * cbrt(4096 / n),
                                .largest_mass = 1 / n,
                                .unequal = 1,
                                .softening = softening,
                                .first_profile = 1};
}

static int near(double a, double b, double tolerance) { return fabs(a - b) <= tolerance * fabs(b); }

static int within(double a, double b, double factor) { return a < factor * b && factor * a > b; }

/* Errors that were measured on a GPU within ten dynamical times: within a factor of three. */
static void check_errors(void)
{
  struct finder_system s = plummer(131072, 0.0047), small = plummer(16384, 0.008), cusp = small, merger = small;
  tap_ok(within(errors_shared(&s, 0.0078), 4.3e-5, 3), "one step for all");
  tap_ok(within(errors_block(&s, 2), 3e-5, 3), "block steps");
  tap_ok(within(errors_hybrid(&s, 0.04, 0.023) + errors_block(&s, 1), 1.2e-5, 3), "a hybrid");
  tap_ok(errors_shared(&small, 0.02) > 2 * errors_shared(&small, 0.01) &&
             errors_block(&small, 2) > 8 * errors_block(&small, 1) &&
             errors_hybrid(&small, 0.1, 0.02) > 4 * errors_hybrid(&small, 0.1, 0.01),
         "longer steps have larger errors");
  tap_ok(errors_hybrid(&small, 0.1, 0.02) > errors_hybrid(&small, 0.2, 0.02), "as have smaller radii");
  struct finder_system few = plummer(4096, 0.0115); /* on cores, two realisations each */
  tap_ok(within(errors_block(&few, 0.7), 3.4e-5, 3) && within(errors_block(&few, 1.12), 3e-4, 3),
         "block steps of few particles");
  tap_ok(within(errors_block(&small, 1.37), 1.7e-4, 3) &&
             within(errors_hybrid(&small, 0.165, 0.06) + errors_block(&small, 1.05), 1.1e-4, 3),
         "2^14 particles on cores");
  tap_ok(within(errors_forces(&few, 0.05), 1.1e-4, 20) && errors_forces(&few, 0.05) > 1.1e-4 &&
             near(errors_forces(&few, 0.05), 2 * errors_forces(&few, 0.0125), 1e-9) &&
             near(errors_forces(&few, 0.05), 2 * errors_forces(&small, 0.05), 1e-9),
         "an upper bound for errors of forces, by Delta and the number of particles");
  tap_ok(errors_chance(&few) > errors_chance(&small) && near(errors_chance(&small), 0.014, 0.01),
         "changes of the profile by chance");
  cusp.a_rms *= 3;
  tap_ok(near(errors_profile(&cusp), 9, 1e-9) &&
             near(errors_shared(&cusp, 0.01), 9 * errors_shared(&small, 0.01), 1e-9) &&
             errors_block(&cusp, 1) > 20 * errors_block(&small, 1),
         "and larger accelerations, as in cusps");
  merger.change = 5;
  tap_ok(errors_shared(&merger, 0.02) > 1e-4 && errors_hybrid(&merger, 0.1, 0.02) > 1e-4 &&
             errors_block(&merger, 1) == errors_block(&small, 1),
         "a change of the profile has errors of steps for all particles, but none of block steps");
  merger.change = 0;
  merger.imbalance = 1;
  tap_ok(errors_block(&merger, 1) > 4 * errors_block(&small, 1),
         "a collapse that begins has larger errors of block steps");
  tap_ok(errors_hybrid(&small, 1e-4, 0.01) <= errors_shared(&small, 0.01) &&
             errors_hybrid_step(&small, 1e-4, 1e-5) > 1e-3,
         "a split within the softening is no worse than none");
  tap_ok(errors_shared(&merger, 0.02) > errors_shared(&small, 0.02) + 3e-5,
         "so has a system out of equilibrium before it changes");
  merger.change = merger.imbalance = 0.04;
  tap_ok(errors_shared(&merger, 0.02) == errors_shared(&small, 0.02), "changes by chance have none");
}

/* Block steps by acceleration alone: errors that were measured on cores within ten dynamical times. */
static void check_by_acceleration(void)
{
  struct finder_system s = plummer(8192, 0.01), sharp = plummer(1000, 0.002), soft = plummer(1000, 0.02);
  s.by_acceleration = sharp.by_acceleration = soft.by_acceleration = 1;
  tap_ok(within(errors_block(&s, 0.25), 1.8e-3, 3) && within(errors_block(&s, 0.125), 5.8e-4, 3) &&
             within(errors_block(&s, 0.0625), 6.1e-5, 3),
         "steps by acceleration");
  tap_ok(within(errors_block(&sharp, 0.125), 1.1e-4, 3) && within(errors_block(&sharp, 0.0625), 2.8e-5, 3) &&
             within(errors_block(&soft, 0.125), 3.7e-4, 3) && within(errors_block(&soft, 0.0625), 1.1e-4, 3),
         "with short and long softenings");
  double allowed = errors_allowed(1e-5), eta = errors_eta(&s, 0, allowed);
  tap_ok(near(errors_block(&s, eta), allowed, 1e-6) && errors_eta(&s, 1, allowed) < eta &&
             errors_eta(&s, 0, 0.1 * allowed) < eta && errors_eta(&s, 0, 1e-30) == 0.002 && errors_eta(&s, 0, 100) == 2,
         "Eta has the allowed error, within limits");
}

/* Errors of block steps with long softenings, in spheres with and without a cusp, on cores. */
static void check_long_softening(void)
{
  struct finder_system cusp = plummer(8192, 0.04), split = cusp, short_one = plummer(8192, 0.0096);
  cusp.a_rms = split.a_rms = short_one.a_rms = sqrt(6 * 0.66);
  split.split = 1;
  double eta = errors_eta(&cusp, 0, errors_allowed(1e-5)), before = errors_eta(&split, 0, errors_allowed(1e-5));
  tap_ok(before > 1.7 * eta && before < 2.8 * eta, "steps with four times the softening: Eta is shorter");
  tap_ok(near(errors_eta(&short_one, 0, 3e-5), before, 0.02),
         "... than that with the softening of the number, or within a split");
  tap_ok(within(errors_block(&cusp, before), 6.5e-4, 3), "their error was 6.5e-5 per dynamical time");
}

/* What was promised by a time, and what was not kept. */
static void check_promise(void)
{
  struct promise p = {.wanted = 1e-5}, none = {.wanted = 0};
  struct kept good = {0}, missed = {0}, bad = {0}, late = {0}, large = {0};
  tap_ok(near(promise_now(&p), 1e-4, 1e-12) && promise_now(&none) == 0, "ten dynamical times at least");
  promise_note(&p, &good, 2.9e-4, 1);
  promise_note(&p, &missed, 1e-4, 1);
  promise_note(&p, &missed, 3.1e-4, 2);
  promise_note(&p, &missed, 2e-4, 3);
  promise_note(&p, &bad, 1.1e-2, 1);
  p.dynamical = 100;
  tap_ok(near(promise_now(&p), 1e-3, 1e-12), "and as many as have passed");
  promise_note(&p, &late, 2e-3, 100);
  promise_note(&p, &missed, 2e-3, 100);
  tap_ok(!promise_missed(&good) && promise_missed(&missed) && missed.time == 2 && missed.error == 3.1e-4 &&
             !promise_missed(&late),
         "three times the promise is named, at the worst time");
  tap_ok(good.untrusted == 0 && missed.untrusted == 0 && bad.untrusted > 0 && late.untrusted == 0,
         "a hundred times makes it untrusted");
  promise_note(&p, &late, 0.06, 100);
  promise_note(&none, &large, 0.04, 1);
  int trusted = large.untrusted == 0 && !promise_missed(&large);
  promise_note(&none, &large, 0.06, 1);
  promise_note(&none, &large, 0.01, 2);
  tap_ok(trusted && late.untrusted > 0 && large.untrusted > 0 && large.error == 0.06,
         "and so does 0.05, whatever is promised");
}

static void check_steps(void)
{
  struct finder_system s = plummer(16384, 0.008), finer = plummer(16384, 0.004), heavy = s, grown = s, cusp = s;
  double allowed = errors_allowed(1e-5), all = errors_shared_step(&s, 0, allowed);
  tap_ok(all > 0.006 && all < 0.012 && near(errors_shared(&s, all), allowed, 1e-6),
         "the shared step gives the error that is wanted");
  tap_ok(errors_shared_step(&finer, 0, allowed) < all && errors_shared_step(&s, 0, 0.1 * allowed) < all,
         "it is shorter for a smaller softening, and for a smaller error");
  tap_ok(errors_shared_step(&s, 0.01, allowed) < all && errors_shared_step(&s, 10, allowed) == all,
         "and where dense places have fast orbits");
  heavy.largest_mass = 0.3;
  tap_ok(errors_shared_step(&heavy, 0, allowed) < all, "and about a heavy particle");
  grown.a_rms = 10;
  cusp.a_rms = 2;
  tap_ok(near(errors_longest_step(&s), 1.0 / 16, 1e-9) && near(errors_longest_step(&grown), 1.0 / 128, 1e-9),
         "the longest block step follows a collapse");
  double eta = errors_eta(&s, 0, allowed);
  tap_ok(eta > 0.9 && eta < 1.5 && errors_eta(&s, 1, allowed) < eta && errors_eta(&cusp, 0, allowed) < eta &&
             errors_eta(&s, 0, 0.1 * allowed) < eta,
         "Eta: smaller with the split, in a cusp, and for a smaller error");
  tap_ok(errors_eta(&s, 0, 1e-30) == 0.1 && errors_eta(&s, 0, 1) == 2, "within limits");
  double soft = errors_hybrid_step(&s, 0.15, allowed);
  tap_ok(soft < 0.1 && soft > 0.01 && errors_hybrid(&s, 0.15, soft) < allowed &&
             errors_hybrid_step(&s, 0.07, allowed) < soft,
         "the soft step of a hybrid, by its radius");
  tap_ok(near(errors_orbit_step(1, 2, 1, 1e-5), 0.025 / sqrt(2), 1e-6) && errors_orbit_step(1, 0, 1, 1e-5) >= 1e300 &&
             errors_orbit_step(1, 2, 1, 1e-6) < errors_orbit_step(1, 2, 1, 1e-5),
         "orbits at R2");
}

static void check_dense(void)
{
  struct finder_system s = plummer(1e6, 0.01);
  /* density 1 / r: 28 m within d, and a part of the mass that grows as r^2 */
  double flat[2] = {0.01, 0.01}, cusp[2] = {0.01, 0.01 * cbrt(sqrt(10))}, none[2] = {0, 0};
  tap_ok(errors_dense(&s, flat, 1e-5) == errors_dense(&s, flat, 0.01) &&
             near(errors_dense(&s, flat, 0.01), sqrt(1e-6 / 28e-6), 1e-9),
         "a core has one dynamical time");
  tap_ok(near(errors_dense(&s, cusp, 1e-6), 0.1 * errors_dense(&s, cusp, 1e-2), 1e-6),
         "in a cusp a smaller part of the mass has a shorter one");
  tap_ok(errors_dense(&s, none, 1e-5) == 0, "without distances it is not known");
  tap_ok(errors_dense_part(1e-6) < errors_dense_part(1e-5), "a smaller error resolves more of the mass");
}

/* The same sphere with lengths, masses and velocities in other units. */
static void check_units(void)
{
  const double length = 3e3, mass = 1e-7, g = 43;
  double v = sqrt(g * mass / length), time = length / v;
  struct finder_system s = plummer(4096, 0.01), u = s;
  u.gravity = g;
  u.mass *= mass;
  u.largest_mass *= mass;
  u.energy *= mass * v * v;
  u.v_rms *= v;
  u.a_rms *= v / time;
  u.distance *= length;
  u.softening *= length;
  double d[2] = {0.1, 0.2}, e[2] = {0.1 * length, 0.2 * length}, allowed = 3e-5;
  tap_ok(near(errors_shared_step(&u, 0, allowed), time * errors_shared_step(&s, 0, allowed), 1e-9) &&
             near(errors_longest_step(&u), time * errors_longest_step(&s), 1e-9) &&
             near(errors_eta(&u, 0, allowed), errors_eta(&s, 0, allowed), 1e-9) &&
             near(errors_hybrid_step(&u, 0.1 * length, allowed), time * errors_hybrid_step(&s, 0.1, allowed), 1e-6) &&
             near(errors_dense(&u, e, 1e-4), time * errors_dense(&s, d, 1e-4), 1e-9) &&
             near(errors_orbit_step(g, mass, length, 1e-5), time * errors_orbit_step(1, 1, 1, 1e-5), 1e-9),
         "other units: the same steps");
}

static void check_extremes(void)
{
  struct finder_system rest = plummer(100, 0.1),
                       one = {.count = 1, .gravity = 1, .mass = 1, .v_rms = 3, .softening = 0.1}, hot = rest;
  rest.v_rms = 0;
  rest.energy = -0.5;
  rest.a_rms = 1;
  tap_ok(errors_shared_step(&rest, 0, 1e-5) < 1 && errors_longest_step(&rest) < 1 &&
             errors_hybrid_step(&rest, 0.3, 1e-5) < 0.2,
         "at rest: the velocities that it will have");
  rest.energy = 0;
  rest.a_rms = 0;
  tap_ok(errors_shared_step(&rest, 0, 1e-5) >= 1e300 && errors_shared(&rest, 1) == 0 && errors_eta(&rest, 0, 1e-5) == 0,
         "neither energy nor motion: no limit");
  tap_ok(errors_shared_step(&one, 0, 1e-5) >= 1e300 && errors_longest_step(&one) >= 1e300 &&
             errors_shared(&one, 1) == 0 && errors_hybrid(&one, 0.1, 1) == 0,
         "one particle: no limit");
  hot.energy = 1;
  hot.v_rms = 2;
  double step = errors_shared_step(&hot, 0, 1e-5);
  tap_ok(step > 0 && step < 1, "not bound: by the crossing time");
}

static struct choice_machine machine(int on_device, double threads)
{
  return (struct choice_machine){
      .on_device = on_device, .ranks = 1, .threads = threads, .delta = 1.0 / 512, .order = 1};
}

/* The table for a smooth model whose block steps reach from the longest one down by `levels`, most particles two levels
 * below it. */
static struct choice_table table(double n, double eps, int levels, int on_device, double threads)
{
  struct finder_system s = plummer(n, eps);
  struct choice_table t = {.allowed = 15};
  struct choice_machine m = machine(on_device, threads);
  double median = s.distance;
  t.candidate[CHOICE_SHARED] = (struct choice_candidate){.step = errors_shared_step(&s, 0, 3e-5)};
  t.candidate[CHOICE_BLOCK] = (struct choice_candidate){.step = errors_longest_step(&s), .eta = 1};
  t.candidate[CHOICE_HYBRID_NARROW] =
      (struct choice_candidate){.step = 0.4 * median, .eta = 1, .r2 = 0.5 * median, .neighbours = 3.5};
  t.candidate[CHOICE_HYBRID] =
      (struct choice_candidate){.step = 0.3 * median, .eta = 1, .r2 = median, .neighbours = 28};
  for (int k = CHOICE_BLOCK; k < CHOICES_COUNT; k++)
    for (int l = 0; l <= levels; l++) t.candidate[k].count[l] = (int64_t)(n * (l == 2 ? 0.9 : 0.1 / levels));
  for (int k = 0; k < CHOICES_COUNT; k++) choice_cost(&m, n, &t.candidate[k]);
  return t;
}

static void check_costs(void)
{
  struct choice_table t = table(4194304, 0.0019, 4, 1, 1), again = table(4194304, 0.0019, 4, 1, 1),
                      deep = table(4194304, 0.0019, 8, 1, 1);
  struct choice_table hard = table(131072, 1e-5, 9, 1, 1), few = table(131072, 1e-5, 9, 0, 1),
                      many = table(131072, 1e-5, 9, 0, 16);
  tap_ok(choice_cheapest(&t, -1) == CHOICE_SHARED, "2^22 particles, softened, on a device: one step for all");
  tap_ok(choice_cheapest(&hard, -1) != CHOICE_SHARED && choice_cheapest(&few, -1) != CHOICE_SHARED,
         "a small softening: not one step for all");
  tap_ok(memcmp(&t, &again, sizeof t) == 0, "equal numbers give equal bits");
  tap_ok(deep.candidate[CHOICE_BLOCK].step_seconds > 2 * t.candidate[CHOICE_BLOCK].step_seconds,
         "more substeps cost more");
  int order = 1;
  for (int k = 0; k < CHOICES_COUNT; k++)
    order &= near(few.candidate[k].step_seconds, 16 * many.candidate[k].step_seconds, 1e-9);
  tap_ok(order && choice_cheapest(&few, -1) == choice_cheapest(&many, -1),
         "threads divide all seconds alike, so the choice does not depend on them");
  struct choice_machine fine = machine(1, 1);
  struct choice_candidate c = t.candidate[CHOICE_SHARED];
  fine.delta /= 8;
  choice_cost(&fine, 4194304, &c);
  tap_ok(c.step_seconds > 1.3 * t.candidate[CHOICE_SHARED].step_seconds, "finer forces cost more");
  t.allowed = 1u << CHOICE_BLOCK | 1u << CHOICE_HYBRID;
  tap_ok(choice_cheapest(&t, -1) == CHOICE_BLOCK || choice_cheapest(&t, -1) == CHOICE_HYBRID, "only what is allowed");
}

/* A table whose candidates cost so much per unit of time, in steps of 0.01. */
static struct choice_table priced(double shared, double block, double narrow, double hybrid)
{
  struct choice_table t = {.allowed = 15};
  double cost[] = {shared, block, narrow, hybrid};
  for (int k = 0; k < CHOICES_COUNT; k++)
    t.candidate[k] = (struct choice_candidate){.step = 0.01, .step_seconds = 0.01 * cost[k], .sync_seconds = 0.001};
  return t;
}

static void check_decisions(void)
{
  struct choice_table t = priced(9, 3, 4, 5);
  int order[CHOICES_COUNT], n = choice_trials(&t, -1, CHOICE_BLOCK, 100, 0.02, order);
  tap_ok(n == 3 && order[0] == CHOICE_BLOCK && order[1] == CHOICE_HYBRID_NARROW && order[2] == CHOICE_HYBRID,
         "trials: those within a factor of 2.5, the most promising first");
  tap_ok(choice_trials(&t, -1, CHOICE_BLOCK, 0.1, 0.02, order) == 1, "none in a short run");
  t.candidate[CHOICE_HYBRID_NARROW].sync_seconds = 100;
  tap_ok(choice_trials(&t, -1, CHOICE_BLOCK, 100, 0.02, order) < 3,
         "none that costs more than two per cent of the run");
  double measured[CHOICES_COUNT] = {0, 3, 2.9, 2.95};
  t = priced(9, 3, 4, 5);
  order[0] = CHOICE_BLOCK;
  order[1] = CHOICE_HYBRID_NARROW;
  order[2] = CHOICE_HYBRID;
  tap_ok(choice_fastest(&t, order, 3, measured) == CHOICE_BLOCK,
         "by measured seconds, with five per cent in favour of the first");
  measured[CHOICE_HYBRID_NARROW] = 2.65;
  tap_ok(choice_fastest(&t, order, 3, measured) == CHOICE_HYBRID_NARROW, "a tenth is enough");
  t.candidate[CHOICE_HYBRID_NARROW].sync_seconds = 0.5 * t.candidate[CHOICE_HYBRID_NARROW].step_seconds;
  t.candidate[CHOICE_HYBRID_NARROW].expected = 0.5 * t.candidate[CHOICE_HYBRID_NARROW].step;
  tap_ok(near(choice_cost_growth(&t.candidate[CHOICE_HYBRID_NARROW]), 1.5, 1e-9) &&
             near(choice_predicted(&t, CHOICE_HYBRID_NARROW, -1), 6, 1e-9) &&
             choice_cost_growth(&t.candidate[CHOICE_BLOCK]) == 1,
         "soft steps that are expected to become half as long need twice the synchronisations");
  tap_ok(choice_fastest(&t, order, 3, measured) == CHOICE_BLOCK, "which count before they come");
  measured[CHOICE_HYBRID_NARROW] = 2.9;
  measured[CHOICE_HYBRID] = 5.5;
  tap_ok(!choice_trial_is_lost(order, 2, measured) && !choice_trial_is_lost(order, 0, measured),
         "a trial has two soft steps");
  measured[CHOICE_HYBRID] = 6.1;
  tap_ok(choice_trial_is_lost(order, 2, measured) && choice_fastest(&t, order, 3, measured) == CHOICE_BLOCK,
         "... one where that took more than twice an earlier trial's");
  measured[CHOICE_HYBRID] = 2;
  tap_ok(choice_fastest(&t, order, 3, measured) == CHOICE_HYBRID, "a faster one wins");
  t.wanted = 1e-5;
  t.candidate[CHOICE_HYBRID].error = 1e-2;
  tap_ok(choice_fastest(&t, order, 3, measured) == CHOICE_BLOCK,
         "... unless it misses the wanted error, which others reach");
  t.candidate[CHOICE_BLOCK].error = t.candidate[CHOICE_HYBRID_NARROW].error = 1e-2;
  tap_ok(choice_fastest(&t, order, 3, measured) == CHOICE_HYBRID, "... or where none does");
}

/* Which one is taken by its costs, measured factors and errors, and when a change pays. */
static void check_changes(void)
{
  struct choice_table t = priced(9, 3, 2.95, 4);
  int order[CHOICES_COUNT];
  tap_ok(choice_cheapest(&t, -1) == CHOICE_BLOCK,
         "at nearly the same cost rather no split, whose soft steps follow more of what a system does");
  t = priced(9, 3, 4, 2.8);
  tap_ok(!choice_change_pays(&t, CHOICE_BLOCK, CHOICE_HYBRID) && !choice_change_pays(&t, CHOICE_BLOCK, CHOICE_BLOCK),
         "a change for a fifteenth does not pay");
  t = priced(9, 3, 4, 2);
  tap_ok(choice_change_pays(&t, CHOICE_BLOCK, CHOICE_HYBRID), "one for a third does");
  t.factor[CHOICE_HYBRID] = 2;
  tap_ok(choice_cheapest(&t, -1) == CHOICE_BLOCK && near(choice_predicted(&t, CHOICE_HYBRID, -1), 4, 1e-9),
         "measured factors count");
  t.slowness = 1.5;
  tap_ok(choice_predicted(&t, CHOICE_BLOCK, -1) * 1.5 == choice_predicted_here(&t, CHOICE_BLOCK, -1) &&
             choice_predicted(&t, CHOICE_HYBRID, -1) == choice_predicted_here(&t, CHOICE_HYBRID, -1) &&
             choice_predicted(&t, CHOICE_BLOCK, CHOICE_HYBRID) ==
                 choice_predicted_here(&t, CHOICE_BLOCK, CHOICE_HYBRID),
         "first forces count for people, until a soft step is measured");
  t.factor[CHOICE_BLOCK] = 3;
  tap_ok(near(choice_predicted(&t, CHOICE_SHARED, CHOICE_BLOCK), 27, 1e-9),
         "a candidate that was not measured has the factor of the present one");
  t = priced(9, 3, 4, 5);
  t.wanted = 3e-5;
  for (int k = 0; k < CHOICES_COUNT; k++) t.candidate[k].error = k == CHOICE_BLOCK ? 1e-4 : 3e-5;
  tap_ok(choice_cheapest(&t, -1) == CHOICE_HYBRID_NARROW && choice_change_pays(&t, CHOICE_BLOCK, CHOICE_HYBRID_NARROW),
         "the cheapest of those with the wanted error");
  int n = choice_trials(&t, -1, CHOICE_HYBRID_NARROW, 100, 0.02, order);
  for (int i = 0; i < n; i++) tap_ok(order[i] != CHOICE_BLOCK, "others are not tried");
  for (int k = 0; k < CHOICES_COUNT; k++) t.candidate[k].error = k == CHOICE_SHARED ? 1e-4 : 2e-4;
  tap_ok(choice_cheapest(&t, -1) == CHOICE_SHARED && !choice_has_wanted_error(&t, CHOICE_SHARED),
         "the most exact one where none has it");
}

static void check_intervals(void)
{
  struct choice_machine cores = machine(0, 1), device = machine(1, 1);
  struct choice_candidate one = {.step = 0.01, .step_seconds = 1, .sync_seconds = 1},
                          blocks = {.step = 0.1, .step_seconds = 10, .sync_seconds = 1};
  tap_ok(choice_interval(&cores, &one, 1) == 150 && choice_interval(&cores, &blocks, 0) == 15,
         "on cores a look at the system waits for the time of many forces");
  blocks.sync_seconds = 0.1;
  one.sync_seconds = 9;
  tap_ok(choice_interval(&cores, &blocks, 0) == 10 && choice_interval(&cores, &one, 1) == 400, "within limits");
  tap_ok(choice_interval(&device, &one, 1) == 400 && choice_interval(&device, &blocks, 0) == 100,
         "on a device it waits longer");
}

/* Seconds of soft steps that were measured on a core (processor time): within a fifth. */
static void check_measured_costs(void)
{
  const struct choice_machine m = {.ranks = 1, .threads = 1, .delta = 2.3e-4, .order = 2};
  struct choice_candidate all = {.step = 0.00833},
                          narrow = {.step = 0.0251, .r2 = 0.0767, .neighbours = 3.7, .count = {9830, 4915, 1475, 164}};
  struct choice_candidate blocks = {.step = 0.0625, .count = {0, 8520, 4915, 2130, 819}};
  choice_cost(&m, 16384, &all);
  tap_ok(near(all.step_seconds, 0.0312, 0.2), "seconds of a shared step of 16384 particles");
  choice_cost(&m, 16384, &narrow);
  tap_ok(narrow.sync_seconds > all.step_seconds && near(narrow.sync_seconds, 0.0386, 0.2),
         "of a synchronisation with the split, which has hard forces too");
  choice_cost(&m, 16384, &blocks);
  double active = 0, sum = 0;
  for (int l = 4; l >= 1; l--) {
    active += (double)blocks.count[l];
    sum += exp2(l - 1) * active;
  }
  double each = (blocks.step_seconds - blocks.sync_seconds) / sum;
  tap_ok(near(each, 2.2e-6, 0.2), "of an active particle of block steps");
}

static void check_allowed(void)
{
  struct params p, q;
  const unsigned shared = 1u << CHOICE_SHARED, block = 1u << CHOICE_BLOCK, narrow = 1u << CHOICE_HYBRID_NARROW,
                 hybrid = 1u << CHOICE_HYBRID;
  params_defaults(&p);
  p.Mode = MODE_AUTO;
  p.Scheme = SCHEME_AUTO;
  p.R1OverR0 = 3;
  tap_ok(choice_allowed(&p) == (shared | block | hybrid),
         "all is open: three schemes, with the R1OverR0 that is given");
  p.R1OverR0 = 0;
  q = p;
  tap_ok((choice_allowed(&p) & ~narrow) == (shared | block | hybrid), "and perhaps a narrow split");
  q.Mode = MODE_TREE;
  tap_ok(choice_allowed(&q) == (shared | block), "Mode = tree: no split");
  q.Mode = MODE_HYBRID;
  tap_ok((choice_allowed(&q) & ~narrow) == hybrid, "Mode = hybrid: the split");
  q.Scheme = SCHEME_SHARED;
  q.SoftStep = 0.1;
  q.FixedStep = 0.1;
  tap_ok(choice_allowed(&q) == 0, "both given: nothing is chosen");
  q = p;
  q.Scheme = SCHEME_BLOCK;
  tap_ok((choice_allowed(&q) & ~narrow) == (block | hybrid), "Scheme = block");
  q = p;
  q.Scheme = SCHEME_SHARED;
  tap_ok(choice_allowed(&q) == shared, "Scheme = shared");
  q = p;
  q.FixedStep = 0.1;
  tap_ok(choice_allowed(&q) == shared, "FixedStep");
  q = p;
  q.R1 = 0.1;
  tap_ok(choice_allowed(&q) == hybrid, "R1");
  q = p;
  q.Integrator = INTEGRATOR_HERMITE;
  tap_ok(choice_allowed(&q) == hybrid, "Integrator = hermite");
  q = p;
  q.Criterion = CRITERION_PAIRS;
  tap_ok(choice_allowed(&q) == hybrid, "Criterion = pairs");
  int all = 1;
  for (int k = 0; k < CHOICES_COUNT; k++) {
    q = p;
    if (!(choice_allowed(&p) & 1u << k)) continue;
    choice_set(&q, k);
    all &= choice_allowed(&q) == 0 && (int)choice_of(&q, &p) == k;
  }
  tap_ok(all, "a candidate becomes Mode, Scheme and R1OverR0, and is known by these");
}

int main(void)
{
  check_errors();
  check_by_acceleration();
  check_promise();
  check_long_softening();
  check_steps();
  check_dense();
  check_units();
  check_extremes();
  check_costs();
  check_measured_costs();
  check_decisions();
  check_changes();
  check_intervals();
  check_allowed();
  return tap_end();
}
