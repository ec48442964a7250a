/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of one rank in a checkpoint: named sections of bytes. A table of the sections comes first, then their bytes.
 * The checksum (XXH64) of the whole file is stored in the manifest. All functions are local. */
#ifndef IO_SECTIONS_H
#define IO_SECTIONS_H
#include <stdint.h>

#include "base/fault.h"

enum { SECTION_NAME = 32, SECTIONS_MAX = 64 };

/* A section; `data` is written to the file or read from it. */
struct section {
  const char *name; /* shorter than SECTION_NAME */
  void *data;
  uint64_t bytes;
};

/* Size in bytes of a file with these sections. */
uint64_t sections_bytes(const struct section *section, int count);
/* Write a new file and flush it to the disk.
 * \param sum  checksum of the file
 * \return 0; -1 with a fault, the file is then incomplete */
int sections_write(const char *path, const struct section *section, int count, uint64_t *sum, struct fault *fault);
/* Read the whole file and compare its size in bytes and its checksum. 0; -1 with a fault. */
int sections_verify(const char *path, uint64_t bytes, uint64_t sum, struct fault *fault);

/* An open file and its table. */
struct sections {
  char path[4096];
  int fd, count;
  struct {
    char name[SECTION_NAME];
    uint64_t offset, bytes;
  } at[SECTIONS_MAX];
};
/* Open a file and read its table. 0; -1 with a fault. */
int sections_open(struct sections *in, const char *path, struct fault *fault);
void sections_close(struct sections *in);
/* The index of a section; -1 if there is none of that name. */
int sections_find(const struct sections *in, const char *name);
/* Read `bytes` bytes of section `k`, starting at its byte `from`. 0; -1 with a fault. */
int sections_read(const struct sections *in, int k, uint64_t from, void *to, uint64_t bytes, struct fault *fault);
#endif
