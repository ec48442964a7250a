/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/resumed.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

enum { LINE = 8192, PATH = 4096 + 64 };

void resumed_report_gap(FILE *table, const char *path, const struct spool_check *found, long long written,
                        long long step)
{
  char text[256];
  const char *what = found->size < 0 ? "is missing" : found->size < written ? "is too short" : "was changed";
  snprintf(text, sizeof text,
           "%s: of the %lld bytes at the checkpoint %lld are left, of which the first %lld or more are unchanged", what,
           written, found->keep, found->agree < found->keep ? found->agree : found->keep);
  fprintf(stderr, "espalier: warning: %s %s; the run adds its rows after a comment line\n", path, text);
  fprintf(table, "# restart in soft step %lld: this table %s\n", step, text);
}

/* The first line that is no comment, without its end; "" where there is none, or not all of it. */
static void read_names(FILE *in, char names[LINE])
{
  while (fgets(names, LINE, in)) {
    char *end = strchr(names, '\n');
    if (names[0] == '#' && end) continue;
    if (end) *end = 0;
    if (end && names[0] != '#') return;
  }
  names[0] = 0;
}

int resumed_columns(const char *path, void (*header)(FILE *out))
{
  char text[LINE] = "", now[LINE] = "", was[LINE] = "";
  FILE *file = file_stream(path, "r"), *memory = fmemopen(text, sizeof text - 1, "w");
  if (memory) {
    header(memory);
    fclose(memory);
  }
  if (file) {
    read_names(file, was);
    fclose(file);
  }
  memory = fmemopen(text, strlen(text) + 1, "r");
  if (memory) {
    read_names(memory, now);
    fclose(memory);
  }
  if (!was[0] || !now[0] || strcmp(was, now) == 0) return 0;
  size_t length = strlen(was);
  if (strncmp(was, now, length) != 0 || now[length] != ',') return -1;
  int columns = 1;
  for (const char *p = was; *p; p++) columns += *p == ',';
  return columns;
}

void resumed_report_columns(const char *path, int columns)
{
  fprintf(
      stderr,
      "espalier: warning: %s was begun by an older version, with %d columns; the rows of this run have these, too\n",
      path, columns);
}

int resumed_move(const char *path, const char *reason, long long step, struct fault *fault)
{
  char aside[PATH];
  const char *dot = strrchr(path, '.');
  int length = (int)(dot ? dot - path : (long)strlen(path)), n = 1;
  do snprintf(aside, sizeof aside, "%.*s-before-step-%lld-%d%s", length, path, step, n++, dot ? dot : "");
  while (access(aside, F_OK) == 0 && n < 1000);
  if (rename(path, aside)) return fault_set(fault, "%s cannot be renamed to %s: %s", path, aside, strerror(errno));
  fprintf(stderr, "espalier: warning: %s %s; its rows are in %s now, and the run begins a new table\n", path, reason,
          aside);
  return 0;
}
