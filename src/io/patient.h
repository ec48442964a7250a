/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text files that outlive a full disk: what cannot be written is kept in memory, in order, and written when there is room, so
 * that no row is lost or torn. Local. */
#ifndef IO_PATIENT_H
#define IO_PATIENT_H
#include <stdio.h>

/* An empty file, or (`at` >= 0) one that is there, cut off behind `at` bytes, to be written on. NULL with errno. Writing to it
 * always succeeds; ftello counts what is still in memory; fclose fails, with errno, where something could not be written
 * to the end. */
FILE *patient_open(const char *path, long long at);
#endif
