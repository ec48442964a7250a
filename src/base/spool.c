/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE   /* fopencookie */
#include <config.h>
#include "base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory.h"

enum { CAPACITY_MIN = 4096 };

struct spool {
  int fd, error;            /* error: errno of the last write, or 0 */
  long long written;        /* bytes in the file */
  char *pending;            /* [count] bytes that are not yet in the file */
  size_t count, capacity;
};

/* Write as many pending bytes as the disk takes. */
static void write_pending(struct spool *s)
{
  size_t done = 0;
  s->error = 0;
  if (s->count == 0) return;
  while (done < s->count && !s->error) {
    ssize_t n = write(s->fd, s->pending + done, s->count - done);
    if (n > 0) done += (size_t)n;
    else if (n == 0 || errno != EINTR) s->error = n == 0 ? ENOSPC : errno;
  }
  s->written += (long long)done;
  s->count -= done;
  memmove(s->pending, s->pending + done, s->count);
}

static ssize_t cookie_write(void *cookie, const char *from, size_t bytes)
{
  struct spool *s = cookie;
  if (s->count + bytes > s->capacity) {
    s->capacity = 2 * (s->count + bytes) + CAPACITY_MIN;
    s->pending = memory_resize("tables", s->pending, s->capacity);
  }
  memcpy(s->pending + s->count, from, bytes);
  s->count += bytes;
  write_pending(s);
  return (ssize_t)bytes;
}

/* Supports ftello only. */
static int cookie_seek(void *cookie, off64_t *offset, int whence)
{
  const struct spool *s = cookie;
  if (whence != SEEK_CUR || *offset != 0) return -1;
  *offset = (off64_t)(s->written + (long long)s->count);
  return 0;
}

static int cookie_close(void *cookie)
{
  struct spool *s = cookie;
  write_pending(s);
  int error = s->error;
  if (close(s->fd) && !error) error = errno;
  memory_free(s->pending);
  memory_free(s);
  errno = error;
  return error ? -1 : 0;
}

FILE *spool_open(const char *path, long long at)
{
  static const cookie_io_functions_t functions = {NULL, cookie_write, cookie_seek, cookie_close};
  int fd = file_open(path, at < 0 ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY);
  if (fd < 0) return NULL;
  if (at >= 0 && (ftruncate(fd, (off_t)at) || lseek(fd, 0, SEEK_END) < 0)) {
    int error = errno;
    close(fd);
    errno = error;
    return NULL;
  }
  struct spool *s = memory_alloc("tables", sizeof *s);
  *s = (struct spool){.fd = fd, .written = at < 0 ? 0 : at};
  return fopencookie(s, "w", functions);
}
