/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Isolated bound pairs on the device: found, replaced by their centre of mass, advanced by Kepler's equation, restored.
 */
#include <config.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gpu/neighbour_lists/pairs.cuh"

/* --- search ------------------------------------------------------------------------------------------------------ */

/* Members are the particles that have neighbours; who[m] is the body of member m. nearest[m], partner[m]: members; -1:
 * none. */
struct pair_search {
  struct list_sum sum;
  const struct list_body *body;
  const int32_t *who;
  struct particles p;
  const struct halo_particle *halo;
  int32_t members;
  double limit, soft_step, softening;
  int32_t *nearest, *partner;
  struct list_pair_found *found;
  int32_t *count;

  __device__ __forceinline__ uint64_t id_of(int32_t m) const
  {
    return who[m] < p.n ? p.id[who[m]] : halo[who[m] - p.n].id;
  }

  __device__ bool fits(int32_t m, int32_t k, struct kepler_orbit *orbit) const
  {
    const struct list_body a = body[who[m]], b = body[who[k]];
    double d[3], u[3];
    for (int c = 0; c < 3; c++) {
      d[c] = b.x[c] - a.x[c];
      u[c] = b.v[c] - a.v[c];
    }
    double eps =
        sum.differ ? sqrt(sum.class_eps2[max(softening_class(a.factor), softening_class(b.factor))]) : softening;
    return bound_pair_fits(a.gm + b.gm, d, u, fmaxf(a.factor, b.factor) * (double)sum.split.r1, limit, soft_step, eps,
                           orbit);
  }

  /* Member m, or the centre of mass of it and its partner. */
  __device__ struct list_body point_of(int32_t m) const
  {
    struct list_body a = body[who[m]];
    if (partner[m] < 0) return a;
    const struct list_body b = body[who[partner[m]]];
    double share = b.gm / (a.gm + b.gm);
    for (int c = 0; c < 3; c++) {
      a.x[c] += share * (b.x[c] - a.x[c]);
      a.v[c] += share * (b.v[c] - a.v[c]);
    }
    a.gm += b.gm;
    return a;
  }
};

static __global__ void find_nearest(const __grid_constant__ struct pair_search s)
{
  int32_t m = (int32_t)(blockIdx.x * THREADS + threadIdx.x), found = -1;
  if (m >= s.members) return;
  const struct member_list l = s.sum.list[m];
  const struct list_body a = s.body[s.who[m]];
  double least = s.limit * s.limit;
  for (int32_t e = 0; e < l.count; e++) {
    int32_t k = s.sum.entry[l.begin + e];
    const double *x = s.body[s.who[k]].x;
    double r2 =
        (x[0] - a.x[0]) * (x[0] - a.x[0]) + (x[1] - a.x[1]) * (x[1] - a.x[1]) + (x[2] - a.x[2]) * (x[2] - a.x[2]);
    if (r2 > least || (r2 == least && found >= 0 && s.id_of(k) > s.id_of(found))) continue;
    least = r2;
    found = k;
  }
  s.nearest[m] = found;
}

static __global__ void match_pairs(const __grid_constant__ struct pair_search s)
{
  int32_t m = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  struct kepler_orbit o;
  if (m >= s.members) return;
  int32_t k = s.nearest[m];
  bool mutual = k >= 0 && s.nearest[k] == m, first = mutual && s.id_of(m) < s.id_of(k);
  s.partner[m] = mutual && s.fits(first ? m : k, first ? k : m, &o) ? k : -1;
}

/* Of the neighbours of member m, the one that perturbs the pair of semi-major axis a at `centre` most. */
static __device__ void look_for_perturber(const struct pair_search &search, const struct list_body &centre, double a,
                                          int32_t m, struct list_pair_found *found)
{
  const struct member_list l = search.sum.list[m];
  for (int32_t e = 0; e < l.count; e++) {
    int32_t k = search.sum.entry[l.begin + e];
    if (k == search.partner[m]) continue;
    const struct list_body b = search.point_of(k);
    double d[3], u[3];
    for (int c = 0; c < 3; c++) {
      d[c] = b.x[c] - centre.x[c];
      u[c] = b.v[c] - centre.v[c];
    }
    if (!bound_pair_perturbed(a, centre.gm, d, u, b.gm, search.soft_step)) continue;
    double distance = sqrt(hermite_closest2(d, u, search.soft_step));
    if (found->perturbed && distance >= found->triple.distance) continue;
    found->perturbed = 1;
    found->triple.distance = distance;
    found->triple.perturber = search.id_of(k);
  }
}

/* Store all matched pairs; a perturbed one is marked, and stays two particles. */
static __global__ void store_pairs(const __grid_constant__ struct pair_search s)
{
  int32_t m = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  struct list_pair_found f = {};
  struct kepler_orbit o;
  if (m >= s.members || s.partner[m] < 0) return;
  int32_t k = s.partner[m];
  f.triple.first = s.id_of(m);
  f.triple.second = s.id_of(k);
  if (f.triple.first > f.triple.second || !s.fits(m, k, &o)) return;
  const struct list_body centre = s.point_of(m), a = s.body[s.who[m]], b = s.body[s.who[k]];
  look_for_perturber(s, centre, o.a, m, &f);
  look_for_perturber(s, centre, o.a, k, &f);
  f.triple.period = o.period;
  f.triple.a = o.a;
  f.e = o.e;
  f.pair = list_bound{s.who[m], s.who[k], {}, {}, a.gm, b.gm, a.factor, b.factor};
  for (int c = 0; c < 3; c++) {
    f.triple.pos[c] = a.x[c];
    f.pair.d[c] = b.x[c] - a.x[c];
    f.pair.u[c] = b.v[c] - a.v[c];
  }
  s.found[atomicAdd(s.count, 1)] = f;
}

static __global__ void replace_pairs(const struct list_bound *pair, int64_t n, struct list_body *body)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (k >= n) return;
  const struct list_bound b = pair[k];
  struct list_body *first = &body[b.first], *second = &body[b.second];
  double share = b.m2 / (b.m1 + b.m2);
  for (int c = 0; c < 3; c++) {
    first->x[c] += share * b.d[c];
    first->v[c] += share * b.u[c];
    second->x[c] = first->x[c];
    second->v[c] = first->v[c];
  }
  first->gm = b.m1 + b.m2;
  first->factor = fmaxf(b.f1, b.f2);
  first->level = LEVEL_UNKNOWN;
  second->factor = BOUND_ABSORBED;
}

static int by_first(const void *a, const void *b)
{
  const struct list_pair_found *x = (const struct list_pair_found *)a, *y = (const struct list_pair_found *)b;
  return (x->triple.first > y->triple.first) - (x->triple.first < y->triple.first);
}

/* Count what was found; copy the pairs without a perturber to `pair`. Returns their number. */
static int64_t choose_pairs(struct list_pair_found *found, int64_t n, int64_t own, struct list_bound *pair,
                            struct list_tally *tally)
{
  int64_t kept = 0;
  qsort(found, (size_t)n, sizeof *found, by_first); /* atomics have no order */
  for (int64_t k = 0; k < n; k++) {
    const struct list_pair_found *f = &found[k];
    if (!f->perturbed) pair[kept++] = f->pair;
    if (f->pair.first >= own) continue;
    if (f->perturbed) {
      if (tally->pairs_perturbed++ == 0 || f->triple.period < tally->triple.period) tally->triple = f->triple;
      continue;
    }
    if (tally->pairs_bound++ == 0) {
      tally->shortest_period = 1e300;
      tally->largest_eccentricity = 0;
    }
    tally->shortest_period = fmin(tally->shortest_period, f->triple.period);
    tally->largest_eccentricity = fmax(tally->largest_eccentricity, f->e);
  }
  return kept;
}

int64_t list_pairs_find(struct device *d, const struct list_request *request, struct list_tally *tally)
{
  struct list_state *s = &d->lists;
  s->pair.count = 0;
  if (!(request->pair_limit > 0) || s->member.count == 0) return 0;
  int64_t n = s->member.count, blocks = blocks_for(n, THREADS);
  int32_t *work = array_reserve(&s->pair.partner, "device neighbour lists", 2 * n + 1), count = 0;
  struct pair_search job = {list_sum_of(d, request),
                            s->body.at,
                            s->member.who.at,
                            d->p,
                            s->halo.at,
                            (int32_t)n,
                            request->pair_limit,
                            request->soft_step,
                            d->config.softening,
                            work,
                            work + n,
                            array_reserve(&s->pair.found, "device neighbour lists", n / 2 + 1),
                            work + 2 * n};
  CHECK(runtime_set_bytes(job.count, 0, sizeof *job.count, d->stream));
  LAUNCH(d, find_nearest, blocks, THREADS, job);
  LAUNCH(d, match_pairs, blocks, THREADS, job);
  LAUNCH(d, store_pairs, blocks, THREADS, job);
  CHECK(runtime_copy(&count, job.count, sizeof count, TO_HOST, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  if (count == 0) return 0;
  struct list_pair_found *found = (struct list_pair_found *)memory_alloc("bound pairs", sizeof *found * (size_t)count);
  struct list_bound *pair = (struct list_bound *)memory_alloc("bound pairs", sizeof *pair * (size_t)count);
  CHECK(runtime_copy(found, s->pair.found.at, sizeof *found * (size_t)count, TO_HOST, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  s->pair.count = choose_pairs(found, count, d->p.n, pair, tally);
  array_reserve(&s->pair.bound, "device neighbour lists", s->pair.count);
  CHECK(runtime_copy(s->pair.bound.at, pair, sizeof *pair * (size_t)s->pair.count, TO_DEVICE, d->stream));
  CHECK(runtime_stream_sync(d->stream)); /* before the memory is freed */
  memory_free(found);
  memory_free(pair);
  LAUNCH(d, replace_pairs, blocks_for(s->pair.count, THREADS), THREADS, s->pair.bound.at, s->pair.count, s->body.at);
  return s->pair.count;
}

/* --- motion ------------------------------------------------------------------------------------------------------ */

/* Tides: at the start of the soft step on `body`, at its end on `motion`. */
struct tide_job {
  struct list_bound *pair;
  int64_t pairs;
  const int64_t *number; /* of members; a particle i without neighbours has number[i + 1] == number[i] */
  const int32_t *who;
  struct list_body *body;
  struct hermite_motion *motion; /* as in struct loop_job */
  const int2 *ticks;
  struct list_sum sum;
  double soft_step;
  int at_end;
};

static __device__ struct hermite_motion *motion_of(const struct tide_job &job, int64_t m)
{
  const int2 t = job.ticks[m];
  return &job.motion[2 * m + (t.y > t.x)];
}
static __device__ const double *position_of(const struct tide_job &job, int64_t m)
{
  return job.at_end ? motion_of(job, m)->x : job.body[job.who[m]].x;
}
static __device__ double *velocity_of(const struct tide_job &job, int64_t m)
{
  return job.at_end ? motion_of(job, m)->v : job.body[job.who[m]].v;
}

static __device__ void kick_pair(const struct tide_job &job, struct list_bound *bound)
{
  int64_t m = job.number ? job.number[bound->first] : 0;
  double dt = 0.5 * job.soft_step;
  struct bound_tide tide = {};
  if (!job.number || job.number[bound->first + 1] == m) return;
  const struct member_list l = job.sum.list[m];
  const double *x = position_of(job, m);
  for (int32_t e = 0; e < l.count; e++) {
    int32_t k = job.sum.entry[l.begin + e];
    const double *y = position_of(job, k);
    double to[3] = {y[0] - x[0], y[1] - x[1], y[2] - x[2]}, reaction[3];
    const struct list_body &o = job.body[job.who[k]];
    bound_pair_tide(&tide, to, o.gm, bound->m1, bound->m2, &job.sum.split, bound->f1, bound->f2, o.factor, reaction);
    if (bound->f1 == bound->f2) continue;
    for (int c = 0; c < 3; c++) velocity_of(job, k)[c] += dt * reaction[c];
  }
  for (int c = 0; c < 3; c++) {
    if (bound->f1 != bound->f2) velocity_of(job, m)[c] += dt * tide.centre[c];
    bound->u[c] += dt * tide.relative[c];
  }
  kepler_turn(bound->m1 + bound->m2, (const double(*)[3])tide.tensor, dt, bound->d, bound->u);
}

/* One thread for a pair; one thread for all pairs where pairs change the velocities of neighbours, so that sums have an
 * order. */
static __global__ void kick_pairs(const __grid_constant__ struct tide_job job)
{
  int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (int64_t k = first; k < job.pairs; k += (int64_t)gridDim.x * blockDim.x) {
    struct list_bound b = job.pair[k];
    if (job.at_end) kepler_advance(b.m1 + b.m2, job.soft_step, b.d, b.u);
    kick_pair(job, &b);
    job.pair[k] = b;
  }
}

static struct tide_job tide_job_of(struct device *d, const struct list_request *request, const struct loop_job *loop)
{
  struct list_state *s = &d->lists;
  struct tide_job job = {s->pair.bound.at, s->pair.count, s->member.count > 0 ? s->list.number.at : NULL,
                         s->member.who.at, s->body.at};
  job.sum = list_sum_of(d, request);
  job.soft_step = request->soft_step;
  if (loop) {
    job.motion = loop->motion;
    job.ticks = loop->ticks;
    job.at_end = 1;
  }
  return job;
}

static void launch_kick(struct device *d, const struct tide_job *job)
{
  int one = job->sum.split.mass_scale > 0;
  LAUNCH(d, kick_pairs, one ? 1 : blocks_for(job->pairs, THREADS), one ? 1 : THREADS, *job);
}

void list_pairs_begin(struct device *d, const struct list_request *request)
{
  const struct tide_job job = tide_job_of(d, request, NULL);
  launch_kick(d, &job);
}

void list_pairs_end(struct device *d, const struct list_request *request, const struct loop_job *loop)
{
  if (d->lists.pair.count == 0) return;
  const struct tide_job job = tide_job_of(d, request, loop);
  launch_kick(d, &job);
}

/* Bodies are at the end of the soft step. */
static __global__ void restore_pairs(const struct list_bound *pair, int64_t n, struct list_body *body,
                                     struct particles particles)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (k >= n) return;
  const struct list_bound b = pair[k];
  const struct list_body centre = body[b.first];
  for (int side = 0; side < 2; side++) {
    int64_t i = side ? b.second : b.first;
    double share = (side ? b.m1 : -b.m2) / (b.m1 + b.m2);
    struct list_body *to = &body[i];
    for (int c = 0; c < 3; c++) {
      to->x[c] = centre.x[c] + share * b.d[c];
      to->v[c] = centre.v[c] + share * b.u[c];
    }
    to->gm = side ? b.m2 : b.m1;
    to->factor = side ? b.f2 : b.f1;
    if (i >= particles.n) continue;
    for (int c = 0; c < 3; c++) {
      particles.pos[3 * i + c] = to->x[c];
      particles.vel[3 * i + c] = to->v[c];
    }
    particles.level[i] = LEVEL_UNKNOWN;
  }
}

void list_pairs_restore(struct device *d)
{
  struct list_state *s = &d->lists;
  if (s->pair.count > 0)
    LAUNCH(d, restore_pairs, blocks_for(s->pair.count, THREADS), THREADS, s->pair.bound.at, s->pair.count, s->body.at,
           d->p);
}
