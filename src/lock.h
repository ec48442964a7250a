/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run at a time in a folder: rank 0 holds a lock on OutputDir/lock, and on CheckpointDir/lock where there is one, as long as it lives. The kernel lets go of it when the process
 * ends, however it ends, so the file that stays behind means nothing. Local; for rank 0. */
#ifndef LOCK_H
#define LOCK_H
#include "fault.h"

struct lock {
  int file;   /* -1: not tried, or there is no such folder */
  int held;   /* 0 with a file: this file system knows no locks */
};

#define LOCK_NONE ((struct lock){-1, 0})

/* `what` is the parameter that names the folder. A process must not take the same lock twice, nor open the file otherwise: closing it
 * gives the lock up. A lock that somebody else holds is waited for for some seconds (the job before may be just about to end), then it is a fault that names
 * him. A folder that is not there, or where no file can be made or locked, is none. A file of this name that no run has made is a fault, and stays as it
 * is. 0 or -1. */
int lock_take(struct lock *l, const char *what, const char *folder, struct fault *f);
void lock_release(struct lock *l);
#endif
