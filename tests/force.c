/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces against the double-precision direct sum, on every backend and with every instruction set. */
#include <config.h>
#include "base/memory.h"
#include "cpu/walk_isa.h"
#include "rig.h"
#include "tap.h"

static char label[100]; /* backend and instruction set */

static void report(int good, const char *set, const char *what, struct errors errors)
{
  char line[300];
  snprintf(line, sizeof line, "%s, %s: %s (median %.1e, 99 %% %.1e)", label, set, what, errors.median, errors.most99);
  tap_ok(good && errors.finite, line);
}

static int within(struct errors errors, double median, double most99)
{
  return errors.finite && errors.median <= median && errors.most99 <= most99;
}

static int split_adds_up(const struct particles *particles)
{
  int good = 1;
  for (int64_t i = 0; i < particles->n; i++) {
    double size = 0, rest = 0;
    for (int c = 0; c < 3; c++) {
      double a = particles->acc[3 * i + c],
             x = (double)particles->acc_hard[3 * i + c] + particles->acc_soft[3 * i + c] - a;
      size += a * a + (double)particles->acc_hard[3 * i + c] * particles->acc_hard[3 * i + c];
      rest += x * x;
    }
    good &= sqrt(rest) <= 1.2e-7 * sqrt(size);
  }
  return good;
}

/* Direct sums of every set with both kernels, made once; ids name the particles, so that their order does not
 * matter. */
static struct direct sums[SETS][SPLIT_KERNEL_COUNT];

static const struct direct *sum_of(const struct set *set, int kernel)
{
  struct direct *d = &sums[set - sets][kernel];
  if (!d->n) {
    struct particles p;
    struct split split = split_make(kernel, set->r1, set->r2);
    set_make(set, 0, &p);
    *d = direct_open(&p, set->gravity, set->softening, &split);
    particles_free(&p);
  }
  return d;
}

static struct errors soft_errors(const struct particles *particles, const struct direct *direct)
{
  double(*soft)[3] = memory_alloc("errors", sizeof *soft * (size_t)direct->n);
  for (int64_t i = 0; i < direct->n; i++)
    for (int c = 0; c < 3; c++) soft[i][c] = direct->acc[i][c] - direct->hard[i][c];
  struct errors e = errors_between(particles, particles->acc_soft, NULL, (const double(*)[3])soft, direct->scale);
  memory_free(soft);
  return e;
}

/* On a line all errors point along it, and so do the pulls of both sides, of which |a| is the small difference: the
 * criterion promises less there with small groups. */
static double slack(const struct set *set, int kernel)
{
  return kernel != SPLIT_QUINTIC && set->place == place_line ? 2 : 1;
}

/* The acceleration criterion at both tolerances, split and potential: the quintic with the usual groups, then DLL with
 * small leaves and groups, which leave more to the criterion. */
static void check_set(const struct backend *be, const struct set *set)
{
  for (int kernel = SPLIT_QUINTIC; kernel < SPLIT_KERNEL_COUNT; kernel++) {
    struct particles p;
    struct rig g;
    struct split split = split_make(kernel, set->r1, set->r2);
    set_make(set, 0, &p);
    const struct direct *d = sum_of(set, kernel);
    rig_open(&g, be, set, &p, 1, kernel == SPLIT_QUINTIC ? 16 : 4, kernel == SPLIT_QUINTIC ? 128 : 8);
    g.split = split;
    const struct particles *v = rig_first_force(&g, 1.0 / 512);
    const char *name = kernel_names[kernel], *size = kernel == SPLIT_QUINTIC ? "groups of 128" : "groups of 8";
    char what[100];
    double more = slack(set, kernel);
    struct errors e = errors_between(v, v->acc, NULL, (const double(*)[3])d->acc, d->scale);
    snprintf(what, sizeof what, "acceleration, %s, Delta = 2^-9", size);
    report(within(e, more * 5e-3, more * 1.7e-2), set->name, what, e);
    e = errors_between(v, v->acc_hard, NULL, (const double(*)[3])d->hard, d->scale);
    snprintf(what, sizeof what, "hard part, %s, Delta = 2^-9", name);
    report(within(e, more * 5e-3, more * 1.7e-2), set->name, what, e);
    if (kernel == SPLIT_QUINTIC) {
      struct errors pot = potential_errors(v, d);
      report(within(pot, 2e-3, 8e-3), set->name, "potential, Delta = 2^-9", pot);
      report(split_adds_up(v), set->name, "total = hard + soft", (struct errors){.finite = 1});
    }
    struct mac fine = rig_mac(&g, MAC_ACCELERATION, 1.0 / 8192);
    v = rig_force(&g, &fine);
    e = errors_between(v, v->acc, NULL, (const double(*)[3])d->acc, d->scale);
    snprintf(what, sizeof what, "acceleration, %s, Delta = 2^-13", size);
    report(within(e, 1e-3, 3e-3), set->name, what, e);
    e = errors_between(v, v->acc_hard, NULL, (const double(*)[3])d->hard, d->scale);
    snprintf(what, sizeof what, "hard part, %s, Delta = 2^-13", name);
    report(within(e, 1e-3, 3e-3), set->name, what, e);
    e = soft_errors(v, d);
    snprintf(what, sizeof what, "soft part, %s, Delta = 2^-13", name);
    report(within(e, 1e-3, 3e-3), set->name, what, e);
    rig_close(&g);
  }
}

/* The error of the total force by a criterion, all particles having a force already. */
static struct errors error_by(const struct backend *be, const struct set *set, int order, int kind, double delta,
                              int64_t *pairs)
{
  struct particles p;
  struct rig g;
  set_make(set, 0, &p);
  struct split none = {0};
  const struct direct *d = sum_of(set, SPLIT_QUINTIC);
  rig_open(&g, be, set, &p, order, 16, 32);
  g.split = none;
  rig_first_force(&g, 1.0 / 512);
  memset(&g.tally, 0, sizeof g.tally);
  struct mac mac = rig_mac(&g, kind, delta);
  const struct particles *v = rig_force(&g, &mac);
  struct errors e = errors_between(v, v->acc, NULL, (const double(*)[3])d->acc, d->scale);
  *pairs = g.tally.cell_pairs;
  rig_close(&g);
  return e;
}

static void check_criteria(const struct backend *be, const struct set *set)
{
  int64_t pairs;
  struct errors e = error_by(be, set, 1, MAC_ANGLE, 0.6, &pairs);
  report(within(e, 5e-3, 3e-2) && pairs > 0, set->name, "opening angle 0.6", e);
  struct errors fine = error_by(be, set, 1, MAC_ANGLE, 0.3, &pairs);
  report(fine.median < 0.5 * e.median && pairs > 0, set->name, "opening angle 0.3: half the error, or less", fine);
  struct errors quad = error_by(be, set, 2, MAC_ANGLE, 0.6, &pairs);
  report(quad.median < 0.5 * e.median && quad.most99 < 0.7 * e.most99 && pairs > 0, set->name,
         "second moments, angle 0.6: half the error, or less", quad);
  quad = error_by(be, set, 2, MAC_ANGLE, 0.3, &pairs);
  report(quad.median < 0.3 * fine.median && quad.most99 < 0.5 * fine.most99, set->name,
         "second moments, angle 0.3: a third, or less", quad);
  quad = error_by(be, set, 2, MAC_ACCELERATION, 1.0 / 512, &pairs);
  report(within(quad, 5e-3, 1.7e-2) && pairs > 0, set->name, "second moments, acceleration, Delta = 2^-9", quad);
  quad = error_by(be, set, 2, MAC_ACCELERATION, 1.0 / 8192, &pairs);
  report(within(quad, 1e-3, 3e-3), set->name, "second moments, acceleration, Delta = 2^-13", quad);
  e = error_by(be, set, 1, MAC_MULTIPOLE, 1e-2, &pairs);
  report(within(e, 1e-2, 5e-2) && pairs > 0, set->name, "multipole criterion, 1e-2", e);
  fine = error_by(be, set, 1, MAC_MULTIPOLE, 1e-4, &pairs);
  /* not a hundredth: the coarse one is limited by d > MAC_MARGIN b in most cells */
  report(fine.median < 0.2 * e.median, set->name, "multipole criterion, 1e-4: a fifth of the error, or less", fine);
}

/* Of a criterion that accepts every cell only the condition d > MAC_MARGIN b remains: forces are rough, but a cell that
 * contains the target is opened, so no particle exerts a force on itself and near neighbours are exact. */
static void check_guard(const struct backend *be, const struct set *set, int order)
{
  struct particles p;
  struct rig g;
  struct split none = {0};
  const struct direct *d = sum_of(set, SPLIT_QUINTIC);
  set_make(set, 0, &p);
  rig_open(&g, be, set, &p, order, 4, 8);
  g.split = none;
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1e20);
  const struct particles *v = rig_force(&g, &mac);
  struct errors e = errors_between(v, v->acc, NULL, (const double(*)[3])d->acc, d->scale);
  report(within(e, 5e-2, 0.3), set->name,
         order == 2 ? "no cell stands for its own particles, second moments" : "no cell stands for its own particles",
         e);
  rig_close(&g);
}

/* So many leaves within the reach of groups in the thin region that these are walked in pieces, or one by one. */
static void check_heavy(const struct backend *be, const struct set *set)
{
  struct particles p;
  struct rig g;
  struct split none = {0};
  const struct direct *d = sum_of(set, SPLIT_QUINTIC);
  set_make(set, 0, &p);
  rig_open(&g, be, set, &p, 1, 1, 128);
  g.split = none;
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  memset(&g.tally, 0, sizeof g.tally);
  const struct particles *v = rig_force(&g, &mac);
  printf("# %s, leaf 1: %.1f targets a list\n", set->name, (double)g.tally.targets / (double)g.tally.groups);
  struct errors e = errors_between(v, v->acc, NULL, (const double(*)[3])d->acc, d->scale);
  report(within(e, 5e-3, 1.7e-2) && g.tally.targets == set->n, set->name, "many leaves for a group", e);
  e = potential_errors(v, d);
  report(within(e, 2e-3, 8e-3), set->name, "many leaves for a group, potential", e);
  rig_close(&g);
}

/* With the split off the hard part is the whole. */
static void check_without_split(const struct backend *be)
{
  struct particles p;
  struct rig g;
  set_make(&sets[0], 0, &p);
  rig_open(&g, be, &sets[0], &p, 1, 16, 128);
  memset(&g.split, 0, sizeof g.split);
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  int same = 1;
  for (int64_t k = 0; k < 3 * v->n; k++) same &= v->acc_hard[k] == v->acc[k] && v->acc_soft[k] == 0;
  char line[150];
  snprintf(line, sizeof line, "%s: without a split all force is hard", label);
  tap_ok(same, line);
  rig_close(&g);
}

static void check_backend(const struct backend *be)
{
  for (int k = 0; k < SETS; k++) check_set(be, &sets[k]);
  check_criteria(be, &sets[0]);
  check_criteria(be, &sets[1]);
  check_guard(be, &sets[0], 1);
  check_guard(be, &sets[1], 2);
  check_guard(be, &sets[8], 1);
  check_heavy(be, &sets[8]);
  check_heavy(be, &sets[1]);
  check_without_split(be);
}

static void check(const struct backend *be)
{
  static const char *const isa[] = {"generic", "avx2", "avx512"};
  snprintf(label, sizeof label, "%s", be->name);
  if (be != &backend_cpu) {
    check_backend(be);
    return;
  }
  for (int k = 0; k < 3; k++) {
    setenv("ESPALIER_SIMD", isa[k], 1);
    snprintf(label, sizeof label, "%s %s", be->name, isa[k]);
    if (strcmp(walk_isa_choose()->name, isa[k]) == 0) check_backend(be);
    else tap_skip(label, "not on this machine, or not compiled");
  }
  unsetenv("ESPALIER_SIMD");
}

int main(void)
{
  rig_each(check);
  for (int k = 0; k < SETS; k++)
    for (int kernel = 0; kernel < SPLIT_KERNEL_COUNT; kernel++) direct_close(&sums[k][kernel]);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
