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
static void sort_along(struct dividing *dividing, int first, int n, int axis)
{
  memset(dividing->count, 0, sizeof *dividing->count * (size_t)(dividing->grid[axis] + 1));
  for (int k = 0; k < n; k++) dividing->count[along(dividing->grid, dividing->rank[first + k], axis) + 1]++;
  for (int x = 0; x < dividing->grid[axis]; x++) dividing->count[x + 1] += dividing->count[x];
  for (int k = 0; k < n; k++)
    dividing->scratch[dividing->count[along(dividing->grid, dividing->rank[first + k], axis)]++] =
        dividing->rank[first + k];
  memcpy(dividing->rank + first, dividing->scratch, sizeof *dividing->rank * (size_t)n);
}

/* Divide the ranks at [first, first + n): across the longest side of their block; ranks of the layer in the middle by
 * the next longest one. */
static void divide(struct dividing *dividing, int first, int n)
{
  int axis[3] = {0, 1, 2}, side[3];
  if (n < 2) return;
  for (int c = 0; c < 3; c++) {
    int low = dividing->grid[c], high = -1;
    for (int k = 0; k < n; k++) {
      int x = along(dividing->grid, dividing->rank[first + k], c);
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
    side[c] = high - low + 1;
  }
  for (int pass = 0; pass < 2; pass++) /* ascending sides; of equal ones the first axis comes last */
    for (int c = 0; c < 2; c++)
      if (side[axis[c]] > side[axis[c + 1]] || (side[axis[c]] == side[axis[c + 1]] && axis[c] < axis[c + 1])) {
        int swap = axis[c];
        axis[c] = axis[c + 1];
        axis[c + 1] = swap;
      }
  for (int c = 0; c < 3; c++) sort_along(dividing, first, n, axis[c]);
  divide(dividing, first, n / 2);
  divide(dividing, first + n / 2, n - n / 2);
}

void halves_open(struct halves *halves, const int grid[3])
{
  struct dividing d = {.grid = {grid[0], grid[1], grid[2]}};
  *halves = (struct halves){.ranks = grid[0] * grid[1] * grid[2]};
  size_t n = (size_t)halves->ranks;
  while (halves->ranks >> (halves->depth + 1)) halves->depth++;
  halves->rank = memory_alloc("let", sizeof *halves->rank * 2 * n);
  halves->place = halves->rank + n;
  d.rank = halves->rank;
  d.scratch = halves->place;
  d.count = memory_alloc("let", sizeof *d.count * (n + 1));
  for (int r = 0; r < halves->ranks; r++) halves->rank[r] = r;
  divide(&d, 0, halves->ranks);
  for (int k = 0; k < halves->ranks; k++) halves->place[halves->rank[k]] = k;
  memory_free(d.count);
}

void halves_close(struct halves *halves) { memory_free(halves->rank); }

int halves_ranks(const struct halves *halves, int32_t group, int *first)
{
  int n = halves->ranks, at = 0;
  for (int bit = halves_depth(group) - 1; bit >= 0; bit--) {
    int half = n / 2;
    if (n == 1) half = 1; /* of a leaf with one rank */
    if (group >> bit & 1) {
      at += half;
      n -= half;
    } else n = half;
  }
  *first = at;
  return n;
}

int32_t halves_number(const struct halves *halves, int rank)
{
  int32_t group = 1;
  int n = halves->ranks, at = 0, place = halves->place[rank];
  for (int depth = 0; depth <= halves->depth; depth++) {
    int half = n > 1 ? n / 2 : 1, second = place >= at + half;
    group = 2 * group + second;
    if (second) {
      at += half;
      n -= half;
    } else n = half;
  }
  return group;
}

int halves_rank(const struct halves *halves, int32_t number)
{
  int first;
  halves_ranks(halves, number, &first);
  return halves->rank[first];
}
