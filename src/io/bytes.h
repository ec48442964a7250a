/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes from and to files, all of them: calls that are interrupted, or do a part only, are gone on with. Local. */
#ifndef IO_BYTES_H
#define IO_BYTES_H
#include <stdint.h>

/* Read from `offset` on. Returns how many bytes there were: fewer where the file ends before; -1 with errno. */
int64_t read_all(int file, void *to, int64_t bytes, int64_t offset);
/* Write at `offset`, or (negative) where the file stands. 0, or -1 with errno. */
int write_all(int file, const void *from, int64_t bytes, int64_t offset);
#endif
