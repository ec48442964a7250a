/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard walk: the hard part of the full walk on the same tree, of all or of some, now or later. With TEST_SAMPLE in
 * the environment: every set with one of two kernels and orders, and narrower groups in two sets. */
#include <config.h>
#include "cpu/device.h"
#include "walks.h"

/* In a soft step of this length particles of the sets deviate from straight trajectories by a large part of R2. */
#define BENT_STEP 3.0

/* A full walk keeps a part of the particles' work and adds its interactions; a hard walk adds those of its targets. */
static void check_work(const struct backend *be, const struct set *set)
{
  struct particles p;
  struct rig g;
  set_make(set, 0.5, &p);
  rig_open(&g, be, set, &p, 1, 8, 32);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  rig_first_force(&g, 1.0 / 512);
  double before = work_of(be->view(g.dev)), worst;
  memset(&g.tally, 0, sizeof g.tally);
  double after = work_of(rig_force(&g, &mac));
  worst = fabs(after / (WORK_KEPT * before + pairs_of(&g.tally)) - 1);
  struct step_rule rule = rule_of(set, 1);
  be->steps.levels(g.dev, &rule, 2);
  be->tree.sources(g.dev);
  be->tree.moments(g.dev, &mac, 0, 0);
  memset(&g.tally, 0, sizeof g.tally);
  double more = work_of(hard_walk(&g, &mac, TICKS / 4, 0.02 / TICKS));
  worst = fmax(worst, fabs(more / (after + pairs_of(&g.tally)) - 1));
  say(worst < 1e-5 && g.tally.targets == set->n, set, "the work of particles is the number of their interactions",
      worst);
  rig_close(&g);
}

/* Narrower groups: more of them, fewer interactions for each target, the same forces within the criterion's error. Hard
 * walks use the new groups too. */
static void check_widths(const struct backend *be, const struct set *set)
{
  struct particles p;
  struct rig g;
  set_make(set, 0.5, &p);
  rig_open(&g, be, set, &p, 1, 8, 32);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  rig_first_force(&g, 1.0 / 512);
  memset(&g.tally, 0, sizeof g.tally);
  const struct particles *v = rig_force(&g, &mac);
  double rms = rms_of(v), worst = 0;
  float(*wide)[3] = by_id(v, v->acc);
  struct tally last = g.tally;
  int good = 1;
  for (int level = 4; level <= 7; level++) {
    be->tree.tune(g.dev, TUNABLE_GROUP_WIDTH, g.lattice.spacing * LATTICE_SIDE * exp2(-level));
    memset(&g.tally, 0, sizeof g.tally);
    v = rig_force(&g, &mac);
    float(*now)[3] = by_id(v, v->acc);
    for (int64_t i = 0; i < v->n; i++)
      for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(now[i][c] - wide[i][c]) / rms);
    memory_free(now);
    good &= g.tally.targets == set->n && g.tally.groups >= last.groups && pairs_of(&g.tally) <= 1.02 * pairs_of(&last);
    last = g.tally;
  }
  struct step_rule rule = rule_of(set, 1);
  be->steps.levels(g.dev, &rule, 2);
  be->tree.sources(g.dev);
  be->tree.moments(g.dev, &mac, 0, 0);
  memset(&g.tally, 0, sizeof g.tally);
  hard_walk(&g, &mac, TICKS / 4, 0.02 / TICKS);
  say(good && g.tally.targets == set->n, set, "narrower groups: more of them, fewer interactions", pairs_of(&last));
  say(worst < 0.05, set, "and the same forces within the criterion's error", worst);
  rig_close(&g);
  memory_free(wide);
}

/* Hard walks ask for HARD_REACH times the distance. A GPU's full walk leaves the hard part to one; where it is a
 * by-product, a full walk by a finer criterion takes the cells that a hard walk takes. */
static double full_delta(const struct backend *be, int order, double delta)
{
  return be == &backend_cpu ? delta / pow(HARD_REACH, order == 2 ? 5 : 4) : delta;
}

/* All particles stand still and all are active: the tree is that of the full walk, the hard sums must be the same. */
static void check_same(const struct backend *be, const struct set *set, int kernel, int order, int group)
{
  struct particles p;
  struct rig g;
  set_make(set, 0, &p);
  rig_open(&g, be, set, &p, order, 8, group);
  g.split = split_make(kernel, set->r1, set->r2);
  const struct particles *v = rig_first_force(&g, full_delta(be, order, 1.0 / 512));
  int64_t full_pairs = g.tally.cell_pairs + g.tally.particle_pairs;
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  double rms = rms_of(v);
  float(*full)[3] = by_id(v, v->acc_hard);
  struct step_rule rule = rule_of(set, 1);
  /* where nodes may move lone particles are no cells: long lists may be cut otherwise */
  for (int may_move = 0; may_move < 2; may_move++) {
    struct particles still; /* with no velocity and no hard acceleration no particle moves until the tick */
    be->download(g.dev, &still);
    memset(still.acc_hard, 0, sizeof(float) * 3 * (size_t)still.n);
    be->upload(g.dev, &still);
    be->tree.sources(g.dev);
    be->tree.moments(g.dev, &mac, 0, 0);
    be->steps.levels(g.dev, &rule, 2);
    memset(&g.tally, 0, sizeof g.tally);
    v = hard_walk(&g, &mac, TICKS / 4, may_move ? 1.0 / TICKS : 0);
    /* sums of hundreds of float32 terms as large as the rms: where these nearly cancel (on a line), their rounding is
     * what is left */
    double worst = difference(v, full, NULL, (may_move ? 1e-2 : 1e-1) * rms);
    char what[150];
    snprintf(what, sizeof what, "hard walk = hard part of the full walk, %s, order %d, groups of %d%s",
             kernel == SPLIT_DLL ? "DLL" : "quintic", order, group, may_move ? ", nodes may move" : "");
    say(worst <= (may_move ? 2e-2 : ROUNDING) && g.tally.targets == set->n, set, what, worst);
  }
  if (set->n > 1000 && set->place != place_coincident)
    say(g.tally.cell_pairs + g.tally.particle_pairs < full_pairs, set, "with fewer interactions", 0);
  memory_free(full);
  rig_close(&g);
}

static int is_active(const struct particles *particles, int64_t i) { return particles->level[i] == 3; }

/* Make about a third active at the tick of level 3, the others later; in whole groups (of the CPU backend) or
 * scattered. */
static void choose_active(struct rig *rig, int whole)
{
  struct particles p;
  rig->be->download(rig->dev, &p);
  for (int64_t i = 0; i < p.n; i++) p.level[i] = !whole && p.id[i] % 3 == 0 ? 3 : 1;
  for (int32_t k = 0; whole && k < rig->dev->targets.groups; k += 3)
    for (int32_t i = rig->dev->targets.group[k].begin; i < rig->dev->targets.group[k].end; i++) p.level[i] = 3;
  rig->be->upload(rig->dev, &p);
}

/* Some are active: they get the forces that they get among all. Where whole groups are active their balls are the same,
 * and the forces are equal to rounding; a smaller ball opens fewer cells, so else within the criterion's error. */
static void check_some(const struct backend *be, const struct set *set, int whole)
{
  const double tick_length = 0.02 / TICKS;
  float(*all)[3] = NULL;
  double rms = 1, worst = 0;
  int64_t got = 0, wanted = 0;
  int kept = 1;
  for (int some = 0; some < 2; some++) {
    struct particles p;
    struct rig g;
    set_make(set, 0.5, &p);
    rig_open(&g, be, set, &p, 1, 8, 32);
    const struct particles *v = rig_first_force(&g, 1.0 / 512);
    struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
    rms = rms_of(v);
    struct step_rule rule = rule_of(set, 1);
    be->steps.levels(g.dev, &rule, 3);
    if (some) choose_active(&g, whole);
    be->tree.sources(g.dev);
    be->tree.moments(g.dev, &mac, 0, 0);
    v = be->view(g.dev);
    float(*before)[3] = by_id(v, v->acc_hard);
    for (int64_t i = 0; i < v->n; i++) wanted += some && is_active(v, i);
    memset(&g.tally, 0, sizeof g.tally);
    v = hard_walk(&g, &mac, TICKS / 8, tick_length);
    if (!some) {
      all = by_id(v, v->acc_hard);
    } else {
      worst = difference(v, all, is_active, whole ? 1e-2 * rms : 0.3 * rms);
      got = g.tally.targets;
      for (int64_t i = 0; i < v->n; i++)
        kept &= is_active(v, i) || memcmp(&v->acc_hard[3 * i], before[v->id[i] - 1], sizeof *before) == 0;
    }
    memory_free(before);
    rig_close(&g);
  }
  memory_free(all);
  say(worst <= (whole ? ROUNDING : 2e-2) && got == wanted && wanted > set->n / 5, set,
      whole ? "whole groups of active particles: the forces among all, to rounding"
            : "scattered active particles: the forces among all, within the criterion",
      worst);
  say(kept, set, "the others keep theirs", 0);
}

/* Moving particles: at a later tick the hard forces are those of the predicted positions; with the moments of the
 * start, and with updated ones. */
static void check_moving(const struct backend *be, const struct set *set, int kernel, int order)
{
  struct particles p, later;
  struct rig g;
  set_make(set, 0.5, &p);
  rig_open(&g, be, set, &p, order, 8, 32);
  g.split = split_make(kernel, set->r1, set->r2);
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  struct step_rule rule = rule_of(set, 1);
  double max_value = 0, dt = fmin(0.05, set->r2 * 0.3 / 0.5);
  for (int64_t i = 0; i < v->n; i++) max_value = fmax(max_value, modulus(&v->acc_hard[3 * i]));
  if (max_value > 0) dt = fmin(dt, sqrt(10 * set->softening / max_value));
  double tick_length = dt / (TICKS / 2);
  be->steps.levels(g.dev, &rule, 1);
  be->tree.sources(g.dev);
  be->tree.moments(g.dev, &mac, 0, 0);
  particles_init(&later);
  particles_reserve(&later, v->n);
  later.n = v->n;
  for (int64_t i = 0; i < v->n; i++) particles_copy(&later, i, v, i);
  drift(&later, dt);
  struct direct d = direct_open(&later, set->gravity, set->softening, &g.split),
                now = direct_open(v, set->gravity, set->softening, &g.split);
  double moved = 0;
  for (int64_t k = 0; k < set->n; k++)
    for (int c = 0; c < 3; c++) moved = fmax(moved, fabs(now.hard[k][c] - d.hard[k][c]) / d.scale[k]);
  v = hard_walk(&g, &mac, TICKS / 2, tick_length);
  struct errors e = errors_between(v, v->acc_hard, NULL, (const double(*)[3])d.hard, d.scale);
  char what[150];
  const char *name = kernel == SPLIT_DLL ? "DLL" : "quintic";
  snprintf(what, sizeof what,
           "hard walk of moving particles, %s, order %d: direct sum of predicted positions (median %.1e, 99 %% %.1e)",
           name, order, e.median, e.most99);
  say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2 && (set->n < 1000 || moved > 0.1), set, what, e.worst);
  be->tree.moments(g.dev, &mac, TICKS / 2, tick_length);
  struct walk_request r = {.kind = WALK_HARD,
                           .mac = mac,
                           .a_floor = g.a_floor,
                           .split = g.split,
                           .let = LET_STEP,
                           .tick = TICKS / 2,
                           .tick_length = tick_length,
                           .local = 1,
                           .last = 1};
  be->forces.walk(g.dev, &r, &g.tally);
  v = be->view(g.dev);
  e = errors_between(v, v->acc_hard, NULL, (const double(*)[3])d.hard, d.scale);
  snprintf(what, sizeof what, "the same with updated moments (median %.1e, 99 %% %.1e)", e.median, e.most99);
  say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2, set, what, e.worst);
  direct_close(&now);
  direct_close(&d);
  particles_free(&later);
  rig_close(&g);
}

/* A long soft step from rest, in which accelerations bend all trajectories: at every substep the hard forces are those
 * of the current positions, also where these deviate from the trajectories that a backend has predicted. */
static void check_bent(const struct backend *be, const struct set *set, int level)
{
  struct particles p;
  struct rig g;
  set_make(set, 0, &p);
  rig_open(&g, be, set, &p, 1, 8, 32);
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  struct step_rule rule = rule_of(set, 1);
  double tick_length = BENT_STEP / TICKS, worst99 = 0, worst = 0;
  int finite = 1;
  be->steps.levels(g.dev, &rule, level);
  be->tree.sources(g.dev);
  be->tree.moments(g.dev, &mac, 0, 0);
  for (int32_t tick = TICKS >> level; tick < TICKS; tick += TICKS >> level) {
    be->tree.moments(g.dev, &mac, tick, tick_length);
    const struct particles *v = hard_walk(&g, &mac, tick, tick_length);
    struct direct d = direct_open(v, set->gravity, set->softening, &g.split);
    struct errors e = errors_between(v, v->acc_hard, NULL, (const double(*)[3])d.hard, d.scale);
    direct_close(&d);
    worst99 = fmax(worst99, e.most99);
    worst = fmax(worst, e.worst);
    finite &= e.finite;
    be->steps.correct(g.dev, tick, tick_length, &rule, level);
    be->steps.next_tick(g.dev);
  }
  char what[150];
  snprintf(what, sizeof what,
           "hard forces along bent trajectories, 2^%d substeps: direct sums of the current positions (99 %% %.1e)",
           level, worst99);
  /* without HARD_REACH 3e-3, without the extent 4e-2 */
  say(finite && worst99 <= (be == &backend_cpu ? 1e-3 : 1e-2), set, what, worst);
  rig_close(&g);
}

/* A heavy icosahedron that is taken as a cell by a cloud of light particles between R1 and R2. Three more light ones
 * make the cell of the heavy ones theirs alone. */
enum { HEAVY = 12, CORNERS = 3 };
#define BLOB 0.03

static void place_blob(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  static const double centre[3] = {0.5, 0.5, 0.5}, cloud[3] = {-0.3, 0.5, 0.5};
  const double golden = 1.618033988749895, scale = BLOB / sqrt(1 + golden * golden);
  (void)n;
  *mass = i < HEAVY ? 1.0f / HEAVY : 1e-9f;
  if (i >= HEAVY + CORNERS) {
    random_direction(random, 0.08, x);
    for (int k = 0; k < 3; k++) x[k] += cloud[k];
  } else if (i >= HEAVY) {
    for (int k = 0; k < 3; k++) x[k] = k == i - HEAVY ? 1 : -1;
  } else {
    int axis = (int)(i / 4);
    x[axis] = centre[axis] + (i & 1 ? scale : -scale);
    x[(axis + 1) % 3] = centre[(axis + 1) % 3] + (i & 2 ? golden : -golden) * scale;
    x[(axis + 2) % 3] = centre[(axis + 2) % 3];
  }
}

/* Hard forces of all but one particle by a walk: where some are fast there is a tree of its own for these, and no
 * lists. */
static const struct particles *walk_apart(struct rig *rig, const struct mac *mac, uint64_t fast)
{
  const int32_t tick = TICKS / 4;
  const double tick_length = 1e-6 / TICKS;
  struct particles p;
  rig->be->download(rig->dev, &p);
  for (int64_t i = 0; i < p.n; i++) {
    p.level[i] = p.id[i] == fast ? 3 : 2;
    p.tick[i] = tick - (TICKS >> p.level[i]); /* all steps end now */
  }
  rig->be->upload(rig->dev, &p);
  rig->be->tree.sources(rig->dev);
  rig->be->tree.reorder(rig->dev, tick, tick_length, 1 << 3, 0);
  rig->be->tree.build(rig->dev, everywhere[0], everywhere[1]);
  rig->be->tree.groups(rig->dev);
  rig->be->tree.moments(rig->dev, mac, tick, tick_length);
  return hard_walk(rig, mac, tick, tick_length);
}

/* What the extent of a cell does to its hard part where K bends: the same for all directions here. A backend whose
 * cells are but points is wrong by a hundredth. */
static void check_spread(const struct backend *be, int kernel, int order)
{
  const struct set s = {"an icosahedron", 400, 1, 0.01, 0.55, 0.9, place_blob};
  struct particles p;
  struct rig g;
  double worst = 0, bend = 0;
  set_make(&s, 0, &p);
  rig_open(&g, be, &s, &p, order, 16, 16);
  g.split = split_make(kernel, s.r1, s.r2);
  rig_first_force(&g, 0.5);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 0.5);
  const struct particles *v = walk_apart(&g, &mac, HEAVY + 1);
  struct direct d = direct_open(v, s.gravity, s.softening, &g.split);
  for (int64_t i = 0; i < v->n; i++) {
    double e2 = 0, dx = v->pos[3 * i] - 0.5, dy = v->pos[3 * i + 1] - 0.5, dz = v->pos[3 * i + 2] - 0.5,
           r2 = dx * dx + dy * dy + dz * dz;
    if ((int64_t)v->id[i] <= HEAVY + CORNERS) continue;
    double point = split_hard(&g.split, (float)sqrt(r2)) / r2, hard = 0;
    for (int c = 0; c < 3; c++) {
      double want = d.hard[v->id[i] - 1][c];
      e2 += (v->acc_hard[3 * i + c] - want) * (v->acc_hard[3 * i + c] - want);
      hard += want * want;
    }
    worst = fmax(worst, sqrt(e2) * r2);
    bend = fmax(bend, fabs(sqrt(hard) - point) * r2);
  }
  char what[150];
  snprintf(what, sizeof what, "%s, order %d: hard part of a cell of some extent, which changes it by up to %.1e",
           kernel == SPLIT_DLL ? "DLL" : "quintic", order, bend);
  say(worst < (be == &backend_cpu ? 3e-2 : 0.1 * bend) && bend > 5e-3, &s, what, worst);
  direct_close(&d);
  rig_close(&g);
}

/* The same system in units of velocity 2^20 times smaller: every number is the same but for its exponent. */
static void check_units(const struct backend *be)
{
  float(*first)[3] = NULL;
  int64_t tests = 0;
  int same = 1;
  for (int small = 0; small < 2; small++) {
    struct set s = sets[0];
    struct particles p;
    struct rig g;
    double speed = small ? 1048576 : 1, tick_length = 0.02 / speed / TICKS;
    s.gravity = speed * speed;
    set_make(&s, 0.5 * speed, &p);
    rig_open(&g, be, &s, &p, 1, 8, 32);
    rig_first_force(&g, 1.0 / 512);
    struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
    struct step_rule rule = rule_of(&s, 1);
    be->steps.levels(g.dev, &rule, 1);
    be->tree.sources(g.dev);
    be->tree.moments(g.dev, &mac, 0, 0);
    memset(&g.tally, 0, sizeof g.tally);
    const struct particles *v = hard_walk(&g, &mac, TICKS / 2, tick_length);
    if (small) {
      for (int64_t i = 0; i < v->n; i++)
        for (int c = 0; c < 3; c++) same &= v->acc_hard[3 * i + c] == first[v->id[i] - 1][c] * (float)s.gravity;
      same &= g.tally.tests == tests;
    } else {
      first = by_id(v, v->acc_hard);
      tests = g.tally.tests;
    }
    rig_close(&g);
  }
  memory_free(first);
  char line[200];
  snprintf(line, sizeof line,
           "%s: hard forces of moving particles are the same, bit by bit, in units of another power of two", label);
  tap_ok(same && tests > 0, line);
}

static void check(const struct backend *be)
{
  snprintf(label, sizeof label, "%s", be->name);
  int sample = getenv("TEST_SAMPLE") != NULL;
  for (int k = 0; k < SETS; k++) {
    if (!sample || k % 2 == 0) check_same(be, &sets[k], SPLIT_QUINTIC, 1, 32);
    if (!sample || k % 2 == 1) check_same(be, &sets[k], SPLIT_DLL, 2, 64);
  }
  check_work(be, &sets[0]);
  check_work(be, &sets[2]);
  for (int k = 0; k < SETS; k++)
    if (sets[k].n >= 1000 && (!sample || k == 0 || k == 2)) check_widths(be, &sets[k]);
  check_same(be, &sets[0], SPLIT_QUINTIC, 2, 8);
  check_same(be, &sets[0], SPLIT_DLL, 1, 128);
  check_some(be, &sets[0], 0);
  check_some(be, &sets[1], 0);
  if (be == &backend_cpu) {
    check_some(be, &sets[0], 1);
    check_some(be, &sets[2], 1);
  }
  for (int k = 0; k < SETS; k++) check_moving(be, &sets[k], k % 2 ? SPLIT_DLL : SPLIT_QUINTIC, 1);
  check_moving(be, &sets[0], SPLIT_DLL, 2);
  check_moving(be, &sets[1], SPLIT_QUINTIC, 2);
  check_bent(be, &sets[0], 4);
  check_bent(be, &sets[1], 4);
  check_units(be);
  for (int order = 1; order <= 2; order++) {
    check_spread(be, SPLIT_QUINTIC, order);
    check_spread(be, SPLIT_DLL, order);
  }
}

int main(void)
{
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
