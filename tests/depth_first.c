/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The depth-first walk of single particles, on the backends that have it: the direct sums within the criterion's error
 * (larger than that of groups, whose balls open more), and hard walks that are the hard part of full ones. */
#include <config.h>
#include "base/memory.h"
#include "rig.h"
#include "tap.h"

static char label[100];

static void say(int good, const struct set *set, const char *what, struct errors errors)
{
  char line[300];
  snprintf(line, sizeof line, "%s, %s: %s (median %.1e, 99 %% %.1e)", label, set->name, what, errors.median,
           errors.most99);
  tap_ok(good && errors.finite, line);
}

static int within(struct errors errors, double median, double most99)
{
  return errors.median <= median && errors.most99 <= most99;
}

static struct errors between(const struct particles *particles, const float *field, const double (*reference)[3],
                             const struct direct *direct)
{
  return errors_between(particles, field, NULL, reference, direct->scale);
}

/* All particles are active at a tick until which none moves. */
static const struct particles *hard_walk(struct rig *rig, const struct mac *mac)
{
  struct particles still;
  struct step_rule rule = {.eta = 1, .softening = 1, .soft_step = 1};
  int64_t outside = 0;
  rig->be->download(rig->dev, &still);
  memset(still.acc_hard, 0, sizeof(float) * 3 * (size_t)still.n);
  rig->be->upload(rig->dev, &still);
  rig->be->tree.sources(rig->dev);
  rig->be->tree.moments(rig->dev, mac, 0, 0);
  rig->be->steps.levels(rig->dev, &rule, 2);
  struct walk_request r = {.kind = WALK_HARD,
                           .mac = *mac,
                           .a_floor = rig->a_floor,
                           .split = rig->split,
                           .let = LET_STEP,
                           .tick = TICKS / 4,
                           .tick_length = 1.0 / TICKS,
                           .local = 1,
                           .last = 1};
  rig->be->steps.select(rig->dev, TICKS / 4, r.tick_length, &outside);
  memset(&rig->tally, 0, sizeof rig->tally);
  rig->be->forces.walk(rig->dev, &r, &rig->tally);
  return rig->be->view(rig->dev);
}

static void check_set(const struct backend *be, const struct set *set, int order)
{
  struct particles p;
  struct rig g;
  struct split split = split_make(order == 2 ? SPLIT_DLL : SPLIT_QUINTIC, set->r1, set->r2);
  set_make(set, 0, &p);
  struct direct d = direct_open(&p, set->gravity, set->softening, &split);
  rig_open_by(&g, be, set, &p, order, 16, 64, METHOD_NEXT_MORE);
  g.split = split;
  snprintf(label, sizeof label, "%s, order %d", be->name, order);
  double slack = set->place == place_line ? 2 : 1; /* errors point along it, and pulls of both sides cancel */
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  struct errors e = between(v, v->acc, (const double(*)[3])d.acc, &d);
  say(within(e, slack * 1e-2, slack * 3e-2), set, "acceleration, Delta = 2^-9", e);
  struct mac fine = rig_mac(&g, MAC_ACCELERATION, 1.0 / 8192);
  memset(&g.tally, 0, sizeof g.tally);
  v = rig_force(&g, &fine);
  e = between(v, v->acc, (const double(*)[3])d.acc, &d);
  say(within(e, slack * 2e-3, slack * 6e-3), set, "acceleration, Delta = 2^-13", e);
  e = between(v, v->acc_hard, (const double(*)[3])d.hard, &d);
  say(within(e, slack * 2e-3, slack * 1e-2) && g.tally.targets == set->n, set, "hard part, Delta = 2^-13", e);
  struct mac angle = rig_mac(&g, MAC_ANGLE, 0.5); /* without |a_old|, which every force changes */
  memset(&g.tally, 0, sizeof g.tally);
  v = rig_force(&g, &angle);
  double(*full)[3] = memory_alloc("test", sizeof *full * (size_t)set->n);
  for (int64_t i = 0; i < v->n; i++)
    for (int c = 0; c < 3; c++) full[v->id[i] - 1][c] = v->acc_hard[3 * i + c];
  int64_t pairs = g.tally.particle_pairs + g.tally.cell_pairs;
  v = hard_walk(&g, &angle);
  e = between(v, v->acc_hard, (const double(*)[3])full, &d);
  say(e.worst <= 1e-5 && g.tally.targets == set->n && g.tally.particle_pairs + g.tally.cell_pairs <= pairs, set,
      "the hard walk is the hard part of the full one", e);
  memory_free(full);
  direct_close(&d);
  rig_close(&g);
}

static void check(const struct backend *be)
{
  if (!(be->methods >> METHOD_NEXT_MORE & 1)) {
    printf("# %s has no depth-first walk\n", be->name);
    return;
  }
  for (int k = 0; k < SETS; k++)
    for (int order = 1; order <= 2; order++) check_set(be, &sets[k], order);
}

int main(void)
{
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
