/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Physics headers are compiled by C11 and by CUDA. */
#ifndef HD_H
#define HD_H
#ifdef __CUDACC__
#define HD static __host__ __device__ inline
#else
#define HD static inline
#endif
#endif
