/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "job/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/timer.h"
#include "params/params.h"

#define WAIT_SECONDS 5.0
#define SIGNATURE "host="

enum { OWNER = 160 };

/* Returns 0: locked; 1: another process holds the lock; -1: this file system has no locks. */
static int try_lock(int file)
{
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(file, F_SETLK, &whole) == 0) return 0;
  return errno == EACCES || errno == EAGAIN ? 1 : -1;
}

static void sign(int file)
{
  char text[OWNER], host[64] = "";
  gethostname(host, sizeof host - 1);
  int length = snprintf(text, sizeof text, SIGNATURE "%s\npid=%ld\n", host, (long)getpid());
  /* the text is information only, so a full disk is no error */
  if (ftruncate(file, 0) || pwrite(file, text, (size_t)length, 0) != length) return;
}

/* Whether a run created the file: it is empty or begins with the signature. */
static int is_own(int file)
{
  char found[sizeof SIGNATURE - 1];
  struct stat st;
  if (fstat(file, &st)) return 0;
  return st.st_size == 0 ||
         (pread(file, found, sizeof found, 0) == sizeof found && memcmp(found, SIGNATURE, sizeof found) == 0);
}

/* " (process 42 on host node7)"; "" where it is unknown. */
static void owner(int file, char text[OWNER])
{
  char found[OWNER] = "", host[64];
  long pid;
  ssize_t length = pread(file, found, sizeof found - 1, 0);
  found[length > 0 ? length : 0] = 0;
  text[0] = 0;
  if (sscanf(found, SIGNATURE "%63s pid=%ld", host, &pid) == 2)
    snprintf(text, OWNER, " (process %ld on host %s)", pid, host);
}

int lock_take(struct lock *lock, const char *what, const char *folder, struct fault *fault)
{
  char path[PARAM_TEXT + 16], who[OWNER];
  double until = timer_clock() + WAIT_SECONDS;
  int state;
  snprintf(path, sizeof path, "%s/lock", folder);
  lock->file = file_open(path, O_RDWR | O_CREAT);
  if (lock->file < 0 && errno != FILE_NOT_REGULAR) return 0;
  if (lock->file < 0 || !is_own(lock->file)) {
    lock_release(lock);
    return fault_set(
        fault, "%s exists and is not the lock of a run, which would overwrite it; move it away, or choose another %s",
        path, what);
  }
  for (int reported = 0; (state = try_lock(lock->file)) == 1 && timer_clock() < until; reported = 1) {
    owner(lock->file, who);
    if (!reported)
      printf("another run%s is under way in %s; waiting for its end, at most %d s\n", who, folder, (int)WAIT_SECONDS);
    fflush(stdout);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  }
  lock->held = state == 0;
  if (lock->held) sign(lock->file);
  if (state != 1) return 0;
  owner(lock->file, who);
  lock_release(lock);
  return fault_set(fault, "another run%s is under way in %s = %s and holds %s", who, what, folder, path);
}

void lock_release(struct lock *lock)
{
  if (lock->file >= 0) close(lock->file);
  *lock = LOCK_NONE;
}
