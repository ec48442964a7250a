/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machine files by name: those that come with the program. Local. */
#ifndef MACHINE_FILE_H
#define MACHINE_FILE_H
#include <stddef.h>

#include "base/fault.h"

/* Write to `path` (`capacity` bytes) the machine file that a user names. A `name` that is a file, that contains '/', or
 * that ends with ".ini" is a path and stays as it is; any other is NAME.ini, or the only file whose name begins with
 * NAME, in the folder of machine files: share/PACKAGE/params/machines beside the folder of the program, wherever the
 * installed tree is moved to, or params/machines of the sources for a program in them or in a folder of them.
 * Returns 0; -1 with a fault that has the names that there are, or the folders that were looked at. */
int machine_file(const char *name, char *path, size_t capacity, struct fault *fault);
#endif
