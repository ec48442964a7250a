/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts as weighted quantiles by a radix search: all ranks count their samples in buckets of leading bits of the
 * coordinates, sum the counts over ranks, and refine only the buckets in which cuts lie. Samples are neither sorted nor
 * sent. Weights are converted to integers, whose sums are exact: the result does not depend on the order of summation,
 * and so not on the distribution over ranks. */
#include <config.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/domain.h"

/* Sums of weights stay below 2^61, so that twice a sum fits an int64. */
enum { SUM_BITS = 61 };
/* An aligned cut moves by at most 1/ALIGN of a domain's weight, and the middle cut, which gains most, by MIDDLE times
 * as much. FACES_MAX: number of cell sizes whose faces are considered; CENTRE_BITS: significant bits of their
 * centre. */
enum { ALIGN = 128, MIDDLE = 4, FACES_MAX = 31, CENTRE_BITS = 40 };
/* Numbers of buckets as powers of two: largest and smallest number of an interval; largest number of all intervals on
 * several ranks, on at most RANKS_FEW, where a sum of short messages (2 KB) is faster although it takes more rounds,
 * and on one. */
enum { BITS_MAX = 11, BITS_MIN = 4, BITS_RANKS = 12, BITS_FEW = 7, RANKS_FEW = 8, BITS_ALONE = 15 };

struct bucket {
  int64_t weight, count;
};

/* A sample in an interval that contains a cut. */
struct entry {
  uint64_t key;
  int32_t sample, interval;
};

/* The search for one cut: an interval of keys, which shrinks, contains the sample at which the sum of weights reaches
 * the wanted share. */
struct search {
  int64_t before;   /* weight of the group below the interval */
  uint64_t low;     /* first key of the interval */
  uint64_t last;    /* when found: the last key below the cut */
  int32_t interval; /* number of the interval in this round; negative: found */
};

/* Bounds of all samples. */
struct extent {
  double largest[7]; /* weight; coordinates; negative coordinates */
  int64_t count;
};

struct cutter {
  const struct comm *c; /* NULL: only this rank */
  const struct weighted *s;
  int64_t count, entries; /* numbers of samples and of remaining entries */
  int64_t *weight;        /* [count] integer weights of samples */
  int32_t *group;         /* [count] group of a sample: its slab, then its column */
  struct entry *entry;
  struct search *search;
  int64_t *sum; /* [groups] weight of a group; negative: minus its number of samples */
  struct bucket *bucket;
  int32_t *next;   /* numbers of intervals in the next round, by bucket */
  double *face;    /* positions of aligned cuts; NaN: not aligned */
  double *ends;    /* largest coordinate of each part, then largest negative coordinate of each */
  int64_t buckets; /* capacity of bucket and next */
};

/* Unsigned key in the order of doubles; both zeros have the same key. */
static uint64_t ascending(double x)
{
  uint64_t bits;
  x += 0.0;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static int bits_of(uint64_t x)
{
  int bits = 0;
  for (; x; x >>= 1) bits++;
  return bits;
}

/* --- samples ----------------------------------------------------------------------------------------------------- */

/* The weight; 0 where it is not positive and finite. */
static double valid_weight(double weight) { return weight > 0 && weight <= DBL_MAX ? weight : 0; }

static struct extent measure(const struct cutter *cutter)
{
  struct extent e = {.count = cutter->count};
  for (int c = 1; c < 7; c++) e.largest[c] = -HUGE_VAL;
  for (int64_t i = 0; i < cutter->count; i++) {
    double w = valid_weight(cutter->s[i].weight);
    if (w > e.largest[0]) e.largest[0] = w;
    for (int c = 0; c < 3; c++) {
      double x = cutter->s[i].pos[c];
      if (x > e.largest[1 + c]) e.largest[1 + c] = x;
      if (-x > e.largest[4 + c]) e.largest[4 + c] = -x;
    }
  }
  if (!cutter->c || cutter->c->size == 1) return e;
  struct extent *all = memory_alloc("domain", sizeof *all * (size_t)cutter->c->size);
  comm_allgather(cutter->c, &e, sizeof e, all);
  e.count = 0;
  for (int r = 0; r < cutter->c->size; r++) {
    e.count += all[r].count;
    for (int c = 0; c < 7; c++) e.largest[c] = fmax(e.largest[c], all[r].largest[c]);
  }
  memory_free(all);
  return e;
}

/* Convert weights to multiples of the smallest power of two with which sums do not overflow. */
static void weigh(const struct cutter *cutter, const struct extent *extent)
{
  int exponent = 0;
  frexp(extent->largest[0], &exponent);
  int up = SUM_BITS - bits_of((uint64_t)extent->count) - exponent;
  double half = ldexp(1, up / 2), rest = ldexp(1, up - up / 2); /* 2^up itself may be out of range */
  for (int64_t i = 0; i < cutter->count; i++)
    cutter->weight[i] = (int64_t)(valid_weight(cutter->s[i].weight) * half * rest + 0.5);
}

/* --- one axis ---------------------------------------------------------------------------------------------------- */

/* `sum` * part / parts, rounded up. */
static int64_t share(int64_t sum, int part, int parts)
{
  return sum / parts * part + (sum % parts * part + parts - 1) / parts;
}

/* Number of bits that a round resolves; `rest`: number of bits that remain. */
static int round_bits(const struct cutter *cutter, int intervals, int rest)
{
  int ranks = cutter->c ? cutter->c->size : 1, most = ranks == 1           ? BITS_ALONE
                                                      : ranks <= RANKS_FEW ? BITS_FEW
                                                                           : BITS_RANKS;
  int bits = most - bits_of((uint64_t)intervals - 1);
  if (bits > BITS_MAX) bits = BITS_MAX;
  if (bits < BITS_MIN) bits = BITS_MIN;
  return bits < rest ? bits : rest;
}

/* Count the entries of all ranks in the buckets of their intervals. */
static void count(struct cutter *cutter, int intervals, int bits, int shift)
{
  int64_t buckets = (int64_t)intervals << bits;
  uint64_t mask = ((uint64_t)1 << bits) - 1;
  if (buckets > cutter->buckets) {
    memory_free(cutter->next);
    memory_free(cutter->bucket);
    cutter->buckets = buckets;
    cutter->bucket = memory_alloc("domain", sizeof *cutter->bucket * (size_t)buckets);
    cutter->next = memory_alloc("domain", sizeof *cutter->next * (size_t)buckets);
  }
  memset(cutter->bucket, 0, sizeof *cutter->bucket * (size_t)buckets);
  for (int64_t i = 0; i < cutter->entries; i++) {
    const struct entry *e = &cutter->entry[i];
    struct bucket *b = &cutter->bucket[(int64_t)e->interval << bits | (int64_t)(e->key >> shift & mask)];
    b->weight += cutter->weight[e->sample];
    b->count++;
  }
  if (cutter->c && cutter->c->size > 1) comm_sum_int64(cutter->c, &cutter->bucket->weight, (int)(2 * buckets));
}

/* Sum a group's weight in the first round. A group without weight gets minus its number of samples, which then weigh
 * the same. */
static void sum_group(struct cutter *cutter, int group, int bits)
{
  struct bucket *b = cutter->bucket + ((int64_t)group << bits), all = {0, 0};
  for (int64_t i = 0; i < (int64_t)1 << bits; i++) {
    all.weight += b[i].weight;
    all.count += b[i].count;
  }
  cutter->sum[group] = all.weight > 0 ? all.weight : -all.count;
}

/* Narrow a search to the bucket in which the sum of weights reaches part / parts of the group's weight. The search ends
 * when the bucket has one sample or one key; it lies below the cut where more
 * than half of its weight is below the share. */
static void narrow(struct cutter *cutter, struct search *search, int64_t group, int part, int parts, int bits,
                   int shift, int32_t *intervals)
{
  int by_count = cutter->sum[group] < 0;
  int64_t sum = by_count ? -cutter->sum[group] : cutter->sum[group], aim = share(sum, part, parts), here;
  int64_t at = (int64_t)search->interval << bits, end = at + ((int64_t)1 << bits) - 1;
  search->interval = -1;
  if (sum == 0) return;
  for (;; at++) {
    here = by_count ? cutter->bucket[at].count : cutter->bucket[at].weight;
    if (at == end || search->before + here >= aim) break;
    search->before += here;
  }
  search->low |= (uint64_t)(at & (((int64_t)1 << bits) - 1)) << shift;
  if (cutter->bucket[at].count > 1 && shift > 0) {
    if (cutter->next[at] < 0) cutter->next[at] = (*intervals)++;
    search->interval = cutter->next[at];
  } else {
    search->last = 2 * search->before + here >= share(2 * sum, part, parts)
                       ? (search->low ? search->low - 1 : 0)
                       : search->low | (((uint64_t)1 << shift) - 1);
  }
}

/* Keep only entries in buckets that contain cuts. */
static void keep_entries(struct cutter *cutter, int bits, int shift)
{
  uint64_t mask = ((uint64_t)1 << bits) - 1;
  int64_t kept = 0;
  for (int64_t i = 0; i < cutter->entries; i++) {
    struct entry e = cutter->entry[i];
    e.interval = cutter->next[(int64_t)e.interval << bits | (int64_t)(e.key >> shift & mask)];
    cutter->entry[kept] = e;
    kept += e.interval >= 0;
  }
  cutter->entries = kept;
}

/* Number of searches for a cut: aligned cuts have two more, for the ends of their windows. */
static int searches(const struct domain *domain) { return domain->align ? 3 : 1; }

static int middle_of(int parts) { return (parts - 1) / 2; }

/* Share of a group's weight for search q of one axis, in units of 1 / (finer * parts). */
static int wanted_share(int q, int parts, int of_cut, int finer)
{
  int cut = q / of_cut, side = q % of_cut - of_cut / 2;
  return finer * (cut + 1) + side * (cut == middle_of(parts) ? MIDDLE : 1);
}

/* Find the last keys below the parts - 1 cuts of each group. All keys are between `first` and `last`. */
static void search(struct cutter *cutter, const struct domain *domain, int axis, int groups, int parts, uint64_t first,
                   uint64_t last)
{
  int rest = bits_of(first ^ last), of_cut = searches(domain), each = of_cut * (parts - 1),
      finer = domain->align ? ALIGN : 1;
  int32_t intervals = groups;
  cutter->entries = cutter->count;
  for (int64_t i = 0; i < cutter->count; i++)
    cutter->entry[i] = (struct entry){ascending(cutter->s[i].pos[axis]), (int32_t)i, cutter->group[i]};
  for (int q = 0; q < groups * each; q++)
    cutter->search[q] = (struct search){.low = rest < 64 ? first >> rest << rest : 0, .interval = q / each};
  for (int round = 0; intervals > 0; round++) {
    int bits = round_bits(cutter, intervals, rest), shift = rest - bits;
    count(cutter, intervals, bits, shift);
    for (int g = 0; round == 0 && g < groups; g++) sum_group(cutter, g, bits);
    memset(cutter->next, -1, sizeof *cutter->next * ((size_t)intervals << bits));
    intervals = 0;
    for (int q = 0; q < groups * each; q++)
      if (cutter->search[q].interval >= 0)
        narrow(cutter, &cutter->search[q], q / each, wanted_share(q % each, parts, of_cut, finer), finer * parts, bits,
               shift, &intervals);
    keep_entries(cutter, bits, shift);
    rest = shift;
  }
}

/* A cut between two neighbouring coordinates: lower < cut <= upper. Where one of them is infinite (no neighbour), the
 * cut is next to the other. */
static double between(double lower, double upper)
{
  if (lower == -HUGE_VAL) return upper == HUGE_VAL ? 0 : upper;
  if (upper == HUGE_VAL) upper = nextafter(lower, HUGE_VAL);
  double middle = 0.5 * lower + 0.5 * upper;
  return middle > lower ? middle : upper;
}

static int ascend(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The inverse of `ascending`; `none` for the keys 0 and UINT64_MAX, which no coordinate has. */
static double coordinate(uint64_t key, double none)
{
  double x;
  if (key == 0 || key == UINT64_MAX) return none;
  key = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
  memcpy(&x, &key, sizeof x);
  return x;
}

/* Whole numbers, which the compiler chooses from without branches: these would be wrong for half of the samples. */
static inline uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }
static inline uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The largest coordinate below each search; after these the smallest coordinate above each cut. They do not depend on
 * the number of ranks, while the last keys of searches do. Owner: caller. */
static double *neighbours_of(const struct cutter *cutter, int axis, int groups, int parts)
{
  int cuts = parts - 1, all = groups * cuts;
  double *below = memory_alloc("domain", sizeof *below * 4 * (size_t)all), *above = below + 3 * all;
  uint64_t *low = memory_alloc("domain", sizeof *low * 4 * (size_t)all), *high = low + 3 * all;
  for (int q = 0; q < all; q++) high[q] = UINT64_MAX;
  for (int64_t i = 0; i < cutter->count; i++) {
    uint64_t key = ascending(cutter->s[i].pos[axis]);
    int first = cutter->group[i] * cuts;
    for (int q = 3 * first; q < 3 * (first + cuts); q++)
      low[q] = larger(low[q], key <= cutter->search[q].last ? key : 0);
    for (int q = first; q < first + cuts; q++)
      high[q] = smaller(high[q], key > cutter->search[3 * q + 1].last ? key : UINT64_MAX);
  }
  for (int q = 0; q < 3 * all; q++) below[q] = coordinate(low[q], -HUGE_VAL);
  for (int q = 0; q < all; q++) above[q] = -coordinate(high[q], HUGE_VAL);
  memory_free(low);
  if (cutter->c && cutter->c->size > 1) comm_max_double(cutter->c, below, 4 * all);
  for (int q = 0; q < all; q++) above[q] = -above[q];
  return below;
}

/* The median over groups of the middle cut: the lattice has a face there. */
static double middle_cut(const double *below, int groups, int parts)
{
  int cuts = parts - 1;
  const double *above = below + 3 * groups * cuts;
  double *x = memory_alloc("domain", sizeof *x * (size_t)groups), middle;
  for (int g = 0; g < groups; g++) {
    int q = g * cuts + middle_of(parts);
    x[g] = between(below[3 * q + 1], above[q]);
  }
  qsort(x, (size_t)groups, sizeof *x, ascend);
  middle = x[groups / 2];
  memory_free(x);
  return middle;
}

/* The face of the largest cells in (low, high]: its distance from the centre is a multiple of a power of two. NaN:
 * there is none. */
static double coarsest(double centre, double low, double high)
{
  int exponent;
  if (!(low < high) || high - low > DBL_MAX || isnan(centre)) return NAN;
  if (low < centre && centre <= high) return centre;
  frexp(fmax(fabs(low - centre), fabs(high - centre)), &exponent);
  for (int e = exponent; e > exponent - FACES_MAX; e--) {
    double x = centre + ldexp(floor(ldexp(high - centre, -e)), e);
    if (x > low && x <= high) return x;
  }
  return NAN;
}

/* Round to CENTRE_BITS bits of the extent, so that distances of faces and of lattice corners are exact in double
 * precision. */
static double rounded(double x, const struct extent *extent, int axis)
{
  int exponent;
  if (!isfinite(x)) return NAN;
  frexp(fmax(fabs(extent->largest[1 + axis]), fabs(extent->largest[4 + axis])), &exponent);
  return ldexp(rint(ldexp(x, CENTRE_BITS - exponent)), exponent - CENTRE_BITS);
}

/* Move cuts to faces within their windows; a window extends at least from one neighbour to the other. */
static void align(struct cutter *cutter, struct domain *domain, const struct extent *extent, int axis, int groups,
                  int parts)
{
  int all = groups * (parts - 1);
  double *below = neighbours_of(cutter, axis, groups, parts), *above = below + 3 * all;
  double centre = domain->centre[axis] = rounded(middle_cut(below, groups, parts), extent, axis);
  for (int q = 0; q < all; q++) {
    double x = coarsest(centre, below[3 * q], fmax(below[3 * q + 2], above[q]));
    if (q % (parts - 1) > 0 && x < cutter->face[q - 1]) x = cutter->face[q - 1];
    cutter->face[q] = x;
    if (!isnan(x)) cutter->search[3 * q + 1].last = ascending(x) - 1;
  }
  memory_free(below);
}

/* Set the cuts from the last keys: between the neighbouring coordinates on both sides. The parts become the groups of
 * their samples. */
static void part(struct cutter *cutter, const struct domain *domain, int axis, int groups, int parts, double *cut)
{
  int of_cut = searches(domain);
  const double *face = cutter->face;
  int64_t all = (int64_t)groups * parts;
  double *high = cutter->ends, *low = cutter->ends + all;
  for (int64_t i = 0; i < 2 * all; i++) cutter->ends[i] = -HUGE_VAL;
  for (int64_t i = 0; i < cutter->count; i++) {
    const struct search *q = cutter->search + (int64_t)cutter->group[i] * of_cut * (parts - 1) + of_cut / 2;
    double x = cutter->s[i].pos[axis] + 0.0;
    uint64_t key = ascending(x);
    int32_t slot = cutter->group[i] * parts;
    for (int p = 0; p < parts - 1; p++) slot += key > q[of_cut * p].last;
    cutter->group[i] = slot;
    if (x > high[slot]) high[slot] = x;
    if (-x > low[slot]) low[slot] = -x;
  }
  if (cutter->c && cutter->c->size > 1) comm_max_double(cutter->c, cutter->ends, (int)(2 * all));
  for (int g = 0; g < groups; g++, high += parts, low += parts, cut += parts - 1, face += parts - 1) {
    for (int p = 1; p < parts; p++) high[p] = fmax(high[p], high[p - 1]);
    for (int p = parts - 1; p > 0; p--) {
      cut[p - 1] = domain->align && !isnan(face[p - 1]) ? face[p - 1] : between(high[p - 1], -low[p]);
      low[p - 1] = fmax(low[p - 1], low[p]);
    }
    /* faces may be in reverse order where no sample is between them */
    for (int p = 1; p < parts - 1; p++) cut[p] = fmax(cut[p], cut[p - 1]);
  }
}

void domain_cut(struct domain *domain, const struct comm *comm, const struct weighted *samples, int64_t count)
{
  int parts[3] = {domain->px, domain->py, domain->pz}, groups = 1;
  size_t n = (size_t)(count + 1), domains = (size_t)domain->px * (size_t)domain->py * (size_t)domain->pz;
  double *cut[3] = {domain->x, domain->y, domain->z};
  struct cutter k = {.c = comm, .s = samples, .count = count};
  k.weight = memory_alloc("domain", sizeof *k.weight * n);
  k.group = memory_alloc("domain", sizeof *k.group * n);
  k.entry = memory_alloc("domain", sizeof *k.entry * n);
  k.search = memory_alloc("domain", sizeof *k.search * domains * (size_t)searches(domain));
  k.face = memory_alloc("domain", sizeof *k.face * domains);
  k.sum = memory_alloc("domain", sizeof *k.sum * domains);
  k.ends = memory_alloc("domain", sizeof *k.ends * 2 * domains);
  memset(k.group, 0, sizeof *k.group * n);
  struct extent e = measure(&k);
  weigh(&k, &e);
  for (int axis = 0; axis < 3; groups *= parts[axis++]) {
    domain->centre[axis] = NAN;
    if (parts[axis] == 1) continue;
    search(&k, domain, axis, groups, parts[axis], ascending(-e.largest[4 + axis]), ascending(e.largest[1 + axis]));
    if (domain->align) align(&k, domain, &e, axis, groups, parts[axis]);
    part(&k, domain, axis, groups, parts[axis], cut[axis]);
  }
  memory_free(k.next);
  memory_free(k.bucket);
  memory_free(k.ends);
  memory_free(k.sum);
  memory_free(k.face);
  memory_free(k.search);
  memory_free(k.entry);
  memory_free(k.group);
  memory_free(k.weight);
}
