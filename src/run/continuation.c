/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/continuation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/params_changed.h"
#include "io/snapshot/snapshot.h"
#include "job/status.h"

/* Whether the status file says that the run has reached TimeMax or the limit of -n. It does not contain the number of block steps, which
 * --substeps limits. */
static int has_reached_end(const struct params *p, const struct run_options *o)
{
  long long step;
  double time;
  if (!o->restart || (o->from && strcmp(o->from, "last") != 0) || !status_finished(p, &step, &time)) return 0;
  return time >= p->TimeMax || (o->steps >= 0 && step >= o->steps);
}

static void print_finished(const struct params *p)
{
  char newest[CHECKPOINT_PATH];
  long long step;
  double time;
  status_finished(p, &step, &time);
  printf("%s: this run has finished at time %g, after %lld soft step%s; nothing to do\n", p->OutputDir, time, step, plural((double)step));
  if (!checkpoint_exists(p, newest)) return;
  printf("-r %lld would go back to the newest checkpoint and discard the rows and snapshots that follow it\n",
         atoll(strrchr(newest, '_') + 1));
}

int continuation_has_finished(const struct comm *c, const struct params *p, const struct run_options *o)
{
  int done = c->rank == 0 && has_reached_end(p, o);
  if (done) print_finished(p);
  comm_broadcast(c, &done, sizeof done);
  return done;
}

void continuation_report(const struct params *p, const char *head, long long step, double time)
{
  long long last;
  double end;
  if (!status_finished(p, &last, &end) || last <= step) return;
  printf("%sthe run had finished at time %g, in soft step %lld;\n%sit continues from time %g, in soft step %lld: later rows of tables are "
         "removed\n", head, end, last, head, time, step);
}

/* The time at which the restarted run will write snapshot `number`, as far as this can be predicted; NAN: never. */
static double planned_time(const struct continuation *g, long long number)
{
  const struct plan *plan = &g->state->plan;
  long long next = g->state->snapshots;
  double time = plan->at_target ? plan->target : g->time + plan->soft_step, end = g->par->TimeMax;
  int due = plan->at_target || time >= end || (g->options->steps >= 0 && g->step + 1 >= g->options->steps);
  if (number < next) return due ? NAN : time;   /* the pending snapshot, which is tried again */
  if (due && number == next++) return time;
  for (; time < end; next++) {
    time = outputs_next(g->outputs, time);
    if (number == next) return time;
  }
  return NAN;
}

/* Callback of snapshot_discard: whether snapshot `number` at `time` will be written again. */
static int is_rewritten(const void *of, long long number, double time)
{
  double planned = planned_time(of, number);
  return fabs(time - planned) <= 1e-12 * fmax(fabs(time), fabs(planned));
}

static int is_never_rewritten(const void *unused, long long number, double time)
{
  (void)unused, (void)number, (void)time;
  return 0;
}

static void base_name(const struct checkpoint *from, char base[PARAM_TEXT])
{
  params_before(from->text, &param_table[param_find("Output", "SnapshotFileBase")], base);
}

int continuation_discard(const struct continuation *g, int count_only)
{
  const struct params *p = g->par;
  char base[PARAM_TEXT];
  base_name(g->from, base);
  /* Snapshots beyond the limit of -n or --substeps cannot be predicted; they stay until the run ends there (continuation_discard_later). */
  return (count_only ? snapshot_to_discard : snapshot_discard)(p->OutputDir, base, g->state->snapshots - g->state->pending,
                                                               params_same_evolution(g->from->text, p) ? is_rewritten : is_never_rewritten,
                                                               g);
}

void continuation_discard_later(const struct params *p, const struct checkpoint *from, int first)
{
  char base[PARAM_TEXT];
  base_name(from, base);
  snapshot_discard(p->OutputDir, base, first, is_never_rewritten, NULL);
}
