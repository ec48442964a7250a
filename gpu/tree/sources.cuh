/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sources: made from particles, and predicted to a tick. */
#ifndef GPU_SOURCES_CUH
#define GPU_SOURCES_CUH
#include "gpu/tree/tree.cuh"
#include "particles/softening.h"

/* The classes of softening of the types; differ 0: one softening. */
struct source_class {
  int differ;
  uint8_t of[PARTICLE_TYPES];
};
static inline struct source_class source_class_of(const struct device *d)
{
  struct source_class s = {d->softening.classes > 1, {}};
  memcpy(s.of, d->softening.class_of, sizeof s.of);
  return s;
}
/* The mass of a source, with its class where softenings differ. */
static __device__ __forceinline__ float source_mass(const struct source_class &source_class, float mass, int type)
{
  return source_class.differ ? softening_pack(mass, source_class.of[type]) : mass;
}

/* Store position and mass of a particle as a source. Returns 1 if the position is outside the lattice, to which it is
 * clamped. */
static __device__ __forceinline__ int put_body(struct body *to, const struct lattice &lattice, const double x[3],
                                               float mass)
{
  int out = 0;
  const struct body b = {lattice_of(&lattice, 0, x[0], &out), lattice_of(&lattice, 1, x[1], &out),
                         lattice_of(&lattice, 2, x[2], &out), mass};
  *to = b;
  return out;
}

static __device__ __forceinline__ void put_motion_state(struct motion_state *to, const double v[3], const float a[3],
                                                        int32_t tick)
{
  float4 *w = (float4 *)to;
  w[0] = make_float4((float)v[0], (float)v[1], (float)v[2], __int_as_float(tick));
  w[1] = make_float4(a[0], a[1], a[2], 0);
}

/* A source predicted to a tick, by its velocity and acceleration. `inverse`: lattice units per code length. */
static __device__ __forceinline__ struct body body_at(const struct body *body, const struct motion_state *motion_state,
                                                      int32_t tick, float tick_length, double inverse)
{
  const int4 p = *(const int4 *)body;
  const float4 v = ((const float4 *)motion_state)[0], a = ((const float4 *)motion_state)[1];
  float dt = (float)(tick - __float_as_int(v.w)) * tick_length, half = 0.5f * dt;
  const struct body b = {lattice_clamp(p.x + (double)((v.x + a.x * half) * dt) * inverse),
                         lattice_clamp(p.y + (double)((v.y + a.y * half) * dt) * inverse),
                         lattice_clamp(p.z + (double)((v.z + a.z * half) * dt) * inverse), __int_as_float(p.w)};
  return b;
}
#endif
