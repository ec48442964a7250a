/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/control.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/timer.h"

#define LOOK_SECONDS 2.0      /* between searches for request files */
#define MARGIN_MAX 60.0       /* seconds left unused before the limit: at most this, */
#define MARGIN_PART 0.05      /* and at most this part of the wall-clock time */
#define STEPS_AHEAD 2.0       /* a request is read when the next soft step begins, and served within that step */
#define WRITING_SLACK 1.5     /* a checkpoint may take this times as long as the last one */
#define RETRY_SECONDS 60.0    /* between a checkpoint that failed and the next attempt */
enum { REQUEST_BYTES = 64 };  /* largest size of a request file */

static volatile sig_atomic_t yields, stops, checkpoints;   /* signals that were received */
static volatile sig_atomic_t yielded_by;

static const int caught[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP};
enum { CAUGHT = sizeof caught / sizeof *caught };
static struct sigaction before[CAUGHT];
static int open_now, prints, hangup_ignored;

/* Tell a user who pressed Ctrl-C why the run does not end at once. A signal handler may call write() but not printf(). */
static void print_stopping(void)
{
  static const char text[] = "\nespalier: SIGINT: the run stops within this soft step or the next; a second SIGINT ends it at once\n";
  int error = errno;
  if (prints && write(STDERR_FILENO, text, sizeof text - 1) < 0) error = errno;
  errno = error;
}

static void on_signal(int number)
{
  if (number == SIGUSR2) checkpoints = 1;
  else if (number != SIGINT) {
    yields = 1, yielded_by = number;
    if (number == SIGHUP) signal(SIGPIPE, SIG_IGN);   /* the reader of the output has most likely ended, too */
  }
  else if (!stops) stops = 1, print_stopping();
  else {
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
  }
}

void control_before_mpi(void)
{
  struct sigaction hangup;
  hangup_ignored = sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
}

void control_after_mpi(void)
{
  if (hangup_ignored) signal(SIGHUP, SIG_IGN);
}

void control_open(struct control *c, const struct params *p, int rank, double walltime, double writing)
{
  double now = timer_clock();
  const char *end = getenv("SLURM_JOB_END_TIME");
  if (walltime < 0 && end && atoll(end) > 0) walltime = fmax(0, (double)(atoll(end) - (long long)time(NULL)));
  if (walltime < 0) walltime = HUGE_VAL;
  *c = (struct control){.par = p, .rank = rank, .limit = now + walltime, .writing = writing, .due = HUGE_VAL, .looked = now};
  c->margin = fmin(MARGIN_MAX, MARGIN_PART * walltime);
  if (p->TimeBetCheckpoints > 0) c->due = now + 60 * p->TimeBetCheckpoints;
  yields = stops = checkpoints = 0;
  prints = rank == 0;
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  for (int k = 0; k < CAUGHT; k++) {
    sigaction(caught[k], NULL, &before[k]);
    if (caught[k] == SIGHUP && before[k].sa_handler == SIG_IGN) continue;   /* nohup */
    sigaction(caught[k], &action, NULL);
  }
  open_now = 1;
}

void control_close(void)
{
  for (int k = 0; k < CAUGHT && open_now; k++) {
    /* The outcome has been written: a late signal, during MPI_Finalize, must not change the exit status. */
    if (caught[k] != SIGINT && before[k].sa_handler == SIG_DFL) before[k].sa_handler = SIG_IGN;
    sigaction(caught[k], &before[k], NULL);
  }
  open_now = 0;
}

/* Remove the file if it is a request, as made by 'touch' or 'echo'. A larger file is not a request and is left in place.
 * Returns whether there was a request. */
static int take_file(struct control *c, const char *name)
{
  char path[PARAM_TEXT + 32];
  struct stat st;
  snprintf(path, sizeof path, "%s/%s", c->par->OutputDir, name);
  if (lstat(path, &st) || S_ISDIR(st.st_mode)) return 0;
  if (S_ISREG(st.st_mode) && st.st_size <= REQUEST_BYTES) return unlink(path) == 0;
  if (!c->warned)
    fprintf(stderr, "espalier: warning: %s is not a request to this run (a request is an empty file); it is left in place\n", path);
  c->warned = 1;
  return 0;
}

void control_begin(struct control *c)
{
  if (c->rank != 0) return;
  take_file(c, "checkpoint");
  take_file(c, "stop");
}

/* Look for request files, at most every LOOK_SECONDS. */
static void find_files(struct control *c, double now)
{
  if (c->rank != 0 || now - c->looked < LOOK_SECONDS) return;
  c->looked = now;
  if (take_file(c, "checkpoint") && c->files < REQUEST_CHECKPOINT) c->files = REQUEST_CHECKPOINT;
  if (take_file(c, "stop")) c->files = REQUEST_STOP;
}

/* Record the reason of a request. Returns the request. */
static enum stop_request request_for(struct control *c, enum stop_request stop_request, const char *reason)
{
  snprintf(c->reason, sizeof c->reason, "%s", reason);
  return stop_request;
}

enum stop_request control_request(struct control *c)
{
  double now = timer_clock();
  find_files(c, now);
  if (c->forced) return request_for(c, REQUEST_STOP, c->forced);
  if (yields) return request_for(c, REQUEST_YIELD, yielded_by == SIGTERM ? "SIGTERM" : yielded_by == SIGHUP ? "SIGHUP" : "SIGUSR1");
  if (c->rank == 0 && now + STEPS_AHEAD * c->longest + WRITING_SLACK * c->writing + c->margin > c->limit)
    return request_for(c, REQUEST_YIELD, "the wall-clock limit is near");
  if (stops) return request_for(c, REQUEST_STOP, "SIGINT");
  if (c->files == REQUEST_STOP) return request_for(c, REQUEST_STOP, "the file 'stop'");
  if (now < c->retry) return REQUEST_NONE;
  if (checkpoints) return request_for(c, REQUEST_CHECKPOINT, "SIGUSR2");
  if (c->files == REQUEST_CHECKPOINT) return request_for(c, REQUEST_CHECKPOINT, "the file 'checkpoint'");
  if (c->rank == 0 && now >= c->due) return request_for(c, REQUEST_CHECKPOINT, "the clock");
  return REQUEST_NONE;
}

void control_step(struct control *c, double seconds) { c->longest = fmax(c->longest, seconds); }

void control_guess(struct control *c, double seconds)
{
  if (c->writing == 0) c->writing = seconds;
}

void control_wrote(struct control *c, double seconds, int good, int stops)
{
  double now = timer_clock();
  c->failures = good ? 0 : c->failures + (stops != 0);
  if (!good) {
    c->retry = now + RETRY_SECONDS;
    return;
  }
  c->writing = fmax(seconds, 1e-6);
  if (c->par->TimeBetCheckpoints > 0) c->due = now + 60 * c->par->TimeBetCheckpoints;
  checkpoints = 0;
  if (c->files == REQUEST_CHECKPOINT) c->files = REQUEST_NONE;
}

/* Read up to three whole numbers separated by colons, from `at` to the end. Returns their number, or -1. */
static int parts(const char *at, double part[3])
{
  for (int n = 0; n < 3; n++) {
    char *end;
    if (!isdigit((unsigned char)*at)) return -1;
    part[n] = (double)strtoll(at, &end, 10);
    if (*end == 0) return n + 1;
    if (*end != ':') return -1;
    at = end + 1;
  }
  return -1;
}

int control_walltime(const char *text, double *seconds)
{
  double part[3] = {0}, days = 0;
  const char *dash = strchr(text, '-');
  if (strcmp(text, "UNLIMITED") == 0) return *seconds = HUGE_VAL, 0;
  if (dash) {
    char *end;
    days = isdigit((unsigned char)*text) ? (double)strtoll(text, &end, 10) : -1;
    if (days < 0 || end != dash) return -1;
  }
  int count = parts(dash ? dash + 1 : text, part);
  if (count < 0) return -1;
  if (dash) *seconds = 86400 * days + 3600 * part[0] + 60 * part[1] + part[2];
  else if (count == 3) *seconds = 3600 * part[0] + 60 * part[1] + part[2];
  else *seconds = 60 * part[0] + part[1];
  return 0;
}
