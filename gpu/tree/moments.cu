/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Upsweep: centres of mass, radii, distances of the acceptance criterion, second moments, motions. Leaves are processed
 * all at once, cells level by level. A row of lanes processes a node and takes its sums in a fixed order. */
#include <config.h>
#include <string.h>

#include "gpu/tree/sources.cuh"

/* Radii of cells from those of their children are bounds, up to twice the exact radius, and the radius b enters every
 * acceptance test. So cells of at most EXACT_RADIUS_MAX particles get the exact radius; most larger cells are opened
 * anyway. */
enum { EXACT_RADIUS_MAX = 32768 };

enum {
  LEAF_ROW = 2, /* lanes for each leaf */
  LEAVES_PER_BLOCK = THREADS / LEAF_ROW,
  LEAF_PIECE = 64, /* particles that are summed at once; larger leaves are summed in pieces */
  CELL_ROW = 8,    /* lanes for each cell: its children */
  CELLS_PER_BLOCK = THREADS / CELL_ROW,
  TOP_THREADS = 1024,
  TOP_NODES = 4 * TOP_THREADS / CELL_ROW, /* levels of at most so many nodes are processed by one block */
  /* a warp finds the radius of cells of at most so many particles, a block that of larger ones */
  SMALL_CELL = 512,
  RADII = 8,          /* nodes for each warp, one after another */
  BIG_CELL_BLOCKS = 8 /* blocks for large cells on each multiprocessor */
};

/* Arguments of the moment kernels: a part of the tree, and the tick. */
struct moments_job {
  struct tree t;
  int32_t begin, end; /* nodes */
  struct levels levels;
  struct mac mac;
  double spacing, inverse;
  int32_t tick;
  float tick_length;
  int second;                    /* 1: with second moments */
  struct body *present;          /* gets the sources predicted to the tick; NULL: all sources are at the tick */
  struct node_softening *soften; /* of each node; NULL: softenings do not differ */
  float eps2[SOFTENING_CLASSES]; /* of the classes, code length squared */
  int32_t particles_end;         /* leaves of particles from here on are not in use */
};

/* --- rows of lanes ----------------------------------------------------------------------------------------------- */

/* Sum or maximum over a row, for all its lanes, in a fixed order. All lanes of the warp must call. */
template <int ROW> static __device__ __forceinline__ float row_sum(float x)
{
  for (int step = ROW / 2; step > 0; step /= 2) x += warp_shuffle_xor(x, step);
  return x;
}
template <int ROW> static __device__ __forceinline__ float row_max(float x)
{
  for (int step = ROW / 2; step > 0; step /= 2) x = fmaxf(x, warp_shuffle_xor(x, step));
  return x;
}

/* Position about an origin, velocity and acceleration, with a weight m. */
struct moving_mass {
  float x[3], v[3], a[3], m;
};

/* The weighted means of a row's partial sums; m becomes the sum of weights. */
template <int ROW> static __device__ struct moving_mass row_mean(const struct moving_mass &sum)
{
  struct moving_mass mean;
  mean.m = row_sum<ROW>(sum.m);
  float scale = mean.m > 0 ? 1 / mean.m : 0;
  for (int c = 0; c < 3; c++) {
    mean.x[c] = row_sum<ROW>(sum.x[c]) * scale;
    mean.v[c] = row_sum<ROW>(sum.v[c]) * scale;
    mean.a[c] = row_sum<ROW>(sum.a[c]) * scale;
  }
  return mean;
}

static __device__ __forceinline__ void add_moved(struct moving_mass *sum, const struct moving_mass &moved, float w,
                                                 float m)
{
  for (int c = 0; c < 3; c++) {
    sum->x[c] += w * moved.x[c];
    sum->v[c] += w * moved.v[c];
    sum->a[c] += w * moved.a[c];
  }
  sum->m += m;
}

static __device__ __forceinline__ float distance2(const float x[3], const float y[3])
{
  float dx = x[0] - y[0], dy = x[1] - y[1], dz = x[2] - y[2];
  return dx * dx + dy * dy + dz * dz;
}

/* Radius of a node about its centre, spreads of velocity and acceleration, and second moments; code units. */
struct shape {
  float b, spread_v, spread_a, quad[6];
};

static __device__ __forceinline__ void add_quad(float q[6], float m, float x, float y, float z)
{
  q[0] += m * x * x;
  q[1] += m * y * y;
  q[2] += m * z * z;
  q[3] += m * x * y;
  q[4] += m * x * z;
  q[5] += m * y * z;
}

/* Combine the shapes of a row's lanes. */
template <int ROW> static __device__ void row_shape(const struct moments_job &job, struct shape *shape)
{
  shape->b = row_max<ROW>(shape->b);
  shape->spread_v = row_max<ROW>(shape->spread_v);
  shape->spread_a = row_max<ROW>(shape->spread_a);
  for (int q = 0; q < 6 && job.second; q++) shape->quad[q] = row_sum<ROW>(shape->quad[q]);
}

/* The softenings of a node's particles in a row's lanes: sum of mass times eps^2, smallest and largest class. */
template <int ROW> static __device__ struct node_softening row_softening(float sum, int low, int high)
{
  struct node_softening s = {row_sum<ROW>(sum), low, high};
  for (int step = ROW / 2; step > 0; step /= 2) {
    s.low = min(s.low, warp_shuffle_xor(s.low, step));
    s.high = max(s.high, warp_shuffle_xor(s.high, step));
  }
  return s;
}

/* How far the squared softenings of node i differ. */
static __device__ __forceinline__ double difference_of(const struct moments_job &job, int32_t i)
{
  return job.soften ? (double)job.eps2[job.soften[i].high] - job.eps2[job.soften[i].low] : 0;
}

/* A node's reach with the code of its softening. */
static __device__ __forceinline__ float reach_with_code(const struct moments_job &job, int32_t i, float reach,
                                                        float mass)
{
  if (!job.soften) return reach;
  const struct node_softening s = job.soften[i];
  return softening_pack_reach(reach, s.low, s.high, mass > 0 ? s.sum / mass : job.eps2[s.high]);
}

/* The distance factor of the node in the acceptance criterion (mac.h). */
static __device__ __forceinline__ float node_reach(const struct moments_job &job, int32_t i, double mass, double b,
                                                   double b2)
{
  float whole = mac_reach(&job.mac, mass, b, b2);
  return job.mac.order == 1 && job.t.cut[i] ? MAC_CUT * whole : whole;
}

/* Store the record of a node, by the first lane of its row. x: centre of mass, lattice. */
static __device__ void set_node(const struct moments_job &job, int32_t i, const int32_t x[3], float mass,
                                const struct moving_mass &mean, const struct shape &shape)
{
  struct node *n = &job.t.node[i];
  double spread = difference_of(job, i), radius = softening_radius(shape.b, spread);
  /* rounding up keeps the particles inside */
  float b = (float)radius * (1 + 1e-6f), trace = shape.quad[0] + shape.quad[1] + shape.quad[2];
  ((int4 *)n)[0] = make_int4(x[0], x[1], x[2], __float_as_int(mass));
  *(float2 *)&n->b =
      make_float2(b, reach_with_code(job, i, node_reach(job, i, mass, radius, trace + mass * spread), mass));
  float4 *w = (float4 *)&job.t.motion[i];
  w[0] = make_float4(mean.v[0], mean.v[1], mean.v[2], mean.a[0]);
  w[1] = make_float4(mean.a[1], mean.a[2], shape.spread_v, shape.spread_a);
  if (!job.second) return;
  float2 *q = (float2 *)&job.t.quad[i];
  for (int k = 0; k < 3; k++) q[k] = make_float2(shape.quad[2 * k], shape.quad[2 * k + 1]);
}

/* --- leaves ------------------------------------------------------------------------------------------------------ */

/* A source predicted to the job's tick. Its position is relative to the first source of the leaf, code length:
 * differences of lattice coordinates are exact. */
static __device__ __forceinline__ struct moving_mass source_at(const struct moments_job &job, int32_t j,
                                                               const struct body &origin)
{
  const struct body b = job.t.body[j];
  const struct motion_state c = job.t.motion_state[j];
  struct moving_mass s;
  float dt = (float)(job.tick - c.tick) * job.tick_length, half = 0.5f * dt, h = (float)job.spacing;
  const float x[3] = {(float)(b.x - origin.x) * h, (float)(b.y - origin.y) * h, (float)(b.z - origin.z) * h};
  for (int k = 0; k < 3; k++) {
    s.x[k] = x[k] + (c.v[k] + half * c.a[k]) * dt;
    s.v[k] = c.v[k] + dt * c.a[k];
    s.a[k] = c.a[k];
  }
  s.m = job.soften ? softening_mass(b.m) : b.m;
  return s;
}

/* A lane's share of the sums over a leaf. `plain`: with unit weights instead of masses. */
static __device__ struct moving_mass leaf_sums(const struct moments_job &job, int32_t first, int count,
                                               const struct body &origin, bool plain)
{
  struct moving_mass sum = {};
  for (int at = 0; at < count; at += LEAF_PIECE) {
    struct moving_mass part = {};
    for (int k = at + lane_id() % LEAF_ROW; k < min(count, at + LEAF_PIECE); k += LEAF_ROW) {
      struct moving_mass s = source_at(job, first + k, origin);
      float w = plain ? 1.0f : s.m;
      add_moved(&part, s, w, w);
    }
    add_moved(&sum, part, 1, part.m);
  }
  return sum;
}

/* The softenings of a leaf; other nodes, without count, are left out. */
static __device__ void leaf_softening(const struct moments_job &job, int32_t i, int32_t first, int count)
{
  float sum = 0;
  int low = SOFTENING_CLASSES, high = 0;
  for (int k = lane_id() % LEAF_ROW; k < count; k += LEAF_ROW) {
    float m = job.t.body[first + k].m;
    int c = softening_class(m);
    sum += softening_mass(m) * job.eps2[c];
    low = min(low, c);
    high = max(high, c);
  }
  struct node_softening s = row_softening<LEAF_ROW>(sum, low, high);
  if (count > 0 && lane_id() % LEAF_ROW == 0) job.soften[i] = s;
}

static __global__ void __launch_bounds__(THREADS) leaf_moments(struct moments_job job)
{
  int32_t i = job.begin + (int32_t)(blockIdx.x * LEAVES_PER_BLOCK + threadIdx.x / LEAF_ROW), first = 0;
  int count = 0;
  if (i < job.end) {
    const int2 link = *(const int2 *)&job.t.node[i].first;
    /* `first` of a cell is a node index, which may exceed the number of particles */
    if (((uint32_t)link.y & NODE_LEAF) && link.x < job.particles_end) {
      first = link.x;
      count = (int)((uint32_t)link.y & NODE_COUNT);
    }
  }
  if (!warp_any(count > 0)) return;
  const struct body origin = job.t.body[first];
  struct moving_mass mean = row_mean<LEAF_ROW>(leaf_sums(job, first, count, origin, false));
  float mass = mean.m;
  if (warp_any(count > 0 && !(mass > 0))) { /* the centre of a massless leaf is the unweighted mean */
    struct moving_mass plain = row_mean<LEAF_ROW>(leaf_sums(job, first, count, origin, true));
    if (!(mass > 0)) mean = plain;
  }
  if (job.soften) leaf_softening(job, i, first, count);
  struct shape s = {};
  for (int k = lane_id() % LEAF_ROW; k < count; k += LEAF_ROW) {
    struct moving_mass one = source_at(job, first + k, origin);
    if (job.present) {
      const struct body b = {
          lattice_clamp(origin.x + one.x[0] * job.inverse), lattice_clamp(origin.y + one.x[1] * job.inverse),
          lattice_clamp(origin.z + one.x[2] * job.inverse), job.soften ? job.t.body[first + k].m : one.m};
      job.present[first + k] = b;
    }
    s.b = fmaxf(s.b, distance2(one.x, mean.x));
    s.spread_v = fmaxf(s.spread_v, distance2(one.v, mean.v));
    s.spread_a = fmaxf(s.spread_a, distance2(one.a, mean.a));
    if (job.second) add_quad(s.quad, one.m, one.x[0] - mean.x[0], one.x[1] - mean.x[1], one.x[2] - mean.x[2]);
  }
  row_shape<LEAF_ROW>(job, &s);
  if (count == 0 || lane_id() % LEAF_ROW > 0) return;
  const int32_t from[3] = {origin.x, origin.y, origin.z};
  int32_t x[3];
  float rounding2 = 0; /* the centre is rounded to the lattice, so the radius grows by the shift */
  for (int c = 0; c < 3; c++) {
    double exact = from[c] + mean.x[c] * job.inverse;
    x[c] = lattice_clamp(exact);
    float off = (float)((x[c] - exact) * job.spacing);
    rounding2 += off * off;
  }
  s.b = count == 1 ? 0 : sqrtf(s.b) + sqrtf(rounding2);
  s.spread_v = sqrtf(s.spread_v);
  s.spread_a = sqrtf(s.spread_a);
  set_node(job, i, x, mass, mean, s);
}

/* --- cells ------------------------------------------------------------------------------------------------------- */

/* The softenings in a cell, from those of its children. */
static __device__ void cell_softening(const struct moments_job &job, int32_t i, int32_t first, int count)
{
  int lane = lane_id() % CELL_ROW;
  struct node_softening one = {0, SOFTENING_CLASSES, 0};
  if (lane < count) one = job.soften[first + lane];
  one = row_softening<CELL_ROW>(one.sum, one.low, one.high);
  if (count > 0 && lane == 0) job.soften[i] = one;
}

/* Moments of a cell from its children; leaves are skipped. Radius and spreads are bounds: the maximum over the children
 * of the distance of their centres plus their own radius or spread. The centre of a massless cell is the unweighted
 * mean of its particles. */
static __device__ void cell_moments(const struct moments_job &job, int32_t i, int32_t end)
{
  const struct tree &t = job.t;
  int32_t first = 0, k;
  int count = 0, lane = lane_id() % CELL_ROW;
  if (i < end) {
    const int2 link = *(const int2 *)&t.node[i].first;
    first = link.x;
    if (!((uint32_t)link.y & NODE_LEAF)) count = link.y;
  }
  if (!warp_any(count > 0)) return;
  k = first + lane;
  struct node child = {};
  struct motion w = {};
  if (lane < count) {
    child = load_node(&t.node[k]);
    w = load_motion(&t.motion[k]);
  }
  int32_t origin[3], x[3];
  for (int c = 0; c < 3; c++) origin[c] = warp_shuffle(child.x[c], 0, CELL_ROW);
  struct moving_mass own = {
      {(float)(child.x[0] - origin[0]), (float)(child.x[1] - origin[1]), (float)(child.x[2] - origin[2])},
      {w.v[0], w.v[1], w.v[2]},
      {w.a[0], w.a[1], w.a[2]},
      child.mass};
  struct moving_mass sum = {};
  if (lane < count) add_moved(&sum, own, own.m, own.m);
  struct moving_mass mean = row_mean<CELL_ROW>(sum);
  float mass = mean.m;
  if (warp_any(count > 0 && !(mass > 0))) {
    struct moving_mass plain = {};
    float particles = lane < count ? (float)(t.range[k].y - t.range[k].x) : 0;
    add_moved(&plain, own, particles, particles);
    plain = row_mean<CELL_ROW>(plain);
    if (!(mass > 0)) mean = plain;
  }
  if (job.soften) cell_softening(job, i, first, count);
  for (int c = 0; c < 3; c++) x[c] = lattice_clamp(origin[c] + (double)mean.x[c]);
  struct shape s = {};
  if (lane < count) {
    float h = (float)job.spacing;
    const float off[3] = {(float)(child.x[0] - x[0]) * h, (float)(child.x[1] - x[1]) * h,
                          (float)(child.x[2] - x[2]) * h};
    const float none[3] = {0, 0, 0};
    s.b = sqrtf(distance2(off, none)) + child.b;
    s.spread_v = sqrtf(distance2(own.v, mean.v)) + w.spread_v;
    s.spread_a = sqrtf(distance2(own.a, mean.a)) + w.spread_a;
    if (job.second) {
      const struct quad q = load_quad(&t.quad[k]);
      for (int j = 0; j < 6; j++) s.quad[j] = q.q[j];
      add_quad(s.quad, child.mass, off[0], off[1], off[2]);
    }
  }
  row_shape<CELL_ROW>(job, &s);
  if (count > 0 && lane == 0) set_node(job, i, x, mass, mean, s);
}

static __global__ void __launch_bounds__(THREADS) level_moments(struct moments_job job, int level)
{
  cell_moments(job, job.levels.begin[level] + (int32_t)(blockIdx.x * CELLS_PER_BLOCK + threadIdx.x / CELL_ROW),
               job.levels.begin[level + 1]);
}

/* Levels `level` to 0, which have few nodes, by one block. */
static __global__ void __launch_bounds__(TOP_THREADS, 1) top_moments(struct moments_job job, int level)
{
  for (int l = level; l >= 0; l--) {
    int32_t end = job.levels.begin[l + 1];
    for (int32_t base = job.levels.begin[l]; base < end; base += TOP_THREADS / CELL_ROW)
      cell_moments(job, base + (int32_t)threadIdx.x / CELL_ROW, end);
    __syncthreads();
  }
}

/* --- exact radii ------------------------------------------------------------------------------------------------- */

/* A thread's share of the largest squared distance of particles [begin, end) from (x, y, z), lattice units, as the bits
 * of a float: for non-negative values these have the order of the values. */
static __device__ unsigned farthest(const struct body *body, int32_t begin, int32_t end, int step, int32_t x, int32_t y,
                                    int32_t z)
{
  float largest = 0;
#pragma unroll 4
  for (int32_t j = begin; j < end; j += step) {
    const struct body b = body[j];
    float dx = (float)(b.x - x), dy = (float)(b.y - y), dz = (float)(b.z - z);
    largest = fmaxf(largest, dx * dx + dy * dy + dz * dz);
  }
  return __float_as_uint(largest);
}

static __device__ void set_radius(const struct moments_job &job, int32_t i, unsigned distance2_bits)
{
  struct node *n = &job.t.node[i];
  double spread = difference_of(job, i), b2 = n->mass * spread;
  double b = softening_radius(sqrt((double)__uint_as_float(distance2_bits)) * job.spacing, spread);
  if (b >= n->b) return;
  for (int q = 0; q < 3 && job.second; q++) b2 += job.t.quad[i].q[q];
  n->b = (float)(b * (1 + 1e-6));
  n->reach = reach_with_code(job, i, node_reach(job, i, n->mass, b, b2), n->mass);
}

/* Exact radii of the small cells among RADII nodes, by one warp. Larger cells of at most EXACT_RADIUS_MAX particles are
 * listed in `big`, in arbitrary order. */
static __global__ void __launch_bounds__(THREADS) small_radii(struct moments_job job, int32_t *big, int32_t *count)
{
  const struct body *body = job.present ? job.present : job.t.body;
  int32_t i = job.begin + (int32_t)((blockIdx.x * THREADS + threadIdx.x) / LANES * RADII) + lane_id();
  int4 n = {0, 0, 0, 0};
  int2 r = {0, 0};
  if (lane_id() < RADII && i < job.end && !(job.t.node[i].info & NODE_LEAF)) {
    n = *(const int4 *)&job.t.node[i];
    r = job.t.range[i];
  }
  int particles = r.y - r.x;
  unsigned own = 0;
  if (particles > SMALL_CELL && particles <= EXACT_RADIUS_MAX) big[atomicAdd(count, 1)] = i;
  for (lane_mask cells = warp_ballot(particles > 0 && particles <= SMALL_CELL); cells; cells &= cells - 1) {
    int from = first_lane(cells);
    int32_t begin = warp_shuffle(r.x, from), end = warp_shuffle(r.y, from);
    int32_t x = warp_shuffle(n.x, from), y = warp_shuffle(n.y, from), z = warp_shuffle(n.z, from);
    unsigned largest = warp_max(farthest(body, begin + lane_id(), end, LANES, x, y, z));
    if (lane_id() == from) own = largest;
  }
  if (own > 0) set_radius(job, i, own);
}

static __global__ void __launch_bounds__(THREADS)
    big_radii(struct moments_job job, const int32_t *big, const int32_t *count)
{
  __shared__ unsigned part[THREADS / LANES];
  const struct body *body = job.present ? job.present : job.t.body;
  for (int k = (int)blockIdx.x; k < *count; k += (int)gridDim.x) {
    const int4 n = *(const int4 *)&job.t.node[big[k]];
    const int2 r = job.t.range[big[k]];
    unsigned largest = warp_max(farthest(body, r.x + (int32_t)threadIdx.x, r.y, THREADS, n.x, n.y, n.z));
    if (lane_id() == 0) part[threadIdx.x / LANES] = largest;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < THREADS / LANES; w++) largest = max(largest, part[w]);
      set_radius(job, big[k], largest);
    }
    __syncthreads();
  }
}

/* --- verbs ------------------------------------------------------------------------------------------------------- */

/* Moments of one part. Queued. */
static void part_moments(struct device *d, const struct moments_job &job)
{
  const struct levels *levels = &job.levels;
  int32_t nodes = job.end - job.begin;
  if (nodes == 0) return;
  LAUNCH(d, leaf_moments, blocks_for(nodes, LEAVES_PER_BLOCK), THREADS, job);
  int level = levels->count - 2; /* the deepest level has no cells */
  int32_t wide = 0;              /* nodes of the widest level from here to the root */
  int top = -1;
  for (int l = 0; l <= level; l++) {
    int32_t here = levels->begin[l + 1] - levels->begin[l];
    wide = here > wide ? here : wide;
    if (wide <= TOP_NODES) top = l;
  }
  for (; level > top; level--)
    LAUNCH(d, level_moments, blocks_for(levels->begin[level + 1] - levels->begin[level], CELLS_PER_BLOCK), THREADS, job,
           level);
  if (top >= 0) LAUNCH(d, top_moments, 1, TOP_THREADS, job, top);
  device_zero(d, count);
  LAUNCH(d, small_radii, blocks_for(nodes, THREADS / LANES * RADII), THREADS, job, d->tree.big.at,
         &d->device_results->count);
  LAUNCH(d, big_radii, BIG_CELL_BLOCKS * d->multiprocessors, THREADS, job, d->tree.big.at, &d->device_results->count);
}

void gpu_moments(struct device *d, const struct mac *mac, int32_t tick, double tick_length)
{
  if (d->tree.counts_pending) {
    device_read_results(d);
    device_resolve_counts(d);
  }
  device_wait_for_copy(d);
  int second = mac_needs_second_moments(mac);
  struct body *present =
      tick == 0 || d->tree.view.nodes == 0 ? NULL : array_reserve(&d->sources.present, "device sources", d->p.n);
  for (int k = parts_begin(d); k < d->tree.parts; k++) {
    struct tree_part *p = &d->tree.part[k];
    struct moments_job job = {d->tree.view,       p->base, p->base + p->nodes, p->levels, *mac,   d->lattice.spacing,
                              d->lattice.inverse, tick,    (float)tick_length, second,    present};
    if (d->softening.classes > 1) job.soften = array_reserve(&d->tree.soften, "device octree", p->base + p->nodes);
    memcpy(job.eps2, d->softening.eps2, sizeof job.eps2);
    job.particles_end = part_end(d, k);
    p->tick = tick;
    part_moments(d, job);
  }
  /* at later ticks the sources have moved since the tree was built */
  if (ESP_CHECKS && tick == 0) device_check_tree(d);
  d->tree.moments_made++;
  if (d->tree.renews == RENEWS_ALL) d->tree.motion_tick = tick;
  d->tree.fast_tick = tick;
  d->sources.present_tick = present && d->tree.renews == RENEWS_ALL ? tick : -1;
  d->sources.present_bodies = d->tree.view.bodies;
  d->tree.renews = RENEWS_ALL;
}

/* Predict the sources from `first` on to a tick. */
static __global__ void predict_sources(struct tree tree, struct body *present, int32_t first, int32_t bodies,
                                       int32_t tick, float tick_length, double inverse)
{
  int32_t i = first + (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i < bodies) present[i] = body_at(&tree.body[i], &tree.motion_state[i], tick, tick_length, inverse);
}

struct body *device_present(struct device *d, int32_t tick, double tick_length, int32_t bodies)
{
  int32_t first = d->sources.present_tick == tick ? d->sources.present_bodies : 0;
  if (first >= bodies) return d->sources.present.at;
  /* keeps those that moments predicted, whose rounding differs */
  array_keep(&d->sources.present, "device sources", bodies, d->stream);
  LAUNCH(d, predict_sources, blocks_for(bodies - first, THREADS), THREADS, d->tree.view, d->sources.present.at, first,
         bodies, tick, (float)tick_length, d->lattice.inverse);
  d->sources.present_tick = tick;
  d->sources.present_bodies = bodies;
  return d->sources.present.at;
}

static __global__ void gather_motion_states(struct tree tree, struct particles particles)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= particles.n) return;
  const double *v = &particles.vel[3 * i];
  const float *a = &particles.acc_hard[3 * i];
  struct motion_state c = {{(float)v[0], (float)v[1], (float)v[2]}, particles.tick[i], {a[0], a[1], a[2]}, 0};
  tree.motion_state[i] = c;
}

void gpu_sources(struct device *d)
{
  d->hard.unchecked = 1; /* velocities may have changed */
  d->sources.present_tick = -1;
  LAUNCH(d, gather_motion_states, blocks_for(d->p.n, THREADS), THREADS, d->tree.view, d->p);
}
