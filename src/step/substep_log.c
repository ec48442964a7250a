/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "step/substep_log.h"

#include "backend/backend.h"
#include "base/memory.h"

static const char *const part_names[] = {
#define X(name) #name,
    SUBSTEP_PARTS(X)
#undef X
};

void substep_log_add(struct substep_log *log, const struct substep_row *row)
{
  int kind = row->tick == TICKS;
  log->steps[kind]++;
  log->moment_updates += row->moment_updates_of_step;
  log->rebuilds[row->rebuilt]++;
  log->all[kind] += row->all;
  log->local += (double)row->local;
  log->active[kind] += (double)row->active;
  log->groups[kind] += (double)row->groups;
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) log->seconds[kind][k] += row->seconds[k];
  if (!log->table) return;
  if (log->rows == log->capacity) {
    log->capacity = 2 * log->capacity + 256;
    log->row = memory_resize("substep log", log->row, sizeof *log->row * (size_t)log->capacity);
  }
  log->row[log->rows++] = *row;
}

void substep_log_header(FILE *out)
{
  fprintf(out, "# milliseconds of rank 0\nstep,tick,level,active,groups,pairs,refreshed,rebuilt");
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) fprintf(out, ",%s", part_names[k]);
  fprintf(out, ",all\n");
}

void substep_log_write(struct substep_log *log, FILE *out)
{
  for (int64_t i = 0; out && i < log->rows; i++) {
    const struct substep_row *r = &log->row[i];
    fprintf(out, "%lld,%d,%d,%lld,%lld,%lld,%d,%d", r->step, r->tick, r->level, (long long)r->active,
            (long long)r->groups, (long long)r->pairs, r->moment_updates_of_step, r->rebuilt);
    for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) fprintf(out, ",%.5f", 1e3 * r->seconds[k]);
    fprintf(out, ",%.5f\n", 1e3 * r->all);
  }
  log->rows = 0;
}

/* Print a row of the final table: number and mean milliseconds of the block steps of the kinds first to last (0: in
 * substeps; 1: synchronisations). */
static void parts(const struct substep_log *log, int first, int last, const char *what, FILE *out)
{
  double steps = 0, all = 0, rest;
  for (int kind = first; kind <= last; kind++) {
    steps += (double)log->steps[kind];
    all += log->all[kind];
  }
  rest = all;
  fprintf(out, "  %-16s %9.0f %8.3f", what, steps, 1e3 * all / steps);
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) {
    double sum = 0;
    for (int kind = first; kind <= last; kind++) sum += log->seconds[kind][k];
    rest -= sum;
    fprintf(out, " %8.3f", 1e3 * sum / steps);
  }
  fprintf(out, " %8.3f\n", 1e3 * rest / steps);
}

void substep_log_sum_up(const struct substep_log *log, int ranks, FILE *out)
{
  if (log->steps[1] == 0) return;
  int64_t steps = log->steps[0] + log->steps[1];
  fprintf(out, "block steps%s: %lld, %.2f %% of %s particles active\n", ranks > 1 ? " of rank 0" : "", (long long)steps,
          log->local > 0 ? 100 * (log->active[0] + log->active[1]) / log->local : 0, ranks > 1 ? "its" : "the");
  fprintf(out, "  moment updates %lld, tree builds %lld, builds of the fast tree alone %lld\n",
          (long long)log->moment_updates, (long long)log->rebuilds[REBUILT_ALL],
          (long long)log->rebuilds[REBUILT_FAST]);
  fprintf(out, "  %-16s %9s %8s", "milliseconds", "steps", "mean");
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) fprintf(out, " %8s", part_names[k]);
  fprintf(out, " %8s\n", "other");
  parts(log, 0, 1, "all", out);
  if (log->steps[0] == 0) return;
  parts(log, 0, 0, "in substeps", out);
  parts(log, 1, 1, "of all particles", out);
  fprintf(out, "  a step of all particles took %.2f times the mean block step\n",
          log->all[1] / (double)log->steps[1] / ((log->all[0] + log->all[1]) / (double)steps));
}

void substep_log_close(struct substep_log *log)
{
  memory_free(log->row);
  log->row = NULL;
  log->rows = log->capacity = 0;
}
