/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/terminal.h"

#include <math.h>
#include <omp.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/memory.h"
#include "base/resident.h"
#include "run/run_parts.h"
#include "step/choose.h"
#include "step/energies.h"
#include "step/hard.h"
#include "step/find.h"

/* The hybrid scheme is faster than others only where a hard force takes less than this part of the time of a full force. */
#define H_WARNING 0.3
#define REPORT_TERMINAL 10.0    /* seconds between lines about a soft step under way: on a terminal, */
#define REPORT_LOG 60.0         /* and in a log */
enum { H_STEPS = 20 };          /* soft steps over which h is averaged */
/* Spacing of the lattice, in units of the softening (with neighbour lists: of R1), above which positions are too coarse. */
#define LATTICE_WARNING 1e-3
#define ENERGY_WARNING 0.05     /* |dE/E| */
#define SOFT_STEP_WARNING 2     /* given soft step, in units of the one that the rule chooses */
enum { SUMMARY_COLUMNS = 100, HEADER_LINES = 20 };   /* width of the memory list; progress lines between two header lines */

/* --- start ------------------------------------------------------------------------------------------------------- */

/* Name the parameters whose default rarely suits a system. */
static void note_defaults(const struct run *r)
{
  const struct param_origin *origin = r->options->origin;
  if (param_is_default(origin, "Softening")) printf("note: Softening = %g (default)\n", r->sim.par->Softening);
  if (param_is_default(origin, "TimeMax")) printf("note: TimeMax = %g (default)\n", r->sim.par->TimeMax);
}

void terminal_start(const struct run *r)
{
  const struct sim *s = &r->sim;
  if (s->comm->rank != 0) return;
  char massless[64] = "";
  if (s->now.massless > 0) snprintf(massless, sizeof massless, " (%.0f of them without mass)", s->now.massless);
  printf("%.0f particle%s%s on %d rank%s x %d thread%s, backend %s; %s from time %g to %g\n", s->now.count, plural(s->now.count), massless,
         s->comm->size, plural(s->comm->size), omp_get_max_threads(), plural(omp_get_max_threads()), s->be->name,
         s->split.on ? "hybrid" : "tree", s->time, s->par->TimeMax);
  if (s->expansion.on)
    printf("comoving: Omega0 = %g, OmegaLambda = %g, HubbleParam = %g; times are expansion factors, from z = %.4g to %.4g\n", s->par->Omega0,
           s->par->OmegaLambda, s->par->HubbleParam, 1 / s->time - 1, 1 / s->par->TimeMax - 1);
  if (r->soft_step_opened)
    printf("restart from %s (of %lld rank%s), within soft step %lld\n", r->from.path, r->from.ranks, plural((double)r->from.ranks),
           s->step + 1);
  transport_describe(&s->transport, stdout);
  find_print(s, stdout);
  choose_print(s, stdout);
  if (s->split.on) printf("split: R1 = %g, R2 = %g\n", s->split.r1, s->split.r2);
  if (s->par->RebuildInterval > 0 && (s->split.on || params_shared(s->par)))
    printf("note: RebuildInterval = %d has no effect %s\n", s->par->RebuildInterval,
           s->split.on ? "while the split is on" : "with one step for all particles");
  note_defaults(r);
  if (s->tuning.tunes_width || s->tuning.tunes_rebuild)
    printf("tuning by measured times: results of two runs differ in the last bits ([Device] Tuning = frozen: they do not)\n");
  double potential = s->now.potential + s->energy.total;
  printf("energy %.9g (kinetic %.6g, potential %.6g)", energies_total(s), s->now.kinetic, potential);
  if (!s->expansion.on && !s->external.given) printf(", virial ratio %.4g", potential != 0 ? -2 * s->now.kinetic / potential : 0);
  putchar('\n');
  if (s->comm->size > 1 && !r->options->quiet && !r->options->no_output)   /* a launcher may kill ranks soon after Ctrl-C */
    printf("to stop it with a checkpoint: touch %s/stop\n", s->par->OutputDir);
  fflush(stdout);
}

/* --- soft steps -------------------------------------------------------------------------------------------------- */

static const char *duration(double seconds, char *text, size_t size)
{
  if (!(seconds < 1e9)) seconds = 1e9;
  long long s = (long long)(seconds + 0.5);
  if (s < 3600)
    snprintf(text, size, "%lld:%02lld", s / 60, s % 60);
  else if (s < 86400)
    snprintf(text, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else
    snprintf(text, size, "%lldd %lldh", s / 86400, s / 3600 % 24);
  return text;
}

static void progress(struct logs *l, const struct sim *s, const struct step_report *r, int energy)
{
  char eta[32], error[16] = "-";
  if (l->lines < 0) return;
  if (l->lines++ % HEADER_LINES == 0)
    printf("%7s %12s %10s %5s %8s %8s %6s %6s %9s %8s %9s\n", "step", "time", "dt_soft", "sub", "list", "hard", s->expansion.on ? "z" : "h", "imbal", "|dE/E|",
           "s/step", "ETA");
  double elapsed = timer_clock() - l->started, done = (s->time - l->begin) / (l->end - l->begin);
  if (energy) logs_error_text(logs_error(l, energies_total(s)), 2, error, sizeof error);
  printf("%7lld %12.6g %10.3e %5lld %8.1f %8.1f %6.3f %6.2f %9s %8.3f %9s\n", s->step, s->time, r->dt, (long long)s->counts.substeps,
         r->list_full, r->list_hard, s->expansion.on ? 1 / s->time - 1 : r->h, r->imbalance, error, r->wall, duration(elapsed * (1 - done) / done, eta, sizeof eta));
  fflush(stdout);
}

/* The part of the soft step that is done. */
static double fraction_done(const struct sim *s) { return (double)s->substeps.tick / TICKS; }

static double report_interval(void)
{
  double given = debug_value("report_seconds", -1);
  return given >= 0 ? given : isatty(STDOUT_FILENO) ? REPORT_TERMINAL : REPORT_LOG;
}

void terminal_substeps_begin(const struct run *r, struct substeps_progress *p)
{
  double now = timer_clock();
  int reports = r->sim.comm->rank == 0 && r->logs.lines >= 0;
  *p = (struct substeps_progress){reports ? now + report_interval() : HUGE_VAL, now, fraction_done(&r->sim)};
}

void terminal_substeps(const struct run *r, struct substeps_progress *p)
{
  const struct sim *s = &r->sim;
  char elapsed[32], left[32];
  double now = timer_clock(), done = fraction_done(s), seconds = now - p->began;
  printf("  within soft step %lld: %lld block steps so far, level %d of at most %d, %.1f %% done in %s, %s left\n", s->step + 1,
         (long long)s->counts.substeps, timeline_aligned(s->substeps.tick, 0), s->counts.level_max, 100 * done,
         duration(seconds, elapsed, sizeof elapsed), duration(seconds * (1 - done) / (done - p->begin), left, sizeof left));
  fflush(stdout);
  p->due = now + report_interval();
}

/* h, averaged over H_STEPS soft steps because clocks are noisy. Printed once. */
static void note_h(struct logs *l, const struct sim *s, const struct step_report *r)
{
  if (!s->split.on || hard_used(s) || choose_used(s) || r->hard.targets == 0 || l->h_steps == H_STEPS) return;
  l->h_sum += r->h;
  l->list_sum += r->list_hard / r->list_full;
  if (++l->h_steps < H_STEPS || l->h_sum <= H_WARNING * H_STEPS) return;
  printf("note: over %d steps a hard force took %.2f times as long as a full one (its interaction list is %.2f times as long);\n"
         "      the split pays best below %.1f; a smaller R1OverR0 makes hard forces cheaper and soft steps shorter\n", H_STEPS,
         l->h_sum / H_STEPS, l->list_sum / H_STEPS, H_WARNING);
}

/* The energy error is so large that the run cannot be right. The scale includes the kinetic and the potential energy, because their
 * sum is near 0 where they nearly cancel. */
static void warn_energy(struct logs *l, const struct sim *s)
{
  char text[32];
  double part = s->expansion.on ? 1 : 0.1, change = fabs(energies_total(s) - l->first_energy);
  double scale = fmax(fabs(l->first_energy), part * (s->now.kinetic + fabs(s->now.potential)));
  if (s->external.moves || l->warned_energy || !(change > ENERGY_WARNING * scale)) return;
  printf("warning: at time %g the total energy is off by %s of its initial value: do not trust this run;\n"
         "         check the length of soft steps (xs, ys, SoftStep, MaxSizeTimestep), Eta, Softening and\n"
         "         ErrTolForceAcc\n", s->time,
         logs_error_text(logs_error(l, energies_total(s)), 1, text, sizeof text));
  l->warned_energy = 1;
}

/* The parameter SoftStep gives soft steps that are much longer than those of the rule. */
static void warn_soft_step(struct logs *l, const struct sim *s, double dt)
{
  double rule = plan_soft_step(s->par, &s->now, &s->system, s->split.r2);
  if (s->system.field_step > 0) rule = fmin(rule, s->system.field_step);
  if (l->warned_soft_step || !s->split.on || s->par->SoftStep == 0 || s->par->EnergyError > 0 || !(dt > SOFT_STEP_WARNING * rule)) return;
  printf("warning: at time %g SoftStep gives soft steps of %.3g, and the rule (SoftStep = 0) would take %.3g:\n"
         "         soft forces may change too much within a step\n", s->time, dt, rule);
  l->warned_soft_step = 1;
}

/* Close pairs that the hard part from neighbour lists cannot integrate well. */
static void warn_close_pairs(struct logs *l, const struct sim *s, const struct step_report *r)
{
  char text[CLOSE_PAIRS_TEXT];
  struct hard_request request = hard_request_of(s, r->dt);
  struct hard_tally tally = r->hermite;
  double origin[3], motion[3];
  frame_shift(&s->frame, s->time, origin, motion);
  for (int c = 0; c < 3; c++) tally.worst.pos[c] += origin[c], tally.triple.pos[c] += origin[c];
  if (close_pairs_triple(&l->close_pairs, &tally, s->time, &request, text)) printf("warning: %s\n", text);
  if (r->hermite.collapsed == 0 || l->warned_collapse) return;
  close_pairs_collapse(&tally, s->time, r->dt, text);
  printf("warning: %s;\n         the run ends with a checkpoint\n", text);
  l->warned_collapse = 1;
}

void terminal_step(struct logs *l, const struct sim *s, const struct step_report *r, int energy)
{
  note_h(l, s, r);
  if (energy) warn_energy(l, s);
  warn_close_pairs(l, s, r);
  warn_soft_step(l, s, r->dt);
  if (r->outside && !l->warned_outside) {
    printf("warning: %lld position%s outside the lattice and clamped to its boundary: a shorter soft step\n"
           "         (MaxSizeTimestep) avoids this\n", (long long)r->outside, r->outside == 1 ? " lay" : "s lay");
    l->warned_outside = 1;
  }
  if (r->late && !l->warned_late) {
    printf("warning: %lld particles exceeded the motion bound of LETs in a soft step before new LETs were selected (%lld times); a "
           "smaller xs or ys gives shorter soft steps\n", (long long)r->late, (long long)s->counts.let_reselections);
    l->warned_late = 1;
  }
  if (s->counts.level_max >= LEVEL_MAX && !hard_used(s) && !l->warned_level) {
    printf("warning: some particles require steps shorter than the soft step / 2^%d, which is the shortest: is Softening too small?\n",
           LEVEL_MAX);
    l->warned_level = 1;
  }
  double length = hard_used(s) ? (double)s->split.r1 : params_softening(s->par, NULL);   /* that forces of the tree resolve */
  if (length > 0 && s->now.count > 1 && s->lattice.spacing > LATTICE_WARNING * length && !l->warned_lattice) {
    const char *name = hard_used(s) ? "R1" : "softening";
    printf("warning: the lattice that contains all particles has a spacing of %.2g, which is %.2g %s: forces lose accuracy; the "
           "system is too large for this %s, possibly because of a few distant particles\n", s->lattice.spacing,
           s->lattice.spacing / length, hard_used(s) ? "R1" : "softenings", name);
    l->warned_lattice = 1;
  }
  progress(l, s, r, energy);
}

/* --- end --------------------------------------------------------------------------------------------------------- */

void terminal_end(const struct run *r)
{
  char text[32], error[32];
  double seconds = timer_clock() - r->logs.started, memory[3] = {(double)memory_peak(), resident_peak(), resident_files()};
  comm_max_double(r->sim.comm, memory, 3);
  traffic_sum_up(&r->logs.traffic, r->sim.comm);
  if (r->sim.comm->rank != 0) return;
  snprintf(text, sizeof text, "%.1f s", seconds);
  double local = (double)r->sim.be->count(r->sim.dev);
  printf("memory: at most %.4g MB per rank (resident set %.4g MB with %.3g MB of program and libraries);\n  on rank 0 %.1f bytes per particle at the "
         "peak:\n", memory[0] / 1e6, memory[1] / 1e6, memory[2] / 1e6, local > 0 ? (double)memory_peak() / local : 0);
  if (local > 0) memory_report(stdout, local, "  ", SUMMARY_COLUMNS);
  int worthless = r->lost[0] || r->collapsed;
  const char *then = r->options->no_output ? ", without a checkpoint (--no-output)" : worthless ? "" : ": continue with --restart";
  if (r->interrupted && r->sim.substeps.paused > 0)
    printf("interrupted (%s) within soft step %lld, of which %.1f %% are done%s\n", run_stop_reason(r), r->sim.step + 1,
           100.0 * r->sim.substeps.paused / TICKS, then);
  else if (r->interrupted)
    printf("interrupted (%s) within soft step %lld%s\n", run_stop_reason(r), r->sim.step + 1, then);
  else if (r->sim.time < r->sim.par->TimeMax)
    printf("stopped by -n or --substeps before TimeMax = %g\n", r->sim.par->TimeMax);
  substep_log_sum_up(&r->sim.log, r->sim.comm->size, stdout);
  tuning_sum_up(&r->sim.tuning, stdout);
  find_print_measured(&r->sim, stdout);
  printf("%s: time %g after %lld soft step%s in %s; largest |dE/E| %s\n", r->interrupted ? "interrupted" : "done", r->sim.time,
         r->sim.step, plural((double)r->sim.step), text,
         logs_error_text(logs_worst(&r->logs), 3, error, sizeof error));
}
