/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include <cuda_runtime.h>
namespace cub {
struct DeviceSelect {
  template <class I, class O, class N, class R>
  static cudaError_t If(void *t, size_t &b, I in, O out, N num, int n, R rule, cudaStream_t)
  {
    if (!t) {
      b = 1;
      return cudaSuccess;
    }
    int c = 0;
    for (int k = 0; k < n; k++)
      if (rule(in[k])) out[c++] = in[k];
    *num = c;
    return cudaSuccess;
  }
  template <class I, class F, class O, class N>
  static cudaError_t Flagged(void *t, size_t &b, I in, F flag, O out, N num, int n, cudaStream_t)
  {
    if (!t) {
      b = 1;
      return cudaSuccess;
    }
    int c = 0;
    for (int k = 0; k < n; k++)
      if (flag[k]) out[c++] = in[k];
    *num = c;
    return cudaSuccess;
  }
};
}   // namespace cub
