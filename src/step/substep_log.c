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

void substep_log_add(struct substep_log *l, const struct substep_row *row)
{
  int kind = row->tick == TICKS;
  l->steps[kind]++;
  l->moment_updates += row->moment_updates_of_step;
  l->rebuilds[row->rebuilt]++;
  l->all[kind] += row->all;
  l->local += (double)row->local;
  l->active[kind] += (double)row->active;
  l->groups[kind] += (double)row->groups;
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) l->seconds[kind][k] += row->seconds[k];
  if (!l->table) return;
  if (l->rows == l->capacity) {
    l->capacity = 2 * l->capacity + 256;
    l->row = memory_resize("substep log", l->row, sizeof *l->row * (size_t)l->capacity);
  }
  l->row[l->rows++] = *row;
}

void substep_log_header(FILE *out)
{
  fprintf(out, "# milliseconds of rank 0\nstep,tick,level,active,groups,pairs,refreshed,rebuilt");
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) fprintf(out, ",%s", part_names[k]);
  fprintf(out, ",all\n");
}

void substep_log_write(struct substep_log *l, FILE *out)
{
  for (int64_t i = 0; out && i < l->rows; i++) {
    const struct substep_row *r = &l->row[i];
    fprintf(out, "%lld,%d,%d,%lld,%lld,%lld,%d,%d", r->step, r->tick, r->level, (long long)r->active, (long long)r->groups,
            (long long)r->pairs, r->moment_updates_of_step, r->rebuilt);
    for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) fprintf(out, ",%.5f", 1e3 * r->seconds[k]);
    fprintf(out, ",%.5f\n", 1e3 * r->all);
  }
  l->rows = 0;
}

/* Print a row of the final table: number and mean milliseconds of the block steps of the kinds first to last (0: in substeps; 1:
 * synchronisations). */
static void parts(const struct substep_log *l, int first, int last, const char *what, FILE *out)
{
  double steps = 0, all = 0, rest;
  for (int kind = first; kind <= last; kind++) steps += (double)l->steps[kind], all += l->all[kind];
  rest = all;
  fprintf(out, "  %-16s %9.0f %8.3f", what, steps, 1e3 * all / steps);
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) {
    double sum = 0;
    for (int kind = first; kind <= last; kind++) sum += l->seconds[kind][k];
    rest -= sum;
    fprintf(out, " %8.3f", 1e3 * sum / steps);
  }
  fprintf(out, " %8.3f\n", 1e3 * rest / steps);
}

void substep_log_sum_up(const struct substep_log *l, int ranks, FILE *out)
{
  if (l->steps[1] == 0) return;
  int64_t steps = l->steps[0] + l->steps[1];
  fprintf(out, "block steps%s: %lld, %.2f %% of %s particles active\n", ranks > 1 ? " of rank 0" : "", (long long)steps,
          l->local > 0 ? 100 * (l->active[0] + l->active[1]) / l->local : 0, ranks > 1 ? "its" : "the");
  fprintf(out, "  moment updates %lld, tree builds %lld, builds of the fast tree alone %lld\n", (long long)l->moment_updates,
          (long long)l->rebuilds[REBUILT_ALL], (long long)l->rebuilds[REBUILT_FAST]);
  fprintf(out, "  %-16s %9s %8s", "milliseconds", "steps", "mean");
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) fprintf(out, " %8s", part_names[k]);
  fprintf(out, " %8s\n", "other");
  parts(l, 0, 1, "all", out);
  if (l->steps[0] == 0) return;
  parts(l, 0, 0, "in substeps", out);
  parts(l, 1, 1, "of all particles", out);
  fprintf(out, "  a step of all particles took %.2f times the mean block step\n",
          l->all[1] / (double)l->steps[1] / ((l->all[0] + l->all[1]) / (double)steps));
}

void substep_log_close(struct substep_log *l)
{
  memory_free(l->row);
  l->row = NULL;
  l->rows = l->capacity = 0;
}
