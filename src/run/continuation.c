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

/* Whether the status file says that the run has reached TimeMax or the limit of -n. It does not contain the number of
 * block steps, which --substeps limits. */
static int has_reached_end(const struct params *params, const struct run_options *options)
{
  long long step;
  double time;
  if (!options->restart || (options->from && strcmp(options->from, "last") != 0) ||
      !status_finished(params, &step, &time))
    return 0;
  return time >= params->TimeMax || (options->steps >= 0 && step >= options->steps);
}

static void print_finished(const struct params *params, const struct run_options *options)
{
  char newest[CHECKPOINT_PATH], limit[100] = "";
  long long step;
  double time;
  status_finished(params, &step, &time);
  if (time < params->TimeMax)
    snprintf(limit, sizeof limit, ", since -n %lld counts from the start; without -n it goes on to TimeMax = %g",
             (long long)options->steps, params->TimeMax);
  else snprintf(limit, sizeof limit, "; a larger TimeMax would go on");
  printf("%s: this run has finished at time %g, after %lld soft step%s; nothing to do%s\n", params->OutputDir, time,
         step, plural((double)step), limit);
  if (!checkpoint_exists(params, newest)) return;
  printf("-r %lld would go back to the newest checkpoint and discard the rows and snapshots that follow it\n",
         atoll(strrchr(newest, '_') + 1));
}

int continuation_has_finished(const struct comm *comm, const struct params *params, const struct run_options *options)
{
  int done = comm->rank == 0 && has_reached_end(params, options);
  if (done) print_finished(params, options);
  comm_broadcast(comm, &done, sizeof done);
  return done;
}

void continuation_report(const struct params *params, const char *head, long long step, double time)
{
  long long last;
  double end;
  if (!status_finished(params, &last, &end) || last <= step) return;
  printf("%sthe run had finished at time %g, in soft step %lld;\n%sit continues from time %g, in soft step %lld: later "
         "rows of tables are "
         "removed\n",
         head, end, last, head, time, step);
}

/* The time at which the restarted run will write snapshot `number`, as far as this can be predicted; NAN: never. */
static double planned_time(const struct continuation *continuation, long long number)
{
  const struct plan *plan = &continuation->state->plan;
  long long next = continuation->state->snapshots;
  double time = plan->at_target ? plan->target : continuation->time + plan->soft_step, end = continuation->par->TimeMax;
  int due = plan->at_target || time >= end ||
            (continuation->options->steps >= 0 && continuation->step + 1 >= continuation->options->steps);
  if (number < next) return due ? NAN : time; /* the pending snapshot, which is tried again */
  if (due && number == next++) return time;
  for (; time < end; next++) {
    time = outputs_next(continuation->outputs, time);
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
  (void)unused;
  (void)number;
  (void)time;
  return 0;
}

static void base_name(const struct checkpoint *from, char base[PARAM_TEXT])
{
  params_before(from->text, &param_table[param_find("Output", "SnapshotFileBase")], base);
}

int continuation_discard(const struct continuation *continuation, int count_only)
{
  const struct params *p = continuation->par;
  char base[PARAM_TEXT];
  base_name(continuation->from, base);
  /* Snapshots beyond the limit of -n or --substeps cannot be predicted; they stay until the run ends there
   * (continuation_discard_later). */
  return (count_only ? snapshot_to_discard : snapshot_discard)(
      p->OutputDir, base, continuation->state->snapshots - continuation->state->pending,
      params_same_evolution(continuation->from->text, p) ? is_rewritten : is_never_rewritten, continuation);
}

void continuation_discard_later(const struct params *params, const struct checkpoint *from, int first)
{
  char base[PARAM_TEXT];
  base_name(from, base);
  snapshot_discard(params->OutputDir, base, first, is_never_rewritten, NULL);
}
