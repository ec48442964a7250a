/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status file of a process that `fatal` ends. */
#include <config.h>
#include "last_words.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"
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

enum { DEAF, STARTING, RUNNING };

/* A process that ends by `fatal`: with nobody who listens, at a restart, or later. Whether it ended as such processes do. */
static int end_one(int when)
{
  fflush(stdout);
  pid_t child = fork();
  int how = 0;
  if (child == 0) {
    if (!freopen("/dev/null", "w", stderr)) _exit(2);
    last_words_open(folder, 3, when == STARTING);
    if (when == DEAF) last_words_close();
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

#define UNDER_WAY "state=running\nreason=\nstep=16\ntime=0.5\ncheckpoint=checkpoint_000012\ncheckpoint_step=12\neta=88\nupdated=2026\n"

int main(void)
{
  const char *top = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.200s/espalier-test-XXXXXX", top ? top : "/tmp");
  if (!mkdtemp(folder)) return 99;
  snprintf(status, sizeof status, "%s/status", folder);
  snprintf(cont, sizeof cont, "%s/cont", folder);

  put(status, UNDER_WAY);
  put(cont, "");
  tap_ok(end_one(RUNNING) && has(get(status), "state=failed") && access(cont, F_OK) != 0, "a run under way: failed, and no file cont");
  const char *text = get(status);
  tap_ok(strstr(text, "reason=rank 3, step 17, phase walk: two lines\n") != NULL, "the reason: rank, step and phase, in one line");
  tap_ok(has(text, "step=16") && has(text, "time=0.5") && has(text, "checkpoint=checkpoint_000012") && has(text, "checkpoint_step=12"),
         "how far the run has come stays");
  tap_ok(!strstr(text, "eta=") && !strstr(text, "running") && !has(text, "updated=2026"), "what it expected does not");
  put(status, "state=failed\nreason=first\n");
  tap_ok(end_one(RUNNING) && strcmp(get(status), "state=failed\nreason=first\n") == 0, "of several reasons the first stays");
  put(status, "state=finished\nreason=TimeMax\n");
  tap_ok(end_one(RUNNING) && strcmp(get(status), "state=finished\nreason=TimeMax\n") == 0, "a run that has finished stays so");
  tap_ok(end_one(STARTING) && strcmp(get(status), "state=finished\nreason=TimeMax\n") == 0, "... also at a restart");
  put(status, "state=interrupted\nreason=SIGUSR1\nstep=5\n");
  tap_ok(end_one(RUNNING) && strcmp(get(status), "state=interrupted\nreason=SIGUSR1\nstep=5\n") == 0, "an end that has been told stays");
  tap_ok(end_one(STARTING) && has(get(status), "state=failed") && has(get(status), "step=5"), "at a restart it is that of the job before");
  put(status, UNDER_WAY);
  tap_ok(end_one(DEAF) && strcmp(get(status), UNDER_WAY) == 0, "without anybody who listens nothing is written");
  unlink(status);
  tap_ok(end_one(RUNNING) && has(get(status), "state=failed"), "a status file that is not there");
  unlink(status);
  tap_ok(rmdir(folder) == 0, "nothing else is left");
  tap_ok(end_one(RUNNING), "a folder that is gone: the process ends all the same");
  return tap_end();
}
