/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard walk: a warp takes a group of at most GROUP_MOST targets, tests the tree's cells with its lanes, and collects what
 * the group feels within R2 in lists in shared memory, which all targets evaluate when they are full. Lists are in the group's
 * frame: lattice coordinates are subtracted in integers, so float32 loses nothing. */
#include <config.h>
#include "hard.cuh"
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
  COUNT_BITS = 3                      /* of a stack entry: number of children - 1; above it the first child */
};

struct hard_job {
  struct tree t;           /* or several, with these roots (NULL: node 0 alone) */
  const int32_t *root;
  int32_t roots;
  int first;               /* forces begin anew; else they are added to */
  struct particles p;
  const struct body *target;   /* where the particles of this rank are */
  const struct group *group;
  const int32_t *list;     /* of groups to be walked; NULL: all */
  int32_t groups;
  struct answers *answers;
  struct mac mac;
  struct split split;
  double a_floor, gravity;
  float spacing, eps2, near, dt_nodes, tick_length;
  int32_t tick;
  int active_only;         /* else all, of whom a full walk has told already */
};

struct quad_list {
  float4 place[QUAD_MOST];
  float q[6][QUAD_MOST];
};
struct no_list {
};
template <bool THERE> struct quads_or_none {
  typedef struct quad_list type;
};
template <> struct quads_or_none<false> {
  typedef struct no_list type;
};
struct point_list {
  float4 place[LIST_MOST];
};

/* SPLIT: see pairs.cuh; QUAD: cells have second moments. */
template <int SPLIT, bool QUAD> struct walker {
  struct shared {
    struct point_list near;
    typename quads_or_none<QUAD>::type near_quad;
    uint32_t stack[STACK];
    int32_t member[GROUP_MOST];
  };

  const struct hard_job &job;
  struct shared &w;
  int lane;
  /* the group */
  int targets, width;            /* lanes in a row of targets; WARP / width rows share the lists */
  int32_t centre[3];
  float radius, sink, x[2][3];
  double sum[2][3];
  int near, near_quad;     /* entries in the lists */
  long long particle_entries, cell_entries;
  /* of all groups of this warp */
  unsigned long long walked, groups, particle_pairs, cell_pairs, tests;

  __device__ walker(const struct hard_job &j, struct shared &s)
      : job(j), w(s), lane(lane_id()), walked(0), groups(0), particle_pairs(0), cell_pairs(0), tests(0)
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
      for (int c = 0; c < 3; c++) sum[k][c] = 0;
    }
    radius = sqrtf(__uint_as_float(__reduce_max_sync(FULL, __float_as_uint(r2)))) * (1 + 1e-6f);
  }

  /* --- evaluation --- */

  /* Add up and start anew. Hard parts may cancel to a hundredth of their terms on the way: they are added up more often. */
  template <int TARGETS> __device__ void add_hard(struct force (&f)[TARGETS])
  {
    for (int k = 0; k < TARGETS; k++)
      for (int c = 0; c < 3; c++) {
        sum[k][c] += f[k].h[c];
        f[k].h[c] = 0;
      }
  }

  template <int TARGETS> __device__ void evaluate_points(const float4 *list, int n)
  {
    struct force f[TARGETS] = {};
    int rows = WARP / width, piece = HARD_PIECE * rows;
    for (int from = 0; from < n; from += piece) {
      int end = min(n, from + piece);
#pragma unroll 4
      for (int j = from + lane / width; j < end; j += rows) {
        const float4 e = list[j];
#pragma unroll
        for (int k = 0; k < TARGETS; k++) add_pair<false, false, SPLIT>(f[k], x[k], e, job.eps2, job.split);
      }
      add_hard(f);
    }
  }

  template <int TARGETS> __device__ void evaluate_quads(const struct quad_list &list, int n)
  {
    struct force f[TARGETS] = {};
    int rows = WARP / width, piece = HARD_PIECE * rows;
    for (int from = 0; from < n; from += piece) {
      int end = min(n, from + piece);
      for (int j = from + lane / width; j < end; j += rows) {
        const float4 e = list.place[j];
        const float q[6] = {list.q[0][j], list.q[1][j], list.q[2][j], list.q[3][j], list.q[4][j], list.q[5][j]};
#pragma unroll
        for (int k = 0; k < TARGETS; k++) add_quad_pair<false, false, SPLIT>(f[k], x[k], e, q, job.eps2, job.split);
      }
      add_hard(f);
    }
  }

  /* All targets take a list, which is empty then. */
  __device__ void use(struct point_list &list, int &n)
  {
    __syncwarp();
    if (targets > WARP)
      evaluate_points<2>(list.place, n);
    else
      evaluate_points<1>(list.place, n);
    n = 0;
    __syncwarp();
  }

  __device__ void use(struct quad_list &list, int &n)
  {
    __syncwarp();
    if (targets > WARP)
      evaluate_quads<2>(list, n);
    else
      evaluate_quads<1>(list, n);
    n = 0;
    __syncwarp();
  }

  /* --- lists --- */

  __device__ int append(struct point_list &list, int &n, bool mine, const float4 &e)
  {
    unsigned lanes = __ballot_sync(FULL, mine);
    if (mine) list.place[n + __popc(lanes & lanes_below())] = e;
    n += __popc(lanes);
    if (n > LIST_MOST - WARP) use(list, n);
    return __popc(lanes);
  }

  __device__ int append(struct quad_list &list, int &n, bool mine, const float4 &e, int32_t node)
  {
    unsigned lanes = __ballot_sync(FULL, mine);
    if (mine) {
      int at = n + __popc(lanes & lanes_below());
      list.place[at] = e;
      const struct quad q = load_quad(&job.t.quad[node]);
      for (int k = 0; k < 6; k++) list.q[k][at] = q.q[k];
    }
    n += __popc(lanes);
    if (n > QUAD_MOST - WARP) use(list, n);
    return __popc(lanes);
  }

  __device__ void append_cells(bool near_one, const float4 &e, int32_t node)
  {
    if constexpr (QUAD)
      cell_entries += append(w.near_quad, near_quad, near_one, e, node);
    else
      cell_entries += append(w.near, near, near_one, e);
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
      float4 e = {0, 0, 0, 0};
      if (place < total) e = stage(j);
      particle_entries += append(w.near, near, place < total && e.x * e.x + e.y * e.y + e.z * e.z < out * out, e);
    }
  }

  /* --- traversal --- */

  /* One node a lane (-1: none): it is accepted, or a leaf whose particles are taken, or put on the stack to be opened. */
  __device__ void test(int32_t k, int &depth)
  {
    bool near_one = false, opened = false;
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
      bool leaf = (n.info & NODE_LEAF) != 0, inside = r2 < out * out;
      /* a particle alone has no extent and would be a cell at any distance; but cells move as they did when their moments
       * were taken, and particles as they do since their last correction */
      bool alone = dt != 0 && n.info == (NODE_LEAF | 1);
      bool accept = (r2 > 0 && r2 >= least * least && !alone) || (n.info & NODE_TERMINAL);
      bool keep = r2 <= away * away;
      near_one = accept && inside;
      first = n.first;
      children = (int)(n.info & NODE_COUNT);
      leaf_count = keep && !accept && leaf ? children : 0;
      opened = keep && !accept && !leaf && children > 0;   /* of a LET's cell all children may have been left out */
    }
    unsigned lanes = __ballot_sync(FULL, opened);
    if (opened) w.stack[depth + __popc(lanes & lanes_below())] = (uint32_t)first << COUNT_BITS | (uint32_t)(children - 1);
    depth += __popc(lanes);
    __syncwarp();
    append_cells(near_one, e, k);
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
      int32_t k = base + lane >= job.roots ? -1 : job.root ? job.root[base + lane] : 0;
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
      for (int c = 0; c < 3; c++) sum[0][c] += __shfl_xor_sync(FULL, sum[0][c], step);
  }

  __device__ void store(void) const
  {
    float each = (float)(particle_entries + cell_entries);   /* the targets share the lists */
    for (int k = 0; k < 2; k++) {
      int m = lane + WARP * k;
      if (m >= targets) continue;
      int64_t i = w.member[m];
      job.p.work[i] += each;
      for (int c = 0; c < 3; c++) {
        float h = (float)(job.gravity * sum[k][c]), *to = &job.p.acc_hard[3 * i + c];
        *to = job.first ? h : *to + h;
      }
    }
  }

  __device__ void visit(const struct group &g)
  {
    find_members(g);
    if (targets == 0) return;
    take_targets();
    sink = mac_sink(&job.mac, fmax((double)g.a_old, job.a_floor));
    near = near_quad = 0;
    particle_entries = cell_entries = 0;
    traverse();
    use(w.near, near);
    if constexpr (QUAD) use(w.near_quad, near_quad);
    join_rows();
    store();
    walked += (unsigned long long)targets;
    groups++;
    particle_pairs += (unsigned long long)(particle_entries * targets);
    cell_pairs += (unsigned long long)(cell_entries * targets);
    __syncwarp();
  }

  __device__ void report(void) const
  {
    if (lane > 0 || groups == 0) return;
    if (job.active_only && job.first) {
      atomicAdd(&job.answers->targets, walked);
      atomicAdd(&job.answers->groups, groups);
    }
    atomicAdd(&job.answers->particle_pairs, particle_pairs);
    atomicAdd(&job.answers->cell_pairs, cell_pairs);
    atomicAdd(&job.answers->split_pairs, particle_pairs + cell_pairs);
    atomicAdd(&job.answers->tests, tests);
  }
};

/* Warps take groups from a queue until it is empty. */
template <int SPLIT, bool QUAD>
static __global__ void __launch_bounds__(WALK_WARPS * WARP) hard_groups(const __grid_constant__ struct hard_job job)
{
  typedef walker<SPLIT, QUAD> walker_type;
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

/* --- launch ------------------------------------------------------------------------------------------------------ */

template <int SPLIT, bool QUAD> static void launch(struct device *d, const struct hard_job &job)
{
  size_t shared = WALK_WARPS * sizeof(typename walker<SPLIT, QUAD>::shared);
  auto kernel = hard_groups<SPLIT, QUAD>;
  int resident;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, WALK_WARPS * WARP, shared));
  int64_t blocks = blocks_for(job.groups, WALK_WARPS), most = (int64_t)resident * d->multiprocessors;
  LAUNCH_SHARED(d, kernel, blocks < most ? blocks : most, WALK_WARPS * WARP, shared, job);
}

template <bool QUAD> static void launch_one(struct device *d, const struct hard_job &job)
{
  if (job.split.kernel == SPLIT_DLL)
    launch<SPLIT_DLL, QUAD>(d, job);
  else
    launch<SPLIT_QUINTIC, QUAD>(d, job);
}

void hard_forces(struct device *d, const struct walk_request *r, const struct forest *f)
{
  bool total = r->kind == WALK_TOTAL;
  struct hard_job job = {f->t, f->root, f->roots, f->first, d->p, d->tree.body, d->group.at};
  job.list = total ? NULL : d->active_group.at;
  job.groups = total ? d->groups : d->active_groups;
  job.answers = d->answers;
  job.mac = r->mac;
  job.split = r->split;
  job.a_floor = r->a_floor;
  job.gravity = d->config.gravity;
  job.spacing = (float)d->lattice.spacing;
  job.eps2 = (float)d->config.softening * (float)d->config.softening;
  job.near = r->split.r2;
  job.dt_nodes = (float)((r->tick - f->motion_tick) * r->tick_length);
  job.tick_length = (float)r->tick_length;
  job.tick = r->tick;
  job.active_only = !total;
  device_zero(d, queue);
  if (d->config.quadrupole)
    launch_one<true>(d, job);
  else
    launch_one<false>(d, job);
}
