/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labelled device memory. */
#include <config.h>
#include "gpu/device/memory.cuh"

#include "base/memory.h"

void *device_alloc(const char *label, size_t bytes)
{
  void *block = NULL;
  cudaError_t status = cudaMalloc(&block, bytes);
  if (status == cudaErrorMemoryAllocation) {
    size_t left = 0, all = 0;
    CHECK(cudaMemGetInfo(&left, &all));
    fatal("out of device memory: %zu bytes for '%s', %zu of %zu bytes are free; use more devices or fewer particles", bytes, label,
          left, all);
  }
  CHECK(status);
  memory_note(label, bytes, 0);
  return block;
}

void device_free(const char *label, void *block, size_t bytes)
{
  if (!block) return;
  CHECK(cudaFree(block));
  memory_note(label, 0, bytes);
}

void *pinned_room(struct pinned *p, size_t bytes)
{
  if (bytes <= p->room) return p->at;
  pinned_free(p);
  p->room = (size_t)with_slack((int64_t)bytes);
  CHECK(cudaMallocHost(&p->at, p->room));
  memory_note("page-locked", p->room, 0);
  return p->at;
}

void pinned_free(struct pinned *p)
{
  if (!p->at) return;
  CHECK(cudaFreeHost(p->at));
  memory_note("page-locked", 0, p->room);
  p->at = NULL;
  p->room = 0;
}
