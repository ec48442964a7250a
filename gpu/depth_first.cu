/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread for each target. From a node it goes on to its first child (`more`) where it opens it, else to `next`: the node
 * that begins where this one's particles end. No stack, no lists, no shared memory; threads of a warp are neighbours and
 * go nearly the same way. The criterion is that of groups with a ball of no radius and the particle's own |a_old|. */
#include <config.h>
#include "depth_first.cuh"
#include "pairs.cuh"
#include "pairwise.cuh"

struct course_job {
  struct tree t;
  struct particles p;
  const int32_t *next;
  const int32_t *list;     /* of targets; NULL: all */
  int32_t targets;
  struct answers *answers;
  struct mac mac;
  struct split split;
  double a_floor, gravity;
  float spacing, eps2, dt_nodes, tick_length;
  int32_t tick;
  int hard_only, potential;
};

/* --- links ------------------------------------------------------------------------------------------------------- */

/* The shallowest node that begins at each particle: of the nodes in breadth-first order the first. */
static __global__ void find_heads(struct tree t, int32_t *head)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k < t.nodes) atomicMin(&head[t.range[k].x], k);
}

/* Siblings of the node or of the nearest of its ancestors that has one behind it begin where the node ends, and nothing
 * shallower does. -1: the walk is over. */
static __global__ void set_next(struct tree t, const int32_t *head, int32_t *next)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= t.nodes) return;
  int32_t end = t.range[k].y;
  next[k] = end < t.bodies ? head[end] : -1;
}

void depth_first_links(struct device *d)
{
  int64_t nodes = d->tree.nodes, n = d->p.n;
  int32_t *head = (int32_t *)array_room(&d->scratch, "device scratch", (int64_t)sizeof(int32_t) * n);
  int32_t *next = array_room(&d->next, "device octree", nodes);
  CHECK(cudaMemsetAsync(head, 0x7f, sizeof(int32_t) * (size_t)n, d->stream));
  LAUNCH(d, find_heads, blocks_for(nodes, THREADS), THREADS, d->tree, head);
  LAUNCH(d, set_next, blocks_for(nodes, THREADS), THREADS, d->tree, head, next);
}

/* --- the walk ---------------------------------------------------------------------------------------------------- */

template <int SPLIT, bool QUAD> struct wanderer {
  const struct course_job &job;
  struct body self;
  struct force f;
  float sink;
  int particles, cells, tests;

  __device__ float4 seen_from(const int32_t x[3], float m) const
  {
    return make_float4((float)(x[0] - self.x) * job.spacing, (float)(x[1] - self.y) * job.spacing, (float)(x[2] - self.z) * job.spacing, m);
  }

  __device__ void add(const float4 &e)
  {
    const float here[3] = {0, 0, 0};
    add_pair<true, true, SPLIT>(f, here, e, job.eps2, job.split);
  }

  __device__ void take_leaf(const struct node &n)
  {
    int count = (int)(n.info & NODE_COUNT);
    for (int32_t j = n.first; j < n.first + count; j++) {
      const struct body b = job.t.body[j];
      const int32_t x[3] = {b.x, b.y, b.z};
      float4 e = seen_from(x, b.m);
      if (job.tick != 0) {
        const struct course c = job.t.course[j];
        float dt = (float)(job.tick - c.tick) * job.tick_length, half = 0.5f * dt;
        e.x += (c.v[0] + c.a[0] * half) * dt;
        e.y += (c.v[1] + c.a[1] * half) * dt;
        e.z += (c.v[2] + c.a[2] * half) * dt;
      }
      add(e);
    }
    particles += count;
  }

  __device__ void take_cell(const float4 &e, int32_t k)
  {
    const float here[3] = {0, 0, 0};
    if (QUAD) {
      const struct quad q = load_quad(&job.t.quad[k]);
      add_quad_pair<true, true, SPLIT>(f, here, e, q.q, job.eps2, job.split);
    } else {
      add(e);
    }
    cells++;
  }

  /* Look at a node; returns the one to look at then. The test is the groups' (walk.cu). */
  __device__ int32_t visit(int32_t k)
  {
    const struct node n = load_node(&job.t.node[k]);
    float4 e = seen_from(n.x, n.mass);
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
    float r2 = e.x * e.x + e.y * e.y + e.z * e.z, least = fmaxf(n.reach * sink + grown, b), away = job.split.r2 + b;
    bool leaf = (n.info & NODE_LEAF) != 0, alone = dt != 0 && n.info == (NODE_LEAF | 1);
    tests++;
    if (SPLIT != SPLIT_NONE && job.hard_only && r2 > away * away) return job.next[k];
    if (r2 > 0 && r2 >= least * least && !alone) {
      take_cell(e, k);
      return job.next[k];
    }
    if (!leaf) return n.first;
    take_leaf(n);
    return job.next[k];
  }

  __device__ void store(int64_t i) const
  {
    float own = self.m * inverse_root(job.eps2), kept = job.hard_only ? 1 : WORK_KEPT;
    job.p.work[i] = kept * job.p.work[i] + (float)(particles + cells);
    for (int c = 0; c < 3; c++) {
      float a = (float)(job.gravity * f.a[c]), h = SPLIT == SPLIT_NONE ? a : (float)(job.gravity * f.h[c]);
      if (!job.hard_only) job.p.acc[3 * i + c] = a;
      job.p.acc_hard[3 * i + c] = h;
    }
    if (job.potential) job.p.pot[i] = (float)(-job.gravity * (f.p - own));
  }
};

static __device__ void count(unsigned long long *sum, int mine)
{
  unsigned all = __reduce_add_sync(FULL, (unsigned)mine);
  if (lane_id() == 0) atomicAdd(sum, (unsigned long long)all);
}

template <int SPLIT, bool QUAD> static __global__ void __launch_bounds__(THREADS) wander(const __grid_constant__ struct course_job job)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  struct wanderer<SPLIT, QUAD> w = {job};
  if (k < job.targets) {
    int64_t i = job.list ? job.list[k] : k;
    const float *a = &job.p.acc[3 * i];
    w.self = job.t.body[i];
    w.sink = mac_sink(&job.mac, fmax(sqrt((double)a[0] * a[0] + (double)a[1] * a[1] + (double)a[2] * a[2]), job.a_floor));
    for (int32_t node = 0; node >= 0;) node = w.visit(node);
    w.store(i);
  }
  count(&job.answers->particle_pairs, w.particles);
  count(&job.answers->cell_pairs, w.cells);
  count(&job.answers->tests, w.tests);
}

/* --- the verb ---------------------------------------------------------------------------------------------------- */

template <bool QUAD> static void start(struct device *d, const struct course_job &job)
{
  int64_t blocks = blocks_for(job.targets, THREADS);
  if (!job.split.on)
    LAUNCH(d, (wander<SPLIT_NONE, QUAD>), blocks, THREADS, job);
  else if (job.split.kernel == SPLIT_DLL)
    LAUNCH(d, (wander<SPLIT_DLL, QUAD>), blocks, THREADS, job);
  else
    LAUNCH(d, (wander<SPLIT_QUINTIC, QUAD>), blocks, THREADS, job);
}

void depth_first_walk(struct device *d, const struct walk_request *r, struct tally *tally)
{
  bool total = r->kind == WALK_TOTAL;
  float milliseconds = 0;
  struct course_job job = {d->tree, d->p, d->next.at};
  job.list = total ? NULL : pairwise_list_active(d, r->tick);
  job.targets = (int32_t)(total ? d->p.n : d->actives);
  job.answers = d->answers;
  job.mac = r->mac;
  job.split = r->split;
  job.a_floor = r->a_floor;
  job.gravity = d->config.gravity;
  job.spacing = (float)d->lattice.spacing;
  job.eps2 = (float)d->config.softening * (float)d->config.softening;
  job.dt_nodes = (float)((r->tick - d->motion_tick) * r->tick_length);
  job.tick_length = (float)r->tick_length;
  job.tick = r->tick;
  job.hard_only = !total;
  job.potential = total && r->potential;
  CHECK(cudaMemsetAsync(&d->answers->targets, 0, offsetof(struct answers, histogram) - offsetof(struct answers, targets), d->stream));
  CHECK(cudaEventRecord(d->from, d->stream));
  if (d->config.quadrupole)
    start<true>(d, job);
  else
    start<false>(d, job);
  CHECK(cudaEventRecord(d->to, d->stream));
  const struct answers *told = device_ask(d);
  CHECK(cudaEventElapsedTime(&milliseconds, d->from, d->to));
  tally->seconds += 1e-3 * milliseconds;
  tally->evaluating += 1e-3 * milliseconds;
  tally->targets += job.targets;
  tally->particle_pairs += (int64_t)told->particle_pairs;
  tally->cell_pairs += (int64_t)told->cell_pairs;
  tally->split_pairs += r->split.on ? (int64_t)(told->particle_pairs + told->cell_pairs) : 0;
  tally->tests += (int64_t)told->tests;
  tally->groups += job.targets;   /* each is its own */
}
