/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Report of a failed run to job scripts. Before the process ends through `fatal` or the watchdog, or after an abort on
 * another rank, it writes state=failed and the reason to OutputDir/status and removes OutputDir/cont. Any rank may
 * write, since rank 0 may be the one that hangs; the first reason is kept. Local. */
#ifndef LAST_WORDS_H
#define LAST_WORDS_H

/* Report failures from now on, in the status file of `folder` (OutputDir). `starting` 1: the file is still that of an
 * earlier job, and is replaced unless its state is finished, untrusted or failed. `starting` 0: the file is that of
 * this run, and is replaced only while its state is running; another state is an end that another rank has reported. */
void abort_status_open(const char *folder, int rank, int starting);
/* Report no more failures. */
void abort_status_close(void);
#endif
