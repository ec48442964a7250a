/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of the process as the system counts it, with that of libraries. Local. */
#ifndef RESIDENT_H
#define RESIDENT_H

/* Give freed blocks of 8 MiB and more back to the system at once. By default the GNU C library raises this limit by what was freed before,
 * and the resident set of one run differs from that of the next by tens of megabytes. Does nothing with other libraries. Call it first. */
void resident_make_steady(void);
/* Bytes in the resident set of this process now, and the largest number so far. 0: unknown (no /proc/self/status). */
double resident_now(void);
double resident_peak(void);
#endif
