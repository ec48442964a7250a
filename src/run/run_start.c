/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Start of a run: locks on its folders, the system from its file or from a checkpoint, the tables, and what happens to
 * results of earlier runs. */
#include <config.h>
#include "run/run_parts.h"

#include "base/folders.h"
#include "io/snapshot/snapshot.h"
#include "job/last_words.h"
#include "run/check.h"
#include "run/continuation.h"
#include "run/start.h"
#include "scheme/neighbour_lists.h"
#include "settings/settings.h"

/* Lock CheckpointDir, so that no two runs write checkpoints there. Within OutputDir the lock of OutputDir suffices.
 * Rank 0. 0 or -1. */
static int lock_checkpoints(struct run *run, const struct params *par, struct fault *fault)
{
  if (!par->CheckpointDir[0] || run->checkpoint_lock.file >= 0 || folder_same(par->CheckpointDir, par->OutputDir))
    return 0;
  return lock_take(&run->checkpoint_lock, "CheckpointDir", par->CheckpointDir, fault);
}

/* Lock folders that exist before anything in them is read: another run that is ending may still write its last
 * checkpoint. Collective. 0 or -1. */
static int lock_existing_folders(struct run *run, const struct comm *comm, const struct params *par,
                                 struct fault *fault)
{
  if (comm->rank == 0 && lock_take(&run->lock, "OutputDir", par->OutputDir, fault) == 0 &&
      status_check(par, fault) == 0)
    lock_checkpoints(run, par, fault);
  return comm_verdict(comm, fault);
}

/* Make and lock the folders that do not exist, after all other checks of the start have passed. Rank 0. */
static void lock_new_folders(struct run *run, const struct params *par, struct fault *fault)
{
  int resumes = run->soft_step_opened && run->from.own_folder;
  struct fault later = {""}; /* a CheckpointDir that cannot be made may be there by the first checkpoint */
  if (fault->text[0] || (run->lock.file < 0 && !resumes && logs_check(par, run->options->overwrite, fault))) return;
  char first[PARAM_TEXT];
  if (run->lock.file < 0 && folders_missing(par->OutputDir, first, sizeof first))
    printf("note: OutputDir = %s: %s was not there, and is made with what follows\n", par->OutputDir, first);
  if (run->lock.file < 0 && folder_make(par->OutputDir, "OutputDir", fault) == 0)
    lock_take(&run->lock, "OutputDir", par->OutputDir, fault);
  if (fault->text[0] || run->options->no_output || !par->CheckpointDir[0]) return;
  if (folder_make(par->CheckpointDir, "CheckpointDir", &later))
    fprintf(stderr, "espalier: warning: as it is now, no checkpoint can be written: %s\n", later.text);
  else if (lock_checkpoints(run, par, fault) == 0) checkpoint_check_others(par, fault);
}

void run_begin_status(struct run *run)
{
  const struct sim *sim = &run->sim;
  run->status = (struct status){.par = sim->par,
                                .ranks = sim->comm->size,
                                .backend = sim->be->name,
                                .step = sim->step,
                                .time = sim->time,
                                .begin = sim->time,
                                .started = timer_clock(),
                                .ends = run->control.limit,
                                .energy_error = run->logs.error.known ? logs_worst(&run->logs) : NAN};
  missing_text(&run->state.missing, run->status.missing, sizeof run->status.missing);
  run->first_again = -1;
  /* The next job looks for the named checkpoint in this run's folder, so one of another folder or run is not named. */
  if (run->soft_step_opened && run->from.own_folder && run->from.own_output) run_name_checkpoint(run, run->from.number);
}

/* The checkpoint is not before TimeMax, so there is nothing to do; this is no fault. */
static void report_checkpoint_at_end(struct run *run)
{
  const struct sim *sim = &run->sim;
  run->nothing_left = 1;
  if (sim->comm->rank != 0) return;
  print_nothing_left(run->from.path, sim->time, sim->par);
  run_begin_status(run);
  status_nothing_left(&run->status);
}

/* The run has finished and is not to continue; this is no fault. */
static void report_finished(struct run *run, const struct comm *comm, const struct params *par)
{
  run->nothing_left = 1;
  run->status.par = par;
  if (comm->rank == 0) status_nothing_left(&run->status);
}

int run_start(struct run *run, const struct comm *comm, const struct params *par, struct fault *fault)
{
  const struct run_options *o = run->options;
  if (lock_existing_folders(run, comm, par, fault)) return -1;
  if (continuation_has_finished(comm, par, o)) {
    report_finished(run, comm, par);
    return -1;
  }
  /* the status file is that of this run's previous job */
  if (o->restart) abort_status_open(par->OutputDir, comm->rank, 1);
  if (o->restart ? state_load(&run->sim, &run->state, &run->from, comm, par, o, fault)
                 : sim_start(&run->sim, comm, par, fault))
    return -1;
  run->soft_step_opened = o->restart;
  if (o->no_output) run->state.pending = 0; /* a pending snapshot will not be written */
  if (o->restart && !(run->sim.time < par->TimeMax)) report_checkpoint_at_end(run);
  else if (o->restart && neighbour_lists_check_collisions(&run->sim, fault) == 0)
    check_steps(o->steps, run->sim.step + 1, run->from.path, fault);
  else if (!o->restart) check_times(par, run->sim.time, fault);
  if (!fault->text[0] && !run->nothing_left) outputs_open(&run->outputs, par, fault);
  /* before any folder is made: a refused run leaves nothing behind */
  if (!o->restart && comm_agree(comm, fault) == 0 && settings_read_choices(&run->sim, fault) == 0)
    assess_start(&run->sim, o, outputs_next(&run->outputs, run->sim.time), fault);
  run->logs.origin = o->origin;
  run->own = *run->sim.par; /* with what the first force showed */
  if (comm->rank == 0 && !run->nothing_left) lock_new_folders(run, par, fault);
  if (comm_agree(comm, fault) == 0 && !run->nothing_left &&
      (o->restart ? state_load_logs(&run->logs, &run->sim, &run->from, o->overwrite, fault)
                  : logs_open(&run->logs, &run->sim, o->overwrite, fault)) == 0)
    return 0;
  outputs_close(&run->outputs);
  sim_close(&run->sim);
  checkpoint_close(&run->from);
  return -1;
}

void run_discard_earlier_results(struct run *run)
{
  const struct params *par = run->sim.par;
  int own = run->soft_step_opened && run->from.own_folder && run->from.own_output;
  if (own && run->options->overwrite)
    fprintf(stderr,
            "espalier: warning: --overwrite does nothing here: %s is this run's own checkpoint, and the run keeps its "
            "results\n",
            run->from.path);
  if (own) continuation_report(par, "restart: ", run->sim.step + 1, run->sim.time);
  if (own && !run->options->no_output) checkpoint_set_aside(par, &run->from);
  if (own && !run->options->no_output)
    continuation_discard(
        &(struct continuation){par, run->options, &run->outputs, &run->from, &run->state, run->sim.step, run->sim.time},
        0);
  /* there are none, or --overwrite was given */
  if (!run->soft_step_opened || !run->from.own_folder) checkpoint_remove_all(par);
  /* After a restart from another folder, snapshots here may be this run's own; a run with --no-output does not replace
   * snapshots. */
  if (run->options->overwrite && !run->soft_step_opened && !run->options->no_output)
    snapshot_remove_all(par->OutputDir, par->SnapshotFileBase, par->InitCondFile);
  /* as later rows of tables */
  if (!run->options->no_output && (own || !run->soft_step_opened)) run_remove_projections(run);
  control_begin(&run->control);
}
