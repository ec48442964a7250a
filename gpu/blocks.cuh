/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pair loops with a source per lane and the targets of a block in every lane's registers, and the sums over lanes. Lengths
 * are in the walk's unit (walk.cuh). */
#ifndef GPU_BLOCKS_CUH
#define GPU_BLOCKS_CUH
#include "pairs.cuh"

/* BLOCK targets stand in the registers of a warp; a sub-group of these shares a list. */
enum { BLOCK = 8, SUBGROUP = 2 * BLOCK };

/* Targets of a block: the same in all lanes. Sums: of this lane's sources, four to a target (acceleration, psi). */
struct block {
  float x[BLOCK], y[BLOCK], z[BLOCK];
  float sum[4 * BLOCK];
};

template <bool POT> static __device__ __forceinline__ void pairs_add(struct block &b, const float4 &s, float eps2)
{
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    float dx = s.x - b.x[k], dy = s.y - b.y[k], dz = s.z - b.z[k];
    float i = inverse_root(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, eps2))));
    float w = s.w * i;
    if (POT) b.sum[4 * k + 3] += w;
    w *= i * i;
    b.sum[4 * k] = fmaf(w, dx, b.sum[4 * k]);
    b.sum[4 * k + 1] = fmaf(w, dy, b.sum[4 * k + 1]);
    b.sum[4 * k + 2] = fmaf(w, dz, b.sum[4 * k + 2]);
  }
}

/* The same for a cell with second moments (see pairs.cuh). */
template <bool POT> static __device__ __forceinline__ void quad_pairs_add(struct block &b, const float4 &s, const struct quad &m, float eps2)
{
  const float *q = m.q;
  float trace = q[0] + q[1] + q[2];
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    float x = s.x - b.x[k], y = s.y - b.y[k], z = s.z - b.z[k];
    float i = inverse_root(fmaf(x, x, fmaf(y, y, fmaf(z, z, eps2)))), i2 = i * i, i3 = i * i2, i5 = i3 * i2;
    float sx = q[0] * x + q[3] * y + q[4] * z, sy = q[3] * x + q[1] * y + q[5] * z, sz = q[4] * x + q[5] * y + q[2] * z;
    float rqr = sx * x + sy * y + sz * z;
    if (POT) b.sum[4 * k + 3] += s.w * i + (1.5f * rqr * i5 - 0.5f * trace * i3);
    float w = s.w * i3 + i5 * (7.5f * rqr * i2 - 1.5f * trace), v = -3 * i5;
    b.sum[4 * k] += w * x + v * sx;
    b.sum[4 * k + 1] += w * y + v * sy;
    b.sum[4 * k + 2] += w * z + v * sz;
  }
}

/* Sums over the lanes of COUNT <= 32 values a lane: lane l is given the sum of value l. Half of what is left is exchanged
 * at each step, so that 32 values cost 31 shuffles. */
template <int COUNT, int HALF = WARP / 2> static __device__ __forceinline__ float lanes_sum(const float *value, int lane)
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
        v[i] = keep + __shfl_xor_sync(FULL, send, HALF);
      } else {
        v[i] = value[i] + __shfl_xor_sync(FULL, value[i], HALF);
      }
    }
    return lanes_sum<(COUNT < HALF ? COUNT : HALF), HALF / 2>(v, lane);
  }
}
#endif
