/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of targets, and families of groups: the largest cells of the tree that hold at most so many particles, so that a
 * group is as round as a cell; consecutive siblings are joined while they fit. */
#include <config.h>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "device.cuh"

enum { HEAD_OF_GROUP = 1, HEAD_OF_FAMILY = 3 };   /* a family begins with a group */

/* Flag the first particles of the largest cells of at most `most` particles. */
static __global__ void mark_heads(struct tree t, int most, uint8_t flag, uint8_t *head)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= t.nodes) return;
  int2 r = t.range[i];
  if (r.y - r.x <= most) {
    if (i == 0) head[0] = flag;
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
    if (c.y - c.x > most) {
      begin = -1;
    } else if (begin < 0 || c.y - begin > most) {
      begin = c.x;
      head[begin] = flag;
    }
  }
}

struct heads_family {
  __host__ __device__ bool operator()(uint8_t head) const { return head == HEAD_OF_FAMILY; }
};

static __global__ void fill_families(struct family *family, const int32_t *begin, int32_t families, int32_t n)
{
  int32_t f = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
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
static __global__ void fill_groups(struct group *group, const int32_t *begin, int32_t groups, const int32_t *family_begin, int32_t families,
                                   struct particles p, int32_t *home, float *a_old)
{
  int32_t g = (int32_t)((blockIdx.x * THREADS + threadIdx.x) / WARP);
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

/* The particles whose flag is set, in order: their number goes to *count. */
template <class FLAGS> static void select_heads(struct device *d, FLAGS flag, struct array<int32_t> *begin, int32_t *count)
{
  size_t bytes = 0;
  thrust::counting_iterator<int32_t> particles(0);
  CHECK(cub::DeviceSelect::Flagged(NULL, bytes, particles, flag, begin->at, count, (int)d->p.n, d->stream));
  array_room(&d->scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceSelect::Flagged(d->scratch.at, bytes, particles, flag, begin->at, count, (int)d->p.n, d->stream));
}

/* Flags that a walk or a selection sets to its own number, so that they need no clearing. */
static void room_of_flags(struct device *d, struct array<int32_t> *flag, int64_t n, int32_t *number)
{
  if (n <= flag->room) return;
  array_room(flag, "device groups", n);
  CHECK(cudaMemsetAsync(flag->at, 0, sizeof(int32_t) * (size_t)flag->room, d->stream));
  *number = 0;
}

/* At most so many cells of `most` particles, cut leaves included. */
static int64_t room_of_groups(const struct device *d, int64_t most) { return d->tree.nodes + d->p.n / most + 1; }

void gpu_groups(struct device *d)
{
  int64_t n = d->p.n;
  int best = d->config.quadrupole ? GROUP_QUADRUPOLE : GROUP_MONOPOLE, most = d->config.max_group < best ? d->config.max_group : best;
  d->groups = d->families = 0;
  if (n == 0) return;
  int64_t room = room_of_groups(d, most), family_room = room_of_groups(d, FAMILY_MOST);
  array_room(&d->head, "device groups", n);
  array_room(&d->group_begin, "device groups", room);
  array_room(&d->family_begin, "device groups", family_room);
  array_room(&d->group, "device groups", room);
  array_room(&d->active_group, "device groups", room);
  array_room(&d->home, "device groups", n);
  array_room(&d->a_old, "device groups", n);
  room_of_flags(d, &d->listed, room, &d->selections);
  CHECK(cudaMemsetAsync(d->head.at, 0, (size_t)n, d->stream));
  LAUNCH(d, mark_heads, blocks_for(d->tree.nodes, THREADS), THREADS, d->tree, most, HEAD_OF_GROUP, d->head.at);
  LAUNCH(d, mark_heads, blocks_for(d->tree.nodes, THREADS), THREADS, d->tree, FAMILY_MOST, HEAD_OF_FAMILY, d->head.at);
  select_heads(d, d->head.at, &d->group_begin, &d->answers->count);
  select_heads(d, thrust::make_transform_iterator(d->head.at, heads_family()), &d->family_begin, &d->answers->families);
  const struct answers *told = device_ask(d);
  d->groups = told->count;
  d->families = told->families;
  array_room(&d->family, "device families", d->families);
  array_room(&d->active_family, "device families", d->families);
  room_of_flags(d, &d->family_listed, d->families, &d->family_walks);
  LAUNCH(d, fill_families, blocks_for(d->families, THREADS), THREADS, d->family.at, d->family_begin.at, d->families, (int32_t)n);
  LAUNCH(d, fill_groups, blocks_for((int64_t)d->groups * WARP, THREADS), THREADS, d->group.at, d->group_begin.at, d->groups,
         d->family_begin.at, d->families, d->p, d->home.at, d->a_old.at);
}
