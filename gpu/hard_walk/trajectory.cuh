/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Straight trajectories in the frame of some targets, and lower bounds of the distances between them. Lengths are in
 * user units. */
#ifndef GPU_TRAJECTORY_CUH
#define GPU_TRAJECTORY_CUH
#include "gpu/hard_walk/state.cuh"

/* Both ends of a trajectory in a frame. */
struct trajectory_ends {
  float from[3], to[3];
};

/* The frame of some targets: at either end of the trajectories the origin is the centre of the targets' bounding box at
 * that end. */
struct frame {
  int32_t centre[2][3];
  float half[2][3]; /* half side lengths of the boxes */
  float change2;    /* squared length of the change of `half` */
  float deviation;  /* largest deviation of a target */
};

static __device__ __forceinline__ float length2(const float x[3]) { return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]; }

static __device__ __forceinline__ float displacement2(const struct trajectory_ends &ends)
{
  const float d[3] = {ends.to[0] - ends.from[0], ends.to[1] - ends.from[1], ends.to[2] - ends.from[2]};
  return length2(d);
}

/* A lower bound of the squared distance between the trajectory and the origin. */
static __device__ __forceinline__ float min_distance2(const struct trajectory_ends &ends)
{
  return fmaxf(fminf(length2(ends.from), length2(ends.to)) - 0.25f * displacement2(ends), 0);
}

/* Squared distance between x and a box about the origin. */
static __device__ __forceinline__ float box2(const float x[3], const float half[3])
{
  const float d[3] = {fmaxf(fabsf(x[0]) - half[0], 0), fmaxf(fabsf(x[1]) - half[1], 0),
                      fmaxf(fabsf(x[2]) - half[2], 0)};
  return length2(d);
}

/* A lower bound of the squared distance between the trajectory and particles that move on straight trajectories within
 * the boxes. It uses that the squared relative displacement is at most twice the sum of the squares of both
 * displacements. May be negative. */
static __device__ __forceinline__ float min_box_distance2(const struct frame &frame, const struct trajectory_ends &ends)
{
  return fminf(box2(ends.from, frame.half[0]), box2(ends.to, frame.half[1])) -
         0.5f * (displacement2(ends) + frame.change2);
}

static __device__ __forceinline__ struct trajectory load_trajectory(const struct trajectory *from)
{
  const int4 a = ((const int4 *)from)[0], b = ((const int4 *)from)[1];
  const struct trajectory w = {{a.x, a.y, a.z}, __int_as_float(a.w), {b.x, b.y, b.z}, __int_as_float(b.w)};
  return w;
}
#endif
