/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/exact.h"

#include <math.h>
#include <string.h>

enum { SUM_BITS = 62, SHIFT_MAX = 1000 };

/* The largest |value| of each sum over all ranks; HUGE_VAL where a value is not finite. Collective. */
static void find_largest(const struct comm *comm, int64_t n, int count, exact_values *values, const void *of,
                         double *largest)
{
  memset(largest, 0, sizeof *largest * (size_t)count);
#pragma omp parallel
  {
    double mine[EXACT_MAX] = {0}, value[EXACT_MAX];
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n; i++) {
      values(of, i, value);
      for (int k = 0; k < count; k++) mine[k] = isfinite(value[k]) ? fmax(mine[k], fabs(value[k])) : HUGE_VAL;
    }
#pragma omp critical
    for (int k = 0; k < count; k++) largest[k] = fmax(largest[k], mine[k]);
  }
  comm_max_double(comm, largest, count);
}

void exact_sums(const struct comm *comm, int64_t n, int64_t total, int count, exact_values *values, const void *of,
                double *sum)
{
  double largest[EXACT_MAX], factor[EXACT_MAX];
  int64_t whole[EXACT_MAX] = {0};
  int shift[EXACT_MAX], exponent, bits;
  find_largest(comm, n, count, values, of, largest);
  frexp((double)total, &bits); /* total < 2^bits */
  for (int k = 0; k < count; k++) {
    frexp(isfinite(largest[k]) ? largest[k] : 0, &exponent);
    shift[k] = SUM_BITS - bits - exponent < SHIFT_MAX ? SUM_BITS - bits - exponent : SHIFT_MAX;
    factor[k] = isfinite(largest[k]) ? ldexp(1, shift[k]) : 0;
  }
#pragma omp parallel
  {
    double value[EXACT_MAX];
    int64_t mine[EXACT_MAX] = {0};
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n; i++) {
      values(of, i, value);
      for (int k = 0; k < count; k++) mine[k] += factor[k] > 0 ? llrint(value[k] * factor[k]) : 0;
    }
#pragma omp critical
    for (int k = 0; k < count; k++) whole[k] += mine[k];
  }
  comm_sum_int64(comm, whole, count);
  for (int k = 0; k < count; k++) sum[k] = isfinite(largest[k]) ? ldexp((double)whole[k], -shift[k]) : NAN;
}
