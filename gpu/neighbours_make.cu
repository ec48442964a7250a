/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making of neighbour lists: a warp takes a group, finds in the tree the cells that the group accepts and the leaves that it
 * opens, and goes through them once more for each sub-group of targets.
 *
 * Everything moves on straight ways, targets as well as sources, and is described by its places at both ends, each in the
 * frame of the group there. On a straight way relative to another the least distance squared is that of the nearer end,
 * or less by at most a quarter of the squared length of the relative way. */
#include <config.h>
#include "device.cuh"

enum {
  MAKE_WARPS = 4,
  CELLS_MOST = 384,                   /* accepted cells of a group; more make it heavy */
  LEAVES_MOST = 768,                  /* opened leaves of a group */
  SUB_MOST = 16,                      /* targets of a sub-group: bits of a mask */
  SUB_UNROLL = 4,
  STAGED = 2 * WARP,
  BUFFER = 8192,                      /* candidates of a sub-group that at least one target keeps */
  CHUNK = 4096,                       /* entries that a warp takes from the pool at a time */
  BRANCH = 8,
  OPEN = WARP / BRANCH,
  STACK = WARP * (KEY_LEVELS + 1),    /* a level leaves less than WARP cells behind */
  COUNT_BITS = 3
};

struct make_job {
  struct tree t;
  const struct group *group;
  const struct way *way;
  struct neighbour_list *list;
  int32_t *pool;
  int2 *buffer;
  uint8_t *heavy;
  struct making_numbers *numbers;
  unsigned long long room;            /* of the pool */
  struct mac mac;
  double a_floor;
  float spacing, r2;
  int32_t groups;
};

struct maker_room {
  uint32_t stack[STACK];
  int32_t cell[CELLS_MOST], leaf[LEAVES_MOST];
  float4 from[STAGED], to[STAGED];                   /* candidates: .w what their ways add to R2 squared; which source */
  float4 target_from[SUB_MOST], target_to[SUB_MOST]; /* .w the same, with R2 squared */
};

/* Both ends of a way in the frame of a group. */
struct ends {
  float from[3], to[3];
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

static __device__ __forceinline__ struct way load_way(const struct way *from)
{
  const int4 a = ((const int4 *)from)[0], b = ((const int4 *)from)[1];
  const struct way w = {{a.x, a.y, a.z}, __int_as_float(a.w), {b.x, b.y, b.z}, __int_as_float(b.w)};
  return w;
}

static __device__ __forceinline__ float warp_sum(float x)
{
  for (int step = WARP / 2; step > 0; step /= 2) x += __shfl_xor_sync(FULL, x, step);
  return x;
}
/* Of numbers that are not negative. */
static __device__ __forceinline__ float warp_most(float x) { return __uint_as_float(__reduce_max_sync(FULL, __float_as_uint(x))); }

struct maker {
  const struct make_job &job;
  struct maker_room &w;
  int2 *buffer;
  int lane;
  /* the group */
  int32_t begin, end, centre[2][3];
  float radius, sink, stray;
  int cells, leaves;
  bool heavy;
  /* a sub-group */
  int32_t first;
  int size, staged, kept;
  float middle[2][3], out;            /* of its ball; R2 and all margins from there */
  /* of all groups of this warp */
  unsigned long long pool_at, pool_end, entries, tests;
  int heavies, longest;

  __device__ maker(const struct make_job &j, struct maker_room &room, int2 *b)
      : job(j), w(room), buffer(b), lane(lane_id()), pool_at(0), pool_end(0), entries(0), tests(0), heavies(0), longest(0)
  {
  }

  /* --- the group --- */

  __device__ struct ends ends_of(const struct way &o) const
  {
    struct ends e;
    for (int c = 0; c < 3; c++) {
      e.from[c] = (float)(o.from[c] - centre[0][c]) * job.spacing;
      e.to[c] = (float)(o.to[c] - centre[1][c]) * job.spacing;
    }
    return e;
  }

  /* The middle of the box around the members at either end becomes the origin there; the ball about it holds them all the
   * way. */
  __device__ void take_group(const struct group &g)
  {
    int32_t low[2][3], high[2][3];
    begin = g.begin, end = g.end;
    sink = mac_sink(&job.mac, fmax((double)g.a_old, job.a_floor));
    cells = leaves = 0;
    heavy = false;
    for (int c = 0; c < 3; c++) low[0][c] = low[1][c] = INT32_MAX, high[0][c] = high[1][c] = INT32_MIN;
    for (int32_t i = begin + lane; i < end; i += WARP) {
      const struct way o = load_way(&job.way[i]);
      for (int c = 0; c < 3; c++) {
        low[0][c] = min(low[0][c], o.from[c]), high[0][c] = max(high[0][c], o.from[c]);
        low[1][c] = min(low[1][c], o.to[c]), high[1][c] = max(high[1][c], o.to[c]);
      }
    }
    for (int k = 0; k < 2; k++)
      for (int c = 0; c < 3; c++) {
        int32_t least = __reduce_min_sync(FULL, low[k][c]), most = __reduce_max_sync(FULL, high[k][c]);
        centre[k][c] = least + (most - least) / 2;
      }
    float r2 = 0, most = 0;
    for (int32_t i = begin + lane; i < end; i += WARP) {
      const struct way o = load_way(&job.way[i]);
      struct ends e = ends_of(o);
      r2 = fmaxf(r2, fmaxf(length2(e.from), length2(e.to)));
      most = fmaxf(most, o.stray);
    }
    radius = sqrtf(warp_most(r2)) * (1 + 1e-6f);
    stray = warp_most(most);
  }

  /* --- traversal --- */

  __device__ void append(int32_t *list, int &n, int most, bool mine, int32_t value)
  {
    unsigned lanes = __ballot_sync(FULL, mine);
    if (n + __popc(lanes) > most) {
      heavy = true;
      return;
    }
    if (mine) list[n + __popc(lanes & lanes_below())] = value;
    n += __popc(lanes);
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
      float d2 = least2(e), reach = job.r2 + radius + stray + o.stray, grown = o.b - __int_as_float(rest.x);
      float least = radius + fmaxf(__int_as_float(rest.y) * sink + grown, o.b), away = reach + o.b;
      bool accept = (d2 > 0 && d2 >= least * least && info != (NODE_LEAF | 1)) || (info & NODE_TERMINAL);
      bool near = d2 <= away * away, is_leaf = (info & NODE_LEAF) != 0;
      cell = accept && d2 <= reach * reach;
      leaf = near && !accept && is_leaf;
      opened = near && !accept && !is_leaf;
      first_child = rest.z;
      children = (int)(info & NODE_COUNT);
    }
    unsigned lanes = __ballot_sync(FULL, opened);
    if (opened) w.stack[depth + __popc(lanes & lanes_below())] = (uint32_t)first_child << COUNT_BITS | (uint32_t)(children - 1);
    depth += __popc(lanes);
    append(w.cell, cells, CELLS_MOST, cell, k);
    append(w.leaf, leaves, LEAVES_MOST, leaf, k);
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
   * 2 R2 s + 2 s^2, and a quarter of the squared relative way is at most the sum of half their squares. */
  __device__ float margin2(const struct ends &e, float s) const { return 2 * s * (job.r2 + s) + 0.5f * way2(e); }

  __device__ void take_targets(int32_t from, int count)
  {
    struct ends e = {};
    float s = 0, r2 = 0;
    first = from, size = count;
    staged = kept = 0;
    __syncwarp();
    if (lane < size) {
      const struct way o = load_way(&job.way[first + lane]);
      e = ends_of(o);
      s = o.stray;
    }
    if (lane < SUB_MOST) {
      float most = lane < size ? job.r2 * job.r2 + margin2(e, s) : -1e30f;
      w.target_from[lane] = make_float4(e.from[0], e.from[1], e.from[2], most);
      w.target_to[lane] = make_float4(e.to[0], e.to[1], e.to[2], 0);
    }
    float scale = 1.0f / (float)size;
    for (int c = 0; c < 3; c++) {
      middle[0][c] = warp_sum(e.from[c]) * scale;
      middle[1][c] = warp_sum(e.to[c]) * scale;
    }
    if (lane < size) {
      for (int c = 0; c < 3; c++) e.from[c] -= middle[0][c], e.to[c] -= middle[1][c];
      r2 = fmaxf(length2(e.from), length2(e.to));
    }
    out = job.r2 + (sqrtf(warp_most(r2)) + warp_most(s)) * (1 + 1e-6f);
    __syncwarp();
  }

  /* Whether the way of something of radius b comes within reach of the sub-group. */
  __device__ bool comes_near(const struct ends &e, float b) const
  {
    struct ends o;
    for (int c = 0; c < 3; c++) o.from[c] = e.from[c] - middle[0][c], o.to[c] = e.to[c] - middle[1][c];
    float most = out + b;
    return least2(o) <= most * most;
  }

  /* The first `count` staged candidates, one a lane, are tested against every target; those that somebody keeps go to the
   * buffer with a mask of who does. */
  __device__ void judge(int count)
  {
    const float4 a = w.from[lane], b = w.to[lane];
    const int32_t source = __float_as_int(b.w), self = source - first;
    unsigned mask = 0;
    for (int base = 0; base < size; base += SUB_UNROLL) {
      unsigned four = 0;
#pragma unroll
      for (int k = 0; k < SUB_UNROLL; k++) {
        const float4 s = w.target_from[base + k], t = w.target_to[base + k];
        const float d[3] = {a.x - s.x, a.y - s.y, a.z - s.z}, e[3] = {b.x - t.x, b.y - t.y, b.z - t.z};
        if (fminf(length2(d), length2(e)) <= s.w + a.w) four |= 1u << k;
      }
      mask |= four << base;
    }
    if (self >= 0 && self < size) mask &= ~(1u << self);
    bool mine = lane < count && mask != 0;
    unsigned lanes = __ballot_sync(FULL, mine);
    if (kept + WARP > BUFFER) {
      heavy = true;
      return;
    }
    if (mine) buffer[kept + __popc(lanes & lanes_below())] = make_int2(source, (int)mask);
    kept += __popc(lanes);
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
      w.from[at] = make_float4(e.from[0], e.from[1], e.from[2], margin2(e, s));
      w.to[at] = make_float4(e.to[0], e.to[1], e.to[2], __int_as_float(source));
    }
    staged += __popc(lanes);
    __syncwarp();
    if (staged < WARP) return;
    judge(WARP);
    staged -= WARP;
    __syncwarp();
    if (lane < staged) {
      w.from[lane] = w.from[WARP + lane];
      w.to[lane] = w.to[WARP + lane];
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
    for (int base = 0; base < cells && !heavy; base += WARP)
      consider(base + lane < cells, job.t.bodies + w.cell[min(base + lane, cells - 1)]);
    for (int base = 0; base < leaves && !heavy; base += WARP) {
      int32_t from = 0;
      int count = 0;
      if (base + lane < leaves) {
        int32_t k = w.leaf[base + lane];
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

  __device__ void write_list(int target)
  {
    reserve((kept + LIST_ROUND - 1) / LIST_ROUND * LIST_ROUND);
    bool fits = pool_end <= job.room;
    int n = 0, nodes = 0;
    for (int base = 0; base < kept; base += WARP) {
      int2 e = {0, 0};
      if (base + lane < kept) e = buffer[base + lane];
      bool mine = (e.y >> target & 1) != 0;
      unsigned lanes = __ballot_sync(FULL, mine);
      if (mine && fits) job.pool[pool_at + (unsigned)(n + __popc(lanes & lanes_below()))] = e.x;
      nodes += __popc(__ballot_sync(FULL, mine && e.x >= job.t.bodies));
      n += __popc(lanes);
    }
    const struct neighbour_list l = {(uint32_t)(pool_at / LIST_ROUND), (uint16_t)n, (uint16_t)nodes};
    if (lane == 0) job.list[first + target] = l;
    pool_at += (unsigned)((n + LIST_ROUND - 1) / LIST_ROUND * LIST_ROUND);
    entries += (unsigned)n;
    longest = max(longest, n);
  }

  __device__ void visit(int32_t g)
  {
    take_group(job.group[g]);
    __syncwarp();
    traverse();
    int members = end - begin, subs = (members + SUB_MOST - 1) / SUB_MOST;
    for (int s = 0; s < subs && !heavy; s++) {
      int32_t from = begin + s * members / subs;
      take_targets(from, begin + (s + 1) * members / subs - from);
      find_candidates();
      for (int k = 0; k < size && !heavy; k++) write_list(k);
    }
    if (lane == 0) job.heavy[g] = heavy;
    if (!heavy) return;
    heavies++;
    const struct neighbour_list none = {LIST_NONE, 0, 0};
    __syncwarp();
    for (int32_t i = begin + lane; i < end; i += WARP) job.list[i] = none;
  }

  __device__ void report(void) const
  {
    if (lane > 0) return;
    if (tests) atomicAdd(&job.numbers->tests, tests);
    if (entries) atomicAdd(&job.numbers->entries, entries);
    if (heavies) atomicAdd(&job.numbers->heavy, heavies);
    atomicMax(&job.numbers->longest, longest);
  }
};

/* Warps take groups from a queue until it is empty. Where lists stand in the pool depends on who comes first; what is in
 * them does not. */
static __global__ void __launch_bounds__(MAKE_WARPS * WARP) make_lists(const __grid_constant__ struct make_job job)
{
  extern __shared__ float4 memory[];
  int warp = (int)(threadIdx.x / WARP);
  maker make(job, ((struct maker_room *)memory)[warp], job.buffer + (int64_t)BUFFER * ((int64_t)blockIdx.x * MAKE_WARPS + warp));
  for (;;) {
    int32_t g = 0;
    if (lane_id() == 0) g = atomicAdd(&job.numbers->queue, 1);
    g = __shfl_sync(FULL, g, 0);
    if (g >= job.groups) break;
    make.visit(g);
    __syncwarp();
  }
  make.report();
}

int neighbours_make(struct device *d, const struct walk_request *r)
{
  struct neighbours *s = &d->neighbours;
  size_t shared = MAKE_WARPS * sizeof(struct maker_room);
  int resident;
  CHECK(cudaFuncSetAttribute(make_lists, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, make_lists, MAKE_WARPS * WARP, shared));
  int64_t blocks = blocks_for(d->groups, MAKE_WARPS), most = (int64_t)resident * d->multiprocessors;
  if (blocks > most) blocks = most;
  array_room(&s->buffer, "device neighbours", blocks * MAKE_WARPS * BUFFER);
  struct make_job job = {d->tree, d->group.at, s->way.at, s->list.at, s->pool.at, s->buffer.at, s->heavy.at, s->numbers,
                         (unsigned long long)s->pool.room, r->mac, r->a_floor, (float)d->lattice.spacing, r->split.r2, d->groups};
  CHECK(cudaMemsetAsync(s->numbers, 0, sizeof *s->numbers, d->stream));
  LAUNCH_SHARED(d, make_lists, blocks, MAKE_WARPS * WARP, shared, job);
  CHECK(cudaMemcpyAsync(&s->told, s->numbers, sizeof s->told, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
  s->makings++;
  return s->told.top <= (unsigned long long)s->pool.room;
}
