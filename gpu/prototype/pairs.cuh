/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pair loops with a source per lane and the targets of a block in every lane's registers, and the sums over lanes. */
#ifndef GPU_PAIRS_CUH
#define GPU_PAIRS_CUH
#include "split.h"
#include "walk_job.h"

/* Targets of a block: the same in all lanes. Sums: of this lane's sources, four to a target (acceleration, psi). */
struct block {
  float x[BLOCK], y[BLOCK], z[BLOCK];
  float sum[4 * BLOCK];
};

template <bool POT>
__device__ static inline void pairs_add(block &b, const float4 &s, float eps2)
{
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    float dx = s.x - b.x[k], dy = s.y - b.y[k], dz = s.z - b.z[k];
    float i = rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, eps2))));
    float w = s.w * i;
    if (POT) b.sum[4 * k + 3] += w;
    w *= i * i;
    b.sum[4 * k] = fmaf(w, dx, b.sum[4 * k]);
    b.sum[4 * k + 1] = fmaf(w, dy, b.sum[4 * k + 1]);
    b.sum[4 * k + 2] = fmaf(w, dz, b.sum[4 * k + 2]);
  }
}

template <bool POT>
__device__ static inline void quad_pairs_add(block &b, const float4 &s, const float4 &q, const float4 &p, float eps2)
{
  float trace = q.x + q.y + q.z;
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    float x = s.x - b.x[k], y = s.y - b.y[k], z = s.z - b.z[k];
    float i = rsqrtf(fmaf(x, x, fmaf(y, y, fmaf(z, z, eps2)))), i2 = i * i, i3 = i * i2, i5 = i3 * i2;
    float sx = q.x * x + q.w * y + p.x * z, sy = q.w * x + q.y * y + p.y * z, sz = p.x * x + p.y * y + q.z * z;
    float rqr = sx * x + sy * y + sz * z;
    if (POT) b.sum[4 * k + 3] += s.w * i + (1.5f * rqr * i5 - 0.5f * trace * i3);
    float w = s.w * i3 + i5 * (7.5f * rqr * i2 - 1.5f * trace), v = -3 * i5;
    b.sum[4 * k] += w * x + v * sx;
    b.sum[4 * k + 1] += w * y + v * sy;
    b.sum[4 * k + 2] += w * z + v * sz;
  }
}

/* Through the quintic split: K of the unsoftened distance times the softened force. */
__device__ static inline void hard_pairs_add(block &b, const float4 &s, float eps2, float r2, float inverse_width)
{
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    float dx = s.x - b.x[k], dy = s.y - b.y[k], dz = s.z - b.z[k];
    float d2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 1e-30f)));
    float i = rsqrtf(d2 + eps2), y = __saturatef((r2 - d2 * rsqrtf(d2)) * inverse_width);
    float w = s.w * i * (i * i) * SPLIT_K_QUINTIC(y);
    b.sum[4 * k] = fmaf(w, dx, b.sum[4 * k]);
    b.sum[4 * k + 1] = fmaf(w, dy, b.sum[4 * k + 1]);
    b.sum[4 * k + 2] = fmaf(w, dz, b.sum[4 * k + 2]);
  }
}

/* Sums over the lanes of COUNT <= 32 values a lane: lane l is given the sum of value l. Half of what is left is exchanged
 * at each step, so that 32 values cost 31 shuffles. */
template <int COUNT, int HALF = LANES / 2>
__device__ static inline float lanes_sum(const float *value, int lane)
{
  if constexpr (HALF == 0) {
    return value[0];
  } else {
    float v[HALF];
    bool upper = lane & HALF;
#pragma unroll
    for (int i = 0; i < HALF && i < COUNT; i++) {
      if (i + HALF < COUNT) {
        float send = upper ? value[i] : value[i + HALF], keep = upper ? value[i + HALF] : value[i];
        v[i] = keep + __shfl_xor_sync(~0u, send, HALF);
      } else {
        v[i] = value[i] + __shfl_xor_sync(~0u, value[i], HALF);
      }
    }
    return lanes_sum<(COUNT < HALF ? COUNT : HALF), HALF / 2>(v, lane);
  }
}
#endif
