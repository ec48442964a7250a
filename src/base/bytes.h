/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Complete reads, writes and flushes of files: interrupted and partial system calls are continued. Local. */
#ifndef IO_BYTES_H
#define IO_BYTES_H
#include <stdint.h>

/* Read up to `bytes` bytes of the open file `file` from `offset` into `to`. Returns the number of bytes read, which is
 * smaller than `bytes` only at the end of the file; or -1 with errno. */
int64_t read_all(int file, void *to, int64_t bytes, int64_t offset);
/* Write `bytes` bytes of `from` at `offset`; negative `offset`: at the current position of the file. Returns 0, or -1
 * with errno. */
int write_all(int file, const void *from, int64_t bytes, int64_t offset);
/* Flush the open file or folder `file` to the disk. Returns 0, or -1 with errno. */
int flush_all(int file);
#endif
