/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The double-precision direct sum that walks are compared with. */
#include "direct.h"

enum { THREADS = 256, TARGETS = 4 };

__global__ void direct_kernel(const int4 *source, int n, const int *target, double spacing, double eps2, double gravity, double r2,
                              double inverse_width, double4_16a *out)
{
  __shared__ double sum[THREADS];
  double a[4 * TARGETS] = {0};
  int4 t[TARGETS];
  for (int k = 0; k < TARGETS; k++) t[k] = source[target[blockIdx.x * TARGETS + k]];
  for (int j = threadIdx.x; j < n; j += THREADS) {
    int4 s = source[j];
    for (int k = 0; k < TARGETS; k++) {
      double x = spacing * (s.x - t[k].x), y = spacing * (s.y - t[k].y), z = spacing * (s.z - t[k].z);
      double d2 = x * x + y * y + z * z, i = rsqrt(d2 + eps2), w = (double)__int_as_float(s.w) * i;
      if (j != target[blockIdx.x * TARGETS + k]) a[4 * k + 3] += w;
      w *= i * i;
      if (r2 > 0) {
        double u = fmin(fmax((r2 - sqrt(d2)) * inverse_width, 0.0), 1.0);
        w *= u * u * u * (10 + u * (6 * u - 15));
      }
      a[4 * k] += w * x, a[4 * k + 1] += w * y, a[4 * k + 2] += w * z;
    }
  }
  for (int c = 0; c < 4 * TARGETS; c++) {
    sum[threadIdx.x] = a[c];
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sum[threadIdx.x] += sum[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) ((double *)out)[4 * TARGETS * blockIdx.x + c] = sum[0] * (c % 4 == 3 ? -gravity : gravity);
    __syncthreads();
  }
}

void direct_launch(const int4 *source, int n, const int *target, int targets, double spacing, double eps2, double gravity, double r2,
                   double inverse_width, double4_16a *out)
{
  direct_kernel<<<targets / TARGETS, THREADS>>>(source, n, target, spacing, eps2, gravity, r2, inverse_width, out);
}
