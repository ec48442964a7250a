/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers that all files of the CPU backend use: memory, clock, choice of the instruction set. */
#include <config.h>
#include "cpu/device.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

void cpu_reserve(void **block, size_t *capacity, size_t bytes, const char *label)
{
  if (bytes <= *capacity) return;
  memory_free(*block);
  *capacity = bytes + bytes / 32;
  *block = memory_alloc(label, *capacity);
}

double cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- instruction sets -------------------------------------------------------------------------------------------- */

static int runs_avx2(void)
{
#ifdef ESP_HAVE_X86_V3
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
  return 0;
#endif
}

static int runs_avx512(void)
{
#ifdef ESP_HAVE_X86_V4
  return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
#else
  return 0;
#endif
}

const struct walk_isa *walk_isa_choose(void)
{
  const char *asked = getenv("ESPALIER_SIMD");
  int allowed = !asked || !*asked || strcmp(asked, "avx512") == 0 ? 2 : strcmp(asked, "avx2") == 0 ? 1 : 0;
#ifdef ESP_HAVE_X86_V4
  if (allowed >= 2 && runs_avx512()) return &walk_isa_avx512;
#endif
#ifdef ESP_HAVE_X86_V3
  if (allowed >= 1 && runs_avx2()) return &walk_isa_avx2;
#endif
  (void)allowed;
  (void)runs_avx512;
  return &walk_isa_generic;
}
