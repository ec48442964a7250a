/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders: create, flush, remove, inspect. Local. Functions that take a fault return 0, or -1 with the fault set. */
#ifndef IO_FOLDERS_H
#define IO_FOLDERS_H
#include <stddef.h>

#include "base/fault.h"

/* Create the folder `path` and its missing parents. A writable folder that exists already is no error. `what`: the
 * parameter that names the folder, for the fault. */
int folder_make(const char *path, const char *what, struct fault *fault);
/* Whether folder_make would have to make folders above the last one too; `first`[size]: the highest of them. 1 or 0. */
int folders_missing(const char *path, char *first, size_t size);
/* Flush the directory entries of `path` to the disk. */
int folder_flush(const char *path, struct fault *fault);
/* Remove the folder `path` and the files in it for which ours(name, of) returns 1. It fails where other files remain.
 * Where `path` is a symbolic link, only the link is removed. */
int folder_drop(const char *path, int (*ours)(const char *name, const void *of), const void *of, struct fault *fault);
/* Write the nearest existing ancestor of `path` (or `path` itself) to nearest[size]. Returns 0; or -1 with errno, and
 * `nearest` is the path that cannot be inspected. */
int folder_nearest(const char *path, char *nearest, size_t size);
/* Returns 1 where both paths exist and lead to the same file or folder. */
int folder_same(const char *a, const char *b);
/* Free bytes of the file system that holds `path`; negative: unknown. */
double folder_free_bytes(const char *path);
#endif
