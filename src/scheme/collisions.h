/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collisions of stars that units of stars find (section [Collisions]): the list of those of a soft step, and mergers,
 * after which one particle is left of two. */
#ifndef COLLISIONS_H
#define COLLISIONS_H
#include "step/sim.h"

/* Stars form no units about a particle that is so many times as heavy as any other, which would bind too many. */
enum { COLLISIONS_HUB = 10 };

/* A fault where the run asks for collisions that it cannot find: stars form no units (`units`: 0, or for their masses),
 * or the radii are not small against R1. After the first forces. Local. 0 or -1. */
int collisions_check(const struct sim *sim, int units, struct fault *fault);
/* The radii of a request with units. */
struct list_radii collisions_radii(const struct sim *sim);
/* After the verb advance of a soft step that begins at sim->time: the collisions of all ranks to sim->collisions, and
 * mergers. Returns whether there were any of the latter: hard forces must be computed again. Collective. */
int collisions_take(struct sim *sim, const struct list_request *request);
#endif
