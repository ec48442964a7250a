/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RADIUS_H
#define RADIUS_H
#include "backend.h"
#include "comm.h"

/* The rule for the split's radius: R2 for R1 = 2 R0 is a quantile (the median), over particles sampled by id, of the
 * distance to the 28th neighbour; with fewer particles than that, to the farthest there is. In a Plummer sphere it is
 * R0 = 1.03 N^(-1/3) Henon units. Needs a built tree with moments. The result does not depend on the ranks. Collective. */
double radius_by_rule(const struct comm *c, const struct backend *be, struct device *d, double quantile);
#endif
