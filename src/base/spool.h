/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text files that survive a full disk: bytes that cannot be written are kept in memory, in order, and written once the
 * disk has space again. No row is lost or torn. Checksums of the bytes in the file tell whether they are still there
 * after a restart. Local. */
#ifndef SPOOL_H
#define SPOOL_H
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"

enum { SPOOL_MARKS = 16 };

/* Checksums (XXH64) of a text: of all its bytes, and of its first S, 2 S, ... bytes. S is the smallest of 512, 1024,
 * ... bytes for which there are at most SPOOL_MARKS marks. */
struct spool_sums {
  long long bytes;
  uint64_t all, mark[SPOOL_MARKS];
};

struct spool;

/* Open the file `path` for writing. `at` negative: create it, or empty it. `at` >= 0: cut an existing file to `at`
 * bytes and append. Returns a stream (owner: caller, fclose), or NULL with a fault; a file that is not a regular file
 * is a fault. Writes to the stream always succeed; ftello includes the bytes that are still in memory; fclose fails
 * with errno where bytes could not be written. \param spool  the file of the stream for the functions below, valid
 * until fclose; may be NULL */
FILE *spool_open(const char *path, long long at, struct spool **spool, struct fault *fault);
/* From the next line on only the first `columns` columns of rows, which commas part, are written; lines that begin with
 * # are whole. What was written before must be flushed (fflush). */
void spool_columns(struct spool *spool, int columns);
/* Flush the file to the disk (fsync). A file that was removed is written again, with a warning on stderr. Bytes that
 * are still in memory are no error; where flushing fails a warning is printed on stderr. */
void spool_sync(struct spool *spool);
/* The checksums of the bytes in the file. */
void spool_sums(const struct spool *spool, struct spool_sums *sums);
/* The bytes that are in memory only, without those in the buffer of the stream (fflush). Returns their number; *bytes:
 * their place, valid until the next write. */
size_t spool_pending(const struct spool *spool, const char **bytes);
/* Print a warning on stderr where bytes cannot be written, once for each time that the disk refuses them and at most
 * once a minute, and a line on stdout when they have been written. Returns the number of bytes that are in memory
 * only. */
size_t spool_report(struct spool *spool);

/* A file compared with what was once written to it. */
struct spool_check {
  long long size; /* of the file in bytes; negative: it does not exist */
  /* the first bytes that are certainly unchanged; all bytes where the checksum of all agrees, else up to a mark */
  long long agree;
  /* whole lines before the first NUL byte, within the bytes that were written; all of these where they agree */
  long long keep;
};
/* Compare the file `path` with `was`. A missing file is no error. 0, or -1 with a fault. */
int spool_check(const char *path, const struct spool_sums *was, struct spool_check *found, struct fault *fault);
#endif
