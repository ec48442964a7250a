/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles that change ranks: packed by destination, and taken in. */
#include <config.h>
#include <cub/device/device_radix_sort.cuh>

#include "cuboids.h"
#include "device.cuh"
#include "memory.h"

/* Who stays is 0, who goes to rank r is r + 1: sorted by it, those that stay come first. */
static __global__ void find_homes(struct particles p, struct domain domain, int self, uint32_t *home, int32_t *place)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= p.n) return;
  int rank = domain_home(&domain, &p.pos[3 * i]);
  home[i] = rank == self ? 0 : (uint32_t)rank + 1;
  place[i] = (int32_t)i;
}

/* first[k]: where the homes of at least k begin in the sorted list. */
static __global__ void find_bounds(const uint32_t *home, int32_t n, int count, int32_t *first)
{
  int k = (int)(blockIdx.x * THREADS + threadIdx.x);
  if (k >= count) return;
  int32_t begin = 0, end = n;
  while (begin < end) {
    int32_t middle = begin + (end - begin) / 2;
    if (home[middle] < (uint32_t)k)
      begin = middle + 1;
    else
      end = middle;
  }
  first[k] = begin;
}

/* One field between arrays and records of `stride` bytes, byte by byte: records have no alignment. */
static __global__ void pack_field(char *record, size_t stride, const char *field, size_t bytes, const int32_t *order, int64_t n)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x, i = k / (int64_t)bytes, b = k % (int64_t)bytes;
  if (i < n) record[i * (int64_t)stride + b] = field[order[i] * (int64_t)bytes + b];
}

static __global__ void unpack_field(const char *record, size_t stride, char *field, size_t bytes, int64_t n)
{
  int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x, i = k / (int64_t)bytes, b = k % (int64_t)bytes;
  if (i < n) field[i * (int64_t)bytes + b] = record[i * (int64_t)stride + b];
}

/* The cuts on the device. */
static struct domain put_domain(struct device *d, const struct domain *domain)
{
  struct domain there = *domain;
  const double *from[3] = {domain->x, domain->y, domain->z};
  double **to[3] = {&there.x, &there.y, &there.z}, *at;
  const int64_t count[3] = {domain->px - 1, (int64_t)domain->px * (domain->py - 1), (int64_t)domain->px * domain->py * (domain->pz - 1)};
  at = array_room(&d->points, "device points", count[0] + count[1] + count[2]);
  for (int c = 0; c < 3; at += count[c++]) {
    *to[c] = at;
    if (count[c] > 0) CHECK(cudaMemcpyAsync(at, from[c], sizeof(double) * (size_t)count[c], cudaMemcpyHostToDevice, d->stream));
  }
  return there;
}

/* The order by home; bounds[k] of the homes on the host. */
static const int32_t *sort_homes(struct device *d, const struct domain *domain, int self, int32_t *bounds)
{
  int64_t n = d->p.n;
  int homes = d->config.ranks + 1, bits = 1;
  size_t bytes = 0;
  while (bits < 31 && 1 << bits < homes) bits++;
  uint32_t *home[2];
  for (int k = 0; k < 2; k++) {
    home[k] = (uint32_t *)array_room(&d->key[k], "device order", n);
    array_room(&d->place[k], "device order", n);
  }
  cub::DoubleBuffer<uint32_t> key(home[0], home[1]);
  cub::DoubleBuffer<int32_t> place(d->place[0].at, d->place[1].at);
  LAUNCH(d, find_homes, blocks_for(n, THREADS), THREADS, d->p, put_domain(d, domain), self, key.Current(), place.Current());
  CHECK(cub::DeviceRadixSort::SortPairs(NULL, bytes, key, place, (int)n, 0, bits, d->stream));
  array_room(&d->scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceRadixSort::SortPairs(d->scratch.at, bytes, key, place, (int)n, 0, bits, d->stream));
  int32_t *first = array_room(&d->tile_count, "device build", homes + 1);
  LAUNCH(d, find_bounds, blocks_for(homes + 1, THREADS), THREADS, key.Current(), (int32_t)n, homes + 1, first);
  CHECK(cudaMemcpyAsync(bounds, first, sizeof(int32_t) * (size_t)(homes + 1), cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
  return place.Current();
}

int64_t gpu_pack(struct device *d, const struct domain *domain, int self, int64_t *counts, void **buffer)
{
  int ranks = d->config.ranks;
  int64_t n = d->p.n;
  size_t stride = particle_bytes();
  memset(counts, 0, sizeof *counts * (size_t)ranks);
  *buffer = d->packed_told;
  if (n == 0) return 0;
  int32_t *bounds = (int32_t *)memory_alloc("exchange", sizeof *bounds * (size_t)(ranks + 2));
  const int32_t *order = sort_homes(d, domain, self, bounds);
  int64_t kept = bounds[1], leaving = n - kept;
  for (int r = 0; r < ranks; r++) counts[r] = bounds[r + 2] - bounds[r + 1];
  memory_free(bounds);
  if (leaving == 0) return kept;
  if (!d->bypass && stride * (size_t)leaving > d->packed_room) {
    d->packed_room = stride * (size_t)with_slack(leaving);
    memory_free(d->packed_told);
    d->packed_told = memory_alloc("exchange", d->packed_room);
  }
  char *record = array_room(&d->packed, "device exchange", (int64_t)stride * leaving);
  size_t at = 0;
  for (int f = 0; f < particle_field_count; f++) {
    const struct particle_field *field = &particle_fields[f];
    const char *from = *(char **)((char *)&d->p + field->offset);
    LAUNCH(d, pack_field, blocks_for((int64_t)field->bytes * leaving, THREADS), THREADS, record + at, stride, from, field->bytes,
           order + kept, leaving);
    at += field->bytes;
  }
  if (!d->bypass) CHECK(cudaMemcpyAsync(d->packed_told, record, stride * (size_t)leaving, cudaMemcpyDeviceToHost, d->stream));
  device_permute(d, order, kept);
  gpu_wait(d);
  *buffer = d->bypass ? record : d->packed_told;
  return kept;
}

void *gpu_unpack_room(struct device *d, size_t bytes) { return array_room(&d->arriving, "device exchange", (int64_t)bytes); }

void gpu_unpack(struct device *d, const void *buffer, int64_t count)
{
  int64_t n = d->p.n;
  size_t stride = particle_bytes(), at = 0;
  if (count == 0) return;
  if (n + count > INT32_MAX / 2) fatal("%lld particles on one device, at most %d: use more ranks", (long long)(n + count), INT32_MAX / 2);
  device_particles_grow(d, n + count);
  const char *record = (const char *)buffer;
  if (!d->bypass) {
    char *copy = array_room(&d->packed, "device exchange", (int64_t)stride * count);
    CHECK(cudaMemcpyAsync(copy, buffer, stride * (size_t)count, cudaMemcpyHostToDevice, d->stream));
    record = copy;
  }
  for (int f = 0; f < particle_field_count; f++) {
    const struct particle_field *field = &particle_fields[f];
    char *to = *(char **)((char *)&d->p + field->offset) + field->bytes * (size_t)n;
    LAUNCH(d, unpack_field, blocks_for((int64_t)field->bytes * count, THREADS), THREADS, record + at, stride, to, field->bytes, count);
    at += field->bytes;
  }
  d->p.n = n + count;
  d->next_known = d->tiles_known = 0;
  gpu_wait(d);   /* the buffer is the caller's */
}
