/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The soft steps of a run, with the outputs that are due between them. */
#include <config.h>
#include "run/run_parts.h"

#include <math.h>

#include "analysis/analysis.h"
#include "base/debug.h"
#include "base/fault.h"
#include "particles/timeline.h"
#include "run/terminal.h"
#include "settings/settings.h"
#include "step/energies.h"
#include "step/expansion.h"
#include "step/step.h"

/* The multiple of TimeBetStatistics after `time`. Statistics are due at the first synchronisation at or after each multiple. */
static double next_statistics(const struct run *r, double time)
{
  return timeline_next_output(r->outputs.begin, r->sim.par->TimeBetStatistics, time, HUGE_VAL);
}

/* Whether a multiple of TimeBetStatistics lies in (from, to], or statistics are due by rule: 0, or the `every` of energies_measure. */
static int statistics_due(const struct run *r, double from, double to)
{
  const struct params *par = r->sim.par;
  const struct statistics *last = &r->state.statistics;
  if (par->TimeBetStatistics > 0) return next_statistics(r, to) > next_statistics(r, from);
  int on_device = r->sim.be->particle_bytes > 0;
  double beside = par->Analysis || on_device ? analysis_cost(r->sim.now.count, on_device) : 0;   /* a row looks at the particles of a device */
  return energies_due(last->spent, last->cost, beside, to - last->time, r->outputs.end - r->outputs.begin, energies_coarsest(&r->sim));
}

/* Whether a multiple of TimeBetProjections lies in (from, to]: maps are taken at synchronisations that there are in any case, so that no
 * orbit depends on them. */
static int projection_due(const struct run *r, double from, double to)
{
  const struct params *par = r->sim.par;
  if (!par->Projections) return 0;
  return timeline_next_output(r->outputs.begin, par->TimeBetProjections, to, HUGE_VAL) >
         timeline_next_output(r->outputs.begin, par->TimeBetProjections, from, HUGE_VAL);
}

/* 2 T / |W| in the frame of the centre of mass. In an external field the zero of its potential says nothing, and W is the virial of all forces
 * about the centre of mass; not known where forces of near pairs are those of neighbour lists. */
static double virial_ratio(const struct sim *s, const struct diagnostics *d)
{
  double bulk = d->v_com[0] * d->v_com[0] + d->v_com[1] * d->v_com[1] + d->v_com[2] * d->v_com[2];
  double potential = d->potential;
  if (s->external.given) potential = params_neighbour_lists(s->par) ? NAN : d->virial + d->virial_field;
  return potential < 0 ? (2 * d->kinetic - d->mass * bulk) / -potential : NAN;
}

/* Measure the particles, and write rows to analysis.csv. Collective. */
static void analyse(struct run *r)
{
  struct sim *s = &r->sim;
  struct analysis a;
  struct diagnostics d = energies_corrected(s);
  double place[3], motion[3];
  timer_phase(&s->timer, PHASE_diagnostics);
  analysis_measure(&a, s->comm, s->be->view(s->dev));
  sim_shift(s, place, motion);
  if (r->logs.analysis) {
    analysis_write(r->logs.analysis, s->time, &a, virial_ratio(s, &d), place, motion);
    fflush(r->logs.analysis);
  }
  timer_phase(&s->timer, PHASE_other);
}

void run_statistics(struct run *r, int every)
{
  struct sim *s = &r->sim;
  diagnostics_scales(&s->now, s->comm, s->be->view(s->dev));
  logs_energy(&r->logs, s);
  if (s->par->Analysis) analyse(r);
  r->state.statistics = (struct statistics){.cost = s->energy.cost * every, .time = s->time};
}

/* Bytes of rows of tables that are kept in memory while the disk does not take them; with more the run stops. */
#define ROWS_MAX debug_value("table_bytes", 256e6)

/* Largest number of soft steps that a run is allowed to need; a larger one is a mistake in the parameters. */
#define STEPS_MAX 1e11

int run_check_advance(const struct sim *s, const struct plan *plan, struct fault *f)
{
  double end = expansion_end(s, plan);
  if (end > s->time && (plan->at_target || s->par->TimeMax - s->time < STEPS_MAX * plan->soft_step)) return 0;
  return fault_set(f, "step %lld: soft steps of %g cannot get from time %.17g to TimeMax = %.17g: R2 (%g), velocities or accelerations "
                      "require steps that are too short, or the times are too large for their precision",
                   s->step + 1, plan->soft_step, s->time, s->par->TimeMax, s->system.r2);
}

/* The choice of a scheme after a soft step. Collective. */
static void choose(struct run *r)
{
  struct sim *s = &r->sim;
  if (!settings_have_choice(s)) return;
  int rows = settings_step(s);
  if (rows) logs_choice(&r->logs, s);
  if (rows < 2 || s->comm->rank != 0 || r->logs.lines < 0) return;
  terminal_clear(&r->logs);
  printf("at time %g: ", s->time);
  settings_print_choice(s, stdout);
  fflush(stdout);
}

/* Whether `made` soft steps reach the limit of -n. */
static int reaches_step_limit(const struct run *r, long long made) { return r->options->steps >= 0 && made >= r->options->steps; }

/* Block steps since the start of the simulation. Valid on rank 0, which counts those of earlier jobs; use the maximum over ranks. */
static int64_t block_steps(const struct run *r) { return r->state.block_steps + r->sim.log.steps[0] + r->sim.log.steps[1]; }

/* Whether the limit of -n or --substeps is reached. Collective. */
static int limit_reached(const struct run *r)
{
  const struct sim *s = &r->sim;
  if (reaches_step_limit(r, s->step)) return 1;
  if (r->options->substeps < 0) return 0;
  return comm_max_int64(s->comm, block_steps(r)) >= r->options->substeps;
}

/* Whether the soft step under way will reach the limit of --substeps, where a checkpoint at the end is wanted: at least one more block
 * step follows. Collective. */
static int last_by_substeps(const struct run *r)
{
  const struct sim *s = &r->sim;
  if (r->options->substeps < 0 || !s->par->CheckpointAtEnd) return 0;
  return comm_max_int64(s->comm, block_steps(r) + 1) >= r->options->substeps;
}

/* The request of this rank, now. It is served at the next checkpoint tick or at the end of the substeps. */
static int ask(struct run *r)
{
  double now = timer_clock();
  if (r->asked > 0) control_step(&r->control, now - r->asked);
  r->asked = now;
  return (int)control_request(&r->control);
}

/* The step of a close pair collapsed in the soft step under way: checkpoints say so from now on, and the run ends in the next one. */
static void note_collapse(struct run *r)
{
  const struct sim *s = &r->sim;
  const struct plan *plan = &r->state.plan;
  if (!s->counts.collapsed) return;
  guard_collapsed(&r->guard, (const double[3]){(double)(s->step + 1), expansion_end(s, plan), plan->soft_step});
  r->collapsed = 1;
  r->control.forced = "steps of a close pair collapsed";
}

/* Plan the next soft step and begin it. Collective. 0 or -1. */
static int open_step(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  struct plan *plan = &r->state.plan;
  *plan = expansion_plan(s, outputs_next(&r->outputs, s->time));
  if (run_check_advance(s, plan, f)) return -1;
  s->stop_request = ask(r);
  step_open(s, plan);
  note_collapse(r);
  return 0;
}

/* Carry out the substeps; serve requests at checkpoint ticks. Collective. Returns 0 at their end, 1 where the run ends before, -1 on a
 * fault. */
static int carry_out_substeps(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  struct substeps_progress progress;
  terminal_substeps_begin(r, &progress);
  for (;;) {
    enum step_state state = step_substeps(s, &r->state.plan, progress.due);
    if (state == STEP_SUBSTEPS_ENDED) return 0;
    timer_phase(&s->timer, PHASE_other);   /* file systems may be slow */
    if (state == STEP_UNDERWAY) {
      terminal_substeps(r, &progress);
      if (run_folder_held(r)) status_running(&r->status, 0);
      continue;
    }
    run_keep_folders(r);
    double request = ask(r);
    comm_max_double(s->comm, &request, 1);
    s->stop_request = (int)request;
    int ends = run_serve_request(r, 0, f);
    if (ends) return ends;
    if (s->stop_request < REQUEST_STOP) s->stop_request = REQUEST_NONE;   /* it was served, and does not count at the end of the soft step */
  }
}

int run_check_system(struct run *r, double dt, struct fault *f)
{
  struct sim *s = &r->sim;
  if (guard_check(&r->guard, &s->now, s->comm, s->be, s->dev, &s->field, s->step, s->time, dt, f) == 0) {
    guard_remember(&r->guard, &s->now, 0);
    return 0;
  }
  run_emergency(r);
  return -1;
}

/* Tables, terminal and status of the soft step that has ended; `energy`: s->now has a potential. Collective. */
static void report_step(struct run *r, int energy)
{
  struct sim *s = &r->sim;
  struct step_report report;
  logs_traffic(&r->logs, s);
  logs_collect(&report, s, r->state.plan.soft_step);
  logs_step(&r->logs, s, &report, energy);
  r->state.statistics.spent += (double)(report.full.particle_pairs + report.full.cell_pairs + report.hard.particle_pairs + report.hard.cell_pairs);
  if (s->comm->rank == 0) terminal_step(&r->logs, s, &report, energy);
  choose(r);
}

/* Carry out one soft step with its outputs. Collective. Returns 0, 1 where the run ends within the step, -1 on a fault. */
static int advance(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  const struct plan *plan = &r->state.plan;
  fatal_context(s->comm->rank, s->step + 1);
  int resumed = r->soft_step_opened, ends = 0;
  r->soft_step_opened = 0;
  int within = resumed && s->substeps.paused > 0;   /* interrupted at a checkpoint tick */
  if (!resumed && open_step(r, f)) return -1;
  if (within) step_continue(s, plan);
  double end = expansion_end(s, plan);
  int last = end >= s->par->TimeMax || reaches_step_limit(r, s->step + 1);
  if (!resumed || within) {
    ends = carry_out_substeps(r, f);
    if (!ends) ends = run_serve_request(r, last || last_by_substeps(r), f);
  }
  if (ends) return ends;
  /* With --substeps every step may be the last, whose snapshot contains potentials. */
  int energy = last || r->options->substeps >= 0 ? 1 : statistics_due(r, s->time, end);
  int map = projection_due(r, s->time, end);
  step_close(s, plan, energy || plan->at_target || r->state.pending);
  run_keep_folders(r);
  if (run_check_system(r, plan->soft_step, f)) return -1;
  if (energy) energies_measure(s, energy);
  if (energy) run_statistics(r, energy);
  if (map) run_projection(r);
  if (plan->at_target || last || limit_reached(r)) run_snapshot(r);
  else if (r->state.pending) run_write_snapshot(r, r->state.snapshots - 1);
  report_step(r, energy);
  r->status.step = s->step;
  r->status.time = s->time;
  r->status.energy_error = logs_worst(&r->logs);
  r->status.unwritten = r->logs.unwritten;
  if ((double)r->logs.unwritten > ROWS_MAX) r->control.forced = "tables cannot be written, and their rows fill the memory for them";
  if (s->comm->rank == 0) status_running(&r->status, 0);
  comm_barrier(s->comm);   /* the other ranks wait for rank 0's files in this phase, which the watchdog knows for that */
  return 0;
}

int run_loop(struct run *r, struct fault *f)
{
  int ended = 0;
  while (!ended && r->sim.time < r->sim.par->TimeMax && (r->soft_step_opened || !limit_reached(r))) ended = advance(r, f);
  if (ended <= 0) r->state.pending = 0;   /* otherwise the checkpoint records the pending snapshot, and the next job writes it */
  if (ended == 0 && (r->options->steps >= 0 || r->options->substeps >= 0)) run_discard_later(r, r->state.snapshots);
  return ended < 0 ? -1 : 0;
}
