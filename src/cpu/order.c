/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lattice coordinates, keys, sort. */
#include <config.h>
#include <omp.h>
#include <string.h>

#include "device.h"
#include "memory.h"

enum { DIGIT_BITS = 11, BUCKETS = 1 << DIGIT_BITS, KEY_BITS = 63 };

struct item {
  uint64_t key;
  int64_t from;
};

/* One pass of a stable radix sort; the threads own contiguous parts of `in`, so the result does not depend on their number. */
static void radix_pass(const struct item *in, struct item *out, int64_t n, int shift, int64_t *histogram, int threads)
{
#pragma omp parallel num_threads(threads)
  {
    int thread = omp_get_thread_num(), team = omp_get_num_threads();
    int64_t begin = n * thread / team, end = n * (thread + 1) / team;
    int64_t *own = histogram + (int64_t)thread * BUCKETS;
    memset(own, 0, sizeof *own * BUCKETS);
    for (int64_t i = begin; i < end; i++) own[in[i].key >> shift & (BUCKETS - 1)]++;
#pragma omp barrier
#pragma omp single
    {
      int64_t sum = 0;
      for (int b = 0; b < BUCKETS; b++)
        for (int t = 0; t < team; t++) {
          int64_t *count = &histogram[(int64_t)t * BUCKETS + b], here = *count;
          *count = sum;
          sum += here;
        }
    }
    for (int64_t i = begin; i < end; i++) out[own[in[i].key >> shift & (BUCKETS - 1)]++] = in[i];
  }
}

/* Sort by key; ties keep their order. On return a holds the sorted items (b is scratch). */
static void sort_items(struct item **a, struct item **b, int64_t n, int threads)
{
  int64_t *histogram = memory_alloc("order", sizeof *histogram * BUCKETS * (size_t)threads);
  for (int shift = 0; shift < KEY_BITS; shift += DIGIT_BITS) {
    radix_pass(*a, *b, n, shift, histogram, threads);
    struct item *t = *a;
    *a = *b;
    *b = t;
  }
  memory_free(histogram);
}

static void room(struct device *d, int64_t n)
{
  if (n <= d->order_capacity) return;
  d->order_capacity = n + n / 8 + 64;
  memory_free(d->key);
  memory_free(d->permutation);
  d->key = memory_alloc("order", sizeof *d->key * (size_t)d->order_capacity);
  d->permutation = memory_alloc("order", sizeof *d->permutation * (size_t)d->order_capacity);
}

int64_t cpu_order(struct device *d, const struct lattice *lattice)
{
  struct particles *p = &d->p;
  int64_t n = p->n, outside = 0;
  d->lattice = *lattice;
  room(d, n);
  struct item *a = memory_alloc("order", sizeof *a * (size_t)n), *b = memory_alloc("order", sizeof *b * (size_t)n);
#pragma omp parallel for schedule(static) reduction(+ : outside)
  for (int64_t i = 0; i < n; i++) {
    int32_t x[3];
    int out = 0;
    for (int c = 0; c < 3; c++) x[c] = lattice_of(lattice, c, p->pos[3 * i + c], &out);
    outside += out;
    a[i].key = key_of(x[0], x[1], x[2]);
    a[i].from = i;
  }
  sort_items(&a, &b, n, d->threads);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    d->key[i] = a[i].key;
    d->permutation[i] = a[i].from;
  }
  memory_free(a);
  memory_free(b);
  particles_permute(p, d->permutation);
  return outside;
}
