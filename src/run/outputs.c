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

static void append(struct outputs *outputs, double t)
{
  if (outputs->count % 256 == 0)
    outputs->time = memory_resize("outputs", outputs->time, sizeof *outputs->time * (size_t)(outputs->count + 256));
  outputs->time[outputs->count++] = t;
}

static int read_line(struct outputs *outputs, const struct lines *lines, struct fault *fault)
{
  char *line = lines->text, *end;
  while (isspace((unsigned char)*line)) line++;
  for (end = line + strlen(line); end > line && isspace((unsigned char)end[-1]);) *--end = 0;
  if (!*line) return 0;
  double t = strtod(line, &end);
  if (*end || !isfinite(t))
    return fault_set(fault,
                     "%s:%lld: '%.60s' is not an output time: one number per line, in units of the run, was expected",
                     lines->path, (long long)lines->number, line);
  if (outputs->count > 0 && t <= outputs->time[outputs->count - 1])
    return fault_set(fault, "%s:%lld: output time %g does not come after %g: ascending times were expected",
                     lines->path, (long long)lines->number, t, outputs->time[outputs->count - 1]);
  append(outputs, t);
  return 0;
}

static int read_list(struct outputs *outputs, const char *file, struct fault *fault)
{
  struct lines l;
  struct fault reason = {""};
  if (lines_open(&l, file, &reason) != 0) return fault_set(fault, "OutputListFilename: %s", reason.text);
  while (lines_next(&l, "one output time", fault) == 1)
    if (read_line(outputs, &l, fault) != 0) break;
  lines_close(&l);
  if (fault->text[0]) return -1;
  return outputs->count > 0 ? 0 : fault_set(fault, "OutputListFilename: %s holds no output time", file);
}

int outputs_open(struct outputs *outputs, const struct params *params, struct fault *fault)
{
  double begin = params->TimeBegin;
  *outputs = (struct outputs){.begin = begin, .end = params->TimeMax, .interval = params->TimeBetSnapshot};
  double shortest = 64 * DBL_EPSILON * fmax(fabs(begin), fabs(outputs->end)); /* interval that times can resolve */
  if ((params->TimeBetSnapshot > 0 && params->TimeBetSnapshot < shortest) ||
      (params->TimeBetStatistics > 0 && params->TimeBetStatistics < shortest) ||
      (params->Projections && params->TimeBetProjections < shortest))
    return fault_set(fault,
                     "TimeBetSnapshot = %g, TimeBetStatistics = %g, TimeBetProjections = %g: times up to %g cannot "
                     "resolve intervals below %g",
                     params->TimeBetSnapshot, params->TimeBetStatistics, params->TimeBetProjections, outputs->end,
                     shortest);
  if (params->Interval > 0 && params->Interval < shortest)
    return fault_set(fault, "[Binaries] Interval = %g: times up to %g cannot resolve intervals below %g",
                     params->Interval, outputs->end, shortest);
  if (!params->OutputListFilename[0]) return 0;
  if (read_list(outputs, params->OutputListFilename, fault) == 0) return 0;
  outputs_close(outputs);
  return -1;
}

void outputs_close(struct outputs *outputs)
{
  memory_free(outputs->time);
  outputs->time = NULL;
}

double outputs_next(const struct outputs *outputs, double now)
{
  if (!outputs->time) return timeline_next_output(outputs->begin, outputs->interval, now, outputs->end);
  for (int64_t i = 0; i < outputs->count; i++)
    if (outputs->time[i] > now && outputs->time[i] < outputs->end) return outputs->time[i];
  return outputs->end;
}

void outputs_warn(const struct outputs *outputs, double begin, FILE *out, const char *before)
{
  long long count = 0;
  double first = 0;
  for (int64_t i = 0; outputs->time && i < outputs->count; i++) {
    if (outputs->time[i] >= begin && outputs->time[i] <= outputs->end) continue;
    if (count++ == 0) first = outputs->time[i];
  }
  if (count == 0) return;
  fprintf(out, "%s%lld of %lld output time%s in OutputListFilename %s outside the run, the first is %g: the run ",
          before, count, (long long)outputs->count, plural((double)outputs->count), count == 1 ? "is" : "are", first);
  if (isfinite(begin)) fprintf(out, "goes from time %g to %g\n", begin, outputs->end);
  else fprintf(out, "ends at time %g\n", outputs->end);
}

double outputs_count(const struct outputs *outputs, double time)
{
  enum { LIMIT = 1000000 };
  double count = 0;
  for (; time < outputs->end && count < LIMIT; count++) time = outputs_next(outputs, time);
  return count;
}

const char *outputs_bytes(double bytes, char text[16])
{
  static const char *const names[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int k = 0;
  for (; k < 5 && bytes >= 1000; k++) bytes /= 1000;
  snprintf(text, 16, "%.3g %s", bytes, names[k]);
  return text;
}

void outputs_warn_plan(const struct outputs *outputs, double time, double bytes, double disk_free, FILE *out,
                       const char *before)
{
  enum { MANY = 10000 };
  char one[16], all[16], left[16];
  double count = 1 + outputs_count(outputs, time);
  if (!outputs->time && outputs->interval > outputs->end - outputs->begin)
    fprintf(out,
            "%sTimeBetSnapshot = %g is longer than the run from time %g to TimeMax = %g: snapshots are the first and "
            "the last one only\n",
            before, outputs->interval, outputs->begin, outputs->end);
  int full = disk_free > 0 && count * bytes > disk_free;
  if (!full && count <= MANY) return;
  fprintf(out, "%s%.0f snapshots of %s are planned, %s in all", before, count, outputs_bytes(bytes, one),
          outputs_bytes(count * bytes, all));
  if (full) fprintf(out, ", and %s are free on the disk of OutputDir", outputs_bytes(disk_free, left));
  if (outputs->time) fprintf(out, ": is OutputListFilename right?\n");
  else if (outputs->interval > 0) fprintf(out, ": is TimeBetSnapshot = %g right?\n", outputs->interval);
  else fputs("\n", out);
}

/* --- snapshots that could not be written ------------------------------------------------------------------------- */

void missing_resize(struct missing *missing, int count)
{
  missing->count = count;
  if (count <= missing->capacity) return;
  missing->capacity = 2 * count;
  missing->number = memory_resize("outputs", missing->number, sizeof *missing->number * (size_t)missing->capacity);
  missing->time = memory_resize("outputs", missing->time, sizeof *missing->time * (size_t)missing->capacity);
}

void missing_add(struct missing *missing, int number, double time)
{
  missing_resize(missing, missing->count + 1);
  missing->number[missing->count - 1] = number;
  missing->time[missing->count - 1] = time;
}

void missing_remove(struct missing *missing, int number)
{
  missing->count -= missing->count > 0 && missing->number[missing->count - 1] == number;
}

void missing_close(struct missing *missing)
{
  memory_free(missing->number);
  memory_free(missing->time);
  *missing = (struct missing){0};
}

/* The index after the consecutive numbers that begin with entry k, of the first `count`. */
static int end_of_run(const struct missing *missing, int k, int count)
{
  int end = k + 1;
  while (end < count && missing->number[end] == missing->number[end - 1] + 1) end++;
  return end;
}

const char *missing_text(const struct missing *missing, char *text, size_t size)
{
  size_t at = 0;
  text[0] = 0;
  for (int k = 0, end; k < missing->count; k = end) {
    char part[32];
    end = end_of_run(missing, k, missing->count);
    if (end - k == 1) snprintf(part, sizeof part, "%s%d", k ? "," : "", missing->number[k]);
    else snprintf(part, sizeof part, "%s%d-%d", k ? "," : "", missing->number[k], missing->number[end - 1]);
    if (at + strlen(part) + sizeof ",..." > size) {
      snprintf(text + at, size - at, ",...");
      break;
    }
    at += (size_t)snprintf(text + at, size - at, "%s", part);
  }
  return text;
}

void missing_print(const struct missing *missing, int count, FILE *out)
{
  for (int k = 0, end; k < count; k = end) {
    end = end_of_run(missing, k, count);
    fprintf(out, "%s%d", k ? ", " : "", missing->number[k]);
    if (end - k == 1) fprintf(out, " (time %g)", missing->time[k]);
    else fprintf(out, " to %d (times %g to %g)", missing->number[end - 1], missing->time[k], missing->time[end - 1]);
  }
}
