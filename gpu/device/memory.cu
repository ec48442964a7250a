/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labelled device memory. */
#include <config.h>
#include "gpu/device/memory.cuh"

#include "base/memory.h"

void *device_alloc(const char *label, size_t bytes)
{
  void *block = NULL;
  runtime_error status = runtime_alloc(&block, bytes);
  if (status == RUNTIME_NO_MEMORY) {
    size_t left = 0, all = 0;
    CHECK(runtime_memory(&left, &all));
    fatal("out of device memory: %zu bytes for '%s', %zu of %zu bytes are free; use more devices or fewer particles",
          bytes, label, left, all);
  }
  CHECK(status);
  memory_note(label, bytes, 0);
  return block;
}

void device_free(const char *label, void *block, size_t bytes)
{
  if (!block) return;
  CHECK(runtime_free(block));
  memory_note(label, 0, bytes);
}

void *pinned_reserve(struct pinned *pinned, size_t bytes)
{
  if (bytes <= pinned->capacity) return pinned->at;
  pinned_free(pinned);
  pinned->capacity = (size_t)with_slack((int64_t)bytes);
  CHECK(runtime_alloc_host(&pinned->at, pinned->capacity));
  memory_note("page-locked", pinned->capacity, 0);
  return pinned->at;
}

void pinned_free(struct pinned *pinned)
{
  if (!pinned->at) return;
  CHECK(runtime_free_host(pinned->at));
  memory_note("page-locked", 0, pinned->capacity);
  pinned->at = NULL;
  pinned->capacity = 0;
}
