/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The soft walk (WALK_SOFT) against double-precision sums of (1 - K), and walks without softening. */
#include <config.h>
#include "cpu/walk_isa.h"
#include "soft_sums.h"
#include "walks.h"

/* A case of the soft walk. */
struct soft_case {
  const struct set *set;
  int kernel, order;
  double softening, mass_scale;
  enum walk_method method;
};

/* A Plummer sphere of two masses, 1 to 20, in which two particles are 1e-6 apart. */
static void place_stars(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  static double last[3];
  place_plummer(random, i, n, x, mass);
  *mass *= i % 10 ? 1 : 20;
  if (i == 1)
    for (int c = 0; c < 3; c++) x[c] = last[c] + (c == 0 ? 1e-6 : 0);
  memcpy(last, x, sizeof last);
}

static const struct set stars = {"stars, a pair 1e-6 apart", 3000, 1, 0, 0.05, 0.2, place_stars};

/* Soft forces of all particles, in one call of the walk or in two. */
static const struct particles *soft_force(struct rig *rig, const struct mac *mac, int calls, int add_potential)
{
  struct walk_request r = {.kind = WALK_SOFT,
                           .mac = *mac,
                           .a_floor = rig->a_floor,
                           .split = rig->split,
                           .let = LET_SOFT,
                           .potential = 1,
                           .add_potential = add_potential,
                           .local = 1,
                           .last = calls == 1};
  rig->be->tree.sources(rig->dev);
  rig->be->tree.moments(rig->dev, mac, 0, 0);
  rig->be->tree.groups(rig->dev);
  memset(&rig->tally, 0, sizeof rig->tally);
  rig->be->forces.walk(rig->dev, &r, &rig->tally);
  r.local = 0;
  r.last = 1;
  if (calls == 2) rig->be->forces.walk(rig->dev, &r, &rig->tally);
  struct sums sums;
  rig->be->sets.reduce(rig->dev, &(struct field){0}, &sums);
  rig->a_floor = 1e-5 * sqrt(sums.acc2_count / sums.count);
  return rig->be->view(rig->dev);
}

static void mark_hard(struct rig *rig)
{
  struct particles p;
  rig->be->download(rig->dev, &p);
  for (int64_t i = 0; i < 3 * p.n; i++) p.acc_hard[i] = (float)i;
  rig->be->upload(rig->dev, &p);
  double low[3], high[3];
  rig->be->sets.bounds(rig->dev, 0, low, high);
  rig->be->tree.order(rig->dev, &rig->lattice);
  rig->be->tree.build(rig->dev, everywhere[0], everywhere[1]);
}

static void check_soft(const struct backend *be, struct soft_case soft_case)
{
  struct set s = *soft_case.set;
  struct particles p;
  struct rig g;
  char what[200];
  s.softening = soft_case.softening;
  set_make(&s, 0, &p);
  struct split split = split_make(soft_case.kernel, s.r1, s.r2);
  split.mass_scale = (float)soft_case.mass_scale;
  for (int64_t i = 0; i < p.n; i++) split.largest_mass = fmaxf(split.largest_mass, p.mass[i]);
  struct soft_sums d = soft_sums_open(&p, s.gravity, s.softening, &split);
  rig_open_by(&g, be, &s, &p, soft_case.order, 8, 32, soft_case.method);
  g.split = split;
  mark_hard(&g);
  const struct particles *v = be->view(g.dev);
  float(*hard)[3] = by_id(v, v->acc_hard);
  struct mac angle = rig_mac(&g, MAC_ANGLE, 0.7), mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 8192);
  soft_force(&g, &angle, 1, 0);
  /* a forest is walked in parts by groups alone */
  v = soft_force(&g, &mac, soft_case.method == METHOD_GROUPS ? 2 : 1, 0);
  struct errors e = errors_between(v, v->acc_soft, NULL, (const double(*)[3])d.acc, d.scale),
                pot = soft_sums_potential(v, &d);
  snprintf(what, sizeof what,
           "soft force, %s, order %d, method %d, softening %g, mass scale %g (median %.1e, 99 %% %.1e)",
           kernel_names[soft_case.kernel], soft_case.order, (int)soft_case.method, soft_case.softening,
           soft_case.mass_scale, e.median, e.most99);
  say(e.finite && e.median <= 1e-3 && e.most99 <= 4e-3 && g.tally.targets == s.n, &s, what, e.worst);
  snprintf(what, sizeof what, "its potential (median %.1e, 99 %% %.1e)", pot.median, pot.most99);
  say(pot.finite && pot.median <= 1e-3 && pot.most99 <= 4e-3, &s, what, pot.worst);
  double pair = 0;
  int same = memcmp(v->acc, v->acc_soft, sizeof(float) * 3 * (size_t)v->n) == 0;
  for (int64_t i = 0; i < v->n; i++) {
    int64_t at = (int64_t)v->id[i] - 1;
    for (int c = 0; c < 3; c++) {
      same &= v->acc_hard[3 * i + c] == hard[at][c];
      if (at < 2) pair = fmax(pair, fabs(v->acc_soft[3 * i + c] - d.acc[at][c]) / d.scale[at]);
    }
  }
  say(same, &s, "acc is acc_soft, and acc_hard is left alone", 0);
  if (s.place == place_stars) say(pair < 4e-3, &s, "a close pair feels nothing of each other", pair);
  float *before = memory_alloc("test", sizeof *before * (size_t)s.n);
  for (int64_t i = 0; i < v->n; i++) before[v->id[i] - 1] = v->pot[i];
  v = soft_force(&g, &mac, 1, 1);
  double twice = 0;
  for (int64_t i = 0; i < v->n; i++)
    twice = fmax(twice, fabs(v->pot[i] - 2.0 * before[v->id[i] - 1]) / (fabs(before[v->id[i] - 1]) + 1e-30));
  memory_free(before);
  say(twice < 8e-3, &s, "a potential that is there is added to", twice);
  struct errors one = errors_between(v, v->acc_soft, NULL, (const double(*)[3])d.acc, d.scale);
  say(one.finite && one.most99 <= 4e-3, &s, "the same in one call", one.worst);
  memory_free(hard);
  soft_sums_close(&d);
  rig_close(&g);
}

/* Without softening: total and hard forces, the potential, on a full walk with and without the split. */
static void check_bare(const struct backend *be, const struct set *set, enum walk_method method, int with_split,
                       int order)
{
  struct set s = *set;
  struct particles p;
  struct rig g;
  char what[200];
  s.softening = 0;
  set_make(&s, 0, &p);
  rig_open_by(&g, be, &s, &p, order, 8, 32, method);
  if (!with_split) g.split.on = 0;
  const struct particles *v = rig_first_force(&g, 1.0 / 8192);
  struct direct d = direct_open(v, s.gravity, 0, &g.split);
  struct errors e = errors_between(v, v->acc, NULL, (const double(*)[3])d.acc, d.scale), pot = potential_errors(v, &d);
  snprintf(what, sizeof what,
           "without softening, method %d, order %d, split %d (median %.1e, 99 %% %.1e; potential %.1e)", (int)method,
           order, with_split, e.median, e.most99, pot.most99);
  say(e.finite && pot.finite && e.median <= 1e-3 && e.most99 <= 6e-3 && pot.most99 <= 2e-3, &s, what, e.worst);
  if (with_split) {
    struct step_rule rule = rule_of(&s, 1);
    struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 8192);
    be->steps.levels(g.dev, &rule, 2);
    be->tree.sources(g.dev);
    be->tree.moments(g.dev, &mac, 0, 0);
    v = hard_walk(&g, &mac, TICKS / 4, 1e-9 / TICKS);
    e = errors_between(v, v->acc_hard, NULL, (const double(*)[3])d.hard, d.scale);
    say(e.finite && e.median <= 1e-3 && e.most99 <= 6e-3, &s, "hard forces without softening", e.worst);
  }
  direct_close(&d);
  rig_close(&g);
}

static void check_all(const struct backend *be)
{
  for (int k = 0; k < SETS; k++)
    check_soft(be,
               (struct soft_case){&sets[k], k % SPLIT_KERNEL_COUNT, 1 + k % 2, sets[k].softening, 0, METHOD_GROUPS});
  check_soft(be, (struct soft_case){&sets[0], SPLIT_SEPTIC, 2, 0, 0, METHOD_GROUPS});
  check_soft(be, (struct soft_case){&sets[4], SPLIT_SEPTIC, 1, 0, 0, METHOD_GROUPS});
  check_soft(be, (struct soft_case){&sets[5], SPLIT_QUINTIC, 1, 0, 0, METHOD_GROUPS});
  check_soft(be, (struct soft_case){&sets[11], SPLIT_QUINTIC, 1, 0, 0.5, METHOD_GROUPS});
  check_soft(be, (struct soft_case){&stars, SPLIT_SEPTIC, 2, 0, 0, METHOD_GROUPS});
  for (int order = 1; order <= 2; order++)
    for (int soft = 0; soft < 2; soft++)
      check_soft(be, (struct soft_case){&stars, SPLIT_SEPTIC, order, soft * 1e-4, 3.0 / 3000, METHOD_GROUPS});
  for (int method = METHOD_GROUPS; method < METHOD_AUTO; method++) {
    if (!(be->methods >> method & 1)) continue;
    for (int kernel = 0; kernel < SPLIT_KERNEL_COUNT && method != METHOD_GROUPS; kernel++) {
      check_soft(be, (struct soft_case){&stars, kernel, 1 + kernel % 2, kernel == SPLIT_DLL ? 1e-4 : 0, 3.0 / 3000,
                                        (enum walk_method)method});
      check_soft(be, (struct soft_case){&sets[4], kernel, 1 + kernel % 2, 0, 0, (enum walk_method)method});
    }
    for (int k = 0; k < SETS; k++) {
      /* in a plane and on a line |a| of single particles is that of a few neighbours, by which depth-first walks accept
       * cells */
      if (method == METHOD_NEXT_MORE && (sets[k].place == place_plane || sets[k].place == place_line)) continue;
      check_bare(be, &sets[k], (enum walk_method)method, 0, 1 + k % 2);
    }
    check_bare(be, &sets[0], (enum walk_method)method, 1, 1);
    check_bare(be, &sets[4], (enum walk_method)method, 1, 2);
  }
}

static void check(const struct backend *be)
{
  snprintf(label, sizeof label, "%s", be->name);
  check_all(be);
}

int main(void)
{
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
