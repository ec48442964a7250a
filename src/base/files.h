/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regular files are opened, and nothing else: a FIFO or a device under the name of a file would make the call, or a
 * later read or write, wait without end. Local; file_open allocates nothing and takes no lock, so it may be called
 * while another thread holds locks. */
#ifndef FILES_H
#define FILES_H
#include <errno.h>
#include <stdio.h>

/* errno of the functions below where the path leads to something else than a regular file. */
#define FILE_NOT_REGULAR EMEDIUMTYPE

/* Open `path` as open() does with `flags` and O_CLOEXEC; a file that is created has mode 0666 (less the umask). Never
 * waits. Returns a file descriptor (owner: caller); -1 with errno, FILE_NOT_REGULAR for a folder, FIFO, socket or
 * device. */
int file_open(const char *path, int flags);
/* The same as a stream; `mode` as for fopen, "r" or "w". NULL with errno. */
FILE *file_stream(const char *path, const char *mode);
/* What an errno means, in words for a message. Valid until the next call, as that of strerror. */
const char *file_reason(int error);
#endif
