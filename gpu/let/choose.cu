/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selection of LETs for several receivers at once. Generation by generation, from the root down, the children of opened
 * cells are tested, by one warp for each cell, with a box in each lane. Prefix sums over words of marks give the
 * selected nodes their places. The operations on
 * one node are in choose.h. */
#include <config.h>

#include "backend/let_verbs.h"
#include "base/memory.h"
#include "gpu/device/scan.cuh"
#include "gpu/let/choice.cuh"
#include "particles/timeline.h"

enum {
  CHILDREN = 8,
  FEW_THREADS = 1024,           /* threads of a block that processes generations alone, */
  FEW_CELLS = 128,              /* as long as they have at most so many cells */
  BLOCKS_PER_MULTIPROCESSOR = 4 /* of kernels whose work is in a list */
};
/* Maximum of the bytes for marks, sums and kept particles of the receivers that are processed together. */
#define TABLES_MAX ((int64_t)256 << 20)

/* --- queries ----------------------------------------------------------------------------------------------------- */

/* A node or particle that is tested, in shared memory for all lanes. */
struct node_query {
  float4 a, b, c;
};

static __device__ __forceinline__ void put_query(struct node_query *to, const struct essential_source &asked)
{
  to->a = make_float4(asked.x[0], asked.x[1], asked.x[2], asked.b);
  to->b = make_float4(asked.displacement[0], asked.displacement[1], asked.displacement[2], asked.reach);
  to->c = make_float4(asked.grow, __int_as_float(asked.opened), asked.away, 0);
}

static __device__ __forceinline__ struct essential_source get_query(const struct node_query *from)
{
  const float4 a = from->a, b = from->b, c = from->c;
  const struct essential_source q = {{a.x, a.y, a.z}, {b.x, b.y, b.z}, a.w, b.w, c.z, c.x, __float_as_int(c.y)};
  return q;
}

static __device__ __forceinline__ struct table_box load_box(const float4 *chunk)
{
  const float4 a = chunk[lane_id()], b = chunk[LANES + lane_id()], c = chunk[2 * LANES + lane_id()];
  const struct table_box t = {{a.x, a.y, a.z}, {a.w, b.x, b.y}, {b.z, b.w, c.x}, c.y, c.z};
  return t;
}

static __device__ __forceinline__ struct essential_query receiver_request(const struct choose_job &job,
                                                                          const struct receiver &to)
{
  struct essential_query g = job.query;
  for (int c = 0; c < 3; c++) g.origin[c] = to.origin[c];
  return g;
}

/* Results of queries. Bit k: the query of lane k. */
struct need_masks {
  lane_mask near, open;
};

/* Test the queries in the mask `which` of a warp against all boxes of a receiver. Each lane has its own query in `own`;
 * all are in `queries`. A query whose result is final is not tested again: with OPENING `open`, else `near`. */
template <bool OPENING>
static __device__ struct need_masks test_boxes(const struct choose_job &job, const struct receiver &to,
                                               const struct node_query *queries, const struct essential_source &own,
                                               lane_mask which)
{
  struct need_masks all = {0, 0};
  for (int32_t chunk = to.chunk; chunk < to.chunk + to.chunks; chunk++) {
    lane_mask left = which & ~(OPENING ? all.open : all.near), near = 0, open = 0;
    if (job.query.cutoff >= 0) left &= ~warp_ballot(essential_beyond(&job.bound[chunk], job.cutoff, &own));
    if (!left) continue;
    const struct table_box box = load_box(job.box + (int64_t)chunk * 3 * LANES);
    for (; left; left &= left - 1) {
      int k = first_lane(left);
      const struct essential_source a = get_query(&queries[k]);
      enum need need = essential_of(&box, job.cutoff, &a);
      near |= (lane_mask)(need != NEED_NOTHING) << k;
      if (OPENING) open |= (lane_mask)(need == NEED_OPEN) << k;
    }
    all.near |= warp_or(near);
    if (OPENING) all.open |= warp_or(open);
  }
  return all;
}

/* --- marks ------------------------------------------------------------------------------------------------------- */

/* The cells of a generation, [x, y) in the list. Generation 0 tests the roots and has one cell for each receiver, which
 * is not in the list. All lanes must call. */
static __device__ int2 generation(const struct choose_job &job, int g)
{
  const volatile int32_t *cells = job.chosen->cells;
  if (g == 0) return make_int2(0, job.receivers);
  int32_t begin = warp_sum(lane_id() >= 1 && lane_id() < g ? cells[lane_id()] : 0);
  return make_int2(begin, begin + cells[g]);
}

static_assert(LANES % MARKED == 0, "the masks of a warp are words of marks");

/* One mask of bits, the first of which is bit `at` of a row of words, as this lane's part: a lane for each word. */
static __device__ __forceinline__ uint32_t part_of(lane_mask mask, int at)
{
  int from = MARKED * lane_id() - at; /* bit of the mask with which the word begins */
  return from >= (int)LANES ? 0 : from < 0 ? (uint32_t)(mask << -from) : (uint32_t)(mask >> from);
}

/* Mark the children of a cell, and add their contributions to the message. */
static __device__ void mark_children(const struct choose_job &job, int2 cell, lane_mask near, lane_mask open,
                                     int bodies)
{
  int32_t first = cell.x - job.origin;
  int shift = first % MARKED, later = shift + lane_id() >= MARKED;
  int here = warp_sum(later ? 0 : bodies), there = warp_sum(later ? bodies : 0);
  if (cell.x == job.root && !near) open = 1; /* an empty root */
  uint32_t needed = part_of(near, shift), opened = part_of(open, shift);
  if (!(needed | opened)) return;
  int64_t word = (int64_t)(cell.y >> RECEIVER_SHIFT) * job.words + first / MARKED + lane_id();
  atomicOr(&job.mark[word], (unsigned long long)choose_word(needed, opened));
  atomicAdd(&job.sum[word],
            (unsigned long long)choose_share(choose_bits(needed | opened), lane_id() == 0 ? here : there));
}

/* Lanes with a cell or a leaf append it to the lists: cells from `next` on, the begin of the next generation. All
 * threads must call. */
template <int WARPS>
static __device__ void append(const struct choose_job &job, int g, int32_t next, bool is_cell, bool is_leaf, int2 cell,
                              int2 leaf)
{
  __shared__ int count[WARPS];
  __shared__ int32_t place[2];
  lane_mask cells = warp_ballot(is_cell), leaves = warp_ballot(is_leaf);
  int warp = (int)threadIdx.x / LANES;
  if (lane_id() == 0) count[warp] = lane_count(cells) | lane_count(leaves) << 16;
  __syncthreads();
  int own = lane_id() < WARPS ? count[lane_id()] : 0;
  int all = warp_sum(own), before = warp_sum(lane_id() < warp ? own : 0);
  if (threadIdx.x == 0) {
    place[0] = all & 0xffff ? next + atomicAdd(&job.chosen->cells[g + 1], all & 0xffff) : 0;
    place[1] = all >> 16 ? atomicAdd(&job.chosen->leaves, all >> 16) : 0;
  }
  __syncthreads();
  if (is_cell) {
    int32_t at = place[0] + (before & 0xffff) + lane_count(cells & lanes_below());
    if (at < job.cell_capacity) job.cell[at] = cell;
  }
  if (is_leaf) {
    int32_t at = place[1] + (before >> 16) + lane_count(leaves & lanes_below());
    if (at < job.leaf_capacity) job.leaf[at] = leaf;
  }
}

/* Test and mark the children of a cell, by one warp, and list the opened ones. */
template <int WARPS>
static __device__ void open_cell(const struct choose_job &job, int g, int32_t k, int2 range, struct node_query *queries)
{
  bool mine = k < range.y && (g == 0 || k < job.cell_capacity);
  int2 cell = mine ? g > 0 ? job.cell[k] : make_int2(job.root, 1 | k << RECEIVER_SHIFT) : make_int2(0, 0);
  int count = cell.y & CHILDREN_MASK, r = cell.y >> RECEIVER_SHIFT;
  struct receiver to = {};
  struct node n = {};
  struct essential_source own = {};
  int32_t i = cell.x + lane_id();
  if (mine) to = job.receiver[r];
  if (lane_id() < count) {
    n = load_node(&job.t.node[i]);
    const struct motion w = load_motion(&job.t.motion[i]);
    const struct essential_query query = receiver_request(job, to);
    own = essential_node(&query, &n, &w);
    put_query(&queries[lane_id()], own);
  }
  warp_sync();
  const struct need_masks a = test_boxes<true>(job, to, queries, own, lane_bit(count) - 1);
  warp_sync();
  bool opened = a.open >> lane_id() & 1, leaf = n.info & NODE_LEAF;
  int bodies = opened && leaf && !job.list_leaves ? (int)(n.info & NODE_COUNT) : 0;
  if (mine) mark_children(job, cell, a.near, a.open, bodies);
  append<WARPS>(job, g, g > 0 ? range.y : 0, opened && !leaf, opened && leaf && job.list_leaves,
                make_int2(n.first, (int)(n.info & NODE_COUNT) | r << RECEIVER_SHIFT), make_int2(i, r));
}

/* Process generations `first` to `last`. Several generations need a grid of one block. */
template <int COUNT>
static __global__ void __launch_bounds__(COUNT)
    open_cells(const __grid_constant__ struct choose_job job, int first, int last)
{
  __shared__ struct node_query queries[COUNT / LANES][CHILDREN];
  int warp = (int)threadIdx.x / LANES;
  for (int g = first; g <= last; g++) {
    int2 range = generation(job, g);
    for (int64_t base = range.x + (int64_t)blockIdx.x * (COUNT / LANES); base < range.y;
         base += (int64_t)gridDim.x * (COUNT / LANES))
      open_cell<COUNT / LANES>(job, g, (int32_t)base + warp, range, queries[warp]);
    __syncthreads();
  }
}

/* An upper limit of the number of cells of a generation. */
static int64_t cells_max(const struct choose_job &job, const struct levels &levels, int g)
{
  int32_t nodes = levels.begin[g + 1] - levels.begin[g], parents = g > 0 ? levels.begin[g] - levels.begin[g - 1] : 1;
  return (int64_t)job.receivers * (nodes < parents ? nodes : parents);
}

static void mark_nodes(struct device *d, const struct choose_job &job, const struct levels &levels)
{
  int64_t max_blocks = (int64_t)BLOCKS_PER_MULTIPROCESSOR * d->multiprocessors;
  for (int g = 0, end; g < levels.count; g = end) {
    int64_t cells = cells_max(job, levels, g), blocks = blocks_for(cells, THREADS / LANES);
    end = g + 1;
    if (cells > FEW_CELLS) {
      LAUNCH(d, open_cells<THREADS>, blocks < max_blocks ? blocks : max_blocks, THREADS, job, g, g);
      continue;
    }
    while (end < levels.count && cells_max(job, levels, end) <= FEW_CELLS) end++;
    LAUNCH(d, open_cells<FEW_THREADS>, 1, FEW_THREADS, job, g, end - 1);
  }
}

/* --- particles --------------------------------------------------------------------------------------------------- */

/* Lanes in the mask `there` have a particle, from `first` on. Returns the mask of those that may come within the
 * cutoff, and marks them to be kept. */
static __device__ lane_mask near_bodies(const struct choose_job &job, int32_t r, int32_t first, lane_mask there,
                                        double pull, struct node_query *queries)
{
  const struct receiver to = job.receiver[r];
  struct essential_source own = {};
  if (there >> lane_id() & 1) {
    const struct body b = job.t.body[first + lane_id()];
    const struct motion_state w = job.t.motion_state[first + lane_id()];
    const int32_t x[3] = {b.x, b.y, b.z};
    const struct essential_query query = receiver_request(job, to);
    own = essential_particle(&query, x, w.v, w.a, w.tick, pull);
    put_query(&queries[lane_id()], own);
  }
  warp_sync();
  lane_mask near = test_boxes<false>(job, to, queries, own, there).near;
  warp_sync();
  uint32_t bits = part_of(near, first % MARKED);
  if (bits) atomicOr(&job.keep[(int64_t)r * job.keep_words + first / MARKED + lane_id()], bits);
  return near;
}

/* Select the particles of leaves that are sent, a warp for each leaf, and find when the first of them will be
 * corrected. */
static __global__ void __launch_bounds__(THREADS) select_bodies(const __grid_constant__ struct choose_job job)
{
  __shared__ struct node_query queries[THREADS / LANES][LANES];
  int warp = (int)threadIdx.x / LANES;
  int64_t leaves = min(job.chosen->leaves, job.leaf_capacity);
  for (int64_t k = (int64_t)blockIdx.x * (THREADS / LANES) + warp; k < leaves;
       k += (int64_t)gridDim.x * (THREADS / LANES)) {
    const int2 leaf = job.leaf[k];
    const int2 link = *(const int2 *)&job.t.node[leaf.x].first;
    const struct motion w = load_motion(&job.t.motion[leaf.x]);
    int count = (int)((uint32_t)link.y & NODE_COUNT), kept = 0, ticks_left_max = 0;
    double pull = essential_pull(&w);
    for (int base = 0; base < count; base += LANES) {
      int32_t first = link.x + base, j = first + lane_id();
      lane_mask there = warp_ballot(base + lane_id() < count);
      if (job.query.cutoff >= 0) there = near_bodies(job, leaf.y, first, there, pull, queries[warp]);
      kept += lane_count(there);
      if (job.moving && there >> lane_id() & 1)
        ticks_left_max = max(ticks_left_max, TICKS - (job.tick[j] + timeline_ticks(job.level[j])));
    }
    ticks_left_max = warp_max(ticks_left_max);
    if (lane_id() == 0 && kept > 0)
      atomicAdd(&job.sum[(int64_t)leaf.y * job.words + (leaf.x - job.origin) / MARKED], (unsigned long long)kept);
    int32_t *so_far = &job.chosen->ticks_left_max[leaf.y];
    if (lane_id() == 0 && ticks_left_max > *(const volatile int32_t *)so_far) atomicMax(so_far, ticks_left_max);
  }
}

/* --- places ------------------------------------------------------------------------------------------------------ */

static __global__ void store_totals(const __grid_constant__ struct choose_job job)
{
  int r = (int)threadIdx.x;
  if (r < job.receivers) job.chosen->total[r] = job.sum[(int64_t)(r + 1) * job.words] - job.sum[(int64_t)r * job.words];
}

/* Turn contributions into places by prefix sums, and copy the counts to the host. Waits. */
static void find_places(struct device *d, const struct choose_job &job)
{
  int n = job.receivers * job.words + 1;
  prefix_sums(d, job.sum, job.sum, n);
  LAUNCH(d, store_totals, 1, RECEIVERS_MAX, job);
  CHECK(runtime_copy(d->let->choosing->host_results, job.chosen, sizeof(struct selection_counts), TO_HOST, d->stream));
  gpu_wait(d);
}

/* --- the verb ---------------------------------------------------------------------------------------------------- */

/* Store the boxes of a receiver as kernels read them, and the bound of each chunk. */
static void put_chunks(const struct box_table *table, struct receiver *to, float4 *box, struct box_bound *bound)
{
  for (int c = 0; c < 3; c++) to->origin[c] = table->origin[c];
  for (int32_t chunk = to->chunk; chunk < to->chunk + to->chunks; chunk++) {
    int from = (chunk - to->chunk) * LANES, end = from + LANES < table->n ? from + LANES : table->n;
    bound[chunk] = essential_bound(table, from, end);
    for (int k = 0; k < LANES; k++) {
      const struct table_box b = essential_box(table, from + k < end ? from + k : end - 1);
      float4 *at = box + (int64_t)chunk * 3 * LANES + k;
      at[0] = make_float4(b.low[0], b.low[1], b.low[2], b.high[0]);
      at[LANES] = make_float4(b.high[1], b.high[2], b.displacement[0], b.displacement[1]);
      at[2 * LANES] = make_float4(b.displacement[2], b.deviation, b.sink, 0);
    }
  }
}

/* Copy the boxes of the receivers to the device. Queued. */
static void put_table(struct device *d, const struct let_request *request, struct let_choice *const *choice,
                      struct choose_job *job)
{
  struct selection_buffers *c = d->let->choosing;
  struct box_table table;
  struct let_request r = *request;
  int32_t chunks = 0;
  for (int k = 0; k < job->receivers; k++) chunks += (int32_t)blocks_for(choice[k]->box_count, LANES);
  size_t boxes = sizeof(struct receiver) * RECEIVERS_MAX, bounds = boxes + sizeof(float4) * 3 * LANES * (size_t)chunks;
  size_t bytes = bounds + sizeof(struct box_bound) * (size_t)chunks;
  char *host = (char *)pinned_reserve(&c->host_table, bytes),
       *there = array_reserve(&c->table, "device LETs", (int64_t)bytes);
  struct receiver *receiver = (struct receiver *)host;
  chunks = 0;
  for (int k = 0; k < job->receivers; k++) {
    r.boxes = choice[k]->boxes;
    r.box_count = choice[k]->box_count;
    essential_table(&table, &r);
    receiver[k].chunk = chunks;
    receiver[k].chunks = (int32_t)blocks_for(r.box_count, LANES);
    chunks += receiver[k].chunks;
    put_chunks(&table, &receiver[k], (float4 *)(host + boxes), (struct box_bound *)(host + bounds));
  }
  CHECK(runtime_copy(there, host, bytes, TO_DEVICE, d->stream));
  job->query = essential_query_of(&d->lattice, &table, request);
  job->cutoff = table.cutoff;
  job->receiver = (const struct receiver *)there;
  job->box = (const float4 *)(there + boxes);
  job->bound = (const struct box_bound *)(there + bounds);
}

/* Marks are of the nodes of the request's part of the tree, from a whole word on. */
static int32_t origin_of(const struct device *d, const struct let_request *request)
{
  return lets_part(d, request)->base / MARKED * MARKED;
}
static int32_t words_of(const struct device *d, const struct let_request *request)
{
  const struct tree_part *part = lets_part(d, request);
  return (part->base + part->nodes - origin_of(d, request)) / MARKED + 1;
}
static int32_t keep_words_of(const struct device *d, const struct let_request *request)
{
  return request->cutoff >= 0 ? (int32_t)(d->p.n / MARKED + 2) : 0;
}

/* Bytes of marks, sums and kept particles of a receiver. */
static int64_t table_bytes(const struct device *d, const struct let_request *request)
{
  return 2 * (int64_t)sizeof(uint64_t) * words_of(d, request) + (int64_t)sizeof(unsigned) * keep_words_of(d, request);
}

static struct choose_job prepare(struct device *d, enum let_kind kind, const struct let_request *request, int receivers,
                                 struct let_choice *const *choice)
{
  struct selection_buffers *c = d->let->choosing;
  struct choose_job job = {d->tree.view};
  job.receivers = receivers;
  job.moving = kind != LET_SOFT;
  job.root = lets_part(d, request)->base;
  job.list_leaves = job.moving || request->cutoff >= 0;
  job.origin = origin_of(d, request);
  job.words = words_of(d, request);
  job.keep_words = keep_words_of(d, request);
  put_table(d, request, choice, &job);
  int64_t bytes =
      (int64_t)sizeof(struct selection_counts) + (int64_t)sizeof(uint64_t) + receivers * table_bytes(d, request);
  int64_t cells = d->tree.view.nodes / 2 + 1024; /* usually enough; the lists grow if not */
  char *numbers = array_reserve(&c->numbers, "device LETs", bytes);
  job.chosen = (struct selection_counts *)numbers;
  job.mark = (unsigned long long *)(numbers + sizeof(struct selection_counts));
  job.sum = job.mark + (int64_t)receivers * job.words;
  job.keep = (unsigned *)(job.sum + (int64_t)receivers * job.words + 1);
  CHECK(runtime_set_bytes(numbers, 0, (size_t)bytes, d->stream));
  job.cell = array_reserve(&c->cell, "device LETs", cells);
  if (job.list_leaves) job.leaf = array_reserve(&c->leaf, "device LETs", cells);
  job.cell_capacity = (int32_t)c->cell.capacity;
  job.leaf_capacity = (int32_t)c->leaf.capacity;
  job.tick = d->p.tick;
  job.level = d->p.level;
  return job;
}

/* Enlarge a list that overflowed. Returns whether it did: then the selection must be repeated. */
static bool grow_list(struct array<int2> *list, int64_t found)
{
  if (found <= list->capacity) return false;
  if (found > INT32_MAX / 2) fatal("LETs that open %lld cells at once are too many: use more ranks", (long long)found);
  array_reserve(list, "device LETs", 2 * found > INT32_MAX / 2 ? found : 2 * found);
  return true;
}

static bool grow_choice_lists(struct selection_buffers *choosing)
{
  int64_t cells = 0;
  for (int g = 1; g <= GENERATIONS; g++) cells += choosing->host_results->cells[g];
  bool longer = grow_list(&choosing->cell, cells);
  return grow_list(&choosing->leaf, choosing->host_results->leaves) || longer;
}

static void choose_some(struct device *d, enum let_kind kind, const struct let_request *request, int receivers,
                        struct let_choice *const *choice)
{
  struct choose_job job;
  do {
    job = prepare(d, kind, request, receivers, choice);
    mark_nodes(d, job, lets_part(d, request)->levels);
    if (job.list_leaves) LAUNCH(d, select_bodies, BLOCKS_PER_MULTIPROCESSOR * d->multiprocessors, THREADS, job);
    find_places(d, job);
  } while (grow_choice_lists(d->let->choosing));
  pack_messages(d, kind, request->part == LET_OF_FAST ? d->tree.fast_tick : d->tree.motion_tick, job, choice);
}

static void choose_open(struct let_state *let)
{
  if (let->choosing) return;
  let->choosing = (struct selection_buffers *)memory_alloc("LETs", sizeof *let->choosing);
  CHECK(runtime_alloc_host(&let->choosing->host_results, sizeof *let->choosing->host_results));
}

void gpu_let_select(struct device *d, enum let_kind kind, const struct let_request *request, int count,
                    struct let_choice *choice)
{
  struct let_choice *some[RECEIVERS_MAX];
  int64_t capacity = TABLES_MAX / table_bytes(d, request);
  int at_once = capacity < 1 ? 1 : capacity < RECEIVERS_MAX ? (int)capacity : RECEIVERS_MAX, now = 0;
  choose_open(d->let);
  for (int k = 0; k < count; k++) {
    struct let_choice *c = &choice[k];
    struct outgoing_let *out = &d->let->out[kind][c->peer];
    out->nodes = out->bodies = 0;
    out->quad = carries_quads(request);
    c->message = out->host_results.at;
    c->bytes = 0;
    c->next = TICKS;
    if (c->box_count > TABLE_MAX) fatal("a LET for %d boxes, at most %d", c->box_count, TABLE_MAX);
    if (d->tree.view.nodes > 0 && c->box_count > 0) some[now++] = c;
    if (now == 0 || (now < at_once && k + 1 < count)) continue;
    if (d->tree.parts != 1 && request->part == LET_OF_ALL)
      fatal("a LET of all particles was requested while they have two trees");
    choose_some(d, kind, request, now, some);
    now = 0;
  }
  if (!d->bypass) gpu_wait(d);
}

void *gpu_let_body(struct device *d, enum let_kind kind, int peer)
{
  return d->let->out[kind][peer].packed.at + LET_HEAD;
}

void device_choose_close(struct device *d)
{
  struct selection_buffers *c = d->let->choosing;
  if (!c) return;
  array_free(&c->table);
  array_free(&c->numbers);
  array_free(&c->cell);
  array_free(&c->leaf);
  pinned_free(&c->host_table);
  CHECK(runtime_free_host(c->host_results));
  memory_free(c);
}
