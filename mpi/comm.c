/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "comm.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { TAG_EXCHANGE = 100 };

void comm_open(struct comm *c, MPI_Comm parent)
{
  MPI_Comm_dup(parent, &c->mpi);
  MPI_Comm_rank(c->mpi, &c->rank);
  MPI_Comm_size(c->mpi, &c->size);
  c->largest_message = (size_t)1 << 30;
  const char *limit = getenv("ESPALIER_LARGEST_MESSAGE");
  if (limit && atoll(limit) > 0) c->largest_message = (size_t)atoll(limit);
  if (c->largest_message > (size_t)1 << 30) c->largest_message = (size_t)1 << 30;
}

void comm_close(struct comm *c) { MPI_Comm_free(&c->mpi); }

int comm_agree(const struct comm *c, struct fault *f)
{
  int first = f->text[0] ? c->rank : c->size;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, c->mpi);
  if (first == c->size) return 0;
  MPI_Bcast(f->text, sizeof f->text, MPI_CHAR, first, c->mpi);
  return -1;
}

int comm_verdict(const struct comm *c, struct fault *f)
{
  MPI_Bcast(f->text, sizeof f->text, MPI_CHAR, 0, c->mpi);
  return f->text[0] ? -1 : 0;
}

void comm_broadcast(const struct comm *c, void *data, size_t bytes) { MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, c->mpi); }

void comm_sum_double(const struct comm *c, double *x, int n)
{
  double *all = memory_alloc("messages", sizeof *all * (size_t)n * (size_t)c->size);
  MPI_Allgather(x, n, MPI_DOUBLE, all, n, MPI_DOUBLE, c->mpi);
  for (int i = 0; i < n; i++) {
    x[i] = 0;
    for (int r = 0; r < c->size; r++) x[i] += all[(size_t)r * (size_t)n + (size_t)i];
  }
  memory_free(all);
}

void comm_sum_int64(const struct comm *c, int64_t *x, int n) { MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_INT64_T, MPI_SUM, c->mpi); }
void comm_max_double(const struct comm *c, double *x, int n) { MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, MPI_MAX, c->mpi); }
void comm_min_double(const struct comm *c, double *x, int n) { MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, MPI_MIN, c->mpi); }

int64_t comm_min_int64(const struct comm *c, int64_t x)
{
  MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT64_T, MPI_MIN, c->mpi);
  return x;
}

int64_t comm_max_int64(const struct comm *c, int64_t x)
{
  MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT64_T, MPI_MAX, c->mpi);
  return x;
}

int64_t comm_exscan_int64(const struct comm *c, int64_t x)
{
  int64_t below = 0;
  MPI_Exscan(&x, &below, 1, MPI_INT64_T, MPI_SUM, c->mpi);
  return c->rank == 0 ? 0 : below;
}

void comm_barrier(const struct comm *c) { MPI_Barrier(c->mpi); }

static void *gather(const struct comm *c, const void *mine, size_t bytes, size_t *total, int receivers)
{
  size_t ranks = (size_t)c->size;
  const void **send = memory_alloc("messages", sizeof *send * ranks);
  size_t *sizes = memory_alloc("messages", 3 * sizeof *sizes * ranks), *got = sizes + ranks, *offset = got + ranks;
  void *all;
  for (int r = 0; r < receivers; r++) {
    send[r] = mine;
    sizes[r] = bytes;
  }
  comm_exchange(c, send, sizes, &all, got, offset);
  *total = 0;
  for (size_t r = 0; r < ranks; r++) {   /* messages start on cache lines: close the gaps */
    memmove((char *)all + *total, (char *)all + offset[r], got[r]);
    *total += got[r];
  }
  memory_free(sizes);
  memory_free(send);
  return all;
}

void *comm_gather(const struct comm *c, const void *mine, size_t bytes, size_t *total) { return gather(c, mine, bytes, total, c->size); }
void *comm_gather_root(const struct comm *c, const void *mine, size_t bytes, size_t *total) { return gather(c, mine, bytes, total, 1); }

/* Post the pieces of one message; returns how many requests were added. */
static int post(const struct comm *c, void *buffer, size_t bytes, int peer, int sending, MPI_Request *requests)
{
  int count = 0;
  for (size_t at = 0; at < bytes; at += c->largest_message) {
    size_t piece = bytes - at < c->largest_message ? bytes - at : c->largest_message;
    char *from = (char *)buffer + at;
    if (sending)
      MPI_Isend(from, (int)piece, MPI_BYTE, peer, TAG_EXCHANGE, c->mpi, &requests[count++]);
    else
      MPI_Irecv(from, (int)piece, MPI_BYTE, peer, TAG_EXCHANGE, c->mpi, &requests[count++]);
  }
  return count;
}

static size_t pieces(const struct comm *c, size_t bytes) { return (bytes + c->largest_message - 1) / c->largest_message; }

void comm_exchange_known(const struct comm *c, const void *const *send, const size_t *send_bytes, void *const *recv,
                         const size_t *recv_bytes)
{
  size_t most = 0;
  for (int p = 0; p < c->size; p++)
    if (p != c->rank) most += pieces(c, send_bytes[p]) + pieces(c, recv_bytes[p]);
  MPI_Request *requests = memory_alloc("messages", sizeof *requests * (most + 1));
  int count = 0;
  for (int k = 1; k < c->size; k++) {
    int p = (c->rank + c->size - k) % c->size;
    count += post(c, recv[p], recv_bytes[p], p, 0, requests + count);
  }
  for (int k = 1; k < c->size; k++) {
    int p = (c->rank + k) % c->size;
    count += post(c, (void *)(uintptr_t)send[p], send_bytes[p], p, 1, requests + count);
  }
  if (send_bytes[c->rank]) memcpy(recv[c->rank], send[c->rank], send_bytes[c->rank]);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  memory_free(requests);
}

void comm_exchange(const struct comm *c, const void *const *send, const size_t *send_bytes, void **recv, size_t *recv_bytes,
                   size_t *recv_offset)
{
  MPI_Alltoall(send_bytes, sizeof *send_bytes, MPI_BYTE, recv_bytes, sizeof *recv_bytes, MPI_BYTE, c->mpi);
  size_t total = 0;
  for (int p = 0; p < c->size; p++) {
    recv_offset[p] = total;
    total += (recv_bytes[p] + 63) / 64 * 64;   /* each message starts on a cache line */
  }
  *recv = memory_alloc("messages", total);
  void **places = memory_alloc("messages", sizeof *places * (size_t)c->size);
  for (int p = 0; p < c->size; p++) places[p] = (char *)*recv + recv_offset[p];
  comm_exchange_known(c, send, send_bytes, places, recv_bytes);
  memory_free(places);
}
