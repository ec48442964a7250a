/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Locally essential trees: the part of the local tree that the targets in a receiver's boxes may need, as a message that
 * is a tree already (breadth-first, links relative to the message), so that nothing is rebuilt on receipt. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "device.h"
#include "fault.h"
#include "memory.h"

/* What stands before the arrays of a message. */
struct let_head {
  int64_t nodes, sources;
  int32_t quad, motion_tick;
  char pad[40];
};
_Static_assert(sizeof(struct let_head) == 64, "arrays of a message start on a cache line");

/* --- the choice -------------------------------------------------------------------------------------------------- */

enum need { NEED_NOTHING, NEED_CELL, NEED_OPEN };

/* A local node that goes into the message, and the box that wanted it opened (the first to ask for its children). */
struct choice {
  int32_t node, box;
  uint32_t info;
  int32_t first;
};

static double box_distance(const struct let_box *b, const double x[3])
{
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double out = x[c] < b->low[c] ? b->low[c] - x[c] : x[c] > b->high[c] ? x[c] - b->high[c] : 0;
    r2 += out * out;
  }
  return sqrt(r2);
}

/* How far a node and the targets of a box may approach each other within the horizon. Speeds change by at most the
 * accelerations; a tenth is added, since these change too. */
static double approach(const struct motion *w, const struct let_box *b, double horizon)
{
  if (horizon == 0) return 0;
  double v2 = 0, a2 = 0;
  for (int c = 0; c < 3; c++) {
    v2 += (w->v[c] - b->v[c]) * (w->v[c] - b->v[c]);
    a2 += (double)w->a[c] * w->a[c];
  }
  double speed = sqrt(v2) + w->spread_v + b->v_spread, pull = sqrt(a2) + w->spread_a + b->a_spread;
  return 1.1 * horizon * (speed + 0.5 * horizon * pull);
}

/* What the targets of a box need of a node. */
static enum need box_needs(const struct device *d, const struct let_request *r, const struct let_box *b, int32_t i)
{
  const struct node *n = &d->tree.node[i];
  double x[3];
  for (int c = 0; c < 3; c++) x[c] = lattice_position(&d->lattice, c, n->x[c]);
  double distance = box_distance(b, x) - approach(&d->tree.motion[i], b, r->horizon);
  if (r->cutoff >= 0 && distance - n->b > r->cutoff) return NEED_NOTHING;
  /* a particle alone is sent as such where it will move: a cell would not know of its corrections */
  if (r->horizon > 0 && n->info == (NODE_LEAF | 1)) return NEED_OPEN;
  double sink = mac_sink(r->mac, fmax(b->a_old, r->a_floor));
  return distance > n->b && distance >= n->reach * sink ? NEED_CELL : NEED_OPEN;
}

/* What the receiver needs of a node; the box that asked for the parent's children is the likeliest to ask again. */
static enum need needs(const struct device *d, const struct let_request *r, int32_t i, int32_t *box)
{
  enum need most = box_needs(d, r, &r->boxes[*box], i);
  for (int k = 0; k < r->box_count && most != NEED_OPEN; k++) {
    enum need one = box_needs(d, r, &r->boxes[k], i);
    if (one > most) {
      most = one;
      *box = k;
    }
  }
  return most;
}

struct selection {
  struct choice *choice;
  int64_t nodes, capacity, sources;
};

static void add_choice(struct selection *s, struct choice c)
{
  if (s->nodes == s->capacity) {
    s->capacity = 2 * s->capacity + 256;
    s->choice = memory_resize("let", s->choice, sizeof *s->choice * (size_t)s->capacity);
  }
  s->choice[s->nodes++] = c;
}

/* Breadth first through the nodes that the receiver needs; links and counts are those of the message. */
static void choose(const struct device *d, const struct let_request *r, struct selection *s)
{
  if (d->tree.nodes == 0 || r->box_count == 0) return;
  add_choice(s, (struct choice){0, 0, 0, 0});
  for (int64_t at = 0; at < s->nodes; at++) {
    struct choice c = s->choice[at];
    const struct node *n = &d->tree.node[c.node];
    enum need need = needs(d, r, c.node, &c.box);
    if (need != NEED_OPEN) {
      /* without a need of it, only the root stands here: an empty cell */
      c.info = need == NEED_CELL ? NODE_TERMINAL : 0;
    } else if (n->info & NODE_LEAF) {
      c.info = n->info;
      c.first = (int32_t)s->sources;
      s->sources += n->info & NODE_COUNT;
    } else {
      c.first = (int32_t)s->nodes;
      for (int32_t k = n->first; k < n->first + (int32_t)(n->info & NODE_COUNT); k++) {
        int32_t box = c.box;
        if (r->cutoff >= 0 && needs(d, r, k, &box) == NEED_NOTHING) continue;
        add_choice(s, (struct choice){k, box, 0, 0});
      }
      c.info = (uint32_t)(s->nodes - c.first);
    }
    s->choice[at] = c;
  }
}

/* --- the message ------------------------------------------------------------------------------------------------- */

static void room(void **block, size_t *capacity, size_t bytes)
{
  if (bytes <= *capacity) return;
  memory_free(*block);
  *capacity = bytes + bytes / 4;
  *block = memory_alloc("let", *capacity);
}

static void index_room(struct let *l, int64_t nodes, int64_t sources)
{
  if (nodes > l->node_capacity) {
    memory_free(l->node_from);
    l->node_capacity = nodes + nodes / 4;
    l->node_from = memory_alloc("let", sizeof *l->node_from * (size_t)l->node_capacity);
  }
  if (sources > l->source_capacity) {
    memory_free(l->source_from);
    l->source_capacity = sources + sources / 4;
    l->source_from = memory_alloc("let", sizeof *l->source_from * (size_t)l->source_capacity);
  }
}

/* Present positions, motions and moments of what was chosen; links stay. */
static void fill(const struct device *d, struct let *l)
{
  const struct octree *from = &d->tree;
  const struct sources *f = &from->source;
  struct sources *s = &l->sent.source;
  ((struct let_head *)l->packed)->motion_tick = from->motion_tick;
#pragma omp parallel for schedule(static)
  for (int32_t k = 0; k < l->sent.nodes; k++) {
    int32_t i = l->node_from[k], first = l->sent.node[k].first;
    uint32_t info = l->sent.node[k].info;
    l->sent.node[k] = from->node[i];
    l->sent.node[k].first = first;
    l->sent.node[k].info = info;
    l->sent.motion[k] = from->motion[i];
    if (l->sent.quad) memcpy(l->sent.quad[k], from->quad[i], sizeof *l->sent.quad);
  }
#pragma omp parallel for schedule(static)
  for (int32_t k = 0; k < s->n; k++) {
    int32_t j = l->source_from[k];
    s->x[k] = f->x[j], s->y[k] = f->y[j], s->z[k] = f->z[j], s->m[k] = f->m[j];
    s->vx[k] = f->vx[j], s->vy[k] = f->vy[j], s->vz[k] = f->vz[j];
    s->ax[k] = f->ax[j], s->ay[k] = f->ay[j], s->az[k] = f->az[j];
    s->tick[k] = f->tick[j];
  }
}

size_t cpu_let_select(struct device *d, enum let_kind kind, int peer, const struct let_request *request, void **message)
{
  struct let *l = &d->let[kind][peer];
  struct selection s = {0};
  choose(d, request, &s);
  if (s.nodes > INT32_MAX || s.sources > INT32_MAX) fatal("a LET of %lld cells and %lld particles is too long", (long long)s.nodes, (long long)s.sources);
  l->packed_bytes = 0;
  l->sent.nodes = 0;
  l->sent.source.n = 0;
  if (s.nodes > 0) {
    l->packed_bytes = sizeof(struct let_head) + octree_bytes(s.nodes, s.sources, d->config.quadrupole);
    room(&l->packed, &l->packed_capacity, l->packed_bytes);
    index_room(l, s.nodes, s.sources);
    struct let_head *head = l->packed;
    *head = (struct let_head){.nodes = s.nodes, .sources = s.sources, .quad = d->config.quadrupole};
    octree_place(&l->sent, head + 1, s.nodes, s.sources, d->config.quadrupole);
    for (int64_t k = 0; k < s.nodes; k++) {
      const struct choice *c = &s.choice[k];
      l->node_from[k] = c->node;
      l->sent.node[k].first = c->first;
      l->sent.node[k].info = c->info;
      if (c->info & NODE_LEAF)
        for (int32_t j = 0; j < (int32_t)(c->info & NODE_COUNT); j++) l->source_from[c->first + j] = d->tree.node[c->node].first + j;
    }
    fill(d, l);
  }
  memory_free(s.choice);
  *message = l->packed;
  return l->packed_bytes;
}

size_t cpu_let_refresh(struct device *d, enum let_kind kind, int peer, void **message)
{
  struct let *l = &d->let[kind][peer];
  if (l->packed_bytes) fill(d, l);
  *message = l->packed;
  return l->packed_bytes;
}

void *cpu_let_room(struct device *d, enum let_kind kind, int peer, size_t bytes)
{
  struct let *l = &d->let[kind][peer];
  room(&l->message, &l->message_capacity, bytes);
  return l->message;
}

void cpu_let_attach(struct device *d, enum let_kind kind, int peer, size_t bytes, struct let_count *count)
{
  struct let *l = &d->let[kind][peer];
  l->attached = bytes > 0;
  if (!l->attached) return;
  struct let_head *head = l->message;
  if (bytes != sizeof *head + octree_bytes(head->nodes, head->sources, head->quad))
    fatal("the LET of rank %d has %zu bytes, not those of %lld cells and %lld particles", peer, bytes, (long long)head->nodes,
          (long long)head->sources);
  octree_place(&l->tree, head + 1, head->nodes, head->sources, head->quad);
  l->tree.motion_tick = head->motion_tick;
  count->cells += head->nodes;
  count->particles += head->sources;
}

void cpu_let_clear(struct device *d, enum let_kind kind)
{
  for (int p = 0; p < d->config.ranks; p++) {
    d->let[kind][p].attached = 0;
    d->let[kind][p].packed_bytes = 0;
  }
}

void cpu_let_free(struct device *d)
{
  for (int kind = 0; kind < LET_KINDS; kind++) {
    for (int p = 0; p < d->config.ranks; p++) {
      struct let *l = &d->let[kind][p];
      memory_free(l->message);
      memory_free(l->packed);
      memory_free(l->node_from);
      memory_free(l->source_from);
    }
    memory_free(d->let[kind]);
  }
}
