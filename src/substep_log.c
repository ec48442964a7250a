/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "substep_log.h"

#include "backend.h"
#include "memory.h"

static const char *const part_names[] = {
#define X(name) #name,
    SUBSTEP_PARTS(X)
#undef X
};

void substep_log_add(struct substep_log *l, const struct substep_row *row)
{
  int kind = row->tick == TICKS;
  l->steps[kind]++;
  l->refreshes += row->refreshed;
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
            (long long)r->pairs, r->refreshed, r->rebuilt);
    for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) fprintf(out, ",%.5f", 1e3 * r->seconds[k]);
    fprintf(out, ",%.5f\n", 1e3 * r->all);
  }
  l->rows = 0;
}

static void parts(const struct substep_log *l, int first, int last, FILE *out)
{
  double steps = 0, all = 0, rest;
  for (int kind = first; kind <= last; kind++) steps += (double)l->steps[kind], all += l->all[kind];
  rest = all;
  fprintf(out, "%.3f ms", 1e3 * all / steps);
  for (int k = 0; k < SUBSTEP_PARTS_COUNT; k++) {
    double sum = 0;
    for (int kind = first; kind <= last; kind++) sum += l->seconds[kind][k];
    rest -= sum;
    fprintf(out, "%s%s %.3f", k ? ", " : " (", part_names[k], 1e3 * sum / steps);
  }
  fprintf(out, ", other %.3f)\n", 1e3 * rest / steps);
}

void substep_log_sum_up(const struct substep_log *l, int ranks, FILE *out)
{
  if (l->steps[1] == 0) return;
  int64_t steps = l->steps[0] + l->steps[1];
  fprintf(out, "block steps%s: %lld, %.2f %% of %s particles active, %lld times moments anew, %lld times the tree and %lld times that of the fast; mean ",
          ranks > 1 ? " of rank 0" : "", (long long)steps, l->local > 0 ? 100 * (l->active[0] + l->active[1]) / l->local : 0,
          ranks > 1 ? "its" : "the", (long long)l->refreshes, (long long)l->rebuilds[REBUILT_ALL], (long long)l->rebuilds[REBUILT_FAST]);
  parts(l, 0, 1, out);
  if (l->steps[0] == 0) return;
  fprintf(out, "of these %lld in substeps, mean ", (long long)l->steps[0]);
  parts(l, 0, 0, out);
  fprintf(out, "and %lld of all particles, mean ", (long long)l->steps[1]);
  parts(l, 1, 1, out);
  fprintf(out, "a step of all particles took %.2f times the mean block step\n",
          l->all[1] / (double)l->steps[1] / ((l->all[0] + l->all[1]) / (double)steps));
}

void substep_log_close(struct substep_log *l)
{
  memory_free(l->row);
  l->row = NULL;
  l->rows = l->capacity = 0;
}
