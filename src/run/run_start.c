/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Start of a run: locks on its folders, the system from its file or from a checkpoint, the tables, and what happens to results of earlier
 * runs. */
#include <config.h>
#include "run/run_parts.h"

#include "base/folders.h"
#include "io/snapshot/snapshot.h"
#include "job/last_words.h"
#include "run/check.h"
#include "run/continuation.h"
#include "run/start.h"
#include "settings/settings.h"

/* Lock CheckpointDir, so that no two runs write checkpoints there. Within OutputDir the lock of OutputDir suffices. Rank 0. 0 or -1. */
static int lock_checkpoints(struct run *r, const struct params *par, struct fault *f)
{
  if (!par->CheckpointDir[0] || r->checkpoint_lock.file >= 0 || folder_same(par->CheckpointDir, par->OutputDir)) return 0;
  return lock_take(&r->checkpoint_lock, "CheckpointDir", par->CheckpointDir, f);
}

/* Lock folders that exist before anything in them is read: another run that is ending may still write its last checkpoint.
 * Collective. 0 or -1. */
static int lock_existing_folders(struct run *r, const struct comm *c, const struct params *par, struct fault *f)
{
  if (c->rank == 0 && lock_take(&r->lock, "OutputDir", par->OutputDir, f) == 0 && status_check(par, f) == 0) lock_checkpoints(r, par, f);
  return comm_verdict(c, f);
}

/* Make and lock the folders that do not exist, after all other checks of the start have passed. Rank 0. */
static void lock_new_folders(struct run *r, const struct params *par, struct fault *f)
{
  int resumes = r->soft_step_opened && r->from.own_folder;
  struct fault later = {""};   /* a CheckpointDir that cannot be made is reported with the first checkpoint */
  if (f->text[0] || (r->lock.file < 0 && !resumes && logs_check(par, r->options->overwrite, f))) return;
  if (r->lock.file < 0 && folder_make(par->OutputDir, "OutputDir", f) == 0) lock_take(&r->lock, "OutputDir", par->OutputDir, f);
  if (f->text[0] || r->options->no_output || !par->CheckpointDir[0]) return;
  if (folder_make(par->CheckpointDir, "CheckpointDir", &later) == 0 && lock_checkpoints(r, par, f) == 0) checkpoint_check_others(par, f);
}

/* The checkpoint is not before TimeMax, so there is nothing to do; this is no fault. */
static void report_checkpoint_at_end(struct run *r)
{
  const struct sim *s = &r->sim;
  r->nothing_left = 1;
  if (s->comm->rank != 0) return;
  print_nothing_left(r->from.path, s->time, s->par);
  run_begin_status(r);
  status_nothing_left(&r->status);
}

/* The run has finished and is not to continue; this is no fault. */
static void report_finished(struct run *r, const struct comm *c, const struct params *par)
{
  r->nothing_left = 1;
  r->status.par = par;
  if (c->rank == 0) status_nothing_left(&r->status);
}

int run_start(struct run *r, const struct comm *c, const struct params *par, struct fault *f)
{
  const struct run_options *o = r->options;
  if (lock_existing_folders(r, c, par, f)) return -1;
  if (continuation_has_finished(c, par, o)) {
    report_finished(r, c, par);
    return -1;
  }
  if (o->restart) abort_status_open(par->OutputDir, c->rank, 1);   /* the status file is that of this run's previous job */
  if (o->restart ? state_load(&r->sim, &r->state, &r->from, c, par, o->from, f) : sim_start(&r->sim, c, par, f)) return -1;
  r->soft_step_opened = o->restart;
  if (o->no_output) r->state.pending = 0;   /* a pending snapshot will not be written */
  if (o->restart && !(r->sim.time < par->TimeMax)) report_checkpoint_at_end(r);
  else if (o->restart) check_steps(o->steps, r->sim.step + 1, r->from.path, f);
  else check_times(par, r->sim.time, f);
  if (!f->text[0] && !r->nothing_left) outputs_open(&r->outputs, par, f);
  /* before any folder is made: a refused run leaves nothing behind */
  if (!o->restart && comm_agree(c, f) == 0 && settings_read_choices(&r->sim, f) == 0) assess_start(&r->sim, o, outputs_next(&r->outputs, r->sim.time), f);
  r->own = *r->sim.par;   /* with what the first force showed */
  if (c->rank == 0 && !r->nothing_left) lock_new_folders(r, par, f);
  if (comm_agree(c, f) == 0 && !r->nothing_left &&
      (o->restart ? state_load_logs(&r->logs, &r->sim, &r->from, o->overwrite, f) : logs_open(&r->logs, &r->sim, o->overwrite, f)) == 0)
    return 0;
  outputs_close(&r->outputs);
  sim_close(&r->sim);
  checkpoint_close(&r->from);
  return -1;
}

void run_discard_earlier_results(struct run *r)
{
  const struct params *par = r->sim.par;
  int own = r->soft_step_opened && r->from.own_folder && r->from.own_output;
  if (own && r->options->overwrite)
    fprintf(stderr, "espalier: warning: --overwrite does nothing here: %s is this run's own checkpoint, and the run keeps its results\n",
            r->from.path);
  if (own) continuation_report(par, "restart: ", r->sim.step + 1, r->sim.time);
  if (own && !r->options->no_output) checkpoint_set_aside(par, &r->from);
  if (own && !r->options->no_output)
    continuation_discard(&(struct continuation){par, r->options, &r->outputs, &r->from, &r->state, r->sim.step, r->sim.time}, 0);
  if (!r->soft_step_opened || !r->from.own_folder) checkpoint_remove_all(par);   /* there are none, or --overwrite was given */
  /* After a restart from another folder, snapshots here may be this run's own; a run with --no-output does not replace snapshots. */
  if (r->options->overwrite && !r->soft_step_opened && !r->options->no_output)
    snapshot_remove_all(par->OutputDir, par->SnapshotFileBase, par->InitCondFile);
  if (!r->options->no_output && (own || !r->soft_step_opened)) run_remove_projections(r);   /* as later rows of tables */
  control_begin(&r->control);
}
