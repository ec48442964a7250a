/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A new tree within a soft step: particles keep their ids, positions and times, and forces are those of the predicted
 * positions, with fewer interactions than on the old tree. With TEST_SAMPLE in the environment: trees of bands of
 * levels, of two sets, and renewed ones of one. */
#include <config.h>
#include "backend/let_verbs.h"
#include "base/debug.h"
#include "base/memory.h"
#include "particles/timeline.h"
#include "rig.h"
#include "tap.h"
#include "tree/keys.h"

/* Levels 1 to 3 by id; the substep at the end of the first steps of level 3 has been made, the tree is to be that of
 * the next tick of these, at which those of level 2 are due too. */
enum { FIRST = TICKS / 8, NOW = TICKS / 4, ONE_TREE = 0, BOXES = 16 };

static char label[120];

/* 0: as many particles of each level; else one particle in `sparse` is fast, and the others are slow. */
static int sparse;

static int first_level(uint64_t id) { return sparse ? (id % (unsigned)sparse == 0 ? 3 : 1) : 1 + (int)(id % 3); }
static int is_fast(uint64_t id) { return first_level(id) == 3; }

static void say(int good, const char *what)
{
  char line[300];
  snprintf(line, sizeof line, "%s: %s", label, what);
  tap_ok(good, line);
}

/* A copy in the order of the ids, which are 1 to n. */
static void by_id(const struct particles *p, struct particles *copy)
{
  particles_init(copy);
  particles_reserve(copy, p->n);
  copy->n = p->n;
  for (int64_t i = 0; i < p->n; i++) particles_copy(copy, (int64_t)p->id[i] - 1, p, i);
}

static int same_particles(const struct particles *a, const struct particles *b)
{
  int same = a->n == b->n;
  for (int f = 0; f < particle_field_count && same; f++) {
    const struct particle_field *field = &particle_fields[f];
    same = memcmp(*particles_array(a, field), *particles_array(b, field), field->bytes * (size_t)a->n) == 0;
  }
  return same;
}

static void predict(struct particles *particles, int32_t tick, double tick_length)
{
  for (int64_t i = 0; i < particles->n; i++) {
    double dt = (tick - particles->tick[i]) * tick_length;
    for (int64_t k = 3 * i; k < 3 * i + 3; k++)
      particles->pos[k] += (particles->vel[k] + 0.5 * dt * particles->acc_hard[k]) * dt;
  }
}

/* The set after its first substep. Returns the length of a tick: fast particles cross several leaves in a soft step. */
static double begin(struct rig *rig, const struct backend *be, const struct set *set, const struct mac *mac, int split)
{
  struct particles p;
  set_make(set, 1, &p);
  rig_open(rig, be, set, &p, 1, 8, 32);
  if (!split) memset(&rig->split, 0, sizeof rig->split);
  rig_first_force(rig, mac->delta);
  be->download(rig->dev, &p);
  double max_value = 0, dt = 0.4 * set->r2;
  for (int64_t i = 0; i < p.n; i++) {
    p.level[i] = (uint8_t)first_level(p.id[i]);
    for (int c = 0; c < 3; c++) max_value = fmax(max_value, fabs(p.acc_hard[3 * i + c]));
  }
  if (max_value > 0) dt = fmin(dt, sqrt(10 * set->softening / max_value));
  double tick_length = dt / NOW;
  be->upload(rig->dev, &p);
  be->tree.sources(rig->dev);
  be->tree.moments(rig->dev, mac, 0, 0);
  struct walk_request r = hard_request(rig, mac, FIRST, tick_length);
  struct step_rule rule = {.eta = 1, .softening = set->softening, .soft_step = tick_length * TICKS};
  int64_t outside = 0;
  be->steps.select(rig->dev, FIRST, tick_length, &outside);
  be->forces.walk(rig->dev, &r, &rig->tally);
  be->steps.correct(rig->dev, FIRST, tick_length, &rule, 3);
  return tick_length;
}

/* The substep at NOW up to its walk; with a new tree, or the old one and its moments. */
static const struct particles *go_on(struct rig *rig, const struct mac *mac, double tick_length, int rebuild_trees,
                                     level_bands bands, int64_t *active)
{
  const struct backend *be = rig->be;
  int64_t outside = 0;
  if (rebuild_trees) {
    be->tree.reorder(rig->dev, NOW, tick_length, bands, 0);
    be->tree.build(rig->dev, everywhere[0], everywhere[1]);
    be->tree.groups(rig->dev);
  }
  *active = be->steps.select(rig->dev, NOW, tick_length, &outside);
  be->tree.moments(rig->dev, mac, NOW, tick_length);
  struct walk_request r = hard_request(rig, mac, NOW, tick_length);
  memset(&rig->tally, 0, sizeof rig->tally);
  be->forces.walk(rig->dev, &r, &rig->tally);
  return be->view(rig->dev);
}

/* How often the particles go back along the curve, at the fourth level of its cells. */
static int64_t descents(const struct particles *particles, const struct lattice *lattice, double tick_length)
{
  uint64_t last = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    int32_t x[3];
    int out = 0;
    double dt = (NOW - particles->tick[i]) * tick_length;
    for (int c = 0; c < 3; c++) {
      int64_t k = 3 * i + c;
      x[c] = lattice_of(lattice, c, particles->pos[k] + (particles->vel[k] + 0.5 * dt * particles->acc_hard[k]) * dt,
                        &out);
    }
    uint64_t key = key_of(x[0], x[1], x[2]) >> 3 * (KEY_LEVELS - 4);
    count += key < last;
    last = key;
  }
  return count;
}

static int is_due(int level) { return level >= 2; }

/* Sets that are not confined to a point, a line or a plane, which particles leave. */
static int is_thick(const struct set *set)
{
  return set->place == place_plummer || set->place == place_hernquist || set->place == place_two ||
         set->place == place_disk;
}

static void check_set(const struct backend *be, const struct set *set, int split, level_bands bands)
{
  struct rig g, old;
  struct particles before, after, now;
  int64_t active, active_old, due = 0;
  char what[150];
  snprintf(label, sizeof label, "%s, %s%s%s", be->name, set->name, split ? "" : ", no split",
           bands ? ", fast apart" : "");
  struct mac mac = {MAC_ACCELERATION, 1, set->gravity, 1.0 / 512};
  double tick_length = begin(&g, be, set, &mac, split);
  by_id(be->view(g.dev), &before);
  int64_t back_before = descents(be->view(g.dev), &g.lattice, tick_length);
  be->tree.reorder(g.dev, NOW, tick_length, bands, 0);
  by_id(be->view(g.dev), &after);
  int64_t back = descents(be->view(g.dev), &g.lattice, tick_length);
  snprintf(what, sizeof what, "they stand along the curve where they are now (back %lld times, before %lld)",
           (long long)back, (long long)back_before);
  say(back <= 2 + set->n / 500 && (!is_thick(set) || back_before > set->n / 60), what); /* rounding may differ */
  say(same_particles(&before, &after), "another order changes no particle");
  be->tree.build(g.dev, everywhere[0], everywhere[1]);
  be->tree.groups(g.dev);
  say(be->steps.next_tick(g.dev) == NOW, "the next tick stays known");
  by_id(&before, &now);
  predict(&now, NOW, tick_length);
  struct direct d = direct_open(&now, set->gravity, set->softening, &g.split);
  for (int64_t i = 0; i < set->n; i++) due += is_due(before.level[i]);

  const struct particles *v = go_on(&g, &mac, tick_length, 1, bands, &active);
  float(*got)[3] = memory_alloc("test", sizeof *got * (size_t)(set->n + 1));
  int kept = 1;
  for (int64_t i = 0; i < v->n; i++) {
    int64_t k = (int64_t)v->id[i] - 1;
    for (int c = 0; c < 3; c++)
      got[i][c] = is_due(v->level[i]) ? v->acc_hard[3 * i + c] : (float)(split ? d.hard[k][c] : d.acc[k][c]);
    kept &= is_due(v->level[i]) || memcmp(&v->acc_hard[3 * i], &before.acc_hard[3 * k], 3 * sizeof(float)) == 0;
  }
  struct errors e = errors_between(v, got[0], NULL, (const double(*)[3])(split ? d.hard : d.acc), d.scale);
  snprintf(what, sizeof what, "forces of the predicted positions (median %.1e, 99 %% %.1e, worst %.1e)", e.median,
           e.most99, e.worst);
  say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2 && active == due && kept, what);

  begin(&old, be, set, &mac, split);
  go_on(&old, &mac, tick_length, 0, bands, &active_old);
  double fresh = (double)(g.tally.particle_pairs + g.tally.cell_pairs),
         aged = (double)(old.tally.particle_pairs + old.tally.cell_pairs);
  snprintf(what, sizeof what, "%.0f interactions on the new tree, %.0f on the old", fresh, aged);
  say(active_old == active && (be != &backend_cpu || !is_thick(set) || fresh < 0.97 * aged), what);
  rig_close(&old);
  memory_free(got);
  direct_close(&d);
  particles_free(&now);
  particles_free(&before);
  particles_free(&after);
  rig_close(&g);
}

/* The fast particles fly towards a point and nearly meet there at the tick: their earlier order is of no use. The
 * particles of the other tree are unchanged. */
static void converge_fast(struct rig *rig, int32_t tick, double tick_length)
{
  const double point[3] = {0.3, 0.25, 0.2};
  struct particles p;
  rig->be->download(rig->dev, &p);
  for (int64_t k = 0; k < 3 * p.n; k++) {
    int64_t i = k / 3;
    double dt = (tick - p.tick[i]) * tick_length;
    if (is_fast(p.id[i])) p.vel[k] = 0.9 * (point[k % 3] - p.pos[k]) / dt - 0.5 * dt * p.acc_hard[k];
  }
  rig->be->upload(rig->dev, &p);
  rig->be->tree.sources(rig->dev);
}

/* The request for LETs of the fast particles for those whose steps end at `tick`. */
static struct let_request fast_request(const struct mac *mac, int32_t tick, double tick_length)
{
  return (struct let_request){.mac = mac,
                              .part = LET_OF_FAST,
                              .cutoff = -1,
                              .horizon = TICKS / 8 * tick_length,
                              .tick = tick,
                              .tick_length = tick_length,
                              .active = 1};
}

/* How many particles whose steps end at the tick are in none of the boxes there or at the end of the horizon. */
static int64_t outside_of(const struct particles *p, const struct let_request *request, const struct let_box *box,
                          int count)
{
  int64_t outside = 0;
  for (int64_t i = 0; i < p->n; i++) {
    int in = timeline_end(p, i) != request->tick;
    double dt = (request->tick - p->tick[i]) * request->tick_length;
    for (int b = 0; b < count && !in; b++) {
      in = 1;
      for (int c = 0; c < 3; c++) {
        double a = p->acc_hard[3 * i + c], v = p->vel[3 * i + c] + dt * a;
        double x = p->pos[3 * i + c] + (p->vel[3 * i + c] + 0.5 * dt * a) * dt;
        double there = x + (v - box[b].v[c]) * request->horizon;
        in &= x >= box[b].low[c] && x <= box[b].high[c] && there >= box[b].low[c] - 1e-6 &&
              there <= box[b].high[c] + 1e-6;
      }
    }
    outside += !in;
  }
  return outside;
}

/* Boxes of the request that were begun before a build, of these particles. */
static void check_begun_boxes(const struct rig *rig, const struct let_request *request, const struct particles *p)
{
  char what[150];
  struct let_box box[BOXES];
  int count = rig->be->let->boxes(rig->dev, request, BOXES, box);
  int64_t lost = outside_of(p, request, box, count);
  snprintf(what, sizeof what, "tick %d / 8: %d boxes, begun before the build, hold the active particles (%lld not)",
           request->tick / (TICKS / 8), count, (long long)lost);
  say(count > 0 && lost == 0, what);
}

/* Two trees; then the tree of the fast particles alone is renewed for the next of their steps, which has the forces of
 * the predicted positions; and another time, at which it is the third. */
static void check_renewed(const struct backend *be, const struct set *set, int converging)
{
  enum { FAST = 1 << 3, THEN = 3 * (TICKS / 8), LAST = 5 * (TICKS / 8) };
  struct rig g;
  struct particles before, now;
  int64_t active, outside = 0;
  char what[150];
  snprintf(label, sizeof label, "%s, %s, fast apart and renewed%s", be->name, set->name, converging ? ", crowded" : "");
  struct mac mac = {MAC_ACCELERATION, 1, set->gravity, 1.0 / 512};
  double tick_length = begin(&g, be, set, &mac, 0);
  struct step_rule rule = {.eta = 1, .softening = set->softening, .soft_step = tick_length * TICKS};
  go_on(&g, &mac, tick_length, 1, FAST, &active);
  be->steps.correct(g.dev, NOW, tick_length, &rule, 3);
  struct particles p;
  by_id(be->view(g.dev), &p); /* all that were due have level 3 now: the others keep level 1 */
  int64_t due = 0;
  for (int64_t i = 0; i < set->n; i++) due += p.level[i] == 3;
  particles_free(&p);
  for (int32_t tick = THEN; tick <= (converging ? THEN : LAST); tick += TICKS / 8) {
    if (converging) converge_fast(&g, tick, tick_length);
    by_id(be->view(g.dev), &before);
    struct let_request request = fast_request(&mac, tick, tick_length);
    int begun = be->let && be->let->begin_boxes;
    if (begun) be->let->begin_boxes(g.dev, &request, BOXES);
    be->tree.reorder(g.dev, tick, tick_length, FAST, 1);
    be->tree.build(g.dev, everywhere[0], everywhere[1]);
    be->tree.groups(g.dev);
    if (begun) check_begun_boxes(&g, &request, &before);
    active = be->steps.select(g.dev, tick, tick_length, &outside);
    be->tree.moments(g.dev, &mac, tick, tick_length);
    struct walk_request r = hard_request(&g, &mac, tick, tick_length);
    be->forces.walk(g.dev, &r, &g.tally);
    by_id(&before, &now);
    predict(&now, tick, tick_length);
    struct direct d = direct_open(&now, set->gravity, set->softening, &g.split);
    const struct particles *v = be->view(g.dev);
    float(*got)[3] = memory_alloc("test", sizeof *got * (size_t)(set->n + 1));
    int64_t met = 0;
    for (int64_t i = 0; i < v->n; i++) {
      int64_t k = (int64_t)v->id[i] - 1;
      int is_active = before.tick[k] + timeline_ticks(before.level[k]) == tick;
      for (int c = 0; c < 3; c++) got[i][c] = is_active ? v->acc_hard[3 * i + c] : (float)d.acc[k][c];
      met += is_active;
    }
    struct errors e = errors_between(v, got[0], NULL, (const double(*)[3])d.acc, d.scale);
    snprintf(what, sizeof what, "tick %d / 8: forces of the predicted positions (median %.1e, 99 %% %.1e, worst %.1e)",
             tick / (TICKS / 8), e.median, e.most99, e.worst);
    say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2 && active == met && met >= due, what);
    be->steps.correct(g.dev, tick, tick_length, &rule, 3);
    memory_free(got);
    direct_close(&d);
    particles_free(&now);
    particles_free(&before);
  }
  rig_close(&g);
}

/* The forces of the particles whose steps end at a tick, after new trees of the bands from `from` on. */
static void check_forces_at(struct rig *rig, const struct set *set, const struct mac *mac, double tick_length,
                            int32_t tick, level_bands bands, int from)
{
  const struct backend *be = rig->be;
  struct particles before, now;
  int64_t outside = 0, met = 0;
  char what[150];
  by_id(be->view(rig->dev), &before);
  be->tree.reorder(rig->dev, tick, tick_length, bands, from);
  be->tree.build(rig->dev, everywhere[0], everywhere[1]);
  be->tree.groups(rig->dev);
  int64_t active = be->steps.select(rig->dev, tick, tick_length, &outside);
  be->tree.moments(rig->dev, mac, tick, tick_length);
  struct walk_request r = hard_request(rig, mac, tick, tick_length);
  be->forces.walk(rig->dev, &r, &rig->tally);
  by_id(&before, &now);
  predict(&now, tick, tick_length);
  struct direct d = direct_open(&now, set->gravity, set->softening, &rig->split);
  const struct particles *v = be->view(rig->dev);
  float(*got)[3] = memory_alloc("test", sizeof *got * (size_t)(v->n + 1));
  for (int64_t i = 0; i < v->n; i++) {
    int64_t k = (int64_t)v->id[i] - 1;
    int is_active = timeline_end(&before, k) == tick;
    for (int c = 0; c < 3; c++) got[i][c] = is_active ? v->acc_hard[3 * i + c] : (float)d.acc[k][c];
    met += is_active;
  }
  struct errors e = errors_between(v, got[0], NULL, (const double(*)[3])d.acc, d.scale);
  snprintf(what, sizeof what, "tick %d / 64, trees from band %d on: forces of %lld (median %.1e, 99 %% %.1e)",
           tick / (TICKS / 64), from, (long long)met, e.median, e.most99);
  say(e.finite && e.median <= 5e-3 && e.most99 <= 1.7e-2 && active == met, what);
  memory_free(got);
  direct_close(&d);
  particles_free(&now);
  particles_free(&before);
}

/* Sets in which forces change little within a step of a particle: cells move as by the forces before the corrections at
 * the tick of their moments. */
static int is_smooth(const struct set *set)
{
  return is_thick(set) || set->place == place_plane || set->place == place_contrast || set->n == 1;
}

/* Four bands of levels; particles choose their steps, so they change from band to band. Those bands whose steps end
 * have new trees at each tick, as in a schedule. */
static void check_bands(const struct backend *be, const struct set *set)
{
  enum { BANDS = 1 << 3 | 1 << 4 | 1 << 5, TIMES = 24 };
  struct rig g;
  int seen[BANDS_MAX] = {0};
  snprintf(label, sizeof label, "%s, %s, four bands", be->name, set->name);
  struct mac mac = {MAC_ACCELERATION, 1, set->gravity, 1.0 / 512};
  double tick_length = begin(&g, be, set, &mac, 0);
  struct step_rule rule = {.eta = 0.3, .softening = set->softening, .soft_step = tick_length * TICKS};
  check_forces_at(&g, set, &mac, tick_length, NOW, 0, 0);
  be->steps.correct(g.dev, NOW, tick_length, &rule, -1);
  int32_t tick = be->steps.next_tick(g.dev), built = 0;
  for (int k = 0; k < TIMES && tick < TICKS; k++) {
    int from = built == 0 ? 0 : band_of_level(BANDS, timeline_coarsest(built, tick));
    seen[from]++;
    check_forces_at(&g, set, &mac, tick_length, tick, BANDS, from);
    be->steps.correct(g.dev, tick, tick_length, &rule, -1);
    built = tick;
    tick = be->steps.next_tick(g.dev);
  }
  char what[100];
  snprintf(what, sizeof what, "trees from each band on: %d, %d, %d, %d times", seen[0], seen[1], seen[2], seen[3]);
  say(!is_thick(set) || (seen[0] > 0 && seen[1] + seen[2] > 0 && seen[3] > 0), what);
  rig_close(&g);
}

/* The most interactions of a target in a substep where the few fast particles are everywhere among the slow ones. */
static double most_of_sparse(const struct backend *be, level_bands bands)
{
  static const struct set set = {"", 20000, 1, 0.0125, 0.14, 0.28, place_plummer};
  struct rig g;
  struct mac mac = {MAC_ACCELERATION, 1, set.gravity, 1.0 / 512};
  struct particles before, after;
  int64_t active;
  double tick_length = begin(&g, be, &set, &mac, 0), most = 0;
  by_id(be->view(g.dev), &before);
  by_id(go_on(&g, &mac, tick_length, 1, bands, &active), &after);
  for (int64_t i = 0; i < set.n; i++) most = fmax(most, after.work[i] - before.work[i]);
  particles_free(&after);
  particles_free(&before);
  rig_close(&g);
  return most;
}

/* On a GPU a group of a tree of few fast particles may be much wider than groups of the tree of all particles. Its
 * targets are walked one by one. */
static void check_sparse(const struct backend *be)
{
  char what[150];
  snprintf(label, sizeof label, "%s, few fast particles", be->name);
  debug_set("few_groups", 0); /* groups are walked, not pieces of them */
  debug_set("few_pieces", 0);
  sparse = 400;
  double apart = most_of_sparse(be, 1 << 3), together = most_of_sparse(be, ONE_TREE);
  snprintf(what, sizeof what, "a target has at most %.0f interactions with a tree of them, %.0f without", apart,
           together);
  say(apart < 2 * together, what);
  sparse = 0;
  debug_set("few_groups", NAN);
  debug_set("few_pieces", NAN);
}

/* So many that a bucket of fast particles overflows, on a backend that uses buckets, when they come close together. */
static const struct set many = {"a Plummer sphere of 6000", 6000, 1, 0.0125, 0.14, 0.28, place_plummer};

static void check(const struct backend *be)
{
  if (getenv("TEST_SAMPLE")) {
    check_sparse(be);
    check_bands(be, &sets[2]);
    check_bands(be, &many);
    check_renewed(be, &many, 1);
    return;
  }
  for (int k = 0; k < SETS; k++)
    if (sets[k].place != place_point) check_set(be, &sets[k], k % 2, ONE_TREE); /* that one leaves its lattice */
  check_set(be, &sets[0], 1, ONE_TREE);
  check_set(be, &sets[1], 0, ONE_TREE);
  for (int k = 0; k < SETS; k++)
    if (sets[k].place != place_point) check_set(be, &sets[k], 0, 1 << 3);
  for (int k = 0; k < 3; k++) check_renewed(be, &sets[k], 0);
  check_renewed(be, &many, 1);
  for (int k = 0; k < SETS; k++)
    if (is_smooth(&sets[k])) check_bands(be, &sets[k]);
  check_bands(be, &many);
  check_sparse(be);
}

int main(void)
{
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
