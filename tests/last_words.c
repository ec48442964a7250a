/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status file of a process that `fatal` ends. */
#include <config.h>
#include "job/last_words.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "tap.h"

static char folder[256], status[300], cont[300];

static void put(const char *path, const char *text)
{
  FILE *out = fopen(path, "w");
  fputs(text, out);
  fclose(out);
}

static const char *get(const char *path)
{
  static char text[8192];
  FILE *in = fopen(path, "r");
  text[in ? fread(text, 1, sizeof text - 1, in) : 0] = 0;
  if (in) fclose(in);
  return text;
}

enum { NO_LISTENER, STARTING, RUNNING };

/* End a process by `fatal`: without a listener, at a restart, or later. Returns 1 where it ended by SIGABRT. */
static int end_one(int when)
{
  fflush(stdout);
  pid_t child = fork();
  int how = 0;
  if (child == 0) {
    if (!freopen("/dev/null", "w", stderr)) _exit(2);
    abort_status_open(folder, 3, when == STARTING);
    if (when == NO_LISTENER) abort_status_close();
    fatal_context(3, 17);
    fatal_phase("walk");
    fatal("two\nlines");
  }
  return waitpid(child, &how, 0) == child && WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT;
}

static int has(const char *text, const char *line)
{
  size_t n = strlen(line);
  for (const char *at = text; (at = strstr(at, line)); at += n)
    if ((at == text || at[-1] == '\n') && at[n] == '\n') return 1;
  return 0;
}

#define STATUS_WHILE_RUNNING                                                                                      \
  "state=running\nreason=\nstep=16\ntime=0.5\ncheckpoint=checkpoint_000012\ncheckpoint_step=12\neta=88\nupdated=" \
  "2026\n"

static void *report_sigterm(void *unused)
{
  fatal_report("rank 0, step 17, phase walk: SIGTERM, and no checkpoint since", 0);
  return unused;
}

/* A report of SIGTERM by another thread, before the run ends in order, after that, and while it does. */
static void check_sigterm(void)
{
  char reason[REASON_TEXT];
  pthread_t thread;
  put(status, STATUS_WHILE_RUNNING);
  abort_status_open(folder, 0, 1);
  report_sigterm(NULL);
  tap_ok(strcmp(get(status), STATUS_WHILE_RUNNING) == 0,
         "SIGTERM during the start: the status of the job before stays");
  abort_status_open(folder, 0, 0);
  tap_ok(!abort_status_continuation("saved; type this", reason), "no SIGTERM yet");
  int held = abort_status_hold();
  pthread_create(&thread, NULL, report_sigterm, NULL);
  usleep(100000);
  tap_ok(held && strcmp(get(status), STATUS_WHILE_RUNNING) == 0, "a report waits while the run replaces the file");
  put(status, "state=interrupted\nreason=SIGTERM\n");
  abort_status_release(held);
  pthread_join(thread, NULL);
  tap_ok(strcmp(get(status), "state=interrupted\nreason=SIGTERM\n") == 0 && !abort_status_continuation("", reason),
         "... and an end that it finds then stays");
  put(status, STATUS_WHILE_RUNNING);
  abort_status_continuation("saved; type this", reason);
  report_sigterm(NULL);
  const char *expected = "rank 0, step 17, phase walk: SIGTERM, and no checkpoint since; saved; type this";
  tap_ok(has(get(status), "state=failed") && strstr(get(status), expected) && has(get(status), "step=16"),
         "a run that goes on after SIGTERM: what is saved and what to type");
  int again = abort_status_continuation("saved; type that", reason);
  tap_ok(again && strstr(reason, "since; saved; type that"), "... also in what the run writes afterwards");
  abort_status_prepare("state=failed\nreason=by itself\n");
  abort_status_prepare(NULL);
  abort_status_write_prepared();
  tap_ok(strstr(get(status), expected) != NULL, "a handler that ends the process: not after the end of the run");
  abort_status_prepare("state=failed\nreason=by itself\n");
  abort_status_write_prepared();
  tap_ok(has(get(status), "reason=by itself"), "... but before");
  abort_status_close();
}

int main(void)
{
  const char *top = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.200s/espalier-test-XXXXXX", top ? top : "/tmp");
  if (!mkdtemp(folder)) return 99;
  snprintf(status, sizeof status, "%s/status", folder);
  snprintf(cont, sizeof cont, "%s/cont", folder);

  put(status, STATUS_WHILE_RUNNING);
  put(cont, "");
  tap_ok(end_one(RUNNING) && has(get(status), "state=failed") && access(cont, F_OK) != 0,
         "a run under way: failed, and no file cont");
  const char *text = get(status);
  tap_ok(strstr(text, "reason=rank 3, step 17, phase walk: two lines\n") != NULL,
         "the reason: rank, step and phase, in one line");
  tap_ok(has(text, "step=16") && has(text, "time=0.5") && has(text, "checkpoint=checkpoint_000012") &&
             has(text, "checkpoint_step=12"),
         "the progress of the run is kept");
  tap_ok(!strstr(text, "eta=") && !strstr(text, "running") && !has(text, "updated=2026"), "its estimates are not");
  put(status, "state=failed\nreason=first\n");
  tap_ok(end_one(RUNNING) && strcmp(get(status), "state=failed\nreason=first\n") == 0,
         "the first of several reasons is kept");
  put(status, "state=finished\nreason=TimeMax\n");
  tap_ok(end_one(RUNNING) && strcmp(get(status), "state=finished\nreason=TimeMax\n") == 0,
         "the state of a finished run is kept");
  tap_ok(end_one(STARTING) && strcmp(get(status), "state=finished\nreason=TimeMax\n") == 0, "... also at a restart");
  put(status, "state=interrupted\nreason=SIGUSR1\nstep=5\n");
  tap_ok(end_one(RUNNING) && strcmp(get(status), "state=interrupted\nreason=SIGUSR1\nstep=5\n") == 0,
         "an end that was reported before is kept");
  tap_ok(end_one(STARTING) && has(get(status), "state=failed") && has(get(status), "step=5"),
         "at a restart the status is that of the job before, and is replaced");
  put(status, STATUS_WHILE_RUNNING);
  tap_ok(end_one(NO_LISTENER) && strcmp(get(status), STATUS_WHILE_RUNNING) == 0,
         "without a listener nothing is written");
  unlink(status);
  tap_ok(end_one(RUNNING) && has(get(status), "state=failed"), "a missing status file is created");
  check_sigterm();
  unlink(status);
  tap_ok(rmdir(folder) == 0, "no other file remains");
  tap_ok(end_one(RUNNING), "a missing folder: the process ends nevertheless");
  return tap_end();
}
