/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Peano-Hilbert curve: a bijection of cells, continuous, nested. */
#include <config.h>
#include "tree/keys.h"

#include <stdlib.h>

#include "chance.h"
#include "tap.h"

enum { BITS = 5, SIDE = 1 << BITS, CELLS = SIDE * SIDE * SIDE };

static int distance(const int a[3], const int b[3]) { return abs(a[0] - b[0]) + abs(a[1] - b[1]) + abs(a[2] - b[2]); }

/* The cells of a cube of 32^3 whose lower corner is `at` and whose side is a multiple of 2^shift: their keys must be
 * consecutive numbers, and cells of consecutive keys must share a face. */
static void check_cube(const int32_t at[3], int shift, int *unique, int *continuous)
{
  static int cell[CELLS][3], seen[CELLS];
  int drop = 3 * (shift - KEY_SHIFT);
  uint64_t base = key_of(at[0], at[1], at[2]) >> drop >> 3 * BITS;
  for (int i = 0; i < CELLS; i++) seen[i] = 0;
  for (int i = 0; i < CELLS; i++) {
    int x[3] = {i >> 2 * BITS, i >> BITS & (SIDE - 1), i & (SIDE - 1)};
    uint64_t key = key_of(at[0] + (x[0] << shift), at[1] + (x[1] << shift), at[2] + (x[2] << shift)) >> drop;
    int place = (int)(key & (CELLS - 1));
    *unique &= key >> 3 * BITS == base && !seen[place]++;
    for (int c = 0; c < 3; c++) cell[place][c] = x[c];
  }
  for (int i = 1; i < CELLS; i++) *continuous &= distance(cell[i - 1], cell[i]) == 1;
}

int main(void)
{
  struct random r = {1};
  const int32_t origin[3] = {0, 0, 0};
  int unique = 1, continuous = 1;
  check_cube(origin, 31 - BITS, &unique, &continuous);
  tap_ok(unique, "32^3 cells have 32^3 keys");
  tap_ok(continuous, "cells of consecutive keys share a face");

  unique = continuous = 1;
  for (int k = 0; k < 20; k++) {
    int shift = KEY_SHIFT + (int)(random_bits(&r) % (KEY_LEVELS - BITS));
    int32_t at[3];
    for (int c = 0; c < 3; c++) at[c] = (int32_t)(random_bits(&r) & INT32_MAX) >> (shift + BITS) << (shift + BITS);
    check_cube(at, shift, &unique, &continuous);
  }
  tap_ok(unique, "so in cubes anywhere and of any level: their keys are consecutive");
  tap_ok(continuous, "and the curve is continuous in them");

  int nested = 1, blind = 1, long_enough = 1;
  uint64_t max_value = 0;
  for (int k = 0; k < 20000; k++) {
    int32_t x[3];
    for (int c = 0; c < 3; c++) x[c] = (int32_t)(random_bits(&r) & INT32_MAX);
    uint64_t key = key_of(x[0], x[1], x[2]);
    if (key > max_value) max_value = key;
    long_enough &= key >> 63 == 0;
    for (int level = 1; level <= KEY_LEVELS; level++) {
      int keep = 31 - level;
      uint64_t coarse = key_of(x[0] >> keep << keep, x[1] >> keep << keep, x[2] >> keep << keep);
      nested &= key >> 3 * (KEY_LEVELS - level) == coarse >> 3 * (KEY_LEVELS - level);
    }
    blind &= key == key_of(x[0] ^ ((1 << KEY_SHIFT) - 1), x[1], x[2] ^ 1);
  }
  tap_ok(nested, "a cell's key starts with that of the cell around it, at every level");
  tap_ok(blind, "bits below the 21 levels do not matter");
  tap_ok(long_enough && max_value >> 62 == 1, "keys use 63 bits");
  tap_ok(key_of(0, 0, 0) == 0, "the curve begins at the origin");
  return tap_end();
}
