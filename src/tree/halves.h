/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A binary tree over ranks: a group of ranks is divided into two halves, again and again, across the longest side of
 * its block of domains.
 *
 * Groups are numbered like a heap: 1 has all ranks, the halves of g are 2g and 2g + 1. All groups of a depth have the
 * same number of ranks, or one more. At depth `depth` they have one or two ranks, and are called leaves; a rank is a
 * half of its leaf (of a leaf with one rank the first half, the second does not exist), so ranks have numbers of depth
 * `depth` + 1. Local. */
#ifndef HALVES_H
#define HALVES_H
#include <stdint.h>

struct halves {
  int ranks, depth;
  /* [ranks] the ranks in the order of their leaves, and the place of a rank in it; `rank` owns both */
  int32_t *rank, *place;
};

/* Make the tree over the ranks of grid[0] grid[1] grid[2] domains, which are numbered along z, then y, then x
 * (tree/cuboids.h). Owner: caller (halves_close). */
void halves_open(struct halves *halves, const int grid[3]);
void halves_close(struct halves *halves);

/* The depth of a group; the group at depth `depth` that it is in. Pure. */
static inline int halves_depth(int32_t group)
{
  int depth = 0;
  while (group >>= 1) depth++;
  return depth;
}
static inline int32_t halves_above(int32_t group, int depth) { return group >> (halves_depth(group) - depth); }

/* The number of ranks of a group, and its first place. Pure. */
int halves_ranks(const struct halves *halves, int32_t group, int *first);
/* The number of a rank, and the rank of a number. Pure. */
int32_t halves_number(const struct halves *halves, int rank);
int halves_rank(const struct halves *halves, int32_t number);
#endif
