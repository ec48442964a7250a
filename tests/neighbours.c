/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hard forces of some of the particles, substep after substep, where all particles have few neighbours: on backends
 * that have them, lists serve for several substeps. Three soft steps: in the first the lists are made at the first
 * substep, in the second at the synchronisation before it, and the third is longer than these can know. And spheres
 * with a clump, whose groups have very many neighbours, which are not yet too many for lists, or are, and then walked
 * beside them. With TEST_SAMPLE in the environment: the clump of small lengths has a third of the particles. */
#include <config.h>
#include "particles/timeline.h"
#include "walks.h"

enum { TARGETS_MAX = 400 }; /* particles of a substep that are compared with the direct sum */
#define SOFT_STEP 0.032     /* particles move by a fifth of R2, and what they are kicked by between counts */
#define LONGER 1.1          /* so many times that in the third */
#define ETA 0.076           /* block steps of levels 0 to 3 */
#define CLUMP 0.03          /* radius; the criterion there; and a part of the particles in it: */
#define CLUMP_STEP 0.016
#define CLUMP_DELTA (1.0 / 16384)
#define DENSE_PART (1.0 / 90)
#define HEAVY_PART (1.0 / 55)
#define LOOSE_PART (1.0 / 50) /* whose particles have long steps: closing kicks count */
#define LOOSE_STEP 0.017
static double unit = 1; /* of lengths; times go along with G = M = 1 */

static void place_sphere(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  (void)i;
  random_direction(random, unit * cbrt(random_unit(random)), x);
  *mass = 1.0f / (float)n;
}

static void place_clumped(struct random *random, int64_t i, int64_t n, double part, double x[3], float *mass)
{
  place_sphere(random, i, n, x, mass);
  for (int c = 0; c < 3 && (double)i < part * (double)n; c++) x[c] = CLUMP * x[c] + (c == 0 ? 0.5 * unit : 0);
}

static void place_dense(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  place_clumped(random, i, n, DENSE_PART, x, mass);
}
static void place_heavy(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  place_clumped(random, i, n, HEAVY_PART, x, mass);
}

static const struct set dense = {"sphere with a clump", 90000, 1, 0.01, 0.04, 0.08, place_dense};
static const struct set heavy = {"sphere with a heavy clump", 130000, 1, 0.01, 0.04, 0.08, place_heavy};
static void place_loose(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  place_clumped(random, i, n, LOOSE_PART, x, mass);
}
static const struct set loose = {"sphere with a clump", 20000, 1, 0.01, 0.04, 0.08, place_loose};
static const struct set sphere = {"homogeneous sphere", 20000, 1, 0.01, 0.04, 0.08, place_sphere};

struct results {
  int64_t substeps, targets, partly; /* partly: substeps in which less than a half were active */
  int64_t untested;                  /* substeps without an acceptance test: no search for neighbours */
  int64_t groups;                    /* that were counted: a list's target is one of its own */
  double median, most99, worst;
  int finite, complete;
};

/* Positions of all particles at a tick; active ones are there already. */
static double (*places(const struct particles *particles, int32_t tick, double tick_length))[3]
{
  double(*at)[3] = memory_alloc("test", sizeof *at * (size_t)particles->n);
  for (int64_t i = 0; i < particles->n; i++) {
    double dt = ends_at(particles, i, tick) ? 0 : (tick - particles->tick[i]) * tick_length;
    for (int c = 0; c < 3; c++)
      at[i][c] =
          particles->pos[3 * i + c] + (particles->vel[3 * i + c] + 0.5 * dt * particles->acc_hard[3 * i + c]) * dt;
  }
  return at;
}

/* |error| of a hard force against the direct sum over the given places, in units of |a|. */
static double error_of(const struct particles *particles, const double (*at)[3], int64_t i, const struct set *set,
                       const struct split *split)
{
  double sum[3] = {0, 0, 0};
  float x[3];
  for (int64_t j = 0; j < particles->n; j++) {
    double d[3] = {at[j][0] - at[i][0], at[j][1] - at[i][1], at[j][2] - at[i][2]},
           r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    if (j == i || r2 >= (double)split->r2 * split->r2) continue;
    double rho2 = r2 + set->softening * set->softening,
           w = set->gravity * particles->mass[j] * direct_k(split, sqrt(r2)) / (rho2 * sqrt(rho2));
    for (int c = 0; c < 3; c++) sum[c] += w * d[c];
  }
  for (int c = 0; c < 3; c++) x[c] = (float)(particles->acc_hard[3 * i + c] - sum[c]);
  return modulus(x) / modulus(&particles->acc[3 * i]);
}

/* The hard forces of a substep, spread evenly over the active particles. */
static void compare(const struct rig *rig, const struct set *set, int32_t tick, double tick_length, int64_t actives,
                    struct results *results)
{
  const struct particles *p = rig->be->view(rig->dev);
  double(*at)[3] = places(p, tick, tick_length), *error = memory_alloc("test", sizeof *error * (size_t)(actives + 1));
  int64_t every = actives / TARGETS_MAX + 1, found = 0, count = 0;
  for (int64_t i = 0; i < p->n; i++)
    if (ends_at(p, i, tick) && found++ % every == 0 && count <= actives)
      error[count++] = error_of(p, (const double(*)[3])at, i, set, &rig->split);
  struct errors e = errors_of(error, count);
  results->complete &= found == actives;
  results->finite &= e.finite;
  results->median = fmax(results->median, e.median);
  results->most99 = fmax(results->most99, e.most99);
  results->worst = fmax(results->worst, e.worst);
  memory_free(error);
  memory_free(at);
}

/* The substeps of a soft step; levels are chosen before. Moments are updated every `moment_update_interval` ticks. */
static void substeps(struct rig *rig, const struct set *set, const struct mac *mac, const struct step_rule *rule,
                     int32_t moment_update_interval, struct results *results)
{
  double tick_length = rule->soft_step / TICKS;
  *results = (struct results){.finite = 1, .complete = 1};
  for (int32_t tick = rig->be->steps.next_tick(rig->dev); tick < TICKS; tick = rig->be->steps.next_tick(rig->dev)) {
    int64_t outside = 0, actives = rig->be->steps.select(rig->dev, tick, tick_length, &outside);
    struct walk_request request = {.kind = WALK_HARD,
                                   .mac = *mac,
                                   .a_floor = rig->a_floor,
                                   .split = rig->split,
                                   .let = LET_STEP,
                                   .tick = tick,
                                   .tick_length = tick_length,
                                   .local = 1,
                                   .last = 1};
    memset(&rig->tally, 0, sizeof rig->tally);
    if (tick % moment_update_interval == 0) rig->be->tree.moments(rig->dev, mac, tick, tick_length);
    rig->be->forces.walk(rig->dev, &request, &rig->tally);
    compare(rig, set, tick, tick_length, actives, results);
    results->complete &= rig->tally.targets == actives && actives > 0;
    results->substeps++;
    results->targets += actives;
    results->partly += 2 * actives < set->n;
    results->untested += rig->tally.tests == 0;
    results->groups += rig->tally.groups;
    rig->be->steps.correct(rig->dev, tick, tick_length, rule, -1);
  }
}

/* Levels by the rule, with particles at several levels, and sources with the velocities after the kicks. */
static void choose(struct rig *rig, const struct mac *mac, const struct step_rule *rule)
{
  rig->be->steps.levels(rig->dev, rule, -1);
  rig->be->tree.sources(rig->dev);
  rig->be->tree.moments(rig->dev, mac, 0, 0);
}

/* From the last substep to the forces of the next synchronisation, on a new tree, with the closing half of this step
 * and the opening half of the next. */
static void synchronise(struct rig *rig, const struct mac *mac, double step, double next)
{
  rig->be->steps.drift_to_end(rig->dev, step / TICKS);
  rig->be->tree.order(rig->dev, &rig->lattice);
  rig->be->tree.build(rig->dev, everywhere[0], everywhere[1]);
  rig_force(rig, mac);
  rig->be->steps.finish(rig->dev, step / TICKS);
  rig->be->steps.kick(rig->dev, &(struct field){0}, 0.5 * (step + next));
}

static void report(const struct backend *be, const struct set *set, const char *when, const struct results *results,
                   int64_t makings)
{
  char what[250];
  snprintf(what, sizeof what, "%s: hard forces of %lld targets in %lld substeps, direct sums (median %.1e, 99 %% %.1e)",
           when, (long long)results->targets, (long long)results->substeps, results->median, results->most99);
  say(results->finite && results->complete && results->substeps >= 7 && results->partly >= 4 &&
          results->median <= 1e-5 && results->most99 <= 1e-3,
      set, what, results->worst);
  snprintf(what, sizeof what, "%s: %lld of %lld substeps without a search", when, (long long)results->untested,
           (long long)results->substeps);
  if (be == &backend_cuda) say(results->untested == results->substeps - makings, set, what, 0);
  else printf("# %s, %s\n", label, what);
}

static void check(const struct backend *be)
{
  struct particles p;
  struct rig g;
  struct results first, second, third;
  const struct set *s = &sphere;
  struct step_rule rule = rule_of(s, SOFT_STEP);
  rule.eta = ETA;
  snprintf(label, sizeof label, "%s", be->name);
  set_make(s, 0.5, &p);
  rig_open(&g, be, s, &p, 1, 8, 32);
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  choose(&g, &mac, &rule);
  substeps(&g, s, &mac, &rule, TICKS, &first);
  synchronise(&g, &mac, SOFT_STEP, SOFT_STEP);
  choose(&g, &mac, &rule);
  substeps(&g, s, &mac, &rule, TICKS / 4, &second);
  synchronise(&g, &mac, SOFT_STEP, LONGER * SOFT_STEP);
  rule.soft_step = LONGER * SOFT_STEP;
  rule.eta = LONGER * ETA; /* the same levels */
  choose(&g, &mac, &rule);
  substeps(&g, s, &mac, &rule, TICKS, &third);
  rig_close(&g);
  report(be, s, "lists of the first substep", &first, 1);
  report(be, s, "lists of the synchronisation", &second, 0);
  report(be, s, "a longer step", &third, 1);
}

/* Hard forces of particles in a clump and around it; of 99 % of them within `most` Delta, of the half within a quarter
 * of that. */
static void clump(const struct backend *be, const struct set *set, int order, double max_value, struct results *results)
{
  struct particles p;
  struct rig g;
  char what[200];
  struct step_rule rule = rule_of(set, CLUMP_STEP * pow(unit, 1.5));
  rule.eta = ETA;
  snprintf(label, sizeof label, "%s", be->name);
  set_make(set, 0.5, &p);
  rig_open(&g, be, set, &p, order, 1, 32);
  rig_first_force(&g, 1.0 / 32); /* hard forces are compared; these only give the criterion its scale */
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, CLUMP_DELTA);
  choose(&g, &mac, &rule);
  substeps(&g, set, &mac, &rule, TICKS / 4, results);
  rig_close(&g);
  snprintf(what, sizeof what, "hard forces of %lld targets, direct sums (median %.1e, 99 %% %.1e)",
           (long long)results->targets, results->median, results->most99);
  say(results->finite && results->complete && results->median <= max_value / 4 * CLUMP_DELTA &&
          results->most99 <= max_value * CLUMP_DELTA,
      set, what, results->worst);
  snprintf(what, sizeof what, "%lld of %lld substeps without a search, %.3f groups a target",
           (long long)results->untested, (long long)results->substeps,
           (double)results->groups / (double)results->targets);
  printf("# %s, %s: %s\n", label, set->name, what);
}

/* Second moments of cells, lengths that are small numbers. */
static void check_small(const struct backend *be)
{
  struct results r;
  if (be != &backend_cuda) return;
  unit = 1e-6;
  struct set small = dense;
  small.name = "sphere with a clump, small";
  if (getenv("TEST_SAMPLE")) small.n /= 3;
  small.softening *= unit;
  small.r1 *= unit;
  small.r2 *= unit;
  clump(be, &small, 2, 4, &r);
  say(r.untested == r.substeps - 1 && r.groups == r.targets, &small, "all have lists", 0);
  unit = 1;
}

/* Lists of a synchronisation allow for the pending kicks, those of hard forces included. */
static void check_closing(const struct backend *be)
{
  struct particles p;
  struct rig g;
  struct results r;
  const struct set *s = &loose;
  struct step_rule rule = rule_of(s, LOOSE_STEP);
  snprintf(label, sizeof label, "%s", be->name);
  if (be != &backend_cuda) return;
  set_make(s, 0.5, &p);
  rig_open(&g, be, s, &p, 1, 8, 32);
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  for (int k = 0; k < 2; k++) {
    if (k > 0) synchronise(&g, &mac, LOOSE_STEP, LOOSE_STEP);
    g.be->steps.levels(g.dev, &rule, 1);
    g.be->tree.sources(g.dev);
    g.be->tree.moments(g.dev, &mac, 0, 0);
    substeps(&g, s, &mac, &rule, TICKS / 2, &r);
  }
  rig_close(&g);
  say(r.complete && r.substeps == 1 && r.untested == 1, s,
      "long steps, lists of the synchronisation: a substep without a search", r.worst);
}

/* Groups without lists, and only these, are walked. */
static void check_clumps(const struct backend *be)
{
  struct results r;
  if (be != &backend_cuda) return; /* elsewhere all are walked */
  clump(be, &dense, 1, 2, &r);
  say(r.untested == r.substeps - 1 && r.groups == r.targets, &dense, "all have lists", 0);
  clump(be, &heavy, 1, 8, &r);
  say(r.untested == 0 && r.groups < r.targets && (double)r.groups > 0.9 * (double)r.targets, &heavy,
      "some groups walked", 0);
}

int main(void)
{
  rig_each(check);
  rig_each(check_small);
  rig_each(check_closing);
  rig_each(check_clumps);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
