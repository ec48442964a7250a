/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots and checkpoints of a run, and what happens where one cannot be written. */
#include <config.h>
#include "run/run_parts.h"

#include <string.h>

#include "analysis/projection.h"
#include "fof/fof.h"
#include "gravity/cosmology.h"
#include "io/snapshot/snapshot.h"
#include "run/continuation.h"
#include "run/terminal.h"

enum { FAILURES_MAX = 3 }; /* attempts to write the checkpoint of a run that is to stop */

/* Of a snapshot of the present state, in the user's frame. Collective. */
static struct snapshot_facts facts_of(const struct sim *sim, unsigned extras, int files)
{
  struct snapshot_facts facts = {.params = sim->par,
                                 .time = sim->time,
                                 .step = sim->step,
                                 .gravity = sim->force.gravity,
                                 .extras = extras,
                                 .files = files,
                                 .comoving = effects_have(sim, EFFECT_COMOVING) ? sim->time : 0,
                                 .in_field = effects_have(sim, EFFECT_IN_FIELD),
                                 .field_moves = effects_have(sim, EFFECT_ENERGY_CHANGES),
                                 .changes = sim->energy.changes.energy,
                                 .field_energy = effects_energy(sim)};
  sim_shift(sim, facts.place, facts.motion);
  return facts;
}

/* The catalogue of groups of a snapshot that was just written. Where it cannot be written, `espalier groups` can make
 * it from the snapshot. */
static void write_groups(struct run *run, int number, const struct particles *particles,
                         const struct snapshot_facts *facts)
{
  struct sim *sim = &run->sim;
  const struct params *par = sim->par;
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
  struct fof_facts of = {units_of(par), facts->time,      &request,        facts->comoving,
                         par->Omega0,   par->OmegaLambda, par->HubbleParam};
  if (fof_make(sim->comm, particles, path, &of, &sim->timer, &f))
    comm_print_fault(
        sim->comm,
        "warning: the run continues without this catalogue, which 'espalier groups' can make from the snapshot", &f);
}

void run_write_snapshot(struct run *run, int number)
{
  struct sim *sim = &run->sim;
  struct fault f = {""};
  char path[2 * PARAM_TEXT + 32], time[QUANTITY_TEXT];
  double began = timer_clock();
  if (run->options->no_output) return;
  timer_phase(&sim->timer, PHASE_output);
  snprintf(path, sizeof path, "%s/%s_%03d.hdf5", sim->par->OutputDir, sim->par->SnapshotFileBase, number);
  struct snapshot_facts facts = facts_of(sim, SNAPSHOT_RUN, sim->par->NumFilesPerSnapshot);
  int was_pending = run->state.pending;
  const struct particles *particles = sim->be->view(sim->dev);
  run->state.pending = snapshot_write(sim->comm, path, particles, &facts, &f) != 0;
  if (run->state.pending && !was_pending) {
    comm_print_fault(sim->comm, "warning: the run continues without this snapshot, and tries again", &f);
    missing_add(&run->state.missing, number, sim->time);
  } else if (!run->state.pending && sim->comm->rank == 0) {
    terminal_clear(&run->logs);
    printf("snapshot %s at time %s%s\n", path, params_time_text(sim->par, sim->time, time),
           was_pending ? " (late)" : "");
    fflush(stdout);
  }
  if (!run->state.pending) missing_remove(&run->state.missing, number);
  missing_text(&run->state.missing, run->status.missing, sizeof run->status.missing);
  if (!run->state.pending) control_guess(&run->control, timer_clock() - began);
  if (!run->state.pending) write_groups(run, number, particles, &facts);
  timer_phase(&sim->timer, PHASE_other);
}

static void projection_folder(const struct run *run, char folder[2 * PARAM_TEXT])
{
  snprintf(folder, 2 * PARAM_TEXT, "%s/" PROJECTION_FOLDER, run->sim.par->OutputDir);
}

void run_projection(struct run *run)
{
  struct sim *sim = &run->sim;
  struct fault f = {""};
  struct map_facts facts = {.par = sim->par,
                            .time = sim->time,
                            .gravity = sim->force.gravity,
                            .step = sim->step,
                            .half = run->state.projections.half};
  char folder[2 * PARAM_TEXT];
  double place[3], motion[3];
  if (run->options->no_output || !sim->par->Projections) return;
  timer_phase(&sim->timer, PHASE_output);
  if (sim->par->ProjectionSize > 0) facts.half = sim->par->ProjectionSize;
  projection_folder(run, folder);
  sim_shift(sim, place, motion);
  if (projection_write(sim->comm, folder, (int)run->state.projections.next, sim->be->view(sim->dev), &facts, place,
                       &f)) {
    if (run->missing_maps++ == 0) comm_print_fault(sim->comm, "warning: the run continues without these maps", &f);
  }
  run->state.projections.next++;
  if (!(sim->par->ProjectionSize > 0)) run->state.projections.half = facts.half;
  timer_phase(&sim->timer, PHASE_other);
}

void run_remove_projections(const struct run *run)
{
  char folder[2 * PARAM_TEXT];
  projection_folder(run, folder);
  if (run->sim.comm->rank == 0) projection_remove(folder, (int)run->state.projections.next);
}

void run_snapshot(struct run *run)
{
  run->state.pending = 0; /* the pending snapshot's time has passed: it stays in the list of missing ones */
  if (!run->state.plan.at_target) run_discard_later(run, run->state.snapshots); /* at the limit of -n or --substeps */
  run_write_snapshot(run, run->state.snapshots++);
}

int run_report_missing(struct run *run, struct fault *fault)
{
  const struct missing *m = &run->state.missing;
  int root = run->sim.comm->rank == 0, count = m->count - run->state.pending, again = 0;
  if (run->options->no_output) return 0;
  if (count > 0 && root) {
    fprintf(stderr,
            "espalier: %s: %d snapshot%s could not be written and %s missing: ", run->interrupted ? "warning" : "error",
            count, plural(count), count == 1 ? "is" : "are");
    missing_print(m, count, stderr);
    fputc('\n', stderr);
  }
  if (run->state.pending && root)
    fprintf(stderr, "espalier: warning: snapshot %d could not be written yet: the restart tries again\n",
            run->state.snapshots - 1);
  if (run->missing_maps && root)
    fprintf(stderr,
            "espalier: %s: maps of %d time%s could not be written and are missing in OutputDir/" PROJECTION_FOLDER "\n",
            run->interrupted ? "warning" : "error", run->missing_maps, plural(run->missing_maps));
  if (run->interrupted || (m->count == 0 && !run->unsaved && !run->missing_maps)) return 0;
  while (run->first_again >= 0 && again < m->count && m->number[m->count - 1 - again] >= run->first_again) again++;
  if (again)
    fault_set(fault, "%d snapshot%s could not be written; a restart from %s writes %s", again, plural(again),
              run->status.checkpoint, again == 1 ? "it" : "them");
  if (run->unsaved && run->first_again >= 0)
    fault_set(fault, "the checkpoint at the end could not be written; a restart from %s writes it",
              run->status.checkpoint);
  else if (run->unsaved && root)
    fprintf(stderr, "espalier: error: the checkpoint at the end could not be written, and there is no other\n");
  return 1;
}

int run_report_finished(const struct comm *comm, const struct params *par)
{
  char missing[sizeof((struct status *)0)->missing];
  int status = comm->rank == 0 && status_missing(par, missing);
  if (status)
    fprintf(stderr, "espalier: error: %s: snapshots could not be written and are missing: %s\n", par->OutputDir,
            missing);
  comm_broadcast(comm, &status, sizeof status);
  return status;
}

void run_discard_later(struct run *run, int first)
{
  const struct params *p = run->sim.par;
  if (run->sim.comm->rank != 0 || run->options->no_output || !run->options->restart || !run->from.own_folder ||
      !run->from.own_output)
    return;
  continuation_discard_later(p, &run->from, first);
}

void run_emergency(struct run *run)
{
  struct sim *sim = &run->sim;
  struct fault f = {""};
  char path[PARAM_TEXT + 64];
  snprintf(path, sizeof path, "%s/emergency_%06lld.hdf5", sim->par->OutputDir, sim->step);
  struct snapshot_facts facts = facts_of(sim, SNAPSHOT_ALL, 1);
  timer_phase(&sim->timer, PHASE_output);
  if (snapshot_write(sim->comm, path, sim->be->view(sim->dev), &facts, &f)) comm_print_fault(sim->comm, "warning", &f);
  else if (sim->comm->rank == 0) fprintf(stderr, "espalier: the state is in %s\n", path);
}

void run_name_checkpoint(struct run *run, long long number)
{
  snprintf(run->status.checkpoint, sizeof run->status.checkpoint, "checkpoint_%06lld", number);
  run->status.checkpoint_step = number;
  /* at an output time the next snapshot takes the place of a pending one */
  run->first_again = run->state.snapshots - (run->state.pending && !run->state.plan.at_target);
}

/* Write a checkpoint at the end of the substeps. Collective. 0, or -1 where none could be written. */
static int write_checkpoint(struct run *run, struct fault *fault)
{
  struct sim *sim = &run->sim;
  double began = timer_clock();
  timer_phase(&sim->timer, PHASE_output);
  int64_t bad = guard_bad(sim->be->view(sim->dev));
  comm_sum_int64(sim->comm, &bad, 1);
  if (bad)
    fault_set(fault, "%lld particle%s positions or velocities that are not finite", (long long)bad,
              bad == 1 ? " has" : "s have");
  else {
    memcpy(run->state.collapsed, run->guard.collapsed, sizeof run->guard.collapsed);
    run->state.collapsed[3] = run->collapsed;
    state_save(sim, &run->logs, &run->state, fault);
  }
  double seconds = timer_clock() - began;
  comm_max_double(sim->comm, &seconds, 1);
  control_wrote(&run->control, seconds, !fault->text[0], sim->stop_request >= REQUEST_STOP);
  timer_phase(&sim->timer, PHASE_other);
  sim->cost.clocks.part[1][0] = sim->timer;
  if (fault->text[0]) return -1;
  run->state.checkpoint_seconds = seconds;
  run_name_checkpoint(run, sim->step + 1);
  if (sim->comm->rank == 0) {
    terminal_clear(&run->logs);
    printf("checkpoint %s in soft step %lld (%.2f s)\n", run->status.checkpoint, sim->step + 1, seconds);
    fflush(stdout);
    terminal_saved(run);
    status_running(&run->status, 1);
  }
  return 0;
}

int run_serve_request(struct run *run, int last, struct fault *fault)
{
  struct sim *sim = &run->sim;
  struct fault failed = {""};
  int stop_request = sim->stop_request;
  if (run->options->no_output) { /* the run ends without a checkpoint */
    run->interrupted = stop_request >= REQUEST_STOP ? stop_request : 0;
    return run->interrupted > 0;
  }
  if (stop_request == REQUEST_NONE && !(last && sim->par->CheckpointAtEnd)) return 0;
  run_keep_folders(run);
  if (run->lost[0]) stop_request = sim->stop_request = REQUEST_STOP;
  run->unsaved = write_checkpoint(run, &failed) && last && sim->par->CheckpointAtEnd;
  if (failed.text[0]) {
    comm_print_fault(sim->comm, "warning: no checkpoint could be written, the run continues", &failed);
    if (stop_request < REQUEST_STOP || run->control.failures < FAILURES_MAX) return 0;
    return fault_set(fault, "the run is to stop, but no checkpoint could be written: %.800s", failed.text);
  }
  run->interrupted = stop_request >= REQUEST_STOP ? stop_request : 0;
  return run->interrupted > 0;
}
