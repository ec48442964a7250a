/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of LETs: what boxes need of nodes, all boxes together and one by one; and that no particle that comes near
 * is left out. */
#include <config.h>
#include <stdio.h>

#include "backend/let_verbs.h"
#include "base/debug.h"
#include "chance.h"
#include "cpu/device.h"
#include "gpu/let/choose.h"
#include "mpi/let/let.h"
#include "rig.h"
#include "tap.h"

enum { BOXES = 37, NODES = 20000 };

static double real(struct random *random, double low, double high) { return random_between(random, low, high); }

static struct let_box random_box(struct random *random)
{
  struct let_box b = {.a_old = real(random, 0.1, 3), .a_spread = real(random, 0, 2)};
  for (int c = 0; c < 3; c++) {
    b.low[c] = real(random, -1, 1);
    b.high[c] = b.low[c] + real(random, 0, 0.3);
    b.v[c] = real(random, -1, 1);
  }
  return b;
}

static void random_node(struct random *random, const struct mac *mac, struct node *node, struct motion *motion)
{
  node->mass = (float)real(random, 0, 0.01);
  node->b = (float)real(random, 0, 0.2);
  node->info = random_unit(random) < 0.2 ? NODE_LEAF | 1 : 4;
  node->reach = mac_reach(mac, node->mass, node->b, 0);
  for (int c = 0; c < 3; c++) {
    node->x[c] = (int32_t)real(random, 0, 2147483647.0);
    motion->v[c] = (float)real(random, -1, 1);
    motion->a[c] = (float)real(random, -1, 1);
  }
  motion->spread_v = (float)real(random, 0, 0.5);
  motion->spread_a = (float)real(random, 0, 0.5);
}

/* The need by a table is never smaller, and larger only within a margin. */
static void check_table(const struct walk_isa *isa, double cutoff, double horizon)
{
  struct random r = {.state = 1234};
  struct mac mac = {MAC_ACCELERATION, 1, 1, 1e-3};
  struct let_box box[BOXES];
  struct lattice l = lattice_cover((const double[3]){-3, -3, -3}, (const double[3]){3, 3, 3}, 0, 0);
  struct let_request q = {
      .boxes = box, .box_count = BOXES, .mac = &mac, .a_typical = 0.7, .cutoff = cutoff, .horizon = horizon};
  struct box_table t;
  int less = 0, more = 0, seen[3] = {0};
  for (int b = 0; b < BOXES; b++) box[b] = random_box(&r);
  essential_table(&t, &q);
  struct essential_query query = essential_query_of(&l, &t, &q);
  for (int k = 0; k < NODES; k++) {
    struct node n = {.first = 0};
    struct motion w;
    random_node(&r, &mac, &n, &w);
    struct essential_source a = essential_node(&query, &n, &w);
    enum need one = NEED_NOTHING, all = isa ? (enum need)isa->needs(&t, &a) : essential_needs(&t, &a);
    for (int b = 0; b < BOXES; b++) {
      enum need need = essential_need(&l, &n, &w, &box[b], &q);
      one = need > one ? need : one;
    }
    less += all < one;
    more += all > one;
    seen[all]++;
  }
  char what[160];
  snprintf(what, sizeof what,
           "%s, cutoff %g, horizon %g: as asked of one box after the other (%d less, %d more of %d; nothing %d, cell "
           "%d, open %d)",
           isa ? isa->name : "the scalar loop", cutoff, horizon, less, more, NODES, seen[0], seen[1], seen[2]);
  tap_ok(less == 0 && more < NODES / 1000 && seen[NEED_OPEN] > 100 && seen[NEED_CELL] > 100 &&
             (cutoff < 0 || seen[NEED_NOTHING] > 100),
         what);
}

/* What bounds some of the boxes leaves nothing out that one of them needs, and often rejects what none does. */
static void check_bound(double cutoff, double horizon)
{
  struct random r = {.state = 4321};
  struct mac mac = {MAC_ACCELERATION, 1, 1, 1e-3};
  struct let_box box[BOXES];
  struct lattice l = lattice_cover((const double[3]){-3, -3, -3}, (const double[3]){3, 3, 3}, 0, 0);
  struct let_request q = {
      .boxes = box, .box_count = BOXES, .mac = &mac, .a_typical = 0.1, .cutoff = cutoff, .horizon = horizon};
  struct box_table t;
  int lost = 0, rejected = 0, nothing = 0;
  for (int b = 0; b < BOXES; b++) box[b] = random_box(&r);
  essential_table(&t, &q);
  struct essential_query query = essential_query_of(&l, &t, &q);
  for (int from = 0; from < BOXES; from += 9) {
    int end = from + 9 < BOXES ? from + 9 : BOXES;
    struct box_bound bound = essential_bound(&t, from, end);
    for (int k = 0; k < NODES; k++) {
      struct node n = {.first = 0};
      struct motion w;
      enum need need = NEED_NOTHING;
      random_node(&r, &mac, &n, &w);
      struct essential_source a = essential_node(&query, &n, &w);
      for (int b = from; b < end; b++) {
        struct table_box one = essential_box(&t, b);
        enum need own = essential_of(&one, t.cutoff, &a);
        need = own > need ? own : need;
      }
      int beyond = essential_beyond(&bound, t.cutoff, &a);
      lost += beyond && need != NEED_NOTHING;
      rejected += beyond;
      nothing += need == NEED_NOTHING;
    }
  }
  char what[160];
  snprintf(what, sizeof what,
           "bounds of boxes, cutoff %g, horizon %g: %d rejected of %d that no box needs, %d that a box needs", cutoff,
           horizon, rejected, nothing, lost);
  tap_ok(lost == 0 && (cutoff < 0 ? rejected == 0 : rejected > 1000), what);
}

/* A light cell that the criterion accepts anywhere is opened for boxes nearer than its margin, of every form of the
 * choice, and accepted beyond: that of the radius it may have at the end of the horizon, since walks accept whatever
 * comes as a cell. */
static void check_margin(const struct walk_isa *isa, double horizon)
{
  struct mac mac = {MAC_ACCELERATION, 1, 1, 1e20};
  struct lattice l = lattice_cover((const double[3]){-3, -3, -3}, (const double[3]){3, 3, 3}, 0, 0);
  struct motion motion = {.spread_v = 0.5f};
  struct node n = {.mass = 1, .b = 0.5f, .info = 4};
  double box_moves = essential_deviation(0, 1, horizon),
         radius = n.b + horizon * motion.spread_v + essential_deviation(essential_pull(&motion), 1, horizon);
  int bad = 0;
  n.reach = mac_reach(&mac, n.mass, n.b, 0);
  for (int c = 0; c < 3; c++) n.x[c] = (int32_t)(0.5 * LATTICE_SIDE);
  for (int k = 0; k < 20; k++) {
    double radii = 1.01 + 0.025 * k, distance = radii * radius + box_moves;
    enum need want = radii < MAC_MARGIN ? NEED_OPEN : NEED_CELL;
    struct let_box box = {.low = {distance, -0.1, -0.1}, .high = {distance + 0.2, 0.1, 0.1}, .a_old = 1};
    struct let_request q = {
        .boxes = &box, .box_count = 1, .mac = &mac, .a_typical = 1, .cutoff = -1, .horizon = horizon};
    struct box_table t;
    essential_table(&t, &q);
    struct essential_query query = essential_query_of(&l, &t, &q);
    struct essential_source a = essential_node(&query, &n, &motion);
    bad += essential_need(&l, &n, &motion, &box, &q) != want;
    if (!(horizon > 0)) bad += essential_at_rest(&l, &n, &box, 0, essential_sink(&box, &q)) != want;
    bad += (isa ? (enum need)isa->needs(&t, &a) : essential_needs(&t, &a)) != want;
  }
  char what[100];
  snprintf(what, sizeof what, "%s: a light cell%s is opened within its margin alone (%d wrong)",
           isa ? isa->name : "the scalar loop", horizon > 0 ? " that grows" : "", bad);
  tap_ok(bad == 0 && MAC_MARGIN > 1.1F && MAC_MARGIN < 1.3F, what);
}

/* Two particles on curved trajectories: if they come within the cutoff, the box of one needs the other. */
static void check_trajectories(void)
{
  struct random r = {.state = 99};
  struct mac mac = {MAC_ACCELERATION, 1, 1, 1e-3};
  double cutoff = 0.05, horizon = 0.1, typical = 0.5;
  int near = 0, missed = 0;
  for (int k = 0; k < NODES; k++) {
    double x[2][3], v[2][3], a[2][3], pull[2], min_value = 1e300;
    for (int p = 0; p < 2; p++) {
      random_direction(&r, real(&r, 0, 0.3), x[p]);
      random_direction(&r, real(&r, 0, 2), v[p]);
      pull[p] = real(&r, 0, 4);
      random_direction(&r, ESSENTIAL_PULL * pull[p] + typical, a[p]); /* as much as is allowed for */
    }
    struct let_box b = {.a_old = 1, .a_spread = pull[0]};
    float speed[3];
    for (int c = 0; c < 3; c++) {
      b.low[c] = b.high[c] = x[0][c];
      b.v[c] = v[0][c];
      speed[c] = (float)v[1][c];
    }
    struct let_request q = {
        .boxes = &b, .box_count = 1, .mac = &mac, .a_typical = typical, .cutoff = cutoff, .horizon = horizon};
    for (int s = 0; s <= 64; s++) {
      double t = horizon * s / 64, d2 = 0;
      for (int c = 0; c < 3; c++) {
        double d = x[1][c] - x[0][c] + (v[1][c] - v[0][c]) * t + 0.5 * (a[1][c] - a[0][c]) * t * t;
        d2 += d * d;
      }
      min_value = fmin(min_value, sqrt(d2));
    }
    if (min_value > cutoff) continue;
    near++;
    missed += essential_distance(&b, x[1], speed, horizon) - essential_box_deviation(&b, pull[1], &q) > cutoff + 1e-6;
  }
  char what[120];
  snprintf(what, sizeof what, "particles that come near are asked for: %d of %d missed", missed, near);
  tap_ok(near > 500 && missed == 0, what);
}

/* What any box needs of a node, the box around all of them needs too, also when they move apart. */
static void check_union(void)
{
  struct random r = {.state = 7};
  struct mac mac = {MAC_ACCELERATION, 1, 1, 1e-3};
  struct let_box box[BOXES], all;
  struct lattice l = lattice_cover((const double[3]){-3, -3, -3}, (const double[3]){3, 3, 3}, 0, 0);
  struct let_request q = {.mac = &mac, .a_typical = 0.7, .cutoff = 0.2, .horizon = 1};
  int less = 0, wanted = 0;
  for (int b = 0; b < BOXES; b++) {
    box[b] = random_box(&r);
    box[b].a_spread = 0; /* or the largest of them would hide what is missing */
  }
  all = let_union(box, BOXES, q.horizon);
  for (int k = 0; k < NODES; k++) {
    struct node n = {.first = 0};
    struct motion w;
    random_node(&r, &mac, &n, &w);
    enum need whole = essential_need(&l, &n, &w, &all, &q);
    for (int b = 0; b < BOXES; b++) {
      enum need one = essential_need(&l, &n, &w, &box[b], &q);
      less += whole < one;
      wanted += one != NEED_NOTHING;
    }
  }
  tap_ok(less == 0 && wanted > 1000, "the box around all boxes needs what any of them does");
}

/* Particles that move, with a tree, at the start of a soft step of this length. */
static void begin_step(struct rig *rig, const struct set *set, double speed, double soft_step)
{
  struct particles p;
  set_make(set, speed, &p);
  rig_open(rig, &backend_cpu, set, &p, 2, 8, 32);
  rig_first_force(rig, 1.0 / 512);
  struct step_rule rule = {.eta = 0.1, .softening = set->softening, .soft_step = soft_step};
  struct mac mac = rig_mac(rig, MAC_ACCELERATION, 1.0 / 512);
  rig->be->steps.levels(rig->dev, &rule, -1);
  rig->be->tree.sources(rig->dev);
  rig->be->tree.moments(rig->dev, &mac, 0, 0);
}

/* Boxes hold their particles now and at the end of the horizon. */
static void check_boxes(void)
{
  struct rig g;
  double horizon = 0.1;
  begin_step(&g, &sets[0], 5, horizon);
  struct let_box box[BOX_MAX];
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  struct let_request q = {.mac = &mac, .cutoff = 0.1, .horizon = horizon, .tick_length = horizon / TICKS};
  int count = g.be->let->boxes(g.dev, &q, 16, box), out = 0;
  const struct particles *p = g.be->view(g.dev);
  for (int b = 0; b < count; b++)
    for (int32_t i = cpu_box_range(g.dev, b, 0).begin; i < cpu_box_range(g.dev, b, 0).end; i++)
      for (int c = 0; c < 3; c++) {
        double x = p->pos[3 * i + c], there = x + (p->vel[3 * i + c] - box[b].v[c]) * horizon;
        out += x < box[b].low[c] || x > box[b].high[c] || there < box[b].low[c] - 1e-6 || there > box[b].high[c] + 1e-6;
      }
  tap_ok(count == 16 && out == 0, "boxes hold their particles from the start of the horizon to its end");
  rig_close(&g);
}

static int differ(const void *a, const void *b, size_t bytes) { return memcmp(a, b, bytes) != 0; }

/* A LET that is kept up to date says of its entries and cells what their owner's records say. */
static void check_updates(void)
{
  struct rig g;
  double soft_step = 0.05, tick_length = soft_step / TICKS;
  begin_step(&g, &sets[0], 1, soft_step);
  struct device *d = g.dev;
  struct let_box box = {{0.2, -1, -1}, {1, 1, 1}, 1, {0}, 1};
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 512);
  struct let_request q = {.mac = &mac, .a_typical = 1, .cutoff = 0.1, .horizon = soft_step, .tick_length = tick_length};
  struct let_choice c = {.boxes = &box, .box_count = 1};
  struct let_box own[BOX_MAX];
  struct let_count count = {0, 0};
  struct step_rule rule = {.eta = 0.1, .softening = sets[0].softening, .soft_step = soft_step};
  void *message;
  int32_t next;
  int64_t outside = 0, sent = 0;
  int bad = 0, ticks = 0, early = 0;
  g.be->let->clear(d, LET_STEP);
  g.be->let->boxes(d, &q, 16, own);
  g.be->let->select(d, LET_STEP, &q, 1, &c);
  size_t bytes = c.bytes;
  next = c.next;
  memcpy(g.be->let->buffer(d, LET_STEP, 0, bytes), c.message, bytes);
  g.be->let->attach(d, LET_STEP, 0, bytes, &count);
  g.be->let->updates.watch(d, &q);
  const struct let *l = cpu_let(d, LET_STEP, 0);
  const struct sources *have = &l->tree.source, *are = &d->tree.source;
  for (int32_t tick = g.be->steps.next_tick(d); tick < TICKS; tick = g.be->steps.next_tick(d), ticks++) {
    int32_t expected = next;
    g.be->steps.select(d, tick, tick_length, &outside);
    g.be->tree.moments(d, &mac, tick, tick_length);
    g.be->steps.correct(d, tick, tick_length, &rule, -1);
    bytes = g.be->let->updates.pack(d, 0, tick, 1, &next, &message);
    int64_t entries = g.be->let->updates.apply(d, 0, message, bytes);
    early += entries > 0 && tick != expected; /* it was announced for this tick */
    sent += entries;
    for (int32_t k = 0; k < have->n; k++) {
      int32_t i = l->source_from[k];
      bad += have->x[k] != are->x[i] || have->y[k] != are->y[i] || have->z[k] != are->z[i] ||
             have->tick[k] != are->tick[i];
      bad += have->vx[k] != are->vx[i] || have->vz[k] != are->vz[i] || have->ax[k] != are->ax[i] ||
             have->az[k] != are->az[i];
    }
    for (int32_t k = 0; k < l->tree.nodes; k++) {
      int32_t i = l->node_from[k];
      bad += differ(l->tree.node[k].x, d->tree.node[i].x, sizeof l->tree.node[k].x) ||
             l->tree.node[k].b != d->tree.node[i].b;
      bad += differ(&l->tree.motion[k], &d->tree.motion[i], sizeof *l->tree.motion) ||
             differ(l->tree.quad[k], d->tree.quad[i], sizeof *l->tree.quad);
    }
    bad += l->tree.motion_tick != tick;
  }
  char what[160];
  snprintf(what, sizeof what,
           "after every update a LET is what its owner has (%d ticks, %lld corrections of %d entries, %d wrong, %d not "
           "announced)",
           ticks, (long long)sent, have->n, bad, early);
  tap_ok(ticks > 4 && sent > have->n && have->n > 100 && bad == 0 && early == 0, what);
  rig_close(&g);
}

/* The choice as devices make it, level by level with sums over marks. */
struct level_choice {
  const struct octree *tree;
  uint8_t *mark, *keep; /* of nodes; of particles */
  uint64_t *word, *sum; /* [words] marks, and what precedes them */
  int words;
  uint64_t all;
  int *bodies; /* particles of each node that are kept */
};

static struct level_choice level_choice_of(const struct octree *tree)
{
  struct level_choice c = {.tree = tree, .words = tree->nodes / MARKED + 1};
  c.mark = memory_alloc("test", (size_t)tree->nodes);
  c.keep = memory_alloc("test", (size_t)tree->source.n);
  c.word = memory_alloc("test", sizeof *c.word * (size_t)c.words);
  c.sum = memory_alloc("test", sizeof *c.sum * (size_t)c.words);
  c.bodies = memory_alloc("test", sizeof *c.bodies * (size_t)tree->nodes);
  return c;
}

static void level_choice_free(struct level_choice *choice)
{
  memory_free(choice->bodies);
  memory_free(choice->sum);
  memory_free(choice->word);
  memory_free(choice->keep);
  memory_free(choice->mark);
}

/* Mark nodes and particles; parents stand before their children. */
static void mark_all(struct level_choice *choice, const struct walk_isa *isa, const struct box_table *table,
                     const struct essential_query *query, double cutoff)
{
  const struct octree *t = choice->tree;
  for (int32_t i = 0; i < t->nodes; i++) {
    const struct node *n = &t->node[i];
    struct essential_source a = essential_node(query, n, &t->motion[i]);
    if (i == 0) choice->mark[0] = choose_mark((enum need)isa->needs(table, &a), 1);
    for (int32_t k = n->first; choice->mark[i] == MARK_OPEN && k < n->first + (int32_t)(n->info & NODE_COUNT); k++) {
      if (n->info & NODE_LEAF) {
        const struct sources *s = &t->source;
        const int32_t x[3] = {s->x[k], s->y[k], s->z[k]};
        const float v[3] = {s->vx[k], s->vy[k], s->vz[k]}, acc[3] = {s->ax[k], s->ay[k], s->az[k]};
        struct essential_source p = essential_particle(query, x, v, acc, s->tick[k], essential_pull(&t->motion[i]));
        choice->bodies[i] += choice->keep[k] = cutoff < 0 || isa->needs(table, &p) != NEED_NOTHING;
      } else {
        struct essential_source c = essential_node(query, &t->node[k], &t->motion[k]);
        choice->mark[k] = choose_mark((enum need)isa->needs(table, &c), 0);
      }
    }
  }
}

static void sum_marks(struct level_choice *choice)
{
  const uint8_t *mark = choice->mark;
  int32_t nodes = choice->tree->nodes;
  choice->all = 12345;
  for (int32_t i = 0; i < nodes; i++) {
    uint32_t needed = mark[i] == MARK_CELL || mark[i] == MARK_OPEN,
             opened = mark[i] == MARK_EMPTY || mark[i] == MARK_OPEN;
    if (i % MARKED == 0) choice->sum[i / MARKED] = choice->all;
    choice->word[i / MARKED] |= choose_word(needed << i % MARKED, opened << i % MARKED);
    choice->all += choose_share(mark[i] != MARK_NONE, choice->bodies[i]);
  }
  if (nodes % MARKED == 0) choice->sum[choice->words - 1] = choice->all;
  choice->all -= choice->sum[0];
}

/* How many nodes and particles stand elsewhere than in the host's choice; kinds[m]: nodes with mark m. */
static int misplaced(const struct level_choice *choice, const struct let *let, int kinds[4])
{
  const struct octree *t = choice->tree;
  const uint8_t *mark = choice->mark;
  int bad = place_node(choice->all) != let->sent.nodes || place_body(choice->all) != let->sent.source.n;
  int32_t next_body = 0;
  for (int32_t i = 0; i < t->nodes && !bad; i++) {
    bad += choose_marked(choice->word[i / MARKED], i % MARKED) != mark[i];
    kinds[mark[i]]++;
    if (mark[i] == MARK_NONE) continue;
    int32_t at = choose_place(choice->word, choice->sum, i), body = next_body;
    struct node n = choose_record(&t->node[i], mark[i], choice->word, choice->sum, body, choice->bodies[i]);
    next_body += choice->bodies[i];
    bad += at != choose_place(choice->word, choice->sum, i + 1) - 1;
    bad += let->node_from[at] != i || n.first != let->sent.node[at].first || n.info != let->sent.node[at].info;
    for (int32_t k = t->node[i].first; mark[i] == MARK_OPEN && t->node[i].info & NODE_LEAF &&
                                       k < t->node[i].first + (int32_t)(t->node[i].info & NODE_COUNT);
         k++)
      if (choice->keep[k]) bad += let->source_from[body++] != k;
  }
  return bad;
}

/* Nodes and particles stand where the host's choice, node after node in the message, puts them. */
static void check_choice(enum let_kind kind, double cutoff, double low, const char *name)
{
  struct rig g;
  double soft_step = 0.05, tick_length = soft_step / TICKS;
  begin_step(&g, &sets[1], 1, soft_step);
  struct device *d = g.dev;
  struct let_box box[2] = {{{low, -1, -1}, {low + 0.3, 1, 1}, 1, {0}, 1},
                           {{low, 0, 0}, {low + 1, 1, 0.5}, 0.3, {0.1, 0, -0.2}, 0.1}};
  struct mac mac = rig_mac(&g, MAC_ACCELERATION, 1.0 / 64);
  struct let_request q = {.boxes = box,
                          .box_count = 2,
                          .mac = &mac,
                          .a_typical = 1,
                          .cutoff = cutoff,
                          .tick_length = tick_length,
                          .horizon = kind == LET_STEP ? soft_step : 0};
  struct box_table table;
  struct let_choice choice = {.boxes = box, .box_count = 2};
  debug_set("let_sparing", 0);
  g.be->let->select(d, kind, &q, 1, &choice);
  debug_set("let_sparing", NAN);
  essential_table(&table, &q);
  struct essential_query query = essential_query_of(&d->lattice, &table, &q);
  struct level_choice levels = level_choice_of(&d->tree);
  mark_all(&levels, d->isa, &table, &query, cutoff);
  sum_marks(&levels);
  int kinds[4] = {0}, bad = misplaced(&levels, cpu_let(d, kind, 0), kinds);
  char what[160];
  snprintf(what, sizeof what,
           "a choice by levels is that of the host, %s (%d cells, %d opened, %d particles; %d wrong)", name,
           kinds[MARK_CELL], kinds[MARK_OPEN], place_body(levels.all), bad);
  tap_ok(bad == 0, what);
  level_choice_free(&levels);
  rig_close(&g);
}

int main(void)
{
  const struct walk_isa *isas[] = {walk_isa_choose(), &walk_isa_generic, NULL};
  for (int k = 0; k < 3; k++) {
    check_table(isas[k], -1, 0);
    check_table(isas[k], 0.3, 0.1);
    check_table(isas[k], -1, 0.1);
    check_margin(isas[k], 0);
    check_margin(isas[k], 1);
  }
  check_bound(0.3, 0.1);
  check_bound(0.05, 0);
  check_bound(-1, 0.1);
  check_trajectories();
  check_union();
  check_boxes();
  check_updates();
  check_choice(LET_SOFT, -1, 0.2, "all");
  check_choice(LET_STEP, 0.1, 0.2, "within the cutoff");
  check_choice(LET_STEP, 0.1, 40, "where nothing is near");
  check_choice(LET_STEP, -1, 0.2, "all, moving");
  return tap_end();
}
