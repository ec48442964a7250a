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

/* The first particles of the bands from `from` + 1 on. `both` 1: there are two bands, and each has a particle. */
static __global__ void find_bands(const uint64_t *key, int class_bits, int32_t first, int32_t n, int from, int both,
                                  struct device_results *results)
{
  int band = (int)threadIdx.x;
  if (results->unsorted || (band <= from && from > 0)) return;
  int32_t begin = search_first_not(first, n, [&](int32_t k) { return (int)(key[k] >> (64 - class_bits)) < band; });
  results->band_begin[band] = both && band == 1 ? min(max(begin, 1), n - 1) : begin;
}

static void reserve_keys(struct device *d)
{
  for (int k = 0; k < 2; k++) {
    array_reserve(&d->order.key[k], "device order", d->p.n);
    array_reserve(&d->order.place[k], "device order", d->p.n);
  }
}

/* Sort the keys from the particle `first` on by their upper `levels` digits (the others are zero), and with `by_band`
 * by the bits above the digits. Returns the order. */
static const int32_t *sort_keys(struct device *d, int32_t first, int levels, int by_band)
{
  int n = (int)(d->p.n - first), top = 64 - d->order.class_bits;
  uint64_t *const key[2] = {d->order.key[0].at + first, d->order.key[1].at + first};
  int32_t *const place[2] = {d->order.place[0].at + first, d->order.place[1].at + first};
  int sorted = sort_pairs_in_two(d, key, place, n, top - 3 * levels, by_band ? 64 : top);
  /* the keys before stay where they are */
  if (first == 0) d->order.current = sorted;
  else if (sorted != d->order.current)
    CHECK(runtime_copy(key[d->order.current], key[sorted], sizeof **key * (size_t)n, ON_DEVICE, d->stream));
  d->order.levels = levels;
  d->sources.present_tick = -1;
  return place[sorted];
}

/* One part, of all particles. */
static void set_whole(struct device *d)
{
  memset(d->tree.part, 0, sizeof d->tree.part);
  d->tree.parts = 1;
  d->tree.renews = RENEWS_ALL;
  d->tree.part[0].count = (int32_t)d->p.n;
  for (int k = 0; k <= BANDS_MAX; k++) d->order.band_begin[k] = k > 0 ? (int32_t)d->p.n : 0;
}

/* Two parts, on several ranks. */
static void set_slow_and_fast(struct device *d)
{
  int32_t fast_begin = d->order.band_begin[1];
  if (d->p.n < 2) return;
  d->tree.parts = 2;
  d->tree.part[SLOW].count = fast_begin;
  d->tree.part[FAST].first = fast_begin;
  d->tree.part[FAST].count = (int32_t)d->p.n - fast_begin;
  d->tree.part[FAST].band = 1;
}

/* Put a part of a band and deeper ones on the stack; those that it replaces are removed. */
static void set_last(struct device *d, int from)
{
  struct tree_part *part = d->tree.part;
  int32_t first = d->order.band_begin[from], count = (int32_t)d->p.n - first, base = -1, nodes = 0;
  while (d->tree.parts > 1 && part[d->tree.parts - 1].band >= from) {
    const struct tree_part *last = &part[--d->tree.parts];
    base = last->band == from ? last->base : -1;
    nodes = last->nodes;
  }
  const struct tree_part *below = &part[d->tree.parts - 1];
  if (base < 0) base = below->base + below->nodes;
  if (nodes == 0) nodes = (int32_t)((double)below->nodes * count / below->count) + 1; /* until they are counted */
  memset(&part[d->tree.parts], 0, sizeof *part);
  part[d->tree.parts].first = first;
  part[d->tree.parts].count = count;
  part[d->tree.parts].band = from;
  part[d->tree.parts].base = base;
  part[d->tree.parts].nodes = nodes;
  d->tree.parts++;
  d->tree.renews = RENEWS_LAST;
}

struct tree_roots device_tree_roots(const struct device *d)
{
  struct tree_roots roots = {};
  for (int k = 0; k < d->tree.parts; k++) {
    const struct tree_part *part = &d->tree.part[k];
    int end = k + 1 < d->tree.parts ? d->tree.part[k + 1].band : BANDS_MAX, root = part->base;
    for (int band = part->band; band < end; band++)
      if (d->order.band_begin[band] < d->order.band_begin[band + 1]) roots.root[roots.count++] = root++;
  }
  return roots;
}

int64_t gpu_order(struct device *d, const struct lattice *lattice)
{
  neighbours_invalidate(&d->hard);
  d->hard.passing = 0;
  d->lattice = *lattice;
  step_state_invalidate(&d->step);
  d->order.build_begun = 0;
  d->order.bands = 0;
  d->order.class_bits = 1;
  set_whole(d);
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

/* The bits above the digits of keys. */
static int class_bits_of(level_bands bands)
{
  int count = bands_count(bands), bits = 1;
  while (1 << bits < count) bits++;
  return bits;
}

/* The number of digits for trees of bands within a soft step: one less than the last tree of whole keys had, or two
 * less if that saves a pass of the sort. The deepest cells stay leaves and hold more particles than other leaves. */
static int needed_levels(const struct device *d, int class_bits)
{
  int most = (64 - class_bits) / 3, levels = d->order.deepest - 1, last = 3 * levels % PASS_BITS;
  if (levels < 1) return KEY_LEVELS < most ? KEY_LEVELS : most;
  return last > 0 && last <= 3 && levels > 1 ? levels - 1 : levels;
}

/* The same for one tree. Such a tree is for all particles, and hard walks need leaves of the usual size everywhere: in
 * a core of uniform density most leaves are of the deepest level. */
static int whole_levels(const struct device *d) { return d->order.deepest > 0 ? d->order.deepest : KEY_LEVELS; }

/* Sort the particles from keys->first on by radix sort. Returns the order. */
static const int32_t *sort_later(struct device *d, const struct later_keys *keys, int levels)
{
  LAUNCH(d, make_later_keys, blocks_for(d->p.n - keys->first, THREADS), THREADS, *keys, d->order.key[0].at,
         d->order.place[0].at);
  return sort_keys(d, keys->first, levels, 1);
}

/* Count the particles of the bands from keys->from + 1 on, or of all. */
static void count_bands(struct device *d, const struct later_keys *keys)
{
  int both = d->config.ranks > 1 && keys->bands && d->p.n > 1;
  if (keys->from > 0 && keys->from == bands_count(keys->bands) - 1) return;
  LAUNCH(d, find_bands, 1, BANDS_MAX, d->order.key[d->order.current].at, keys->class_bits, keys->first, (int32_t)d->p.n,
         keys->from, both, d->device_results);
}

/* Reorder the particles of the deeper bands alone. On several ranks the first old keys are of particles within the
 * domain: those that have crossed its faces since then would all be in a few buckets. */
static void renew_order(struct device *d, const struct later_keys *keys)
{
  int nearly_sorted = !d->tree.capacity_exceeded && (d->order.renewals > 0 || d->config.ranks <= 1);
  device_zero(d, unsorted);
  const int32_t *order =
      nearly_sorted ? device_resort(d, keys, (int32_t)d->p.n - keys->first) : sort_later(d, keys, d->order.levels);
  d->order.renewals++;
  count_bands(d, keys);
  device_permute_last(d, order, keys->first);
  set_last(d, keys->from);
}

/* Reorder all particles. */
static void order_all(struct device *d, const struct later_keys *keys, int levels)
{
  d->order.renewals = 0;
  d->order.bands = keys->bands;
  d->order.class_bits = keys->class_bits;
  device_zero(d, unsorted);
  const int32_t *order = sort_later(d, keys, levels);
  if (keys->bands) count_bands(d, keys);
  device_permute_sources(d, order);
  set_whole(d);
  if (!keys->bands) return;
  memcpy(d->order.band_begin, device_read_results(d)->band_begin, sizeof(int32_t) * BANDS_MAX);
  if (d->config.ranks > 1) set_slow_and_fast(d);
}

/* What a call of the verb renews. On several ranks peers expect both trees: those of a single particle stay. */
static enum renewal renewal_of(const struct device *d, level_bands bands, int from)
{
  if (from > 0 && d->tree.parts < 2 && d->config.ranks > 1) return RENEWS_NOTHING;
  if (from == 0 || bands != d->order.bands || bands == 0) return RENEWS_ALL;
  return d->order.band_begin[from] < d->p.n ? RENEWS_LAST : RENEWS_NOTHING;
}

void gpu_reorder(struct device *d, int32_t tick, double tick_length, level_bands bands, int from)
{
  d->order.build_begun = 0;
  if (d->p.n == 0) set_whole(d);
  if (d->p.n == 0 || pairwise_applies(d)) return; /* without a tree the order need not change */
  if (d->sources.stale) device_make_sources(d);
  if (d->config.method == METHOD_NEXT_MORE) bands = 0; /* that walk supports one root */
  neighbours_invalidate(&d->hard);
  d->hard.passing = 1;
  enum renewal renews = renewal_of(d, bands, from);
  if (renews == RENEWS_NOTHING) {
    d->tree.renews = renews;
    return;
  }
  int all = renews == RENEWS_ALL, class_bits = class_bits_of(bands);
  int levels = !all ? d->order.levels : bands ? needed_levels(d, class_bits) : whole_levels(d);
  reserve_keys(d);
  struct later_keys keys = {d->tree.view,
                            d->p.level,
                            bands,
                            all ? 0 : from,
                            class_bits,
                            all ? 0 : d->order.band_begin[from],
                            tick,
                            (float)tick_length,
                            d->lattice.inverse,
                            ~(uint64_t)0 << (KEY_BITS - 3 * levels)};
  d->order.reordered.tick = tick;
  d->order.reordered.tick_length = tick_length;
  d->step.tiles_known = all ? 0 : d->step.tiles_known < keys.first ? d->step.tiles_known : keys.first;
  if (all) order_all(d, &keys, levels);
  else renew_order(d, &keys);
}
