/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sample sort: each rank sorts its records and gives samples of them to all, which cut the records into equal
 * shares. */
#include <config.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fof/fof_book.h"

enum { SAMPLES = 64 }; /* of each rank: shares differ by some percent */

/* Number of records of list[count] that come before `key`. */
static int64_t before(const char *list, size_t bytes, int64_t count, const void *key,
                      int (*order)(const void *, const void *))
{
  int64_t low = 0;
  while (low < count) {
    int64_t middle = low + (count - low) / 2;
    if (order(list + bytes * (size_t)middle, key) < 0) low = middle + 1;
    else count = middle;
  }
  return low;
}

/* Samples of all ranks in their order. Each stands for about as many records, since a rank gives them in proportion to
 * what it has. */
static char *samples_of(const struct comm *comm, const char *records, size_t bytes, int64_t count,
                        int (*order)(const void *, const void *), int64_t *samples)
{
  int64_t all = count;
  size_t total;
  comm_sum_int64(comm, &all, 1);
  double step = (double)all / ((double)comm->size * SAMPLES);
  if (step < 1) step = 1;
  int64_t mine = (int64_t)((double)count / step);
  char *sample = memory_alloc("fof", bytes * (size_t)(mine + 1));
  for (int64_t k = 0; k < mine; k++)
    memcpy(sample + bytes * (size_t)k, records + bytes * (size_t)((double)k * step), bytes);
  char *gathered = comm_gather(comm, sample, bytes * (size_t)mine, &total);
  *samples = (int64_t)(total / bytes);
  memory_free(sample);
  if (*samples > 1) qsort(gathered, (size_t)*samples, bytes, order);
  return gathered;
}

void *fof_sort(const struct comm *comm, void *records, size_t bytes, int64_t count,
               int (*order)(const void *, const void *), int64_t *sorted)
{
  int64_t *to = memory_alloc("fof", sizeof *to * (size_t)comm->size), samples, done = 0;
  if (count > 1) qsort(records, (size_t)count, bytes, order);
  char *sample = samples_of(comm, records, bytes, count, order, &samples);
  for (int r = 0; r < comm->size; r++) {
    int64_t cut = samples * (r + 1) / comm->size;
    int64_t end = r + 1 == comm->size || cut >= samples
                      ? count
                      : before(records, bytes, count, sample + bytes * (size_t)cut, order);
    to[r] = end - done;
    done = end;
  }
  void *all = fof_exchange(comm, records, bytes, to, NULL, sorted);
  memory_free(sample);
  memory_free(to);
  memory_free(records);
  if (*sorted > 1) qsort(all, (size_t)*sorted, bytes, order);
  return all;
}
