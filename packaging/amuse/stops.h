/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stopping conditions: of those of AMUSE collisions, and at ends of soft steps a time limit, a number of soft steps,
 * and particles that leave a sphere. */
#ifndef STOPS_H
#define STOPS_H
#include <espalier.h>

#include "store.h"
#include "touches.h"

/* State which conditions there are. Local. */
void stops_declare(void);
/* A new evolve_model begins. Local. */
void stops_begin(void);
/* Whether collisions are to be detected. Local, the same on all ranks. */
int stops_ask_for_touches(void);
/* After a soft step: 1 where an enabled condition holds. All ranks together. */
int stops_reached(espalier *sim);
/* Rank 0 tells AMUSE which conditions hold, and for which particles; pairs that touch: `fresh`. Local. */
void stops_note(const struct store *s, const struct touches *fresh, int rank);
#endif
