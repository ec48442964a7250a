/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manifest of a checkpoint: a text of lines "name = values" whose last line is a checksum (XXH64). Real numbers are
 * hexadecimal, so they are read back with the same bits. All functions are local. */
#ifndef IO_MANIFEST_H
#define IO_MANIFEST_H
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"

enum item_kind { ITEM_WHOLE, ITEM_LONG, ITEM_REAL, ITEM_FLOAT }; /* int, long long, double, float */

/* Numbers that are written as one line, and their place in memory. */
struct item {
  const char *name;
  enum item_kind kind;
  int count;
  void *at; /* [count] */
};

/* The item of one number. */
#define ONE_NUMBER(name, kind, x) \
  {                               \
    name, kind, 1, &(x)           \
  }
#define WHOLE(name, x) ONE_NUMBER(name, ITEM_WHOLE, x)
#define LONG(name, x) ONE_NUMBER(name, ITEM_LONG, x)
#define REAL(name, x) ONE_NUMBER(name, ITEM_REAL, x)
#define FLOAT(name, x) ONE_NUMBER(name, ITEM_FLOAT, x)

/* Write one line per item. */
void items_write(FILE *out, const struct item *item, int count);

/* A text that grows as the caller writes to `out`. manifest_begin allocates it, manifest_save frees it. */
struct manifest {
  FILE *out;
  char *text;
  size_t size;
};
void manifest_begin(struct manifest *manifest);
/* Write the lines and their checksum to a new file, flush it to the disk, read it back and compare. 0; -1 with a
 * fault. */
int manifest_save(struct manifest *manifest, const char *path, struct fault *fault);

/* Read a manifest and verify its checksum. Returns the text without its last line; free with memory_free. NULL with a
 * fault. */
char *manifest_load(const char *path, struct fault *fault);
/* Find the first line of that name after the line of `from` (NULL: from the first line on).
 * Returns its value, *length characters up to the end of the line; NULL if there is none. */
const char *manifest_value(const char *text, const char *from, const char *name, size_t *length);
/* Read one number. 0; -1 with a fault if it is missing. */
int manifest_long(const char *text, const char *name, long long *x, struct fault *fault);
/* Read all items into their places. 0; -1 with a fault if one is missing. */
int items_read(const char *text, const struct item *item, int count, struct fault *fault);
#endif
