/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result file of a command. It is opened early, so that a long computation does not end with a file that cannot be
 * written, and an earlier file is replaced only when the start has succeeded. For one rank. With the name NULL no
 * function does anything. */
#ifndef RESULT_FILE_H
#define RESULT_FILE_H
#include <stdio.h>

#include "params/params.h"

struct result_file {
  FILE *file;       /* NULL: no name, or not open */
  const char *name; /* owner: caller */
  int made, begun;  /* 1: the file did not exist; 1: result_begin was called */
};

/* Open the file for writing; an earlier file keeps its content. 0, or -1 with a fault where the file exists and
 * `overwrite` is not set, is the input of `par`, or cannot be written. */
int result_open(struct result_file *file, const char *name, int overwrite, const struct params *par,
                struct fault *fault);
/* Begin to write: remove the content of an earlier file. 0 or -1. */
int result_begin(struct result_file *file, struct fault *fault);
/* Close the file; sets a fault where something could not be written. A new file that was not begun is removed. */
void result_close(struct result_file *file, struct fault *fault);
#endif
