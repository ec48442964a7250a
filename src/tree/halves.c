/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "tree/halves.h"

#include <string.h>

#include "base/memory.h"

/* What the division of groups needs. */
struct dividing {
  int grid[3];
  int32_t *rank, *scratch, *count;
};

/* The coordinate of a rank's domain along an axis. */
static int along(const int grid[3], int rank, int axis)
{
  return axis == 2 ? rank % grid[2] : axis == 1 ? rank / grid[2] % grid[1] : rank / grid[2] / grid[1];
}

/* Sort the ranks at [first, first + n) by their coordinate along an axis; ranks with the same one keep their order. */
static void sort_along(struct dividing *d, int first, int n, int axis)
{
  memset(d->count, 0, sizeof *d->count * (size_t)(d->grid[axis] + 1));
  for (int k = 0; k < n; k++) d->count[along(d->grid, d->rank[first + k], axis) + 1]++;
  for (int x = 0; x < d->grid[axis]; x++) d->count[x + 1] += d->count[x];
  for (int k = 0; k < n; k++) d->scratch[d->count[along(d->grid, d->rank[first + k], axis)]++] = d->rank[first + k];
  memcpy(d->rank + first, d->scratch, sizeof *d->rank * (size_t)n);
}

/* Divide the ranks at [first, first + n): across the longest side of their block; ranks of the layer in the middle by the next longest one. */
static void divide(struct dividing *d, int first, int n)
{
  int axis[3] = {0, 1, 2}, side[3];
  if (n < 2) return;
  for (int c = 0; c < 3; c++) {
    int low = d->grid[c], high = -1;
    for (int k = 0; k < n; k++) {
      int x = along(d->grid, d->rank[first + k], c);
      low = x < low ? x : low, high = x > high ? x : high;
    }
    side[c] = high - low + 1;
  }
  for (int pass = 0; pass < 2; pass++)   /* ascending sides; of equal ones the first axis comes last */
    for (int c = 0; c < 2; c++)
      if (side[axis[c]] > side[axis[c + 1]] || (side[axis[c]] == side[axis[c + 1]] && axis[c] < axis[c + 1])) {
        int swap = axis[c];
        axis[c] = axis[c + 1], axis[c + 1] = swap;
      }
  for (int c = 0; c < 3; c++) sort_along(d, first, n, axis[c]);
  divide(d, first, n / 2);
  divide(d, first + n / 2, n - n / 2);
}

void halves_open(struct halves *h, const int grid[3])
{
  struct dividing d = {.grid = {grid[0], grid[1], grid[2]}};
  *h = (struct halves){.ranks = grid[0] * grid[1] * grid[2]};
  size_t n = (size_t)h->ranks;
  while (h->ranks >> (h->depth + 1)) h->depth++;
  h->rank = memory_alloc("let", sizeof *h->rank * 2 * n);
  h->place = h->rank + n;
  d.rank = h->rank;
  d.scratch = h->place;
  d.count = memory_alloc("let", sizeof *d.count * (n + 1));
  for (int r = 0; r < h->ranks; r++) h->rank[r] = r;
  divide(&d, 0, h->ranks);
  for (int k = 0; k < h->ranks; k++) h->place[h->rank[k]] = k;
  memory_free(d.count);
}

void halves_close(struct halves *h) { memory_free(h->rank); }

int halves_ranks(const struct halves *h, int32_t group, int *first)
{
  int n = h->ranks, at = 0;
  for (int bit = halves_depth(group) - 1; bit >= 0; bit--) {
    int half = n / 2;
    if (n == 1) half = 1;   /* of a leaf with one rank */
    if (group >> bit & 1) at += half, n -= half;
    else n = half;
  }
  *first = at;
  return n;
}

int32_t halves_number(const struct halves *h, int rank)
{
  int32_t group = 1;
  int n = h->ranks, at = 0, place = h->place[rank];
  for (int depth = 0; depth <= h->depth; depth++) {
    int half = n > 1 ? n / 2 : 1, second = place >= at + half;
    group = 2 * group + second;
    if (second) at += half, n -= half;
    else n = half;
  }
  return group;
}

int halves_rank(const struct halves *h, int32_t number)
{
  int first;
  halves_ranks(h, number, &first);
  return h->rank[first];
}
