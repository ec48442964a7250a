/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interactions of full forces on virtual ranks: cells that domains cut, and boxes in place of groups, make their
 * lists longer. */
#ifndef MORE_PAIRS_H
#define MORE_PAIRS_H
#include "study/global_particles.h"

/* Interactions of all particles of a system whose domains are those of `ranks` ranks, without the split: LETs are
 * chosen, and each domain walks its tree and theirs, with the code of the CPU backend. The same on all processes.
 * Collective. */
double virtual_walk_pairs(const struct comm *comm, struct global_particles *world, int ranks);
#endif
