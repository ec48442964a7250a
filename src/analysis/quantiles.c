/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bits of a double that is not negative, read as a whole number, are in the order of the numbers. Histograms of the
 * upper bits, then of the following ones among the keys that share the upper ones of a quantile, lead to it in three
 * passes. */
#include <config.h>
#include "analysis/quantiles.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"

enum { LEVELS = 3, BITS_MAX = 13, BINS_MAX = 1 << BITS_MAX };
static const int level_bits[LEVELS] = {13, 12, 12}; /* sign excluded: 11 bits of the exponent and 26 of the mantissa */
#define ROUNDED_FRACTION (1 - 1e-12) /* one tenth of ten equal masses is one of them, whatever the rounding of 0.1 */

static uint64_t bits_of(double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits & INT64_MAX;
}

static double number_of(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The quantiles on their way. */
struct search {
  int64_t n;
  quantile_key *key;
  quantile_weight *weight;
  const void *of;
  int count, prefixes;
  int64_t need[QUANTILES_MAX];    /* weight that is looked for */
  int64_t below[QUANTILES_MAX];   /* weight of keys below the prefix */
  uint64_t prefix[QUANTILES_MAX]; /* upper bits of the quantile */
  int slot[QUANTILES_MAX];        /* which of the distinct prefixes it has */
  uint64_t distinct[QUANTILES_MAX];
};

static void find_distinct(struct search *search)
{
  search->prefixes = 0;
  for (int k = 0; k < search->count; k++) { /* ascending, as the fractions are */
    if (k == 0 || search->prefix[k] != search->prefix[k - 1]) search->distinct[search->prefixes++] = search->prefix[k];
    search->slot[k] = search->prefixes - 1;
  }
}

/* Weights by the next `bits` bits above `shift` of the keys with a distinct prefix: table[prefix][bin], over all ranks.
 * Collective. */
static void count_bins(const struct comm *comm, const struct search *search, int shift, int bits, int64_t *table)
{
  size_t bins = (size_t)1 << bits, cells = bins * (size_t)search->prefixes;
  memset(table, 0, sizeof *table * cells);
#pragma omp parallel if (search->n > 10000)
  {
    int64_t *mine = memory_alloc("analysis", sizeof *mine * cells);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < search->n; i++) {
      uint64_t b = bits_of(search->key(search->of, i)) >> shift, prefix = b >> bits;
      for (int d = 0; d < search->prefixes; d++)
        if (search->distinct[d] == prefix)
          mine[(size_t)d * bins + (b & (bins - 1))] += search->weight ? search->weight(search->of, i) : 1;
    }
#pragma omp critical
    for (size_t k = 0; k < cells; k++) table[k] += mine[k];
    memory_free(mine);
  }
  comm_sum_int64(comm, table, (int)cells);
}

/* Extend each prefix by the bin in which its weight is reached. */
static void extend(struct search *search, const int64_t *table, int bits)
{
  uint64_t bins = (uint64_t)1 << bits;
  for (int k = 0; k < search->count; k++) {
    const int64_t *bin = table + (uint64_t)search->slot[k] * bins;
    uint64_t at = 0;
    while (at + 1 < bins && search->below[k] + bin[at] < search->need[k]) search->below[k] += bin[at++];
    search->prefix[k] = search->prefix[k] << bits | at;
  }
}

void quantiles(const struct comm *comm, int64_t n, quantile_key *key, quantile_weight *weight, const void *of,
               int64_t total, int count, const double *fraction, double *value)
{
  struct search s = {.n = n, .key = key, .weight = weight, .of = of, .count = count};
  int shift = 63;
  memset(value, 0, sizeof *value * (size_t)count);
  if (total <= 0) return;
  for (int k = 0; k < count; k++) s.need[k] = (int64_t)fmax(1, ceil(fraction[k] * (double)total * ROUNDED_FRACTION));
  int64_t *table = memory_alloc("analysis", sizeof *table * (size_t)BINS_MAX * (size_t)count);
  for (int level = 0; level < LEVELS; level++) {
    shift -= level_bits[level];
    find_distinct(&s);
    count_bins(comm, &s, shift, level_bits[level], table);
    extend(&s, table, level_bits[level]);
  }
  memory_free(table);
  for (int k = 0; k < count; k++)
    value[k] = s.prefix[k] ? number_of((s.prefix[k] + 1) * ((uint64_t)1 << shift) - 1) : 0;
}
