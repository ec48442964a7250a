/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices of the particles by rank, and sums over all of them as integers, which do not depend on their order. There are
 * at most 2^36 particles: with values below 2^12 (few of them up to 2^20) scaled by 2^40 and split into halves of 26
 * bits, the sums of either half fit in 63 bits. Local. */
#ifndef IC_SLICES_H
#define IC_SLICES_H
#include <math.h>
#include <stdint.h>

enum { SCALE_BITS = 40, HALF_BITS = 26 };

/* The first particle of the slice of rank r; for r = ranks, the end of the last slice. */
static inline int64_t slice_start(int64_t n, int r, int ranks)
{
  return n / ranks * r + (n % ranks < r ? n % ranks : r);
}

/* Add a value in units of 2^-SCALE_BITS to the low and high halves of a sum. */
static inline void add_scaled(double x, int64_t sum[2])
{
  int64_t scaled = llrint(ldexp(x, SCALE_BITS));
  sum[0] += scaled & (((int64_t)1 << HALF_BITS) - 1);
  sum[1] += scaled >> HALF_BITS;
}

/* The sum in the same units. */
static inline double sum_scaled(const int64_t sum[2]) { return ldexp((double)sum[1], HALF_BITS) + (double)sum[0]; }
#endif
