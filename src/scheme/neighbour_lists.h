/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scheme of neighbour lists (params_neighbour_lists): a backend integrates the hard part of a whole soft step in
 * one call of the table `neighbour_lists`. */
#ifndef NEIGHBOUR_LISTS_H
#define NEIGHBOUR_LISTS_H
#include "step/sim.h"

/* 1: radii are in proportion to the cube root of masses (RadiiByMass). Local. */
int neighbour_lists_radii_by_mass(const struct sim *sim);
/* What a soft step of length `soft_step` asks of the table `hard`. Local. */
struct list_request neighbour_lists_request(const struct sim *sim, double soft_step);
/* A fault where the run asks for collisions that it cannot find (scheme/collisions.h). After the first forces. Local. 0
 * or -1. */
int neighbour_lists_check_collisions(const struct sim *sim, struct fault *fault);
/* Measure the kinetic energy of bound pairs (sim->lists.pair_kinetic), where the backend has units of stars.
 * Collective. */
void neighbour_lists_measure_pairs(struct sim *sim);
#endif
