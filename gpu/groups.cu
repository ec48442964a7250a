/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of targets, and families of groups: the largest cells of the tree that hold at most so many particles, so that a
 * group is as round as a cell; consecutive siblings are joined while they fit. Cells wider than KNOB_GROUP_WIDTH are divided,
 * down to leaves, and what they are divided into is not joined (Miki & Umemura 2017, section 2.4). Families may be of any width:
 * narrow ones were measured to cost as much or more. */
#include <config.h>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "pairwise.cuh"

enum { HEAD_OF_GROUP = 1, HEAD_OF_FAMILY = 3 };   /* a family begins with a group */

/* Nodes above the first narrow level are wide; but a leaf has nothing to be divided into. */
static __device__ bool is_wide(const struct tree &t, int32_t i, int32_t narrow) { return i < narrow && !(t.node[i].info & NODE_LEAF); }

/* Flag the first particles of the largest cells of at most `most` particles that are not wide. */
static __global__ void mark_heads(struct tree t, int32_t root, int32_t nodes, int most, int32_t narrow, uint8_t flag, uint8_t *head)
{
  int32_t i = root + (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= root + nodes) return;
  int2 r = t.range[i];
  bool wide = is_wide(t, i, narrow);
  if (r.y - r.x <= most && !wide) {
    if (i == root) head[r.x] = flag;
    return;
  }
  struct node n = t.node[i];
  if (n.info & NODE_LEAF) {   /* coincident particles */
    for (int32_t j = r.x; j < r.y; j += most) head[j] = flag;
    return;
  }
  int32_t begin = -1;   /* of the run of siblings that is being filled */
  for (int32_t k = n.first; k < n.first + (int32_t)(n.info & NODE_COUNT); k++) {
    int2 c = t.range[k];
    if (c.y - c.x > most || is_wide(t, k, narrow)) {
      begin = -1;
    } else if (begin < 0 || c.y - begin > most || wide) {
      begin = c.x;
      head[begin] = flag;
    }
  }
}

struct heads_family {
  __host__ __device__ bool operator()(uint8_t head) const { return head == HEAD_OF_FAMILY; }
};

static __global__ void fill_families(struct family *family, const int32_t *begin, int32_t from, int32_t families, int32_t n)
{
  int32_t f = from + (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (f >= families) return;
  family[f].begin = begin[f];
  family[f].end = f + 1 < families ? begin[f + 1] : n;
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

/* A warp for each group: its end, its family, its smallest |a_old|, its members' home and |a_old|. */
static __global__ void fill_groups(struct group *group, const int32_t *begin, int32_t from, int32_t groups, const int32_t *family_begin,
                                   int32_t families, struct particles p, int32_t *home, float *a_old)
{
  int32_t g = from + (int32_t)(((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP);
  if (g >= groups) return;
  int32_t first = begin[g], end = g + 1 < groups ? begin[g + 1] : (int32_t)p.n;
  unsigned least = __float_as_uint(INFINITY);
  for (int32_t i = first + lane_id(); i < end; i += WARP) {
    const float *a = &p.acc[3 * (int64_t)i];
    double a2 = (double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2];
    a_old[i] = (float)sqrt(a2);
    least = min(least, __float_as_uint(a_old[i]));
    home[i] = g;
  }
  least = __reduce_min_sync(FULL, least);   /* not negative: the order of the bits is that of the values */
  struct group one = {first, end, __uint_as_float(least), family_of(family_begin, families, first)};
  if (lane_id() == 0) group[g] = one;
}

/* The first group and family of the fast particles. */
static __global__ void note_fast(const int32_t *home, const struct group *group, int32_t apart, struct answers *a)
{
  a->fast_group = home[apart];
  a->fast_family = group[home[apart]].family;
}

/* The particles from `first` on whose flag is set, in order: their number goes to *count. */
template <class FLAGS> static void select_heads(struct device *d, int32_t first, FLAGS flag, int32_t *begin, int32_t *count)
{
  size_t bytes = 0;
  int n = (int)(d->p.n - first);
  thrust::counting_iterator<int32_t> particles(first);
  CHECK(cub::DeviceSelect::Flagged(NULL, bytes, particles, flag, begin, count, n, d->stream));
  array_room(&d->scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceSelect::Flagged(d->scratch.at, bytes, particles, flag, begin, count, n, d->stream));
}

/* Flags that a walk or a selection sets to its own number, so that they need no clearing. */
static void room_of_flags(struct device *d, struct array<int32_t> *flag, int64_t n, int32_t *number)
{
  if (n <= flag->room) return;
  array_room(flag, "device groups", n);
  CHECK(cudaMemsetAsync(flag->at, 0, sizeof(int32_t) * (size_t)flag->room, d->stream));
  *number = 0;
}

/* The first node of the levels whose cells are at most so wide. */
static int32_t first_narrow(const struct device *d, const struct part *p, double most)
{
  double width = d->lattice.spacing * LATTICE_SIDE;
  int level = 0;
  while (level < p->levels.count && width > most) {
    width *= 0.5;
    level++;
  }
  return p->levels.begin[level];
}

void gpu_tune(struct device *d, enum knob knob, double value)
{
  if (knob == KNOB_GROUP_WIDTH) d->group_width = value;
}

/* At most so many cells of `most` particles, cut leaves included. */
/* At most so many: cells, runs of large leaves, and the first runs of the families in these. */
static int64_t room_of_groups(const struct device *d, int64_t most) { return d->tree.nodes + d->p.n / most + d->p.n / FAMILY_MOST + 1; }

/* Groups and families of the slow particles that stay, where only the fast ones are renewed. */
struct kept {
  int32_t groups, families, particles;
};

static struct kept kept_groups(struct device *d)
{
  struct kept none = {0, 0, 0};
  if (!d->renewing) return none;
  const struct answers *told = device_ask(d);
  struct kept k = {told->fast_group, told->fast_family, d->part[FAST].first};
  return k;
}

static void groups_room(struct device *d, int most)
{
  int64_t n = d->p.n, room = room_of_groups(d, most);
  array_room(&d->head, "device groups", n);
  array_keep(&d->group_begin, "device groups", room, d->stream);
  array_keep(&d->family_begin, "device groups", room_of_groups(d, FAMILY_MOST), d->stream);
  array_keep(&d->group, "device groups", room, d->stream);
  array_room(&d->active_group, "device groups", room);
  array_keep(&d->home, "device groups", n, d->stream);
  array_keep(&d->a_old, "device groups", n, d->stream);
  room_of_flags(d, &d->listed, room, &d->selections);
}

void gpu_groups(struct device *d)
{
  const struct kept kept = kept_groups(d);
  int32_t n = (int32_t)d->p.n, first = kept.particles;
  int best = d->config.quadrupole ? GROUP_QUADRUPOLE : GROUP_MONOPOLE, most = d->config.max_group < best ? d->config.max_group : best;
  neighbours_forget(d);
  d->groups = d->families = 0;
  if (n == 0) return;
  if (pairwise_serves(d)) {
    pairwise_groups(d);
    return;
  }
  groups_room(d, most);
  uint8_t *head = d->head.at + first;
  CHECK(cudaMemsetAsync(head, 0, (size_t)(n - first), d->stream));
  for (int pass = 0; pass < 2; pass++)   /* families last: they begin with groups */
    for (int k = parts_begin(d); k < d->parts; k++) {
      const struct part *p = &d->part[k];
      double width = pass ? HUGE_VAL : d->group_width;   /* narrow families were measured to cost as much or more */
      LAUNCH(d, mark_heads, blocks_for(p->nodes, THREADS), THREADS, d->tree, p->base, p->nodes, pass ? FAMILY_MOST : most,
             first_narrow(d, p, width), pass ? HEAD_OF_FAMILY : HEAD_OF_GROUP, d->head.at);
    }
  select_heads(d, first, head, d->group_begin.at + kept.groups, &d->answers->count);
  select_heads(d, first, thrust::make_transform_iterator(head, heads_family()), d->family_begin.at + kept.families, &d->answers->families);
  const struct answers *told = device_ask(d);
  d->groups = kept.groups + told->count;
  d->families = kept.families + told->families;
  array_keep(&d->family, "device families", d->families, d->stream);
  array_room(&d->active_family, "device families", d->families);
  room_of_flags(d, &d->family_listed, d->families, &d->family_walks);
  int32_t groups = d->groups - kept.groups, families = d->families - kept.families;
  LAUNCH(d, fill_families, blocks_for(families, THREADS), THREADS, d->family.at, d->family_begin.at, kept.families, d->families, n);
  LAUNCH(d, fill_groups, blocks_for((int64_t)groups * WARP, THREADS), THREADS, d->group.at, d->group_begin.at, kept.groups, d->groups,
         d->family_begin.at, d->families, d->p, d->home.at, d->a_old.at);
  if (d->parts == 2 && !d->renewing) LAUNCH(d, note_fast, 1, 1, d->home.at, d->group.at, d->part[FAST].first, d->answers);
}
