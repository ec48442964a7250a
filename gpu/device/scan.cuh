/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prefix sums. */
#ifndef GPU_SCAN_CUH
#define GPU_SCAN_CUH
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "gpu/device/device.cuh"

/* sum[i], i < n: the sum of the values before i. Queued. */
template <typename I, typename O> static void prefix_sums(struct device *d, I value, O sum, int n)
{
  size_t bytes = 0;
  CHECK(cub::DeviceScan::ExclusiveSum(NULL, bytes, value, sum, n, d->stream));
  array_reserve(&d->work.scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceScan::ExclusiveSum(d->work.scratch.at, bytes, value, sum, n, d->stream));
}
/* The same of the values of a rule for the numbers from 0 on. */
template <typename rule, typename O> static void prefix_sums_of(struct device *d, const rule &of, O sum, int n)
{
  prefix_sums(d, thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), of), sum, n);
}
#endif
