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
    const double *x = &p.pos[3 * i];
    key[i] = key_along(table, lattice_of(&l, 0, x[0], &out), lattice_of(&l, 1, x[1], &out), lattice_of(&l, 2, x[2], &out));
    place[i] = (int32_t)i;
  }
  int left = __syncthreads_count(out);
  if (threadIdx.x == 0 && left > 0) atomicAdd(outside, (unsigned long long)left);
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
  d->present_tick = -1;
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
  device_permute(d, place.Current(), n);
  LAUNCH(d, fill_bodies, blocks_for(n, THREADS), THREADS, array_room(&d->body, "device sources", n), d->p, *lattice);
  return (int64_t)device_ask(d)->outside;
}
