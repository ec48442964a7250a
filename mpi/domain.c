/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "domain.h"

#include <math.h>
#include <string.h>

#include "memory.h"

enum { SAMPLES_PER_RANK = 1024, SAMPLES_MOST = 1 << 22, DIGIT_BITS = 11, BUCKETS = 1 << DIGIT_BITS };

/* An order of samples along an axis: `key` ascends with the coordinate. */
struct place {
  uint64_t key;
  int64_t from;
};

void domain_open_grid(struct domain *d, int ranks, const int grid[3])
{
  int dims[3] = {grid[0], grid[1], grid[2]};
  MPI_Dims_create(ranks, 3, dims);
  *d = (struct domain){.px = dims[0], .py = dims[1], .pz = dims[2]};
  d->x = memory_alloc("domain", sizeof(double) * (size_t)ranks);
  d->y = d->x + d->px - 1;
  d->z = d->y + d->px * (d->py - 1);
}

void domain_open(struct domain *d, int ranks) { domain_open_grid(d, ranks, (const int[3]){0, 0, 0}); }

void domain_cuboid(const struct domain *d, int rank, double low[3], double high[3])
{
  int at[3] = {rank / d->pz / d->py, rank / d->pz % d->py, rank % d->pz}, parts[3] = {d->px, d->py, d->pz};
  const double *cut[3] = {d->x, d->y + at[0] * (d->py - 1), d->z + (at[0] * d->py + at[1]) * (d->pz - 1)};
  for (int c = 0; c < 3; c++) {
    low[c] = at[c] > 0 ? cut[c][at[c] - 1] : -1e300;
    high[c] = at[c] < parts[c] - 1 ? cut[c][at[c]] : 1e300;
  }
}

void domain_close(struct domain *d) { memory_free(d->x); }

/* --- order ------------------------------------------------------------------------------------------------------- */

/* The bits of a double, made to ascend with it; both zeros are one. */
static uint64_t ascending(double x)
{
  uint64_t bits;
  x += 0.0;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Stable radix sort by key; digits that are the same everywhere are passed over. The result is in `p`. */
static void sort_places(struct place *p, struct place *spare, int64_t n)
{
  int64_t at[BUCKETS];
  uint64_t all = ~(uint64_t)0, any = 0;
  struct place *from = p, *to = spare;
  for (int64_t i = 0; i < n; i++) all &= p[i].key, any |= p[i].key;
  for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
    int64_t sum = 0;
    if (!((all ^ any) >> shift & (BUCKETS - 1))) continue;
    memset(at, 0, sizeof at);
    for (int64_t i = 0; i < n; i++) at[from[i].key >> shift & (BUCKETS - 1)]++;
    for (int b = 0; b < BUCKETS; b++) {
      int64_t here = at[b];
      at[b] = sum;
      sum += here;
    }
    for (int64_t i = 0; i < n; i++) to[at[from[i].key >> shift & (BUCKETS - 1)]++] = from[i];
    struct place *swap = from;
    from = to;
    to = swap;
  }
  if (from != p) memcpy(p, from, sizeof *p * (size_t)n);
}

/* Room to sort in. */
struct scratch {
  struct place *place, *spare;
  struct weighted *sample;
};

/* Sort samples along an axis; the id decides between equals, so that the order is unique. */
static void sort_samples(struct weighted *s, int64_t n, int axis, const struct scratch *room)
{
  struct place *p = room->place;
  for (int64_t i = 0; i < n; i++) p[i] = (struct place){ascending(s[i].pos[axis]), i};
  sort_places(p, room->spare, n);
  for (int64_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && p[end].key == p[i].key;) end++;
    if (end - i == 1) continue;
    for (int64_t k = i; k < end; k++) p[k].key = s[p[k].from].id;
    sort_places(p + i, room->spare, end - i);
  }
  for (int64_t i = 0; i < n; i++) room->sample[i] = s[p[i].from];
  memcpy(s, room->sample, sizeof *s * (size_t)n);
}

/* --- cuts -------------------------------------------------------------------------------------------------------- */

/* Between two neighbours of the order, so that the upper one is at or above the cut and the lower one below it. */
static double between(const struct weighted *s, int64_t count, int64_t at, int axis)
{
  if (count == 0) return 0;
  if (at == 0) return s[0].pos[axis];
  double low = s[at - 1].pos[axis], high = at < count ? s[at].pos[axis] : nextafter(low, HUGE_VAL), middle = 0.5 * low + 0.5 * high;
  return middle > low ? middle : high;
}

/* Samples with the same coordinate cannot be parted: the end of their run that is nearer to the aim. `below` is the weight
 * before `at`. */
static int64_t clear_of_run(const struct weighted *s, int64_t count, int64_t at, int axis, double below, double aim, double each)
{
  int64_t first = at, end = at;
  double before = below, after = below;
  if (at == 0 || at == count || s[at - 1].pos[axis] != s[at].pos[axis]) return at;
  while (first > 0 && s[first - 1].pos[axis] == s[at].pos[axis]) before -= s[--first].weight + each;
  while (end < count && s[end].pos[axis] == s[at].pos[axis]) after += s[end++].weight + each;
  return aim - before <= after - aim ? first : end;
}

/* Cut samples along an axis into `parts` of equal weight: parts - 1 cuts, and begin[parts + 1] of the parts. Where nothing
 * has weight, every sample weighs the same. */
static void cut_axis(struct weighted *s, int64_t count, int axis, int parts, double *cut, int64_t *begin, const struct scratch *room)
{
  double sum = 0, running = 0;
  int64_t at = 0;
  begin[0] = 0;
  begin[parts] = count;
  if (parts == 1) return;
  sort_samples(s, count, axis, room);
  for (int64_t i = 0; i < count; i++) sum += s[i].weight;
  double each = sum > 0 ? 0 : 1;
  if (each > 0) sum = (double)count;
  for (int p = 1; p < parts; p++) {
    double aim = sum * p / parts;
    while (at < count && running + 0.5 * (s[at].weight + each) < aim) running += s[at++].weight + each;
    begin[p] = clear_of_run(s, count, at, axis, running, aim, each);
    cut[p - 1] = between(s, count, begin[p], axis);
  }
}

void domain_cut(struct domain *d, struct weighted *samples, int64_t count)
{
  int most = d->px > d->py ? d->px : d->py;
  if (d->pz > most) most = d->pz;
  size_t parts = (size_t)(most + 1), n = (size_t)(count + 1);
  int64_t *bx = memory_alloc("domain", 3 * sizeof *bx * parts), *by = bx + parts, *bz = by + parts;
  struct scratch room = {memory_alloc("domain", sizeof(struct place) * n), memory_alloc("domain", sizeof(struct place) * n),
                         memory_alloc("domain", sizeof(struct weighted) * n)};
  cut_axis(samples, count, 0, d->px, d->x, bx, &room);
  for (int i = 0; i < d->px; i++) {
    struct weighted *slab = samples + bx[i];
    cut_axis(slab, bx[i + 1] - bx[i], 1, d->py, d->y + i * (d->py - 1), by, &room);
    for (int j = 0; j < d->py; j++)
      cut_axis(slab + by[j], by[j + 1] - by[j], 2, d->pz, d->z + (i * d->py + j) * (d->pz - 1), bz, &room);
  }
  memory_free(room.sample);
  memory_free(room.spare);
  memory_free(room.place);
  memory_free(bx);
}

/* --- from particles ---------------------------------------------------------------------------------------------- */

/* The samples of a rank weigh its load together: what its particles weigh is known exactly, and only how they are spread
 * in its domain is left to the samples. */
static void weigh(struct weighted *w, const struct sample *s, int64_t n, double load, int by_work)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    w[i] = (struct weighted){.weight = by_work ? s[i].work : 1, .id = s[i].id};
    memcpy(w[i].pos, s[i].pos, sizeof w[i].pos);
    sum += w[i].weight;
  }
  for (int64_t i = 0; i < n; i++) w[i].weight = sum > 0 ? w[i].weight * load / sum : load / (double)n;
}

void domain_decompose(struct domain *d, const struct comm *c, const struct backend *be, struct device *device, double rate,
                      const struct domain_load *load)
{
  int64_t local = be->count(device), total = local;
  comm_sum_int64(c, &total, 1);
  int domains = d->px * d->py * d->pz;
  double least = (double)SAMPLES_PER_RANK * domains / (double)total, most = (double)SAMPLES_MOST / (double)total;
  rate = fmin(fmax(rate, least), most);
  uint64_t threshold = rate >= 1 ? UINT64_MAX : (uint64_t)(rate * 18446744073709551615.0);
  struct sample *s = memory_alloc("domain", sizeof *s * (size_t)(local + 1));
  double work, all_work;
  int64_t n = be->sample(device, threshold, local, s, &work);
  all_work = work *= load->per_work;
  comm_sum_double(c, &all_work, 1);
  struct weighted *w = memory_alloc("domain", sizeof *w * (size_t)(n + 1)), *all;
  size_t bytes;
  int by_work = load->by_work && all_work > 0;
  weigh(w, s, n, by_work ? work : (double)local + load->extra, by_work);
  all = comm_gather_root(c, w, sizeof *w * (size_t)n, &bytes);
  if (c->rank == 0) domain_cut(d, all, (int64_t)(bytes / sizeof *all));
  comm_broadcast(c, d->x, sizeof *d->x * (size_t)(domains - 1));
  memory_free(all);
  memory_free(w);
  memory_free(s);
}

int64_t domain_exchange(const struct domain *d, const struct comm *c, const struct backend *be, struct device *device)
{
  int64_t *counts = memory_alloc("exchange", sizeof *counts * (size_t)c->size), sent = 0;
  size_t *sizes = memory_alloc("exchange", 3 * sizeof *sizes * (size_t)c->size), *got = sizes + c->size, *offset = got + c->size;
  const void **send = memory_alloc("exchange", sizeof *send * (size_t)c->size);
  void *buffer, *received;
  size_t bytes = particle_bytes();
  be->pack(device, d, c->rank, counts, &buffer);
  for (int r = 0; r < c->size; r++) {
    send[r] = (char *)buffer + bytes * (size_t)sent;
    sizes[r] = bytes * (size_t)counts[r];
    sent += counts[r];
  }
  comm_exchange(c, send, sizes, &received, got, offset);
  for (int r = 0; r < c->size; r++) be->unpack(device, (char *)received + offset[r], (int64_t)(got[r] / bytes));
  memory_free(received);
  memory_free(send);
  memory_free(sizes);
  memory_free(counts);
  return sent;
}
