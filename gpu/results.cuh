/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What full walks share: second moments of near cells, forces of the targets, and what is told of a walk. */
#ifndef GPU_RESULTS_CUH
#define GPU_RESULTS_CUH
#include "lists.cuh"

/* Of a cell, in the walk's unit. */
static __device__ __forceinline__ struct quad second_moments(const struct walk_job &job, int32_t k)
{
  const float2 *m = (const float2 *)&job.t.quad[k];
  const float2 x = __ldg(m), y = __ldg(m + 1), z = __ldg(m + 2);
  float f = job.quad_scale;
  return {{f * x.x, f * x.y, f * y.x, f * y.y, f * z.x, f * z.y}};
}

/* Forces begin anew, or are added to. */
static __device__ __forceinline__ void put(bool anew, float *to, double unit, double value)
{
  *to = anew ? (float)(unit * value) : *to + (float)(unit * value);
}

/* Each of five lanes adds one of the numbers. */
static __device__ __forceinline__ void tell(const struct walk_job &job, bool anew, const struct view &v, const struct walked &w, int far,
                                            int lane)
{
  unsigned long long mine = anew ? (unsigned)v.targets : 0;
  if (lane == 1) mine = anew;
  if (lane == 2) mine = w.particle_pairs;
  if (lane == 3) mine = w.cell_pairs + (unsigned long long)far * (unsigned)v.targets;
  if (lane == 4) mine = (unsigned)w.tests;
  if (lane < 5) atomicAdd(&(&job.count[blockIdx.x % COUNT_SLOTS].targets)[lane], mine);
}
#endif
