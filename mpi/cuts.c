/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts as weighted quantiles, found by counting: all ranks count their samples by the leading bits of their coordinates, add
 * the counts up, and look closer only where a cut lies. Samples are neither sorted nor sent. Weights are integers here, whose sums
 * are exact: no order of adding, and so no distribution over ranks, changes a bit. */
#include <config.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "domain.h"
#include "memory.h"

/* Sums of weights stay below 2^61, and twice as much within an int64. */
enum { SUM_BITS = 61 };
/* So many buckets at most (as powers of two) of one interval; of all where ranks send them; where nobody does; at least of each. */
/* An aligned cut is so large a part of a domain's weight away from where it would be, at most, the middle one MIDDLE times as far: it gains
 * most. So many sizes of cells have faces; the digits of their centre. */
enum { ALIGN = 128, MIDDLE = 4, FACES_MOST = 31, CENTRE_BITS = 40 };
enum { BITS_MOST = 11, BITS_SENT = 12, BITS_ALONE = 15, BITS_LEAST = 4 };

struct bucket {
  int64_t weight, count;
};

/* A sample where a cut may lie. */
struct entry {
  uint64_t key;
  int32_t sample, interval;
};

/* On the way to one cut: the sample in the middle of whose weight the aim may lie is in an interval of keys, that shrinks. */
struct search {
  int64_t before;     /* weight of the group below the interval */
  uint64_t low;       /* its first key */
  uint64_t last;      /* when found: the last key below the cut */
  int32_t interval;   /* its number among those of this round; negative: found */
};

/* What all samples are within. */
struct extent {
  double most[7];   /* weight; coordinates; negative coordinates */
  int64_t count;
};

struct cutter {
  const struct comm *c;       /* NULL: alone */
  const struct weighted *s;
  int64_t count, entries;     /* of samples; of entries that are left */
  int64_t *weight;            /* of samples */
  int32_t *group;             /* whose cuts a sample takes part in: its slab, then its column */
  struct entry *entry;
  struct search *search;
  int64_t *sum;               /* of a group */
  struct bucket *bucket;
  int32_t *next;              /* numbers of intervals in the next round, by bucket */
  double *face;               /* of aligned cuts; not a number: of others */
  double *ends;               /* of parts: largest coordinate and largest negative one */
  int64_t buckets;            /* room for so many */
};

/* The bits of a double, made to ascend with it; both zeros are one. */
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

/* --- what there is ----------------------------------------------------------------------------------------------- */

static double sound(double weight) { return weight > 0 && weight <= DBL_MAX ? weight : 0; }

static struct extent measure(const struct cutter *k)
{
  struct extent e = {.count = k->count};
  for (int c = 1; c < 7; c++) e.most[c] = -HUGE_VAL;
  for (int64_t i = 0; i < k->count; i++) {
    double w = sound(k->s[i].weight);
    if (w > e.most[0]) e.most[0] = w;
    for (int c = 0; c < 3; c++) {
      double x = k->s[i].pos[c];
      if (x > e.most[1 + c]) e.most[1 + c] = x;
      if (-x > e.most[4 + c]) e.most[4 + c] = -x;
    }
  }
  if (!k->c || k->c->size == 1) return e;
  struct extent *all = memory_alloc("domain", sizeof *all * (size_t)k->c->size);
  comm_allgather(k->c, &e, sizeof e, all);
  e.count = 0;
  for (int r = 0; r < k->c->size; r++) {
    e.count += all[r].count;
    for (int c = 0; c < 7; c++) e.most[c] = fmax(e.most[c], all[r].most[c]);
  }
  memory_free(all);
  return e;
}

/* Weights as multiples of a power of two, as small as sums allow. */
static void weigh(const struct cutter *k, const struct extent *e)
{
  int exponent = 0;
  frexp(e->most[0], &exponent);
  int up = SUM_BITS - bits_of((uint64_t)e->count) - exponent;
  double half = ldexp(1, up / 2), rest = ldexp(1, up - up / 2);   /* 2^up itself may be out of range */
  for (int64_t i = 0; i < k->count; i++) k->weight[i] = (int64_t)(sound(k->s[i].weight) * half * rest + 0.5);
}

/* --- one axis ---------------------------------------------------------------------------------------------------- */

/* The least integer that is at least `sum` * part / parts. */
static int64_t share(int64_t sum, int part, int parts) { return sum / parts * part + (sum % parts * part + parts - 1) / parts; }

/* How many leading bits a round looks at. */
static int round_bits(const struct cutter *k, int intervals, int rest)
{
  int bits = (k->c && k->c->size > 1 ? BITS_SENT : BITS_ALONE) - bits_of((uint64_t)intervals - 1);
  if (bits > BITS_MOST) bits = BITS_MOST;
  if (bits < BITS_LEAST) bits = BITS_LEAST;
  return bits < rest ? bits : rest;
}

/* Count the entries of all ranks in the buckets of their intervals. */
static void count(struct cutter *k, int intervals, int bits, int shift)
{
  int64_t buckets = (int64_t)intervals << bits;
  uint64_t mask = ((uint64_t)1 << bits) - 1;
  if (buckets > k->buckets) {
    memory_free(k->next);
    memory_free(k->bucket);
    k->buckets = buckets;
    k->bucket = memory_alloc("domain", sizeof *k->bucket * (size_t)buckets);
    k->next = memory_alloc("domain", sizeof *k->next * (size_t)buckets);
  }
  memset(k->bucket, 0, sizeof *k->bucket * (size_t)buckets);
  for (int64_t i = 0; i < k->entries; i++) {
    const struct entry *e = &k->entry[i];
    struct bucket *b = &k->bucket[(int64_t)e->interval << bits | (int64_t)(e->key >> shift & mask)];
    b->weight += k->weight[e->sample];
    b->count++;
  }
  if (k->c && k->c->size > 1) comm_sum_int64(k->c, &k->bucket->weight, (int)(2 * buckets));
}

/* A group's weight, from the first round. One without any gets as many as it has samples: they weigh the same then. */
static void sum_group(struct cutter *k, int group, int bits)
{
  struct bucket *b = k->bucket + ((int64_t)group << bits), all = {0, 0};
  for (int64_t i = 0; i < (int64_t)1 << bits; i++) {
    all.weight += b[i].weight;
    all.count += b[i].count;
  }
  k->sum[group] = all.weight > 0 ? all.weight : -all.count;
}

/* The bucket of the first key at or below which there is the wanted share of the group's weight; a search is at its end when that
 * has one sample, or one key: this one lies below the cut if more than half of it is wanted. */
static void narrow(struct cutter *k, struct search *q, int64_t group, int part, int parts, int bits, int shift, int32_t *intervals)
{
  int by_count = k->sum[group] < 0;
  int64_t sum = by_count ? -k->sum[group] : k->sum[group], aim = share(sum, part, parts), here;
  int64_t at = (int64_t)q->interval << bits, end = at + ((int64_t)1 << bits) - 1;
  q->interval = -1;
  if (sum == 0) return;
  for (;; at++) {
    here = by_count ? k->bucket[at].count : k->bucket[at].weight;
    if (at == end || q->before + here >= aim) break;
    q->before += here;
  }
  q->low |= (uint64_t)(at & (((int64_t)1 << bits) - 1)) << shift;
  if (k->bucket[at].count > 1 && shift > 0) {
    if (k->next[at] < 0) k->next[at] = (*intervals)++;
    q->interval = k->next[at];
  } else {
    q->last = 2 * q->before + here >= share(2 * sum, part, parts) ? (q->low ? q->low - 1 : 0) : q->low | (((uint64_t)1 << shift) - 1);
  }
}

/* Only entries where cuts lie are looked at again. */
static void keep(struct cutter *k, int bits, int shift)
{
  uint64_t mask = ((uint64_t)1 << bits) - 1;
  int64_t kept = 0;
  for (int64_t i = 0; i < k->entries; i++) {
    struct entry e = k->entry[i];
    e.interval = k->next[(int64_t)e.interval << bits | (int64_t)(e.key >> shift & mask)];
    k->entry[kept] = e;
    kept += e.interval >= 0;
  }
  k->entries = kept;
}

/* Searches for each cut: with `align` there is one on each side of it. */
static int searches(const struct domain *d) { return d->align ? 3 : 1; }

static int middle_of(int parts) { return (parts - 1) / 2; }

/* What share of a group search q of one axis is for: so many parts of `finer` times as many as there are. */
static int wanted(int q, int parts, int of_cut, int finer)
{
  int cut = q / of_cut, side = q % of_cut - of_cut / 2;
  return finer * (cut + 1) + side * (cut == middle_of(parts) ? MIDDLE : 1);
}

/* For parts - 1 cuts of each group the last keys below them. All keys are between `first` and `last`. */
static void search(struct cutter *k, const struct domain *d, int axis, int groups, int parts, uint64_t first, uint64_t last)
{
  int rest = bits_of(first ^ last), of_cut = searches(d), each = of_cut * (parts - 1), finer = d->align ? ALIGN : 1;
  int32_t intervals = groups;
  k->entries = k->count;
  for (int64_t i = 0; i < k->count; i++) k->entry[i] = (struct entry){ascending(k->s[i].pos[axis]), (int32_t)i, k->group[i]};
  for (int q = 0; q < groups * each; q++)
    k->search[q] = (struct search){.low = rest < 64 ? first >> rest << rest : 0, .interval = q / each};
  for (int round = 0; intervals > 0; round++) {
    int bits = round_bits(k, intervals, rest), shift = rest - bits;
    count(k, intervals, bits, shift);
    for (int g = 0; round == 0 && g < groups; g++) sum_group(k, g, bits);
    memset(k->next, -1, sizeof *k->next * ((size_t)intervals << bits));
    intervals = 0;
    for (int q = 0; q < groups * each; q++)
      if (k->search[q].interval >= 0)
        narrow(k, &k->search[q], q / each, wanted(q % each, parts, of_cut, finer), finer * parts, bits, shift, &intervals);
    keep(k, bits, shift);
    rest = shift;
  }
}

/* Between two neighbours, so that the upper one is at or above the cut and the lower one below it; where there is no neighbour (an
 * infinity) as near as can be to the other. */
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

/* Of each search the largest coordinate below it; behind these of each cut the smallest above it. How far searches went depends on the
 * ranks, this does not. */
static double *neighbours_of(const struct cutter *k, int axis, int groups, int parts)
{
  int cuts = parts - 1, all = groups * cuts;
  double *below = memory_alloc("domain", sizeof *below * 4 * (size_t)all), *above = below + 3 * all;
  for (int q = 0; q < 4 * all; q++) below[q] = -HUGE_VAL;
  for (int64_t i = 0; i < k->count; i++) {
    double x = k->s[i].pos[axis] + 0.0;
    uint64_t key = ascending(x);
    int first = k->group[i] * cuts;
    for (int q = 3 * first; q < 3 * (first + cuts); q++)
      if (key <= k->search[q].last && x > below[q]) below[q] = x;
    for (int q = first; q < first + cuts; q++)
      if (key > k->search[3 * q + 1].last && -x > above[q]) above[q] = -x;
  }
  if (k->c && k->c->size > 1) comm_max_double(k->c, below, 4 * all);
  for (int q = 0; q < all; q++) above[q] = -above[q];
  return below;
}

/* Where all lattices of these cuts have a face: at the middle cut, that of the group in the middle. */
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

/* The face of the largest cells above `low` and not above `high`: a multiple of a power of two away from the centre; not a number: none. */
static double coarsest(double centre, double low, double high)
{
  int exponent;
  if (!(low < high) || high - low > DBL_MAX || isnan(centre)) return NAN;
  if (low < centre && centre <= high) return centre;
  frexp(fmax(fabs(low - centre), fabs(high - centre)), &exponent);
  for (int e = exponent; e > exponent - FACES_MOST; e--) {
    double x = centre + ldexp(floor(ldexp(high - centre, -e)), e);
    if (x > low && x <= high) return x;
  }
  return NAN;
}

/* A number with so few digits that faces, and corners of lattices, are whole steps of a double away from it. */
static double rounded(double x, const struct extent *e, int axis)
{
  int exponent;
  if (!isfinite(x)) return NAN;
  frexp(fmax(fabs(e->most[1 + axis]), fabs(e->most[4 + axis])), &exponent);
  return ldexp(rint(ldexp(x, CENTRE_BITS - exponent)), exponent - CENTRE_BITS);
}

/* Cuts give way to faces: within their windows, or at least between their neighbours. */
static void align(struct cutter *k, struct domain *d, const struct extent *e, int axis, int groups, int parts)
{
  int all = groups * (parts - 1);
  double *below = neighbours_of(k, axis, groups, parts), *above = below + 3 * all;
  double centre = d->centre[axis] = rounded(middle_cut(below, groups, parts), e, axis);
  for (int q = 0; q < all; q++) {
    double x = coarsest(centre, below[3 * q], fmax(below[3 * q + 2], above[q]));
    if (q % (parts - 1) > 0 && x < k->face[q - 1]) x = k->face[q - 1];
    k->face[q] = x;
    if (!isnan(x)) k->search[3 * q + 1].last = ascending(x) - 1;
  }
  memory_free(below);
}

/* From last keys to cuts: coordinates of the neighbours on both sides. Samples become those of the parts. */
static void part(struct cutter *k, const struct domain *d, int axis, int groups, int parts, double *cut)
{
  int of_cut = searches(d);
  const double *face = k->face;
  int64_t all = (int64_t)groups * parts;
  double *high = k->ends, *low = k->ends + all;
  for (int64_t i = 0; i < 2 * all; i++) k->ends[i] = -HUGE_VAL;
  for (int64_t i = 0; i < k->count; i++) {
    const struct search *q = k->search + (int64_t)k->group[i] * of_cut * (parts - 1) + of_cut / 2;
    double x = k->s[i].pos[axis] + 0.0;
    uint64_t key = ascending(x);
    int32_t slot = k->group[i] * parts;
    for (int p = 0; p < parts - 1; p++) slot += key > q[of_cut * p].last;
    k->group[i] = slot;
    if (x > high[slot]) high[slot] = x;
    if (-x > low[slot]) low[slot] = -x;
  }
  if (k->c && k->c->size > 1) comm_max_double(k->c, k->ends, (int)(2 * all));
  for (int g = 0; g < groups; g++, high += parts, low += parts, cut += parts - 1, face += parts - 1) {
    for (int p = 1; p < parts; p++) high[p] = fmax(high[p], high[p - 1]);
    for (int p = parts - 1; p > 0; p--) {
      cut[p - 1] = d->align && !isnan(face[p - 1]) ? face[p - 1] : between(high[p - 1], -low[p]);
      low[p - 1] = fmax(low[p - 1], low[p]);
    }
    for (int p = 1; p < parts - 1; p++) cut[p] = fmax(cut[p], cut[p - 1]);   /* without samples between them a face may be above the other */
  }
}

void domain_cut(struct domain *d, const struct comm *c, const struct weighted *samples, int64_t count)
{
  int parts[3] = {d->px, d->py, d->pz}, groups = 1;
  size_t n = (size_t)(count + 1), domains = (size_t)d->px * (size_t)d->py * (size_t)d->pz;
  double *cut[3] = {d->x, d->y, d->z};
  struct cutter k = {.c = c, .s = samples, .count = count};
  k.weight = memory_alloc("domain", sizeof *k.weight * n);
  k.group = memory_alloc("domain", sizeof *k.group * n);
  k.entry = memory_alloc("domain", sizeof *k.entry * n);
  k.search = memory_alloc("domain", sizeof *k.search * domains * (size_t)searches(d));
  k.face = memory_alloc("domain", sizeof *k.face * domains);
  k.sum = memory_alloc("domain", sizeof *k.sum * domains);
  k.ends = memory_alloc("domain", sizeof *k.ends * 2 * domains);
  memset(k.group, 0, sizeof *k.group * n);
  struct extent e = measure(&k);
  weigh(&k, &e);
  for (int axis = 0; axis < 3; groups *= parts[axis++]) {
    d->centre[axis] = NAN;
    if (parts[axis] == 1) continue;
    search(&k, d, axis, groups, parts[axis], ascending(-e.most[4 + axis]), ascending(e.most[1 + axis]));
    if (d->align) align(&k, d, &e, axis, groups, parts[axis]);
    part(&k, d, axis, groups, parts[axis], cut[axis]);
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
