/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "fof/fof_book.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "particles/sampling.h"

int fof_by_label(const void *a, const void *b)
{
  uint64_t one, two;
  memcpy(&one, a, sizeof one);
  memcpy(&two, b, sizeof two);
  return (one > two) - (one < two);
}

void *fof_exchange(const struct comm *comm, const void *records, size_t bytes, const int64_t *count, int64_t *got,
                   int64_t *received)
{
  size_t ranks = (size_t)comm->size, *size = memory_alloc("fof", 3 * sizeof *size * ranks), *got_bytes = size + ranks,
         *offset = got_bytes + ranks;
  const void **send = memory_alloc("fof", sizeof *send * ranks);
  const char *at = records;
  void *all;
  for (size_t r = 0; r < ranks; at += size[r++]) {
    send[r] = at;
    size[r] = bytes * (size_t)count[r];
  }
  comm_exchange(comm, send, size, &all, got_bytes, offset);
  size_t total = 0;
  for (size_t r = 0; r < ranks; total += got_bytes[r++]) { /* messages start on cache lines: close the gaps */
    memmove((char *)all + total, (char *)all + offset[r], got_bytes[r]);
    if (got) got[r] = (int64_t)(got_bytes[r] / bytes);
  }
  *received = (int64_t)(total / bytes);
  memory_free(send);
  memory_free(size);
  return all;
}

static int rank_of(const struct comm *comm, uint64_t label)
{
  return (int)(sampling_hash(label) % (uint64_t)comm->size);
}

/* Put records in the order of the ranks of their labels. place[count]: where each one is then. Owner: caller. */
static void *by_rank(const struct comm *comm, const void *records, size_t bytes, int64_t count, int64_t *to,
                     int64_t *place)
{
  const char *from = records;
  char *sorted = memory_alloc("fof", bytes * (size_t)(count + 1));
  int64_t *next = memory_alloc("fof", sizeof *next * (size_t)comm->size);
  uint64_t label;
  memset(to, 0, sizeof *to * (size_t)comm->size);
  for (int64_t i = 0; i < count; i++) {
    memcpy(&label, from + bytes * (size_t)i, sizeof label);
    to[rank_of(comm, label)]++;
  }
  for (int r = 1; r < comm->size; r++) next[r] = next[r - 1] + to[r - 1];
  for (int64_t i = 0; i < count; i++) {
    memcpy(&label, from + bytes * (size_t)i, sizeof label);
    int64_t at = next[rank_of(comm, label)]++;
    memcpy(sorted + bytes * (size_t)at, from + bytes * (size_t)i, bytes);
    if (place) place[i] = at;
  }
  memory_free(next);
  return sorted;
}

void *fof_route(const struct comm *comm, const void *records, size_t bytes, int64_t count, int64_t *received)
{
  int64_t *to = memory_alloc("fof", sizeof *to * (size_t)comm->size);
  void *sorted = by_rank(comm, records, bytes, count, to, NULL),
       *all = fof_exchange(comm, sorted, bytes, to, NULL, received);
  memory_free(sorted);
  memory_free(to);
  if (*received > 1) qsort(all, (size_t)*received, bytes, fof_by_label);
  return all;
}

void fof_book_open(struct fof_book *book, const struct comm *comm, const struct fof_pair *pairs, int64_t count,
                   uint64_t (*merge)(uint64_t, uint64_t))
{
  int64_t received;
  book->pair = fof_route(comm, pairs, sizeof *pairs, count, &received);
  book->count = 0;
  for (int64_t i = 0; i < received; i++) {
    struct fof_pair *last = book->count ? &book->pair[book->count - 1] : NULL;
    if (last && last->label == book->pair[i].label) last->value = merge(last->value, book->pair[i].value);
    else book->pair[book->count++] = book->pair[i];
  }
}

struct fof_pair *fof_book_find(const struct fof_book *book, uint64_t label)
{
  return book->count ? bsearch(&label, book->pair, (size_t)book->count, sizeof *book->pair, fof_by_label) : NULL;
}

void fof_book_ask(const struct comm *comm, const struct fof_book *book, const uint64_t *label, int64_t count,
                  uint64_t *value)
{
  size_t ranks = (size_t)comm->size;
  int64_t *to = memory_alloc("fof", 2 * sizeof *to * ranks), *got = to + ranks, asked, answered;
  int64_t *place = memory_alloc("fof", sizeof *place * (size_t)(count + 1));
  uint64_t *sorted = by_rank(comm, label, sizeof *label, count, to, place);
  uint64_t *question = fof_exchange(comm, sorted, sizeof *sorted, to, got, &asked);
  for (int64_t i = 0; i < asked; i++) {
    const struct fof_pair *found = fof_book_find(book, question[i]);
    if (found) question[i] = found->value;
  }
  uint64_t *answer = fof_exchange(comm, question, sizeof *question, got, NULL, &answered);
  for (int64_t i = 0; i < count; i++) value[i] = answer[place[i]];
  memory_free(answer);
  memory_free(question);
  memory_free(sorted);
  memory_free(place);
  memory_free(to);
}
