/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Report of a failed run to job scripts. Before the process ends through `fatal` or the watchdog, or after an abort on
 * another rank, it writes state=failed and the reason to OutputDir/status and removes OutputDir/cont. Any rank may
 * write, since rank 0 may be the one that hangs; the first reason is kept. Where a run has not stopped at once after
 * SIGTERM, rank 0 writes the same with what is saved and how to continue, since it may be killed at any moment; the end
 * of a run that stops in order replaces that. Local. */
#ifndef LAST_WORDS_H
#define LAST_WORDS_H

/* Report failures from now on, in the status file of `folder` (OutputDir). `starting` 1: the file is still that of an
 * earlier job, and is replaced unless its state is finished, untrusted or failed. `starting` 0: the file is that of
 * this run, and is replaced only while its state is running; another state is an end that another rank has reported. */
void abort_status_open(const char *folder, int rank, int starting);
/* Report no more failures. */
void abort_status_close(void);

/* For job/status.c on rank 0, which replaces the file between these two: reports of other threads wait. `held`: what
 * the first one returned. */
int abort_status_hold(void);
void abort_status_release(int held);
/* Between them: `continuation` (what is saved, and how to continue; one line) goes into reports from now on. Returns 1
 * where SIGTERM was reported: state=running would be wrong after a SIGKILL, and *reason is that of state=failed. */
enum { CONTINUATION_TEXT = 4096, REASON_TEXT = CONTINUATION_TEXT + 1024 };
int abort_status_continuation(const char *continuation, char reason[REASON_TEXT]);
/* The text of the status file where a signal handler ends the process; NULL: the file has the end of the run. */
void abort_status_prepare(const char *text);
/* Write it. Only system calls: for a signal handler. */
void abort_status_write_prepared(void);
#endif
