/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "domain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { SAMPLES_PER_RANK = 1024, SAMPLES_MOST = 1 << 22 };

static int cuts_y(const struct domain *d) { return d->px * (d->py - 1); }
static int cuts_z(const struct domain *d) { return d->px * d->py * (d->pz - 1); }

void domain_open(struct domain *d, int ranks)
{
  int dims[3] = {0, 0, 0};
  MPI_Dims_create(ranks, 3, dims);
  *d = (struct domain){.px = dims[0], .py = dims[1], .pz = dims[2]};
  d->x = memory_alloc("domain", sizeof(double) * (size_t)d->px);
  d->y = memory_alloc("domain", sizeof(double) * (size_t)(cuts_y(d) + 1));
  d->z = memory_alloc("domain", sizeof(double) * (size_t)(cuts_z(d) + 1));
}

void domain_close(struct domain *d)
{
  memory_free(d->x);
  memory_free(d->y);
  memory_free(d->z);
}

/* Ascending along an axis; the id decides between equals, so that the order is unique. */
static int compare(const struct weighted *a, const struct weighted *b, int axis)
{
  if (a->pos[axis] != b->pos[axis]) return a->pos[axis] < b->pos[axis] ? -1 : 1;
  return a->id < b->id ? -1 : a->id > b->id;
}
static int by_x(const void *a, const void *b) { return compare(a, b, 0); }
static int by_y(const void *a, const void *b) { return compare(a, b, 1); }
static int by_z(const void *a, const void *b) { return compare(a, b, 2); }
static int (*const by_axis[3])(const void *, const void *) = {by_x, by_y, by_z};

/* Cut samples along an axis into `parts` of equal weight: parts - 1 cuts, and begin[parts + 1] of the parts. */
static void cut_axis(struct weighted *s, int64_t count, int axis, int parts, double *cut, int64_t *begin)
{
  double sum = 0, running = 0;
  int64_t at = 0;
  qsort(s, (size_t)count, sizeof *s, by_axis[axis]);
  for (int64_t i = 0; i < count; i++) sum += s[i].weight;
  begin[0] = 0;
  for (int p = 1; p < parts; p++) {
    while (at < count && running + 0.5 * s[at].weight < sum * p / parts) running += s[at++].weight;
    begin[p] = at;
    if (count == 0)
      cut[p - 1] = 0;
    else if (at == 0)
      cut[p - 1] = s[0].pos[axis];
    else
      cut[p - 1] = at < count ? 0.5 * (s[at - 1].pos[axis] + s[at].pos[axis]) : nextafter(s[count - 1].pos[axis], 1e300);
  }
  begin[parts] = count;
}

void domain_cut(struct domain *d, struct weighted *samples, int64_t count)
{
  int most = d->px > d->py ? d->px : d->py;
  if (d->pz > most) most = d->pz;
  int64_t *bx = memory_alloc("domain", sizeof *bx * (size_t)(most + 1)), *by = memory_alloc("domain", sizeof *by * (size_t)(most + 1));
  int64_t *bz = memory_alloc("domain", sizeof *bz * (size_t)(most + 1));
  cut_axis(samples, count, 0, d->px, d->x, bx);
  for (int i = 0; i < d->px; i++) {
    struct weighted *slab = samples + bx[i];
    cut_axis(slab, bx[i + 1] - bx[i], 1, d->py, d->y + i * (d->py - 1), by);
    for (int j = 0; j < d->py; j++)
      cut_axis(slab + by[j], by[j + 1] - by[j], 2, d->pz, d->z + (i * d->py + j) * (d->pz - 1), bz);
  }
  memory_free(bx);
  memory_free(by);
  memory_free(bz);
}

void domain_decompose(struct domain *d, const struct comm *c, const struct backend *be, struct device *device, double rate, double work)
{
  int64_t local = be->count(device), total = local;
  comm_sum_int64(c, &total, 1);
  double least = (double)SAMPLES_PER_RANK * c->size / (double)total, most = (double)SAMPLES_MOST / (double)total;
  rate = fmin(fmax(rate, least), most);
  uint64_t threshold = rate >= 1 ? UINT64_MAX : (uint64_t)(rate * 18446744073709551615.0);
  struct sample *s = memory_alloc("domain", sizeof *s * (size_t)(local + 1));
  int64_t n = be->sample(device, threshold, local, s);
  struct weighted *w = memory_alloc("domain", sizeof *w * (size_t)(n + 1)), *all;
  size_t bytes;
  double weight = work > 0 && local > 0 ? work / (double)local : 1;
  for (int64_t i = 0; i < n; i++) {
    w[i] = (struct weighted){.weight = weight, .id = s[i].id};
    memcpy(w[i].pos, s[i].pos, sizeof w[i].pos);
  }
  all = comm_gather_root(c, w, sizeof *w * (size_t)n, &bytes);
  if (c->rank == 0) domain_cut(d, all, (int64_t)(bytes / sizeof *all));
  MPI_Bcast(d->x, d->px - 1, MPI_DOUBLE, 0, c->mpi);
  MPI_Bcast(d->y, cuts_y(d), MPI_DOUBLE, 0, c->mpi);
  MPI_Bcast(d->z, cuts_z(d), MPI_DOUBLE, 0, c->mpi);
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
