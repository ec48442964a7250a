/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watchdog within one process: which limit it applies, and that it continues suspended ranks of its node before it
 * ends. */
#include <config.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/watchdog.h"
#include "tap.h"

#define LIMIT 1.0 /* seconds */

/* A process under the watchdog, which makes no progress for `seconds` in that phase. Returns its exit status: 0, or 1
 * where the watchdog ended it. */
static int stall(const char *phase, double seconds, long neighbour)
{
  fflush(stdout);
  pid_t child = fork();
  int how = 0;
  if (child == 0) {
    if (!freopen("/dev/null", "w", stderr)) _exit(2);
    fatal_context(0, 1);
    fatal_phase(phase);
    if (neighbour) watchdog_neighbours(&neighbour, 1);
    watchdog_start(LIMIT / 60);
    for (int k = 0; k < (int)(seconds * 100); k++) usleep(10000);
    _exit(0);
  }
  return waitpid(child, &how, 0) == child && WIFEXITED(how) ? WEXITSTATUS(how) : 3;
}

int main(void)
{
  int ends[2];
  tap_ok(stall("walk", 60, 0) == 1, "no progress in a phase that computes: ended");
  /* A busy machine makes the stall longer: the limit of phases that write files is WATCHDOG_GRACE_FACTOR times as
   * long. */
  tap_ok(stall("output", 1.5 * LIMIT, 0) == 0, "the limit is longer where snapshots are written");
  tap_ok(stall("other", 1.5 * LIMIT, 0) == 0, "... and where tables are");

  if (pipe(ends)) return 99;
  fflush(stdout);
  pid_t stopped = fork();
  if (stopped == 0) {
    close(ends[0]);
    raise(SIGSTOP);
    _exit(0);
  }
  close(ends[1]);
  waitpid(stopped, NULL, WUNTRACED);
  tap_ok(stall("walk", 60, stopped) == 1, "no progress beside a rank that is suspended: ended");
  struct pollfd end = {.fd = ends[0], .events = POLLIN};
  tap_ok(poll(&end, 1, 30000) == 1, "... which is continued, and ends too");
  kill(stopped, SIGKILL);
  waitpid(stopped, NULL, 0);
  return tap_end();
}
