/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk: a warp takes a group of at most GROUP_MOST targets, tests the tree's cells with its lanes, and collects what
 * the group feels in lists in shared memory, which all targets evaluate when they are full.
 *
 * Lists are in the group's frame: lattice coordinates are subtracted in integers, so float32 loses nothing. Entries beyond
 * R2 of the whole group are plain, the others near: they have a hard part. */
#include <config.h>
#include <time.h>

#include "let.cuh"
#include "pairs.cuh"
#include "timeline.h"

enum {
  WALK_WARPS = 4,
  LIST_MOST = 192,                    /* point masses */
  QUAD_MOST = 96,                     /* cells with second moments */
  HARD_PIECE = 4,                     /* hard parts of so many entries are summed in float32 */
  BRANCH = 8,                         /* lanes for each opened cell: its children */
  OPEN = WARP / BRANCH,               /* cells opened at once */
  STACK = WARP * (KEY_LEVELS + 1),    /* a level leaves less than WARP cells behind */
  COUNT_BITS = 3,                     /* of a stack entry: number of children - 1; above it the first child */
  NODES_MOST = 1 << (31 - COUNT_BITS),
  PROGRESS_NANOSECONDS = 50000        /* between looks at messages */
};

struct walk_job {
  struct tree t;           /* or several, with these roots (NULL: node 0 alone) */
  const int32_t *root;
  int roots;
  const struct body *target;   /* of every particle */
  float4 *sums;            /* of a walk in parts: acceleration and potential, hard acceleration and entries of every particle */
  int first, last;         /* of its parts */
  struct particles p;
  const struct group *group;
  const int32_t *list;     /* of groups to be walked; NULL: all */
  int32_t groups;
  struct answers *answers;
  struct mac mac;
  struct split split;
  double a_floor, gravity;
  float spacing, eps2, near, dt_nodes, tick_length;
  int32_t tick;
  int active_only, hard_only, potential;
};

struct quad_list {
  float4 place[QUAD_MOST];
  float q[6][QUAD_MOST];
};
struct no_list {
};
template <bool THERE, class LIST> struct either {
  typedef LIST type;
};
template <class LIST> struct either<false, LIST> {
  typedef struct no_list type;
};
struct point_list {
  float4 place[LIST_MOST];
};

/* TOTAL: whole accelerations (else the hard part alone); SPLIT: see pairs.cuh; QUAD: cells have second moments. */
template <bool TOTAL, bool POTENTIAL, int SPLIT, bool QUAD> struct walker {
  static constexpr bool NEAR = SPLIT != SPLIT_NONE;

  struct shared {
    typename either<TOTAL, struct point_list>::type plain;
    typename either<NEAR, struct point_list>::type near;
    typename either<TOTAL && QUAD, struct quad_list>::type plain_quad;
    typename either<NEAR && QUAD, struct quad_list>::type near_quad;
    uint32_t stack[STACK];
    int32_t member[GROUP_MOST];
  };

  const struct walk_job &job;
  struct shared &w;
  int lane;
  /* the group */
  int targets, width;            /* lanes in a row of targets; WARP / width rows share the lists */
  int32_t centre[3];
  float radius, sink, x[2][3];
  double sum[2][7];
  int plain, near, plain_quad, near_quad;   /* entries in the lists */
  long long particle_entries, cell_entries, near_entries;
  float kept_entries;            /* of the parts before */
  /* of all groups of this warp */
  unsigned long long walked, groups, particle_pairs, cell_pairs, split_pairs, tests;

  __device__ walker(const struct walk_job &j, struct shared &s)
      : job(j), w(s), lane(lane_id()), walked(0), groups(0), particle_pairs(0), cell_pairs(0), split_pairs(0), tests(0)
  {
  }

  /* --- targets --- */

  /* The members that want a force. */
  __device__ void find_members(const struct group &g)
  {
    targets = 0;
    for (int32_t base = g.begin; base < g.end; base += WARP) {
      int32_t i = base + lane;
      bool wants = i < g.end && (!job.active_only || job.p.tick[i] + timeline_ticks(job.p.level[i]) == job.tick);
      unsigned lanes = __ballot_sync(FULL, wants);
      if (wants) w.member[targets + __popc(lanes & lanes_below())] = i;
      targets += __popc(lanes);
    }
    __syncwarp();
  }

  /* The box's centre becomes the origin, the ball about it encloses the targets. Targets are where their sources are:
   * records of active particles are at the present tick. */
  __device__ void take_targets(void)
  {
    int32_t at[2][3], low[3], high[3];
    width = WARP;
    while (width / 2 >= targets) width /= 2;
    for (int k = 0; k < 2; k++) {
      int m = k == 0 ? lane % width : lane + WARP;
      const struct body b = job.target[w.member[m < targets ? m : 0]];
      at[k][0] = b.x, at[k][1] = b.y, at[k][2] = b.z;
    }
    float r2 = 0;
    for (int c = 0; c < 3; c++) {
      low[c] = __reduce_min_sync(FULL, min(at[0][c], at[1][c]));
      high[c] = __reduce_max_sync(FULL, max(at[0][c], at[1][c]));
      centre[c] = low[c] + (high[c] - low[c]) / 2;
    }
    for (int k = 0; k < 2; k++) {
      for (int c = 0; c < 3; c++) x[k][c] = (float)(at[k][c] - centre[c]) * job.spacing;
      r2 = fmaxf(r2, x[k][0] * x[k][0] + x[k][1] * x[k][1] + x[k][2] * x[k][2]);
      for (int q = 0; q < 7; q++) sum[k][q] = 0;
    }
    radius = sqrtf(__uint_as_float(__reduce_max_sync(FULL, __float_as_uint(r2)))) * (1 + 1e-6f);
  }

  /* The sums of the parts before; of rows of lanes that share targets, the first one has them. */
  __device__ void take_sums(void)
  {
    kept_entries = 0;
    if (job.first) return;
    for (int k = 0; k < 2; k++) {
      int m = lane + WARP * k;
      if (m >= targets) continue;
      const float4 a = job.sums[2 * (int64_t)w.member[m]], h = job.sums[2 * (int64_t)w.member[m] + 1];
      sum[k][0] = a.x, sum[k][1] = a.y, sum[k][2] = a.z, sum[k][6] = a.w;
      sum[k][3] = h.x, sum[k][4] = h.y, sum[k][5] = h.z;
      kept_entries = h.w;
    }
  }

  __device__ void keep_sums(float each) const
  {
    for (int k = 0; k < 2; k++) {
      int m = lane + WARP * k;
      if (m >= targets) continue;
      const double *s = sum[k];
      job.sums[2 * (int64_t)w.member[m]] = make_float4((float)s[0], (float)s[1], (float)s[2], (float)s[6]);
      job.sums[2 * (int64_t)w.member[m] + 1] = make_float4((float)s[3], (float)s[4], (float)s[5], each);
    }
  }

  /* --- evaluation --- */

  /* Add up and start anew. Hard parts may cancel to a hundredth of their terms on the way: they are added up more often. */
  template <int TARGETS> __device__ void add_hard(struct force (&f)[TARGETS])
  {
    for (int k = 0; k < TARGETS; k++)
      for (int c = 0; c < 3; c++) {
        sum[k][3 + c] += f[k].h[c];
        f[k].h[c] = 0;
      }
  }

  template <int TARGETS> __device__ void add_total(const struct force (&f)[TARGETS])
  {
    for (int k = 0; k < TARGETS; k++) {
      for (int c = 0; c < 3 && TOTAL; c++) sum[k][c] += f[k].a[c];
      if (POTENTIAL) sum[k][6] += f[k].p;
    }
  }

  template <int TARGETS, int KERNEL> __device__ void evaluate_points(const float4 *list, int n)
  {
    struct force f[TARGETS] = {};
    int rows = WARP / width, piece = KERNEL == SPLIT_NONE ? n : HARD_PIECE * rows;
    for (int from = 0; from < n; from += piece) {
      int end = min(n, from + piece);
#pragma unroll 4
      for (int j = from + lane / width; j < end; j += rows) {
        const float4 e = list[j];
#pragma unroll
        for (int k = 0; k < TARGETS; k++) add_pair<TOTAL, POTENTIAL, KERNEL>(f[k], x[k], e, job.eps2, job.split);
      }
      if (KERNEL != SPLIT_NONE) add_hard(f);
    }
    add_total(f);
  }

  template <int TARGETS, int KERNEL> __device__ void evaluate_quads(const struct quad_list &list, int n)
  {
    struct force f[TARGETS] = {};
    int rows = WARP / width, piece = KERNEL == SPLIT_NONE ? n : HARD_PIECE * rows;
    for (int from = 0; from < n; from += piece) {
      int end = min(n, from + piece);
      for (int j = from + lane / width; j < end; j += rows) {
        const float4 e = list.place[j];
        const float q[6] = {list.q[0][j], list.q[1][j], list.q[2][j], list.q[3][j], list.q[4][j], list.q[5][j]};
#pragma unroll
        for (int k = 0; k < TARGETS; k++) add_quad_pair<TOTAL, POTENTIAL, KERNEL>(f[k], x[k], e, q, job.eps2, job.split);
      }
      if (KERNEL != SPLIT_NONE) add_hard(f);
    }
    add_total(f);
  }

  /* All targets take a list, which is empty then. */
  template <int KERNEL> __device__ void use(struct point_list &list, int &n)
  {
    __syncwarp();
    if (targets > WARP)
      evaluate_points<2, KERNEL>(list.place, n);
    else
      evaluate_points<1, KERNEL>(list.place, n);
    n = 0;
    __syncwarp();
  }

  template <int KERNEL> __device__ void use(struct quad_list &list, int &n)
  {
    __syncwarp();
    if (targets > WARP)
      evaluate_quads<2, KERNEL>(list, n);
    else
      evaluate_quads<1, KERNEL>(list, n);
    n = 0;
    __syncwarp();
  }

  /* --- lists --- */

  template <int KERNEL> __device__ int append(struct point_list &list, int &n, bool mine, const float4 &e)
  {
    unsigned lanes = __ballot_sync(FULL, mine);
    if (mine) list.place[n + __popc(lanes & lanes_below())] = e;
    n += __popc(lanes);
    if (n > LIST_MOST - WARP) use<KERNEL>(list, n);
    return __popc(lanes);
  }

  template <int KERNEL> __device__ int append(struct quad_list &list, int &n, bool mine, const float4 &e, int32_t node)
  {
    unsigned lanes = __ballot_sync(FULL, mine);
    if (mine) {
      int at = n + __popc(lanes & lanes_below());
      list.place[at] = e;
      const struct quad q = load_quad(&job.t.quad[node]);
      for (int k = 0; k < 6; k++) list.q[k][at] = q.q[k];
    }
    n += __popc(lanes);
    if (n > QUAD_MOST - WARP) use<KERNEL>(list, n);
    return __popc(lanes);
  }

  __device__ void append_cells(bool far_one, bool near_one, const float4 &e, int32_t node)
  {
    if constexpr (TOTAL) {
      if constexpr (QUAD)
        cell_entries += append<SPLIT_NONE>(w.plain_quad, plain_quad, far_one, e, node);
      else
        cell_entries += append<SPLIT_NONE>(w.plain, plain, far_one, e);
    }
    if constexpr (NEAR) {
      int more;
      if constexpr (QUAD)
        more = append<SPLIT>(w.near_quad, near_quad, near_one, e, node);
      else
        more = append<SPLIT>(w.near, near, near_one, e);
      cell_entries += more;
      near_entries += more;
    }
  }

  /* A source in the group's frame, predicted to the present. */
  __device__ float4 stage(int32_t j) const
  {
    const struct body b = job.t.body[j];
    float4 e = {(float)(b.x - centre[0]) * job.spacing, (float)(b.y - centre[1]) * job.spacing, (float)(b.z - centre[2]) * job.spacing,
                b.m};
    if (job.tick == 0) return e;
    const struct course c = job.t.course[j];
    float dt = (float)(job.tick - c.tick) * job.tick_length, half = 0.5f * dt;
    e.x += (c.v[0] + c.a[0] * half) * dt;
    e.y += (c.v[1] + c.a[1] * half) * dt;
    e.z += (c.v[2] + c.a[2] * half) * dt;
    return e;
  }

  /* Append the particles of leaves, one leaf a lane (count 0: none). Lanes share them evenly. */
  __device__ void append_leaves(int32_t first, int count)
  {
    int up_to = count;
    for (int step = 1; step < WARP; step *= 2) {
      int below = __shfl_up_sync(FULL, up_to, (unsigned)step);
      if (lane >= step) up_to += below;
    }
    int total = __shfl_sync(FULL, up_to, WARP - 1);
    int32_t origin = first - (up_to - count);   /* so that the particle of a place is origin + place */
    float out = radius + job.near;
    for (int base = 0; base < total; base += WARP) {
      int place = base + lane, leaf = 0;
      for (int step = WARP / 2; step > 0; step /= 2)
        if (__shfl_sync(FULL, up_to, leaf + step - 1) <= place) leaf += step;
      int32_t j = __shfl_sync(FULL, origin, leaf) + place;
      bool there = place < total, inside = there;
      float4 e = {0, 0, 0, 0};
      if (there) e = stage(j);
      if (NEAR) inside = there && e.x * e.x + e.y * e.y + e.z * e.z < out * out;
      if constexpr (TOTAL) particle_entries += append<SPLIT_NONE>(w.plain, plain, NEAR ? there && !inside : there, e);
      if constexpr (NEAR) {
        int more = append<SPLIT>(w.near, near, inside, e);
        particle_entries += more;
        near_entries += more;
      }
    }
  }

  /* --- traversal --- */

  /* One node a lane (-1: none): it is accepted, or a leaf whose particles are taken, or put on the stack to be opened. */
  __device__ void test(int32_t k, int &depth)
  {
    bool far_one = false, near_one = false, opened = false;
    int32_t first = 0;
    int leaf_count = 0, children = 0;
    float4 e = {0, 0, 0, 0};
    if (k >= 0) {
      const struct node n = load_node(&job.t.node[k]);
      e = make_float4((float)(n.x[0] - centre[0]) * job.spacing, (float)(n.x[1] - centre[1]) * job.spacing,
                      (float)(n.x[2] - centre[2]) * job.spacing, n.mass);
      float b = n.b, grown = 0, dt = job.dt_nodes;
      if (dt != 0) {
        const struct motion m = load_motion(&job.t.motion[k]);
        float half = 0.5f * dt * dt, growth = m.spread_v * dt + m.spread_a * half;
        e.x += m.v[0] * dt + m.a[0] * half;
        e.y += m.v[1] * dt + m.a[1] * half;
        e.z += m.v[2] * dt + m.a[2] * half;
        b += growth;
        grown = 2 * growth;   /* a length, while the unit of the reach is the criterion's own */
      }
      float r2 = e.x * e.x + e.y * e.y + e.z * e.z;
      float least = radius + fmaxf(n.reach * sink + grown, b), out = radius + job.near, away = out + b;
      bool leaf = (n.info & NODE_LEAF) != 0, inside = NEAR && r2 < out * out;
      /* a particle alone has no extent and would be a cell at any distance; but cells move as they did when their moments
       * were taken, and particles as they do since their last correction */
      bool alone = dt != 0 && n.info == (NODE_LEAF | 1);
      bool accept = (r2 > 0 && r2 >= least * least && !alone) || (n.info & NODE_TERMINAL);
      bool keep = TOTAL || r2 <= away * away;
      far_one = accept && !inside;
      near_one = accept && inside;
      first = n.first;
      children = (int)(n.info & NODE_COUNT);
      leaf_count = keep && !accept && leaf ? children : 0;
      opened = keep && !accept && !leaf && children > 0;   /* a LET's cells may have lost all children */
    }
    unsigned lanes = __ballot_sync(FULL, opened);
    if (opened) w.stack[depth + __popc(lanes & lanes_below())] = (uint32_t)first << COUNT_BITS | (uint32_t)(children - 1);
    depth += __popc(lanes);
    __syncwarp();
    append_cells(far_one, near_one, e, k);
    if (__any_sync(FULL, leaf_count > 0)) append_leaves(first, leaf_count);
  }

  /* Open what is on the stack. */
  __device__ void descend(int depth)
  {
    while (depth > 0) {
      int32_t k = -1, which = lane / BRANCH, child = lane % BRANCH;
      if (which < depth) {
        uint32_t entry = w.stack[depth - 1 - which];
        if (child <= (int)(entry & (BRANCH - 1))) k = (int32_t)(entry >> COUNT_BITS) + child;
      }
      depth = max(depth - OPEN, 0);
      tests += (unsigned long long)__popc(__ballot_sync(FULL, k >= 0));
      __syncwarp();   /* entries are read before they are overwritten */
      test(k, depth);
    }
  }

  __device__ void traverse(void)
  {
    for (int base = 0; base < job.roots; base += WARP) {
      int depth = 0;
      int32_t k = base + lane < job.roots ? job.root ? job.root[base + lane] : 0 : -1;
      tests += (unsigned long long)__popc(__ballot_sync(FULL, k >= 0));
      test(k, depth);
      descend(depth);
    }
  }

  /* --- results --- */

  /* Rows of lanes that shared the lists add up. */
  __device__ void join_rows(void)
  {
    for (int step = width; step < WARP; step *= 2)
      for (int q = 0; q < 7; q++) sum[0][q] += __shfl_xor_sync(FULL, sum[0][q], step);
  }

  __device__ void store(void) const
  {
    float self = inverse_root(job.eps2), each = kept_entries + (float)(particle_entries + cell_entries);   /* the targets share the lists */
    if (!job.last) {
      keep_sums(each);
      return;
    }
    for (int k = 0; k < 2; k++) {
      int m = lane + WARP * k;
      if (m >= targets) continue;
      int64_t i = w.member[m];
      float kept = job.hard_only ? 1 : WORK_KEPT;
      job.p.work[i] = kept * job.p.work[i] + each;
      for (int c = 0; c < 3; c++) {
        float a = (float)(job.gravity * sum[k][c]), h = NEAR ? (float)(job.gravity * sum[k][3 + c]) : a;
        if (TOTAL && !job.hard_only) job.p.acc[3 * i + c] = a;
        job.p.acc_hard[3 * i + c] = h;
      }
      if (POTENTIAL && job.potential) job.p.pot[i] = (float)(-job.gravity * (sum[k][6] - (double)(job.target[i].m * self)));
    }
  }

  __device__ void visit(const struct group &g)
  {
    find_members(g);
    if (targets == 0) return;
    take_targets();
    take_sums();
    sink = mac_sink(&job.mac, fmax((double)g.a_old, job.a_floor));
    plain = near = plain_quad = near_quad = 0;
    particle_entries = cell_entries = near_entries = 0;
    traverse();
    if constexpr (TOTAL) use<SPLIT_NONE>(w.plain, plain);
    if constexpr (NEAR) use<SPLIT>(w.near, near);
    if constexpr (TOTAL && QUAD) use<SPLIT_NONE>(w.plain_quad, plain_quad);
    if constexpr (NEAR && QUAD) use<SPLIT>(w.near_quad, near_quad);
    join_rows();
    store();
    walked += job.first ? (unsigned long long)targets : 0;
    groups += job.first != 0;
    particle_pairs += (unsigned long long)(particle_entries * targets);
    cell_pairs += (unsigned long long)(cell_entries * targets);
    split_pairs += (unsigned long long)(near_entries * targets);
    __syncwarp();
  }

  __device__ void report(void) const
  {
    if (lane > 0) return;
    atomicAdd(&job.answers->targets, walked);
    atomicAdd(&job.answers->groups, groups);
    atomicAdd(&job.answers->particle_pairs, particle_pairs);
    atomicAdd(&job.answers->cell_pairs, cell_pairs);
    atomicAdd(&job.answers->split_pairs, split_pairs);
    atomicAdd(&job.answers->tests, tests);
  }
};

/* Warps take groups from a queue until it is empty. */
template <bool TOTAL, bool POTENTIAL, int SPLIT, bool QUAD>
static __global__ void __launch_bounds__(WALK_WARPS * WARP) walk_groups(const __grid_constant__ struct walk_job job)
{
  typedef walker<TOTAL, POTENTIAL, SPLIT, QUAD> walker_type;
  extern __shared__ float4 memory[];
  walker_type walk(job, ((typename walker_type::shared *)memory)[threadIdx.x / WARP]);
  for (;;) {
    int32_t g = 0;
    if (lane_id() == 0) g = atomicAdd(&job.answers->queue, 1);
    g = __shfl_sync(FULL, g, 0);
    if (g >= job.groups) break;
    walk.visit(job.group[job.list ? job.list[g] : g]);
  }
  walk.report();
}

/* --- the verb ---------------------------------------------------------------------------------------------------- */

template <bool TOTAL, bool POTENTIAL, int SPLIT, bool QUAD> static void launch(struct device *d, const struct walk_job &job)
{
  size_t shared = WALK_WARPS * sizeof(typename walker<TOTAL, POTENTIAL, SPLIT, QUAD>::shared);
  auto kernel = walk_groups<TOTAL, POTENTIAL, SPLIT, QUAD>;
  int resident;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, WALK_WARPS * WARP, shared));
  int64_t blocks = blocks_for(job.groups, WALK_WARPS), most = (int64_t)resident * d->multiprocessors;
  LAUNCH_SHARED(d, kernel, blocks < most ? blocks : most, WALK_WARPS * WARP, shared, job);
}

template <bool QUAD> static void launch_one(struct device *d, const struct walk_job &job, const struct walk_request *r)
{
  bool total = r->kind == WALK_TOTAL;
  if (!r->split.on) {
    if (job.potential)
      launch<true, true, SPLIT_NONE, QUAD>(d, job);
    else
      launch<true, false, SPLIT_NONE, QUAD>(d, job);
  } else if (r->split.kernel == SPLIT_DLL) {
    if (total)
      launch<true, true, SPLIT_DLL, QUAD>(d, job);
    else
      launch<false, false, SPLIT_DLL, QUAD>(d, job);
  } else {
    if (total)
      launch<true, true, SPLIT_QUINTIC, QUAD>(d, job);
    else
      launch<false, false, SPLIT_QUINTIC, QUAD>(d, job);
  }
}

/* Wait for the walk, and let the caller look at its messages meanwhile. */
static void wait_for_walk(struct device *d, const struct walk_request *r)
{
  const struct timespec nap = {0, PROGRESS_NANOSECONDS};
  cudaError_t status;
  if (!r->progress) return;
  r->progress(r->progress_of);
  while ((status = cudaEventQuery(d->to)) == cudaErrorNotReady) {
    cudaGetLastError();   /* it is none, and must not be found later */
    nanosleep(&nap, NULL);
    r->progress(r->progress_of);
  }
  CHECK(status);
}

static void walk_forest(struct device *d, const struct walk_request *r, struct walk_job *job, const struct forest *f)
{
  if (f->t.nodes >= NODES_MOST) fatal("%d tree nodes on one device, at most %d: use more ranks", f->t.nodes, NODES_MOST);
  job->t = f->t;
  job->root = f->root;
  job->roots = f->roots;
  job->first = f->first;
  job->last = f->last;
  job->dt_nodes = (float)((r->tick - f->motion_tick) * r->tick_length);
  device_zero(d, queue);
  if (d->config.quadrupole)
    launch_one<true>(d, *job, r);
  else
    launch_one<false>(d, *job, r);
  forest_walked(d, f);
}

void gpu_walk(struct device *d, const struct walk_request *r, struct tally *tally)
{
  bool total = r->kind == WALK_TOTAL;
  struct forest forest;
  struct walk_job job = {};
  job.target = d->tree.body;
  job.p = d->p;
  job.group = d->group.at;
  job.list = total ? NULL : d->active_group.at;
  job.groups = total ? d->groups : d->active_groups;
  job.answers = d->answers;
  job.mac = r->mac;
  job.split = r->split;
  job.a_floor = r->a_floor;
  job.gravity = d->config.gravity;
  job.spacing = (float)d->lattice.spacing;
  job.eps2 = (float)d->config.softening * (float)d->config.softening;
  job.near = r->split.on ? r->split.r2 : 0;
  job.tick_length = (float)r->tick_length;
  job.tick = r->tick;
  job.active_only = job.hard_only = !total;
  job.potential = total && r->potential;
  CHECK(cudaMemsetAsync(&d->answers->targets, 0, offsetof(struct answers, histogram) - offsetof(struct answers, targets), d->stream));
  if (!r->local || !r->last || r->peer_count > 0) job.sums = array_room(&d->lets->sums, "device sums", 2 * d->p.n);
  CHECK(cudaEventRecord(d->from, d->stream));
  for (struct parts parts = {}; forest_next(d, r, &parts, &forest);) walk_forest(d, r, &job, &forest);
  CHECK(cudaEventRecord(d->to, d->stream));
  wait_for_walk(d, r);
  const struct answers *told = device_ask(d);
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, d->from, d->to));
  tally->seconds += 1e-3 * milliseconds;
  tally->evaluating += 1e-3 * milliseconds;   /* traversal and pair loops are one kernel */
  tally->targets += (int64_t)told->targets;
  tally->particle_pairs += (int64_t)told->particle_pairs;
  tally->cell_pairs += (int64_t)told->cell_pairs;
  tally->split_pairs += (int64_t)told->split_pairs;
  tally->tests += (int64_t)told->tests;
  tally->groups += (int64_t)told->groups;
}
