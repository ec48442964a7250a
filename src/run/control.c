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
#include "job/last_words.h"

#define LOOK_SECONDS 2.0   /* between searches for request files */
#define MARGIN_MAX 60.0    /* seconds left unused before the limit: at most this, */
#define MARGIN_PART 0.05   /* and at most this part of the wall-clock time */
#define STEPS_AHEAD 2.0    /* a request is read when the next soft step begins, and served within that step */
#define WRITING_SLACK 1.5  /* a checkpoint may take this times as long as the last one */
#define RETRY_SECONDS 60.0 /* between a checkpoint that failed and the next attempt */
/* Between checkpoints: at least INTERVAL_MIN seconds, and INTERVAL_COST times what one takes, so that they take one per
 * cent of a run; never more than TimeBetCheckpoints. */
#define INTERVAL_MIN 120.0
#define INTERVAL_COST 100.0
enum { START_SECONDS = 3 };  /* a start goes on so long after SIGTERM or SIGINT */
enum { REQUEST_BYTES = 64 }; /* largest size of a request file */

static volatile sig_atomic_t yields, stops, checkpoints; /* signals that were received */
static volatile sig_atomic_t yielded_by, begun;          /* begun: control_open was called */
static volatile sig_atomic_t started;                    /* control_started was called */
static volatile sig_atomic_t launcher_warns, warned;     /* SIGCONT is of mpirun; it came */
enum { SAVED_TEXT = 4096 };
static char saved_text[2][SAVED_TEXT]; /* the handler prints one while the other one is changed */
static volatile sig_atomic_t saved_now, has_saved;

static const int caught[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGCONT, SIGALRM};
enum { CAUGHT = sizeof caught / sizeof *caught };
static struct sigaction before[CAUGHT];
static int saved, prints, hangup_ignored; /* saved: `before` is set */

/* Tell a user who pressed Ctrl-C why the run does not end at once. */
static const char stopping[] =
    "\nespalier: SIGINT: the run stops within this soft step or the next; a second SIGINT ends it at once\n";
static const char ended_at_start[] = "\nespalier: error: ended by a signal during the start; the run has not begun\n";

/* Rank 0. A signal handler may call write() but not printf(). */
static void print(const char *text, size_t length)
{
  int error = errno;
  if (prints && write(STDERR_FILENO, text, length) < 0) error = errno;
  errno = error;
}

static void end_by(int number)
{
  signal(number, SIG_DFL);
  raise(number);
}

/* SIGTERM or SIGINT during the start: give it some seconds to come to its first step, and end it then. A second one
 * ends it at once. */
static void on_signal_at_start(int number)
{
  static volatile sig_atomic_t before_end;
  if (number == SIGALRM) {
    print(ended_at_start, sizeof ended_at_start - 1);
    end_by(before_end);
  } else if (before_end) end_by(number);
  else if (begun) {
    before_end = number;
    alarm(START_SECONDS);
  }
}

static void on_signal(int number)
{
  if (!started && (number == SIGALRM || number == SIGTERM || number == SIGINT)) on_signal_at_start(number);
  if (number == SIGALRM) return;
  if (number == SIGCONT) warned = launcher_warns;
  else if (number == SIGUSR2) checkpoints = 1;
  else if (number == SIGTERM && yielded_by == SIGTERM && !begun) end_by(number); /* a start that hangs */
  else if (number != SIGINT) {
    if (number == SIGTERM && !yields && has_saved) print(saved_text[saved_now], strlen(saved_text[saved_now]));
    yields = 1;
    yielded_by = number;
  } else if (!stops) {
    stops = 1;
    print(stopping, sizeof stopping - 1);
  } else {
    abort_status_write_prepared();
    end_by(number);
  }
}

/* Catch the signals, except one that is to stay as it is (0: none). Also those that were blocked when the program was
 * started. */
static void catch_signals(int except)
{
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigset_t all;
  sigemptyset(&all);
  for (int k = 0; k < CAUGHT; k++) {
    if (!saved) sigaction(caught[k], NULL, &before[k]);
    if (caught[k] == except || (caught[k] == SIGHUP && hangup_ignored)) continue;
    sigaction(caught[k], &action, NULL);
    sigaddset(&all, caught[k]);
  }
  saved = 1;
  sigprocmask(SIG_UNBLOCK, &all, NULL);
}

void control_before_mpi(int early)
{
  struct sigaction hangup;
  hangup_ignored = sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
  if (early) catch_signals(SIGINT); /* Ctrl-C ends a run that has not begun */
}

void control_after_mpi(void)
{
  if (hangup_ignored) signal(SIGHUP, SIG_IGN);
  if (saved) catch_signals(SIGINT);
}

void control_cancel(void)
{
  for (int k = 0; k < CAUGHT && saved; k++) sigaction(caught[k], &before[k], NULL);
  saved = 0;
  if (yields) raise(yielded_by);
}

int control_job_end(double *walltime, struct fault *fault)
{
  const char *end = getenv("SLURM_JOB_END_TIME");
  *walltime = -1;
  if (!end || !*end) return 0;
  /* the year 2286 has ten digits still */
  if (strlen(end) > 11 || end[strspn(end, "0123456789")] != 0 || atoll(end) == 0)
    return fault_set(
        fault,
        "SLURM_JOB_END_TIME = '%.40s': expected the end of the job in whole seconds since 1970; unset it, or "
        "give --walltime",
        end);
  *walltime = fmax(0, (double)(atoll(end) - (long long)time(NULL)));
  return 0;
}

/* The next checkpoint after one at `now`. */
static void set_due(struct control *control, double now)
{
  double most = 60 * control->par->TimeBetCheckpoints, cheap = fmax(INTERVAL_MIN, INTERVAL_COST * control->writing);
  if (most > 0) control->due = now + fmin(most, cheap);
}

void control_open(struct control *control, const struct params *params, int rank, double walltime, double writing)
{
  double now = timer_clock();
  if (walltime < 0) walltime = HUGE_VAL;
  *control = (struct control){
      .par = params, .rank = rank, .limit = now + walltime, .writing = writing, .due = HUGE_VAL, .looked = now};
  control->margin = fmin(MARGIN_MAX, MARGIN_PART * walltime);
  set_due(control, now);
  prints = rank == 0;
  launcher_warns = getenv("OMPI_COMM_WORLD_RANK") != NULL;
  begun = 1;
  signal(SIGPIPE, SIG_IGN); /* a reader of the output that ends (head, less, a lost connection) does not end the run */
  catch_signals(0);
}

void control_started(void)
{
  started = 1;
  alarm(0);
}

void control_saved(const struct control *control, const char *text)
{
  int next = !saved_now;
  if (control->rank != 0) return;
  snprintf(saved_text[next], SAVED_TEXT, "%s", text);
  saved_now = next;
  has_saved = 1;
}

void control_close(void)
{
  for (int k = 0; k < CAUGHT && saved; k++) {
    /* The outcome has been written: a late signal, during MPI_Finalize, must not change the exit status. */
    if (caught[k] != SIGINT && before[k].sa_handler == SIG_DFL) before[k].sa_handler = SIG_IGN;
    sigaction(caught[k], &before[k], NULL);
  }
  saved = 0;
}

/* Remove the file if it is a request, as made by 'touch' or 'echo'. A larger file is not a request and is left in
 * place. Returns whether there was a request. */
static int take_file(struct control *control, const char *name)
{
  char path[PARAM_TEXT + 32];
  struct stat st;
  snprintf(path, sizeof path, "%s/%s", control->par->OutputDir, name);
  if (lstat(path, &st) || S_ISDIR(st.st_mode)) return 0;
  if (S_ISREG(st.st_mode) && st.st_size <= REQUEST_BYTES) return unlink(path) == 0;
  if (!control->warned)
    fprintf(stderr,
            "espalier: warning: %s is not a request to this run (a request is an empty file); it is left in place\n",
            path);
  control->warned = 1;
  return 0;
}

void control_begin(struct control *control)
{
  if (control->rank != 0) return;
  take_file(control, "checkpoint");
  take_file(control, "stop");
}

/* Look for request files, at most every LOOK_SECONDS. */
static void find_files(struct control *control, double now)
{
  if (control->rank != 0 || now - control->looked < LOOK_SECONDS) return;
  control->looked = now;
  if (take_file(control, "checkpoint") && control->files < REQUEST_CHECKPOINT) control->files = REQUEST_CHECKPOINT;
  if (take_file(control, "stop")) control->files = REQUEST_STOP;
}

/* Record the reason of a request. Returns the request. */
static enum stop_request request_for(struct control *control, enum stop_request stop_request, const char *reason)
{
  snprintf(control->reason, sizeof control->reason, "%s", reason);
  return stop_request;
}

const char *control_reason(const struct control *control)
{
  return control->reason[0] ? control->reason : "a signal to another rank";
}

enum stop_request control_request(struct control *control)
{
  double now = timer_clock();
  find_files(control, now);
  if (control->forced) return request_for(control, REQUEST_STOP, control->forced);
  if (yields)
    return request_for(control, REQUEST_YIELD,
                       yielded_by == SIGTERM   ? "SIGTERM"
                       : yielded_by == SIGHUP  ? "SIGHUP"
                       : yielded_by == SIGXCPU ? "SIGXCPU"
                                               : "SIGUSR1");
  if (control->rank == 0 &&
      now + STEPS_AHEAD * control->longest + WRITING_SLACK * control->writing + control->margin > control->limit)
    return request_for(control, REQUEST_YIELD, "the wall-clock limit is near");
  if (stops) return request_for(control, REQUEST_STOP, "SIGINT");
  if (control->files == REQUEST_STOP) return request_for(control, REQUEST_STOP, "the file 'stop'");
  if (now < control->retry) return REQUEST_NONE;
  if (checkpoints) return request_for(control, REQUEST_CHECKPOINT, "SIGUSR2");
  if (warned) return request_for(control, REQUEST_CHECKPOINT, "SIGCONT");
  if (control->files == REQUEST_CHECKPOINT) return request_for(control, REQUEST_CHECKPOINT, "the file 'checkpoint'");
  if (control->rank == 0 && now >= control->due) return request_for(control, REQUEST_CHECKPOINT, "the clock");
  return REQUEST_NONE;
}

void control_stop(struct control *control, const char *reason)
{
  snprintf(control->reason, sizeof control->reason, "%s", reason);
}

void control_step(struct control *control, double seconds) { control->longest = fmax(control->longest, seconds); }

void control_guess(struct control *control, double seconds)
{
  if (control->writing > 0) return;
  control->writing = seconds;
  set_due(control, timer_clock());
}

void control_wrote(struct control *control, double seconds, int good, int stops)
{
  double now = timer_clock();
  control->failures = good ? 0 : control->failures + (stops != 0);
  if (!good) {
    control->retry = now + RETRY_SECONDS;
    return;
  }
  control->writing = fmax(seconds, 1e-6);
  set_due(control, now);
  checkpoints = 0;
  warned = 0;
  if (control->files == REQUEST_CHECKPOINT) control->files = REQUEST_NONE;
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
