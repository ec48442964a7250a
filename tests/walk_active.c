/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks of the active particles: without a split, the full walk of some at any tick; with it, few among many. */
#include <config.h>
#include "base/debug.h"
#include "cpu/device.h"
#include "walks.h"

/* How many particles differ from a copy by more than rounding. */
static int64_t differing(const struct particles *particles, float (*old)[3])
{
  int64_t count = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    const float *h = &particles->acc_hard[3 * i], *o = old[particles->id[i] - 1];
    float d[3] = {h[0] - o[0], h[1] - o[1], h[2] - o[2]};
    count += !(modulus(d) <= ROUNDING * modulus(o));
  }
  return count;
}

/* Without a split the hard walk of all is the full walk: with nodes as they are to rounding. Where nodes may move,
 * though they do not, lone particles are no cells, which changes no force but perhaps how a few long lists are cut into
 * shorter ones. */
static void check_tree_mode(const struct backend *be, const struct set *set, int order)
{
  struct particles p;
  struct rig g;
  set_make(set, 0, &p);
  rig_open(&g, be, set, &p, order, 8, 32);
  memset(&g.split, 0, sizeof g.split);
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  float(*full)[3] = by_id(v, v->acc);
  struct step_rule rule = rule_of(set, 1);
  for (int may_move = 0; may_move < 2; may_move++) {
    struct particles still;
    be->download(g.dev, &still);
    memset(still.acc_hard, 0, sizeof(float) * 3 * (size_t)still.n);
    be->upload(g.dev, &still);
    be->tree.sources(g.dev);
    be->tree.moments(g.dev, &mac, 0, 0);
    be->steps.levels(g.dev, &rule, 2);
    v = hard_walk(&g, &mac, TICKS / 4, may_move ? 1.0 / TICKS : 0);
    double worst = difference(v, full, NULL, 0);
    int64_t differ = differing(v, full);
    char what[150];
    snprintf(what, sizeof what, "without a split the hard walk is the full one%s%s, %lld particles apart",
             order == 2 ? ", second moments" : "", may_move ? ", nodes may move" : "", (long long)differ);
    say(may_move ? differ <= set->n / 10 && worst <= 2e-2 : differ == 0, set, what, worst);
  }
  memory_free(full);
  rig_close(&g);
}

/* A time in which no particle of these goes farther than five softenings by its acceleration, at most `dt`. */
static double step_of(const struct particles *particles, const struct set *set, double dt)
{
  double max_value = 0;
  for (int64_t i = 0; i < particles->n; i++) max_value = fmax(max_value, modulus(&particles->acc_hard[3 * i]));
  return max_value > 0 ? fmin(dt, sqrt(10 * set->softening / max_value)) : dt;
}

/* Every third particle is active at the tick of level 2; all particles move; without a split. */
static void choose_third(struct rig *rig)
{
  struct particles p;
  rig->be->download(rig->dev, &p);
  for (int64_t i = 0; i < p.n; i++) p.level[i] = p.id[i] % 3 == 0 ? 2 : 1;
  rig->be->upload(rig->dev, &p);
}

/* Without a split, moving particles: all, or some of them, get the forces of the predicted positions, with the
 * moments of the start and with updated ones; the others keep theirs. `leaf` 1: many leaves, whose groups are walked
 * in pieces. */
static void check_tree_moving(const struct backend *be, const struct set *set, int order, int leaf, int some)
{
  struct particles p;
  struct rig g;
  struct split none = {0};
  set_make(set, 0.5, &p);
  rig_open(&g, be, set, &p, order, leaf, 128);
  g.split = none;
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  struct step_rule rule = rule_of(set, 1);
  int32_t tick = some ? TICKS / 4 : TICKS / 2;
  be->steps.levels(g.dev, &rule, 1);
  if (some) choose_third(&g);
  be->tree.sources(g.dev);
  be->tree.moments(g.dev, &mac, 0, 0);
  const struct particles *v = be->view(g.dev);
  double dt = step_of(v, set, 0.05);
  struct particles later = copy_of(v);
  drift(&later, dt);
  float(*before)[3] = by_id(v, v->acc_hard);
  struct direct d = direct_open(&later, set->gravity, set->softening, &none);
  memset(&g.tally, 0, sizeof g.tally);
  v = hard_walk(&g, &mac, tick, dt / tick);
  for (int moment_update_error = 0; moment_update_error < 2; moment_update_error++) {
    int kept = 1;
    if (moment_update_error) {
      struct walk_request r = hard_request(&g, &mac, tick, dt / tick);
      be->tree.moments(g.dev, &mac, tick, dt / tick);
      be->forces.walk(g.dev, &r, &g.tally);
      v = be->view(g.dev);
    }
    double *error = memory_alloc("test", sizeof *error * (size_t)v->n);
    int64_t count = 0;
    for (int64_t i = 0; i < v->n; i++) {
      int64_t at = (int64_t)v->id[i] - 1;
      float x[3];
      for (int c = 0; c < 3; c++) x[c] = (float)(v->acc_hard[3 * i + c] - d.acc[at][c]);
      if (!some || v->level[i] == 2) error[count++] = modulus(x) / d.scale[at];
      else kept &= memcmp(&v->acc_hard[3 * i], before[at], sizeof *before) == 0;
    }
    struct errors e = errors_of(error, count);
    char what[200];
    snprintf(what, sizeof what,
             "without a split, %s moving particles, order %d, leaf %d%s: direct sum of predicted positions (median "
             "%.1e, 99 %% %.1e)",
             some ? "some" : "all", order, leaf, moment_update_error ? ", updated moments" : "", e.median, e.most99);
    say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2 && kept &&
            g.tally.targets == (moment_update_error + 1) * count,
        set, what, e.worst);
    memory_free(error);
  }
  memory_free(before);
  direct_close(&d);
  particles_free(&later);
  rig_close(&g);
}

/* Every so many-th particle is active, on its way and among others on theirs: groups of few targets, and in pieces
 * where leaves are small, get the hard forces of the predicted positions; twice the same bits; the others keep
 * theirs. */
static void check_few(const struct backend *be, const struct set *set, int kernel, int order, int leaf, int every)
{
  struct particles p;
  struct rig g;
  set_make(set, 0.5, &p);
  rig_open(&g, be, set, &p, order, leaf, 128);
  g.split = split_make(kernel, set->r1, set->r2);
  rig_first_force(&g, 1.0 / 512);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  struct step_rule rule = rule_of(set, 1);
  be->steps.levels(g.dev, &rule, 1);
  be->download(g.dev, &p);
  for (int64_t i = 0; i < p.n; i++) p.level[i] = p.id[i] % (uint64_t)every == 0 ? 2 : 1;
  be->upload(g.dev, &p);
  be->tree.sources(g.dev);
  be->tree.moments(g.dev, &mac, 0, 0);
  const struct particles *v = be->view(g.dev);
  double dt = step_of(v, set, 0.02);
  double tick_length = dt / (TICKS / 4);
  struct particles later = copy_of(v);
  drift(&later, dt);
  float(*before)[3] = by_id(v, v->acc_hard);
  struct direct d = direct_open(&later, set->gravity, set->softening, &g.split);
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
    if (v->level[i] == 2) error[count++] = modulus(x) / d.scale[at];
    else kept &= memcmp(&v->acc_hard[3 * i], before[at], sizeof *before) == 0;
  }
  int counted = g.tally.targets == count && g.tally.split_pairs == g.tally.cell_pairs + g.tally.particle_pairs;
  struct errors e = errors_of(error, count);
  struct walk_request r = hard_request(&g, &mac, TICKS / 4, tick_length);
  be->forces.walk(g.dev, &r, &g.tally);
  v = be->view(g.dev);
  for (int64_t i = 0; i < v->n; i++) same &= memcmp(&v->acc_hard[3 * i], first[v->id[i] - 1], sizeof *first) == 0;
  char what[200];
  snprintf(what, sizeof what,
           "hard forces of one of %d moving particles, %s, order %d, leaf %d: direct sum of predicted positions "
           "(median %.1e, 99 %% %.1e)",
           every, kernel == SPLIT_DLL ? "DLL" : "quintic", order, leaf, e.median, e.most99);
  say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2 && kept && counted, set, what, e.worst);
  say(same, set, "and the same bits again", 0);
  memory_free(error);
  memory_free(first);
  memory_free(before);
  direct_close(&d);
  particles_free(&later);
  rig_close(&g);
}

/* Forces of a walk of all and then, on their way, of some, twice: the same bits, however lists were filled. */
static void check_repeats(const struct backend *be, const struct set *set, int leaf)
{
  float(*first[2])[3] = {NULL, NULL};
  int same = 1;
  for (int time = 0; time < 2; time++) {
    struct particles p;
    struct rig g;
    set_make(set, 0.5, &p);
    rig_open(&g, be, set, &p, 1, leaf, 128);
    memset(&g.split, 0, sizeof g.split);
    const struct particles *v = rig_first_force(&g, 1.0 / 512);
    struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
    struct step_rule rule = rule_of(set, 1);
    float(*full)[3] = by_id(v, v->acc);
    be->steps.levels(g.dev, &rule, 1);
    choose_third(&g);
    be->tree.sources(g.dev);
    be->tree.moments(g.dev, &mac, 0, 0);
    v = hard_walk(&g, &mac, TICKS / 4, 0.01 / TICKS);
    float(*hard)[3] = by_id(v, v->acc_hard);
    if (time) {
      same = memcmp(full, first[0], sizeof *full * (size_t)set->n) == 0 &&
             memcmp(hard, first[1], sizeof *hard * (size_t)set->n) == 0;
      memory_free(full);
      memory_free(hard);
    } else {
      first[0] = full;
      first[1] = hard;
    }
    rig_close(&g);
  }
  memory_free(first[0]);
  memory_free(first[1]);
  say(same, set, "two walks give the same bits", 0);
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
    s.gravity = length; /* as are accelerations in units of 1 / length */
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

/* --- few among many, without a split ------------------------------------------------------------------------------ */

/* So many active particles, nearest to a place, or strewn over all; the criterion. Warp teams are for few among many
 * groups, and a warp of more lanes has larger and so fewer ones: `max_group` limits them where there would be too few
 * with 64 lanes; 0: no limit. */
struct handful {
  const struct set *set;
  int order, leaf, kind;
  double delta;
  int64_t active;
  int together, fast; /* they have a tree of their own */
  int max_group;
};
/* The largest groups of a warp of 32 lanes, for first and for second moments. */
enum { SMALL = 48, SMALL_QUADRUPOLE = 64 };

/* What a walk of them came to, by the active particles' order of ids. */
struct handled {
  float (*acc)[3];
  double (*from)[4]; /* predicted places of all, with masses, by id */
  double a_rms;
  int64_t *id;
  int kept, same;
  double moment_update_error; /* largest difference by updated moments, relative to |a| */
  struct tally tally;
};

/* Whether walks of few active particles are others than those of many. */
static int has_warp_teams(const struct backend *be) { return be != &backend_cpu; }

static int nearest_first(const void *a, const void *b)
{
  const double *x = a, *y = b;
  return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* The active particles are those at the deeper level. */
static void choose_handful(const struct handful *handful, struct particles *particles)
{
  double(*far)[2] = memory_alloc("test", sizeof *far * (size_t)particles->n);
  for (int64_t i = 0; i < particles->n; i++) {
    const double *x = &particles->pos[3 * i], *y = &particles->pos[3 * (particles->n / 3)];
    far[i][0] = handful->together ? pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2)
                                  : (double)(i % (particles->n / handful->active));
    far[i][1] = (double)i;
    particles->level[i] = 1;
  }
  qsort(far, (size_t)particles->n, sizeof *far, nearest_first);
  for (int64_t k = 0; k < handful->active; k++) particles->level[(int64_t)far[k][1]] = 2;
  memory_free(far);
}

/* The positions of all particles after `dt`, with masses, by id. */
static void predict(const struct particles *particles, double dt, double (*from)[4])
{
  const struct particles *p = particles;
  for (int64_t i = 0; i < p->n; i++) {
    for (int c = 0; c < 3; c++)
      from[p->id[i] - 1][c] = p->pos[3 * i + c] + (p->vel[3 * i + c] + 0.5 * dt * p->acc_hard[3 * i + c]) * dt;
    from[p->id[i] - 1][3] = p->mass[i];
  }
}

/* Largest difference of the accelerations of the active particles from those of the first walk, relative to |a|. */
static double largest_change(const struct particles *particles, const struct handled *first)
{
  double largest = 0;
  int64_t at = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    if (particles->level[i] != 2) continue;
    const float *a = &particles->acc_hard[3 * i], *b = first->acc[at++];
    const float d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    largest = fmax(largest, modulus(d) / (modulus(b) + 1e-3 * first->a_rms + 1e-30));
  }
  return largest;
}

/* Walk them at a quarter of the step, by warp teams or, with `never`, by the walk of many particles; twice. */
static void handle(const struct backend *be, const struct handful *handful, int never, struct handled *out)
{
  struct particles p;
  struct rig g;
  if (never || handful->active > 100) debug_set("few_pieces", never ? 0 : 1000);
  set_make(handful->set, 0.5, &p);
  rig_open(&g, be, handful->set, &p, handful->order, handful->leaf, handful->max_group ? handful->max_group : 128);
  debug_set("few_pieces", NAN);
  memset(&g.split, 0, sizeof g.split);
  struct mac mac = rig_mac(&g, handful->kind, handful->delta);
  if (handful->kind == MAC_ACCELERATION) rig_first_force(&g, 1.0 / 512);
  be->download(g.dev, &p);
  choose_handful(handful, &p);
  double dt = step_of(&p, handful->set, 0.005), tick_length = dt / (TICKS / 4);
  be->upload(g.dev, &p);
  be->tree.sources(g.dev);
  if (handful->fast) {
    be->tree.reorder(g.dev, 0, tick_length, 1 << 2, 0);
    be->tree.build(g.dev, everywhere[0], everywhere[1]);
  }
  be->tree.groups(g.dev);
  be->tree.moments(g.dev, &mac, 0, 0);
  const struct particles *v = be->view(g.dev);
  float(*before)[3] = by_id(v, v->acc_hard);
  int64_t n = v->n, at = 0;
  out->from = memory_alloc("test", sizeof *out->from * (size_t)n);
  out->id = memory_alloc("test", sizeof *out->id * (size_t)handful->active);
  out->acc = memory_alloc("test", sizeof *out->acc * (size_t)handful->active);
  predict(v, dt, out->from);
  out->a_rms = rms_of(v);
  memset(&g.tally, 0, sizeof g.tally);
  v = hard_walk(&g, &mac, TICKS / 4, tick_length);
  out->tally = g.tally;
  out->kept = out->same = 1;
  for (int64_t i = 0; i < n; i++)
    if (v->level[i] != 2) out->kept &= memcmp(&v->acc_hard[3 * i], before[v->id[i] - 1], sizeof *before) == 0;
    else if (at < handful->active) {
      out->id[at] = (int64_t)v->id[i] - 1;
      memcpy(out->acc[at++], &v->acc_hard[3 * i], sizeof *out->acc);
    }
  struct walk_request r = hard_request(&g, &mac, TICKS / 4, tick_length);
  be->forces.walk(g.dev, &r, &g.tally);
  v = be->view(g.dev);
  at = 0;
  for (int64_t i = 0; i < n; i++)
    if (v->level[i] == 2) out->same &= memcmp(&v->acc_hard[3 * i], out->acc[at++], sizeof *out->acc) == 0;
  be->tree.moments(g.dev, &mac, TICKS / 4, tick_length);
  be->forces.walk(g.dev, &r, &g.tally);
  v = be->view(g.dev);
  out->moment_update_error = largest_change(v, out);
  memory_free(before);
  rig_close(&g);
}

static void put_away(struct handled *handled)
{
  memory_free(handled->acc);
  memory_free(handled->from);
  memory_free(handled->id);
}

/* Errors against the direct sum over predicted places, and the differences of two walks, over |a|; or, where only
 * rounding is left, over the sum of the terms' amounts, which may cancel. */
static void compare_handful(const struct handful *handful, const struct handled *team, const struct handled *many,
                            int rounding, struct errors *wrong, struct errors *apart)
{
  double *error[2];
  for (int k = 0; k < 2; k++) error[k] = memory_alloc("test", sizeof **error * (size_t)handful->active);
  for (int64_t k = 0; k < handful->active; k++) {
    const double *x = team->from[team->id[k]];
    double acc[3] = {0}, e2 = 0, d2 = 0, a2 = 0, terms = 0, eps2 = handful->set->softening * handful->set->softening;
    for (int64_t j = 0; j < handful->set->n; j++) {
      const double *y = team->from[j];
      double dx[3] = {y[0] - x[0], y[1] - x[1], y[2] - x[2]},
             rho2 = dx[0] * dx[0] + dx[1] * dx[1] + dx[2] * dx[2] + eps2;
      for (int c = 0; c < 3; c++) acc[c] += handful->set->gravity * y[3] / (rho2 * sqrt(rho2)) * dx[c];
      terms += handful->set->gravity * y[3] / (rho2 * sqrt(rho2)) * sqrt(rho2 - eps2);
    }
    for (int c = 0; c < 3; c++) {
      a2 += acc[c] * acc[c];
      e2 += pow(team->acc[k][c] - acc[c], 2);
      d2 += pow((double)team->acc[k][c] - many->acc[k][c], 2);
    }
    double scale = a2 > 1e-12 * team->a_rms * team->a_rms ? sqrt(a2) : team->a_rms > 0 ? team->a_rms : 1;
    if (rounding) scale = fmax(scale, terms);
    error[0][k] = sqrt(e2) / scale;
    error[1][k] = sqrt(d2) / scale;
  }
  *wrong = errors_of(error[0], handful->active);
  *apart = errors_of(error[1], handful->active);
  memory_free(error[0]);
  memory_free(error[1]);
}

/* Few active particles among many, all moving, are walked by warp teams where the backend has these. `max_value`:
 * largest error where the criterion accepts no cell; else 0. */
static void check_handful(const struct backend *be, struct handful handful, double max_value)
{
  struct handled team, many;
  struct errors wrong, apart;
  handle(be, &handful, 0, &team);
  handle(be, &handful, 1, &many);
  compare_handful(&handful, &team, &many, max_value > 0, &wrong, &apart);
  const struct tally *t = &team.tally, *u = &many.tally;
  int other = t->tests != u->tests || t->cell_pairs != u->cell_pairs || t->particle_pairs != u->particle_pairs ||
              t->groups != u->groups;
  int counted = t->targets == handful.active && (handful.kind != MAC_ACCELERATION || t->tests > 0) && pairs_of(t) > 0;
  int good = wrong.finite && apart.finite && team.kept && counted;
  good &= max_value > 0
              ? wrong.worst <= max_value && apart.worst <= 2 * max_value
              : wrong.median <= 5e-3 && wrong.most99 <= 1.7e-2 && apart.median <= 5e-3 && apart.most99 <= 1.7e-2;
  good &= team.moment_update_error <= (max_value > 0 ? 2 * max_value : 5e-2);
  char what[250];
  snprintf(what, sizeof what,
           "%lld active %s%s, order %d, leaf %d, criterion %d, Delta %.0e%s: direct sum (median %.1e, 99 %% %.1e), the "
           "walk of many",
           (long long)handful.active, handful.together ? "together" : "apart", handful.fast ? ", two trees" : "",
           handful.order, handful.leaf, handful.kind, handful.delta, has_warp_teams(be) ? ", walked by warp teams" : "",
           wrong.median, wrong.most99);
  say(good, handful.set, what, wrong.worst);
  snprintf(what, sizeof what, "and the same bits again, %s; moments updated: %.1e",
           has_warp_teams(be) ? "by warp teams (their tally differs) and by supergroups" : "in both",
           team.moment_update_error);
  say(team.same && many.same && many.kept && other == has_warp_teams(be), handful.set, what, apart.worst);
  put_away(&team);
  put_away(&many);
}

static void check_handfuls(const struct backend *be)
{
  const struct set large = {"large Plummer", 20000, 1, 0.0125, 0.14, 0.28, place_plummer};
  const double delta = 1.0 / 512;
  for (int64_t active = 1; active <= 7; active += active < 2 ? 1 : 5) { /* 1, 2, 7 */
    check_handful(be, (struct handful){&sets[0], 1, 8, MAC_ACCELERATION, delta, active, 0, 0}, 0);
    check_handful(be, (struct handful){&sets[2], 2, 16, MAC_ACCELERATION, delta, active, 1, 0}, 0);
    check_handful(be, (struct handful){&sets[0], 1, 8, MAC_ANGLE, 0.3, active, 0, 0}, 0);
  }
  check_handful(be, (struct handful){&sets[0], 1, 8, MAC_ACCELERATION, delta, 100, 1, 0}, 0);
  check_handful(be, (struct handful){&sets[0], 2, 16, MAC_ACCELERATION, delta, 100, 1, 0}, 0);
  for (int order = 1; order <= 2; order++)
    check_handful(be, (struct handful){&sets[1], order, 8, MAC_ACCELERATION, delta, 100, 1, 1}, 0);
  check_handful(be, (struct handful){&sets[3], 1, 16, MAC_ANGLE, 0.2, 100, 1, 0, SMALL}, 0);
  check_handful(be, (struct handful){&sets[4], 1, 16, MAC_ACCELERATION, delta, 100, 1, 0}, 0);
  check_handful(be, (struct handful){&sets[8], 1, 1, MAC_ACCELERATION, 1e-9, 100, 1, 0, SMALL}, 1e-4); /* long lists */
  check_handful(be, (struct handful){&sets[8], 2, 1, MAC_ACCELERATION, 1e-9, 7, 0, 0, SMALL_QUADRUPOLE}, 1e-4);
  check_handful(be, (struct handful){&sets[5], 1, 8, MAC_ANGLE, 1e-6, 7, 1, 0, SMALL}, 1e-4); /* large leaves alone */
  check_handful(be, (struct handful){&sets[4], 2, 16, MAC_ANGLE, 1e-6, 100, 1, 0}, 1e-4);
  /* so many that pieces have eight targets on any device */
  check_handful(be, (struct handful){&large, 1, 8, MAC_ANGLE, 0.3, 1200, 1, 0, SMALL}, 0);
  check_handful(be, (struct handful){&large, 2, 8, MAC_ANGLE, 0.3, 1200, 1, 0, SMALL_QUADRUPOLE}, 0);
  check_handful(be, (struct handful){&large, 1, 1, MAC_ANGLE, 1e-6, 7, 0, 0}, 1e-4); /* the front is full */
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
  for (int every = 3; every < 100; every = 4 * every + 1) { /* 3, 13, 53: many, few, one or two to a group */
    check_few(be, &sets[0], SPLIT_QUINTIC, 1, 8, every);
    check_few(be, &sets[1], SPLIT_DLL, 2, 16, every);
  }
  check_few(be, &sets[8], SPLIT_QUINTIC, 1, 1, 1);
  check_few(be, &sets[8], SPLIT_DLL, 2, 1, 3);
  check_handfuls(be);
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
