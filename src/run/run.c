/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/run.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "analysis/stars.h"
#include "base/folders.h"
#include "base/memory.h"
#include "base/watchdog.h"
#include "io/snapshot/snapshot.h"
#include "job/last_words.h"
#include "run/check.h"
#include "run/run_parts.h"
#include "run/start.h"
#include "run/terminal.h"
#include "scheme/tree_steps.h"
#include "settings/settings.h"
#include "step/effects.h"
#include "step/energies.h"
#include "step/scheme.h"
#include "step/step.h"

/* Reference values of the system after its first forces (run_start), or in the soft step that the checkpoint is in.
 * Collective. 0 or -1. */
static int first_state(struct run *run, struct fault *fault)
{
  struct sim *sim = &run->sim;
  if (run->soft_step_opened) {
    guard_remember(&run->guard, &sim->now, 1);
    run->guard.particles = run->state.particles;
    run->guard.mass = run->state.mass;
    guard_collapsed(&run->guard, run->state.collapsed);
    run->logs.warned.collapse = sim->counts.collapsed;
    return 0;
  }
  guard_remember(&run->guard, &sim->now, 1);
  run->state.particles = run->guard.particles;
  run->state.mass = run->guard.mass;
  return run_check_system(run, 0, fault);
}

/* All soft steps, with the outputs before and after them. Collective. 0 or -1. */
static int simulate(struct run *run, struct fault *fault)
{
  struct sim *sim = &run->sim;
  if (first_state(run, fault)) return -1;
  if (!run->soft_step_opened) energies_measure(sim, 1);
  terminal_start(run);
  run_keep_folders(run);
  if (!run->soft_step_opened) {
    run_statistics(run, 1);
    logs_choice(&run->logs, sim);
    run_projection(run);
    run_binaries(run);
    run_snapshot(run);
    logs_traffic(&run->logs, sim);
    timer_reset(&sim->timer);
  }
  if (run_loop(run, fault)) return -1;
  terminal_end(run);
  return 0;
}

/* Why the run cannot be trusted; "" where it can. */
static const char *untrusted(const struct run *run, char text[300])
{
  const struct promise *p = &run->logs.promise;
  char worst[32], promised[200] = "", words[160];
  snprintf(text, 300, "%s", run->guard.untrusted);
  if (text[0] || (!run->logs.warned.energy && p->energy.untrusted == 0)) return text;
  if (p->energy.promised > 0)
    snprintf(promised, sizeof promised, ", and %s",
             promise_text(p, &run->sim.settings->asked, p->energy.promised, words));
  snprintf(text, 300, "the largest |dE/E| is %s%s", logs_error_text(logs_worst(&run->logs), 2, worst, sizeof worst),
           promised);
  return text;
}

/* Write the state of a run that has reached its end. Rank 0. Returns the exit status. */
static int report_finished(struct run *run)
{
  const char *why = run->unsaved                            ? "the checkpoint at the end could not be written"
                    : run->sim.time < run->sim.par->TimeMax ? "-n or --substeps"
                                                            : "TimeMax";
  char cause[300], reason[400];
  if (!untrusted(run, cause)[0]) {
    kept_report_missed(run, "the energy", "", &run->logs.promise.energy);
    kept_report_missed(run, "the momentum", " sum m|v|", &run->logs.promise.momentum);
    return status_end(&run->status, STATE_FINISHED, why, 0) ? RUN_FAILED : 0;
  }
  fprintf(stderr, "espalier: error: the run has finished, but cannot be trusted: %s (exit status %d)\n", cause,
          RUN_UNTRUSTED);
  snprintf(reason, sizeof reason, "%s; %s", why, cause);
  return status_end(&run->status, STATE_UNTRUSTED, reason, 0) ? RUN_FAILED : RUN_UNTRUSTED;
}

/* The same for a run that was interrupted and cannot be trusted: no job is to follow. */
static int report_interrupted_untrusted(struct run *run, const char *cause)
{
  char reason[500];
  fprintf(
      stderr,
      "espalier: error: the run was interrupted (%s), and cannot be trusted: %s (exit status %d; -r goes on all the "
      "same)\n",
      control_reason(&run->control), cause, RUN_UNTRUSTED);
  snprintf(reason, sizeof reason, "%.100s; %s", control_reason(&run->control), cause);
  return status_end(&run->status, STATE_UNTRUSTED, reason, 0) ? RUN_FAILED : RUN_UNTRUSTED;
}

/* The same for a run that ended before TimeMax. */
static int report_interrupted(struct run *run)
{
  char cause[300];
  /* a restart after a collapse was asked for with other parameters, and goes on to its end */
  if (!run->collapsed && !run->guard.untrusted[0] && untrusted(run, cause)[0])
    return report_interrupted_untrusted(run, cause);
  if (!run->collapsed) {
    int again = run->interrupted == REQUEST_YIELD && !run->options->no_output;
    return status_end(&run->status, "interrupted", control_reason(&run->control), again) ? RUN_FAILED : 0;
  }
  fprintf(
      stderr,
      "espalier: error: the run has ended before TimeMax, and what followed cannot be trusted: %s (exit status %d)\n",
      run->guard.untrusted, RUN_UNTRUSTED);
  return status_end(&run->status, STATE_UNTRUSTED, control_reason(&run->control), 0) ? RUN_FAILED : RUN_UNTRUSTED;
}

/* Write the outcome to OutputDir/status for job scripts (rank 0). `status`: not 0 where the run has failed. Collective.
 * Returns the exit status. */
static int report_end(struct run *run, int status, const struct fault *fault)
{
  if (run->sim.comm->rank != 0) status = 0;
  else if (status) status_end(&run->status, "failed", fault->text[0] ? fault->text : "files could not be written", 0);
  else status = run->interrupted ? report_interrupted(run) : report_finished(run);
  comm_broadcast(run->sim.comm, &status, sizeof status);
  return status;
}

/* Close the tables. Rows that cannot be written are no error where the checkpoint that was just written has them.
 * Collective. 0 or -1. */
static int close_tables(struct run *run, struct fault *fault)
{
  struct fault closing = {""};
  if (logs_close(&run->logs, &run->sim, &closing) == 0) return 0;
  int kept = run->interrupted && !run->options->no_output && !fault->text[0];
  if (kept)
    comm_print_fault(run->sim.comm, "warning: rows are in the checkpoint, and the restart writes them", &closing);
  else fault_set(fault, "%s", closing.text);
  run->status.unwritten = run->logs.files.unwritten;
  return kept ? 0 : -1;
}

/* The exit status of a run that could not begin, or has nothing left to do. Collective. */
static int report_no_start(const struct run *run, const struct comm *comm, const struct params *par,
                           const struct fault *fault)
{
  int untrusted = comm->rank == 0 && run->nothing_left && status_untrusted(par);
  if (untrusted)
    fprintf(stderr, "espalier: error: this run has finished, but cannot be trusted (exit status %d)\n", RUN_UNTRUSTED);
  comm_broadcast(comm, &untrusted, sizeof untrusted);
  if (run->nothing_left) return untrusted ? RUN_UNTRUSTED : run_report_finished(comm, par);
  comm_print_fault(comm, "error", fault);
  /* Without the lock the files may belong to a run under way. */
  if (run->lock.held && run->options->restart) status_refused(par);
  return RUN_FAILED;
}

/* Output times that are outside the run, too many or too few. Rank 0. */
static void warn_outputs(const struct run *run)
{
  const struct sim *sim = &run->sim;
  const char *before = "espalier: warning: ";
  outputs_warn(&run->outputs, run->soft_step_opened ? -INFINITY : sim->time, stderr, before);
  stars_warn(sim->par, sim->masses.count + sim->masses.massless, stderr, before);
  double disk_free = folder_free_bytes(sim->par->OutputDir);
  if (!run->options->no_output)
    outputs_warn_plan(&run->outputs, sim->time,
                      snapshot_bytes(fmax(run->state.particles, sim->now.count), SNAPSHOT_RUN), disk_free, stderr,
                      before);
}

/* From the parameters to the end. Collective. Returns the exit status. */
static int carry_out(struct run *run, const struct comm *comm, const struct params *par)
{
  struct fault f = {""};
  if (run_start(run, comm, par, &f)) {
    abort_status_close();
    return report_no_start(run, comm, par, &f);
  }
  if (comm->rank == 0) run_discard_earlier_results(run);
  if (comm->rank == 0) warn_outputs(run);
  run_begin_status(run);
  terminal_open(run);
  terminal_saved(run);
  control_started();
  if (comm->rank == 0) status_running(&run->status, 1);
  abort_status_open(par->OutputDir, comm->rank, 0);
  if (run->soft_step_opened) control_guess(&run->control, run->state.checkpoint_seconds);
  if (comm->rank == 0) run_hold_folders(run);
  int status = simulate(run, &f) != 0;
  if (comm->rank == 0) terminal_clear(&run->logs);
  run_report_lost(run, &f);
  status |= run->lost[0] != 0;
  if (close_tables(run, &f)) status = 1;
  int incomplete = run_report_missing(run, &f);
  if (f.text[0]) status = 1;
  comm_print_fault(comm, "error", &f);
  abort_status_close();
  status = report_end(run, status, &f);
  outputs_close(&run->outputs);
  checkpoint_close(&run->from);
  sim_close(&run->sim);
  return status | incomplete;
}

/* Tell the watchdog which processes are on this node. Collective. */
static void name_neighbours(const struct comm *comm)
{
  struct process {
    char host[64];
    long pid;
  } mine = {.pid = (long)getpid()}, *all;
  long pid[WATCHDOG_NEIGHBOURS];
  int count = 0;
  size_t bytes;
  gethostname(mine.host, sizeof mine.host - 1);
  all = comm_gather(comm, &mine, sizeof mine, &bytes);
  for (size_t k = 0; k < bytes / sizeof *all && count < WATCHDOG_NEIGHBOURS; k++)
    if (strcmp(all[k].host, mine.host) == 0 && all[k].pid != mine.pid) pid[count++] = all[k].pid;
  memory_free(all);
  watchdog_neighbours(pid, count);
}

int run(const struct comm *comm, const struct params *par, const struct run_options *options)
{
  struct run r = {.options = options,
                  .own = *par,
                  .lock = LOCK_NONE,
                  .checkpoint_lock = LOCK_NONE,
                  .output = FOLDER_NONE,
                  .checkpoints = FOLDER_NONE};
  if (options->check || options->schedule) control_cancel();
  if (options->check) return check(comm, par, options);
  if (options->schedule) return run_schedule(comm, par);
  if (options->no_output) r.own.TimeBetCheckpoints = r.own.CheckpointAtEnd = 0;
  par = &r.own;
  control_open(&r.control, par, comm->rank, options->walltime, 0);
  name_neighbours(comm);
  watchdog_start(par->WatchdogMinutes);
  int status = carry_out(&r, comm, par);
  run_release_folders(&r);
  missing_close(&r.state.missing);
  binaries_close(&r.state.binaries);
  lock_release(&r.checkpoint_lock);
  lock_release(&r.lock);
  watchdog_stop();
  control_close();
  return status;
}

/* --- run --schedule --- */

/* The schedule of the first soft step, of a system without forces. Collective. */
static void print_first(struct sim *sim, struct fault *fault)
{
  struct outputs outputs = {0};
  if (check_times(sim->par, sim->time, fault) == 0) outputs_open(&outputs, sim->par, fault);
  if (comm_agree(sim->comm, fault)) {
    outputs_close(&outputs);
    return;
  }
  settings_first_force(sim);
  struct plan plan = effects_plan(sim, outputs_next(&outputs, sim->time));
  outputs_close(&outputs);
  if (run_check_advance(sim, &plan, fault)) return;
  if (sim->comm->rank == 0)
    printf("schedule of the first soft step, %s: %.0f particle%s, %d rank%s, backend %s, soft step %g\n",
           sim->scheme->mode, sim->now.count, plural(sim->now.count), sim->comm->size, plural(sim->comm->size),
           sim->be->name, plan.soft_step);
  tree_steps_print_schedule(sim, &plan, stdout);
}

int run_schedule(const struct comm *comm, const struct params *par)
{
  struct sim sim;
  struct fault f = {""};
  watchdog_start(par->WatchdogMinutes);
  if (sim_start(&sim, comm, par, &f) == 0) {
    print_first(&sim, &f);
    sim_close(&sim);
  }
  watchdog_stop();
  if (comm_agree(comm, &f) == 0) return 0;
  comm_print_fault(comm, "error", &f);
  return 1;
}
