/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stopping conditions: of those of AMUSE a time limit, a number of soft steps, and particles that leave a sphere; at ends of soft steps. */
#ifndef STOPS_H
#define STOPS_H
#include <espalier.h>

#include "store.h"

/* State which conditions there are. Local. */
void stops_declare(void);
/* A new evolve_model begins. Local. */
void stops_begin(void);
/* After a soft step: 1 where an enabled condition holds. All ranks together. */
int stops_reached(espalier *sim);
/* Rank 0 tells AMUSE which conditions hold, and for which particles. Local. */
void stops_note(const struct store *s, int rank);
#endif
