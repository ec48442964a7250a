/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labelled device memory, in arrays that grow with slack and never shrink, so that steady steps allocate nothing. */
#ifndef GPU_MEMORY_CUH
#define GPU_MEMORY_CUH
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"

/* Every CUDA call goes through this: what fails is fatal, with the call and CUDA's own words. */
#define CHECK(call)                                                                                           \
  do {                                                                                                        \
    cudaError_t status_ = (call);                                                                             \
    if (status_ != cudaSuccess) fatal("CUDA: %s: %s", #call, cudaGetErrorString(status_));                    \
  } while (0)

/* A block of device memory; running out is fatal and names the label. `label` must live on. NULL may be freed. */
void *device_alloc(const char *label, size_t bytes);
void device_free(const char *label, void *block, size_t bytes);

template <typename T> struct array {
  T *at;
  int64_t room;
  const char *label;
};

/* How much an array grows beyond what was asked for: fluctuations from step to step must not allocate. */
static inline int64_t with_slack(int64_t n) { return n + n / 8 + 64; }

template <typename T> void array_free(struct array<T> *a)
{
  device_free(a->label, a->at, sizeof(T) * (size_t)a->room);
  a->at = NULL;
  a->room = 0;
}

/* Room for n elements; what was in the array is lost when it grows. */
template <typename T> T *array_room(struct array<T> *a, const char *label, int64_t n)
{
  if (n <= a->room) return a->at;
  array_free(a);
  a->label = label;
  a->at = (T *)device_alloc(label, sizeof(T) * (size_t)with_slack(n));
  a->room = with_slack(n);
  return a->at;
}

/* The same, but what was in it is kept. */
template <typename T> T *array_keep(struct array<T> *a, const char *label, int64_t n, cudaStream_t stream)
{
  struct array<T> old = *a;
  if (n <= a->room) return a->at;
  a->at = NULL;
  a->room = 0;
  array_room(a, label, n);
  CHECK(cudaMemcpyAsync(a->at, old.at, sizeof(T) * (size_t)old.room, cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaStreamSynchronize(stream));
  array_free(&old);
  return a->at;
}
#endif
