/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The direct sum in double precision, the reference for all forces; nearest neighbours of points. */
#include <config.h>
#include "gpu/device/device.cuh"
#include "gravity/split.h"
#include "particles/softening.h"
#include "gpu/device/reduce.cuh"

/* Copy n 8-byte words to d->points from word `at` on, which has room for them. Queued. */
static void put(struct device *d, int64_t at, const void *from, int64_t n)
{
  CHECK(runtime_copy(d->work.points.at + at, from, sizeof(double) * (size_t)n, TO_DEVICE, d->stream));
}

/* --- direct sum -------------------------------------------------------------------------------------------------- */

/* points of a thread block; sums of a point: acceleration, hard part, potential */
enum { SUM_POINTS = 4, SUM_VALUES = 7 };

#define PAIR_REAL double
#define PAIR_SUFFIX _d
#define PAIR_FUNCTION static __device__ __forceinline__
#define PAIR_INVERSE_ROOT(x) (1 / sqrt(x))
#include "gravity/pair.h"

/* Add the forces and the potential of a point mass m at x[3], with the squared softening `mine`, to the
 * SUM_VALUES sums f of the point at[3], with eps2. User units, without G. */
static __device__ void add_direct(double *f, const double at[3], double eps2, const double x[3], double m, double mine,
                                  const struct split &split)
{
  const struct pair_source_d source = {x[0], x[1], x[2], m};
  const struct pair_target_d target = {at[0], at[1], at[2], eps2};
  const struct pair_d p = pair_between_unlike_d(source, mine, target);
  double r2 = pair_r2_d(p);
  if (!(pair_rho2_of_d(p, r2) > 0)) return; /* without softening, coincident particles */
  const struct pair_point_d a = pair_point_d(p, pair_rho2_of_d(p, r2));
  f[6] -= a.psi;
  pair_add_d(f, a.w, p);
  if (split.on) pair_add_d(f + 3, a.w * split_hard(&split, (float)sqrt(r2)), p);
}

/* One thread block sums over all particles for SUM_POINTS points: at[n][3], skip[n] -> result[n][SUM_VALUES]. The
 * particle of id skip[i] is left out at point i. */
static __global__ void sum_direct(struct particles particles, int n, const double *at, const uint64_t *skip,
                                  const double *eps2, struct softening soft, struct split split, double *result)
{
  double f[SUM_POINTS * SUM_VALUES], x[SUM_POINTS][3], here[SUM_POINTS];
  uint64_t own[SUM_POINTS];
  int first = blockIdx.x * SUM_POINTS;
  for (int k = 0; k < SUM_POINTS * SUM_VALUES; k++) f[k] = 0;
#pragma unroll
  for (int k = 0; k < SUM_POINTS; k++) {
    int i = min(first + k, n - 1);
    for (int c = 0; c < 3; c++) x[k][c] = at[3 * i + c];
    own[k] = skip[i];
    here[k] = eps2[i];
  }
  for (int64_t j = threadIdx.x; j < particles.n; j += THREADS) {
    const double source[3] = {particles.pos[3 * j], particles.pos[3 * j + 1], particles.pos[3 * j + 2]},
                 m = particles.mass[j], eps = soft.eps[soft.classes > 1 ? soft.class_of[particles.type[j]] : 0];
    uint64_t id = particles.id[j];
#pragma unroll
    for (int k = 0; k < SUM_POINTS; k++)
      if (id != own[k]) add_direct(f + SUM_VALUES * k, x[k], here[k], source, m, eps * eps, split);
  }
  __shared__ double row[SUM_POINTS * SUM_VALUES];
  reduce_block<add_op>(f, row);
  __syncthreads();
  int k = threadIdx.x;
  if (k < SUM_POINTS * SUM_VALUES && first + k / SUM_VALUES < n) result[(int64_t)first * SUM_VALUES + k] = row[k];
}

void gpu_direct(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, const uint8_t *type,
                const struct split *split, double (*acc)[3], double (*hard)[3], double *pot)
{
  struct split none = {0};
  double g = d->config.gravity;
  if (n == 0) return;
  double *device = array_reserve(&d->work.points, "device points", n * (5 + SUM_VALUES)), *result = device + 5 * n;
  double *eps2 = (double *)malloc(sizeof *eps2 * (size_t)n);
  if (!eps2) fatal("out of memory: %lld points of a direct sum", (long long)n);
  for (int64_t i = 0; i < n; i++) eps2[i] = pow(d->softening.eps[type ? d->softening.class_of[type[i]] : 0], 2);
  put(d, 0, at, 3 * n);
  put(d, 3 * n, skip, n);
  put(d, 4 * n, eps2, n);
  LAUNCH(d, sum_direct, blocks_for(n, SUM_POINTS), THREADS, d->p, (int)n, device, (const uint64_t *)(device + 3 * n),
         device + 4 * n, d->softening, split ? *split : none, result);
  double(*f)[SUM_VALUES] = (double(*)[SUM_VALUES])malloc(sizeof *f * (size_t)n);
  if (!f) fatal("out of memory: %lld results of a direct sum", (long long)n);
  CHECK(runtime_copy(f, result, sizeof *f * (size_t)n, TO_HOST, d->stream));
  gpu_wait(d);
  for (int64_t i = 0; i < n; i++) {
    for (int c = 0; c < 3; c++) {
      acc[i][c] += g * f[i][c];
      if (split) hard[i][c] += g * f[i][3 + c];
    }
    pot[i] += g * f[i][6];
  }
  free(f);
  free(eps2);
}

/* --- neighbours -------------------------------------------------------------------------------------------------- */

/* each level leaves at most seven siblings on the stack */
enum { SEARCH_WARPS = 4, SEARCH_STACK = 8 * (KEY_LEVELS + 2) };

/* The stack of the search of one warp: nodes, and lower bounds of the distances of their particles. */
struct search {
  int32_t node[SEARCH_STACK];
  double distance[SEARCH_STACK];
};

/* A lower bound of the distance between a point and the particles of node i; may be negative. */
static __device__ double node_distance(const struct tree &tree, const struct lattice &lattice, int32_t i,
                                       const double at[3])
{
  const struct node *n = &tree.node[i];
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double x = lattice_position(&lattice, c, n->x[c]) - at[c];
    r2 += x * x;
  }
  return sqrt(r2) - n->b - 2 * lattice.spacing;
}

/* Insert r into the k smallest distances so far, which ascend. One lane calls it. */
static __device__ void insert(double *nearest, int k, double r)
{
  int at = k - 1;
  for (; at > 0 && nearest[at - 1] > r; at--) nearest[at] = nearest[at - 1];
  nearest[at] = r;
}

/* One warp tests the particles of a leaf. */
static __device__ void search_leaf(const struct particles &particles, const struct node &node, const double at[3],
                                   uint64_t skip, int k, double *nearest)
{
  int32_t end = node.first + (int32_t)(node.info & NODE_COUNT);
  for (int32_t base = node.first; base < end; base += LANES) {
    int64_t j = base + lane_id();
    double r = 1e300;
    if (j < end && particles.id[j] != skip && particles.mass[j] > 0) {
      double dx = particles.pos[3 * j] - at[0], dy = particles.pos[3 * j + 1] - at[1],
             dz = particles.pos[3 * j + 2] - at[2];
      r = sqrt(dx * dx + dy * dy + dz * dz);
    }
    for (lane_mask lanes = warp_ballot(r < nearest[k - 1]); lanes; lanes &= lanes - 1) {
      double one = warp_shuffle(r, first_lane(lanes));
      if (lane_id() == 0 && one < nearest[k - 1]) insert(nearest, k, one);
    }
    warp_sync();
  }
}

/* Put the children that are nearer than the limit on the stack, the nearest on top. So the others are often left out
 * later. */
static __device__ void push_children(const struct tree &tree, const struct lattice &lattice, const struct node &node,
                                     const double at[3], double limit, struct search *search, int &depth)
{
  int lane = lane_id(), rank = 0;
  bool valid = lane < (int)(node.info & NODE_COUNT);
  double r = valid ? node_distance(tree, lattice, node.first + lane, at) : 1e300;
  valid = valid && r < limit;
  lane_mask lanes = warp_ballot(valid);
  for (int k = 0; k < 8; k++) {
    double other = warp_shuffle(r, k);
    rank += (lanes >> k & 1) && (other > r || (other == r && k < lane));
  }
  if (valid) {
    search->node[depth + rank] = node.first + lane;
    search->distance[depth + rank] = r;
  }
  depth += lane_count(lanes);
  warp_sync();
}

/* One warp finds the k nearest distances of one point. */
static __global__ void search_nearest(struct particles particles, struct tree tree, struct lattice lattice, int n,
                                      const double *points, const uint64_t *skip, int k, double *distance)
{
  __shared__ struct search searches[SEARCH_WARPS];
  struct search *s = &searches[threadIdx.x / LANES];
  int i = (int)(blockIdx.x * SEARCH_WARPS + threadIdx.x / LANES), depth = 1;
  const struct node all = {{0, 0, 0}, 0, 0, 0, 0, NODE_LEAF | (uint32_t)particles.n}; /* where there is no tree */
  if (i >= n) return;
  const double at[3] = {points[3 * i], points[3 * i + 1], points[3 * i + 2]};
  double *nearest = distance + (int64_t)i * k;
  for (int m = lane_id(); m < k; m += LANES) nearest[m] = 1e300;
  if (lane_id() == 0) {
    s->node[0] = 0;
    s->distance[0] = -1;
  }
  warp_sync();
  while (depth > 0) {
    int32_t node = s->node[--depth];
    double r = s->distance[depth], limit = nearest[k - 1];
    warp_sync();
    if (r >= limit) continue;
    const struct node one = tree.nodes > 0 ? tree.node[node] : all;
    if (one.info & NODE_LEAF) search_leaf(particles, one, at, skip[i], k, nearest);
    else push_children(tree, lattice, one, at, limit, s, depth);
  }
}

void gpu_nearest(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, int k, double *distance)
{
  for (int64_t m = 0; m < n * k; m++) distance[m] = 1e300;
  if (n == 0 || k == 0 || d->p.n == 0) return;
  double *device = array_reserve(&d->work.points, "device points", n * (4 + k)), *result = device + 4 * n;
  put(d, 0, at, 3 * n);
  put(d, 3 * n, skip, n);
  LAUNCH(d, search_nearest, blocks_for(n, SEARCH_WARPS), SEARCH_WARPS * LANES, d->p, d->tree.view, d->lattice, (int)n,
         device, (const uint64_t *)(device + 3 * n), k, result);
  CHECK(runtime_copy(distance, result, sizeof(double) * (size_t)(n * k), TO_HOST, d->stream));
  gpu_wait(d);
}
