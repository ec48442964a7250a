/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Target groups and supergroups: the largest cells of the tree of at most a given number of particles, so that a group
 * is as compact as a cell. Consecutive siblings are joined while they fit. Cells wider than TUNABLE_GROUP_WIDTH are
 * divided, down to leaves, and their children are not joined (Miki & Umemura 2017, section 2.4). The width of
 * supergroups is not limited. */
#include <config.h>
#include "gpu/device/search.cuh"
#include "gpu/tree/tree.cuh"

/* Flags of particles; a supergroup begins with a group. */
enum { HEAD_OF_GROUP = 1, HEAD_OF_SUPERGROUP = 3 };

enum {
  HEAD_ITEMS = 8, /* particles a thread, in the kernels that count and list heads */
  HEAD_WARP = LANES * HEAD_ITEMS,
  HEAD_TILE = THREADS * HEAD_ITEMS,
  HEAD_WARPS = THREADS / LANES
};

/* Nodes above the first narrow level are wide, except leaves, which cannot be divided. */
static __device__ bool is_wide(const struct tree &tree, int32_t i, int32_t narrow)
{
  return i < narrow && !(tree.node[i].info & NODE_LEAF);
}

/* Which cells begin groups or supergroups: those of at most max_particles particles, of levels from `narrow` on. */
struct head_rule {
  int max_particles, narrow;
  unsigned flag;
};

/* The flags of four particles share a word. Their order is arbitrary. */
static __device__ __forceinline__ void set_head(uint8_t *head, int32_t i, unsigned flag)
{
  atomicOr((unsigned *)head + i / 4, flag << 8 * (i % 4));
}

/* Flag the first particles of the largest cells of the rule that begin with this node or its children. */
static __device__ void mark_heads(const struct tree &tree, int32_t i, bool root, int32_t narrow,
                                  const struct head_rule &rule, uint8_t *head)
{
  int2 r = tree.range[i];
  bool wide = is_wide(tree, i, narrow);
  if (r.y - r.x <= rule.max_particles && !wide) {
    if (root) set_head(head, r.x, rule.flag);
    return;
  }
  struct node n = tree.node[i];
  if (n.info & NODE_LEAF) { /* coincident particles */
    for (int32_t j = r.x; j < r.y; j += rule.max_particles) set_head(head, j, rule.flag);
    return;
  }
  int32_t begin = -1; /* begin of the current run of siblings */
  for (int32_t k = n.first; k < n.first + (int32_t)(n.info & NODE_COUNT); k++) {
    int2 c = tree.range[k];
    if (c.y - c.x > rule.max_particles || is_wide(tree, k, narrow)) {
      begin = -1;
    } else if (begin < 0 || c.y - begin > rule.max_particles || wide) {
      begin = c.x;
      set_head(head, begin, rule.flag);
    }
  }
}

static __global__ void mark_all_heads(struct tree tree, struct build_view part, struct head_rule group,
                                      struct head_rule supergroup, uint8_t *head,
                                      const struct device_results *device_results)
{
  int32_t nodes = build_view_nodes(part), roots = build_view_level(part, 1) - part.base;
  if (device_results->too_many) return;
  int32_t narrow = build_view_level(part, group.narrow), narrow_supergroup = build_view_level(part, supergroup.narrow);
  for (int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x); i < nodes; i += (int32_t)(gridDim.x * THREADS)) {
    mark_heads(tree, part.base + i, i < roots, narrow, group, head);
    mark_heads(tree, part.base + i, i < roots, narrow_supergroup, supergroup, head);
  }
}

/* The flags of a warp's consecutive particles, as a mask. */
static __device__ __forceinline__ lane_mask flags_of(const uint8_t *head, int32_t i, int32_t n, unsigned flag)
{
  return warp_ballot(i < n && (head[i] & flag) == flag);
}

/* The number of groups (x) and supergroups (y) that begin in each tile of the particles from `first` on. */
static __global__ void __launch_bounds__(THREADS)
    count_heads(const uint8_t *head, int32_t first, int32_t n, int2 *count)
{
  __shared__ int groups, supergroups;
  if (threadIdx.x == 0) groups = supergroups = 0;
  __syncthreads();
  int32_t mine = first + (int32_t)(blockIdx.x * HEAD_TILE + threadIdx.x / LANES * HEAD_WARP) + lane_id();
  int2 own = {0, 0};
  for (int k = 0; k < HEAD_ITEMS; k++) {
    own.x += lane_count(flags_of(head, mine + k * LANES, n, HEAD_OF_GROUP));
    own.y += lane_count(flags_of(head, mine + k * LANES, n, HEAD_OF_SUPERGROUP));
  }
  if (lane_id() == 0) {
    atomicAdd(&groups, own.x);
    atomicAdd(&supergroups, own.y);
  }
  __syncthreads();
  if (threadIdx.x == 0) count[blockIdx.x] = make_int2(groups, supergroups);
}

/* The sum over the tiles before this one, for all threads. */
static __device__ int2 tiles_before(const int2 *count)
{
  __shared__ int2 part[HEAD_WARPS];
  int2 sum = {0, 0};
  for (int k = (int)threadIdx.x; k < (int)blockIdx.x; k += THREADS) {
    sum.x += count[k].x;
    sum.y += count[k].y;
  }
  sum.x = warp_sum(sum.x);
  sum.y = warp_sum(sum.y);
  if (lane_id() == 0) part[threadIdx.x / LANES] = sum;
  __syncthreads();
  sum = make_int2(0, 0);
  for (int w = 0; w < HEAD_WARPS; w++) {
    sum.x += part[w].x;
    sum.y += part[w].y;
  }
  return sum;
}

/* Arguments of the kernels that make groups and supergroups. */
struct groups_job {
  const uint8_t *head;
  int32_t first, n;            /* particles */
  const int2 *count;           /* heads in each tile */
  int32_t groups, supergroups; /* those that are kept, which precede the new ones */
  int32_t supergroup_capacity;
  int32_t *group_begin, *supergroup_begin;
  struct group *group;
  struct supergroup *supergroup;
  const float *acc; /* whose modulus is |a_old|: the latest accelerations of all particles */
  int32_t *group_of;
  float *a_old;
  struct device_results *device_results;
};

/* List the heads in order. */
static __global__ void __launch_bounds__(THREADS) list_heads(const __grid_constant__ struct groups_job job)
{
  __shared__ int2 warp[HEAD_WARPS];
  int2 at = tiles_before(job.count), own = {0, 0};
  lane_mask groups[HEAD_ITEMS], supergroups[HEAD_ITEMS];
  int32_t mine = job.first + (int32_t)(blockIdx.x * HEAD_TILE + threadIdx.x / LANES * HEAD_WARP) + lane_id();
#pragma unroll
  for (int k = 0; k < HEAD_ITEMS; k++) {
    groups[k] = flags_of(job.head, mine + k * LANES, job.n, HEAD_OF_GROUP);
    supergroups[k] = flags_of(job.head, mine + k * LANES, job.n, HEAD_OF_SUPERGROUP);
    own.x += lane_count(groups[k]);
    own.y += lane_count(supergroups[k]);
  }
  if (lane_id() == 0) warp[threadIdx.x / LANES] = own;
  __syncthreads();
  for (int w = 0; w < (int)(threadIdx.x / LANES); w++) {
    at.x += warp[w].x;
    at.y += warp[w].y;
  }
#pragma unroll
  for (int k = 0; k < HEAD_ITEMS; k++) {
    int32_t i = mine + k * LANES;
    if (groups[k] >> lane_id() & 1) job.group_begin[job.groups + at.x + lane_count(groups[k] & lanes_below())] = i;
    if (supergroups[k] >> lane_id() & 1)
      job.supergroup_begin[job.supergroups + at.y + lane_count(supergroups[k] & lanes_below())] = i;
    at.x += lane_count(groups[k]);
    at.y += lane_count(supergroups[k]);
  }
  if (blockIdx.x != gridDim.x - 1 || threadIdx.x != THREADS - 1) return;
  job.device_results->count = at.x;
  job.device_results->supergroups = at.y;
  if (job.supergroups + at.y > job.supergroup_capacity) job.device_results->too_many = 1;
}

/* The supergroup of a particle. */
static __device__ int32_t supergroup_of(const int32_t *begin, int32_t supergroups, int32_t i)
{
  return search_last(0, supergroups, [&](int32_t k) { return begin[k] <= i; });
}

static __device__ void fill_supergroup(const struct groups_job &job, int32_t f, int32_t supergroups)
{
  job.supergroup[f].begin = job.supergroup_begin[f];
  job.supergroup[f].end = f + 1 < supergroups ? job.supergroup_begin[f + 1] : job.n;
}

/* Complete a group, by one warp: its end, its supergroup, its smallest |a_old|; and group and |a_old| of its
 * particles. */
static __device__ void fill_group(const struct groups_job &job, int32_t g, int32_t groups, int32_t supergroups)
{
  int32_t first = job.group_begin[g], end = g + 1 < groups ? job.group_begin[g + 1] : job.n;
  unsigned smallest = __float_as_uint(INFINITY);
  for (int32_t i = first + lane_id(); i < end; i += LANES) {
    const float *a = &job.acc[3 * (int64_t)i];
    double a2 = (double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2];
    float a_old = (float)sqrt(a2);
    job.a_old[i] = a_old;
    smallest = min(smallest, __float_as_uint(a_old));
    job.group_of[i] = g;
  }
  smallest = warp_min(smallest); /* values are not negative, so their bits have the same order */
  struct group one = {first, end, __uint_as_float(smallest), supergroup_of(job.supergroup_begin, supergroups, first)};
  if (lane_id() == 0) job.group[g] = one;
}

static __global__ void fill_groups(const __grid_constant__ struct groups_job job)
{
  int32_t groups = job.groups + job.device_results->count,
          supergroups = job.supergroups + job.device_results->supergroups;
  int32_t me = (int32_t)(blockIdx.x * THREADS + threadIdx.x), all = (int32_t)(gridDim.x * THREADS);
  if (job.device_results->too_many) return;
  for (int32_t f = job.supergroups + me; f < supergroups; f += all) fill_supergroup(job, f, supergroups);
  for (int32_t g = job.groups + me / LANES; g < groups; g += all / LANES) fill_group(job, g, groups, supergroups);
}

/* The first groups and supergroups of the bands after `from`. */
static __global__ void store_band_groups(const __grid_constant__ struct groups_job job, int from)
{
  struct device_results *results = job.device_results;
  int band = (int)threadIdx.x;
  if (results->too_many || band <= from) return;
  int32_t begin = results->band_begin[band];
  int some = begin < job.n;
  results->band_group[band] = some ? job.group_of[begin] : job.groups + results->count;
  results->band_supergroup[band] =
      some ? job.group[job.group_of[begin]].supergroup : job.supergroups + results->supergroups;
}

/* Capacity of flags that each walk or selection sets to its own number, so that they need no clearing. */
static void reserve_flags(struct device *d, struct array<int32_t> *flag, int64_t n, int32_t *number)
{
  if (n <= flag->capacity) return;
  array_reserve(flag, "device groups", n);
  CHECK(runtime_set_bytes(flag->at, 0, sizeof(int32_t) * (size_t)flag->capacity, d->stream));
  *number = 0;
}

/* The first level whose cells are at most max_width wide (code length). */
static int first_narrow(const struct device *d, double max_width)
{
  double width = d->lattice.spacing * LATTICE_SIDE;
  int level = 0;
  while (level <= KEY_LEVELS && width > max_width) {
    width *= 0.5;
    level++;
  }
  return level;
}

void gpu_tune(struct device *d, enum tunable tunable, double value)
{
  if (tunable == TUNABLE_GROUP_WIDTH) d->targets.group_width = value;
}

/* An upper limit of the number of groups of at most max_particles: cells, runs of large leaves, and the first runs of
 * the supergroups in these. */
static int64_t reserve_groups(const struct device *d, int64_t max_particles)
{
  int64_t nodes = d->tree.counts_pending ? d->tree.node.capacity : d->tree.view.nodes;
  return nodes + d->p.n / max_particles + d->p.n / SUPERGROUP_MAX + 1;
}

/* Groups and supergroups that are kept if only the last part is renewed: those of the particles before it. */
struct kept_counts {
  int32_t groups, supergroups, particles;
};

static struct kept_counts kept_groups(struct device *d)
{
  struct kept_counts none = {0, 0, 0};
  if (d->tree.renews != RENEWS_LAST) return none;
  const struct device_results *host_results = d->tree.fast_results_valid ? d->host_results : device_read_results(d);
  const struct tree_part *last = &d->tree.part[d->tree.parts - 1];
  struct kept_counts k = {host_results->band_group[last->band], host_results->band_supergroup[last->band], last->first};
  return k;
}

static void reserve_for_groups(struct device *d, int max_particles)
{
  int64_t n = d->p.n, capacity = reserve_groups(d, max_particles);
  array_reserve(&d->targets.head, "device groups", n + sizeof(unsigned));
  array_reserve(&d->targets.head_count, "device groups", blocks_for(n, HEAD_TILE));
  array_keep(&d->targets.group_begin, "device groups", capacity, d->stream);
  array_keep(&d->targets.supergroup_begin, "device groups", reserve_groups(d, SUPERGROUP_MAX), d->stream);
  array_keep(&d->targets.group, "device groups", capacity, d->stream);
  array_reserve(&d->active.group, "device groups", capacity);
  array_keep(&d->targets.group_of, "device groups", n, d->stream);
  array_keep(&d->targets.a_old, "device groups", n, d->stream);
  reserve_flags(d, &d->active.listed, capacity, &d->active.selections);
}

/* Flag and count the particles from `first` on that begin groups or supergroups. Queued. */
static void find_heads(struct device *d, int32_t first, int max_particles)
{
  const struct head_rule group = {max_particles, first_narrow(d, d->targets.group_width), HEAD_OF_GROUP};
  const struct head_rule supergroup = {SUPERGROUP_MAX, 0, HEAD_OF_SUPERGROUP};
  int64_t begin = first / (int)sizeof(unsigned) * (int)sizeof(unsigned), n = d->p.n;
  CHECK(runtime_set_bytes(d->targets.head.at + begin, 0, (size_t)(n - begin) + sizeof(unsigned), d->stream));
  for (int k = parts_begin(d); k < d->tree.parts; k++)
    LAUNCH(d, mark_all_heads, blocks_for(d->tree.part[k].nodes, THREADS), THREADS, d->tree.view,
           device_build_view(d, k), group, supergroup, d->targets.head.at, d->device_results);
  LAUNCH(d, count_heads, blocks_for(n - first, HEAD_TILE), THREADS, d->targets.head.at, first, (int32_t)n,
         d->targets.head_count.at);
}

static void reserve_supergroups(struct device *d, int32_t supergroups)
{
  array_keep(&d->targets.supergroup, "device supergroups", supergroups, d->stream);
  array_reserve(&d->active.supergroup, "device supergroups", d->targets.supergroup.capacity);
  reserve_flags(d, &d->active.supergroup_listed, d->targets.supergroup.capacity, &d->active.supergroup_selections);
}

/* Take the numbers of groups and supergroups from host_results. */
static void set_group_counts(struct device *d, const struct kept_counts *kept)
{
  d->targets.groups = kept->groups + d->host_results->count;
  d->targets.supergroups = kept->supergroups + d->host_results->supergroups;
}

void groups_resolve_counts(struct device *d)
{
  const struct kept_counts kept = kept_groups(d);
  set_group_counts(d, &kept);
}

/* Queued. */
static void store_bands(struct device *d, const struct groups_job &job)
{
  int from = d->tree.renews == RENEWS_LAST ? d->tree.part[d->tree.parts - 1].band : 0;
  if (from == bands_count(d->order.bands) - 1) return;
  LAUNCH(d, store_band_groups, 1, BANDS_MAX, job, from);
  d->tree.fast_results_valid = 0;
}

void gpu_groups(struct device *d)
{
  const struct kept_counts kept = kept_groups(d);
  int32_t n = (int32_t)d->p.n, first = kept.particles;
  int best = d->config.quadrupole ? GROUP_QUADRUPOLE : GROUP_MONOPOLE;
  int max_particles = d->config.max_group < best ? d->config.max_group : best;
  neighbours_invalidate(&d->hard);
  if (parts_begin(d) == d->tree.parts) return;
  if (!d->tree.counts_pending) d->targets.groups = d->targets.supergroups = 0;
  if (n == 0) return;
  if (pairwise_applies(d)) {
    treeless_groups(d);
    return;
  }
  const struct particles *p = d->copy.pending ? &d->copy.spare : &d->p; /* where the renewed particles are */
  reserve_for_groups(d, max_particles);
  find_heads(d, first, max_particles);
  struct groups_job job = {d->targets.head.at,
                           first,
                           n,
                           d->targets.head_count.at,
                           kept.groups,
                           kept.supergroups,
                           (int32_t)d->targets.supergroup.capacity,
                           d->targets.group_begin.at,
                           d->targets.supergroup_begin.at,
                           d->targets.group.at,
                           d->targets.supergroup.at,
                           device_latest_acc(d, p),
                           d->targets.group_of.at,
                           d->targets.a_old.at,
                           d->device_results};
  if (!d->tree.counts_pending) job.supergroup_capacity = INT32_MAX;
  LAUNCH(d, list_heads, blocks_for(n - first, HEAD_TILE), THREADS, job);
  if (!d->tree.counts_pending) {
    device_read_results(d);
    set_group_counts(d, &kept);
    reserve_supergroups(d, d->targets.supergroups);
    job.supergroup = d->targets.supergroup.at;
  }
  LAUNCH(d, fill_groups, blocks_for((int64_t)(d->targets.groups - kept.groups) * LANES, THREADS), THREADS, job);
  store_bands(d, job);
}
