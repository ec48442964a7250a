/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CURVE_H
#define CURVE_H
#include "study/force.h"

/* Print a table with one row per value of the criterion's parameter (options->delta): errors, times by phase, interactions; also write it
 * to options->output (CSV), if given. Collective. Returns the exit status (0 or 1). */
int force_curve(const struct comm *c, const struct params *par, const struct force_options *options);
#endif
