/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a restart would undo: whether the run has come to its end already, and what of it lies behind the checkpoint. */
#ifndef GOING_ON_H
#define GOING_ON_H
#include "checkpoint.h"
#include "outputs.h"
#include "run.h"
#include "state.h"

/* Where the newest checkpoint is asked for, and OutputDir/status says that the run has finished and has come as far as TimeMax, or -n,
 * ask for: 1, with sentences on rank 0's stdout that say so, and how to go back on purpose. Going on from the checkpoint would only throw
 * away the end. Collective. */
int going_on_has_finished(const struct comm *c, const struct params *p, const struct run_options *o);
/* Rank 0. A restart of a run that has finished, from a checkpoint in soft step `step`, which began at `time`: a line that begins with `head`
 * names what is made anew, where that is more than the last soft step. Before the status file is written anew. */
void going_on_tell(const struct params *p, const char *head, long long step, double time);

/* A restart from a checkpoint of this run's own. */
struct going_on {
  const struct params *par;
  const struct run_options *options;
  const struct outputs *outputs;
  const struct checkpoint *from;
  const struct run_state *state;
  long long step;   /* soft steps before the one under way, */
  double time;      /* which began at this time */
};
/* Rank 0: snapshots that were written after the checkpoint, and that this run will not write again under the same number at the same
 * time from the same parameters, go to OutputDir/discarded. The others stay until they are replaced. With `look` nothing is moved.
 * Returns how many were, or would be. */
int going_on_discard(const struct going_on *g, int look);
#endif
