/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef START_H
#define START_H
#include "sim.h"

/* From parameters to a system without forces: the backend is chosen, the initial conditions are read and checked, units
 * compared. On a fault nothing stays allocated. Collective. 0 or -1. */
int sim_start(struct sim *s, const struct comm *c, const struct params *par, struct fault *f);
/* -1 with a sentence where `output` is a file of the initial conditions, by whatever name. Local. */
int check_output(const struct params *par, const char *output, struct fault *f);
/* A run must have a time to go: -1 with a sentence where `begin` is not before TimeMax. Local. */
int check_times(const struct params *par, double begin, struct fault *f);
#endif
