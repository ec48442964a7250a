/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Migration of particles: packed by destination rank, and unpacked after arrival. */
#include <config.h>

#include "base/memory.h"
#include "gpu/device/device.cuh"
#include "gpu/device/search.cuh"
#include "gpu/device/select.cuh"
#include "gpu/device/sort.cuh"
#include "particles/timeline.h"
#include "tree/cuboids.h"

enum { PARTICLE_FIELDS_MAX = 16 };

/* Owner keys: 0 for a particle that stays, r + 1 for one that migrates to rank r. */
static __global__ void find_owner_ranks(struct particles particles, struct domain domain, int self, int32_t tick,
                                        double tick_length, uint32_t *owner_key)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  double x[3];
  if (i >= particles.n) return;
  const double *pos = &particles.pos[3 * i];
  if (tick > 0) {
    timeline_place(x, pos, &particles.vel[3 * i], &particles.acc_hard[3 * i], (tick - particles.tick[i]) * tick_length);
    pos = x;
  }
  int rank = domain_owner(&domain, pos);
  owner_key[i] = rank == self ? 0 : (uint32_t)rank + 1;
}

struct has_left {
  const uint32_t *owner_key;
  int left;
  __device__ __forceinline__ bool operator()(int32_t i) const { return (owner_key[i] != 0) == left; }
};

static __global__ void gather_owner_ranks(const uint32_t *owner_key, const int32_t *from, int32_t n, uint32_t *taken)
{
  int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  if (k < n) taken[k] = owner_key[from[k]];
}

/* first[k]: the first entry of the sorted list whose owner key is at least k. */
static __global__ void find_bounds(const uint32_t *owner_key, int32_t n, int count, int32_t *first)
{
  int k = (int)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= count) return;
  first[k] = search_first_not(0, n, [&](int32_t i) { return owner_key[i] < (uint32_t)k; });
}

/* The fields of particles, and their places in records of `stride` bytes. */
struct record_fields {
  char *field[PARTICLE_FIELDS_MAX];
  int bytes[PARTICLE_FIELDS_MAX], at[PARTICLE_FIELDS_MAX], count, stride;
};

static struct record_fields record_fields_of(const struct particles *particles, int64_t first)
{
  struct record_fields r = {};
  if (particle_field_count > PARTICLE_FIELDS_MAX)
    fatal("particles have %d fields, at most %d are exchanged", particle_field_count, PARTICLE_FIELDS_MAX);
  for (int f = 0; f < particle_field_count; f++) {
    const struct particle_field *field = &particle_fields[f];
    r.field[f] = *(char **)((char *)(uintptr_t)particles + field->offset) + field->bytes * (size_t)first;
    r.bytes[f] = (int)field->bytes;
    r.at[f] = r.stride;
    r.stride += r.bytes[f];
  }
  r.count = particle_field_count;
  return r;
}

/* Copy between fields and records, byte by byte, since records have no alignment: a thread for each byte of the
 * records. */
static __global__ void pack_records(char *record, const __grid_constant__ struct record_fields r, const int32_t *order,
                                    int64_t n)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x, i = k / r.stride;
  int b = (int)(k % r.stride), f = 0;
  if (i >= n) return;
  while (f + 1 < r.count && b >= r.at[f + 1]) f++;
  record[k] = r.field[f][order[i] * (int64_t)r.bytes[f] + b - r.at[f]];
}

static __global__ void unpack_records(const char *record, const __grid_constant__ struct record_fields r, int64_t n)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x, i = k / r.stride;
  int b = (int)(k % r.stride), f = 0;
  if (i >= n) return;
  while (f + 1 < r.count && b >= r.at[f + 1]) f++;
  r.field[f][i * r.bytes[f] + b - r.at[f]] = record[k];
}

/* Copy the cuts of the domain to the device. Queued. */
static struct domain put_domain(struct device *d, const struct domain *domain)
{
  struct domain there = *domain;
  const double *from[3] = {domain->x, domain->y, domain->z};
  double **to[3] = {&there.x, &there.y, &there.z}, *at;
  const int64_t count[3] = {domain->px - 1, (int64_t)domain->px * (domain->py - 1),
                            (int64_t)domain->px * domain->py * (domain->pz - 1)};
  at = array_reserve(&d->work.points, "device points", count[0] + count[1] + count[2]);
  for (int c = 0; c < 3; at += count[c++]) {
    *to[c] = at;
    if (count[c] > 0) CHECK(runtime_copy(at, from[c], sizeof(double) * (size_t)count[c], TO_DEVICE, d->stream));
  }
  return there;
}

/* Select those of the n particles from `first` on that leave (left: 1) or stay (0), in ascending order. Their number
 * becomes device_results->count. Queued. */
static void select_by_owner(struct device *d, const uint32_t *owner_key, int left, int32_t first, int64_t n,
                            int32_t *found)
{
  const struct has_left rule = {owner_key, left};
  select_numbers(d, rule, first, n, found);
}

/* Particles that leave. The lists use the device's arrays of keys and places. */
struct leaving {
  uint32_t *owner_key; /* of all particles */
  int32_t *place;      /* the particles that leave, ascending, */
  int32_t *order;      /* and by owner */
  int64_t count;
};

static struct leaving find_leaving(struct device *d, const struct domain *domain, int self, int32_t tick,
                                   double tick_length)
{
  int64_t n = d->p.n;
  struct leaving l = {(uint32_t *)array_reserve(&d->order.key[0], "device order", n),
                      array_reserve(&d->order.place[0], "device order", n),
                      array_reserve(&d->order.place[1], "device order", n)};
  LAUNCH(d, find_owner_ranks, blocks_for(n, THREADS), THREADS, d->p, put_domain(d, domain), self, tick, tick_length,
         l.owner_key);
  select_by_owner(d, l.owner_key, 1, 0, n, l.place);
  l.count = device_read_results(d)->count;
  return l;
}

/* Sort by owner; counts[r] becomes the number of particles that leave for rank r. Waits if there are several. */
static void sort_leaving(struct device *d, int self, struct leaving *leaving, int64_t *counts)
{
  int ranks = d->config.ranks, bits = 1;
  int32_t n = (int32_t)leaving->count;
  if (ranks == 2) { /* all leave for the other rank, in the same order as after a sort */
    counts[1 - self] = n;
    leaving->order = leaving->place;
    return;
  }
  while (bits < 31 && 1 << bits < ranks + 1) bits++;
  /* a key has room for two */
  uint32_t *key = (uint32_t *)array_reserve(&d->order.key[1], "device order", d->p.n), *sorted = key + n;
  LAUNCH(d, gather_owner_ranks, blocks_for(n, THREADS), THREADS, leaving->owner_key, leaving->place, n, key);
  sort_pairs(d, key, sorted, leaving->place, leaving->order, n, 0, bits);
  int32_t *first = array_reserve(&d->tree.tile_count, "device build", ranks + 2);
  int32_t *bounds = (int32_t *)memory_alloc("exchange", sizeof *bounds * (size_t)(ranks + 2));
  LAUNCH(d, find_bounds, blocks_for(ranks + 2, THREADS), THREADS, sorted, n, ranks + 2, first);
  CHECK(runtime_copy(bounds, first, sizeof *bounds * (size_t)(ranks + 2), TO_HOST, d->stream));
  gpu_wait(d);
  for (int r = 0; r < ranks; r++) counts[r] = bounds[r + 2] - bounds[r + 1];
  memory_free(bounds);
}

/* Move particle from[k] to the place to[k], k < *count. */
static __global__ void move_particles(struct particles p, const int32_t *from, const int32_t *to, const int32_t *count)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (k >= *count) return;
  int64_t i = to[k], j = from[k];
#define X(member, ctype, components) \
  _Pragma("unroll") for (int c = 0; c < (components); c++) p.member[(components)*i + c] = p.member[(components)*j + c];
  PARTICLE_FIELDS(X)
#undef X
}

/* Move staying particles from places after the new end to the places that leaving particles vacate. Queued. */
static void fill_gaps(struct device *d, const struct leaving *leaving)
{
  int64_t kept = d->p.n - leaving->count;
  int32_t *mover = (int32_t *)(leaving->owner_key + d->p.n); /* a key has room for two */
  select_by_owner(d, leaving->owner_key, 0, (int32_t)kept, leaving->count, mover);
  LAUNCH(d, move_particles, blocks_for(leaving->count, THREADS), THREADS, d->p, mover, leaving->place,
         &d->device_results->count);
  d->p.n = kept;
  d->sources.stale = 1;
}

int64_t gpu_pack(struct device *d, const struct domain *domain, int self, int32_t tick, double tick_length,
                 int64_t *counts, void **buffer)
{
  int ranks = d->config.ranks;
  int64_t n = d->p.n;
  size_t stride = particle_bytes();
  memset(counts, 0, sizeof *counts * (size_t)ranks);
  *buffer = d->exchange.host_packed;
  if (n == 0) return 0;
  step_state_moved(&d->step);
  d->step.ahead.histogram = 0;
  device_wait_for_copy(d);
  struct leaving l = find_leaving(d, domain, self, tick, tick_length);
  int64_t leaving = l.count, kept = n - leaving;
  if (leaving == 0) return kept;
  sort_leaving(d, self, &l, counts);
  if (!d->bypass && stride * (size_t)leaving > d->exchange.host_packed_bytes) {
    d->exchange.host_packed_bytes = stride * (size_t)with_slack(leaving);
    memory_free(d->exchange.host_packed);
    d->exchange.host_packed = memory_alloc("exchange", d->exchange.host_packed_bytes);
  }
  char *record = array_reserve(&d->exchange.packed, "device exchange", (int64_t)stride * leaving);
  LAUNCH(d, pack_records, blocks_for((int64_t)stride * leaving, THREADS), THREADS, record, record_fields_of(&d->p, 0),
         l.order, leaving);
  if (!d->bypass) CHECK(runtime_copy(d->exchange.host_packed, record, stride * (size_t)leaving, TO_HOST, d->stream));
  fill_gaps(d, &l);
  if (!d->bypass) gpu_wait(d);
  *buffer = d->bypass ? record : d->exchange.host_packed;
  return kept;
}

void *gpu_unpack_buffer(struct device *d, size_t bytes)
{
  return array_reserve(&d->exchange.arriving, "device exchange", (int64_t)bytes);
}

void gpu_unpack(struct device *d, const void *buffer, int64_t count)
{
  int64_t n = d->p.n;
  size_t stride = particle_bytes();
  if (count == 0) return;
  if (n + count > INT32_MAX / 2)
    fatal("%lld particles on one device, at most %d: use more ranks", (long long)(n + count), INT32_MAX / 2);
  device_particles_grow(d, n + count);
  const char *record = (const char *)buffer;
  if (!d->bypass) {
    char *copy = array_reserve(&d->exchange.packed, "device exchange", (int64_t)stride * count);
    CHECK(runtime_copy(copy, buffer, stride * (size_t)count, TO_DEVICE, d->stream));
    record = copy;
  }
  LAUNCH(d, unpack_records, blocks_for((int64_t)stride * count, THREADS), THREADS, record, record_fields_of(&d->p, n),
         count);
  d->p.n = n + count;
  d->sources.stale = 1;
  if (count > n) d->order.deepest = 0; /* the last tree does not predict the depth of the next one */
  step_state_invalidate(&d->step);
  if (!d->bypass) gpu_wait(d); /* the caller owns the buffer */
}

void exchange_state_free(struct exchange_state *state)
{
  array_free(&state->packed);
  array_free(&state->arriving);
  memory_free(state->host_packed);
}
