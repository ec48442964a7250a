/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When snapshots are due. */
#ifndef OUTPUTS_H
#define OUTPUTS_H
#include <stdint.h>
#include <stdio.h>

#include "params.h"

struct outputs {
  double begin, end, interval;
  double *time;      /* ascending list, or NULL: every `interval` */
  int64_t count;
};

/* From TimeBetSnapshot (multiples of it after TimeBegin, also in a run that starts from a later snapshot) or the list in OutputListFilename: one time a line, ascending, '#' comments. Local. 0 or -1 with a
 * sentence that names file and line. */
int outputs_open(struct outputs *o, const struct params *p, struct fault *f);
void outputs_close(struct outputs *o);
/* The first output time after `now`, at most the end of the run. */
double outputs_next(const struct outputs *o, double now);
/* A line, with `before` in front, where times of the list never come: before `begin`, where the run begins (-INFINITY behind a
 * restart: they have come, or an earlier job said so), or after its end. Local. */
void outputs_warn(const struct outputs *o, double begin, FILE *out, const char *before);
#endif
