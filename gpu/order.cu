/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lattice coordinates, keys, sort, and the sources that the octree is made of. */
#include <config.h>
#include <cub/device/device_radix_sort.cuh>

#include "sources.cuh"

enum { KEY_BITS = 3 * KEY_LEVELS, PASS_BITS = 8 };   /* bits of a key; those that a pass of the sort takes */

static __device__ const uint8_t key_rows[KEY_STATES][8] = {KEY_TABLE_ROWS};

/* The table of the curve is looked up at random: in shared memory every entry has its own bank. */
struct key_table {
  uint8_t row[KEY_STATES][8];
};
static __device__ __forceinline__ void fill_table(struct key_table *t)
{
  if (threadIdx.x < sizeof t->row) t->row[threadIdx.x / 8][threadIdx.x % 8] = key_rows[threadIdx.x / 8][threadIdx.x % 8];
  __syncthreads();
}

static __global__ void make_keys(struct particles p, struct lattice l, uint64_t *key, int32_t *place, unsigned long long *outside)
{
  __shared__ struct key_table table;
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  int out = 0;
  fill_table(&table);
  if (i < p.n) {
    const double *x = &p.pos[3 * i];
    key[i] = key_along(table.row, lattice_of(&l, 0, x[0], &out), lattice_of(&l, 1, x[1], &out), lattice_of(&l, 2, x[2], &out));
    place[i] = (int32_t)i;
  }
  int left = __syncthreads_count(out);
  if (threadIdx.x == 0 && left > 0) atomicAdd(outside, (unsigned long long)left);
}

/* Keys of the sources' places at a tick, of so many bits from the top. */
static __global__ void make_later_keys(struct tree t, int32_t tick, float tick_length, double inverse, uint64_t mask, uint64_t *key, int32_t *place)
{
  __shared__ struct key_table table;
  int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  fill_table(&table);
  if (i >= t.bodies) return;
  const struct body b = body_at(&t.body[i], &t.course[i], tick, tick_length, inverse);
  key[i] = key_along(table.row, b.x, b.y, b.z) & mask;
  place[i] = i;
}

static void room_for_keys(struct device *d)
{
  for (int k = 0; k < 2; k++) {
    array_room(&d->key[k], "device order", d->p.n);
    array_room(&d->place[k], "device order", d->p.n);
  }
}

/* Sort the particles by so many digits of their keys; the others are zero. */
static void sort_particles(struct device *d, int levels)
{
  int zero_bits = KEY_BITS - 3 * levels;
  int64_t n = d->p.n;
  size_t bytes = 0;
  cub::DoubleBuffer<uint64_t> key(d->key[0].at, d->key[1].at);
  cub::DoubleBuffer<int32_t> place(d->place[0].at, d->place[1].at);
  CHECK(cub::DeviceRadixSort::SortPairs(NULL, bytes, key, place, (int)n, zero_bits, KEY_BITS, d->stream));
  array_room(&d->scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceRadixSort::SortPairs(d->scratch.at, bytes, key, place, (int)n, zero_bits, KEY_BITS, d->stream));
  d->key_now = key.selector;
  d->key_levels = levels;
  d->present_tick = -1;
  device_permute_sources(d, place.Current());
}

int64_t gpu_order(struct device *d, const struct lattice *lattice)
{
  d->lattice = *lattice;
  d->next_known = 0;
  if (d->p.n == 0) return 0;
  room_for_keys(d);
  device_zero(d, outside);
  LAUNCH(d, make_keys, blocks_for(d->p.n, THREADS), THREADS, d->p, d->lattice, d->key[0].at, d->place[0].at, &d->answers->outside);
  sort_particles(d, KEY_LEVELS);
  return (int64_t)device_ask(d)->outside;
}

/* How many digits a tree within a soft step needs: one less than the last whole tree had, or two where that saves a pass of
 * the sort. Its deepest cells remain leaves, with some more particles than others. */
static int needed_levels(const struct device *d)
{
  int levels = d->deepest - 1, last = 3 * levels % PASS_BITS;
  if (levels < 1) return KEY_LEVELS;
  return last > 0 && last <= 3 && levels > 1 ? levels - 1 : levels;
}

void gpu_reorder(struct device *d, int32_t tick, double tick_length)
{
  int levels = needed_levels(d);
  if (d->p.n == 0) return;
  room_for_keys(d);
  LAUNCH(d, make_later_keys, blocks_for(d->p.n, THREADS), THREADS, d->tree, tick, (float)tick_length, d->lattice.inverse,
         ~(uint64_t)0 << (KEY_BITS - 3 * levels), d->key[0].at, d->place[0].at);
  sort_particles(d, levels);
}
