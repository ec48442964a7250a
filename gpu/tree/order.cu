/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys on the space-filling curve, the sort of the particles, and the verbs order and reorder. */
#include <config.h>

#include "gpu/device/search.cuh"
#include "gpu/device/sort.cuh"
#include "gpu/tree/tree.cuh"
#include "gpu/tree/order.cuh"
#include "particles/timeline.h"

enum {
  KEY_BITS = 3 * KEY_LEVELS,
  PASS_BITS = 8,    /* bits of the key that one pass of the sort covers */
  ROUGH_LEVELS = 10 /* digits for direct sums, which only need neighbours in space to be near each other in memory */
};

static __global__ void make_keys(struct particles particles, struct lattice lattice, uint64_t *key, int32_t *place,
                                 unsigned long long *outside)
{
  __shared__ struct key_table table;
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  int out = 0;
  fill_table(&table);
  if (i < particles.n) {
    const double *x = &particles.pos[3 * i];
    key[i] = key_along(table.row, lattice_of(&lattice, 0, x[0], &out), lattice_of(&lattice, 1, x[1], &out),
                       lattice_of(&lattice, 2, x[2], &out));
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

/* The first fast particle. */
static __global__ void find_fast_begin(const uint64_t *key, int32_t n, int32_t *fast_begin)
{
  *fast_begin = search_first_not(0, n, [&](int32_t k) { return !(key[k] & KEY_FAST); });
}

static void reserve_keys(struct device *d)
{
  for (int k = 0; k < 2; k++) {
    array_reserve(&d->order.key[k], "device order", d->p.n);
    array_reserve(&d->order.place[k], "device order", d->p.n);
  }
}

/* Sort the keys from the particle `first` on by their upper `levels` digits (the others are zero), and with `top` by
 * the bit above the digits. Returns the order. */
static const int32_t *sort_keys(struct device *d, int32_t first, int levels, int top)
{
  int n = (int)(d->p.n - first), zero_bits = KEY_BITS - 3 * levels;
  uint64_t *const key[2] = {d->order.key[0].at + first, d->order.key[1].at + first};
  int32_t *const place[2] = {d->order.place[0].at + first, d->order.place[1].at + first};
  d->order.current = sort_pairs_in_two(d, key, place, n, zero_bits, KEY_BITS + top);
  d->order.levels = levels;
  d->sources.present_tick = -1;
  return place[d->order.current];
}

/* One tree of all particles, or a second one of the particles from `fast_begin` on. */
static void divide(struct device *d, int32_t fast_begin)
{
  int32_t n = (int32_t)d->p.n;
  memset(d->tree.part, 0, sizeof d->tree.part);
  d->tree.parts = fast_begin > 0 && fast_begin < n ? 2 : 1;
  d->tree.renewing = 0;
  d->tree.part[SLOW].count = d->tree.parts == 2 ? fast_begin : n;
  d->tree.part[FAST].first = fast_begin;
  d->tree.part[FAST].count = n - fast_begin;
}

int64_t gpu_order(struct device *d, const struct lattice *lattice)
{
  neighbours_invalidate(&d->hard);
  d->hard.passing = 0;
  d->lattice = *lattice;
  step_state_invalidate(&d->step);
  d->order.build_begun = 0;
  divide(d, 0);
  if (d->p.n == 0) return 0;
  reserve_keys(d);
  device_zero(d, outside);
  LAUNCH(d, make_keys, blocks_for(d->p.n, THREADS), THREADS, d->p, d->lattice, d->order.key[0].at, d->order.place[0].at,
         &d->device_results->outside);
  int alone = pairwise_applies(d);
  device_permute_sources(d, sort_keys(d, 0, alone ? (int)ROUGH_LEVELS : (int)KEY_LEVELS, 0));
  if (!alone) device_begin_build(d);
  d->order.build_begun = !alone;
  return (int64_t)device_read_results(d)->outside;
}

/* The number of digits for a tree within a soft step: one less than the last tree of whole keys had, or two less if
 * that saves a pass of the sort. The deepest cells stay leaves and hold more particles than other leaves. */
static int needed_levels(const struct device *d)
{
  int levels = d->order.deepest - 1, last = 3 * levels % PASS_BITS;
  if (levels < 1) return KEY_LEVELS;
  return last > 0 && last <= 3 && levels > 1 ? levels - 1 : levels;
}

/* The same with the split on. Such a tree is for all particles, and hard walks need leaves of the usual size
 * everywhere: in a core of uniform density most leaves are of the deepest level. */
static int whole_levels(const struct device *d) { return d->order.deepest > 0 ? d->order.deepest : KEY_LEVELS; }

/* Sort the particles from keys->first on by radix sort. Returns the order. */
static const int32_t *sort_later(struct device *d, const struct later_keys *keys, int levels, int top)
{
  LAUNCH(d, make_later_keys, blocks_for(d->p.n - keys->first, THREADS), THREADS, *keys, d->order.key[0].at,
         d->order.place[0].at);
  return sort_keys(d, keys->first, levels, top);
}

/* Reorder the fast particles alone. On several ranks the first old keys are of particles within the domain: those that
 * have crossed its faces since then would all be in a few buckets. */
static void renew_order(struct device *d, const struct later_keys *keys)
{
  int32_t first = keys->first;
  int nearly_sorted = !d->tree.capacity_exceeded && (d->order.renewals > 0 || d->config.ranks <= 1);
  device_zero(d, unsorted);
  const int32_t *order =
      nearly_sorted ? device_resort(d, keys, (int32_t)d->p.n - first) : sort_later(d, keys, d->order.levels, 0);
  d->order.renewals++;
  device_permute_last(d, order, first);
  d->tree.renewing = 1;
}

void gpu_reorder(struct device *d, int32_t tick, double tick_length, int fast, int renew)
{
  int levels = renew && d->tree.parts == 2 ? d->order.levels : fast > LEVEL_MAX ? whole_levels(d) : needed_levels(d);
  int all = !renew || d->tree.parts < 2;
  d->order.build_begun = 0;
  if (d->p.n == 0) divide(d, 0);
  if (d->p.n == 0 || pairwise_applies(d)) return; /* without a tree the order need not change */
  if (d->sources.stale) device_make_sources(d);
  if (d->config.method == METHOD_NEXT_MORE) fast = INT32_MAX; /* that walk supports one root */
  neighbours_invalidate(&d->hard);
  d->hard.passing = 1;
  if (renew && d->tree.parts < 2 && d->config.ranks > 1) { /* a single particle: peers expect its tree */
    d->tree.renewing = 1;
    return;
  }
  reserve_keys(d);
  struct later_keys keys = {
      d->tree.view, d->p.level,         all ? fast : 0,     all ? 0 : d->tree.part[FAST].first,
      tick,         (float)tick_length, d->lattice.inverse, ~(uint64_t)0 << (KEY_BITS - 3 * levels)};
  if (all) d->order.renewals = 0;
  d->order.reordered.tick = tick;
  d->order.reordered.tick_length = tick_length;
  d->step.tiles_known = all ? 0 : d->step.tiles_known < keys.first ? d->step.tiles_known : keys.first;
  if (!all) {
    renew_order(d, &keys);
    return;
  }
  const int32_t *order = sort_later(d, &keys, levels, 1);
  if (fast > LEVEL_MAX) { /* no particle is fast */
    device_permute_sources(d, order);
    divide(d, (int32_t)d->p.n);
    return;
  }
  LAUNCH(d, find_fast_begin, 1, 1, d->order.key[d->order.current].at, (int32_t)d->p.n, &d->device_results->fast_begin);
  device_permute_sources(d, order);
  int32_t fast_begin = device_read_results(d)->fast_begin, n = (int32_t)d->p.n;
  /* peers expect both trees */
  if (d->config.ranks > 1 && fast <= LEVEL_MAX && n > 1) fast_begin = min(max(fast_begin, 1), n - 1);
  divide(d, fast_begin);
}
