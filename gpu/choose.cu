/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of a LET for one receiver: nodes are marked from the root down, level by level; prefix sums give the chosen
 * ones their places; the message is packed. What is done to one node is in choose.h. */
#include <config.h>
#include <cub/device/device_scan.cuh>

#include "choose.h"
#include "let.cuh"
#include "timeline.h"

enum {
  ROW = 8,                          /* lanes for each cell: its children, if it is opened */
  TOP_THREADS = 1024,
  TOP_NODES = 2 * TOP_THREADS / ROW /* levels of at most so many nodes are done by one block */
};

/* Numbers of a choice for the host. */
struct chosen {
  uint64_t total;   /* chosen nodes and particles, as a place */
  int32_t next;     /* tick at which the first of the particles will be corrected */
};

struct choose_job {
  struct tree t;
  struct levels levels;
  struct asking asking;
  const struct box_table *table;
  uint8_t *mark, *keep;
  uint64_t *place;
  int moving;
};

/* --- marks ------------------------------------------------------------------------------------------------------- */

/* The boxes into shared memory, by all threads of a block. */
static __device__ void load_table(struct box_table *to, const struct box_table *from)
{
  int n = from->n;
  for (int k = (int)threadIdx.x; k < n; k += (int)blockDim.x) {
    for (int c = 0; c < 3; c++) {
      to->low[c][k] = from->low[c][k];
      to->high[c][k] = from->high[c][k];
      to->way[c][k] = from->way[c][k];
    }
    to->stray[k] = from->stray[k];
    to->sink[k] = from->sink[k];
  }
  if (threadIdx.x == 0) {
    to->n = n;
    to->cutoff = from->cutoff;
  }
  __syncthreads();
}

static __device__ enum need node_needed(const struct choose_job &job, const struct box_table &table, int32_t i)
{
  const struct node n = load_node(&job.t.node[i]);
  const struct motion w = load_motion(&job.t.motion[i]);
  const struct asked a = essential_node(&job.asking, &n, &w);
  return essential_needs(&table, &a);
}

/* A node that is to be opened: its first child and their number; else 0. */
static __device__ int2 open_cell(const struct choose_job &job, int32_t i, int32_t end)
{
  if (i >= end || job.mark[i] != MARK_OPEN) return make_int2(0, 0);
  const int2 link = *(const int2 *)&job.t.node[i].first;
  return (uint32_t)link.y & NODE_LEAF ? make_int2(0, 0) : link;
}

/* This lane's child of an open cell is asked for. */
static __device__ void mark_child(const struct choose_job &job, const struct box_table &table, int2 cell)
{
  int child = lane_id() % ROW;
  if (child < cell.y) job.mark[cell.x + child] = choose_mark(node_needed(job, table, cell.x + child), 0);
}

static __global__ void __launch_bounds__(THREADS) mark_level(const __grid_constant__ struct choose_job job, int level)
{
  __shared__ struct box_table table;
  int64_t k = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / ROW;
  int2 cell = open_cell(job, job.levels.begin[level] + (int32_t)k, job.levels.begin[level + 1]);
  if (!__syncthreads_or(cell.y > 0)) return;
  load_table(&table, job.table);
  mark_child(job, table, cell);
}

/* The root, and the children of levels 0 to `last`, which are small. */
static __global__ void __launch_bounds__(TOP_THREADS) mark_top(const __grid_constant__ struct choose_job job, int last)
{
  __shared__ struct box_table table;
  load_table(&table, job.table);
  if (threadIdx.x == 0) job.mark[0] = choose_mark(node_needed(job, table, 0), 1);
  __syncthreads();
  for (int level = 0; level <= last; level++) {
    int32_t end = job.levels.begin[level + 1];
    for (int32_t base = job.levels.begin[level]; base < end; base += TOP_THREADS / ROW)
      mark_child(job, table, open_cell(job, base + (int32_t)threadIdx.x / ROW, end));
    __syncthreads();
  }
}

static void mark_nodes(struct device *d, const struct choose_job &job)
{
  int last = job.levels.count - 2, top = -1;   /* the deepest level has no cells */
  while (top < last && job.levels.begin[top + 2] - job.levels.begin[top + 1] <= TOP_NODES) top++;
  CHECK(cudaMemsetAsync(job.mark, MARK_NONE, (size_t)job.t.nodes, d->stream));
  LAUNCH(d, mark_top, 1, TOP_THREADS, job, top);
  for (int level = top + 1; level <= last; level++)
    LAUNCH(d, mark_level, blocks_for((int64_t)ROW * (job.levels.begin[level + 1] - job.levels.begin[level]), THREADS), THREADS, job, level);
}

/* --- particles --------------------------------------------------------------------------------------------------- */

/* An open leaf: its first particle and their number; else 0. */
static __device__ int2 open_leaf(const struct choose_job &job, int32_t i)
{
  if (i >= job.t.nodes || job.mark[i] != MARK_OPEN) return make_int2(0, 0);
  const int2 link = *(const int2 *)&job.t.node[i].first;
  return (uint32_t)link.y & NODE_LEAF ? make_int2(link.x, (int)((uint32_t)link.y & NODE_COUNT)) : make_int2(0, 0);
}

static __device__ bool body_needed(const struct choose_job &job, const struct box_table &table, int32_t j, double pull)
{
  const struct body b = job.t.body[j];
  const struct course w = job.t.course[j];
  const int32_t x[3] = {b.x, b.y, b.z};
  const struct asked a = essential_particle(&job.asking, x, w.v, w.a, w.tick, pull);
  return essential_needs(&table, &a) != NEED_NOTHING;
}

/* Which particles of a warp's open leaves, one leaf a lane, may come within the cutoff; returns how many of this lane's. */
static __device__ int keep_bodies(const struct choose_job &job, const struct box_table &table, int32_t i, int2 leaf)
{
  double pull = 0;
  int kept = 0;
  if (leaf.y > 0) {
    const struct motion w = load_motion(&job.t.motion[i]);
    pull = essential_pull(&w);
  }
  for (unsigned leaves = __ballot_sync(FULL, leaf.y > 0); leaves; leaves &= leaves - 1) {
    int from = __ffs((int)leaves) - 1, count = __shfl_sync(FULL, leaf.y, from), all = 0;
    int32_t first = __shfl_sync(FULL, leaf.x, from);
    double most = __shfl_sync(FULL, pull, from);
    for (int base = 0; base < count; base += WARP) {
      int k = base + lane_id();
      bool needed = k < count && body_needed(job, table, first + k, most);
      if (k < count) job.keep[first + k] = needed;
      all += __popc(__ballot_sync(FULL, needed));
    }
    if (lane_id() == from) kept = all;
  }
  return kept;
}

/* What every node puts into the message; one number more than nodes, for the sum of all. */
static __global__ void __launch_bounds__(THREADS) find_shares(const __grid_constant__ struct choose_job job)
{
  __shared__ struct box_table table;
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  int2 leaf = open_leaf(job, i);
  int bodies = leaf.y;
  if (job.asking.cutoff >= 0 && __syncthreads_or(bodies > 0)) {
    load_table(&table, job.table);
    bodies = keep_bodies(job, table, i, leaf);
  }
  if (i <= job.t.nodes) job.place[i] = i < job.t.nodes ? choose_share(job.mark[i], bodies) : 0;
}

/* Shares become places; *total of all. */
static void find_places(struct device *d, const struct choose_job &job, uint64_t *total)
{
  size_t bytes = 0;
  int n = job.t.nodes + 1;
  LAUNCH(d, find_shares, blocks_for(n, THREADS), THREADS, job);
  CHECK(cub::DeviceScan::ExclusiveSum(NULL, bytes, job.place, job.place, n, d->stream));
  array_room(&d->scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceScan::ExclusiveSum(d->scratch.at, bytes, job.place, job.place, n, d->stream));
  CHECK(cudaMemcpyAsync(total, job.place + job.t.nodes, sizeof *total, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
}

/* --- the message ------------------------------------------------------------------------------------------------- */

/* Where the parts of a message go; NULL what it does not have. */
struct pack_job {
  struct node *node;
  struct motion *motion;
  struct quad *quad;
  struct body *body;
  struct course *course;
  int32_t *node_from, *body_from;
  struct particles p;
  int32_t *next;
};

static __device__ void pack_node(const struct choose_job &job, const struct pack_job &to, int32_t i)
{
  int32_t at = place_node(job.place[i]);
  const struct node n = load_node(&job.t.node[i]), out = choose_record(&n, i, job.mark[i], job.place);
  int4 *record = (int4 *)&to.node[at];
  record[0] = make_int4(out.x[0], out.x[1], out.x[2], __float_as_int(out.mass));
  record[1] = make_int4(__float_as_int(out.b), __float_as_int(out.reach), out.first, (int)out.info);
  if (to.motion) {
    const float4 *from = (const float4 *)&job.t.motion[i];
    ((float4 *)&to.motion[at])[0] = from[0];
    ((float4 *)&to.motion[at])[1] = from[1];
  }
  for (int k = 0; k < 3 && to.quad; k++) ((float2 *)&to.quad[at])[k] = ((const float2 *)&job.t.quad[i])[k];
  if (to.node_from) to.node_from[at] = i;
}

/* Returns the end of its step. */
static __device__ int32_t pack_body(const struct choose_job &job, const struct pack_job &to, int32_t j, int32_t at)
{
  to.body[at] = job.t.body[j];
  if (!to.course) return TICKS;
  to.course[at] = job.t.course[j];
  to.body_from[at] = j;
  return to.p.tick[j] + timeline_ticks(to.p.level[j]);
}

/* A thread for each node; the particles of a warp's leaves by all its lanes. */
static __global__ void __launch_bounds__(THREADS) pack(const __grid_constant__ struct choose_job job, const __grid_constant__ struct pack_job to)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x), place = 0, next = TICKS;
  int2 leaf = open_leaf(job, i);
  if (i < job.t.nodes && job.mark[i] != MARK_NONE) {
    pack_node(job, to, i);
    place = place_body(job.place[i]);
  }
  for (unsigned leaves = __ballot_sync(FULL, leaf.y > 0); leaves; leaves &= leaves - 1) {
    int from = __ffs((int)leaves) - 1, count = __shfl_sync(FULL, leaf.y, from);
    int32_t first = __shfl_sync(FULL, leaf.x, from), at = __shfl_sync(FULL, place, from);
    for (int base = 0; base < count; base += WARP) {
      int k = base + lane_id();
      bool kept = k < count && (job.asking.cutoff < 0 || job.keep[first + k]);
      unsigned lanes = __ballot_sync(FULL, kept);
      if (kept) next = min(next, pack_body(job, to, first + k, at + __popc(lanes & lanes_below())));
      at += __popc(lanes);
    }
  }
  if (!to.next) return;
  next = __reduce_min_sync(FULL, next);
  if (lane_id() == 0 && next < TICKS) atomicMin(to.next, next);
}

static struct pack_job places_in(struct device *d, enum let_kind kind, struct outgoing *out, const struct let_layout &at)
{
  char *block = array_room(&out->packed, "device LETs", (int64_t)at.bytes);
  struct pack_job to = {(struct node *)(block + at.node)};
  to.body = (struct body *)(block + at.body);
  if (out->quad) to.quad = (struct quad *)(block + at.quad);
  if (kind != LET_STEP) return to;
  to.motion = (struct motion *)(block + at.motion);
  to.course = (struct course *)(block + at.course);
  to.node_from = array_room(&out->node_from, "device LETs", out->nodes);
  to.body_from = array_room(&out->body_from, "device LETs", out->bodies);
  to.p = d->p;
  to.next = &d->lets->chosen->next;
  return to;
}

/* The message on the device; on the host too, or there the head alone. */
static void pack_message(struct device *d, enum let_kind kind, struct outgoing *out, const struct choose_job &job)
{
  struct let_layout at = let_layout(out->nodes, out->bodies, out->quad, kind == LET_STEP);
  struct pack_job to = places_in(d, kind, out, at);
  char *told = (char *)pinned_room(&out->told, d->bypass ? sizeof(struct let_head) : at.bytes);
  struct let_head head = {LET_FORMAT, out->quad, kind == LET_STEP, d->motion_tick, out->nodes, out->bodies};
  memcpy(told, &head, sizeof head);
  LAUNCH(d, pack, blocks_for(job.t.nodes, THREADS), THREADS, job, to);
  if (!d->bypass) CHECK(cudaMemcpyAsync(told + at.node, out->packed.at + at.node, at.bytes - at.node, cudaMemcpyDeviceToHost, d->stream));
}

/* --- the verb ---------------------------------------------------------------------------------------------------- */

static struct choose_job prepare(struct device *d, const struct let_request *r)
{
  struct lets *l = d->lets;
  int64_t nodes = d->tree.nodes;
  if (!l->chosen) {
    l->table = (struct box_table *)device_alloc("device LETs", sizeof *l->table);
    l->chosen = (struct chosen *)device_alloc("device LETs", sizeof *l->chosen);
    CHECK(cudaMallocHost(&l->table_told, sizeof *l->table_told));
    CHECK(cudaMallocHost(&l->chosen_told, sizeof *l->chosen_told));
  }
  essential_table(l->table_told, r);
  CHECK(cudaMemcpyAsync(l->table, l->table_told, sizeof *l->table, cudaMemcpyHostToDevice, d->stream));
  struct choose_job job = {d->tree, d->part[SLOW].levels, essential_asking(&d->lattice, l->table_told, r), l->table};
  job.mark = array_room(&l->mark, "device LETs", nodes);
  job.place = array_room(&l->place, "device LETs", nodes + 1);
  if (r->cutoff >= 0) job.keep = array_room(&l->keep, "device LETs", d->p.n);
  return job;
}

size_t gpu_let_select(struct device *d, enum let_kind kind, int peer, const struct let_request *r, int32_t *next, void **message)
{
  struct lets *l = d->lets;
  struct outgoing *out = &l->out[kind][peer];
  out->nodes = out->bodies = 0;
  out->quad = carries_quads(d, r);
  *message = out->told.at;
  if (next) *next = TICKS;
  if (d->tree.nodes == 0 || r->box_count == 0) return 0;
  if (d->parts != 1) fatal("a LET was asked for of a tree whose fast particles stand apart");
  if (r->box_count > TABLE_MOST) fatal("a LET for %d boxes, at most %d", r->box_count, TABLE_MOST);
  struct choose_job job = prepare(d, r);
  mark_nodes(d, job);
  find_places(d, job, &l->chosen_told->total);
  out->nodes = place_node(l->chosen_told->total);
  out->bodies = place_body(l->chosen_told->total);
  CHECK(cudaMemsetAsync(&l->chosen->next, 0x7f, sizeof l->chosen->next, d->stream));   /* beyond all ticks */
  pack_message(d, kind, out, job);
  if (kind == LET_STEP)
    CHECK(cudaMemcpyAsync(&l->chosen_told->next, &l->chosen->next, sizeof l->chosen->next, cudaMemcpyDeviceToHost, d->stream));
  if (kind == LET_STEP || !d->bypass) gpu_wait(d);
  if (kind == LET_STEP && next && l->chosen_told->next < TICKS) *next = l->chosen_told->next;
  *message = out->told.at;
  return let_layout(out->nodes, out->bodies, out->quad, kind == LET_STEP).bytes;
}

void *gpu_let_body(struct device *d, enum let_kind kind, int peer) { return d->lets->out[kind][peer].packed.at + LET_HEAD; }

void device_choose_close(struct device *d)
{
  struct lets *l = d->lets;
  device_free("device LETs", l->table, sizeof *l->table);
  device_free("device LETs", l->chosen, sizeof *l->chosen);
  if (l->table_told) CHECK(cudaFreeHost(l->table_told));
  if (l->chosen_told) CHECK(cudaFreeHost(l->chosen_told));
}
