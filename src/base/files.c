/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* errno of open() for something that is no regular file: a folder; a FIFO that no process reads, a socket. */
static int is_other_kind(int error) { return error == EISDIR || error == ENXIO; }

int file_open(const char *path, int flags)
{
  struct stat st;
  int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666), error = fd < 0 ? errno : 0;
  if (fd >= 0 && fstat(fd, &st)) error = errno;
  else if (fd >= 0 && !S_ISREG(st.st_mode)) error = FILE_NOT_REGULAR;
  if (!error) fcntl(fd, F_SETFL, flags & O_APPEND); /* without O_NONBLOCK, since a file on tape is waited for */
  if (!error) return fd;
  if (fd >= 0) close(fd);
  errno = is_other_kind(error) ? FILE_NOT_REGULAR : error;
  return -1;
}

FILE *file_stream(const char *path, const char *mode)
{
  int fd = file_open(path, mode[0] == 'w' ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY);
  FILE *stream = fd < 0 ? NULL : fdopen(fd, mode);
  if (fd >= 0 && !stream) {
    int error = errno;
    close(fd);
    errno = error;
  }
  return stream;
}

const char *file_reason(int error) { return error == FILE_NOT_REGULAR ? "it is not a regular file" : strerror(error); }
