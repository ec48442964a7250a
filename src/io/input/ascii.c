/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text with seven columns x y z vx vy vz m. '#' begins a comment; spaces, tabs, commas and semicolons separate columns.
 * All particles have type 1. Every rank reads the lines before its own without parsing them. */
#include <config.h>
#include <math.h>
#include <stdio.h>
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
    double value = 0;
    int length = (int)strcspn(at, separators);
    if (lines_number(at, length, &value) != 0)
      return fault_set(fault, "%s:%lld: '%.*s' in column %d is not a number; expected %s", lines->path,
                       (long long)lines->number, length < 40 ? length : 40, at, n + 1, expected);
    if (n < COLUMNS) x[n] = value;
    at += length;
  }
  if (n != COLUMNS)
    return fault_set(fault, "%s:%lld: %d numbers; expected seven: x y z vx vy vz m%s", lines->path,
                     (long long)lines->number, n,
                     strchr(lines->text, ',') && !strchr(lines->text, '.') ? ", with decimal points" : "");
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

/* What the first lines show of their columns. */
struct columns_seen {
  int64_t lines;
  double first[COLUMNS];                  /* line */
  int varies[COLUMNS], positive[COLUMNS]; /* not the same in all lines; above 0 in all */
  int64_t negative;                       /* line in the file of the first number below 0 in column 7; 0: none */
  double mass;                            /* that number */
};

static void see(struct columns_seen *seen, const double x[COLUMNS], int64_t number)
{
  for (int c = 0; c < COLUMNS; c++) {
    if (seen->lines == 0) {
      seen->first[c] = x[c];
      seen->positive[c] = 1;
    }
    seen->varies[c] |= x[c] != seen->first[c];
    seen->positive[c] &= x[c] > 0;
  }
  if (x[COLUMNS - 1] < 0 && seen->negative == 0) {
    seen->negative = number;
    seen->mass = x[COLUMNS - 1];
  }
  seen->lines++;
}

#define MASS_FIRST                                                       \
  "is the mass in column 1? Expected x y z vx vy vz m: to move it, awk " \
  "'{print $2,$3,$4,$5,$6,$7,$1}' FILE"

/* Programs for star clusters write the mass first. A fault where column 1 must be the mass, a doubt where it may be. */
static int check_columns(const char *path, const struct columns_seen *seen, struct initial_doubts *doubts,
                         struct fault *fault)
{
  enum { LINES_MIN = 10 };
  int last = COLUMNS - 1, alike = !seen->varies[0] && seen->varies[last] && seen->lines >= LINES_MIN;
  if (seen->lines == 0 || !seen->positive[0]) return 0;
  if (seen->negative)
    return fault_set(
        fault, "%s:%lld: column 7 is %g; expected a finite mass >= 0; column 1 is positive in all lines: " MASS_FIRST,
        path, (long long)seen->negative, seen->mass);
  if (alike)
    return fault_set(fault, "%s: column 1 is %g in all lines, and column 7 is not the same: " MASS_FIRST, path,
                     seen->first[0]);
  doubts->mass_first = seen->lines >= LINES_MIN && seen->varies[last] && seen->positive[last] && !seen->positive[1] &&
                       !seen->positive[2] && !seen->positive[3];
  return 0;
}

static int inspect(const char *path, struct set_header *header, struct set_file *file, struct fault *fault)
{
  enum { LINES_SEEN = 10000 }; /* other text files are reported before all lines are counted */
  struct lines l;
  struct columns_seen seen = {.lines = 0};
  double x[COLUMNS];
  if (lines_open(&l, path, fault) != 0) return -1;
  int more;
  while ((more = next_line(&l, fault)) == 1) {
    if (file->count[1]++ >= LINES_SEEN) continue;
    if (parse(&l, x, fault) != 0) break;
    see(&seen, x, l.number);
  }
  lines_close(&l);
  header->files = 1;
  snprintf(header->facts.format, sizeof header->facts.format, "ASCII, 7 columns");
  if (!fault->text[0]) check_columns(path, &seen, &header->facts.doubts, fault);
  return fault->text[0] ? -1 : 0;
}

static int read_rows(const struct set *set, int k, int64_t first, int64_t count, struct particles *particles,
                     int64_t at, struct fault *fault)
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
    memcpy(particles->pos + 3 * i, x, 3 * sizeof *x);
    memcpy(particles->vel + 3 * i, x + 3, 3 * sizeof *x);
    set_mass(particles, i, x[6], path, row + 1, fault);
  }
  lines_close(&l);
  return fault->text[0] ? -1 : 0;
}

const struct set_format format_ascii = {.inspect = inspect, .read = read_rows};
