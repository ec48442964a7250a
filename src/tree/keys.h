/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Peano-Hilbert keys of 63 bits, 21 for each axis. The curve is that of Hamilton (2006, Dalhousie University, report
 * CS-2006-07), tabulated over its states (entry corner, direction). For host and device. */
#ifndef KEYS_H
#define KEYS_H
#include <stdint.h>

#include "base/hd.h"

enum { KEY_LEVELS = 21, KEY_SHIFT = 31 - KEY_LEVELS, KEY_STATES = 12 };

/* Row: state of a cell. Column: octant of the cell (bit 2: x, bit 1: y, bit 0: z). Value: 8 times the state of the
 * octant, plus its position along the curve in the cell. */
#define KEY_TABLE_ROWS                                                                                      \
  {8, 23, 25, 38, 43, 44, 26, 37}, {24, 51, 63, 52, 1, 2, 70, 69}, {76, 39, 75, 80, 5, 6, 66, 65},          \
      {0, 9, 83, 10, 95, 78, 84, 77}, {22, 7, 21, 60, 49, 88, 50, 59}, {58, 85, 3, 4, 57, 86, 72, 55},      \
      {90, 89, 45, 46, 11, 32, 12, 87}, {36, 13, 71, 14, 35, 74, 40, 73}, {62, 81, 15, 16, 61, 82, 92, 91}, \
      {94, 93, 41, 42, 31, 20, 56, 19}, {18, 27, 17, 64, 53, 28, 54, 47},                                   \
  {                                                                                                         \
    68, 67, 29, 34, 79, 48, 30, 33                                                                          \
  }

/* The key of lattice coordinates in [0, 2^31), from their 21 upper bits; its three highest bits are the octant of the
 * root along the curve. `table`: KEY_TABLE_ROWS. */
HD uint64_t key_along(const uint8_t (*table)[8], int32_t x, int32_t y, int32_t z)
{
  uint64_t key = 0;
  unsigned state = 0;
  for (int bit = 30; bit >= KEY_SHIFT; bit--) {
    unsigned octant = ((unsigned)x >> bit & 1) << 2 | ((unsigned)y >> bit & 1) << 1 | ((unsigned)z >> bit & 1);
    unsigned entry = table[state][octant];
    key = key << 3 | (entry & 7);
    state = entry >> 3;
  }
  return key;
}

static const uint8_t key_table[KEY_STATES][8] = {KEY_TABLE_ROWS};
/* The same with the table of the host. */
static inline uint64_t key_of(int32_t x, int32_t y, int32_t z) { return key_along(key_table, x, y, z); }
#endif
