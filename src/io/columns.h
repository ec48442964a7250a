/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The datasets of a snapshot, one row per particle, as a table: names, arrays in memory, units, checksums. All
 * functions are local. */
#ifndef IO_COLUMNS_H
#define IO_COLUMNS_H
#include <hdf5.h>
#include <stdint.h>

#include "gravity/units.h"
#include "particles/particles.h"

#define CHECKSUM_ATTRIBUTE "Checksum_XXH64_rows"

/* Optional datasets; Coordinates, Velocities, Masses and ParticleIDs are always written. */
enum {
  SNAPSHOT_POTENTIAL = 1,
  SNAPSHOT_ACCELERATION = 2,
  SNAPSHOT_ACCELERATION_HARD = 4,
  SNAPSHOT_RUN = SNAPSHOT_POTENTIAL, /* those in the snapshots of a run */
  SNAPSHOT_ALL = SNAPSHOT_POTENTIAL | SNAPSHOT_ACCELERATION | SNAPSHOT_ACCELERATION_HARD
};

enum column_number { COLUMN_F64, COLUMN_F32, COLUMN_U64 };

struct column {
  const char *name;
  size_t offset; /* of the pointer to the array in struct particles */
  enum column_number number;
  int components;             /* 1 or 3 */
  size_t bytes;               /* per row, in memory and in the file */
  unsigned extra;             /* the SNAPSHOT_... that selects it; 0: always written */
  int length, mass, velocity; /* exponents of its unit, GADGET-4's attributes; all 0: no unit */
  /* exponents of the expansion factor and of h in runs in comoving coordinates: a_scaling, h_scaling */
  double a, h;
};
/* [column_count]; the first four are positions, velocities, masses and ids. */
extern const struct column columns[];
extern const int column_count;

/* Row `i` of the array in memory. */
const void *columns_row(const struct column *column, const struct particles *particles, int64_t i);
/* The type in the file, always little endian. */
hid_t columns_type(const struct column *column);
/* The factor from internal units to CGS units. */
double columns_to_cgs(const struct column *column, const struct units *units);
/* Checksum of a row: XXH64 of its bytes as stored, with its number in the dataset as seed. The checksum of a dataset is
 * the sum over its rows modulo 2^64, so it does not depend on the distribution of the rows. */
uint64_t row_checksum(const void *row, size_t bytes, uint64_t number);
#endif
