/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables that a restart continues: what is left of them, and the columns that they have where an older version began
 * them. Local. */
#ifndef RESUMED_H
#define RESUMED_H
#include <stdio.h>

#include "base/spool.h"

/* Report on stderr, and in the table, that it is not as it was at the checkpoint, where it had `written` bytes. */
void resumed_report_gap(FILE *table, const char *path, const struct spool_check *found, long long written,
                        long long step);
/* The columns of the file `path` beside those of `header`. 0: the same, or the file has no line of column names.
 * Positive: so many, which are the first of the present ones. -1: others. */
int resumed_columns(const char *path, void (*header)(FILE *out));
/* Warn that the table has the first `columns` columns only, also from now on. */
void resumed_report_columns(const char *path, int columns);
/* Give the table another name beside its own, with a warning that names the reason. 0, or -1 with a fault. */
int resumed_move(const char *path, const char *reason, long long step, struct fault *fault);
#endif
