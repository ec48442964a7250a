/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values by label. The rank that a hash of the label names keeps the value. And sorting over ranks. All functions are
 * collective. */
#ifndef FOF_BOOK_H
#define FOF_BOOK_H
#include <stddef.h>
#include <stdint.h>

#include "mpi/comm.h"

struct fof_pair {
  uint64_t label, value;
};

struct fof_book {
  int64_t count;
  struct fof_pair *pair; /* [count] of this rank, ascending, labels once */
};

/* Send records[count] of `bytes` bytes, each of which begins with a label, to the ranks of their labels. Returns those
 * received, sorted by label, and their number. Owner: caller (memory_free). */
void *fof_route(const struct comm *comm, const void *records, size_t bytes, int64_t count, int64_t *received);
/* Open a book of the pairs of all ranks; `merge` gives the value of two pairs with the same label. Free with
 * memory_free(pair). */
void fof_book_open(struct fof_book *book, const struct comm *comm, const struct fof_pair *pairs, int64_t count,
                   uint64_t (*merge)(uint64_t, uint64_t));
/* Write the values of label[count] to value[count]; a label that the book does not have is its own value. */
void fof_book_ask(const struct comm *comm, const struct fof_book *book, const uint64_t *label, int64_t count,
                  uint64_t *value);
/* The pair of a label of this rank; NULL: the book does not have it. Local. */
struct fof_pair *fof_book_find(const struct fof_book *book, uint64_t label);

/* Sort records over all ranks by `order` (as for qsort; no two records are equal): the first ones go to rank 0. Returns
 * those of this rank, and their number. `records` is freed. Owner: caller (memory_free). */
void *fof_sort(const struct comm *comm, void *records, size_t bytes, int64_t count,
               int (*order)(const void *, const void *), int64_t *sorted);
/* Exchange records that stand one after the other by receiving rank: count[p] for rank p. Returns those received, by
 * sending rank, and their numbers got[p]. Owner: caller (memory_free). */
void *fof_exchange(const struct comm *comm, const void *records, size_t bytes, const int64_t *count, int64_t *got,
                   int64_t *received);
/* Order by the label that a record begins with. Local. */
int fof_by_label(const void *a, const void *b);
#endif
