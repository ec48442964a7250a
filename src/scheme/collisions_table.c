/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "scheme/collisions_table.h"

/* Columns: name, format, value. */
#define COLLISION_COLUMNS(X)                      \
  X(time, "%.15g", row->time)                     \
  X(id_1, "%llu", (unsigned long long)row->id[0]) \
  X(id_2, "%llu", (unsigned long long)row->id[1]) \
  X(mass_1, "%.9g", row->mass[0])                 \
  X(mass_2, "%.9g", row->mass[1])                 \
  X(distance, "%.9g", row->radii)                 \
  X(pericentre, "%.9g", row->pericentre)          \
  X(speed, "%.9g", row->speed)                    \
  X(semimajor_axis, "%.9g", row->a)               \
  X(eccentricity, "%.12g", row->e)                \
  X(x, "%.15g", row->pos[0])                      \
  X(y, "%.15g", row->pos[1])                      \
  X(z, "%.15g", row->pos[2])                      \
  X(v_x, "%.15g", row->vel[0])                    \
  X(v_y, "%.15g", row->vel[1])                    \
  X(v_z, "%.15g", row->vel[2])                    \
  X(energy_lost, "%.15g", row->lost)              \
  X(action, "%s", row->merged ? "merged" : sim->par->Action == COLLISIONS_STOP ? "stop" : "list")

void collisions_header(FILE *out)
{
  const char *between = "";
#define X(name, format, value) fprintf(out, "%s" #name, between), between = ",";
  COLLISION_COLUMNS(X)
#undef X
  fputc('\n', out);
}

void collisions_rows(const struct sim *sim, FILE *out)
{
  for (int k = 0; k < sim->collisions.rows; k++) {
    const struct collision_row *row = &sim->collisions.row[k];
    const char *between = "";
#define X(name, format, value) fprintf(out, "%s" format, between, value), between = ",";
    COLLISION_COLUMNS(X)
#undef X
    fputc('\n', out);
  }
}
