/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders: made, flushed, emptied. Local. */
#ifndef IO_FOLDERS_H
#define IO_FOLDERS_H
#include <stddef.h>

#include "fault.h"

/* Make a folder and those above it; one that is there will do, if it can be written to. `what` begins the sentence of a fault:
 * the parameter that names the folder. 0 or -1. */
int folder_make(const char *path, const char *what, struct fault *f);
/* The names in it are on the disk when this returns. 0 or -1. */
int folder_flush(const char *path, struct fault *f);
/* Remove a folder and the files in it whose names `ours` accepts (it is given `of` with each); with any other in it, it stays.
 * Of a link to a folder only the link is removed. 0 or -1. */
int folder_drop(const char *path, int (*ours)(const char *name, const void *of), const void *of, struct fault *f);
/* The nearest of `path` and what is above it that is there, where `path` would be made. 0; or -1 with errno, and in `nearest` what
 * could not be looked at. */
int folder_nearest(const char *path, char *nearest, size_t size);
/* Whether both are there and are the same, by whatever names. */
int folder_same(const char *a, const char *b);
/* Free bytes where it is; negative where that is not known. */
double folder_room(const char *path);
#endif
