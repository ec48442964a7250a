/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/bytes.h"

enum { NAME = 4096 };

int folder_make(const char *path, const char *what, struct fault *fault)
{
  char part[NAME];
  snprintf(part, sizeof part, "%s", path);
  for (char *at = part + 1;; at++) {
    if (*at != '/' && *at != 0) continue;
    char was = *at;
    *at = 0;
    struct stat st;
    if (mkdir(part, 0777) && errno != EEXIST)
      return fault_set(fault, "%s: cannot make the folder %s: %s", what, part, strerror(errno));
    if (stat(part, &st) == 0 && !S_ISDIR(st.st_mode)) return fault_set(fault, "%s: %s is not a folder", what, part);
    *at = was;
    if (!was) break;
  }
  if (access(path, W_OK | X_OK)) return fault_set(fault, "%s: cannot write in %s: %s", what, path, strerror(errno));
  return 0;
}

int folders_missing(const char *path, char *first, size_t size)
{
  struct stat st;
  int more = 0;
  for (const char *at = path + strspn(path, "/"); *at; at += strspn(at, "/")) {
    at += strcspn(at, "/");
    char part[NAME];
    snprintf(part, sizeof part, "%.*s", (int)(at - path), path);
    if (stat(part, &st) == 0 || errno != ENOENT) continue;
    if (!more) snprintf(first, size, "%s", part);
    more++;
  }
  return more > 1;
}

int folder_flush(const char *path, struct fault *fault)
{
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* A folder without permission to read cannot be flushed; its files have been flushed already. */
  if (fd < 0) return errno == EACCES ? 0 : fault_set(fault, "%s cannot be opened: %s", path, strerror(errno));
  /* some file systems have no flush of folders */
  if (flush_all(fd) != 0 && errno != EINVAL && errno != EROFS)
    fault_set(fault, "flushing the folder %s failed: %s", path, strerror(errno));
  close(fd);
  return fault->text[0] ? -1 : 0;
}

int folder_drop(const char *path, int (*ours)(const char *name, const void *of), const void *of, struct fault *fault)
{
  struct stat st;
  /* the target of a link may belong to another run: remove the link only */
  if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
    return unlink(path) ? fault_set(fault, "%s cannot be removed: %s", path, strerror(errno)) : 0;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (!d) {
    fault_set(fault, "%s cannot be opened: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
  }
  for (struct dirent *e = readdir(d); e; e = readdir(d))
    if (ours(e->d_name, of)) unlinkat(dirfd(d), e->d_name, 0);
  closedir(d);
  return rmdir(path) ? fault_set(fault, "%s cannot be removed: %s", path, strerror(errno)) : 0;
}

int folder_nearest(const char *path, char *nearest, size_t size)
{
  struct stat st;
  snprintf(nearest, size, "%s", path);
  while (stat(nearest, &st)) {
    if (errno != ENOENT) return -1;
    char *slash = strrchr(nearest, '/');
    if (slash == nearest) slash[1] = 0;
    else if (slash) *slash = 0;
    else snprintf(nearest, size, ".");
  }
  return 0;
}

int folder_same(const char *a, const char *b)
{
  struct stat one, two;
  return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

double folder_free_bytes(const char *path)
{
  struct statvfs fs;
  return statvfs(path, &fs) ? -1 : (double)fs.f_bavail * (double)fs.f_frsize;
}
