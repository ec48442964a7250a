/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder of a run while the run goes on. The folder is the one that was opened, and its lock the file that was
 * locked; their names may lead to something else later, for example to the folder of another run. Local; for rank 0. */
#ifndef HELD_FOLDER_H
#define HELD_FOLDER_H
#include "job/lock.h"

enum { FOLDER_PATH = 4096 };

struct held_folder {
  int fd;                     /* descriptor of the folder; -1: none */
  char path[FOLDER_PATH];     /* its name, as given */
  char absolute[FOLDER_PATH]; /* its absolute path when it was opened */
};
#define FOLDER_NONE ((struct held_folder){.fd = -1})

enum folder_fate {
  FOLDER_HELD,  /* the name leads to the folder, and `lock` there is the lock */
  FOLDER_MOVED, /* the folder has another path */
  FOLDER_GONE,  /* removed; or moved, and the new path is unknown */
  LOCK_REMOVED, /* the folder has no file `lock` */
  LOCK_REPLACED /* its file `lock` is another one: another run may use the folder */
};

/* Open the existing folder `path`. Where it cannot be opened folder->fd is -1, and nothing is known about it later. */
void held_folder_open(struct held_folder *folder, const char *path);
/* Close it, and keep its names; does nothing without one. */
void held_folder_close(struct held_folder *folder);
/* Compare names with what was opened: a few system calls; a difference is looked at again for a second before it is
 * returned. An error other than a missing name is no difference.
 * \param lock    the lock in this folder; without a file (LOCK_NONE) it is not compared
 * \param now  the path of the folder with FOLDER_MOVED
 * \return     FOLDER_HELD also where nothing was opened */
enum folder_fate held_folder_look(const struct held_folder *folder, const struct lock *lock, char now[FOLDER_PATH]);
/* Make and name a new folder beside it, ABSOLUTE-rescue, ABSOLUTE-rescue-2 and so on; where that fails, of the same
 * last name in the working folder. Returns 0, or -1 with a fault; `path` is then a name at which there is nothing. */
int held_folder_rescue(const struct held_folder *folder, char path[FOLDER_PATH], struct fault *fault);
#endif
