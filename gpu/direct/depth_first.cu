/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The depth-first walk: one thread walks the tree for one target. If it opens a node, it continues at the first child
 * (`more`), else at `next`, the node that begins where the particles of this one end. It needs no stack, no lists and
 * no shared memory; the threads of a warp have neighbouring targets and visit nearly the same nodes. The criterion is
 * that of groups, with a ball of radius 0 and the particle's own |a_old|. */
#include <config.h>
#include "gpu/direct/depth_first.cuh"
#include "gpu/walk/cells.cuh"
#include "gpu/walk/pairs.cuh"
#include "gpu/direct/pairwise.cuh"

struct depth_first_job {
  struct tree t;
  struct particles p;
  const int32_t *next;
  const int32_t *list; /* targets; NULL: all particles */
  int32_t targets;
  struct device_results *device_results;
  struct mac mac;
  struct split split;
  double a_floor, gravity;
  float spacing, eps2, dt_nodes, tick_length;
  int32_t tick;
  int hard_only, potential, soft, add_potential;
  float open_within, per_mass, core2; /* of WALK_SOFT: the widest R2 (else clearance_of), split_scale, split_core2 */
};

/* --- the walk ---------------------------------------------------------------------------------------------------- */

/* One thread: its target, sums and counts. WEIGHTED: pairs of particles have the weight 1 - K (WALK_SOFT), or 0 at
 * distance 0. */
template <int SPLIT, bool QUAD, bool WEIGHTED> struct depth_first_walker {
  const struct depth_first_job &job;
  struct body self;
  struct force f;
  float sink;
  int particles, cells, tests;

  __device__ float4 relative_position(const int32_t x[3], float m) const
  {
    return make_float4((float)(x[0] - self.x) * job.spacing, (float)(x[1] - self.y) * job.spacing,
                       (float)(x[2] - self.z) * job.spacing, m);
  }

  __device__ void add(const float4 &e)
  {
    struct pair_f p = pair_of(e, 0, 0, 0, job.eps2);
    float r2 = pair_r2_f(p);
    if (!WEIGHTED || !job.soft) {
      if (WEIGHTED && !(r2 > 0)) return;
      add_pair<true, true, SPLIT>(f, p, job.split);
      return;
    }
    float scale = fminf(split_scale(job.per_mass, e.w), split_scale(job.per_mass, self.m));
    p.m *= pair_soft<SPLIT>(r2, scale, job.split.inverse, job.split.r2 * job.split.inverse);
    const struct pair_point_f a = pair_point_f(p, fmaxf(pair_rho2_of_f(p, r2), job.core2));
    f.p += a.psi;
    pair_add_f(f.a, a.w, p);
  }

  __device__ void add_leaf(const struct node &node)
  {
    int count = (int)(node.info & NODE_COUNT);
    for (int32_t j = node.first; j < node.first + count; j++) {
      const struct body b = job.t.body[j];
      const int32_t x[3] = {b.x, b.y, b.z};
      float4 e = relative_position(x, b.m);
      if (job.tick != 0) {
        const struct motion_state c = job.t.motion_state[j];
        float dt = (float)(job.tick - c.tick) * job.tick_length, half = 0.5f * dt;
        e.x += (c.v[0] + c.a[0] * half) * dt;
        e.y += (c.v[1] + c.a[1] * half) * dt;
        e.z += (c.v[2] + c.a[2] * half) * dt;
      }
      add(e);
    }
    particles += count;
  }

  __device__ void add_cell(const float4 &e, int32_t k)
  {
    if (QUAD) {
      const struct quad q = load_quad(&job.t.quad[k]);
      add_quad_pair<true, true, SPLIT>(f, pair_of(e, 0, 0, 0, job.eps2), q.q, job.split);
    } else {
      add_pair<true, true, SPLIT>(f, pair_of(e, 0, 0, 0, job.eps2), job.split);
    }
    cells++;
  }

  /* Test a node; returns the next one (-1: none). The test is that of groups (gpu/walk/traverse.cuh). */
  __device__ int32_t visit(int32_t k)
  {
    const struct node n = load_node(&job.t.node[k]);
    float4 e = relative_position(n.x, n.mass);
    float b = n.b, grown = 0, dt = job.dt_nodes;
    if (dt != 0) {
      const struct motion m = load_motion(&job.t.motion[k]);
      float half = 0.5f * dt * dt, growth = m.spread_v * dt + m.spread_a * half;
      e.x += m.v[0] * dt + m.a[0] * half;
      e.y += m.v[1] * dt + m.a[1] * half;
      e.z += m.v[2] * dt + m.a[2] * half;
      b += growth;
      grown = 2 * growth;
    }
    float r2 = pair_r2_f(pair_of(e, 0, 0, 0, job.eps2)),
          min_distance = fmaxf(n.reach * sink + grown, mac_clear(b, job.open_within));
    float away = job.split.r2 + b;
    bool leaf = (n.info & NODE_LEAF) != 0, single = dt != 0 && n.info == (NODE_LEAF | 1);
    tests++;
    if (SPLIT != SPLIT_NONE && job.hard_only && r2 > away * away) return job.next[k];
    if (r2 > 0 && r2 >= min_distance * min_distance && !single) {
      add_cell(e, k);
      return job.next[k];
    }
    if (!leaf) return n.first;
    add_leaf(n);
    return job.next[k];
  }

  __device__ void store(int64_t i) const
  {
    float own = WEIGHTED ? 0 : self.m * inverse_root(job.eps2), kept = job.hard_only ? 1 : WORK_KEPT;
    job.p.work[i] = kept * job.p.work[i] + (float)(particles + cells);
    for (int c = 0; c < 3; c++) {
      float a = (float)(job.gravity * f.a[c]), h = SPLIT == SPLIT_NONE ? a : (float)(job.gravity * f.h[c]);
      if (!job.hard_only) job.p.acc[3 * i + c] = a;
      if (WEIGHTED && job.soft) job.p.acc_soft[3 * i + c] = a;
      else job.p.acc_hard[3 * i + c] = h;
    }
    if (job.potential)
      job.p.pot[i] = (float)((WEIGHTED && job.add_potential ? job.p.pot[i] : 0) - job.gravity * (f.p + (f.own - own)));
  }
};

/* A warp adds the counts of its lanes to a sum in global memory. */
static __device__ void count(unsigned long long *sum, int mine)
{
  unsigned all = warp_sum((unsigned)mine);
  if (lane_id() == 0) atomicAdd(sum, (unsigned long long)all);
}

/* One thread walks the tree for one target. */
template <int SPLIT, bool QUAD, bool WEIGHTED>
static __global__ void __launch_bounds__(THREADS) depth_first_kernel(const __grid_constant__ struct depth_first_job job)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  struct depth_first_walker<SPLIT, QUAD, WEIGHTED> w = {
    job
  };
  if (k < job.targets) {
    int64_t i = job.list ? job.list[k] : k;
    const float *a = &job.p.acc[3 * i];
    w.self = job.t.body[i];
    w.sink =
        mac_sink(&job.mac, fmax(sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]), job.a_floor));
    for (int32_t node = 0; node >= 0;) node = w.visit(node);
    w.store(i);
  }
  count(&job.device_results->walk.particle_pairs, w.particles);
  count(&job.device_results->walk.cell_pairs, w.cells);
  count(&job.device_results->walk.tests, w.tests);
}

/* --- the verb ---------------------------------------------------------------------------------------------------- */

#define START(kernel, name) \
  case SPLIT_##kernel: LAUNCH(d, (depth_first_kernel<SPLIT_##kernel, QUAD, WEIGHTED>), blocks, THREADS, job); break;
template <bool QUAD, bool WEIGHTED> static void start(struct device *d, const struct depth_first_job &job)
{
  int64_t blocks = blocks_for(job.targets, THREADS);
  switch (job.split.on ? job.split.kernel : SPLIT_NONE) {
  case SPLIT_NONE:
    LAUNCH(d, (depth_first_kernel<SPLIT_NONE, QUAD, WEIGHTED>), blocks, THREADS, job);
    break;
    SPLIT_KERNELS(START)
  }
}

void depth_first_walk(struct device *d, const struct walk_request *request, struct tally *tally)
{
  bool total = request->kind != WALK_HARD, weighted = request->kind == WALK_SOFT || !(d->config.softening > 0);
  float milliseconds = 0;
  struct depth_first_job job = {d->tree.view, d->p, d->tree.next.at};
  job.list = total ? NULL : pairwise_list_active(d, request->tick);
  job.targets = (int32_t)(total ? d->p.n : d->active.count);
  job.device_results = d->device_results;
  job.mac = request->mac;
  job.split = request->split;
  job.a_floor = request->a_floor;
  job.gravity = d->config.gravity;
  job.spacing = (float)d->lattice.spacing;
  job.eps2 = (float)softening_of(d) * (float)softening_of(d);
  job.dt_nodes = (float)((request->tick - d->tree.motion_tick) * request->tick_length);
  job.tick_length = (float)request->tick_length;
  job.tick = request->tick;
  job.hard_only = !total;
  job.potential = total && request->potential;
  job.soft = request->kind == WALK_SOFT;
  job.add_potential = request->add_potential;
  job.open_within = (float)(job.soft ? split_widest(&request->split) : total ? 0 : clearance_of(d));
  job.per_mass = request->split.mass_scale > 0 ? 1 / request->split.mass_scale : 0;
  job.core2 = split_core2(&request->split);
  device_zero(d, walk);
  CHECK(runtime_event_record(d->timing.from, d->stream));
  if (request->mac.order == 2 && weighted) start<true, true>(d, job);
  else if (request->mac.order == 2) start<true, false>(d, job);
  else if (weighted) start<false, true>(d, job);
  else start<false, false>(d, job);
  CHECK(runtime_event_record(d->timing.to, d->stream));
  const struct device_results *host_results = device_read_results(d);
  CHECK(runtime_event_milliseconds(&milliseconds, d->timing.from, d->timing.to));
  tally->seconds += 1e-3 * milliseconds;
  tally->evaluating += 1e-3 * milliseconds;
  tally->targets += job.targets;
  tally->particle_pairs += (int64_t)host_results->walk.particle_pairs;
  tally->cell_pairs += (int64_t)host_results->walk.cell_pairs;
  tally->split_pairs +=
      request->split.on ? (int64_t)(host_results->walk.particle_pairs + host_results->walk.cell_pairs) : 0;
  tally->tests += (int64_t)host_results->walk.tests;
  tally->groups += job.targets; /* each target is a group */
}
