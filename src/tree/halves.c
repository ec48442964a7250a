/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "tree/halves.h"

#include <string.h>

#include "base/memory.h"

/* What the division of groups needs: domains along each axis; of all ranks their order, and memory for sorts. */
struct division {
  int grid[3];
  int32_t *rank, *scratch, *count;
};

/* The coordinate of a rank's domain along an axis. */
static int along(const int grid[3], int rank, int axis)
{
  return axis == 2 ? rank % grid[2] : axis == 1 ? rank / grid[2] % grid[1] : rank / grid[2] / grid[1];
}

/* Sort the ranks at [first, first + n) by their coordinate along an axis; ranks with the same one keep their order. */
static void sort_along(struct division *division, int first, int n, int axis)
{
  memset(division->count, 0, sizeof *division->count * (size_t)(division->grid[axis] + 1));
  for (int k = 0; k < n; k++) division->count[along(division->grid, division->rank[first + k], axis) + 1]++;
  for (int x = 0; x < division->grid[axis]; x++) division->count[x + 1] += division->count[x];
  for (int k = 0; k < n; k++)
    division->scratch[division->count[along(division->grid, division->rank[first + k], axis)]++] =
        division->rank[first + k];
  memcpy(division->rank + first, division->scratch, sizeof *division->rank * (size_t)n);
}

/* Order the ranks at [first, first + n) so that all groups below are next to each other: by their coordinate along the
 * longest side of their block, those with the same one along the next longest; then each half in the same way. */
static void divide(struct division *division, int first, int n)
{
  int axis[3] = {0, 1, 2}, side[3];
  if (n < 2) return;
  for (int c = 0; c < 3; c++) {
    int low = division->grid[c], high = -1;
    for (int k = 0; k < n; k++) {
      int x = along(division->grid, division->rank[first + k], c);
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
  for (int c = 0; c < 3; c++) sort_along(division, first, n, axis[c]);
  divide(division, first, n / 2);
  divide(division, first + n / 2, n - n / 2);
}

void halves_open(struct halves *halves, const int grid[3])
{
  struct division d = {.grid = {grid[0], grid[1], grid[2]}};
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
