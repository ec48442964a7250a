/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file that is read at given places, all or nothing; and numbers of any width and byte order in it. */
#ifndef IO_INPUT_H
#define IO_INPUT_H
#include <stdint.h>

#include "fault.h"

struct input {
  const char *path;   /* the caller's */
  int fd;
  int64_t size;
};

/* Open a regular file; else the fault says what it is. Local. 0 or -1. */
int input_open(struct input *in, const char *path, struct fault *f);
void input_close(struct input *in);
/* `bytes` from `offset`; a fault when the file ends earlier. */
int input_bytes(const struct input *in, int64_t offset, void *to, int64_t bytes, struct fault *f);
/* `count` numbers of `width` bytes (4 or 8), bytes swapped where `swap` is set. */
int input_reals(const struct input *in, int64_t offset, int width, int swap, int64_t count, double *to, struct fault *f);
int input_wholes(const struct input *in, int64_t offset, int width, int swap, int64_t count, uint64_t *to, struct fault *f);

/* Numbers inside a header that was read as bytes. */
uint32_t bytes_u32(const void *at, int swap);
uint64_t bytes_u64(const void *at, int swap);
float bytes_f32(const void *at, int swap);
double bytes_f64(const void *at, int swap);
#endif
