/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameter files of GADGET-2 and GADGET-4 (lines "Name value"), and what replaces them here. Local. Functions that
 * take a fault return 0, or -1 with the fault set, which names file, line and key. */
#ifndef GADGET_H
#define GADGET_H
#include <stdio.h>

#include "params/params.h"

enum { GADGET_LINES = 1000, GADGET_TEXT = 256 };

/* A line of the file. */
struct gadget_line {
  char name[64], value[GADGET_TEXT];
  int line;
};
struct gadget_file {
  const char *path;
  int count;
  struct gadget_line line[GADGET_LINES];
};

/* What the file becomes. */
struct gadget_run {
  struct params par;
  struct param_origin origin;  /* lines of GADGET's file; ORIGIN_DEFAULT: not set */
  char note[PARAM_LIMIT][128]; /* comment in the ini; "": none */
  int notes;                   /* lines without a counterpart: */
  struct {
    int line; /* index in the file; first, for a sort */
    char text[300];
  } without[GADGET_LINES];
  double first, factor; /* output times first, first factor, first factor^2, ... (Comoving = on), */
  /* or first, first + interval, ...; both 0: TimeBetSnapshot or OutputListFilename has them */
  double interval;
};

/* Read the lines. A name that stands twice, a line without a value, and what is no text are faults. */
int gadget_read(struct gadget_file *file, const char *path, struct fault *fault);
/* Find the parameters that do the same. */
int gadget_convert(struct gadget_run *run, const struct gadget_file *file, struct fault *fault);
/* Write the ini. `from`: GADGET's file. */
void gadget_write(const struct gadget_run *run, const char *from, FILE *out);
/* Write output times between TimeBegin and TimeMax, one a line. Returns their number; `out` NULL: only count. */
int gadget_times(const struct gadget_run *run, FILE *out);
#endif
