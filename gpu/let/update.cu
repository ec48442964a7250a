/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Updates of LETs of substeps: corrected particles, and moments of cells. An entry was corrected at a tick if its
 * particle's own time is that tick: one kernel searches the entries of all peers, and what it finds is packed once for
 * all. */
#include <config.h>
#include "backend/let_verbs.h"
#include "gpu/device/search.cuh"
#include "gpu/device/select.cuh"
#include "gpu/let/watch.cuh"
#include "particles/timeline.h"

/* The head of an update. With `cells`, nodes, motions and second moments follow; then the entries. */
struct update_head {
  uint32_t format;
  int32_t tick, cells, quad;
  int64_t nodes, entries;
  char pad[32];
};
static_assert(sizeof(struct update_head) == LET_HEAD, "what follows is aligned");
enum { UPDATE_FORMAT = 0x55504431 };

enum {
  ENTRIES_WITH_COUNT = 1024, /* up to so many entries are copied to the host together with their number */
  STAGE_MAX = 4              /* capacity of the staging memory, in updates */
};

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Offsets of the parts of an update, and its length, bytes. */
struct update_layout {
  size_t node, motion, quad, entry, bytes;
};

static struct update_layout update_layout(int64_t nodes, int64_t entries, int quad)
{
  size_t n = (size_t)nodes;
  struct update_layout at;
  at.node = sizeof(struct update_head);
  at.motion = at.node + n * sizeof(struct node);
  at.quad = at.motion + n * sizeof(struct motion);
  at.entry = at.quad + (quad ? aligned(n * sizeof(struct quad)) : 0);
  at.bytes = at.entry + sizeof(struct update_entry) * (size_t)entries;
  return at;
}

/* --- corrected entries ------------------------------------------------------------------------------------------- */

struct is_corrected {
  const int32_t *from, *own;
  int32_t tick;
  __device__ bool operator()(int32_t e) const { return own[from[e]] == tick; }
};

/* The earliest end of a step among the entries of each peer. The entries of a peer are contiguous, so most warps have
 * those of one peer. */
static __global__ void __launch_bounds__(THREADS)
    find_next(const int32_t *from, int32_t entries, struct particles particles, const int32_t *first, int ranks,
              int32_t *next)
{
  int32_t e = (int32_t)(blockIdx.x * THREADS + threadIdx.x), end = TICKS;
  int peer = 0;
  if (e < entries) {
    int32_t i = from[e];
    end = timeline_end(&particles, i);
    /* the last peer whose entries begin at or before e */
    peer = search_last(0, ranks, [&](int32_t k) { return first[k] <= e; });
  }
  lane_mask mine = warp_match(peer);
  end = warp_min_of(mine, end);
  if (lane_id() == first_lane(mine) && end < TICKS && end < *(volatile int32_t *)&next[peer])
    atomicMin(&next[peer], end);
}

/* The first of the corrected entries that is not before `first`. */
static __device__ int32_t first_found(const int32_t *found, const int32_t *count, int32_t first)
{
  return search_first_not(0, *count, [&](int32_t k) { return found[k] < first; });
}

/* The first corrected entry of each peer, and the first of its LET_STEP. */
static __global__ void find_begins(const int32_t *found, const int32_t *count, struct watch_counts numbers, int ranks)
{
  int p = (int)(blockIdx.x * THREADS + threadIdx.x);
  if (p > ranks) return;
  numbers.begin[p] = first_found(found, count, numbers.first[p]);
  if (p < ranks) numbers.begin_step[p] = first_found(found, count, numbers.first_step[p]);
}

/* Pack the corrected entries. `place` counts from the first entry of the peer. */
static __global__ void __launch_bounds__(THREADS)
    pack_entries(struct tree tree, const int32_t *from, const int32_t *found, const int32_t *first,
                 const int32_t *begin, int ranks, struct update_entry *out)
{
  int32_t count = begin[ranks];
  for (int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x); k < count; k += (int32_t)(gridDim.x * THREADS)) {
    /* the last peer whose entries begin at or before k */
    int low = search_last(0, ranks, [&](int32_t r) { return begin[r] <= k; });
    int32_t i = from[found[k]];
    const struct body b = tree.body[i];
    const struct motion_state w = tree.motion_state[i];
    int2 *to = (int2 *)&out[k];
    to[0] = make_int2(found[k] - first[low], b.x);
    to[1] = make_int2(b.y, b.z);
    to[2] = make_int2(__float_as_int(w.v[0]), __float_as_int(w.v[1]));
    to[3] = make_int2(__float_as_int(w.v[2]), __float_as_int(w.a[0]));
    to[4] = make_int2(__float_as_int(w.a[1]), __float_as_int(w.a[2]));
  }
}

int lets_collect(struct device *d, int32_t tick)
{
  struct let_watch *w = &d->let->watch;
  int ranks = d->config.ranks;
  size_t at_once =
      sizeof(struct update_entry) * (size_t)(w->entries < ENTRIES_WITH_COUNT ? w->entries : ENTRIES_WITH_COUNT);
  if (w->collected == tick || w->entries == 0) return 0;
  w->collected = tick;
  struct watch_counts n = numbers_in(d, w->numbers.at);
  const struct is_corrected rule = {w->from.at, d->p.tick, tick};
  int32_t *count = &d->device_results->count;
  CHECK(runtime_set_bytes(n.next, 0x7f, sizeof *n.next * (size_t)ranks, d->stream)); /* beyond all ticks */
  LAUNCH(d, find_next, blocks_for(w->entries, THREADS), THREADS, w->from.at, w->entries, d->p, n.first, ranks, n.next);
  select_numbers(d, rule, 0, w->entries, w->found.at);
  LAUNCH(d, find_begins, blocks_for(ranks + 1, THREADS), THREADS, w->found.at, count, n, ranks);
  struct update_entry *packed = (struct update_entry *)w->packed.at;
  int64_t blocks = blocks_for(w->entries, THREADS), max_blocks = 8 * (int64_t)d->multiprocessors;
  LAUNCH(d, pack_entries, blocks < max_blocks ? blocks : max_blocks, THREADS, d->tree.view, w->from.at, w->found.at,
         n.first, n.begin, ranks, packed);
  CHECK(
      runtime_copy(w->host_results.at, w->numbers.at, sizeof(int32_t) * (size_t)numbers_count(d), TO_HOST, d->stream));
  CHECK(runtime_copy(pinned_reserve(&w->host_packed, at_once), packed, at_once, TO_HOST, d->stream));
  return 1;
}

/* --- updates ----------------------------------------------------------------------------------------------------- */

size_t gpu_let_update_bytes_max(struct device *d, int peer)
{
  const struct outgoing_let *out = &d->let->out[LET_STEP][peer];
  int64_t entries = entries_of(d->let, peer);
  return out->nodes > 0 || entries > 0 ? update_layout(out->nodes, entries, out->quad).bytes : 0;
}

struct cells_job {
  struct node *node;
  struct motion *motion;
  struct quad *quad; /* or NULL */
  int32_t nodes;
};

static struct cells_job cells_in(char *block, const struct update_layout &at, int32_t nodes, int quad)
{
  struct cells_job cells = {(struct node *)(block + at.node), (struct motion *)(block + at.motion), NULL, nodes};
  if (quad) cells.quad = (struct quad *)(block + at.quad);
  return cells;
}

/* Motion and second moments of a node. */
static __device__ void copy_cell(const struct motion *motion, const struct quad *quad, struct motion *to_motion,
                                 struct quad *to_quad)
{
  for (int k = 0; k < 2; k++) ((float4 *)to_motion)[k] = ((const float4 *)motion)[k];
  for (int k = 0; k < 3 && quad; k++) ((float2 *)to_quad)[k] = ((const float2 *)quad)[k];
}

static __global__ void __launch_bounds__(THREADS) pack_cells(struct tree tree, const int32_t *from, struct cells_job to)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= to.nodes) return;
  int32_t i = from[k];
  for (int h = 0; h < 2; h++) ((int4 *)&to.node[k])[h] = ((const int4 *)&tree.node[i])[h];
  copy_cell(&tree.motion[i], to.quad ? &tree.quad[i] : NULL, &to.motion[k], to.quad ? &to.quad[k] : NULL);
}

/* Pack the cells of a peer's LET on the device, and without `bypass` copy them to the host copy of the update.
 * Queued. */
static void send_cells(struct device *d, struct outgoing_let *out, const struct update_layout &at)
{
  char *block = out->cells.at;
  LAUNCH(d, pack_cells, blocks_for(out->nodes, THREADS), THREADS, d->tree.view, out->node_from.at,
         cells_in(block, at, out->nodes, out->quad));
  if (!d->bypass)
    CHECK(runtime_copy(out->update.at + at.node, block + at.node, at.entry - at.node, TO_HOST, d->stream));
}

size_t gpu_let_update(struct device *d, int peer, int32_t tick, enum let_update_scope scope, int32_t *next,
                      void **message)
{
  struct let_watch *w = &d->let->watch;
  struct outgoing_let *out = &d->let->out[LET_STEP][peer];
  /* all but the head stays on the device */
  int cells = scope == SCOPE_CELLS, slow = scope == SCOPE_SLOW_CORRECTED;
  int bypassed = (cells || scope == SCOPE_ALL_CORRECTED) && d->bypass;
  *next = TICKS;
  if (!w->on || out->nodes + d->let->out[LET_SLOW][peer].nodes == 0) return 0;
  if (lets_collect(d, tick)) gpu_wait(d);
  struct watch_counts host_results = numbers_in(d, w->host_results.at);
  int32_t begin = host_results.begin[peer], end = slow ? host_results.begin_step[peer] : host_results.begin[peer + 1];
  int32_t count = end - begin;
  int few = end <= ENTRIES_WITH_COUNT;
  if (!slow && host_results.next[peer] < TICKS) *next = host_results.next[peer];
  if (count == 0 && scope == SCOPE_CORRECTED) return 0;
  struct update_layout at = update_layout(cells ? out->nodes : 0, count, out->quad);
  struct update_head head = {UPDATE_FORMAT, tick, cells, out->quad, cells ? out->nodes : 0, count};
  size_t from = sizeof(struct update_entry) * (size_t)begin, bytes = sizeof(struct update_entry) * (size_t)count;
  memcpy(pinned_reserve(&out->update, bypassed ? sizeof head : at.bytes), &head, sizeof head);
  *message = out->update.at;
  array_reserve(&out->cells, "device LETs", (int64_t)(bypassed ? at.bytes : cells ? at.entry : 0));
  if (cells) send_cells(d, out, at);
  if (bypassed) {
    if (count > 0) CHECK(runtime_copy(out->cells.at + at.entry, w->packed.at + from, bytes, ON_DEVICE, d->stream));
    return at.bytes;
  }
  if (count > 0 && few) memcpy(out->update.at + at.entry, w->host_packed.at + from, bytes);
  if (count > 0 && !few) CHECK(runtime_copy(out->update.at + at.entry, w->packed.at + from, bytes, TO_HOST, d->stream));
  if (cells || !few) gpu_wait(d);
  return at.bytes;
}

void *gpu_update_body(struct device *d, int peer) { return d->let->out[LET_STEP][peer].cells.at + LET_HEAD; }

void *gpu_update_buffer(struct device *d, int peer, size_t bytes)
{
  struct incoming_let *in = &d->let->in[LET_STEP][peer];
  if ((int64_t)bytes > in->update.capacity) CHECK(runtime_stream_sync(d->let->stream));
  in->update_bypassed = true;
  return array_reserve(&in->update, "device LETs", (int64_t)bytes) + LET_HEAD;
}

/* --- received updates -------------------------------------------------------------------------------------------- */

/* Copy the records of cells except their links. */
static __global__ void __launch_bounds__(THREADS) apply_cells(struct cells_job from, struct cells_job to)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= to.nodes) return;
  *(int4 *)&to.node[k] = *(const int4 *)&from.node[k];
  *(float2 *)&to.node[k].b = *(const float2 *)&from.node[k].b;
  copy_cell(&from.motion[k], from.quad ? &from.quad[k] : NULL, &to.motion[k], to.quad ? &to.quad[k] : NULL);
}

/* Where the entries of a peer are stored: the first slow_count from `slow` on (LET_SLOW), the others from `step` on. */
struct entry_places {
  int32_t slow, slow_count, step, all;
};

static __global__ void __launch_bounds__(THREADS)
    apply_entries(const struct update_entry *entry, int32_t n, int32_t tick, struct tree tree, struct entry_places to)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= n) return;
  const struct update_entry e = entry[k];
  if ((uint32_t)e.place >= (uint32_t)to.all) return;
  int32_t at = e.place < to.slow_count ? to.slow + e.place : to.step + e.place - to.slow_count;
  tree.body[at].x = e.x[0];
  tree.body[at].y = e.x[1];
  tree.body[at].z = e.x[2];
  const struct motion_state w = {{e.v[0], e.v[1], e.v[2]}, tick, {e.a[0], e.a[1], e.a[2]}, 0};
  tree.motion_state[at] = w;
}

static struct entry_places places_of(const struct let_state *let, int peer)
{
  const struct incoming_let *slow = &let->in[LET_SLOW][peer], *step = &let->in[LET_STEP][peer];
  struct entry_places to = {slow->body, slow->attached ? slow->bodies : 0, step->body,
                            step->attached ? step->bodies : 0};
  to.all += to.slow_count;
  return to;
}

/* Queue a copy of the message to the device; returns its place there. */
static char *stage(struct device *d, const void *message, size_t bytes)
{
  struct let_state *l = d->let;
  if (l->staged_bytes + aligned(bytes) > l->staged.capacity) {
    CHECK(runtime_stream_sync(l->stream)); /* all staged updates have been applied */
    l->staged_bytes = 0;
    if (aligned(bytes) > l->staged.capacity) pinned_reserve(&l->staged, STAGE_MAX * aligned(bytes));
    array_reserve(&l->staging, "device LETs", (int64_t)l->staged.capacity);
  }
  char *from = l->staged.at + l->staged_bytes, *to = l->staging.at + l->staged_bytes;
  memcpy(from, message, bytes);
  CHECK(runtime_copy(to, from, bytes, TO_DEVICE, l->stream));
  l->staged_bytes += aligned(bytes);
  return to;
}

int64_t gpu_let_apply(struct device *d, int peer, const void *message, size_t bytes)
{
  struct let_state *l = d->let;
  struct incoming_let *in = &l->in[LET_STEP][peer];
  const struct tree t = d->tree.view; /* LETs are stored after it */
  const struct entry_places places = places_of(l, peer);
  struct update_head head;
  if (bytes >= sizeof head) memcpy(&head, message, sizeof head);
  if (bytes < sizeof head || head.format != UPDATE_FORMAT || head.entries > places.all ||
      (head.cells && (head.nodes != in->nodes || head.quad != in->quad)))
    fatal("an update of rank %d's LET (%zu bytes) does not match the LET that it sent before", peer, bytes);
  struct update_layout at = update_layout(head.nodes, head.entries, head.quad);
  if (bytes != at.bytes)
    fatal("an update of rank %d's LET has %zu bytes, not those of %lld particles", peer, bytes,
          (long long)head.entries);
  lets_wait_for_walk(d);
  char *block = in->update_bypassed ? in->update.at : stage(d, message, bytes);
  in->update_bypassed = false;
  LAUNCH(l, apply_entries, blocks_for(head.entries, THREADS), THREADS, (const struct update_entry *)(block + at.entry),
         (int32_t)head.entries, head.tick, t, places);
  if (head.cells) {
    struct cells_job to = {t.node + in->root, t.motion + in->root, head.quad ? t.quad + in->root : NULL, in->nodes};
    LAUNCH(l, apply_cells, blocks_for(in->nodes, THREADS), THREADS, cells_in(block, at, in->nodes, head.quad), to);
    in->motion_tick = head.tick;
  }
  lets_arrived(d);
  return head.entries;
}
