/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binary searches of one thread in sorted data. */
#ifndef GPU_SEARCH_CUH
#define GPU_SEARCH_CUH
#include "gpu/device/runtime.cuh"

/* The first k of [low, high) for which holds(k) is false; high if there is none. It holds before, and not after. */
template <typename F> DEVICE_INLINE int32_t search_first_not(int32_t low, int32_t high, F holds)
{
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The last k of [low, high) for which holds(k) is true. holds(low) is taken for true without a call. */
template <typename F> DEVICE_INLINE int32_t search_last(int32_t low, int32_t high, F holds)
{
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}
#endif
