/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pair arithmetic in float32, in the frame of a group. */
#ifndef GPU_PAIRS_CUH
#define GPU_PAIRS_CUH
#include "device.cuh"
#include "split.h"

/* Which split kernel a loop is compiled with: one of enum split_kernel, or none. */
enum { SPLIT_NONE = -1 };

/* Sums of one target without G: acceleration, its hard part, and minus the potential. */
struct force {
  float a[3], h[3], p;
};

/* Softening keeps squared distances away from denormal numbers. */
static __device__ __forceinline__ float inverse_root(float x)
{
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/* K of the split for a squared distance. */
template <int SPLIT> static __device__ __forceinline__ float pair_hard(const struct split &s, float r2)
{
  const struct split known = {1, SPLIT, s.r1, s.r2, s.inverse};
  return split_hard(&known, r2 * inverse_root(r2 + 1e-30f));
}

/* f = K / rho^3 of the pull f x of a unit mass at the distance r, rho^2 = r^2 + eps^2; g = f' / r, h = g' / r. The split by
 * Y = start - slope r. */
struct slopes {
  float f, g, h;
};

template <int SPLIT> static __device__ __forceinline__ struct slopes hard_slopes(float r2, float eps2, float slope, float start)
{
  float j = inverse_root(fmaxf(r2, 1e-37f)), i = inverse_root(r2 + eps2), i2 = i * i, i3 = i * i2, y = __saturatef(fmaf(-slope, r2 * j, start));
  float k = SPLIT == SPLIT_DLL ? SPLIT_K_DLL(y) : SPLIT_K_QUINTIC(y);
  float first = -slope * (SPLIT == SPLIT_DLL ? SPLIT_K1_DLL(y) : SPLIT_K1_QUINTIC(y));
  float second = slope * slope * (SPLIT == SPLIT_DLL ? SPLIT_K2_DLL(y) : SPLIT_K2_QUINTIC(y));
  float k1 = first * j, k2 = (second - k1) * j * j, u = k * i2;   /* K' / r, (K' / r)' / r */
  struct slopes s = {k * i3, i3 * (k1 - 3 * u), i3 * (k2 - i2 * (6 * k1 - 15 * u))};
  return s;
}

/* f of a cell of unit mass whose second moments have the trace s: of these only their mean over directions counts, which
 * adds s/6 (f'' + 4 f' / r) = s/6 (h r^2 + 5 g). Where K is 1 and there is no softening this is nothing. */
template <int SPLIT> static __device__ __forceinline__ float hard_spread(float r2, float eps2, float slope, float start, float mass, float trace)
{
  float j = inverse_root(fmaxf(r2, 1e-37f)), i = inverse_root(r2 + eps2), i2 = i * i, y = __saturatef(fmaf(-slope, r2 * j, start));
  float k = SPLIT == SPLIT_DLL ? SPLIT_K_DLL(y) : SPLIT_K_QUINTIC(y);
  float first = -slope * (SPLIT == SPLIT_DLL ? SPLIT_K1_DLL(y) : SPLIT_K1_QUINTIC(y));
  float second = slope * slope * (SPLIT == SPLIT_DLL ? SPLIT_K2_DLL(y) : SPLIT_K2_QUINTIC(y));
  float part = r2 * i2, bend = second + (4 - 6 * part) * (first * j) - 15 * (1 - part) * (k * i2);
  return i * i2 * (mass * k + trace * (1 / 6.0f) * bend);
}

/* Add the hard pull of a cell at x. */
template <int SPLIT>
static __device__ __forceinline__ void add_hard_spread(float sum[3], float x, float y, float z, float mass, float trace, float eps2, float slope,
                                                       float start)
{
  float w = hard_spread<SPLIT>(fmaf(x, x, fmaf(y, y, z * z)), eps2, slope, start, mass, trace);
  sum[0] = fmaf(w, x, sum[0]);
  sum[1] = fmaf(w, y, sum[1]);
  sum[2] = fmaf(w, z, sum[2]);
}

/* The same with all its second moments q, to second order in its extent. */
template <int SPLIT>
static __device__ __forceinline__ void add_hard_quad(float sum[3], float x, float y, float z, float mass, const float q[6], float eps2, float slope,
                                                     float start)
{
  float trace = q[0] + q[1] + q[2], r2 = fmaf(x, x, fmaf(y, y, z * z));
  struct slopes f = hard_slopes<SPLIT>(r2, eps2, slope, start);
  float sx = q[0] * x + q[3] * y + q[4] * z, sy = q[3] * x + q[1] * y + q[5] * z, sz = q[4] * x + q[5] * y + q[2] * z;
  float w = mass * f.f + 0.5f * (f.g * trace + f.h * (sx * x + sy * y + sz * z));
  sum[0] += w * x + f.g * sx;
  sum[1] += w * y + f.g * sy;
  sum[2] += w * z + f.g * sz;
}

/* Add the pull of a point mass `e` (x, y, z, m) on a target. `SPLIT`: the hard part too; `TOTAL`: the whole; `POTENTIAL`. */
template <bool TOTAL, bool POTENTIAL, int SPLIT>
static __device__ __forceinline__ void add_pair(struct force &f, const float x[3], const float4 &e, float eps2, const struct split &split)
{
  float dx = e.x - x[0], dy = e.y - x[1], dz = e.z - x[2], r2 = dx * dx + dy * dy + dz * dz;
  float inverse = inverse_root(r2 + eps2), w = e.w * inverse;
  if (POTENTIAL) f.p += w;
  w *= inverse * inverse;
  if (TOTAL) f.a[0] += w * dx, f.a[1] += w * dy, f.a[2] += w * dz;
  if (SPLIT == SPLIT_NONE) return;
  w *= pair_hard<SPLIT>(split, r2);
  f.h[0] += w * dx, f.h[1] += w * dy, f.h[2] += w * dz;
}

/* The same for a cell with second moments: potential -M/rho - (3/2 d.S.d rho^-5 - 1/2 tr S rho^-3), rho^2 = d^2 + eps^2,
 * and its gradient. Without second moments it is add_pair's result to the bit: one particle may be a cell or a particle. */
template <bool TOTAL, bool POTENTIAL, int SPLIT>
static __device__ __forceinline__ void add_quad_pair(struct force &f, const float x[3], const float4 &e, const float q[6], float eps2,
                                                     const struct split &split)
{
  float dx = e.x - x[0], dy = e.y - x[1], dz = e.z - x[2], r2 = dx * dx + dy * dy + dz * dz;
  float inverse = inverse_root(r2 + eps2), inverse2 = inverse * inverse, w = e.w * inverse;
  float sx = q[0] * dx + q[3] * dy + q[4] * dz, sy = q[3] * dx + q[1] * dy + q[5] * dz, sz = q[4] * dx + q[5] * dy + q[2] * dz;
  float trace = q[0] + q[1] + q[2], product = sx * dx + sy * dy + sz * dz;
  float inverse3 = inverse * inverse2, inverse5 = inverse3 * inverse2;
  if (POTENTIAL) f.p += w + 1.5f * product * inverse5 - 0.5f * trace * inverse3;
  w = w * inverse2 + inverse5 * (7.5f * product * inverse2 - 1.5f * trace);
  inverse5 *= 3;
  if (TOTAL) {
    f.a[0] += w * dx, f.a[1] += w * dy, f.a[2] += w * dz;
    f.a[0] -= inverse5 * sx, f.a[1] -= inverse5 * sy, f.a[2] -= inverse5 * sz;
  }
  if (SPLIT == SPLIT_NONE) return;
  float k = pair_hard<SPLIT>(split, r2);
  w *= k;
  inverse5 *= k;
  f.h[0] += w * dx, f.h[1] += w * dy, f.h[2] += w * dz;
  f.h[0] -= inverse5 * sx, f.h[1] -= inverse5 * sy, f.h[2] -= inverse5 * sz;
}
#endif
