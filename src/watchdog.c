/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "watchdog.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "ledger.h"
#include "timer.h"

/* Looks per limit, and the longest time between two, in seconds. */
enum { LOOKS = 16 };
#define INTERVAL_MOST 10.0
#define STANDS_SECONDS 0.4   /* mpirun leaves one or two between SIGTERM and SIGKILL */
enum { TERMINATED = 't', END = 'e' };   /* what wakes the thread */
enum { SPEAKERS = 2 };                  /* ranks that tell of SIGTERM: one of them is still there */

static atomic_ulong progress;
static atomic_int waiting = WATCHDOG_NOBODY;

static struct {
  int on;
  double limit;   /* seconds */
  int wake[2];    /* a pipe, since a signal handler may write to one */
  pthread_t thread;
  struct sigaction before;
} dog;

void watchdog_progress(void) { atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed); }
void watchdog_waiting(int peer) { atomic_store_explicit(&waiting, peer, memory_order_relaxed); }

static const char *whom(char *text, size_t size)
{
  int peer = atomic_load(&waiting);
  if (peer == WATCHDOG_NOBODY) return "not waiting for others";
  if (peer == LEDGER_ALL) return "waiting for all ranks";
  if (peer == LEDGER_SEVERAL) return "waiting for messages";
  snprintf(text, size, "waiting for rank %d", peer);
  return text;
}

enum { LINE = 300 };

/* "rank 1, step 7, phase walk: WHAT (waiting for rank 0)". */
static void describe(const struct fatal_place *at, const char *what, char line[LINE])
{
  char text[64];
  snprintf(line, LINE, "rank %d, step %lld, phase %s: %s (%s)", at->rank, at->step, at->phase, what, whom(text, sizeof text));
}

static void say(const char *kind, const char *line)
{
  char all[LINE + 64];
  int n = snprintf(all, sizeof all, "espalier: %s%s\n", kind, line);
  while (write(STDERR_FILENO, all, (size_t)n) < 0 && errno == EINTR) continue;
}

/* MPI_Abort is not for this thread (MPI_THREAD_FUNNELED), and exit would run what the first thread is in the midst of. */
static void bite(const struct fatal_place *at, double seconds)
{
  char what[64], line[LINE];
  snprintf(what, sizeof what, "no progress for %.3g minutes", seconds / 60);
  describe(at, what, line);
  say("fatal: ", line);
  fatal_tell(line, 1);
  _exit(1);
}

static int others_listen(void) { return dog.before.sa_handler != SIG_DFL && dog.before.sa_handler != SIG_IGN; }

/* Who else has asked for the signal decides what comes of it. */
static void terminate(const struct fatal_place *at)
{
  char line[LINE];
  describe(at, others_listen() ? "SIGTERM" : "ended by SIGTERM", line);
  if (at->rank < SPEAKERS) say(others_listen() ? "" : "fatal: ", line);
  if (others_listen()) return;
  signal(SIGTERM, SIG_DFL);
  kill(getpid(), SIGTERM);
}

static int patient(const struct fatal_place *at)
{
  return strcmp(at->phase, "start") == 0 || strcmp(at->phase, phase_names[PHASE_output]) == 0;
}

/* A run that stands still after SIGTERM will not stop in order before it is killed: another rank is gone, most often, which is why
 * the launcher ends this one. Should it go on after all it tells so itself. */
static void stands_still(const struct fatal_place *at)
{
  char line[LINE];
  describe(at, "SIGTERM, and no progress since", line);
  if (at->rank < SPEAKERS) fatal_tell(line, 0);
}

static void *watch(void *unused)
{
  double interval = fmin(dog.limit / LOOKS, INTERVAL_MOST), idle = 0, before = timer_clock(), told = HUGE_VAL;
  unsigned long seen = atomic_load(&progress), then = seen;
  for (;;) {
    struct pollfd wake = {.fd = dog.wake[0], .events = POLLIN};
    char why = 0;
    double wait = told < HUGE_VAL ? fmin(interval, STANDS_SECONDS / 4) : interval;
    int woken = poll(&wake, 1, (int)ceil(1e3 * wait)) > 0 && read(dog.wake[0], &why, 1) == 1;
    struct fatal_place at = fatal_place();
    if (woken && why == END) return unused;
    if (woken) terminate(&at);
    unsigned long now = atomic_load(&progress);
    double clock = timer_clock(), passed = clock - before;
    if (woken) told = clock, then = now;
    if (clock - told > STANDS_SECONDS) {
      if (now == then) stands_still(&at);
      told = HUGE_VAL;
    }
    idle = now != seen ? 0 : idle + fmin(passed, 2 * interval);   /* if more has passed, the process did not run */
    seen = now;
    before = clock;
    if (idle > dog.limit * (patient(&at) ? WATCHDOG_PATIENCE : 1)) bite(&at, idle);
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
  if (others_listen()) dog.before.sa_handler(number);
}

void watchdog_start(double minutes)
{
  if (minutes <= 0) return;
  sigset_t all, mask;
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  dog.limit = 60 * minutes;
  if (pipe(dog.wake)) fatal("the watchdog gets no pipe: %s (WatchdogMinutes = 0 does without)", strerror(errno));
  sigfillset(&all);   /* signals are for the first thread */
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  int error = pthread_create(&dog.thread, NULL, watch, NULL);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  if (error) fatal("the watchdog's thread cannot be started: %s (WatchdogMinutes = 0 does without)", strerror(error));
  sigaction(SIGTERM, NULL, &dog.before);   /* known before it may be needed */
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
