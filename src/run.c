/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run.h"

#include <math.h>
#include <omp.h>

#include "check.h"
#include "folders.h"
#include "going_on.h"
#include "last_words.h"
#include "memory.h"
#include "run_parts.h"
#include "snapshot.h"
#include "start.h"
#include "step.h"
#include "timeline.h"
#include "watchdog.h"

/* Statistics are due at the first synchronisation at or after each multiple of the interval: when the next multiple has
 * moved on between two times. */
static double next_statistics(const struct run *r, double time)
{
  return timeline_next_output(r->outputs.begin, r->sim.par->TimeBetStatistics, time, HUGE_VAL);
}

static int statistics_due(const struct run *r, double from, double to)
{
  return r->sim.par->TimeBetStatistics <= 0 || next_statistics(r, to) > next_statistics(r, from);
}

/* More soft steps than these are not a run but a mistake. */
#define STEPS_MOST 1e11

/* A soft step must lead on in time, or the run would never end. */
static int check_advance(const struct sim *s, const struct plan *plan, struct fault *f)
{
  double there = plan->at_target ? plan->target : s->time + plan->soft_step;
  if (there > s->time && (plan->at_target || s->par->TimeMax - s->time < STEPS_MOST * plan->soft_step)) return 0;
  return fault_set(f, "step %lld: a soft step of %g would not lead from time %.17g to TimeMax = %.17g within reason: R2 (%g), velocities or "
                      "accelerations ask for so short steps, or times are too large for them", s->step + 1, plan->soft_step, s->time,
                   s->par->TimeMax, s->split.on ? s->split.r2 : s->radius_rule);
}

/* Mode = auto: after the first soft steps, go on without the split when hard lists are not much shorter than full ones. */
static void judge_split(struct run *r, const struct step_report *report)
{
  struct sim *s = &r->sim;
  if (s->par->Mode != MODE_AUTO || !s->split.on || r->state.judged || report->hard.targets == 0) return;
  r->state.judged = 1;
  double ratio = report->list_hard / report->list_full;
  int pays = ratio < 0.5;
  if (s->comm->rank == 0)
    printf("Mode = auto: hard lists are %.2f of full ones: %s\n", ratio, pays ? "the split stays on" : "going on without the split");
  if (pays) return;
  s->split.on = 0;
  sim_force(s, &s->mac, 1);
  s->be->split_soft(s->dev);
}

/* Whether so many soft steps are all that -n asks for. */
static int enough_steps(const struct run *r, long long made) { return r->options->steps >= 0 && made >= r->options->steps; }

/* Whether the number of steps that was asked for is reached. Block steps are counted on rank 0. Collective. */
static int stopped(const struct run *r)
{
  const struct sim *s = &r->sim;
  int64_t made = r->state.block_steps + s->log.steps[0] + s->log.steps[1];
  if (enough_steps(r, s->step)) return 1;
  if (r->options->substeps < 0) return 0;
  return comm_max_int64(s->comm, made) >= r->options->substeps;
}

/* The next soft step, up to behind its substeps. */
static int open_step(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  struct plan *plan = &r->state.plan;
  double target = outputs_next(&r->outputs, s->time);
  *plan = plan_next(s->par, &s->now, s->time, target, s->split.on ? s->split.r2 : s->radius_rule, s->split.on, s->step);
  if (check_advance(s, plan, f)) return -1;
  s->wish = (int)control_wish(&r->control);
  step_open(s, plan);
  return 0;
}

/* Which step is the last by --substeps is known only behind it, but there is one block step to come at least. Collective. */
static int last_by_substeps(const struct run *r)
{
  const struct sim *s = &r->sim;
  if (r->options->substeps < 0 || !s->par->CheckpointAtEnd) return 0;
  return comm_max_int64(s->comm, r->state.block_steps + s->log.steps[0] + s->log.steps[1] + 1) >= r->options->substeps;
}

/* Whether the system is sound; else its state is kept for those who look for the cause. Collective. */
static int check_system(struct run *r, double dt, struct fault *f)
{
  struct sim *s = &r->sim;
  if (guard_check(&r->guard, &s->now, s->comm, s->be, s->dev, s->step, s->time, dt, f) == 0) {
    guard_remember(&r->guard, &s->now, 0);
    return 0;
  }
  run_emergency(r);
  return -1;
}

/* One soft step and what belongs to it. 1: the run was to end within it; -1: a fault. */
static int advance(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  const struct plan *plan = &r->state.plan;
  double began = timer_clock();
  fatal_context(s->comm->rank, s->step + 1);
  int resumed = r->under_way, ends = 0;
  r->under_way = 0;
  if (!resumed && open_step(r, f)) return -1;
  double there = plan->at_target ? plan->target : s->time + plan->soft_step;
  int last = there >= s->par->TimeMax || enough_steps(r, s->step + 1);
  if (!resumed) ends = run_meet_wish(r, last || last_by_substeps(r), f);
  if (ends) return ends;
  /* the snapshot of the last step by --substeps has potentials too */
  int energy = last || r->options->substeps >= 0 || statistics_due(r, s->time, there);
  step_close(s, plan, energy || plan->at_target || r->state.pending);
  if (check_system(r, plan->soft_step, f)) return -1;
  if (energy) logs_energy(&r->logs, s);
  if (plan->at_target || last || stopped(r)) run_snapshot(r);
  else if (r->state.pending) run_write_snapshot(r, r->state.snapshots - 1);
  logs_traffic(&r->logs, s);
  struct step_report report;
  logs_collect(&report, s, plan->soft_step);
  logs_step(&r->logs, s, &report, energy);
  judge_split(r, &report);
  control_step(&r->control, timer_clock() - began);
  r->status.step = s->step;
  r->status.time = s->time;
  r->status.energy_error = logs_worst(&r->logs);
  if (s->comm->rank == 0) status_running(&r->status, 0);
  return 0;
}

/* Soft steps until the end (or the number of steps that was asked for, or somebody's wish). */
static int loop(struct run *r, struct fault *f)
{
  int ended = 0;
  while (!ended && r->sim.time < r->sim.par->TimeMax && (r->under_way || !stopped(r))) ended = advance(r, f);
  if (ended <= 0) {   /* else the checkpoint says that it is still to be written */
    r->failed_snapshots += r->state.pending;
    r->state.pending = 0;
  }
  return ended < 0 ? -1 : 0;
}

/* A system whose particles are no orbits at all, and not at rest either: most often a mistake in the units. */
#define VIRIAL_MOST 100
#define VIRIAL_LEAST 1e-3

static void doubt_units(const struct run *r)
{
  const struct diagnostics *d = &r->sim.now;
  double ratio = d->potential < 0 ? d->kinetic / -d->potential : 0;
  if (r->under_way || r->sim.comm->rank != 0 || ratio == 0 || (2 * ratio <= VIRIAL_MOST && 2 * ratio >= VIRIAL_LEAST)) return;
  fprintf(stderr, "espalier: warning: the kinetic energy is %.3g times the potential energy's size (about half of it where a system holds together):"
                  " are the units of mass, length and velocity right?\n", ratio);
}

/* What nobody chose, and hardly fits by itself. */
static void note_defaults(const struct run *r)
{
  const struct param_origin *origin = r->options->origin;
  if (param_is_default(origin, "Softening")) printf("note: Softening = %g (default)\n", r->sim.par->Softening);
  if (param_is_default(origin, "TimeMax")) printf("note: TimeMax = %g (default)\n", r->sim.par->TimeMax);
}

static void greet(const struct run *r)
{
  const struct sim *s = &r->sim;
  if (s->comm->rank != 0) return;
  printf("%.0f particle%s on %d rank%s x %d thread%s, backend %s; %s from time %g to %g\n", s->now.count, plural(s->now.count),
         s->comm->size, plural(s->comm->size), omp_get_max_threads(), plural(omp_get_max_threads()), s->be->name,
         s->split.on ? "hybrid" : "tree", s->time, s->par->TimeMax);
  if (r->under_way)
    printf("restart from %s (of %lld rank%s), in the midst of soft step %lld\n", r->from.path, r->from.ranks, plural((double)r->from.ranks),
           s->step + 1);
  transport_describe(&s->transport, stdout);
  if (s->split.on) printf("split: R1 = %g, R2 = %g\n", s->split.r1, s->split.r2);
  if (s->par->RebuildInterval > 0 && (s->split.on || s->par->Scheme == SCHEME_SHARED))
    printf("note: RebuildInterval = %d does nothing %s\n", s->par->RebuildInterval,
           s->split.on ? "while the split is on" : "with one step for all particles");
  note_defaults(r);
  if (s->tuning.tunes_width || s->tuning.tunes_rebuild)
    printf("tuning by measured times: no two runs are alike in the last bits ([Device] Tuning = frozen: they are)\n");
  printf("energy %.9g (kinetic %.6g, potential %.6g), virial ratio %.4g\n", s->now.total, s->now.kinetic, s->now.potential,
         s->now.potential != 0 ? -2 * s->now.kinetic / s->now.potential : 0);
  if (s->comm->size > 1 && !r->options->quiet && !r->options->no_output)   /* Ctrl-C at a launcher may leave no time for one */
    printf("to stop it with a checkpoint: touch %s/stop\n", s->par->OutputDir);
  fflush(stdout);
  doubt_units(r);
}

static const char *reason_of(const struct run *r) { return r->control.reason[0] ? r->control.reason : "a signal to another rank"; }

enum { SUMMARY_COLUMNS = 100 };   /* lines of the list at the end are no longer */

static void sum_up(const struct run *r)
{
  char text[32], error[32];
  double seconds = timer_clock() - r->logs.started, memory = (double)memory_peak();
  comm_max_double(r->sim.comm, &memory, 1);
  traffic_sum_up(&r->logs.traffic, r->sim.comm);
  if (r->sim.comm->rank != 0) return;
  snprintf(text, sizeof text, "%.1f s", seconds);
  printf("memory: at most %.4g MB a rank; bytes a particle on rank 0, each at its peak:\n", memory / 1e6);
  memory_report(stdout, (double)r->sim.be->count(r->sim.dev), "  ", SUMMARY_COLUMNS);
  if (r->interrupted)
    printf("interrupted (%s) in the midst of soft step %lld%s\n", reason_of(r), r->sim.step + 1,
           r->options->no_output ? ", without a checkpoint (--no-output)" : ": go on with --restart");
  else if (r->sim.time < r->sim.par->TimeMax)
    printf("stopped by -n or --substeps before TimeMax = %g\n", r->sim.par->TimeMax);
  substep_log_sum_up(&r->sim.log, r->sim.comm->size, stdout);
  tuning_sum_up(&r->sim.tuning, stdout);
  printf("%s: time %g after %lld soft step%s in %s; largest |dE/E| %s\n", r->interrupted ? "interrupted" : "done", r->sim.time,
         r->sim.step, plural((double)r->sim.step), text,
         logs_error_text(logs_worst(&r->logs), 3, error, sizeof error));
}

/* From the first force, or the soft step under way, to the last row. */
static int simulate(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  if (!r->under_way) {
    sim_first_force(s);
    guard_remember(&r->guard, &s->now, 1);
    r->state.particles = r->guard.particles;
    r->state.mass = r->guard.mass;
    if (check_system(r, 0, f)) return -1;
  } else {
    guard_remember(&r->guard, &s->now, 1);
    r->guard.particles = r->state.particles;
    r->guard.mass = r->state.mass;
  }
  greet(r);
  if (!r->under_way) {
    logs_energy(&r->logs, s);
    run_snapshot(r);
    logs_traffic(&r->logs, s);
    timer_reset(&s->timer);
  }
  if (loop(r, f)) return -1;
  sum_up(r);
  return 0;
}

/* A checkpoint of another folder, or of another run, is none of this run's: its next job would look for it here in vain. */
static void begin_status(struct run *r)
{
  const struct sim *s = &r->sim;
  r->status = (struct status){.par = s->par, .ranks = s->comm->size, .backend = s->be->name, .step = s->step, .time = s->time,
                              .begin = s->time, .started = timer_clock(), .ends = r->control.limit,
                              .energy_error = r->logs.has_energy ? logs_worst(&r->logs) : NAN};
  if (r->under_way && r->from.own_folder && r->from.own_output) run_name_checkpoint(r, r->from.number);
}

/* Checkpoints of two runs in one folder would be taken for one run's. Where they stand in OutputDir its lock is enough. Rank 0. */
static int lock_checkpoints(struct run *r, const struct params *par, struct fault *f)
{
  if (!par->CheckpointDir[0] || r->checkpoint_lock.file >= 0 || folder_same(par->CheckpointDir, par->OutputDir)) return 0;
  return lock_take(&r->checkpoint_lock, "CheckpointDir", par->CheckpointDir, f);
}

/* A folder that is there is locked before anything in it is read: a run that is about to end may still write its last checkpoint.
 * Collective. */
static int lock_first(struct run *r, const struct comm *c, const struct params *par, struct fault *f)
{
  if (c->rank == 0 && lock_take(&r->lock, "OutputDir", par->OutputDir, f) == 0 && status_check(par, f) == 0) lock_checkpoints(r, par, f);
  return comm_verdict(c, f);
}

/* What is not there is made and locked when the start is known to be good. Rank 0. */
static void lock_new_folders(struct run *r, const struct params *par, struct fault *f)
{
  int resumes = r->under_way && r->from.own_folder;
  struct fault later = {""};   /* a CheckpointDir that cannot be made is a fault of the first checkpoint */
  if (f->text[0] || (r->lock.file < 0 && !resumes && logs_check(par, r->options->overwrite, f))) return;
  if (r->lock.file < 0 && folder_make(par->OutputDir, "OutputDir", f) == 0) lock_take(&r->lock, "OutputDir", par->OutputDir, f);
  if (f->text[0] || r->options->no_output || !par->CheckpointDir[0]) return;
  if (folder_make(par->CheckpointDir, "CheckpointDir", &later) == 0 && lock_checkpoints(r, par, f) == 0) checkpoint_check_others(par, f);
}

/* A checkpoint behind TimeMax, which is no fault. */
static void tell_nothing_left(struct run *r)
{
  const struct sim *s = &r->sim;
  r->nothing_left = 1;
  if (s->comm->rank != 0) return;
  say_nothing_left(r->from.path, s->time, s->par);
  begin_status(r);
  status_nothing_left(&r->status);
}

/* A run that has finished, and shall go no further, which is no fault either. */
static void leave_finished(struct run *r, const struct comm *c, const struct params *par)
{
  r->nothing_left = 1;
  r->status.par = par;
  if (c->rank == 0) status_nothing_left(&r->status);
}

/* The system, from its file or from a checkpoint, and the tables. Collective. 0 or -1 with nothing open. */
static int start(struct run *r, const struct comm *c, const struct params *par, struct fault *f)
{
  const struct run_options *o = r->options;
  if (lock_first(r, c, par, f)) return -1;
  if (going_on_has_finished(c, par, o)) {
    leave_finished(r, c, par);
    return -1;
  }
  if (o->restart) last_words_open(par->OutputDir, c->rank, 1);   /* the status there is that of this run's last job */
  if (o->restart ? state_load(&r->sim, &r->state, &r->from, c, par, o->from, f) : sim_start(&r->sim, c, par, f)) return -1;
  r->under_way = o->restart;
  if (o->no_output) r->state.pending = 0;   /* nobody will write it */
  if (o->restart && !(r->sim.time < par->TimeMax)) tell_nothing_left(r);
  else if (o->restart) check_steps(o->steps, r->sim.step + 1, r->from.path, f);
  else check_times(par, r->sim.time, f);
  if (!f->text[0] && !r->nothing_left) outputs_open(&r->outputs, par, f);
  if (c->rank == 0 && !r->nothing_left) lock_new_folders(r, par, f);
  if (comm_agree(c, f) == 0 && !r->nothing_left &&
      (o->restart ? state_load_logs(&r->logs, &r->sim, &r->from, o->overwrite, f) : logs_open(&r->logs, &r->sim, o->overwrite, f)) == 0)
    return 0;
  outputs_close(&r->outputs);
  sim_close(&r->sim);
  checkpoint_close(&r->from);
  return -1;
}

/* The start has succeeded: what an earlier run has left, and would be in the way, goes. Rank 0. */
static void clear_the_way(struct run *r)
{
  const struct params *par = r->sim.par;
  int own = r->under_way && r->from.own_folder && r->from.own_output;
  if (own && r->options->overwrite)
    fprintf(stderr, "espalier: warning: --overwrite does nothing here: %s is this run's own, which goes on with its results\n", r->from.path);
  if (own) going_on_tell(par, "restart: ", r->sim.step + 1, r->sim.time);
  if (own && !r->options->no_output) checkpoint_set_aside(par, &r->from);
  if (own && !r->options->no_output)
    going_on_discard(&(struct going_on){par, r->options, &r->outputs, &r->from, &r->state, r->sim.step, r->sim.time}, 0);
  if (!r->under_way || !r->from.own_folder) checkpoint_remove_all(par);   /* with --overwrite, or there are none */
  /* behind a restart from elsewhere they may be this run's own; and a run for its timings leaves snapshots alone */
  if (r->options->overwrite && !r->under_way && !r->options->no_output)
    snapshot_remove_all(par->OutputDir, par->SnapshotFileBase, par->InitCondFile);
  control_begin(&r->control);
}

/* What became of it, for job scripts. Rank 0 writes; -1 where a chain of jobs could not rely on that. Collective. */
static int tell_end(struct run *r, int status, const struct fault *f)
{
  int bad = 0;
  if (r->sim.comm->rank != 0) bad = 0;
  else if (status) bad = status_end(&r->status, "failed", f->text[0] ? f->text : "files could not be written", 0);
  else if (r->interrupted) bad = status_end(&r->status, "interrupted", reason_of(r), r->interrupted == WISH_YIELD && !r->options->no_output);
  else bad = status_end(&r->status, "finished", r->sim.time < r->sim.par->TimeMax ? "-n or --substeps" : "TimeMax", 0);
  comm_broadcast(r->sim.comm, &bad, sizeof bad);
  return bad;
}

static int carry_out(struct run *r, const struct comm *c, const struct params *par)
{
  struct fault f = {""}, closing = {""};
  if (start(r, c, par, &f)) {
    last_words_close();
    if (r->nothing_left) return 0;
    comm_say(c, "error", &f);
    /* without the lock the status may be that of a run under way */
    if (r->lock.held && r->options->restart) status_not_started(par, c->size, f.text);
    return 1;
  }
  if (c->rank == 0) clear_the_way(r);
  if (c->rank == 0) outputs_warn(&r->outputs, r->under_way ? -INFINITY : r->sim.time, stderr, "espalier: warning: ");
  begin_status(r);
  if (r->options->quiet) r->logs.lines = -1;
  if (c->rank == 0) status_running(&r->status, 1);
  last_words_open(par->OutputDir, c->rank, 0);
  if (r->under_way) r->control.writing = r->state.checkpoint_seconds;
  int status = simulate(r, &f) != 0;
  if (logs_close(&r->logs, &r->sim, &closing)) {
    comm_say(c, "error", &closing);
    status = 1;
  }
  comm_say(c, "error", &f);
  if (r->failed_snapshots && c->rank == 0)
    fprintf(stderr, "espalier: %s: %d snapshot%s could not be written\n", r->interrupted ? "warning" : "error", r->failed_snapshots,
            plural(r->failed_snapshots));
  if (r->state.pending && c->rank == 0)
    fprintf(stderr, "espalier: warning: snapshot %d could not be written yet: the restart tries again\n", r->state.snapshots - 1);
  status = status || (r->failed_snapshots && !r->interrupted);
  last_words_close();
  if (tell_end(r, status, &f)) status = 1;
  outputs_close(&r->outputs);
  checkpoint_close(&r->from);
  sim_close(&r->sim);
  return status;
}

int run(const struct comm *c, const struct params *par, const struct run_options *options)
{
  struct run r = {.options = options, .lock = LOCK_NONE, .checkpoint_lock = LOCK_NONE};
  struct params own = *par;
  if (options->check) return check(c, par, options);
  if (options->no_output) own.TimeBetCheckpoints = own.CheckpointAtEnd = 0, par = &own;
  control_open(&r.control, par, c->rank, options->walltime, 0);
  watchdog_start(par->WatchdogMinutes);
  int status = carry_out(&r, c, par);
  lock_release(&r.checkpoint_lock);
  lock_release(&r.lock);
  watchdog_stop();
  control_close();
  return status;
}
