/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "job/status.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/timer.h"

#define EVERY_SECONDS 5.0
#define FIRST "state="   /* the file begins with it */

static void date(char text[32])
{
  time_t now = time(NULL);
  struct tm utc;
  strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

static void write_lines(FILE *out, const struct status *s, const char *state, const char *reason)
{
  char now[32];
  double clock = timer_clock(), elapsed = clock - s->started, done = s->time - s->begin, left = s->par->TimeMax - s->time;
  date(now);
  fprintf(out, FIRST "%s\nreason=%s\nstep=%lld\ntime=%.17g\ntime_max=%.17g\n", state, reason, s->step, s->time, s->par->TimeMax);
  fprintf(out, "checkpoint=%s\ncheckpoint_step=%lld\n", s->checkpoint, s->checkpoint_step);
  if (isfinite(s->energy_error)) fprintf(out, "energy_error=%.3e\n", s->energy_error);
  if (s->missing[0]) fprintf(out, "snapshots_missing=%s\n", s->missing);
  if (s->unwritten > 0) fprintf(out, "table_bytes_unwritten=%lld\n", s->unwritten);
  fprintf(out, "ranks=%d\nbackend=%s\nelapsed=%.1f\n", s->ranks, s->backend, elapsed);
  if (isfinite(s->ends)) fprintf(out, "walltime_left=%.0f\n", s->ends - clock);
  if (done > 0) fprintf(out, "eta=%.0f\n", elapsed * left / done);
  fprintf(out, "updated=%s\n", now);
}

/* Whether `path` does not exist or is a file of a run: empty, or beginning with `begin` (NULL: empty only). */
static int is_own(const char *path, const char *begin)
{
  char found[16] = "";
  struct stat st;
  if (stat(path, &st)) return 1;
  FILE *in = S_ISREG(st.st_mode) && st.st_size > 0 && begin ? fopen(path, "r") : NULL;
  if (!in) return S_ISREG(st.st_mode) && st.st_size == 0;
  size_t length = fread(found, 1, strlen(begin), in);
  fclose(in);
  return length == strlen(begin) && strcmp(found, begin) == 0;
}

int status_check(const struct params *p, struct fault *f)
{
  static const char *const files[][2] = {{"status", FIRST}, {"cont", NULL}};
  char path[PARAM_TEXT + 32];
  for (int k = 0; k < 2; k++) {
    snprintf(path, sizeof path, "%s/%s", p->OutputDir, files[k][0]);
    if (is_own(path, files[k][1])) continue;
    return fault_set(f, "%s exists and is not of a run, which would replace it; move it away, or choose another OutputDir", path);
  }
  return 0;
}

/* Write a new file and rename it. 0, or -1 with errno. */
static int write_renamed(const struct params *p, const char *path, const char *text)
{
  char temporary[PARAM_TEXT + 32];
  snprintf(temporary, sizeof temporary, "%s/status.tmp", p->OutputDir);
  FILE *out = fopen(temporary, "w");
  int bad = !out || fputs(text, out) < 0 || fflush(out), error = errno;
  if (out && fclose(out)) bad = 1, error = errno;
  if (!bad && rename(temporary, path)) bad = 1, error = errno;
  if (bad) unlink(temporary);
  errno = error;
  return bad ? -1 : 0;
}

/* Write over the present file, which may succeed on a full disk. 0, or -1. */
static int write_over(const char *path, const char *text)
{
  struct stat st;
  size_t length = strlen(text);
  int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  int bad = fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || write_all(fd, text, (int64_t)length, 0) || ftruncate(fd, (off_t)length);
  if (fd >= 0 && close(fd)) bad = 1;
  return bad ? -1 : 0;
}

/* `last` 1: the run ends, so the file must say so even where it cannot be replaced as a whole. */
static void replace(struct status *s, const char *state, const char *reason, int last)
{
  char path[PARAM_TEXT + 32], *text = NULL;
  size_t size;
  snprintf(path, sizeof path, "%s/status", s->par->OutputDir);
  FILE *out = open_memstream(&text, &size);
  if (!out) fatal("no memory for a text: %s", strerror(errno));
  write_lines(out, s, state, reason);
  fclose(out);
  int bad = write_renamed(s->par, path, text), error = errno;
  if (bad && last && write_over(path, text) == 0) bad = 0;
  if (bad && !s->warned) fprintf(stderr, "espalier: warning: %s cannot be written: %s\n", path, strerror(error));
  s->warned = bad;
  s->written = timer_clock();
  free(text);
}

/* Create or remove cont. Returns 0, or -1 with a warning. */
static int set_cont(const struct status *s, int there)
{
  char path[PARAM_TEXT + 32];
  snprintf(path, sizeof path, "%s/cont", s->par->OutputDir);
  FILE *out = there ? fopen(path, "w") : NULL;
  int bad = there ? !out || fclose(out) : unlink(path) && errno != ENOENT;
  if (bad)
    fprintf(stderr, "espalier: warning: %s cannot be %s: %s\n", path, there ? "written, so no job will follow" : "removed",
            strerror(errno));
  return bad ? -1 : 0;
}

void status_running(struct status *s, int now)
{
  if (now) set_cont(s, 0);
  if (now || timer_clock() - s->written > EVERY_SECONDS) replace(s, "running", "", 0);
}

int status_end(struct status *s, const char *state, const char *reason, int again)
{
  replace(s, state, reason, 1);
  return set_cont(s, again);
}

/* Read the value of a key from the status file; empty where there is none. */
static void reported(const struct params *p, const char *key, char *value, size_t size)
{
  char path[PARAM_TEXT + 32], line[1024];
  size_t length = strlen(key);
  value[0] = 0;
  snprintf(path, sizeof path, "%s/status", p->OutputDir);
  FILE *in = fopen(path, "r");
  while (in && fgets(line, sizeof line, in))
    if (strncmp(line, key, length) == 0 && line[length] == '=')
      snprintf(value, size, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
  if (in) fclose(in);
}

int status_missing(const struct params *p, char missing[256])
{
  reported(p, "snapshots_missing", missing, 256);
  return missing[0] != 0;
}

static int has_finished(const struct params *p)
{
  char state[64];
  reported(p, "state", state, sizeof state);
  return strcmp(state, "finished") == 0;
}

int status_finished(const struct params *p, long long *step, double *time)
{
  char number[64];
  reported(p, "step", number, sizeof number);
  *step = atoll(number);
  reported(p, "time", number, sizeof number);
  *time = atof(number);
  return number[0] && has_finished(p);
}

void status_not_started(const struct params *p, int ranks, const char *reason)
{
  struct status s = {.par = p, .ranks = ranks, .backend = "", .started = timer_clock(), .ends = HUGE_VAL};
  char number[64];
  struct fault foreign = {""};
  if (access(p->OutputDir, W_OK) || has_finished(p) || status_check(p, &foreign)) return;
  reported(p, "step", number, sizeof number);
  s.step = atoll(number);
  reported(p, "time", number, sizeof number);
  s.time = s.begin = atof(number);
  reported(p, "energy_error", number, sizeof number);
  s.energy_error = number[0] ? atof(number) : NAN;
  reported(p, "checkpoint", s.checkpoint, sizeof s.checkpoint);
  reported(p, "checkpoint_step", number, sizeof number);
  s.checkpoint_step = atoll(number);
  status_missing(p, s.missing);
  reported(p, "table_bytes_unwritten", number, sizeof number);
  s.unwritten = atoll(number);
  status_end(&s, "failed", reason, 0);
}

void status_nothing_left(struct status *s)
{
  if (access(s->par->OutputDir, W_OK)) return;
  if (has_finished(s->par)) set_cont(s, 0);
  else status_end(s, "finished", "TimeMax", 0);
}
