/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic of pairs in float32. Positions are relative to a nearby origin, such as the centre of a group. */
#ifndef GPU_PAIRS_CUH
#define GPU_PAIRS_CUH
#include "gpu/device/device.cuh"
#include "gravity/split.h"

/* 1 in files that are compiled for types whose softenings differ (particles/softening.h): entries and targets then have
 * eps2 of their own, and a pair takes the larger one. */
#ifndef UNLIKE
#define UNLIKE 0
#endif

/* Template parameter SPLIT: one of enum split_kernel, or none. */
enum { SPLIT_NONE = -1 };

/* Sums of one target without G: acceleration, hard acceleration, and psi, which is minus the potential; `own`: psi of
 * pairs at distance 0, which are a particle and itself: beside m / eps the other sum would lose digits. */
struct force {
  float a[3], h[3], p, own;
};

#define PAIR_REAL float
#define PAIR_SUFFIX _f
#define PAIR_FUNCTION static __device__ __forceinline__
#define PAIR_INVERSE_ROOT(x) inverse_root(x)
#define PAIR_INVERSE_DISTANCE(r2) inverse_root(fmaxf(r2, 1e-37f))
#define PAIR_SQUARES(x, y, z) fmaf(x, x, fmaf(y, y, (z) * (z)))
#define PAIR_SQUARES_PLUS(x, y, z, s) fmaf(x, x, fmaf(y, y, fmaf(z, z, s)))
#include "gravity/pair.h"

/* The pair of a source s = (x, y, z, m) and a target at (x, y, z), with squared softening eps2. */
static __device__ __forceinline__ struct pair_f pair_of(const float4 &s, float x, float y, float z, float eps2)
{
  const struct pair_source_f source = {s.x, s.y, s.z, s.w};
  const struct pair_target_f target = {x, y, z, eps2};
  return pair_between_f(source, target);
}

static __device__ __forceinline__ struct pair_moments_f moments_of(const float q[6])
{
  const struct pair_moments_f s = {{q[0], q[1], q[2], q[3], q[4], q[5]}};
  return s;
}

/* The hard fraction K of the split at a squared distance. */
template <int SPLIT> static __device__ __forceinline__ float pair_hard(const struct split &split, float r2)
{
  float r = r2 * inverse_root(r2 + 1e-30f);
  return pair_k_f(fminf(fmaxf(SPLIT_Y(&split, r), 0), 1), SPLIT);
}

/* 1 / split_factor of a particle of mass m; `per_mass` is the inverse of mass_scale, or 0. */
static __device__ __forceinline__ float split_scale(float per_mass, float m)
{
  if (per_mass == 0) return 1;
  return exp2f((-1 / 3.0f) * __log2f(fminf(fmaxf(m * per_mass, 1 / SPLIT_MASS_RATIO), SPLIT_MASS_RATIO)));
}

/* The weight 1 - K of a pair in the soft part, for the larger radii of the two: scale = min of split_scale, in any unit
 * of length. */
template <int SPLIT> static __device__ __forceinline__ float pair_soft(float r2, float scale, float slope, float start)
{
  return 1 - pair_k_f(__saturatef(fmaf(-slope, pair_distance_f(r2) * scale, start)), SPLIT);
}

/* Y = start - slope r, clipped. */
static __device__ __forceinline__ float clipped_y(float r, float slope, float start)
{
  return __saturatef(fmaf(-slope, r, start));
}

/* Add the hard force of a cell with the trace of its second moments alone to sum[3]. */
template <int SPLIT>
static __device__ __forceinline__ void add_hard_spread(float sum[3], const struct pair_f &pair, float trace,
                                                       float slope, float start)
{
  float r2 = pair_r2_f(pair), y = clipped_y(pair_distance_f(r2), slope, start);
  pair_add_f(sum, pair_hard_spread_f(pair, r2, trace, y, slope, SPLIT), pair);
}

/* The same with all its second moments. */
template <int SPLIT>
static __device__ __forceinline__ void add_hard_quad(float sum[3], const struct pair_f &pair, const float q[6],
                                                     float slope, float start)
{
  float r2 = pair_r2_f(pair), y = clipped_y(pair_distance_f(r2), slope, start);
  pair_hard_cell_add_f(sum, pair, pair_hard_cell_f(pair, r2, moments_of(q), y, slope, SPLIT));
}

/* Add the force of a point mass. TOTAL: the whole acceleration; SPLIT: the hard one as well; POTENTIAL: psi. */
template <bool TOTAL, bool POTENTIAL, int SPLIT>
static __device__ __forceinline__ void add_pair(struct force &force, const struct pair_f &pair,
                                                const struct split &split)
{
  float r2 = pair_r2_f(pair);
  const float rho2 = SPLIT == SPLIT_NONE ? pair_rho2_f(pair) : pair_rho2_of_f(pair, r2);
  const struct pair_point_f a = pair_point_f(pair, rho2);
  if (POTENTIAL && rho2 > pair.eps2) force.p += a.psi;
  if (POTENTIAL && !(rho2 > pair.eps2)) force.own += a.psi;
  if (TOTAL) pair_add_f(force.a, a.w, pair);
  if (SPLIT != SPLIT_NONE) pair_add_f(force.h, a.w * pair_hard<SPLIT>(split, r2), pair);
}

/* The same for a cell with second moments. If these are zero the result is that of add_pair to the bit, because a leaf
 * of one particle may be taken as a cell or as a particle. */
template <bool TOTAL, bool POTENTIAL, int SPLIT>
static __device__ __forceinline__ void add_quad_pair(struct force &force, const struct pair_f &pair, const float q[6],
                                                     const struct split &split)
{
  float r2 = pair_r2_f(pair);
  const struct pair_cell_f a =
      pair_cell_f(pair, SPLIT == SPLIT_NONE ? pair_rho2_f(pair) : pair_rho2_of_f(pair, r2), moments_of(q));
  if (POTENTIAL) force.p += a.psi;
  if (TOTAL) pair_cell_add_f(force.a, 1, pair, a);
  if (SPLIT != SPLIT_NONE) pair_cell_add_f(force.h, pair_hard<SPLIT>(split, r2), pair, a);
}
#endif
