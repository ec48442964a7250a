/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table collisions.csv: a row for each collision of stars (section [Collisions]). */
#ifndef COLLISIONS_TABLE_H
#define COLLISIONS_TABLE_H
#include <stdio.h>

#include "step/sim.h"

#define COLLISIONS_TABLE "collisions.csv"

void collisions_header(FILE *out);
/* Write the rows of the soft step under way (sim->collisions). */
void collisions_rows(const struct sim *sim, FILE *out);
#endif
