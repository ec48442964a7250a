/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard walk: the hard part of the full walk on the same tree, of all or of some, now or later. */
#include <config.h>
#include "device.h"
#include "memory.h"
#include "rig.h"
#include "tap.h"

static char label[100];

static void say(int good, const struct set *s, const char *what, double worst)
{
  char line[400];
  snprintf(line, sizeof line, "%s, %s: %s (worst %.1e)", label, s->name, what, worst);
  tap_ok(good, line);
}

static struct step_rule rule_of(const struct set *s, double soft_step)
{
  return (struct step_rule){.eta = 1, .softening = s->softening, .soft_step = soft_step};
}

/* Hard forces of the particles whose step ends at `tick`. */
static const struct particles *hard_walk(struct rig *g, const struct mac *mac, int32_t tick, double tick_length)
{
  struct walk_request r = {
      .kind = WALK_HARD, .mac = *mac, .a_floor = g->a_floor, .split = g->split, .let = LET_STEP, .tick = tick, .tick_length = tick_length,
      .local = 1, .last = 1};
  int64_t outside = 0;
  g->be->select(g->dev, tick, tick_length, &outside);
  g->be->walk(g->dev, &r, &g->tally);
  return g->be->view(g->dev);
}

/* A copy of a field by id. */
static float (*by_id(const struct particles *p, const float *field))[3]
{
  float(*copy)[3] = memory_alloc("test", sizeof *copy * (size_t)p->n);
  for (int64_t i = 0; i < p->n; i++) memcpy(copy[p->id[i] - 1], &field[3 * i], sizeof *copy);
  return copy;
}

static double modulus(const float a[3]) { return sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]); }

/* Largest difference of the hard accelerations from a copy, in units of |hard| + floor: sums in another order differ by
 * the rounding of their largest terms, which cancel. `want` NULL: of all. */
static double difference(const struct particles *p, float (*old)[3], int (*want)(const struct particles *, int64_t), double floor)
{
  double worst = 0;
  for (int64_t i = 0; i < p->n; i++) {
    if (want && !want(p, i)) continue;
    const float *h = &p->acc_hard[3 * i], *o = old[p->id[i] - 1];
    float d[3] = {h[0] - o[0], h[1] - o[1], h[2] - o[2]};
    double e = modulus(d) / (modulus(o) + floor + 1e-30);
    worst = fmax(worst, isfinite(e) ? e : 1e300);
  }
  return worst;
}

static double rms_of(const struct particles *p)
{
  double sum = 0;
  for (int64_t k = 0; k < 3 * p->n; k++) sum += (double)p->acc[k] * p->acc[k];
  return sqrt(sum / (double)p->n);
}

/* Sums in another order differ by the rounding of float32, 6e-8 of the pulls; these may be a hundred times as large as
 * their sum, for differences are measured against |a_hard| + 1e-2 rms. A wrong entry is far above it (1e-3 and more). */
#define ROUNDING 1e-5

static double work_of(const struct particles *p)
{
  double sum = 0;
  for (int64_t i = 0; i < p->n; i++) sum += p->work[i];
  return sum;
}

static double pairs_of(const struct tally *t) { return (double)(t->cell_pairs + t->particle_pairs); }

/* A full walk leaves a part of the particles' work and adds its interactions; a hard walk adds those of its targets. */
static void check_work(const struct backend *be, const struct set *s)
{
  struct particles p;
  struct rig g;
  set_make(s, 0.5, &p);
  rig_open(&g, be, s, &p, 1, 8, 32);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  rig_first_force(&g, 1.0 / 512);
  double before = work_of(be->view(g.dev)), worst;
  memset(&g.tally, 0, sizeof g.tally);
  double after = work_of(rig_force(&g, &mac));
  worst = fabs(after / (WORK_KEPT * before + pairs_of(&g.tally)) - 1);
  struct step_rule rule = rule_of(s, 1);
  be->levels(g.dev, &rule, 2);
  be->sources(g.dev);
  be->moments(g.dev, &mac, 0, 0);
  memset(&g.tally, 0, sizeof g.tally);
  double more = work_of(hard_walk(&g, &mac, TICKS / 4, 0.02 / TICKS));
  worst = fmax(worst, fabs(more / (after + pairs_of(&g.tally)) - 1));
  say(worst < 1e-5 && g.tally.targets == s->n, s, "particles know their interactions", worst);
  rig_close(&g);
}

/* Narrower groups: more of them, fewer interactions for each target, the same forces within the criterion's error. Hard
 * walks know the new groups too. */
static void check_widths(const struct backend *be, const struct set *s)
{
  struct particles p;
  struct rig g;
  set_make(s, 0.5, &p);
  rig_open(&g, be, s, &p, 1, 8, 32);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  rig_first_force(&g, 1.0 / 512);
  memset(&g.tally, 0, sizeof g.tally);
  const struct particles *v = rig_force(&g, &mac);
  double rms = rms_of(v), worst = 0;
  float(*wide)[3] = by_id(v, v->acc);
  struct tally last = g.tally;
  int good = 1;
  for (int level = 4; level <= 7; level++) {
    be->tune(g.dev, KNOB_GROUP_WIDTH, g.lattice.spacing * LATTICE_SIDE * exp2(-level));
    memset(&g.tally, 0, sizeof g.tally);
    v = rig_force(&g, &mac);
    float(*now)[3] = by_id(v, v->acc);
    for (int64_t i = 0; i < v->n; i++)
      for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(now[i][c] - wide[i][c]) / rms);
    memory_free(now);
    good &= g.tally.targets == s->n && g.tally.groups >= last.groups && pairs_of(&g.tally) <= 1.02 * pairs_of(&last);
    last = g.tally;
  }
  struct step_rule rule = rule_of(s, 1);
  be->levels(g.dev, &rule, 2);
  be->sources(g.dev);
  be->moments(g.dev, &mac, 0, 0);
  memset(&g.tally, 0, sizeof g.tally);
  hard_walk(&g, &mac, TICKS / 4, 0.02 / TICKS);
  say(good && g.tally.targets == s->n, s, "narrower groups: more of them, fewer interactions", pairs_of(&last));
  say(worst < 0.05, s, "and the same forces within the criterion's error", worst);
  rig_close(&g);
  memory_free(wide);
}

/* All particles stand still and all are active: the tree is that of the full walk, the hard sums must be the same. */
static void check_same(const struct backend *be, const struct set *s, int kernel, int order, int group)
{
  struct particles p;
  struct rig g;
  set_make(s, 0, &p);
  rig_open(&g, be, s, &p, order, 8, group);
  g.split = split_make(kernel, s->r1, s->r2);
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  int64_t full_pairs = g.tally.cell_pairs + g.tally.particle_pairs;
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  double rms = rms_of(v);
  float(*full)[3] = by_id(v, v->acc_hard);
  /* with no velocity and no hard acceleration nobody moves until the tick */
  struct particles still;
  be->download(g.dev, &still);
  memset(still.acc_hard, 0, sizeof(float) * 3 * (size_t)still.n);
  be->upload(g.dev, &still);
  be->sources(g.dev);
  be->moments(g.dev, &mac, 0, 0);
  struct step_rule rule = rule_of(s, 1);
  be->levels(g.dev, &rule, 2);
  memset(&g.tally, 0, sizeof g.tally);
  v = hard_walk(&g, &mac, TICKS / 4, 1.0 / TICKS);
  double worst = difference(v, full, NULL, 1e-2 * rms);
  char what[100];
  snprintf(what, sizeof what, "hard walk = hard part of the full walk, %s, order %d, groups of %d", kernel == SPLIT_DLL ? "DLL" : "quintic",
           order, group);
  say(worst <= ROUNDING && g.tally.targets == s->n, s, what, worst);
  if (s->n > 1000 && s->place != place_coincident)
    say(g.tally.cell_pairs + g.tally.particle_pairs < full_pairs, s, "with fewer interactions", 0);
  memory_free(full);
  rig_close(&g);
}

static int is_active(const struct particles *p, int64_t i) { return p->level[i] == 3; }

/* Make about a third active at the tick of level 3, the others later; in whole groups (of the CPU backend) or scattered. */
static void choose_active(struct rig *g, int whole)
{
  struct particles p;
  g->be->download(g->dev, &p);
  for (int64_t i = 0; i < p.n; i++) p.level[i] = !whole && p.id[i] % 3 == 0 ? 3 : 1;
  for (int32_t k = 0; whole && k < g->dev->groups; k += 3)
    for (int32_t i = g->dev->group[k].begin; i < g->dev->group[k].end; i++) p.level[i] = 3;
  g->be->upload(g->dev, &p);
}

/* Some are active: they get the forces that they get among all. Where whole groups are active their balls are the same,
 * and the forces are equal to rounding; a smaller ball opens fewer cells, so else within the criterion's error. */
static void check_some(const struct backend *be, const struct set *s, int whole)
{
  const double tick_length = 0.02 / TICKS;
  float(*all)[3] = NULL;
  double rms = 1, worst = 0;
  int64_t got = 0, wanted = 0;
  int kept = 1;
  for (int some = 0; some < 2; some++) {
    struct particles p;
    struct rig g;
    set_make(s, 0.5, &p);
    rig_open(&g, be, s, &p, 1, 8, 32);
    const struct particles *v = rig_first_force(&g, 1.0 / 512);
    struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
    rms = rms_of(v);
    struct step_rule rule = rule_of(s, 1);
    be->levels(g.dev, &rule, 3);
    if (some) choose_active(&g, whole);
    be->sources(g.dev);
    be->moments(g.dev, &mac, 0, 0);
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
      for (int64_t i = 0; i < v->n; i++) kept &= is_active(v, i) || memcmp(&v->acc_hard[3 * i], before[v->id[i] - 1], sizeof *before) == 0;
    }
    memory_free(before);
    rig_close(&g);
  }
  memory_free(all);
  say(worst <= (whole ? ROUNDING : 2e-2) && got == wanted && wanted > s->n / 5, s,
      whole ? "whole groups of active particles: the forces among all, to rounding"
            : "scattered active particles: the forces among all, within the criterion",
      worst);
  say(kept, s, "the others keep theirs", 0);
}

/* Positions of everyone at a tick by the definition, in doubles: with velocity and hard acceleration at the start. */
static void drift(struct particles *p, double dt)
{
  for (int64_t k = 0; k < 3 * p->n; k++) p->pos[k] += (p->vel[k] + 0.5 * dt * p->acc_hard[k]) * dt;
}

/* Particles on their way: at a later tick the hard forces are those of the predicted positions; with the moments of the
 * start, and with refreshed ones. */
static void check_moving(const struct backend *be, const struct set *s, int kernel, int order)
{
  struct particles p, later;
  struct rig g;
  set_make(s, 0.5, &p);
  rig_open(&g, be, s, &p, order, 8, 32);
  g.split = split_make(kernel, s->r1, s->r2);
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  struct step_rule rule = rule_of(s, 1);
  double most = 0, dt = fmin(0.05, s->r2 * 0.3 / 0.5);
  for (int64_t i = 0; i < v->n; i++) most = fmax(most, modulus(&v->acc_hard[3 * i]));
  if (most > 0) dt = fmin(dt, sqrt(10 * s->softening / most));
  double tick_length = dt / (TICKS / 2);
  be->levels(g.dev, &rule, 1);
  be->sources(g.dev);
  be->moments(g.dev, &mac, 0, 0);
  particles_init(&later);
  particles_reserve(&later, v->n);
  later.n = v->n;
  for (int64_t i = 0; i < v->n; i++) particles_copy(&later, i, v, i);
  drift(&later, dt);
  struct direct d = direct_open(&later, s->gravity, s->softening, &g.split), now = direct_open(v, s->gravity, s->softening, &g.split);
  double moved = 0;
  for (int64_t k = 0; k < s->n; k++)
    for (int c = 0; c < 3; c++) moved = fmax(moved, fabs(now.hard[k][c] - d.hard[k][c]) / d.scale[k]);
  v = hard_walk(&g, &mac, TICKS / 2, tick_length);
  struct errors e = errors_between(v, v->acc_hard, NULL, (const double(*)[3])d.hard, d.scale);
  char what[150];
  const char *name = kernel == SPLIT_DLL ? "DLL" : "quintic";
  snprintf(what, sizeof what, "hard walk of moving particles, %s, order %d: direct sum of predicted positions (median %.1e, 99 %% %.1e)",
           name, order, e.median, e.most99);
  say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2 && (s->n < 1000 || moved > 0.1), s, what, e.worst);
  be->moments(g.dev, &mac, TICKS / 2, tick_length);
  struct walk_request r = {.kind = WALK_HARD,
                           .mac = mac,
                           .a_floor = g.a_floor,
                           .split = g.split,
                           .let = LET_STEP,
                           .tick = TICKS / 2,
                           .tick_length = tick_length,
                           .local = 1,
                           .last = 1};
  be->walk(g.dev, &r, &g.tally);
  v = be->view(g.dev);
  e = errors_between(v, v->acc_hard, NULL, (const double(*)[3])d.hard, d.scale);
  snprintf(what, sizeof what, "the same with refreshed moments (median %.1e, 99 %% %.1e)", e.median, e.most99);
  say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2, s, what, e.worst);
  direct_close(&now);
  direct_close(&d);
  particles_free(&later);
  rig_close(&g);
}

/* How many particles differ from a copy by more than rounding. */
static int64_t differing(const struct particles *p, float (*old)[3])
{
  int64_t count = 0;
  for (int64_t i = 0; i < p->n; i++) {
    const float *h = &p->acc_hard[3 * i], *o = old[p->id[i] - 1];
    float d[3] = {h[0] - o[0], h[1] - o[1], h[2] - o[2]};
    count += !(modulus(d) <= ROUNDING * modulus(o));
  }
  return count;
}

/* Without a split the hard walk of all is the full walk: with nodes as they are to rounding. Where nodes may move, though they
 * do not, lone particles are no cells, which changes no force but perhaps how a few long lists are cut into shorter ones. */
static void check_tree_mode(const struct backend *be, const struct set *s, int order)
{
  struct particles p;
  struct rig g;
  set_make(s, 0, &p);
  rig_open(&g, be, s, &p, order, 8, 32);
  memset(&g.split, 0, sizeof g.split);
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  float(*full)[3] = by_id(v, v->acc);
  struct step_rule rule = rule_of(s, 1);
  for (int may_move = 0; may_move < 2; may_move++) {
    struct particles still;
    be->download(g.dev, &still);
    memset(still.acc_hard, 0, sizeof(float) * 3 * (size_t)still.n);
    be->upload(g.dev, &still);
    be->sources(g.dev);
    be->moments(g.dev, &mac, 0, 0);
    be->levels(g.dev, &rule, 2);
    v = hard_walk(&g, &mac, TICKS / 4, may_move ? 1.0 / TICKS : 0);
    double worst = difference(v, full, NULL, 0);
    int64_t differ = differing(v, full);
    char what[150];
    snprintf(what, sizeof what, "without a split the hard walk is the full one%s%s, %lld particles apart", order == 2 ? ", second moments" : "",
             may_move ? ", nodes may move" : "", (long long)differ);
    say(may_move ? differ <= s->n / 10 && worst <= 2e-2 : differ == 0, s, what, worst);
  }
  memory_free(full);
  rig_close(&g);
}

/* Every third particle is active at the tick of level 2, on its way and among others on theirs; without a split. */
static void choose_third(struct rig *g)
{
  struct particles p;
  g->be->download(g->dev, &p);
  for (int64_t i = 0; i < p.n; i++) p.level[i] = p.id[i] % 3 == 0 ? 2 : 1;
  g->be->upload(g->dev, &p);
}

/* Without a split, particles on their way: all, or some of them, get the forces of the predicted positions, with the
 * moments of the start and with refreshed ones; the others keep theirs. `leaf` 1: many leaves, whose groups are walked
 * in pieces. */
static void check_tree_moving(const struct backend *be, const struct set *s, int order, int leaf, int some)
{
  struct particles p, later;
  struct rig g;
  struct split none = {0};
  set_make(s, 0.5, &p);
  rig_open(&g, be, s, &p, order, leaf, 128);
  g.split = none;
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  struct step_rule rule = rule_of(s, 1);
  int32_t tick = some ? TICKS / 4 : TICKS / 2;
  be->levels(g.dev, &rule, 1);
  if (some) choose_third(&g);
  be->sources(g.dev);
  be->moments(g.dev, &mac, 0, 0);
  const struct particles *v = be->view(g.dev);
  double most = 0, dt = 0.05;
  for (int64_t i = 0; i < v->n; i++) most = fmax(most, modulus(&v->acc_hard[3 * i]));
  if (most > 0) dt = fmin(dt, sqrt(10 * s->softening / most));
  particles_init(&later);
  particles_reserve(&later, v->n);
  later.n = v->n;
  for (int64_t i = 0; i < v->n; i++) particles_copy(&later, i, v, i);
  drift(&later, dt);
  float(*before)[3] = by_id(v, v->acc_hard);
  struct direct d = direct_open(&later, s->gravity, s->softening, &none);
  memset(&g.tally, 0, sizeof g.tally);
  v = hard_walk(&g, &mac, tick, dt / tick);
  for (int refreshed = 0; refreshed < 2; refreshed++) {
    int kept = 1;
    if (refreshed) {
      struct walk_request r = {.kind = WALK_HARD, .mac = mac, .a_floor = g.a_floor, .let = LET_STEP, .tick = tick, .tick_length = dt / tick,
                               .local = 1, .last = 1};
      be->moments(g.dev, &mac, tick, dt / tick);
      be->walk(g.dev, &r, &g.tally);
      v = be->view(g.dev);
    }
    double *error = memory_alloc("test", sizeof *error * (size_t)v->n);
    int64_t count = 0;
    for (int64_t i = 0; i < v->n; i++) {
      int64_t at = (int64_t)v->id[i] - 1;
      float x[3];
      for (int c = 0; c < 3; c++) x[c] = (float)(v->acc_hard[3 * i + c] - d.acc[at][c]);
      if (!some || v->level[i] == 2)
        error[count++] = modulus(x) / d.scale[at];
      else
        kept &= memcmp(&v->acc_hard[3 * i], before[at], sizeof *before) == 0;
    }
    struct errors e = errors_of(error, count);
    char what[200];
    snprintf(what, sizeof what, "without a split, %s moving particles, order %d, leaf %d%s: direct sum of predicted positions (median %.1e, 99 %% %.1e)",
             some ? "some" : "all", order, leaf, refreshed ? ", refreshed moments" : "", e.median, e.most99);
    say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2 && kept && g.tally.targets == (refreshed + 1) * count, s, what, e.worst);
    memory_free(error);
  }
  memory_free(before);
  direct_close(&d);
  particles_free(&later);
  rig_close(&g);
}

/* Forces of a walk of all and then, on their way, of some, twice: the same bits, however lists were filled. */
static void check_repeats(const struct backend *be, const struct set *s, int leaf)
{
  float(*first[2])[3] = {NULL, NULL};
  int same = 1;
  for (int time = 0; time < 2; time++) {
    struct particles p;
    struct rig g;
    set_make(s, 0.5, &p);
    rig_open(&g, be, s, &p, 1, leaf, 128);
    memset(&g.split, 0, sizeof g.split);
    const struct particles *v = rig_first_force(&g, 1.0 / 512);
    struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
    struct step_rule rule = rule_of(s, 1);
    float(*full)[3] = by_id(v, v->acc);
    be->levels(g.dev, &rule, 1);
    choose_third(&g);
    be->sources(g.dev);
    be->moments(g.dev, &mac, 0, 0);
    v = hard_walk(&g, &mac, TICKS / 4, 0.01 / TICKS);
    float(*hard)[3] = by_id(v, v->acc_hard);
    if (time) {
      same = memcmp(full, first[0], sizeof *full * (size_t)s->n) == 0 && memcmp(hard, first[1], sizeof *hard * (size_t)s->n) == 0;
      memory_free(full);
      memory_free(hard);
    } else {
      first[0] = full, first[1] = hard;
    }
    rig_close(&g);
  }
  memory_free(first[0]);
  memory_free(first[1]);
  say(same, s, "two walks give the same bits", 0);
}

/* Without a split, in units of length 2^20 times smaller, or larger: every number is the same but for its exponent. */
static void check_lengths(const struct backend *be)
{
  float(*first)[3] = NULL;
  int same = 1;
  for (int k = 0; k < 3; k++) {
    struct set s = sets[0];
    struct particles p;
    struct rig g;
    double length = k == 0 ? 1 : k == 1 ? 1 / 1048576.0 : 1048576;
    set_make(&s, 0, &p);
    for (int64_t i = 0; i < 3 * p.n; i++) p.pos[i] *= length;
    s.softening *= length;
    s.gravity = length;   /* as are accelerations in units of 1 / length */
    rig_open(&g, be, &s, &p, 1, 8, 32);
    memset(&g.split, 0, sizeof g.split);
    const struct particles *v = rig_first_force(&g, 1.0 / 512);
    if (k == 0) first = by_id(v, v->acc);
    for (int64_t i = 0; i < v->n; i++)
      for (int c = 0; c < 3; c++) same &= v->acc[3 * i + c] * (float)length == first[v->id[i] - 1][c];
    rig_close(&g);
  }
  memory_free(first);
  char line[200];
  snprintf(line, sizeof line, "%s: forces are the same, bit by bit, in units of length of other powers of two", label);
  tap_ok(same, line);
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
    be->levels(g.dev, &rule, 1);
    be->sources(g.dev);
    be->moments(g.dev, &mac, 0, 0);
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
  snprintf(line, sizeof line, "%s: hard forces of moving particles are the same, bit by bit, in units of another power of two", label);
  tap_ok(same && tests > 0, line);
}

static void check(const struct backend *be)
{
  snprintf(label, sizeof label, "%s", be->name);
  for (int k = 0; k < SETS; k++) {
    check_same(be, &sets[k], SPLIT_QUINTIC, 1, 32);
    check_same(be, &sets[k], SPLIT_DLL, 2, 64);
  }
  check_work(be, &sets[0]);
  check_work(be, &sets[2]);
  for (int k = 0; k < SETS; k++)
    if (sets[k].n >= 1000) check_widths(be, &sets[k]);
  check_same(be, &sets[0], SPLIT_QUINTIC, 2, 8);
  check_same(be, &sets[0], SPLIT_DLL, 1, 128);
  check_some(be, &sets[0], 0);
  check_some(be, &sets[1], 0);
  if (be == &backend_cpu) {
    check_some(be, &sets[0], 1);
    check_some(be, &sets[2], 1);
  }
  for (int k = 0; k < SETS; k++)
    check_moving(be, &sets[k], k % 2 ? SPLIT_DLL : SPLIT_QUINTIC, 1);
  check_moving(be, &sets[0], SPLIT_DLL, 2);
  check_moving(be, &sets[1], SPLIT_QUINTIC, 2);
  check_units(be);
  check_tree_mode(be, &sets[0], 1);
  check_tree_mode(be, &sets[2], 2);
  for (int k = 0; k < SETS; k++) check_tree_moving(be, &sets[k], 1, 8, k % 2);
  check_tree_moving(be, &sets[0], 2, 8, 1);
  check_tree_moving(be, &sets[2], 2, 16, 0);
  for (int some = 0; some < 2; some++) check_tree_moving(be, &sets[8], 1, 1, some);
  check_repeats(be, &sets[8], 1);
  check_repeats(be, &sets[4], 16);
  check_lengths(be);
}

int main(void)
{
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
