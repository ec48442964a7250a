/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making of neighbour lists: a warp takes a group, finds in the tree the cells that the group accepts and the leaves that it
 * opens, and goes through them once more for each sub-group of targets.
 *
 * Everything moves on straight ways, targets as well as sources, and is described by its places at both ends, each in the
 * frame of the targets there. On a straight way relative to another the least distance squared is that of the nearer end,
 * or less by at most a quarter of the squared length of the relative way. What comes near a sub-group is compared with its
 * targets at places between the ends too, so that only the way from one place to the next counts. */
#include <config.h>
#include "cells.cuh"

enum {
  MAKE_WARPS = 4,
  NODES_MOST = 2048,                  /* accepted cells and opened leaves of a group; more make it heavy */
  KEPT_MOST = 2048,                   /* candidates of a sub-group that at least one target keeps; the same */
  SUB_MOST = 16,                      /* targets of a sub-group: bits of a mask */
  SUB_UNROLL = 4,
  PLACES = 3,                         /* of a way, evenly from end to end, at which particles and targets are compared */
  STAGED = 2 * WARP,
  CHUNK = 4096,                       /* entries that a warp takes from the pool at a time */
  BRANCH = 8,
  OPEN = WARP / BRANCH,
  STACK = WARP * (KEY_LEVELS + 1),    /* a level leaves less than WARP cells behind */
  COUNT_BITS = 3
};

/* Squares and products of coordinates in the frame of a sub-group are rounded: tests allow for it. */
#define ROUNDING 1e-6f

/* What a warp keeps in global memory. */
struct maker_buffer {
  int2 kept[KEPT_MOST];               /* a source, and which targets keep it */
  int32_t node[NODES_MOST];           /* leaves from the front, cells from the back */
};

struct make_job {
  struct tree t;
  const struct group *group;
  const struct way *way;
  struct neighbour_list *list;
  int32_t *pool;
  struct maker_buffer *buffer;
  uint8_t *heavy;
  struct making_numbers *numbers;
  struct answers *answers;
  unsigned long long room;            /* of the pool */
  struct mac mac;
  double a_floor;
  float spacing, r2, reach;           /* of what the criterion asks for, as in hard walks */
  int32_t groups;
  int32_t heavy_most;                 /* with more, or so many entries in all, lists are given up */
  unsigned long long entries_most;
};

/* Candidates and targets: their places. `w` of a target is |x|^2 less what it adds to the square of R2, with R2 squared; that of
 * a candidate is what it adds, less |x|^2; targets' coordinates are times -2. So the square of a distance is tested with three
 * multiplications. */
struct maker_room {
  uint32_t stack[STACK];
  float4 staged[PLACES][STAGED];
  float4 target[PLACES][SUB_MOST];
  int32_t source[STAGED];
};

/* Both ends of a way in a frame. */
struct ends {
  float from[3], to[3];
};

/* The frame of some targets: the middle of the box around them at either end is the origin there. */
struct frame {
  int32_t centre[2][3];
  float half[2][3];                   /* of the boxes */
  float change2;                      /* squared length of the boxes' change */
  float stray;                        /* the largest */
};

static __device__ __forceinline__ float length2(const float x[3]) { return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]; }

static __device__ __forceinline__ float way2(const struct ends &e)
{
  const float d[3] = {e.to[0] - e.from[0], e.to[1] - e.from[1], e.to[2] - e.from[2]};
  return length2(d);
}

/* At most the least distance squared between the way and the origin. */
static __device__ __forceinline__ float least2(const struct ends &e)
{
  return fmaxf(fminf(length2(e.from), length2(e.to)) - 0.25f * way2(e), 0);
}

static __device__ __forceinline__ float box2(const float x[3], const float half[3])
{
  const float d[3] = {fmaxf(fabsf(x[0]) - half[0], 0), fmaxf(fabsf(x[1]) - half[1], 0), fmaxf(fabsf(x[2]) - half[2], 0)};
  return length2(d);
}

/* At most the least distance squared between the way and what moves on straight ways within the boxes: the squared relative
 * way is at most twice the sum of both squares. May be negative. */
static __device__ __forceinline__ float least_box2(const struct frame &f, const struct ends &e)
{
  return fminf(box2(e.from, f.half[0]), box2(e.to, f.half[1])) - 0.5f * (way2(e) + f.change2);
}

static __device__ __forceinline__ struct way load_way(const struct way *from)
{
  const int4 a = ((const int4 *)from)[0], b = ((const int4 *)from)[1];
  const struct way w = {{a.x, a.y, a.z}, __int_as_float(a.w), {b.x, b.y, b.z}, __int_as_float(b.w)};
  return w;
}

/* Of numbers that are not negative. */
static __device__ __forceinline__ float warp_most(float x) { return __uint_as_float(__reduce_max_sync(FULL, __float_as_uint(x))); }

struct maker {
  const struct make_job &job;
  struct maker_room &w;
  struct maker_buffer &buffer;
  int lane;
  /* the group */
  int32_t begin, end;
  struct frame frame;                 /* later of a sub-group */
  float radius, sink;
  int cells, leaves;
  bool heavy;
  /* a sub-group */
  int32_t first;
  int size, staged, kept;
  /* of all groups of this warp */
  unsigned long long pool_at, pool_end, tests;
  int longest, entries;

  __device__ maker(const struct make_job &j, struct maker_room &room, struct maker_buffer &b)
      : job(j), w(room), buffer(b), lane(lane_id()), pool_at(0), pool_end(0), tests(0), longest(0)
  {
  }

  /* --- the frame --- */

  __device__ struct ends ends_of(const struct way &o) const
  {
    struct ends e;
    for (int c = 0; c < 3; c++) {
      e.from[c] = (float)(o.from[c] - frame.centre[0][c]) * job.spacing;
      e.to[c] = (float)(o.to[c] - frame.centre[1][c]) * job.spacing;
    }
    return e;
  }

  /* The frame of targets [from, to). */
  __device__ void take_frame(int32_t from, int32_t to)
  {
    int32_t low[2][3], high[2][3];
    float most = 0;
    for (int c = 0; c < 3; c++) low[0][c] = low[1][c] = INT32_MAX, high[0][c] = high[1][c] = INT32_MIN;
    for (int32_t i = from + lane; i < to; i += WARP) {
      const struct way o = load_way(&job.way[i]);
      for (int c = 0; c < 3; c++) {
        low[0][c] = min(low[0][c], o.from[c]), high[0][c] = max(high[0][c], o.from[c]);
        low[1][c] = min(low[1][c], o.to[c]), high[1][c] = max(high[1][c], o.to[c]);
      }
      most = fmaxf(most, o.stray);
    }
    frame.stray = warp_most(most);
    float change[3];
    for (int c = 0; c < 3; c++) {
      for (int k = 0; k < 2; k++) {
        int32_t a = __reduce_min_sync(FULL, low[k][c]), b = __reduce_max_sync(FULL, high[k][c]);
        frame.centre[k][c] = a + (b - a) / 2;
        frame.half[k][c] = (float)(b - frame.centre[k][c]) * job.spacing * (1 + 1e-6f);   /* the farther side */
      }
      change[c] = frame.half[1][c] - frame.half[0][c];
    }
    frame.change2 = length2(change);
  }

  /* The ball about the middle of the boxes that holds all members all the way. */
  __device__ void take_group(const struct group &g)
  {
    float r2 = 0;
    begin = g.begin, end = g.end;
    sink = job.reach * mac_sink(&job.mac, fmax((double)g.a_old, job.a_floor));
    cells = leaves = 0;
    heavy = false;
    take_frame(begin, end);
    for (int32_t i = begin + lane; i < end; i += WARP) {
      struct ends e = ends_of(load_way(&job.way[i]));
      r2 = fmaxf(r2, fmaxf(length2(e.from), length2(e.to)));
    }
    radius = sqrtf(warp_most(r2)) * (1 + 1e-6f);
  }

  /* --- traversal --- */

  __device__ void append_leaf(bool mine, int32_t k)
  {
    unsigned lanes = __ballot_sync(FULL, mine);
    if (mine) buffer.node[leaves + __popc(lanes & lanes_below())] = k;
    leaves += __popc(lanes);
  }
  __device__ void append_cell(bool mine, int32_t k)
  {
    unsigned lanes = __ballot_sync(FULL, mine);
    if (mine) buffer.node[NODES_MOST - 1 - cells - __popc(lanes & lanes_below())] = k;
    cells += __popc(lanes);
  }

  /* One node a lane (-1: none): beyond reach, or accepted by the group all the way, or opened. A particle alone is always
   * a particle: a cell would not know of its corrections. */
  __device__ void test(int32_t k, int &depth)
  {
    bool cell = false, leaf = false, opened = false;
    int32_t first_child = 0;
    int children = 0;
    if (k >= 0) {
      const struct way o = load_way(&job.way[job.t.bodies + k]);
      const int4 rest = ((const int4 *)&job.t.node[k])[1];   /* b, reach, first, info */
      const uint32_t info = (uint32_t)rest.w;
      struct ends e = ends_of(o);
      float d2 = least2(e), from_box2 = least_box2(frame, e), reach = job.r2 + frame.stray + o.stray;
      float b = __int_as_float(rest.x), away = reach + o.b, asked = __int_as_float(rest.y) * sink;
      if (o.b > b) asked = b > 0 ? asked * mac_stretch(&job.mac, o.b / b) + o.b - b : MAC_FAR;
      float least = radius + fmaxf(asked, o.b);
      bool accept = (d2 > 0 && d2 >= least * least && info != (NODE_LEAF | 1)) || (info & NODE_TERMINAL);
      bool near = from_box2 <= away * away, is_leaf = (info & NODE_LEAF) != 0;
      cell = accept && from_box2 <= reach * reach;
      leaf = near && !accept && is_leaf;
      opened = near && !accept && !is_leaf;
      first_child = rest.z;
      children = (int)(info & NODE_COUNT);
    }
    unsigned lanes = __ballot_sync(FULL, opened);
    if (opened) w.stack[depth + __popc(lanes & lanes_below())] = (uint32_t)first_child << COUNT_BITS | (uint32_t)(children - 1);
    depth += __popc(lanes);
    append_leaf(leaf, k);
    append_cell(cell, k);
    heavy = leaves + cells > NODES_MOST - 2 * WARP;
    __syncwarp();
  }

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
      __syncwarp();
    }
    while (depth > 0 && !heavy) {
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

  /* --- sub-groups --- */

  /* What a way adds to the square of R2, so that these can be added for two: (R2 + s + s')^2 <= R2^2 + the sum of
   * 2 R2 s + 2 s^2, and a quarter of the squared relative way between two places is at most the sum of half their squares. */
  __device__ float margin2(const struct ends &e, float s) const
  {
    const float between = 1.0f / (PLACES - 1);
    return 2 * s * (job.r2 + s) + 0.5f * between * between * way2(e) + ROUNDING * (length2(e.from) + length2(e.to));
  }

  static __device__ __forceinline__ void place_on(const struct ends &e, int k, float x[3])
  {
    for (int c = 0; c < 3; c++) x[c] = e.from[c] + (float)k / (PLACES - 1) * (e.to[c] - e.from[c]);
  }

  __device__ void take_targets(int32_t from, int count)
  {
    first = from, size = count;
    staged = kept = 0;
    take_frame(first, first + size);
    __syncwarp();
    if (lane < SUB_MOST) {
      struct ends e = {};
      float most = -1e30f;
      if (lane < size) {
        const struct way o = load_way(&job.way[first + lane]);
        e = ends_of(o);
        most = job.r2 * job.r2 + margin2(e, o.stray);
      }
      for (int k = 0; k < PLACES; k++) {
        float x[3];
        place_on(e, k, x);
        w.target[k][lane] = make_float4(-2 * x[0], -2 * x[1], -2 * x[2], length2(x) - most);
      }
    }
    __syncwarp();
  }

  /* Whether the way of something of radius b (strays included) comes within reach of the sub-group. */
  __device__ bool comes_near(const struct ends &e, float b) const
  {
    float most = job.r2 + frame.stray + b;
    return least_box2(frame, e) <= most * most;
  }

  static __device__ __forceinline__ float product(const float4 &t, const float4 &x)
  {
    return fmaf(x.x, t.x, fmaf(x.y, t.y, fmaf(x.z, t.z, t.w)));
  }

  /* The first `count` staged candidates, one a lane, are tested against every target; those that somebody keeps go to the
   * buffer with a mask of who does. */
  __device__ void judge(int count)
  {
    float4 at[PLACES];
    for (int k = 0; k < PLACES; k++) at[k] = w.staged[k][lane];
    const int32_t source = w.source[lane], self = source - first;
    unsigned mask = 0;
    for (int base = 0; base < size; base += SUB_UNROLL) {
      unsigned four = 0;
#pragma unroll
      for (int t = 0; t < SUB_UNROLL; t++) {
        bool keeps = false;
        for (int k = 0; k < PLACES; k++) keeps |= product(w.target[k][base + t], at[k]) <= at[k].w;
        if (keeps) four |= 1u << t;
      }
      mask |= four << base;
    }
    if (self >= 0 && self < size) mask &= ~(1u << self);
    bool mine = lane < count && mask != 0;
    unsigned lanes = __ballot_sync(FULL, mine);
    if (mine) buffer.kept[kept + __popc(lanes & lanes_below())] = make_int2(source, (int)mask);
    kept += __popc(lanes);
    heavy = kept > KEPT_MOST - WARP;
  }

  /* One source a lane. */
  __device__ void consider(bool there, int32_t source)
  {
    struct ends e = {};
    float s = 0;
    if (there) {
      const struct way o = load_way(&job.way[source]);
      e = ends_of(o);
      s = o.stray;
      there = comes_near(e, s);
    }
    unsigned lanes = __ballot_sync(FULL, there);
    if (there) {
      int at = staged + __popc(lanes & lanes_below());
      float margin = margin2(e, s);
      for (int k = 0; k < PLACES; k++) {
        float x[3];
        place_on(e, k, x);
        w.staged[k][at] = make_float4(x[0], x[1], x[2], margin - length2(x));
      }
      w.source[at] = source;
    }
    staged += __popc(lanes);
    __syncwarp();
    if (staged < WARP) return;
    judge(WARP);
    staged -= WARP;
    __syncwarp();
    if (lane < staged) {
      for (int k = 0; k < PLACES; k++) w.staged[k][lane] = w.staged[k][WARP + lane];
      w.source[lane] = w.source[WARP + lane];
    }
    __syncwarp();
  }

  /* The particles of leaves, one leaf a lane (count 0: none). Lanes share them evenly. */
  __device__ void consider_leaves(int32_t from, int count)
  {
    int up_to = count;
    for (int step = 1; step < WARP; step *= 2) {
      int below = __shfl_up_sync(FULL, up_to, (unsigned)step);
      if (lane >= step) up_to += below;
    }
    int total = __shfl_sync(FULL, up_to, WARP - 1);
    int32_t origin = from - (up_to - count);   /* so that the particle of a place is origin + place */
    for (int base = 0; base < total && !heavy; base += WARP) {
      int place = base + lane, leaf = 0;
      for (int step = WARP / 2; step > 0; step /= 2)
        if (__shfl_sync(FULL, up_to, leaf + step - 1) <= place) leaf += step;
      int32_t j = __shfl_sync(FULL, origin, leaf) + place;
      consider(place < total, j);
    }
  }

  __device__ void find_candidates(void)
  {
    for (int base = 0; base < cells && !heavy; base += WARP) {
      bool there = base + lane < cells;
      consider(there, there ? job.t.bodies + buffer.node[NODES_MOST - 1 - base - lane] : 0);
    }
    for (int base = 0; base < leaves && !heavy; base += WARP) {
      int32_t from = 0;
      int count = 0;
      if (base + lane < leaves) {
        int32_t k = buffer.node[base + lane];
        const struct way o = load_way(&job.way[job.t.bodies + k]);
        const int2 link = *(const int2 *)&job.t.node[k].first;
        from = link.x;
        count = comes_near(ends_of(o), o.b + o.stray) ? (int)((uint32_t)link.y & NODE_COUNT) : 0;
      }
      consider_leaves(from, count);
    }
    if (!heavy) judge(staged);
    __syncwarp();
  }

  /* --- lists --- */

  /* Room for n entries in this warp's piece of the pool. */
  __device__ void reserve(int n)
  {
    if (pool_end - pool_at >= (unsigned long long)n) return;
    unsigned long long more = (unsigned long long)max((int)CHUNK, n);
    if (lane == 0) pool_at = atomicAdd(&job.numbers->top, more);
    pool_at = __shfl_sync(FULL, pool_at, 0);
    pool_end = pool_at + more;
  }

  /* Lists are filled up with the target itself, which does not pull. */
  __device__ void write_list(int target)
  {
    reserve((kept + LIST_ROUND - 1) / LIST_ROUND * LIST_ROUND);
    bool fits = pool_end <= job.room;
    int n = 0, nodes = 0;
    int32_t *to = job.pool + pool_at;
    for (int base = 0; base < kept; base += WARP) {
      int2 e = {0, 0};
      if (base + lane < kept) e = buffer.kept[base + lane];
      bool mine = (e.y >> target & 1) != 0;
      unsigned lanes = __ballot_sync(FULL, mine);
      if (mine && fits) to[n + __popc(lanes & lanes_below())] = e.x;
      if (cells > 0) nodes += __popc(__ballot_sync(FULL, mine && e.x >= job.t.bodies));
      n += __popc(lanes);
    }
    int rounded = (n + LIST_ROUND - 1) / LIST_ROUND * LIST_ROUND;
    if (n + lane < rounded && fits) to[n + lane] = first + target;
    const struct neighbour_list l = {(uint32_t)(pool_at / LIST_ROUND), (uint16_t)n, (uint16_t)nodes};
    if (lane == 0) job.list[first + target] = l;
    pool_at += (unsigned)rounded;
    entries += n;
    longest = max(longest, n);
  }

  __device__ void visit(int32_t g)
  {
    take_group(job.group[g]);
    __syncwarp();
    traverse();
    entries = 0;
    int members = end - begin, subs = (members + SUB_MOST - 1) / SUB_MOST;
    for (int s = 0; s < subs && !heavy; s++) {
      int32_t from = begin + s * members / subs;
      take_targets(from, begin + (s + 1) * members / subs - from);
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
    __syncwarp();
    for (int32_t i = begin + lane; i < end; i += WARP) job.list[i] = none;
  }

  __device__ void report(void) const
  {
    if (lane > 0) return;
    if (tests) atomicAdd(&job.answers->tests, tests);
    atomicMax(&job.numbers->longest, longest);
  }
};

/* Whether what is known already says that lists would not pay: more groups do not make it less. */
static __device__ bool given_up(const struct make_job &job)
{
  const volatile struct making_numbers *told = job.numbers;
  return told->heavy > job.heavy_most || told->entries > job.entries_most;
}

/* Warps take groups from a queue until it is empty. Where lists stand in the pool depends on who comes first; what is in
 * them does not. */
static __global__ void __launch_bounds__(MAKE_WARPS * WARP) make_lists(const __grid_constant__ struct make_job job)
{
  extern __shared__ float4 memory[];
  int warp = (int)(threadIdx.x / WARP);
  maker make(job, ((struct maker_room *)memory)[warp], job.buffer[(int64_t)blockIdx.x * MAKE_WARPS + warp]);
  for (;;) {
    int32_t g = 0;
    if (lane_id() == 0) g = given_up(job) ? job.groups : atomicAdd(&job.numbers->queue, 1);
    g = __shfl_sync(FULL, g, 0);
    if (g >= job.groups) break;
    make.visit(g);
    __syncwarp();
  }
  make.report();
}

/* Blocks of the making: as many as are there at once. */
static int64_t make_blocks(const struct device *d)
{
  size_t shared = MAKE_WARPS * sizeof(struct maker_room);
  int resident;
  CHECK(cudaFuncSetAttribute(make_lists, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, make_lists, MAKE_WARPS * WARP, shared));
  int64_t blocks = blocks_for(d->groups, MAKE_WARPS), most = (int64_t)resident * d->multiprocessors;
  return blocks < most ? blocks : most;
}

int64_t neighbours_buffer(const struct device *d) { return make_blocks(d) * MAKE_WARPS * (int64_t)sizeof(struct maker_buffer); }

int neighbours_make(struct device *d, const struct walk_request *r)
{
  struct neighbours *s = &d->neighbours;
  struct make_job job = {d->tree, d->group.at, s->way.at, s->list.at, s->pool.at, (struct maker_buffer *)s->buffer.at,
                         s->heavy.at, s->numbers, d->answers, (unsigned long long)(s->pool.room - POOL_END), r->mac, r->a_floor,
                         (float)d->lattice.spacing, r->split.r2, hard_reach(d, &r->mac), d->groups, s->heavy_most, s->entries_most};
  CHECK(cudaMemsetAsync(s->numbers, 0, sizeof *s->numbers, d->stream));
  LAUNCH_SHARED(d, make_lists, make_blocks(d), MAKE_WARPS * WARP, MAKE_WARPS * sizeof(struct maker_room), job);
  CHECK(cudaMemcpyAsync(&s->told, s->numbers, sizeof s->told, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
  s->makings++;
  return neighbours_given_up(s) || s->told.top + POOL_END <= (unsigned long long)s->pool.room;
}
