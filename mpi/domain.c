/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "domain.h"

#include <math.h>
#include <string.h>

#include "memory.h"

/* Of the box's longest side, on every side of it; the least side. */
#define LATTICE_MARGIN 0.05
#define LATTICE_SOFTENINGS 16

/* Samples of a domain in the mean: at least, at most. With the most its share of them is within about one in a hundred of its share of the
 * particles: aligned cuts give way by as much. */
enum { SAMPLES_LEAST = 1024, SAMPLES_MOST = 8192, SAMPLES_SPREAD = 8 };

void domain_open_grid(struct domain *d, int ranks, const int grid[3])
{
  int dims[3] = {grid[0], grid[1], grid[2]};
  MPI_Dims_create(ranks, 3, dims);
  *d = (struct domain){.px = dims[0], .py = dims[1], .pz = dims[2], .centre = {NAN, NAN, NAN}};
  d->x = memory_alloc("domain", sizeof(double) * (size_t)ranks);
  d->y = d->x + d->px - 1;
  d->z = d->y + d->px * (d->py - 1);
}

struct lattice domain_lattice(const struct domain *d, const double box[6], double softening)
{
  double least = LATTICE_SOFTENINGS * softening;
  return d->align ? lattice_about(d->centre, box, box + 3, LATTICE_MARGIN, least) : lattice_cover(box, box + 3, LATTICE_MARGIN, least);
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

/* --- from particles ---------------------------------------------------------------------------------------------- */

/* The samples of a rank weigh its load together: what its particles weigh is known exactly, and only how they are spread
 * in its domain is left to the samples. */
static void weigh(struct weighted *w, const struct sample *s, int64_t n, double load, int by_work)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    w[i] = (struct weighted){.weight = by_work ? s[i].work : 1};
    memcpy(w[i].pos, s[i].pos, sizeof w[i].pos);
    sum += w[i].weight;
  }
  for (int64_t i = 0; i < n; i++) w[i].weight = sum > 0 ? w[i].weight * load / sum : load / (double)n;
}

/* Samples of this rank's particles (owner: caller); room for about as many as there will be, since memory that is not used costs too. */
static int64_t take_samples(const struct backend *be, struct device *device, uint64_t threshold, int64_t local, double rate, struct sample **s,
                            double *work)
{
  double expected = rate * (double)local;
  int64_t most = (int64_t)fmin(expected + SAMPLES_SPREAD * sqrt(expected) + SAMPLES_LEAST, (double)local);
  for (;;) {
    *s = memory_alloc("domain", sizeof **s * (size_t)(most + 1));
    int64_t n = be->sample(device, threshold, most, *s, work);
    if (n < most || most == local) return n;
    memory_free(*s);   /* ids whose hashes are not spread evenly */
    most = local;
  }
}

void domain_decompose(struct domain *d, const struct comm *c, const struct backend *be, struct device *device, double rate,
                      const struct domain_load *load)
{
  int64_t local = be->count(device), total = local;
  comm_sum_int64(c, &total, 1);
  double domains = (double)d->px * d->py * d->pz;
  rate = fmin(fmax(rate, SAMPLES_LEAST * domains / (double)total), SAMPLES_MOST * domains / (double)total);
  uint64_t threshold = rate >= 1 ? UINT64_MAX : (uint64_t)(rate * 18446744073709551615.0);
  double work, all_work;
  struct sample *s;
  int64_t n = take_samples(be, device, threshold, local, rate, &s, &work);
  all_work = work *= load->per_work;
  comm_sum_double(c, &all_work, 1);
  struct weighted *w = memory_alloc("domain", sizeof *w * (size_t)(n + 1));
  int by_work = load->by_work && all_work > 0;
  weigh(w, s, n, by_work ? work : (double)local + load->extra, by_work);
  domain_cut(d, c, w, n);
  memory_free(w);
  memory_free(s);
}

/* Parcels of particles from device to device: like comm_exchange, but for where they stand. */
static void exchange_direct(struct transport *t, const struct comm *c, const struct backend *be, struct device *device, const void **send,
                            const size_t *sizes, void **received, size_t *got, size_t *offset)
{
  size_t total = 0;
  int count = 0;
  struct link_message *m = memory_alloc("exchange", sizeof *m * 2 * (size_t)c->size);
  comm_alltoall(c, sizes, sizeof *sizes, got);
  for (int r = 0; r < c->size; r++) {
    offset[r] = total;
    total += got[r];
  }
  *received = be->unpack_room ? be->unpack_room(device, total) : memory_alloc("messages", total);
  for (int k = 1; k < c->size; k++) {
    int to = (c->rank + k) % c->size, from = (c->rank + c->size - k) % c->size;
    if (sizes[to] > 0) m[count++] = (struct link_message){to, 0, (void *)(uintptr_t)send[to], sizes[to]};
    if (got[from] > 0) m[count++] = (struct link_message){from, 1, (char *)*received + offset[from], got[from]};
  }
  transport_post(t, count, m);
  transport_wait(t);
  memory_free(m);
}

int64_t domain_exchange(const struct domain *d, const struct comm *c, const struct backend *be, struct device *device, struct transport *t,
                        int32_t tick, double tick_length)
{
  int64_t *counts = memory_alloc("exchange", sizeof *counts * (size_t)c->size), sent = 0;
  size_t *sizes = memory_alloc("exchange", 3 * sizeof *sizes * (size_t)c->size), *got = sizes + c->size, *offset = got + c->size;
  const void **send = memory_alloc("exchange", sizeof *send * (size_t)c->size);
  void *buffer, *received;
  size_t bytes = particle_bytes();
  be->pack(device, d, c->rank, tick, tick_length, counts, &buffer);
  for (int r = 0; r < c->size; r++) {
    send[r] = (char *)buffer + bytes * (size_t)sent;
    sizes[r] = bytes * (size_t)counts[r];
    sent += counts[r];
  }
  if (transport_direct(t))
    exchange_direct(t, c, be, device, send, sizes, &received, got, offset);
  else
    comm_exchange(c, send, sizes, &received, got, offset);
  for (int r = 0; r < c->size; r++) be->unpack(device, (char *)received + offset[r], (int64_t)(got[r] / bytes));
  if (!transport_direct(t) || !be->unpack_room) memory_free(received);
  memory_free(send);
  memory_free(sizes);
  memory_free(counts);
  return sent;
}
