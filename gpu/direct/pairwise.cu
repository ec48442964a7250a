/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Direct sums over all pairs, and the rate of pairs, which is the ceiling of the walk.
 *
 * A thread keeps some targets in registers and sums the forces of every S-th source. The S neighbouring threads that
 * share its targets add their sums at the end, through registers, without synchronisation (Miki et al. 2012). So a
 * larger S distributes few targets over more threads. Thread blocks stage the sources tile by tile in shared memory,
 * relative to their own centre: lattice coordinates are subtracted as integers, and the position of a source is rounded
 * to 2^-24 of its distance from the centre. In thread blocks whose targets are scattered this error is not small
 * compared with the softening, and coordinates are subtracted as integers for each pair. */
#include <config.h>
#include <math.h>

#include "base/debug.h"
#include "gpu/direct/pairwise.cuh"
#include "gpu/walk/cells.cuh"
#include "gpu/walk/pairs.cuh"
#include "gpu/tree/sources.cuh"
#include "particles/timeline.h"

enum {
  PAIR_THREADS = 256,
  PAIR_STAGED = 4, /* sources that a thread stages at once */
  PAIR_TILE = PAIR_STAGED * PAIR_THREADS,
  SHARE_MAX = LANES, /* S = 1, 2, 4, ... */
  SHARE_MIN = 4,     /* smallest S that is chosen: a smaller one gains nothing */
  TARGETS_MAX = 4,   /* in the registers of a thread */
  /* softenings (soft sums: or R1) from the centre beyond which targets are scattered; the error is 6e-5 of it */
  SCATTERED = 1024
};

/* Template parameter WHAT: the hard part; the whole acceleration and, with a split, the hard part; the same and psi;
 * the soft part and psi, each pair with the weight 1 - K. */
enum { SUM_HARD, SUM_TOTAL, SUM_POTENTIAL, SUM_SOFT };

struct pairs_job {
  const struct body *source;
  const int32_t *list; /* targets; NULL: all particles */
  int32_t sources, targets;
  float scale;       /* factor on lattice differences: a power of two, so that it is exact */
  float eps2;        /* in the unit of scaled differences, as the radii of the split */
  int32_t scattered; /* lattice distance from which on targets are scattered */
  struct split split;
  struct particles p;    /* the results are stored here */
  double to_acc, to_pot; /* factors from sums to accelerations and potentials, with G */
  float kept;            /* factor on `work` before interactions are added */
  int hard_only, potential, soft, add_potential;
  int bare;              /* no softening: potentials leave pairs at distance 0 out */
  float per_mass, core2; /* of soft sums: split_scale, split_core2 */
};

/* --- sums -------------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ int4 source_at(const struct pairs_job &job, int32_t j, const int4 &centre)
{
  if (j < job.sources) return ((const int4 *)job.source)[j];
  return make_int4(centre.x, centre.y, centre.z, 0); /* after the last source: no mass */
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
  return make_float4(difference(b.x, c.x, scale), difference(b.y, c.y, scale), difference(b.z, c.z, scale),
                     __int_as_float(b.w));
}

/* Add the force of a pair; scale: the smaller split_scale of the two. */
template <int WHAT, int SPLIT>
static __device__ __forceinline__ void add(struct force &force, struct pair_f pair, const struct pairs_job &job,
                                           float scale)
{
  if constexpr (WHAT == SUM_SOFT) {
    float r2 = pair_r2_f(pair);
    pair.m *= pair_soft<SPLIT>(r2, scale, job.split.inverse, job.split.r2 * job.split.inverse);
    const struct pair_point_f a = pair_point_f(pair, fmaxf(pair_rho2_of_f(pair, r2), job.core2));
    force.p += a.psi;
    pair_add_f(force.a, a.w, pair);
  } else {
    if (WHAT == SUM_POTENTIAL && job.bare) pair.m = pair_r2_f(pair) > 0 ? pair.m : 0;
    add_pair<WHAT != SUM_HARD, WHAT == SUM_POTENTIAL, SPLIT>(force, pair, job.split);
  }
}

/* Add the forces of every S-th source on the K targets of this thread, which have the factors `scale`. EXACT: `x` and
 * the tiles hold the bits of lattice coordinates; else positions relative to the centre. */
template <int K, int S, int WHAT, int SPLIT, bool EXACT>
static __device__ __forceinline__ void sum_tiles(const struct pairs_job &job, const int4 &centre,
                                                 const float (&x)[K][3], const float (&scale)[K], struct force (&f)[K],
                                                 float4 (*tile)[PAIR_TILE])
{
  constexpr int UNROLL = EXACT                 ? (K == 1                ? 4
                                                  : SPLIT == SPLIT_NONE ? 2
                                                                        : 1)
                         : SPLIT != SPLIT_NONE ? 2
                         : S > 8               ? 4
                                               : 8,
                MINE = PAIR_STAGED;
  int4 next[MINE];
#pragma unroll
  for (int q = 0; q < MINE; q++) next[q] = source_at(job, q * PAIR_THREADS + (int32_t)threadIdx.x, centre);
  for (int32_t base = 0, turn = 0; base < job.sources; base += PAIR_TILE, turn ^= 1) {
    float4 *t = tile[turn]; /* the other one may still be read */
#pragma unroll
    for (int q = 0; q < MINE; q++)
      t[q * PAIR_THREADS + threadIdx.x] = EXACT ? as_bits(next[q]) : relative(next[q], centre, job.scale);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < MINE; q++)
      next[q] = source_at(job, base + PAIR_TILE + q * PAIR_THREADS + (int32_t)threadIdx.x, centre);
    const float4 *at = t + threadIdx.x % S;
    for (int32_t left = min((int32_t)PAIR_TILE, job.sources - base); left > 0; left -= S * UNROLL, at += S * UNROLL) {
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        const float4 e = at[u * S];
        float mine = WHAT == SUM_SOFT ? split_scale(job.per_mass, e.w) : 1;
#pragma unroll
        for (int k = 0; k < K; k++) {
          if (EXACT)
            add<WHAT, SPLIT>(
                f[k],
                pair_of(make_float4(difference(e.x, x[k][0], job.scale), difference(e.y, x[k][1], job.scale),
                                    difference(e.z, x[k][2], job.scale), e.w),
                        0, 0, 0, job.eps2),
                job, fminf(mine, scale[k]));
          else add<WHAT, SPLIT>(f[k], pair_of(e, x[k][0], x[k][1], x[k][2], job.eps2), job, fminf(mine, scale[k]));
        }
      }
    }
  }
}

/* Store the results of target k. */
template <int WHAT, int SPLIT>
static __device__ __forceinline__ void store(const struct pairs_job &job, int32_t k, const struct force &force)
{
  int64_t i = job.list ? job.list[k] : k;
  job.p.work[i] = job.kept * job.p.work[i] + (float)job.sources;
  for (int c = 0; c < 3; c++) {
    float a = (float)(job.to_acc * force.a[c]), h = SPLIT == SPLIT_NONE ? a : (float)(job.to_acc * force.h[c]);
    if (WHAT != SUM_HARD && !job.hard_only) job.p.acc[3 * i + c] = a;
    if (WHAT == SUM_SOFT) job.p.acc_soft[3 * i + c] = a;
    else job.p.acc_hard[3 * i + c] = h;
  }
  /* the target itself, as it was summed */
  float self = __int_as_float(((const int4 *)job.source)[i].w) * inverse_root(job.eps2);
  if (job.bare || WHAT == SUM_SOFT) self = 0;
  if ((WHAT == SUM_POTENTIAL || WHAT == SUM_SOFT) && job.potential)
    job.p.pot[i] = (float)((WHAT == SUM_SOFT && job.add_potential ? job.p.pot[i] : 0) -
                           job.to_pot * (force.p + (force.own - self)));
}

/* The S threads that share targets add their sums; the first of them stores the results. */
template <int K, int S, int WHAT, int SPLIT>
static __device__ __forceinline__ void finish(const struct pairs_job &job, int32_t mine, struct force (&f)[K])
{
#pragma unroll
  for (int k = 0; k < K; k++)
    for (int step = S / 2; step > 0; step /= 2) {
      for (int c = 0; c < 3 && WHAT != SUM_HARD; c++) f[k].a[c] += warp_shuffle_xor(f[k].a[c], step);
      for (int c = 0; c < 3 && SPLIT != SPLIT_NONE && WHAT != SUM_SOFT; c++)
        f[k].h[c] += warp_shuffle_xor(f[k].h[c], step);
      if (WHAT == SUM_POTENTIAL || WHAT == SUM_SOFT) f[k].p += warp_shuffle_xor(f[k].p, step);
      if (WHAT == SUM_POTENTIAL) f[k].own += warp_shuffle_xor(f[k].own, step);
    }
  if (threadIdx.x % S > 0) return;
#pragma unroll
  for (int k = 0; k < K; k++)
    if (mine + k * (PAIR_THREADS / S) < job.targets) store<WHAT, SPLIT>(job, mine + k * (PAIR_THREADS / S), f[k]);
}

static __device__ __forceinline__ int32_t away(const int4 &b, const int4 &centre)
{
  return max(abs(b.x - centre.x), max(abs(b.y - centre.y), abs(b.z - centre.z)));
}

/* One thread block sums all sources for PAIR_THREADS / S * K consecutive targets. If these are scattered, it leaves
 * them to sum_scattered, because a kernel with both loops is slower by a twelfth. With one resident block per
 * multiprocessor as its launch bound, the compiler uses 96 registers instead of 64, and the loop is faster by some per
 * cent. */
template <int K, int S, int WHAT, int SPLIT>
static __global__ void __launch_bounds__(PAIR_THREADS, 1) sum_pairs(const __grid_constant__ struct pairs_job job)
{
  __shared__ float4 tile[2][PAIR_TILE];
  constexpr int ROWS = PAIR_THREADS / S;
  int32_t last = job.targets - 1, first = (int32_t)blockIdx.x * ROWS * K, mine = first + (int32_t)threadIdx.x / S,
          far = 0;
  const int4 centre = target_at(job, min(first + ROWS * K / 2, last));
  struct force f[K] = {};
  float x[K][3], scale[K];
#pragma unroll
  for (int k = 0; k < K; k++) {
    const int4 b = target_at(job, min(mine + k * ROWS, last));
    const float4 e = relative(b, centre, job.scale);
    far = max(far, away(b, centre));
    x[k][0] = e.x;
    x[k][1] = e.y;
    x[k][2] = e.z;
    scale[k] = WHAT == SUM_SOFT ? split_scale(job.per_mass, e.w) : 1;
  }
  if (__syncthreads_or(far > job.scattered)) return;
  sum_tiles<K, S, WHAT, SPLIT, false>(job, centre, x, scale, f, tile);
  finish<K, S, WHAT, SPLIT>(job, mine, f);
}

/* The same for the scattered thread blocks of sum_pairs, of `parent` targets each. These are few, so S is SHARE_MAX
 * here. */
template <int K, int WHAT, int SPLIT>
static __global__ void __launch_bounds__(PAIR_THREADS, 1)
    sum_scattered(const __grid_constant__ struct pairs_job job, int32_t parent)
{
  __shared__ float4 tile[2][PAIR_TILE];
  constexpr int S = SHARE_MAX, ROWS = PAIR_THREADS / S;
  int32_t last = job.targets - 1, first = (int32_t)blockIdx.x * ROWS * K, mine = first + (int32_t)threadIdx.x / S,
          far = 0;
  int32_t from = first / parent * parent;
  const int4 centre = target_at(job, min(from + parent / 2, last));
  for (int32_t k = (int32_t)threadIdx.x; k < parent; k += PAIR_THREADS)
    far = max(far, away(target_at(job, min(from + k, last)), centre));
  if (!__syncthreads_or(far > job.scattered)) return;
  struct force f[K] = {};
  float x[K][3], scale[K];
#pragma unroll
  for (int k = 0; k < K; k++) {
    const float4 e = as_bits(target_at(job, min(mine + k * ROWS, last)));
    x[k][0] = e.x;
    x[k][1] = e.y;
    x[k][2] = e.z;
    scale[k] = WHAT == SUM_SOFT ? split_scale(job.per_mass, e.w) : 1;
  }
  sum_tiles<K, S, WHAT, SPLIT, true>(job, centre, x, scale, f, tile);
  finish<K, S, WHAT, SPLIT>(job, mine, f);
}

/* --- distribution over threads ----------------------------------------------------------------------------------- */

/* `targets`: K targets in the registers of a thread (1 or TARGETS_MAX). `share`: S threads for a target (SHARE_MAX with
 * a split). */
struct pair_shape {
  int targets, share;
};

/* Cost of S beside the pairs, as a fraction of theirs: sources are read and sums are added S times as often.
 * Measured. */
#define SHARE_COST 2.5e-3

/* The shape for a number of targets: the S with which the multiprocessor with the most thread blocks finishes first. If
 * there are fewer thread blocks than multiprocessors, a thread has one target. A `share` above 0 is used as S. */
static struct pair_shape choose_shape(const struct device *d, int64_t targets, int share, bool split)
{
  struct pair_shape s = {TARGETS_MAX, share > 0 && !split ? share : SHARE_MAX};
  double min_cost = 1e300;
  for (int one = SHARE_MAX; one >= SHARE_MIN && share == 0 && !split; one /= 2) {
    int64_t blocks = blocks_for(targets * one, PAIR_THREADS * TARGETS_MAX);
    double cost = (double)blocks_for(blocks, d->multiprocessors) / one * (1 + SHARE_COST * one);
    if (cost < min_cost) {
      s.share = one;
      min_cost = cost;
    }
  }
  if ((double)(targets * s.share) < 0.9 * d->multiprocessors * PAIR_THREADS * TARGETS_MAX) s.targets = 1;
  return s;
}

/* Value of the debug switch `share`: threads for a target, a power of two up to 32; 0: not set. */
static int share_override(void)
{
  int limit = (int)debug_value("share", 0), share = limit > 0;
  while (share > 0 && share < SHARE_MAX && 2 * share <= limit) share *= 2;
  return share;
}

template <int K, int S, int WHAT, int SPLIT> static void start(struct device *d, const struct pairs_job &job)
{
  LAUNCH(d, (sum_pairs<K, S, WHAT, SPLIT>), blocks_for((int64_t)job.targets * S, PAIR_THREADS * K), PAIR_THREADS, job);
  if (job.scattered < INT32_MAX)
    LAUNCH(d, (sum_scattered<K, WHAT, SPLIT>), blocks_for((int64_t)job.targets * SHARE_MAX, PAIR_THREADS * K),
           PAIR_THREADS, job, PAIR_THREADS / S * K);
}

template <int K, int WHAT> static void start_plain(struct device *d, const struct pairs_job &job, int share)
{
  switch (share) {
  case 1: start<K, 1, WHAT, SPLIT_NONE>(d, job); break;
  case 2: start<K, 2, WHAT, SPLIT_NONE>(d, job); break;
  case 4: start<K, 4, WHAT, SPLIT_NONE>(d, job); break;
  case 8: start<K, 8, WHAT, SPLIT_NONE>(d, job); break;
  case 16: start<K, 16, WHAT, SPLIT_NONE>(d, job); break;
  default: start<K, SHARE_MAX, WHAT, SPLIT_NONE>(d, job);
  }
}

template <int WHAT, int SPLIT> static void start_split(struct device *d, const struct pairs_job &job, int targets)
{
  if (targets > 1) start<TARGETS_MAX, SHARE_MAX, WHAT, SPLIT>(d, job);
  else start<1, SHARE_MAX, WHAT, SPLIT>(d, job);
}

#define START_TOTAL(kernel, name)                              \
  case SPLIT_##kernel:                                         \
    start_split<SUM_TOTAL, SPLIT_##kernel>(d, job, s.targets); \
    break;
#define START_HARD(kernel, name)                              \
  case SPLIT_##kernel:                                        \
    start_split<SUM_HARD, SPLIT_##kernel>(d, job, s.targets); \
    break;
#define START_POTENTIAL(kernel, name)                              \
  case SPLIT_##kernel:                                             \
    start_split<SUM_POTENTIAL, SPLIT_##kernel>(d, job, s.targets); \
    break;
#define START_SOFT(kernel, name) \
  case SPLIT_##kernel: start_split<SUM_SOFT, SPLIT_##kernel>(d, job, s.targets); break;
static void start_sums(struct device *d, const struct pairs_job &job, struct pair_shape s)
{
  if (job.soft) switch (job.split.kernel) {
      SPLIT_KERNELS(START_SOFT)
    }
  else if (!job.split.on && job.potential && s.targets > 1) start_plain<TARGETS_MAX, SUM_POTENTIAL>(d, job, s.share);
  else if (!job.split.on && job.potential) start_plain<1, SUM_POTENTIAL>(d, job, s.share);
  else if (!job.split.on && s.targets > 1) start_plain<TARGETS_MAX, SUM_TOTAL>(d, job, s.share);
  else if (!job.split.on) start_plain<1, SUM_TOTAL>(d, job, s.share);
  else if (job.potential) switch (job.split.kernel) {
      SPLIT_KERNELS(START_POTENTIAL)
    }
  else if (job.hard_only) switch (job.split.kernel) {
      SPLIT_KERNELS(START_HARD)
    }
  else switch (job.split.kernel) {
      SPLIT_KERNELS(START_TOTAL)
    }
}

/* --- targets and sources ----------------------------------------------------------------------------------------- */

/* One thread predicts one particle to the tick. */
static __global__ void predict_bodies(struct body *present, struct tree tree, int32_t tick, float tick_length,
                                      double inverse)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i < tree.bodies) present[i] = body_at(&tree.body[i], &tree.motion_state[i], tick, tick_length, inverse);
}

enum { LIST_THREADS = 1024, LIST_WARPS = LIST_THREADS / LANES };

static __device__ bool ends_at(const struct particles &particles, int32_t i, int32_t tick)
{
  return i < particles.n && timeline_end(&particles, i) == tick;
}

/* One thread tests one particle and lists it if its step ends at `tick`. The list ascends: each thread block counts the
 * active particles before its own. */
static __global__ void __launch_bounds__(LIST_THREADS)
    list_active(struct particles particles, int32_t tick, int32_t *list)
{
  __shared__ int32_t part[LIST_WARPS];
  int32_t first = (int32_t)blockIdx.x * LIST_THREADS, i = first + (int32_t)threadIdx.x, before = 0;
  for (int32_t j = (int32_t)threadIdx.x; j < first; j += LIST_THREADS)
    before += lane_count(warp_ballot(ends_at(particles, j, tick)));
  bool mine = ends_at(particles, i, tick);
  lane_mask lanes = warp_ballot(mine);
  if (lane_id() == 0) part[threadIdx.x / LANES] = before; /* the same in all lanes */
  __syncthreads();
  before = 0;
  for (int w = 0; w < LIST_WARPS; w++) before += part[w];
  __syncthreads();
  if (lane_id() == 0) part[threadIdx.x / LANES] = lane_count(lanes);
  __syncthreads();
  for (int w = 0; w < (int)threadIdx.x / LANES; w++) before += part[w];
  if (mine) list[before + lane_count(lanes & lanes_below())] = i;
}

int32_t *pairwise_list_active(struct device *d, int32_t tick)
{
  int32_t *list = array_reserve(&d->active.particle, "device groups", d->p.n);
  LAUNCH(d, list_active, blocks_for(d->p.n, LIST_THREADS), LIST_THREADS, d->p, tick, list);
  return list;
}

/* --- the verb ---------------------------------------------------------------------------------------------------- */

/* The lattice spacing without softening: powers of lengths stay within float32. */
enum { BARE_EXPONENT = -16 };

/* A job with all numbers that do not depend on the particles. */
static struct pairs_job open_job(const struct device *d, const struct walk_request *request)
{
  int exponent;
  struct pairs_job job = {};
  frexp(d->lattice.spacing, &exponent);
  if (!(d->config.softening > 0)) exponent = BARE_EXPONENT;
  double scale = ldexp(1, exponent), unit = scale / d->lattice.spacing, g = d->config.gravity, eps = softening_of(d);
  double smallest = request->kind == WALK_SOFT ? fmax(eps, request->split.r1) : eps;
  job.scale = (float)scale;
  job.eps2 = (float)(eps * unit * (eps * unit));
  job.scattered = (int32_t)fmin(SCATTERED * smallest / d->lattice.spacing, INT32_MAX);
  if (request->split.on)
    job.split = split_make(request->split.kernel, request->split.r1 * unit, request->split.r2 * unit);
  job.hard_only = request->kind == WALK_HARD;
  job.soft = request->kind == WALK_SOFT;
  job.add_potential = request->add_potential;
  job.potential = !job.hard_only && request->potential;
  job.bare = job.potential && !(d->config.softening > 0);
  job.per_mass = request->split.mass_scale > 0 ? 1 / request->split.mass_scale : 0;
  job.core2 = split_core2(&job.split);
  job.to_acc = g * unit * unit;
  job.to_pot = g * unit;
  return job;
}

/* Sources, predicted to the tick, and targets of a job. Returns the number of targets. */
static int32_t set_targets(struct device *d, const struct walk_request *request, struct pairs_job *job)
{
  int32_t n = (int32_t)d->p.n;
  job->source = d->tree.view.body;
  if (request->kind != WALK_HARD) return n;
  job->source = array_reserve(&d->sources.present, "device sources", n);
  if (d->sources.present_tick != request->tick)
    LAUNCH(d, predict_bodies, blocks_for(n, THREADS), THREADS, d->sources.present.at, d->tree.view, request->tick,
           (float)request->tick_length, d->lattice.inverse);
  d->sources.present_tick = request->tick;
  d->sources.present_bodies = d->tree.view.bodies;
  job->list = pairwise_list_active(d, request->tick);
  return (int32_t)d->active.count;
}

void pairwise_walk(struct device *d, const struct walk_request *request, struct tally *tally)
{
  struct pairs_job job = open_job(d, request);
  float milliseconds = 0;
  job.p = d->p;
  job.sources = (int32_t)d->p.n;
  job.kept = request->kind == WALK_HARD ? 1 : WORK_KEPT;
  CHECK(runtime_event_record(d->timing.from, d->stream));
  job.targets = set_targets(d, request, &job);
  struct pair_shape s = choose_shape(d, job.targets, share_override(), request->split.on);
  start_sums(d, job, s);
  CHECK(runtime_event_record(d->timing.to, d->stream));
  CHECK(runtime_event_sync(d->timing.to));
  CHECK(runtime_event_milliseconds(&milliseconds, d->timing.from, d->timing.to));
  int64_t pairs = (int64_t)job.targets * job.sources;
  tally->seconds += 1e-3 * milliseconds;
  tally->evaluating += 1e-3 * milliseconds;
  tally->targets += job.targets;
  tally->particle_pairs += pairs;
  tally->split_pairs += request->split.on ? pairs : 0;
  tally->groups += blocks_for((int64_t)job.targets * s.share, PAIR_THREADS * s.targets);
}

/* --- rates ------------------------------------------------------------------------------------------------------- */

enum { RATE_TRIES = 5, CEILING_PARTICLES = 1 << 18 };
#define RATE_PAIRS 4e9 /* pairs that are timed together */

/* One thread places one particle at a pseudo-random position in the cube. */
static __global__ void scatter_bodies(struct body *body, int32_t n)
{
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (i >= n) return;
  uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
  x ^= x >> 32;
  const struct body b = {(int32_t)(x & 0x1fffff) << 10, (int32_t)(x >> 21 & 0x1fffff) << 10,
                         (int32_t)(x >> 42 & 0x1fffff) << 10, 1.0f / (float)n};
  body[i] = b;
}

double gpu_pair_rate(struct device *d, int64_t n, int *share)
{
  enum { RESULTS = 8 }; /* words of the results of a particle */
  struct pairs_job job = {};
  struct pair_shape s = choose_shape(d, n, *share, false);
  float *words = (float *)array_reserve(&d->work.scratch, "device scratch",
                                        (int64_t)(sizeof(struct body) + RESULTS * sizeof(float)) * n),
        best = 1e30f;
  struct body *body = (struct body *)words;
  words += 4 * n;
  *share = s.share;
  job.source = body;
  job.sources = job.targets = (int32_t)n;
  job.scale = 1 / (float)LATTICE_SIDE;
  job.eps2 = 1e-6f;
  job.scattered = INT32_MAX;
  job.p.acc = words;
  job.p.acc_hard = words + 3 * n;
  job.p.pot = words + 6 * n;
  job.p.work = words + 7 * n;
  job.to_acc = 1;
  LAUNCH(d, scatter_bodies, blocks_for(n, THREADS), THREADS, body, (int32_t)n);
  int repeats = (int)fmin(fmax(RATE_PAIRS / ((double)n * (double)n), 1), 64);
  for (int attempt = 0; attempt <= RATE_TRIES; attempt++) {
    float milliseconds;
    CHECK(runtime_event_record(d->timing.from, d->stream));
    for (int k = 0; k < repeats; k++) start_sums(d, job, s);
    CHECK(runtime_event_record(d->timing.to, d->stream));
    gpu_wait(d);
    CHECK(runtime_event_milliseconds(&milliseconds, d->timing.from, d->timing.to));
    if (attempt > 0 && milliseconds < best) best = milliseconds; /* the first attempt is not timed */
  }
  return (double)n * (double)n * repeats / (1e-3 * best);
}

double gpu_ceiling(struct device *d)
{
  int share = 0;
  return gpu_pair_rate(d, CEILING_PARTICLES, &share);
}
