/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links of the depth-first walk: the node where the walk continues after each node. */
#include <config.h>
#include "gpu/tree/tree.cuh"

/* The shallowest node that begins at each particle: the first of them in breadth-first order. */
static __global__ void find_first_nodes(struct tree tree, int32_t *head)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k < tree.nodes) atomicMin(&head[tree.range[k].x], k);
}

/* The next sibling of the node, or of its nearest ancestor that has one, begins where the node ends, and it is the
 * shallowest node that does. -1: the walk ends. */
static __global__ void set_next(struct tree tree, const int32_t *head, int32_t *next)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= tree.nodes) return;
  int32_t end = tree.range[k].y;
  next[k] = end < tree.bodies ? head[end] : -1;
}

void depth_first_links(struct device *d)
{
  int64_t nodes = d->tree.view.nodes, n = d->p.n;
  int32_t *head = (int32_t *)array_reserve(&d->work.scratch, "device scratch", (int64_t)sizeof(int32_t) * n);
  int32_t *next = array_reserve(&d->tree.next, "device octree", nodes);
  CHECK(runtime_set_bytes(head, 0x7f, sizeof(int32_t) * (size_t)n, d->stream));
  LAUNCH(d, find_first_nodes, blocks_for(nodes, THREADS), THREADS, d->tree.view, head);
  LAUNCH(d, set_next, blocks_for(nodes, THREADS), THREADS, d->tree.view, head, next);
}
