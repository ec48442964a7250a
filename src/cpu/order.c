/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lattice coordinates, keys, sort. */
#include <config.h>
#include <omp.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"
#include "cpu/device.h"
#include "particles/timeline.h"

enum { DIGIT_BITS = 11, BUCKETS = 1 << DIGIT_BITS, KEY_BITS = 64 };

/* Part of a key beyond those of places: particles without mass come last. */
#define MASSLESS ((uint64_t)1 << 63)

/* One pass of a stable radix sort; the threads own contiguous parts of `in`, so the result does not depend on their
 * number. */
static void radix_pass(const struct item *in, struct item *out, int64_t n, int shift, int64_t *histogram, int threads)
{
#pragma omp parallel num_threads(threads)
  {
    int thread = omp_get_thread_num(), thread_count = omp_get_num_threads();
    int64_t begin = n * thread / thread_count, end = n * (thread + 1) / thread_count;
    int64_t *own = histogram + (int64_t)thread * BUCKETS;
    memset(own, 0, sizeof *own * BUCKETS);
    for (int64_t i = begin; i < end; i++) own[in[i].key >> shift & (BUCKETS - 1)]++;
#pragma omp barrier
#pragma omp single
    {
      int64_t sum = 0;
      for (int b = 0; b < BUCKETS; b++)
        for (int t = 0; t < thread_count; t++) {
          int64_t *count = &histogram[(int64_t)t * BUCKETS + b], here = *count;
          *count = sum;
          sum += here;
        }
    }
    for (int64_t i = begin; i < end; i++) out[own[in[i].key >> shift & (BUCKETS - 1)]++] = in[i];
  }
}

/* The sort works in the memory of the sources, which have no values between a sort and the build after it. For c
 * particles, the capacity:
 *   bytes   0 ... 16 c   items; later the scratch memory of the permutation, up to 28 c
 *          16 ... 32 c   items
 *          28 ... 32 c   permutation
 *          36 ... 44 c   keys, until the build has used them */
struct sort_memory {
  struct item *item[2];
  int32_t *permutation;
  uint64_t *key;
  void *scratch;
};
_Static_assert(SOURCE_WORDS * 4 >= 44, "the memory of the sources is large enough for the sort");

static struct sort_memory sort_memory(struct device *d, int64_t n)
{
  cpu_reserve_sources(d, n);
  char *at = d->local.sources;
  int64_t c = d->local.source_capacity;
  if (ESP_CHECKS && particles_scratch_bytes(1) > 28)
    fatal("the widest field of a particle is too wide for the memory of the sort");
  return (struct sort_memory){
      {(struct item *)at, (struct item *)(at + 16 * c)}, (int32_t *)(at + 28 * c), (uint64_t *)(at + 36 * c), at};
}

/* Sort item[0] by key; ties keep their order. item[1] is scratch. */
static void sort_items(struct device *d, struct item *item[2], int64_t n)
{
  if (!d->local.histogram)
    d->local.histogram = memory_alloc("order", sizeof *d->local.histogram * BUCKETS * (size_t)d->threads);
  _Static_assert(KEY_BITS > 5 * DIGIT_BITS && KEY_BITS <= 6 * DIGIT_BITS,
                 "after an even number of passes the result is in item[0]");
  for (int shift = 0, k = 0; shift < KEY_BITS; shift += DIGIT_BITS, k = !k)
    radix_pass(item[k], item[!k], n, shift, d->local.histogram, d->threads);
}

/* Sort the particles, those with mass first, by their places, predicted to `tick` where it is asked for. Returns how
 * many lie outside the lattice. */
static int64_t sort_particles(struct device *d, const struct lattice *lattice, int predict, int32_t tick,
                              double tick_length)
{
  struct particles *p = &d->p;
  int64_t n = p->n, outside = 0, massive = 0;
  d->lattice = *lattice;
  d->by_level.valid = 0;
  memory_free(d->packed); /* the particles that left have been sent */
  d->packed = NULL;
  struct sort_memory m = sort_memory(d, n);
  struct item *item = m.item[0];
#pragma omp parallel for schedule(static) reduction(+ : outside, massive)
  for (int64_t i = 0; i < n; i++) {
    int32_t x[3];
    int out = 0;
    double at[3];
    timeline_place(at, &p->pos[3 * i], &p->vel[3 * i], &p->acc_hard[3 * i],
                   predict ? (tick - p->tick[i]) * tick_length : 0);
    for (int c = 0; c < 3; c++) x[c] = lattice_of(lattice, c, at[c], &out);
    outside += out;
    massive += p->mass[i] > 0;
    item[i].key = key_of(x[0], x[1], x[2]) | (p->mass[i] > 0 ? 0 : MASSLESS);
    item[i].from = i;
  }
  d->local.massive = (int32_t)massive;
  sort_items(d, m.item, n);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    m.key[i] = item[i].key;
    m.permutation[i] = (int32_t)item[i].from;
  }
  d->local.key = m.key;
  particles_permute(p, m.permutation, m.scratch);
  return outside;
}

int64_t cpu_order(struct device *d, const struct lattice *lattice)
{
  d->local.sorted_within_step = 0;
  cpu_let_drop(d);
  return sort_particles(d, lattice, 0, 0, 0);
}

void cpu_reorder(struct device *d, int32_t tick, double tick_length, level_bands bands, int from)
{
  (void)bands;
  (void)from;
  const struct lattice lattice = d->lattice;
  sort_particles(d, &lattice, 1, tick, tick_length);
  d->local.sorted_within_step = 1;
}
