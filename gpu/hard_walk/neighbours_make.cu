/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Construction of neighbour lists. A warp takes a group and finds in the tree the cells that the group accepts and the
 * leaves that it opens. Then it tests these again for each target block of the group.
 *
 * Targets and sources move on straight trajectories. A trajectory is described by its positions at both ends, each in
 * the frame of the targets at that end. The smallest squared distance between two particles is at most a quarter of
 * their squared relative displacement less than that at the nearer end. Sources that come near a target block are
 * compared with its targets at positions between the ends as well, so that only the displacement from one position to
 * the next counts. */
#include <config.h>
#include "gpu/hard_walk/neighbours.cuh"
#include "gpu/hard_walk/trajectory.cuh"
#include "gpu/walk/cells.cuh"

enum {
  MAKE_WARPS = 4,
  NODES_MAX = 2048,      /* accepted cells and opened leaves of a group; a group with more has no lists */
  KEPT_MAX = 2048,       /* candidates that targets of a target block keep; a group with more has no lists */
  TARGET_BLOCK_MAX = 16, /* targets of a target block: bits of a mask */
  TARGET_BLOCK_UNROLL = 4,
  /* positions, equally spaced from end to end, at which candidates and targets are compared */
  PLACES = 3,
  STAGED = 2 * LANES,
  CHUNK = 4096, /* pool entries that a warp reserves at a time */
  BRANCH = 8,
  OPEN = LANES / BRANCH,
  STACK = LANES * (KEY_LEVELS + 1), /* each level leaves fewer than LANES cells on the stack */
  COUNT_BITS = 3
};

/* Squares and products of coordinates in the frame of a target block are rounded; tests allow for this relative
 * error. */
#define ROUNDING 1e-6f

/* Data of one warp in global memory. */
struct maker_buffer {
  int2 kept[KEPT_MAX];     /* a source, and the mask of the targets that keep it */
  int32_t node[NODES_MAX]; /* leaves from the front, cells from the end */
};

struct make_job {
  struct tree t;
  const struct group *group;
  const struct trajectory *trajectory;
  struct neighbour_list *list;
  int32_t *pool;
  struct maker_buffer *buffer;
  uint8_t *heavy;
  struct making_numbers *numbers;
  struct device_results *device_results;
  unsigned long long pool_capacity; /* capacity of the pool in entries */
  struct mac mac;
  double a_floor;
  float spacing, r2, reach; /* of the lattice; R2; factor on the distance of the criterion, as in hard walks */
  int32_t groups;
  /* the construction stops with more heavy groups, or with more than entries_max entries */
  int32_t heavy_max;
  unsigned long long entries_max;
};

/* Shared memory of one warp: candidates and targets at each of the PLACES positions. A target is stored as -2 x and
 * w = |x|^2 - R2^2 - m, a candidate as x and w = m - |x|^2, where m is the margin2 of each. So a squared distance is
 * tested with three multiplications. */
struct maker_shared {
  uint32_t stack[STACK];
  float4 staged[PLACES][STAGED];
  float4 target[PLACES][TARGET_BLOCK_MAX];
  int32_t source[STAGED];
};

/* Maximum over the lanes of non-negative numbers. */
static __device__ __forceinline__ float warp_max(float x) { return __uint_as_float(warp_max(__float_as_uint(x))); }

/* One warp that constructs the lists of one group at a time. All members but `lane` are the same in all lanes. */
struct maker {
  const struct make_job &job;
  struct maker_shared &w;
  struct maker_buffer &buffer;
  int lane;
  /* the group */
  int32_t begin, end;
  struct frame frame; /* of the group, then of a target block */
  float radius, sink;
  int cells, leaves;
  bool heavy;
  /* a target block */
  int32_t first;
  int size, staged, kept;
  /* of all groups of this warp */
  unsigned long long pool_at, pool_end, tests;
  int longest, entries;

  __device__ maker(const struct make_job &make_job, struct maker_shared &memory, struct maker_buffer &maker_buffer)
      : job(make_job), w(memory), buffer(maker_buffer), lane(lane_id()), pool_at(0), pool_end(0), tests(0), longest(0)
  {
  }

  /* --- the frame --- */

  __device__ struct trajectory_ends ends_of(const struct trajectory &trajectory) const
  {
    struct trajectory_ends e;
    for (int c = 0; c < 3; c++) {
      e.from[c] = (float)(trajectory.from[c] - frame.centre[0][c]) * job.spacing;
      e.to[c] = (float)(trajectory.to[c] - frame.centre[1][c]) * job.spacing;
    }
    return e;
  }

  /* The frame of targets [from, to). */
  __device__ void set_frame(int32_t from, int32_t to)
  {
    int32_t low[2][3], high[2][3];
    float largest = 0;
    for (int c = 0; c < 3; c++) {
      low[0][c] = low[1][c] = INT32_MAX;
      high[0][c] = high[1][c] = INT32_MIN;
    }
    for (int32_t i = from + lane; i < to; i += LANES) {
      const struct trajectory o = load_trajectory(&job.trajectory[i]);
      for (int c = 0; c < 3; c++) {
        low[0][c] = min(low[0][c], o.from[c]);
        high[0][c] = max(high[0][c], o.from[c]);
        low[1][c] = min(low[1][c], o.to[c]);
        high[1][c] = max(high[1][c], o.to[c]);
      }
      largest = fmaxf(largest, o.deviation);
    }
    frame.deviation = warp_max(largest);
    float change[3];
    for (int c = 0; c < 3; c++) {
      for (int k = 0; k < 2; k++) {
        int32_t a = warp_min(low[k][c]), b = warp_max(high[k][c]);
        frame.centre[k][c] = a + (b - a) / 2;
        frame.half[k][c] = (float)(b - frame.centre[k][c]) * job.spacing * (1 + 1e-6f); /* the farther side */
      }
      change[c] = frame.half[1][c] - frame.half[0][c];
    }
    frame.change2 = length2(change);
  }

  /* Set the frame of a group, and the radius of the sphere about the centres of its boxes that contains all members
   * until the horizon. */
  __device__ void set_group(const struct group &group)
  {
    float r2 = 0;
    begin = group.begin;
    end = group.end;
    sink = job.reach * mac_sink(&job.mac, fmax((double)group.a_old, job.a_floor));
    cells = leaves = 0;
    heavy = false;
    set_frame(begin, end);
    for (int32_t i = begin + lane; i < end; i += LANES) {
      struct trajectory_ends e = ends_of(load_trajectory(&job.trajectory[i]));
      r2 = fmaxf(r2, fmaxf(length2(e.from), length2(e.to)));
    }
    radius = sqrtf(warp_max(r2)) * (1 + 1e-6f);
  }

  /* --- traversal --- */

  __device__ void append_leaf(bool mine, int32_t k)
  {
    lane_mask lanes = warp_ballot(mine);
    if (mine) buffer.node[leaves + lane_count(lanes & lanes_below())] = k;
    leaves += lane_count(lanes);
  }
  __device__ void append_cell(bool mine, int32_t k)
  {
    lane_mask lanes = warp_ballot(mine);
    if (mine) buffer.node[NODES_MAX - 1 - cells - lane_count(lanes & lanes_below())] = k;
    cells += lane_count(lanes);
  }

  /* Each lane tests one node (-1: none): it is out of range, or accepted by the group until the horizon, or opened. A
   * leaf of one particle is always opened, because the motion of a node does not include corrections. */
  __device__ void test(int32_t k, int &depth)
  {
    bool cell = false, leaf = false, opened = false;
    int32_t first_child = 0;
    int children = 0;
    if (k >= 0) {
      const struct trajectory o = load_trajectory(&job.trajectory[job.t.bodies + k]);
      const int4 words = ((const int4 *)&job.t.node[k])[1]; /* the node's b, reach, first, info */
      const uint32_t info = (uint32_t)words.w;
      struct trajectory_ends e = ends_of(o);
      float d2 = min_distance2(e), from_box2 = min_box_distance2(frame, e),
            cutoff = job.r2 + frame.deviation + o.deviation;
      float b = __int_as_float(words.x), away = cutoff + o.b, criterion_distance = __int_as_float(words.y) * sink;
      if (o.b > b) criterion_distance = b > 0 ? criterion_distance * mac_stretch(&job.mac, o.b / b) + o.b - b : MAC_FAR;
      float min_distance = radius + fmaxf(criterion_distance, mac_clear(o.b, 0));
      bool accept = (d2 > 0 && d2 >= min_distance * min_distance && info != (NODE_LEAF | 1)) || (info & NODE_TERMINAL);
      bool near = from_box2 <= away * away, is_leaf = (info & NODE_LEAF) != 0;
      cell = accept && from_box2 <= cutoff * cutoff;
      leaf = near && !accept && is_leaf;
      opened = near && !accept && !is_leaf;
      first_child = words.z;
      children = (int)(info & NODE_COUNT);
    }
    lane_mask lanes = warp_ballot(opened);
    if (opened)
      w.stack[depth + lane_count(lanes & lanes_below())] =
          (uint32_t)first_child << COUNT_BITS | (uint32_t)(children - 1);
    depth += lane_count(lanes);
    append_leaf(leaf, k);
    append_cell(cell, k);
    heavy = leaves + cells > NODES_MAX - 2 * LANES;
    warp_sync();
  }

  /* Find the nodes of the group; `heavy` if there are too many. */
  __device__ void traverse(void)
  {
    int depth = 0;
    const struct node root = job.t.node[0];
    if (root.info & (NODE_LEAF | NODE_TERMINAL)) {
      tests++;
      test(lane == 0 ? 0 : -1, depth);
    } else {
      if (lane == 0) w.stack[0] = (uint32_t)root.first << COUNT_BITS | ((root.info & NODE_COUNT) - 1);
      depth = 1;
      warp_sync();
    }
    while (depth > 0 && !heavy) {
      int32_t k = -1, which = lane / BRANCH, child = lane % BRANCH;
      if (which < depth) {
        uint32_t entry = w.stack[depth - 1 - which];
        if (child <= (int)(entry & (BRANCH - 1))) k = (int32_t)(entry >> COUNT_BITS) + child;
      }
      depth = max(depth - OPEN, 0);
      tests += (unsigned long long)lane_count(warp_ballot(k >= 0));
      warp_sync(); /* entries are read before they are overwritten */
      test(k, depth);
    }
  }

  /* --- target blocks --- */

  /* The term of a trajectory with deviation s in the margin on R2^2; the terms of target and source add up. It follows
   * from (R2 + s + s')^2 <= R2^2 + the sum of 2 R2 s + 2 s^2 over both, and from a quarter of the squared relative
   * displacement between two positions being at most the sum of half the squares of both displacements. */
  __device__ float margin2(const struct trajectory_ends &ends, float s) const
  {
    const float between = 1.0f / (PLACES - 1);
    return 2 * s * (job.r2 + s) + 0.5f * between * between * displacement2(ends) +
           ROUNDING * (length2(ends.from) + length2(ends.to));
  }

  /* Position k of PLACES on a trajectory. */
  static __device__ __forceinline__ void place_on(const struct trajectory_ends &ends, int k, float x[3])
  {
    for (int c = 0; c < 3; c++) x[c] = ends.from[c] + (float)k / (PLACES - 1) * (ends.to[c] - ends.from[c]);
  }

  /* The frame and the targets of a target block. */
  __device__ void load_targets(int32_t from, int count)
  {
    first = from;
    size = count;
    staged = kept = 0;
    set_frame(first, first + size);
    warp_sync();
    if (lane < TARGET_BLOCK_MAX) {
      struct trajectory_ends e = {};
      float square = -1e30f;
      if (lane < size) {
        const struct trajectory o = load_trajectory(&job.trajectory[first + lane]);
        e = ends_of(o);
        square = job.r2 * job.r2 + margin2(e, o.deviation);
      }
      for (int k = 0; k < PLACES; k++) {
        float x[3];
        place_on(e, k, x);
        w.target[k][lane] = make_float4(-2 * x[0], -2 * x[1], -2 * x[2], length2(x) - square);
      }
    }
    warp_sync();
  }

  /* Whether the trajectory of a source of radius b (with its deviation) comes within the cut-off of the target
   * block. */
  __device__ bool is_within_cutoff(const struct trajectory_ends &ends, float b) const
  {
    float cutoff = job.r2 + frame.deviation + b;
    return min_box_distance2(frame, ends) <= cutoff * cutoff;
  }

  static __device__ __forceinline__ float product(const float4 &t, const float4 &x)
  {
    return fmaf(x.x, t.x, fmaf(x.y, t.y, fmaf(x.z, t.z, t.w)));
  }

  /* Each lane tests one of the first `count` staged candidates against every target. Candidates that at least one
   * target keeps go to the buffer, with the mask of these targets. */
  __device__ void filter_candidates(int count)
  {
    float4 at[PLACES];
    for (int k = 0; k < PLACES; k++) at[k] = w.staged[k][lane];
    const int32_t source = w.source[lane], self = source - first;
    unsigned mask = 0;
    for (int base = 0; base < size; base += TARGET_BLOCK_UNROLL) {
      unsigned four = 0;
#pragma unroll
      for (int t = 0; t < TARGET_BLOCK_UNROLL; t++) {
        bool keeps = false;
        for (int k = 0; k < PLACES; k++) keeps |= product(w.target[k][base + t], at[k]) <= at[k].w;
        if (keeps) four |= 1u << t;
      }
      mask |= four << base;
    }
    if (self >= 0 && self < size) mask &= ~(1u << self);
    bool mine = lane < count && mask != 0;
    lane_mask lanes = warp_ballot(mine);
    if (mine) buffer.kept[kept + lane_count(lanes & lanes_below())] = make_int2(source, (int)mask);
    kept += lane_count(lanes);
    heavy = kept > KEPT_MAX - LANES;
  }

  /* Each lane stages one source if it comes within the cut-off; staged candidates are tested as soon as they fill a
   * warp. */
  __device__ void consider(bool valid, int32_t source)
  {
    struct trajectory_ends e = {};
    float s = 0;
    if (valid) {
      const struct trajectory o = load_trajectory(&job.trajectory[source]);
      e = ends_of(o);
      s = o.deviation;
      valid = is_within_cutoff(e, s);
    }
    lane_mask lanes = warp_ballot(valid);
    if (valid) {
      int at = staged + lane_count(lanes & lanes_below());
      float margin = margin2(e, s);
      for (int k = 0; k < PLACES; k++) {
        float x[3];
        place_on(e, k, x);
        w.staged[k][at] = make_float4(x[0], x[1], x[2], margin - length2(x));
      }
      w.source[at] = source;
    }
    staged += lane_count(lanes);
    warp_sync();
    if (staged < LANES) return;
    filter_candidates(LANES);
    staged -= LANES;
    warp_sync();
    if (lane < staged) {
      for (int k = 0; k < PLACES; k++) w.staged[k][lane] = w.staged[k][LANES + lane];
      w.source[lane] = w.source[LANES + lane];
    }
    warp_sync();
  }

  /* Stage the particles of leaves, of which each lane gives one (count 0: none). Lanes share the particles evenly. */
  __device__ void consider_leaves(int32_t from, int count)
  {
    int up_to = count;
    for (int step = 1; step < LANES; step *= 2) {
      int below = warp_shuffle_up(up_to, (unsigned)step);
      if (lane >= step) up_to += below;
    }
    int total = warp_shuffle(up_to, LANES - 1);
    int32_t origin = from - (up_to - count); /* the particle with index `place` over all leaves is origin + place */
    for (int base = 0; base < total && !heavy; base += LANES) {
      int place = base + lane, leaf = 0;
      for (int step = LANES / 2; step > 0; step /= 2)
        if (warp_shuffle(up_to, leaf + step - 1) <= place) leaf += step;
      int32_t j = warp_shuffle(origin, leaf) + place;
      consider(place < total, j);
    }
  }

  /* Candidates of the target block, from the cells and leaves of the group. */
  __device__ void find_candidates(void)
  {
    for (int base = 0; base < cells && !heavy; base += LANES) {
      bool valid = base + lane < cells;
      consider(valid, valid ? job.t.bodies + buffer.node[NODES_MAX - 1 - base - lane] : 0);
    }
    for (int base = 0; base < leaves && !heavy; base += LANES) {
      int32_t from = 0;
      int count = 0;
      if (base + lane < leaves) {
        int32_t k = buffer.node[base + lane];
        const struct trajectory o = load_trajectory(&job.trajectory[job.t.bodies + k]);
        const int2 link = *(const int2 *)&job.t.node[k].first;
        from = link.x;
        count = is_within_cutoff(ends_of(o), o.b + o.deviation) ? (int)((uint32_t)link.y & NODE_COUNT) : 0;
      }
      consider_leaves(from, count);
    }
    if (!heavy) filter_candidates(staged);
    warp_sync();
  }

  /* --- lists --- */

  /* Reserve n entries of the pool for this warp. */
  __device__ void reserve(int n)
  {
    if (pool_end - pool_at >= (unsigned long long)n) return;
    unsigned long long more = (unsigned long long)max((int)CHUNK, n);
    if (lane == 0) pool_at = atomicAdd(&job.numbers->top, more);
    pool_at = warp_shuffle(pool_at, 0);
    pool_end = pool_at + more;
  }

  /* Write the list of a target. It is padded with the target itself, which exerts no force. */
  __device__ void write_list(int target)
  {
    reserve((kept + LIST_ROUND - 1) / LIST_ROUND * LIST_ROUND);
    bool fits = pool_end <= job.pool_capacity;
    int n = 0, nodes = 0;
    int32_t *to = job.pool + pool_at;
    for (int base = 0; base < kept; base += LANES) {
      int2 e = {0, 0};
      if (base + lane < kept) e = buffer.kept[base + lane];
      bool mine = (e.y >> target & 1) != 0;
      lane_mask lanes = warp_ballot(mine);
      if (mine && fits) to[n + lane_count(lanes & lanes_below())] = e.x;
      if (cells > 0) nodes += lane_count(warp_ballot(mine && e.x >= job.t.bodies));
      n += lane_count(lanes);
    }
    int rounded = (n + LIST_ROUND - 1) / LIST_ROUND * LIST_ROUND;
    if (n + lane < rounded && fits) to[n + lane] = first + target;
    const struct neighbour_list l = {(uint32_t)(pool_at / LIST_ROUND), (uint16_t)n, (uint16_t)nodes};
    if (lane == 0) job.list[first + target] = l;
    pool_at += (unsigned)rounded;
    entries += n;
    longest = max(longest, n);
  }

  /* Construct the lists of group g. */
  __device__ void visit(int32_t g)
  {
    set_group(job.group[g]);
    warp_sync();
    traverse();
    entries = 0;
    int members = end - begin, target_blocks = (members + TARGET_BLOCK_MAX - 1) / TARGET_BLOCK_MAX;
    for (int s = 0; s < target_blocks && !heavy; s++) {
      int32_t from = begin + s * members / target_blocks;
      load_targets(from, begin + (s + 1) * members / target_blocks - from);
      find_candidates();
      for (int k = 0; k < size && !heavy; k++) write_list(k);
    }
    if (lane == 0) {
      job.heavy[g] = heavy;
      if (entries) atomicAdd(&job.numbers->entries, (unsigned long long)entries);
      if (heavy) atomicAdd(&job.numbers->heavy, 1);
    }
    if (!heavy) return;
    const struct neighbour_list none = {LIST_NONE, 0, 0};
    warp_sync();
    for (int32_t i = begin + lane; i < end; i += LANES) job.list[i] = none;
  }

  /* Add the counters of this warp to those of the construction. */
  __device__ void report(void) const
  {
    if (lane > 0) return;
    if (tests) atomicAdd(&job.device_results->walk.tests, tests);
    atomicMax(&job.numbers->longest, longest);
  }
};

/* Whether the counters already show that lists do not pay: further groups can only increase them. */
static __device__ bool over_budget(const struct make_job &job)
{
  const volatile struct making_numbers *host_results = job.numbers;
  return host_results->heavy > job.heavy_max || host_results->entries > job.entries_max;
}

/* Each warp takes groups from a queue until it is empty. The positions of lists in the pool depend on the order of the
 * warps; the contents of lists do not. */
static __global__ void __launch_bounds__(MAKE_WARPS *LANES) make_lists(const __grid_constant__ struct make_job job)
{
  LAUNCHED_MEMORY(float4, memory);
  int warp = (int)(threadIdx.x / LANES);
  maker make(job, ((struct maker_shared *)memory)[warp], job.buffer[(int64_t)blockIdx.x * MAKE_WARPS + warp]);
  for (;;) {
    int32_t g = 0;
    if (lane_id() == 0) g = over_budget(job) ? job.groups : atomicAdd(&job.numbers->queue, 1);
    g = warp_shuffle(g, 0);
    if (g >= job.groups) break;
    make.visit(g);
    warp_sync();
  }
  make.report();
}

/* Number of thread blocks of the construction: as many as are resident at a time. */
static int64_t make_blocks(const struct device *d)
{
  size_t shared = MAKE_WARPS * sizeof(struct maker_shared);
  int resident;
  CHECK(runtime_allow_shared(make_lists, shared));
  CHECK(runtime_resident_blocks(&resident, make_lists, MAKE_WARPS * LANES, shared));
  int64_t blocks = blocks_for(d->targets.groups, MAKE_WARPS), max_blocks = (int64_t)resident * d->multiprocessors;
  return blocks < max_blocks ? blocks : max_blocks;
}

int64_t neighbours_buffer(const struct device *d)
{
  return make_blocks(d) * MAKE_WARPS * (int64_t)sizeof(struct maker_buffer);
}

int neighbours_make(struct device *d, const struct walk_request *request)
{
  struct hard_state *s = &d->hard;
  struct make_job job = {d->tree.view,
                         d->targets.group.at,
                         s->trajectory.at,
                         s->list.at,
                         s->pool.at,
                         (struct maker_buffer *)s->buffer.at,
                         s->heavy.at,
                         s->numbers,
                         d->device_results,
                         (unsigned long long)(s->pool.capacity - POOL_END),
                         request->mac,
                         request->a_floor,
                         (float)d->lattice.spacing,
                         request->split.r2,
                         hard_reach(d, &request->mac),
                         d->targets.groups,
                         s->heavy_max,
                         s->entries_max};
  CHECK(runtime_set_bytes(s->numbers, 0, sizeof *s->numbers, d->stream));
  LAUNCH_SHARED(d, make_lists, make_blocks(d), MAKE_WARPS * LANES, MAKE_WARPS * sizeof(struct maker_shared), job);
  CHECK(runtime_copy(&s->host_results, s->numbers, sizeof s->host_results, TO_HOST, d->stream));
  gpu_wait(d);
  s->makings++;
  return neighbours_over_budget(s) || s->host_results.top + POOL_END <= (unsigned long long)s->pool.capacity;
}
