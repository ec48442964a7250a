/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/bytes.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

enum { PIECE = 1 << 30 }; /* Linux transfers less than 2 GiB in one call */

static size_t piece_of(int64_t left) { return left < PIECE ? (size_t)left : PIECE; }

int64_t read_all(int file, void *to, int64_t bytes, int64_t offset)
{
  int64_t done = 0;
  while (done < bytes) {
    ssize_t n = pread(file, (char *)to + done, piece_of(bytes - done), (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += n;
  }
  return done;
}

int write_all(int file, const void *from, int64_t bytes, int64_t offset)
{
  for (int64_t done = 0; done < bytes;) {
    const char *at = (const char *)from + done;
    size_t piece = piece_of(bytes - done);
    ssize_t n = offset < 0 ? write(file, at, piece) : pwrite(file, at, piece, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC; /* a write of zero bytes leaves errno unset */
    if (n <= 0) return -1;
    done += n;
  }
  return 0;
}

int flush_all(int file)
{
  int s;
  while ((s = fsync(file)) != 0 && errno == EINTR) {
  }
  return s;
}
