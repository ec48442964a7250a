/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stars of all ranks on rank 0, for what looks at single stars and pairs. */
#ifndef STARS_H
#define STARS_H
#include "analysis/multiples.h"
#include "mpi/comm.h"
#include "params/params.h"
#include "particles/particles.h"

/* What is so looked at in a run: rank 0 has all particles, 64 bytes each, and looks at a million of them for about ten
 * seconds. Whether a run of so many particles is. */
int stars_few(double particles);
/* Print a warning to `out`, prefixed by `before`, where [Binaries] Interval or [Output] Cluster ask for tables and
 * there are too many particles. */
void stars_warn(const struct params *params, double particles, FILE *out, const char *before);
/* The particles of all ranks on rank 0, with x = length * pos and v = speed * vel + flow * x: an array of *stars of
 * them (owner: caller, memory_free); elsewhere NULL or empty. Collective. */
struct star *stars_gather(const struct comm *comm, const struct particles *particles, double length, double speed,
                          double flow, int32_t *stars);
#endif
