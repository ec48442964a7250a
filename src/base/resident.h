/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of the process as the system counts it, with that of libraries. Local. */
#ifndef RESIDENT_H
#define RESIDENT_H

/* Bytes in the resident set of this process now, and the largest number so far. 0: unknown (no /proc/self/status). */
double resident_now(void);
double resident_peak(void);
#endif
