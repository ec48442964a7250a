/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/outputs.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/memory.h"
#include "particles/timeline.h"

static void append(struct outputs *o, double t)
{
  if (o->count % 256 == 0) o->time = memory_resize("outputs", o->time, sizeof *o->time * (size_t)(o->count + 256));
  o->time[o->count++] = t;
}

static int read_line(struct outputs *o, const struct lines *l, struct fault *f)
{
  char *line = l->text, *end;
  while (isspace((unsigned char)*line)) line++;
  for (end = line + strlen(line); end > line && isspace((unsigned char)end[-1]);) *--end = 0;
  if (!*line) return 0;
  double t = strtod(line, &end);
  if (*end || !isfinite(t))
    return fault_set(f, "%s:%lld: '%.60s' is not an output time: one number per line was expected", l->path, (long long)l->number, line);
  if (o->count > 0 && t <= o->time[o->count - 1])
    return fault_set(f, "%s:%lld: output time %g does not come after %g: ascending times were expected", l->path, (long long)l->number,
                     t, o->time[o->count - 1]);
  append(o, t);
  return 0;
}

static int read_list(struct outputs *o, const char *file, struct fault *f)
{
  struct lines l;
  struct fault reason = {""};
  if (lines_open(&l, file, &reason) != 0) return fault_set(f, "OutputListFilename: %s", reason.text);
  while (lines_next(&l, "one output time", f) == 1)
    if (read_line(o, &l, f) != 0) break;
  lines_close(&l);
  if (f->text[0]) return -1;
  return o->count > 0 ? 0 : fault_set(f, "OutputListFilename: %s holds no output time", file);
}

int outputs_open(struct outputs *o, const struct params *p, struct fault *f)
{
  double begin = p->TimeBegin;
  *o = (struct outputs){.begin = begin, .end = p->TimeMax, .interval = p->TimeBetSnapshot};
  double shortest = 64 * DBL_EPSILON * fmax(fabs(begin), fabs(o->end));   /* interval that times can resolve */
  if ((p->TimeBetSnapshot > 0 && p->TimeBetSnapshot < shortest) || (p->TimeBetStatistics > 0 && p->TimeBetStatistics < shortest) ||
      (p->Projections && p->TimeBetProjections < shortest))
    return fault_set(f, "TimeBetSnapshot = %g, TimeBetStatistics = %g, TimeBetProjections = %g: times up to %g cannot resolve intervals below %g",
                     p->TimeBetSnapshot, p->TimeBetStatistics, p->TimeBetProjections, o->end, shortest);
  if (!p->OutputListFilename[0]) return 0;
  if (read_list(o, p->OutputListFilename, f) == 0) return 0;
  outputs_close(o);
  return -1;
}

void outputs_close(struct outputs *o)
{
  memory_free(o->time);
  o->time = NULL;
}

double outputs_next(const struct outputs *o, double now)
{
  if (!o->time) return timeline_next_output(o->begin, o->interval, now, o->end);
  for (int64_t i = 0; i < o->count; i++)
    if (o->time[i] > now && o->time[i] < o->end) return o->time[i];
  return o->end;
}

void outputs_warn(const struct outputs *o, double begin, FILE *out, const char *before)
{
  long long count = 0;
  double first = 0;
  for (int64_t i = 0; o->time && i < o->count; i++) {
    if (o->time[i] >= begin && o->time[i] <= o->end) continue;
    if (count++ == 0) first = o->time[i];
  }
  if (count == 0) return;
  fprintf(out, "%s%lld of %lld output time%s in OutputListFilename %s outside the run, the first is %g: the run ", before, count,
          (long long)o->count, plural((double)o->count), count == 1 ? "is" : "are", first);
  if (isfinite(begin)) fprintf(out, "goes from time %g to %g\n", begin, o->end);
  else fprintf(out, "ends at time %g\n", o->end);
}

/* --- snapshots that could not be written ------------------------------------------------------------------------- */

void missing_resize(struct missing *m, int count)
{
  m->count = count;
  if (count <= m->capacity) return;
  m->capacity = 2 * count;
  m->number = memory_resize("outputs", m->number, sizeof *m->number * (size_t)m->capacity);
  m->time = memory_resize("outputs", m->time, sizeof *m->time * (size_t)m->capacity);
}

void missing_add(struct missing *m, int number, double time)
{
  missing_resize(m, m->count + 1);
  m->number[m->count - 1] = number;
  m->time[m->count - 1] = time;
}

void missing_remove(struct missing *m, int number) { m->count -= m->count > 0 && m->number[m->count - 1] == number; }

void missing_close(struct missing *m)
{
  memory_free(m->number);
  memory_free(m->time);
  *m = (struct missing){0};
}

/* The index after the consecutive numbers that begin with entry k, of the first `count`. */
static int end_of_run(const struct missing *m, int k, int count)
{
  int end = k + 1;
  while (end < count && m->number[end] == m->number[end - 1] + 1) end++;
  return end;
}

const char *missing_text(const struct missing *m, char *text, size_t size)
{
  size_t at = 0;
  text[0] = 0;
  for (int k = 0, end; k < m->count; k = end) {
    char part[32];
    end = end_of_run(m, k, m->count);
    if (end - k == 1) snprintf(part, sizeof part, "%s%d", k ? "," : "", m->number[k]);
    else snprintf(part, sizeof part, "%s%d-%d", k ? "," : "", m->number[k], m->number[end - 1]);
    if (at + strlen(part) + sizeof ",..." > size) {
      snprintf(text + at, size - at, ",...");
      break;
    }
    at += (size_t)snprintf(text + at, size - at, "%s", part);
  }
  return text;
}

void missing_print(const struct missing *m, int count, FILE *out)
{
  for (int k = 0, end; k < count; k = end) {
    end = end_of_run(m, k, count);
    fprintf(out, "%s%d", k ? ", " : "", m->number[k]);
    if (end - k == 1) fprintf(out, " (time %g)", m->time[k]);
    else fprintf(out, " to %d (times %g to %g)", m->number[end - 1], m->time[k], m->time[end - 1]);
  }
}
