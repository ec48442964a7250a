/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Upsweep: centres of mass, radii, reaches of the acceptance criterion, second moments, motions. Leaves all at once, cells
 * level by level; every sum is taken by one thread in a fixed order. */
#include <config.h>
#include "device.cuh"

enum {
  LEAF_PIECE = 64,             /* so many particles are summed in float32 */
  TOP_THREADS = 1024,
  TOP_NODES = 4 * TOP_THREADS, /* levels of at most so many nodes are done by one block */
  /* The bound of b by children is up to a factor of two too large, and b enters every acceptance test; the largest cells
   * are always opened, so theirs does not matter. */
  EXACT_RADIUS_MOST = 32768
};

/* What moments are taken for. */
struct moments_job {
  struct tree t;
  struct levels levels;
  struct mac mac;
  double spacing, inverse;
  int32_t tick;
  float tick_length;
  int second;            /* second moments are wanted */
};

/* What a node is besides its centre: radius, spreads, second moments; in units of length. */
struct shape {
  double b, spread_v, spread_a, quad[6];
};

static __device__ void set_shape(const struct moments_job &job, int32_t i, const struct shape &s)
{
  struct node *n = &job.t.node[i];
  n->b = (float)(s.b * (1 + 1e-6));   /* rounding up keeps the particles inside */
  job.t.motion[i].spread_v = (float)s.spread_v;
  job.t.motion[i].spread_a = (float)s.spread_a;
  n->reach = mac_reach(&job.mac, n->mass, s.b, s.quad[0] + s.quad[1] + s.quad[2]);
  job.t.farthest[i] = 0;
  if (!job.second) return;
  for (int q = 0; q < 6; q++) job.t.quad[i].q[q] = (float)s.quad[q];
}

static __device__ double length3(double x, double y, double z) { return sqrt(x * x + y * y + z * z); }

template <typename T> static __device__ void add_quad(T q[6], T m, T x, T y, T z)
{
  q[0] += m * x * x, q[1] += m * y * y, q[2] += m * z * z;
  q[3] += m * x * y, q[4] += m * x * z, q[5] += m * y * z;
}

/* --- leaves ------------------------------------------------------------------------------------------------------ */

/* A source at the job's tick: position about the leaf's first source in lengths (differences of lattice coordinates are
 * exact), velocity, acceleration. */
struct moved {
  float x[3], v[3], a[3], m;
};

static __device__ struct moved source_at(const struct moments_job &job, int32_t j, const struct body &origin)
{
  struct body b = job.t.body[j];
  struct course c = job.t.course[j];
  struct moved s;
  float dt = (float)(job.tick - c.tick) * job.tick_length, half = 0.5f * dt, h = (float)job.spacing;
  const float x[3] = {(float)(b.x - origin.x) * h, (float)(b.y - origin.y) * h, (float)(b.z - origin.z) * h};
  for (int k = 0; k < 3; k++) {
    s.x[k] = x[k] + (c.v[k] + half * c.a[k]) * dt;
    s.v[k] = c.v[k] + dt * c.a[k];
    s.a[k] = c.a[k];
  }
  s.m = b.m;
  return s;
}

/* Mass and means of position, velocity, acceleration, weighted by mass; without mass plainly. */
static __device__ float leaf_means(const struct moments_job &job, int32_t first, int n, const struct body &origin, bool weighted, float x[3],
                                   float v[3], float a[3])
{
  double sum[10] = {0};
  for (int at = 0; at < n; at += LEAF_PIECE) {
    float part[10] = {0};
    for (int k = at; k < min(n, at + LEAF_PIECE); k++) {
      struct moved s = source_at(job, first + k, origin);
      float w = weighted ? s.m : 1.0f;
      for (int c = 0; c < 3; c++) part[c] += w * s.x[c], part[3 + c] += w * s.v[c], part[6 + c] += w * s.a[c];
      part[9] += w;
    }
    for (int q = 0; q < 10; q++) sum[q] += part[q];
  }
  double scale = sum[9] > 0 ? 1 / sum[9] : 0;
  for (int c = 0; c < 3; c++) x[c] = (float)(sum[c] * scale), v[c] = (float)(sum[3 + c] * scale), a[c] = (float)(sum[6 + c] * scale);
  return (float)sum[9];
}

static __device__ float deviation2(const float x[3], const float mean[3])
{
  float dx = x[0] - mean[0], dy = x[1] - mean[1], dz = x[2] - mean[2];
  return dx * dx + dy * dy + dz * dz;
}

static __global__ void leaf_moments(struct moments_job job)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= job.t.nodes || !(job.t.node[i].info & NODE_LEAF)) return;
  struct node *n = &job.t.node[i];
  int32_t first = n->first;
  int count = (int)(n->info & NODE_COUNT);
  struct body origin = job.t.body[first];
  float centre[3], v[3], a[3], mass = leaf_means(job, first, count, origin, true, centre, v, a);
  if (!(mass > 0)) leaf_means(job, first, count, origin, false, centre, v, a);
  float b2 = 0, v2 = 0, a2 = 0;
  struct shape shape = {0};
  for (int at = 0; at < count; at += LEAF_PIECE) {
    float quad[6] = {0};
    for (int k = at; k < min(count, at + LEAF_PIECE); k++) {
      struct moved s = source_at(job, first + k, origin);
      b2 = fmaxf(b2, deviation2(s.x, centre));
      v2 = fmaxf(v2, deviation2(s.v, v));
      a2 = fmaxf(a2, deviation2(s.a, a));
      if (job.second) add_quad(quad, s.m, s.x[0] - centre[0], s.x[1] - centre[1], s.x[2] - centre[2]);
    }
    for (int q = 0; q < 6; q++) shape.quad[q] += quad[q];
  }
  const int32_t from[3] = {origin.x, origin.y, origin.z};
  double rounding2 = 0;   /* the centre is rounded to the lattice: the radius about it grows by as much */
  for (int c = 0; c < 3; c++) {
    double x = from[c] + centre[c] * job.inverse, off;
    n->x[c] = lattice_round(x);
    off = (n->x[c] - x) * job.spacing;
    rounding2 += off * off;
    job.t.motion[i].v[c] = v[c];
    job.t.motion[i].a[c] = a[c];
  }
  n->mass = mass;
  shape.b = count == 1 ? 0 : sqrt((double)b2) + sqrt(rounding2);
  shape.spread_v = sqrt((double)v2);
  shape.spread_a = sqrt((double)a2);
  set_shape(job, i, shape);
}

/* --- cells ------------------------------------------------------------------------------------------------------- */

/* Centre of mass and its motion from the children; massless cells take the mean of the particles. */
static __device__ void cell_centre(const struct tree &t, int32_t i)
{
  struct node *n = &t.node[i];
  double sum[10] = {0};
  int32_t first = n->first, end = first + (int32_t)(n->info & NODE_COUNT);
  bool weighted = false;
  for (int32_t k = first; k < end; k++) weighted |= t.node[k].mass > 0;
  for (int32_t k = first; k < end; k++) {
    const struct node *child = &t.node[k];
    const struct motion *w = &t.motion[k];
    double m = weighted ? child->mass : t.range[k].y - t.range[k].x;
    for (int c = 0; c < 3; c++) sum[c] += m * child->x[c], sum[3 + c] += m * w->v[c], sum[6 + c] += m * w->a[c];
    sum[9] += m;
  }
  n->mass = weighted ? (float)sum[9] : 0;
  for (int c = 0; c < 3; c++) {
    n->x[c] = lattice_round(sum[c] / sum[9]);
    t.motion[i].v[c] = (float)(sum[3 + c] / sum[9]);
    t.motion[i].a[c] = (float)(sum[6 + c] / sum[9]);
  }
}

/* Radii and spreads of a cell are bounds: the farthest child's centre plus the child's own. */
static __device__ void cell_shape(const struct moments_job &job, int32_t i)
{
  const struct tree &t = job.t;
  const struct node n = t.node[i];
  const struct motion w = t.motion[i];
  struct shape s = {0};
  for (int32_t k = n.first; k < n.first + (int32_t)(n.info & NODE_COUNT); k++) {
    const struct node child = t.node[k];
    const struct motion cw = t.motion[k];
    double x[3];
    for (int c = 0; c < 3; c++) x[c] = ((double)child.x[c] - n.x[c]) * job.spacing;
    s.b = fmax(s.b, length3(x[0], x[1], x[2]) + child.b);
    s.spread_v = fmax(s.spread_v, length3(cw.v[0] - w.v[0], cw.v[1] - w.v[1], cw.v[2] - w.v[2]) + cw.spread_v);
    s.spread_a = fmax(s.spread_a, length3(cw.a[0] - w.a[0], cw.a[1] - w.a[1], cw.a[2] - w.a[2]) + cw.spread_a);
    if (!job.second) continue;
    add_quad(s.quad, (double)child.mass, x[0], x[1], x[2]);
    for (int q = 0; q < 6; q++) s.quad[q] += t.quad[k].q[q];
  }
  set_shape(job, i, s);
}

static __device__ void cell_moments(const struct moments_job &job, int32_t i)
{
  if (job.t.node[i].info & NODE_LEAF) return;
  cell_centre(job.t, i);
  cell_shape(job, i);
}

static __global__ void level_moments(struct moments_job job, int level)
{
  int32_t i = job.levels.begin[level] + (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i < job.levels.begin[level + 1]) cell_moments(job, i);
}

/* Levels `level` to the root, which are small. */
static __global__ void __launch_bounds__(TOP_THREADS, 1) top_moments(struct moments_job job, int level)
{
  for (int l = level; l >= 0; l--) {
    for (int32_t i = job.levels.begin[l] + (int32_t)threadIdx.x; i < job.levels.begin[l + 1]; i += TOP_THREADS) cell_moments(job, i);
    __syncthreads();
  }
}

/* --- exact radii ------------------------------------------------------------------------------------------------- */

/* The parent, where its radius is wanted, or -1. */
static __device__ int32_t climb(const struct tree &t, int32_t node)
{
  int32_t up = t.parent[node];
  if (up < 0) return -1;
  int2 r = t.range[up];
  return r.y - r.x <= EXACT_RADIUS_MOST ? up : -1;
}

/* A warp's share in the largest distances of the nodes `own` (-1: none); lanes of one node are neighbours. */
static __device__ void raise_farthest(unsigned *farthest, int32_t own, unsigned value)
{
  unsigned with = __ballot_sync(FULL, own >= 0);
  int32_t one = __shfl_sync(FULL, own, __ffs((int)with) - 1);
  if (__all_sync(FULL, own < 0 || own == one)) {
    value = __reduce_max_sync(FULL, value);
    if (lane_id() == 0) atomicMax(&farthest[one], value);
    return;
  }
  for (int step = 1; step < WARP; step *= 2) {
    unsigned there = __shfl_down_sync(FULL, value, (unsigned)step);
    int32_t node = __shfl_down_sync(FULL, own, (unsigned)step);
    if (node == own && lane_id() + step < WARP) value = max(value, there);
  }
  int32_t left = __shfl_up_sync(FULL, own, 1);
  if (own >= 0 && (lane_id() == 0 || left != own)) atomicMax(&farthest[own], value);
}

/* Every particle climbs its ancestors, in step with the levels. Squared distances are not negative, so their bits are in
 * the order of their values, and a maximum does not depend on the order of those who raise it. */
static __global__ void measure_radii(struct tree t, struct levels levels)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x), node = -1;
  struct body b = {0, 0, 0, 0};
  if (i < t.bodies) {
    b = t.body[i];
    node = climb(t, t.leaf[i]);
  }
  for (int l = levels.count - 2; l >= 0 && __any_sync(FULL, node >= 0); l--) {
    bool here = node >= levels.begin[l];
    if (!__any_sync(FULL, here)) continue;
    unsigned value = 0;
    if (here) {
      const struct node *n = &t.node[node];
      float x = (float)(b.x - n->x[0]), y = (float)(b.y - n->x[1]), z = (float)(b.z - n->x[2]);
      value = __float_as_uint(x * x + y * y + z * z);
    }
    raise_farthest(t.farthest, here ? node : -1, value);
    if (here) node = climb(t, node);
  }
}

static __global__ void set_radii(struct moments_job job)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= job.t.nodes || job.t.farthest[i] == 0) return;
  struct node *n = &job.t.node[i];
  double b = sqrt((double)__uint_as_float(job.t.farthest[i])) * job.spacing, b2 = 0;
  if (b >= n->b) return;
  for (int q = 0; q < 3 && job.second; q++) b2 += job.t.quad[i].q[q];
  n->b = (float)(b * (1 + 1e-6));
  n->reach = mac_reach(&job.mac, n->mass, b, b2);
}

/* --- verbs ------------------------------------------------------------------------------------------------------- */

void gpu_moments(struct device *d, const struct mac *mac, int32_t tick, double tick_length)
{
  const struct levels *levels = &d->levels;
  struct moments_job job = {d->tree, *levels, *mac, d->lattice.spacing, d->lattice.inverse, tick, (float)tick_length,
                            d->config.quadrupole || mac->kind == MAC_MULTIPOLE};
  d->motion_tick = tick;
  if (d->tree.nodes == 0) return;
  LAUNCH(d, leaf_moments, blocks_for(d->tree.nodes, THREADS), THREADS, job);
  int level = levels->count - 2;   /* the deepest level has no cells */
  int32_t wide = 0;                /* nodes of the widest level from here to the root */
  int top = -1;
  for (int l = 0; l <= level; l++) {
    int32_t nodes = levels->begin[l + 1] - levels->begin[l];
    wide = nodes > wide ? nodes : wide;
    if (wide <= TOP_NODES) top = l;
  }
  for (; level > top; level--)
    LAUNCH(d, level_moments, blocks_for(levels->begin[level + 1] - levels->begin[level], THREADS), THREADS, job, level);
  if (top >= 0) LAUNCH(d, top_moments, 1, TOP_THREADS, job, top);
  if (tick != 0) return;   /* a refresh: particles are elsewhere than their records say */
  LAUNCH(d, measure_radii, blocks_for(d->tree.bodies, THREADS), THREADS, d->tree, *levels);
  LAUNCH(d, set_radii, blocks_for(d->tree.nodes, THREADS), THREADS, job);
  if (ESP_CHECKS) device_check_tree(d);
}

static __global__ void take_courses(struct tree t, struct particles p)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= p.n) return;
  const double *v = &p.vel[3 * i];
  const float *a = &p.acc_hard[3 * i];
  struct course c = {{(float)v[0], (float)v[1], (float)v[2]}, p.tick[i], {a[0], a[1], a[2]}, 0};
  t.course[i] = c;
}

void gpu_sources(struct device *d) { LAUNCH(d, take_courses, blocks_for(d->p.n, THREADS), THREADS, d->tree, d->p); }
