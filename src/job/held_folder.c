/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* O_PATH */
#include <config.h>
#include "job/held_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/folders.h"

/* A folder may be away for a moment, as where it is moved and moved back. */
enum { LOOKS = 6, LOOK_NANOSECONDS = 200000000, RESCUES_MAX = 1000 };

void held_folder_open(struct held_folder *folder, const char *path)
{
  char absolute[PATH_MAX];
  snprintf(folder->path, sizeof folder->path, "%s", path);
  snprintf(folder->absolute, sizeof folder->absolute, "%s", realpath(path, absolute) ? absolute : path);
  folder->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void held_folder_close(struct held_folder *folder)
{
  if (folder->fd >= 0) close(folder->fd);
  folder->fd = -1;
}

static int is_missing(int error) { return error == ENOENT || error == ENOTDIR || error == ESTALE; }

/* Whether `path` leads to the open file. 1; 0 where it leads elsewhere or is missing; 1 where that cannot be found
 * out. */
static int leads_to(const char *path, int fd)
{
  struct stat opened, named;
  if (fstat(fd, &opened)) return errno != ESTALE;
  if (stat(path, &named)) return !is_missing(errno);
  return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* The present path of an open folder, as Linux knows it. 0, or -1 where it has none. */
static int present_path(int fd, char path[FOLDER_PATH])
{
  char entry[64];
  snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(entry, path, FOLDER_PATH - 1);
  if (length <= 0) return -1;
  path[length] = 0;
  return path[0] == '/' && access(path, F_OK) == 0 && leads_to(path, fd) ? 0 : -1;
}

static enum folder_fate look_at_lock(const char *folder, const struct lock *lock, enum folder_fate otherwise)
{
  char path[FOLDER_PATH + 8];
  struct stat st;
  snprintf(path, sizeof path, "%s/lock", folder);
  if (lock->file < 0 || leads_to(path, lock->file)) return otherwise;
  return lstat(path, &st) && is_missing(errno) ? LOCK_REMOVED : LOCK_REPLACED;
}

static enum folder_fate look_once(const struct held_folder *folder, const struct lock *lock, char now[FOLDER_PATH])
{
  if (folder->fd < 0) return FOLDER_HELD;
  if (leads_to(folder->path, folder->fd)) return look_at_lock(folder->path, lock, FOLDER_HELD);
  if (present_path(folder->fd, now)) return FOLDER_GONE;
  return look_at_lock(now, lock, FOLDER_MOVED) == FOLDER_MOVED ? FOLDER_MOVED : FOLDER_GONE;
}

enum folder_fate held_folder_look(const struct held_folder *folder, const struct lock *lock, char now[FOLDER_PATH])
{
  enum folder_fate fate = look_once(folder, lock, now);
  for (int k = 1; k < LOOKS && fate != FOLDER_HELD; k++) {
    nanosleep(&(struct timespec){.tv_nsec = LOOK_NANOSECONDS}, NULL);
    fate = look_once(folder, lock, now);
  }
  return fate;
}

/* Make the first free one of BASE-rescue, BASE-rescue-2, ... 0 or -1. */
static int make_free(const char *base, char path[FOLDER_PATH], struct fault *fault)
{
  struct stat st;
  for (int k = 1; k <= RESCUES_MAX; k++) {
    int length =
        k == 1 ? snprintf(path, FOLDER_PATH, "%s-rescue", base) : snprintf(path, FOLDER_PATH, "%s-rescue-%d", base, k);
    if (length >= FOLDER_PATH) return fault_set(fault, "the name of a rescue folder is too long");
    if (lstat(path, &st) && errno == ENOENT) return folder_make(path, "rescue folder", fault);
  }
  return fault_set(fault, "there are %d rescue folders %s-rescue-...", RESCUES_MAX, base);
}

int held_folder_rescue(const struct held_folder *folder, char path[FOLDER_PATH], struct fault *fault)
{
  char here[PATH_MAX], base[FOLDER_PATH];
  struct fault beside = {""};
  if (make_free(folder->absolute, path, &beside) == 0) return 0;
  const char *name = strrchr(folder->absolute, '/');
  if (!getcwd(here, sizeof here) ||
      snprintf(base, sizeof base, "%s%s", here, name ? name : "/run") >= (int)sizeof base ||
      make_free(base, path, fault))
    return fault_set(fault, "%s", beside.text);
  return 0;
}
