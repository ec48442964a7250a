/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests for a checkpoint or a stop: by signals, by files in OutputDir, by the wall clock.
 *
 * SIGUSR1, SIGTERM, SIGHUP (unless it is ignored, as under nohup) and SIGINT request a checkpoint and a stop; a
 * second SIGINT ends the process. SIGUSR2 requests a checkpoint, and so does SIGCONT under Open MPI, whose mpirun
 * sends it a second before SIGTERM, and SIGKILL a second after that. The files `stop` and `checkpoint`, empty or
 * with a few words, request the same; rank 0 looks for them every few seconds and removes them. Larger files of
 * these names are left in place. Before the wall-clock limit the run stops while two of the longest soft steps and a
 * checkpoint still fit. The ranks agree on a request in step_open and at checkpoint ticks. */
#ifndef CONTROL_H
#define CONTROL_H
#include "params/params.h"

/* In order of precedence. STOP: by the user; YIELD: by the batch system, so another job is to continue the run. */
enum stop_request { REQUEST_NONE, REQUEST_CHECKPOINT, REQUEST_STOP, REQUEST_YIELD };

struct control {
  const struct params *par;
  int rank;
  double limit;       /* clock at which the job ends; HUGE_VAL: never */
  double margin;      /* seconds that are left unused */
  double longest;     /* longest time between two opportunities to serve a request, seconds */
  double writing;     /* seconds that a checkpoint takes; 0: unknown */
  double due;         /* clock at which the next checkpoint is due; HUGE_VAL: none */
  double retry;       /* clock before which no checkpoint is tried after a failure */
  double looked;      /* clock of the last search for request files */
  int warned;         /* a warning about a file that is not a request was printed */
  int files;          /* request by files, enum stop_request */
  int failures;       /* failed attempts to write the checkpoint of a stop */
  const char *forced; /* reason of a stop that the run itself requests; NULL: none */
  char reason[64];    /* reason of this rank's last request, in words */
};

/* Call before and after MPI_Init. Keep SIGHUP ignored where it is ignored at the start (nohup), although the MPI
 * library may catch it. `early` 1, for a run: signals other than SIGINT are caught from here on; control_open takes
 * those that have arrived as requests. */
void control_before_mpi(int early);
void control_after_mpi(void);
/* Undo `early`, where no run follows; a signal that has arrived then has its usual effect. */
void control_cancel(void);
/* The wall-clock limit that the batch system gives: seconds until SLURM_JOB_END_TIME, at least 0; negative where it is
 * not set. 0, or -1 with a fault where its value is no time. */
int control_job_end(double *walltime, struct fault *fault);
/* Start to catch signals. `walltime`: seconds until the job ends; negative: unlimited. `writing`: seconds that a
 * checkpoint takes (0: unknown). One object per process at a time. Not collective. */
void control_open(struct control *control, const struct params *params, int rank, double walltime, double writing);
/* Restore the signal handlers, but ignore signals that would end the process. */
void control_close(void);
/* The start is over, and requests are served from now on. Before, a SIGTERM or SIGINT that arrives after control_open
 * ends the process after a few seconds, since the start may be blocked; a second one ends it at once. */
void control_started(void);
/* The text that SIGTERM prints on rank 0 at once, since the process may be killed before it has stopped: what is saved,
 * and the command that continues. It is copied; at most 4 kB of it. */
void control_saved(const struct control *control, const char *text);
/* Remove request files that an earlier run has left. Rank 0 acts. */
void control_begin(struct control *control);
/* The request of this rank for the soft step that begins. Not collective: the caller takes the maximum over ranks. */
enum stop_request control_request(struct control *control);
/* Name the reason of a stop that the run itself requests in the soft step under way. */
void control_stop(struct control *control, const char *reason);
/* Why the run stops, in words. Valid while the struct lives. */
const char *control_reason(const struct control *control);
/* Record the seconds from one control_request to the next. */
void control_step(struct control *control, double seconds);
/* Record an attempt to write a checkpoint, which took `seconds`. `good`: it was written, so pending requests for one
 * are done; else they stay pending. `stops`: the run was to stop with it; only such failures are counted in
 * control->failures. */
void control_wrote(struct control *control, double seconds, int good, int stops);
/* Estimate the seconds of a checkpoint by those of a similar write or of an earlier job, while none has been written.
 * */
void control_guess(struct control *control, double seconds);

/* Convert a wall-clock time in Slurm's syntax to seconds: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
 * days-hours:minutes, days-hours:minutes:seconds; UNLIMITED gives HUGE_VAL. 0, or -1 where the text is none of
 * these. */
int control_walltime(const char *text, double *seconds);
#endif
