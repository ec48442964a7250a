/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts that all full walks share: second moments of near cells, storage of forces, and counts. */
#ifndef GPU_RESULTS_CUH
#define GPU_RESULTS_CUH
#include "gpu/walk/lists.cuh"

/* Second moments of node k in the walk's unit. */
static __device__ __forceinline__ struct quad second_moments(const struct walk_job &job, int32_t k)
{
  const float2 *m = (const float2 *)&job.t.quad[k];
  const float2 x = load_read_only(m), y = load_read_only(m + 1), z = load_read_only(m + 2);
  float f = job.quad_scale;
  return {{f * x.x, f * x.y, f * y.x, f * y.y, f * z.x, f * z.y}};
}

/* Overwrite a result by unit * value, or add it. */
static __device__ __forceinline__ void put(bool overwrite, float *to, double unit, double value)
{
  *to = overwrite ? (float)(unit * value) : *to + (float)(unit * value);
}

/* Add the counts of a walk: each of five lanes adds one. */
static __device__ __forceinline__ void store_tally(const struct walk_job &job, bool overwrite, const struct view &view,
                                                   const struct walked &walked, int far, int lane)
{
  unsigned long long mine = overwrite ? (unsigned)view.targets : 0;
  if (lane == 1) mine = overwrite;
  if (lane == 2) mine = walked.particle_pairs;
  if (lane == 3) mine = walked.cell_pairs + (unsigned long long)far * (unsigned)view.targets;
  if (lane == 4) mine = (unsigned)walked.tests;
  if (lane < 5) atomicAdd(&(&job.count[blockIdx.x % COUNT_SLOTS].targets)[lane], mine);
}
#endif
