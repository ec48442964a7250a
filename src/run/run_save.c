/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots and checkpoints of a run, and what happens where one cannot be written. */
#include <config.h>
#include "run/run_parts.h"

#include <string.h>

#include "analysis/projection.h"
#include "fof/fof.h"
#include "io/snapshot/snapshot.h"
#include "run/continuation.h"
#include "run/terminal.h"

enum { FAILURES_MAX = 3 };   /* attempts to write the checkpoint of a run that is to stop */

/* Of a snapshot of the present state, in the user's frame. */
static struct snapshot_facts facts_of(const struct sim *s, unsigned extras, int files)
{
  struct snapshot_facts facts = {s->par, s->time, s->step, s->gravity, extras, files, {0}, {0}, 0};
  sim_shift(s, facts.place, facts.motion);
  facts.comoving = s->expansion.on ? s->time : 0;
  return facts;
}

/* The catalogue of groups of a snapshot that was just written. Where it cannot be written, `espalier groups` can make it from the snapshot. */
static void write_groups(struct run *r, int number, const struct particles *p, const struct snapshot_facts *facts)
{
  struct sim *s = &r->sim;
  const struct params *par = s->par;
  char path[PARAM_TEXT + 32];
  struct fault f = {""};
  struct fof_request request = {.length = par->LinkingLength, .min_size = par->GroupMinSize, .potential = 1};
  if (par->Comoving) request.density = cosmology_mean_density(par);
  request.expansion = facts->comoving;
  if (par->Groups == GROUPS_OFF) return;
  params_types(par->GroupLinkTypes, &request.linking);
  memcpy(request.place, facts->place, sizeof request.place);
  memcpy(request.motion, facts->motion, sizeof request.motion);
  snprintf(path, sizeof path, "%s/fof_%03d.hdf5", par->OutputDir, number);
  struct fof_facts of = {units_of(par), facts->time, &request, facts->comoving, par->Omega0, par->OmegaLambda, par->HubbleParam};
  if (fof_make(s->comm, p, path, &of, &s->timer, &f))
    comm_print_fault(s->comm, "warning: the run continues without this catalogue, which 'espalier groups' can make from the snapshot", &f);
}

void run_write_snapshot(struct run *r, int number)
{
  struct sim *s = &r->sim;
  struct fault f = {""};
  char path[2 * PARAM_TEXT + 32];
  double began = timer_clock();
  if (r->options->no_output) return;
  timer_phase(&s->timer, PHASE_output);
  snprintf(path, sizeof path, "%s/%s_%03d.hdf5", s->par->OutputDir, s->par->SnapshotFileBase, number);
  struct snapshot_facts facts = facts_of(s, SNAPSHOT_RUN, s->par->NumFilesPerSnapshot);
  int was_pending = r->state.pending;
  const struct particles *particles = s->be->view(s->dev);
  r->state.pending = snapshot_write(s->comm, path, particles, &facts, &f) != 0;
  if (r->state.pending && !was_pending) {
    comm_print_fault(s->comm, "warning: the run continues without this snapshot, and tries again", &f);
    missing_add(&r->state.missing, number, s->time);
  } else if (!r->state.pending && s->comm->rank == 0) {
    terminal_clear(&r->logs);
    printf("snapshot %s at time %g%s\n", path, s->time, was_pending ? " (late)" : "");
    fflush(stdout);
  }
  if (!r->state.pending) missing_remove(&r->state.missing, number);
  missing_text(&r->state.missing, r->status.missing, sizeof r->status.missing);
  if (!r->state.pending) control_guess(&r->control, timer_clock() - began);
  if (!r->state.pending) write_groups(r, number, particles, &facts);
  timer_phase(&s->timer, PHASE_other);
}

static void projection_folder(const struct run *r, char folder[2 * PARAM_TEXT])
{
  snprintf(folder, 2 * PARAM_TEXT, "%s/" PROJECTION_FOLDER, r->sim.par->OutputDir);
}

void run_projection(struct run *r)
{
  struct sim *s = &r->sim;
  struct fault f = {""};
  struct map_facts facts = {.par = s->par, .time = s->time, .gravity = s->gravity, .step = s->step, .half = r->state.projections.half};
  char folder[2 * PARAM_TEXT];
  double place[3], motion[3];
  if (r->options->no_output || !s->par->Projections) return;
  timer_phase(&s->timer, PHASE_output);
  if (s->par->ProjectionSize > 0) facts.half = s->par->ProjectionSize;
  projection_folder(r, folder);
  sim_shift(s, place, motion);
  if (projection_write(s->comm, folder, (int)r->state.projections.next, s->be->view(s->dev), &facts, place, &f)) {
    if (r->missing_maps++ == 0) comm_print_fault(s->comm, "warning: the run continues without these maps", &f);
  }
  r->state.projections.next++;
  if (!(s->par->ProjectionSize > 0)) r->state.projections.half = facts.half;
  timer_phase(&s->timer, PHASE_other);
}

void run_remove_projections(const struct run *r)
{
  char folder[2 * PARAM_TEXT];
  projection_folder(r, folder);
  if (r->sim.comm->rank == 0) projection_remove(folder, (int)r->state.projections.next);
}

void run_snapshot(struct run *r)
{
  r->state.pending = 0;   /* the pending snapshot's time has passed: it stays in the list of missing ones */
  if (!r->state.plan.at_target) run_discard_later(r, r->state.snapshots);   /* at the limit of -n or --substeps */
  run_write_snapshot(r, r->state.snapshots++);
}

int run_report_missing(struct run *r, struct fault *f)
{
  const struct missing *m = &r->state.missing;
  int root = r->sim.comm->rank == 0, count = m->count - r->state.pending, again = 0;
  if (r->options->no_output) return 0;
  if (count > 0 && root) {
    fprintf(stderr, "espalier: %s: %d snapshot%s could not be written and %s missing: ", r->interrupted ? "warning" : "error", count,
            plural(count), count == 1 ? "is" : "are");
    missing_print(m, count, stderr);
    fputc('\n', stderr);
  }
  if (r->state.pending && root)
    fprintf(stderr, "espalier: warning: snapshot %d could not be written yet: the restart tries again\n", r->state.snapshots - 1);
  if (r->missing_maps && root)
    fprintf(stderr, "espalier: %s: maps of %d time%s could not be written and are missing in OutputDir/" PROJECTION_FOLDER "\n",
            r->interrupted ? "warning" : "error", r->missing_maps, plural(r->missing_maps));
  if (r->interrupted || (m->count == 0 && !r->unsaved && !r->missing_maps)) return 0;
  while (r->first_again >= 0 && again < m->count && m->number[m->count - 1 - again] >= r->first_again) again++;
  if (again) fault_set(f, "%d snapshot%s could not be written; a restart from %s writes %s", again, plural(again), r->status.checkpoint,
                       again == 1 ? "it" : "them");
  if (r->unsaved && r->first_again >= 0)
    fault_set(f, "the checkpoint at the end could not be written; a restart from %s writes it", r->status.checkpoint);
  else if (r->unsaved && root) fprintf(stderr, "espalier: error: the checkpoint at the end could not be written, and there is no other\n");
  return 1;
}

int run_report_finished(const struct comm *c, const struct params *par)
{
  char missing[sizeof ((struct status *)0)->missing];
  int status = c->rank == 0 && status_missing(par, missing);
  if (status) fprintf(stderr, "espalier: error: %s: snapshots could not be written and are missing: %s\n", par->OutputDir, missing);
  comm_broadcast(c, &status, sizeof status);
  return status;
}

void run_discard_later(struct run *r, int first)
{
  const struct params *p = r->sim.par;
  if (r->sim.comm->rank != 0 || r->options->no_output || !r->options->restart || !r->from.own_folder || !r->from.own_output) return;
  continuation_discard_later(p, &r->from, first);
}

void run_emergency(struct run *r)
{
  struct sim *s = &r->sim;
  struct fault f = {""};
  char path[PARAM_TEXT + 64];
  snprintf(path, sizeof path, "%s/emergency_%06lld.hdf5", s->par->OutputDir, s->step);
  struct snapshot_facts facts = facts_of(s, SNAPSHOT_ALL, 1);
  timer_phase(&s->timer, PHASE_output);
  if (snapshot_write(s->comm, path, s->be->view(s->dev), &facts, &f)) comm_print_fault(s->comm, "warning", &f);
  else if (s->comm->rank == 0) fprintf(stderr, "espalier: the state is in %s\n", path);
}

void run_name_checkpoint(struct run *r, long long number)
{
  snprintf(r->status.checkpoint, sizeof r->status.checkpoint, "checkpoint_%06lld", number);
  r->status.checkpoint_step = number;
  /* at an output time the next snapshot takes the place of a pending one */
  r->first_again = r->state.snapshots - (r->state.pending && !r->state.plan.at_target);
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
  else {
    memcpy(r->state.collapsed, r->guard.collapsed, sizeof r->guard.collapsed);
    r->state.collapsed[3] = r->collapsed;
    state_save(s, &r->logs, &r->state, f);
  }
  double seconds = timer_clock() - began;
  comm_max_double(s->comm, &seconds, 1);
  control_wrote(&r->control, seconds, !f->text[0], s->stop_request >= REQUEST_STOP);
  timer_phase(&s->timer, PHASE_correct);
  s->half.part[1][0] = s->timer;
  if (f->text[0]) return -1;
  r->state.checkpoint_seconds = seconds;
  run_name_checkpoint(r, s->step + 1);
  if (s->comm->rank == 0) {
    terminal_clear(&r->logs);
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
  r->unsaved = write_checkpoint(r, &failed) && last && s->par->CheckpointAtEnd;
  if (failed.text[0]) {
    comm_print_fault(s->comm, "warning: no checkpoint could be written, the run continues", &failed);
    if (stop_request < REQUEST_STOP || r->control.failures < FAILURES_MAX) return 0;
    return fault_set(f, "the run is to stop, but no checkpoint could be written: %.800s", failed.text);
  }
  r->interrupted = stop_request >= REQUEST_STOP ? stop_request : 0;
  return r->interrupted > 0;
}
