/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text with seven columns x y z vx vy vz m. '#' begins a comment; spaces, tabs, commas and semicolons separate columns. All
 * particles have type 1. Every rank reads the lines before its own without parsing them. */
#include <config.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input/input.h"
#include "io/input/set.h"

enum { COLUMNS = 7, LINE_MAX_BYTES = 4096 };
static const char separators[] = " \t,;\r\n\v\f";

struct text {
  FILE *file;
  const char *path;
  long long line;
  char content[LINE_MAX_BYTES];
};

static int text_open(struct text *t, const char *path, struct fault *f)
{
  struct input in;
  if (input_open(&in, path, f) != 0) return -1;
  t->path = path;
  t->line = 0;
  t->file = fdopen(in.fd, "r");
  if (!t->file) input_close(&in);
  return t->file ? 0 : fault_set(f, "%s cannot be opened", path);
}

/* Skip the rest of a line. Comments may have any length. */
static void skip_rest(struct text *t)
{
  for (int c = getc(t->file); c != EOF && c != '\n'; c = getc(t->file)) continue;
}

/* The next line with numbers: 1, 0 at the end, -1 fault. */
static int next_line(struct text *t, struct fault *f)
{
  while (fgets(t->content, LINE_MAX_BYTES, t->file)) {
    t->line++;
    char *comment = strchr(t->content, '#');
    if (!strchr(t->content, '\n') && !feof(t->file)) {
      if (!comment)
        return fault_set(f, "%s:%lld: the line has more than %d characters or a zero byte; expected seven numbers "
                         "x y z vx vy vz m", t->path, t->line, LINE_MAX_BYTES - 2);
      skip_rest(t);
    }
    if (comment) *comment = 0;
    if (t->content[strspn(t->content, separators)]) return 1;
  }
  return ferror(t->file) ? fault_set(f, "%s:%lld: reading failed", t->path, t->line + 1) : 0;
}

static int parse(const struct text *t, double x[COLUMNS], struct fault *f)
{
  const char *at = t->content;
  int n = 0;
  for (at += strspn(at, separators); *at; at += strspn(at, separators), n++) {
    char *end;
    double value = strtod(at, &end);
    int length = (int)strcspn(at, separators);
    if (end != at + length)
      return fault_set(f, "%s:%lld: '%.*s' in column %d is not a number; expected seven numbers x y z vx vy vz m", t->path, t->line,
                       length < 40 ? length : 40, at, n + 1);
    if (n < COLUMNS) x[n] = value;
    at = end;
  }
  if (n != COLUMNS)
    return fault_set(f, "%s:%lld: %d numbers; expected seven: x y z vx vy vz m", t->path, t->line, n);
  return 0;
}

static int check_values(const struct text *t, const double x[COLUMNS], struct fault *f)
{
  for (int c = 0; c < COLUMNS; c++)
    if (!isfinite(x[c]) || (c == COLUMNS - 1 && x[c] < 0))
      return fault_set(f, "%s:%lld: column %d is %g; expected %s", t->path, t->line, c + 1, x[c],
                       c == COLUMNS - 1 ? "a finite mass >= 0" : "a finite number");
  return 0;
}

static int inspect(const char *path, struct set_header *h, struct set_file *file, struct fault *f)
{
  struct text t;
  double x[COLUMNS];
  if (text_open(&t, path, f) != 0) return -1;
  int more;
  while ((more = next_line(&t, f)) == 1) {
    if (file->count[1] == 0 && parse(&t, x, f) != 0) break;   /* reports other text files before all lines are counted */
    file->count[1]++;
  }
  fclose(t.file);
  h->files = 1;
  snprintf(h->facts.format, sizeof h->facts.format, "ASCII, 7 columns");
  return f->text[0] ? -1 : 0;
}

static int read_rows(const struct set *s, int k, int64_t first, int64_t count, struct particles *p, int64_t at, struct fault *f)
{
  char path[SET_PATH];
  struct text t;
  double x[COLUMNS];
  set_path(s, k, path);
  if (text_open(&t, path, f) != 0) return -1;
  for (int64_t row = 0; row < first + count && !f->text[0]; row++) {
    int more = next_line(&t, f);
    if (more == 0) fault_set(f, "%s has fewer lines than when it was opened: another program is changing it", path);
    if (more != 1 || row < first || parse(&t, x, f) != 0 || check_values(&t, x, f) != 0) continue;
    int64_t i = at + row - first;
    memcpy(p->pos + 3 * i, x, 3 * sizeof *x);
    memcpy(p->vel + 3 * i, x + 3, 3 * sizeof *x);
    set_mass(p, i, x[6], path, row + 1, f);
  }
  fclose(t.file);
  return f->text[0] ? -1 : 0;
}

const struct set_format format_ascii = {.inspect = inspect, .read = read_rows};
