/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of named sections of bytes, with a 64-bit checksum (XXH64) of the whole file, which is kept elsewhere: what one rank
 * puts into a checkpoint. A table of the sections stands first, then their bytes. Everything here is local. */
#ifndef IO_SECTIONS_H
#define IO_SECTIONS_H
#include <stdint.h>

#include "fault.h"

enum { SECTION_NAME = 32, SECTIONS_MOST = 64 };

/* A section to be written, or, with `data` as the place for it, to be read. */
struct section {
  const char *name;   /* shorter than SECTION_NAME */
  void *data;
  uint64_t bytes;
};

/* Bytes of the file that these make. */
uint64_t sections_bytes(const struct section *s, int count);
/* Write a new file, flushed to the disk. What was written is `*sum`. 0, or -1 with a file that is not whole. */
int sections_write(const char *path, const struct section *s, int count, uint64_t *sum, struct fault *f);
/* Read the whole file through: it has so many bytes, and this checksum? 0 or -1. */
int sections_verify(const char *path, uint64_t bytes, uint64_t sum, struct fault *f);

/* A file whose table has been read. */
struct sections {
  char path[4096];
  int fd, count;
  struct {
    char name[SECTION_NAME];
    uint64_t offset, bytes;
  } at[SECTIONS_MOST];
};
int sections_open(struct sections *in, const char *path, struct fault *f);
void sections_close(struct sections *in);
/* The section's number, or -1. */
int sections_find(const struct sections *in, const char *name);
/* `bytes` bytes of section `k` from its byte `from` on. 0 or -1. */
int sections_read(const struct sections *in, int k, uint64_t from, void *to, uint64_t bytes, struct fault *f);
#endif
