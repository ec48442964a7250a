/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces by all pairs in float32, without a tree, on the backends that have them: the double-precision sums to
 * rounding. */
#include <config.h>
#include "base/debug.h"
#include "base/memory.h"
#include "particles/timeline.h"
#include "rig.h"
#include "tap.h"

/* Rounding of 6e-8 in every pull; sums of pulls that cancel, as at a centre or on a line, keep what is left of them. */
#define MEDIAN_MAX 1e-6
#define TAIL_MAX 3e-5
/* The potential is left when a particle's own part, which may be a hundred times as large, is taken away. */
#define POTENTIAL_MAX 1e-5

static char label[100];

static void say(int good, const struct set *set, const char *what, struct errors errors)
{
  char line[300];
  snprintf(line, sizeof line, "%s, %s of %lld: %s (median %.1e, 99 %% %.1e)", label, set->name, (long long)set->n, what,
           errors.median, errors.most99);
  tap_ok(good && errors.finite, line);
}

static int rounded(struct errors errors) { return errors.median <= MEDIAN_MAX && errors.most99 <= TAIL_MAX; }

static struct errors of_field(const struct particles *particles, const float *field, const struct direct *direct,
                              int hard)
{
  return errors_between(particles, field, NULL, (const double(*)[3])(hard ? direct->hard : direct->acc), direct->scale);
}

static void open_direct(struct rig *rig, const struct backend *be, const struct set *set, const struct split *split)
{
  struct particles p;
  set_make(set, 0.5, &p);
  rig_open_by(rig, be, set, &p, 1, 16, 64, METHOD_DIRECT);
  rig->split = *split;
}

/* Forces of all, twice the same bits. */
static void check_all(const struct backend *be, const struct set *set, const struct split *split, const char *name)
{
  struct rig g;
  struct particles p;
  char what[100];
  open_direct(&g, be, set, split);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1);
  set_make(set, 0, &p);
  struct direct d = direct_open(&p, set->gravity, set->softening, split);
  particles_free(&p);
  const struct particles *v = rig_force(&g, &mac);
  struct errors e = of_field(v, v->acc, &d, 0);
  say(rounded(e), set, "acceleration", e);
  if (split->on) {
    e = of_field(v, v->acc_hard, &d, 1);
    snprintf(what, sizeof what, "hard part, %s", name);
    say(rounded(e), set, what, e);
  } else {
    say(memcmp(v->acc, v->acc_hard, 12 * (size_t)v->n) == 0, set, "without a split all is hard",
        (struct errors){.finite = 1});
  }
  e = potential_errors(v, &d);
  say(e.median <= POTENTIAL_MAX && e.most99 <= TAIL_MAX, set, "potential", e);
  say(g.tally.targets == set->n && g.tally.particle_pairs == set->n * set->n && g.tally.cell_pairs == 0, set,
      "all pairs", (struct errors){.finite = 1});
  size_t bytes = sizeof(float) * 3 * (size_t)set->n;
  float *acc = memory_alloc("test", bytes), *hard = memory_alloc("test", bytes);
  memcpy(acc, v->acc, bytes);
  memcpy(hard, v->acc_hard, bytes);
  v = rig_force(&g, &mac);
  say(memcmp(acc, v->acc, bytes) == 0 && memcmp(hard, v->acc_hard, bytes) == 0, set, "the same bits again",
      (struct errors){.finite = 1});
  memory_free(acc);
  memory_free(hard);
  direct_close(&d);
  rig_close(&g);
}

/* Every number of threads that may share a target. */
static void check_shares(const struct backend *be, const struct set *set)
{
  struct split none = {0}, split = split_make(SPLIT_QUINTIC, set->r1, set->r2);
  for (int share = 1; share <= 32; share *= 2) {
    debug_set("share", share);
    snprintf(label, sizeof label, "%s, S = %d", be->name, share);
    check_all(be, set, &none, "none");
    check_all(be, set, &split, "quintic");
  }
  debug_set("share", NAN);
  snprintf(label, sizeof label, "%s", be->name);
}

/* Hard forces of some particles at a later tick: direct sums over predicted places; the others keep theirs. */
static void check_some(const struct backend *be, const struct set *set, const struct split *split)
{
  struct rig g;
  struct particles p;
  open_direct(&g, be, set, split);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1);
  rig_force(&g, &mac);
  be->download(g.dev, &p);
  for (int64_t i = 0; i < p.n; i++) p.level[i] = p.id[i] % 3 == 0 || p.n < 3 ? 4 : 2;
  be->upload(g.dev, &p);
  be->tree.sources(g.dev);
  be->tree.moments(g.dev, &mac, 0, 0);
  const struct particles *v = be->view(g.dev);
  double fastest = 0, dt = 0.05;
  for (int64_t k = 0; k < 3 * v->n; k++) fastest = fmax(fastest, fabs(v->acc_hard[k]));
  if (fastest > 0) dt = fmin(dt, sqrt(set->softening / fastest)); /* they stay about where they are */
  double tick_length = dt / (TICKS / 16);
  float(*before)[3] = memory_alloc("test", sizeof *before * (size_t)v->n);
  particles_init(&p);
  particles_reserve(&p, v->n);
  p.n = v->n;
  for (int64_t i = 0; i < v->n; i++) {
    particles_copy(&p, i, v, i);
    memcpy(before[v->id[i] - 1], &v->acc_hard[3 * i], sizeof *before);
    for (int c = 0; c < 3; c++) p.pos[3 * i + c] += (p.vel[3 * i + c] + 0.5 * dt * p.acc_hard[3 * i + c]) * dt;
  }
  struct direct d = direct_open(&p, set->gravity, set->softening, split);
  int64_t outside = 0, active = be->steps.select(g.dev, TICKS / 16, tick_length, &outside), count = 0;
  struct walk_request r = {.kind = WALK_HARD,
                           .mac = mac,
                           .split = *split,
                           .let = LET_STEP,
                           .tick = TICKS / 16,
                           .tick_length = tick_length,
                           .local = 1,
                           .last = 1};
  memset(&g.tally, 0, sizeof g.tally);
  be->forces.walk(g.dev, &r, &g.tally);
  v = be->view(g.dev);
  int kept = 1;
  for (int64_t i = 0; i < v->n; i++) {
    if (v->level[i] != 4) {
      kept &= memcmp(&v->acc_hard[3 * i], before[v->id[i] - 1], sizeof *before) == 0;
      continue;
    }
    if (count != i) particles_copy(&p, count, v, i);
    else particles_copy(&p, i, v, i);
    count++;
  }
  p.n = count;
  struct errors e = of_field(&p, p.acc_hard, &d, 1);
  say(e.median <= MEDIAN_MAX && e.most99 <= TAIL_MAX && active == count && g.tally.targets == count, set,
      split->on ? "hard forces of some, later" : "forces of some, later, without a split", e);
  say(kept, set, "the others keep theirs", (struct errors){.finite = 1});
  memory_free(before);
  direct_close(&d);
  particles_free(&p);
  rig_close(&g);
}

static void check_nearest(const struct backend *be, const struct set *set)
{
  enum { K = 3 };
  struct rig with, without;
  struct particles p;
  struct split none = {0};
  double got[2][K];
  set_make(set, 0.5, &p);
  rig_open(&with, be, set, &p, 1, 8, 32);
  struct mac mac = rig_mac(&with, MAC_ANGLE, 0.5);
  be->tree.sources(with.dev);
  be->tree.moments(with.dev, &mac, 0, 0);
  open_direct(&without, be, set, &none);
  const double at[1][3] = {{0.1, -0.1, 0.2}};
  const uint64_t skip[1] = {1};
  be->forces.nearest(with.dev, 1, at, skip, K, got[0]);
  be->forces.nearest(without.dev, 1, at, skip, K, got[1]);
  say(memcmp(got[0], got[1], sizeof got[0]) == 0, set, "the nearest, without a tree", (struct errors){.finite = 1});
  rig_close(&with);
  rig_close(&without);
}

/* Few particles have no tree where the choice is left to the backend; many have one. */
static void check_choice(const struct backend *be)
{
  static const int64_t sizes[] = {3000, 60000};
  for (int k = 0; k < 2; k++) {
    struct set s = sets[0];
    struct rig g;
    struct particles p;
    s.n = sizes[k];
    set_make(&s, 0, &p);
    rig_open_by(&g, be, &s, &p, 1, 16, 64, METHOD_AUTO);
    struct mac mac = rig_mac(&g, MAC_ANGLE, 0.7);
    rig_force(&g, &mac);
    int direct = g.tally.cell_pairs == 0 && g.tally.particle_pairs == s.n * s.n;
    say(direct == (k == 0), &s, k == 0 ? "few: all pairs" : "many: by a tree", (struct errors){.finite = 1});
    rig_close(&g);
  }
}

static void check(const struct backend *be)
{
  static const int64_t sizes[] = {1, 2, 3, 31, 33, 1000};
  struct split none = {0};
  snprintf(label, sizeof label, "%s", be->name);
  if (!(be->methods >> METHOD_DIRECT & 1)) {
    printf("# %s has no direct sums of all\n", be->name);
    return;
  }
  for (int k = 0; k < SETS; k++) {
    const struct set *s = &sets[k];
    struct split quintic = split_make(SPLIT_QUINTIC, s->r1, s->r2), dll = split_make(SPLIT_DLL, s->r1, s->r2);
    check_all(be, s, &none, "none");
    check_all(be, s, &quintic, "quintic");
    check_all(be, s, &dll, "DLL");
    check_some(be, s, &none);
    check_some(be, s, &quintic);
    check_nearest(be, s);
  }
  check_choice(be);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    struct set few = sets[0];
    few.n = sizes[k];
    check_shares(be, &few);
  }
}

int main(void)
{
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
