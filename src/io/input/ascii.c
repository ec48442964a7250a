/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text with seven columns x y z vx vy vz m. '#' begins a comment; spaces, tabs, commas and semicolons separate columns.
 * All particles have type 1. Every rank reads the lines before its own without parsing them. */
#include <config.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "io/input/set.h"

enum { COLUMNS = 7 };
static const char separators[] = " \t,;\r\n\v\f", expected[] = "seven numbers x y z vx vy vz m";

/* The next line with numbers: 1, 0 at the end, -1 fault. */
static int next_line(struct lines *lines, struct fault *fault)
{
  int more;
  while ((more = lines_next(lines, expected, fault)) == 1)
    if (lines->text[strspn(lines->text, separators)]) break;
  return more;
}

static int parse(const struct lines *lines, double x[COLUMNS], struct fault *fault)
{
  const char *at = lines->text;
  int n = 0;
  for (at += strspn(at, separators); *at; at += strspn(at, separators), n++) {
    char *end;
    double value = strtod(at, &end);
    int length = (int)strcspn(at, separators);
    if (end != at + length)
      return fault_set(fault, "%s:%lld: '%.*s' in column %d is not a number; expected %s", lines->path,
                       (long long)lines->number, length < 40 ? length : 40, at, n + 1, expected);
    if (n < COLUMNS) x[n] = value;
    at = end;
  }
  if (n != COLUMNS)
    return fault_set(fault, "%s:%lld: %d numbers; expected seven: x y z vx vy vz m", lines->path,
                     (long long)lines->number, n);
  return 0;
}

static int check_values(const struct lines *lines, const double x[COLUMNS], struct fault *fault)
{
  for (int c = 0; c < COLUMNS; c++)
    if (!isfinite(x[c]) || (c == COLUMNS - 1 && x[c] < 0))
      return fault_set(fault, "%s:%lld: column %d is %g; expected %s", lines->path, (long long)lines->number, c + 1,
                       x[c], c == COLUMNS - 1 ? "a finite mass >= 0" : "a finite number");
  return 0;
}

static int inspect(const char *path, struct set_header *header, struct set_file *file, struct fault *fault)
{
  struct lines l;
  double x[COLUMNS];
  if (lines_open(&l, path, fault) != 0) return -1;
  int more;
  while ((more = next_line(&l, fault)) == 1) {
    /* reports other text files before all lines are counted */
    if (file->count[1] == 0 && parse(&l, x, fault) != 0) break;
    file->count[1]++;
  }
  lines_close(&l);
  header->files = 1;
  snprintf(header->facts.format, sizeof header->facts.format, "ASCII, 7 columns");
  return fault->text[0] ? -1 : 0;
}

static int read_rows(const struct set *set, int k, int64_t first, int64_t count, struct particles *p, int64_t at,
                     struct fault *fault)
{
  char path[SET_PATH];
  struct lines l;
  double x[COLUMNS];
  set_path(set, k, path);
  if (lines_open(&l, path, fault) != 0) return -1;
  for (int64_t row = 0; row < first + count && !fault->text[0]; row++) {
    int more = next_line(&l, fault);
    if (more == 0) fault_set(fault, "%s has fewer lines than when it was opened: another program is changing it", path);
    if (more != 1 || row < first || parse(&l, x, fault) != 0 || check_values(&l, x, fault) != 0) continue;
    int64_t i = at + row - first;
    memcpy(p->pos + 3 * i, x, 3 * sizeof *x);
    memcpy(p->vel + 3 * i, x + 3, 3 * sizeof *x);
    set_mass(p, i, x[6], path, row + 1, fault);
  }
  lines_close(&l);
  return fault->text[0] ? -1 : 0;
}

const struct set_format format_ascii = {.inspect = inspect, .read = read_rows};
