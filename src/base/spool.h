/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text files that survive a full disk: bytes that cannot be written are kept in memory, in order, and written once the disk has
 * space again. No row is lost or torn. */
#ifndef SPOOL_H
#define SPOOL_H
#include <stdio.h>

/* Open the file `path` for writing. `at` negative: create it, or empty it. `at` >= 0: cut an existing file to `at` bytes and append.
 * Returns a stream (owner: caller, fclose), or NULL with errno. Writes to the stream always succeed; ftello includes the bytes that
 * are still in memory; fclose fails with errno where bytes could not be written. Local. */
FILE *spool_open(const char *path, long long at);
#endif
