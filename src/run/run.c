/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/run.h"

#include <math.h>

#include "base/watchdog.h"
#include "job/last_words.h"
#include "run/check.h"
#include "run/run_parts.h"
#include "run/terminal.h"
#include "step/step.h"

const char *run_stop_reason(const struct run *r) { return r->control.reason[0] ? r->control.reason : "a signal to another rank"; }

/* The first force, or the state of the soft step that the checkpoint is in. Collective. 0 or -1. */
static int first_state(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  if (r->soft_step_opened) {
    guard_remember(&r->guard, &s->now, 1);
    r->guard.particles = r->state.particles;
    r->guard.mass = r->state.mass;
    return 0;
  }
  sim_first_force(s);
  guard_remember(&r->guard, &s->now, 1);
  r->state.particles = r->guard.particles;
  r->state.mass = r->guard.mass;
  return run_check_system(r, 0, f);
}

/* All soft steps, with the outputs before and after them. Collective. 0 or -1. */
static int simulate(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  if (first_state(r, f)) return -1;
  terminal_start(r);
  if (!r->soft_step_opened) {
    logs_energy(&r->logs, s);
    run_snapshot(r);
    logs_traffic(&r->logs, s);
    timer_reset(&s->timer);
  }
  if (run_loop(r, f)) return -1;
  terminal_end(r);
  return 0;
}

void run_begin_status(struct run *r)
{
  const struct sim *s = &r->sim;
  r->status = (struct status){.par = s->par, .ranks = s->comm->size, .backend = s->be->name, .step = s->step, .time = s->time,
                              .begin = s->time, .started = timer_clock(), .ends = r->control.limit,
                              .energy_error = r->logs.has_energy ? logs_worst(&r->logs) : NAN};
  missing_text(&r->state.missing, r->status.missing, sizeof r->status.missing);
  r->first_again = -1;
  /* The next job looks for the named checkpoint in this run's folder, so one of another folder or run is not named. */
  if (r->soft_step_opened && r->from.own_folder && r->from.own_output) run_name_checkpoint(r, r->from.number);
}

/* Write the outcome to OutputDir/status for job scripts (rank 0). Collective. 0, or -1 where the file could not be written. */
static int report_end(struct run *r, int status, const struct fault *f)
{
  int bad = 0;
  if (r->sim.comm->rank != 0) bad = 0;
  else if (status) bad = status_end(&r->status, "failed", f->text, 0);
  else if (r->interrupted)
    bad = status_end(&r->status, "interrupted", run_stop_reason(r), r->interrupted == REQUEST_YIELD && !r->options->no_output);
  else if (r->unsaved) bad = status_end(&r->status, "finished", "the checkpoint at the end could not be written", 0);
  else bad = status_end(&r->status, "finished", r->sim.time < r->sim.par->TimeMax ? "-n or --substeps" : "TimeMax", 0);
  comm_broadcast(r->sim.comm, &bad, sizeof bad);
  return bad;
}

/* Close the tables. Rows that cannot be written are no error where the checkpoint that was just written has them. Collective. 0 or -1. */
static int close_tables(struct run *r, struct fault *f)
{
  struct fault closing = {""};
  if (logs_close(&r->logs, &r->sim, &closing) == 0) return 0;
  int kept = r->interrupted && !r->options->no_output && !f->text[0];
  if (kept) comm_print_fault(r->sim.comm, "warning: rows are in the checkpoint, and the restart writes them", &closing);
  else fault_set(f, "%s", closing.text);
  r->status.unwritten = r->logs.unwritten;
  return kept ? 0 : -1;
}

/* From the parameters to the end. Collective. Returns the exit status (0 or 1). */
static int carry_out(struct run *r, const struct comm *c, const struct params *par)
{
  struct fault f = {""};
  if (run_start(r, c, par, &f)) {
    abort_status_close();
    if (r->nothing_left) return run_report_finished(c, par);
    comm_print_fault(c, "error", &f);
    /* Without the lock the status file may belong to a run under way. */
    if (r->lock.held && r->options->restart) status_not_started(par, c->size, f.text);
    return 1;
  }
  if (c->rank == 0) run_discard_earlier_results(r);
  if (c->rank == 0) outputs_warn(&r->outputs, r->soft_step_opened ? -INFINITY : r->sim.time, stderr, "espalier: warning: ");
  run_begin_status(r);
  if (r->options->quiet) r->logs.lines = -1;
  if (c->rank == 0) status_running(&r->status, 1);
  abort_status_open(par->OutputDir, c->rank, 0);
  if (r->soft_step_opened) r->control.writing = r->state.checkpoint_seconds;
  int status = simulate(r, &f) != 0;
  if (close_tables(r, &f)) status = 1;
  int incomplete = run_report_missing(r, &f);
  if (f.text[0]) status = 1;
  comm_print_fault(c, "error", &f);
  abort_status_close();
  if (report_end(r, status, &f)) status = 1;
  outputs_close(&r->outputs);
  checkpoint_close(&r->from);
  sim_close(&r->sim);
  return status | incomplete;
}

int run(const struct comm *c, const struct params *par, const struct run_options *options)
{
  struct run r = {.options = options, .lock = LOCK_NONE, .checkpoint_lock = LOCK_NONE};
  struct params own = *par;
  if (options->check) return check(c, par, options);
  if (options->schedule) return run_schedule(c, par);
  if (options->no_output) own.TimeBetCheckpoints = own.CheckpointAtEnd = 0, par = &own;
  control_open(&r.control, par, c->rank, options->walltime, 0);
  watchdog_start(par->WatchdogMinutes);
  int status = carry_out(&r, c, par);
  missing_close(&r.state.missing);
  lock_release(&r.checkpoint_lock);
  lock_release(&r.lock);
  watchdog_stop();
  control_close();
  return status;
}
