/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks of the active particles: without a split, the full walk of some at any tick; with it, few among many. */
#include <config.h>
#include "device.h"
#include "walks.h"

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

/* Every so many-th particle is active, on its way and among others on theirs: groups of few targets, and in pieces where
 * leaves are small, get the hard forces of the predicted positions; twice the same bits; the others keep theirs. */
static void check_few(const struct backend *be, const struct set *s, int kernel, int order, int leaf, int every)
{
  struct particles p, later;
  struct rig g;
  set_make(s, 0.5, &p);
  rig_open(&g, be, s, &p, order, leaf, 128);
  g.split = split_make(kernel, s->r1, s->r2);
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  struct step_rule rule = rule_of(s, 1);
  be->levels(g.dev, &rule, 1);
  be->download(g.dev, &p);
  for (int64_t i = 0; i < p.n; i++) p.level[i] = p.id[i] % (uint64_t)every == 0 ? 2 : 1;
  be->upload(g.dev, &p);
  be->sources(g.dev);
  be->moments(g.dev, &mac, 0, 0);
  const struct particles *v = be->view(g.dev);
  double most = 0, dt = 0.02;
  for (int64_t i = 0; i < v->n; i++) most = fmax(most, modulus(&v->acc_hard[3 * i]));
  if (most > 0) dt = fmin(dt, sqrt(10 * s->softening / most));
  double tick_length = dt / (TICKS / 4);
  particles_init(&later);
  particles_reserve(&later, v->n);
  later.n = v->n;
  for (int64_t i = 0; i < v->n; i++) particles_copy(&later, i, v, i);
  drift(&later, dt);
  float(*before)[3] = by_id(v, v->acc_hard);
  struct direct d = direct_open(&later, s->gravity, s->softening, &g.split);
  double *error = memory_alloc("test", sizeof *error * (size_t)v->n);
  int64_t count = 0;
  int kept = 1, same = 1;
  memset(&g.tally, 0, sizeof g.tally);
  v = hard_walk(&g, &mac, TICKS / 4, tick_length);
  float(*first)[3] = by_id(v, v->acc_hard);
  for (int64_t i = 0; i < v->n; i++) {
    int64_t at = (int64_t)v->id[i] - 1;
    float x[3];
    for (int c = 0; c < 3; c++) x[c] = (float)(v->acc_hard[3 * i + c] - d.hard[at][c]);
    if (v->level[i] == 2)
      error[count++] = modulus(x) / d.scale[at];
    else
      kept &= memcmp(&v->acc_hard[3 * i], before[at], sizeof *before) == 0;
  }
  int told = g.tally.targets == count && g.tally.split_pairs == g.tally.cell_pairs + g.tally.particle_pairs;
  struct errors e = errors_of(error, count);
  struct walk_request r = {.kind = WALK_HARD, .mac = mac, .a_floor = g.a_floor, .split = g.split, .let = LET_STEP, .tick = TICKS / 4,
                           .tick_length = tick_length, .local = 1, .last = 1};
  be->walk(g.dev, &r, &g.tally);
  v = be->view(g.dev);
  for (int64_t i = 0; i < v->n; i++) same &= memcmp(&v->acc_hard[3 * i], first[v->id[i] - 1], sizeof *first) == 0;
  char what[200];
  snprintf(what, sizeof what,
           "hard forces of one of %d moving particles, %s, order %d, leaf %d: direct sum of predicted positions (median %.1e, 99 %% %.1e)",
           every, kernel == SPLIT_DLL ? "DLL" : "quintic", order, leaf, e.median, e.most99);
  say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2 && kept && told, s, what, e.worst);
  say(same, s, "and the same bits again", 0);
  memory_free(error);
  memory_free(first);
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

static void check(const struct backend *be)
{
  snprintf(label, sizeof label, "%s", be->name);
  check_tree_mode(be, &sets[0], 1);
  check_tree_mode(be, &sets[2], 2);
  for (int k = 0; k < SETS; k++) check_tree_moving(be, &sets[k], 1, 8, k % 2);
  check_tree_moving(be, &sets[0], 2, 8, 1);
  check_tree_moving(be, &sets[2], 2, 16, 0);
  for (int some = 0; some < 2; some++) check_tree_moving(be, &sets[8], 1, 1, some);
  for (int every = 3; every < 100; every = 4 * every + 1) {   /* 3, 13, 53: many, few, one or two to a group */
    check_few(be, &sets[0], SPLIT_QUINTIC, 1, 8, every);
    check_few(be, &sets[1], SPLIT_DLL, 2, 16, every);
  }
  check_few(be, &sets[8], SPLIT_QUINTIC, 1, 1, 1);
  check_few(be, &sets[8], SPLIT_DLL, 2, 1, 3);
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
