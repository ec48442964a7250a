/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lattice coordinates, keys, sort, and the sources that the octree is made of. */
#include <config.h>
#include <cub/device/device_radix_sort.cuh>

#include "device.cuh"

enum { KEY_BITS = 3 * KEY_LEVELS };

static __device__ const uint8_t key_rows[KEY_STATES][8] = {KEY_TABLE_ROWS};

/* The table of the curve is looked up at random: in shared memory every entry has its own bank. */
static __global__ void make_keys(struct particles p, struct lattice l, uint64_t *key, int32_t *place, unsigned long long *outside)
{
  __shared__ uint8_t table[KEY_STATES][8];
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  int out = 0;
  if (threadIdx.x < sizeof table) table[threadIdx.x / 8][threadIdx.x % 8] = key_rows[threadIdx.x / 8][threadIdx.x % 8];
  __syncthreads();
  if (i < p.n) {
    int32_t x = lattice_of(&l, 0, p.pos[3 * i], &out), y = lattice_of(&l, 1, p.pos[3 * i + 1], &out), z = lattice_of(&l, 2, p.pos[3 * i + 2], &out);
    key[i] = key_along(table, x, y, z);
    place[i] = (int32_t)i;
  }
  int left = __syncthreads_count(out);
  if (threadIdx.x == 0 && left > 0) atomicAdd(outside, (unsigned long long)left);
}

/* to[i] = from[order[i]] for values of so many words. A thread moves several words, so that their loads overlap. */
enum { GATHER_ITEMS = 4, GATHER_TILE = GATHER_ITEMS * THREADS };

template <typename WORD, int WORDS> static __global__ void __launch_bounds__(THREADS) gather(WORD *to, const WORD *from, const int32_t *order, uint32_t n)
{
  uint32_t first = blockIdx.x * GATHER_TILE + threadIdx.x, end = n * WORDS;
  int32_t at[GATHER_ITEMS];
  WORD word[GATHER_ITEMS];
#pragma unroll
  for (int k = 0; k < GATHER_ITEMS; k++) at[k] = first + k * THREADS < end ? order[(first + k * THREADS) / WORDS] : 0;
#pragma unroll
  for (int k = 0; k < GATHER_ITEMS; k++) word[k] = from[(int64_t)at[k] * WORDS + (first + k * THREADS) % WORDS];
#pragma unroll
  for (int k = 0; k < GATHER_ITEMS; k++)
    if (first + k * THREADS < end) to[first + k * THREADS] = word[k];
}

template <typename WORD, int WORDS> static void gather_field(struct device *d, void *to, const void *from, const int32_t *order)
{
  int64_t n = d->p.n;
  LAUNCH(d, (gather<WORD, WORDS>), blocks_for(n * WORDS, GATHER_TILE), THREADS, (WORD *)to, (const WORD *)from, order, (uint32_t)n);
}

/* Reorder all fields; p and spare change places. */
static void permute(struct device *d, const int32_t *order)
{
  device_particles_room(&d->spare, d->p.n);
  for (int f = 0; f < particle_field_count; f++) {
    const struct particle_field *field = &particle_fields[f];
    const void *from = *(char **)((char *)&d->p + field->offset);
    void *to = *(char **)((char *)&d->spare + field->offset);
    switch (field->bytes) {
    case 1: gather_field<uint8_t, 1>(d, to, from, order); break;
    case 4: gather_field<uint32_t, 1>(d, to, from, order); break;
    case 8: gather_field<uint64_t, 1>(d, to, from, order); break;
    case 12: gather_field<uint32_t, 3>(d, to, from, order); break;
    case 24: gather_field<uint64_t, 3>(d, to, from, order); break;
    default: fatal("no way to sort a field of %zu bytes", field->bytes);
    }
  }
  struct particles sorted = d->spare;
  sorted.n = d->p.n;
  d->spare = d->p;
  d->p = sorted;
}

/* The particles' places and masses as sources. */
static __global__ void fill_bodies(struct body *body, struct particles p, struct lattice l)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= p.n) return;
  int out = 0;
  const struct body b = {lattice_of(&l, 0, p.pos[3 * i], &out), lattice_of(&l, 1, p.pos[3 * i + 1], &out),
                         lattice_of(&l, 2, p.pos[3 * i + 2], &out), p.mass[i]};
  body[i] = b;
}

int64_t gpu_order(struct device *d, const struct lattice *lattice)
{
  int64_t n = d->p.n;
  size_t bytes = 0;
  d->lattice = *lattice;
  d->next_known = 0;
  if (n == 0) return 0;
  for (int k = 0; k < 2; k++) {
    array_room(&d->key[k], "device order", n);
    array_room(&d->place[k], "device order", n);
  }
  cub::DoubleBuffer<uint64_t> key(d->key[0].at, d->key[1].at);
  cub::DoubleBuffer<int32_t> place(d->place[0].at, d->place[1].at);
  device_zero(d, outside);
  LAUNCH(d, make_keys, blocks_for(n, THREADS), THREADS, d->p, *lattice, key.Current(), place.Current(), &d->answers->outside);
  CHECK(cub::DeviceRadixSort::SortPairs(NULL, bytes, key, place, (int)n, 0, KEY_BITS, d->stream));
  array_room(&d->scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceRadixSort::SortPairs(d->scratch.at, bytes, key, place, (int)n, 0, KEY_BITS, d->stream));
  d->key_now = key.selector;
  permute(d, place.Current());
  LAUNCH(d, fill_bodies, blocks_for(n, THREADS), THREADS, array_room(&d->body, "device sources", n), d->p, *lattice);
  return (int64_t)device_ask(d)->outside;
}
