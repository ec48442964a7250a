/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles without a tree: few of them have their forces by direct sums. */
#include <config.h>
#include "gpu/tree/tree.cuh"

bool pairwise_applies(const struct device *d)
{
  if (d->config.method == METHOD_DIRECT) return true;
  return d->config.method == METHOD_AUTO && d->config.ranks == 1 && d->p.n <= DIRECT_MOST;
}

static __global__ void make_even_groups(struct group *group, int32_t groups, int32_t n, int size, int32_t *group_of)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i < n) group_of[i] = i / size;
  if (i >= groups) return;
  const struct group one = {i * size, min((i + 1) * size, n), 0};
  group[i] = one;
}

void treeless_groups(struct device *d)
{
  int size = d->config.max_group < GROUP_MAX ? d->config.max_group : GROUP_MAX;
  int64_t n = d->p.n, groups = blocks_for(n, size);
  array_reserve(&d->targets.group, "device groups", groups);
  array_reserve(&d->active.group, "device groups", groups);
  array_reserve(&d->targets.group_of, "device groups", n);
  if (groups > d->active.listed.capacity) {
    array_reserve(&d->active.listed, "device groups", groups);
    CHECK(runtime_set_bytes(d->active.listed.at, 0, sizeof(int32_t) * (size_t)d->active.listed.capacity, d->stream));
    d->active.selections = 0;
  }
  d->targets.groups = (int32_t)groups;
  LAUNCH(d, make_even_groups, blocks_for(n, THREADS), THREADS, d->targets.group.at, d->targets.groups, (int32_t)n, size,
         d->targets.group_of.at);
}
