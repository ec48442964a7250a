/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stable sorts by the bits from `low` on and below `high` of integer keys. */
#ifndef GPU_SORT_CUH
#define GPU_SORT_CUH
#include "gpu/device/device.cuh"
#include LIBRARY_SORT_HEADER

/* Sort pairs of keys and values from one pair of arrays to another. Queued. */
template <typename K, typename V>
static void sort_pairs(struct device *d, const K *key, K *sorted_key, const V *value, V *sorted_value, int n, int low,
                       int high)
{
  size_t bytes = 0;
  CHECK(LIBRARY_SORT_PAIRS(NULL, bytes, key, sorted_key, value, sorted_value, n, low, high, d->stream));
  array_reserve(&d->work.scratch, "device scratch", (int64_t)bytes);
  CHECK(LIBRARY_SORT_PAIRS(d->work.scratch.at, bytes, key, sorted_key, value, sorted_value, n, low, high, d->stream));
}
/* Sort pairs between two pairs of arrays, the first of which has them. Returns which has the result, 0 or 1. Queued. */
template <typename K, typename V>
static int sort_pairs_in_two(struct device *d, K *const key[2], V *const value[2], int n, int low, int high)
{
  size_t bytes = 0;
  LIBRARY_TWO_BUFFERS<K> keys(key[0], key[1]);
  LIBRARY_TWO_BUFFERS<V> values(value[0], value[1]);
  CHECK(LIBRARY_SORT_PAIRS(NULL, bytes, keys, values, n, low, high, d->stream));
  array_reserve(&d->work.scratch, "device scratch", (int64_t)bytes);
  CHECK(LIBRARY_SORT_PAIRS(d->work.scratch.at, bytes, keys, values, n, low, high, d->stream));
  return LIBRARY_SORTED(keys, key[0]);
}
#endif
