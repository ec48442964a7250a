/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Phases as ranges on the time line of a profiler (NVTX), if the toolkit has it. Without an attached profiler a range
 * costs nanoseconds. */
#include <config.h>
#include "gpu/device/runtime.cuh"
#include "gpu/device/verbs.h"

#ifdef ESP_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

void gpu_phase(const char *name)
{
  static int open; /* one phase at a time */
  if (open) nvtxRangePop();
  open = name != NULL;
  if (open) nvtxRangePushA(name);
}
#else
void gpu_phase(const char *name) { (void)name; }
#endif
