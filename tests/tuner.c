/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuner of the rebuild interval against worlds whose best interval is known. */
#include <config.h>
#include "tuning/tuner.h"

#include <math.h>
#include <string.h>

#include "chance.h"
#include "tap.h"

enum { SINGLE, BLOCKS }; /* all steps alike; block steps, where few steps have most of the work */

/* What walks and builds cost, with a clock's noise. Age is in block steps. */
struct world {
  struct growth_model model;
  double build, walk;     /* seconds: of a build; of a mean walk on a fresh tree */
  int steps;              /* SINGLE or BLOCKS */
  double noise;           /* relative, of every walk */
  double outliers;        /* fraction of walks that take ten times as long */
  double resolution;      /* of the clock */
  double max_value, time; /* above 0: growth that is none of the models, 1 + most (1 - exp(-age / time)) */
  struct random chance;
  double spent; /* seconds of walks and builds in the last half of a run, a step, without noise */
};

static double normal(struct world *world)
{
  double sum = 0;
  for (int k = 0; k < 12; k++) sum += random_unit(&world->chance);
  return sum - 6;
}

/* Block step number s of the hierarchy: its lowest level has 2^(s's zeros) times ... the particles of the level
 * above. */
static int kind_of(const struct world *world, long s)
{
  int zeros = 0;
  if (world->steps == SINGLE) return 0;
  while (zeros < 6 && s % 2 == 0) {
    s /= 2;
    zeros++;
  }
  return 6 - zeros;
}

static double targets_of(const struct world *world, int kind)
{
  return world->steps == SINGLE ? 1000 : 1000 * pow(3, 6 - kind);
}

/* Seconds per target: small sets use the machine badly. The mean walk takes world->walk. */
static double cost_of(const struct world *world, int kind)
{
  if (world->steps == SINGLE) return world->walk / 1000;
  double mean = 0;
  for (int s = 1; s <= 64; s++) mean += targets_of(world, kind_of(world, s)) * (1 + 0.3 * kind_of(world, s)) / 64;
  return world->walk / mean * (1 + 0.3 * kind);
}

static double growth_of(const struct world *world, double age)
{
  return world->max_value > 0 ? 1 + world->max_value * (1 - exp(-age / world->time)) : growth_at(&world->model, age);
}

static double walk_seconds(struct world *world, int kind, double age)
{
  double t =
      cost_of(world, kind) * targets_of(world, kind) * growth_of(world, age) * (1 + world->noise * normal(world));
  if (random_unit(&world->chance) < world->outliers) t *= 10;
  return world->resolution > 0 ? floor(t / world->resolution) * world->resolution : t;
}

/* Mean cost of a step in a world without noise where every n-th step is preceded by a build, by the sums of the
 * paper. */
static double mean_cost(const struct world *world, int n)
{
  double sum = world->build;
  for (int i = 0; i < n; i++) sum += world->walk * growth_of(world, i);
  return sum / n;
}

static int best_of(const struct world *world)
{
  int n = 1;
  while (n < 5000 && mean_cost(world, n + 1) < mean_cost(world, n)) n++;
  return n;
}

/* Run the world with the tuner for so many steps; where `span` > 0 a build comes anyway after so many. Returns the mean
 * of the intervals over the last half. */
static double run(struct world *world, struct rebuild_tuner *tuner, long steps, long span)
{
  long built = 0, forced = 0, count = 0, first = 0;
  double spent = 0;
  rebuild_built(tuner, world->build);
  for (long s = 1; s <= steps; s++) {
    double age = (double)(s - built), rest = span ? (double)(forced + span - s) : HUGE_VAL;
    if (rest <= 0 || rebuild_due(tuner, age, rest, kind_of(world, s))) {
      if (rest <= 0) forced = s;
      rebuild_built(tuner, world->build * (1 + world->noise * normal(world)));
      if (s > steps / 2 && !first) first = s;
      else if (s > steps / 2) count++;
      built = s;
      age = 0;
      if (s > steps / 2) spent += world->build;
    }
    int kind = kind_of(world, s);
    rebuild_walked(tuner, age, kind, targets_of(world, kind), walk_seconds(world, kind, age));
    if (s > steps / 2) spent += cost_of(world, kind) * targets_of(world, kind) * growth_of(world, age);
  }
  world->spent = spent / (double)(steps - steps / 2);
  return count ? (double)(built - first) / (double)count : HUGE_VAL;
}

static const struct growth_model linear = {.known = 1, .kind = GROWTH_LINEAR, .b = 0.004};
static const struct growth_model power = {.known = 1, .kind = GROWTH_POWER, .b = 0.01};
static const struct growth_model parabolic = {.known = 1, .kind = GROWTH_PARABOLIC, .b = 0.0005, .a = 0.00006};

/* A tuner that has walked a world at ages 0 to n - 1, `times` times. */
static void watch(struct world *world, struct rebuild_tuner *tuner, int n, int times)
{
  rebuild_open(tuner, 0, 10);
  rebuild_built(tuner, world->build);
  long s = 1;
  for (int k = 0; k < times; k++) {
    for (int age = 0; age < n; age++, s++) {
      int kind = kind_of(world, s);
      rebuild_walked(tuner, age, kind, targets_of(world, kind), walk_seconds(world, kind, age));
    }
    rebuild_built(tuner, world->build);
  }
}

/* Each model is distinguished from the others, and its parameters and the best interval are found. */
static void check_models(int steps, const char *what)
{
  const struct growth_model *const models[] = {&linear, &power, &parabolic};
  for (int k = 0; k < GROWTHS; k++) {
    char text[200];
    struct rebuild_tuner t;
    struct world w = {.model = *models[k], .build = 0.3, .walk = 0.2, .steps = steps, .noise = 0.003, .chance = {7}};
    watch(&w, &t, 120, 3);
    double best = best_of(&w), found = rebuild_interval(&t, HUGE_VAL);
    const struct growth_model *m = &t.model;
    printf("# %s: picked %s, b %.5f a %.2e, chi2 %.2e %.2e %.2e; interval %.1f, best %.0f\n", growth_names[k],
           growth_names[m->kind], m->b, m->a, m->chi2[0], m->chi2[1], m->chi2[2], found, best);
    snprintf(text, sizeof text, "%s: %s growth is recognised (others fit hardly better)", what, growth_names[k]);
    tap_ok(t.model.known && t.model.chi2[k] < 1.3 * t.model.chi2[t.model.kind], text);
    snprintf(text, sizeof text, "%s: %s growth: the best interval to 5 %%", what, growth_names[k]);
    tap_ok(fabs(found / best - 1) < 0.05, text);
  }
}

/* Whatever it begins with, and with the noise of real clocks, the tuner comes to intervals that cost hardly more than
 * the best. */
static void check_loop(int steps, double noise, double outliers, double max_value, const char *what)
{
  const struct growth_model *const models[] = {&linear, &power, &parabolic};
  static const double firsts[] = {2, 30, 500};
  for (int k = 0; k < GROWTHS; k++) {
    double worst = 0, farthest = 0;
    for (int trial = 0; trial < 12; trial++) {
      struct rebuild_tuner t;
      struct world w = {
          .model = *models[k], .build = 0.3, .walk = 0.2, .steps = steps, .noise = noise, .outliers = outliers};
      w.chance.state = 100 + (uint64_t)trial;
      rebuild_open(&t, 0, firsts[trial % 3]);
      double interval = run(&w, &t, 3000, 0), best = best_of(&w);
      double over = w.spent / mean_cost(&w, (int)best) - 1;
      worst = fmax(worst, over);
      farthest = fmax(farthest, fabs(interval / best - 1));
    }
    char text[200];
    printf("# %s: %s: intervals within %.2f of the best, cost over the best at most %.4f\n", what, growth_names[k],
           farthest, worst);
    snprintf(text, sizeof text, "%s: %s growth: the mean step costs at most %g %% over the best", what, growth_names[k],
             100 * max_value);
    tap_ok(worst < max_value, text);
  }
}

/* A build comes anyway after every `span` steps: the rest is divided evenly, or left alone. */
static void check_spans(void)
{
  struct rebuild_tuner t;
  struct world w = {.model = linear, .build = 0.3, .walk = 0.2, .noise = 0.003, .chance = {3}};
  watch(&w, &t, 60, 4); /* best: 27.4 */
  int even = 1, best = 1;
  for (int span = 1; span < 400; span++) {
    double interval = rebuild_interval(&t, span), parts = span / interval, min_value = HUGE_VAL, cost = 0;
    even &= fabs(parts - round(parts)) < 1e-9 && parts > 0.5;
    for (int n = 1; n < 40; n++) {
      double each = (double)span / n, sum = n * (0.3 + 0.2 * 0.5 * linear.b * each * each);
      min_value = fmin(min_value, sum);
      if (n == (int)round(parts)) cost = sum;
    }
    best &= cost <= 1.001 * min_value;
  }
  tap_ok(even, "builds that come anyway: the span is divided by a whole number");
  tap_ok(best, "and by the best one");
  tap_ok(rebuild_interval(&t, 30) == 30, "no build where one comes soon anyway");
  struct rebuild_tuner loop;
  rebuild_open(&loop, 0, 4);
  double mean = run(&w, &loop, 4000, 64);
  printf("# a build at least every 64 steps: mean interval %.2f\n", mean);
  tap_ok(fabs(mean - 32) < 1, "the loop: 64 steps in two halves");
}

/* Groups that have mixed cannot mix more: growth that ends, which no model is made for. From below the tuner finds
 * where the cost is lowest all the same. */
static void check_saturation(void)
{
  static const double max_value[] = {3, 3, 1, 0.5, 20}, time[] = {1, 10, 30, 100, 0.5}, build[] = {0.3, 0.2, 1, 0.3, 3};
  for (int steps = SINGLE; steps <= BLOCKS; steps++)
    for (int k = 0; k < 5; k++) {
      struct rebuild_tuner t;
      struct world w = {.max_value = max_value[k],
                        .time = time[k],
                        .build = 0.2 * build[k],
                        .walk = 0.2,
                        .steps = steps,
                        .noise = 0.03,
                        .chance = {29}};
      rebuild_open(&t, 0, 2);
      double interval = run(&w, &t, 6400, 0);
      char text[200];
      int best = best_of(&w);
      double over = w.spent / mean_cost(&w, best) - 1;
      printf("# growth by %g within %g steps: interval %.2f, best %d, cost over the best %.4f\n", max_value[k], time[k],
             interval, best, over);
      const char *what = steps == BLOCKS ? "block steps" : "equal steps";
      snprintf(text, sizeof text, "%s: growth by %g that ends after %g steps: 3 %% over the best", what, max_value[k],
               time[k]);
      tap_ok(over < 0.03, text);
    }
}

/* Walks that do not get dearer, or even cheaper: ever longer intervals. */
static void check_no_growth(void)
{
  struct rebuild_tuner t;
  struct world flat = {.model = {.known = 1}, .build = 0.3, .walk = 0.2, .noise = 0.001, .chance = {5}};
  struct world falling = flat;
  falling.model = (struct growth_model){.known = 1, .kind = GROWTH_POWER, .b = -0.002};
  falling.noise = 0.01;
  rebuild_open(&t, 0, 4);
  tap_ok(run(&flat, &t, 3000, 0) > 300, "walks that stay as they are: long intervals");
  rebuild_open(&t, 0, 4);
  tap_ok(run(&falling, &t, 3000, 0) > 300, "walks that get cheaper: long intervals");
  rebuild_open(&t, 0, 4);
  flat.build = 0;
  double mean = run(&flat, &t, 300, 0);
  tap_ok(mean >= 4, "builds of no measurable cost do not hurt");
  rebuild_open(&t, 0, 4);
  for (int k = 0; k < 40; k++) {
    if (k % 4 == 0) rebuild_built(&t, 0.3);
    rebuild_walked(&t, k % 4, 0, 100, 0.2 * (1 - 0.2 * (k % 4)));
  }
  rebuild_built(&t, 0.3);
  rebuild_walked(&t, 0, 0, 100, 0.2);
  double before = t.now.predicted;
  rebuild_walked(&t, 50, 0, 100, 0.2);
  printf("# walks that got a fifth cheaper each: %.3f s predicted at age 0, %.3f more at age 50\n", before,
         t.now.predicted - before);
  tap_ok(t.model.known && t.now.predicted > before && before > 0, "no walk is predicted to take less than nothing");
}

/* Little or nothing is known. */
static void check_ignorance(void)
{
  struct rebuild_tuner t;
  rebuild_open(&t, 0, 10);
  int due = 0;
  for (int age = 1; age < 10; age++) due |= rebuild_due(&t, age, 100 - age, -1);
  tap_ok(rebuild_interval(&t, HUGE_VAL) == 10 && !due && rebuild_due(&t, 10, 90, 0),
         "nothing known: the first interval");
  tap_ok(!rebuild_due(&t, 0, 100, 0) && !rebuild_due(&t, 50, 0, 0), "never at age 0, nor where a build comes now");
  rebuild_built(&t, 0.1);
  rebuild_walked(&t, 1, 0, 100, 0.01);
  rebuild_walked(&t, 2, 0, 100, 0.02);
  rebuild_built(&t, 0.1);
  tap_ok(!t.model.known && rebuild_interval(&t, HUGE_VAL) == 10, "two points: no model yet");
  rebuild_open(&t, 0, 10);
  rebuild_built(&t, 0.1);
  for (int k = 0; k < 100; k++) rebuild_walked(&t, 3, k % 2, 100, 0.01 * (1 + k % 3));
  rebuild_built(&t, 0.1);
  tap_ok(!t.model.known && isfinite(rebuild_interval(&t, HUGE_VAL)), "walks at one age: no model");
  rebuild_open(&t, 0, 10);
  rebuild_built(&t, NAN);
  rebuild_built(&t, -1);
  const double odd[] = {0, -1, NAN, HUGE_VAL, 1e-300, 1e300};
  for (int k = 0; k < 600; k++) {
    rebuild_walked(&t, k % 40, k % 40, k % 7 ? 100 : 0, odd[k % 6]);
    rebuild_walked(&t, k % 30, -k, 1, odd[k % 5]);
  }
  rebuild_built(&t, 0.1);
  double interval = rebuild_interval(&t, 1000);
  tap_ok(interval > 0 && interval <= 1000, "times that no clock shows do no harm");
}

/* Walks as short as the clock's tick. */
static void check_clock(void)
{
  struct rebuild_tuner t;
  struct world w = {.model = linear, .build = 3e-4, .walk = 2e-4, .noise = 0.02, .resolution = 2e-5, .chance = {11}};
  rebuild_open(&t, 0, 5);
  double interval = run(&w, &t, 3000, 0);
  double over = mean_cost(&w, (int)(interval + 0.5)) / mean_cost(&w, best_of(&w)) - 1;
  printf("# ten ticks of the clock a walk: interval %.1f, cost over the best %.4f\n", interval, over);
  tap_ok(over < 0.02, "walks of ten ticks of the clock: 2 % over the best");
  w.resolution = 1;
  rebuild_open(&t, 0, 5);
  tap_ok(fabs(run(&w, &t, 300, 0) - 5) < 0.5, "walks shorter than the clock's tick: the first interval stays");
}

/* The system changes: the tuner follows. */
static void check_change(void)
{
  struct rebuild_tuner t;
  struct world w = {.model = linear, .build = 0.3, .walk = 0.2, .noise = 0.03, .chance = {17}};
  rebuild_open(&t, 0, 10);
  run(&w, &t, 2000, 0);
  w.model.b = 0.04;
  double interval = run(&w, &t, 2000, 0);
  printf("# growth ten times as fast: interval %.2f, best %d\n", interval, best_of(&w));
  tap_ok(mean_cost(&w, (int)(interval + 0.5)) < 1.01 * mean_cost(&w, best_of(&w)),
         "growth that becomes ten times as fast is followed");
}

/* Prediction and outcome of an interval are for the log, and the state may be copied. */
static void check_outcome(void)
{
  struct rebuild_tuner t;
  struct world w = {.model = parabolic, .build = 0.3, .walk = 0.2, .steps = BLOCKS, .noise = 0.01, .chance = {23}};
  rebuild_open(&t, 0, 10);
  run(&w, &t, 2048, 0);
  const struct rebuild_outcome *o = &t.last;
  printf("# interval predicted %.2f, built after %.0f; walks %.3f s, predicted %.3f, on a fresh tree %.3f\n",
         o->interval, o->age, o->measured, o->predicted, o->fresh);
  tap_ok(o->model.known && !o->unknown && fabs(o->predicted / o->measured - 1) < 0.05,
         "an interval's walks took what was predicted, to 5 %");
  tap_ok(o->fresh < o->predicted && o->age > 0.9 * o->interval && o->age < 1.8 * o->interval &&
             o->builds == t.builds - 1 && fabs(o->build / 0.3 - 1) < 0.05,
         "its length, number and build are noted");
  struct rebuild_tuner copy;
  struct world same = w;
  memcpy(&copy, &t, sizeof t);
  run(&w, &t, 500, 0);
  run(&same, &copy, 500, 0);
  tap_ok(memcmp(&copy, &t, sizeof t) == 0, "a copy of the state goes on alike, bit by bit");
}

/* Frozen: clocks do not matter. */
static void check_frozen(void)
{
  struct rebuild_tuner a, b;
  int same = 1;
  rebuild_open(&a, 12, 4);
  rebuild_open(&b, 12, 4);
  struct world slow = {.model = power, .build = 3, .walk = 2, .noise = 0.3, .chance = {1}};
  for (int s = 1, built = 0; s < 500; s++) {
    int due = rebuild_due(&a, s - built, 100, 0);
    same &= due == rebuild_due(&b, s - built, 100, 0) && due == (s - built == 12);
    if (due) {
      rebuild_built(&a, 1e-3);
      rebuild_built(&b, 50);
      built = s;
    }
    rebuild_walked(&a, s - built, 0, 100, 1e-6);
    rebuild_walked(&b, s - built, 0, 100, walk_seconds(&slow, 0, s - built));
  }
  tap_ok(same && !a.points, "a fixed interval, whatever clocks say");
  rebuild_open(&a, HUGE_VAL, 4);
  rebuild_built(&a, 1);
  tap_ok(!rebuild_due(&a, 1e9, 1, 0), "or none");
}

int main(void)
{
  check_models(SINGLE, "equal steps");
  check_models(BLOCKS, "block steps");
  check_loop(SINGLE, 0.03, 0, 0.01, "equal steps, 3 % noise");
  check_loop(BLOCKS, 0.03, 0, 0.01, "block steps, 3 % noise");
  check_loop(BLOCKS, 0.1, 0.02, 0.03, "block steps, 10 % noise, 2 % outliers");
  check_saturation();
  check_spans();
  check_no_growth();
  check_ignorance();
  check_clock();
  check_change();
  check_outcome();
  check_frozen();
  return tap_end();
}
