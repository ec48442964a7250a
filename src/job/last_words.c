/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "job/last_words.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/files.h"
#include "params/params.h"

/* Any thread may call this while another thread holds locks of the C library. So no memory is allocated, and files are
 * written by system calls. */
enum { TEXT_MAX = 16384, PATH = PARAM_TEXT + 64 };
static struct {
  char status[PATH], fresh[PATH], cont[PATH];
} names;
static int starting;

/* The thread that may change the status file; a thread that waits gives up, since the file system may hang. */
enum { WAITS = 200, WAIT_NANOSECONDS = 10000000 };
static atomic_int busy;
static char said[512]; /* the report of SIGTERM; empty: none */
static char continuation[CONTINUATION_TEXT];
/* The status file of a process that a signal handler ends, which reads one while the other one is changed. */
static char ended[2][TEXT_MAX];
static atomic_int ended_now, has_ended;

static int enter(void)
{
  for (int k = 0; k < WAITS; k++) {
    int expected = 0;
    if (atomic_compare_exchange_strong(&busy, &expected, 1)) return 1;
    nanosleep(&(struct timespec){.tv_nsec = WAIT_NANOSECONDS}, NULL);
  }
  return 0;
}

static void leave(int entered)
{
  if (entered) atomic_store(&busy, 0);
}

static int begins(const char *line, const char *with) { return strncmp(line, with, strlen(with)) == 0; }

/* Read the status file; empty where there is none. */
static void read_all(char text[TEXT_MAX])
{
  int file = file_open(names.status, O_RDONLY);
  ssize_t length = file < 0 ? 0 : read(file, text, TEXT_MAX - 1);
  text[length > 0 ? length : 0] = 0;
  if (file >= 0) close(file);
}

/* Write the report to `after`: the new state and reason, and the lines of `before` except its estimates. Returns its
 * length. */
static size_t rewrite(const char *before, const char *reason, const char *more, char after[TEXT_MAX])
{
  char date[32];
  time_t now = time(NULL);
  struct tm utc;
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  int at = snprintf(after, TEXT_MAX, "state=failed\nreason=%.1500s%s%s", reason, *more ? "; " : "", more);
  for (char *c = after + sizeof "state=failed"; *c; c++) /* the reason must be one line */
    if (*c == '\n') *c = ' ';
  at += snprintf(after + at, (size_t)(TEXT_MAX - at), "\n");
  for (const char *line = before; *line;) {
    int length = (int)strcspn(line, "\n");
    int stays = !begins(line, "state=") && !begins(line, "reason=") && !begins(line, "eta=") &&
                !begins(line, "walltime_left=") && !begins(line, "updated=");
    if (stays && at + length + 64 < TEXT_MAX)
      at += snprintf(after + at, (size_t)(TEXT_MAX - at), "%.*s\n", length, line);
    line += length + (line[length] != 0);
  }
  return (size_t)(at + snprintf(after + at, (size_t)(TEXT_MAX - at), "updated=%s\n", date));
}

/* Replace the status file, and remove cont. */
static void put(const char *text, size_t length)
{
  int file = file_open(names.fresh, O_WRONLY | O_CREAT | O_TRUNC);
  if (file < 0) return;
  int good = write(file, text, length) == (ssize_t)length;
  if (close(file) || !good || rename(names.fresh, names.status)) unlink(names.fresh);
  else unlink(names.cont);
}

static void write_status(const char *reason, int last)
{
  char before[TEXT_MAX], after[TEXT_MAX];
  if (!last && starting) return; /* nothing is computed yet: the status of the job before stays */
  int entered = enter();
  if (!entered && !last) return;
  read_all(before);
  int ended_before =
      begins(before, "state=finished\n") || begins(before, "state=untrusted\n") || begins(before, "state=failed\n");
  int reported = starting ? ended_before : *before && !begins(before, "state=running\n");
  if (!reported) {
    if (!last) snprintf(said, sizeof said, "%s", reason);
    put(after, rewrite(before, reason, last ? "" : continuation, after));
  }
  leave(entered);
}

void abort_status_open(const char *folder, int rank, int is_starting)
{
  int entered = enter();
  starting = is_starting;
  snprintf(names.status, PATH, "%.*s/status", PARAM_TEXT, folder);
  snprintf(names.fresh, PATH, "%.*s/status.%d.tmp", PARAM_TEXT, folder, rank);
  snprintf(names.cont, PATH, "%.*s/cont", PARAM_TEXT, folder);
  leave(entered);
  /* the first call reads the time zone; later calls need neither memory nor files */
  struct tm utc;
  gmtime_r(&(time_t){0}, &utc);
  fatal_listener(write_status);
}

void abort_status_close(void)
{
  fatal_listener(NULL);
  atomic_store(&has_ended, 0);
}

int abort_status_hold(void) { return enter(); }
void abort_status_release(int held) { leave(held); }

int abort_status_continuation(const char *text, char reason[REASON_TEXT])
{
  snprintf(continuation, sizeof continuation, "%s", text);
  if (said[0]) snprintf(reason, REASON_TEXT, "%s%s%s", said, *text ? "; " : "", text);
  return said[0] != 0;
}

void abort_status_prepare(const char *text)
{
  int next = !atomic_load(&ended_now);
  if (!text || strlen(text) >= TEXT_MAX) {
    atomic_store(&has_ended, 0);
    return;
  }
  strcpy(ended[next], text);
  atomic_store(&ended_now, next);
  atomic_store(&has_ended, 1);
}

void abort_status_write_prepared(void)
{
  const char *text = ended[atomic_load(&ended_now)];
  if (names.status[0] && atomic_exchange(&has_ended, 0)) put(text, strlen(text));
}
