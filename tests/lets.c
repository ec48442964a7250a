/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs of several ranks in one process, on every backend: each rank has a device of its own, and messages are copied
 * from one to the other. Forces at a synchronisation and in substeps against the direct sum. With arguments: the name
 * of one backend; "short" for one small set, for sanitizers. */
#include <config.h>
#include "backend/let_verbs.h"
#include "base/debug.h"
#include "house.h"
#include "particles/timeline.h"

enum { SUBSTEPS = 10, MOMENT_UPDATE = TICKS / 8 };

static const char *only;
static int brief;

/* The same forces once more from the same LETs, in other parts. */
static uint64_t again(struct house *house, const struct mac *mac, double a_floor, enum parting parting)
{
  struct walk_request q = {
      .kind = WALK_TOTAL, .mac = *mac, .a_floor = a_floor, .split = house->split, .let = LET_SOFT, .potential = 1};
  for (int r = 0; r < house->ranks; r++) walk(house, r, q, parting);
  return bits(house);
}

static void check_start(struct house *house, double delta)
{
  struct particles all;
  struct errors e[3];
  struct mac angle = mac_of(house, MAC_ANGLE, 0.7), mac = mac_of(house, MAC_ACCELERATION, delta);
  set_make(house->set, 0, &all);
  struct direct d = direct_open(&all, house->set->gravity, house->set->softening, &house->split);
  force(house, &angle, LOCAL_FIRST);
  double a_floor = house->a_floor;
  force(house, &mac, LOCAL_FIRST);
  compare(house, &d, e);
  char what[160];
  snprintf(what, sizeof what, "acceleration (LETs of %lld cells, %lld particles, %d summaries)",
           (long long)house->received.cells, (long long)house->received.particles, house->tops);
  say(e[0].finite && e[0].median < 5e-3 && e[0].most99 < 1.7e-2 && house->tally.targets == house->set->n, house, what,
      &e[0]);
  if (house->set->place == place_apart)
    say(house->tops == house->ranks * house->ranks / 2, house, "roots are enough for spheres apart", NULL);
  say(e[1].finite && e[1].median < 5e-3 && e[1].most99 < 1.7e-2, house, "hard part", &e[1]);
  say(e[2].finite && e[2].most99 < 5e-3, house, "potential", &e[2]);
  uint64_t first = bits(house);
  say(again(house, &mac, a_floor, LOCAL_FIRST) == first && again(house, &mac, a_floor, ONE_BY_ONE) == first &&
          again(house, &mac, a_floor, WHOLE) == first,
      house, "how the forest is parted changes no bit", NULL);
  direct_close(&d);
  particles_free(&all);
}

/* --- substeps ---------------------------------------------------------------------------------------------------- */

/* Positions of all particles at a tick (active ones are there already); the mass is the fourth component. */
static double (*all_particles(const struct house *house, int32_t tick, double tick_length))[4]
{
  double(*all)[4] = memory_alloc("test", sizeof *all * (size_t)count_all(house));
  int64_t at = 0;
  for (int r = 0; r < house->ranks; r++) {
    const struct particles *p = house->be->view(house->side[r].dev);
    for (int64_t i = 0; i < p->n; i++, at++) {
      double dt = ends_at(p, i, tick) ? 0 : (tick - p->tick[i]) * tick_length;
      for (int c = 0; c < 3; c++)
        all[at][c] = p->pos[3 * i + c] + (p->vel[3 * i + c] + 0.5 * dt * p->acc_hard[3 * i + c]) * dt;
      all[at][3] = p->mass[i];
    }
  }
  return all;
}

/* Error of the hard acceleration of a particle against the sum over all particles, relative to its full
 * acceleration. */
static double hard_error(const struct house *house, double (*all)[4], int64_t n, const double at[3], const float got[3])
{
  double acc[3] = {0}, hard[3] = {0}, e2 = 0, a2 = 0, eps2 = house->set->softening * house->set->softening;
  for (int64_t j = 0; j < n; j++) {
    double dx[3] = {all[j][0] - at[0], all[j][1] - at[1], all[j][2] - at[2]};
    double r2 = dx[0] * dx[0] + dx[1] * dx[1] + dx[2] * dx[2], rho2 = r2 + eps2,
           w = house->set->gravity * all[j][3] / (rho2 * sqrt(rho2));
    double k =
        !house->split.on || r2 < (double)house->split.r2 * house->split.r2 ? direct_k(&house->split, sqrt(r2)) : 0;
    for (int c = 0; c < 3; c++) {
      acc[c] += w * dx[c];
      hard[c] += k * w * dx[c];
    }
  }
  for (int c = 0; c < 3; c++) {
    e2 += pow(got[c] - hard[c], 2);
    a2 += acc[c] * acc[c];
  }
  return sqrt(e2) / (a2 > 1e-12 * house->a_rms * house->a_rms ? sqrt(a2) : house->a_rms > 0 ? house->a_rms : 1);
}

/* Results of substeps. */
struct found {
  double *error;
  int64_t errors, corrections, late;
  int unannounced;  /* updates of particles at another tick than announced */
  int long_updates; /* longer than updates.bytes_max */
};

static void correct(struct house *house, int r, int32_t tick, double tick_length, const struct step_rule *rule,
                    int64_t n, double (*all)[4], struct found *found, const struct mac *mac)
{
  struct device *dev = house->side[r].dev;
  struct walk_request q = {.kind = WALK_HARD,
                           .mac = *mac,
                           .a_floor = house->a_floor,
                           .split = house->split,
                           .let = LET_STEP,
                           .tick = tick,
                           .tick_length = tick_length};
  walk(house, r, q, r % 2 ? LOCAL_FIRST : ONE_BY_ONE);
  const struct particles *p = house->be->view(dev);
  for (int64_t i = 0; i < p->n; i++)
    if (ends_at(p, i, tick))
      found->error[found->errors++] = hard_error(house, all, n, &p->pos[3 * i], &p->acc_hard[3 * i]);
  house->be->steps.correct(dev, tick, tick_length, rule, -1);
  house->be->let->updates.violations(dev, &found->late);
}

static void send_update(struct house *house, int from, int to, int32_t tick, struct found *found)
{
  void *message;
  int32_t announced = house->side[from].next[to];
  size_t bytes = house->be->let->updates.pack(house->side[from].dev, to, tick, tick % MOMENT_UPDATE == 0,
                                              &house->side[from].next[to], &message);
  if (bytes == 0) return;
  found->long_updates += bytes > house->be->let->updates.bytes_max(house->side[from].dev, to);
  /* a message may be anywhere in host memory, and is valid during the call only */
  char *copy = memory_alloc("test", bytes);
  memcpy(copy, message, bytes);
  int64_t entries = house->be->let->updates.apply(house->side[to].dev, from, copy, bytes);
  memset(copy, 0xff, bytes);
  memory_free(copy);
  found->corrections += entries;
  found->unannounced += entries > 0 && tick != announced;
}

static void say_substeps(const struct house *house, int32_t tick, const struct found *found, double max_value)
{
  struct errors e = errors_of(found->error, found->errors);
  char what[200];
  snprintf(what, sizeof what,
           "hard forces in substeps up to %.3f (LETs of %lld cells, %lld particles, %lld corrections sent, worst %.1e)",
           tick / (double)TICKS, (long long)house->received.cells, (long long)house->received.particles,
           (long long)found->corrections, e.worst);
  say(e.finite && found->errors > 0 && (max_value > 0 ? e.worst < max_value : e.median < 5e-3 && e.most99 < 1.7e-2) &&
          found->corrections > 0,
      house, what, &e);
  snprintf(what, sizeof what,
           "corrections are sent at the announced ticks (%d not), updates are within their bound (%d not), %lld late",
           found->unannounced, found->long_updates, (long long)found->late);
  say(found->unannounced == 0 && found->long_updates == 0 &&
          (found->late == 0 || house->set->place == place_coincident),
      house, what, NULL);
}

static void check_substeps(struct house *house, double delta, double soft_step, double max_value)
{
  struct mac mac = mac_of(house, MAC_ACCELERATION, delta);
  struct step_rule rule = {.eta = 0.5, .softening = house->set->softening, .soft_step = soft_step};
  double tick_length = soft_step / TICKS;
  struct let_request request = {.mac = &mac,
                                .a_floor = house->a_floor,
                                .a_typical = house->a_rms,
                                .cutoff = house->split.on ? house->split.r2 : -1,
                                .horizon = soft_step,
                                .tick_length = tick_length};
  struct found f = {.error = memory_alloc("test", sizeof *f.error * SUBSTEPS * (size_t)house->set->n)};
  int64_t outside = 0, n = count_all(house);
  int32_t tick = 0;
  for (int r = 0; r < house->ranks; r++) {
    struct device *dev = house->side[r].dev;
    house->be->steps.levels(dev, &rule, -1);
    house->be->steps.kick(dev, &(struct field){0}, 0.5 * soft_step);
    house->be->tree.sources(dev);
    house->be->tree.moments(dev, &mac, 0, 0);
  }
  exchange(house, LET_STEP, &request);
  for (int k = 0; k < SUBSTEPS; k++) {
    int32_t next = (tick / MOMENT_UPDATE + 1) * MOMENT_UPDATE;
    int64_t active[RANKS_MAX];
    for (int r = 0; r < house->ranks; r++) {
      int32_t own = house->be->steps.next_tick(house->side[r].dev);
      next = own < next ? own : next;
    }
    if (next == TICKS) break;
    tick = next;
    for (int r = 0; r < house->ranks; r++)
      active[r] = house->be->steps.select(house->side[r].dev, tick, tick_length, &outside);
    double(*all)[4] = all_particles(house, tick, tick_length);
    for (int r = 0; r < house->ranks && tick % MOMENT_UPDATE == 0; r++)
      house->be->tree.moments(house->side[r].dev, &mac, tick, tick_length);
    if (tick == 4 * MOMENT_UPDATE) { /* LETs are selected again in the middle */
      request.tick = tick;
      request.horizon = (TICKS - tick) * tick_length;
      exchange(house, LET_STEP, &request);
    }
    for (int r = 0; r < house->ranks; r++)
      if (active[r] > 0) correct(house, r, tick, tick_length, &rule, n, all, &f, &mac);
    for (int s = 0; s < house->ranks; s++)
      for (int r = 0; r < house->ranks; r++)
        if (s != r && house->side[s].asked_by[r]) send_update(house, s, r, tick, &f);
    memory_free(all);
  }
  say_substeps(house, tick, &f, max_value);
  memory_free(f.error);
}

/* --- boxes ------------------------------------------------------------------------------------------------------- */

/* Every particle is in a box, from the start of the horizon to its end; extremes over all boxes are those over all
 * particles. */
static void check_boxes(const struct backend *be, const struct set *set)
{
  enum { BOXES = 16 };
  struct particles p;
  struct rig g;
  struct let_box box[BOXES];
  double horizon = 0.1, min_value[2] = {1e300, 1e300}, max_value[2] = {0, 0};
  int out = 0;
  set_make(set, 5, &p);
  rig_open(&g, be, set, &p, 1, 8, 32);
  const struct particles *v = rig_first_force(&g, 1.0 / 512);
  struct let_request q = {.cutoff = 0.1, .horizon = horizon, .tick_length = horizon / TICKS};
  be->tree.sources(g.dev);
  int count = be->let->boxes(g.dev, &q, BOXES, box);
  for (int b = 0; b < count; b++) {
    min_value[0] = fmin(min_value[0], box[b].a_old);
    max_value[0] = fmax(max_value[0], box[b].a_spread);
  }
  for (int64_t i = 0; i < v->n; i++) {
    int in = 0;
    for (int b = 0; b < count && !in; b++) {
      in = 1;
      for (int c = 0; c < 3; c++) {
        double x = v->pos[3 * i + c], there = x + (v->vel[3 * i + c] - box[b].v[c]) * horizon;
        in &= x >= box[b].low[c] && x <= box[b].high[c] && there >= box[b].low[c] - 1e-6 &&
              there <= box[b].high[c] + 1e-6;
      }
    }
    out += !in;
    const float *a = &v->acc[3 * i], *h = &v->acc_hard[3 * i];
    min_value[1] = fmin(min_value[1], sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]));
    max_value[1] = fmax(max_value[1], sqrt((double)h[0] * h[0] + (double)h[1] * h[1] + (double)h[2] * h[2]));
  }
  char line[200];
  snprintf(line, sizeof line,
           "%s: %d boxes hold all particles to the end of the horizon (%d outside), and have their extremes", label,
           count, out);
  tap_ok(count == BOXES && out == 0 && fabs(min_value[0] - min_value[1]) < 1e-6 * min_value[1] &&
             fabs(max_value[0] - max_value[1]) < 1e-6 * max_value[1],
         line);
  rig_close(&g);
}

/* --- trajectories ------------------------------------------------------------------------------------------------ */

/* A velocity change beyond the motion bound of the LETs is a prediction-bound violation; before it there is none. */
static void check_violations(const struct backend *be, const struct set *set)
{
  struct house h;
  double soft_step = 0.01, tick_length = soft_step / TICKS;
  struct step_rule rule = {.eta = 0.5, .softening = set->softening, .soft_step = soft_step};
  int64_t violations[2] = {0, 0}, late[2] = {0, 0}, outside = 0;
  for (int wild = 0; wild < 2; wild++) {
    house_open(&h, be, set, 2, 1);
    struct mac mac = mac_of(&h, MAC_ACCELERATION, 1.0 / 512), angle = mac_of(&h, MAC_ANGLE, 0.7);
    force(&h, &angle, WHOLE);
    struct let_request request = {.mac = &mac,
                                  .a_floor = h.a_floor,
                                  .a_typical = h.a_rms,
                                  .cutoff = set->r2,
                                  .horizon = soft_step,
                                  .tick_length = tick_length};
    for (int r = 0; r < 2; r++) {
      be->steps.levels(h.side[r].dev, &rule, 2);
      be->tree.sources(h.side[r].dev);
      be->tree.moments(h.side[r].dev, &mac, 0, 0);
    }
    exchange(&h, LET_STEP, &request);
    /* velocities that LETs do not contain: within half a soft step they lead to twice the motion bound */
    if (wild) be->steps.kick(h.side[0].dev, &(struct field){0}, 40 * soft_step);
    for (int r = 0; r < 2; r++) {
      be->steps.select(h.side[r].dev, TICKS / 4, tick_length, &outside);
      be->steps.correct(h.side[r].dev, TICKS / 4, tick_length, &rule, 2);
      violations[wild] += be->let->updates.violations(h.side[r].dev, &late[wild]);
    }
    if (wild) late[1] = late[1] > 0;
    house_close(&h);
  }
  char line[200];
  snprintf(line, sizeof line, "%s: %lld violations among unperturbed particles, %lld of %lld after a kick", label,
           (long long)violations[0], (long long)violations[1], (long long)set->n);
  tap_ok(violations[0] == 0 && late[0] == 0 && violations[1] > set->n / 4 && late[1] > 0, line);
}

/* --- few active particles ---------------------------------------------------------------------------------------- */

/* One in 300 has steps that end at a quarter of the soft step. */
static void choose_few(const struct house *house, const struct mac *mac)
{
  for (int r = 0; r < house->ranks; r++) {
    struct device *dev = house->side[r].dev;
    struct particles p;
    house->be->download(dev, &p);
    for (int64_t i = 0; i < p.n; i++) p.level[i] = p.id[i] % 300 == 0 ? 2 : 1;
    house->be->upload(dev, &p);
    house->be->tree.sources(dev);
    house->be->tree.moments(dev, mac, 0, 0);
  }
}

/* One in 300 is active, without a split: forces from the local trees and from LETs, twice. `never`: without warp
 * teams. */
static int64_t few_active(const struct backend *be, const struct set *set, int order, int never, struct errors *errors,
                          int *same, struct tally *tally)
{
  struct house h;
  int64_t outside = 0, count = 0, active = 0;
  double soft_step = 0.02, tick_length = soft_step / TICKS;
  int32_t tick = TICKS / 4;
  if (never) debug_set("few_pieces", 0);
  house_open(&h, be, set, 3, order);
  debug_set("few_pieces", NAN);
  h.split.on = 0;
  struct mac mac = mac_of(&h, MAC_ACCELERATION, 1.0 / 512), angle = mac_of(&h, MAC_ANGLE, 0.7);
  force(&h, &angle, LOCAL_FIRST);
  force(&h, &mac, LOCAL_FIRST);
  struct let_request request = {.mac = &mac,
                                .a_floor = h.a_floor,
                                .a_typical = h.a_rms,
                                .cutoff = -1,
                                .horizon = soft_step,
                                .tick_length = tick_length};
  choose_few(&h, &mac);
  exchange(&h, LET_STEP, &request);
  for (int r = 0; r < h.ranks; r++) active += be->steps.select(h.side[r].dev, tick, tick_length, &outside);
  double(*all)[4] = all_particles(&h, tick, tick_length),
  *error = memory_alloc("test", sizeof *error * (size_t)(active + 1));
  float(*first)[3] = memory_alloc("test", sizeof *first * (size_t)(active + 1));
  memset(&h.tally, 0, sizeof h.tally);
  *same = 1;
  for (int time = 0; time < 2; time++) {
    if (time) *tally = h.tally;
    count = 0;
    for (int r = 0; r < h.ranks; r++) {
      struct walk_request q = {.kind = WALK_HARD,
                               .mac = mac,
                               .a_floor = h.a_floor,
                               .split = h.split,
                               .let = LET_STEP,
                               .tick = tick,
                               .tick_length = tick_length};
      walk(&h, r, q, r % 2 == time ? ONE_BY_ONE : LOCAL_FIRST);
      const struct particles *p = be->view(h.side[r].dev);
      for (int64_t i = 0; i < p->n; i++) {
        if (!ends_at(p, i, tick) || count == active) continue;
        if (time) *same &= memcmp(first[count], &p->acc_hard[3 * i], sizeof *first) == 0;
        error[count] = hard_error(&h, all, set->n, &p->pos[3 * i], &p->acc_hard[3 * i]);
        memcpy(first[count++], &p->acc_hard[3 * i], sizeof *first);
      }
    }
  }
  *errors = errors_of(error, count);
  memory_free(first);
  memory_free(error);
  memory_free(all);
  house_close(&h);
  return count;
}

static void check_few(const struct backend *be, const struct set *set, int order)
{
  const struct house h = {.set = set, .ranks = 3, .order = order};
  struct errors e[2];
  struct tally tally[2];
  int same[2], warp_teams = be != &backend_cpu, good = 1;
  char what[200];
  for (int never = 0; never < 2; never++) {
    int64_t count = few_active(be, set, order, never, &e[never], &same[never], &tally[never]);
    good &= count == set->n / 300 && tally[never].targets == count && e[never].finite && e[never].median < 5e-3 &&
            e[never].most99 < 1.7e-2;
  }
  int other = tally[0].tests != tally[1].tests || tally[0].cell_pairs != tally[1].cell_pairs;
  snprintf(what, sizeof what, "%lld active%s, and as many are", (long long)tally[0].targets,
           warp_teams ? ", walked by warp teams" : "");
  say(good, &h, what, &e[0]);
  snprintf(what, sizeof what, "the same bits in other parts%s",
           warp_teams ? "; warp teams have a different tally" : "");
  say(same[0] && same[1] && other == warp_teams, &h, what, NULL);
}

/* --- all --------------------------------------------------------------------------------------------------------- */

/* What a LET for some boxes holds: of all, or of what comes within R2. */
static struct let_count count_of(const struct backend *be, const struct set *set, enum let_kind kind)
{
  const struct let_box box[2] = {{{0.3, -1, -1}, {0.6, 1, 1}, 1, {0}, 1},
                                 {{0.3, 0, 0}, {1.3, 1, 0.5}, 0.3, {0.1, 0, -0.2}, 0.1}};
  struct let_count count = {0, 0};
  struct particles p;
  struct rig g;
  struct let_choice c = {.boxes = box, .box_count = 2};
  set_make(set, 0.7, &p);
  rig_open(&g, be, set, &p, 1, 8, 32);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 64);
  rig_first_force(&g, 1.0 / 64);
  struct let_request q = {.mac = &mac, .a_typical = 1, .cutoff = -1};
  if (kind == LET_STEP) {
    q.cutoff = set->r2;
    q.horizon = 0.05;
    q.tick_length = 0.05 / TICKS;
  }
  be->let->select(g.dev, kind, &q, 1, &c);
  memcpy(be->let->buffer(g.dev, kind, 0, c.bytes), c.message, c.bytes);
  be->let->attach(g.dev, kind, 0, c.bytes, &count);
  rig_close(&g);
  return count;
}

/* Bytes of an update from its request and its entries, as studies count them, are those of the device that has the
 * LET. */
static void check_update_bytes(const struct backend *be, const struct set *set, int order)
{
  const struct let_box box = {{0.3, -1, -1}, {0.6, 1, 1}, 1, {0}, 1};
  struct particles p;
  struct rig g;
  struct let_choice c = {.boxes = &box, .box_count = 1};
  int64_t at_level[32];
  if (!be->let->updates.bytes) return;
  set_make(set, 0.7, &p);
  rig_open(&g, be, set, &p, order, 8, 32);
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 64);
  rig_first_force(&g, 1.0 / 64);
  struct let_request q = {.mac = &mac, .a_typical = 1, .cutoff = -1, .horizon = 0.05, .tick_length = 0.05 / TICKS};
  be->let->select(g.dev, LET_STEP, &q, 1, &c);
  struct let_count size = be->let->entries(g.dev, LET_STEP, 0, at_level);
  size_t counted = be->let->updates.bytes(&q, size.particles, size.cells), most = be->let->updates.bytes_max(g.dev, 0);
  char line[200];
  snprintf(line, sizeof line, "%s, order %d: an update of %lld cells and %lld particles has %zu bytes, counted %zu",
           label, order, (long long)size.cells, (long long)size.particles, most, counted);
  tap_ok(size.cells > 0 && size.particles > 0 && counted == most, line);
  rig_close(&g);
}

/* For the same boxes all backends choose the same, but for rounding. */
static void check_counts(const struct backend *be, const struct set *set, enum let_kind kind)
{
  debug_set("let_sparing", 0); /* the choice that all backends have in common */
  struct let_count own = count_of(be, set, kind), host = count_of(&backend_cpu, set, kind);
  debug_set("let_sparing", NAN);
  char line[200];
  snprintf(line, sizeof line, "%s, %s: a %s LET of %lld cells and %lld particles, on the host %lld and %lld", label,
           set->name, kind == LET_STEP ? "hard" : "soft", (long long)own.cells, (long long)own.particles,
           (long long)host.cells, (long long)host.particles);
  tap_ok(fabs((double)own.cells / (double)host.cells - 1) < 0.01 &&
             fabs((double)own.particles / (double)host.particles - 1) < 0.01,
         line);
}

static void check_set(const struct backend *be, const struct set *set, int ranks, int order, int split, double delta,
                      double max_value)
{
  struct house h;
  struct set s = *set;
  if (s.n > 1500) s.n = 1500;
  house_open(&h, be, &s, ranks, order);
  h.split.on = split;
  check_start(&h, delta);
  check_substeps(&h, delta, 0.3 * s.r2 / (0.7 * sqrt(s.gravity)), max_value);
  house_close(&h);
}

static void check(const struct backend *be)
{
  const struct set apart = {"spheres apart", 1500, 1, 0.0125, 0.14, 0.28, place_apart};
  const double delta = 1.0 / 512;
  snprintf(label, sizeof label, "%s", be->name);
  if (only && strcmp(only, be->name) != 0) return;
  if (brief) {
    struct set few = sets[1];
    few.n = 500;
    check_set(be, &few, 3, 1, 1, delta, 0);
    return;
  }
  check_set(be, &sets[0], 3, 1, 1, delta, 0);
  check_set(be, &sets[1], 3, 2, 1, delta, 0);
  check_set(be, &sets[2], 5, 1, 1, delta, 0);
  check_set(be, &apart, 4, 1, 1, delta, 0);
  check_set(be, &sets[4], 2, 1, 1, delta, 0);
  check_set(be, &sets[0], 4, 2, 1, 1e-9, 1e-4);
  check_set(be, &sets[0], 3, 1, 0, delta, 0);
  house_mixed = be->softens_by_type;
  if (house_mixed) snprintf(label, sizeof label, "%s, two softenings", be->name);
  for (int k = 0; k < 3 && house_mixed; k++) check_set(be, &sets[k], 3, 1 + k % 2, k < 2, delta, 0);
  house_mixed = 0;
  snprintf(label, sizeof label, "%s", be->name);
  check_set(be, &sets[2], 2, 2, 0, delta, 0);
  for (int order = 1; order <= 2; order++) {
    check_few(be, &sets[0], order);
    check_update_bytes(be, &sets[0], order);
  }
  check_counts(be, &sets[0], LET_SOFT);
  check_counts(be, &sets[0], LET_STEP);
  check_boxes(be, &sets[0]);
  check_violations(be, &sets[0]);
}

int main(int argc, char **argv)
{
  only = argc > 1 ? argv[1] : NULL;
  brief = argc > 2 && strcmp(argv[2], "short") == 0;
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
