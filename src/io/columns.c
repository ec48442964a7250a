/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of datasets. */
#include <config.h>
#include "io/columns.h"

#include <math.h>
#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "checksums are of rows in memory, whose byte order must be that of the file");

#define AT(member) offsetof(struct particles, member)
/* Velocities are double because a run that starts from a snapshot must have the same velocities. */
const struct column columns[] = {
    {"Coordinates", AT(pos), COLUMN_F64, 3, 24, 0, 1, 0, 0, 1, -1},
    {"Velocities", AT(vel), COLUMN_F64, 3, 24, 0, 0, 0, 1, 0.5, 0},
    {"Masses", AT(mass), COLUMN_F32, 1, 4, 0, 0, 1, 0, 0, -1},
    {"ParticleIDs", AT(id), COLUMN_U64, 1, 8, 0, 0, 0, 0, 0, 0},
    {"Potential", AT(pot), COLUMN_F32, 1, 4, SNAPSHOT_POTENTIAL, 0, 0, 2, -1, 0},
    {"Acceleration", AT(acc), COLUMN_F32, 3, 12, SNAPSHOT_ACCELERATION, -1, 0, 2, -2, 1},
    {"AccelerationHard", AT(acc_hard), COLUMN_F32, 3, 12, SNAPSHOT_ACCELERATION_HARD, -1, 0, 2, -2, 1},
};
const int column_count = sizeof columns / sizeof *columns;

const void *columns_row(const struct column *column, const struct particles *particles, int64_t i)
{
  const char *array = *(char *const *)((const char *)particles + column->offset);
  return array + column->bytes * (size_t)i;
}

hid_t columns_type(const struct column *column)
{
  return column->number == COLUMN_F64 ? H5T_IEEE_F64LE : column->number == COLUMN_F32 ? H5T_IEEE_F32LE : H5T_STD_U64LE;
}

double columns_to_cgs(const struct column *column, const struct units *units)
{
  return pow(units->length_cm, column->length) * pow(units->mass_g, column->mass) *
         pow(units->velocity_cm_s, column->velocity);
}

uint64_t row_checksum(const void *row, size_t bytes, uint64_t number) { return XXH64(row, bytes, number); }
