/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prefix sums. */
#ifndef GPU_SCAN_CUH
#define GPU_SCAN_CUH
#include "gpu/device/device.cuh"
#include LIBRARY_SCAN_HEADER
#include LIBRARY_COUNTING_HEADER
#include LIBRARY_TRANSFORM_HEADER

/* sum[i], i < n: the sum of the values before i. Queued. */
template <typename I, typename O> static void prefix_sums(struct device *d, I value, O sum, int n)
{
  size_t bytes = 0;
  CHECK(LIBRARY_SUMS(NULL, bytes, value, sum, n, d->stream));
  array_reserve(&d->work.scratch, "device scratch", (int64_t)bytes);
  CHECK(LIBRARY_SUMS(d->work.scratch.at, bytes, value, sum, n, d->stream));
}
/* The same of the values of a rule for the numbers from 0 on. */
template <typename rule, typename O> static void prefix_sums_of(struct device *d, const rule &of, O sum, int n)
{
  prefix_sums(d, LIBRARY_TRANSFORMED(LIBRARY_COUNTING<int64_t>(0), of), sum, n);
}
#endif
