/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE   /* fopencookie */
#include <config.h>
#include "patient.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "memory.h"

enum { LEAST = 4096 };

struct patient {
  int fd, error;          /* of the last write: an errno, or 0 */
  long long written;      /* bytes in the file */
  char *waiting;
  size_t count, room;
};

/* As much of what waits as the disk takes. */
static void write_on(struct patient *p)
{
  size_t done = 0;
  p->error = 0;
  if (p->count == 0) return;
  while (done < p->count && !p->error) {
    ssize_t n = write(p->fd, p->waiting + done, p->count - done);
    if (n > 0) done += (size_t)n;
    else if (n == 0 || errno != EINTR) p->error = n == 0 ? ENOSPC : errno;
  }
  p->written += (long long)done;
  p->count -= done;
  memmove(p->waiting, p->waiting + done, p->count);
}

static ssize_t take(void *cookie, const char *from, size_t bytes)
{
  struct patient *p = cookie;
  if (p->count + bytes > p->room) {
    p->room = 2 * (p->count + bytes) + LEAST;
    p->waiting = memory_resize("tables", p->waiting, p->room);
  }
  memcpy(p->waiting + p->count, from, bytes);
  p->count += bytes;
  write_on(p);
  return (ssize_t)bytes;
}

/* Where it is can be asked for; it cannot be moved. */
static int tell(void *cookie, off64_t *offset, int whence)
{
  const struct patient *p = cookie;
  if (whence != SEEK_CUR || *offset != 0) return -1;
  *offset = (off64_t)(p->written + (long long)p->count);
  return 0;
}

static int end(void *cookie)
{
  struct patient *p = cookie;
  write_on(p);
  int error = p->error;
  if (close(p->fd) && !error) error = errno;
  memory_free(p->waiting);
  memory_free(p);
  errno = error;
  return error ? -1 : 0;
}

FILE *patient_open(const char *path, long long at)
{
  static const cookie_io_functions_t functions = {NULL, take, tell, end};
  int fd = open(path, at < 0 ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC : O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0) return NULL;
  if (at >= 0 && (ftruncate(fd, (off_t)at) || lseek(fd, 0, SEEK_END) < 0)) {
    int error = errno;
    close(fd);
    errno = error;
    return NULL;
  }
  struct patient *p = memory_alloc("tables", sizeof *p);
  *p = (struct patient){.fd = fd, .written = at < 0 ? 0 : at};
  return fopencookie(p, "w", functions);
}
