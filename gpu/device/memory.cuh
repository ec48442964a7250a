/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labelled device memory, in arrays that grow with slack and never shrink, so that steady steps allocate nothing. */
#ifndef GPU_MEMORY_CUH
#define GPU_MEMORY_CUH
#include <stddef.h>
#include <stdint.h>

#include "gpu/device/runtime.cuh"

/* Allocate and free a block of device memory under a label, for the accounts of memory. Running out is fatal and names
 * the label. The string `label` must outlive the block. NULL may be freed. */
void *device_alloc(const char *label, size_t bytes);
void device_free(const char *label, void *block, size_t bytes);

/* A device array that grows. Zero-initialise. */
template <typename T> struct array {
  T *at;
  int64_t capacity; /* elements */
  const char *label;
};

/* Capacity that is allocated for n elements: the slack absorbs fluctuations from step to step. */
static inline int64_t with_slack(int64_t n) { return MEMORY_SLACK ? n + n / 8 + 64 : n; }

template <typename T> void array_free(struct array<T> *a)
{
  device_free(a->label, a->at, sizeof(T) * (size_t)a->capacity);
  a->at = NULL;
  a->capacity = 0;
}

/* Make the capacity at least n elements; the contents are lost when it grows. Returns the array. */
template <typename T> T *array_reserve(struct array<T> *a, const char *label, int64_t n)
{
  if (n <= a->capacity) return a->at;
  array_free(a);
  a->label = label;
  a->at = (T *)device_alloc(label, sizeof(T) * (size_t)with_slack(n));
  a->capacity = with_slack(n);
  return a->at;
}

/* The same, keeping the contents. Growing waits for the stream. */
template <typename T> T *array_keep(struct array<T> *a, const char *label, int64_t n, runtime_stream stream)
{
  struct array<T> old = *a;
  if (n <= a->capacity) return a->at;
  a->at = NULL;
  a->capacity = 0;
  array_reserve(a, label, n);
  CHECK(runtime_copy(a->at, old.at, sizeof(T) * (size_t)old.capacity, ON_DEVICE, stream));
  CHECK(runtime_stream_sync(stream));
  array_free(&old);
  return a->at;
}

/* Page-locked host memory, for asynchronous copies. Zero-initialise. */
struct pinned {
  char *at;
  size_t capacity; /* capacity, bytes */
};
/* Make the capacity at least so many bytes; the contents are lost when it grows. Returns the memory. */
void *pinned_reserve(struct pinned *pinned, size_t bytes);
void pinned_free(struct pinned *pinned);
#endif
