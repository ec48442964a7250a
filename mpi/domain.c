/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/domain.h"

#include <math.h>
#include <string.h>

#include "backend/link.h"
#include "base/memory.h"

/* Margin on each side of the box, relative to its longest side; smallest side of the lattice in softenings. */
#define LATTICE_MARGIN 0.05
#define LATTICE_SOFTENINGS 16

/* Lower and upper limit of the mean number of samples of a domain. With SAMPLES_MAX a domain's share of the samples
 * differs from its share of the particles by about 1 %, which is also the tolerance of aligned cuts. SAMPLES_SPREAD:
 * margin in standard deviations. */
enum { SAMPLES_MIN = 1024, SAMPLES_MAX = 8192, SAMPLES_SPREAD = 8 };

void domain_open_grid(struct domain *domain, int ranks, const int grid[3])
{
  int dims[3] = {grid[0], grid[1], grid[2]};
  MPI_Dims_create(ranks, 3, dims);
  *domain = (struct domain){.px = dims[0], .py = dims[1], .pz = dims[2], .centre = {NAN, NAN, NAN}};
  domain->x = memory_alloc("domain", sizeof(double) * (size_t)ranks);
  domain->y = domain->x + domain->px - 1;
  domain->z = domain->y + domain->px * (domain->py - 1);
}

struct lattice domain_lattice(const struct domain *domain, const double box[6], double softening)
{
  double smallest = LATTICE_SOFTENINGS * softening;
  if (domain->align) return lattice_about(domain->centre, box, box + 3, LATTICE_MARGIN, smallest);
  return lattice_cover(box, box + 3, LATTICE_MARGIN, smallest);
}

void domain_open(struct domain *domain, int ranks) { domain_open_grid(domain, ranks, (const int[3]){0, 0, 0}); }

void domain_cuboid(const struct domain *domain, int rank, double low[3], double high[3])
{
  int at[3] = {rank / domain->pz / domain->py, rank / domain->pz % domain->py, rank % domain->pz},
      parts[3] = {domain->px, domain->py, domain->pz};
  const double *cut[3] = {domain->x, domain->y + at[0] * (domain->py - 1),
                          domain->z + (at[0] * domain->py + at[1]) * (domain->pz - 1)};
  for (int c = 0; c < 3; c++) {
    low[c] = at[c] > 0 ? cut[c][at[c] - 1] : -1e300;
    high[c] = at[c] < parts[c] - 1 ? cut[c][at[c]] : 1e300;
  }
}

void domain_close(struct domain *domain) { memory_free(domain->x); }

/* --- samples of particles ---------------------------------------------------------------------------------------- */

/* Weigh the samples of a rank so that they sum to its load. The sum is exact; samples only estimate the distribution
 * within the domain. */
static void weigh(struct weighted *weighted, const struct sample *sample, int64_t n, double load, int by_work)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    weighted[i] = (struct weighted){.weight = by_work ? sample[i].work : 1};
    memcpy(weighted[i].pos, sample[i].pos, sizeof weighted[i].pos);
    sum += weighted[i].weight;
  }
  for (int64_t i = 0; i < n; i++) weighted[i].weight = sum > 0 ? weighted[i].weight * load / sum : load / (double)n;
}

/* Sample this rank's particles into *sample (owner: caller), with room for the expected number of samples. Returns
 * their number. */
static int64_t take_samples(const struct backend *be, struct device *device, uint64_t threshold, int64_t local,
                            double rate, struct sample **sample, double *work)
{
  double expected = rate * (double)local;
  int64_t capacity = (int64_t)fmin(expected + SAMPLES_SPREAD * sqrt(expected) + SAMPLES_MIN, (double)local);
  for (;;) {
    *sample = memory_alloc("domain", sizeof **sample * (size_t)(capacity + 1));
    int64_t n = be->sets.sample(device, threshold, 0, capacity, *sample, work);
    if (n < capacity || capacity == local) return n;
    memory_free(*sample); /* too small: the hashes of the ids are not uniform */
    capacity = local;
  }
}

void domain_decompose(struct domain *domain, const struct comm *comm, const struct backend *be, struct device *device,
                      double rate, const struct domain_load *load)
{
  int64_t local = be->count(device), total = local;
  comm_sum_int64(comm, &total, 1);
  double domains = (double)domain->px * domain->py * domain->pz;
  rate = fmin(fmax(rate, SAMPLES_MIN * domains / (double)total), SAMPLES_MAX * domains / (double)total);
  uint64_t threshold = rate >= 1 ? UINT64_MAX : (uint64_t)(rate * 18446744073709551615.0);
  double work, all_work;
  struct sample *s;
  int64_t n = take_samples(be, device, threshold, local, rate, &s, &work);
  all_work = work *= load->per_work;
  comm_sum_double(comm, &all_work, 1);
  struct weighted *w = memory_alloc("domain", sizeof *w * (size_t)(n + 1));
  int by_work = load->by_work && all_work > 0;
  weigh(w, s, n, by_work ? work : (double)local + load->extra, by_work);
  domain_cut(domain, comm, w, n);
  memory_free(w);
  memory_free(s);
}

/* Exchange particles from device to device: comm_exchange for buffers in device memory. */
static void exchange_direct(struct transport *transport, const struct comm *comm, const struct backend *be,
                            struct device *device, const void **send, const size_t *sizes, void **received, size_t *got,
                            size_t *offset)
{
  size_t total = 0;
  int count = 0;
  struct link_message *m = memory_alloc("exchange", sizeof *m * 2 * (size_t)comm->size);
  comm_alltoall(comm, sizes, sizeof *sizes, got);
  for (int r = 0; r < comm->size; r++) {
    offset[r] = total;
    total += got[r];
  }
  *received =
      be->exchange->unpack_buffer ? be->exchange->unpack_buffer(device, total) : memory_alloc("messages", total);
  for (int k = 1; k < comm->size; k++) {
    int to = (comm->rank + k) % comm->size, from = (comm->rank + comm->size - k) % comm->size;
    if (sizes[to] > 0) m[count++] = (struct link_message){to, 0, (void *)(uintptr_t)send[to], sizes[to]};
    if (got[from] > 0) m[count++] = (struct link_message){from, 1, (char *)*received + offset[from], got[from]};
  }
  transport_post(transport, count, m);
  transport_wait(transport);
  memory_free(m);
}

int64_t domain_exchange(const struct domain *domain, const struct comm *comm, const struct backend *be,
                        struct device *device, struct transport *transport, int32_t tick, double tick_length)
{
  int64_t *counts = memory_alloc("exchange", sizeof *counts * (size_t)comm->size), sent = 0;
  size_t *sizes = memory_alloc("exchange", 3 * sizeof *sizes * (size_t)comm->size), *got = sizes + comm->size,
         *offset = got + comm->size;
  const void **send = memory_alloc("exchange", sizeof *send * (size_t)comm->size);
  void *buffer, *received;
  size_t bytes = particle_bytes();
  be->exchange->pack(device, domain, comm->rank, tick, tick_length, counts, &buffer);
  for (int r = 0; r < comm->size; r++) {
    send[r] = (char *)buffer + bytes * (size_t)sent;
    sizes[r] = bytes * (size_t)counts[r];
    sent += counts[r];
  }
  if (transport_direct(transport)) exchange_direct(transport, comm, be, device, send, sizes, &received, got, offset);
  else comm_exchange(comm, send, sizes, &received, got, offset);
  for (int r = 0; r < comm->size; r++)
    be->exchange->unpack(device, (char *)received + offset[r], (int64_t)(got[r] / bytes));
  if (!transport_direct(transport) || !be->exchange->unpack_buffer) memory_free(received);
  memory_free(send);
  memory_free(sizes);
  memory_free(counts);
  return sent;
}
