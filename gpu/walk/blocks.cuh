/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pair loops with one source per lane and the targets of a block in the registers of every lane, and sums over lanes.
 * Lengths are in the walk's unit (walk.cuh). */
#ifndef GPU_BLOCKS_CUH
#define GPU_BLOCKS_CUH
#include "gpu/walk/pairs.cuh"

/* BLOCK targets are in the registers of a warp at a time; the TARGET_BLOCK targets of a target block share entries. */
enum { BLOCK = 8, TARGET_BLOCK = 2 * BLOCK };

/* Positions of the targets, the same in all lanes. Sums over the sources of this lane, four for a target (acceleration,
 * psi); `own`: psi of pairs at distance 0, which are a particle and itself: beside m / eps the other sum would lose
 * digits. */
struct block {
  float x[BLOCK], y[BLOCK], z[BLOCK];
  float sum[4 * BLOCK];
  float eps2[BLOCK]; /* of the targets, where softenings differ */
  float own[BLOCK];
};

/* The squared softening of a source of eps2 and a target, of mine. */
static __device__ __forceinline__ float larger_eps2(float eps2, float mine)
{
  return UNLIKE ? fmaxf(eps2, mine) : eps2;
}

/* Add the forces of a point mass s on the targets; POT: psi too; OWN: that at distance 0 apart. */
template <bool POT, bool OWN>
static __device__ __forceinline__ void pairs_add(struct block &block, const float4 &s, float eps2)
{
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    const struct pair_f p = pair_of(s, block.x[k], block.y[k], block.z[k], larger_eps2(eps2, block.eps2[k]));
    const float rho2 = pair_rho2_f(p);
    const struct pair_point_f f = pair_point_f(p, rho2);
    if (POT && (!OWN || rho2 > p.eps2)) block.sum[4 * k + 3] += f.psi;
    if (OWN && !(rho2 > p.eps2)) block.own[k] += f.psi;
    pair_add_f(&block.sum[4 * k], f.w, p);
  }
}

/* What the weights of pairs depend on: lengths in the walk's unit. */
struct weights {
  float per_mass; /* split_scale */
  float y_slope, y_start;
  float core2; /* split_core2 */
};

/* The same with weights, and psi. SPLIT: 1 - K of a kernel, for targets with the factors `scale`; SPLIT_NONE: 0 at
 * distance 0, else 1. The weight is part of the mass, before a small distance can make the force overflow. */
template <int SPLIT>
static __device__ __forceinline__ void weighted_pairs_add(struct block &block, const float4 &s,
                                                          const float scale[BLOCK], float eps2,
                                                          const struct weights &weights)
{
  float mine = split_scale(weights.per_mass, s.w);
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    struct pair_f p = pair_of(s, block.x[k], block.y[k], block.z[k], larger_eps2(eps2, block.eps2[k]));
    float r2 = pair_r2_f(p), rho2 = pair_rho2_of_f(p, r2);
    if (SPLIT == SPLIT_NONE) {
      p.m = r2 > 0 ? p.m : 0;
    } else {
      p.m *= pair_soft<SPLIT>(r2, fminf(mine, scale[k]), weights.y_slope, weights.y_start);
      rho2 = fmaxf(rho2, weights.core2);
    }
    const struct pair_point_f f = pair_point_f(p, rho2);
    block.sum[4 * k + 3] += f.psi;
    pair_add_f(&block.sum[4 * k], f.w, p);
  }
}

/* The same for a cell with second moments. */
template <bool POT>
static __device__ __forceinline__ void quad_pairs_add(struct block &block, const float4 &s, const struct quad &quad,
                                                      float eps2)
{
  const struct pair_moments_f q = moments_of(quad.q);
#pragma unroll
  for (int k = 0; k < BLOCK; k++) {
    const struct pair_f p = pair_of(s, block.x[k], block.y[k], block.z[k], larger_eps2(eps2, block.eps2[k]));
    const struct pair_cell_f f = pair_cell_f(p, pair_rho2_f(p), q);
    if (POT) block.sum[4 * k + 3] += f.psi;
    pair_cell_add_f(&block.sum[4 * k], 1, p, f);
  }
}

/* Sums over the lanes of COUNT <= LANES values per lane: lane l < COUNT gets the sum of value l. Each step exchanges
 * half of the remaining values, so that 32 values cost 31 shuffles of 32 lanes. */
template <int COUNT, int HALF = LANES / 2>
static __device__ __forceinline__ float lanes_sum(const float *value, int lane)
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
        v[i] = keep + warp_shuffle_xor(send, HALF);
      } else {
        v[i] = value[i] + warp_shuffle_xor(value[i], HALF);
      }
    }
    return lanes_sum<(COUNT < HALF ? COUNT : HALF), HALF / 2>(v, lane);
  }
}
#endif
