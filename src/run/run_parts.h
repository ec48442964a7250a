/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a run, for run.c (start to end), run_start.c (start), run_loop.c (soft steps), run_save.c (snapshots and
 * checkpoints), rescue.c (folders that are removed) and terminal.c. */
#ifndef RUN_PARTS_H
#define RUN_PARTS_H
#include "job/held_folder.h"
#include "job/lock.h"
#include "job/status.h"
#include "run/control.h"
#include "run/guard.h"
#include "run/logs.h"
#include "run/outputs.h"
#include "run/run.h"
#include "run/state.h"

struct run {
  struct sim sim;
  struct outputs outputs;
  struct logs logs;
  struct run_state state;
  struct control control;
  struct status status;
  struct guard guard;
  struct checkpoint from; /* the checkpoint that the run continues from */
  const struct run_options *options;
  struct params own;                      /* with the folders as they are now; sim.par and others lead to them */
  struct lock lock, checkpoint_lock;      /* rank 0: on OutputDir; on CheckpointDir, where it is another folder */
  struct held_folder output, checkpoints; /* rank 0: OutputDir; CheckpointDir, where it is given */
  int shared_lock;                        /* rank 0: they are one folder */
  char lost[500];                         /* which folder or lock was moved or removed; empty: none */
  int soft_step_opened;                   /* a checkpoint was read: the next soft step continues after its substeps */
  double asked;                           /* clock at which requests were last looked for; 0: not yet */
  int nothing_left;                       /* the checkpoint is not before TimeMax, or the run has finished */
  int interrupted;                        /* the stop request (control.h) that ended the run; 0: none */
  int collapsed;                          /* the step of a close pair collapsed in this job, which ends for that */
  int unsaved;                            /* the checkpoint of CheckpointAtEnd could not be written */
  int missing_maps;                       /* projections that this job could not write */
  /* the first snapshot that a restart from the last checkpoint writes; negative: no checkpoint */
  int first_again;
};

/* Load the system, or read it, compute its first forces and judge it (run/check.h); open the outputs and tables, lock
 * the folders. `run`: zero but for the options, the locks and the control. Collective. Returns 0, or -1 with nothing
 * open: with a fault, or with run->nothing_left set. */
int run_start(struct run *run, const struct comm *comm, const struct params *par, struct fault *fault);
/* Open OutputDir and CheckpointDir, to notice later where their names lead elsewhere; close them. After run_start. For
 * rank 0. */
void run_hold_folders(struct run *run);
void run_release_folders(struct run *run);
/* Look whether OutputDir, CheckpointDir and their locks are still those of this run. Where one is not: choose other
 * folders for the state (the present path of a folder that was moved, else a new one beside it), say so on rank 0's
 * stderr, set run->lost, and request a stop. Before files are written. Collective. */
void run_keep_folders(struct run *run);
/* Whether OutputDir and its lock are still those of this run, between two calls of run_keep_folders. For rank 0. */
int run_folder_held(const struct run *run);
/* Set the fault of a run that ended for that reason: where its state is. For rank 0. */
void run_report_lost(const struct run *run, struct fault *fault);
/* Remove or set aside results of earlier runs that this run replaces. After run_start has succeeded. For rank 0. */
void run_discard_earlier_results(struct run *run);
/* Fill run->status from the system. */
void run_begin_status(struct run *run);

/* Carry out soft steps up to TimeMax, the limit of -n or --substeps, or a stop request. Collective. 0 or -1. */
int run_loop(struct run *run, struct fault *fault);
/* Write rows about the energies that energies_measure has measured, with its `every`, and about the particles; the rule
 * of the next ones begins with them. Collective. */
void run_statistics(struct run *run, int every);
/* A fault where the soft step does not increase the time, or where TimeMax would need too many of them. Local. 0 or
 * -1. */
int run_check_advance(const struct sim *sim, const struct plan *plan, struct fault *fault);
/* Check the system after a soft step of length `dt` (0: at the start); where it is unsound, write it to an emergency
 * file. Collective. 0, or -1 with a fault. */
int run_check_system(struct run *run, double dt, struct fault *fault);

/* Write the next snapshot. One that cannot be written is reported and becomes pending: run_write_snapshot is called
 * with its number at the end of the next soft steps. Collective. */
void run_snapshot(struct run *run);
/* Write snapshot `number`; sets run->state.pending and run->state.missing. Collective. */
void run_write_snapshot(struct run *run, int number);
/* Write the next maps (Projections = on). Those that cannot be written are reported and counted, and not tried again.
 * Collective. */
void run_projection(struct run *run);
/* Look for binaries, and write their tables ([Binaries] Interval). Collective. */
void run_binaries(struct run *run);
/* Remove maps with the number of the next one and later ones. Rank 0 acts. */
void run_remove_projections(const struct run *run);
/* Write the state of a run that cannot continue to OutputDir/emergency_STEP.hdf5. Collective. */
void run_emergency(struct run *run);
/* `run --schedule`: compute the first forces and print the schedule of the first soft step. Nothing is written.
 * Collective. Returns the exit status. */
int run_schedule(const struct comm *comm, const struct params *par);
/* Report on stderr snapshots and maps that were not written, and the missing checkpoint at the end. Returns the exit
 * status that they give the run: 1 where it ends, 0 where it is interrupted, since it is not over. A fault where a
 * restart from the last checkpoint would write some of them. Not collective; the same on all ranks. */
int run_report_missing(struct run *run, struct fault *fault);
/* Report on stderr the snapshots that a run which has finished lacks, as its status file says. Returns the exit status.
 * Collective. */
int run_report_finished(const struct comm *comm, const struct params *par);
/* Move snapshots with `first` and later numbers to OutputDir/discarded where they are of an earlier job that went on
 * beyond the end of this one. Rank 0 acts. */
void run_discard_later(struct run *run, int first);
/* Name checkpoint `number`, which holds the present state, as the last one in run->status. */
void run_name_checkpoint(struct run *run, long long number);
/* Serve the request for a checkpoint or stop (sim.stop_request; or `last` with CheckpointAtEnd) at the end of the
 * substeps. Collective. Returns 0 where the run continues, 1 where it ends here, -1 where it is to stop and no
 * checkpoint could be written. */
int run_serve_request(struct run *run, int last, struct fault *fault);
#endif
