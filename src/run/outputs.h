/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of snapshots, in code time units, and the list of those that could not be written. */
#ifndef OUTPUTS_H
#define OUTPUTS_H
#include <stdint.h>
#include <stdio.h>

#include "params/params.h"

struct outputs {
  double begin, end, interval; /* of the simulation; between outputs */
  double *time;                /* [count] ascending; NULL: every `interval` */
  int64_t count;
};

/* Read the list in OutputListFilename (one time per line, ascending, '#' comments), or take the multiples of
 * TimeBetSnapshot after TimeBegin, also in a run that starts from a later snapshot. Not collective. 0, or -1 with a
 * fault that names file and line. */
int outputs_open(struct outputs *outputs, const struct params *params, struct fault *fault);
/* Free the list. */
void outputs_close(struct outputs *outputs);
/* The first output time after `now`, at most the end of the run. */
double outputs_next(const struct outputs *outputs, double now);
/* Print one line to `out`, prefixed by `before`, where times of the list are outside the run: before `begin` (-INFINITY
 * after a restart: earlier times are not reported again) or after its end. Not collective. */
void outputs_warn(const struct outputs *outputs, double begin, FILE *out, const char *before);

/* Snapshots from `time` on, which is not counted, to the end of the run, which is. */
double outputs_count(const struct outputs *outputs, double time);
/* Print one line in the same way where TimeBetSnapshot is longer than the rest of the run from `time` on, or where
 * snapshots of `bytes` bytes are very many, or do not fit into `disk_free` bytes (0: unknown). Not collective. */
void outputs_warn_plan(const struct outputs *outputs, double time, double bytes, double disk_free, FILE *out,
                       const char *before);
/* Format a number of bytes with a decimal prefix. Returns `text`. */
const char *outputs_bytes(double bytes, char text[16]);

/* Snapshots that could not be written, in the order of their numbers. Zero: none. */
struct missing {
  int count, capacity;
  int *number;  /* [count] */
  double *time; /* [count] at which they were due, code time units */
};

void missing_add(struct missing *missing, int number, double time);
/* Remove `number`, where it is the last one: it has been written late. */
void missing_remove(struct missing *missing, int number);
/* Make place for `count` entries, to be filled by the caller. */
void missing_resize(struct missing *missing, int count);
void missing_close(struct missing *missing);
/* The numbers as in "12-98,103". Returns `text`, [size] characters, which ends with "..." where they do not fit. */
const char *missing_text(const struct missing *missing, char *text, size_t size);
/* Print the first `count` with their times in one line, as in "12 to 98 (times 0.375 to 3.0625), 103 (time 3.2)",
 * without a newline. */
void missing_print(const struct missing *missing, int count, FILE *out);
#endif
