/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "last_words.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fault.h"
#include "params.h"

/* Any thread may come here while another is in the midst of anything, so memory is not asked for, and files are written by plain
 * system calls. */
enum { ROOM = 8192, PATH = PARAM_TEXT + 64 };
static struct {
  char status[PATH], fresh[PATH], cont[PATH];
} names;
static int starting;

static int begins(const char *line, const char *with) { return strncmp(line, with, strlen(with)) == 0; }

/* The file as it is; empty where there is none. */
static void read_all(char text[ROOM])
{
  int file = open(names.status, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : read(file, text, ROOM - 1);
  text[length > 0 ? length : 0] = 0;
  if (file >= 0) close(file);
}

/* How far the run has come, and its last checkpoint, stay as they were told; what it expected does not. */
static size_t rewrite(const char *before, const char *reason, char after[ROOM])
{
  char date[32];
  time_t now = time(NULL);
  struct tm utc;
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  int at = snprintf(after, ROOM, "state=failed\nreason=%.1500s", reason);
  for (char *c = after + sizeof "state=failed"; *c; c++)   /* it is one line */
    if (*c == '\n') *c = ' ';
  at += snprintf(after + at, (size_t)(ROOM - at), "\n");
  for (const char *line = before; *line;) {
    int length = (int)strcspn(line, "\n");
    int stays = !begins(line, "state=") && !begins(line, "reason=") && !begins(line, "eta=") && !begins(line, "walltime_left=") &&
                !begins(line, "updated=");
    if (stays && at + length + 64 < ROOM) at += snprintf(after + at, (size_t)(ROOM - at), "%.*s\n", length, line);
    line += length + (line[length] != 0);
  }
  return (size_t)(at + snprintf(after + at, (size_t)(ROOM - at), "updated=%s\n", date));
}

static void tell(const char *reason)
{
  char before[ROOM], after[ROOM];
  read_all(before);
  int told = starting ? begins(before, "state=finished\n") || begins(before, "state=failed\n") : *before && !begins(before, "state=running\n");
  if (told) return;
  size_t length = rewrite(before, reason, after);
  int file = open(names.fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  int good = write(file, after, length) == (ssize_t)length;
  if (close(file) || !good || rename(names.fresh, names.status)) unlink(names.fresh);
  else unlink(names.cont);
}

void last_words_open(const char *folder, int rank, int is_starting)
{
  starting = is_starting;
  snprintf(names.status, PATH, "%.*s/status", PARAM_TEXT, folder);
  snprintf(names.fresh, PATH, "%.*s/status.%d.tmp", PARAM_TEXT, folder, rank);
  snprintf(names.cont, PATH, "%.*s/cont", PARAM_TEXT, folder);
  /* asked once, it needs no memory and no file when the words are said */
  struct tm utc;
  gmtime_r(&(time_t){0}, &utc);
  fatal_listener(tell);
}

void last_words_close(void) { fatal_listener(NULL); }
