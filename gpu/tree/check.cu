/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks at run time: the device's tree is copied to the host and validated there. */
#include <config.h>
#include "gpu/tree/tree.cuh"
#include "base/memory.h"

template <typename T> static T *fetch(struct device *d, const T *from, int64_t n)
{
  T *to = (T *)memory_alloc("check", sizeof(T) * (size_t)n);
  CHECK(runtime_copy(to, from, sizeof(T) * (size_t)n, TO_HOST, d->stream));
  gpu_wait(d);
  return to;
}

void device_check_tree(struct device *d)
{
  char why[256];
  struct octree t;
  int64_t nodes = d->tree.view.nodes, n = d->tree.view.bodies;
  void *block = memory_alloc("check", octree_bytes(nodes, n, 0, 0));
  octree_place(&t, block, nodes, n, 0, 0);
  struct node *node = fetch(d, d->tree.view.node, nodes);
  struct body *body = fetch(d, d->tree.view.body, n);
  memcpy(t.node, node, sizeof *node * (size_t)nodes);
  for (int64_t i = 0; i < n; i++) {
    t.source.x[i] = body[i].x;
    t.source.y[i] = body[i].y;
    t.source.z[i] = body[i].z;
    t.source.m[i] = body[i].m;
  }
  if (!octree_valid(&t, d->lattice.spacing, why, sizeof why)) fatal("the octree on the device is not valid: %s", why);
  memory_free(body);
  memory_free(node);
  memory_free(block);
}
