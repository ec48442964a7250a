/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Peano-Hilbert keys: 21 bits an axis, 63 bits. The curve is Hamilton's (2006, Dalhousie CS-2006-07), unrolled into a
 * table over the states (entry corner, direction) that occur. */
#ifndef KEYS_H
#define KEYS_H
#include <stdint.h>

#include "hd.h"

enum { KEY_LEVELS = 21, KEY_SHIFT = 31 - KEY_LEVELS, KEY_STATES = 12 };

/* For the octant (bit 2: x, bit 1: y, bit 0: z) of a cell in a state: 8 times the state of the octant's own cell, plus
 * the octant's place along the curve. */
#define KEY_TABLE_ROWS \
  {8, 23, 25, 38, 43, 44, 26, 37}, \
  {24, 51, 63, 52, 1, 2, 70, 69}, \
  {76, 39, 75, 80, 5, 6, 66, 65}, \
  {0, 9, 83, 10, 95, 78, 84, 77}, \
  {22, 7, 21, 60, 49, 88, 50, 59}, \
  {58, 85, 3, 4, 57, 86, 72, 55}, \
  {90, 89, 45, 46, 11, 32, 12, 87}, \
  {36, 13, 71, 14, 35, 74, 40, 73}, \
  {62, 81, 15, 16, 61, 82, 92, 91}, \
  {94, 93, 41, 42, 31, 20, 56, 19}, \
  {18, 27, 17, 64, 53, 28, 54, 47}, \
  {68, 67, 29, 34, 79, 48, 30, 33}

/* The key of a lattice position (coordinates in [0, 2^31)): the 21 upper bits of each coordinate, interleaved along the
 * curve; the three highest bits of the 63 belong to the root's octants. `table` holds the rows above. */
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
static inline uint64_t key_of(int32_t x, int32_t y, int32_t z) { return key_along(key_table, x, y, z); }
#endif
