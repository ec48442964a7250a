/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The split kernels in double precision, written independently of gravity/split.h. */
#ifndef KERNELS_H
#define KERNELS_H
#include <math.h>

#include "gravity/split.h"

#define KERNEL_NAME(kernel, name) name,
static const char *const kernel_names[] = {SPLIT_KERNELS(KERNEL_NAME)};

/* K for y in [0, 1]: the quintic, and eq. 10 of Watanabe & Nakasato 2014. */
static inline double kernel_k(int kernel, double y)
{
  double z = y * y;
  switch (kernel) {
  case SPLIT_QUINTIC: return y * y * y * (10 + y * (6 * y - 15));
  case SPLIT_SEPTIC: return z * z * (35 - 84 * y + 70 * z - 20 * y * z);
  case SPLIT_DLL: return z * z * z * (10 + z * (6 * z - 15));
  default: return NAN; /* a kernel without a formula here */
  }
}

/* K at the distance r. */
static inline double kernel_at(int kernel, double r, double r1, double r2)
{
  return kernel_k(kernel, fmin(fmax((r2 - r) / (r2 - r1), 0), 1));
}
#endif
