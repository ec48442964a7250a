/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LETs of substeps after they were chosen: what peers must learn of corrections, and whether particles keep to the ways that
 * the choice allowed for. An entry was corrected at a tick when its particle's own time is that tick: one kernel looks
 * through the entries of all peers, and what it finds is packed once for all. */
#include <config.h>
#include <math.h>

#include "let.cuh"
#include "select.cuh"
#include "timeline.h"

/* What stands before an update: then with `cells` nodes, motions and second moments, then the entries. */
struct update_head {
  uint32_t format;
  int32_t tick, cells, quad;
  int64_t nodes, entries;
  char pad[32];
};
static_assert(sizeof(struct update_head) == LET_HEAD, "what follows is aligned");
enum { UPDATE_FORMAT = 0x55504431 };

struct __align__(8) update_entry {
  int32_t place, x[3];
  float v[3], a[3];
};

enum {
  ROW = 8,             /* lanes for each leaf */
  AT_ONCE = 1024,      /* so many entries come to the host along with their number */
  STAGE_MOST = 4       /* room for so many updates on their way */
};

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Where the parts of an update begin, and its bytes. */
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

/* --- the watch --------------------------------------------------------------------------------------------------- */

struct ways_job {
  struct tree t;
  struct lattice lattice;
  struct let_way *way;
  const float *limit;          /* of boxes, */
  const int32_t *box_begin;    /* whose particles begin here */
  int boxes;
  double a_typical, horizon, tick_length;
  int32_t tick;
};

/* The box of a particle. */
static __device__ int box_of(const struct ways_job &job, int32_t i)
{
  int low = 0, high = job.boxes;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (job.box_begin[middle] <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Position and velocity now: from here the way is straight. */
static __device__ struct let_way way_of(const struct ways_job &job, int32_t i, float limit)
{
  const struct body b = job.t.body[i];
  const struct course w = job.t.course[i];
  const int32_t x[3] = {b.x, b.y, b.z};
  double dt = (job.tick - w.tick) * job.tick_length;
  struct let_way way = {};
  way.limit = limit;
  for (int c = 0; c < 3; c++) {
    way.x[c] = lattice_clamp(x[c] + (w.v[c] + 0.5 * dt * w.a[c]) * dt * job.lattice.inverse);
    way.v[c] = (float)(w.v[c] + dt * w.a[c]);
  }
  return way;
}

/* A row of lanes for each leaf. As a source a particle was allowed what its leaf was, as a target what its box was. */
static __global__ void __launch_bounds__(THREADS) note_ways(const __grid_constant__ struct ways_job job)
{
  int64_t k = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / ROW;
  if (k >= job.t.nodes) return;
  const struct node n = load_node(&job.t.node[k]);
  if (!(n.info & NODE_LEAF)) return;
  const struct motion w = load_motion(&job.t.motion[k]);
  float leaf = (float)essential_stray(essential_pull(&w), job.a_typical, job.horizon);
  int32_t end = n.first + (int32_t)(n.info & NODE_COUNT);
  for (int32_t i = n.first + lane_id() % ROW; i < end; i += ROW)
    job.way[i] = way_of(job, i, job.boxes > 0 ? fminf(leaf, job.limit[box_of(job, i)]) : leaf);
}

static void watch_ways(struct device *d, const struct let_request *r)
{
  struct lets *l = d->lets;
  struct watch *w = &l->watch;
  struct ways_job job = {d->tree, d->lattice};
  float *limit = (float *)pinned_room(&l->numbers, sizeof *limit * BOX_MOST);
  for (int b = 0; b < l->boxes; b++) limit[b] = (float)essential_stray(l->box[b].a_spread, r->a_typical, r->horizon);
  job.way = array_room(&w->way, "device LETs", d->p.n);
  job.limit = array_room(&w->limit, "device LETs", BOX_MOST);
  job.box_begin = l->box_begin.at;
  job.boxes = l->boxes;
  job.a_typical = r->a_typical;
  job.horizon = r->horizon;
  job.tick_length = r->tick_length;
  job.tick = r->tick;
  CHECK(cudaMemcpyAsync(w->limit.at, limit, sizeof *limit * (size_t)l->boxes, cudaMemcpyHostToDevice, d->stream));
  LAUNCH(d, note_ways, blocks_for((int64_t)d->tree.nodes * ROW, THREADS), THREADS, job);
}

/* Entries of a peer: those of LET_SLOW, then those of LET_STEP. */
static int64_t entries_of(const struct lets *l, int peer) { return (int64_t)l->out[LET_SLOW][peer].bodies + l->out[LET_STEP][peer].bodies; }

static int32_t append_entries(struct device *d, const struct outgoing *out, int32_t at)
{
  size_t bytes = sizeof(int32_t) * (size_t)out->bodies;
  if (bytes > 0) CHECK(cudaMemcpyAsync(d->lets->watch.from.at + at, out->body_from.at, bytes, cudaMemcpyDeviceToDevice, d->stream));
  return at + out->bodies;
}

/* The entries of all peers, one peer after the other. */
static void watch_entries(struct device *d)
{
  struct lets *l = d->lets;
  struct watch *w = &l->watch;
  int64_t entries = 0;
  for (int p = 0; p < d->config.ranks; p++) entries += entries_of(l, p);
  if (entries > INT32_MAX / 2) fatal("%lld particles in LETs of one device: use more ranks", (long long)entries);
  w->entries = (int32_t)entries;
  array_room(&w->from, "device LETs", entries);
  array_room(&w->found, "device LETs", entries);
  array_room(&w->packed, "device LETs", entries * (int64_t)sizeof(struct update_entry));
  int32_t at = 0;
  for (int p = 0; p < d->config.ranks; p++) {
    l->out[LET_STEP][p].first = at;
    at = append_entries(d, &l->out[LET_SLOW][p], at);
    at = append_entries(d, &l->out[LET_STEP][p], at);
  }
}

/* Numbers of all peers, in one block on the device and one on the host. */
struct numbers {
  int32_t *first;   /* where their entries begin among all, [ranks + 1] */
  int32_t *begin;   /* the same among those that were found, [ranks + 1] */
  int32_t *next;    /* [ranks] */
};
static struct numbers numbers_in(const struct device *d, void *block)
{
  int32_t *first = (int32_t *)block, ranks = d->config.ranks;
  struct numbers n = {first, first + ranks + 1, first + 2 * (ranks + 1)};
  return n;
}
static int64_t numbers_count(const struct device *d) { return 3 * (int64_t)d->config.ranks + 2; }

static void watch_numbers(struct device *d)
{
  struct lets *l = d->lets;
  struct watch *w = &l->watch;
  int ranks = d->config.ranks;
  size_t bytes = sizeof(int32_t) * (size_t)numbers_count(d);
  array_room(&w->numbers, "device LETs", numbers_count(d));
  struct numbers told = numbers_in(d, pinned_room(&w->told, bytes));
  memset(w->told.at, 0, bytes);
  for (int p = 0; p < ranks; p++) told.first[p] = l->out[LET_STEP][p].first;
  told.first[ranks] = w->entries;
  for (int p = 0; p < ranks; p++) told.next[p] = TICKS;
  CHECK(cudaMemcpyAsync(w->numbers.at, told.first, bytes, cudaMemcpyHostToDevice, d->stream));
}

void gpu_let_watch(struct device *d, const struct let_request *r)
{
  struct watch *w = &d->lets->watch;
  w->on = true;
  w->tick = r->tick;
  w->collected = -1;   /* corrections at this very tick are still to come */
  w->tick_length = r->tick_length;
  w->end = r->tick + (int32_t)lrint(r->horizon / r->tick_length);
  w->ways = r->part == LET_OF_ALL;
  if (w->ways) watch_ways(d, r);
  watch_entries(d);
  watch_numbers(d);
  gpu_wait(d);   /* what is on its way stands in memory that others use */
}

/* --- strays ------------------------------------------------------------------------------------------------------ */

struct stray_job {
  struct tree t;
  struct particles p;
  const struct let_way *way;
  const struct group *group;
  const int32_t *list;
  int32_t count, tick;
  double gone, left, spacing;
  unsigned long long *strays;   /* and late ones */
};

/* A warp for each group with active members: those that were corrected at the tick. */
static __global__ void __launch_bounds__(THREADS) find_strays(const __grid_constant__ struct stray_job job)
{
  int32_t k = (int32_t)((blockIdx.x * (int64_t)THREADS + threadIdx.x) / WARP);
  unsigned strays = 0, late = 0;
  if (k >= job.count) return;
  const struct group g = job.group[job.list[k]];
  for (int32_t i = g.begin + lane_id(); i < g.end; i += WARP) {
    if (job.p.tick[i] != job.tick) continue;
    const struct body b = job.t.body[i];
    const struct course w = job.t.course[i];
    const struct let_way way = job.way[i];
    const int32_t x[3] = {b.x, b.y, b.z};
    double now2 = 0, then2 = 0, most = (double)way.limit + 2 * job.spacing;   /* both ends were rounded to the lattice */
    for (int c = 0; c < 3; c++) {
      double off = ((double)x[c] - way.x[c]) * job.spacing - way.v[c] * job.gone;
      double then = off + (w.v[c] - way.v[c] + 0.5 * job.left * w.a[c]) * job.left;
      now2 += off * off;
      then2 += then * then;
    }
    strays += now2 > most * most || then2 > most * most;
    late += now2 > most * most;
  }
  strays = __reduce_add_sync(FULL, strays);
  late = __reduce_add_sync(FULL, late);
  if (lane_id() > 0 || strays == 0) return;
  atomicAdd(&job.strays[0], (unsigned long long)strays);
  if (late > 0) atomicAdd(&job.strays[1], (unsigned long long)late);
}

int64_t gpu_strays(struct device *d, int64_t *late)
{
  struct lets *l = d->lets;
  const struct watch *w = &l->watch;
  unsigned long long told[2];
  if (!w->on || !w->ways || d->active_groups == 0) return 0;
  struct stray_job job = {d->tree, d->p, w->way.at, d->group.at, d->active_group.at, d->active_groups, d->active_tick};
  job.gone = (d->active_tick - w->tick) * w->tick_length;
  job.left = (w->end - d->active_tick) * w->tick_length;
  job.spacing = d->lattice.spacing;
  job.strays = (unsigned long long *)array_room(&l->rows, "device LETs", 2);
  CHECK(cudaMemsetAsync(job.strays, 0, sizeof told, d->stream));
  LAUNCH(d, find_strays, blocks_for((int64_t)d->active_groups * WARP, THREADS), THREADS, job);
  unsigned long long *numbers = (unsigned long long *)pinned_room(&l->numbers, sizeof told);
  CHECK(cudaMemcpyAsync(numbers, job.strays, sizeof told, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
  *late += (int64_t)numbers[1];
  return (int64_t)numbers[0];
}

/* --- what was corrected ------------------------------------------------------------------------------------------ */

struct is_corrected {
  const int32_t *from, *own;
  int32_t tick;
  __device__ bool operator()(int32_t e) const { return own[from[e]] == tick; }
};

/* The earliest end of a step of every peer's entries; peers' entries are contiguous, so most warps have one peer's. */
static __global__ void __launch_bounds__(THREADS) find_next(const int32_t *from, int32_t entries, struct particles p, const int32_t *first,
                                                            int ranks, int32_t *next)
{
  int32_t e = (int32_t)(blockIdx.x * THREADS + threadIdx.x), end = TICKS;
  int peer = 0;
  if (e < entries) {
    int32_t i = from[e];
    end = timeline_end(&p, i);
    int high = ranks;   /* the last peer whose entries begin at or before e */
    while (high - peer > 1) {
      int middle = (peer + high) / 2;
      if (first[middle] <= e)
        peer = middle;
      else
        high = middle;
    }
  }
  unsigned mine = __match_any_sync(FULL, peer);
  end = __reduce_min_sync(mine, end);
  if (lane_id() == __ffs((int)mine) - 1 && end < TICKS && end < *(volatile int32_t *)&next[peer]) atomicMin(&next[peer], end);
}

/* Where each peer's entries begin among the found ones. */
static __global__ void find_begins(const int32_t *found, const int32_t *count, const int32_t *first, int ranks, int32_t *begin)
{
  int p = (int)(blockIdx.x * THREADS + threadIdx.x);
  if (p > ranks) return;
  int32_t low = 0, high = *count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (found[middle] < first[p])
      low = middle + 1;
    else
      high = middle;
  }
  begin[p] = low;
}

/* `place` is among the entries of the peer. */
static __global__ void __launch_bounds__(THREADS) pack_entries(struct tree t, const int32_t *from, const int32_t *found, const int32_t *first,
                                                               const int32_t *begin, int ranks, struct update_entry *out)
{
  int32_t count = begin[ranks];
  for (int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x); k < count; k += (int32_t)(gridDim.x * THREADS)) {
    int low = 0, high = ranks;   /* the last peer whose entries begin at or before k */
    while (high - low > 1) {
      int middle = (low + high) / 2;
      if (begin[middle] <= k)
        low = middle;
      else
        high = middle;
    }
    int32_t i = from[found[k]];
    const struct body b = t.body[i];
    const struct course w = t.course[i];
    int2 *to = (int2 *)&out[k];
    to[0] = make_int2(found[k] - first[low], b.x);
    to[1] = make_int2(b.y, b.z);
    to[2] = make_int2(__float_as_int(w.v[0]), __float_as_int(w.v[1]));
    to[3] = make_int2(__float_as_int(w.v[2]), __float_as_int(w.a[0]));
    to[4] = make_int2(__float_as_int(w.a[1]), __float_as_int(w.a[2]));
  }
}

/* The entries that were corrected at the tick, packed; how many each peer has, and its next tick, on the host. */
static void collect(struct device *d, int32_t tick)
{
  struct watch *w = &d->lets->watch;
  int ranks = d->config.ranks;
  size_t at_once = sizeof(struct update_entry) * (size_t)(w->entries < AT_ONCE ? w->entries : AT_ONCE);
  if (w->collected == tick || w->entries == 0) return;
  w->collected = tick;
  struct numbers n = numbers_in(d, w->numbers.at);
  const struct is_corrected rule = {w->from.at, d->p.tick, tick};
  int32_t *count = &d->answers->count;
  CHECK(cudaMemsetAsync(n.next, 0x7f, sizeof *n.next * (size_t)ranks, d->stream));   /* beyond all ticks */
  LAUNCH(d, find_next, blocks_for(w->entries, THREADS), THREADS, w->from.at, w->entries, d->p, n.first, ranks, n.next);
  select_numbers(d, rule, 0, w->entries, w->found.at);
  LAUNCH(d, find_begins, blocks_for(ranks + 1, THREADS), THREADS, w->found.at, count, n.first, ranks, n.begin);
  struct update_entry *packed = (struct update_entry *)w->packed.at;
  int64_t blocks = blocks_for(w->entries, THREADS), most = 8 * (int64_t)d->multiprocessors;
  LAUNCH(d, pack_entries, blocks < most ? blocks : most, THREADS, d->tree, w->from.at, w->found.at, n.first, n.begin, ranks, packed);
  CHECK(cudaMemcpyAsync(w->told.at, w->numbers.at, sizeof(int32_t) * (size_t)numbers_count(d), cudaMemcpyDeviceToHost, d->stream));
  CHECK(cudaMemcpyAsync(pinned_room(&w->packed_told, at_once), packed, at_once, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
}

/* --- updates ----------------------------------------------------------------------------------------------------- */

size_t gpu_let_update_most(struct device *d, int peer)
{
  const struct outgoing *out = &d->lets->out[LET_STEP][peer];
  int64_t entries = entries_of(d->lets, peer);
  return out->nodes > 0 || entries > 0 ? update_layout(out->nodes, entries, out->quad).bytes : 0;
}

struct cells_job {
  struct node *node;
  struct motion *motion;
  struct quad *quad;   /* or NULL */
  int32_t nodes;
};

static struct cells_job cells_in(char *block, const struct update_layout &at, int32_t nodes, int quad)
{
  struct cells_job cells = {(struct node *)(block + at.node), (struct motion *)(block + at.motion), NULL, nodes};
  if (quad) cells.quad = (struct quad *)(block + at.quad);
  return cells;
}

/* Motion and second moments of a node. */
static __device__ void copy_cell(const struct motion *motion, const struct quad *quad, struct motion *to_motion, struct quad *to_quad)
{
  for (int k = 0; k < 2; k++) ((float4 *)to_motion)[k] = ((const float4 *)motion)[k];
  for (int k = 0; k < 3 && quad; k++) ((float2 *)to_quad)[k] = ((const float2 *)quad)[k];
}

static __global__ void __launch_bounds__(THREADS) pack_cells(struct tree t, const int32_t *from, struct cells_job to)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= to.nodes) return;
  int32_t i = from[k];
  for (int h = 0; h < 2; h++) ((int4 *)&to.node[k])[h] = ((const int4 *)&t.node[i])[h];
  copy_cell(&t.motion[i], to.quad ? &t.quad[i] : NULL, &to.motion[k], to.quad ? &to.quad[k] : NULL);
}

/* Cells of a peer's LET as they stand in its update, and on the host too, or with `bypass` nowhere else. */
static void send_cells(struct device *d, struct outgoing *out, const struct update_layout &at)
{
  char *block = out->cells.at;
  LAUNCH(d, pack_cells, blocks_for(out->nodes, THREADS), THREADS, d->tree, out->node_from.at,
         cells_in(block, at, out->nodes, out->quad));
  if (!d->bypass) CHECK(cudaMemcpyAsync(out->update.at + at.node, block + at.node, at.entry - at.node, cudaMemcpyDeviceToHost, d->stream));
}

size_t gpu_let_update(struct device *d, int peer, int32_t tick, enum let_news news, int32_t *next, void **message)
{
  struct watch *w = &d->lets->watch;
  struct outgoing *out = &d->lets->out[LET_STEP][peer];
  int cells = news == NEWS_CELLS, apart = news != NEWS_FEW && d->bypass;   /* all but the head stays on the device */
  *next = TICKS;
  if (!w->on || out->nodes + d->lets->out[LET_SLOW][peer].nodes == 0) return 0;
  collect(d, tick);
  struct numbers told = numbers_in(d, w->told.at);
  int32_t begin = told.begin[peer], count = told.begin[peer + 1] - begin, few = told.begin[d->config.ranks] <= AT_ONCE;
  if (told.next[peer] < TICKS) *next = told.next[peer];
  if (count == 0 && news == NEWS_FEW) return 0;
  struct update_layout at = update_layout(cells ? out->nodes : 0, count, out->quad);
  struct update_head head = {UPDATE_FORMAT, tick, cells, out->quad, cells ? out->nodes : 0, count};
  size_t from = sizeof(struct update_entry) * (size_t)begin, bytes = sizeof(struct update_entry) * (size_t)count;
  memcpy(pinned_room(&out->update, apart ? sizeof head : at.bytes), &head, sizeof head);
  *message = out->update.at;
  array_room(&out->cells, "device LETs", (int64_t)(apart ? at.bytes : cells ? at.entry : 0));
  if (cells) send_cells(d, out, at);
  if (apart) {
    if (count > 0) CHECK(cudaMemcpyAsync(out->cells.at + at.entry, w->packed.at + from, bytes, cudaMemcpyDeviceToDevice, d->stream));
    return at.bytes;
  }
  if (count > 0 && few) memcpy(out->update.at + at.entry, w->packed_told.at + from, bytes);
  if (count > 0 && !few)
    CHECK(cudaMemcpyAsync(out->update.at + at.entry, w->packed.at + from, bytes, cudaMemcpyDeviceToHost, d->stream));
  if (cells || !few) gpu_wait(d);
  return at.bytes;
}

void *gpu_update_body(struct device *d, int peer) { return d->lets->out[LET_STEP][peer].cells.at + LET_HEAD; }

void *gpu_update_room(struct device *d, int peer, size_t bytes)
{
  struct incoming *in = &d->lets->in[LET_STEP][peer];
  if ((int64_t)bytes > in->update.room) CHECK(cudaStreamSynchronize(d->lets->stream));
  in->update_bypassed = true;
  return array_room(&in->update, "device LETs", (int64_t)bytes) + LET_HEAD;
}

/* --- taking updates ---------------------------------------------------------------------------------------------- */

/* Links stay. */
static __global__ void __launch_bounds__(THREADS) apply_cells(struct cells_job from, struct cells_job to)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= to.nodes) return;
  *(int4 *)&to.node[k] = *(const int4 *)&from.node[k];
  *(float2 *)&to.node[k].b = *(const float2 *)&from.node[k].b;
  copy_cell(&from.motion[k], from.quad ? &from.quad[k] : NULL, &to.motion[k], to.quad ? &to.quad[k] : NULL);
}

/* Where a peer's entries stand, of which the first `slows` are of its LET of slow particles. */
struct places {
  int32_t slow, slows, step, all;
};

static __global__ void __launch_bounds__(THREADS) apply_entries(const struct update_entry *entry, int32_t n, int32_t tick, struct tree t,
                                                                struct places to)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= n) return;
  const struct update_entry e = entry[k];
  if ((uint32_t)e.place >= (uint32_t)to.all) return;
  int32_t at = e.place < to.slows ? to.slow + e.place : to.step + e.place - to.slows;
  t.body[at].x = e.x[0], t.body[at].y = e.x[1], t.body[at].z = e.x[2];
  const struct course w = {{e.v[0], e.v[1], e.v[2]}, tick, {e.a[0], e.a[1], e.a[2]}, 0};
  t.course[at] = w;
}

static struct places places_of(const struct lets *l, int peer)
{
  const struct incoming *slow = &l->in[LET_SLOW][peer], *step = &l->in[LET_STEP][peer];
  struct places to = {slow->body, slow->attached ? slow->bodies : 0, step->body, step->attached ? step->bodies : 0};
  to.all += to.slows;
  return to;
}

/* A copy of the message on its way to the device; returns where it will be there. */
static char *stage(struct device *d, const void *message, size_t bytes)
{
  struct lets *l = d->lets;
  if (l->staged_bytes + aligned(bytes) > l->staged.room) {
    CHECK(cudaStreamSynchronize(l->stream));   /* what was staged has been used */
    l->staged_bytes = 0;
    if (aligned(bytes) > l->staged.room) pinned_room(&l->staged, STAGE_MOST * aligned(bytes));
    array_room(&l->staging, "device LETs", (int64_t)l->staged.room);
  }
  char *from = l->staged.at + l->staged_bytes, *to = l->staging.at + l->staged_bytes;
  memcpy(from, message, bytes);
  CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, l->stream));
  l->staged_bytes += aligned(bytes);
  return to;
}

int64_t gpu_let_apply(struct device *d, int peer, const void *message, size_t bytes)
{
  struct lets *l = d->lets;
  struct incoming *in = &l->in[LET_STEP][peer];
  const struct tree t = d->tree;   /* LETs stand behind it */
  const struct places places = places_of(l, peer);
  struct update_head head;
  if (bytes >= sizeof head) memcpy(&head, message, sizeof head);
  if (bytes < sizeof head || head.format != UPDATE_FORMAT || head.entries > places.all ||
      (head.cells && (head.nodes != in->nodes || head.quad != in->quad)))
    fatal("an update of rank %d's LET (%zu bytes) is not of what it sent before", peer, bytes);
  struct update_layout at = update_layout(head.nodes, head.entries, head.quad);
  if (bytes != at.bytes)
    fatal("an update of rank %d's LET has %zu bytes, not those of %lld particles", peer, bytes, (long long)head.entries);
  lets_follow(d);
  char *block = in->update_bypassed ? in->update.at : stage(d, message, bytes);
  in->update_bypassed = false;
  LAUNCH(l, apply_entries, blocks_for(head.entries, THREADS), THREADS, (const struct update_entry *)(block + at.entry), (int32_t)head.entries,
         head.tick, t, places);
  if (head.cells) {
    struct cells_job to = {t.node + in->root, t.motion + in->root, head.quad ? t.quad + in->root : NULL, in->nodes};
    LAUNCH(l, apply_cells, blocks_for(in->nodes, THREADS), THREADS, cells_in(block, at, in->nodes, head.quad), to);
    in->motion_tick = head.tick;
  }
  lets_arrived(d);
  return head.entries;
}
