/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct sums over all pairs, and the rate at which they go: the ceiling of the walk.
 *
 * A thread keeps some targets in registers and sums up the pulls of every S-th source; the S threads next to each other
 * that share its targets add up at the end, through registers, without synchronisation (Miki et al. 2012). So S parts the
 * work more finely where there are few targets. Blocks stage the sources tile by tile in shared memory, relative to their
 * own centre: lattice coordinates are subtracted in integers, and a source's place is rounded to 2^-24 of its distance from
 * the centre. Where that is not small beside the softening, in blocks whose targets are scattered, every pair's difference
 * is taken in integers. */
#include <config.h>
#include <math.h>
#include <stdlib.h>

#include "pairs.cuh"
#include "pairwise.cuh"
#include "sources.cuh"
#include "timeline.h"

enum {
  PAIR_THREADS = 256,
  PAIR_STAGED = 4,             /* sources that a thread stages at once */
  PAIR_TILE = PAIR_STAGED * PAIR_THREADS,
  SHARE_MOST = WARP,           /* S = 1, 2, 4, ... */
  SHARE_LEAST = 4,             /* of those that are chosen: fewer gain nothing */
  TARGETS_MOST = 4,            /* in a thread's registers */
  SCATTERED = 1024             /* a block is, whose targets are so many softenings from its centre: pairs are off by 6e-5 of it */
};

/* Up to so many particles direct sums are faster than the tree (doc/measurements.md). */
enum { DIRECT_MOST = 16384 };

struct pairs_job {
  const struct body *source;
  const int32_t *list;    /* of targets, NULL: all */
  int32_t sources, targets;
  float scale;            /* of lattice differences: a power of two, so that it rounds nothing */
  float eps2;             /* in the scale's unit, as the radii of the split */
  int32_t scattered;      /* on the lattice */
  struct split split;
  struct particles p;     /* take the results */
  double to_acc, to_pot;  /* from the sums' unit */
  float kept;             /* of the particles' work */
  int hard_only, potential;
};

bool pairwise_serves(const struct device *d)
{
  if (d->config.method == METHOD_DIRECT) return true;
  return d->config.method == METHOD_AUTO && d->config.ranks == 1 && d->p.n <= DIRECT_MOST;
}

/* --- sums -------------------------------------------------------------------------------------------------------- */

template <bool TOTAL, int SPLIT>
static __device__ __forceinline__ void pull(struct force &f, float dx, float dy, float dz, float m, float eps2, const struct split &split)
{
  float near2 = SPLIT == SPLIT_NONE ? eps2 : 0, r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, near2)));
  float inverse = inverse_root(SPLIT == SPLIT_NONE ? r2 : r2 + eps2), w = m * inverse;
  if (TOTAL) f.p += w;
  w *= inverse * inverse;
  if (TOTAL) f.a[0] = fmaf(w, dx, f.a[0]), f.a[1] = fmaf(w, dy, f.a[1]), f.a[2] = fmaf(w, dz, f.a[2]);
  if (SPLIT == SPLIT_NONE) return;
  w *= pair_hard<SPLIT>(split, r2);
  f.h[0] = fmaf(w, dx, f.h[0]), f.h[1] = fmaf(w, dy, f.h[1]), f.h[2] = fmaf(w, dz, f.h[2]);
}

static __device__ __forceinline__ int4 source_at(const struct pairs_job &job, int32_t j, const int4 &centre)
{
  if (j < job.sources) return ((const int4 *)job.source)[j];
  return make_int4(centre.x, centre.y, centre.z, 0);   /* behind the last one: nothing that pulls */
}

static __device__ __forceinline__ int4 target_at(const struct pairs_job &job, int32_t k)
{
  return ((const int4 *)job.source)[job.list ? job.list[k] : k];
}

static __device__ __forceinline__ float difference(int32_t a, int32_t b, float scale) { return (float)(a - b) * scale; }
static __device__ __forceinline__ float difference(float a, float b, float scale)
{
  const int32_t d = __float_as_int(a) - __float_as_int(b);
  return (float)d * scale;
}

static __device__ __forceinline__ float4 as_bits(const int4 &b)
{
  return make_float4(__int_as_float(b.x), __int_as_float(b.y), __int_as_float(b.z), __int_as_float(b.w));
}
static __device__ __forceinline__ float4 relative(const int4 &b, const int4 &c, float scale)
{
  return make_float4(difference(b.x, c.x, scale), difference(b.y, c.y, scale), difference(b.z, c.z, scale), __int_as_float(b.w));
}

/* Add the pulls of this thread's share of all sources on K targets. EXACT: `x` and the tiles hold the bits of lattice
 * coordinates; else places relative to the centre. */
template <int K, int S, bool TOTAL, int SPLIT, bool EXACT>
static __device__ __forceinline__ void sum_tiles(const struct pairs_job &job, const int4 &centre, const float (&x)[K][3],
                                                 struct force (&f)[K], float4 (*tile)[PAIR_TILE])
{
  constexpr int UNROLL = EXACT ? 1 : SPLIT != SPLIT_NONE ? 2 : S > 8 ? 4 : 8, MINE = PAIR_STAGED;
  int4 next[MINE];
#pragma unroll
  for (int q = 0; q < MINE; q++) next[q] = source_at(job, q * PAIR_THREADS + (int32_t)threadIdx.x, centre);
  for (int32_t base = 0, turn = 0; base < job.sources; base += PAIR_TILE, turn ^= 1) {
    float4 *t = tile[turn];   /* the other one may still be read */
#pragma unroll
    for (int q = 0; q < MINE; q++) t[q * PAIR_THREADS + threadIdx.x] = EXACT ? as_bits(next[q]) : relative(next[q], centre, job.scale);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < MINE; q++) next[q] = source_at(job, base + PAIR_TILE + q * PAIR_THREADS + (int32_t)threadIdx.x, centre);
    const float4 *at = t + threadIdx.x % S;
    for (int32_t left = min((int32_t)PAIR_TILE, job.sources - base); left > 0; left -= S * UNROLL, at += S * UNROLL) {
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        const float4 e = at[u * S];
#pragma unroll
        for (int k = 0; k < K; k++) {
          if (EXACT)
            pull<TOTAL, SPLIT>(f[k], difference(e.x, x[k][0], job.scale), difference(e.y, x[k][1], job.scale),
                               difference(e.z, x[k][2], job.scale), e.w, job.eps2, job.split);
          else
            pull<TOTAL, SPLIT>(f[k], e.x - x[k][0], e.y - x[k][1], e.z - x[k][2], e.w, job.eps2, job.split);
        }
      }
    }
  }
}

template <bool TOTAL, int SPLIT>
static __device__ __forceinline__ void store(const struct pairs_job &job, int32_t k, const struct force &f)
{
  int64_t i = job.list ? job.list[k] : k;
  job.p.work[i] = job.kept * job.p.work[i] + (float)job.sources;
  for (int c = 0; c < 3; c++) {
    float a = (float)(job.to_acc * f.a[c]), h = SPLIT == SPLIT_NONE ? a : (float)(job.to_acc * f.h[c]);
    if (TOTAL && !job.hard_only) job.p.acc[3 * i + c] = a;
    job.p.acc_hard[3 * i + c] = h;
  }
  float self = __int_as_float(((const int4 *)job.source)[i].w) * inverse_root(job.eps2);   /* its own part, as it was summed */
  if (TOTAL && job.potential) job.p.pot[i] = (float)(-job.to_pot * (f.p - self));
}

/* The threads that share targets add up; the first of them stores. */
template <int K, int S, bool TOTAL, int SPLIT>
static __device__ __forceinline__ void finish(const struct pairs_job &job, int32_t mine, struct force (&f)[K])
{
#pragma unroll
  for (int k = 0; k < K; k++)
    for (int step = S / 2; step > 0; step /= 2) {
      for (int c = 0; c < 3 && TOTAL; c++) f[k].a[c] += __shfl_xor_sync(FULL, f[k].a[c], step);
      for (int c = 0; c < 3 && SPLIT != SPLIT_NONE; c++) f[k].h[c] += __shfl_xor_sync(FULL, f[k].h[c], step);
      if (TOTAL) f[k].p += __shfl_xor_sync(FULL, f[k].p, step);
    }
  if (threadIdx.x % S > 0) return;
#pragma unroll
  for (int k = 0; k < K; k++)
    if (mine + k * (PAIR_THREADS / S) < job.targets) store<TOTAL, SPLIT>(job, mine + k * (PAIR_THREADS / S), f[k]);
}

static __device__ __forceinline__ int32_t away(const int4 &b, const int4 &centre)
{
  return max(abs(b.x - centre.x), max(abs(b.y - centre.y), abs(b.z - centre.z)));
}

/* A block has PAIR_THREADS / S * K consecutive targets; where they are scattered, sum_scattered sums up instead: with both
 * loops this kernel would be slower by a twelfth. Told that one block a multiprocessor is enough, the compiler takes 96
 * registers, not 64, and the loop is faster by some percent. */
template <int K, int S, bool TOTAL, int SPLIT>
static __global__ void __launch_bounds__(PAIR_THREADS, 1) sum_pairs(const __grid_constant__ struct pairs_job job)
{
  __shared__ float4 tile[2][PAIR_TILE];
  constexpr int ROWS = PAIR_THREADS / S;
  int32_t last = job.targets - 1, first = (int32_t)blockIdx.x * ROWS * K, mine = first + (int32_t)threadIdx.x / S, far = 0;
  const int4 centre = target_at(job, min(first + ROWS * K / 2, last));
  struct force f[K] = {};
  float x[K][3];
#pragma unroll
  for (int k = 0; k < K; k++) {
    const int4 b = target_at(job, min(mine + k * ROWS, last));
    const float4 e = relative(b, centre, job.scale);
    far = max(far, away(b, centre));
    x[k][0] = e.x, x[k][1] = e.y, x[k][2] = e.z;
  }
  if (__syncthreads_or(far > job.scattered)) return;
  sum_tiles<K, S, TOTAL, SPLIT, false>(job, centre, x, f, tile);
  finish<K, S, TOTAL, SPLIT>(job, mine, f);
}

/* The blocks of sum_pairs, of `parent` targets each, whose targets are scattered; in smaller ones, for they are few. */
template <int K, bool TOTAL, int SPLIT>
static __global__ void __launch_bounds__(PAIR_THREADS, 1) sum_scattered(const __grid_constant__ struct pairs_job job, int32_t parent)
{
  __shared__ float4 tile[2][PAIR_TILE];
  constexpr int S = SHARE_MOST, ROWS = PAIR_THREADS / S;
  int32_t last = job.targets - 1, first = (int32_t)blockIdx.x * ROWS * K, mine = first + (int32_t)threadIdx.x / S, far = 0;
  int32_t from = first / parent * parent;
  const int4 centre = target_at(job, min(from + parent / 2, last));
  for (int32_t k = (int32_t)threadIdx.x; k < parent; k += PAIR_THREADS) far = max(far, away(target_at(job, min(from + k, last)), centre));
  if (!__syncthreads_or(far > job.scattered)) return;
  struct force f[K] = {};
  float x[K][3];
#pragma unroll
  for (int k = 0; k < K; k++) {
    const float4 e = as_bits(target_at(job, min(mine + k * ROWS, last)));
    x[k][0] = e.x, x[k][1] = e.y, x[k][2] = e.z;
  }
  sum_tiles<K, S, TOTAL, SPLIT, true>(job, centre, x, f, tile);
  finish<K, S, TOTAL, SPLIT>(job, mine, f);
}

/* --- how the work is parted -------------------------------------------------------------------------------------- */

/* K targets in a thread's registers (1 or TARGETS_MOST), S threads to a target (SHARE_MOST with a split). */
struct shape {
  int targets, share;
};

/* What a share costs beside its pairs, as a part of them: sources are read and sums added up S times as often. Measured. */
#define SHARE_COST 2.5e-3

/* The S with which the multiprocessor that has most blocks is done first, of one block or of many alike. Where there would
 * not be a block for each, a thread has one target. `share` above 0 is taken as it is. */
static struct shape choose_shape(const struct device *d, int64_t targets, int share, bool split)
{
  struct shape s = {TARGETS_MOST, share > 0 && !split ? share : SHARE_MOST};
  double least = 1e300;
  for (int one = SHARE_MOST; one >= SHARE_LEAST && share == 0 && !split; one /= 2) {
    int64_t blocks = blocks_for(targets * one, PAIR_THREADS * TARGETS_MOST);
    double cost = (double)blocks_for(blocks, d->multiprocessors) / one * (1 + SHARE_COST * one);
    if (cost < least) s.share = one, least = cost;
  }
  if ((double)(targets * s.share) < 0.9 * d->multiprocessors * PAIR_THREADS * TARGETS_MOST) s.targets = 1;
  return s;
}

/* ESPALIER_SHARE in the environment: threads to a target, a power of two up to 32. */
static int asked_share(void)
{
  const char *asked = getenv("ESPALIER_SHARE");
  int most = asked ? atoi(asked) : 0, share = most > 0;
  while (share > 0 && share < SHARE_MOST && 2 * share <= most) share *= 2;
  return share;
}

template <int K, int S, bool TOTAL, int SPLIT> static void start(struct device *d, const struct pairs_job &job)
{
  LAUNCH(d, (sum_pairs<K, S, TOTAL, SPLIT>), blocks_for((int64_t)job.targets * S, PAIR_THREADS * K), PAIR_THREADS, job);
  if (job.scattered < INT32_MAX)
    LAUNCH(d, (sum_scattered<K, TOTAL, SPLIT>), blocks_for((int64_t)job.targets * SHARE_MOST, PAIR_THREADS * K), PAIR_THREADS, job,
           PAIR_THREADS / S * K);
}

template <int K> static void start_plain(struct device *d, const struct pairs_job &job, int share)
{
  switch (share) {
  case 1: start<K, 1, true, SPLIT_NONE>(d, job); break;
  case 2: start<K, 2, true, SPLIT_NONE>(d, job); break;
  case 4: start<K, 4, true, SPLIT_NONE>(d, job); break;
  case 8: start<K, 8, true, SPLIT_NONE>(d, job); break;
  case 16: start<K, 16, true, SPLIT_NONE>(d, job); break;
  default: start<K, SHARE_MOST, true, SPLIT_NONE>(d, job);
  }
}

template <bool TOTAL, int SPLIT> static void start_split(struct device *d, const struct pairs_job &job, int targets)
{
  if (targets > 1)
    start<TARGETS_MOST, SHARE_MOST, TOTAL, SPLIT>(d, job);
  else
    start<1, SHARE_MOST, TOTAL, SPLIT>(d, job);
}

static void start_sums(struct device *d, const struct pairs_job &job, struct shape s)
{
  if (!job.split.on && s.targets > 1)
    start_plain<TARGETS_MOST>(d, job, s.share);
  else if (!job.split.on)
    start_plain<1>(d, job, s.share);
  else if (job.split.kernel == SPLIT_DLL && job.hard_only)
    start_split<false, SPLIT_DLL>(d, job, s.targets);
  else if (job.split.kernel == SPLIT_DLL)
    start_split<true, SPLIT_DLL>(d, job, s.targets);
  else if (job.hard_only)
    start_split<false, SPLIT_QUINTIC>(d, job, s.targets);
  else
    start_split<true, SPLIT_QUINTIC>(d, job, s.targets);
}

/* --- targets and sources ----------------------------------------------------------------------------------------- */

static __global__ void part_evenly(struct group *group, int32_t groups, int32_t n, int most, int32_t *home)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i < n) home[i] = i / most;
  if (i >= groups) return;
  const struct group one = {i * most, min((i + 1) * most, n), 0};
  group[i] = one;
}

void pairwise_groups(struct device *d)
{
  int most = d->config.max_group < GROUP_MOST ? d->config.max_group : GROUP_MOST;
  int64_t n = d->p.n, groups = blocks_for(n, most);
  array_room(&d->group, "device groups", groups);
  array_room(&d->active_group, "device groups", groups);
  array_room(&d->home, "device groups", n);
  if (groups > d->listed.room) {
    array_room(&d->listed, "device groups", groups);
    CHECK(cudaMemsetAsync(d->listed.at, 0, sizeof(int32_t) * (size_t)d->listed.room, d->stream));
    d->selections = 0;
  }
  d->groups = (int32_t)groups;
  LAUNCH(d, part_evenly, blocks_for(n, THREADS), THREADS, d->group.at, d->groups, (int32_t)n, most, d->home.at);
}

static __global__ void predict_bodies(struct body *present, struct tree t, int32_t tick, float tick_length, double inverse)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i < t.bodies) present[i] = body_at(&t.body[i], &t.course[i], tick, tick_length, inverse);
}

enum { LIST_THREADS = 1024, LIST_WARPS = LIST_THREADS / WARP };

static __device__ bool ends_at(const struct particles &p, int32_t i, int32_t tick)
{
  return i < p.n && timeline_end(&p, i) == tick;
}

/* The particles whose step ends at `tick`, ascending. Every block counts those before its own. */
static __global__ void __launch_bounds__(LIST_THREADS) list_active(struct particles p, int32_t tick, int32_t *list)
{
  __shared__ int32_t part[LIST_WARPS];
  int32_t first = (int32_t)blockIdx.x * LIST_THREADS, i = first + (int32_t)threadIdx.x, before = 0;
  for (int32_t j = (int32_t)threadIdx.x; j < first; j += LIST_THREADS) before += __popc(__ballot_sync(FULL, ends_at(p, j, tick)));
  bool mine = ends_at(p, i, tick);
  unsigned lanes = __ballot_sync(FULL, mine);
  if (lane_id() == 0) part[threadIdx.x / WARP] = before;   /* all lanes have the warp's */
  __syncthreads();
  before = 0;
  for (int w = 0; w < LIST_WARPS; w++) before += part[w];
  __syncthreads();
  if (lane_id() == 0) part[threadIdx.x / WARP] = __popc(lanes);
  __syncthreads();
  for (int w = 0; w < (int)threadIdx.x / WARP; w++) before += part[w];
  if (mine) list[before + __popc(lanes & lanes_below())] = i;
}

int32_t *pairwise_list_active(struct device *d, int32_t tick)
{
  int32_t *list = array_room(&d->active, "device groups", d->p.n);
  LAUNCH(d, list_active, blocks_for(d->p.n, LIST_THREADS), LIST_THREADS, d->p, tick, list);
  return list;
}

/* --- the verb ---------------------------------------------------------------------------------------------------- */

/* What does not depend on the particles. */
static struct pairs_job open_job(const struct device *d, const struct split *split)
{
  int exponent;
  struct pairs_job job = {};
  frexp(d->lattice.spacing, &exponent);
  double scale = ldexp(1, exponent), unit = scale / d->lattice.spacing, g = d->config.gravity, eps = d->config.softening;
  job.scale = (float)scale;
  job.eps2 = (float)(eps * unit * (eps * unit));
  job.scattered = (int32_t)fmin(SCATTERED * eps / d->lattice.spacing, INT32_MAX);
  if (split->on) job.split = split_make(split->kernel, split->r1 * unit, split->r2 * unit);
  job.to_acc = g * unit * unit;
  job.to_pot = g * unit;
  return job;
}

/* The number of targets, and their list where they are not all. */
static int32_t take_targets(struct device *d, const struct walk_request *r, struct pairs_job *job)
{
  int32_t n = (int32_t)d->p.n;
  job->source = d->tree.body;
  if (r->kind == WALK_TOTAL) return n;
  job->source = array_room(&d->present, "device sources", n);
  if (d->present_tick != r->tick)
    LAUNCH(d, predict_bodies, blocks_for(n, THREADS), THREADS, d->present.at, d->tree, r->tick, (float)r->tick_length, d->lattice.inverse);
  d->present_tick = r->tick;
  d->present_bodies = d->tree.bodies;
  job->list = pairwise_list_active(d, r->tick);
  return (int32_t)d->actives;
}

void pairwise_walk(struct device *d, const struct walk_request *r, struct tally *tally)
{
  struct pairs_job job = open_job(d, &r->split);
  float milliseconds = 0;
  job.p = d->p;
  job.sources = (int32_t)d->p.n;
  job.hard_only = r->kind == WALK_HARD;
  job.potential = r->kind == WALK_TOTAL && r->potential;
  job.kept = r->kind == WALK_HARD ? 1 : WORK_KEPT;
  CHECK(cudaEventRecord(d->from, d->stream));
  job.targets = take_targets(d, r, &job);
  struct shape s = choose_shape(d, job.targets, asked_share(), r->split.on);
  start_sums(d, job, s);
  CHECK(cudaEventRecord(d->to, d->stream));
  CHECK(cudaEventSynchronize(d->to));
  CHECK(cudaEventElapsedTime(&milliseconds, d->from, d->to));
  int64_t pairs = (int64_t)job.targets * job.sources;
  tally->seconds += 1e-3 * milliseconds;
  tally->evaluating += 1e-3 * milliseconds;
  tally->targets += job.targets;
  tally->particle_pairs += pairs;
  tally->split_pairs += r->split.on ? pairs : 0;
  tally->groups += blocks_for((int64_t)job.targets * s.share, PAIR_THREADS * s.targets);
}

/* --- rates ------------------------------------------------------------------------------------------------------- */

enum { RATE_TRIES = 5, CEILING_PARTICLES = 1 << 18 };
#define RATE_PAIRS 4e9   /* so many are timed together */

/* Places all over the cube. */
static __global__ void scatter_bodies(struct body *body, int32_t n)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= n) return;
  uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
  x ^= x >> 32;
  const struct body b = {(int32_t)(x & 0x1fffff) << 10, (int32_t)(x >> 21 & 0x1fffff) << 10, (int32_t)(x >> 42 & 0x1fffff) << 10,
                         1.0f / (float)n};
  body[i] = b;
}

double gpu_pair_rate(struct device *d, int64_t n, int *share)
{
  enum { RESULTS = 8 };   /* words that a particle takes */
  struct pairs_job job = {};
  struct shape s = choose_shape(d, n, *share, false);
  float *words = (float *)array_room(&d->scratch, "device scratch", (int64_t)(sizeof(struct body) + RESULTS * sizeof(float)) * n), best = 1e30f;
  struct body *body = (struct body *)words;
  words += 4 * n;
  *share = s.share;
  job.source = body;
  job.sources = job.targets = (int32_t)n;
  job.scale = 1 / (float)LATTICE_SIDE;
  job.eps2 = 1e-6f;
  job.scattered = INT32_MAX;
  job.p.acc = words, job.p.acc_hard = words + 3 * n, job.p.pot = words + 6 * n, job.p.work = words + 7 * n;
  job.to_acc = job.to_pot = job.potential = 1;
  LAUNCH(d, scatter_bodies, blocks_for(n, THREADS), THREADS, body, (int32_t)n);
  int repeats = (int)fmin(fmax(RATE_PAIRS / ((double)n * (double)n), 1), 64);
  for (int attempt = 0; attempt <= RATE_TRIES; attempt++) {
    float milliseconds;
    CHECK(cudaEventRecord(d->from, d->stream));
    for (int k = 0; k < repeats; k++) start_sums(d, job, s);
    CHECK(cudaEventRecord(d->to, d->stream));
    gpu_wait(d);
    CHECK(cudaEventElapsedTime(&milliseconds, d->from, d->to));
    if (attempt > 0 && milliseconds < best) best = milliseconds;   /* the first one warms up */
  }
  return (double)n * (double)n * repeats / (1e-3 * best);
}

double gpu_ceiling(struct device *d)
{
  int share = 0;
  return gpu_pair_rate(d, CEILING_PARTICLES, &share);
}
