/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run tells job scripts: OutputDir/status, lines "name=value" that are replaced as a whole, and OutputDir/cont, an empty file
 * that is there when, and only when, it makes sense to submit the job again. Rank 0 alone; a disk that is full costs a warning. */
#ifndef STATUS_H
#define STATUS_H
#include "fault.h"
#include "params.h"

struct status {
  const struct params *par;
  int ranks;
  const char *backend;
  long long step;
  double time, begin;        /* now, and when this job began, in simulated time */
  double started, ends;      /* clock; ends: HUGE_VAL without a limit */
  double written;            /* clock of the last update; 0: none */
  char checkpoint[64];       /* name of the last one; empty: none */
  long long checkpoint_step; /* soft step that it is in the midst of */
  double energy_error;       /* largest |dE/E| so far; NAN: not known */
  int warned;
};

/* -1 with a sentence where files called status or cont are in OutputDir that no run has made: they would be replaced. Local. */
int status_check(const struct params *p, struct fault *f);
/* state=running and the rest, at most every few seconds (`now` set: in any case). */
void status_running(struct status *s, int now);
/* The end: `state` is finished, interrupted or failed; `reason` is for people; `again` makes the file cont. -1, with a warning, where
 * cont is not as it should be: a chain of jobs would end, or go on, without a word. */
int status_end(struct status *s, const char *state, const char *reason, int again);
/* Whether the file says that the run has finished, and after which soft step and at which time that was. Local. */
int status_finished(const struct params *p, long long *step, double *time);
/* A restart that did not come about: failed, and no cont. How far the run has come, and its last checkpoint, stay as an earlier job has
 * told them; of a run that has finished, and of files that no run has made (status_check), all stays. */
void status_not_started(const struct params *p, int ranks, const char *reason);
/* A restart behind TimeMax, or of a run that has finished (which needs `par` alone): nothing is to follow. */
void status_nothing_left(struct status *s);
#endif
