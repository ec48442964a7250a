/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "job/status.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

static void replace(struct status *s, const char *state, const char *reason)
{
  char path[PARAM_TEXT + 32], temporary[PARAM_TEXT + 32];
  snprintf(path, sizeof path, "%s/status", s->par->OutputDir);
  snprintf(temporary, sizeof temporary, "%s/status.tmp", s->par->OutputDir);
  FILE *out = fopen(temporary, "w");
  if (out) write_lines(out, s, state, reason);
  int bad = !out || fflush(out) || ferror(out);
  if (out && fclose(out)) bad = 1;
  if (!bad && rename(temporary, path)) bad = 1;
  if (bad && !s->warned) fprintf(stderr, "espalier: warning: %s cannot be written: %s\n", path, strerror(errno));
  if (bad) unlink(temporary);
  s->warned = bad;
  s->written = timer_clock();
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
  if (now || timer_clock() - s->written > EVERY_SECONDS) replace(s, "running", "");
}

int status_end(struct status *s, const char *state, const char *reason, int again)
{
  replace(s, state, reason);
  return set_cont(s, again);
}

/* Read the value of a key from the status file; empty where there is none. */
static void reported(const struct params *p, const char *key, char value[64])
{
  char path[PARAM_TEXT + 32], line[1024];
  size_t length = strlen(key);
  value[0] = 0;
  snprintf(path, sizeof path, "%s/status", p->OutputDir);
  FILE *in = fopen(path, "r");
  while (in && fgets(line, sizeof line, in))
    if (strncmp(line, key, length) == 0 && line[length] == '=')
      snprintf(value, 64, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
  if (in) fclose(in);
}

static int has_finished(const struct params *p)
{
  char state[64];
  reported(p, "state", state);
  return strcmp(state, "finished") == 0;
}

int status_finished(const struct params *p, long long *step, double *time)
{
  char number[64];
  reported(p, "step", number);
  *step = atoll(number);
  reported(p, "time", number);
  *time = atof(number);
  return number[0] && has_finished(p);
}

void status_not_started(const struct params *p, int ranks, const char *reason)
{
  struct status s = {.par = p, .ranks = ranks, .backend = "", .started = timer_clock(), .ends = HUGE_VAL};
  char number[64];
  struct fault foreign = {""};
  if (access(p->OutputDir, W_OK) || has_finished(p) || status_check(p, &foreign)) return;
  reported(p, "step", number);
  s.step = atoll(number);
  reported(p, "time", number);
  s.time = s.begin = atof(number);
  reported(p, "energy_error", number);
  s.energy_error = number[0] ? atof(number) : NAN;
  reported(p, "checkpoint", s.checkpoint);
  reported(p, "checkpoint_step", number);
  s.checkpoint_step = atoll(number);
  status_end(&s, "failed", reason, 0);
}

void status_nothing_left(struct status *s)
{
  if (access(s->par->OutputDir, W_OK)) return;
  if (has_finished(s->par)) set_cont(s, 0);
  else status_end(s, "finished", "TimeMax", 0);
}
