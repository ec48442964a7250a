/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vectors of floats as wide as the instruction set that this file is compiled for. */
#ifndef CPU_SIMD_H
#define CPU_SIMD_H
#include <stdint.h>

#if defined __x86_64__
#include <immintrin.h>
#else
#include <math.h>
#endif

#if defined __AVX512F__
enum { LANES = 16 };
#elif defined __AVX2__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));
typedef float vf_unaligned __attribute__((vector_size(4 * LANES), aligned(4)));

static inline vf vf_load(const float *x) { return *(const vf_unaligned *)x; }
static inline void vf_store(float *x, vf y) { *(vf_unaligned *)x = y; }
static inline vf vf_set(float x) { return x - (vf){0}; }

#if defined __AVX512F__
static inline vf vf_rsqrt_estimate(vf x) { return (vf)_mm512_rsqrt14_ps((__m512)x); }
static inline vf vf_max(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
static inline vf vf_min(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
#elif defined __AVX2__
static inline vf vf_rsqrt_estimate(vf x) { return (vf)_mm256_rsqrt_ps((__m256)x); }
static inline vf vf_max(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
static inline vf vf_min(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
#elif defined __x86_64__
static inline vf vf_rsqrt_estimate(vf x) { return (vf)_mm_rsqrt_ps((__m128)x); }
static inline vf vf_max(vf a, vf b) { return (vf)_mm_max_ps((__m128)a, (__m128)b); }
static inline vf vf_min(vf a, vf b) { return (vf)_mm_min_ps((__m128)a, (__m128)b); }
#else
static inline vf vf_rsqrt_estimate(vf x)
{
  for (int i = 0; i < LANES; i++) x[i] = 1 / sqrtf(x[i]);
  return x;
}
static inline vf vf_max(vf a, vf b)
{
  for (int i = 0; i < LANES; i++) a[i] = a[i] > b[i] ? a[i] : b[i];
  return a;
}
static inline vf vf_min(vf a, vf b)
{
  for (int i = 0; i < LANES; i++) a[i] = a[i] < b[i] ? a[i] : b[i];
  return a;
}
#endif

/* 1 / sqrt(x): the estimate has 12 to 14 bits, one Newton step gives 23. */
static inline vf vf_rsqrt(vf x)
{
  vf y = vf_rsqrt_estimate(x);
  return y * (1.5f - 0.5f * x * y * y);
}

static inline double vf_sum(vf x)
{
  double s = 0;
  for (int i = 0; i < LANES; i++) s += x[i];
  return s;
}
#endif
