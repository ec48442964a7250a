/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HD marks the inline functions of headers that both C11 and CUDA compile: they run on host and device. */
#ifndef HD_H
#define HD_H
#ifdef __CUDACC__
#define HD static __host__ __device__ inline
#else
#define HD static inline
#endif
#endif
