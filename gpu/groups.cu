/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of targets: the largest cells of the tree that hold at most so many particles, so that a group is as round as a
 * cell; consecutive siblings are joined while they fit. */
#include <config.h>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "pairwise.cuh"

/* Flag the first particle of every group. */
static __global__ void mark_heads(struct tree t, int most, uint8_t *head)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= t.nodes) return;
  int2 r = t.range[i];
  struct node n = t.node[i];
  if (r.y - r.x <= most) {
    if (i == 0) head[0] = 1;
    return;
  }
  if (n.info & NODE_LEAF) {   /* coincident particles */
    for (int32_t j = r.x; j < r.y; j += most) head[j] = 1;
    return;
  }
  int32_t begin = -1;   /* of the group that is being filled */
  for (int32_t k = n.first; k < n.first + (int32_t)(n.info & NODE_COUNT); k++) {
    int2 c = t.range[k];
    if (c.y - c.x > most) {
      begin = -1;
    } else if (begin < 0 || c.y - begin > most) {
      begin = c.x;
      head[begin] = 1;
    }
  }
}

/* A warp for each group: its end, its smallest |a_old|, its members' home. */
static __global__ void fill_groups(struct group *group, const int32_t *begin, int32_t groups, struct particles p, int32_t *home)
{
  int32_t g = (int32_t)((blockIdx.x * THREADS + threadIdx.x) / WARP);
  if (g >= groups) return;
  int32_t first = begin[g], end = g + 1 < groups ? begin[g + 1] : (int32_t)p.n;
  unsigned least = __float_as_uint(INFINITY);
  for (int32_t i = first + lane_id(); i < end; i += WARP) {
    const float *a = &p.acc[3 * (int64_t)i];
    double a2 = (double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2];
    least = min(least, __float_as_uint((float)sqrt(a2)));
    home[i] = g;
  }
  least = __reduce_min_sync(FULL, least);   /* not negative: the order of the bits is that of the values */
  struct group one = {first, end, __uint_as_float(least)};
  if (lane_id() == 0) group[g] = one;
}

void gpu_groups(struct device *d)
{
  int64_t n = d->p.n;
  int most = d->config.max_group < GROUP_MOST ? d->config.max_group : GROUP_MOST;
  size_t bytes = 0;
  d->groups = 0;
  if (n == 0) return;
  if (pairwise_serves(d)) {
    pairwise_groups(d);
    return;
  }
  int64_t room = d->tree.nodes + n / most + 1;   /* at most so many groups */
  array_room(&d->head, "device groups", n);
  array_room(&d->group_begin, "device groups", room);
  array_room(&d->group, "device groups", room);
  array_room(&d->active_group, "device groups", room);
  array_room(&d->home, "device groups", n);
  if (room > d->listed.room) {
    array_room(&d->listed, "device groups", room);
    CHECK(cudaMemsetAsync(d->listed.at, 0, sizeof(int32_t) * (size_t)d->listed.room, d->stream));
    d->selections = 0;
  }
  CHECK(cudaMemsetAsync(d->head.at, 0, (size_t)n, d->stream));
  LAUNCH(d, mark_heads, blocks_for(d->tree.nodes, THREADS), THREADS, d->tree, most, d->head.at);
  thrust::counting_iterator<int32_t> particles(0);
  CHECK(cub::DeviceSelect::Flagged(NULL, bytes, particles, d->head.at, d->group_begin.at, &d->answers->count, (int)n, d->stream));
  array_room(&d->scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceSelect::Flagged(d->scratch.at, bytes, particles, d->head.at, d->group_begin.at, &d->answers->count, (int)n, d->stream));
  d->groups = device_ask(d)->count;
  LAUNCH(d, fill_groups, blocks_for((int64_t)d->groups * WARP, THREADS), THREADS, d->group.at, d->group_begin.at, d->groups, d->p,
         d->home.at);
}
