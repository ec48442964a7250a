/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs of substeps against all pairs: at every substep of a collision at speed, each particle of another rank within R2
 * of a target is in the LET that the target's rank has, alone or in a cell; and LETs have few entries beyond the
 * particles that can come that near. Ranks are devices of one process (tests/house.h). The CPU backend, whose LETs can
 * be looked into. */
#include <config.h>
#include "backend/let_verbs.h"
#include "base/debug.h"
#include "cpu/device.h"
#include "house.h"
#include "particles/timeline.h"

enum { SUBSTEPS = 40, MOMENT_UPDATE = TICKS / 8, HALF = 4 * MOMENT_UPDATE };

/* Two spheres side by side. */
static void place_pair(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  place_plummer(random, i, n, x, mass);
  for (int c = 0; c < 3; c++) x[c] *= 0.5;
  x[0] += i % 2 ? 0.9 : -0.9;
  x[1] += i % 2 ? 0.1 : 0;
}

/* What a run has shown. */
struct seen {
  int64_t pairs, missed, late, entries, needed;
  int contacts, true_contacts, substeps, bad_links;
};

/* Particles of rank s that the LET for rank r has, alone or in cells. */
static uint8_t *held(const struct house *house, int s, int r, struct seen *seen)
{
  struct device *d = house->side[s].dev;
  const struct let *l = cpu_let(d, LET_STEP, r);
  uint8_t *mark = memory_alloc("test", (size_t)d->p.n + 1);
  int32_t child = l->sent.nodes > 0, particle = 0;
  if (!house->side[s].asked_by[r]) return mark;
  for (int32_t k = 0; k < l->sent.source.n; k++) mark[l->source_from[k]] = 1;
  for (int32_t k = 0; k < l->sent.nodes; k++) {
    const struct node *n = &l->sent.node[k];
    const struct range *of = &d->local.range[l->node_from[k]];
    int32_t count = (int32_t)(n->info & NODE_COUNT);
    if (n->info & NODE_TERMINAL) memset(mark + of->begin, 1, (size_t)(of->end - of->begin));
    seen->bad_links += count > 0 && n->first != (n->info & NODE_LEAF ? particle : child);
    if (n->info & NODE_LEAF) particle += count;
    else child += count;
  }
  seen->bad_links += child != l->sent.nodes || particle != l->sent.source.n;
  return mark;
}

/* Position of a particle at a tick and its velocity. */
static void predict(const struct particles *particles, int64_t i, int32_t tick, double tick_length, double x[3],
                    double v[3])
{
  /* active ones are there already */
  double dt = ends_at(particles, i, tick) ? 0 : (tick - particles->tick[i]) * tick_length;
  for (int c = 0; c < 3; c++) {
    x[c] = particles->pos[3 * i + c] + (particles->vel[3 * i + c] + 0.5 * dt * particles->acc_hard[3 * i + c]) * dt;
    v[c] = particles->vel[3 * i + c] + dt * particles->acc_hard[3 * i + c];
  }
}

/* Smallest distance, squared, of two particles on straight lines within the time `horizon`. */
static double nearest2(const double x[3], const double v[3], double horizon)
{
  double xv = x[0] * v[0] + x[1] * v[1] + x[2] * v[2], v2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2], r2 = 0;
  double t = v2 > 0 ? fmin(fmax(-xv / v2, 0), horizon) : 0;
  for (int c = 0; c < 3; c++) r2 += (x[c] + v[c] * t) * (x[c] + v[c] * t);
  return r2;
}

/* Compare the LETs with all pairs of targets of rank r and particles of rank s. `horizon` positive: count those that
 * are needed. */
static void check_ranks(const struct house *house, int s, int r, int32_t tick, double tick_length, double horizon,
                        int active, struct seen *seen)
{
  const struct particles *p = house->be->view(house->side[r].dev), *q = house->be->view(house->side[s].dev);
  uint8_t *mark = held(house, s, r, seen);
  double limit2 = (double)house->split.r2 * house->split.r2,
         (*x)[2][3] = memory_alloc("test", sizeof *x * (size_t)(p->n + 1));
  int64_t needed = 0;
  for (int64_t i = 0; i < p->n; i++) predict(p, i, tick, tick_length, x[i][0], x[i][1]);
  for (int64_t j = 0; j < q->n; j++) {
    double y[3], w[3];
    int near = 0;
    predict(q, j, tick, tick_length, y, w);
    for (int64_t i = 0; i < p->n; i++) {
      if (active && !ends_at(p, i, tick)) continue;
      double dx[3], dv[3];
      for (int c = 0; c < 3; c++) {
        dx[c] = y[c] - x[i][0][c];
        dv[c] = w[c] - x[i][1][c];
      }
      if (horizon > 0) near |= nearest2(dx, dv, horizon) <= limit2;
      if (dx[0] * dx[0] + dx[1] * dx[1] + dx[2] * dx[2] > limit2) continue;
      seen->pairs++;
      seen->missed += !mark[j];
    }
    needed += near;
  }
  if (horizon > 0) {
    struct device *d = house->side[s].dev;
    seen->contacts += house->side[s].asked_by[r];
    seen->true_contacts += needed > 0;
    seen->needed += needed;
    const struct let *l = cpu_let(d, LET_STEP, r);
    if (house->side[s].asked_by[r]) seen->entries += l->sent.nodes + l->sent.source.n;
  }
  memory_free(x);
  memory_free(mark);
}

static void check_all(const struct house *house, int32_t tick, double tick_length, double horizon, int active,
                      struct seen *seen)
{
  for (int s = 0; s < house->ranks; s++)
    for (int r = 0; r < house->ranks; r++)
      if (s != r) check_ranks(house, s, r, tick, tick_length, horizon, active, seen);
}

/* Let the two halves of the particles meet at `speed`. */
static void set_speeds(struct house *house, double speed)
{
  for (int r = 0; r < house->ranks; r++) {
    struct particles p;
    house->be->download(house->side[r].dev, &p);
    for (int64_t i = 0; i < p.n; i++) p.vel[3 * i] += (float)(p.id[i] % 2 ? speed : -speed);
    house->be->upload(house->side[r].dev, &p);
  }
}

/* The corrections of a tick, and updates to all ranks. */
static void correct_all(struct house *house, const struct mac *mac, const struct step_rule *rule, int32_t tick,
                        double tick_length, const int64_t *active, struct seen *seen)
{
  for (int r = 0; r < house->ranks; r++) {
    struct walk_request q = {.kind = WALK_HARD,
                             .mac = *mac,
                             .a_floor = house->a_floor,
                             .split = house->split,
                             .let = LET_STEP,
                             .tick = tick,
                             .tick_length = tick_length};
    if (active[r] == 0) continue;
    walk(house, r, q, LOCAL_FIRST);
    house->be->steps.correct(house->side[r].dev, tick, tick_length, rule, -1);
    seen->late += house->be->let->updates.violations(house->side[r].dev, &(int64_t){0});
  }
  for (int s = 0; s < house->ranks; s++)
    for (int r = 0; r < house->ranks; r++) {
      void *message;
      if (s == r || !house->side[s].asked_by[r]) continue;
      size_t bytes = house->be->let->updates.pack(house->side[s].dev, r, tick, tick % MOMENT_UPDATE == 0,
                                                  &house->side[s].next[r], &message);
      if (bytes > 0) house->be->let->updates.apply(house->side[r].dev, s, message, bytes);
    }
}

/* At a tick in the middle: LETs for the active particles alone, then again for the rest of the soft step. */
static void select_again(struct house *house, struct let_request request, int32_t tick, struct seen *seen)
{
  struct seen active = {0};
  request.tick = tick;
  request.horizon = request.tick_length;
  request.active = 1;
  exchange(house, LET_STEP, &request);
  check_all(house, tick, request.tick_length, 0, 1, &active);
  char what[200];
  snprintf(what, sizeof what,
           "LETs for active particles alone have all of %lld pairs of these (%lld are not, %d bad links)",
           (long long)active.pairs, (long long)active.missed, active.bad_links);
  tap_ok(active.pairs > 0 && active.missed == 0 && active.bad_links == 0, what);
  request.active = 0;
  request.horizon = (TICKS - tick) * request.tick_length;
  exchange(house, LET_STEP, &request);
  check_all(house, tick, request.tick_length, request.horizon, 0, seen);
}

static void check_collision(const struct set *set, int ranks, double speed, double soft_step, double eta)
{
  struct house h;
  struct seen e = {0};
  house_open(&h, &backend_cpu, set, ranks, 2);
  set_speeds(&h, speed);
  struct mac mac = mac_of(&h, MAC_ACCELERATION, 1.0 / 512), angle = mac_of(&h, MAC_ANGLE, 0.7);
  struct step_rule rule = {.eta = eta, .softening = set->softening, .soft_step = soft_step};
  double tick_length = soft_step / TICKS;
  int64_t outside = 0, active[RANKS_MAX];
  force(&h, &angle, LOCAL_FIRST);
  force(&h, &mac, LOCAL_FIRST);
  struct let_request request = {.mac = &mac,
                                .a_floor = h.a_floor,
                                .a_typical = h.a_rms,
                                .cutoff = h.split.r2,
                                .horizon = soft_step,
                                .tick_length = tick_length};
  for (int r = 0; r < ranks; r++) {
    h.be->steps.levels(h.side[r].dev, &rule, -1);
    h.be->tree.sources(h.side[r].dev);
    h.be->tree.moments(h.side[r].dev, &mac, 0, 0);
  }
  exchange(&h, LET_STEP, &request);
  check_all(&h, 0, tick_length, soft_step, 0, &e);
  for (int32_t tick = 0; e.substeps < SUBSTEPS; e.substeps++) {
    int32_t next = (tick / MOMENT_UPDATE + 1) * MOMENT_UPDATE;
    for (int r = 0; r < ranks; r++) {
      int32_t own = h.be->steps.next_tick(h.side[r].dev);
      next = own < next ? own : next;
    }
    if (next == TICKS) break;
    tick = next;
    for (int r = 0; r < ranks; r++) active[r] = h.be->steps.select(h.side[r].dev, tick, tick_length, &outside);
    for (int r = 0; r < ranks && tick % MOMENT_UPDATE == 0; r++)
      h.be->tree.moments(h.side[r].dev, &mac, tick, tick_length);
    check_all(&h, tick, tick_length, 0, 0, &e);
    if (tick == HALF) select_again(&h, request, tick, &e);
    correct_all(&h, &mac, &rule, tick, tick_length, active, &e);
  }
  char what[300];
  snprintf(what, sizeof what,
           "%d ranks, speed %g: all of %lld pairs within R2 in %d substeps are in LETs (%lld are not, %lld violations, "
           "%d bad links)",
           ranks, speed, (long long)e.pairs, e.substeps, (long long)e.missed, (long long)e.late, e.bad_links);
  tap_ok(e.pairs > 1000 && e.substeps >= 6 && e.missed == 0 && e.late == 0 && e.bad_links == 0, what);
  snprintf(what, sizeof what,
           "%d ranks, speed %g: %lld entries of LETs where %lld particles are needed; %d contacts, %d with a pair",
           ranks, speed, (long long)e.entries, (long long)e.needed, e.contacts, e.true_contacts);
  tap_ok((double)e.entries < 3 * (double)e.needed && e.contacts <= e.true_contacts + 6, what);
  house_close(&h);
}

int main(void)
{
  const struct set pair = {"two spheres that meet", 1400, 1, 0.02, 0.05, 0.1, place_pair},
                   one = {"Plummer", 1400, 1, 0.02, 0.05, 0.1, place_plummer};
  check_collision(&pair, 5, 10, 0.02, 0.01);
  check_collision(&pair, 5, 0, 0.1, 0.1);
  check_collision(&one, 4, 1, 0.05, 0.05);
  debug_set("let_sparing", 0);
  check_collision(&pair, 3, 5, 0.04, 0.02);
  debug_set("let_sparing", NAN);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
