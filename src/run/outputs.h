/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of snapshots, in code time units. */
#ifndef OUTPUTS_H
#define OUTPUTS_H
#include <stdint.h>
#include <stdio.h>

#include "params/params.h"

struct outputs {
  double begin, end, interval;   /* of the simulation; between outputs */
  double *time;                  /* [count] ascending; NULL: every `interval` */
  int64_t count;
};

/* Read the list in OutputListFilename (one time per line, ascending, '#' comments), or take the multiples of TimeBetSnapshot after
 * TimeBegin, also in a run that starts from a later snapshot. Not collective. 0, or -1 with a fault that names file and line. */
int outputs_open(struct outputs *o, const struct params *p, struct fault *f);
/* Free the list. */
void outputs_close(struct outputs *o);
/* The first output time after `now`, at most the end of the run. */
double outputs_next(const struct outputs *o, double now);
/* Print one line to `out`, prefixed by `before`, where times of the list are outside the run: before `begin` (-INFINITY after a restart:
 * earlier times are not reported again) or after its end. Not collective. */
void outputs_warn(const struct outputs *o, double begin, FILE *out, const char *before);
#endif
