/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of the process as the system counts it, with that of libraries. Local. */
#ifndef RESIDENT_H
#define RESIDENT_H

/* Bytes in the resident set of this process now, and the largest number so far; bytes of it now that are pages of files
 * (program, libraries), of which the system counts as many as it happens to hold in memory. 0: unknown (no
 * /proc/self/status). */
double resident_now(void);
double resident_peak(void);
double resident_files(void);
#endif
