/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pair loops of walks, on vectors of the instruction set that walk_isa.c is compiled for, which alone includes this
 * file. */
#ifndef CPU_PAIR_LOOPS_H
#define CPU_PAIR_LOOPS_H
#include "cpu/simd.h"
#include "cpu/walk_isa.h"

#define INLINE static inline __attribute__((always_inline))

#define PAIR_REAL vf
#define PAIR_SUFFIX _v
#define PAIR_FUNCTION INLINE
#define PAIR_INVERSE_ROOT(x) vf_rsqrt(x)
#define PAIR_MAX(a, b) vf_max(a, b)
#include "gravity/pair.h"

/* Massless entries fill the last vector. */
INLINE void pad(struct list *list, const int quad)
{
  int whole = (list->n + LANES - 1) / LANES * LANES;
  for (int j = list->n; j < whole; j++) {
    list->x[j] = list->y[j] = list->z[j] = 1;
    list->m[j] = 0;
    if (list->eps2) list->eps2[j] = 1;
    if (quad)
      for (int q = 0; q < 6; q++) list->quad[q][j] = 0;
  }
}

/* K of the split for squared distances. */
INLINE vf split_k(vf r2, const struct split *split, const int kernel)
{
  vf r = r2 * vf_rsqrt(r2 + 1e-30f);
  return pair_k_v(vf_min(vf_max(SPLIT_Y(split, r), vf_set(0)), vf_set(1)), kernel);
}

INLINE struct pair_moments_v load_moments(const struct list *list, int j)
{
  struct pair_moments_v s = {{vf_load(list->quad[0] + j), vf_load(list->quad[1] + j), vf_load(list->quad[2] + j),
                              vf_load(list->quad[3] + j), vf_load(list->quad[4] + j), vf_load(list->quad[5] + j)}};
  return s;
}

/* The pairs of a vector of sources and target i; `differ`: softenings differ. */
INLINE struct pair_v pair_of(const struct targets *targets, int i, const struct list *list, int j,
                             struct pair_source_v source, float eps2, const int differ)
{
  struct pair_target_v target = {vf_set(targets->x[i]), vf_set(targets->y[i]), vf_set(targets->z[i]),
                                 vf_set(differ ? targets->eps2[i] : eps2)};
  return differ ? pair_between_unlike_v(source, vf_load(list->eps2 + j), target) : pair_between_v(source, target);
}

/* The force of a vector of sources j, which are cells with second moments or points, and the potential psi. */
INLINE struct pair_vector_v pair_force(struct pair_v pair, vf rho2, const struct list *list, int j, const int quad,
                                       vf *psi)
{
  if (quad) {
    struct pair_cell_v f = pair_cell_v(pair, rho2, load_moments(list, j));
    *psi = f.psi;
    return pair_cell_force_v(pair, f);
  }
  struct pair_point_v f = pair_point_v(pair, rho2);
  *psi = f.psi;
  return (struct pair_vector_v){f.w * pair.x, f.w * pair.y, f.w * pair.z};
}

/* Sums of BLOCK targets over a list; the flags are constants at every call, so that unused quantities are not computed.
 * Potentials of pairs at distance 0, a particle and itself, have sums of their own: the others would lose digits beside
 * m / eps. */
enum { BLOCK = 4 };

INLINE void pair_block(const struct targets *targets, int first, const struct list *list, const struct pair_job *job,
                       const int block, const int quad, const int potential, const int total, const int hard,
                       const int kernel, const int bare, const int differ)
{
  vf ax[BLOCK], ay[BLOCK], az[BLOCK], hx[BLOCK], hy[BLOCK], hz[BLOCK], po[BLOCK], own[BLOCK];
  const int apart = potential && !quad && !bare;
  for (int b = 0; b < BLOCK; b++) ax[b] = ay[b] = az[b] = hx[b] = hy[b] = hz[b] = po[b] = own[b] = vf_set(0);
  for (int j = 0; j < list->n; j += LANES) {
    struct pair_source_v source = {vf_load(list->x + j), vf_load(list->y + j), vf_load(list->z + j),
                                   vf_load(list->m + j)};
#pragma GCC unroll 4
    for (int b = 0; b < block; b++) {
      struct pair_v p = pair_of(targets, first + b, list, j, source, job->eps2, differ);
      vf r2 = pair_r2_v(p), rho2 = pair_rho2_of_v(p, r2), phi;
      if (bare) { /* no softening: a pair at distance 0 adds nothing */
        vi apart = rho2 > vf_set(0);
        p.m = (vf)((vi)p.m & apart);
        rho2 = vf_max(rho2, (vf)((vi)vf_set(1) & ~apart));
      }
      struct pair_vector_v f = pair_force(p, rho2, list, j, quad, &phi);
      if (total) {
        ax[b] += f.x;
        ay[b] += f.y;
        az[b] += f.z;
      }
      if (apart) {
        vi there = r2 > vf_set(0);
        own[b] += (vf)((vi)phi & ~there);
        phi = (vf)((vi)phi & there);
      }
      if (potential) po[b] += phi;
      if (hard) {
        vf k = split_k(r2, &job->split, kernel);
        hx[b] += k * f.x;
        hy[b] += k * f.y;
        hz[b] += k * f.z;
      }
    }
  }
  for (int b = 0; b < block && first + b < targets->n; b++) {
    int i = first + b;
    if (total) {
      targets->a[0][i] += vf_sum(ax[b]);
      targets->a[1][i] += vf_sum(ay[b]);
      targets->a[2][i] += vf_sum(az[b]);
    }
    if (hard) {
      targets->h[0][i] += vf_sum(hx[b]);
      targets->h[1][i] += vf_sum(hy[b]);
      targets->h[2][i] += vf_sum(hz[b]);
    }
    if (potential) targets->pot[i] -= vf_sum(po[b]);
    if (apart) targets->pot[i] -= vf_sum(own[b]);
  }
}

INLINE void pair_all(const struct targets *targets, struct list *list, const struct pair_job *job, const int quad,
                     const int potential, const int total, const int hard, const int kernel, const int bare,
                     const int differ)
{
  pad(list, quad);
  const int block = quad || hard ? BLOCK / 2 : BLOCK; /* as many targets as the registers hold */
  for (int i = 0; i < targets->n; i += block)
    pair_block(targets, i, list, job, block, quad, potential, total, hard, kernel, bare, differ);
}

/* The combinations that walks use, each its own loop, with the split one for each kernel. */
#define TOTAL_AND_HARD(kernel, name)                                  \
  case SPLIT_##kernel:                                                \
    pair_all(t, l, job, quad, 1, 1, 1, SPLIT_##kernel, bare, differ); \
    break;
#define HARD_ALONE(kernel, name) \
  case SPLIT_##kernel: pair_all(t, l, job, quad, 0, 0, 1, SPLIT_##kernel, bare, differ); break;

INLINE void pair_choose(const struct targets *t, struct list *l, const struct pair_job *job, const int quad,
                        const int bare, const int differ)
{
  if (!job->hard) {
    if (job->potential) pair_all(t, l, job, quad, 1, 1, 0, 0, bare, differ);
    else pair_all(t, l, job, quad, 0, 1, 0, 0, bare, differ);
  } else if (job->total) {
    switch (job->split.kernel) {
      SPLIT_KERNELS(TOTAL_AND_HARD)
    }
  } else {
    switch (job->split.kernel) {
      SPLIT_KERNELS(HARD_ALONE)
    }
  }
}

/* Softenings that differ may be 0 for some. */
static void pairs(const struct targets *targets, struct list *list, const struct pair_job *job)
{
  if (list->eps2) pair_choose(targets, list, job, 0, 1, 1);
  else if (job->eps2 > 0) pair_choose(targets, list, job, 0, 0, 0);
  else pair_choose(targets, list, job, 0, 1, 0);
}

static void quad_pairs(const struct targets *targets, struct list *list, const struct pair_job *job)
{
  if (list->eps2) pair_choose(targets, list, job, 1, 1, 1);
  else if (job->eps2 > 0) pair_choose(targets, list, job, 1, 0, 0);
  else pair_choose(targets, list, job, 1, 1, 0);
}

/* 1 / split_factor of all entries: cube roots from an estimate by the exponent (12 %), two steps of Halley's method
 * (1e-9). */
static void scale_entries(struct list *list, const struct split *split)
{
  vf least = vf_set(1 / SPLIT_MASS_RATIO), most = vf_set(SPLIT_MASS_RATIO), unit = vf_set(split->mass_scale);
  for (int j = 0; j < list->n; j += LANES) {
    vf q = vf_set(1);
    if (split->mass_scale > 0) q = vf_min(vf_max(vf_load(list->m + j) / unit, least), most);
    vf y = (vf)((vi)q / 3 + 0x2a5119f2);
    for (int k = 0; k < 2; k++) {
      vf c = y * y * y;
      y *= (c + 2 * q) / (2 * c + q);
    }
    vf_store(list->scale + j, split->mass_scale > 0 ? 1 / y : q);
  }
}

/* The weight is part of the mass, before a small distance can make the force overflow. */
INLINE void soft_block(const struct targets *targets, int first, const struct list *list, const struct pair_job *job,
                       const int kernel, const int differ)
{
  vf ax[BLOCK], ay[BLOCK], az[BLOCK], po[BLOCK], core2 = vf_set(job->core2);
  for (int b = 0; b < BLOCK; b++) ax[b] = ay[b] = az[b] = po[b] = vf_set(0);
  for (int j = 0; j < list->n; j += LANES) {
    struct pair_source_v source = {vf_load(list->x + j), vf_load(list->y + j), vf_load(list->z + j),
                                   vf_load(list->m + j)};
    vf scale = vf_load(list->scale + j);
#pragma GCC unroll 4
    for (int b = 0; b < BLOCK; b++) {
      struct pair_v p = pair_of(targets, first + b, list, j, source, job->eps2, differ);
      vf r2 = pair_r2_v(p), r = pair_distance_v(r2) * vf_min(scale, vf_set(targets->scale[first + b]));
      p.m *= 1 - pair_k_v(vf_min(vf_max(SPLIT_Y(&job->split, r), vf_set(0)), vf_set(1)), kernel);
      struct pair_point_v f = pair_point_v(p, vf_max(pair_rho2_of_v(p, r2), core2));
      po[b] += f.psi;
      ax[b] += f.w * p.x;
      ay[b] += f.w * p.y;
      az[b] += f.w * p.z;
    }
  }
  for (int b = 0; b < BLOCK && first + b < targets->n; b++) {
    int i = first + b;
    targets->a[0][i] += vf_sum(ax[b]);
    targets->a[1][i] += vf_sum(ay[b]);
    targets->a[2][i] += vf_sum(az[b]);
    targets->pot[i] -= vf_sum(po[b]);
  }
}

#define SOFT_ALONE(kernel, name)                                                       \
  case SPLIT_##kernel:                                                                 \
    for (int i = 0; i < t->n; i += BLOCK) soft_block(t, i, l, job, SPLIT_##kernel, 0); \
    break;
#define SOFT_UNLIKE(kernel, name)                                                      \
  case SPLIT_##kernel:                                                                 \
    for (int i = 0; i < t->n; i += BLOCK) soft_block(t, i, l, job, SPLIT_##kernel, 1); \
    break;

static void soft_pairs(const struct targets *t, struct list *l, const struct pair_job *job)
{
  pad(l, 0);
  scale_entries(l, &job->split);
  if (l->eps2) switch (job->split.kernel) {
      SPLIT_KERNELS(SOFT_UNLIKE)
    }
  else switch (job->split.kernel) {
      SPLIT_KERNELS(SOFT_ALONE)
    }
}
#endif
