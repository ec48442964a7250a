/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a restart does to a run that has gone beyond the checkpoint: whether the run has finished, and which of its
 * results are discarded. */
#ifndef CONTINUATION_H
#define CONTINUATION_H
#include "checkpoint/checkpoint.h"
#include "run/outputs.h"
#include "run/run.h"
#include "run/state.h"

/* Whether a restart from the newest checkpoint has nothing to do: OutputDir/status says that the run has finished and
 * has reached TimeMax or the limit of -n. Then rank 0 prints so, and how to go back to the checkpoint on purpose.
 * Collective. */
int continuation_has_finished(const struct comm *comm, const struct params *params, const struct run_options *options);
/* Where the run has finished later than the soft step `step` of the checkpoint, print what is computed again, in lines
 * that begin with `head`. `time`: start of that soft step, code time units. Call before the status file is replaced.
 * For rank 0. */
void continuation_report(const struct params *params, const char *head, long long step, double time);

/* A restart of a run from one of its own checkpoints. */
struct continuation {
  const struct params *par;
  const struct run_options *options;
  const struct outputs *outputs;
  const struct checkpoint *from;
  const struct run_state *state;
  long long step; /* soft steps before the one that the checkpoint is in */
  double time;    /* start of that soft step, code time units */
};
/* Move snapshots that were written after the checkpoint to OutputDir/discarded, unless the restarted run will write
 * them again with the same number, time and parameters; those stay until they are replaced. `count_only`: move nothing.
 * For rank 0. Returns the number of snapshots that were moved, or would be. */
int continuation_discard(const struct continuation *continuation, int count_only);
/* Move snapshots with `first` and later numbers to OutputDir/discarded: those that stayed at the restart and that the
 * run, which ends before TimeMax, has not replaced. `from`: the checkpoint of the restart. For rank 0. */
void continuation_discard_later(const struct params *params, const struct checkpoint *from, int first);
#endif
