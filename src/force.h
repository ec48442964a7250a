/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FORCE_H
#define FORCE_H
#include <stdint.h>

#include "comm.h"
#include "params.h"

struct force_options {
  int64_t direct;      /* compare with the direct sum on so many particles, spread evenly over the ids; 0: do not */
  int bench;           /* two warm-ups, median of five */
  const char *output;  /* file for accelerations and potentials, or NULL */
};

/* Forces of the initial state, once, and a table about them. Collective. Returns the exit status (0 or 1). */
int force(const struct comm *c, const struct params *par, const struct force_options *options);
#endif
