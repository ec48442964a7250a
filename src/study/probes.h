/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probes: particles whose forces are compared with the double-precision direct sum. Code units. */
#ifndef PROBES_H
#define PROBES_H
#include <stdint.h>

#include "step/sim.h"

struct probe {
  uint64_t id;
  int32_t type;
  double pos[3], acc[3], hard[3], pot;
};

struct probes {
  int64_t ids;
  uint64_t *id;                       /* [ids] chosen ids, ascending */
  int64_t n;                          /* particles that have these ids */
  struct probe *now;                  /* [n] their forces when last taken, in the order of ids; on all ranks */
  double (*acc)[3], (*hard)[3], *pot; /* [n] the direct sums: acceleration, its hard part, potential */
};

/* Choose up to `count` particles, spread evenly over the ids, compute their direct sums, and take their forces. Owner:
 * caller. Collective. */
void probes_open(struct probes *probes, struct sim *sim, int64_t count);
/* Take the present forces of the probes. Their positions must be those of probes_open. Collective. */
void probes_take(struct probes *probes, struct sim *sim);
/* Free the memory. */
void probes_close(struct probes *probes);

/* Relative errors: median, 99th percentile, maximum. */
struct probe_errors {
  double median, most99, worst;
};
/* Which errors: of the accelerations, relative to |a|; of their hard parts, relative to |a|; of the potentials. */
enum probe_field { PROBE_ACC, PROBE_HARD, PROBE_POT };
/* The errors of the forces that were taken last. Not collective. */
struct probe_errors probes_errors(const struct probes *probes, enum probe_field field);
#endif
