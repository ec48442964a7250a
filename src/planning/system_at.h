/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A measured system with another number of particles: what the rules for steps say of it, and its interactions. The
 * mass distribution is the same, so distances between particles go as N^(-1/3) and their masses as 1/N. Pure. */
#ifndef SYSTEM_AT_H
#define SYSTEM_AT_H
#include "study/study_system.h"

struct system_at {
  double particles;
  double soft_step; /* by the rule of this number, as the system varies by chance */
  struct step_rule criterion;
};

/* The rules at `particles`. `params`: those of the pilot, with the softening of so many particles. */
void system_at(const struct study_system *pilot, const struct params *params, double particles, struct system_at *at);
/* Give the particles of the pilot the block levels of the criterion there, and the schedule so many particles. */
void system_at_levels(struct study_system *pilot, const struct system_at *at);

/* The law of interactions: N particles have 1 / hypot(1 / l, 1 / N) of them each, and the list l changes with a small
 * power of N, from two measurements; in a full force (`in_substeps` 0) it becomes no longer. pairs[0], particles[0]:
 * the smaller; 0: there is none, and l is constant. */
double interactions_at(const double pairs[2], const double particles[2], double at, int in_substeps);
/* The law of LETs: bytes go as a power of N, from two measurements; 0: there is none, and the power is 2/3. */
double let_power(const double bytes[2], const double particles[2]);
#endif
