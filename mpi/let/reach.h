/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the particles of a rank can be within the horizon of LETs of substeps (struct let_reach): a few cuboids at
 * rest. Two ranks find from the cuboids of both, without a message, whether particles of them can come within the
 * cutoff of each other. All functions are pure. */
#ifndef REACH_H
#define REACH_H
#include "tree/let_data.h"

struct cuboid {
  double low[3], high[3];
};

/* The cuboid at rest that the targets of a box do not leave within the request's horizon, as far as their motion bound
 * holds. */
struct cuboid cuboid_of(const struct let_box *box, const struct let_request *request);
/* Join the cuboids of boxes[count] into at most REACH_PARTS, such that the volume within half the cutoff of them grows
 * little. */
void reach_make(struct let_reach *reach, const struct let_box *boxes, int count, const struct let_request *request);
/* Part k of a reach. */
struct cuboid reach_part(const struct let_reach *reach, int k);
/* 1 if a cuboid is within `cutoff` of a part. */
int reaches(const struct let_reach *reach, const struct cuboid *cuboid, double cutoff);
#endif
