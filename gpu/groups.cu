/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of targets, and families of groups: the largest cells of the tree that hold at most so many particles, so that a
 * group is as round as a cell; consecutive siblings are joined while they fit. Cells wider than KNOB_GROUP_WIDTH are divided,
 * down to leaves, and what they are divided into is not joined (Miki & Umemura 2017, section 2.4). Families may be of any width:
 * narrow ones were measured to cost as much or more. */
#include <config.h>
#include "pairwise.cuh"

/* Flags of particles; a family begins with a group. */
enum { HEAD_OF_GROUP = 1, HEAD_OF_FAMILY = 3 };

enum {
  HEAD_ITEMS = 8,                     /* particles a thread, when heads are counted and listed */
  HEAD_WARP = WARP * HEAD_ITEMS,
  HEAD_TILE = THREADS * HEAD_ITEMS,
  HEAD_WARPS = THREADS / WARP
};

/* Nodes above the first narrow level are wide; but a leaf has nothing to be divided into. */
static __device__ bool is_wide(const struct tree &t, int32_t i, int32_t narrow) { return i < narrow && !(t.node[i].info & NODE_LEAF); }

/* Which cells begin groups, or families: of at most `most` particles, of levels from `narrow` on. */
struct rule {
  int most, narrow;
  unsigned flag;
};

/* Flags of four particles stand in a word, and are set in any order. */
static __device__ __forceinline__ void set_head(uint8_t *head, int32_t i, unsigned flag)
{
  atomicOr((unsigned *)head + i / 4, flag << 8 * (i % 4));
}

/* Flag the first particles of the largest cells of the rule that begin with this node or its children. */
static __device__ void mark_heads(const struct tree &t, int32_t i, bool root, int32_t narrow, const struct rule &rule, uint8_t *head)
{
  int2 r = t.range[i];
  bool wide = is_wide(t, i, narrow);
  if (r.y - r.x <= rule.most && !wide) {
    if (root) set_head(head, r.x, rule.flag);
    return;
  }
  struct node n = t.node[i];
  if (n.info & NODE_LEAF) {   /* coincident particles */
    for (int32_t j = r.x; j < r.y; j += rule.most) set_head(head, j, rule.flag);
    return;
  }
  int32_t begin = -1;   /* of the run of siblings that is being filled */
  for (int32_t k = n.first; k < n.first + (int32_t)(n.info & NODE_COUNT); k++) {
    int2 c = t.range[k];
    if (c.y - c.x > rule.most || is_wide(t, k, narrow)) {
      begin = -1;
    } else if (begin < 0 || c.y - begin > rule.most || wide) {
      begin = c.x;
      set_head(head, begin, rule.flag);
    }
  }
}

static __global__ void mark_all_heads(struct tree t, struct sprout part, struct rule group, struct rule family, uint8_t *head,
                                      const struct answers *answers)
{
  int32_t nodes = sprout_nodes(part);
  if (answers->too_many) return;
  int32_t narrow = sprout_level(part, group.narrow), narrow_family = sprout_level(part, family.narrow);
  for (int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x); i < nodes; i += (int32_t)(gridDim.x * THREADS)) {
    mark_heads(t, part.base + i, i == 0, narrow, group, head);
    mark_heads(t, part.base + i, i == 0, narrow_family, family, head);
  }
}

/* The flags of a warp's 32 consecutive particles. A warp owns consecutive particles of a tile. */
static __device__ __forceinline__ unsigned flags_of(const uint8_t *head, int32_t i, int32_t n, unsigned flag)
{
  return __ballot_sync(FULL, i < n && (head[i] & flag) == flag);
}

/* How many groups (x) and families (y) begin in each tile of the particles from `first` on. */
static __global__ void __launch_bounds__(THREADS) count_heads(const uint8_t *head, int32_t first, int32_t n, int2 *count)
{
  __shared__ int groups, families;
  if (threadIdx.x == 0) groups = families = 0;
  __syncthreads();
  int32_t mine = first + (int32_t)(blockIdx.x * HEAD_TILE + threadIdx.x / WARP * HEAD_WARP) + lane_id();
  int2 own = {0, 0};
  for (int k = 0; k < HEAD_ITEMS; k++) {
    own.x += __popc(flags_of(head, mine + k * WARP, n, HEAD_OF_GROUP));
    own.y += __popc(flags_of(head, mine + k * WARP, n, HEAD_OF_FAMILY));
  }
  if (lane_id() == 0) {
    atomicAdd(&groups, own.x);
    atomicAdd(&families, own.y);
  }
  __syncthreads();
  if (threadIdx.x == 0) count[blockIdx.x] = make_int2(groups, families);
}

/* The sum over the tiles before this one; all threads get it. */
static __device__ int2 tiles_before(const int2 *count)
{
  __shared__ int2 part[HEAD_WARPS];
  int2 sum = {0, 0};
  for (int k = (int)threadIdx.x; k < (int)blockIdx.x; k += THREADS) sum.x += count[k].x, sum.y += count[k].y;
  sum.x = __reduce_add_sync(FULL, sum.x), sum.y = __reduce_add_sync(FULL, sum.y);
  if (lane_id() == 0) part[threadIdx.x / WARP] = sum;
  __syncthreads();
  sum = make_int2(0, 0);
  for (int w = 0; w < HEAD_WARPS; w++) sum.x += part[w].x, sum.y += part[w].y;
  return sum;
}

/* What groups and families are made of. */
struct groups_job {
  const uint8_t *head;
  int32_t first, n;            /* particles */
  const int2 *count;           /* heads of the tiles */
  int32_t groups, families;    /* those that stay, before these */
  int32_t family_room;
  int32_t *group_begin, *family_begin;
  struct group *group;
  struct family *family;
  const float *acc;            /* the last that is known of all: without a split that of the substeps */
  int32_t *home;
  float *a_old;
  struct answers *answers;
};

/* The heads in order. */
static __global__ void __launch_bounds__(THREADS) list_heads(const __grid_constant__ struct groups_job job)
{
  __shared__ int2 warp[HEAD_WARPS];
  int2 at = tiles_before(job.count), own = {0, 0};
  unsigned groups[HEAD_ITEMS], families[HEAD_ITEMS];
  int32_t mine = job.first + (int32_t)(blockIdx.x * HEAD_TILE + threadIdx.x / WARP * HEAD_WARP) + lane_id();
#pragma unroll
  for (int k = 0; k < HEAD_ITEMS; k++) {
    groups[k] = flags_of(job.head, mine + k * WARP, job.n, HEAD_OF_GROUP);
    families[k] = flags_of(job.head, mine + k * WARP, job.n, HEAD_OF_FAMILY);
    own.x += __popc(groups[k]), own.y += __popc(families[k]);
  }
  if (lane_id() == 0) warp[threadIdx.x / WARP] = own;
  __syncthreads();
  for (int w = 0; w < (int)(threadIdx.x / WARP); w++) at.x += warp[w].x, at.y += warp[w].y;
#pragma unroll
  for (int k = 0; k < HEAD_ITEMS; k++) {
    int32_t i = mine + k * WARP;
    if (groups[k] >> lane_id() & 1) job.group_begin[job.groups + at.x + __popc(groups[k] & lanes_below())] = i;
    if (families[k] >> lane_id() & 1) job.family_begin[job.families + at.y + __popc(families[k] & lanes_below())] = i;
    at.x += __popc(groups[k]), at.y += __popc(families[k]);
  }
  if (blockIdx.x != gridDim.x - 1 || threadIdx.x != THREADS - 1) return;
  job.answers->count = at.x;
  job.answers->families = at.y;
  if (job.families + at.y > job.family_room) job.answers->too_many = 1;
}

/* The family that a particle belongs to. */
static __device__ int32_t family_of(const int32_t *begin, int32_t families, int32_t i)
{
  int32_t low = 0, high = families;
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (begin[middle] <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static __device__ void fill_family(const struct groups_job &job, int32_t f, int32_t families)
{
  job.family[f].begin = job.family_begin[f];
  job.family[f].end = f + 1 < families ? job.family_begin[f + 1] : job.n;
}

/* A warp's group: its end, its family, its smallest |a_old|, its members' home and |a_old|. */
static __device__ void fill_group(const struct groups_job &job, int32_t g, int32_t groups, int32_t families)
{
  int32_t first = job.group_begin[g], end = g + 1 < groups ? job.group_begin[g + 1] : job.n;
  unsigned least = __float_as_uint(INFINITY);
  for (int32_t i = first + lane_id(); i < end; i += WARP) {
    const float *a = &job.acc[3 * (int64_t)i];
    double a2 = (double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2];
    float a_old = (float)sqrt(a2);
    job.a_old[i] = a_old;
    least = min(least, __float_as_uint(a_old));
    job.home[i] = g;
  }
  least = __reduce_min_sync(FULL, least);   /* not negative: the order of the bits is that of the values */
  struct group one = {first, end, __uint_as_float(least), family_of(job.family_begin, families, first)};
  if (lane_id() == 0) job.group[g] = one;
}

static __global__ void fill_groups(const __grid_constant__ struct groups_job job)
{
  int32_t groups = job.groups + job.answers->count, families = job.families + job.answers->families;
  int32_t me = (int32_t)(blockIdx.x * THREADS + threadIdx.x), all = (int32_t)(gridDim.x * THREADS);
  if (job.answers->too_many) return;
  for (int32_t f = job.families + me; f < families; f += all) fill_family(job, f, families);
  for (int32_t g = job.groups + me / WARP; g < groups; g += all / WARP) fill_group(job, g, groups, families);
}

/* The first group and family of the fast particles. */
static __global__ void note_fast(const int32_t *home, const struct group *group, int32_t apart, struct answers *a)
{
  a->fast_group = home[apart];
  a->fast_family = group[home[apart]].family;
}

/* Flags that a walk or a selection sets to its own number, so that they need no clearing. */
static void room_of_flags(struct device *d, struct array<int32_t> *flag, int64_t n, int32_t *number)
{
  if (n <= flag->room) return;
  array_room(flag, "device groups", n);
  CHECK(cudaMemsetAsync(flag->at, 0, sizeof(int32_t) * (size_t)flag->room, d->stream));
  *number = 0;
}

/* The first level whose cells are at most so wide. */
static int first_narrow(const struct device *d, double most)
{
  double width = d->lattice.spacing * LATTICE_SIDE;
  int level = 0;
  while (level <= KEY_LEVELS && width > most) {
    width *= 0.5;
    level++;
  }
  return level;
}

void gpu_tune(struct device *d, enum knob knob, double value)
{
  if (knob == KNOB_GROUP_WIDTH) d->group_width = value;
}

/* At most so many: cells, runs of large leaves, and the first runs of the families in these. */
static int64_t room_of_groups(const struct device *d, int64_t most)
{
  int64_t nodes = d->unsettled ? d->node.room : d->tree.nodes;
  return nodes + d->p.n / most + d->p.n / FAMILY_MOST + 1;
}

/* Groups and families of the slow particles that stay, where only the fast ones are renewed. */
struct kept {
  int32_t groups, families, particles;
};

static struct kept kept_groups(struct device *d)
{
  struct kept none = {0, 0, 0};
  if (!d->renewing) return none;
  const struct answers *told = d->fast_told ? d->told : device_ask(d);
  struct kept k = {told->fast_group, told->fast_family, d->part[FAST].first};
  return k;
}

static void groups_room(struct device *d, int most)
{
  int64_t n = d->p.n, room = room_of_groups(d, most);
  array_room(&d->head, "device groups", n + sizeof(unsigned));
  array_room(&d->head_count, "device groups", blocks_for(n, HEAD_TILE));
  array_keep(&d->group_begin, "device groups", room, d->stream);
  array_keep(&d->family_begin, "device groups", room_of_groups(d, FAMILY_MOST), d->stream);
  array_keep(&d->group, "device groups", room, d->stream);
  array_room(&d->active_group, "device groups", room);
  array_keep(&d->home, "device groups", n, d->stream);
  array_keep(&d->a_old, "device groups", n, d->stream);
  room_of_flags(d, &d->listed, room, &d->selections);
}

/* Groups and families begin somewhere in the parts: their heads are flagged and counted. */
static void find_heads(struct device *d, int32_t first, int most)
{
  const struct rule group = {most, first_narrow(d, d->group_width), HEAD_OF_GROUP};
  const struct rule family = {FAMILY_MOST, 0, HEAD_OF_FAMILY};   /* narrow families were measured to cost as much or more */
  int64_t begin = first / (int)sizeof(unsigned) * (int)sizeof(unsigned), n = d->p.n;
  CHECK(cudaMemsetAsync(d->head.at + begin, 0, (size_t)(n - begin) + sizeof(unsigned), d->stream));
  for (int k = parts_begin(d); k < d->parts; k++)
    LAUNCH(d, mark_all_heads, blocks_for(d->part[k].nodes, THREADS), THREADS, d->tree, device_sprout(d, k), group, family, d->head.at,
           d->answers);
  LAUNCH(d, count_heads, blocks_for(n - first, HEAD_TILE), THREADS, d->head.at, first, (int32_t)n, d->head_count.at);
}

static void families_room(struct device *d, int32_t families)
{
  array_keep(&d->family, "device families", families, d->stream);
  array_room(&d->active_family, "device families", d->family.room);
  room_of_flags(d, &d->family_listed, d->family.room, &d->family_walks);
}

/* The numbers of groups and families, as they were told. */
static void take_groups(struct device *d, const struct kept *kept)
{
  d->groups = kept->groups + d->told->count;
  d->families = kept->families + d->told->families;
}

void groups_settle(struct device *d)
{
  const struct kept kept = kept_groups(d);
  take_groups(d, &kept);
}

void gpu_groups(struct device *d)
{
  const struct kept kept = kept_groups(d);
  int32_t n = (int32_t)d->p.n, first = kept.particles;
  int best = d->config.quadrupole ? GROUP_QUADRUPOLE : GROUP_MONOPOLE, most = d->config.max_group < best ? d->config.max_group : best;
  neighbours_forget(d);
  if (parts_begin(d) == d->parts) return;
  if (!d->unsettled) d->groups = d->families = 0;
  if (n == 0) return;
  if (pairwise_serves(d)) {
    pairwise_groups(d);
    return;
  }
  const struct particles *p = d->copying ? &d->spare : &d->p;   /* of those that are renewed */
  groups_room(d, most);
  find_heads(d, first, most);
  struct groups_job job = {d->head.at, first, n, d->head_count.at, kept.groups, kept.families, (int32_t)d->family.room,
                           d->group_begin.at, d->family_begin.at, d->group.at, d->family.at, device_latest(d, p),
                           d->home.at, d->a_old.at, d->answers};
  if (!d->unsettled) job.family_room = INT32_MAX;
  LAUNCH(d, list_heads, blocks_for(n - first, HEAD_TILE), THREADS, job);
  if (!d->unsettled) {
    device_ask(d);
    take_groups(d, &kept);
    families_room(d, d->families);
    job.family = d->family.at;
  }
  LAUNCH(d, fill_groups, blocks_for((int64_t)(d->groups - kept.groups) * WARP, THREADS), THREADS, job);
  if (d->parts < 2 || d->renewing) return;
  LAUNCH(d, note_fast, 1, 1, d->home.at, d->group.at, d->part[FAST].first, d->answers);
  d->fast_told = 0;
}
