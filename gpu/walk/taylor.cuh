/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The local expansion of the field of far cells about the centre of a group or supergroup.
 *
 * psi(s) = sum of m / sqrt(|r - s|^2 + eps^2) is expanded in s, |s| <= b_group. Each lane of a warp sums raw moments of
 * its cells, rho^2 = r^2 + eps^2:
 *     P = m/rho   T0 = m/rho^3   T1 = m r/rho^3   T2 = m rr/rho^5   T3 = m rrr/rho^7   T4 = m rrrr/rho^9
 * The derivative tensors of psi follow from these and their traces. Traces of T3 and T4 replace the sums with lower
 * powers of r. This neglects (eps/r)^2 of the terms of third and fourth order, which is small since far cells are well
 * beyond eps. */
#ifndef GPU_TAYLOR_CUH
#define GPU_TAYLOR_CUH
#include "gpu/walk/pairs.cuh"

/* Indices of the sums. T2, T3, T4 are in the order xx xy xz yy yz zz and so on. */
enum { AT_P, AT_T0, AT_T1, AT_T2 = AT_T1 + 3, AT_T3 = AT_T2 + 6, AT_T4 = AT_T3 + 10, TAYLOR_MAX = AT_T4 + 15 };
static_assert((int)TAYLOR_MAX == (int)EXPANSION, "room of an expansion");

/* Add to T3 and T4: h = m r / rho^7, i2 = 1 / rho^2. */
static __device__ __forceinline__ void taylor_add_high(float *t, float x, float y, float z, float hx, float hy,
                                                       float hz, float i2)
{
  float xx = hx * x, xy = hx * y, yy = hy * y, zz = hz * z;
  float *u = t + AT_T3; /* xxx xxy xxz xyy xyz xzz yyy yyz yzz zzz */
  u[0] += xx * x;
  u[1] += xx * y;
  u[2] += xx * z;
  u[3] += yy * x;
  u[4] += xy * z;
  u[5] += zz * x;
  u[6] += yy * y;
  u[7] += yy * z;
  u[8] += zz * y;
  u[9] += zz * z;
  float *v = t + AT_T4; /* xxxx xxxy xxxz xxyy xxyz xxzz xyyy xyyz xyzz xzzz yyyy yyyz yyzz yzzz zzzz */
  float a = i2 * xx, b = i2 * yy, e = i2 * zz, ax = a * x, ay = a * y, az = a * z, by = b * y, bz = b * z, ez = e * z;
  v[0] += ax * x;
  v[1] += ax * y;
  v[2] += ax * z;
  v[3] += ay * y;
  v[4] += ay * z;
  v[5] += az * z;
  v[6] += by * x;
  v[7] += bz * x;
  v[8] += e * y * x;
  v[9] += ez * x;
  v[10] += by * y;
  v[11] += by * z;
  v[12] += bz * z;
  v[13] += ez * y;
  v[14] += ez * z;
}

/* Add a cell c = (x, y, z, m) to the TAYLOR_MAX sums t. QUAD: with its second moments q, which enter the field at the
 * centre and its first derivatives, and which `scale` converts to the unit of c. */
template <bool QUAD>
static __device__ __forceinline__ void taylor_add(float *t, const float4 &c, float eps2, const float q[6], float scale)
{
  const struct pair_f p = pair_of(c, 0, 0, 0, eps2);
  float x = p.x, y = p.y, z = p.z;
  float i1 = inverse_root(pair_rho2_f(p)), i2 = i1 * i1;
  float f1 = c.w * i1, f3 = f1 * i2, f5 = f3 * i2, f7 = f5 * i2;
  float g1 = f3, g2 = f5;
  t[AT_P] += f1;
  t[AT_T0] += f3;
  if (QUAD) {
    float i3 = i1 * i2 * scale, i5 = i3 * i2, i7 = i5 * i2, i9 = i7 * i2;
    const struct pair_contraction_f w = pair_contract_f(p, moments_of(q));
    t[AT_P] += 1.5f * w.dsd * i5 - 0.5f * w.trace * i3;
    t[AT_T0] += 7.5f * w.dsd * i7 - 1.5f * w.trace * i5;
    g1 += 7.5f * w.dsd * i7 - 1.5f * w.trace * i5;
    g2 += 17.5f * w.dsd * i9 - 2.5f * w.trace * i7;
    t[AT_T1] -= 3 * i5 * w.x;
    t[AT_T1 + 1] -= 3 * i5 * w.y;
    t[AT_T1 + 2] -= 3 * i5 * w.z;
    float k = -5 * i7, ux = k * w.x, uy = k * w.y, uz = k * w.z;
    t[AT_T2] += 2 * ux * x + i5 * q[0];
    t[AT_T2 + 1] += ux * y + uy * x + i5 * q[3];
    t[AT_T2 + 2] += ux * z + uz * x + i5 * q[4];
    t[AT_T2 + 3] += 2 * uy * y + i5 * q[1];
    t[AT_T2 + 4] += uy * z + uz * y + i5 * q[5];
    t[AT_T2 + 5] += 2 * uz * z + i5 * q[2];
  }
  t[AT_T1] += g1 * x;
  t[AT_T1 + 1] += g1 * y;
  t[AT_T1 + 2] += g1 * z;
  float gx = g2 * x, gy = g2 * y, gz = g2 * z;
  t[AT_T2] += gx * x;
  t[AT_T2 + 1] += gx * y;
  t[AT_T2 + 2] += gx * z;
  t[AT_T2 + 3] += gy * y;
  t[AT_T2 + 4] += gy * z;
  t[AT_T2 + 5] += gz * z;
  float hx = f7 * x, hy = f7 * y, hz = f7 * z;
  taylor_add_high(t, x, y, z, hx, hy, hz, i2);
}

/* Add acceleration and psi at s = (x, y, z) from the sums t to a. */
static __device__ __forceinline__ void taylor_at(const float *t, float x, float y, float z, float4 &a)
{
  float s2 = x * x + y * y + z * z;
  /* first order */
  const float *q = t + AT_T2, *u = t + AT_T3;
  float kx = 3 * (q[0] * x + q[1] * y + q[2] * z) - t[AT_T0] * x;
  float ky = 3 * (q[1] * x + q[3] * y + q[4] * z) - t[AT_T0] * y;
  float kz = 3 * (q[2] * x + q[4] * y + q[5] * z) - t[AT_T0] * z;
  /* second order: (15 T3:ss - 3 (2 s (tr T3).s + tr T3 s^2)) / 2 */
  float xx = x * x, xy = x * y, xz = x * z, yy = y * y, yz = y * z, zz = z * z;
  float tx = u[0] + u[3] + u[5], ty = u[1] + u[6] + u[8], tz = u[2] + u[7] + u[9];
  float lx = u[0] * xx + u[3] * yy + u[5] * zz + 2 * (u[1] * xy + u[2] * xz + u[4] * yz);
  float ly = u[1] * xx + u[6] * yy + u[8] * zz + 2 * (u[3] * xy + u[4] * xz + u[7] * yz);
  float lz = u[2] * xx + u[7] * yy + u[9] * zz + 2 * (u[4] * xy + u[5] * xz + u[8] * yz);
  float ts = 3 * (tx * x + ty * y + tz * z), h2 = 1.5f * s2, third = 1 / 3.0f;
  lx = 7.5f * lx - ts * x - h2 * tx;
  ly = 7.5f * ly - ts * y - h2 * ty;
  lz = 7.5f * lz - ts * z - h2 * tz;
  a.w += t[AT_P] + (t[AT_T1] + 0.5f * kx + third * lx) * x + (t[AT_T1 + 1] + 0.5f * ky + third * ly) * y +
         (t[AT_T1 + 2] + 0.5f * kz + third * lz) * z;
  a.x += t[AT_T1] + kx + lx;
  a.y += t[AT_T1 + 1] + ky + ly;
  a.z += t[AT_T1 + 2] + kz + lz;
  /* third order: (105 T4:sss - 15 (3 s (U:ss) + 3 s^2 U.s) + 9 V s^2 s) / 6, U = tr T4, V = tr U */
  const float *v = t + AT_T4;
  float xxx = xx * x, xxy = xx * y, xxz = xx * z, xyy = yy * x, xyz = xy * z, xzz = zz * x, yyy = yy * y, yyz = yy * z,
        yzz = zz * y, zzz = zz * z;
  float mx = v[0] * xxx + v[6] * yyy + v[9] * zzz +
             3 * (v[1] * xxy + v[2] * xxz + v[3] * xyy + v[5] * xzz + v[7] * yyz + v[8] * yzz) + 6 * v[4] * xyz;
  float my = v[1] * xxx + v[10] * yyy + v[13] * zzz +
             3 * (v[3] * xxy + v[4] * xxz + v[6] * xyy + v[8] * xzz + v[11] * yyz + v[12] * yzz) + 6 * v[7] * xyz;
  float mz = v[2] * xxx + v[11] * yyy + v[14] * zzz +
             3 * (v[4] * xxy + v[5] * xxz + v[7] * xyy + v[9] * xzz + v[12] * yyz + v[13] * yzz) + 6 * v[8] * xyz;
  float uxx = v[0] + v[3] + v[5], uxy = v[1] + v[6] + v[8], uxz = v[2] + v[7] + v[9];
  float uyy = v[3] + v[10] + v[12], uyz = v[4] + v[11] + v[13], uzz = v[5] + v[12] + v[14];
  float wx = uxx * x + uxy * y + uxz * z, wy = uxy * x + uyy * y + uyz * z, wz = uxz * x + uyz * y + uzz * z;
  float along = 1.5f * (uxx + uyy + uzz) * s2 - 7.5f * (wx * x + wy * y + wz * z), side = 7.5f * s2;
  mx = 17.5f * mx + along * x - side * wx;
  my = 17.5f * my + along * y - side * wy;
  mz = 17.5f * mz + along * z - side * wz;
  a.w += 0.25f * (mx * x + my * y + mz * z);
  a.x += mx;
  a.y += my;
  a.z += mz;
}
#endif
