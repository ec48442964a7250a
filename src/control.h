/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a run is to write a checkpoint, or to stop: by signals, by files in OutputDir, by the clock.
 *
 * SIGUSR1, SIGTERM, SIGHUP (unless it is ignored, as behind nohup), SIGINT: checkpoint and stop (a second SIGINT ends the process);
 * SIGUSR2: checkpoint and go on. Files `stop` and `checkpoint`, empty or with a word in them, which rank 0 looks for every few seconds
 * and removes; others of these names stay. The wall-clock limit: the run stops while two of the longest soft steps and a checkpoint
 * still fit. Ranks agree in step_open, by a reduction that is there anyway. */
#ifndef CONTROL_H
#define CONTROL_H
#include "params.h"

/* The larger one counts. STOP: the user wants the end; YIELD: others want the nodes, so going on later makes sense. */
enum wish { WISH_NOTHING, WISH_CHECKPOINT, WISH_STOP, WISH_YIELD };

struct control {
  const struct params *par;
  int rank;
  double limit;             /* clock at which the job ends; HUGE_VAL: never */
  double margin;            /* seconds that are left unused */
  double longest;           /* soft step of this job, seconds */
  double writing;           /* seconds that a checkpoint takes */
  double due;               /* clock at which the next checkpoint is due; HUGE_VAL: none */
  double again;             /* after one that failed: not before this clock */
  double looked;            /* clock of the last look for files */
  int warned;               /* of a file that is no request */
  int files;                /* wish by files that were found */
  int failures;             /* tries in vain to write the checkpoint of a stop */
  char reason[64];          /* of the last wish of this rank */
};

/* To be called before and after MPI_Init, which may catch SIGHUP itself (Open MPI was seen to): where it is ignored, as behind nohup, it
 * stays so. */
void control_before_mpi(void);
void control_after_mpi(void);
/* Begin: signals are caught from now on. `walltime`: seconds until the job ends, or negative: by SLURM_JOB_END_TIME, if that is
 * set. `writing`: seconds that a checkpoint is known to take (0: not known). Local. */
void control_open(struct control *c, const struct params *p, int rank, double walltime, double writing);
void control_close(void);
/* The run is about to begin: requests by files that an earlier one has left are removed. */
void control_begin(struct control *c);
/* This rank's wish for the soft step that begins. Local. */
enum wish control_wish(struct control *c);
/* A soft step took so many seconds. */
void control_step(struct control *c, double seconds);
/* A checkpoint was written, or (good 0) could not be; wishes for one are met, or stand for a later time. `stops`: the run was to end
 * with it; only such tries are counted, since earlier ones tell nothing of how long the disk will be full from now on. A write of any
 * kind that is about as long as a checkpoint's may be told with control_guess as long as none was written. */
void control_wrote(struct control *c, double seconds, int good, int stops);
void control_guess(struct control *c, double seconds);

/* Seconds of a wall-clock time as Slurm writes it: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
 * days-hours:minutes, days-hours:minutes:seconds; UNLIMITED: HUGE_VAL. 0 or -1. */
int control_walltime(const char *text, double *seconds);
#endif
