/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The datasets of a snapshot, one row a particle: names, places in memory, scaling, and their checksum. */
#ifndef IO_COLUMNS_H
#define IO_COLUMNS_H
#include <hdf5.h>
#include <stdint.h>

#include "particles.h"
#include "units.h"

#define CHECKSUM_ATTRIBUTE "Checksum_XXH64_rows"

enum column_number { COLUMN_F64, COLUMN_F32, COLUMN_U64 };

struct column {
  const char *name;
  size_t offset;              /* of the array's pointer in struct particles */
  enum column_number number;
  int components;
  size_t bytes;               /* of a row, in memory and in the file */
  unsigned extra;             /* the SNAPSHOT_... that asks for it; 0: always there */
  int length, mass, velocity; /* exponents of its unit, GADGET-4's attributes; all 0: no unit */
};
/* The first four are positions, velocities, masses and ids. */
extern const struct column columns[];
extern const int column_count;

/* Row `i` in memory. */
const void *columns_row(const struct column *k, const struct particles *p, int64_t i);
/* Its type in the file, always little endian. */
hid_t columns_type(const struct column *k);
double columns_to_cgs(const struct column *k, const struct units *u);
/* XXH64 of a row's bytes as stored, seeded with its number in the dataset. A dataset's checksum is the sum over its rows
 * modulo 2^64, so any partition of the rows gives the same. */
uint64_t row_checksum(const void *row, size_t bytes, uint64_t number);
#endif
