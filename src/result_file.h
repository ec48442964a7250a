/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file that a command makes, and what stood there before: it is looked at early, since what follows takes long, and replaced
 * late, when the start is known to be good. For one rank; every function serves a file that nobody asked for, with name NULL. */
#ifndef RESULT_FILE_H
#define RESULT_FILE_H
#include <stdio.h>

#include "params.h"

struct result_file {
  FILE *file;         /* NULL: not asked for, or not open */
  const char *name;   /* the caller's */
  int made, begun;
};

/* Ready to be written; what is there stays as it is. 0, or -1 with a sentence where it is there and may not be replaced, is the
 * input, or cannot be written. */
int result_open(struct result_file *r, const char *name, int overwrite, const struct params *par, struct fault *f);
/* From here on it is written: an earlier one is cut to nothing. 0 or -1. */
int result_begin(struct result_file *r, struct fault *f);
/* A fault when something could not be written. A file that was made and never begun is removed. */
void result_close(struct result_file *r, struct fault *f);
#endif
