/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The margin of the acceptance criteria (MAC_MARGIN) in every walk: a cell of two clumps at both ends of its diameter.
 * Nearer than the margin it is opened, although the criterion accepts it; beyond it is a cell. */
#include <config.h>
#include "walks.h"

enum { CLUMP = 8, TARGETS = 64 };
#define CENTRE 1.02 /* along x, of the clumps: a face of the root's children at 0 is between them and the targets */
#define POINT 1e-3  /* radius of a clump, and of the targets */
#define TARGET_MASS 1e-12f
static double distance; /* of the targets from the centre of mass, in radii of the cell */

static void place_clumps(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  static const double corner[2][3] = {{-8, -8, 8}, {8, 8, -8}};
  (void)n;
  random_direction(random, POINT * random_unit(random), x);
  int source = i >= 2 && i < 2 + 2 * CLUMP;
  *mass = source ? 0.5f / CLUMP : TARGET_MASS;
  x[0] += source ? CENTRE + (i % 2 ? 1 : -1) : CENTRE - distance;
  x[1] += 4;
  x[2] += 4;
  if (i < 2) memcpy(x, corner[i], sizeof corner[i]); /* the root's extent */
}

static struct set clumps = {"two clumps", 2 + 2 * CLUMP + TARGETS, 1, 1e-4, 30, 60, place_clumps};

/* The part of targets whose acceleration is that of the clumps, not that of one cell. */
static double opened(const struct particles *particles, const float *acc, int order)
{
  double u2 = 1 / (distance * distance), cell = u2 * (1 + (order == 2 ? 3 * u2 : 0));
  double exact = 0.5 / ((distance - 1) * (distance - 1)) + 0.5 / ((distance + 1) * (distance + 1));
  int count = 0;
  for (int64_t i = 0; i < particles->n; i++)
    count += particles->id[i] > 2 + 2 * CLUMP && acc[3 * i] > 0.5 * (cell + exact);
  return (double)count / TARGETS;
}

static void report(const char *walk, int order, enum walk_method method, double part, int want)
{
  char what[200];
  snprintf(what, sizeof what, "%s, order %d, method %d: a cell at %.1f of its radius is %s", walk, order, (int)method,
           distance, want ? "opened" : "accepted");
  say(want ? part == 1 : part < 0.5, &clumps, what, part); /* a group may have targets and sources */
}

#define MAC_NAME(kind, name, ...) name,

static void check_full(const struct backend *be, int order, enum walk_method method, int want)
{
  static const char *const names[] = {MAC_CRITERIA(MAC_NAME)};
  struct particles p;
  struct rig g;
  set_make(&clumps, 0, &p);
  rig_open_by(&g, be, &clumps, &p, order, 2 * CLUMP, 32, method);
  rig_first_force(&g, 1.0 / 512);
  for (int kind = 0; kind < MAC_KINDS; kind++) {
    struct mac mac = rig_mac(&g, kind, kind == MAC_ANGLE ? 1 : 1e20);
    const struct particles *v = rig_force(&g, &mac);
    char walk[100];
    snprintf(walk, sizeof walk, "full walk by %s", names[kind]);
    report(walk, order, method, opened(v, v->acc, order), want);
    if (kind != MAC_ACCELERATION) continue; /* hard walks of a GPU ask for more by the others: HARD_REACH b */
    snprintf(walk, sizeof walk, "full walk by %s, hard part", names[kind]);
    report(walk, order, method, opened(v, v->acc_hard, order), want);
  }
  rig_close(&g);
}

/* With `fast` one particle is of a deeper level than all others, so that fast ones have a tree of their own, and no
 * lists of neighbours are used. */
static void check_hard(const struct backend *be, int order, enum walk_method method, int fast, int want)
{
  const int32_t tick = TICKS / 4;
  const double tick_length = 1e-6 / TICKS;
  struct particles p;
  struct rig g;
  set_make(&clumps, 0, &p);
  rig_open_by(&g, be, &clumps, &p, order, 2 * CLUMP, 32, method);
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1e20);
  struct step_rule rule = rule_of(&clumps, 1e-6);
  be->steps.levels(g.dev, &rule, 2);
  if (fast) {
    be->download(g.dev, &p);
    for (int64_t i = 0; i < p.n; i++) {
      p.level[i] = p.id[i] == 1 ? 3 : 2;
      p.tick[i] = tick - (TICKS >> p.level[i]); /* all steps end now */
    }
    be->upload(g.dev, &p);
    be->tree.sources(g.dev);
    be->tree.reorder(g.dev, tick, tick_length, 1 << 3, 0);
    be->tree.build(g.dev, everywhere[0], everywhere[1]);
    be->tree.groups(g.dev);
    be->tree.moments(g.dev, &mac, tick, tick_length);
  } else {
    be->tree.sources(g.dev);
    be->tree.moments(g.dev, &mac, 0, 0);
  }
  const struct particles *v = hard_walk(&g, &mac, tick, tick_length);
  report(fast ? "hard walk beside a tree of fast particles" : "hard walk", order, method, opened(v, v->acc_hard, order),
         want);
  rig_close(&g);
}

/* Of spheres so small that the soft force is the whole: nodes within R2 are opened too. */
static void check_soft(const struct backend *be, int order, enum walk_method method, int want)
{
  struct particles p;
  struct rig g;
  set_make(&clumps, 0, &p);
  rig_open_by(&g, be, &clumps, &p, order, 2 * CLUMP, 32, method);
  g.split = split_make(SPLIT_QUINTIC, 0.005f, 0.01f);
  struct mac angle = rig_mac(&g, MAC_ANGLE, 0.7), mac = rig_mac(&g, MAC_ACCELERATION, 1e20);
  const struct particles *v = NULL;
  for (int k = 0; k < 2; k++) {
    const struct mac *m = k ? &mac : &angle;
    struct walk_request r = {.kind = WALK_SOFT,
                             .mac = *m,
                             .a_floor = 1e-5,
                             .split = g.split,
                             .let = LET_SOFT,
                             .potential = 1,
                             .local = 1,
                             .last = 1};
    be->tree.sources(g.dev);
    be->tree.moments(g.dev, m, 0, 0);
    be->tree.groups(g.dev);
    be->forces.walk(g.dev, &r, &g.tally);
    v = be->view(g.dev);
  }
  report("soft walk", order, method, opened(v, v->acc_soft, order), want);
  rig_close(&g);
}

static void check(const struct backend *be)
{
  snprintf(label, sizeof label, "%s", be->name);
  for (int method = METHOD_GROUPS; method <= METHOD_NEXT_MORE; method++) {
    if (!(be->methods >> method & 1)) continue;
    for (int order = 1; order <= 2; order++)
      for (int near = 0; near < 2; near++) {
        distance = near ? 1.1 : 1.3;
        check_full(be, order, (enum walk_method)method, near);
        check_hard(be, order, (enum walk_method)method, 0, near);
        check_hard(be, order, (enum walk_method)method, 1, near);
        check_soft(be, order, (enum walk_method)method, near);
      }
  }
}

int main(void)
{
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
