/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inner loops of the hard part; compiled once per instruction set (local.mk), with ESP_ISA as its name. */
#include <config.h>
#include "cpu/list_isa.h"

#include "cpu/simd.h"

#define JOIN_(name, isa) name##_##isa
#define JOIN(name, isa) JOIN_(name, isa)

enum { BLOCK = 64, PAD = 8 }; /* sources that are predicted, then summed; a block is filled up to a multiple of PAD */

/* Sources as seen from the target: differences of position and velocity, G m, the inverse of the pair's factor. */
struct block {
  double d[3][BLOCK], u[3][BLOCK], gm[BLOCK], inverse[BLOCK];
  double both[BLOCK]; /* of list_kick: G m of both particles */
  double eps2[BLOCK]; /* of the pairs, where softenings differ */
};

typedef double v4 __attribute__((vector_size(32)));
typedef double v4_unaligned __attribute__((vector_size(32), aligned(8)));

/* Three components in a vector of four; the last one has no meaning. */
static inline v4 load(const double *x) { return *(const v4_unaligned *)x; }

/* hermite_predict on vectors. */
static inline void predict(struct block *block, int k, const struct hermite_motion *motion, double dt, v4 x, v4 v)
{
  v4 a = load(motion->a), j = {motion->j[0], motion->j[1], motion->j[2], 0}, speed = load(motion->v);
  v4 d = load(motion->x) + dt * (speed + dt * (0.5 * a + (dt / 6) * j)) - x, u = speed + dt * (a + (0.5 * dt) * j) - v;
  for (int c = 0; c < 3; c++) {
    block->d[c][k] = d[c];
    block->u[c][k] = u[c];
  }
}

/* Sources without mass, far away: they add nothing. */
static inline int pad(struct block *block, int n, double far)
{
  for (; n % PAD; n++) {
    for (int c = 0; c < 3; c++) {
      block->d[c][n] = far;
      block->u[c][n] = 0;
    }
    block->gm[n] = block->both[n] = block->eps2[n] = 0;
    block->inverse[n] = 1;
  }
  return n;
}

/* The sources of entry[count] at the time of the target. */
static inline void gather(struct block *block, const struct list_sources *sources, const struct list_target *target,
                          const int32_t *entry, int count)
{
  v4 x = {target->x[0], target->x[1], target->x[2], 0}, v = {target->v[0], target->v[1], target->v[2], 0};
  for (int k = 0; k < count; k++) {
    int32_t j = entry[k];
    float factor = sources->factor[j] > target->factor ? sources->factor[j] : target->factor;
    predict(block, k, &sources->motion[j], (target->now - sources->tick[j]) * sources->tick_length, x, v);
    block->gm[k] = sources->gm[j];
    block->inverse[k] = 1 / (double)factor;
  }
  for (int k = 0; k < count && sources->eps2_of; k++)
    block->eps2[k] = sources->eps2_of[entry[k]] > target->eps2 ? sources->eps2_of[entry[k]] : target->eps2;
}

/* The next block of entry[n], from `first` on. Returns the sources in it. */
static inline __attribute__((always_inline)) int gather_next(struct block *block, const struct list_sources *sources,
                                                             const struct list_target *target, const int32_t *entry,
                                                             int64_t n, int64_t first)
{
  int count = n - first < BLOCK ? (int)(n - first) : BLOCK;
  gather(block, sources, target, entry + first, count);
  return count;
}

/* hermite_pair for a block. `differ`: the pairs have softenings of their own. */
static inline __attribute__((always_inline)) void add(const struct block *block, int n,
                                                      const struct list_sources *sources, const int kernel,
                                                      const int differ, const int nearest, double sum[8])
{
  double least = sum[7], ax = 0, ay = 0, az = 0, jx = 0, jy = 0, jz = 0, psi = 0,
         width = sources->r2 / (sources->r2 - sources->r1), per_r2 = 1 / sources->r2, eps2 = sources->eps2;
  for (int k = 0; k < n; k++) {
    double x = block->d[0][k], y = block->d[1][k], z = block->d[2][k], p = block->u[0][k], q = block->u[1][k],
           w = block->u[2][k];
    double r2 = x * x + y * y + z * z, rho2 = r2 + (differ ? block->eps2[k] : eps2), along = x * p + y * q + z * w,
           scale = block->inverse[k] * per_r2;
    if (nearest) {
      double here = block->gm[k] > 0 ? r2 : 1e300;
      least = here < least ? here : least;
    }
    double inverse = rho2 > 0 ? 1 / sqrt(rho2) : 0, inverse_r = r2 > 0 ? 1 / sqrt(r2) : 0,
           t = (1 - r2 * inverse_r * scale) * width;
    t = t > 1 ? 1 : t;
    t = t > 0 ? t : 0;
    double kk = 0, k1 = 0;
    switch (kernel) {
#define CASE(name, text) \
  case SPLIT_##name: kk = SPLIT_K_##name(t), k1 = SPLIT_K1_##name(t); break;
      SPLIT_KERNELS(CASE)
    }
    double inverse2 = inverse * inverse, f = block->gm[k] * inverse * inverse2, g = f * kk;
    double h = -f * along * (k1 * width * scale * inverse_r + 3 * kk * inverse2);
    psi += block->gm[k] * kk * inverse;
    ax += g * x;
    ay += g * y;
    az += g * z;
    jx += g * p + h * x;
    jy += g * q + h * y;
    jz += g * w + h * z;
  }
  sum[0] += ax;
  sum[1] += ay;
  sum[2] += az;
  sum[3] += jx;
  sum[4] += jy;
  sum[5] += jz;
  sum[6] += psi;
  sum[7] = least;
}

void JOIN(list_force, ESP_ISA)(const struct list_sources *s, const struct list_target *target, const int32_t *entry,
                               int64_t n, struct hermite_force *force)
{
  struct block b;
  double sum[8] = {0};
  for (int64_t first = 0; first < n; first += BLOCK) {
    int count = pad(&b, gather_next(&b, s, target, entry, n, first), s->r2);
    switch (s->eps2_of ? -1 - s->kernel : s->kernel) {
#define SUM(name, text)                                                 \
  case SPLIT_##name: add(&b, count, s, SPLIT_##name, 0, 0, sum); break; \
  case -1 - SPLIT_##name: add(&b, count, s, SPLIT_##name, 1, 0, sum); break;
      SPLIT_KERNELS(SUM)
    }
  }
  for (int c = 0; c < 3; c++) {
    force->a[c] = sum[c];
    force->j[c] = sum[3 + c];
  }
  force->psi = sum[6];
}

void JOIN(list_force_nearest, ESP_ISA)(const struct list_sources *s, const struct list_target *target,
                                       const int32_t *entry, int64_t n, struct hermite_force *force, double *nearest2)
{
  struct block b;
  double sum[8] = {[7] = 1e300};
  for (int64_t first = 0; first < n; first += BLOCK) {
    int count = pad(&b, gather_next(&b, s, target, entry, n, first), s->r2);
    switch (s->kernel) {
#define SUM_NEAREST(name, text) \
  case SPLIT_##name: add(&b, count, s, SPLIT_##name, 0, 1, sum); break;
      SPLIT_KERNELS(SUM_NEAREST)
    }
  }
  for (int c = 0; c < 3; c++) {
    force->a[c] = sum[c];
    force->j[c] = sum[3 + c];
  }
  force->psi = sum[6];
  *nearest2 = sum[7];
}

/* pair_kick_add for a block. sum: acceleration, and the largest rate. */
static inline __attribute__((always_inline)) void add_kick(const struct block *block, int n,
                                                           const struct list_sources *sources, double eta,
                                                           const int kernel, const int differ, double sum[4])
{
  double ax = 0, ay = 0, az = 0, most = sum[3], width = sources->r2 / (sources->r2 - sources->r1),
         per_r2 = 1 / sources->r2, eps2 = sources->eps2;
  for (int k = 0; k < n; k++) {
    double x = block->d[0][k], y = block->d[1][k], z = block->d[2][k], p = block->u[0][k], q = block->u[1][k],
           w = block->u[2][k];
    double r2 = x * x + y * y + z * z, rho2 = r2 + (differ ? block->eps2[k] : eps2), along = x * p + y * q + z * w,
           u2 = p * p + q * q + w * w;
    double t = (1 - sqrt(r2) * block->inverse[k] * per_r2) * width, inverse = rho2 > 0 ? 1 / sqrt(rho2) : 0,
           inverse2 = inverse * inverse;
    t = t > 1 ? 1 : t;
    t = t > 0 ? t : 0;
    double kk = 0;
    switch (kernel) {
#define CASE_KICK(name, text) \
  case SPLIT_##name: kk = SPLIT_K_##name(t); break;
      SPLIT_KERNELS(CASE_KICK)
    }
    double g = block->gm[k] * inverse * inverse2 * kk, binding = block->both[k] * inverse,
           half = 0.5 * eta * along * inverse2;
    ax += g * x;
    ay += g * y;
    az += g * z;
    double fall = sqrt(binding) * inverse, fly = block->both[k] > 0 ? sqrt(u2) * inverse : 0;
    fall = pair_rate(fall, 1.5 * half);
    fly = pair_rate(fly, u2 > 0 ? half * (1 + binding / u2) : 0);
    fall = fall > fly ? fall : fly;
    most = most > fall ? most : fall;
  }
  sum[0] += ax;
  sum[1] += ay;
  sum[2] += az;
  sum[3] = most;
}

void JOIN(list_kick, ESP_ISA)(const struct list_sources *s, const struct list_target *target, const int32_t *entry,
                              int64_t n, struct pair_kick *k)
{
  struct block b;
  double sum[4] = {0};
  for (int64_t first = 0; first < n; first += BLOCK) {
    int count = gather_next(&b, s, target, entry, n, first);
    for (int e = 0; e < count; e++) b.both[e] = b.gm[e] + k->gm;
    count = pad(&b, count, s->r2);
    switch (s->eps2_of ? -1 - s->kernel : s->kernel) {
#define SUM_KICK(name, text)                                                      \
  case SPLIT_##name: add_kick(&b, count, s, k->eta, SPLIT_##name, 0, sum); break; \
  case -1 - SPLIT_##name: add_kick(&b, count, s, k->eta, SPLIT_##name, 1, sum); break;
      SPLIT_KERNELS(SUM_KICK)
    }
  }
  for (int c = 0; c < 3; c++) k->a[c] = sum[c];
  k->rate = sum[3];
}

int64_t JOIN(list_near, ESP_ISA)(const float *x, const float *y, const float *z, int64_t n, const float at[3],
                                 float reach2, int32_t *near)
{
  int64_t count = 0, k = 0;
  vf cx = vf_set(at[0]), cy = vf_set(at[1]), cz = vf_set(at[2]), limit = vf_set(reach2);
  for (; k < n; k += LANES) {
    vf dx = vf_load(x + k) - cx, dy = vf_load(y + k) - cy, dz = vf_load(z + k) - cz;
    vi hit = dx * dx + dy * dy + dz * dz <= limit;
    for (int l = 0; l < LANES; l++) {
      near[count] = (int32_t)(k + l);
      count -= hit[l];
    }
  }
  while (count > 0 && near[count - 1] >= n) count--;
  return count;
}
