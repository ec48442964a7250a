/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selection of particles by a predicate. */
#ifndef GPU_SELECT_CUH
#define GPU_SELECT_CUH
#include "gpu/device/device.cuh"
#include LIBRARY_SELECT_HEADER
#include LIBRARY_COUNTING_HEADER

/* Store those of the n numbers from `first` on for which the predicate holds, in ascending order, in `found`; their
 * number becomes device_results->count. Queued. */
template <typename rule>
static void select_numbers(struct device *d, const rule &holds, int32_t first, int64_t n, int32_t *found)
{
  size_t bytes = 0;
  LIBRARY_COUNTING<int32_t> number(first);
  CHECK(LIBRARY_SELECT(NULL, bytes, number, found, &d->device_results->count, (int)n, holds, d->stream));
  array_reserve(&d->work.scratch, "device scratch", (int64_t)bytes);
  CHECK(LIBRARY_SELECT(d->work.scratch.at, bytes, number, found, &d->device_results->count, (int)n, holds, d->stream));
}
#endif
