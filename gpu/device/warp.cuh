/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constants and helpers of warps and thread blocks. */
#ifndef GPU_WARP_CUH
#define GPU_WARP_CUH
#include <stdint.h>

enum { WARP = 32, THREADS = 256 }; /* lanes of a warp; threads of a usual block */
#define FULL 0xffffffffu           /* mask of all lanes of a warp */

/* Blocks of `threads` threads for n elements, one element a thread. */
static inline int64_t blocks_for(int64_t n, int threads) { return (n + threads - 1) / threads; }

/* The lane of the calling thread in its warp, 0 to WARP - 1, and the mask of the lanes below it. */
static __device__ inline int lane_id(void) { return (int)(threadIdx.x % WARP); }
static __device__ inline unsigned lanes_below(void) { return (1u << lane_id()) - 1; }
#endif
