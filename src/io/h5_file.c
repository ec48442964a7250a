/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "io/h5_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/folders.h"
#include "base/memory.h"

void h5_file_folder(const char *path, char *folder)
{
  snprintf(folder, H5_FILE_PATH, "%s", path);
  char *slash = strrchr(folder, '/');
  if (!slash) strcpy(folder, ".");
  else slash[slash == folder] = 0;
}

int h5_file_space(const char *what, const char *path, double bytes, struct fault *fault)
{
  char folder[H5_FILE_PATH];
  struct stat st;
  struct statvfs fs;
  if (strlen(path) > H5_FILE_PATH - H5_FILE_SUFFIX)
    return fault_set(fault, "%s: the file name is longer than %d characters", what, H5_FILE_PATH - H5_FILE_SUFFIX);
  h5_file_folder(path, folder);
  if (stat(folder, &st) != 0) return fault_set(fault, "%s %s: %s: %s", what, path, folder, strerror(errno));
  if (!S_ISDIR(st.st_mode)) return fault_set(fault, "%s %s: %s is not a directory", what, path, folder);
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
    return fault_set(fault, "%s %s: something of this name exists and is not a regular file", what, path);
  double needed = 1.1 * bytes + 1e6;
  if (statvfs(folder, &fs) != 0) return fault_set(fault, "%s %s: %s: %s", what, path, folder, strerror(errno));
  double space = (double)fs.f_bavail * (double)fs.f_frsize;
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (double)limit.rlim_cur < needed)
    return fault_set(fault, "%s %s: the limit of file sizes (ulimit -f) is %.1f MB, but %.1f MB are needed", what, path,
                     (double)limit.rlim_cur / 1e6, needed / 1e6);
  if (space < needed)
    return fault_set(fault, "%s %s: the disk has %.1f MB free, but %.1f MB are needed (1.1 times the file and 1 MB)",
                     what, path, space / 1e6, needed / 1e6);
  return 0;
}

int h5_image_end(struct h5_image *image, uint64_t end)
{
  if (image->size <= end) return 0;
  for (size_t i = (size_t)end; i < image->size; i++)
    if (image->bytes[i]) return -1;
  image->size = (size_t)end;
  return 0;
}

/* Give a new file its length, and allocate its disk blocks now, so that a full disk is detected before rows are
 * written. A signal may interrupt both calls. Returns 0, or -1 with errno. */
static int reserve(int fd, int64_t length)
{
  int s;
  while ((s = ftruncate(fd, (off_t)length)) != 0 && errno == EINTR) {
  }
  if (s != 0) return -1;
  while ((s = fallocate(fd, 0, 0, (off_t)length)) != 0 && errno == EINTR) {
  }
  return s == 0 || errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -1;
}

int h5_file_create(const char *what, const char *path, const struct h5_image *image, struct fault *fault)
{
  unlink(path); /* left by a run that was killed; a FIFO or a link of this name is not written to */
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return fault_set(fault, "%s %s cannot be created: %s", what, path, strerror(errno));
  if (reserve(fd, image->length) != 0)
    fault_set(fault, "%s %s: the disk has no space for its %.1f MB: %s", what, path, (double)image->length / 1e6,
              strerror(errno));
  else if (write_all(fd, image->bytes, (int64_t)image->size, 0) != 0)
    fault_set(fault, "%s %s: writing its metadata failed: %s", what, path, strerror(errno));
  if (close(fd) != 0) fault_set(fault, "%s %s: closing failed: %s", what, path, strerror(errno));
  return fault->text[0] ? -1 : 0;
}

int h5_file_open(const char *what, const char *path, int flags, int rank, struct fault *fault)
{
  struct stat st;
  int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    fault_set(fault, "%s %s: rank %d cannot open it: %s", what, path, rank, strerror(errno));
  } else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    fault_set(fault, "%s %s: rank %d finds no regular file of this name", what, path, rank);
    close(fd);
    return -1;
  }
  return fd;
}

void h5_file_flush(const char *what, int fd, const char *path, struct fault *fault)
{
  if (flush_all(fd) != 0) fault_set(fault, "%s %s: flushing to the disk failed: %s", what, path, strerror(errno));
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

void h5_file_close(const char *what, int fd, const char *path, struct fault *fault)
{
  if (fd >= 0 && close(fd) != 0) fault_set(fault, "%s %s: closing failed: %s", what, path, strerror(errno));
}

void h5_file_compare(const char *what, int fd, const struct h5_image *image, const char *path, struct fault *fault)
{
  struct stat st;
  char *bytes = memory_alloc("snapshot", image->size);
  int64_t got = read_all(fd, bytes, (int64_t)image->size, 0);
  if (got < 0) fault_set(fault, "%s %s: reading back its metadata failed: %s", what, path, strerror(errno));
  else if (got != (int64_t)image->size || memcmp(bytes, image->bytes, image->size) != 0)
    fault_set(fault, "%s %s: its metadata read back are not what was written: the disk may be full or failing", what,
              path);
  else if (fstat(fd, &st) != 0 || st.st_size != image->length)
    fault_set(fault, "%s %s: the file has not the length with which it was created: the disk may be full or failing",
              what, path);
  memory_free(bytes);
}

int h5_file_move(const char *from, const char *to)
{
  struct stat st;
  if (rename(from, to) != 0) return -1;
  if (lstat(from, &st) != 0) return 0;
  errno = EIO;
  return -1;
}

void h5_file_flush_name(const char *what, const struct comm *comm, const char *path, const char *folder)
{
  struct fault cause = {""}, f = {""};
  if (folder_flush(folder, &cause) == 0) return;
  fault_set(&f, "%s %s is written, but may be lost if this machine fails now: %.600s", what, path, cause.text);
  comm_print_fault(comm, "warning", &f);
}

int h5_file_publish(const char *what, const struct comm *comm, const char *path, const char *temporary,
                    struct fault *fault)
{
  char folder[H5_FILE_PATH];
  if (h5_file_move(temporary, path) != 0)
    return fault_set(fault, "%s %s: renaming %s to it failed: %s", what, path, temporary, strerror(errno));
  h5_file_folder(path, folder);
  h5_file_flush_name(what, comm, path, folder);
  return 0;
}
