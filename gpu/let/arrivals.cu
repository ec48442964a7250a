/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs that arrive: their storage after the local tree, the order between the streams, and the messages. */
#include <config.h>
#include "backend/let_verbs.h"
#include "gpu/let/let.cuh"

static const struct let_extent no_lets_stored = {0, 0};

/* --- order between the streams ----------------------------------------------------------------------------------- */

void lets_wait_for_walk(struct device *d) { CHECK(runtime_stream_wait(d->let->stream, d->let->walked)); }

void lets_arrived(struct device *d)
{
  CHECK(runtime_event_record(d->let->arrived, d->let->stream));
  d->let->arrivals_pending = true;
}

void lets_wait_for_arrivals(struct device *d)
{
  struct let_state *l = d->let;
  if (l->arrivals_pending) CHECK(runtime_stream_wait(d->stream, l->arrived));
  l->arrivals_pending = false;
}

/* --- storage ----------------------------------------------------------------------------------------------------- */

struct tree tree_with_lets(const struct device *d)
{
  struct tree t = d->tree.view;
  t.nodes += d->let->stored.nodes;
  t.bodies += d->let->stored.bodies;
  return t;
}

/* Make the capacity at least n elements, keeping the first `used`; an array that grows gets a capacity of `capacity`.
 * Growing waits for all queued work, which may write the kept elements. */
template <typename T>
static void grow(struct device *d, struct array<T> *a, const char *where, int64_t used, int64_t n, int64_t capacity)
{
  if (n <= a->capacity) return;
  struct array<T> old = *a;
  if (used > old.capacity) used = old.capacity;
  gpu_wait(d);
  a->at = NULL;
  a->capacity = 0;
  array_reserve(a, where, capacity);
  if (used > 0) CHECK(runtime_copy(a->at, old.at, sizeof(T) * (size_t)used, ON_DEVICE, d->let->stream));
  CHECK(runtime_stream_sync(d->let->stream));
  array_free(&old);
}

/* Make the capacity of the tree's arrays at least so many nodes and bodies, local ones included. An array that grows
 * gets capacity for twice the LETs. */
static void reserve_let_storage(struct device *d, int64_t nodes, int64_t bodies, int moving)
{
  const struct tree t = tree_with_lets(d);
  int64_t max_nodes = 2 * nodes - d->tree.view.nodes, max_bodies = 2 * bodies - d->tree.view.bodies;
  grow(d, &d->tree.node, "device octree", t.nodes, nodes, max_nodes);
  grow(d, &d->tree.quad, "device octree", t.nodes, nodes, max_nodes);
  grow(d, &d->sources.body, "device sources", t.bodies, bodies, max_bodies);
  d->tree.view.node = d->tree.node.at;
  d->tree.view.quad = d->tree.quad.at;
  d->tree.view.body = d->sources.body.at;
  if (!moving) return;
  grow(d, &d->tree.motion, "device octree", t.nodes, nodes, max_nodes);
  grow(d, &d->sources.motion_state, "device sources", t.bodies, bodies, max_bodies);
  d->tree.view.motion = d->tree.motion.at;
  d->tree.view.motion_state = d->sources.motion_state.at;
}

/* Capacity for one more LET. */
static void let_buffer(struct device *d, int64_t nodes, int64_t bodies, int moving)
{
  const struct tree t = tree_with_lets(d);
  nodes += t.nodes;
  bodies += t.bodies;
  if (nodes > INT32_MAX / 8 || bodies > INT32_MAX / 2)
    fatal("LETs of %lld cells and %lld particles on one device are too long: use more ranks", (long long)nodes,
          (long long)bodies);
  reserve_let_storage(d, nodes, bodies, moving);
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

static_assert(sizeof(struct node) == LET_NODE_BYTES && sizeof(struct motion) == LET_MOTION_BYTES &&
                  sizeof(struct quad) == LET_QUAD_BYTES,
              "studies count these bytes");
static_assert(sizeof(struct body) == LET_BODY_BYTES && sizeof(struct motion_state) == LET_STATE_BYTES,
              "studies count these bytes");

struct let_layout let_layout(int64_t nodes, int64_t bodies, int quad, int moving)
{
  size_t n = (size_t)nodes, b = (size_t)bodies;
  struct let_layout at;
  at.node = sizeof(struct let_head);
  at.motion = at.node + aligned(n * sizeof(struct node));
  at.quad = at.motion + (moving ? aligned(n * sizeof(struct motion)) : 0);
  at.body = at.quad + (quad ? aligned(n * sizeof(struct quad)) : 0);
  at.motion_state = at.body + aligned(b * sizeof(struct body));
  at.bytes = at.motion_state + (moving ? aligned(b * sizeof(struct motion_state)) : 0);
  return at;
}

void *gpu_let_buffer(struct device *d, enum let_kind kind, int peer, size_t bytes)
{
  struct let_state *l = d->let;
  struct pinned *capacity = &l->in[kind][peer].message;
  if (bytes > capacity->capacity) CHECK(runtime_stream_sync(l->stream)); /* the message before may still be copied */
  l->in[kind][peer].bypassed = false;
  return pinned_reserve(capacity, bytes);
}

void *gpu_let_body_buffer(struct device *d, enum let_kind kind, int peer, size_t bytes)
{
  struct incoming_let *in = &d->let->in[kind][peer];
  if ((int64_t)bytes > in->arriving.capacity) CHECK(runtime_stream_sync(d->let->stream));
  in->bypassed = true;
  return array_reserve(&in->arriving, "device LETs", (int64_t)bytes) + LET_HEAD;
}

/* Shift the links of a LET to its place in the arrays of the tree. */
static __global__ void shift_links(struct node *node, int32_t nodes, int32_t root, int32_t body)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= nodes) return;
  int2 *link = (int2 *)&node[i].first;
  int2 own = *link;
  own.x += (uint32_t)own.y & NODE_LEAF ? body : root;
  *link = own;
}

template <typename T>
static void arrive(struct let_state *let, T *to, const struct incoming_let *in, size_t at, int64_t n)
{
  runtime_direction kind = in->bypassed ? ON_DEVICE : TO_DEVICE;
  const char *from = in->bypassed ? in->arriving.at : in->message.at;
  if (n > 0) CHECK(runtime_copy(to, from + at, sizeof(T) * (size_t)n, kind, let->stream));
}

/* Append a received LET to those after the local tree. LETs of a synchronisation have no motion. */
static void place(struct device *d, enum let_kind kind, struct incoming_let *in, const struct let_head *head,
                  const struct let_layout &at)
{
  struct let_state *l = d->let;
  int moving = head->moving && kind != LET_SOFT;
  let_buffer(d, head->nodes, head->bodies, moving);
  const struct tree to = tree_with_lets(d);
  in->root = to.nodes;
  in->body = to.bodies;
  in->nodes = (int32_t)head->nodes;
  in->bodies = (int32_t)head->bodies;
  in->quad = head->quad;
  in->motion_tick = head->motion_tick;
  lets_wait_for_walk(d);
  arrive(l, to.node + in->root, in, at.node, in->nodes);
  if (moving) arrive(l, to.motion + in->root, in, at.motion, in->nodes);
  if (head->quad) arrive(l, to.quad + in->root, in, at.quad, in->nodes);
  arrive(l, to.body + in->body, in, at.body, in->bodies);
  if (moving) arrive(l, to.motion_state + in->body, in, at.motion_state, in->bodies);
  LAUNCH(l, shift_links, blocks_for(in->nodes, THREADS), THREADS, to.node + in->root, in->nodes, in->root, in->body);
  lets_arrived(d);
  l->stored.nodes += in->nodes;
  l->stored.bodies += in->bodies;
  if (l->stored.nodes > d->tree.let_nodes_max) d->tree.let_nodes_max = l->stored.nodes;
  if (l->stored.bodies > d->sources.let_bodies_max) d->sources.let_bodies_max = l->stored.bodies;
}

void gpu_let_attach(struct device *d, enum let_kind kind, int peer, size_t bytes, struct let_count *count)
{
  struct incoming_let *in = &d->let->in[kind][peer];
  const struct let_head *head = (const struct let_head *)in->message.at;
  in->attached = bytes > 0;
  in->nodes = in->bodies = 0;
  if (!in->attached) return;
  if (bytes < sizeof *head || head->format != LET_FORMAT)
    fatal("the LET of rank %d (%zu bytes) has not the format of this backend", peer, bytes);
  struct let_layout at = let_layout(head->nodes, head->bodies, head->quad, head->moving);
  if (bytes != at.bytes)
    fatal("the LET of rank %d has %zu bytes, not those of %lld cells and %lld particles", peer, bytes,
          (long long)head->nodes, (long long)head->bodies);
  place(d, kind, in, head, at);
  count->cells += head->nodes;
  count->particles += head->bodies;
}

/* The upper tree is attached like a message. */
void gpu_let_upper(struct device *d, enum let_kind kind, int self, int64_t nodes, const struct node *node,
                   const float (*quad)[6])
{
  struct let_count none = {0, 0};
  if (nodes == 0) {
    gpu_let_attach(d, kind, self, 0, &none);
    return;
  }
  struct let_head head = {LET_FORMAT, 1, 0, 0, nodes, 0};
  struct let_layout at = let_layout(head.nodes, 0, head.quad, 0);
  char *block = (char *)gpu_let_buffer(d, kind, self, at.bytes);
  memcpy(block, &head, sizeof head);
  memcpy(block + at.node, node, sizeof *node * (size_t)nodes);
  memcpy(block + at.quad, quad, sizeof *quad * (size_t)nodes);
  gpu_let_attach(d, kind, self, at.bytes, &none);
}

static bool any_attached(const struct device *d)
{
  for (int k = 0; k < LET_SETS; k++)
    for (int p = 0; p < d->config.ranks; p++)
      if (d->let->in[k][p].attached) return true;
  return false;
}

void gpu_let_clear(struct device *d, enum let_kind kind)
{
  struct let_state *l = d->let;
  CHECK(runtime_stream_sync(l->stream)); /* LETs that were not walked may still be copied from their messages */
  for (int p = 0; p < d->config.ranks; p++) {
    l->in[kind][p].attached = false;
    l->out[kind][p].nodes = l->out[kind][p].bodies = 0;
  }
  if (!any_attached(d)) l->stored = no_lets_stored;
  if (kind != LET_STEP) return;
  l->step_begin = l->stored;
  l->watch.on = false;
}

static void detach(struct device *d, int kind)
{
  for (int p = 0; p < d->config.ranks; p++) d->let->in[kind][p].attached = false;
}

/* The new tree of the fast particles is stored after the LETs of slow particles: what is kept precedes what is
 * renewed. */
static void lets_reset_fast_storage(struct device *d)
{
  struct let_state *l = d->let;
  detach(d, LET_STEP);
  l->stored = l->step_begin;
  if (l->stored.nodes == 0) return;
  d->tree.view.nodes += l->stored.nodes;
  d->tree.part[FAST].base = d->tree.view.nodes;
  l->stored.nodes = l->step_begin.nodes = 0;
}

void lets_reset_storage(struct device *d)
{
  struct let_state *l = d->let;
  if (l->stored.nodes + l->stored.bodies == 0) return;
  lets_wait_for_arrivals(d); /* arrivals in these arrays precede the work that is queued next */
  if (d->tree.renews != RENEWS_ALL) {
    lets_reset_fast_storage(d);
    return;
  }
  for (int k = 0; k < LET_SETS; k++) detach(d, k);
  l->stored = l->step_begin = no_lets_stored;
}
