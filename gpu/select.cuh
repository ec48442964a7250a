/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choosing elements by a rule. */
#ifndef GPU_SELECT_CUH
#define GPU_SELECT_CUH
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "device.cuh"

/* Of the n numbers from `first` on, those for which the rule holds, in ascending order; how many they are goes to the device's
 * answers (`count`). */
template <typename rule> static void select_numbers(struct device *d, const rule &holds, int32_t first, int64_t n, int32_t *found)
{
  size_t bytes = 0;
  thrust::counting_iterator<int32_t> number(first);
  CHECK(cub::DeviceSelect::If(NULL, bytes, number, found, &d->answers->count, (int)n, holds, d->stream));
  array_room(&d->scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceSelect::If(d->scratch.at, bytes, number, found, &d->answers->count, (int)n, holds, d->stream));
}
#endif
