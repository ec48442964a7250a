/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HD marks the inline functions of headers that both C11 and CUDA compile: they run on host and device. HD_CALL: those
 * with much code, which devices call rather than copy to each place. */
#ifndef HD_H
#define HD_H
#if defined __CUDACC__ || defined __HIP__
#define HD static __host__ __device__ inline
#define HD_CALL static __host__ __device__ __noinline__
#else
#define HD static inline
#define HD_CALL static inline
#endif
#endif
