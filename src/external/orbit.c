/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "external/orbit.h"

#include <gsl/gsl_interp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/memory.h"

enum { LEAST = 3, LONGEST = 10000000, COLUMNS = 4, COLUMNS_WITH_VELOCITY = 7 };

struct orbit {
  size_t count, room;
  double *t, *x[3];
  gsl_interp *spline[3];
};

static const char separators[] = " \t,\r\n", expected[] = "t x y z";

/* The numbers of a line; returns how many there are (at most one more than COLUMNS_WITH_VELOCITY), or -1 with a fault. */
static int parse(const struct lines *l, double row[COLUMNS_WITH_VELOCITY], struct fault *f)
{
  int n = 0;
  for (const char *at = l->text + strspn(l->text, separators); *at; at += strspn(at, separators)) {
    char *end;
    double value = strtod(at, &end);
    int length = (int)strcspn(at, separators);
    if (end != at + length || !isfinite(value))
      return fault_set(f, "%s:%lld: '%.*s' in column %d is not a finite number; expected t x y z of an orbit", l->path, (long long)l->number,
                       length < 40 ? length : 40, at, n + 1);
    if (n < COLUMNS_WITH_VELOCITY) row[n] = value;
    if (n <= COLUMNS_WITH_VELOCITY) n++;
    at = end;
  }
  return n;
}

static void append(struct orbit *o, const double *row)
{
  if (o->count == o->room) {
    o->room = 2 * o->room + 64;
    double **all[4] = {&o->t, &o->x[0], &o->x[1], &o->x[2]};
    for (int k = 0; k < 4; k++) {
      double *more = memory_alloc("external field", sizeof *more * o->room);
      if (o->count) memcpy(more, *all[k], sizeof *more * o->count);
      memory_free(*all[k]);
      *all[k] = more;
    }
  }
  o->t[o->count] = row[0];
  for (int c = 0; c < 3; c++) o->x[c][o->count] = row[1 + c];
  o->count++;
}

static int read_rows(struct orbit *o, struct lines *l, struct fault *f)
{
  double row[COLUMNS_WITH_VELOCITY];
  int more;
  while ((more = lines_next(l, expected, f)) == 1) {
    if (!l->text[strspn(l->text, separators)]) continue;
    int n = parse(l, row, f);
    if (n < 0) return -1;
    if (n != COLUMNS && n != COLUMNS_WITH_VELOCITY)
      return fault_set(f, "%s:%lld: %d numbers; expected four of an orbit, t x y z, or seven, with vx vy vz", l->path, (long long)l->number, n);
    if (o->count > 0 && !(row[0] > o->t[o->count - 1]))
      return fault_set(f, "%s:%lld: expected a time above %.15g, that of the line before, found %.15g", l->path, (long long)l->number,
                       o->t[o->count - 1], row[0]);
    if (o->count == LONGEST) return fault_set(f, "%s: expected at most %d lines of an orbit", l->path, LONGEST);
    append(o, row);
  }
  if (more < 0) return -1;
  return o->count < LEAST ? fault_set(f, "%s: expected at least %d times of an orbit, found %zu", l->path, LEAST, o->count) : 0;
}

struct orbit *orbit_read(const char *path, struct fault *f)
{
  struct lines l;
  if (lines_open(&l, path, f)) return NULL;
  struct orbit *o = memory_alloc("external field", sizeof *o);
  memset(o, 0, sizeof *o);
  int bad = read_rows(o, &l, f);
  lines_close(&l);
  if (bad) {
    orbit_free(o);
    return NULL;
  }
  for (int c = 0; c < 3; c++) {
    o->spline[c] = gsl_interp_alloc(gsl_interp_cspline, o->count);
    if (!o->spline[c]) fatal("no memory for the orbit of %s", path);
    gsl_interp_init(o->spline[c], o->t, o->x[c], o->count);
  }
  return o;
}

void orbit_free(struct orbit *o)
{
  if (!o) return;
  for (int c = 0; c < 3; c++) {
    if (o->spline[c]) gsl_interp_free(o->spline[c]);
    memory_free(o->x[c]);
  }
  memory_free(o->t);
  memory_free(o);
}

void orbit_span(const struct orbit *o, double span[2])
{
  span[0] = o->t[0];
  span[1] = o->t[o->count - 1];
}

void orbit_at(const struct orbit *o, double time, double x[3], double v[3])
{
  double t = fmin(fmax(time, o->t[0]), o->t[o->count - 1]);
  for (int c = 0; c < 3; c++) {
    x[c] = gsl_interp_eval(o->spline[c], o->t, o->x[c], t, NULL);
    v[c] = gsl_interp_eval_deriv(o->spline[c], o->t, o->x[c], t, NULL);
  }
}
