/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lattice coordinates, keys, sort, and the sources that the octree is made of. */
#include <config.h>
#include <cub/device/device_radix_sort.cuh>

#include "order.cuh"
#include "pairwise.cuh"
#include "timeline.h"

enum {
  KEY_BITS = 3 * KEY_LEVELS,
  PASS_BITS = 8,       /* of the key, that a pass of the sort takes */
  ROUGH_LEVELS = 10    /* digits that direct sums need: neighbours in space stand near each other, which is all */
};

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

static __global__ void make_later_keys(const __grid_constant__ struct later_keys keys, uint64_t *key, int32_t *place)
{
  __shared__ struct key_table table;
  int32_t i = keys.first + (int32_t)(blockIdx.x * THREADS + threadIdx.x);
  fill_table(&table);
  if (i >= keys.t.bodies) return;
  key[i] = later_key(keys, table, i);
  place[i] = i;
}

/* Where the fast particles begin. */
static __global__ void find_apart(const uint64_t *key, int32_t n, int32_t *apart)
{
  int32_t low = 0, high = n;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (key[middle] & KEY_FAST)
      high = middle;
    else
      low = middle + 1;
  }
  *apart = low;
}

static void room_for_keys(struct device *d)
{
  for (int k = 0; k < 2; k++) {
    array_room(&d->key[k], "device order", d->p.n);
    array_room(&d->place[k], "device order", d->p.n);
  }
}

/* Sort the keys from the particle `first` on by so many digits (the others are zero), and by the bit above them where it is
 * asked for. Returns the order. */
static const int32_t *sort_keys(struct device *d, int32_t first, int levels, int top)
{
  int n = (int)(d->p.n - first), zero_bits = KEY_BITS - 3 * levels;
  size_t bytes = 0;
  cub::DoubleBuffer<uint64_t> key(d->key[0].at + first, d->key[1].at + first);
  cub::DoubleBuffer<int32_t> place(d->place[0].at + first, d->place[1].at + first);
  CHECK(cub::DeviceRadixSort::SortPairs(NULL, bytes, key, place, n, zero_bits, KEY_BITS + top, d->stream));
  array_room(&d->scratch, "device scratch", (int64_t)bytes);
  CHECK(cub::DeviceRadixSort::SortPairs(d->scratch.at, bytes, key, place, n, zero_bits, KEY_BITS + top, d->stream));
  d->key_now = key.selector;
  d->key_levels = levels;
  d->present_tick = -1;
  return place.Current();
}

/* One tree of all, or another of the particles from `apart` on. */
static void divide(struct device *d, int32_t apart)
{
  int32_t n = (int32_t)d->p.n;
  memset(d->part, 0, sizeof d->part);
  d->parts = apart > 0 && apart < n ? 2 : 1;
  d->renewing = 0;
  d->part[SLOW].count = d->parts == 2 ? apart : n;
  d->part[FAST].first = apart;
  d->part[FAST].count = n - apart;
}

int64_t gpu_order(struct device *d, const struct lattice *lattice)
{
  neighbours_forget(d);
  d->neighbours.passing = 0;
  d->lattice = *lattice;
  d->next_known = d->tiles_known = 0;
  divide(d, 0);
  if (d->p.n == 0) return 0;
  room_for_keys(d);
  device_zero(d, outside);
  LAUNCH(d, make_keys, blocks_for(d->p.n, THREADS), THREADS, d->p, d->lattice, d->key[0].at, d->place[0].at, &d->answers->outside);
  device_permute_sources(d, sort_keys(d, 0, pairwise_serves(d) ? (int)ROUGH_LEVELS : (int)KEY_LEVELS, 0));
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

/* With the split on such a tree is for all, and hard walks, which evaluate what is near, want leaves of the usual size
 * everywhere: in a core of even density most of them are of the deepest level. */
static int whole_levels(const struct device *d) { return d->deepest > 0 ? d->deepest : KEY_LEVELS; }

/* The order of the particles from keys.first on, by a sort of all digits. */
static const int32_t *sort_later(struct device *d, const struct later_keys *keys, int levels, int top)
{
  LAUNCH(d, make_later_keys, blocks_for(d->p.n - keys->first, THREADS), THREADS, *keys, d->key[0].at, d->place[0].at);
  return sort_keys(d, keys->first, levels, top);
}

/* The fast particles alone. */
static void renew_order(struct device *d, const struct later_keys *keys)
{
  int32_t first = keys->first;
  device_zero(d, unsorted);
  const int32_t *order = d->outgrown ? sort_later(d, keys, d->key_levels, 0) : device_resort(d, keys, (int32_t)d->p.n - first);
  device_permute_last(d, order, first);
  d->renewing = 1;
}

void gpu_reorder(struct device *d, int32_t tick, double tick_length, int fast, int renew)
{
  int levels = renew && d->parts == 2 ? d->key_levels : fast > LEVEL_MOST ? whole_levels(d) : needed_levels(d), all = !renew || d->parts < 2;
  if (d->p.n == 0) divide(d, 0);
  if (d->p.n == 0 || pairwise_serves(d)) return;   /* without a tree the order may stay */
  if (d->uprooted) device_make_sources(d);
  if (d->config.method == METHOD_NEXT_MORE) fast = INT32_MAX;   /* it knows one root */
  neighbours_forget(d);
  d->neighbours.passing = 1;
  if (renew && d->parts < 2 && d->config.ranks > 1) {   /* a single particle: peers count on its tree */
    d->renewing = 1;
    return;
  }
  room_for_keys(d);
  struct later_keys keys = {d->tree, d->p.level, all ? fast : 0, all ? 0 : d->part[FAST].first, tick, (float)tick_length,
                            d->lattice.inverse, ~(uint64_t)0 << (KEY_BITS - 3 * levels)};
  d->reordered.tick = tick;
  d->reordered.tick_length = tick_length;
  d->tiles_known = all ? 0 : d->tiles_known < keys.first ? d->tiles_known : keys.first;
  if (!all) {
    renew_order(d, &keys);
    return;
  }
  const int32_t *order = sort_later(d, &keys, levels, 1);
  LAUNCH(d, find_apart, 1, 1, d->key[d->key_now].at, (int32_t)d->p.n, &d->answers->apart);
  device_permute_sources(d, order);
  int32_t apart = device_ask(d)->apart, n = (int32_t)d->p.n;
  if (d->config.ranks > 1 && fast <= LEVEL_MOST && n > 1) apart = min(max(apart, 1), n - 1);   /* peers expect both trees */
  divide(d, apart);
}
