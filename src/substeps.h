/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The substeps of a soft step: hard forces with block steps. */
#ifndef SUBSTEPS_H
#define SUBSTEPS_H
#include "sim.h"

/* From the opening soft kick to the last tick before the end of the soft step. Every rank goes from tick to tick of its own
 * particles and meets the others only where it needs what they corrected. Needs levels and a lattice with room for the
 * soft step. `shared`: as in the verb `levels`. Collective. */
void substeps(struct sim *s, const struct step_rule *rule, int shared);
#endif
