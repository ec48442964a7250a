/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run whose folder or lock is removed, renamed or replaced: it writes its state elsewhere and ends, and writes
 * nothing into a folder that may be another run's. */
#include <config.h>
#include "run/run_parts.h"

#include <string.h>

#include "base/folders.h"
#include "base/lines.h"
#include "job/last_words.h"
#include "settings/settings.h"

static const char *const words[] = {[FOLDER_MOVED] = "was moved",
                                    [FOLDER_GONE] = "was removed, or moved away",
                                    [LOCK_REMOVED] = "has lost its file 'lock', which was removed",
                                    [LOCK_REPLACED] = "has another file 'lock', so another run may use the folder"};

void run_hold_folders(struct run *run)
{
  const struct params *p = &run->own;
  held_folder_open(&run->output, p->OutputDir);
  if (p->CheckpointDir[0] && !run->options->no_output) held_folder_open(&run->checkpoints, p->CheckpointDir);
  run->shared_lock = folder_same(p->CheckpointDir, p->OutputDir);
}

void run_release_folders(struct run *run)
{
  held_folder_close(&run->output);
  held_folder_close(&run->checkpoints);
}

/* Set a folder of the parameters, `to` of run->own. 0, or -1 where its name is too long for them. */
static int set_folder(struct run *run, char to[PARAM_TEXT], const char *path)
{
  if (strlen(path) >= PARAM_TEXT) return -1;
  strcpy(to, path);
  settings_use_folders(&run->sim, &run->own);
  return 0;
}

/* Take the lock of a folder again that has lost it. 0, or -1 where another run was faster. */
static int lock_again(struct lock *lock, const char *what, const char *folder)
{
  struct fault taken = {""};
  lock_release(lock);
  return lock_take(lock, what, folder, &taken);
}

/* Results go to a new folder from now on. */
static void move_output(struct run *run, struct fault *fault)
{
  char path[FOLDER_PATH];
  struct fault ignored = {""};
  held_folder_rescue(&run->output, path, fault);
  if (set_folder(run, run->own.OutputDir, path))
    fault_set(fault, "the name of the rescue folder %.300s is too long", path);
  held_folder_close(&run->output);
  lock_release(&run->lock);
  run->status.checkpoint[0] = 0;
  run->status.checkpoint_step = 0;
  if (!fault->text[0]) lock_take(&run->lock, "OutputDir", run->own.OutputDir, fault);
  logs_begin_again(&run->logs, &run->sim, &ignored);
}

/* Rank 0: look at OutputDir. Returns what became of it. */
static enum folder_fate keep_output(struct run *run, struct fault *fault)
{
  char now[FOLDER_PATH];
  enum folder_fate fate = held_folder_look(&run->output, &run->lock, now);
  int kept = fate == FOLDER_HELD || (fate == FOLDER_MOVED && set_folder(run, run->own.OutputDir, now) == 0) ||
             (fate == LOCK_REMOVED && lock_again(&run->lock, "OutputDir", run->own.OutputDir) == 0);
  if (!kept) move_output(run, fault);
  return fate;
}

/* Rank 0: look at CheckpointDir. Returns what became of it. */
static enum folder_fate keep_checkpoints(struct run *run)
{
  char now[FOLDER_PATH];
  struct lock *l = run->shared_lock ? &run->lock : &run->checkpoint_lock;
  enum folder_fate fate = held_folder_look(&run->checkpoints, l, now);
  int kept = fate == FOLDER_HELD || (fate == FOLDER_MOVED && set_folder(run, run->own.CheckpointDir, now) == 0) ||
             (fate == LOCK_REMOVED && !run->shared_lock && lock_again(l, "CheckpointDir", run->own.CheckpointDir) == 0);
  if (kept) return fate;
  set_folder(run, run->own.CheckpointDir, ""); /* checkpoints go to OutputDir */
  held_folder_close(&run->checkpoints);
  lock_release(&run->checkpoint_lock);
  return fate;
}

int run_folder_held(const struct run *run)
{
  char now[FOLDER_PATH];
  return run->lost[0] || held_folder_look(&run->output, &run->lock, now) == FOLDER_HELD;
}

/* Rank 0: look at both folders. Returns 1 where the run must end, and says so. */
static int look(struct run *run)
{
  struct fault f = {""};
  struct params before = run->own;
  if (run->lost[0]) return 0; /* it ends already */
  enum folder_fate output = keep_output(run, &f), checkpoints = keep_checkpoints(run),
                   fate = output != FOLDER_HELD ? output : checkpoints;
  if (fate == FOLDER_HELD) return 0;
  snprintf(run->lost, sizeof run->lost, "%s = %.300s %s", output != FOLDER_HELD ? "OutputDir" : "CheckpointDir",
           output != FOLDER_HELD ? before.OutputDir : before.CheckpointDir, words[fate]);
  fflush(stdout);
  if (f.text[0])
    fprintf(stderr, "espalier: warning: %s; there is no other folder for the state: %s\n", run->lost, f.text);
  else
    fprintf(stderr, "espalier: warning: %s; the run writes its state to %s, and ends\n", run->lost,
            run->own.CheckpointDir[0] ? run->own.CheckpointDir : run->own.OutputDir);
  return 1;
}

void run_report_lost(const struct run *run, struct fault *fault)
{
  const struct params *p = &run->own;
  if (!run->lost[0]) return;
  if (!run->interrupted || run->options->no_output)
    fault_set(fault, "%s; the last results are in %s", run->lost, p->OutputDir);
  else {
    char output[2 * PARAM_TEXT], checkpoints[2 * PARAM_TEXT] = "";
    int apart = run->checkpoints.path[0] != 0;
    shell_text("Output:OutputDir=", p->OutputDir, output, sizeof output);
    if (apart) shell_text("Checkpoints:CheckpointDir=", p->CheckpointDir, checkpoints, sizeof checkpoints);
    fault_set(fault, "%s; the state is saved: continue with --restart -P %s%s%s", run->lost, output,
              apart ? " -P " : "", checkpoints);
  }
}

void run_keep_folders(struct run *run)
{
  const struct comm *c = run->sim.comm;
  int ends = c->rank == 0 && look(run);
  comm_broadcast(c, &ends, sizeof ends);
  if (!ends) return;
  comm_broadcast(c, &run->own, sizeof run->own);
  settings_use_folders(&run->sim, &run->own);
  comm_broadcast(c, run->lost, sizeof run->lost);
  abort_status_close();
  abort_status_open(run->own.OutputDir, c->rank, 0);
  run->control.forced = "a folder of the run was moved or removed";
}
