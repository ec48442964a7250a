/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watchdog: ends a job in which a rank stalls, and reports where, so that the job does not hold its nodes until the
 * limit of the queue.
 *
 * A thread checks at intervals whether this rank has made progress: it has begun a phase, or received a message that it
 * waited for. Without progress for the time limit, the thread reports rank, step, phase and the peer that the rank
 * waits for on stderr and through fatal_report, and ends the process with status 1; the launcher then ends the other
 * ranks. On SIGTERM, by which launchers end jobs (a rank has died, or the time limit is reached), the first two ranks
 * report their place; a handler that was installed before is called as well and decides how the process reacts; where
 * the process goes on for 0.4 s, rank 0 reports that through fatal_report, and rank 1 too where it makes no progress.
 * One watchdog per process. */
#ifndef WATCHDOG_H
#define WATCHDOG_H

/* Factor on the limit in the phases "start", "output" and "other", in which files are read and written. */
enum { WATCHDOG_GRACE_FACTOR = 4 };

/* Value of `peer` while this rank does not wait. */
enum { WATCHDOG_NO_RANK = -3 };

/* Name the processes of the other ranks on this node, before watchdog_start; of more than WATCHDOG_NEIGHBOURS the first
 * are taken. They are continued (SIGCONT) where the watchdog ends this process: a rank that is suspended takes no
 * signal of the launcher but SIGKILL, and not every launcher sends that. */
enum { WATCHDOG_NEIGHBOURS = 512 };
void watchdog_neighbours(const long *pid, int count);
/* Start the watchdog with a limit of `minutes` minutes (0: none; it still reports SIGTERM). Only time in which the
 * process could run counts, so a job may be suspended and resumed. Failure to start is fatal where there is a limit. */
void watchdog_start(double minutes);
/* Stop it; does nothing without one. */
void watchdog_stop(void);

/* Record progress of this rank; the beginning of a phase is progress anyway. Cheap; from any thread, also without a
 * watchdog. */
void watchdog_progress(void);
/* Record that this rank waits for `peer`: a rank, LEDGER_ALL or LEDGER_SEVERAL (base/ledger.h), or WATCHDOG_NO_RANK. */
void watchdog_waiting(int peer);
#endif
