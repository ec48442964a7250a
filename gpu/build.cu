/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The octree's links from the sorted keys, all levels at once.
 *
 * A cell of level l begins at particle i when the keys of i - 1 and i share fewer than l digits; it is a node when its
 * parent holds more than MaxLeafSize particles, that is, when some MaxLeafSize + 1 consecutive particles with i among them
 * share l - 1 digits. So the nodes that begin at a particle have consecutive levels, known from the keys nearby. Counting
 * them by level and tile gives every node its place in breadth-first order. */
#include <config.h>
#include <cub/device/device_scan.cuh>

#include "depth_first.cuh"
#include "pairwise.cuh"

enum {
  LEVELS = KEY_LEVELS + 1,
  TILE_WARPS = THREADS / WARP,
  TILE_ITEMS = 8,                        /* particles a thread */
  WARP_PART = WARP * TILE_ITEMS,
  TILE = THREADS * TILE_ITEMS,
  WINDOW_MOST = 256,                     /* the largest MaxLeafSize */
  TILE_REACH = TILE + WINDOW_MOST        /* the tile and what its windows begin with */
};

/* How many digits two keys share. */
static __device__ int shared_digits(uint64_t a, uint64_t b)
{
  uint64_t x = a ^ b;
  return x ? (__clzll((long long)x) - 1) / 3 : KEY_LEVELS;
}

/* Levels of the nodes that begin at a particle: [first, first + count). */
static __device__ uint16_t span_pack(int first, int count) { return (uint16_t)(first | count << 8); }
static __device__ int span_first(uint16_t s) { return s & 255; }
static __device__ int span_count(uint16_t s) { return s >> 8; }

/* For every particle of the tile: one more than the most digits that a window (MaxLeafSize + 1 particles) with it shares;
 * 0 when there is no window. `most` holds the tile behind WINDOW_MOST places for the particles before it. */
static __device__ void window_digits(const uint64_t *key, int32_t n, int32_t base, int max_leaf, uint8_t *most)
{
  for (int s = threadIdx.x; s < TILE_REACH; s += THREADS) {
    int64_t j = (int64_t)base + s - WINDOW_MOST;
    most[s] = j >= 0 && j + max_leaf < n ? (uint8_t)(shared_digits(key[j], key[j + max_leaf]) + 1) : 0;
  }
  __syncthreads();
  /* largest over the `length` places up to each one; doubled while it fits into the window */
  enum { MINE = (TILE_REACH + THREADS - 1) / THREADS };
  int window = max_leaf + 1, length = 1;
  while (length < window) {
    int step = 2 * length <= window ? length : window - length;
    uint8_t value[MINE];
    for (int k = 0; k < MINE; k++) {
      int s = k * THREADS + threadIdx.x;
      if (s < TILE_REACH) value[k] = s >= step ? max(most[s], most[s - step]) : most[s];
    }
    __syncthreads();
    for (int k = 0; k < MINE; k++) {
      int s = k * THREADS + threadIdx.x;
      if (s < TILE_REACH) most[s] = value[k];
    }
    __syncthreads();
    length += step;
  }
}

/* Call f(level, lanes) for the levels at which nodes begin within a warp's 32 particles. */
template <typename F> static __device__ void each_level(uint16_t span, F f)
{
  int first = span_first(span), count = span_count(span);
  int low = (int)__reduce_min_sync(FULL, count ? (unsigned)first : (unsigned)LEVELS);
  int high = (int)__reduce_max_sync(FULL, count ? (unsigned)(first + count) : 0u);
  for (int l = low; l < high; l++) {
    bool mine = l >= first && l < first + count;
    f(l, mine, __ballot_sync(FULL, mine));
  }
}

/* Spans of all particles, and how many nodes of each level begin in each tile: count[level * tiles + tile]. A warp owns
 * consecutive particles of the tile. */
static __global__ void __launch_bounds__(THREADS) mark(const uint64_t *key, int32_t n, int max_leaf, int deepest, uint16_t *span,
                                                       int32_t *count)
{
  __shared__ uint8_t most[TILE_REACH];
  __shared__ int total[LEVELS];
  int32_t base = blockIdx.x * TILE, mine = base + (int)(threadIdx.x / WARP) * WARP_PART + lane_id();
  int counted = 0;   /* lane l: nodes of level l */
  if (threadIdx.x < LEVELS) total[threadIdx.x] = 0;
  window_digits(key, n, base, max_leaf, most);
  for (int k = 0; k < TILE_ITEMS; k++) {
    int32_t i = mine + k * WARP;
    uint16_t s = 0;
    if (i < n) {
      int first = i == 0 ? 0 : shared_digits(key[i - 1], key[i]) + 1, last = min((int)most[i - base + WINDOW_MOST], deepest);
      s = span_pack(first, max(0, last - first + 1));
      span[i] = s;
    }
    each_level(s, [&](int l, bool, unsigned lanes) { counted += lane_id() == l ? __popc(lanes) : 0; });
  }
  if (lane_id() < LEVELS && counted) atomicAdd(&total[lane_id()], counted);
  __syncthreads();
  if (threadIdx.x < LEVELS) count[(int64_t)threadIdx.x * gridDim.x + blockIdx.x] = total[threadIdx.x];
}

/* Nodes get their places: range.x, level (in info for now), first child. `span` begins with the part's first particle. Where
 * the nodes are too many for their arrays, nothing is done with them. */
static __global__ void __launch_bounds__(THREADS) place_nodes(struct tree t, struct sprout part, const uint16_t *span,
                                                              struct answers *answers)
{
  __shared__ int before[TILE_WARPS][LEVELS];
  int warp = threadIdx.x / WARP, lane = lane_id();
  int32_t mine = (int)blockIdx.x * TILE + warp * WARP_PART + lane;
  uint16_t s[TILE_ITEMS];
  int counted = 0;
  bool too_many = answers->unsorted || sprout_nodes(part) > part.room;
  if (blockIdx.x + threadIdx.x == 0) answers->too_many = too_many;
  if (too_many) return;
  for (int k = 0; k < TILE_ITEMS; k++) {
    s[k] = mine + k * WARP < part.count ? span[mine + k * WARP] : 0;
    each_level(s[k], [&](int l, bool, unsigned lanes) { counted += lane == l ? __popc(lanes) : 0; });
  }
  if (lane < LEVELS) before[warp][lane] = counted;
  __syncthreads();
  int32_t at = 0;   /* lane l: the next node of level l */
  if (lane < LEVELS) {
    at = part.base + part.place[(int64_t)lane * gridDim.x + blockIdx.x];
    for (int w = 0; w < warp; w++) at += before[w][lane];
  }
  for (int k = 0; k < TILE_ITEMS; k++) {
    int32_t above = -1;   /* the node of the level above that begins here too */
    each_level(s[k], [&](int l, bool begins, unsigned lanes) {
      int32_t node = __shfl_sync(FULL, at, l) + __popc(lanes & lanes_below());
      if (begins) {
        t.range[node].x = part.first + mine + k * WARP;
        t.node[node].info = (uint32_t)l;
        if (above >= 0) t.node[above].first = node;
        above = node;
      }
      at += lane == l ? __popc(lanes) : 0;
    });
  }
}

/* The first particle behind the cell of a level that begins at `begin`. */
static __device__ int32_t cell_end(const uint64_t *key, int32_t n, int32_t begin, int level)
{
  int shift = 3 * (KEY_LEVELS - level);
  uint64_t cell = key[begin] >> shift;
  int32_t inside = begin, step = 1;
  while (step < n - inside && key[inside + step] >> shift == cell) {
    inside += step;
    step *= 2;
  }
  int32_t outside = step < n - inside ? inside + step : n;
  while (outside - inside > 1) {
    int32_t middle = inside + (outside - inside) / 2;
    if (key[middle] >> shift == cell)
      inside = middle;
    else
      outside = middle;
  }
  return outside;
}

/* The faces of the domain; infinite ones cut nothing. */
struct faces {
  double low[3], high[3];
};

/* Whether the cube of a level in which a source lies reaches over the faces. */
static __device__ bool reaches_over(const struct faces &f, const struct lattice &l, const struct body &b, int level)
{
  const int32_t x[3] = {b.x, b.y, b.z};
  int shift = 31 - level;
  bool over = false;
  for (int c = 0; c < 3; c++) {
    double corner = (double)((int64_t)x[c] >> shift << shift), side = (double)((int64_t)1 << shift);
    over |= lattice_position(&l, c, corner) < f.low[c] || lattice_position(&l, c, corner + side) > f.high[c];
  }
  return over;
}

/* Ends, leaves, numbers of children; which cubes reach over the faces. */
static __device__ void finish_node(const struct tree &t, const struct sprout &part, int32_t i, const uint64_t *key, int max_leaf, int deepest,
                                   const struct lattice &lattice, const struct faces &faces)
{
  int32_t all = part.first + part.count;
  struct node *n = &t.node[i];
  int level = (int)n->info;
  int32_t begin = t.range[i].x, end = level == 0 ? all : cell_end(key, all, begin, level), count = end - begin;
  t.range[i].y = end;
  t.cut[i] = reaches_over(faces, lattice, t.body[begin], level);
  if (count <= max_leaf || level == deepest) {
    n->first = begin;
    n->info = NODE_LEAF | (uint32_t)count;
    return;
  }
  int32_t first = n->first, behind = min(first + 8, sprout_level(part, level + 2)), child = first;
  while (child < behind && t.range[child].x < end) child++;
  n->info = (uint32_t)(child - first);
}

static __global__ void finish_nodes(struct tree t, struct sprout part, const uint64_t *key, int max_leaf, int deepest, struct lattice lattice,
                                    struct faces faces, const struct answers *answers)
{
  int32_t nodes = sprout_nodes(part);
  if (answers->too_many) return;
  for (int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x); i < nodes; i += (int32_t)(gridDim.x * THREADS))
    finish_node(t, part, part.base + i, key, max_leaf, deepest, lattice, faces);
}

/* Arrays for so many nodes and all particles; where some nodes stay, they are kept. What walks read of nodes has places for
 * LETs behind them too. */
static void place_tree(struct device *d, int32_t nodes)
{
  struct tree *t = &d->tree;
  int64_t n = d->p.n, room = d->renewing ? 0 : nodes, all = nodes > 0 ? (int64_t)nodes + d->behind_nodes : 0;
  t->nodes = nodes;
  t->bodies = (int32_t)n;
  array_room(&d->node, "device octree", d->renewing ? 0 : all);
  array_room(&d->motion, "device octree", d->renewing ? 0 : all);
  array_room(&d->quad, "device octree", d->renewing ? 0 : all);
  array_room(&d->range, "device octree", room);
  array_room(&d->cut, "device octree", room);
  t->node = array_keep(&d->node, "device octree", all, d->stream);
  t->motion = array_keep(&d->motion, "device octree", all, d->stream);
  t->quad = array_keep(&d->quad, "device octree", all, d->stream);
  t->range = array_keep(&d->range, "device octree", nodes, d->stream);
  t->cut = array_keep(&d->cut, "device octree", nodes, d->stream);
  array_room(&d->big, "device octree", nodes);
  t->body = d->body.at;
  t->course = array_keep(&d->course, "device sources", n + d->behind_bodies, d->stream);
}

/* Where a part's counts stand among those of all tiles: by level and tile, and one more, which becomes the number of nodes. */
static int64_t tiles_of(const struct part *part) { return blocks_for(part->count, TILE); }
static int64_t place_of(const struct device *d, int part) { return part == FAST ? tiles_of(&d->part[SLOW]) * LEVELS + 1 : 0; }

struct sprout device_sprout(const struct device *d, int part)
{
  const struct part *p = &d->part[part];
  int64_t room = d->node.room < d->range.room ? d->node.room : d->range.room;   /* LETs have grown the one, not the other */
  const struct sprout s = {p->first, p->count, p->base, (int32_t)(room - p->base), (int32_t)tiles_of(p),
                           d->tile_place.at + place_of(d, part)};
  return s;
}

/* Exclusive sums of the tiles' counts, so that a level's first tile holds the level's first node; to the host as well. */
static void scan_tiles(struct device *d, int part)
{
  int64_t tiles = tiles_of(&d->part[part]);
  int32_t *count = d->tile_count.at + place_of(d, part), *place = d->tile_place.at + place_of(d, part);
  size_t bytes = 0, pitch = sizeof(int32_t) * (size_t)tiles;
  int all = (int)tiles * LEVELS + 1;
  CHECK(cudaMemsetAsync(count + tiles * LEVELS, 0, sizeof(int32_t), d->stream));
  CHECK(cub::DeviceScan::ExclusiveSum(NULL, bytes, count, place, all, d->stream));
  array_room(&d->scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceScan::ExclusiveSum(d->scratch.at, bytes, count, place, all, d->stream));
  CHECK(cudaMemcpy2DAsync(d->level_told + part * (LEVELS + 1), sizeof(int32_t), place, pitch, sizeof(int32_t), LEVELS + 1,
                          cudaMemcpyDeviceToHost, d->stream));
}

/* The levels' first nodes, as they were told, behind those of the part before; a part that is renewed has its place. */
static void take_levels(struct device *d, int part)
{
  const int32_t *told = d->level_told + part * (LEVELS + 1);
  struct part *p = &d->part[part];
  memset(&p->levels, 0, sizeof p->levels);
  if (!d->renewing) p->base = part == FAST ? d->part[SLOW].nodes : 0;
  p->nodes = told[LEVELS];
  for (int l = 0; l <= LEVELS; l++) p->levels.begin[l] = p->base + told[l];
  p->levels.begin[LEVELS + 1] = p->base + p->nodes;
  while (p->levels.begin[p->levels.count] < p->base + p->nodes) p->levels.count++;
}

/* Take the levels of the parts that were built, and room for their nodes. */
static void take_parts(struct device *d)
{
  for (int k = parts_begin(d); k < d->parts; k++) take_levels(d, k);
  if (d->key_levels == KEY_LEVELS) d->deepest = d->part[SLOW].levels.count - 1;
  const struct part *last = &d->part[d->parts - 1];
  place_tree(d, last->base + last->nodes);
}

/* The tree of the fast particles has about as many nodes as the last time, and the host goes on without knowing how many. */
static int may_go_on(const struct device *d)
{
  return d->renewing && !d->outgrown && d->node.room > 0 && d->family.room > 0 && d->config.method != METHOD_NEXT_MORE;
}

int device_settle(struct device *d)
{
  if (!d->unsettled) return 1;
  d->unsettled = 0;
  if (!d->told->too_many) {
    take_parts(d);
    groups_settle(d);
    return 1;
  }
  d->outgrown = 1;
  if (d->told->unsorted) gpu_reorder(d, d->reordered.tick, d->reordered.tick_length, 0, 1);
  gpu_build(d, d->face_low, d->face_high);
  gpu_groups(d);
  d->outgrown = 0;
  return 0;
}

void gpu_build(struct device *d, const double low[3], const double high[3])
{
  const struct faces faces = {{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
  int64_t n = d->p.n, places = (blocks_for(n, TILE) + 1) * LEVELS + PARTS_MOST;
  const uint64_t *key = d->key[d->key_now].at;
  int begin = parts_begin(d), max_leaf = d->config.max_leaf;
  if (max_leaf > WINDOW_MOST) fatal("leaves of %d particles, at most %d", max_leaf, WINDOW_MOST);
  neighbours_forget(d);
  lets_uproot(d);
  memcpy(d->face_low, low, sizeof d->face_low);
  memcpy(d->face_high, high, sizeof d->face_high);
  if (!d->renewing) place_tree(d, 0);
  if (n == 0 || begin == d->parts || pairwise_serves(d)) return;
  array_room(&d->span, "device build", n);
  array_room(&d->tile_count, "device build", places);
  array_room(&d->tile_place, "device build", places);
  for (int k = begin; k < d->parts; k++) {
    const struct part *p = &d->part[k];
    LAUNCH(d, mark, tiles_of(p), THREADS, key + p->first, p->count, max_leaf, d->key_levels, d->span.at + p->first,
           d->tile_count.at + place_of(d, k));
    scan_tiles(d, k);
  }
  d->unsettled = may_go_on(d);
  if (!d->unsettled) {
    gpu_wait(d);
    take_parts(d);
  }
  for (int k = begin; k < d->parts; k++) {
    const struct part *p = &d->part[k];
    const struct sprout s = device_sprout(d, k);
    LAUNCH(d, place_nodes, tiles_of(p), THREADS, d->tree, s, d->span.at + p->first, d->answers);
    LAUNCH(d, finish_nodes, blocks_for(p->nodes, THREADS), THREADS, d->tree, s, key, max_leaf, d->key_levels, d->lattice, faces, d->answers);
  }
  if (d->config.method == METHOD_NEXT_MORE) depth_first_links(d);
}
