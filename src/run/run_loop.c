/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The soft steps of a run, with the outputs that are due between them. */
#include <config.h>
#include "run/run_parts.h"

#include <math.h>

#include "analysis/analysis.h"
#include "analysis/cluster.h"
#include "analysis/subset.h"
#include "base/debug.h"
#include "base/fault.h"
#include "particles/timeline.h"
#include "run/terminal.h"
#include "settings/settings.h"
#include "step/energies.h"
#include "step/effects.h"
#include "step/step.h"
#include "step/timed.h"

/* The multiple of TimeBetStatistics after `time`. Statistics are due at the first synchronisation at or after each
 * multiple. */
static double next_statistics(const struct run *run, double time)
{
  return timeline_next_output(run->outputs.begin, run->sim.par->TimeBetStatistics, time, HUGE_VAL);
}

static double particles_of(const struct sim *sim) { return sim->masses.count + sim->masses.massless; }

/* Whether a multiple of TimeBetStatistics lies in (from, to], or statistics are due by rule: 0, or the `every` of
 * energies_measure. */
static int statistics_due(const struct run *run, double from, double to)
{
  const struct params *par = run->sim.par;
  const struct statistics *last = &run->state.statistics;
  if (par->TimeBetStatistics > 0) return next_statistics(run, to) > next_statistics(run, from);
  int on_device = run->sim.be->particle_bytes > 0;
  /* a row looks at the particles of a device */
  double beside = par->Analysis || on_device ? analysis_cost(run->sim.now.count, on_device) : 0;
  if (cluster_wanted(par, particles_of(&run->sim))) beside += cluster_cost(run->sim.now.count, on_device);
  return energies_due(last->spent, last->cost, beside, to - last->time, run->outputs.end - run->outputs.begin,
                      energies_coarsest(&run->sim));
}

/* Whether a multiple of TimeBetProjections lies in (from, to]: maps are taken at synchronisations that there are in any
 * case, so that no orbit depends on them. */
static int projection_due(const struct run *run, double from, double to)
{
  const struct params *par = run->sim.par;
  if (!par->Projections) return 0;
  return timeline_next_output(run->outputs.begin, par->TimeBetProjections, to, HUGE_VAL) >
         timeline_next_output(run->outputs.begin, par->TimeBetProjections, from, HUGE_VAL);
}

/* The same of Interval of [Binaries]. */
static int binaries_due(const struct run *run, double from, double to)
{
  const struct params *par = run->sim.par;
  return par->Interval > 0 && timeline_next_output(run->outputs.begin, par->Interval, to, HUGE_VAL) >
                                  timeline_next_output(run->outputs.begin, par->Interval, from, HUGE_VAL);
}

/* 2 T / |W| in the frame of the centre of mass. In an external field the zero of its potential says nothing, and W is
 * the virial of all forces about the centre of mass; not known where forces of near pairs are those of neighbour
 * lists. */
static double virial_ratio(const struct sim *sim, const struct diagnostics *diagnostics)
{
  double bulk = diagnostics->v_com[0] * diagnostics->v_com[0] + diagnostics->v_com[1] * diagnostics->v_com[1] +
                diagnostics->v_com[2] * diagnostics->v_com[2];
  double potential = diagnostics->potential;
  if (effects_have(sim, EFFECT_IN_FIELD))
    potential = params_neighbour_lists(sim->par) ? NAN : diagnostics->virial + diagnostics->virial_field;
  return potential < 0 ? (2 * diagnostics->kinetic - diagnostics->mass * bulk) / -potential : NAN;
}

/* Measure the particles, and write rows to analysis.csv. Collective. */
static void analyse(struct run *run)
{
  struct sim *sim = &run->sim;
  struct analysis a;
  struct diagnostics d = energies_corrected(sim);
  double place[3], motion[3];
  analysis_measure(&a, sim->comm, sim->be->view(sim->dev));
  sim_shift(sim, place, motion);
  if (run->logs.files.analysis) {
    analysis_write(run->logs.files.analysis, sim->time, &a, virial_ratio(sim, &d), place, motion);
    fflush(run->logs.files.analysis);
  }
}

static void tide_at(const void *of, const double x[3], const double v[3], double length, struct tide *tide)
{
  effects_tide(of, x, v, length, tide);
}

/* Measure the star cluster, and write a row to cluster.csv. Collective. */
static void measure_cluster(struct run *run)
{
  struct sim *sim = &run->sim;
  const struct particles *particles = sim->be->view(sim->dev);
  struct cluster_facts facts = {
      .time = sim->time, .gravity = sim->force.gravity, .limit = sim->par->Limit, .tide = tide_at, .tide_of = sim};
  int64_t count[PARTICLE_TYPES];
  subset_counts(sim->comm, particles, count);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (count[t]) facts.softening = fmax(facts.softening, params_softening_of(sim->par, t));
  sim_shift(sim, facts.place, facts.motion);
  cluster_scan(sim->comm, particles, &facts, run->logs.files.cluster);
}

void run_statistics(struct run *run, int every)
{
  struct sim *sim = &run->sim;
  diagnostics_scales(&sim->now, sim->comm, sim->be->view(sim->dev));
  logs_energy(&run->logs, sim);
  if (sim->par->Analysis) TIMED(sim, PHASE_diagnostics, analyse(run));
  if (cluster_wanted(sim->par, particles_of(sim))) TIMED(sim, PHASE_diagnostics, measure_cluster(run));
  run->state.statistics = (struct statistics){.cost = sim->energy.cost * every, .time = sim->time};
}

void run_binaries(struct run *run)
{
  struct sim *sim = &run->sim;
  const struct log_files *files = &run->logs.files;
  struct binaries_facts facts = {.params = sim->par, .time = sim->time};
  if (!binaries_wanted(sim->par, particles_of(sim))) return;
  sim_shift(sim, facts.place, facts.motion);
  TIMED(
      sim, PHASE_diagnostics,
      binaries_scan(&run->state.binaries, sim->comm, sim->be->view(sim->dev), &facts, files->binaries, files->events));
}

/* Bytes of rows of tables that are kept in memory while the disk does not take them; with more the run stops. */
#define ROWS_MAX debug_value("table_bytes", 256e6)

/* Largest number of soft steps that a run is allowed to need; a larger one is a mistake in the parameters. */
#define STEPS_MAX 1e11

int run_check_advance(const struct sim *sim, const struct plan *plan, struct fault *fault)
{
  double end = effects_end(sim, plan);
  if (end > sim->time && (plan->at_target || sim->par->TimeMax - sim->time < STEPS_MAX * plan->soft_step)) return 0;
  return fault_set(
      fault,
      "step %lld: soft steps of %g cannot get from time %.17g to TimeMax = %.17g: R2 (%g), velocities or accelerations "
      "require steps that are too short, or the times are too large for their precision",
      sim->step + 1, plan->soft_step, sim->time, sim->par->TimeMax, sim->system.r2);
}

/* The choice of a scheme after a soft step. Collective. */
static void choose(struct run *run)
{
  struct sim *sim = &run->sim;
  if (!settings_have_choice(sim)) return;
  enum choice_report report = settings_after_step(sim);
  if (report != CHOICE_UNCHANGED) logs_choice(&run->logs, sim);
  if (report != CHOICE_ROWS_AND_LINE || sim->comm->rank != 0 || run->logs.progress.lines < 0) return;
  terminal_clear(&run->logs);
  printf("at time %g: ", sim->time);
  settings_print_choice(sim, stdout);
  fflush(stdout);
}

/* Whether `made` soft steps reach the limit of -n. */
static int reaches_step_limit(const struct run *run, long long made)
{
  return run->options->steps >= 0 && made >= run->options->steps;
}

/* Block steps since the start of the simulation. Valid on rank 0, which counts those of earlier jobs; use the maximum
 * over ranks. */
static int64_t block_steps(const struct run *run)
{
  return run->state.block_steps + run->sim.cost.log.steps[0] + run->sim.cost.log.steps[1];
}

/* Whether the limit of -n or --substeps is reached. Collective. */
static int limit_reached(const struct run *run)
{
  const struct sim *sim = &run->sim;
  if (reaches_step_limit(run, sim->step)) return 1;
  if (run->options->substeps < 0) return 0;
  return comm_max_int64(sim->comm, block_steps(run)) >= run->options->substeps;
}

/* Whether the soft step under way will reach the limit of --substeps, where a checkpoint at the end is wanted: at least
 * one more block step follows. Collective. */
static int last_by_substeps(const struct run *run)
{
  const struct sim *sim = &run->sim;
  if (run->options->substeps < 0 || !sim->par->CheckpointAtEnd) return 0;
  return comm_max_int64(sim->comm, block_steps(run) + 1) >= run->options->substeps;
}

/* The request of this rank, now. It is served at the next checkpoint tick or at the end of the substeps. */
static int ask(struct run *run)
{
  double now = timer_clock();
  if (run->asked > 0) control_step(&run->control, now - run->asked);
  run->asked = now;
  return (int)control_request(&run->control);
}

/* The step of a close pair collapsed in the soft step under way: checkpoints say so from now on, and the run ends in
 * the next one. */
static void note_collapse(struct run *run)
{
  const struct sim *sim = &run->sim;
  const struct plan *plan = &run->state.plan;
  if (!sim->counts.collapsed) return;
  guard_collapsed(&run->guard, (const double[3]){(double)(sim->step + 1), effects_end(sim, plan), plan->soft_step});
  run->collapsed = 1;
  run->control.forced = "steps of a close pair collapsed";
}

/* Rows of the collisions of the soft step under way. The run ends with it where one was to end it, or where no more can
 * be found. The same on all ranks. */
static void note_collisions(struct run *run)
{
  struct sim *sim = &run->sim;
  const struct collisions_part *part = &sim->collisions;
  char reason[80] = "";
  if (sim->par->Action == COLLISIONS_OFF) return;
  logs_collisions(&run->logs, sim);
  run->guard.particles = run->state.particles = sim->masses.count + sim->masses.massless;
  if (part->ends[0]) snprintf(reason, sizeof reason, "collisions cannot be found any more");
  else if (part->rows > 0 && sim->par->Action == COLLISIONS_STOP)
    snprintf(reason, sizeof reason, "stars %llu and %llu collided at time %.9g", (unsigned long long)part->row[0].id[0],
             (unsigned long long)part->row[0].id[1], part->row[0].time);
  if (!reason[0]) return;
  if (part->ends[0] && sim->comm->rank == 0) {
    terminal_clear(&run->logs);
    fprintf(stderr, "espalier: warning: the run ends at time %g: %s\n", sim->time, part->ends);
  }
  if (sim->stop_request < REQUEST_STOP) sim->stop_request = REQUEST_STOP;
  control_stop(&run->control, reason);
}

/* Plan the next soft step and begin it. Collective. 0 or -1. */
static int open_step(struct run *run, struct fault *fault)
{
  struct sim *sim = &run->sim;
  struct plan *plan = &run->state.plan;
  *plan = effects_plan(sim, outputs_next(&run->outputs, sim->time));
  if (run_check_advance(sim, plan, fault)) return -1;
  sim->stop_request = ask(run);
  step_open(sim, plan);
  note_collapse(run);
  note_collisions(run);
  return 0;
}

/* Carry out the substeps; serve requests at checkpoint ticks. Collective. Returns 0 at their end, 1 where the run ends
 * before, -1 on a fault. */
static int carry_out_substeps(struct run *run, struct fault *fault)
{
  struct sim *sim = &run->sim;
  struct substeps_progress progress;
  terminal_substeps_begin(run, &progress);
  for (;;) {
    enum step_state state = step_substeps(sim, &run->state.plan, progress.due);
    if (state == STEP_SUBSTEPS_ENDED) return 0;
    if (state == STEP_UNDERWAY) {
      terminal_substeps(run, &progress);
      if (run_folder_held(run)) status_running(&run->status, 0);
      continue;
    }
    run_keep_folders(run);
    double request = ask(run);
    comm_max_double(sim->comm, &request, 1);
    sim->stop_request = (int)request;
    int ends = run_serve_request(run, 0, fault);
    if (ends) return ends;
    /* it was served, and does not count at the end of the soft step */
    if (sim->stop_request < REQUEST_STOP) sim->stop_request = REQUEST_NONE;
  }
}

int run_check_system(struct run *run, double dt, struct fault *fault)
{
  struct sim *sim = &run->sim;
  if (guard_check(&run->guard, &sim->now, sim->comm, sim->be, sim->dev, &sim->effects.field, sim->step, sim->time, dt,
                  fault) == 0) {
    guard_remember(&run->guard, &sim->now, 0);
    return 0;
  }
  run_emergency(run);
  return -1;
}

/* Tables, terminal and status of the soft step that has ended; `energy`: sim->now has a potential. Collective. */
static void report_step(struct run *run, int energy)
{
  struct sim *sim = &run->sim;
  struct step_report report;
  logs_traffic(&run->logs, sim);
  logs_collect(&report, sim, run->state.plan.soft_step);
  logs_step(&run->logs, sim, &report, energy);
  run->state.statistics.spent += (double)(report.full.particle_pairs + report.full.cell_pairs +
                                          report.hard.particle_pairs + report.hard.cell_pairs);
  if (sim->comm->rank == 0) terminal_step(&run->logs, sim, &report, energy);
  choose(run);
}

/* Carry out one soft step with its outputs. Collective. Returns 0, 1 where the run ends within the step, -1 on a
 * fault. */
static int advance(struct run *run, struct fault *fault)
{
  struct sim *sim = &run->sim;
  const struct plan *plan = &run->state.plan;
  fatal_context(sim->comm->rank, sim->step + 1);
  int resumed = run->soft_step_opened, ends = 0;
  run->soft_step_opened = 0;
  int within = resumed && sim->substeps.paused > 0; /* interrupted at a checkpoint tick */
  if (!resumed && open_step(run, fault)) return -1;
  if (within) step_continue(sim, plan);
  double end = effects_end(sim, plan);
  int last = end >= sim->par->TimeMax || reaches_step_limit(run, sim->step + 1);
  if (!resumed || within) {
    ends = carry_out_substeps(run, fault);
    if (!ends) ends = run_serve_request(run, last || last_by_substeps(run), fault);
  }
  if (ends) return ends;
  /* With --substeps every step may be the last, whose snapshot contains potentials. */
  int energy = last || run->options->substeps >= 0 ? 1 : statistics_due(run, sim->time, end);
  int map = projection_due(run, sim->time, end), look = last || binaries_due(run, sim->time, end);
  step_close(sim, plan, energy || plan->at_target || run->state.pending);
  promise_step(&run->logs.promise, sim, plan->soft_step);
  run_keep_folders(run);
  if (run_check_system(run, plan->soft_step, fault)) return -1;
  if (energy) energies_measure(sim, energy);
  if (energy) run_statistics(run, energy);
  if (map) run_projection(run);
  if (look) run_binaries(run);
  if (plan->at_target || last || limit_reached(run)) run_snapshot(run);
  else if (run->state.pending) run_write_snapshot(run, run->state.snapshots - 1);
  report_step(run, energy);
  run->status.step = sim->step;
  run->status.time = sim->time;
  run->status.energy_error = logs_worst(&run->logs);
  run->status.unwritten = run->logs.files.unwritten;
  if ((double)run->logs.files.unwritten > ROWS_MAX)
    run->control.forced = "tables cannot be written, and their rows fill the memory for them";
  if (sim->comm->rank == 0) status_running(&run->status, 0);
  comm_barrier(
      sim->comm); /* the other ranks wait for rank 0's files in this phase, which the watchdog knows for that */
  return 0;
}

int run_loop(struct run *run, struct fault *fault)
{
  int ended = 0;
  while (!ended && run->sim.time < run->sim.par->TimeMax && (run->soft_step_opened || !limit_reached(run)))
    ended = advance(run, fault);
  /* otherwise the checkpoint records the pending snapshot, and the next job writes it */
  if (ended <= 0) run->state.pending = 0;
  if (ended == 0 && (run->options->steps >= 0 || run->options->substeps >= 0))
    run_discard_later(run, run->state.snapshots);
  return ended < 0 ? -1 : 0;
}
