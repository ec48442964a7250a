/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include <cuda_runtime.h>
namespace cub {
struct DeviceScan {
  template <class I, class O> static cudaError_t ExclusiveSum(void *t, size_t &b, I in, O out, int n, cudaStream_t)
  {
    if (!t) {
      b = 1;
      return cudaSuccess;
    }
    std::remove_reference_t<decltype(out[0])> s = 0;
    for (int k = 0; k < n; k++) {
      auto v = in[k];
      out[k] = s;
      s += v;
    }
    return cudaSuccess;
  }
};
}   // namespace cub
