/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "job/status.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/bytes.h"
#include "base/timer.h"

#define EVERY_SECONDS 5.0
enum { ATTEMPTS_AT_END = 10, RETRY_NANOSECONDS = 200000000 }; /* two seconds: an end is reported once only */
#define FIRST "state="                                        /* the file begins with it */

static void date(char text[32])
{
  time_t now = time(NULL);
  struct tm utc;
  strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

static void write_lines(FILE *out, const struct status *status, const char *state, const char *reason)
{
  char now[32];
  double clock = timer_clock(), elapsed = clock - status->started, done = status->time - status->begin,
         left = status->par->TimeMax - status->time;
  date(now);
  fprintf(out, FIRST "%s\nreason=%s\nstep=%lld\ntime=%.17g\ntime_max=%.17g\n", state, reason, status->step,
          status->time, status->par->TimeMax);
  fprintf(out, "checkpoint=%s\ncheckpoint_step=%lld\n", status->checkpoint, status->checkpoint_step);
  if (isfinite(status->energy_error)) fprintf(out, "energy_error=%.3e\n", status->energy_error);
  if (status->missing[0]) fprintf(out, "snapshots_missing=%s\n", status->missing);
  if (status->unwritten > 0) fprintf(out, "table_bytes_unwritten=%lld\n", status->unwritten);
  fprintf(out, "ranks=%d\nbackend=%s\nelapsed=%.1f\n", status->ranks, status->backend, elapsed);
  if (isfinite(status->ends)) fprintf(out, "walltime_left=%.0f\n", status->ends - clock);
  if (done > 0) fprintf(out, "eta=%.0f\n", elapsed * left / done);
  fprintf(out, "updated=%s\n", now);
}

/* Whether `path` does not exist or is a file of a run: empty, or beginning with `begin` (NULL: any regular file). */
static int is_own(const char *path, const char *begin)
{
  char found[16] = "";
  FILE *in = file_stream(path, "r");
  if (!in) return access(path, F_OK) != 0;
  size_t length = begin ? fread(found, 1, sizeof found - 1, in) : 0;
  fclose(in);
  return length == 0 || (*begin && strncmp(found, begin, strlen(begin)) == 0);
}

int status_check(const struct params *params, struct fault *fault)
{
  /* cont must be empty */
  static const char *const files[][2] = {{"status", FIRST}, {"status.tmp", NULL}, {"cont", ""}};
  char path[PARAM_TEXT + 32];
  for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
    snprintf(path, sizeof path, "%s/%s", params->OutputDir, files[k][0]);
    if (is_own(path, files[k][1])) continue;
    return fault_set(fault,
                     "%s exists and is not of a run, which would replace it; move it away, or choose another OutputDir",
                     path);
  }
  return 0;
}

/* Write a new file and rename it. 0, or -1 with errno. */
static int write_renamed(const struct params *params, const char *path, const char *text)
{
  char temporary[PARAM_TEXT + 32];
  snprintf(temporary, sizeof temporary, "%s/status.tmp", params->OutputDir);
  FILE *out = file_stream(temporary, "w");
  if (!out) return -1;
  int error = fputs(text, out) < 0 || fflush(out) ? errno : 0;
  if (fclose(out) && !error) error = errno;
  if (!error && rename(temporary, path)) error = errno;
  if (!error) return 0;
  unlink(temporary);
  errno = error;
  return -1;
}

/* Write over the present file, which may succeed on a full disk. 0, or -1. */
static int write_over(const char *path, const char *text)
{
  size_t length = strlen(text);
  int fd = file_open(path, O_WRONLY | O_NOFOLLOW),
      bad = fd < 0 || write_all(fd, text, (int64_t)length, 0) || ftruncate(fd, (off_t)length);
  if (fd >= 0 && close(fd)) bad = 1;
  return bad ? -1 : 0;
}

/* The lines as a text. Owner: caller (free). */
static char *text_of(const struct status *status, const char *state, const char *reason)
{
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) fatal("no memory for a text: %s", strerror(errno));
  write_lines(out, status, state, reason);
  fclose(out);
  return text;
}

/* The text of a run that goes on. Where SIGTERM was reported it may be killed, and the report stays. Owner: caller. */
static char *text_while_running(const struct status *status)
{
  char reason[REASON_TEXT];
  snprintf(reason, sizeof reason, "ended by a second SIGINT; %s", status->continuation);
  char *if_ended = text_of(status, "failed", reason);
  abort_status_prepare(if_ended);
  free(if_ended);
  int said = abort_status_continuation(status->continuation, reason);
  return text_of(status, said ? "failed" : "running", said ? reason : "");
}

/* Replace the status file, in at most `attempts` attempts. Where several fail the run ends, so the file is then written
 * over: it must say so even where it cannot be replaced as a whole. `state` NULL: the run goes on. 0, or -1 with a
 * warning. */
static int replace(struct status *status, const char *state, const char *reason, int attempts)
{
  char path[PARAM_TEXT + 32];
  int bad = -1, error = 0, held = abort_status_hold();
  snprintf(path, sizeof path, "%s/status", status->par->OutputDir);
  if (state) abort_status_prepare(NULL);
  char *text = state ? text_of(status, state, reason) : text_while_running(status);
  for (int k = 0; k < attempts && bad; k++) {
    if (k > 0) nanosleep(&(struct timespec){.tv_nsec = RETRY_NANOSECONDS}, NULL);
    bad = write_renamed(status->par, path, text);
    error = errno;
  }
  if (bad && attempts > 1) bad = write_over(path, text);
  if (bad && !status->warned)
    fprintf(stderr, "espalier: warning: %s cannot be written: %s\n", path, file_reason(error));
  status->warned = bad != 0;
  status->written = timer_clock();
  free(text);
  abort_status_release(held);
  return bad;
}

/* Whether cont is now there, or not, as is wanted; else -1 with errno. */
static int change_cont(const char *path, int there)
{
  FILE *out = there ? file_stream(path, "w") : NULL;
  if (there) return !out || fclose(out) ? -1 : 0;
  if (unlink(path) == 0) return 0;
  int error = errno, gone = access(path, F_OK) && errno == ENOENT;
  errno = error;
  return gone ? 0 : -1;
}

/* Create or remove cont, in at most `attempts` attempts. Returns 0, or -1 with a warning. */
static int set_cont(const struct params *params, int there, int attempts)
{
  char path[PARAM_TEXT + 32];
  snprintf(path, sizeof path, "%s/cont", params->OutputDir);
  int bad = change_cont(path, there);
  for (int k = 1; k < attempts && bad; k++) {
    nanosleep(&(struct timespec){.tv_nsec = RETRY_NANOSECONDS}, NULL);
    bad = change_cont(path, there);
  }
  if (bad)
    fprintf(stderr, "espalier: warning: %s cannot be %s: %s\n", path,
            there ? "written, so no job will follow" : "removed", file_reason(errno));
  return bad;
}

void status_running(struct status *status, int now)
{
  if (now) set_cont(status->par, 0, 1);
  if (now || timer_clock() - status->written > EVERY_SECONDS) replace(status, NULL, "", 1);
}

int status_end(struct status *status, const char *state, const char *reason, int again)
{
  int bad = replace(status, state, reason, ATTEMPTS_AT_END);
  if (set_cont(status->par, again, ATTEMPTS_AT_END)) return -1;
  if (!bad || again) return 0;
  fprintf(stderr, "espalier: error: %s/status could not be replaced: the run is %s (%s), whatever that file says\n",
          status->par->OutputDir, state, reason);
  return -1;
}

/* Read the value of a key from the status file; empty where there is none. */
static void reported(const struct params *params, const char *key, char *value, size_t size)
{
  char path[PARAM_TEXT + 32], line[1024];
  size_t length = strlen(key);
  value[0] = 0;
  snprintf(path, sizeof path, "%s/status", params->OutputDir);
  FILE *in = file_stream(path, "r");
  while (in && fgets(line, sizeof line, in))
    if (strncmp(line, key, length) == 0 && line[length] == '=')
      snprintf(value, size, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
  if (in) fclose(in);
}

int status_missing(const struct params *params, char missing[256])
{
  reported(params, "snapshots_missing", missing, 256);
  return missing[0] != 0;
}

static int has_state(const struct params *params, const char *state)
{
  char found[64];
  reported(params, "state", found, sizeof found);
  return strcmp(found, state) == 0;
}

int status_untrusted(const struct params *params) { return has_state(params, STATE_UNTRUSTED); }
static int has_finished(const struct params *params)
{
  return has_state(params, STATE_FINISHED) || status_untrusted(params);
}

int status_finished(const struct params *params, long long *step, double *time)
{
  char number[64];
  reported(params, "step", number, sizeof number);
  *step = atoll(number);
  reported(params, "time", number, sizeof number);
  *time = atof(number);
  return number[0] && has_finished(params);
}

void status_refused(const struct params *params)
{
  struct fault foreign = {""};
  if (access(params->OutputDir, W_OK) == 0 && status_check(params, &foreign) == 0) set_cont(params, 0, 1);
}

void status_nothing_left(struct status *status)
{
  if (access(status->par->OutputDir, W_OK)) return;
  if (has_finished(status->par)) set_cont(status->par, 0, 1);
  else status_end(status, STATE_FINISHED, "TimeMax", 0);
}
