/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums and maxima of several numbers per particle, in an order that depends on the number of particles alone: each
 * block reduces a fixed run of particles to one row of partial results, and one block combines the rows. */
#ifndef GPU_REDUCE_CUH
#define GPU_REDUCE_CUH
#include "gpu/device/device.cuh"

enum { REDUCE_RUN = 32 * THREADS, REDUCE_WARPS = THREADS / LANES, REDUCE_ROWS = 1024 / LANES };

struct add_op {
  static __device__ double start(void) { return 0; }
  static __device__ double join(double a, double b) { return a + b; }
};
struct max_op {
  static __device__ double start(void) { return -1e300; }
  static __device__ double join(double a, double b) { return fmax(a, b); }
};

/* Combine value[COUNT] of all threads of a block of THREADS into row[COUNT]. */
template <class OP, int COUNT> static __device__ void reduce_block(const double (&value)[COUNT], double *row)
{
  __shared__ double part[REDUCE_WARPS][COUNT];
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    double x = value[k];
    for (int step = LANES / 2; step > 0; step /= 2) x = OP::join(x, warp_shuffle_down(x, (unsigned)step));
    if (lane_id() == 0) part[threadIdx.x / LANES][k] = x;
  }
  __syncthreads();
  if (threadIdx.x < COUNT) {
    double x = part[0][threadIdx.x];
    for (int w = 1; w < REDUCE_WARPS; w++) x = OP::join(x, part[w][threadIdx.x]);
    row[threadIdx.x] = x;
  }
}

/* One block of LANES x REDUCE_ROWS threads combines the rows; lanes are columns, LANES of them at a time. */
template <class OP, int COUNT> static __global__ void reduce_rows(const double *rows, int n, double *result)
{
  __shared__ double part[REDUCE_ROWS][LANES];
  int first = threadIdx.x / LANES;
  for (int begin = 0; begin < COUNT; begin += LANES) {
    int column = begin + lane_id();
    double x = OP::start();
    for (int r = first; r < n && column < COUNT; r += REDUCE_ROWS) x = OP::join(x, rows[(int64_t)r * COUNT + column]);
    part[first][lane_id()] = x;
    __syncthreads();
    if (first == 0 && column < COUNT) {
      for (int r = 1; r < REDUCE_ROWS; r++) x = OP::join(x, part[r][lane_id()]);
      result[column] = x;
    }
    __syncthreads();
  }
}
#endif
