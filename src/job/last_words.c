/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "job/last_words.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/files.h"
#include "params/params.h"

/* Any thread may call this while another thread holds locks of the C library. So no memory is allocated, and files are
 * written by system calls. */
enum { TEXT_MAX = 8192, PATH = PARAM_TEXT + 64 };
static struct {
  char status[PATH], fresh[PATH], cont[PATH];
} names;
static int starting;

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
static size_t rewrite(const char *before, const char *reason, char after[TEXT_MAX])
{
  char date[32];
  time_t now = time(NULL);
  struct tm utc;
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  int at = snprintf(after, TEXT_MAX, "state=failed\nreason=%.1500s", reason);
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

static void write_status(const char *reason)
{
  char before[TEXT_MAX], after[TEXT_MAX];
  read_all(before);
  int ended =
      begins(before, "state=finished\n") || begins(before, "state=untrusted\n") || begins(before, "state=failed\n");
  int reported = starting ? ended : *before && !begins(before, "state=running\n");
  if (reported) return;
  size_t length = rewrite(before, reason, after);
  int file = file_open(names.fresh, O_WRONLY | O_CREAT | O_TRUNC);
  if (file < 0) return;
  int good = write(file, after, length) == (ssize_t)length;
  if (close(file) || !good || rename(names.fresh, names.status)) unlink(names.fresh);
  else unlink(names.cont);
}

void abort_status_open(const char *folder, int rank, int is_starting)
{
  starting = is_starting;
  snprintf(names.status, PATH, "%.*s/status", PARAM_TEXT, folder);
  snprintf(names.fresh, PATH, "%.*s/status.%d.tmp", PARAM_TEXT, folder, rank);
  snprintf(names.cont, PATH, "%.*s/cont", PARAM_TEXT, folder);
  /* the first call reads the time zone; later calls need neither memory nor files */
  struct tm utc;
  gmtime_r(&(time_t){0}, &utc);
  fatal_listener(write_status);
}

void abort_status_close(void) { fatal_listener(NULL); }
