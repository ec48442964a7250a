/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots and checkpoints of a run, and what happens where one cannot be written. */
#include <config.h>
#include "run/run_parts.h"

#include <string.h>

#include "io/snapshot/snapshot.h"

enum { FAILURES_MAX = 3 };   /* attempts to write the checkpoint of a run that is to stop */

void run_write_snapshot(struct run *r, int number)
{
  struct sim *s = &r->sim;
  struct fault f = {""};
  char path[2 * PARAM_TEXT + 32];
  double began = timer_clock();
  if (r->options->no_output) return;
  timer_phase(&s->timer, PHASE_output);
  snprintf(path, sizeof path, "%s/%s_%03d.hdf5", s->par->OutputDir, s->par->SnapshotFileBase, number);
  struct snapshot_facts facts = {s->par, s->time, s->step, s->gravity, SNAPSHOT_RUN, s->par->NumFilesPerSnapshot};
  int was_pending = r->state.pending;
  r->state.pending = snapshot_write(s->comm, path, s->be->view(s->dev), &facts, &f) != 0;
  if (r->state.pending && !was_pending) {
    comm_print_fault(s->comm, "warning: the run continues without this snapshot, and tries again", &f);
  } else if (!r->state.pending && s->comm->rank == 0) {
    printf("snapshot %s at time %g%s\n", path, s->time, was_pending ? " (late)" : "");
    fflush(stdout);
  }
  if (!r->state.pending) control_guess(&r->control, timer_clock() - began);
  timer_phase(&s->timer, PHASE_other);
}

void run_snapshot(struct run *r)
{
  r->failed_snapshots += r->state.pending;   /* the pending snapshot's time has passed */
  r->state.pending = 0;
  run_write_snapshot(r, r->state.snapshots++);
}

void run_emergency(struct run *r)
{
  struct sim *s = &r->sim;
  struct fault f = {""};
  char path[PARAM_TEXT + 64];
  snprintf(path, sizeof path, "%s/emergency_%06lld.hdf5", s->par->OutputDir, s->step);
  struct snapshot_facts facts = {s->par, s->time, s->step, s->gravity, SNAPSHOT_ALL, 1};
  timer_phase(&s->timer, PHASE_output);
  if (snapshot_write(s->comm, path, s->be->view(s->dev), &facts, &f)) comm_print_fault(s->comm, "warning", &f);
  else if (s->comm->rank == 0) fprintf(stderr, "espalier: the state is in %s\n", path);
}

void run_name_checkpoint(struct run *r, long long number)
{
  snprintf(r->status.checkpoint, sizeof r->status.checkpoint, "checkpoint_%06lld", number);
  r->status.checkpoint_step = number;
}

/* Write a checkpoint at the end of the substeps. Collective. 0, or -1 where none could be written. */
static int write_checkpoint(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  double began = timer_clock();
  timer_phase(&s->timer, PHASE_output);
  int64_t bad = guard_bad(s->be->view(s->dev));
  comm_sum_int64(s->comm, &bad, 1);
  if (bad) fault_set(f, "%lld particle%s positions or velocities that are not finite", (long long)bad, bad == 1 ? " has" : "s have");
  else state_save(s, &r->logs, &r->state, f);
  double seconds = timer_clock() - began;
  comm_max_double(s->comm, &seconds, 1);
  control_wrote(&r->control, seconds, !f->text[0], s->stop_request >= REQUEST_STOP);
  timer_phase(&s->timer, PHASE_correct);
  s->half.part[1][0] = s->timer;
  if (f->text[0]) return -1;
  r->state.checkpoint_seconds = seconds;
  run_name_checkpoint(r, s->step + 1);
  if (s->comm->rank == 0) {
    printf("checkpoint %s in soft step %lld (%.2f s)\n", r->status.checkpoint, s->step + 1, seconds);
    fflush(stdout);
    status_running(&r->status, 1);
  }
  return 0;
}

int run_serve_request(struct run *r, int last, struct fault *f)
{
  struct sim *s = &r->sim;
  struct fault failed = {""};
  int stop_request = s->stop_request;
  if (r->options->no_output) {   /* the run ends without a checkpoint */
    r->interrupted = stop_request >= REQUEST_STOP ? stop_request : 0;
    return r->interrupted > 0;
  }
  if (stop_request == REQUEST_NONE && !(last && s->par->CheckpointAtEnd)) return 0;
  run_keep_folders(r);
  if (r->lost[0]) stop_request = s->stop_request = REQUEST_STOP;
  if (write_checkpoint(r, &failed)) {
    comm_print_fault(s->comm, "warning: no checkpoint could be written, the run continues", &failed);
    if (stop_request < REQUEST_STOP || r->control.failures < FAILURES_MAX) return 0;
    return fault_set(f, "the run is to stop, but no checkpoint could be written: %.800s", failed.text);
  }
  r->interrupted = stop_request >= REQUEST_STOP ? stop_request : 0;
  return r->interrupted > 0;
}
