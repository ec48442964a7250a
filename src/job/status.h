/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Report of a run to job scripts: OutputDir/status, lines "name=value" in a file that is replaced as a whole, and
 * OutputDir/cont, an empty file that exists only where the job should be submitted again. Local; for rank 0. A full
 * disk causes a warning only. */
#ifndef STATUS_H
#define STATUS_H
#include "base/fault.h"
#include "job/last_words.h"
#include "params/params.h"

/* States of a run that has reached its end; untrusted: with an energy error above the bound of doc/accuracy.md; also
 * one that ended before TimeMax with such an error, or since the steps of a close pair collapsed. */
#define STATE_FINISHED "finished"
#define STATE_UNTRUSTED "untrusted"

struct status {
  const struct params *par;
  int ranks;
  const char *backend;
  long long step;
  double time, begin; /* simulated time: now, and at the start of this job */
  /* clock (timer_clock) at the start and at the time limit of the job; ends HUGE_VAL: no limit */
  double started, ends;
  double written;            /* clock of the last update; 0: none */
  char checkpoint[64];       /* name of the newest checkpoint; empty: none */
  long long checkpoint_step; /* soft step within which it was written */
  double energy_error;       /* largest |dE/E| so far; NAN: unknown */
  char missing[256];         /* numbers of snapshots that could not be written, as in "12-98,103"; empty: none */
  long long unwritten;       /* bytes of rows of tables that the disk did not take */
  int warned;                /* 1: the last update failed, with a warning */
  /* one line: what is saved, and how to continue, where the run is ended before it can stop; empty: unknown */
  char continuation[CONTINUATION_TEXT];
};

/* Check that files named status, status.tmp and cont in OutputDir are of a run, since a run replaces them. Returns 0,
 * or -1 with the fault set. */
int status_check(const struct params *params, struct fault *fault);
/* Write state=running, at most every 5 s. `now` 1: write at once, and remove cont. */
void status_running(struct status *status, int now);
/* Write the end of the run. `state`: STATE_... or interrupted, failed; `reason`: text for users; `again` 1: create
 * cont, 0: remove it. A status file that cannot be written is tried again for two seconds.
 * Returns 0; or -1 with a message where a chain of jobs would wrongly end or continue: cont cannot be written or
 * removed, or `again` is 0 and the status file cannot be written. */
int status_end(struct status *status, const char *state, const char *reason, int again);
/* Returns 1 where the status file says that the run has finished; *step, *time: soft step and simulated time in the
 * file. */
int status_finished(const struct params *params, long long *step, double *time);
/* Returns 1 where it says that the run has ended and cannot be trusted. */
int status_untrusted(const struct params *params);
/* A restart was refused: remove cont, since the next job would be refused too. The status of the earlier job, and files
 * that are not of a run (status_check), are left unchanged. */
void status_refused(const struct params *params);
/* The numbers of missing snapshots in the status file of a finished run, as in struct status. Returns 1 where there are
 * some, else 0. */
int status_missing(const struct params *params, char missing[256]);
/* Write state=finished for a restart that has nothing left to do, and remove cont. The status of a finished run is
 * kept; then only `par` of `status` is needed. */
void status_nothing_left(struct status *status);
#endif
