/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The double-precision direct sum, the yardstick of all forces; neighbours. */
#include <config.h>
#include "device.cuh"
#include "split.h"
#include "reduce.cuh"

/* Copy n words of points to the device, behind the first `at` words; room for all must be there. */
static void put(struct device *d, int64_t at, const void *from, int64_t n)
{
  CHECK(cudaMemcpyAsync(d->points.at + at, from, sizeof(double) * (size_t)n, cudaMemcpyHostToDevice, d->stream));
}

/* --- direct sum -------------------------------------------------------------------------------------------------- */

enum { SUM_POINTS = 4, SUM_VALUES = 7 };   /* points of a block; acceleration, hard part, potential */

static __device__ void add_direct(double *f, const double at[3], const double x[3], double m, double eps2, const struct split &split)
{
  double dx = x[0] - at[0], dy = x[1] - at[1], dz = x[2] - at[2], r2 = dx * dx + dy * dy + dz * dz;
  double inverse = 1 / sqrt(r2 + eps2), w = m * inverse;
  f[6] -= w;
  w *= inverse * inverse;
  f[0] += w * dx, f[1] += w * dy, f[2] += w * dz;
  if (!split.on) return;
  w *= split_hard(&split, (float)sqrt(r2));
  f[3] += w * dx, f[4] += w * dy, f[5] += w * dz;
}

/* Sums at SUM_POINTS points by a block: at[n][3], skip[n] -> result[n][SUM_VALUES]. */
static __global__ void sum_direct(struct particles p, int n, const double *at, const uint64_t *skip, double eps2,
                                  struct split split, double *result)
{
  double f[SUM_POINTS * SUM_VALUES], x[SUM_POINTS][3];
  uint64_t own[SUM_POINTS];
  int first = blockIdx.x * SUM_POINTS;
  for (int k = 0; k < SUM_POINTS * SUM_VALUES; k++) f[k] = 0;
#pragma unroll
  for (int k = 0; k < SUM_POINTS; k++) {
    int i = min(first + k, n - 1);
    for (int c = 0; c < 3; c++) x[k][c] = at[3 * i + c];
    own[k] = skip[i];
  }
  for (int64_t j = threadIdx.x; j < p.n; j += THREADS) {
    const double there[3] = {p.pos[3 * j], p.pos[3 * j + 1], p.pos[3 * j + 2]}, m = p.mass[j];
    uint64_t id = p.id[j];
#pragma unroll
    for (int k = 0; k < SUM_POINTS; k++)
      if (id != own[k]) add_direct(f + SUM_VALUES * k, x[k], there, m, eps2, split);
  }
  __shared__ double row[SUM_POINTS * SUM_VALUES];
  reduce_block<add_op>(f, row);
  __syncthreads();
  int k = threadIdx.x;
  if (k < SUM_POINTS * SUM_VALUES && first + k / SUM_VALUES < n) result[(int64_t)first * SUM_VALUES + k] = row[k];
}

void gpu_direct(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, const struct split *split,
                double (*acc)[3], double (*hard)[3], double *pot)
{
  struct split none = {0};
  double eps2 = d->config.softening * d->config.softening, g = d->config.gravity;
  if (n == 0) return;
  double *device = array_room(&d->points, "device points", n * (4 + SUM_VALUES)), *result = device + 4 * n;
  put(d, 0, at, 3 * n);
  put(d, 3 * n, skip, n);
  LAUNCH(d, sum_direct, blocks_for(n, SUM_POINTS), THREADS, d->p, (int)n, device, (const uint64_t *)(device + 3 * n), eps2,
         split ? *split : none, result);
  double(*f)[SUM_VALUES] = (double(*)[SUM_VALUES])malloc(sizeof *f * (size_t)n);
  if (!f) fatal("out of memory: %lld results of a direct sum", (long long)n);
  CHECK(cudaMemcpyAsync(f, result, sizeof *f * (size_t)n, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
  for (int64_t i = 0; i < n; i++) {
    for (int c = 0; c < 3; c++) {
      acc[i][c] += g * f[i][c];
      if (split) hard[i][c] += g * f[i][3 + c];
    }
    pot[i] += g * f[i][6];
  }
  free(f);
}

/* --- neighbours -------------------------------------------------------------------------------------------------- */

enum { SEARCH_WARPS = 4, SEARCH_STACK = 8 * (KEY_LEVELS + 2) };   /* every level leaves at most seven siblings behind */

/* A search of one warp: nodes to be looked at and how near they come. */
struct search {
  int32_t node[SEARCH_STACK];
  double distance[SEARCH_STACK];
};

static __device__ double node_distance(const struct tree &t, const struct lattice &l, int32_t i, const double at[3])
{
  const struct node *n = &t.node[i];
  double r2 = 0;
  for (int c = 0; c < 3; c++) {
    double x = lattice_position(&l, c, n->x[c]) - at[c];
    r2 += x * x;
  }
  return sqrt(r2) - n->b - 2 * l.spacing;
}

/* The k smallest distances so far, ascending; by one lane. */
static __device__ void insert(double *nearest, int k, double r)
{
  int at = k - 1;
  for (; at > 0 && nearest[at - 1] > r; at--) nearest[at] = nearest[at - 1];
  nearest[at] = r;
}

static __device__ void search_leaf(const struct particles &p, const struct node &n, const double at[3], uint64_t skip, int k,
                                   double *nearest)
{
  int32_t end = n.first + (int32_t)(n.info & NODE_COUNT);
  for (int32_t base = n.first; base < end; base += WARP) {
    int64_t j = base + lane_id();
    double r = 1e300;
    if (j < end && p.id[j] != skip) {
      double dx = p.pos[3 * j] - at[0], dy = p.pos[3 * j + 1] - at[1], dz = p.pos[3 * j + 2] - at[2];
      r = sqrt(dx * dx + dy * dy + dz * dz);
    }
    for (unsigned lanes = __ballot_sync(FULL, r < nearest[k - 1]); lanes; lanes &= lanes - 1) {
      double one = __shfl_sync(FULL, r, __ffs((int)lanes) - 1);
      if (lane_id() == 0 && one < nearest[k - 1]) insert(nearest, k, one);
    }
    __syncwarp();
  }
}

/* Put the children on the stack, the nearest on top, so that the others can be left out. */
static __device__ void push_children(const struct tree &t, const struct lattice &l, const struct node &n, const double at[3], double most,
                                     struct search *s, int &depth)
{
  int lane = lane_id(), rank = 0;
  bool there = lane < (int)(n.info & NODE_COUNT);
  double r = there ? node_distance(t, l, n.first + lane, at) : 1e300;
  there = there && r < most;
  unsigned lanes = __ballot_sync(FULL, there);
  for (int k = 0; k < 8; k++) {
    double other = __shfl_sync(FULL, r, k);
    rank += (lanes >> k & 1) && (other > r || (other == r && k < lane));
  }
  if (there) {
    s->node[depth + rank] = n.first + lane;
    s->distance[depth + rank] = r;
  }
  depth += __popc(lanes);
  __syncwarp();
}

/* A warp for each point. */
static __global__ void search_nearest(struct particles p, struct tree t, struct lattice l, int n, const double *points,
                                      const uint64_t *skip, int k, double *distance)
{
  __shared__ struct search searches[SEARCH_WARPS];
  struct search *s = &searches[threadIdx.x / WARP];
  int i = (int)(blockIdx.x * SEARCH_WARPS + threadIdx.x / WARP), depth = 1;
  const struct node all = {{0, 0, 0}, 0, 0, 0, 0, NODE_LEAF | (uint32_t)p.n};   /* where there is no tree */
  if (i >= n) return;
  const double at[3] = {points[3 * i], points[3 * i + 1], points[3 * i + 2]};
  double *nearest = distance + (int64_t)i * k;
  for (int m = lane_id(); m < k; m += WARP) nearest[m] = 1e300;
  if (lane_id() == 0) {
    s->node[0] = 0;
    s->distance[0] = -1;
  }
  __syncwarp();
  while (depth > 0) {
    int32_t node = s->node[--depth];
    double r = s->distance[depth], most = nearest[k - 1];
    __syncwarp();
    if (r >= most) continue;
    const struct node one = t.nodes > 0 ? t.node[node] : all;
    if (one.info & NODE_LEAF)
      search_leaf(p, one, at, skip[i], k, nearest);
    else
      push_children(t, l, one, at, most, s, depth);
  }
}

void gpu_nearest(struct device *d, int64_t n, const double (*at)[3], const uint64_t *skip, int k, double *distance)
{
  for (int64_t m = 0; m < n * k; m++) distance[m] = 1e300;
  if (n == 0 || k == 0 || d->p.n == 0) return;
  double *device = array_room(&d->points, "device points", n * (4 + k)), *result = device + 4 * n;
  put(d, 0, at, 3 * n);
  put(d, 3 * n, skip, n);
  LAUNCH(d, search_nearest, blocks_for(n, SEARCH_WARPS), SEARCH_WARPS * WARP, d->p, d->tree, d->lattice, (int)n, device,
         (const uint64_t *)(device + 3 * n), k, result);
  CHECK(cudaMemcpyAsync(distance, result, sizeof(double) * (size_t)(n * k), cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
}
