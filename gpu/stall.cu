/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of the watchdog: a kernel that does not come to its end. */
#include <config.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.cuh"

enum { NAP = 1000000 };   /* nanoseconds, at most: the longest that the device sleeps */

static __global__ void stall(int milliseconds)
{
  for (int k = 0; k < milliseconds; k++) __nanosleep(NAP);
}

void device_stall(struct device *d)
{
  static int walks;
  int rank, walk, seconds;
  const char *asked = getenv("ESPALIER_STALL");
  if (!asked || sscanf(asked, "%d:%d:%d", &rank, &walk, &seconds) != 3 || rank != d->config.rank || ++walks != walk) return;
  LAUNCH(d, stall, 1, 1, 1000 * seconds);
}
