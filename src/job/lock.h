/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run at a time in a folder: rank 0 holds a lock on OutputDir/lock, and on CheckpointDir/lock where that folder is
 * given, until its process ends. The kernel then releases the lock; the file that remains has no meaning. Local; for
 * rank 0. */
#ifndef LOCK_H
#define LOCK_H
#include "base/fault.h"

struct lock {
  int file; /* file descriptor; -1: none */
  int held; /* 1: locked; 0 with a file: this file system has no locks */
};

#define LOCK_NONE ((struct lock){-1, 0})

/* Lock `folder`. `what`: the parameter that names it, for the fault. Where another process holds the lock, the call
 * waits up to 5 s, since the previous job may be about to end; after that it is a fault that names the process. A file
 * of this name that is not of a run is a fault too, and is left unchanged. No fault: the folder does not exist, or the
 * file cannot be created or locked; there is no lock then. Before: this process holds no lock on the folder and has not
 * opened the file; closing any descriptor of it releases the lock. Returns 0, or -1 with the fault set. */
int lock_take(struct lock *lock, const char *what, const char *folder, struct fault *fault);
/* Release the lock; does nothing without one. */
void lock_release(struct lock *lock);
#endif
