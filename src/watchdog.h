/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watchdog: a job in which a rank stalls ends, and says where, instead of holding its nodes until the queue's limit.
 *
 * A thread that sleeps most of the time looks whether this rank has made progress: begun a phase, or seen a message that
 * it waited for. When it has not for too long, it names rank, step, phase and whom the rank waits for on stderr and to
 * fatal_listener, and ends the process with status 1, upon which the launcher ends the others. On SIGTERM, by which launchers end jobs (because a rank
 * has died, or the time is over), the first two ranks say where they are; a handler that was there before is called too, and
 * decides what comes of it; where then nothing goes on, fatal_listener hears it. One watchdog a process. */
#ifndef WATCHDOG_H
#define WATCHDOG_H

/* While files are read or written (the phases "start" and "output") the limit is longer by this factor. */
enum { WATCHDOG_PATIENCE = 4 };

/* Whom this rank waits for, instead of a rank. */
enum { WATCHDOG_NOBODY = -3 };

/* Watch from now on; 0 minutes: do not. Only time in which the process could run counts, so that a job that was
 * suspended as a whole goes on afterwards. */
void watchdog_start(double minutes);
/* End the watch; also without one. */
void watchdog_stop(void);

/* This rank has made progress. Cheap; from any thread, watched or not. */
void watchdog_progress(void);
/* It waits for this peer (numbered as in ledger.h: a rank, LEDGER_ALL, LEDGER_SEVERAL), or no longer for anybody. */
void watchdog_waiting(int peer);
#endif
