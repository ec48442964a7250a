/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/watchdog.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/ledger.h"
#include "base/timer.h"

/* Checks within the limit, and the longest interval between two in seconds. */
enum { CHECKS = 16 };
#define INTERVAL_MAX 10.0
#define LATE_SECONDS 0.4 /* from SIGTERM to the report that the run goes on; mpirun sends SIGKILL after one second */
enum { TERMINATED = 't', END = 'e' }; /* bytes that wake the thread */
enum { REPORTING_RANKS = 2 };         /* ranks that report SIGTERM: two, since one of them may have ended */

static atomic_ulong progress;
static atomic_int waiting = WATCHDOG_NO_RANK;

static struct {
  int on;
  double limit; /* seconds */
  int wake[2];  /* a pipe: a signal handler may write to it */
  pthread_t thread;
  int neighbours;
  long neighbour[WATCHDOG_NEIGHBOURS]; /* process ids */
  struct sigaction before;
} dog;

void watchdog_progress(void) { atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed); }
/* Phases that have begun count too. */
static unsigned long progress_so_far(void) { return atomic_load(&progress) + timer_begun(); }
void watchdog_waiting(int peer) { atomic_store_explicit(&waiting, peer, memory_order_relaxed); }

static const char *waiting_for(char *text, size_t size)
{
  int peer = atomic_load(&waiting);
  if (peer == WATCHDOG_NO_RANK) return "not waiting for others";
  if (peer == LEDGER_ALL) return "waiting for all ranks";
  if (peer == LEDGER_SEVERAL) return "waiting for messages";
  snprintf(text, size, "waiting for rank %d", peer);
  return text;
}

enum { LINE = 300 };

/* "rank 1, step 7, phase walk: WHAT (waiting for rank 0)". */
static void describe(const struct fatal_place *at, const char *what, char line[LINE])
{
  char text[64], all[LINE];
  snprintf(all, sizeof all, "%.100s (%s)", what, waiting_for(text, sizeof text));
  fatal_sentence(line, LINE, at, all);
}

/* MPI_Abort and exit are for the main thread only: MPI runs with MPI_THREAD_FUNNELED, and the handlers of exit use what
 * that thread is changing. */
static void end_process(const struct fatal_place *at, double seconds)
{
  char what[64], line[LINE];
  snprintf(what, sizeof what, "no progress for %.3g minutes", seconds / 60);
  describe(at, what, line);
  fatal_print("fatal: ", line);
  fatal_report(line, 1);
  for (int k = 0; k < dog.neighbours; k++) kill((pid_t)dog.neighbour[k], SIGCONT);
  _exit(1);
}

/* Whether a handler for SIGTERM was installed before. */
static int has_handler(void) { return dog.before.sa_handler != SIG_DFL && dog.before.sa_handler != SIG_IGN; }

/* Report SIGTERM; without an earlier handler, end the process by its default action. */
static void report_sigterm(const struct fatal_place *at)
{
  char line[LINE];
  describe(at, has_handler() ? "SIGTERM" : "ended by SIGTERM", line);
  if (at->rank < REPORTING_RANKS) fatal_print(has_handler() ? "" : "fatal: ", line);
  if (has_handler()) return;
  signal(SIGTERM, SIG_DFL);
  kill(getpid(), SIGTERM);
}

/* Whether the phase reads or writes files. Rank 0 writes tables and the status file in PHASE_other, where the other
 * ranks wait for it. */
static int is_io_phase(const struct fatal_place *at)
{
  const char *const phases[] = {"start", phase_names[PHASE_output], phase_names[PHASE_other]};
  for (size_t k = 0; k < sizeof phases / sizeof *phases; k++)
    if (strcmp(at->phase, phases[k]) == 0) return 1;
  return 0;
}

/* A run that goes on after SIGTERM may be killed before it can stop: its soft step is long, or another rank has died,
 * which is why the launcher ends this one, and there is no progress. Then rank 0 may hang, and rank 1 reports after it.
 * A run that stops in order replaces this report. */
static void report_late(const struct fatal_place *at, int stalled)
{
  char line[LINE];
  describe(at, stalled ? "SIGTERM, and no progress since" : "SIGTERM, and no checkpoint since", line);
  if (at->rank < (stalled ? REPORTING_RANKS : 1)) fatal_report(line, 0);
}

static void *watch(void *unused)
{
  double interval = fmin(dog.limit / CHECKS, INTERVAL_MAX), idle = 0, before = timer_clock(), reported = HUGE_VAL;
  unsigned long seen = progress_so_far(), then = seen;
  for (;;) {
    struct pollfd wake = {.fd = dog.wake[0], .events = POLLIN};
    char why = 0;
    double wait = reported < HUGE_VAL ? fmin(interval, LATE_SECONDS / 4) : interval;
    int woken = poll(&wake, 1, (int)ceil(1e3 * wait)) > 0 && read(dog.wake[0], &why, 1) == 1;
    struct fatal_place at = fatal_place();
    if (woken && why == END) return unused;
    if (woken) report_sigterm(&at);
    unsigned long now = progress_so_far();
    double clock = timer_clock(), passed = clock - before;
    if (woken) {
      reported = clock;
      then = now;
    }
    if (clock - reported > LATE_SECONDS * (1 + at.rank)) {
      report_late(&at, now == then);
      reported = HUGE_VAL;
    }
    idle = now != seen ? 0 : idle + fmin(passed, 2 * interval); /* a longer gap means that the process was suspended */
    seen = now;
    before = clock;
    if (idle > dog.limit * (is_io_phase(&at) ? WATCHDOG_GRACE_FACTOR : 1)) end_process(&at, idle);
  }
}

static void wake(char why)
{
  int error = errno;
  while (write(dog.wake[1], &why, 1) < 0 && errno == EINTR) continue;
  errno = error;
}

static void on_signal(int number)
{
  wake(TERMINATED);
  if (has_handler()) dog.before.sa_handler(number);
}

void watchdog_neighbours(const long *pid, int count)
{
  dog.neighbours = count < WATCHDOG_NEIGHBOURS ? count : WATCHDOG_NEIGHBOURS;
  memcpy(dog.neighbour, pid, sizeof *pid * (size_t)dog.neighbours);
}

void watchdog_start(double minutes)
{
  sigset_t all, mask;
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  dog.limit = minutes > 0 ? 60 * minutes : HUGE_VAL;
  if (pipe(dog.wake)) {
    if (minutes <= 0) return;
    fatal("the watchdog cannot create a pipe: %s (WatchdogMinutes = 0: it is not needed)", strerror(errno));
  }
  sigfillset(&all); /* the main thread handles signals */
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  int error = pthread_create(&dog.thread, NULL, watch, NULL);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  if (error) {
    if (minutes <= 0) return;
    fatal("the thread of the watchdog cannot be started: %s (WatchdogMinutes = 0: it is not needed)", strerror(error));
  }
  sigaction(SIGTERM, NULL, &dog.before); /* on_signal reads `before`, so it is set first */
  sigaction(SIGTERM, &action, NULL);
  dog.on = 1;
}

void watchdog_stop(void)
{
  if (!dog.on) return;
  sigaction(SIGTERM, &dog.before, NULL);
  wake(END);
  pthread_join(dog.thread, NULL);
  close(dog.wake[0]);
  close(dog.wake[1]);
  dog.on = 0;
}
