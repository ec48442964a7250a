/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of the energies that is within bound pairs and hierarchies of stars (multiples.h): of a cluster with
 * binaries most of it, so that it hides how near the cluster itself is to equilibrium. */
#ifndef INNER_ENERGY_H
#define INNER_ENERGY_H
#include "analysis/multiples.h"
#include "mpi/comm.h"
#include "params/params.h"
#include "particles/particles.h"

struct inner_energy {
  double systems; /* pairs and hierarchies that are no part of others; 0: there are none, or they were not looked for */
  double kinetic, potential; /* of their stars, about their centres of mass; between them */
};

/* Measure it, by the gravitational constant `gravity`, where stars have no softening and are few (stars_few). In code
 * units; not in comoving coordinates. Collective; the same on all ranks. */
void inner_energy_measure(const struct comm *comm, const struct params *params, const struct particles *particles,
                          double gravity, struct inner_energy *inner);
/* The same of stars that multiples_arrange has sorted. Local. */
void inner_energy_of(const struct star *star, int32_t stars, double gravity, double limit, struct inner_energy *inner);
#endif
