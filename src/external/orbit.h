/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The orbit of the centre of an external potential: a table of times and positions. Local. */
#ifndef ORBIT_H
#define ORBIT_H
#include "base/fault.h"

struct orbit;

/* Read a text file with lines "t x y z [vx vy vz]", times in ascending order, at least three; velocities are not used.
 * Positions between them are those of a natural cubic spline. NULL with a fault. Owner: caller (orbit_free). */
struct orbit *orbit_read(const char *path, struct fault *fault);
/* NULL is allowed. */
void orbit_free(struct orbit *orbit);
/* The first and the last time. */
void orbit_span(const struct orbit *orbit, double span[2]);
/* The number of rows up to the first one that is not before a time, and the checksum (XXH64) of their times and
 * positions. */
void orbit_sum(const struct orbit *orbit, double time, long long number[2]);
/* Position and velocity at a time; beyond the table those of its nearest end. */
void orbit_at(const struct orbit *orbit, double time, double x[3], double v[3]);
#endif
