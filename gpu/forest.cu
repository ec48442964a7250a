/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs that arrive: their places on the device, and what a walk over them starts from. */
#include <config.h>
#include <math.h>
#include <stdlib.h>

#include "let.cuh"
#include "memory.h"
#include "roots.h"

/* LETs are walked together until they have so large a part of the local tree's nodes and particles: smaller ones are not worth
 * a launch of their own, with its tail. */
#define WORTH_A_LAUNCH 0.125

/* So many of the families walk the local tree while LETs travel, and then the LETs apart from it, which takes longer than both
 * together: enough of them to be busy until LETs are there. */
#define FIRST_PART 0.125

/* --- memory ------------------------------------------------------------------------------------------------------ */

void *pinned_room(struct pinned *p, size_t bytes)
{
  if (bytes <= p->room) return p->at;
  pinned_free(p);
  p->room = (size_t)with_slack((int64_t)bytes);
  CHECK(cudaMallocHost(&p->at, p->room));
  memory_note("page-locked", p->room, 0);
  return p->at;
}

void pinned_free(struct pinned *p)
{
  if (!p->at) return;
  CHECK(cudaFreeHost(p->at));
  memory_note("page-locked", 0, p->room);
  p->at = NULL;
  p->room = 0;
}

/* Room for n elements of which `used` stay, as far as there are so many; where there is not, it becomes room for `most`. What is queued may be writing those that
 * stay, and must be done when the old ones go. */
template <typename T>
static void grow(struct device *d, struct array<T> *a, const char *where, int64_t used, int64_t n, int64_t most)
{
  if (n <= a->room) return;
  struct array<T> old = *a;
  if (used > old.room) used = old.room;
  gpu_wait(d);
  a->at = NULL;
  a->room = 0;
  array_room(a, where, most);
  if (used > 0) CHECK(cudaMemcpyAsync(a->at, old.at, sizeof(T) * (size_t)used, cudaMemcpyDeviceToDevice, d->lets->stream));
  CHECK(cudaStreamSynchronize(d->lets->stream));
  array_free(&old);
}

static const struct behind nothing_behind = {0, 0};

/* The arrays of the local tree, with nodes and bodies up to where the next LET begins. */
static struct tree ground_of(const struct device *d)
{
  struct tree t = d->tree;
  t.nodes += d->lets->behind.nodes;
  t.bodies += d->lets->behind.bodies;
  return t;
}

/* Room behind the local tree for so many nodes and bodies in all, and for as many LETs again. */
static void room_behind(struct device *d, int64_t nodes, int64_t bodies, int moving)
{
  const struct tree t = ground_of(d);
  int64_t most = 2 * nodes - d->tree.nodes, most_bodies = 2 * bodies - d->tree.bodies;
  grow(d, &d->node, "device octree", t.nodes, nodes, most);
  grow(d, &d->quad, "device octree", t.nodes, nodes, most);
  grow(d, &d->body, "device sources", t.bodies, bodies, most_bodies);
  d->tree.node = d->node.at;
  d->tree.quad = d->quad.at;
  d->tree.body = d->body.at;
  if (!moving) return;
  grow(d, &d->motion, "device octree", t.nodes, nodes, most);
  grow(d, &d->course, "device sources", t.bodies, bodies, most_bodies);
  d->tree.motion = d->motion.at;
  d->tree.course = d->course.at;
}

/* Room for a LET more. */
static void let_room(struct device *d, int64_t nodes, int64_t bodies, int moving)
{
  const struct tree t = ground_of(d);
  nodes += t.nodes;
  bodies += t.bodies;
  if (nodes > INT32_MAX / 8 || bodies > INT32_MAX / 2)
    fatal("LETs of %lld cells and %lld particles on one device are too long: use more ranks", (long long)nodes, (long long)bodies);
  room_behind(d, nodes, bodies, moving);
}

void device_choose_close(struct device *d);

/* So many trees may be walked at once: the local ones, and two of every rank. */
static int64_t roots_most(const struct device *d) { return PARTS_MOST + 2 * (int64_t)(d->config.ranks > 0 ? d->config.ranks : 1); }

void device_lets_open(struct device *d)
{
  size_t ranks = (size_t)(d->config.ranks > 0 ? d->config.ranks : 1);
  struct lets *l = d->lets = (struct lets *)memory_alloc("LETs", sizeof *l);
  for (int k = 0; k < LET_SETS; k++) {
    l->out[k] = (struct outgoing *)memory_alloc("LETs", sizeof **l->out * ranks);
    l->in[k] = (struct incoming *)memory_alloc("LETs", sizeof **l->in * ranks);
  }
  l->waiting.root = (int32_t *)memory_alloc("LETs", sizeof *l->waiting.root * (size_t)roots_most(d));
  l->root_told = (int32_t *)memory_alloc("LETs", sizeof *l->root_told * (size_t)roots_most(d));
  CHECK(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&l->arrived, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&l->walked, cudaEventDisableTiming));
  CHECK(cudaEventCreate(&l->joined.first_done));
  CHECK(cudaEventCreate(&l->joined.rest_began));
}

static void free_kind(struct device *d, int kind)
{
  struct lets *l = d->lets;
  for (int p = 0; p < d->config.ranks; p++) {
    struct outgoing *out = &l->out[kind][p];
    array_free(&out->packed);
    array_free(&out->cells);
    array_free(&l->in[kind][p].arriving);
    array_free(&l->in[kind][p].update);
    array_free(&out->node_from);
    array_free(&out->body_from);
    pinned_free(&out->told);
    pinned_free(&out->update);
    pinned_free(&l->in[kind][p].message);
  }
  memory_free(l->out[kind]);
  memory_free(l->in[kind]);
}

static void free_watch(struct watch *w)
{
  array_free(&w->from);
  array_free(&w->found);
  array_free(&w->packed);
  array_free(&w->numbers);
  array_free(&w->way);
  array_free(&w->limit);
  pinned_free(&w->told);
  pinned_free(&w->packed_told);
}

void device_lets_close(struct device *d)
{
  struct lets *l = d->lets;
  CHECK(cudaStreamSynchronize(l->stream));
  for (int k = 0; k < LET_SETS; k++) free_kind(d, k);
  free_watch(&l->watch);
  device_choose_close(d);
  array_free(&l->box_begin);
  array_free(&l->rows);
  array_free(&l->staging);
  array_free(&l->root);
  pinned_free(&l->numbers);
  pinned_free(&l->staged);
  CHECK(cudaEventDestroy(l->joined.first_done));
  CHECK(cudaEventDestroy(l->joined.rest_began));
  CHECK(cudaEventDestroy(l->arrived));
  CHECK(cudaEventDestroy(l->walked));
  CHECK(cudaStreamDestroy(l->stream));
  memory_free(l->waiting.root);
  memory_free(l->root_told);
  memory_free(l);
}

/* --- order between the streams ----------------------------------------------------------------------------------- */

void lets_follow(struct device *d) { CHECK(cudaStreamWaitEvent(d->lets->stream, d->lets->walked, 0)); }

void lets_arrived(struct device *d)
{
  CHECK(cudaEventRecord(d->lets->arrived, d->lets->stream));
  d->lets->news = true;
}

void lets_join(struct device *d)
{
  struct lets *l = d->lets;
  if (l->news) CHECK(cudaStreamWaitEvent(d->stream, l->arrived, 0));
  l->news = false;
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

struct let_layout let_layout(int64_t nodes, int64_t bodies, int quad, int moving)
{
  size_t n = (size_t)nodes, b = (size_t)bodies;
  struct let_layout at;
  at.node = sizeof(struct let_head);
  at.motion = at.node + aligned(n * sizeof(struct node));
  at.quad = at.motion + (moving ? aligned(n * sizeof(struct motion)) : 0);
  at.body = at.quad + (quad ? aligned(n * sizeof(struct quad)) : 0);
  at.course = at.body + aligned(b * sizeof(struct body));
  at.bytes = at.course + (moving ? aligned(b * sizeof(struct course)) : 0);
  return at;
}

void *gpu_let_room(struct device *d, enum let_kind kind, int peer, size_t bytes)
{
  struct lets *l = d->lets;
  struct pinned *room = &l->in[kind][peer].message;
  if (bytes > room->room) CHECK(cudaStreamSynchronize(l->stream));   /* what was received before may still be read */
  l->in[kind][peer].bypassed = false;
  return pinned_room(room, bytes);
}

void *gpu_let_body_room(struct device *d, enum let_kind kind, int peer, size_t bytes)
{
  struct incoming *in = &d->lets->in[kind][peer];
  if ((int64_t)bytes > in->arriving.room) CHECK(cudaStreamSynchronize(d->lets->stream));
  in->bypassed = true;
  return array_room(&in->arriving, "device LETs", (int64_t)bytes) + LET_HEAD;
}

/* Links of a LET hold among all. */
static __global__ void shift_links(struct node *node, int32_t nodes, int32_t root, int32_t body)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= nodes) return;
  int2 *link = (int2 *)&node[i].first;
  int2 own = *link;
  own.x += (uint32_t)own.y & NODE_LEAF ? body : root;
  *link = own;
}

template <typename T> static void arrive(struct lets *l, T *to, const struct incoming *in, size_t at, int64_t n)
{
  enum cudaMemcpyKind kind = in->bypassed ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
  const char *from = in->bypassed ? in->arriving.at : in->message.at;
  if (n > 0) CHECK(cudaMemcpyAsync(to, from + at, sizeof(T) * (size_t)n, kind, l->stream));
}

/* A message in its room becomes part of what stands behind the local tree. LETs of a synchronisation do not move. */
static void place(struct device *d, enum let_kind kind, struct incoming *in, const struct let_head *head, const struct let_layout &at)
{
  struct lets *l = d->lets;
  int moving = head->moving && kind != LET_SOFT;
  let_room(d, head->nodes, head->bodies, moving);
  const struct tree to = ground_of(d);
  in->root = to.nodes;
  in->body = to.bodies;
  in->nodes = (int32_t)head->nodes;
  in->bodies = (int32_t)head->bodies;
  in->quad = head->quad;
  in->motion_tick = head->motion_tick;
  lets_follow(d);
  arrive(l, to.node + in->root, in, at.node, in->nodes);
  if (moving) arrive(l, to.motion + in->root, in, at.motion, in->nodes);
  if (head->quad) arrive(l, to.quad + in->root, in, at.quad, in->nodes);
  arrive(l, to.body + in->body, in, at.body, in->bodies);
  if (moving) arrive(l, to.course + in->body, in, at.course, in->bodies);
  LAUNCH(l, shift_links, blocks_for(in->nodes, THREADS), THREADS, to.node + in->root, in->nodes, in->root, in->body);
  lets_arrived(d);
  l->behind.nodes += in->nodes;
  l->behind.bodies += in->bodies;
  if (l->behind.nodes > d->behind_nodes) d->behind_nodes = l->behind.nodes;
  if (l->behind.bodies > d->behind_bodies) d->behind_bodies = l->behind.bodies;
}

void gpu_let_attach(struct device *d, enum let_kind kind, int peer, size_t bytes, struct let_count *count)
{
  struct incoming *in = &d->lets->in[kind][peer];
  const struct let_head *head = (const struct let_head *)in->message.at;
  in->attached = bytes > 0;
  in->nodes = in->bodies = 0;
  if (!in->attached) return;
  if (bytes < sizeof *head || head->format != LET_FORMAT)
    fatal("the LET of rank %d (%zu bytes) is not one of this backend's", peer, bytes);
  struct let_layout at = let_layout(head->nodes, head->bodies, head->quad, head->moving);
  if (bytes != at.bytes)
    fatal("the LET of rank %d has %zu bytes, not those of %lld cells and %lld particles", peer, bytes, (long long)head->nodes,
          (long long)head->bodies);
  place(d, kind, in, head, at);
  count->cells += head->nodes;
  count->particles += head->bodies;
}

/* The little tree over the roots is made as if it were a message. */
void gpu_let_roots(struct device *d, enum let_kind kind, int self, int count, const struct let_card *const *cards)
{
  struct let_count none = {0, 0};
  if (count == 0) {
    gpu_let_attach(d, kind, self, 0, &none);
    return;
  }
  struct let_head head = {LET_FORMAT, 1, 0, 0, roots_nodes(count), 0};
  struct let_layout at = let_layout(head.nodes, 0, head.quad, 0);
  char *block = (char *)gpu_let_room(d, kind, self, at.bytes);
  memcpy(block, &head, sizeof head);
  roots_tree(count, cards, (struct node *)(block + at.node), (float(*)[6])(block + at.quad));
  gpu_let_attach(d, kind, self, at.bytes, &none);
}

static bool any_attached(const struct device *d)
{
  for (int k = 0; k < LET_SETS; k++)
    for (int p = 0; p < d->config.ranks; p++)
      if (d->lets->in[k][p].attached) return true;
  return false;
}

void gpu_let_clear(struct device *d, enum let_kind kind)
{
  struct lets *l = d->lets;
  CHECK(cudaStreamSynchronize(l->stream));   /* what nobody has walked may still be on its way from its room */
  for (int p = 0; p < d->config.ranks; p++) {
    l->in[kind][p].attached = false;
    l->out[kind][p].nodes = l->out[kind][p].bodies = 0;
  }
  if (!any_attached(d)) l->behind = nothing_behind;
  if (kind != LET_STEP) return;
  l->step = l->behind;
  l->watch.on = false;
}

static void detach(struct device *d, int kind)
{
  for (int p = 0; p < d->config.ranks; p++) d->lets->in[kind][p].attached = false;
}

/* The fast particles' new tree goes behind the LETs of slow ones: so what stays stands before what is renewed. */
static void uproot_fast(struct device *d)
{
  struct lets *l = d->lets;
  detach(d, LET_STEP);
  l->behind = l->step;
  if (l->behind.nodes == 0) return;
  d->tree.nodes += l->behind.nodes;
  d->part[FAST].base = d->tree.nodes;
  l->behind.nodes = l->step.nodes = 0;
}

void lets_uproot(struct device *d)
{
  struct lets *l = d->lets;
  if (l->behind.nodes + l->behind.bodies == 0) return;
  lets_join(d);   /* what still arrives there comes before what is queued next */
  if (d->renewing) {
    uproot_fast(d);
    return;
  }
  for (int k = 0; k < LET_SETS; k++) detach(d, k);
  l->behind = l->step = nothing_behind;
}

/* --- walks ------------------------------------------------------------------------------------------------------- */

/* Some of the roots, as a kernel's argument: they need no place that has to outlast the call. */
enum { ROOTS_AT_ONCE = WARP };
struct some_roots {
  int32_t root[ROOTS_AT_ONCE];
};

static __global__ void set_roots(int32_t *to, struct some_roots from, int count)
{
  if ((int)threadIdx.x < count) to[threadIdx.x] = from.root[threadIdx.x];
}

/* The roots of what waits, on the device: those of the last time as long as they are the same. */
static const int32_t *put_roots(struct device *d)
{
  struct lets *l = d->lets;
  int count = l->waiting.count;
  size_t bytes = sizeof(int32_t) * (size_t)count;
  if (count <= l->roots && memcmp(l->root_told, l->waiting.root, bytes) == 0) return l->root.at;
  memcpy(l->root_told, l->waiting.root, bytes);
  l->roots = count;
  array_room(&l->root, "device LETs", roots_most(d));
  for (int at = 0; at < count; at += ROOTS_AT_ONCE) {
    struct some_roots some = {};
    int n = count - at < ROOTS_AT_ONCE ? count - at : (int)ROOTS_AT_ONCE;
    memcpy(some.root, l->root_told + at, sizeof *some.root * (size_t)n);
    LAUNCH(d, set_roots, 1, ROOTS_AT_ONCE, l->root.at + at, some, n);
  }
  return l->root.at;
}

/* What waits is walked. */
static void take_waiting(struct device *d, struct forest *f)
{
  struct waiting *w = &d->lets->waiting;
  memset(f, 0, sizeof *f);
  f->t = ground_of(d);
  f->roots = w->count;
  f->motion_tick = w->motion_tick;
  f->fast_node = INT32_MAX;
  f->root = put_roots(d);
  f->families = f->adding = INT32_MAX;
  lets_join(d);
  w->count = 0;
  w->size = 0;
}

/* LETs of a walk, by number: at LET_STEP those of slow particles too, each before the peer's other. NULL: there is none. */
static int trees_of(const struct walk_request *r) { return 2 * r->peer_count; }
static const struct incoming *tree_at(const struct device *d, const struct walk_request *r, int at)
{
  int kind = at % 2 ? r->let : LET_SLOW;
  const struct incoming *in = &d->lets->in[kind][r->peers[at / 2]];
  return in->attached && in->nodes > 0 && (kind != LET_SLOW || r->let == LET_STEP) ? in : NULL;
}

/* Whether a LET may be walked along with those that wait; then it waits too. */
static bool wait_along(struct device *d, const struct incoming *in)
{
  struct waiting *w = &d->lets->waiting;
  if (w->count > 0 && w->motion_tick != in->motion_tick) return false;
  w->root[w->count++] = in->root;
  w->size += (int64_t)in->nodes + in->bodies;
  w->motion_tick = in->motion_tick;
  return true;
}

static int local_tree(struct device *d, struct forest *f)
{
  memset(f, 0, sizeof *f);
  f->t = d->tree;
  f->roots = d->tree.nodes > 0;
  f->motion_tick = d->motion_tick;
  f->fast_node = d->parts == 2 ? d->part[FAST].base : INT32_MAX;
  f->families = INT32_MAX;
  d->lets->waiting.count = 0;
  d->lets->waiting.size = 0;
  return 1;
}

bool forest_joins(const struct walk_request *r)
{
  bool alone = r->local && r->last && r->peer_count == 0;
  return r->kind == WALK_TOTAL && r->let == LET_SOFT && !alone;
}

/* How many families are the first. */
static int32_t first_families(const struct device *d)
{
  const char *asked = getenv("ESPALIER_FIRST_PART");
  double part = asked ? atof(asked) : FIRST_PART;
  return (int32_t)(fmin(fmax(part, 0), 1) * d->families);
}

/* The first families from the local tree, whose roots begin the list of all. */
static int join_local(struct device *d, struct forest *f)
{
  struct lets *l = d->lets;
  local_tree(d, f);
  l->joined.families = f->families = first_families(d);
  for (int k = 0; k < d->parts; k++) l->waiting.root[l->waiting.count++] = d->part[k].base;
  return 1;
}

/* All from all roots, but the first families from those of LETs. */
static int join_all(struct device *d, struct forest *f)
{
  take_waiting(d, f);
  f->motion_tick = d->motion_tick;
  f->adding = d->lets->joined.families;
  f->local_roots = d->parts;
  return 1;
}

static int next_joined(struct device *d, const struct walk_request *r, struct parting *p, struct forest *f)
{
  struct waiting *w = &d->lets->waiting;
  if (r->local && !p->local_done) {
    p->local_done = 1;
    return join_local(d, f);
  }
  if (p->done) return 0;
  for (; p->at < trees_of(r); p->at++) {
    const struct incoming *in = tree_at(d, r, p->at);
    if (in) w->root[w->count++] = in->root;
  }
  p->done = 1;
  return r->last ? join_all(d, f) : 0;
}

bool forest_gains(const struct device *d, const struct walk_request *r)
{
  return r->kind == WALK_HARD && r->let == LET_STEP && !(r->split.on && neighbours_expected(&d->neighbours));
}

/* Whether the walk is of the local tree and of all that is asked for: moments of all are to be of one tick, those of fast particles of
 * another. */
static bool at_once(const struct device *d, const struct walk_request *r)
{
  if (!r->local || r->peer_count == 0 || d->tree.nodes == 0 || !forest_gains(d, r)) return false;
  for (int k = 0; k < trees_of(r); k++) {
    const struct incoming *in = tree_at(d, r, k);
    if (in && in->motion_tick != (k % 2 ? d->fast_tick : d->motion_tick)) return false;
  }
  return true;
}

static int all_at_once(struct device *d, const struct walk_request *r, struct parting *p, struct forest *f)
{
  struct waiting *w = &d->lets->waiting;
  w->count = 0;
  for (int k = 0; k < d->parts; k++) w->root[w->count++] = d->part[k].base;
  for (; p->at < trees_of(r); p->at++) {
    const struct incoming *in = tree_at(d, r, p->at);
    if (in) w->root[w->count++] = in->root;
  }
  p->local_done = p->done = 1;
  w->motion_tick = d->motion_tick;
  take_waiting(d, f);
  f->fast_node = d->parts == 2 ? d->part[FAST].base : d->tree.nodes + d->lets->step.nodes;
  f->adding = 0;
  f->whole = 1;
  return 1;
}

int forest_next(struct device *d, const struct walk_request *r, struct parting *p, struct forest *f)
{
  struct waiting *w = &d->lets->waiting;
  if (forest_joins(r)) return next_joined(d, r, p, f);
  if (!p->local_done && at_once(d, r)) return all_at_once(d, r, p, f);
  double enough = WORTH_A_LAUNCH * ((double)d->tree.nodes + d->tree.bodies);
  if (r->local && !p->local_done) {
    p->local_done = 1;
    p->done = r->peer_count == 0;
    return local_tree(d, f);
  }
  if (p->done) return 0;
  while (p->at < trees_of(r) && (w->count == 0 || (double)w->size < enough)) {
    const struct incoming *in = tree_at(d, r, p->at);
    if (in && !wait_along(d, in)) break;
    p->at++;
  }
  p->done = p->at == trees_of(r);
  if (w->count == 0 || (p->done && !r->last && (double)w->size < enough)) return 0;
  take_waiting(d, f);
  return 1;
}

void forest_walked(struct device *d, const struct forest *f)
{
  if (f->root) CHECK(cudaEventRecord(d->lets->walked, d->stream));
}
