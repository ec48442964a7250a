/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A text of lines "name = values" with a checksum in its last line: what a checkpoint says of itself. Reals are written in
 * hexadecimal, so that reading gives the same bits. Local. */
#ifndef IO_MANIFEST_H
#define IO_MANIFEST_H
#include <stdint.h>
#include <stdio.h>

#include "fault.h"

enum item_kind { ITEM_WHOLE, ITEM_LONG, ITEM_REAL, ITEM_FLOAT };   /* int, long long, double, float */

/* Numbers by name: where they are kept while the program runs. */
struct item {
  const char *name;
  enum item_kind kind;
  int count;
  void *at;
};

/* A line for each. */
void items_write(FILE *out, const struct item *item, int count);

/* A text that begins empty, grows through `out`, and is given away by manifest_save. */
struct manifest {
  FILE *out;
  char *text;
  size_t size;
};
void manifest_begin(struct manifest *m);
/* The lines so far and their checksum become a new file, flushed to the disk and read back. Ends the text. 0 or -1. */
int manifest_save(struct manifest *m, const char *path, struct fault *f);

/* The text of a file, verified, without its last line. Owner: caller (memory_free). NULL with a fault. */
char *manifest_load(const char *path, struct fault *f);
/* The line after `from` (NULL: the first) whose name is `name`: its value, up to the end of the line (*length characters);
 * NULL where there is none. */
const char *manifest_value(const char *text, const char *from, const char *name, size_t *length);
/* One number; -1 with a fault where it is not there. */
int manifest_long(const char *text, const char *name, long long *x, struct fault *f);
/* Fill in all items; -1 with a fault where one is missing. */
int items_read(const char *text, const struct item *item, int count, struct fault *f);
#endif
