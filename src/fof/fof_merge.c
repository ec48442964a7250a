/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connected components of labels, with edges on all ranks, as in FastSV (Zhang, Azad & Hu 2020, SIAM PP): each label
 * has a parent, a label of the same component that is not larger. An edge gives its ends and their parents the smaller
 * one of both parents; then parents become grandparents. Parents only fall. Where both ends of all edges have the same
 * parent, the labels of a component have one, which is the smallest, since that is its own parent. The number of rounds
 * grows as the logarithm of a component's extent, so a chain that crosses domains a thousand times takes about ten. */
#include <config.h>
#include <string.h>

#include "base/memory.h"
#include "fof/fof_ranks.h"

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Labels of pairs[count]: [2 count], those of pair k at 2 k. Owner: caller. */
static uint64_t *ends_of(const struct fof_pair *pairs, int64_t count)
{
  uint64_t *end = memory_alloc("fof", sizeof *end * (size_t)(2 * count + 1));
  for (int64_t k = 0; k < count; k++) {
    end[2 * k] = pairs[k].label;
    end[2 * k + 1] = pairs[k].value;
  }
  return end;
}

/* Lower parents of the book to those of `lower` (all ranks). Each label of `lower` is in the book. */
static void take_lower(const struct comm *comm, struct fof_book *book, const struct fof_pair *lower, int64_t count)
{
  int64_t received;
  struct fof_pair *all = fof_route(comm, lower, sizeof *lower, count, &received);
  for (int64_t i = 0; i < received; i++) {
    struct fof_pair *mine = fof_book_find(book, all[i].label);
    mine->value = smaller(mine->value, all[i].value);
  }
  memory_free(all);
}

/* Parents become their parents. */
static void shorten(const struct comm *comm, struct fof_book *book)
{
  uint64_t *parent = memory_alloc("fof", 2 * sizeof *parent * (size_t)(book->count + 1)), *next = parent + book->count;
  for (int64_t i = 0; i < book->count; i++) parent[i] = book->pair[i].value;
  fof_book_ask(comm, book, parent, book->count, next);
  for (int64_t i = 0; i < book->count; i++) book->pair[i].value = next[i];
  memory_free(parent);
}

/* Lower the parents of the ends of this rank's edges, and of their parents. Returns the number of edges on all ranks
 * whose ends have different parents. */
static int64_t hook(const struct comm *comm, struct fof_book *book, const uint64_t *end, int64_t edges)
{
  uint64_t *parent = memory_alloc("fof", sizeof *parent * (size_t)(2 * edges + 1));
  struct fof_pair *lower = memory_alloc("fof", sizeof *lower * (size_t)(2 * edges + 1));
  int64_t count = 0, different;
  fof_book_ask(comm, book, end, 2 * edges, parent);
  for (int64_t k = 0; k < edges; k++) {
    uint64_t one = parent[2 * k], two = parent[2 * k + 1], least = smaller(one, two);
    if (one == two) continue;
    lower[count++] = (struct fof_pair){one == least ? two : one, least};
    lower[count++] = (struct fof_pair){end[one == least ? 2 * k + 1 : 2 * k], least};
  }
  different = count / 2;
  comm_sum_int64(comm, &different, 1);
  if (different) take_lower(comm, book, lower, count);
  memory_free(lower);
  memory_free(parent);
  return different;
}

void fof_merge(const struct comm *comm, const struct fof_pair *pairs, int64_t count, uint64_t *label, int64_t labels)
{
  struct fof_book book;
  uint64_t *end = ends_of(pairs, count);
  struct fof_pair *own = memory_alloc("fof", sizeof *own * (size_t)(2 * count + 1));
  for (int64_t k = 0; k < 2 * count; k++) own[k] = (struct fof_pair){end[k], end[k]};
  fof_book_open(&book, comm, own, 2 * count, smaller);
  memory_free(own);
  while (hook(comm, &book, end, count)) shorten(comm, &book);
  fof_book_ask(comm, &book, label, labels, label);
  memory_free(book.pair);
  memory_free(end);
}
