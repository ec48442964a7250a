/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles on which forces are compared with the double-precision direct sum. */
#ifndef PROBES_H
#define PROBES_H
#include <stdint.h>

#include "sim.h"

struct probe {
  uint64_t id;
  double pos[3], acc[3], hard[3], pot;
};

struct probes {
  int64_t ids;
  uint64_t *id;          /* that were chosen, ascending */
  int64_t n;             /* particles that have them */
  struct probe *now;     /* in the order of ids: the forces that were taken last; on all ranks */
  double (*acc)[3], (*hard)[3], *pot;   /* the direct sums */
};

/* Choose `most` particles (or all), spread evenly over the ids, and sum up the pulls of all others; takes the forces too.
 * Collective. */
void probes_open(struct probes *q, struct sim *s, int64_t most);
/* Take the forces that the chosen have now. They must be where they were. Collective. */
void probes_take(struct probes *q, struct sim *s);
void probes_close(struct probes *q);

struct probe_errors {
  double median, most99, worst;
};
/* Of the accelerations, relative to |a|; of the hard parts, relative to |a|; of the potentials, relative. */
enum probe_field { PROBE_ACC, PROBE_HARD, PROBE_POT };
struct probe_errors probes_errors(const struct probes *q, enum probe_field field);
#endif
