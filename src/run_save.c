/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots and checkpoints of a run: what becomes of those that cannot be written. */
#include <config.h>
#include "run_parts.h"

#include <string.h>

#include "snapshot.h"

enum { FAILURES_MOST = 3 };   /* tries to write the checkpoint of a run that is to stop */

void run_write_snapshot(struct run *r, int number)
{
  struct sim *s = &r->sim;
  struct fault f = {""};
  char path[2 * PARAM_TEXT + 32];
  double began = timer_clock();
  if (r->options->no_output) return;
  timer_phase(&s->timer, PHASE_output);
  snprintf(path, sizeof path, "%s/%s_%03d.hdf5", s->par->OutputDir, s->par->SnapshotFileBase, number);
  struct snapshot_facts facts = {s->par, s->time, s->step, s->gravity, SNAPSHOT_POTENTIAL, s->par->NumFilesPerSnapshot, s->par->Xdmf};
  int was_pending = r->state.pending;
  r->state.pending = snapshot_write(s->comm, path, s->be->view(s->dev), &facts, &f) != 0;
  if (r->state.pending && !was_pending) {
    comm_say(s->comm, "warning: the run goes on without a snapshot, and tries again", &f);
  } else if (!r->state.pending && s->comm->rank == 0) {
    printf("snapshot %s at time %g%s\n", path, s->time, was_pending ? " (late)" : "");
    fflush(stdout);
  }
  if (!r->state.pending) control_guess(&r->control, timer_clock() - began);
  timer_phase(&s->timer, PHASE_other);
}

void run_snapshot(struct run *r)
{
  r->failed_snapshots += r->state.pending;   /* its time is over */
  r->state.pending = 0;
  run_write_snapshot(r, r->state.snapshots++);
}

void run_emergency(struct run *r)
{
  struct sim *s = &r->sim;
  struct fault f = {""};
  char path[PARAM_TEXT + 64];
  snprintf(path, sizeof path, "%s/emergency_%06lld.hdf5", s->par->OutputDir, s->step);
  unsigned all = SNAPSHOT_POTENTIAL | SNAPSHOT_ACCELERATION | SNAPSHOT_ACCELERATION_HARD;
  struct snapshot_facts facts = {s->par, s->time, s->step, s->gravity, all, 1, 0};
  timer_phase(&s->timer, PHASE_output);
  if (snapshot_write(s->comm, path, s->be->view(s->dev), &facts, &f)) comm_say(s->comm, "warning", &f);
  else if (s->comm->rank == 0) fprintf(stderr, "espalier: the state is in %s\n", path);
}

void run_name_checkpoint(struct run *r, long long number)
{
  snprintf(r->status.checkpoint, sizeof r->status.checkpoint, "checkpoint_%06lld", number);
  r->status.checkpoint_step = number;
}

/* Between the parts of a soft step. 0, or -1 where no checkpoint could be written. Collective. */
static int write_checkpoint(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  double began = timer_clock();
  timer_phase(&s->timer, PHASE_output);
  int64_t bad = guard_bad(s->be->view(s->dev));
  comm_sum_int64(s->comm, &bad, 1);
  if (bad) fault_set(f, "%lld particle%s places or velocities that are not finite", (long long)bad, bad == 1 ? " has" : "s have");
  else state_save(s, &r->logs, &r->state, f);
  double seconds = timer_clock() - began;
  comm_max_double(s->comm, &seconds, 1);
  control_wrote(&r->control, seconds, !f->text[0], s->wish >= WISH_STOP);
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

int run_meet_wish(struct run *r, int last, struct fault *f)
{
  struct sim *s = &r->sim;
  struct fault failed = {""};
  int wish = s->wish;
  if (r->options->no_output) {   /* a run for its timings ends where it is asked to, and leaves nothing to go on from */
    r->interrupted = wish >= WISH_STOP ? wish : 0;
    return r->interrupted > 0;
  }
  if (wish == WISH_NOTHING && !(last && s->par->CheckpointAtEnd)) return 0;
  if (write_checkpoint(r, &failed)) {
    comm_say(s->comm, "warning: no checkpoint could be written, the run goes on", &failed);
    if (wish < WISH_STOP || r->control.failures < FAILURES_MOST) return 0;
    return fault_set(f, "the run is to stop, but no checkpoint could be written: %.800s", failed.text);
  }
  r->interrupted = wish >= WISH_STOP ? wish : 0;
  return r->interrupted > 0;
}
