/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run whose folder or lock is removed, renamed or replaced: it writes its state elsewhere and ends, and writes nothing into a folder that
 * may be another run's. */
#include <config.h>
#include "run/run_parts.h"

#include <string.h>

#include "base/folders.h"
#include "job/last_words.h"
#include "settings/settings.h"

static const char *const words[] = {[FOLDER_MOVED] = "was moved", [FOLDER_GONE] = "was removed, or moved away",
                                    [LOCK_REMOVED] = "has lost its file 'lock', which was removed",
                                    [LOCK_REPLACED] = "has another file 'lock', so another run may use the folder"};

void run_hold_folders(struct run *r)
{
  const struct params *p = &r->own;
  held_folder_open(&r->output, p->OutputDir);
  if (p->CheckpointDir[0] && !r->options->no_output) held_folder_open(&r->checkpoints, p->CheckpointDir);
  r->shared_lock = folder_same(p->CheckpointDir, p->OutputDir);
}

void run_release_folders(struct run *r)
{
  held_folder_close(&r->output);
  held_folder_close(&r->checkpoints);
}

/* Set a folder of the parameters, `to` of r->own. 0, or -1 where its name is too long for them. */
static int set_folder(struct run *r, char to[PARAM_TEXT], const char *path)
{
  if (strlen(path) >= PARAM_TEXT) return -1;
  strcpy(to, path);
  settings_use_folders(&r->sim, &r->own);
  return 0;
}

/* Take the lock of a folder again that has lost it. 0, or -1 where another run was faster. */
static int lock_again(struct lock *l, const char *what, const char *folder)
{
  struct fault taken = {""};
  lock_release(l);
  return lock_take(l, what, folder, &taken);
}

/* Results go to a new folder from now on. */
static void move_output(struct run *r, struct fault *f)
{
  char path[FOLDER_PATH];
  struct fault ignored = {""};
  held_folder_rescue(&r->output, path, f);
  if (set_folder(r, r->own.OutputDir, path)) fault_set(f, "the name of the rescue folder %.300s is too long", path);
  held_folder_close(&r->output);
  lock_release(&r->lock);
  r->status.checkpoint[0] = 0;
  r->status.checkpoint_step = 0;
  if (!f->text[0]) lock_take(&r->lock, "OutputDir", r->own.OutputDir, f);
  logs_begin_again(&r->logs, &r->sim, &ignored);
}

/* Rank 0: look at OutputDir. Returns what became of it. */
static enum folder_fate keep_output(struct run *r, struct fault *f)
{
  char now[FOLDER_PATH];
  enum folder_fate fate = held_folder_look(&r->output, &r->lock, now);
  int kept = fate == FOLDER_HELD || (fate == FOLDER_MOVED && set_folder(r, r->own.OutputDir, now) == 0) ||
             (fate == LOCK_REMOVED && lock_again(&r->lock, "OutputDir", r->own.OutputDir) == 0);
  if (!kept) move_output(r, f);
  return fate;
}

/* Rank 0: look at CheckpointDir. Returns what became of it. */
static enum folder_fate keep_checkpoints(struct run *r)
{
  char now[FOLDER_PATH];
  struct lock *l = r->shared_lock ? &r->lock : &r->checkpoint_lock;
  enum folder_fate fate = held_folder_look(&r->checkpoints, l, now);
  int kept = fate == FOLDER_HELD || (fate == FOLDER_MOVED && set_folder(r, r->own.CheckpointDir, now) == 0) ||
             (fate == LOCK_REMOVED && !r->shared_lock && lock_again(l, "CheckpointDir", r->own.CheckpointDir) == 0);
  if (kept) return fate;
  set_folder(r, r->own.CheckpointDir, "");   /* checkpoints go to OutputDir */
  held_folder_close(&r->checkpoints);
  lock_release(&r->checkpoint_lock);
  return fate;
}

int run_folder_held(const struct run *r)
{
  char now[FOLDER_PATH];
  return r->lost[0] || held_folder_look(&r->output, &r->lock, now) == FOLDER_HELD;
}

/* Rank 0: look at both folders. Returns 1 where the run must end, and says so. */
static int look(struct run *r)
{
  struct fault f = {""};
  struct params before = r->own;
  if (r->lost[0]) return 0;   /* it ends already */
  enum folder_fate output = keep_output(r, &f), checkpoints = keep_checkpoints(r), fate = output != FOLDER_HELD ? output : checkpoints;
  if (fate == FOLDER_HELD) return 0;
  snprintf(r->lost, sizeof r->lost, "%s = %.300s %s", output != FOLDER_HELD ? "OutputDir" : "CheckpointDir",
           output != FOLDER_HELD ? before.OutputDir : before.CheckpointDir, words[fate]);
  fflush(stdout);
  if (f.text[0]) fprintf(stderr, "espalier: warning: %s; there is no other folder for the state: %s\n", r->lost, f.text);
  else
    fprintf(stderr, "espalier: warning: %s; the run writes its state to %s, and ends\n", r->lost,
            r->own.CheckpointDir[0] ? r->own.CheckpointDir : r->own.OutputDir);
  return 1;
}

void run_report_lost(const struct run *r, struct fault *f)
{
  const struct params *p = &r->own;
  if (!r->lost[0]) return;
  if (!r->interrupted || r->options->no_output) fault_set(f, "%s; the last results are in %s", r->lost, p->OutputDir);
  else
    fault_set(f, "%s; the state is saved: continue with --restart -P Output:OutputDir=%s%s%s", r->lost, p->OutputDir,
              r->checkpoints.path[0] ? " -P Checkpoints:CheckpointDir=" : "", p->CheckpointDir);
}

void run_keep_folders(struct run *r)
{
  const struct comm *c = r->sim.comm;
  int ends = c->rank == 0 && look(r);
  comm_broadcast(c, &ends, sizeof ends);
  if (!ends) return;
  comm_broadcast(c, &r->own, sizeof r->own);
  settings_use_folders(&r->sim, &r->own);
  comm_broadcast(c, r->lost, sizeof r->lost);
  abort_status_close();
  abort_status_open(r->own.OutputDir, c->rank, 0);
  r->control.forced = "a folder of the run was moved or removed";
}
