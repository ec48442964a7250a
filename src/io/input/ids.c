/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are ids unique? Each id is compared on the rank that a hash of it selects. */
#include <config.h>
#include <stdlib.h>

#include "base/memory.h"
#include "io/input/set.h"

struct tagged {
  uint64_t id;
  int64_t row;
};

static int by_id(const void *a, const void *b)
{
  const struct tagged *x = a, *y = b;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

/* Whether ids increase from particle to particle over all ranks, as most programs write them. Then no sorting is
 * needed. Collective. */
static int all_rising(const struct comm *comm, const struct particles *particles)
{
  int rising = 1;
  for (int64_t i = 1; i < particles->n; i++) rising &= particles->id[i] > particles->id[i - 1];
  struct {
    uint64_t first, last;
    int64_t n;
  } mine = {particles->n ? particles->id[0] : 0, particles->n ? particles->id[particles->n - 1] : 0,
            rising ? particles->n : -1};
  char *all = memory_alloc("ids", sizeof mine * (size_t)comm->size);
  comm_allgather(comm, &mine, sizeof mine, all);
  int64_t before = 0;
  uint64_t last = 0;
  for (int r = 0; r < comm->size; r++) {
    __typeof__(mine) one = ((__typeof__(mine) *)all)[r];
    if (one.n < 0 || (one.n > 0 && before > 0 && one.first <= last)) rising = 0;
    if (one.n > 0) last = one.last;
    before += one.n;
  }
  memory_free(all);
  return rising;
}

static int owner(uint64_t id, int size)
{
  uint64_t h = id * 0x9E3779B97F4A7C15u; /* Fibonacci hashing spreads runs of ids evenly */
  return (int)((h >> 32) % (uint64_t)size);
}

static void find_equal(struct tagged *all, int64_t n, const char *path, struct fault *fault)
{
  qsort(all, (size_t)n, sizeof *all, by_id);
  for (int64_t i = 1; i < n; i++)
    if (all[i].id == all[i - 1].id) {
      fault_set(fault,
                "%s: particles %lld and %lld (in the file's order, from 1) have the same id %llu; ids must be unique",
                path, (long long)all[i - 1].row + 1, (long long)all[i].row + 1, (unsigned long long)all[i].id);
      return;
    }
}

/* Ids sorted by the rank that compares them; begin[size + 1] becomes the index of the first id of each rank. */
static struct tagged *partition(const struct comm *comm, const struct particles *particles, int64_t first,
                                int64_t *begin)
{
  struct tagged *out = memory_alloc("ids", sizeof *out * (size_t)particles->n);
  for (int64_t i = 0; i < particles->n; i++) begin[owner(particles->id[i], comm->size) + 1]++;
  for (int r = 0; r < comm->size; r++) begin[r + 1] += begin[r];
  int64_t *next = memory_alloc("ids", sizeof *next * (size_t)comm->size);
  for (int r = 0; r < comm->size; r++) next[r] = begin[r];
  for (int64_t i = 0; i < particles->n; i++)
    out[next[owner(particles->id[i], comm->size)]++] = (struct tagged){particles->id[i], first + i};
  memory_free(next);
  return out;
}

/* Remove the gaps between the received messages; returns the number of ids. */
static int64_t close_up(const struct comm *comm, char *in, const size_t *bytes, const size_t *offset)
{
  struct tagged *to = (struct tagged *)in;
  int64_t n = 0;
  for (int r = 0; r < comm->size; r++) {
    const struct tagged *from = (const struct tagged *)(in + offset[r]);
    for (size_t i = 0; i < bytes[r] / sizeof *from; i++) to[n++] = from[i];
  }
  return n;
}

void ids_check(const struct comm *comm, const struct particles *particles, int64_t first, const char *path,
               struct fault *fault)
{
  if (all_rising(comm, particles)) return;
  size_t ranks = (size_t)comm->size;
  int64_t *begin = memory_alloc("ids", sizeof *begin * (ranks + 1));
  struct tagged *out = partition(comm, particles, first, begin);
  const void **send = memory_alloc("ids", sizeof *send * ranks);
  size_t *sizes = memory_alloc("ids", sizeof *sizes * 3 * ranks), *bytes = sizes + ranks, *offset = sizes + 2 * ranks;
  for (int r = 0; r < comm->size; r++) {
    send[r] = out + begin[r];
    sizes[r] = sizeof *out * (size_t)(begin[r + 1] - begin[r]);
  }
  void *in;
  comm_exchange(comm, send, sizes, &in, bytes, offset);
  find_equal(in, close_up(comm, in, bytes, offset), path, fault);
  memory_free(in);
  memory_free(sizes);
  memory_free(send);
  memory_free(out);
  memory_free(begin);
}
