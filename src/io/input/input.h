/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file that is read at given offsets; numbers of any width and byte order in it. All functions are local; those that
 * return int return 0, or -1 with a fault. */
#ifndef IO_INPUT_H
#define IO_INPUT_H
#include <stdint.h>

#include "base/fault.h"

struct input {
  const char *path; /* owned by the caller */
  int fd;
  int64_t size; /* bytes */
};

/* Open a regular file; anything else is a fault. */
int input_open(struct input *in, const char *path, struct fault *fault);
void input_close(struct input *in);
/* Read `bytes` bytes from `offset` on; a fault if the file ends earlier. */
int input_bytes(const struct input *in, int64_t offset, void *to, int64_t bytes, struct fault *fault);
/* Read `count` numbers of `width` bytes (4 or 8) to to[count]; their bytes are swapped if `swap` is set. */
int input_reals(const struct input *in, int64_t offset, int width, int swap, int64_t count, double *to,
                struct fault *fault);
int input_wholes(const struct input *in, int64_t offset, int width, int swap, int64_t count, uint64_t *to,
                 struct fault *fault);

/* Numbers in a header that was read as bytes; `at` need not be aligned. */
uint32_t bytes_u32(const void *at, int swap);
uint64_t bytes_u64(const void *at, int swap);
float bytes_f32(const void *at, int swap);
double bytes_f64(const void *at, int swap);
#endif
