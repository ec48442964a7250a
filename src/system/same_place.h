/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles at the same place, whose mutual force has no value without softening. */
#ifndef SAME_PLACE_H
#define SAME_PLACE_H
#include "base/fault.h"
#include "mpi/comm.h"
#include "particles/particles.h"

/* A fault that names two particles at the same place, at least one of them with mass, and says how many more there are.
 * Particles at the same place must be on the same rank, as domains put them. `origin`: of the coordinates of
 * *particles, in the user's. Collective. 0 or -1. */
int same_place_check(const struct comm *comm, const struct particles *particles, const double origin[3],
                     struct fault *fault);
#endif
