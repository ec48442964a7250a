/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The octree from the sorted keys, all levels at once.
 *
 * A cell of level l begins at particle i when the keys of i - 1 and i share fewer than l digits; it is a node when its
 * parent holds more than MaxLeafSize particles, that is, when some MaxLeafSize + 1 consecutive particles with i among
 * them share l - 1 digits. So the nodes that begin at a particle have consecutive levels, known from the keys nearby.
 * Counting them by level and tile gives every node its place in breadth-first order. */
#include <config.h>

#include "gpu/device/scan.cuh"
#include "gpu/device/search.cuh"
#include "gpu/tree/tree.cuh"

enum {
  LEVELS = KEY_LEVELS + 1,
  TILE_WARPS = THREADS / LANES,
  TILE_ITEMS = 8, /* particles a thread */
  WARP_PART = LANES * TILE_ITEMS,
  TILE = THREADS * TILE_ITEMS,
  WINDOW_MAX = 256,                    /* the largest MaxLeafSize */
  TILE_WITH_WINDOW = TILE + WINDOW_MAX /* the tile and the particles before it that its windows cover */
};

/* The number of leading digits that two keys share; -1: they are of different bands. */
static __device__ int shared_digits(uint64_t a, uint64_t b, int class_bits)
{
  uint64_t x = a ^ b;
  return x ? (leading_zeros_64(x) - class_bits + 3) / 3 - 1 : KEY_LEVELS;
}

/* Levels of the nodes that begin at a particle: [first, first + count). */
static __device__ uint16_t span_pack(int first, int count) { return (uint16_t)(first | count << 8); }
static __device__ int span_first(uint16_t s) { return s & 255; }
static __device__ int span_count(uint16_t s) { return s >> 8; }

/* For each particle of the tile: 1 + the largest number of digits that all particles of a window (MaxLeafSize + 1
 * consecutive particles) with it share; 0 if there is no window. In `deepest_shared` the tile follows WINDOW_MAX
 * entries for the particles before it. */
static __device__ void window_digits(const uint64_t *key, int class_bits, int32_t n, int32_t base, int max_leaf,
                                     uint8_t *deepest_shared)
{
  for (int s = threadIdx.x; s < TILE_WITH_WINDOW; s += THREADS) {
    int64_t j = (int64_t)base + s - WINDOW_MAX;
    deepest_shared[s] =
        j >= 0 && j + max_leaf < n ? (uint8_t)(shared_digits(key[j], key[j + max_leaf], class_bits) + 1) : 0;
  }
  __syncthreads();
  /* maximum over the `length` entries up to each one; the length doubles while it fits into the window */
  enum { MINE = (TILE_WITH_WINDOW + THREADS - 1) / THREADS };
  int window = max_leaf + 1, length = 1;
  while (length < window) {
    int step = 2 * length <= window ? length : window - length;
    uint8_t value[MINE];
    for (int k = 0; k < MINE; k++) {
      int s = k * THREADS + threadIdx.x;
      if (s < TILE_WITH_WINDOW)
        value[k] = s >= step ? max(deepest_shared[s], deepest_shared[s - step]) : deepest_shared[s];
    }
    __syncthreads();
    for (int k = 0; k < MINE; k++) {
      int s = k * THREADS + threadIdx.x;
      if (s < TILE_WITH_WINDOW) deepest_shared[s] = value[k];
    }
    __syncthreads();
    length += step;
  }
}

/* Call f(level, mine, lanes) for the levels at which nodes begin within a warp's particles. */
template <typename F> static __device__ void each_level(uint16_t span, F f)
{
  int first = span_first(span), count = span_count(span);
  int low = (int)warp_min(count ? (unsigned)first : (unsigned)LEVELS);
  int high = (int)warp_max(count ? (unsigned)(first + count) : 0u);
  for (int l = low; l < high; l++) {
    bool mine = l >= first && l < first + count;
    f(l, mine, warp_ballot(mine));
  }
}

/* Spans of all particles, and the number of nodes of each level that begin in each tile: count[level * tiles + tile].
 * Each warp processes consecutive particles of the tile. */
static __global__ void __launch_bounds__(THREADS)
    mark(const uint64_t *key, int class_bits, int32_t n, int max_leaf, int deepest, uint16_t *span, int32_t *count)
{
  __shared__ uint8_t deepest_shared[TILE_WITH_WINDOW];
  __shared__ int total[LEVELS];
  int32_t base = blockIdx.x * TILE, mine = base + (int)(threadIdx.x / LANES) * WARP_PART + lane_id();
  int counted = 0; /* lane l: nodes of level l */
  if (threadIdx.x < LEVELS) total[threadIdx.x] = 0;
  window_digits(key, class_bits, n, base, max_leaf, deepest_shared);
  for (int k = 0; k < TILE_ITEMS; k++) {
    int32_t i = mine + k * LANES;
    uint16_t s = 0;
    if (i < n) {
      int first = i == 0 ? 0 : shared_digits(key[i - 1], key[i], class_bits) + 1,
          last = min((int)deepest_shared[i - base + WINDOW_MAX], deepest);
      s = span_pack(first, max(0, last - first + 1));
      span[i] = s;
    }
    each_level(s, [&](int l, bool, lane_mask lanes) { counted += lane_id() == l ? lane_count(lanes) : 0; });
  }
  if (lane_id() < LEVELS && counted) atomicAdd(&total[lane_id()], counted);
  __syncthreads();
  if (threadIdx.x < LEVELS) count[(int64_t)threadIdx.x * gridDim.x + blockIdx.x] = total[threadIdx.x];
}

/* Assign places to nodes, and store range.x, the level (temporarily in info) and the first child. `span` begins with
 * the first particle of the part. If the nodes exceed their arrays, device_results->too_many is set and nothing is
 * stored. */
static __global__ void __launch_bounds__(THREADS)
    place_nodes(struct tree tree, struct build_view part, const uint16_t *span, struct device_results *device_results)
{
  __shared__ int before[TILE_WARPS][LEVELS];
  int warp = threadIdx.x / LANES, lane = lane_id();
  int32_t mine = (int)blockIdx.x * TILE + warp * WARP_PART + lane;
  uint16_t s[TILE_ITEMS];
  int counted = 0;
  bool too_many = device_results->unsorted || build_view_nodes(part) > part.capacity;
  if (blockIdx.x + threadIdx.x == 0) device_results->too_many = too_many;
  if (too_many) return;
  for (int k = 0; k < TILE_ITEMS; k++) {
    s[k] = mine + k * LANES < part.count ? span[mine + k * LANES] : 0;
    each_level(s[k], [&](int l, bool, lane_mask lanes) { counted += lane == l ? lane_count(lanes) : 0; });
  }
  if (lane < LEVELS) before[warp][lane] = counted;
  __syncthreads();
  int32_t at = 0; /* lane l: index of the next node of level l */
  if (lane < LEVELS) {
    at = part.base + part.place[(int64_t)lane * gridDim.x + blockIdx.x];
    for (int w = 0; w < warp; w++) at += before[w][lane];
  }
  for (int k = 0; k < TILE_ITEMS; k++) {
    int32_t above = -1; /* the node of the level above that begins at the same particle */
    each_level(s[k], [&](int l, bool begins, lane_mask lanes) {
      int32_t node = warp_shuffle(at, l) + lane_count(lanes & lanes_below());
      if (begins) {
        tree.range[node].x = part.first + mine + k * LANES;
        tree.node[node].info = (uint32_t)l;
        if (above >= 0) tree.node[above].first = node;
        above = node;
      }
      at += lane == l ? lane_count(lanes) : 0;
    });
  }
}

/* The end of the cell of a level that begins at the particle `begin`. */
static __device__ int32_t cell_end(const uint64_t *key, int class_bits, int32_t n, int32_t begin, int level)
{
  int shift = 64 - class_bits - 3 * level;
  uint64_t cell = key[begin] >> shift;
  int32_t inside = begin, step = 1;
  while (step < n - inside && key[inside + step] >> shift == cell) {
    inside += step;
    step *= 2;
  }
  int32_t outside = step < n - inside ? inside + step : n;
  return search_last(inside, outside, [&](int32_t k) { return key[k] >> shift == cell; }) + 1;
}

/* The faces of the domain, code length; infinite ones cut no cube. */
struct domain_faces {
  double low[3], high[3];
};

/* Whether the cube of a level that contains a source extends beyond the faces. */
static __device__ bool crosses_faces(const struct domain_faces &faces, const struct lattice &lattice,
                                     const struct body &body, int level)
{
  const int32_t x[3] = {body.x, body.y, body.z};
  int shift = 31 - level;
  bool over = false;
  for (int c = 0; c < 3; c++) {
    double corner = (double)((int64_t)x[c] >> shift << shift), side = (double)((int64_t)1 << shift);
    over |= lattice_position(&lattice, c, corner) < faces.low[c] ||
            lattice_position(&lattice, c, corner + side) > faces.high[c];
  }
  return over;
}

/* Complete a node: end of its range, leaf or number of children, and whether its cube extends beyond the faces. */
static __device__ void finish_node(const struct tree &tree, const struct build_view &part, int32_t i,
                                   const uint64_t *key, int max_leaf, int deepest, const struct lattice &lattice,
                                   const struct domain_faces &faces)
{
  int32_t all = part.first + part.count;
  struct node *n = &tree.node[i];
  int level = (int)n->info;
  int32_t begin = tree.range[i].x, end = cell_end(key, part.class_bits, all, begin, level), count = end - begin;
  tree.range[i].y = end;
  tree.cut[i] = crosses_faces(faces, lattice, tree.body[begin], level);
  if (count <= max_leaf || level == deepest) {
    n->first = begin;
    n->info = NODE_LEAF | (uint32_t)count;
    return;
  }
  int32_t first = n->first, child_end = min(first + 8, build_view_level(part, level + 2)), child = first;
  while (child < child_end && tree.range[child].x < end) child++;
  n->info = (uint32_t)(child - first);
}

static __global__ void finish_nodes(struct tree tree, struct build_view part, const uint64_t *key, int max_leaf,
                                    int deepest, struct lattice lattice, struct domain_faces faces,
                                    const struct device_results *device_results)
{
  int32_t nodes = build_view_nodes(part);
  if (device_results->too_many) return;
  for (int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x); i < nodes; i += (int32_t)(gridDim.x * THREADS))
    finish_node(tree, part, part.base + i, key, max_leaf, deepest, lattice, faces);
}

/* Arrays for `nodes` nodes and all particles. While the last part is renewed, the nodes of those below are kept.
 * Arrays that walks read have capacity for LETs after the local nodes. */
static void place_tree(struct device *d, int32_t nodes)
{
  struct tree *t = &d->tree.view;
  int renewing = d->tree.renews != RENEWS_ALL;
  int64_t n = d->p.n, capacity = renewing ? 0 : nodes, all = nodes > 0 ? (int64_t)nodes + d->tree.let_nodes_max : 0;
  t->nodes = nodes;
  t->bodies = (int32_t)n;
  array_reserve(&d->tree.node, "device octree", renewing ? 0 : all);
  array_reserve(&d->tree.motion, "device octree", renewing ? 0 : all);
  array_reserve(&d->tree.quad, "device octree", renewing ? 0 : all);
  array_reserve(&d->tree.range, "device octree", capacity);
  array_reserve(&d->tree.cut, "device octree", capacity);
  t->node = array_keep(&d->tree.node, "device octree", all, d->stream);
  t->motion = array_keep(&d->tree.motion, "device octree", all, d->stream);
  t->quad = array_keep(&d->tree.quad, "device octree", all, d->stream);
  t->range = array_keep(&d->tree.range, "device octree", nodes, d->stream);
  t->cut = array_keep(&d->tree.cut, "device octree", nodes, d->stream);
  array_reserve(&d->tree.big, "device octree", nodes);
  t->body = d->sources.body.at;
  t->motion_state = array_keep(&d->sources.motion_state, "device sources", n + d->sources.let_bodies_max, d->stream);
}

/* The offset of a part in the counts of all tiles. A part has one count for each level and tile, and one more entry,
 * which becomes its number of nodes. */
static int64_t tiles_of(const struct tree_part *part) { return blocks_for(part->count, TILE); }
static int64_t place_of(const struct device *d, int part)
{
  int begin = parts_begin(d);
  return part > begin ? tiles_of(&d->tree.part[begin]) * LEVELS + 1 : 0;
}

struct build_view device_build_view(const struct device *d, int part)
{
  const struct tree_part *p = &d->tree.part[part];
  /* LETs enlarge the first array only */
  int64_t capacity = d->tree.node.capacity < d->tree.range.capacity ? d->tree.node.capacity : d->tree.range.capacity;
  const struct build_view s = {p->first,
                               p->count,
                               p->base,
                               (int32_t)(capacity - p->base),
                               (int32_t)tiles_of(p),
                               d->tree.tile_place.at + place_of(d, part),
                               d->order.class_bits};
  return s;
}

/* Exclusive prefix sums of the counts of the tiles, so that the first tile of a level has the first node of the level.
 * The level begins are copied to the host. Queued. */
static void scan_tiles(struct device *d, int part)
{
  int64_t tiles = tiles_of(&d->tree.part[part]);
  int32_t *count = d->tree.tile_count.at + place_of(d, part), *place = d->tree.tile_place.at + place_of(d, part);
  size_t pitch = sizeof(int32_t) * (size_t)tiles;
  int all = (int)tiles * LEVELS + 1;
  CHECK(runtime_set_bytes(count + tiles * LEVELS, 0, sizeof(int32_t), d->stream));
  prefix_sums(d, count, place, all);
  CHECK(runtime_copy_rows(d->tree.host_level_begin + part * (LEVELS + 1), sizeof(int32_t), place, pitch,
                          sizeof(int32_t), LEVELS + 1, TO_HOST, d->stream));
}

/* Take the levels of a part from the host copy. Its nodes follow those of the part before; a renewed part keeps its
 * base. */
static void set_levels(struct device *d, int part)
{
  const int32_t *host_results = d->tree.host_level_begin + part * (LEVELS + 1);
  struct tree_part *p = &d->tree.part[part];
  memset(&p->levels, 0, sizeof p->levels);
  if (d->tree.renews == RENEWS_ALL) p->base = part > 0 ? d->tree.part[part - 1].base + d->tree.part[part - 1].nodes : 0;
  p->nodes = host_results[LEVELS];
  for (int l = 0; l <= LEVELS; l++) p->levels.begin[l] = p->base + host_results[l];
  p->levels.begin[LEVELS + 1] = p->base + p->nodes;
  while (p->levels.begin[p->levels.count] < p->base + p->nodes) p->levels.count++;
}

/* Take the levels of the parts that were built, and allocate their nodes. */
static void set_parts(struct device *d)
{
  for (int k = parts_begin(d); k < d->tree.parts; k++) set_levels(d, k);
  if (d->tree.renews == RENEWS_LAST)
    memcpy(d->order.band_begin, d->host_results->band_begin, sizeof d->host_results->band_begin);
  if (d->order.levels == KEY_LEVELS) d->order.deepest = d->tree.part[SLOW].levels.count - 1;
  const struct tree_part *last = &d->tree.part[d->tree.parts - 1];
  place_tree(d, last->base + last->nodes);
}

/* Whether the host need not wait for the number of nodes: a renewed tree has about as many nodes as before. */
static int may_skip_wait(const struct device *d)
{
  const struct tree_state *t = &d->tree;
  return t->renews == RENEWS_LAST && !t->capacity_exceeded && t->node.capacity > 0 &&
         d->targets.supergroup.capacity > 0 && d->config.method != METHOD_NEXT_MORE;
}

int device_resolve_counts(struct device *d)
{
  if (!d->tree.counts_pending) return 1;
  d->tree.counts_pending = 0;
  if (!d->host_results->too_many) {
    set_parts(d);
    groups_resolve_counts(d);
    return 1;
  }
  d->tree.capacity_exceeded = 1;
  if (d->host_results->unsorted)
    gpu_reorder(d, d->order.reordered.tick, d->order.reordered.tick_length, d->order.bands,
                d->tree.part[d->tree.parts - 1].band);
  gpu_build(d, d->tree.face_low, d->tree.face_high);
  gpu_groups(d);
  d->tree.capacity_exceeded = 0;
  return 0;
}

void device_begin_build(struct device *d)
{
  int64_t n = d->p.n, places = (blocks_for(n, TILE) + 1) * LEVELS + PARTS_MAX;
  const uint64_t *key = d->order.key[d->order.current].at;
  if (d->config.max_leaf > WINDOW_MAX) fatal("leaves of %d particles, at most %d", d->config.max_leaf, WINDOW_MAX);
  array_reserve(&d->tree.span, "device build", n);
  array_reserve(&d->tree.tile_count, "device build", places);
  array_reserve(&d->tree.tile_place, "device build", places);
  for (int k = parts_begin(d); k < d->tree.parts; k++) {
    const struct tree_part *p = &d->tree.part[k];
    LAUNCH(d, mark, tiles_of(p), THREADS, key + p->first, d->order.class_bits, p->count, d->config.max_leaf,
           d->order.levels, d->tree.span.at + p->first, d->tree.tile_count.at + place_of(d, k));
    scan_tiles(d, k);
  }
}

void gpu_build(struct device *d, const double low[3], const double high[3])
{
  const struct domain_faces faces = {{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
  const uint64_t *key = d->order.key[d->order.current].at;
  int begin = parts_begin(d), max_leaf = d->config.max_leaf, begun = d->order.build_begun;
  d->order.build_begun = 0;
  neighbours_invalidate(&d->hard);
  lets_reset_storage(d);
  memcpy(d->tree.face_low, low, sizeof d->tree.face_low);
  memcpy(d->tree.face_high, high, sizeof d->tree.face_high);
  if (d->tree.renews == RENEWS_ALL) place_tree(d, 0);
  if (d->p.n == 0 || begin == d->tree.parts || pairwise_applies(d)) return;
  if (!begun) device_begin_build(d);
  device_copy_back(d);
  d->tree.counts_pending = may_skip_wait(d);
  if (!d->tree.counts_pending) {
    if (!begun) device_read_results(d);
    set_parts(d);
  }
  for (int k = begin; k < d->tree.parts; k++) {
    const struct tree_part *p = &d->tree.part[k];
    const struct build_view s = device_build_view(d, k);
    LAUNCH(d, place_nodes, tiles_of(p), THREADS, d->tree.view, s, d->tree.span.at + p->first, d->device_results);
    LAUNCH(d, finish_nodes, blocks_for(p->nodes, THREADS), THREADS, d->tree.view, s, key, max_leaf, d->order.levels,
           d->lattice, faces, d->device_results);
  }
  if (d->config.method == METHOD_NEXT_MORE) depth_first_links(d);
}
