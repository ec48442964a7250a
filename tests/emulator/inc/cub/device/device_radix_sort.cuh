/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include <cuda_runtime.h>
#include <algorithm>
#include <vector>
namespace cub {
template <class T> struct DoubleBuffer {
  T *b[2];
  int selector;
  DoubleBuffer(T *x, T *y) : b{x, y}, selector(0) {}
  T *Current() { return b[selector]; }
  T *Alternate() { return b[selector ^ 1]; }
};
struct DeviceRadixSort {
  template <class K, class V>
  static cudaError_t SortPairs(void *t, size_t &b, const K *k, K *ks, const V *v, V *vs, int n, int from, int to,
                               cudaStream_t)
  {
    if (!t) {
      b = 1;
      return cudaSuccess;
    }
    using pair = std::pair<K, V>;
    std::vector<pair> x(n);
    for (int i = 0; i < n; i++) x[i] = {k[i], v[i]};
    K mask = to - from >= (int)(8 * sizeof(K)) ? ~(K)0 : (((K)1 << (to - from)) - 1);
    std::stable_sort(x.begin(), x.end(),
                     [&](auto &p, auto &q) { return ((p.first >> from) & mask) < ((q.first >> from) & mask); });
    for (int i = 0; i < n; i++) {
      ks[i] = x[i].first;
      vs[i] = x[i].second;
    }
    return cudaSuccess;
  }
  template <class K, class V>
  static cudaError_t SortPairs(void *t, size_t &b, DoubleBuffer<K> &k, DoubleBuffer<V> &v, int n, int from, int to,
                               cudaStream_t s)
  {
    cudaError_t e = SortPairs(t, b, k.Current(), k.Alternate(), v.Current(), v.Alternate(), n, from, to, s);
    if (t) {
      k.selector ^= 1;
      v.selector ^= 1;
    }
    return e;
  }
};
}   // namespace cub
