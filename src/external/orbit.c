/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "external/orbit.h"

#include <gsl/gsl_interp.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/lines.h"
#include "base/memory.h"

enum { POINTS_MIN = 3, POINTS_MAX = 10000000, COLUMNS = 4, COLUMNS_WITH_VELOCITY = 7 };

struct orbit {
  size_t count, capacity;
  double *t, *x[3];
  gsl_interp *spline[3];
};

static const char separators[] = " \t,\r\n", expected[] = "t x y z";

/* The numbers of a line; returns how many there are (at most one more than COLUMNS_WITH_VELOCITY), or -1 with a
 * fault. */
static int parse(const struct lines *lines, double row[COLUMNS_WITH_VELOCITY], struct fault *fault)
{
  int n = 0;
  for (const char *at = lines->text + strspn(lines->text, separators); *at; at += strspn(at, separators)) {
    double value = 0;
    int length = (int)strcspn(at, separators);
    if (lines_number(at, length, &value) != 0 || !isfinite(value))
      return fault_set(fault, "%s:%lld: '%.*s' in column %d is not a finite number; expected t x y z of an orbit",
                       lines->path, (long long)lines->number, length < 40 ? length : 40, at, n + 1);
    if (n < COLUMNS_WITH_VELOCITY) row[n] = value;
    if (n <= COLUMNS_WITH_VELOCITY) n++;
    at += length;
  }
  return n;
}

static void append(struct orbit *orbit, const double *row)
{
  if (orbit->count == orbit->capacity) {
    orbit->capacity = 2 * orbit->capacity + 64;
    double **all[4] = {&orbit->t, &orbit->x[0], &orbit->x[1], &orbit->x[2]};
    for (int k = 0; k < 4; k++) {
      double *more = memory_alloc("external field", sizeof *more * orbit->capacity);
      if (orbit->count) memcpy(more, *all[k], sizeof *more * orbit->count);
      memory_free(*all[k]);
      *all[k] = more;
    }
  }
  orbit->t[orbit->count] = row[0];
  for (int c = 0; c < 3; c++) orbit->x[c][orbit->count] = row[1 + c];
  orbit->count++;
}

static int read_rows(struct orbit *orbit, struct lines *lines, struct fault *fault)
{
  double row[COLUMNS_WITH_VELOCITY];
  int more;
  while ((more = lines_next(lines, expected, fault)) == 1) {
    if (!lines->text[strspn(lines->text, separators)]) continue;
    int n = parse(lines, row, fault);
    if (n < 0) return -1;
    if (n != COLUMNS && n != COLUMNS_WITH_VELOCITY)
      return fault_set(fault, "%s:%lld: %d numbers; expected four of an orbit, t x y z, or seven, with vx vy vz",
                       lines->path, (long long)lines->number, n);
    if (orbit->count > 0 && !(row[0] > orbit->t[orbit->count - 1]))
      return fault_set(fault, "%s:%lld: expected a time above %.15g, that of the line before, found %.15g", lines->path,
                       (long long)lines->number, orbit->t[orbit->count - 1], row[0]);
    if (orbit->count == POINTS_MAX)
      return fault_set(fault, "%s: expected at most %d lines of an orbit", lines->path, POINTS_MAX);
    append(orbit, row);
  }
  if (more < 0) return -1;
  return orbit->count < POINTS_MIN ? fault_set(fault, "%s: expected at least %d times of an orbit, found %zu",
                                               lines->path, POINTS_MIN, orbit->count)
                                   : 0;
}

struct orbit *orbit_read(const char *path, struct fault *fault)
{
  struct lines l;
  if (lines_open(&l, path, fault)) return NULL;
  struct orbit *o = memory_alloc("external field", sizeof *o);
  memset(o, 0, sizeof *o);
  int bad = read_rows(o, &l, fault);
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

void orbit_free(struct orbit *orbit)
{
  if (!orbit) return;
  for (int c = 0; c < 3; c++) {
    if (orbit->spline[c]) gsl_interp_free(orbit->spline[c]);
    memory_free(orbit->x[c]);
  }
  memory_free(orbit->t);
  memory_free(orbit);
}

void orbit_span(const struct orbit *orbit, double span[2])
{
  span[0] = orbit->t[0];
  span[1] = orbit->t[orbit->count - 1];
}

void orbit_sum(const struct orbit *orbit, double time, long long number[2])
{
  size_t rows = 0;
  while (rows < orbit->count && orbit->t[rows] < time) rows++;
  if (rows < orbit->count) rows++;
  XXH64_hash_t sum = XXH64(orbit->t, rows * sizeof *orbit->t, 0);
  for (int c = 0; c < 3; c++) sum = XXH64(orbit->x[c], rows * sizeof *orbit->x[c], sum);
  number[0] = (long long)rows;
  number[1] = (long long)sum;
}

void orbit_at(const struct orbit *orbit, double time, double x[3], double v[3])
{
  double t = fmin(fmax(time, orbit->t[0]), orbit->t[orbit->count - 1]);
  for (int c = 0; c < 3; c++) {
    x[c] = gsl_interp_eval(orbit->spline[c], orbit->t, orbit->x[c], t, NULL);
    v[c] = gsl_interp_eval_deriv(orbit->spline[c], orbit->t, orbit->x[c], t, NULL);
  }
}
