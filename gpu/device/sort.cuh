/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stable sorts by the bits from `low` on and below `high` of integer keys. */
#ifndef GPU_SORT_CUH
#define GPU_SORT_CUH
#include <cub/device/device_radix_sort.cuh>

#include "gpu/device/device.cuh"

/* Sort pairs of keys and values from one pair of arrays to another. Queued. */
template <typename K, typename V>
static void sort_pairs(struct device *d, const K *key, K *sorted_key, const V *value, V *sorted_value, int n, int low,
                       int high)
{
  size_t bytes = 0;
  CHECK(cub::DeviceRadixSort::SortPairs(NULL, bytes, key, sorted_key, value, sorted_value, n, low, high, d->stream));
  array_reserve(&d->work.scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceRadixSort::SortPairs(d->work.scratch.at, bytes, key, sorted_key, value, sorted_value, n, low, high,
                                        d->stream));
}
/* Sort pairs between two pairs of arrays, the first of which has them. Returns which has the result, 0 or 1. Queued. */
template <typename K, typename V>
static int sort_pairs_in_two(struct device *d, K *const key[2], V *const value[2], int n, int low, int high)
{
  size_t bytes = 0;
  cub::DoubleBuffer<K> keys(key[0], key[1]);
  cub::DoubleBuffer<V> values(value[0], value[1]);
  CHECK(cub::DeviceRadixSort::SortPairs(NULL, bytes, keys, values, n, low, high, d->stream));
  array_reserve(&d->work.scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceRadixSort::SortPairs(d->work.scratch.at, bytes, keys, values, n, low, high, d->stream));
  return keys.selector;
}
#endif
