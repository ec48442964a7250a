/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CURVE_H
#define CURVE_H
#include "force.h"

/* A row for each value of the criterion's parameter: errors, times by phase, interactions. A table on the terminal, and one
 * in a file. Collective. Returns the exit status (0 or 1). */
int force_curve(const struct comm *c, const struct params *par, const struct force_options *options);
#endif
