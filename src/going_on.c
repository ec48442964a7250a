/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "going_on.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "params_changed.h"
#include "snapshot.h"
#include "status.h"

/* As far as --substeps is concerned the file tells nothing. */
static int far_enough(const struct params *p, const struct run_options *o)
{
  long long step;
  double time;
  if (!o->restart || (o->from && strcmp(o->from, "last") != 0) || !status_finished(p, &step, &time)) return 0;
  return time >= p->TimeMax || (o->steps >= 0 && step >= o->steps);
}

static void say_finished(const struct params *p)
{
  char newest[CHECKPOINT_PATH];
  long long step;
  double time;
  status_finished(p, &step, &time);
  printf("%s: this run has finished at time %g, after %lld soft step%s; nothing to do\n", p->OutputDir, time, step, plural((double)step));
  if (!checkpoint_exists(p, newest)) return;
  printf("-r %lld would go back to the newest checkpoint, and give up rows and snapshots from behind it\n", atoll(strrchr(newest, '_') + 1));
}

int going_on_has_finished(const struct comm *c, const struct params *p, const struct run_options *o)
{
  int done = c->rank == 0 && far_enough(p, o);
  if (done) say_finished(p);
  comm_broadcast(c, &done, sizeof done);
  return done;
}

void going_on_tell(const struct params *p, const char *head, long long step, double time)
{
  long long last;
  double end;
  if (!status_finished(p, &last, &end) || last <= step) return;
  printf("%sthe run had finished at time %g, in soft step %lld;\n%sit goes on from time %g, in soft step %lld: rows of tables behind that are cut off\n",
         head, end, last, head, time, step);
}

/* When the restarted run will write the snapshot of a number, as far as is known beforehand; NAN: never. */
static double planned_time(const struct going_on *g, long long number)
{
  const struct plan *plan = &g->state->plan;
  long long next = g->state->snapshots;
  double time = plan->at_target ? plan->target : g->time + plan->soft_step, end = g->par->TimeMax;
  int due = plan->at_target || time >= end || (g->options->steps >= 0 && g->step + 1 >= g->options->steps);
  if (number < next) return due ? NAN : time;   /* one that could not be written, and is tried again */
  if (due && number == next++) return time;
  for (; time < end; next++) {
    time = outputs_next(g->outputs, time);
    if (number == next) return time;
  }
  return NAN;
}

static int comes_again(const void *of, long long number, double time)
{
  double planned = planned_time(of, number);
  return fabs(time - planned) <= 1e-12 * fmax(fabs(time), fabs(planned));
}

static int never(const void *unused, long long number, double time)
{
  (void)unused, (void)number, (void)time;
  return 0;
}

int going_on_discard(const struct going_on *g, int look)
{
  const struct params *p = g->par;
  char base[PARAM_TEXT];
  params_before(g->from->text, &param_table[param_find("Output", "SnapshotFileBase")], base);
  /* where the run is to stop before its end, who knows which come again */
  int same = params_same_course(g->from->text, p) && g->options->steps < 0 && g->options->substeps < 0;
  return (look ? snapshot_to_discard : snapshot_discard)(p->OutputDir, base, g->state->snapshots - g->state->pending, same ? comes_again : never, g);
}
