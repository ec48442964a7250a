/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of the watchdog: a kernel that takes a given time. */
#include <config.h>

#include "base/debug.h"
#include "gpu/device/device.cuh"

enum { STALL_INTERVAL = 1000000 }; /* nanoseconds: the longest sleep that the device allows */

static __global__ void stall(int milliseconds)
{
  for (int k = 0; k < milliseconds; k++) pause_thread(STALL_INTERVAL);
}

void device_stall(struct device *d)
{
  static int walks;
  double stalled[DEBUG_NUMBERS]; /* rank, walk, seconds */
  if (!debug_values("stall", stalled) || (int)stalled[0] != d->config.rank || ++walks != (int)stalled[1]) return;
  LAUNCH(d, stall, 1, 1, 1000 * (int)stalled[2]);
}
