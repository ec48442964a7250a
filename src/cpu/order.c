/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lattice coordinates, keys, sort. */
#include <config.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/device.h"
#include "particles/timeline.h"

enum { DIGIT_BITS = 11, BUCKETS = 1 << DIGIT_BITS, KEY_BITS = 63 };

/* One pass of a stable radix sort; the threads own contiguous parts of `in`, so the result does not depend on their number. */
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

/* Sort item[0] by key; ties keep their order. item[1] is scratch; the two may change places. */
static void sort_items(struct device *d, int64_t n)
{
  for (int shift = 0; shift < KEY_BITS; shift += DIGIT_BITS) {
    radix_pass(d->item[0], d->item[1], n, shift, d->histogram, d->threads);
    struct item *t = d->item[0];
    d->item[0] = d->item[1];
    d->item[1] = t;
  }
}

static void room(struct device *d, int64_t n)
{
  if (!d->histogram) d->histogram = memory_alloc("order", sizeof *d->histogram * BUCKETS * (size_t)d->threads);
  if (n <= d->order_capacity) return;
  d->order_capacity = n + n / 8 + 64;
  memory_free(d->key);
  memory_free(d->permutation);
  d->key = memory_alloc("order", sizeof *d->key * (size_t)d->order_capacity);
  d->permutation = memory_alloc("order", sizeof *d->permutation * (size_t)d->order_capacity);
  for (int k = 0; k < 2; k++) {
    memory_free(d->item[k]);
    d->item[k] = memory_alloc("order", sizeof **d->item * (size_t)d->order_capacity);
  }
}

/* Sort the particles by their places, predicted to `tick` where it is asked for. Returns how many lie outside the lattice. */
static int64_t sort_particles(struct device *d, const struct lattice *lattice, int predict, int32_t tick, double tick_length)
{
  struct particles *p = &d->p;
  int64_t n = p->n, outside = 0;
  d->lattice = *lattice;
  d->by_level_valid = 0;
  room(d, n);
  struct item *item = d->item[0];
#pragma omp parallel for schedule(static) reduction(+ : outside)
  for (int64_t i = 0; i < n; i++) {
    int32_t x[3];
    int out = 0;
    double at[3];
    timeline_place(at, &p->pos[3 * i], &p->vel[3 * i], &p->acc_hard[3 * i], predict ? (tick - p->tick[i]) * tick_length : 0);
    for (int c = 0; c < 3; c++) x[c] = lattice_of(lattice, c, at[c], &out);
    outside += out;
    item[i].key = key_of(x[0], x[1], x[2]);
    item[i].from = i;
  }
  sort_items(d, n);
  item = d->item[0];
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    d->key[i] = item[i].key;
    d->permutation[i] = item[i].from;
  }
  particles_permute(p, d->permutation, &d->spare);
  return outside;
}

int64_t cpu_order(struct device *d, const struct lattice *lattice)
{
  d->sorted_within_step = 0;
  return sort_particles(d, lattice, 0, 0, 0);
}

void cpu_reorder(struct device *d, int32_t tick, double tick_length, int fast, int renew)
{
  (void)fast, (void)renew;
  const struct lattice lattice = d->lattice;
  sort_particles(d, &lattice, 1, tick, tick_length);
  d->sorted_within_step = 1;
}
