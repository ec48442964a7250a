/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Locally essential trees: the part of the local tree that the targets in a receiver's boxes may need, as a message
 * that is a tree already (breadth-first, links relative to the message), so that nothing is rebuilt on receipt. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "backend/let_sizes.h"
#include "backend/let_verbs.h"
#include "base/debug.h"
#include "base/fault.h"
#include "base/memory.h"
#include "cpu/device.h"
#include "particles/timeline.h"
#include "tree/essential.h"
#include "tree/upper.h"

/* Header of a message; the arrays follow. */
struct let_head {
  int64_t nodes, sources;
  int32_t quad, moving, motion_tick;
  char pad[36];
};
_Static_assert(sizeof(struct let_head) == 64, "arrays of a message start on a cache line");

/* --- the selection ------------------------------------------------------------------------------------------------ */

/* A local node that is part of the message. */
struct choice {
  int32_t node;
  uint32_t info;
  int32_t first;
};

/* A receiver's request in the form that the selection uses. */
struct let_selector {
  const struct device *d;
  const struct let_request *r;
  struct box_table table;
  struct essential_query query;
};

static enum need needs(const struct let_selector *choosing, int32_t i)
{
  struct essential_source a =
      essential_node(&choosing->query, &choosing->d->tree.node[i], &choosing->d->tree.motion[i]);
  return (enum need)choosing->d->isa->needs(&choosing->table, &a);
}

struct selection {
  struct choice *choice;
  int64_t nodes, capacity;
  int32_t *source; /* local particles behind the message's, leaf by leaf */
  int64_t sources, source_capacity;
};

static void add_choice(struct selection *selection, struct choice choice)
{
  if (selection->nodes == selection->capacity) {
    selection->capacity = (int64_t)memory_grown((size_t)selection->capacity, sizeof *selection->choice);
    selection->choice =
        memory_resize("let", selection->choice, sizeof *selection->choice * (size_t)selection->capacity);
  }
  selection->choice[selection->nodes++] = choice;
}

static void add_source(struct selection *selection, int32_t i)
{
  if (selection->sources == selection->source_capacity) {
    selection->source_capacity = (int64_t)memory_grown((size_t)selection->source_capacity, sizeof *selection->source);
    selection->source =
        memory_resize("let", selection->source, sizeof *selection->source * (size_t)selection->source_capacity);
  }
  selection->source[selection->sources++] = i;
}

/* Whether a particle of a leaf may come within the cutoff of any box. */
static int particle_needed(const struct let_selector *choosing, int32_t i, double pull)
{
  const struct sources *s = &choosing->d->tree.source;
  const int32_t at[3] = {s->x[i], s->y[i], s->z[i]};
  const float v[3] = {s->vx[i], s->vy[i], s->vz[i]}, acc[3] = {s->ax[i], s->ay[i], s->az[i]};
  struct essential_source a = essential_particle(&choosing->query, at, v, acc, s->tick[i], pull);
  return choosing->d->isa->needs(&choosing->table, &a) != NEED_NOTHING;
}

/* Add the particles of a leaf to the message: all, or those that may come within the cutoff. */
static void choose_leaf(const struct let_selector *choosing, struct choice *choice, struct selection *selection)
{
  const struct node *n = &choosing->d->tree.node[choice->node];
  double pull = essential_pull(&choosing->d->tree.motion[choice->node]);
  choice->first = (int32_t)selection->sources;
  for (int32_t i = n->first; i < n->first + (int32_t)(n->info & NODE_COUNT); i++)
    if (choosing->r->cutoff < 0 || particle_needed(choosing, i, pull)) add_source(selection, i);
  choice->info = NODE_LEAF | (uint32_t)(selection->sources - choice->first);
}

/* A cell with fewer particles than this within the cutoff is not sent, but these particles. One is shorter than a cell,
 * and most cells near the cutoff have none. */
enum { CELL_PARTICLES_MIN = 3 };

/* Number of particles of a node that may come within the cutoff of any box, up to `most`. */
static int count_needed(const struct let_selector *choosing, int32_t i, int most)
{
  const struct node *n = &choosing->d->tree.node[i];
  int count = 0;
  for (int32_t k = n->first; k < n->first + (int32_t)(n->info & NODE_COUNT) && count < most; k++) {
    if (n->info & NODE_LEAF) count += particle_needed(choosing, k, essential_pull(&choosing->d->tree.motion[i]));
    else if (needs(choosing, k) != NEED_NOTHING) count += count_needed(choosing, k, most - count);
  }
  return count;
}

/* Breadth first through the nodes that the receiver needs; links and counts are those of the message. `sparing`:
 * particles in place of cells with few of them. */
static void choose(const struct device *d, const struct let_request *request, int sparing, struct selection *selection)
{
  struct let_selector g = {.d = d, .r = request};
  if (d->tree.nodes == 0 || request->box_count == 0) return;
  essential_table(&g.table, request);
  g.query = essential_query_of(&d->lattice, &g.table, request);
  add_choice(selection, (struct choice){0, (uint32_t)needs(&g, 0), 0});
  for (int64_t at = 0; at < selection->nodes; at++) {
    struct choice c = selection->choice[at]; /* its info is the need, until here */
    const struct node *n = &d->tree.node[c.node];
    if (c.info != NEED_OPEN) {
      /* a root that is not needed: an empty cell */
      c.info = c.info == NEED_CELL ? NODE_TERMINAL : 0;
    } else if (n->info & NODE_LEAF) {
      choose_leaf(&g, &c, selection);
    } else {
      c.first = (int32_t)selection->nodes;
      for (int32_t k = n->first; k < n->first + (int32_t)(n->info & NODE_COUNT); k++) {
        enum need need = needs(&g, k);
        if (sparing && need == NEED_CELL && count_needed(&g, k, CELL_PARTICLES_MIN) < CELL_PARTICLES_MIN)
          need = NEED_OPEN;
        if (need != NEED_NOTHING) add_choice(selection, (struct choice){k, (uint32_t)need, 0});
      }
      c.info = (uint32_t)(selection->nodes - c.first);
    }
    selection->choice[at] = c;
  }
}

/* --- a shorter tree ----------------------------------------------------------------------------------------------- */

/* Most particles of a leaf that stands for a chosen cell and all that was chosen below it. */
enum { MERGED_MAX = 32 };

/* What remains of a chosen node. */
struct remains {
  int32_t particles; /* chosen ones below it */
  int8_t whole;      /* all that was chosen below it are particles */
  int8_t kept;       /* 0: nothing was chosen below it */
  int32_t heir;      /* the node that takes its place: itself, or below it where it has a single child */
};

static int is_leaf(const struct choice *choice) { return (choice->info & NODE_LEAF) != 0; }

/* From the last node to the first, so children before their parents. */
static void find_remains(const struct selection *selection, struct remains *out)
{
  for (int64_t at = selection->nodes - 1; at >= 0; at--) {
    const struct choice *c = &selection->choice[at];
    struct remains r = {.whole = 1, .heir = (int32_t)at};
    if (is_leaf(c)) {
      r.particles = (int32_t)(c->info & NODE_COUNT);
      r.kept = r.particles > 0;
    } else if (c->info & NODE_TERMINAL) {
      r.whole = 0;
      r.kept = 1;
    } else {
      int children = 0;
      for (int32_t k = c->first; k < c->first + (int32_t)c->info; k++) {
        if (!out[k].kept) continue;
        r.particles += out[k].particles;
        r.whole &= out[k].whole;
        r.heir = out[k].heir;
        children++;
      }
      r.kept = children > 0;
      if (children != 1) r.heir = (int32_t)at;
    }
    out[at] = r;
  }
}

/* Append the chosen particles below a node, in the order of the curve. */
static void take_particles(const struct selection *from, int32_t at, struct selection *to)
{
  const struct choice *c = &from->choice[at];
  for (int32_t k = c->first; k < c->first + (int32_t)(c->info & NODE_COUNT); k++) {
    if (is_leaf(c)) add_source(to, from->source[k]);
    else take_particles(from, k, to);
  }
}

/* Leave out nodes without anything chosen below them, replace nodes with one child by the child, and cells with few
 * particles below them by leaves. An entry of a LET costs a message and its updates as much as a particle does. */
static void shorten(struct selection *selection)
{
  if (selection->nodes == 0) return;
  struct selection t = {0};
  struct remains *of = memory_alloc("let", sizeof *of * (size_t)selection->nodes);
  find_remains(selection, of);
  /* its node is the place in *selection, until its turn */
  if (of[0].kept) add_choice(&t, (struct choice){of[0].heir, 0, 0});
  for (int64_t at = 0; at < t.nodes; at++) {
    int32_t i = t.choice[at].node;
    struct choice c = selection->choice[i];
    const struct remains *r = &of[i];
    if (is_leaf(&c) || (r->whole && r->particles <= MERGED_MAX)) {
      c.first = (int32_t)t.sources;
      take_particles(selection, i, &t);
      c.info = NODE_LEAF | (uint32_t)(t.sources - c.first);
    } else if (!(c.info & NODE_TERMINAL)) {
      int32_t first = (int32_t)t.nodes;
      for (int32_t k = c.first; k < c.first + (int32_t)c.info; k++)
        if (of[k].kept) add_choice(&t, (struct choice){of[k].heir, 0, 0});
      c.first = first;
      c.info = (uint32_t)(t.nodes - first);
    }
    t.choice[at] = c;
  }
  memory_free(of);
  memory_free(selection->choice);
  memory_free(selection->source);
  *selection = t;
}

/* --- the message ------------------------------------------------------------------------------------------------- */

static void reserve_index(struct let *let, int64_t nodes)
{
  if (nodes <= let->node_capacity) return;
  memory_free(let->node_from);
  let->node_capacity = cpu_spare(nodes);
  let->node_from = memory_alloc("let", sizeof *let->node_from * (size_t)let->node_capacity);
}

/* Copy positions, motions and moments of the selected nodes and sources, and the sources' levels; links are kept. */
static void fill(const struct device *d, struct let *let)
{
  const struct octree *from = &d->tree;
  const struct sources *f = &from->source;
  struct sources *s = &let->sent.source;
  ((struct let_head *)let->packed)->motion_tick = from->motion_tick;
#pragma omp parallel for schedule(static)
  for (int32_t k = 0; k < let->sent.nodes; k++) {
    int32_t i = let->node_from[k], first = let->sent.node[k].first;
    uint32_t info = let->sent.node[k].info;
    let->sent.node[k] = from->node[i];
    let->sent.node[k].first = first;
    let->sent.node[k].info = info;
    if (let->sent.motion) let->sent.motion[k] = from->motion[i];
    if (let->sent.quad) memcpy(let->sent.quad[k], from->quad[i], sizeof *let->sent.quad);
  }
#pragma omp parallel for schedule(static)
  for (int32_t k = 0; k < s->n; k++) {
    int32_t j = let->source_from[k];
    s->x[k] = f->x[j];
    s->y[k] = f->y[j];
    s->z[k] = f->z[j];
    s->m[k] = f->m[j];
    if (!s->tick) continue;
    s->vx[k] = f->vx[j];
    s->vy[k] = f->vy[j];
    s->vz[k] = f->vz[j];
    s->ax[k] = f->ax[j];
    s->ay[k] = f->ay[j];
    s->az[k] = f->az[j];
    s->tick[k] = f->tick[j];
  }
}

/* Tick of the first correction of a particle in a LET. */
static int32_t first_end(const struct device *d, struct let *let)
{
  int32_t next = TICKS;
  memset(let->at_level, 0, sizeof let->at_level);
  let->pendings = 0;
  for (int32_t k = 0; k < let->sent.source.n; k++) {
    int32_t i = let->source_from[k], end = timeline_end(&d->p, i);
    let->at_level[d->p.level[i]]++;
    next = end < next ? end : next;
  }
  return next;
}

/* The LET of one receiver, whose boxes are the request's. */
static void select_one(struct device *d, enum let_kind kind, const struct let_request *request, struct let_choice *c)
{
  struct let *l = cpu_let(d, kind, c->peer);
  struct selection s = {.source = l->source_from, .source_capacity = l->source_capacity};
  int moving = kind == LET_STEP,
      sparing = moving && request->cutoff >= 0 && !request->as_device && debug_value("let_sparing", 1) > 0;
  choose(d, request, sparing, &s);
  if (sparing) shorten(&s);
  l->source_from = s.source;
  l->source_capacity = s.source_capacity;
  if (s.nodes > INT32_MAX || s.sources > INT32_MAX)
    fatal("a LET of %lld cells and %lld particles is too long", (long long)s.nodes, (long long)s.sources);
  l->packed_bytes = 0;
  l->sent.nodes = 0;
  l->sent.source.n = 0;
  if (s.nodes > 0) {
    l->packed_bytes = sizeof(struct let_head) + octree_bytes(s.nodes, s.sources, d->local.quadrupole, moving);
    cpu_reserve(&l->packed, &l->packed_capacity, l->packed_bytes, "let");
    reserve_index(l, s.nodes);
    struct let_head *head = l->packed;
    *head = (struct let_head){.nodes = s.nodes, .sources = s.sources, .quad = d->local.quadrupole, .moving = moving};
    octree_place(&l->sent, head + 1, s.nodes, s.sources, d->local.quadrupole, moving);
    for (int64_t k = 0; k < s.nodes; k++) {
      const struct choice *c = &s.choice[k];
      l->node_from[k] = c->node;
      l->sent.node[k].first = c->first;
      l->sent.node[k].info = c->info;
    }
    fill(d, l);
  }
  c->next = moving ? first_end(d, l) : TICKS;
  memory_free(s.choice);
  c->message = l->packed;
  c->bytes = l->packed_bytes;
  c->counted = request->as_device && s.nodes > 0
                   ? let_device_bytes(s.nodes, s.sources, let_device_quads(request), moving)
                   : c->bytes;
}

void cpu_let_select(struct device *d, enum let_kind kind, const struct let_request *request, int count,
                    struct let_choice *choice)
{
  struct let_request r = *request;
  for (int k = 0; k < count; k++) {
    r.boxes = choice[k].boxes;
    r.box_count = choice[k].box_count;
    select_one(d, kind, &r, &choice[k]);
  }
}

void cpu_let_sent(struct device *d, enum let_kind kind, int peer)
{
  struct let *l = cpu_let(d, kind, peer);
  memory_free(l->packed);
  l->packed = NULL;
  l->packed_capacity = 0;
}

void *cpu_let_reserve(struct device *d, enum let_kind kind, int peer, size_t bytes)
{
  struct let *l = cpu_let(d, kind, peer);
  cpu_reserve(&l->message, &l->message_capacity, bytes, "let");
  return l->message;
}

void cpu_let_attach(struct device *d, enum let_kind kind, int peer, size_t bytes, struct let_count *count)
{
  struct let *l = cpu_let(d, kind, peer);
  l->attached = bytes > 0;
  if (!l->attached) return;
  struct let_head *head = l->message;
  if (bytes != sizeof *head + octree_bytes(head->nodes, head->sources, head->quad, head->moving))
    fatal("the LET of rank %d has %zu bytes, not those of %lld cells and %lld particles", peer, bytes,
          (long long)head->nodes, (long long)head->sources);
  octree_place(&l->tree, head + 1, head->nodes, head->sources, head->quad, head->moving);
  l->tree.motion_tick = head->motion_tick;
  count->cells += head->nodes;
  count->particles += head->sources;
}

/* --- summary and upper tree --------------------------------------------------------------------------------------- */

void cpu_let_summary(struct device *d, const struct let_request *request, struct let_summary *summary)
{
  memset(summary, 0, sizeof *summary);
  summary->particles = d->local.massive;
  if (request->horizon > 0) return;
  top_choose(&summary->top, d->tree.node, d->tree.nodes, 0,
             d->local.quadrupole ? (const float(*)[6])d->tree.quad : NULL);
}

void cpu_let_upper(struct device *d, enum let_kind kind, int self, int64_t nodes, const struct node *node,
                   const float (*quad)[6])
{
  struct let *l = cpu_let(d, kind, self);
  l->attached = nodes > 0;
  if (nodes == 0) return;
  cpu_reserve(&l->message, &l->message_capacity, octree_bytes(nodes, 0, d->local.quadrupole, 0), "let");
  octree_place(&l->tree, l->message, nodes, 0, d->local.quadrupole, 0);
  l->tree.motion_tick = 0;
  memcpy(l->tree.node, node, sizeof *node * (size_t)nodes);
  if (d->local.quadrupole) memcpy(l->tree.quad, quad, sizeof *quad * (size_t)nodes);
}

/* Give back the memory of a LET but of a message that may be on its way. */
static void release(struct let *let)
{
  memory_free(let->message);
  memory_free(let->node_from);
  memory_free(let->source_from);
  memory_free(let->pending);
  *let = (struct let){.packed = let->packed, .packed_capacity = let->packed_capacity};
}

/* The i-th of the LETs that are or were in use. */
static struct let *used_let(struct device *d, enum let_kind kind, int i)
{
  return sparse_at(&d->let[kind], d->let[kind].used[i]);
}

static void end_lets(struct device *d, enum let_kind kind)
{
  for (int i = 0; i < d->let[kind].count; i++) {
    struct let *l = used_let(d, kind, i);
    l->attached = 0;
    l->packed_bytes = 0;
    l->sent.nodes = l->sent.source.n = 0;
  }
  if (kind == LET_STEP) d->watch.on = 0;
}

void cpu_let_clear(struct device *d, enum let_kind kind)
{
  end_lets(d, kind);
  /* LETs of substeps follow those of a synchronisation; they may be selected several times in a soft step */
  for (int i = 0; i < d->let[kind].count && kind == LET_SOFT; i++) release(used_let(d, kind, i));
}

void cpu_let_drop(struct device *d)
{
  for (int kind = 0; kind < LET_KINDS; kind++) {
    end_lets(d, kind);
    for (int i = 0; i < d->let[kind].count; i++) release(used_let(d, kind, i));
  }
  memory_free(d->update);
  d->update = NULL;
  d->update_capacity = 0;
  cpu_watch_free(d);
}

void cpu_let_free(struct device *d)
{
  cpu_let_drop(d);
  for (int kind = 0; kind < LET_KINDS; kind++) {
    for (int i = 0; i < d->let[kind].count; i++) memory_free(used_let(d, kind, i)->packed);
    sparse_close(&d->let[kind]);
  }
}
