/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/run.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/watchdog.h"
#include "job/last_words.h"
#include "run/check.h"
#include "run/run_parts.h"
#include "run/terminal.h"
#include "step/energies.h"
#include "step/step.h"

const char *run_stop_reason(const struct run *r) { return r->control.reason[0] ? r->control.reason : "a signal to another rank"; }

/* Reference values of the system after its first forces (run_start), or in the soft step that the checkpoint is in. Collective. 0 or -1. */
static int first_state(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  if (r->soft_step_opened) {
    guard_remember(&r->guard, &s->now, 1);
    r->guard.particles = r->state.particles;
    r->guard.mass = r->state.mass;
    guard_collapsed(&r->guard, r->state.collapsed);
    r->logs.warned_collapse = s->counts.collapsed;
    return 0;
  }
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
  if (!r->soft_step_opened) energies_measure(s, 1);
  terminal_start(r);
  run_keep_folders(r);
  if (!r->soft_step_opened) {
    run_statistics(r, 1);
    logs_choice(&r->logs, s);
    run_projection(r);
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

/* Write the state of a run that has reached its end. Rank 0. Returns the exit status. */
static int report_finished(struct run *r)
{
  const char *why = r->unsaved                         ? "the checkpoint at the end could not be written"
                    : r->sim.time < r->sim.par->TimeMax ? "-n or --substeps"
                                                        : "TimeMax";
  char text[32], cause[200], reason[300];
  if (!r->logs.warned_energy && !r->guard.untrusted[0]) return status_end(&r->status, STATE_FINISHED, why, 0) ? RUN_FAILED : 0;
  logs_error_text(logs_worst(&r->logs), 2, text, sizeof text);
  if (r->guard.untrusted[0]) snprintf(cause, sizeof cause, "%s", r->guard.untrusted);
  else snprintf(cause, sizeof cause, "the largest |dE/E| is %s", text);
  fprintf(stderr, "espalier: error: the run has finished, but cannot be trusted: %s (exit status %d)\n", cause, RUN_UNTRUSTED);
  snprintf(reason, sizeof reason, "%s; %s", why, cause);
  return status_end(&r->status, STATE_UNTRUSTED, reason, 0) ? RUN_FAILED : RUN_UNTRUSTED;
}

/* The same for a run that ended before TimeMax. */
static int report_interrupted(struct run *r)
{
  if (!r->collapsed) {
    int again = r->interrupted == REQUEST_YIELD && !r->options->no_output;
    return status_end(&r->status, "interrupted", run_stop_reason(r), again) ? RUN_FAILED : 0;
  }
  fprintf(stderr, "espalier: error: the run has ended before TimeMax, and what followed cannot be trusted: %s (exit status %d)\n",
          r->guard.untrusted, RUN_UNTRUSTED);
  return status_end(&r->status, STATE_UNTRUSTED, run_stop_reason(r), 0) ? RUN_FAILED : RUN_UNTRUSTED;
}

/* Write the outcome to OutputDir/status for job scripts (rank 0). `status`: not 0 where the run has failed. Collective. Returns the exit
 * status. */
static int report_end(struct run *r, int status, const struct fault *f)
{
  if (r->sim.comm->rank != 0) status = 0;
  else if (status) status_end(&r->status, "failed", f->text[0] ? f->text : "files could not be written", 0);
  else status = r->interrupted ? report_interrupted(r) : report_finished(r);
  comm_broadcast(r->sim.comm, &status, sizeof status);
  return status;
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

/* The exit status of a run that could not begin, or has nothing left to do. Collective. */
static int report_no_start(const struct run *r, const struct comm *c, const struct params *par, const struct fault *f)
{
  int untrusted = c->rank == 0 && r->nothing_left && status_untrusted(par);
  if (untrusted) fprintf(stderr, "espalier: error: this run has finished, but cannot be trusted (exit status %d)\n", RUN_UNTRUSTED);
  comm_broadcast(c, &untrusted, sizeof untrusted);
  if (r->nothing_left) return untrusted ? RUN_UNTRUSTED : run_report_finished(c, par);
  comm_print_fault(c, "error", f);
  /* Without the lock the files may belong to a run under way. */
  if (r->lock.held && r->options->restart) status_refused(par);
  return RUN_FAILED;
}

/* From the parameters to the end. Collective. Returns the exit status. */
static int carry_out(struct run *r, const struct comm *c, const struct params *par)
{
  struct fault f = {""};
  if (run_start(r, c, par, &f)) {
    abort_status_close();
    return report_no_start(r, c, par, &f);
  }
  if (c->rank == 0) run_discard_earlier_results(r);
  if (c->rank == 0) outputs_warn(&r->outputs, r->soft_step_opened ? -INFINITY : r->sim.time, stderr, "espalier: warning: ");
  run_begin_status(r);
  terminal_open(r);
  if (c->rank == 0) status_running(&r->status, 1);
  abort_status_open(par->OutputDir, c->rank, 0);
  if (r->soft_step_opened) r->control.writing = r->state.checkpoint_seconds;
  if (c->rank == 0) run_hold_folders(r);
  int status = simulate(r, &f) != 0;
  if (c->rank == 0) terminal_clear(&r->logs);
  run_report_lost(r, &f);
  status |= r->lost[0] != 0;
  if (close_tables(r, &f)) status = 1;
  int incomplete = run_report_missing(r, &f);
  if (f.text[0]) status = 1;
  comm_print_fault(c, "error", &f);
  abort_status_close();
  status = report_end(r, status, &f);
  outputs_close(&r->outputs);
  checkpoint_close(&r->from);
  sim_close(&r->sim);
  return status | incomplete;
}

/* Tell the watchdog which processes are on this node. Collective. */
static void name_neighbours(const struct comm *c)
{
  struct process {
    char host[64];
    long pid;
  } mine = {.pid = (long)getpid()}, *all;
  long pid[WATCHDOG_NEIGHBOURS];
  int count = 0;
  size_t bytes;
  gethostname(mine.host, sizeof mine.host - 1);
  all = comm_gather(c, &mine, sizeof mine, &bytes);
  for (size_t k = 0; k < bytes / sizeof *all && count < WATCHDOG_NEIGHBOURS; k++)
    if (strcmp(all[k].host, mine.host) == 0 && all[k].pid != mine.pid) pid[count++] = all[k].pid;
  memory_free(all);
  watchdog_neighbours(pid, count);
}

int run(const struct comm *c, const struct params *par, const struct run_options *options)
{
  struct run r = {.options = options, .own = *par, .lock = LOCK_NONE, .checkpoint_lock = LOCK_NONE, .output = FOLDER_NONE,
                  .checkpoints = FOLDER_NONE};
  if (options->check || options->schedule) control_cancel();
  if (options->check) return check(c, par, options);
  if (options->schedule) return run_schedule(c, par);
  if (options->no_output) r.own.TimeBetCheckpoints = r.own.CheckpointAtEnd = 0;
  par = &r.own;
  control_open(&r.control, par, c->rank, options->walltime, 0);
  name_neighbours(c);
  watchdog_start(par->WatchdogMinutes);
  int status = carry_out(&r, c, par);
  run_release_folders(&r);
  missing_close(&r.state.missing);
  lock_release(&r.checkpoint_lock);
  lock_release(&r.lock);
  watchdog_stop();
  control_close();
  return status;
}
