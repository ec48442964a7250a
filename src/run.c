/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run.h"

#include <math.h>
#include <omp.h>

#include "check.h"
#include "logs.h"
#include "memory.h"
#include "outputs.h"
#include "snapshot.h"
#include "start.h"
#include "step.h"
#include "timeline.h"
#include "watchdog.h"

/* A run: the system, its outputs, its logs. */
struct run {
  struct sim sim;
  struct outputs outputs;
  struct logs logs;
  const struct run_options *options;
  int snapshots;          /* written or tried so far: the number of the next */
  int failed_snapshots;
  int judged;             /* Mode = auto: whether the split pays has been decided */
};

static void say(const struct comm *c, const char *kind, const struct fault *f)
{
  if (c->rank == 0) {
    fflush(stdout);
    fprintf(stderr, "espalier: %s: %s\n", kind, f->text);
  }
}

/* A snapshot that cannot be written is reported and does not end the run. */
static void write_snapshot(struct run *r)
{
  struct sim *s = &r->sim;
  struct fault f = {""};
  char path[2 * PARAM_TEXT + 32];
  timer_phase(&s->timer, PHASE_output);
  snprintf(path, sizeof path, "%s/%s_%03d.hdf5", s->par->OutputDir, s->par->SnapshotFileBase, r->snapshots++);
  struct snapshot_facts facts = {s->par, s->time, s->step, s->gravity, SNAPSHOT_POTENTIAL};
  if (snapshot_write(s->comm, path, s->be->view(s->dev), &facts, &f)) {
    r->failed_snapshots++;
    say(s->comm, "warning: the run goes on without a snapshot", &f);
  } else if (s->comm->rank == 0) {
    printf("snapshot %s at time %g\n", path, s->time);
    fflush(stdout);
  }
  timer_phase(&s->timer, PHASE_other);
}

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
  if (s->par->Mode != MODE_AUTO || !s->split.on || r->judged || report->hard.targets == 0) return;
  r->judged = 1;
  double ratio = report->list_hard / report->list_full;
  int pays = ratio < 0.5;
  if (s->comm->rank == 0)
    printf("Mode = auto: hard lists are %.2f of full ones: %s\n", ratio, pays ? "the split stays on" : "going on without the split");
  if (pays) return;
  s->split.on = 0;
  sim_force(s, &s->mac, 1);
  s->be->split_soft(s->dev);
}

static int check_finite(const struct run *r, struct fault *f)
{
  if (r->sim.now.bad == 0) return 0;
  return fault_set(f, "step %lld, time %g: %.0f particles have values that are not finite", r->sim.step, r->sim.time, r->sim.now.bad);
}

/* Whether the number of steps that was asked for is reached. Block steps are counted on rank 0. Collective. */
static int stopped(const struct run *r)
{
  const struct sim *s = &r->sim;
  int64_t made = s->log.steps[0] + s->log.steps[1];
  if (r->options->steps >= 0 && s->step >= r->options->steps) return 1;
  if (r->options->substeps < 0) return 0;
  return comm_max_int64(s->comm, made) >= r->options->substeps;
}

/* Time steps until the end (or the number of steps that was asked for). */
static int loop(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  while (s->time < s->par->TimeMax && !stopped(r)) {
    fatal_context(s->comm->rank, s->step + 1);
    double target = outputs_next(&r->outputs, s->time);
    struct plan plan = plan_next(s->par, &s->now, s->time, target, s->split.on ? s->split.r2 : s->radius_rule, s->split.on, s->step);
    if (check_advance(s, &plan, f)) return -1;
    int last = (plan.at_target && target >= s->par->TimeMax) || s->step + 1 == r->options->steps;
    /* which step is the last by --substeps is known only behind it, and its snapshot has potentials */
    int energy = last || r->options->substeps >= 0 || statistics_due(r, s->time, plan.at_target ? target : s->time + plan.soft_step);
    step(s, &plan, energy || plan.at_target);
    if (check_finite(r, f)) return -1;
    if (energy) logs_energy(&r->logs, s);
    if (plan.at_target || last || stopped(r)) write_snapshot(r);
    logs_traffic(&r->logs, s);
    struct step_report report;
    logs_collect(&report, s, plan.soft_step);
    logs_step(&r->logs, s, &report, energy);
    judge_split(r, &report);
  }
  return 0;
}

static void greet(const struct run *r)
{
  const struct sim *s = &r->sim;
  if (s->comm->rank != 0) return;
  printf("%.0f particles on %d ranks x %d threads, backend %s; %s from time %g to %g\n", s->now.count, s->comm->size, omp_get_max_threads(), s->be->name,
         s->split.on ? "hybrid" : "tree", s->time, s->par->TimeMax);
  if (s->split.on) printf("split: R1 = %g, R2 = %g\n", s->split.r1, s->split.r2);
  if (s->tuning.tunes_width || s->tuning.tunes_rebuild)
    printf("tuning by measured times: no two runs are alike in the last bits ([Device] Tuning = frozen: they are)\n");
  printf("energy %.9g (kinetic %.6g, potential %.6g), virial ratio %.4g\n", s->now.total, s->now.kinetic, s->now.potential,
         s->now.potential != 0 ? -2 * s->now.kinetic / s->now.potential : 0);
  fflush(stdout);
}

static void sum_up(const struct run *r)
{
  char text[32];
  double seconds = timer_clock() - r->logs.started, memory = (double)memory_peak();
  comm_max_double(r->sim.comm, &memory, 1);
  traffic_sum_up(&r->logs.traffic, r->sim.comm);
  if (r->sim.comm->rank != 0) return;
  snprintf(text, sizeof text, "%.1f s", seconds);
  printf("memory: at most %.4g MB a rank; bytes a particle on rank 0, each at its peak: ", memory / 1e6);
  memory_report(stdout, (double)r->sim.be->count(r->sim.dev));
  if (r->sim.time < r->sim.par->TimeMax) printf("stopped by -n or --substeps before TimeMax = %g\n", r->sim.par->TimeMax);
  substep_log_sum_up(&r->sim.log, r->sim.comm->size, stdout);
  tuning_sum_up(&r->sim.tuning, stdout);
  printf("done: time %g after %lld soft steps in %s; largest |dE/E| %.3e\n", r->sim.time, r->sim.step, text, r->logs.worst);
}

/* From the first force to the last row. */
static int simulate(struct run *r, struct fault *f)
{
  struct sim *s = &r->sim;
  sim_first_force(s);
  if (check_finite(r, f)) return -1;
  greet(r);
  logs_energy(&r->logs, s);
  write_snapshot(r);
  logs_traffic(&r->logs, s);
  timer_reset(&s->timer);
  if (loop(r, f)) return -1;
  sum_up(r);
  return 0;
}

static int carry_out(const struct comm *c, const struct params *par, const struct run_options *options)
{
  struct run r = {.options = options};
  struct fault f = {""};
  if (sim_start(&r.sim, c, par, &f)) {
    say(c, "error", &f);
    return 1;
  }
  if (check_times(par, r.sim.time, &f) == 0) outputs_open(&r.outputs, par, &f);
  int status = 1;
  if (comm_agree(c, &f) == 0 && logs_open(&r.logs, &r.sim, options->overwrite, &f) == 0) {
    status = simulate(&r, &f) != 0;
    struct fault closing = {""};
    if (logs_close(&r.logs, &r.sim, &closing)) {
      say(c, "error", &closing);
      status = 1;
    }
  }
  if (f.text[0]) say(c, "error", &f);
  if (r.failed_snapshots && c->rank == 0) fprintf(stderr, "espalier: error: %d snapshots could not be written\n", r.failed_snapshots);
  outputs_close(&r.outputs);
  sim_close(&r.sim);
  return status || r.failed_snapshots;
}

int run(const struct comm *c, const struct params *par, const struct run_options *options)
{
  if (options->check) return check(c, par, options->overwrite);
  watchdog_start(par->WatchdogMinutes);
  int status = carry_out(c, par, options);
  watchdog_stop();
  return status;
}
